"""`paperboy once`, by its command line, against real servers on loopback."""

import signal
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from paperboy.models import Score
from tests.cli.conftest import World, text_of
from tests.servers.smtp import Fault


def test_papers_go_from_arxiv_to_the_inbox(world: World) -> None:
    world.announce(1, 2, 3)
    world.announce(4, categories=("astro-ph.GA",))
    ran = world.once()
    assert ran.code == 0, ran.err
    assert "foundations: digest, 3 of 3 papers" in ran.out
    assert "galaxies: digest, 1 of 1 papers" in ran.out
    assert "Deliveries: 3 sent" in ran.out
    assert world.mails() == ["ada@example.org", "grace@example.org", "vera@example.org"]


def test_each_subscriber_gets_a_copy_of_their_own(world: World) -> None:
    world.announce(1)
    world.once("foundations")
    ada, grace = world.messages()
    assert (ada["To"], grace["To"]) == ("ada@example.org", "Grace Hopper <grace@example.org>")
    assert ada["Message-ID"] != grace["Message-ID"]
    assert ada["List-Unsubscribe"] != grace["List-Unsubscribe"]
    assert b"grace" not in world.smtp.messages[0].content
    assert [part.get_content_type() for part in ada.iter_parts()] == ["text/plain", "text/html"]
    assert "2611.00001" in text_of(ada)


def test_unknown_list_is_wrong_usage(world: World) -> None:
    ran = world.once("fundations")
    assert ran.code == 2
    assert "there is no list 'fundations', did you mean 'foundations'?" in ran.err
    assert not (world.path / "data").exists()


def test_dry_run_sends_and_marks_nothing_and_keeps_the_scores(world: World) -> None:
    world.announce_both(1, 4)
    ran = world.run("once", "--dry-run")
    assert ran.code == 0
    assert "foundations: digest, 1 of 1 papers, to 2 subscribers\n  1. 2611.00001" in ran.out
    assert world.mails() == []
    asked = len(world.llm.requests)
    assert world.once().code == 0
    assert len(world.mails()) == 3
    assert len(world.llm.requests) == asked


def test_dry_run_prints_scores_and_the_best_papers_below_the_thresholds(world: World) -> None:
    marks = {1: (9, 8), 2: (3, 4), 3: (6, 9), 4: (6, 8)} | dict.fromkeys(range(10, 21), (2, 2))
    world.llm.scores = {f"2611.{n:05}": Score(*pair) for n, pair in marks.items()}
    matched = world.announce(*marks)[1]
    world.arxiv.papers[1] = replace(matched, authors=("Yoshua Bengio",))
    world.announce(30, categories=("astro-ph.GA",))
    world.llm.scores["2611.00030"] = Score(1, 1)
    lines = world.run("once", "--dry-run").out.splitlines()
    assert lines[:6] == [
        "foundations: digest, 2 of 15 papers (1 author match), to 2 subscribers",
        "  1. 2611.00002  3/4    On the Learning of Paper 2611.00002  (author match: Yoshua Bengio)",
        "  2. 2611.00001  9/8    On the Learning of Paper 2611.00001",
        "  below the thresholds (7/6), the best:",
        "     2611.00003  6/9    On the Learning of Paper 2611.00003",
        "     2611.00004  6/8    On the Learning of Paper 2611.00004",
    ]
    assert [line.split()[0] for line in lines[6:14]] == [f"2611.000{n}" for n in range(10, 18)]
    assert lines[14:] == [
        "galaxies: note, 0 of 1 papers, to 1 subscriber",
        "  below the thresholds (7/6), the best:",
        "     2611.00030  1/1    On the Learning of Paper 2611.00030",
    ]


def test_mail_goes_to_the_outbox_without_a_mail_server_and_each_run_says_where(
    world: World,
) -> None:
    world.env(smtp=False)
    world.announce(1)
    ran = world.once("foundations")
    assert ran.code == 0
    outbox = world.path / "outbox"
    assert f"\nThe mail is in {outbox}\n" in ran.out
    assert f"\nThe mail is in {outbox}\n" in world.once("foundations").out
    assert {file.name for file in outbox.iterdir()} == {
        "Maildir",
        "foundations.eml",
        "foundations.html",
        "foundations.txt",
    }
    assert len(list((outbox / "Maildir" / "new").iterdir())) == 2


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/api/query", None])
def test_unreachable_or_empty_arxiv_leaves_the_lists_due(world: World, url: str | None) -> None:
    """An empty answer never means that there are no papers."""
    if url:
        world.env(ARXIV_API_URL=url)
    ran = world.once()
    assert ran.code == 1
    assert "foundations: still due" in ran.out
    assert ran.err.count("Connection refused") == (5 if url else 0), "once for each try"
    assert "Connection refused" not in ran.out
    assert world.mails() == []
    assert world.json("status")["lists"][0]["outcome"] is None


@pytest.mark.parametrize("terminal", [False, True])
def test_each_failure_is_reported_once(
    world: World, monkeypatch: pytest.MonkeyPatch, *, terminal: bool
) -> None:
    """By the log; neither the summary, nor the line of what waits, nor the alert repeats it."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("COLUMNS", "500")  # or a bar would wrap the lines of the log
    world.env(ALERT_TO="op@example.org", OPENAI_MODEL="gpt-7")
    world.announce_both(1, 2)
    world.llm.fail_always("no such model")
    ran = world.once()
    assert (ran.out + ran.err).count("it knows no model 'gpt-7'") == 1
    assert "no digest for" not in ran.err
    assert ran.out.splitlines() == [
        f"{name}: still due, scored 0 of 1 paper" for name in ("foundations", "galaxies")
    ]
    world.llm.lasting_fault = None
    world.smtp.faults.append(Fault("MAIL", "550 5.7.1 go away"))
    ran = world.once()
    assert (ran.out + ran.err).count("550 5.7.1 go away") == 1
    assert "Mail cannot be sent" not in ran.err
    assert ran.err.endswith("3 deliveries wait for the next try\n")


@pytest.mark.parametrize(
    ("files", "places"),
    [
        (
            {".env": "SMTP_PORT=abc\nSEND_AT=25:00\n", "subscribers.yaml": "lists:\n  - nam: x\n"},
            [".env:1: SMTP_PORT", ".env:2: SEND_AT", "subscribers.yaml:2:5: unknown key 'nam'"],
        ),
        ({"subscribers.yaml": "lists:\n\t- name: x\n"}, ["subscribers.yaml:2:1"]),
        (
            {
                "subscribers.yaml": "lists:\n  - {name: x, categories: [cs.LG], topics: topics/gone.md}\n"
            },
            ["subscribers.yaml:2:44"],
        ),
        ({"prompts/score.md.j2": "{% block rubric %}{{ nonsense }}"}, ["prompts/score.md.j2:1"]),
    ],
)
def test_problems_of_all_files_are_reported_before_anything_is_touched(
    world: World, files: dict[str, str], places: list[str]
) -> None:
    world.announce(1)
    for name, text in files.items():
        world.write(name, text)
    ran = world.once()
    assert ran.code == 78
    assert [place for place in places if place not in ran.err] == []
    assert (world.mails(), world.llm.requests, world.arxiv.requests) == ([], [], [])
    assert not (world.path / "data").exists()


def test_scheduled_halves_show_progress_as_dots(world: World) -> None:
    world.announce(1, 2, 3)
    world.env(LLM_BATCH_SIZE=1, LLM_CONCURRENCY=1)
    for half, papers_or_mails in (["morning", "foundations"], 3), (["sending"], 2):
        dots = world.run("work", *half).out
        assert set(dots) == {"."}
        assert len(dots) >= papers_or_mails
    assert world.mails() == ["ada@example.org", "grace@example.org"]


def test_call_that_fails_is_progress_too(world: World) -> None:
    """A server may refuse for longer than the daemon waits for a silent child."""
    world.announce(*range(1, 9))
    world.env(LLM_BATCH_SIZE=8, LLM_CONCURRENCY=1)
    world.llm.take_at_most(1, "request too large")
    dots = world.run("work", "morning", "foundations").out
    fetch_and_stages = 3
    assert len(dots) - fetch_and_stages >= len([ids for ids in world.llm.asked if len(ids) > 1])


@pytest.mark.long("commands in processes of their own")
class TestProcesses:
    """Signals and full disks, in processes of their own."""

    @pytest.fixture
    def today(self, world: World) -> World:
        """A real process has the real clock."""
        world.clock.now = datetime.now(UTC)
        world.announce(1)
        return world

    def test_full_disk_is_reported_and_nothing_is_lost(self, today: World) -> None:
        """A limit on the size of files is a full disk, also for root."""
        today.run("status")
        broken = today.start("once", prefix=("sh", "-c", 'ulimit -f 200; exec "$@"', "sh"))
        out, err = broken.communicate(timeout=300)
        assert broken.returncode in {1, 78}
        assert "Traceback" not in err
        assert "disk" in out + err
        assert today.mails() == []
        whole = today.start("once", "--list", "foundations")
        whole.communicate(timeout=300)
        assert whole.returncode == 0
        assert len(today.mails()) == 2

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_signal_while_sending_ends_after_the_message_in_hand(
        self, today: World, number: signal.Signals
    ) -> None:
        """It is neither lost nor sent again; the other waits."""
        stopping = threading.Event()
        today.smtp.faults.append(
            Fault("dot", "250 taken", until=stopping.is_set, keeps=True, times=1)
        )
        # While the server thinks about the final dot.
        today.smtp.on_fault = lambda _: process.send_signal(number)
        process = today.start("once", "--list", "foundations")
        assert process.stderr is not None
        assert "Stopping after the current message.\n" in process.stderr
        stopping.set()
        process.communicate(timeout=300)
        today.smtp.on_fault = None
        assert process.returncode == 1
        assert today.mails() == ["ada@example.org"]
        today.run("once", "--list", "foundations")
        assert today.mails() == ["ada@example.org", "grace@example.org"]

    def test_sigterm_before_sending_loses_nothing(self, today: World) -> None:
        today.llm.latency = 3600  # until the server is closed
        process = today.start("once")
        while not today.llm.requests:
            time.sleep(0.05)
            assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=300)
        assert process.returncode == 1
        assert "nothing is lost" in err
        assert today.mails() == []


def test_home_with_its_first_mail_server_learns_how_to_mail_what_is_in_the_outbox(
    world: World,
) -> None:
    world.announce(1)
    world.env(smtp=False, MAIL_FROM="papers@example.org")
    world.once("foundations")
    world.env()
    ran = world.run("once", "--list", "foundations")
    assert "To send the newest digests by mail: paperboy resend foundations" in ran.err
    assert world.mails() == []
    assert world.run("resend", "foundations").code == 0
    assert sorted(world.mails()) == ["ada@example.org", "grace@example.org"]
    assert "resend" not in world.once().err
