"""arXiv's calendar: the papers that it announces together, and when they become visible.

Submissions close at 14:00 US Eastern on weekdays. Papers are announced at 20:00 from Sunday to
Thursday, Friday's submissions on Sunday. The API shows them from the midnight that follows. On a
holiday nothing is announced, and its papers join the next batch:

    submitted (US Eastern)          announced     in the API, and the news of
    Thursday 14:00 – Friday 14:00   Sunday 20:00  Monday
    Friday   14:00 – Monday 14:00   Monday 20:00  Tuesday
    a day    14:00 – the next 14:00 that day 20:00, Tuesday to Thursday; the day after

arXiv publishes its holidays year by year. `holidays` derives those that follow a rule; every
function takes the others as `deferred`, the US Eastern dates of evenings without an announcement.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from paperboy.sources import source

EASTERN = ZoneInfo("America/New_York")
CLOSES = time(14)
ANNOUNCED = time(20)
VISIBLE = time(0, 15)  # arXiv says midnight; its index has been seen to take some minutes more

# A daily reader sees each batch as news exactly once: in Europe and America on the mornings from
# Monday to Friday; farther east, where it becomes visible after the morning, from Tuesday to
# Saturday.
NEWS_FOR = timedelta(hours=24)

_DAY = timedelta(days=1)
_FRIDAY = 4
_SATURDAY = 5
_SUNDAY = 6
_LISTED = {date(2026, 12, 29), date(2026, 12, 31)}  # on arXiv's page, and following no rule


@dataclass(frozen=True, slots=True)
class Announcement(source.Batch):
    """Papers that arXiv announces together."""

    announced: datetime


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


def start_of_newest(
    published: Iterable[datetime], now: datetime, deferred: Collection[date] = ()
) -> datetime:
    """Return where a new list starts: the `submitted_from` of the newest announced batch with one
    of the papers submitted at `published`; without any, of the newest batch that should be visible.
    """
    announced = next(batch for batch in _backwards(now, deferred) if batch.announced <= now)

    submitted = [instant for instant in published if instant < announced.submitted_until]
    newest = max(submitted, default=newest_batch(now, deferred).submitted_from)
    starts = (batch.submitted_from for batch in _backwards(now, deferred))
    return next(start for start in starts if start <= newest)


@lru_cache(maxsize=16)
def holidays(year: int) -> frozenset[date]:
    """Return the dates of `year` on whose evening arXiv announces nothing. A holiday on a Sunday is
    observed on Monday, one on a Saturday on Friday.
    """
    days = ((1, 1), (6, 19), (7, 4), (12, 25))
    by_date = {_observed(date(year, month, day)) for month, day in days}
    by_weekday = {
        _nth_weekday(date(year, 1, 1), weekday=0, nth=3),  # Martin Luther King Jr. Day
        _nth_weekday(date(year, 9, 1), weekday=0, nth=1),  # Labor Day
        _nth_weekday(date(year, 11, 1), weekday=3, nth=4),  # Thanksgiving
    }
    return frozenset(day for day in by_date | by_weekday | _LISTED if day.year == year)


def _observed(holiday: date) -> date:
    if holiday.weekday() == _SATURDAY:
        return holiday - _DAY
    if holiday.weekday() == _SUNDAY:
        return holiday + _DAY
    return holiday


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
    """Yield batches into the past, from the one announced on the local date of `now`, or the last
    before it.
    """
    evening = _local_date(now)
    while True:
        evening = _announcement(evening, deferred)
        before = _announcement(evening - _DAY, deferred)
        yield Announcement(
            submitted_from=_closing(before),
            submitted_until=_closing(evening),
            announced=_instant(evening, ANNOUNCED),
            visible=_instant(evening + _DAY, VISIBLE),
        )
        evening = before


def _closing(evening: date) -> datetime:
    """Return when submissions close for an evening's announcement: on that day or, for a Sunday,
    on Friday.
    """
    if evening.weekday() == _SUNDAY:
        evening -= 2 * _DAY
    return _instant(evening, CLOSES)


def _instant(day: date, clock: time) -> datetime:
    return datetime.combine(day, clock, EASTERN).astimezone(UTC)


def _local_date(instant: datetime) -> date:
    return instant.astimezone(EASTERN).date()
