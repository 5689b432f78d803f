"""What rests for a while after it was tried and came to nothing: each thing for itself, and never a hot loop. Pure."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

AFTER_A_FAILURE = timedelta(minutes=15)  # for a late arXiv, a dead LLM, a mail server that is down


class Agenda:
    """Knows what was tried when. A thing is whatever can wait to be done: a list, the mail, an alert."""

    def __init__(self) -> None:
        self._tried: dict[str, datetime] = {}

    def ready(self, waiting: Collection[str], now: datetime) -> frozenset[str]:
        """What of all that waits may be tried now. A clock that was put back holds nothing up."""
        return frozenset(
            thing
            for thing in waiting
            if thing not in self._tried or not timedelta() <= now - self._tried[thing] < AFTER_A_FAILURE
        )

    def tried(self, things: Collection[str], left: Collection[str], now: datetime) -> None:
        """A try of these things is over, and these are left to do: what is in both rests. All else is forgotten."""
        self._tried = {thing: at for thing, at in self._tried.items() if thing in left and thing not in things}
        self._tried |= dict.fromkeys(set(things) & set(left), now)

    def next_try(self, waiting: Collection[str]) -> datetime | None:
        """When the first of what waits and rests may be tried again; None where nothing rests."""
        return min((at + AFTER_A_FAILURE for thing, at in self._tried.items() if thing in waiting), default=None)
