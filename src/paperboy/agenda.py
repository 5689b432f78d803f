"""What rests for a while after it was tried and came to nothing: each thing for itself, and never a hot loop. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta

AFTER_A_FAILURE = timedelta(minutes=15)  # for a late arXiv, a dead LLM, a mail server that is down
LONGEST_REST = timedelta(hours=4)  # of what rests twice as long after each try


class Agenda:
    """Knows what was tried when. A thing is whatever can wait to be done: a list, the mail, an alert.

    `growing` tells those that may never succeed.
    """

    def __init__(self, growing: Callable[[str], bool] = lambda _thing: False) -> None:
        self._tried: dict[str, tuple[datetime, timedelta]] = {}  # with how long it rests then
        self._growing = growing

    def ready(self, waiting: Collection[str], now: datetime) -> frozenset[str]:
        """What of all that waits may be tried now. A clock that was put back holds nothing up."""
        return frozenset(thing for thing in waiting if not self._rests(thing, now))

    def _rests(self, thing: str, now: datetime) -> bool:
        if thing not in self._tried:
            return False
        at, rest = self._tried[thing]
        return timedelta() <= now - at < rest

    def tried(self, things: Collection[str], left: Collection[str], now: datetime) -> None:
        """A try of these things is over, and these are left to do: what is in both rests. All else is forgotten."""
        rests = {thing: self._next_rest(thing) for thing in set(things) & set(left)}
        self._tried = {thing: what for thing, what in self._tried.items() if thing in left}
        self._tried |= {thing: (now, rest) for thing, rest in rests.items()}

    def _next_rest(self, thing: str) -> timedelta:
        if not self._growing(thing) or thing not in self._tried:
            return AFTER_A_FAILURE
        return min(2 * self._tried[thing][1], LONGEST_REST)

    def forget(self) -> None:
        """Whatever kept things from being done may be mended: nothing rests any more."""
        self._tried.clear()

    def next_try(self, waiting: Collection[str]) -> datetime | None:
        """When the first of what waits and rests may be tried again; None where nothing rests."""
        return min((at + rest for thing, (at, rest) in self._tried.items() if thing in waiting), default=None)
