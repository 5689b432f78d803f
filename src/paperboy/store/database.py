"""One SQLite file: opening it safely, transactions, and the errors of a disk."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlite_utils

from paperboy.errors import StoreError, StoreWriteError
from paperboy.store.schema import BEFORE, migrations

_BUSY_SECONDS = 30


class Database:
    """A connection whose writes are whole transactions and whose failures are StoreErrors naming the file."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self.utils = sqlite_utils.Database(connection)
        self._failures = _Failures(path)
        self._durable: bool | None = None  # what transactions are now; None: whatever SQLite begins with

    @classmethod
    def open(cls, path: Path, *, check: bool = False) -> Database:
        """Opens and migrates the file; `check` reads all of it first. Raises StoreError and leaves it as it was."""
        if path.is_dir():
            raise StoreError(f"{path}: this is a folder; PAPERBOY_DATABASE must name a file")
        try:
            _create(path)
            # several threads may use it, one at a time: whoever starts them sees to that
            connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{path}: the database cannot be opened ({_reason(error)})") from error
        database = cls(path, connection)
        try:
            database._prepare(check=check)
        except sqlite3.DatabaseError as error:
            connection.close()
            raise StoreError(f"{path}: {_advice(error)}") from error
        except StoreError:
            connection.close()
            raise
        return database

    @classmethod
    def in_memory(cls) -> Database:
        """A new, empty database."""
        path = Path(":memory:")
        database = cls(path, sqlite3.connect(path, isolation_level=None))
        database._prepare(check=False)
        return database

    def _prepare(self, *, check: bool) -> None:
        if check:
            found = self._connection.execute("pragma quick_check(1)").fetchone()[0]
            if found != "ok":
                raise sqlite3.DatabaseError(str(found))
        if refusal := self._refusal():
            raise StoreError(f"{self.path}: {refusal}")
        if migrations.pending(self.utils):
            self._connection.execute("pragma legacy_alter_table = on")  # a table renamed takes no references along
            self._connection.execute("begin exclusive")  # waits for another who does the same
            migrations.apply(self.utils)  # in savepoints; skips what the other one did
            self._connection.execute("commit")
        self._connection.execute("pragma foreign_keys = on")
        self._write_ahead()

    def _refusal(self) -> str:
        """Why this database cannot be used; empty: it can."""
        tables = set(self.utils.table_names())  # before the steps: another process may be making both just now
        applied = {step.name for step in migrations.applied(self.utils)}
        ours = {step.name for step in migrations._migrations}  # there is no public list of all steps
        if not applied and tables - {migrations.migrations_table}:
            return "this database belongs to another program; name another file with PAPERBOY_DATABASE"
        if newer := sorted(applied - ours - BEFORE):
            return (
                f"this database was made by a newer Paperboy (it has {newer[-1]!r}); upgrade Paperboy, "
                "or name another file with PAPERBOY_DATABASE"
            )
        if applied and not applied & ours and applied != BEFORE:
            return (
                "this database is of a Paperboy too old to migrate from; open it once with the version before this "
                "one (paperboy status does that), or name another file with PAPERBOY_DATABASE"
            )
        return ""

    def _write_ahead(self) -> None:
        """Persistent once it is set. SQLite does not wait for others here, so this does."""
        for _ in range(_BUSY_SECONDS * 20):
            try:
                self._connection.execute("pragma journal_mode = wal")
                self._connection.execute("pragma wal_autocheckpoint = 16384")  # pages; retention is there first
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                time.sleep(0.05)
            else:
                return
        raise sqlite3.OperationalError("database is locked")

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """All or nothing; an inner one is part of the outer. A durable one survives a power cut, another one the death
        of the process.

        `begin immediate` waits for another writer; a deferred one would fail at its first write without waiting.
        """
        if self._connection.in_transaction:
            yield
            return
        with self._failures:
            if durable is not self._durable:
                self._connection.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
                self._durable = durable
            self._connection.execute("begin immediate")
        try:
            with self._failures:
                yield
                self._connection.execute("commit")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("rollback")
            raise

    def rows(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[dict[str, Any]]:
        """The rows of a query, by column name."""
        with self._failures:
            cursor = self._connection.execute(sql, values)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def execute(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> int:
        """Runs one statement inside a transaction; gives how many rows it touched."""
        with self._failures:
            return self._connection.execute(sql, values).rowcount

    def insert_all(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Inserts rows inside a transaction. Each of sqlite-utils' own commits is a savepoint of it."""
        with self._failures:
            self.utils.table(table).insert_all(rows)

    def close(self) -> None:
        self._connection.close()


class _Failures:
    """Turns SQLite's errors into ours. It is entered a dozen times for each mail, so it is no generator."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        a_bug = isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError)  # and not a disk
        if isinstance(error, sqlite3.DatabaseError) and not a_bug:
            raise StoreWriteError(f"{self._path}: {_advice(error)}") from error


def iso(instant: datetime) -> str:
    """An aware instant as text that sorts by time: UTC, to the second."""
    return instant.astimezone(UTC).isoformat(timespec="seconds")


def instant(text: str) -> datetime:
    """The reverse of `iso`."""
    return datetime.fromisoformat(text)


def _create(path: Path) -> None:
    """Makes folder and file readable by their owner alone; the WAL beside it inherits that."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _advice(error: sqlite3.DatabaseError) -> str:
    text = str(error)
    if "full" in text:
        return "the disk is full, nothing more could be written; free some space and run again: nothing is lost"
    if "disk I/O error" in text:
        return "the disk is full or failing (disk I/O error); check it with df and run again: what was committed stands"
    if "locked" in text:
        return "another program has held the database for half a minute; close it and run again"
    if "readonly" in text or "read-only" in text or "attempt to write" in text:
        return "the database cannot be written; give the file and its folder to the user who runs Paperboy"
    if "not a database" in text or "malformed" in text or text.startswith("***") or "missing" in text:
        return f"the file is damaged or no Paperboy database ({text}); restore a backup, or move it away to start anew"
    return f"the database failed ({text}); check the disk and run again"
