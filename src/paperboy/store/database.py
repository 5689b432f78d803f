"""SQLite file: transactions, the types of columns, and disk errors."""

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

_CHECKSUM = 1_000_000  # versions before 1.0 have a larger `user_version`, a checksum
_BEFORE_1_0 = (
    "this is the database of a version of Paperboy before 1.0, or of another program, and cannot be migrated. Keep "
    "using that version; or start afresh: move the file away, and pass each address that its `paperboy status "
    "--suppressed` lists to `paperboy suppress`"
)
_NEWER = "this is the database of a newer version of Paperboy; use that or a later one, or restore an older backup"
_FOREIGN = "this is not a Paperboy database; PAPERBOY_DATABASE must name one, or a file that does not exist yet"

_T = TypeVar("_T")
_Values = Sequence[Any] | Mapping[str, Any]
_Make = Callable[..., object]


class Database:
    """Connection that writes in transactions and raises a StoreError that names the file."""

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
        self._durable: bool | None = None  # the next commit; None: as SQLite has it
        self._utils = sqlite_utils.Database(connection)
        connection.create_function("same", 2, _same, deterministic=True)

    def prepare(self, mark: Path | None = None, *, check: bool = False) -> None:
        """Check the file, and apply the migrations that it lacks, of the core and of features; all
        of them to a new one, which `mark` forbids. Raises StoreError; closing the connection rolls
        back.
        """
        execute = self._connection.execute
        try:
            if self._behind(mark):
                execute("begin exclusive")  # waits for another process that migrates it
                self._require_no_orphans()
                for tables, applied in self._behind(mark):
                    migrate(tables, applied, self._utils)
                if row := execute("pragma foreign_key_check").fetchone():
                    raise sqlite3.IntegrityError(
                        f"a row of {row[0]} refers to a missing row of {row[2]}"
                    )
                execute("commit")

            if check:
                (fault,) = execute("pragma quick_check(1)").fetchone()
                if fault != "ok":
                    raise sqlite3.DatabaseError(str(fault))

            execute("pragma foreign_keys = on")
            # Locked: another process is opening it, too. WAL mode persists.
            with suppress(sqlite3.OperationalError):
                execute("pragma journal_mode = wal")
            execute("pragma wal_autocheckpoint = 16384")  # pages; retention checkpoints before that
            # The oldest secret: hashes of a newer one would match nothing.
            (secret,) = execute("select value from secrets order by rowid").fetchone() or [b""]
            self.define("forgotten", partial(_forgotten, secret))
        except sqlite3.DatabaseError as error:
            advice = _advice(error)
            if self._connection.in_transaction:
                fix = "free some space if the disk is full, or report this as a bug"
                advice = f"its migration failed ({error}) and was rolled back: the previous version still works; {fix}"
            raise StoreError(f"{self.path}: {advice}") from error

    def _require_no_orphans(self) -> None:
        """Raise StoreError for rows whose parents somebody has deleted with the program sqlite3."""
        query = """select broken."table", parent, "from", "to", "notnull" or pk
            from pragma_foreign_key_check as broken
            join pragma_foreign_key_list(broken."table") as keys on keys.id = fkid
            join pragma_table_info(broken."table") as columns on columns.name = "from" limit 1"""
        if row := self._connection.execute(query).fetchone():
            child, parent, column, key, is_needed = row
            what = f"delete from {child}" if is_needed else f"update {child} set {column} = null"
            orphans = f"{what} where {column} not in (select {key} from {parent})"
            command = f"sqlite3 {shlex.quote(str(self.path))} {shlex.quote(orphans)}"
            raise StoreError(
                f"{self.path}: cannot be migrated, since rows of {child} belong to deleted rows of {parent}, which "
                f"only another program deletes; repair them: {command}"
            )

    def _behind(self, mark: Path | None) -> list[tuple[Tables, int]]:
        """Return the tables that lack migrations, with the number of those that were applied.
        Raises StoreError if the database is newer, foreign or, with `mark`, empty.
        """
        # In one statement, since another process may be migrating.
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
        """Commit all or nothing; an inner transaction is part of the outer one. A durable one
        survives a power cut, any other the end of the process.

        `begin immediate` waits for another writer; a deferred one would fail at its first write.
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
        if durable is not self._durable:
            self.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
            self._durable = durable

    def snapshot(self) -> AbstractContextManager[None]:
        """Show one moment of the database to all queries within, while others write."""
        return self.transaction(durable=False, kind="deferred")

    def rows(
        self, sql: str, values: _Values = (), make: _Make = dict, *, skip_corrupt: bool = False
    ) -> list[Any]:
        """Call `make` with the columns of each row of a query as keyword arguments, converted as
        `_CONVERTERS` has it for their names, and return the results. Raises StoreError for a row
        that is corrupt; `skip_corrupt` logs and skips it.
        """
        cursor = self._connection.cursor()
        tuples = self._guarded(lambda: cursor.execute(sql, values).fetchall())
        names = [column[0] for column in cursor.description or ()]
        converted = [name for name in names if name in _CONVERTERS]
        results: list[Any] = []
        for columns in tuples:
            row = dict(zip(names, columns, strict=True))
            try:
                for name in converted:
                    if row[name] is not None:
                        row[name] = _CONVERTERS[name](row[name])
                results.append(make(**row))
            except Exception as error:
                where = ", ".join(f"{name} {row[name]}" for name in _KEYS if name in row)
                what = visible(shortened(f"{where}: {error}", 300))
                advice = (
                    "restore a backup, or correct (never delete) that row with the program sqlite3"
                )
                corrupt = StoreError(f"{self.path}: a row is corrupt ({what}); {advice}")
                if not skip_corrupt:
                    raise corrupt from error
                logger.error("%s", corrupt)
        return results

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

    def execute(self, sql: str, values: _Values = ()) -> int:
        """Run one statement inside a transaction, and return how many rows it changed."""
        return self._guarded(lambda: self._connection.execute(sql, values).rowcount)

    def execute_each(
        self, statements: Iterable[str], values: Mapping[str, Any], *, durable: bool = True
    ) -> int:
        """Run statements with the same named values in one transaction, or as part of the outer
        one; return how many rows they changed.
        """
        with self.transaction(durable=durable):
            return sum(self.execute(statement, values) for statement in statements)

    def commit(self, sql: str, values: _Values = (), *, durable: bool = True) -> int:
        """Run one statement as a transaction, or as part of the outer one; return how many rows it
        changed. It waits for other writers, as `begin immediate` does.
        """
        if not self._connection.in_transaction:
            self._set_durable(durable)
        return self.execute(sql, values)

    def execute_all(self, sql: str, rows: Iterable[_Values], *, durable: bool = True) -> None:
        """Run one statement for each row in one transaction, or as part of the outer one. This
        takes half the time of `execute`.
        """
        with self.transaction(durable=durable):
            self._guarded(lambda: self._connection.executemany(sql, rows))

    def define(self, name: str, function: Callable[[str], str]) -> None:
        """Let statements call a deterministic function of one text."""
        self._connection.create_function(name, 1, function, deterministic=True)

    def insert(self, table: str, row: Mapping[str, Any], *, replace: bool = False) -> None:
        """Insert a row inside a transaction, or `replace` the one with its key. sqlite-utils' own
        commits are savepoints in it; its datetimes would keep their zone, and not sort.

        Its `insert_all`, `upsert_all`, `query` and `search` are slower than our statements, and
        lack our types, prefixes and weights.
        """
        values = {
            name: iso(value) if isinstance(value, datetime) else value
            for name, value in row.items()
        }
        self._guarded(lambda: self._utils.table(table).insert(values, replace=replace))

    def _guarded(self, work: Callable[[], _T]) -> _T:
        """Raise disk errors as ours; errors of a statement are bugs. A context manager would take
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
    """Base of the classes that hold the SQL of some tables, and run it with these methods."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._transaction = database.transaction
        self._rows = database.rows
        self._first = database.first
        self._column = database.column
        self._value = database.value
        self._pairs = database.pairs
        self._execute = database.execute
        self._execute_all = database.execute_all
        self._execute_each = database.execute_each
        self._commit = database.commit


def backup(path: Path, copy: Path) -> None:
    """Copy one moment of a database of any version to a new file, also while others write. Raises
    StoreError and leaves no partial file.
    """
    uri = f"{path.as_uri()}?mode=ro"
    try:
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=copy.parent) as folder:
            partial_copy = Path(folder, "copy.db")  # where nobody else can put a link
            os.close(os.open(partial_copy, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(uri, timeout=BUSY_SECONDS, uri=True)) as connection:
                connection.execute("vacuum into ?", [str(partial_copy)])
            with partial_copy.open("rb") as file:
                os.fsync(file.fileno())
            partial_copy.rename(copy)
    except OSError as error:
        fix = "name a file in a folder in which this user may write"
        raise StoreError(f"{copy}: the copy cannot be made ({error.strerror}); {fix}") from error
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path}: {_advice(error)}") from error


def require(path: Path, mark: Path) -> bool:
    """Check whether there was a database before. Raises StoreError if there was and it is gone."""
    if mark.exists() and not path.exists():
        raise StoreError(_lost(path, "is gone", mark))
    return mark.exists()


def _lost(path: Path, how: str, mark: Path) -> str:
    fix = "restore a backup or correct PAPERBOY_DATABASE, or suppressed people would get mail again"
    return f"{path}: the database {how}; {fix}. To start afresh anyway: rm {shlex.quote(str(mark))}"


def _same(kept: str, given: str) -> bool:
    return hmac.compare_digest(kept.encode(), given.encode())


def _forgotten(secret: bytes, address: str) -> str:
    """Return the hash that replaces the address of an erased person in suppressions."""
    return f"forgotten-{hmac.digest(secret, address.encode(), 'sha256').hex()[:32]}"


def is_token(column: str) -> str:
    """Return the condition that a column is `:token`: half of its digits are looked up, the others
    are compared in constant time.
    """
    half = "substr(:token, 1, 16)"
    return f"{column} between {half} and {half} || 'g' and same({column}, :token)"


def iso(instant: datetime) -> str:
    """Return an aware instant as text that sorts by time: UTC, to the second."""
    return instant.astimezone(UTC).isoformat(timespec="seconds")


# How the values of a statement are stored; letters as they are, so that erasure finds an address.
_to_json = partial(json.dumps, ensure_ascii=False)
sqlite3.register_adapter(datetime, iso)
sqlite3.register_adapter(date, date.isoformat)
for _kind in (dict, list, tuple):
    sqlite3.register_adapter(_kind, _to_json)

# The reverse: how a column is converted, by its name, wherever it stands in a query. Numbers and
# texts stay as they are: all tables are strict.
_WRITTEN = ("at", "last", "since", "fetched_at", "frozen_at", "oldest", "published", "updated")
_PLANNED = ("due", "ended", "expires", "next_try", "try_at", "until")
_FLAGS = ("event", "given_up", "is_digest", "newest", "over", "own", "superseded", "unsent")
_CONVERTERS: Mapping[str, Callable[[Any], object]] = {
    **dict.fromkeys((*_WRITTEN, *_PLANNED), datetime.fromisoformat),
    **dict.fromkeys(_FLAGS, bool),
    "date": date.fromisoformat,
    **dict.fromkeys(("authors", "categories"), lambda text: tuple(json.loads(text))),
    "facts": lambda text: dict(json.loads(text)),
    "deliveries": lambda text: {
        DeliveryState(state): number for state, number in json.loads(text).items()
    },
    "outcome": Outcome,
    "became": PaperOutcome,
    "state": DeliveryState,
    "message": lzma.decompress,
    "shown": lzma.decompress,
}
# no addresses
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
)


def _advice(error: sqlite3.DatabaseError) -> str:
    text = str(error)
    if "full" in text or "disk I/O error" in text:
        return f"the disk is full or failing ({text}); check it with df and run again: nothing committed is lost"
    if "locked" in text:
        return "another program holds the database; close it and run again"
    if "readonly" in text or "read-only" in text or "attempt to write" in text:
        return "the database cannot be written; give the file and its folder to the user who runs Paperboy"
    signs = ("not a database", "malformed", "***", "missing", "no such", "decode")
    if any(sign in text for sign in signs):
        return f"the file is damaged or not a Paperboy database ({text}); restore a backup, or move it away"
    return f"the database failed ({text}); check the disk and run again"
