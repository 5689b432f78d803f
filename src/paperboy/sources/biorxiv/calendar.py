"""Days of bioRxiv and medRxiv: a day's papers are complete when the day has ended (US Eastern).

They announce no batches, and post on weekends and holidays, too.
"""

from collections.abc import Collection, Iterable
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from paperboy.sources.source import Batch

_EASTERN = ZoneInfo("America/New_York")
_DAY = timedelta(days=1)


def day_of(instant: datetime) -> date:
    """Return the date of an instant in US Eastern time."""
    return instant.astimezone(_EASTERN).date()


def last_day(now: datetime) -> date:
    """Return the newest complete day: yesterday."""
    return day_of(now) - _DAY


def midnight(day: date) -> datetime:
    """Return when a day begins, in UTC."""
    return datetime.combine(day, time(), _EASTERN).astimezone(UTC)


def newest_batch(now: datetime, _: Collection[date] = ()) -> Batch:
    """Return the newest complete day."""
    day = last_day(now)
    end = midnight(day + _DAY)
    return Batch(submitted_from=midnight(day), submitted_until=end, visible=end)


def why_none(since: datetime, until: datetime, _: Collection[date] = ()) -> str:
    """Say why no day ended between two instants; empty if one did."""
    return "" if newest_batch(until).visible > since else "no day has ended since"


def start_of_newest(_: Iterable[datetime], now: datetime, __: Collection[date] = ()) -> datetime:
    """Return where a new list starts: with yesterday."""
    return midnight(last_day(now))
