"""arXiv's calendar. November 2026 is read as: Thanksgiving on Thursday the 26th, clocks back on Sunday the 1st."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.sources.arxiv.calendar import (
    NEWS_FOR,
    Announcement,
    holidays,
    newest_batch,
    start_of_newest,
)

EASTERN = ZoneInfo("America/New_York")


def eastern(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=EASTERN)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def in_eastern(batch: Announcement) -> tuple[str, str, str, str]:
    instants = (batch.submitted_from, batch.submitted_until, batch.announced, batch.visible)
    return tuple(f"{instant.astimezone(EASTERN):%a %m-%d %H:%M}" for instant in instants)


WEEK = [  # an ordinary week, from arXiv's own table
    (
        "2026-11-15T20:00",
        "Thu 11-12 14:00",
        "Fri 11-13 14:00",
        "Sun 11-15 20:00",
        "Mon 11-16 00:15",
    ),
    (
        "2026-11-16T20:00",
        "Fri 11-13 14:00",
        "Mon 11-16 14:00",
        "Mon 11-16 20:00",
        "Tue 11-17 00:15",
    ),
    (
        "2026-11-19T20:00",
        "Wed 11-18 14:00",
        "Thu 11-19 14:00",
        "Thu 11-19 20:00",
        "Fri 11-20 00:15",
    ),
]


def batch_of(published: datetime, deferred: Collection[date] = ()) -> Announcement:
    """The batch with a paper submitted then, as the next days show it."""
    days = (newest_batch(published + timedelta(days=day), deferred) for day in range(30))
    return next(batch for batch in days if batch.submitted_until > published)


@pytest.mark.parametrize(("announced", *("start", "end", "at", "visible")), WEEK)
def test_ordinary_week_follows_arxivs_table(
    announced: str, start: str, end: str, at: str, visible: str
) -> None:
    batch = newest_batch(eastern(announced) + timedelta(hours=4, minutes=15))
    assert in_eastern(batch) == (start, end, at, visible)
    assert batch_of(batch.submitted_from) == batch, "a window holds its first instant"
    assert batch_of(batch.submitted_until - timedelta(microseconds=1)) == batch
    assert batch_of(batch.submitted_until) != batch, "and not its last"


def test_batch_is_newest_once_the_api_should_show_it() -> None:
    before = eastern("2026-11-18T00:14:59")
    after = eastern("2026-11-18T00:15")
    assert newest_batch(before).announced == eastern("2026-11-16T20:00")
    assert newest_batch(after).announced == eastern("2026-11-17T20:00")


@pytest.mark.parametrize(
    ("published", "announced", "start"),
    [
        ("2026-11-26T10:00", "2026-11-29T20:00", "2026-11-25T14:00"),  # Thanksgiving joins Sunday
        ("2026-11-25T15:00", "2026-11-29T20:00", "2026-11-25T14:00"),
        (
            "2026-09-05T12:00",
            "2026-09-08T20:00",
            "2026-09-04T14:00",
        ),  # Labor Day, a Monday, joins Tuesday
        (
            "2026-12-28T15:00",
            "2026-12-30T20:00",
            "2026-12-28T14:00",
        ),  # the 29th is on arXiv's own list
        (
            "2026-12-31T12:00",
            "2027-01-03T20:00",
            "2026-12-30T14:00",
        ),  # the 31st too; Friday 1 January has no evening
        (
            "2026-06-19T09:00",
            "2026-06-21T20:00",
            "2026-06-18T14:00",
        ),  # a holiday on a Friday skips nothing
    ],
)
def test_papers_of_a_holiday_join_the_next_batch(
    published: str, announced: str, start: str
) -> None:
    batch = batch_of(eastern(published))
    assert (batch.announced, batch.submitted_from) == (eastern(announced), eastern(start))


def test_holidays_of_2026_match_arxivs_list() -> None:
    listed = {(1, 1), (1, 19), (6, 19), (7, 3), (9, 7), (11, 26), (12, 25), (12, 29), (12, 31)}
    assert holidays(2026) == {date(2026, month, day) for month, day in listed}


def test_holidays_of_other_years_follow_the_rules() -> None:
    """The list of 2023, without its two dates that follow no rule; New Year 2023 was a Sunday, kept on Monday."""
    listed = {(1, 16), (6, 19), (7, 4), (9, 4), (11, 23), (12, 25)}
    assert holidays(2023) == {date(2023, month, day) for month, day in listed | {(1, 2)}}


def test_deferred_announcement_merges_into_the_next_batch() -> None:
    now = eastern("2026-11-19T08:00")
    evening = date(2026, 11, 18)
    assert newest_batch(now).announced == eastern("2026-11-18T20:00")
    assert newest_batch(now, {evening}).announced == eastern("2026-11-17T20:00")
    merged = newest_batch(now + timedelta(days=1), {evening})
    assert (merged.submitted_from, merged.announced) == (
        eastern("2026-11-17T14:00"),
        eastern("2026-11-19T20:00"),
    )
    assert batch_of(eastern("2026-11-18T10:00"), {evening}) == merged


def is_news(now: datetime) -> bool:
    return now - newest_batch(now).visible < NEWS_FOR


F = True
Q = False


@pytest.mark.parametrize(
    ("zone", "clock", "monday_to_sunday"),
    [
        ("America/Los_Angeles", "05:00", [F, F, F, F, F, Q, Q]),
        ("America/New_York", "07:00", [F, F, F, F, F, Q, Q]),
        ("UTC", "07:00", [F, F, F, F, F, Q, Q]),
        ("Europe/Berlin", "07:00", [F, F, F, F, F, Q, Q]),
        ("Asia/Kolkata", "11:00", [F, F, F, F, F, Q, Q]),
        (
            "Asia/Kolkata",
            "07:00",
            [Q, F, F, F, F, F, Q],
        ),  # the API has Monday's batch at 10:45 there
        ("Pacific/Auckland", "07:00", [Q, F, F, F, F, F, Q]),
    ],
)
@pytest.mark.parametrize(
    "monday", ["2026-03-02", "2026-03-16", "2026-07-13", "2026-11-09", "2026-11-16"]
)
def test_each_batch_is_news_on_one_morning_in_every_time_zone(
    monday: str, zone: str, clock: str, monday_to_sunday: list[bool]
) -> None:
    first = datetime.fromisoformat(f"{monday}T{clock}").replace(tzinfo=ZoneInfo(zone))
    mornings = [first + timedelta(days=day) for day in range(7)]
    assert [is_news(now.astimezone(UTC)) for now in mornings] == monday_to_sunday


def test_clock_changes_hide_no_batch_from_a_daily_reader() -> None:
    """A year of mornings in each zone: every batch is news exactly once, through all changes of clocks."""
    for zone in ("America/Los_Angeles", "UTC", "Europe/Berlin", "Asia/Tokyo"):
        first = datetime(2026, 1, 1, 7, tzinfo=ZoneInfo(zone))
        mornings = [(first + timedelta(days=day)).astimezone(UTC) for day in range(365)]
        news = [newest_batch(now) for now in mornings if is_news(now)]
        assert len(news) == len(set(news)), zone
        came = {newest_batch(now) for now in mornings if newest_batch(now).visible > mornings[0]}
        assert len(came) > 240
        assert came <= set(news), zone


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-11-26T07:00", F),  # Thanksgiving: Wednesday's batch
        ("2026-11-27T07:00", Q),  # nothing was announced on the holiday's evening
        ("2026-09-07T07:00", F),  # Labor Day: Friday's submissions came out on Sunday
        ("2026-09-08T07:00", Q),
        ("2026-12-26T07:00", Q),
        ("2026-12-30T07:00", Q),
    ],
)
def test_morning_after_a_holiday_is_quiet(now: str, *, expected: bool) -> None:
    assert is_news(eastern(now)) is expected


@pytest.mark.parametrize(
    ("published", "now", "start"),
    [
        # the newest batch is here: older papers of the week lie before the start
        (
            ["2026-11-12T09:00", "2026-11-17T09:00", "2026-11-16T15:00"],
            "2026-11-18T07:00",
            "2026-11-16T14:00",
        ),
        # arXiv is late, or the category had no paper: the batch before it
        (["2026-11-12T09:00", "2026-11-16T09:00"], "2026-11-18T07:00", "2026-11-13T14:00"),
        # on a weekend, Thursday's
        (["2026-11-19T09:00", "2026-11-18T09:00"], "2026-11-22T07:00", "2026-11-18T14:00"),
        # announced, and in the API before it had to be
        (["2026-11-16T09:00", "2026-11-17T09:00"], "2026-11-17T21:00", "2026-11-16T14:00"),
        # not announced at `now`: not yet a start
        (["2026-11-17T09:00", "2026-11-16T09:00"], "2026-11-17T19:00", "2026-11-13T14:00"),
        # nothing at all
        ([], "2026-11-18T07:00", "2026-11-16T14:00"),
    ],
)
def test_new_list_starts_with_the_newest_batch_that_has_papers(
    published: list[str], now: str, start: str
) -> None:
    assert start_of_newest([eastern(text) for text in published], eastern(now)) == eastern(start)


@given(st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001  # made aware
def test_batches_are_contiguous_and_do_not_overlap(now: datetime) -> None:
    newest = newest_batch(now)
    before = newest_batch(newest.visible - timedelta(seconds=1))
    assert before.visible < newest.visible <= now
    assert before.submitted_until == newest.submitted_from
    own = batch_of(now)
    assert own.submitted_from <= now < own.submitted_until <= own.announced < own.visible
