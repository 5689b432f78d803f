"""`paperboy once`, by its command line, against real servers on loopback."""

import email
import email.policy
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import World
from tests.servers.smtp import Fault


def test_a_morning_from_arxiv_to_the_inbox(world: World) -> None:
    world.announce(1, 2, 3)
    world.announce(4, categories=("astro-ph.GA",))
    ran = world.run("once")
    assert ran.code == 0, ran.err
    assert "foundations: digest, 3 of 3 papers" in ran.out
    assert "galaxies: digest, 1 of 1 papers" in ran.out
    assert "Deliveries: 3 sent" in ran.out
    assert world.mails() == ["ada@example.org", "grace@example.org", "vera@example.org"]


def test_each_copy_is_its_subscribers_own(world: World) -> None:
    world.announce(1)
    world.run("once", "--list", "foundations")
    ada, grace = (email.message_from_bytes(sent.content, policy=email.policy.default) for sent in world.smtp.messages)
    assert (ada["To"], grace["To"]) == ("ada@example.org", "Grace Hopper <grace@example.org>")
    assert ada["Message-ID"] != grace["Message-ID"]
    assert ada["List-Unsubscribe"] != grace["List-Unsubscribe"]
    assert b"grace" not in world.smtp.messages[0].content
    assert [part.get_content_type() for part in ada.iter_parts()] == ["text/plain", "text/html"]
    assert "2611.00001" in ada.get_body(("plain",)).get_content()


def test_a_second_run_sends_nothing_again(world: World) -> None:
    world.announce(1)
    world.announce(4, categories=("astro-ph.GA",))
    world.run("once")
    asked = len(world.llm.requests)
    ran = world.run("once")
    assert ran.code == 0
    assert "foundations: digest, done earlier today" in ran.out
    assert len(world.mails()) == 3
    assert len(world.llm.requests) == asked


def test_one_list_alone(world: World) -> None:
    world.announce(1)
    world.announce(4, categories=("astro-ph.GA",))
    ran = world.run("once", "--list", "galaxies")
    assert ran.code == 0
    assert world.mails() == ["vera@example.org"]
    assert "foundations" not in ran.out


def test_a_list_that_is_not_there_is_wrong_usage(world: World) -> None:
    ran = world.run("once", "--list", "fundations")
    assert ran.code == 2
    assert "there is no list 'fundations', did you mean 'foundations'?" in ran.err
    assert not (world.path / "data").exists()


def test_a_dry_run_sends_and_marks_nothing_and_keeps_the_scores(world: World) -> None:
    world.announce(1)
    world.announce(4, categories=("astro-ph.GA",))
    ran = world.run("once", "--dry-run")
    assert ran.code == 0
    assert "foundations: digest, 1 of 1 papers, to 2 subscribers\n  1. 2611.00001" in ran.out
    assert world.mails() == []
    asked = len(world.llm.requests)
    assert world.run("once").code == 0
    assert len(world.mails()) == 3
    assert len(world.llm.requests) == asked


def test_without_a_mail_server_the_mail_goes_to_the_outbox(world: World) -> None:
    world.env(smtp=False)
    world.announce(1)
    assert world.run("once", "--list", "foundations").code == 0
    outbox = world.path / "outbox"
    assert {file.name for file in outbox.iterdir()} == {
        "Maildir",
        "foundations.eml",
        "foundations.html",
        "foundations.txt",
    }
    assert len(list((outbox / "Maildir" / "new").iterdir())) == 2


def test_without_an_llm_the_embedded_scorer_ranks_and_the_digest_says_so(world: World) -> None:
    world.env(llm=False, smtp=False)
    world.announce(*range(1, 21))
    assert world.run("once", "--list", "foundations").code == 0
    assert world.llm.requests == []
    assert "No LLM judged these papers" in (world.path / "outbox" / "foundations.txt").read_text("utf-8")


def test_an_unreachable_arxiv_leaves_the_lists_due(world: World) -> None:
    world.env(ARXIV_API_URL="http://127.0.0.1:9/api/query")
    ran = world.run("once")
    assert ran.code == 1
    assert "foundations: still due." in ran.out
    assert "127.0.0.1" in ran.out
    assert world.mails() == []


def test_an_empty_answer_of_arxiv_is_never_no_papers(world: World) -> None:
    ran = world.run("once")
    assert ran.code == 1
    assert "still due" in ran.out
    assert json.loads(world.run("status", "--json").out)["lists"][0]["outcome"] is None


def test_a_budget_for_a_model_without_a_price_is_refused(world: World) -> None:
    world.env(OPENAI_MODEL="home-grown-7b", LLM_BUDGET_USD=1)
    world.announce(1)
    ran = world.run("once")
    assert ran.code == 78
    assert "LLM_BUDGET_USD: the price of home-grown-7b is unknown" in ran.err


def test_a_model_without_a_price_shows_tokens_and_no_dollars(world: World) -> None:
    world.env(OPENAI_MODEL="home-grown-7b")
    world.announce(1)
    ran = world.run("once", "--list", "foundations")
    assert "price unknown" in ran.out
    text = email.message_from_bytes(world.smtp.messages[0].content, policy=email.policy.default)
    assert "price unknown" in text.get_body(("plain",)).get_content()
    assert "$0" not in text.get_body(("plain",)).get_content()


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (".env", "SMTP_PORT=abc\nSEND_AT=25:00\n", [".env:1: SMTP_PORT", ".env:2: SEND_AT"]),
        ("subscribers.yaml", "lists:\n  - nam: x\n", ["subscribers.yaml:2:5: unknown key 'nam'"]),
        ("subscribers.yaml", "lists:\n\t- name: x\n", ["subscribers.yaml:2:1"]),
        (
            "subscribers.yaml",
            "lists:\n  - name: x\n    categories: [cs.LG]\n    topics: topics/gone.md\n",
            ["subscribers.yaml:4:13"],
        ),
        ("prompts/score.md.j2", "{% block rubric %}{{ nonsense }}", ["prompts/score.md.j2:1"]),
    ],
)
def test_a_broken_file_is_told_with_its_place_and_nothing_is_touched(
    world: World, name: str, text: str, told: list[str]
) -> None:
    world.announce(1)
    world.write(name, text)
    ran = world.run("once")
    assert ran.code == 78
    for place in told:
        assert place in ran.err
    assert world.mails() == []
    assert world.llm.requests == []
    assert world.arxiv.requests == []


def test_problems_of_all_files_come_at_once(world: World) -> None:
    world.write(".env", "SMTP_PORT=abc\n")
    world.write("subscribers.yaml", "lists:\n  - nam: x\n")
    ran = world.run("once")
    assert ran.code == 78
    assert ".env:1: SMTP_PORT" in ran.err
    assert "subscribers.yaml:2:5" in ran.err
    assert not (world.path / "data").exists()


def test_a_database_that_is_a_folder_is_told(world: World) -> None:
    (world.path / "data" / "paperboy.db").mkdir(parents=True)
    ran = world.run("once")
    assert ran.code == 78
    assert "this is a folder" in ran.err


def test_a_truncated_database_is_told(world: World) -> None:
    world.announce(1)
    world.run("once", "--list", "foundations")
    database = world.path / "data" / "paperboy.db"
    database.write_bytes(database.read_bytes()[:9000])
    for left in ("-wal", "-shm"):
        database.with_name(database.name + left).unlink(missing_ok=True)
    ran = world.run("once")
    assert ran.code == 78
    assert "restore a backup" in ran.err


class TestProcesses:
    """What needs a process of its own."""

    def start(self, world: World, *arguments: str, prefix: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*prefix, sys.executable, "-m", "paperboy", "--home", str(world.path), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        )

    @pytest.fixture
    def today(self, world: World) -> World:
        """A real process has the real clock."""
        world.clock.now = datetime.now(UTC)
        world.announce(1)
        return world

    def test_two_paperboys_on_one_home(self, today: World) -> None:
        """The second one says who is there, waits, and goes on when the first has ended."""
        today.llm.latency = 60  # until the server is told to go on
        first = self.start(today, "once")
        while not today.llm.requests:
            time.sleep(0.05)
            assert first.poll() is None, first.communicate()
        second = self.start(today, "once")
        assert second.stderr is not None
        waits = f"another Paperboy (process {first.pid}, paperboy once) is active; waiting until its morning is done"
        assert second.stderr.readline() == f"{waits}\n"
        first.kill()
        first.communicate(timeout=300)
        today.llm.latency = 0
        second.communicate(timeout=300)
        assert second.returncode == 0
        assert len(today.mails()) == 2

    def test_a_full_disk_is_told_and_nothing_is_lost(self, today: World) -> None:
        """A limit on the size of files is a full disk, also for root."""
        today.run("status")
        broken = self.start(today, "once", prefix=("sh", "-c", 'ulimit -f 200; exec "$@"', "sh"))
        out, err = broken.communicate(timeout=300)
        assert broken.returncode in {1, 78}
        assert "Traceback" not in err
        assert "disk" in out + err
        assert today.mails() == []
        whole = self.start(today, "once", "--list", "foundations")
        whole.communicate(timeout=300)
        assert whole.returncode == 0
        assert len(today.mails()) == 2

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_while_sending_ends_after_the_message_in_hand(self, today: World, number: signal.Signals) -> None:
        """It is neither lost nor sent again; the other waits."""
        today.smtp.faults.append(Fault("dot", "250 taken", delay=2, keeps=True, times=1))
        today.smtp.on_fault = lambda _: process.send_signal(number)  # while the server thinks about the final dot
        process = self.start(today, "once", "--list", "foundations")
        process.communicate(timeout=300)
        today.smtp.on_fault = None
        assert process.returncode == 1
        assert today.mails() == ["ada@example.org"]
        today.run("once", "--list", "foundations")
        assert today.mails() == ["ada@example.org", "grace@example.org"]

    def test_sigterm_before_sending_loses_nothing(self, today: World) -> None:
        today.llm.latency = 3600  # until the server is closed
        process = self.start(today, "once")
        while not today.llm.requests:
            time.sleep(0.05)
            assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=300)
        assert process.returncode == 1
        assert "nothing is lost" in err
        assert today.mails() == []


def test_when_mail_leaves_by_smtp_at_last_the_way_to_send_what_went_to_the_outbox_is_told(world: World) -> None:
    world.announce(1)
    world.env(smtp=False, MAIL_FROM="papers@example.org")
    world.run("once", "--list", "foundations")
    world.env()
    assert "paperboy resend foundations" in world.run("once", "--list", "foundations").err
    assert world.mails() == []
    assert world.run("resend", "foundations").code == 0
    assert sorted(world.mails()) == ["ada@example.org", "grace@example.org"]
    assert "resend" not in world.run("once", "--list", "foundations").err
