"""arXiv's calendar: which papers it announces together, when, and whether the newest of them should
be visible by now.

Submissions close at 14:00 US Eastern on weekdays. Papers are announced at 20:00 from Sunday to
Thursday, Friday's submissions on Sunday. The API shows them from the midnight that follows. On a
holiday nothing is announced, and its papers join the next batch:

    submitted (US Eastern)          announced     in the API, and the news of
    Thursday 14:00 – Friday 14:00   Sunday 20:00  Monday
    Friday   14:00 – Monday 14:00   Monday 20:00  Tuesday
    a day    14:00 – the next 14:00 that day 20:00, Tuesday to Thursday; the day after

arXiv publishes its holidays year by year. `holidays` derives those that follow a rule. Every
function takes the others as `deferred`: the US Eastern dates of evenings without an announcement.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import lru_cache
from zoneinfo import ZoneInfo

from paperboy.sources import source

EASTERN = ZoneInfo("America/New_York")
CLOSES = time(14)
ANNOUNCED = time(20)
VISIBLE = time(0, 15)  # arXiv says midnight; its index has been seen to take some minutes more
NEWS_FOR = timedelta(hours=24)  # a daily reader sees each batch as news exactly once

_DAY = timedelta(days=1)
_FRIDAY, _SATURDAY, _SUNDAY = 4, 5, 6
_LISTED = frozenset(
    {date(2026, 12, 29), date(2026, 12, 31)}
)  # on arXiv's page, and following no rule


@dataclass(frozen=True, slots=True)
class Announcement(source.Batch):
    """The papers that arXiv announces together."""

    announced: datetime


class Freshness(StrEnum):
    """The state of arXiv's announcements at an instant."""

    FRESH = "fresh"  # the newest batch is here and today's news
    QUIET = "quiet"  # the newest batch is here and a day old or more: weekend or holiday
    LATE = "late"  # the newest batch should be here and is not


def newest_batch(now: datetime, deferred: Collection[date] = ()) -> Announcement:
    """Return the newest batch that the API should show at `now` (aware)."""
    return next(batch for batch in _backwards(now, deferred) if batch.visible <= now)


def why_none(since: datetime, until: datetime, deferred: Collection[date] = ()) -> str:
    """Say why no batch became visible between two instants: "weekend" or "holiday"; empty if one
    did.
    """
    if newest_batch(until, deferred).visible > since:
        return ""
    evening = _local_date(until) - _DAY
    if _instant(evening + _DAY, VISIBLE) > until:
        evening -= _DAY
    return "weekend" if evening.weekday() in {_FRIDAY, _SATURDAY} else "holiday"


def state(
    now: datetime, newest_published: datetime | None, deferred: Collection[date] = ()
) -> Freshness:
    """Derive the state at `now` from the newest submission that the API gave (`None`: it gave no
    paper).

    A batch is news for 24 hours. In Europe and America the five batches are the news of the
    mornings from Monday to Friday; farther east, where they become visible after the morning, of
    those from Tuesday to Saturday.
    """
    batch = newest_batch(now, deferred)
    if newest_published is None or newest_published < batch.submitted_from:
        return Freshness.LATE
    return Freshness.FRESH if now - batch.visible < NEWS_FOR else Freshness.QUIET


def start_of_newest(
    published: Iterable[datetime], now: datetime, deferred: Collection[date] = ()
) -> datetime:
    """Return where a new list starts: at the `submitted_from` of the newest batch announced by
    `now` that has one of the papers submitted at `published`; without any, of the newest batch that
    should be visible.
    """
    announced = next(batch for batch in _backwards(now, deferred) if batch.announced <= now)
    visible = newest_batch(now, deferred).submitted_from
    newest = max(
        (instant for instant in published if instant < announced.submitted_until), default=visible
    )
    return next(
        batch.submitted_from
        for batch in _backwards(now, deferred)
        if batch.submitted_from <= newest
    )


@lru_cache(maxsize=16)
def holidays(year: int) -> frozenset[date]:
    """Return the dates of `year` on whose evening arXiv announces nothing, observed on Monday for a
    Sunday and on Friday for a Saturday.
    """
    by_date = {
        _observed(date(year, month, day)) for month, day in ((1, 1), (6, 19), (7, 4), (12, 25))
    }
    by_weekday = {
        _nth_weekday(date(year, 1, 1), weekday=0, nth=3),  # Martin Luther King Jr. Day
        _nth_weekday(date(year, 9, 1), weekday=0, nth=1),  # Labor Day
        _nth_weekday(date(year, 11, 1), weekday=3, nth=4),  # Thanksgiving
    }
    return frozenset(day for day in by_date | by_weekday | _LISTED if day.year == year)


def _observed(holiday: date) -> date:
    return holiday + {_SATURDAY: -_DAY, _SUNDAY: _DAY}.get(holiday.weekday(), timedelta())


def _nth_weekday(first_of_month: date, *, weekday: int, nth: int) -> date:
    return first_of_month + timedelta(days=(weekday - first_of_month.weekday()) % 7 + 7 * (nth - 1))


def _announcement(evening: date, deferred: Collection[date]) -> date:
    """Return the last evening with an announcement, up to `evening`."""
    while (
        evening.weekday() in {_FRIDAY, _SATURDAY}
        or evening in holidays(evening.year)
        or evening in deferred
    ):
        evening -= _DAY
    return evening


def _backwards(now: datetime, deferred: Collection[date]) -> Iterator[Announcement]:
    """Yield batches into the past, from the one announced on the local date of `now` or the last
    before it.
    """
    evening = _local_date(now)
    while True:
        evening = _announcement(evening, deferred)
        yield _batch(evening, deferred)
        evening -= _DAY


def _batch(evening: date, deferred: Collection[date]) -> Announcement:
    return Announcement(
        submitted_from=_closing(_announcement(evening - _DAY, deferred)),
        submitted_until=_closing(evening),
        announced=_instant(evening, ANNOUNCED),
        visible=_instant(evening + _DAY, VISIBLE),
    )


def _closing(evening: date) -> datetime:
    """Return when submissions close for the announcement of an evening: that day, or Friday for a
    Sunday.
    """
    return _instant(evening - 2 * _DAY if evening.weekday() == _SUNDAY else evening, CLOSES)


def _instant(day: date, clock: time) -> datetime:
    return datetime.combine(day, clock, EASTERN).astimezone(UTC)


def _local_date(instant: datetime) -> date:
    return instant.astimezone(EASTERN).date()
