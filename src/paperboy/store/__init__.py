"""SQLite: all SQL that touches the database, and all migrations, a file per noun."""

from __future__ import annotations

import logging
import secrets
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from paperboy.store.alerts import Alerts
from paperboy.store.database import Database, iso
from paperboy.store.days import Days
from paperboy.store.deliveries import Deliveries
from paperboy.store.history import History
from paperboy.store.papers import Papers
from paperboy.store.retention import Retention
from paperboy.store.scores import Scores
from paperboy.store.suppressions import Suppressions

logger = logging.getLogger(__name__)

_AHEAD = timedelta(minutes=5)  # more than two processes, or two looks at the clock, differ

_SIGNS = (
    *("days where at", "fetches where fetched_at", "attempts where at", "alerts where noted"),
    "deliveries where state in ('pending', 'sending', 'deferred') and at",
)
_NEVER_HAPPENED = (
    "delete from days where at > :limit and digest_id is null",
    "delete from fetches where fetched_at > :limit",
    "delete from attempts where at > :limit",
    "update deliveries set try_at = null where at > :limit",
    "update alerts set next_try = null, reported = null where noted > :limit",
)
_STAMPS = (
    *((table, "at") for table in ("days", "digests", "deliveries", "started", "scores", "spending", "suppressions")),
    *(("attempts", "at"), ("fetches", "fetched_at"), ("papers", "fetched_at"), ("deliveries", "again")),
    *(("alerts", "since"), ("alerts", "noted"), ("alerts", "over")),
)


class Store:
    """The database of one home, opened and migrated. The nouns are its attributes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.papers = Papers(database)
        self.scores = Scores(database)
        self.days = Days(database)
        self.deliveries = Deliveries(database)
        self.history = History(database)
        self.alerts = Alerts(database)
        self.suppressions = Suppressions(database)
        self.retention = Retention(database)

    @classmethod
    def open(cls, path: Path, *, check: bool = False) -> Store:
        """Opens the file, makes it where it is missing, migrates it; `check` reads all of it first. Raises StoreError
        where it is unusable.
        """
        return cls(Database.open(path, check=check))

    @classmethod
    def in_memory(cls) -> Store:
        """An empty database that nothing outlives, for questions to a home that has none yet."""
        return cls(Database.in_memory())

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """All that is written inside is one commit, or nothing."""
        return self._database.transaction(durable=durable)

    def settle_clock(self, now: datetime) -> bool:
        """Brings what was written while the clock was ahead back to `now`; says whether there was any.

        Fetches, attempts and days without a digest did not happen: they are done again. Digests stay, for they are out.
        """
        ahead = {"now": iso(now), "limit": iso(now + _AHEAD)}
        if not any(self._database.rows(f"select 1 from {signs} > :limit limit 1", ahead) for signs in _SIGNS):
            return False
        logger.warning("the clock was ahead, and is back at %s; what was dated later is dated now", iso(now))
        with self.transaction():
            for statement in _NEVER_HAPPENED:
                self._database.execute(statement, ahead)
            for table, at in _STAMPS:
                self._database.execute(f"update {table} set {at} = :now where {at} > :limit", ahead)
        return True

    def secret(self) -> bytes:
        """32 random bytes that this database keeps: the key of Message-IDs and unsubscribe tokens."""
        find = "select value from secrets where name = 'mail'"
        if not self._database.rows(find):
            with self._database.transaction():
                self._database.execute(
                    "insert into secrets values ('mail', ?) on conflict do nothing", [secrets.token_bytes(32)]
                )
        value: bytes = self._database.rows(find)[0]["value"]
        return value

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
