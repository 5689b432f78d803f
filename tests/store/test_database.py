"""Opening the database: what is refused, in words that a person can act on, and what a transaction promises."""

import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from paperboy.errors import StoreError, StoreWriteError
from paperboy.store import Store
from paperboy.store.database import Database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "paperboy.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    with Store.open(path) as opened:
        yield opened.database


def test_new_database_is_its_owners_alone(path: Path) -> None:
    store = Store.open(path)
    store.secret()
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    store.close()


def test_secret_stays_the_same_and_differs_between_homes(path: Path, tmp_path: Path) -> None:
    first = Store.open(path)
    secret = first.secret()
    first.close()
    again = Store.open(path)
    other = Store.open(tmp_path / "other.db")
    assert again.secret() == secret
    assert len(secret) == 32
    assert other.secret() != secret
    again.close()
    other.close()


def test_opening_again_changes_nothing(path: Path) -> None:
    Store.open(path).close()
    before = path.read_bytes()
    Store.open(path).close()
    assert path.read_bytes() == before


SUPPRESSED = """
import pathlib, sys
from paperboy.store import Store

with Store.open(pathlib.Path(sys.argv[1])) as store:
    print(*(suppression.address for suppression in store.suppressions.all()))
"""


def test_opening_again_keeps_the_locks_of_other_connections(path: Path) -> None:
    """Without them, another process that closes takes itself for the last one, and deletes the WAL of this one."""

    def seen_by_another_process() -> str:
        command = [sys.executable, "-c", SUPPRESSED, str(path)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    with Store.open(path) as kept:
        kept.secret()
        Store.open(path).close()
        assert seen_by_another_process() == ""
        kept.suppressions.add("ada@example.org", "", "by hand", datetime(2026, 11, 20, tzinfo=UTC))
        assert seen_by_another_process() == "ada@example.org"


def test_place_that_cannot_hold_a_file_is_refused(tmp_path: Path) -> None:
    """A folder; and a file where the folder should be, which stops root as well."""
    with pytest.raises(
        StoreError, match="this is not a regular file; PAPERBOY_DATABASE must name a file"
    ):
        Store.open(tmp_path)
    (tmp_path / "data").write_text("not a folder")
    with pytest.raises(StoreError, match=r"data/paperboy\.db: the database cannot be opened"):
        Store.open(tmp_path / "data" / "paperboy.db")


def test_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("Dear diary, " * 100)
    with pytest.raises(StoreError, match="damaged or not a Paperboy database"):
        Store.open(path)
    assert path.read_text() == "Dear diary, " * 100


def test_truncated_database_is_refused_with_the_fix(path: Path) -> None:
    """SQLite itself would open it and fail in the middle of a morning."""
    Store.open(path).close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match="restore a backup"):
        Store.open(path, check=True)


OTHERS = {
    "holiday_photos": (0, "this is not a Paperboy database; PAPERBOY_DATABASE must name"),
    "holiday_videos": (1, "this is not a Paperboy database"),
    "papers": (
        1_273_918_846,
        "before 1.0.*move the file away, and pass each address .* to `paperboy suppress`",
    ),
}


@pytest.mark.parametrize("table", OTHERS)
def test_database_of_another_program_or_version_is_refused_and_untouched(
    path: Path, table: str
) -> None:
    version, fix = OTHERS[table]
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"create table {table} (name, version); pragma user_version = {version}"
        )
    before = path.read_bytes()
    with pytest.raises(StoreError, match=fix) as caught:
        Store.open(path)
    assert caught.value.exit_code == 78
    assert path.read_bytes() == before


@pytest.mark.parametrize("inner", [False, True])
def test_transaction_is_all_or_nothing(database: Database, path: Path, *, inner: bool) -> None:
    """Also for sqlite-utils' insert, which by itself commits every row; an inner one joins the outer."""
    rows = [{"category": f"cs.{n}", "fetched_at": "2026", "source": ""} for n in range(250)]
    other = Store.open(path).database
    count = "select count(*) as n from fetches"

    def write() -> None:
        with database.transaction(durable=False) if inner else nullcontext():
            for row in rows:
                database.insert("fetches", row)
        assert other.rows(count) == [{"n": 0}]  # nothing of it is seen outside

    def break_off() -> None:
        with database.transaction():
            write()
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        break_off()
    assert database.rows(count) == [{"n": 0}]
    with database.transaction():
        write()
    assert other.rows(count) == [{"n": 250}]
    other.close()


def test_inserted_row_is_written_as_by_a_statement(database: Database) -> None:
    """Its instants are in UTC, or a morning in Tokyo would sort after noon in Berlin."""
    noon = datetime(2026, 11, 20, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    morning = datetime(2026, 11, 20, 18, tzinfo=ZoneInfo("Asia/Tokyo"))
    with database.transaction():
        database.insert("lists", {"name": "berlin", "since": noon})
        database.insert("lists", {"name": "tokyo", "since": morning})
    since = database.pairs("select name, since from lists order by since")
    assert list(since.items()) == [("tokyo", morning), ("berlin", noon)]


def test_inserted_row_replaces_one_with_its_key_only_if_asked(database: Database) -> None:
    row = {"name": "foundations", "since": datetime(2026, 11, 20, tzinfo=UTC)}
    later = row | {"since": datetime(2026, 11, 21, tzinfo=UTC)}
    with database.transaction():
        database.insert("lists", row)
        with pytest.raises(sqlite3.IntegrityError):
            database.insert("lists", later)
        assert database.value("select since from lists") == row["since"]
        database.insert("lists", later, replace=True)
    assert database.value("select since from lists") == later["since"]


def test_full_disk_is_reported_in_words_and_loses_nothing(database: Database) -> None:
    """`max_page_count` makes SQLite meet the same error as a full disk does."""
    pages = database.rows("pragma page_count")[0]["page_count"]
    database.rows(f"pragma max_page_count = {pages}")
    row = {"category": "x" * 400_000, "fetched_at": "2026", "source": ""}
    with (
        pytest.raises(
            StoreWriteError, match=r"the disk is full.*nothing committed is lost"
        ) as caught,
        database.transaction(),
    ):
        database.insert("fetches", row)
    assert caught.value.exit_code == 1
    assert database.rows("select count(*) as n from fetches") == [{"n": 0}]


def test_bug_in_a_statement_is_no_disk_failure(database: Database) -> None:
    with pytest.raises(sqlite3.IntegrityError), database.transaction():
        database.insert("fetches", {"source": "", "category": None, "fetched_at": "2026"})
