"""arXiv's calendar: which papers it announces together, when, and whether the newest of them should be visible by now.

Submissions close at 14:00 US Eastern on weekdays. Papers are announced at 20:00 from Sunday to Thursday, Friday's
submissions on Sunday. The API shows them from the midnight that follows. On a holiday nothing is announced, and its
papers join the next batch:

    submitted (US Eastern)          announced     in the API, and so the news of
    Thursday 14:00 – Friday 14:00   Sunday 20:00  Monday
    Friday   14:00 – Monday 14:00   Monday 20:00  Tuesday
    a day    14:00 – the next 14:00 that day 20:00, Tuesday to Thursday; the day after

arXiv publishes its holidays year by year. `holidays` derives those that follow a rule; every function takes the
others as `deferred`: the dates, in US Eastern, of evenings without an announcement.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import lru_cache
from zoneinfo import ZoneInfo

EASTERN = ZoneInfo("America/New_York")
CLOSES = time(14)
ANNOUNCED = time(20)
VISIBLE = time(0, 15)  # arXiv says midnight; its index has been seen to take some minutes more
NEWS_FOR = timedelta(hours=24)  # so a reader who looks once a day meets every batch as news exactly once

_DAY = timedelta(days=1)
_FRIDAY, _SATURDAY, _SUNDAY = 4, 5, 6
_LISTED = frozenset({date(2026, 12, 29), date(2026, 12, 31)})  # on arXiv's page, and following no rule


@dataclass(frozen=True, slots=True)
class Batch:
    """The papers that arXiv announces together: those submitted from `submitted_from` to just before
    `submitted_until`. All instants are in UTC.
    """

    submitted_from: datetime
    submitted_until: datetime
    announced: datetime
    visible: datetime  # from here on the API should have it


class State(StrEnum):
    """How arXiv stands at an instant."""

    FRESH = "fresh"  # the newest batch is here, and it is today's news
    QUIET = "quiet"  # the newest batch is here, and a day old or more: weekend or holiday
    LATE = "late"  # the newest batch should be here and is not


def newest_batch(now: datetime, deferred: Collection[date] = ()) -> Batch:
    """The newest batch that the API should show at `now` (aware)."""
    return next(batch for batch in _backwards(now, deferred) if batch.visible <= now)


def next_batch(now: datetime, deferred: Collection[date] = ()) -> Batch:
    """The first batch that the API should not show before `now` is past."""
    newest = _local_date(newest_batch(now, deferred).announced)
    return _batch(_evening_after(newest, deferred), deferred)


def why_none(since: datetime, until: datetime, deferred: Collection[date] = ()) -> str:
    """Why no batch became visible between two instants: "weekend" or "holiday"; empty: one did."""
    if newest_batch(until, deferred).visible > since:
        return ""
    before_visible = timedelta(hours=VISIBLE.hour, minutes=VISIBLE.minute)
    evening = (until.astimezone(EASTERN) - before_visible).date() - _DAY
    return "weekend" if evening.weekday() in {_FRIDAY, _SATURDAY} else "holiday"


def batch_of(published: datetime, deferred: Collection[date] = ()) -> Batch:
    """The batch in which a paper submitted at `published` (aware) is announced, if moderation does not hold it."""
    evening = _evening_after(_local_date(published) - _DAY, deferred)
    while _closing(evening) <= published:
        evening = _evening_after(evening, deferred)
    return _batch(evening, deferred)


def state(now: datetime, newest_published: datetime | None, deferred: Collection[date] = ()) -> State:
    """How arXiv stands at `now`, told from the newest submission among the papers that it gave (`None`: it gave none).

    A batch is news for 24 hours. In Europe and America those hold the mornings of Monday to Friday; east of there the
    API gets a batch after the morning is over, and the same five batches are the news of Tuesday to Saturday.
    """
    batch = newest_batch(now, deferred)
    if newest_published is None or newest_published < batch.submitted_from:
        return State.LATE
    return State.FRESH if now - batch.visible < NEWS_FOR else State.QUIET


def is_waited_for(now: datetime, deferred: Collection[date] = ()) -> bool:
    """Whether the newest batch, if it is late, may still come: one that is a day late is taken for a gap, of which a
    weekend may be left.
    """
    return now - newest_batch(now, deferred).visible < NEWS_FOR


def start_of_newest(published: Iterable[datetime], now: datetime, deferred: Collection[date] = ()) -> datetime:
    """Where a new list starts: `submitted_from` of the newest batch that is announced at `now` and has a paper among
    those submitted at `published`. Without any, that of the newest batch which should be visible.
    """
    announced = next(batch for batch in _backwards(now, deferred) if batch.announced <= now)
    newest = max((instant for instant in published if instant < announced.submitted_until), default=None)
    batch = newest_batch(now, deferred) if newest is None else batch_of(newest, deferred)
    return batch.submitted_from


@lru_cache(maxsize=16)
def holidays(year: int) -> frozenset[date]:
    """The dates of `year` on whose evening arXiv announces nothing. A holiday on a Sunday is kept on Monday, one on a
    Saturday on Friday.
    """
    by_date = {_observed(date(year, month, day)) for month, day in ((1, 1), (6, 19), (7, 4), (12, 25))}
    by_weekday = {
        _nth_weekday(date(year, 1, 1), weekday=0, nth=3),  # Martin Luther King Jr. Day
        _nth_weekday(date(year, 9, 1), weekday=0, nth=1),  # Labor Day
        _nth_weekday(date(year, 11, 1), weekday=3, nth=4),  # Thanksgiving
    }
    return frozenset(day for day in by_date | by_weekday | _LISTED if day.year == year)


def _observed(holiday: date) -> date:
    if holiday.weekday() == _SATURDAY:
        return holiday - _DAY
    return holiday + _DAY if holiday.weekday() == _SUNDAY else holiday


def _nth_weekday(first_of_month: date, *, weekday: int, nth: int) -> date:
    return first_of_month + timedelta(days=(weekday - first_of_month.weekday()) % 7 + 7 * (nth - 1))


def _announces(evening: date, deferred: Collection[date]) -> bool:
    weekend = evening.weekday() in {_FRIDAY, _SATURDAY}
    return not weekend and evening not in holidays(evening.year) and evening not in deferred


def _evening_after(day: date, deferred: Collection[date]) -> date:
    day += _DAY
    while not _announces(day, deferred):
        day += _DAY
    return day


def _evening_before(day: date, deferred: Collection[date]) -> date:
    day -= _DAY
    while not _announces(day, deferred):
        day -= _DAY
    return day


def _backwards(now: datetime, deferred: Collection[date]) -> Iterator[Batch]:
    """The batches from the one announced on the local date of `now`, or the last before it, into the past."""
    evening = _local_date(now) + _DAY
    while True:
        evening = _evening_before(evening, deferred)
        yield _batch(evening, deferred)


def _batch(evening: date, deferred: Collection[date]) -> Batch:
    return Batch(
        submitted_from=_closing(_evening_before(evening, deferred)),
        submitted_until=_closing(evening),
        announced=_instant(evening, ANNOUNCED),
        visible=_instant(evening + _DAY, VISIBLE),
    )


def _closing(evening: date) -> datetime:
    """When submissions close for the announcement of that evening: the same day, and Friday for a Sunday."""
    return _instant(evening - 2 * _DAY if evening.weekday() == _SUNDAY else evening, CLOSES)


def _instant(day: date, clock: time) -> datetime:
    return datetime.combine(day, clock, EASTERN).astimezone(UTC)


def _local_date(instant: datetime) -> date:
    if instant.tzinfo is None:
        raise ValueError(f"an instant needs a time zone: {instant}")
    return instant.astimezone(EASTERN).date()
