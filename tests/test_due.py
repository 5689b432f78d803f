"""When a list's morning comes, over clock changes, weekdays and outages."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from paperboy.due import (
    RETRY,
    ListState,
    Standing,
    begins,
    failed,
    is_open,
    local_date,
    next_morning,
    standing,
)
from paperboy.models import Attempt, MailingList, Outcome, Subscriber
from tests.builders import mailing_list

BERLIN, NEW_YORK, KOLKATA = (
    ZoneInfo("Europe/Berlin"),
    ZoneInfo("America/New_York"),
    ZoneInfo("Asia/Kolkata"),
)
ADA = (Subscriber("ada@example.org"),)


@pytest.mark.parametrize(
    ("zone", "at", "day", "utc"),
    [
        (BERLIN, time(7), date(2026, 11, 20), "2026-11-20T06:00"),
        (BERLIN, time(7), date(2026, 7, 1), "2026-07-01T05:00"),
        (
            BERLIN,
            time(2, 30),
            date(2026, 3, 29),
            "2026-03-29T01:30",
        ),  # leapt over: 02:30 is 03:30 that day
        (BERLIN, time(2, 30), date(2026, 10, 25), "2026-10-25T00:30"),  # comes twice: the first
        (NEW_YORK, time(2, 30), date(2026, 3, 8), "2026-03-08T07:30"),
        (KOLKATA, time(7), date(2028, 2, 29), "2028-02-29T01:30"),
    ],
)
def test_morning_begins_at_the_lists_own_hour(
    zone: ZoneInfo, at: time, day: date, utc: str
) -> None:
    begin = begins(mailing_list(timezone=zone, send_at=at), day)
    assert begin == datetime.fromisoformat(utc).replace(tzinfo=UTC)


SIX_HOURS = timedelta(hours=6)
FRIDAY_SEVEN = datetime(2026, 11, 20, 6, tzinfo=UTC)  # in Berlin


def stands(
    now: datetime,
    outcome: Outcome | None = None,
    attempt: Attempt | None = None,
    since: datetime | None = None,
    **changes: Any,
) -> Standing:
    """A list in Berlin that sends at seven."""
    mine = mailing_list(**({"timezone": BERLIN, "send_at": time(7), "subscribers": ADA} | changes))
    return standing(mine, outcome, attempt, now, SIX_HOURS, since)


def test_list_is_due_from_its_hour_until_it_has_an_outcome() -> None:
    early = stands(FRIDAY_SEVEN - timedelta(minutes=1))
    assert (early.state, early.next_try, early.next_digest) == (
        ListState.COMING,
        None,
        FRIDAY_SEVEN,
    )
    at_seven = stands(FRIDAY_SEVEN)
    assert (at_seven.state, at_seven.next_try, at_seven.next_digest) == (
        ListState.DUE,
        FRIDAY_SEVEN,
        FRIDAY_SEVEN,
    )
    assert at_seven.ready(FRIDAY_SEVEN)
    done = stands(FRIDAY_SEVEN, Outcome.QUIET)
    assert (done.state, done.next_try, done.next_digest) == (
        ListState.DONE,
        None,
        FRIDAY_SEVEN + timedelta(days=1),
    )


def test_day_off_is_written_down_at_its_hour_and_then_done_with() -> None:
    monday = {"weekdays": frozenset({0})}
    assert stands(FRIDAY_SEVEN - timedelta(minutes=1), **monday).next_try is None
    at_seven = stands(FRIDAY_SEVEN, **monday)
    assert (at_seven.state, at_seven.next_try) == (ListState.OFF, FRIDAY_SEVEN)
    assert at_seven.next_digest == FRIDAY_SEVEN + timedelta(days=3)
    skipped = stands(FRIDAY_SEVEN, Outcome.SKIPPED, **monday)
    assert (skipped.state, skipped.next_try) == (ListState.OFF, None)


def test_new_list_is_due_from_its_next_hour_on() -> None:
    second = timedelta(seconds=1)
    for now in (FRIDAY_SEVEN + second, FRIDAY_SEVEN + timedelta(hours=9)):
        new = stands(now, since=FRIDAY_SEVEN + second)
        assert (new.state, new.next_try, new.next_digest) == (
            ListState.OFF,
            None,
            FRIDAY_SEVEN + timedelta(days=1),
        )
    assert stands(FRIDAY_SEVEN, since=FRIDAY_SEVEN - second).state is ListState.DUE
    assert (
        stands(FRIDAY_SEVEN + timedelta(days=1), since=FRIDAY_SEVEN + second).state is ListState.DUE
    )


def test_paused_list_is_never_due_and_its_day_is_written_down_at_its_hour() -> None:
    early, at_seven, later = (
        stands(FRIDAY_SEVEN + timedelta(hours=hours), outcome, paused=True)
        for hours, outcome in ((-1, None), (0, None), (1, Outcome.SKIPPED))
    )
    assert {stood.state for stood in (early, at_seven, later)} == {ListState.PAUSED}
    assert [stood.next_try for stood in (early, at_seven, later)] == [None, FRIDAY_SEVEN, None]
    assert {stood.next_digest for stood in (early, at_seven, later)} == {None}


def test_failure_on_a_day_off_is_tried_again_after_the_backoff_too() -> None:
    monday = mailing_list(
        timezone=BERLIN, send_at=time(7), subscribers=ADA, weekdays=frozenset({0})
    )
    attempt = failed(monday, "a bug", None, FRIDAY_SEVEN, FRIDAY_SEVEN)
    assert (
        stands(FRIDAY_SEVEN, attempt=attempt, weekdays=frozenset({0})).next_try
        == FRIDAY_SEVEN + RETRY
    )


def test_skipped_day_whose_weekday_is_added_is_due_today_and_not_tomorrow() -> None:
    noon = FRIDAY_SEVEN + timedelta(hours=5)
    added = stands(noon, Outcome.SKIPPED, weekdays=frozenset({0, 4}))
    assert (added.state, added.next_digest) == (ListState.DUE, FRIDAY_SEVEN)
    assert added.ready(noon)


def test_failed_morning_is_tried_again_after_the_backoff() -> None:
    entry = mailing_list(timezone=BERLIN, send_at=time(7), subscribers=ADA)
    later = FRIDAY_SEVEN + timedelta(minutes=3)
    first = failed(entry, "the LLM is dead", None, FRIDAY_SEVEN, later)
    assert stands(later, attempt=first).next_try == later + RETRY
    assert not stands(later, attempt=first).ready(later)
    second = failed(entry, "the LLM is dead", first, later + RETRY, later + RETRY)
    assert (second.since, second.next_try) == (FRIDAY_SEVEN, later + 2 * RETRY)
    tomorrow = FRIDAY_SEVEN + timedelta(days=1)
    assert stands(tomorrow, attempt=second).ready(tomorrow)
    assert failed(entry, "the LLM is dead", second, tomorrow, tomorrow).since == tomorrow


@pytest.mark.parametrize(
    ("outcome", "weekdays", "by_the_daemon", "by_hand", "by_name"),
    [
        (None, {4}, True, True, True),
        (None, {0}, True, True, True),  # skipped, or made
        (Outcome.SKIPPED, {0}, False, False, True),
        (Outcome.SKIPPED, {0, 4}, True, True, True),  # an edit of today
        (Outcome.GAVE_UP, {4}, False, True, True),
        (Outcome.GAVE_UP, {0}, False, False, True),
        (Outcome.QUIET, {4}, False, False, True),
        (Outcome.NOTE, {4}, False, False, False),
        (Outcome.DIGEST, {4}, False, False, False),
    ],
)
def test_day_is_open_until_it_came_to_something(
    outcome: Outcome | None, weekdays: set[int], by_the_daemon: bool, by_hand: bool, by_name: bool
) -> None:
    """2026-11-20 is a Friday."""
    entry, friday = mailing_list(weekdays=frozenset(weekdays)), date(2026, 11, 20)
    assert is_open(entry, friday, outcome) is by_the_daemon
    assert is_open(entry, friday, outcome, by_hand=True) is by_hand
    assert is_open(entry, friday, outcome, by_hand=True, any_day=True) is by_name
    paused = replace(entry, paused=True)
    assert is_open(paused, friday, outcome, by_hand=True, any_day=True) is (outcome is None)


def test_patience_lasts_from_the_first_try_of_the_day() -> None:
    tried = datetime(2026, 11, 20, 13, tzinfo=UTC)
    assert (
        stands(tried, attempt=Attempt("foundations", "", tried, tried, tried)).gives_up
        == tried + SIX_HOURS
    )
    before = tried - timedelta(days=1)
    of_yesterday = Attempt("foundations", "", before, before, before)
    assert stands(tried, attempt=of_yesterday).gives_up == tried + SIX_HOURS
    assert stands(tried, Outcome.GAVE_UP, of_yesterday).gives_up == FRIDAY_SEVEN + SIX_HOURS


def test_list_without_subscribers_is_never_due() -> None:
    empty = stands(FRIDAY_SEVEN, subscribers=())
    assert (empty.state, empty.next_try, empty.next_digest) == (ListState.EMPTY, None, None)


def test_next_morning_is_on_the_next_weekday_of_the_lists_own_dates() -> None:
    """2026-11-20 is a Friday."""
    entry = mailing_list(timezone=BERLIN, send_at=time(7), weekdays=frozenset({0, 4}))
    night = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)
    assert [local_date(mailing_list(timezone=zone), night).day for zone in (KOLKATA, NEW_YORK)] == [
        21,
        20,
    ]
    friday_early = datetime(2026, 11, 20, 5, tzinfo=UTC)
    assert next_morning(entry, friday_early) == datetime(2026, 11, 20, 6, tzinfo=UTC)
    assert next_morning(entry, friday_early + timedelta(hours=1)) == datetime(
        2026, 11, 23, 6, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("at", "ends"),
    [
        (time(7), "2026-11-20T12:00"),
        (time(18), "2026-11-20T22:40"),
        (time(22, 30), "2026-11-20T22:40"),
    ],
)
def test_patience_never_lasts_over_midnight(at: time, ends: str) -> None:
    """An evening list gets its outcome before midnight, after a last try."""
    until = stands(FRIDAY_SEVEN, send_at=at).gives_up
    assert until == datetime.fromisoformat(ends).replace(tzinfo=UTC)


# ---- a year of it

ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Asia/Tokyo",
    "Australia/Lord_Howe",
)  # whose clocks go back by half an hour
YEAR = datetime(2028, 1, 1, tzinfo=UTC)  # with a 29 February
HOURS = (time(7), time(2, 30), time(0), time(23, 59))


def mornings(entry: MailingList, results: Iterable[datetime]) -> dict[date, datetime]:
    """Do what is due at each of these instants; return the times by local date."""
    done: dict[date, datetime] = {}
    for now in results:
        day = local_date(entry, now)
        outcome = Outcome.QUIET if day in done else None
        if standing(entry, outcome, None, now, SIX_HOURS).ready(now):
            assert day not in done
            done[day] = now
    return done


def ticks(start: datetime, days: int, minutes: int) -> Iterator[datetime]:
    yield from (
        start + timedelta(minutes=minutes * number) for number in range(days * 1440 // minutes)
    )


@pytest.mark.parametrize("send_at", HOURS)
@pytest.mark.parametrize("zone", ZONES)
def test_each_day_of_a_leap_year_has_one_morning_at_its_hour(zone: str, send_at: time) -> None:
    entry = mailing_list(subscribers=ADA, timezone=ZoneInfo(zone), send_at=send_at)
    done = mornings(entry, ticks(YEAR, 366, 20))
    days = [day for day in done if day.year == 2028]
    first = local_date(entry, YEAR) + timedelta(days=1)
    missed = {first + timedelta(days=ahead) for ahead in range(364)} - set(days)
    late = [
        day
        for day in days[1:]
        if not timedelta() <= done[day] - begins(entry, day) < timedelta(minutes=20)
    ]
    assert late == []
    assert not missed or send_at == time(23, 59)  # a minute a day, between two of these looks
    assert date(2028, 2, 29) in done or send_at == time(23, 59)


@pytest.mark.parametrize("zone", ZONES)
def test_laptop_that_sleeps_has_today_and_none_of_the_days_before(zone: str) -> None:
    """It wakes up at any minute, after hours or days."""
    entry = mailing_list(subscribers=ADA, timezone=ZoneInfo(zone), send_at=time(7))
    dice = random.Random(7)  # noqa: S311  # no secret
    results, now = [], YEAR
    while now < YEAR + timedelta(days=366):
        now += timedelta(minutes=dice.choice((1, 7, 45, 500, 3_000)))
        results.append(now)
    done = mornings(entry, results)
    awake = {
        local_date(entry, now) for now in results if now >= begins(entry, local_date(entry, now))
    }
    assert set(done) == awake
