"""SQLite: all SQL that touches the database, and all migrations, a file per noun."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path

from paperboy.errors import StoreError
from paperboy.store.alerts import Alerts
from paperboy.store.database import Database
from paperboy.store.days import Days
from paperboy.store.deliveries import Deliveries
from paperboy.store.history import History
from paperboy.store.papers import Papers
from paperboy.store.retention import Retention
from paperboy.store.scores import Scores
from paperboy.store.suppressions import Suppressions


class Store(AbstractContextManager["Store"]):
    """The database of one home, opened and migrated. The nouns are its attributes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.transaction, self.close = database.transaction, database.close
        self.papers = Papers(database)
        self.scores = Scores(database)
        self.days = Days(database)
        self.deliveries = Deliveries(database)
        self.history = History(database)
        self.alerts = Alerts(database)
        self.suppressions = Suppressions(database)
        self.retention = Retention(database)

    @classmethod
    def open(cls, path: Path, mark: Path | None = None, *, check: bool = False) -> Store:
        """Open the file, create it if it is missing and no `mark` says that it was there, migrate it; `check` reads
        all of it first. Raises StoreError if it is unusable.
        """
        return cls(Database.open(path, mark, check=check))

    @classmethod
    def in_memory(cls) -> Store:
        """An empty database in memory, for questions to a home that has none yet."""
        database = Database(Path(":memory:"), sqlite3.connect(":memory:", isolation_level=None))
        database.prepare()
        return cls(database)

    def secret(self) -> bytes:
        """32 random bytes that this database keeps: the key of Message-IDs and unsubscribe tokens."""
        for row in self._database.rows("select value from secrets where name = 'mail'"):
            return bytes(row["value"])
        raise StoreError(f"{self._database.path}: the secret of all tokens is missing; restore a backup")

    def __exit__(self, *_: object) -> None:
        self.close()
