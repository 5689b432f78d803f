"""When a list's morning comes, over clock changes, weekdays and outages."""

import random
from collections.abc import Iterable
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
from paperboy.models import Attempt, MailingList, Outcome
from tests.builders import mailing_list

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
KOLKATA = ZoneInfo("Asia/Kolkata")


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


MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
SIX_HOURS = 6 * HOUR
SEVEN = datetime(2026, 11, 20, 6, tzinfo=UTC)  # in Berlin, on a Friday
MONDAYS = frozenset({0})
MONDAYS_AND_FRIDAYS = frozenset({0, 4})


def stands(
    now: datetime,
    outcome: Outcome | None = None,
    attempt: Attempt | None = None,
    since: datetime | None = None,
    **changes: Any,
) -> Standing:
    """Return how a list with a subscriber in Berlin stands, which sends at seven unless told."""
    return standing(mailing_list(**changes), outcome, attempt, now, SIX_HOURS, since)


SKIPPED = Outcome.SKIPPED


@pytest.mark.parametrize(
    ("found", "state", "next_try", "next_digest"),
    [
        (stands(SEVEN - MINUTE), ListState.COMING, None, SEVEN),
        (stands(SEVEN), ListState.DUE, SEVEN, SEVEN),
        (stands(SEVEN, Outcome.QUIET), ListState.DONE, None, SEVEN + DAY),
        # a day off is written down at its hour, and then done with
        (stands(SEVEN - MINUTE, weekdays=MONDAYS), ListState.OFF, None, SEVEN + 3 * DAY),
        (stands(SEVEN, weekdays=MONDAYS), ListState.OFF, SEVEN, SEVEN + 3 * DAY),
        (stands(SEVEN, SKIPPED, weekdays=MONDAYS), ListState.OFF, None, SEVEN + 3 * DAY),
        # a skipped day whose weekday is added is due today, and not tomorrow
        (stands(SEVEN + HOUR, SKIPPED, weekdays=MONDAYS_AND_FRIDAYS), ListState.DUE, SEVEN, SEVEN),
        # a new list is due from its next hour on
        (stands(SEVEN + MINUTE, since=SEVEN + MINUTE), ListState.OFF, None, SEVEN + DAY),
        (stands(SEVEN + 9 * HOUR, since=SEVEN + MINUTE), ListState.OFF, None, SEVEN + DAY),
        (stands(SEVEN + DAY, since=SEVEN + MINUTE), ListState.DUE, SEVEN + DAY, SEVEN + DAY),
        (stands(SEVEN, since=SEVEN - MINUTE), ListState.DUE, SEVEN, SEVEN),
        # a paused list is never due, and its day is written down at its hour
        (stands(SEVEN - MINUTE, paused=True), ListState.PAUSED, None, None),
        (stands(SEVEN, paused=True), ListState.PAUSED, SEVEN, None),
        (stands(SEVEN + HOUR, SKIPPED, paused=True), ListState.PAUSED, None, None),
        (stands(SEVEN, subscribers=()), ListState.EMPTY, None, None),
    ],
)
def test_list_is_due_from_its_hour_until_it_has_an_outcome(
    found: Standing, state: ListState, next_try: datetime | None, next_digest: datetime | None
) -> None:
    assert (found.state, found.next_try, found.next_digest) == (state, next_try, next_digest)
    assert found.ready(SEVEN + DAY) is (next_try is not None)


def test_failure_on_a_day_off_is_tried_again_after_the_backoff_too() -> None:
    attempt = failed(mailing_list(weekdays=MONDAYS), "a bug", None, SEVEN, SEVEN)
    assert stands(SEVEN, attempt=attempt, weekdays=MONDAYS).next_try == SEVEN + RETRY


def test_failed_morning_is_tried_again_after_the_backoff() -> None:
    entry = mailing_list()
    later = SEVEN + 3 * MINUTE
    first = failed(entry, "the LLM is dead", None, SEVEN, later)
    assert stands(later, attempt=first).next_try == later + RETRY
    assert not stands(later, attempt=first).ready(later)
    second = failed(entry, "the LLM is dead", first, later + RETRY, later + RETRY)
    assert (second.since, second.next_try) == (SEVEN, later + 2 * RETRY)
    tomorrow = SEVEN + DAY
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
    entry = mailing_list(weekdays=frozenset(weekdays))
    friday = date(2026, 11, 20)
    assert is_open(entry, friday, outcome) is by_the_daemon
    assert is_open(entry, friday, outcome, by_hand=True) is by_hand
    assert is_open(entry, friday, outcome, by_hand=True, any_day=True) is by_name
    paused = replace(entry, paused=True)
    assert is_open(paused, friday, outcome, by_hand=True, any_day=True) is (outcome is None)


def test_patience_lasts_from_the_first_try_of_the_day() -> None:
    tried = SEVEN + 7 * HOUR
    before = SEVEN - 17 * HOUR
    today, yesterday = (Attempt("foundations", "", at, at, at) for at in (tried, before))
    assert stands(tried, attempt=today).gives_up == tried + SIX_HOURS
    assert stands(tried, attempt=yesterday).gives_up == tried + SIX_HOURS
    assert stands(tried, Outcome.GAVE_UP, yesterday).gives_up == SEVEN + SIX_HOURS


def test_next_morning_is_on_the_next_weekday_of_the_lists_own_dates() -> None:
    night = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)
    days = [local_date(mailing_list(timezone=zone), night).day for zone in (KOLKATA, NEW_YORK)]
    assert days == [21, 20]
    entry = mailing_list(weekdays=MONDAYS_AND_FRIDAYS)
    assert next_morning(entry, SEVEN - HOUR) == SEVEN
    assert next_morning(entry, SEVEN) == SEVEN + 3 * DAY


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
    until = stands(SEVEN, send_at=at).gives_up
    assert until == datetime.fromisoformat(ends).replace(tzinfo=UTC)


# ---- a year of it

# Whose clocks go back by half an hour.
ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Asia/Tokyo",
    "Australia/Lord_Howe",
)
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


@pytest.mark.parametrize("send_at", HOURS)
@pytest.mark.parametrize("zone", ZONES)
def test_each_day_of_a_leap_year_has_one_morning_at_its_hour(zone: str, send_at: time) -> None:
    entry = mailing_list(timezone=ZoneInfo(zone), send_at=send_at)
    done = mornings(entry, (YEAR + 20 * MINUTE * number for number in range(366 * 72)))
    days = [day for day in done if day.year == 2028]
    first = local_date(entry, YEAR) + DAY
    missed = {first + ahead * DAY for ahead in range(364)} - set(days)
    late = [
        day for day in days[1:] if not 0 * MINUTE <= done[day] - begins(entry, day) < 20 * MINUTE
    ]
    assert late == []
    assert not missed or send_at == time(23, 59)  # a minute a day, between two of these looks
    assert date(2028, 2, 29) in done or send_at == time(23, 59)


@pytest.mark.parametrize("zone", ZONES)
def test_laptop_that_sleeps_has_today_and_none_of_the_days_before(zone: str) -> None:
    """It wakes up at any minute, after hours or days."""
    entry = mailing_list(timezone=ZoneInfo(zone))
    dice = random.Random(7)  # noqa: S311  # no secret
    results = []
    now = YEAR
    while now < YEAR + 366 * DAY:
        now += dice.choice((1, 7, 45, 500, 3_000)) * MINUTE
        results.append(now)
    done = mornings(entry, results)
    awake = {
        local_date(entry, now) for now in results if now >= begins(entry, local_date(entry, now))
    }
    assert set(done) == awake
