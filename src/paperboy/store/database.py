"""One SQLite file: its transactions, what its columns mean, and the errors of a disk."""

from __future__ import annotations

import hmac
import json
import logging
import lzma
import os
import shlex
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import sqlite_utils

from paperboy.edges.text import shortened, visible
from paperboy.errors import StoreError, StoreWriteError
from paperboy.models import DeliveryState, Outcome, PaperOutcome, Tables
from paperboy.store.schema import CORE, migrate

logger = logging.getLogger(__name__)

BUSY_SECONDS = 30

_CHECKSUM = 1_000_000  # versions before 1.0 have a larger one as `user_version`
_BEFORE_1_0 = (
    "this is the database of a version of Paperboy before 1.0, or of another program, and is not migrated. Go on with "
    "that version; or begin anew: move the file away, and pass everybody whom that version's `paperboy status "
    "--suppressed` lists to `paperboy suppress`"
)
_NEWER = "this is the database of a newer version of Paperboy; use that or a newer one, or restore a backup of before"
_FOREIGN = "this is not Paperboy's database; PAPERBOY_DATABASE must name that, or a file that is not there yet"

_T = TypeVar("_T")
_Values = Sequence[Any] | Mapping[str, Any]
_Make = Callable[..., object]


class Database:
    """A connection whose writes are whole transactions and whose failures are StoreErrors naming
    the file.
    """

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        tables: Sequence[Tables] = (),
        core: Tables = CORE,
    ) -> None:
        self.path = path
        self.tables = tables  # of features
        self._core = core
        self._connection = connection
        self._is_durable: bool | None = None  # a transaction, as the connection is set
        self._connection.create_function(
            "same",
            2,
            lambda kept, given: hmac.compare_digest(kept.encode(), given.encode()),
            deterministic=True,
        )
        self._utils = sqlite_utils.Database(connection)

    def prepare(self, mark: Path | None = None, *, check: bool = False) -> None:
        """Check the file, and apply the migrations that it lacks, of the core and of features: to a
        new one all. With `mark` no new file is made. Raises StoreError; what was begun is undone
        with the end of the connection.
        """
        execute = self._connection.execute
        try:
            if check and (found := execute("pragma quick_check(1)").fetchone()[0]) != "ok":
                raise sqlite3.DatabaseError(str(found))

            if self._behind(mark):
                execute("begin exclusive")  # waits for another who does the same
                for tables, applied in self._behind(mark):
                    migrate(tables, applied, self._connection)
                if row := execute("pragma foreign_key_check").fetchone():
                    raise sqlite3.IntegrityError(f"a row of {row[0]} refers to none of {row[2]}")
                execute("commit")

            execute("pragma foreign_keys = on")
            with suppress(
                sqlite3.OperationalError
            ):  # locked: another process opens it, too, and WAL mode persists
                execute("pragma journal_mode = wal")
            execute("pragma wal_autocheckpoint = 16384")  # pages; retention is there first
            # of the oldest: a newer one would match nothing
            (secret,) = execute("select value from secrets order by rowid").fetchone() or [b""]
            self.define("forgotten", partial(_forgotten, secret))
        except sqlite3.DatabaseError as error:
            advice = _advice(error)
            if self._connection.in_transaction:
                fix = "free some space if the disk is full, or report this as a bug"
                advice = f"its migration failed ({error}) and changed nothing: the version before still works; {fix}"
            raise StoreError(f"{self.path}: {advice}") from error

    def _behind(self, mark: Path | None) -> list[tuple[Tables, int]]:
        """Return the tables that lack migrations, each with the number of those that were applied.
        Raises StoreError if the database is not one that these lead to, or with `mark` is empty.
        """
        # in one statement, while another process may be making them
        query = """
            select user_version, (select count(*) from sqlite_master),
                (select count(*) from sqlite_master where name = 'features')
            from pragma_user_version
        """
        version, number, ours = self._connection.execute(query).fetchone()
        if version > _CHECKSUM:
            raise StoreError(f"{self.path}: {_BEFORE_1_0}")
        if number and not (version and ours):
            raise StoreError(f"{self.path}: {_FOREIGN}")
        if mark and not version:
            raise StoreError(_lost(self.path, "is empty", mark))

        versions = {self._core.name: version}
        if version:
            versions |= self._connection.execute("select name, version from features")
        behind = []
        for tables in (self._core, *self.tables):
            applied = versions.get(tables.name, 0)
            if applied > len(tables.migrations):
                raise StoreError(f"{self.path}: {_NEWER}")
            if applied < len(tables.migrations):
                behind.append((tables, applied))
        return behind

    @contextmanager
    def transaction(self, *, durable: bool = True, kind: str = "immediate") -> Iterator[None]:
        """All or nothing; an inner one is part of the outer. A durable one survives a power cut;
        any other survives the end of the process.

        `begin immediate` waits for another writer; a deferred one would fail at its first write
        without waiting.
        """
        if self._connection.in_transaction:
            yield
            return
        self._set_durable(durable)
        self.execute(f"begin {kind}")
        try:
            yield
            self.execute("commit")
        except BaseException:
            if self._connection.in_transaction:
                self.execute("rollback")
            raise

    def _set_durable(self, durable: bool) -> None:
        """Set whether the next commit survives a power cut."""
        if durable is not self._is_durable:
            self.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
            self._is_durable = durable

    def snapshot(self) -> AbstractContextManager[None]:
        """One moment of the database for all queries within, while others write."""
        return self.transaction(durable=False, kind="deferred")

    def rows(
        self, sql: str, values: _Values = (), make: _Make = dict, *, without_spoilt: bool = False
    ) -> list[Any]:
        """Return what `make` gives for each row of a query, called with its columns as keywords,
        which have the values that `_MEANING` has for that name. Raises StoreError for a row that is
        spoilt, by a disk or by hand; `without_spoilt` logs and skips it.
        """
        cursor = self._connection.cursor()
        found = self._guarded(lambda: cursor.execute(sql, values).fetchall())
        names = [column[0] for column in cursor.description or ()]
        meant = [name for name in names if name in _MEANING]
        made: list[Any] = []
        for columns in found:
            row = dict(zip(names, columns, strict=True))
            try:
                for name in meant:
                    if row[name] is not None:
                        row[name] = _MEANING[name](row[name])
                made.append(make(**row))
            except Exception as error:
                where = ", ".join(f"{name} {row[name]}" for name in _KEYS if name in row)
                what = visible(shortened(f"{where}: {error}", 300))
                advice = "restore a backup, or correct that row with the program sqlite3"
                spoilt = StoreError(f"{self.path}: a row is spoilt ({what}); {advice}")
                if not without_spoilt:
                    raise spoilt from error
                logger.error("%s", spoilt)
        return made

    def first(self, sql: str, values: _Values = (), make: _Make = dict) -> Any | None:
        """Return the first of these `rows`, or None."""
        return next(iter(self.rows(sql, values, make)), None)

    def column(self, sql: str, values: _Values = ()) -> list[Any]:
        """Return the first column of these `rows`."""
        return [next(iter(row.values())) for row in self.rows(sql, values)]

    def value(self, sql: str, values: _Values = ()) -> Any | None:
        """Return the first column of the first of these `rows`, or None."""
        return next(iter(self.column(sql, values)), None)

    def pairs(self, sql: str, values: _Values = ()) -> dict[Any, Any]:
        """Return the second column of these `rows`, by the first."""
        return dict(tuple(row.values()) for row in self.rows(sql, values))

    def changes(self) -> tuple[int, int]:
        """What is another as soon as anybody has written: through this connection, or through
        others.
        """
        (others,) = self._connection.execute("pragma data_version").fetchone()
        return self._connection.total_changes, others

    def execute(self, sql: str, values: _Values = ()) -> int:
        """Run one statement inside a transaction, and return how many rows it touched."""
        return self._guarded(lambda: self._connection.execute(sql, values).rowcount)

    def execute_each(
        self, statements: Iterable[str], values: Mapping[str, Any], *, durable: bool = True
    ) -> int:
        """Run statements with the same named values in one transaction, or a part of the one around
        it; return how many rows they touched.
        """
        with self.transaction(durable=durable):
            return sum(self.execute(statement, values) for statement in statements)

    def commit(self, sql: str, values: _Values = (), *, durable: bool = True) -> int:
        """Run one statement, by itself a transaction, or a part of the one around it; return how
        many rows it touched. It waits for other writers, as `begin immediate` does.
        """
        if not self._connection.in_transaction:
            self._set_durable(durable)
        return self.execute(sql, values)

    def execute_all(self, sql: str, rows: Iterable[_Values], *, durable: bool = True) -> None:
        """Run one statement for each row in one transaction, or a part of the one around it, in
        half the time that `execute` takes for them.
        """
        with self.transaction(durable=durable):
            self._guarded(lambda: self._connection.executemany(sql, rows))

    def define(self, name: str, function: Callable[[str], str]) -> None:
        """Let statements call a function of one text, which always gives the same for the same."""
        self._connection.create_function(name, 1, function, deterministic=True)

    def insert(self, table: str, row: dict[str, Any]) -> None:
        """Insert a row inside a transaction. Each of sqlite-utils' own commits is a savepoint of
        it.
        """
        self._guarded(lambda: self._utils.table(table).insert(row))

    def _guarded(self, work: Callable[[], _T]) -> _T:
        """Turn disk errors into ours; errors of a statement are bugs. A context manager would take
        twice as long.
        """
        try:
            return work()
        except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
            raise
        except sqlite3.DatabaseError as error:
            raise StoreWriteError(f"{self.path}: {_advice(error)}") from error

    def close(self) -> None:
        self._connection.close()


class Noun:
    """What has its SQL in a file of its own, and the methods of its database that run it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._transaction = database.transaction
        self._rows = database.rows
        self._first = database.first
        self._column = database.column
        self._value = database.value
        self._pairs = database.pairs
        self._execute = database.execute
        self._execute_each = database.execute_each
        self._commit = database.commit


def backup(path: Path, copy: Path) -> None:
    """Copy a database, whatever its version, to a new file: one moment of it, also while others
    write.

    Raises StoreError and leaves no half of a file.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=copy.parent) as folder:
            half = Path(folder, "copy.db")  # where nobody else can put a link
            os.close(os.open(half, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with closing(
                sqlite3.connect(f"{path.as_uri()}?mode=ro", timeout=BUSY_SECONDS, uri=True)
            ) as connection:
                connection.execute("vacuum into ?", [str(half)])
            with half.open("rb") as written:
                os.fsync(written.fileno())
            half.rename(copy)
    except OSError as error:
        fix = "name a file in a folder in which this user may write"
        raise StoreError(f"{copy}: the copy cannot be made ({error.strerror}); {fix}") from error
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path}: {_advice(error)}") from error


def require(path: Path, mark: Path) -> bool:
    """Whether there was a database before. Raises StoreError if there was and it is gone."""
    if mark.exists() and not path.exists():
        raise StoreError(_lost(path, "is gone", mark))
    return mark.exists()


def _lost(path: Path, how: str, mark: Path) -> str:
    fix = "restore a backup or correct PAPERBOY_DATABASE, or suppressed people would get mail again"
    return f"{path}: the database {how}; {fix}. To begin anew nevertheless: rm {shlex.quote(str(mark))}"


def _forgotten(secret: bytes, address: str) -> str:
    """Return what stands for the address of a person who was erased, in suppressions."""
    return f"forgotten-{hmac.digest(secret, address.encode(), 'sha256').hex()[:32]}"


def is_token(column: str) -> str:
    """Return the condition that a column is `:token`: it is looked up by half of its digits, and
    the others are compared in constant time.
    """
    half = "substr(:token, 1, 16)"
    return f"{column} between {half} and {half} || 'g' and same({column}, :token)"


def iso(instant: datetime) -> str:
    """An aware instant as text that sorts by time: UTC, to the second."""
    return instant.astimezone(UTC).isoformat(timespec="seconds")


def _instant(text: str) -> datetime:
    """The reverse of `iso`."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None or not 1900 < instant.year < 2300:
        raise ValueError(f"{text!r} is out of range, or has no time zone")
    return instant


def _texts(text: str) -> tuple[str, ...]:
    found = json.loads(text)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"{text!r} is not a list of texts")
    return tuple(found)


# How the values of a statement are stored.
sqlite3.register_adapter(datetime, iso)
sqlite3.register_adapter(date, date.isoformat)
for _kind in (dict, list, tuple):
    sqlite3.register_adapter(
        _kind, partial(json.dumps, ensure_ascii=False)
    )  # so that erasure finds an address in it

# The reverse: what a column holds, by its name, wherever it stands in a query. Numbers and texts
# are themselves: all tables are strict.
_MEANING: Mapping[str, Callable[[Any], object]] = {
    **dict.fromkeys(("at", "expires", "fetched_at", "frozen_at", "published", "updated"), _instant),
    **dict.fromkeys(
        ("since", "last", "ended", "tried", "due", "next_try", "try_at", "oldest", "until"),
        _instant,
    ),
    "date": date.fromisoformat,
    **dict.fromkeys(("authors", "categories"), _texts),
    "facts": lambda text: dict(json.loads(text)),
    "deliveries": lambda text: {
        DeliveryState(state): number for state, number in json.loads(text).items()
    },
    "outcome": Outcome,
    "became": PaperOutcome,
    **dict.fromkeys(
        ("counts", "event", "given_up", "newest", "over", "own", "superseded", "unsent"), bool
    ),
    "state": DeliveryState,
    **dict.fromkeys(("message", "shown"), lzma.decompress),
}
_KEYS = (
    "list",
    "list_name",
    "date",
    "paper_id",
    "id",
    "digest_id",
    "frozen_id",
    "kind",
    "category",
)  # no addresses


def _advice(error: sqlite3.DatabaseError) -> str:
    text = str(error)
    if "full" in text or "disk I/O error" in text:
        return f"the disk is full or failing ({text}); check it with df and run again: nothing committed is lost"
    if "locked" in text:
        return "another program holds the database; close it and run again"
    if "readonly" in text or "read-only" in text or "attempt to write" in text:
        return "the database cannot be written; give the file and its folder to the user who runs Paperboy"
    if any(
        word in text
        for word in ("not a database", "malformed", "***", "missing", "no such", "decode")
    ):
        return f"the file is damaged or not a Paperboy database ({text}); restore a backup, or move it away"
    return f"the database failed ({text}); check the disk and run again"
