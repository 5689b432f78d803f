"""Whose turn it is: a long sending lets others in between."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from paperboy import due
from paperboy.errors import PaperboyError
from paperboy.models import MailingList
from paperboy.store import Store

logger = logging.getLogger(__name__)

LETS_OTHERS_IN = 3  # exit code of a scheduled morning whose turn was over before all mail was out
_LOOKS = 60.0  # seconds between two


class Turn:
    """Of a scheduled morning, while it sends: over when the hour of another list has come, or of a list's next try, or
    something new is to be told to the operator. What is not sent by then goes with the next morning, which begins at
    once.

    Any thread may ask. Use as a context manager.
    """

    def __init__(
        self, database: Path, lists: Sequence[MailingList], clock: Callable[[], datetime], timer: Callable[[], float]
    ) -> None:
        self._database, self._lists, self._clock, self._timer = database, lists, clock, timer
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._over = False

    def __enter__(self) -> Self:
        with Store.open(self._database) as store:
            self._before = self._waiting(store)
        self._looked = self._timer()
        return self

    def __exit__(self, *_: object) -> None:
        if self._store is not None:
            self._store.close()

    def over(self) -> bool:
        """Once it is, it stays so."""
        with self._lock:
            if not self._over and self._timer() - self._looked >= _LOOKS:
                self._looked = self._timer()
                try:
                    self._store = self._store or Store.open(self._database)
                    self._over = not self._waiting(self._store) <= self._before
                except PaperboyError as error:  # nobody who sends is to suffer from that
                    logger.warning("whose turn it is cannot be told: %s", error)
            return self._over

    @property
    def was_over(self) -> bool:
        """As it was at the last look."""
        return self._over

    def _waiting(self, store: Store) -> frozenset[str]:
        """The days of lists that are due, those that may be tried again, and what is to be told."""
        now, attempts = self._clock(), store.days.attempts()
        outcomes = store.days.outcomes(self._lists, now)
        standings = due.standings(self._lists, outcomes, attempts, now, timedelta())
        lists = [entry for entry in self._lists if standings[entry.name].next_try is not None]
        rested = {name for name, attempt in attempts.items() if now >= attempt.next_try}
        return frozenset(
            [
                *(f"{entry.name} {due.local_date(entry, now)}" for entry in lists),
                *(f"{entry.name} again" for entry in lists if entry.name in rested),
                *(f"to be told: {each.cause}" for each in store.alerts.standing() if each.waiting),
            ]
        )
