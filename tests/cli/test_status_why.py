"""`status` says why there is no mail, what stands in the way, and what comes next and when."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta

import pytest

from paperboy import lock
from paperboy.due import RETRY
from paperboy.models import Alert, Attempt, Counts, Outcome, Spending, Usage
from paperboy.store import Store
from tests.cli.conftest import LISTS, World
from tests.cli.statuses import FRIDAY, had, spend
from tests.servers.smtp import Fault

SATURDAY = FRIDAY + timedelta(days=1)
TEN = "lists:\n" + "".join(
    f"  - {{name: list-{number}, categories: [cs.LG], topics: learning, subscribers: [ada@example.org]}}\n"
    for number in range(10)
)
NOBODY_AT_WORK = "No Paperboy is at work in this home: nothing comes before paperboy run, or once\n"


@contextmanager
def running(world: World) -> Iterator[None]:
    """While a daemon holds the home."""
    database = world.path / "data" / "paperboy.db"
    with lock.held(database, "run", "run"), Store.open(database):
        yield


# --- why


def test_why_a_list_is_due_is_told(world: World) -> None:
    world.env(ARXIV_API_URL="http://127.0.0.1:9/api/query")
    world.run("once")
    world.clock.now += timedelta(minutes=1)
    with running(world):
        printed = world.run("status").out
    assert printed.startswith("Not yet: foundations and galaxies are due since 07:00: 127.0.0.1 could not be")
    assert "\nfoundations and galaxies: 127.0.0.1" in printed
    assert printed.count("(last tried Fri 20 Nov 07:00 UTC, next try about 07:15 UTC)\n") == 1
    assert "\nNext for foundations and galaxies: due, next try about 07:15 UTC\n" in printed
    assert "due now" not in printed
    for entry in json.loads(world.run("status", "--json").out)["lists"]:
        assert entry["trouble"]["reason"].startswith("127.0.0.1 could not be reached")
        assert entry["trouble"]["at"] == "2026-11-20T07:00:00+00:00"
        assert entry["trouble"]["next_try"] == "2026-11-20T07:15:00+00:00"


def test_where_nobody_is_at_work_no_next_try_is_promised(world: World) -> None:
    world.env(ARXIV_API_URL="http://127.0.0.1:9/api/query")
    world.run("once")
    world.clock.now += timedelta(minutes=1)
    printed = world.run("status").out
    assert "next try" not in printed
    assert printed.count("(last tried Fri 20 Nov 07:00 UTC)\n") == 1
    assert "no paperboy run is at work" in printed.splitlines()[0]
    assert "\nNext for foundations and galaxies: due now\n" in printed


def test_a_rest_that_is_over_is_due_now(world: World) -> None:
    world.env(ARXIV_API_URL="http://127.0.0.1:9/api/query")
    world.run("once")
    world.clock.now += timedelta(minutes=15)
    with running(world):
        assert "\nNext for foundations and galaxies: due now\n" in world.run("status").out


def test_scored_none_of_them_is_told_from_not_tried(world: World) -> None:
    world.announce(1, 2)
    world.llm.fail_always("out of credit")
    world.run("once", "--list", "foundations")
    tried, untried = json.loads(world.run("status", "--json").out)["lists"]
    assert tried["outcome"] is untried["outcome"] is None
    assert tried["trouble"]["reason"].startswith("scored 0 of 2: the LLM at ")
    assert untried["trouble"] is None


def test_what_troubles_several_lists_is_told_once(world: World) -> None:
    world.announce(1, 2)
    world.announce(3, categories=("astro-ph.GA",))
    world.llm.fail_always("out of credit")
    world.run("once")
    with running(world):
        printed = world.run("status").out
    assert "\nfoundations and galaxies: scored 0 of 3: the LLM at " in printed
    assert printed.count("(last tried Fri 20 Nov 07:00 UTC, next try about 07:15 UTC)\n") == 1
    assert "\nNext for foundations and galaxies: due, next try about 07:15 UTC\n" in printed


def test_troubles_that_differ_are_told_each(world: World) -> None:
    world.write("subscribers.yaml", TEN)
    at = world.clock()
    with Store.open(world.path / "data" / "paperboy.db") as store:
        for number in range(10):
            reason = "scored 0 of 4: the LLM is down" if number % 2 else "the LLM is down"
            tried = at - timedelta(days=number == 9)
            store.days.note_attempt(Attempt(f"list-{number}", reason, tried, tried, tried + RETRY))
    with running(world):
        lines = world.run("status").out.splitlines()[1:]
    again = "last tried Fri 20 Nov 07:00 UTC, next try about 07:15 UTC"
    assert [line for line in lines if "the LLM is down" in line] == [
        f"list-0, list-2, list-4, list-6 and list-8: the LLM is down ({again})",
        f"list-1, list-3, list-5 and list-7: scored 0 of 16: the LLM is down ({again})",
        "list-9: scored 0 of 4: the LLM is down (last tried Thu 19 Nov 07:00 UTC, to be tried now)",
    ]


def test_what_was_odd_about_the_newest_days_is_told_once(world: World) -> None:
    for name in ("foundations", "galaxies"):
        had(world, Outcome.GAVE_UP, list_name=name, reason="arXiv is late")
    assert "\nfoundations and galaxies, Fri 20 Nov: arXiv is late\n" in world.run("status").out
    told = json.loads(world.run("status", "--json").out)["lists"]
    assert [(entry["reason"], entry["trouble"]) for entry in told] == [("arXiv is late", None)] * 2


def test_a_list_that_lost_its_subscribers_has_no_trouble_any_more(world: World) -> None:
    world.env(ARXIV_API_URL="http://127.0.0.1:9/api/query")
    world.run("once")
    world.write("subscribers.yaml", "lists:\n  - {name: foundations, categories: [cs.LG], topics: learning}\n")
    assert "127.0.0.1" not in world.run("status").out
    assert json.loads(world.run("status", "--json").out)["lists"][0]["trouble"] is None


def test_what_stands_is_told_with_its_headline_and_since_when(world: World) -> None:
    """Also after its mail has gone out, with which the headline is forgotten."""
    world.env(ALERT_TO="ops@example.org")
    at = world.clock()
    with Store.open(world.path / "data" / "paperboy.db") as store:
        store.alerts.note("mail", ["the mail server"], Alert("Mail does not leave", ()), FRIDAY, at)
        store.alerts.note(
            "scoring", ["galaxies"], Alert("Scored 0 of 40 papers: no digest for galaxies", ()), FRIDAY, at
        )
        store.alerts.note("well again 2026", [], Alert("Well again: mail leaves", ()), FRIDAY, at)
        store.alerts.told("scoring", FRIDAY)
    printed = world.run("status").out
    assert "\nMail does not leave (since Fri 20 Nov 07:00 UTC; no mail has told you yet)\n" in printed
    assert "\nThe LLM scores nothing for galaxies (since Fri 20 Nov 07:00 UTC)\n" in printed
    assert "Well again" not in printed
    assert json.loads(world.run("status", "--json").out)["alerts"] == [
        {
            "cause": "mail",
            "headline": "Mail does not leave",
            "since": "2026-11-20T07:00:00+00:00",
            "about": ["the mail server"],
            "told": None,
        },
        {
            "cause": "scoring",
            "headline": "The LLM scores nothing for galaxies",
            "since": "2026-11-20T07:00:00+00:00",
            "about": ["galaxies"],
            "told": "2026-11-20",
        },
    ]


def test_text_from_elsewhere_gives_the_terminal_no_orders(world: World) -> None:
    """Neither by control characters, nor by the markup of our tables, nor by lines of its own."""
    evil = "550 \x1b]0;owned\x07\x1b[2J[red]no[/red]\r\nEveryone got today's mail\u202e"
    with Store.open(world.path / "data" / "paperboy.db") as store:
        store.days.note_attempt(Attempt("foundations", evil, world.clock(), world.clock(), world.clock() + RETRY))
        store.alerts.note(evil, ["galaxies"], Alert(evil, ()), FRIDAY, world.clock())
        store.suppressions.add("ada@example.org", "", evil, world.clock())
    spend(world, "2026-11-20T07:00Z", Spending(Usage(1, 900)), "galaxies")
    had(world, Outcome.GAVE_UP, list_name="galaxies", reason=evil, model="[b]m[/b]\x1b[2J")
    clean = "550 ]0;owned[2J[red]no[/red] Everyone got today's mail"
    for arguments in ([], ["--suppressed"]):
        printed = world.run("status", *arguments).out
        assert printed.replace("\n", "").isprintable()
        assert clean in printed
        assert "\nEveryone got" not in printed
    assert "[b]m[/b][2J" in world.run("status").out


# --- what comes


def test_lists_with_the_same_next_morning_share_a_line(world: World) -> None:
    had(world, Outcome.QUIET)
    weekend = "Sat 21 Nov 07:00 UTC (weekend, no batch); the next batch Mon 23 Nov 07:00 UTC"
    assert f"\nNext for foundations: {weekend}\nNext for galaxies: due now\n" in world.run("status").out
    had(world, Outcome.QUIET, list_name="galaxies")
    assert f"\nNext for foundations and galaxies: {weekend}\n" in world.run("status").out


@pytest.mark.parametrize(
    ("outcome", "counts"),
    [(Outcome.GAVE_UP, Counts(considered=9, carried_over=9)), (Outcome.DIGEST, Counts(9, selected=2, carried_over=7))],
)
def test_what_is_left_over_comes_the_next_morning_batch_or_not(world: World, outcome: Outcome, counts: Counts) -> None:
    for name in ("foundations", "galaxies"):
        had(world, outcome, counts, list_name=name)
    assert "\nNext for foundations and galaxies: Sat 21 Nov 07:00 UTC\n" in world.run("status").out


def test_a_digest_that_reached_nobody_comes_again_the_next_morning(world: World) -> None:
    world.announce(1)
    world.smtp.faults.append(Fault("MAIL", "550 5.7.1 you may not send"))
    world.run("once", "--list", "foundations")
    assert "\nNext for foundations: Sat 21 Nov 07:00 UTC\n" in world.run("status").out
    world.smtp.faults.clear()
    world.run("once", "--list", "foundations")
    assert "\nNext for foundations: Sat 21 Nov 07:00 UTC (weekend, no batch); " in world.run("status").out


def test_a_quiet_day_says_why_and_when_the_next_batch_comes(world: World) -> None:
    had(world, Outcome.QUIET, day=SATURDAY)
    had(world, Outcome.NOTE, Counts(9, below=9), list_name="galaxies", day=SATURDAY)
    world.clock.now += timedelta(days=1, hours=2)
    printed = world.run("status").out
    assert printed.splitlines()[0] == (
        "No mail for galaxies: none of 9 papers passed. No mail for foundations: arXiv announced nothing (weekend)."
    )
    entry = json.loads(world.run("status", "--json").out)["lists"][0]
    assert printed.count("arXiv announced nothing") == 1
    assert (entry["quiet"], entry["next_batch"]) == (
        "arXiv announced nothing (weekend)",
        "2026-11-23T07:00:00+00:00",
    )


def test_a_quiet_day_whose_reason_has_no_room_in_the_answer_says_it_below(world: World) -> None:
    had(world, Outcome.GAVE_UP, reason="arXiv's answer has 2 papers of 40 " * 4)
    had(world, Outcome.QUIET, list_name="galaxies")
    printed = world.run("status").out
    assert "\ngalaxies, Fri 20 Nov: no mail, arXiv had nothing new in its categories\n" in printed


def test_a_holiday_that_the_operator_names_counts(world: World) -> None:
    world.env(ARXIV_HOLIDAYS="2026-11-18")
    world.clock.now = world.clock.now.replace(day=19)
    had(world, Outcome.QUIET, day=date(2026, 11, 19))
    had(world, Outcome.QUIET, day=date(2026, 11, 19), list_name="galaxies")
    answer = "No mail today: arXiv announced nothing (holiday); the next batch comes Fri 20 Nov 07:00 UTC."
    assert world.run("status").out.splitlines()[0] == answer


def test_a_list_without_subscribers_has_no_next(world: World) -> None:
    world.write("subscribers.yaml", "lists:\n  - {name: x, categories: [cs.LG], topics: learning}\n")
    entry = json.loads(world.run("status", "--json").out)["lists"][0]
    assert (entry["next"], entry["next_batch"]) == (None, None)
    printed = world.run("status").out
    assert printed.startswith("No list has subscribers, so there is no mail.\n")
    assert "no subscribers" in printed
    assert NOBODY_AT_WORK not in printed


def test_who_is_at_work_is_told(world: World) -> None:
    assert f"\n{NOBODY_AT_WORK}" in world.run("status").out
    with running(world):
        ran = world.run("status")
        assert NOBODY_AT_WORK not in ran.out
        assert ran.out.startswith("Not yet: foundations and galaxies are due since 07:00 UTC.\n")
        assert json.loads(world.run("status", "--json").out)["running"]["command"] == "run"
    with lock.held(world.path / "data" / "paperboy.db", "morning", "once"):
        assert world.run("status").out.startswith("A morning is at work: foundations and galaxies are due since ")
    assert f"\n{NOBODY_AT_WORK}" in world.run("status").out


def test_looking_takes_the_home_from_nobody(world: World) -> None:
    with Store.open(world.path / "data" / "paperboy.db"):
        pass
    for _ in range(2):
        world.run("status")
        with lock.held(world.path / "data" / "paperboy.db", "run", "run"):
            pass


def test_while_the_files_are_broken_it_shows_what_the_daemon_goes_by(world: World) -> None:
    good = world.path / "data" / "in-force" / "good"
    good.mkdir(parents=True)
    for name in (".env", "subscribers.yaml"):
        (good / name).write_text((world.path / name).read_text())
    world.write("subscribers.yaml", LISTS.replace("categories", "categoriez"))
    database = world.path / "data" / "paperboy.db"
    assert world.run("status").code == 78  # nobody goes by the copy
    with lock.held(database, "run", "run"), Store.open(database):
        ran = world.run("status")
        assert ran.code == 0
        assert "subscribers.yaml:4:" in ran.err
        assert "The version before stays in force until that is mended." in ran.err
        assert "Next for foundations and galaxies: due now" in ran.out
