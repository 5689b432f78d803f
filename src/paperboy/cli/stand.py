"""Where each list stands on its local day, and what there is to know of it. Light to import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum, auto

from paperboy import due
from paperboy.models import Attempt, Day, MailingList, Outcome
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
    attempts: Mapping[str, Attempt]  # of those that were tried and have no outcome
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
    return Facts(days, mailed, store.days.attempts(), store.deliveries.reach(today), store.deliveries.reach(before))


def stand(entry: MailingList, known: Facts, now: datetime) -> Stand:
    """Where the list stands on its local day."""
    newest = known.days.get(entry.name)
    state = standing(entry, known, now).state
    if newest is None or state in _OPEN:
        return _OPEN[state]
    if newest.outcome is Outcome.NOTE and not _is_of_today(entry, known.mailed.get(entry.name), now):
        return Stand.NONE_PASSED
    return _CAME[newest.outcome]


def standing(entry: MailingList, known: Facts, now: datetime) -> due.Standing:
    """What `due` says of the list."""
    today, newest = due.local_date(entry, now), known.days.get(entry.name)
    outcome = newest.outcome if newest is not None and newest.date >= today else None
    return due.standing(entry, outcome, known.attempts.get(entry.name), now, timedelta())


_OPEN = {
    due.State.EMPTY: Stand.OFF,
    due.State.OFF: Stand.OFF,
    due.State.COMING: Stand.COMING,
    due.State.DUE: Stand.DUE,
}

_CAME = {
    Outcome.DIGEST: Stand.MAILED,
    Outcome.NOTE: Stand.MAILED,
    Outcome.QUIET: Stand.QUIET,
    Outcome.GAVE_UP: Stand.GAVE_UP,
    Outcome.SKIPPED: Stand.OFF,
}


def _is_of_today(entry: MailingList, day: date | None, now: datetime) -> bool:
    return day is not None and day >= due.local_date(entry, now)
