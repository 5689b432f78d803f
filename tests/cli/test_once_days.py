"""`paperboy once` over days: weekdays, cron, new and paused lists."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.cli.conftest import FRIDAY, LISTS, World, text_of
from tests.servers.smtp import Fault

DAY = timedelta(days=1)
MONDAYS = LISTS.replace("    topics: dwarf", "    weekdays: [mon]\n    topics: dwarf")
SKIPPED = (
    "galaxies: skipped; it does not send on Fridays; paperboy once --list galaxies sends it today"
)


def days(world: World, name: str) -> list[tuple[str, str]]:
    """Return the list's days, oldest first: weekday and outcome."""
    with world.store() as store:
        found = store.history.days([name], 99).get(name, ())
    return [(f"{day.date:%a}", day.outcome.value) for day in reversed(found)]


def newest(world: World) -> str:
    """Return the text of the newest mail."""
    return text_of(world.messages()[-1])


@pytest.fixture
def both(world: World) -> World:
    """Two lists; galaxies sends on Mondays only. Today is a Friday, and each has a paper."""
    world.write("subscribers.yaml", MONDAYS)
    world.announce_both(1, 4)
    return world


@pytest.mark.quick
def test_plain_once_serves_the_lists_of_this_weekday(both: World) -> None:
    for _ in range(2):
        ran = both.once()
        assert ran.code == 0
        assert SKIPPED in ran.out
        assert both.mails() == ["ada@example.org", "grace@example.org"]
    assert days(both, "galaxies") == [("Fri", "skipped")]


@pytest.mark.parametrize("before", [(), ("once",)])
@pytest.mark.parametrize("arguments", [("--list", "galaxies"), ("--all",)])
def test_list_that_is_asked_for_is_served_whatever_its_weekdays(
    both: World, before: tuple[str, ...], arguments: tuple[str, ...]
) -> None:
    if before:
        both.run(*before)
    for _ in range(2):
        assert both.run("once", *arguments).code == 0
        assert both.mails().count("vera@example.org") == 1
    assert SKIPPED not in both.once().out
    assert days(both, "galaxies") == [("Fri", "digest")]


def test_list_and_all_exclude_each_other(both: World) -> None:
    ran = both.run("once", "--all", "--list", "galaxies")
    assert (ran.code, both.mails()) == (2, [])
    assert "--list and --all exclude each other" in ran.err


@pytest.mark.parametrize("hour", [4, 7, 20])
def test_each_day_of_a_daily_cron_job_has_an_outcome_and_each_paper_its_mail(
    both: World, hour: int
) -> None:
    """Also where the job comes before the day's batch, at 05:15 UTC, and SEND_AT after it."""
    start = datetime(2026, 11, 20, hour, tzinfo=UTC)
    for number in range(11):
        both.clock.now = start + number * DAY
        if both.clock().weekday() < 5:
            both.announce(10 + number)
            both.announce(40 + number, categories=("astro-ph.GA",))
        ran = both.once()
        assert ran.code == 0, ran.out
        if both.clock().weekday() == 6:
            assert "foundations: quiet; arXiv announced nothing (weekend)" in ran.out
    week = ["Fri", "Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Mon"]
    assert [day for day, _ in days(both, "foundations")] == week
    assert {outcome for _, outcome in days(both, "foundations")} == {"digest", "quiet"}
    assert days(both, "galaxies") == [
        (day, "digest" if day == "Mon" else "skipped") for day in week
    ]
    assert both.mails().count("vera@example.org") == 2


def test_new_list_begins_on_its_first_day_also_if_it_does_not_send_then(both: World) -> None:
    both.once()
    both.clock.now = FRIDAY + 3 * DAY
    both.announce(43, categories=("astro-ph.GA",))
    both.once()
    assert numbers(both) == [4, 43]


# ---- paused lists

PAUSED = LISTS.replace("    topics: dwarf", "    paused: true\n    topics: dwarf")


@pytest.mark.parametrize(
    "arguments", [(), ("--list", "galaxies"), ("--all",), ("--list", "galaxies", "--dry-run")]
)
def test_paused_list_sends_nothing_and_once_says_so(
    both: World, arguments: tuple[str, ...]
) -> None:
    both.write("subscribers.yaml", PAUSED)
    for _ in range(2):
        ran = both.run("once", *arguments)
        assert ran.code == 0
        assert "galaxies: skipped; it is paused" in ran.out or "galaxies: paused" in ran.out
    assert "vera@example.org" not in both.mails()


def test_preview_says_that_nobody_gets_the_digest_of_a_paused_list(both: World) -> None:
    both.run("once", "--all")
    both.write("subscribers.yaml", PAUSED)
    assert both.run("preview", "galaxies").err.endswith("; the list is paused, so nobody gets it\n")
    assert "paused" not in both.run("preview", "foundations").err


def test_paused_list_alone_asks_arxiv_for_nothing(both: World) -> None:
    both.write("subscribers.yaml", PAUSED)
    both.once("galaxies")
    assert both.arxiv.requests == []
    both.write("subscribers.yaml", PAUSED.replace("    title: Foundations\n", "    paused: true\n"))
    both.clock.now += DAY
    ran = both.once()
    assert (ran.code, both.arxiv.requests) == (0, [])
    assert days(both, "foundations") == [("Sat", "skipped")]


@pytest.mark.quick
def test_list_begins_with_the_newest_batch_after_its_pause_under_cron(both: World) -> None:
    both.run("once", "--all")
    both.write("subscribers.yaml", PAUSED)
    for number in (3, 4, 5):
        both.clock.now = FRIDAY + number * DAY
        both.announce(40 + number, categories=("astro-ph.GA",))
        both.once()
    both.write("subscribers.yaml", LISTS)
    both.clock.now = FRIDAY + 6 * DAY
    both.announce(46, categories=("astro-ph.GA",))
    assert "galaxies: digest, 1 of 1 papers" in both.once().out
    assert [number for number in ("00045", "00046") if number in newest(both)] == ["00046"]


def test_waiting_mail_of_a_paused_list_is_not_sent_until_it_is_sent_again_by_hand(
    both: World,
) -> None:
    both.smtp.faults.append(Fault("RCPT", "450 later", address="vera@example.org", times=1))
    assert both.run("once", "--all").code == 1
    both.write("subscribers.yaml", PAUSED)
    old = both.clock().timestamp() - 60
    os.utime(both.path / "subscribers.yaml", (old, old))
    both.later(hours=1)
    assert both.once().code == 0
    assert "the list is paused" in both.run("status").out
    for more in ((), ("--failed",), ("--to", "vera@example.org")):
        ran = both.run("resend", "galaxies", *more)
        assert ran.code == 2
        assert "galaxies is paused" in ran.err
    assert "vera@example.org" not in both.mails()
    both.write("subscribers.yaml", LISTS)
    assert both.run("resend", "galaxies").code == 0
    assert both.mails().count("vera@example.org") == 1


# ---- --since


@pytest.fixture
def week(world: World) -> World:
    """A batch on each working day until today, a Friday: papers 1 to 6 of galaxies, the last one of today."""
    for number, ago in enumerate((8, 7, 3, 2, 1, 0), start=1):
        world.clock.now = FRIDAY - ago * DAY
        world.announce(number, categories=("astro-ph.GA",))
    world.announce(9)
    return world


def numbers(world: World) -> list[int]:
    """Return the numbers of the papers in the newest mail."""
    return sorted({int(found) for found in re.findall(r"abs/2611\.(\d{5})", newest(world))})


@pytest.mark.parametrize(
    ("since", "papers"),
    [("2026-11-20", [6]), ("2026-11-18", [4, 5, 6]), ("2026-11-13", [2, 3, 4, 5, 6])],
)
@pytest.mark.parametrize("before", [(), ("once", "--list", "foundations"), ("preview", "galaxies")])
def test_new_list_gets_the_batches_since_a_date_after_the_cost_is_logged(
    week: World, before: tuple[str, ...], since: str, papers: list[int]
) -> None:
    if before:
        week.run(*before)
    ran = week.run("once", "--list", "galaxies", "--since", since)
    assert ran.code == 0, ran
    assert numbers(week) == papers
    assert f"WARNING scoring {len(papers)} paper" in ran.err or before[:1] == ("preview",)
    assert "for galaxies by gpt-6-luna: price unknown" in ran.err or before[:1] == ("preview",)


def test_list_that_has_begun_may_begin_again_on_another_day_even_a_quiet_one(week: World) -> None:
    week.once("galaxies")
    assert numbers(week) == [6]
    week.clock.now = FRIDAY + DAY
    assert "galaxies: quiet" in week.once().out
    assert week.run("once", "--list", "galaxies", "--since", "2026-11-18").code == 0
    assert numbers(week) == [4, 5]
    assert days(week, "galaxies") == [("Fri", "digest"), ("Sat", "digest")]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (
            ("--list", "galaxies", "--since", "2026-11-12"),
            "galaxies: --since must be from 2026-11-13",
        ),
        (("--list", "galaxies", "--since", "2026-11-21"), "(ARXIV_LOOKBACK_DAYS) to 2026-11-20"),
        (("--list", "galaxies", "--since", "soon"), "'soon' does not match"),
        (("--since", "2026-11-20"), "--since needs --list"),
        (
            ("--list", "galaxies", "--dry-run", "--since", "2026-11-20"),
            "--since needs --list, and no --dry-run",
        ),
        (
            ("--list", "foundations", "--list", "galaxies", "--since", "2026-11-19"),
            "foundations: has had today's digest",
        ),
    ],
)
def test_since_that_cannot_be_is_wrong_usage_and_nothing_is_done(
    week: World, arguments: tuple[str, ...], why: str
) -> None:
    week.once("foundations")
    asked = len(week.arxiv.requests)
    ran = week.run("once", *arguments)
    assert ran.code == 2
    assert why in ran.err
    assert (len(week.arxiv.requests), "vera@example.org" in week.mails()) == (asked, False)


def test_digest_after_a_long_absence_says_what_was_not_looked_at(both: World) -> None:
    """Those of the last 30 days are scored."""
    both.once()
    for number in range(1, 43):
        both.clock.now = FRIDAY + number * DAY
        both.announce(10 + number)
    both.once("foundations")
    away = "papers submitted before 2 December 2026 were not looked at"
    assert away in " ".join(newest(both).split())
    both.clock.now += DAY
    both.announce(99)
    both.once()
    assert "not looked at" not in newest(both)
