"""Where each list stands on its local day, and what there is to know of it. Light to import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum, auto

from paperboy import due
from paperboy.models import Day, MailingList, Outcome
from paperboy.store import Store
from paperboy.store.reach import Reach

LATELY = timedelta(days=7)  # what went wrong before that is no news any more


class Stand(Enum):
    """Where a list stands on its local day."""

    MAILED = auto()
    NONE_PASSED = auto()  # papers came, none passed, and its `send_empty` is false
    QUIET = auto()
    GAVE_UP = auto()
    DUE = auto()
    COMING = auto()  # its hour has not come
    OFF = auto()  # not one of its weekdays


@dataclass(frozen=True, slots=True)
class Facts:
    """What there is to know of lists."""

    days: Mapping[str, Day]  # the newest of each
    mailed: Mapping[str, date]  # the date of each one's newest digest, unless that was superseded
    troubles: Mapping[str, tuple[str, datetime]]  # why those that were tried have no outcome, and when that was
    today: Reach  # of the digests of today
    before: Reach  # of the last digests of lists that have none of today


NO_FACTS = Facts({}, {}, {}, Reach(), Reach())  # before there is a database


def facts(store: Store, lists: Sequence[MailingList], now: datetime) -> Facts:
    """Reads what `answer` needs."""
    days = store.days.latest([entry.name for entry in lists], now)
    digests = {entry.name: store.deliveries.newest(entry.name, now) for entry in lists}
    mailed = {name: digest.date for name, digest in digests.items() if digest and not digest.superseded}
    today, before = [], []
    for entry in lists:
        if (day := mailed.get(entry.name)) is None:
            continue
        if _is_of_today(entry, day, now):
            today.append((entry, day))
        elif due.local_date(entry, now) - day <= LATELY:
            before.append((entry, day))
    return Facts(days, mailed, store.days.troubles(), store.deliveries.reach(today), store.deliveries.reach(before))


def stand(entry: MailingList, known: Facts, now: datetime) -> Stand:
    """Where the list stands on its local day."""
    today, newest = due.local_date(entry, now), known.days.get(entry.name)
    if newest is None or newest.date < today or due.is_open(entry, today, newest.outcome):
        if today.weekday() not in entry.weekdays:
            return Stand.OFF
        return Stand.DUE if now >= due.begins(entry, today) else Stand.COMING
    if newest.outcome is Outcome.NOTE and not _is_of_today(entry, known.mailed.get(entry.name), now):
        return Stand.NONE_PASSED
    return _CAME[newest.outcome]


_CAME = {
    Outcome.DIGEST: Stand.MAILED,
    Outcome.NOTE: Stand.MAILED,
    Outcome.QUIET: Stand.QUIET,
    Outcome.GAVE_UP: Stand.GAVE_UP,
    Outcome.SKIPPED: Stand.OFF,
}


def _is_of_today(entry: MailingList, day: date | None, now: datetime) -> bool:
    return day is not None and day >= due.local_date(entry, now)
