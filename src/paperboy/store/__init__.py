"""SQLite: a home's database, and the tables of the core with their SQL, a file per noun. Features
have their own.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime, timedelta
from pathlib import Path

from paperboy.edges import files
from paperboy.errors import StoreError
from paperboy.models import Tables
from paperboy.store.alerts import Alerts
from paperboy.store.database import BUSY_SECONDS, Database, iso, require
from paperboy.store.days import Days
from paperboy.store.erasure import Erasure
from paperboy.store.history import History
from paperboy.store.incidents import Incidents
from paperboy.store.ledger import WORTH_SENDING, Ledger
from paperboy.store.papers import Papers
from paperboy.store.readers import Readers
from paperboy.store.retention import Retention
from paperboy.store.scores import Scores
from paperboy.store.suppressions import Suppressions
from paperboy.store.tasks import Tasks

logger = logging.getLogger(__name__)

_AHEAD = timedelta(minutes=5)  # more than two processes, or two looks at the clock, differ


class Store(AbstractContextManager["Store"]):
    """The database of one home. The nouns are its attributes; features make theirs of its
    `database`.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.transaction = database.transaction
        self.snapshot = database.snapshot
        self.changes = database.changes
        self.close = database.close
        self.papers = Papers(database)
        self.scores = Scores(database)
        self.days = Days(database)
        self.ledger = Ledger(database)
        self.history = History(database)
        self.incidents = Incidents(database)
        self.alerts = Alerts(database)
        self.suppressions = Suppressions(database)
        self.readers = Readers(database)
        self.tasks = Tasks(database)
        self.retention = Retention(database)
        self.erasure = Erasure(database)

    @classmethod
    def open(
        cls,
        path: Path,
        mark: Path | None = None,
        tables: Sequence[Tables] = (),
        *,
        check: bool = False,
        patience: float = BUSY_SECONDS,
    ) -> Store:
        """Open the file, or make it, with the `tables` of features; `check` reads all of it first.
        Raises StoreError and leaves it as it was. `patience`: seconds that it waits for other
        writers.

        `mark` is a file, wherever the database lies, that is made as soon as there is one: from
        then on a database that is gone or empty is an error.
        """
        had = (
            mark if mark and require(path, mark) else None
        )  # first: another process may be making both
        try:
            if path.exists() and not path.is_file():
                raise StoreError(
                    f"{path}: this is no regular file; PAPERBOY_DATABASE must name a file"
                )
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Never open a database that exists but through SQLite: closing any descriptor of a file
            # drops all locks that this process holds on it, those of other threads' connections,
            # too. https://sqlite.org/howtocorrupt.html, 2.2
            if not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            with suppress(PermissionError):  # somebody else's
                path.chmod(
                    0o600
                )  # its owner's alone, whoever made it; the WAL beside it inherits that
            # several threads may use it, one at a time: whoever starts them sees to that
            connection = sqlite3.connect(
                path, timeout=patience, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            fix = (
                files.denied(path)
                or files.denied(path.parent)
                or "PAPERBOY_DATABASE must name a file in a folder"
            )
            raise StoreError(
                f"{path}: the database cannot be opened ({reason or error}); {fix}"
            ) from error
        database = Database(path, connection, tables)
        try:
            database.prepare(had, check=check)
        except StoreError:
            database.close()
            raise
        if mark and not had:
            with suppress(OSError):  # a home that is read-only, or a full disk: next time
                mark.touch(0o600)
        return cls(database)

    @classmethod
    def in_memory(cls, tables: Sequence[Tables] = ()) -> Store:
        """An empty database in memory, for questions to a home that has none yet."""
        database = Database(
            Path(":memory:"), sqlite3.connect(":memory:", isolation_level=None), tables
        )
        database.prepare()
        return cls(database)

    def settle_clock(self, now: datetime) -> bool:
        """Date everything that was written while the clock was ahead to `now`; return whether there
        was any.

        Days without a digest and reports of alerts are undone. Digests stay, since they may have
        been sent. A clock before the newest paper is itself wrong, and nothing is changed.
        """
        newest = self.database.value(
            "select max(published) as at from papers where published < '2200'"
        )
        signs = self.database.first(
            """select 1 from (
                select fetched_at as at from fetches union all select at from attempts
                union all select at from server_backoff union all select since from lists
                union all select at from deliveries where state in ('pending', 'sending', 'deferred')
            ) where at > ? limit 1""",
            [now + _AHEAD],
        )
        if signs is None or (newest and newest > now):
            return False
        logger.warning(
            "the clock was ahead and is back at %s; records with a later date are dated now",
            iso(now),
        )
        instants = self.database.column(
            """select printf('update %s set %s = :now where %s > :now', tables.name, columns.name, columns.name)
            from sqlite_master as tables, pragma_table_info(tables.name) as columns
            where tables.type = 'table' and columns.name in
                ('at', 'fetched_at', 'since', 'last', 'ended', 'due', 'lifted', 'next_try', 'try_at', 'until')"""
        )
        statements = [
            "delete from days where at > :now and digest_id is null",
            "delete from alerts where date > :now",
            *instants,
            "update score_rows set given = :given where given > :given",
            "update messages set expires = :latest where expires > :latest",
        ]
        values = {"now": now, "given": int(now.timestamp()), "latest": now + WORTH_SENDING}
        self.database.execute_each(statements, values)
        return True

    def retry_now(self, now: datetime) -> None:
        """End the retry backoff of lists, mail server and tasks: whatever failed may be fixed."""
        statements = (
            "update attempts set next_try = :now where next_try > :now",
            "delete from server_backoff",
            "update tasks set due = :now where due > :now",
        )
        self.database.execute_each(statements, {"now": now})

    def secrets(self) -> tuple[bytes, ...]:
        """The keys of Message-IDs and unsubscribe tokens, 32 random bytes each, newest first. The
        newest signs; a token of an older one is still known, until its row is deleted.
        """
        found = tuple(self.database.column("select value from secrets order by rowid desc"))
        if not found:
            raise StoreError(
                f"{self.database.path}: the secret of all tokens is missing; restore a backup"
            )
        return found

    def __exit__(self, *_: object) -> None:
        self.close()
