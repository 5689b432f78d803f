"""Days of feeds, which announce nothing: whatever a morning reads is of its UTC day."""

from collections.abc import Collection, Iterable
from datetime import UTC, date, datetime, timedelta

from paperboy.sources.source import Batch

_DAY = timedelta(days=1)
_RECENT = 2 * _DAY
_FEWEST = 10  # papers of a list's first morning


def newest_batch(now: datetime, _: Collection[date] = ()) -> Batch:
    """Return the UTC day."""
    start = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return Batch(submitted_from=start, submitted_until=start + _DAY, visible=start)


def why_none(_: datetime, __: datetime, ___: Collection[date] = ()) -> str:
    """Return an empty string: each day is one."""
    return ""


def start_of_newest(
    published: Iterable[datetime], now: datetime, _: Collection[date] = ()
) -> datetime:
    """Return where a new list starts: two days ago, or with the tenth newest paper if that is
    older.
    """
    newest = sorted(published, reverse=True)[:_FEWEST]
    return min([now - _RECENT, *newest])
