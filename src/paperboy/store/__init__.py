"""SQLite: a home's database, and the core's tables with their SQL, a file per noun. Features have
their own.
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
from paperboy.store.briefs import Briefs
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

_AHEAD = timedelta(minutes=5)  # more than the clocks of two processes differ


class Store(AbstractContextManager["Store"]):
    """Database of a home, one attribute per table group. Features build their own on `database`."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.transaction = database.transaction
        self.snapshot = database.snapshot
        self.close = database.close
        self.papers = Papers(database)
        self.scores = Scores(database)
        self.briefs = Briefs(database)
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
        """Open the file, or create it, with the `tables` of features; `check` reads all of it
        first. `patience`: seconds to wait for other writers. Raises StoreError and changes nothing.

        `mark` is a file that is created once there is a database, wherever that lies: from then on
        a database that is gone or empty is an error.
        """
        # first: another process may be creating both
        is_expected = mark is not None and require(path, mark)
        try:
            if path.exists() and not path.is_file():
                raise StoreError(
                    f"{path}: this is not a regular file; PAPERBOY_DATABASE must name a file"
                )
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Open an existing database through SQLite alone: closing any descriptor of a file drops
            # all locks that this process holds on it, also those of other threads' connections.
            # https://sqlite.org/howtocorrupt.html, 2.2
            if not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            # Private to its owner, whoever created it; the WAL beside it inherits that.
            with suppress(PermissionError):  # another user owns it
                path.chmod(0o600)

            # Several threads may use it, one at a time: whoever starts them ensures that.
            connection = sqlite3.connect(
                path, timeout=patience, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or error
            fix = (
                files.denied(path)
                or files.denied(path.parent)
                or "PAPERBOY_DATABASE must name a file in a folder"
            )
            raise StoreError(f"{path}: the database cannot be opened ({reason}); {fix}") from error

        database = Database(path, connection, tables)
        try:
            database.prepare(mark if is_expected else None, check=check)
        except StoreError:
            database.close()
            raise

        if mark and not is_expected:
            with suppress(OSError):  # the home is read-only, or the disk full: next time
                mark.touch(0o600)
        return cls(database)

    @classmethod
    def in_memory(cls, tables: Sequence[Tables] = ()) -> Store:
        """Create an empty database in memory, for queries to a home that has none yet."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        database = Database(Path(":memory:"), connection, tables)
        database.prepare()
        return cls(database)

    def settle_clock(self, now: datetime) -> bool:
        """Re-date records written while the clock was ahead; return True if there were any.

        Days without a digest and reported alerts are deleted. Digests stay, since they may have
        been sent. A clock before the newest paper is itself wrong, so nothing is changed.
        """
        newest = self.database.value(
            "select max(published) as at from papers where published < '2200'"
        )
        ahead = self.database.first(
            """select 1 from (
                select fetched_at as at from fetches union all select at from attempts
                union all select at from server_backoff union all select since from lists
                union all select at from deliveries where state in ('pending', 'sending', 'deferred')
            ) where at > ? limit 1""",
            [now + _AHEAD],
        )
        if ahead is None or (newest and newest > now):
            return False

        message = "the clock was ahead and is back at %s; records with a later date are dated now"
        logger.warning(message, iso(now))
        updates = self.database.column(
            """select printf('update %s set %s = :now where %s > :now', tables.name, columns.name, columns.name)
            from sqlite_master as tables, pragma_table_info(tables.name) as columns
            where tables.type = 'table' and columns.name in
                ('at', 'fetched_at', 'since', 'last', 'ended', 'due', 'lifted', 'next_try', 'try_at', 'until')"""
        )
        statements = [
            "delete from days where at > :now and digest_id is null",
            "delete from alerts where date > :now",
            *updates,
            "update score_rows set given = :given where given > :given",
            "update messages set expires = :latest where expires > :latest",
        ]
        values = {"now": now, "given": int(now.timestamp()), "latest": now + WORTH_SENDING}
        self.database.execute_each(statements, values)
        return True

    def retry_now(self, now: datetime) -> None:
        """End the retry backoff of lists, mail server and tasks: the cause may be fixed."""
        statements = (
            "update attempts set next_try = :now where next_try > :now",
            "delete from server_backoff",
            "update tasks set due = :now where due > :now",
        )
        self.database.execute_each(statements, {"now": now})

    def secret(self) -> bytes:
        """Return the key of Message-IDs and tokens, 32 random bytes."""
        secret: bytes | None = self.database.value("select value from secrets order by rowid desc")
        if secret is None:
            raise StoreError(
                f"{self.database.path}: the secret of all tokens is missing; restore a backup"
            )
        return secret

    def __exit__(self, *_: object) -> None:
        self.close()
