"""SQLite: all SQL that touches the database, and all migrations, a file per noun."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Self

from paperboy.store.alerts import Alerts
from paperboy.store.database import Database
from paperboy.store.days import Days
from paperboy.store.deliveries import Deliveries
from paperboy.store.growth import Growth
from paperboy.store.lives import Lives
from paperboy.store.papers import Papers
from paperboy.store.scores import Scores
from paperboy.store.suppressions import Suppressions


class Store:
    """The database of one home, opened and migrated. The nouns are its attributes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.papers = Papers(database)
        self.scores = Scores(database)
        self.days = Days(database)
        self.deliveries = Deliveries(database)
        self.lives = Lives(database)
        self.alerts = Alerts(database)
        self.suppressions = Suppressions(database)
        self.growth = Growth(database)

    @classmethod
    def open(cls, path: Path) -> Store:
        """Opens the file, makes it where it is missing, migrates it. Raises StoreError where it is unusable."""
        return cls(Database.open(path))

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
