"""Migrations: an older database gets those that it lacks, all or none, and a newer one is refused."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from paperboy.errors import StoreError
from paperboy.models import Tables
from paperboy.store import Store
from paperboy.store.database import BUSY_SECONDS, Database
from paperboy.store.history import History
from paperboy.store.schema import CORE, MIGRATIONS
from tests.builders import TABLES

VOTES = next(tables for tables in TABLES if tables.name == "votes")
FETCH = "insert into fetches (source, category, fetched_at) values ('', 'cs.LG', '2026-11-20T07:00:00+00:00')"
BROKEN = f"{FETCH};\ninsert into missing values (1)"
BROKEN_RULE = f"{FETCH};\n{FETCH}"
BROKEN_LINK = "insert into webhooks values (777, 'pending', 0, '', '')"


def after(tables: Tables, *migrations: str) -> Tables:
    """The tables of a later version."""
    return replace(tables, migrations=(*tables.migrations, *migrations))


DAY = """
    insert into days (list, date, outcome, reason, model, considered, carried_over, let_go, author_matches, selected,
        over_cap, below, at)
    values ('foundations', ?, 'digest', ?, '', 0, 0, 0, 0, 0, 0, 0, '2026-11-20T07:00:00+00:00')
"""


@contextmanager
def opened(
    path: Path, tables: Sequence[Tables] = TABLES, core: Tables = CORE
) -> Iterator[Database]:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    with closing(Database(path, connection, tables, core)) as database:
        database.prepare()
        yield database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of this version."""
    path = tmp_path / "paperboy.db"
    with opened(path):
        pass
    return path


def versions(database: Database) -> dict[str, int]:
    """How many migrations were applied; those of the core without a name."""
    rows = database.rows(
        "select name, version from features union all select '', user_version from pragma_user_version"
    )
    return {row["name"]: row["version"] for row in rows}


def test_table_without_rowid_begins_with_its_key() -> None:
    """SQLite 3.40, which many still have, calls others damaged."""
    with Store.in_memory(TABLES) as store:
        rows = store.database.rows
        for table in rows("select name, sql from sqlite_master where type = 'table'"):
            columns = rows("select name, pk from pragma_table_info(?)", [table["name"]])
            key = sorted((of for of in columns if of["pk"]), key=lambda of: int(of["pk"]))
            if "without rowid" in str(table["sql"]).lower():
                assert columns[: len(key)] == key, table["name"]


def test_older_database_gets_what_it_lacks_once(path: Path) -> None:
    """The core's first, which a feature's may use. The others are as they were."""
    core = after(CORE, "alter table fetches add column pages integer not null default 1", FETCH)
    voted = """
        insert into votes (list, paper_id, address, vote, at)
        select 'foundations', category, '', pages, '' from fetches
    """
    votes = after(VOTES, voted)
    tables = [its for its in TABLES if its is not VOTES]
    with opened(path) as database:
        before = versions(database)
    for _ in range(2):
        with opened(path, [*tables, votes], core) as database:
            assert versions(database) == before | {
                "": len(MIGRATIONS) + 2,
                "votes": len(VOTES.migrations) + 1,
            }
            assert database.rows("select paper_id, vote from votes") == [
                {"paper_id": "cs.LG", "vote": 1}
            ]


def test_migration_may_have_several_statements_on_a_line_and_a_trigger_over_several(
    path: Path,
) -> None:
    trigger = """create trigger fetched after insert on fetches begin
        delete from attempts;
        insert into lists values (new.category || '; a list', new.fetched_at);
    end"""
    core = after(CORE, f"{trigger}; {FETCH};  -- the end")
    with opened(path, core=core) as database:
        assert database.column("select name from lists") == ["cs.LG; a list"]


def test_days_of_1_0_that_reached_nobody_still_say_so(tmp_path: Path) -> None:
    """Their reasons said it in words."""
    path = tmp_path / "old.db"
    reasons = [
        "the LLM does not answer; reached nobody; superseded",
        "reached nobody; superseded",
        "the LLM does not answer.",
    ]
    with opened(path, core=replace(CORE, migrations=MIGRATIONS[:4])) as old:
        rows = [(f"2026-11-{20 - number}", reason) for number, reason in enumerate(reasons)]
        old.execute_all(DAY, rows)
    with opened(path) as database:
        kept = database.column("select reason from days where reached_nobody order by date desc")
        assert kept == ["the LLM does not answer", ""]
        days = History(database).days(["foundations"], 3)["foundations"]
        assert [day.reason for day in days] == reasons


def test_feature_that_is_new_gets_all_of_its_migrations(tmp_path: Path) -> None:
    path = tmp_path / "before.db"
    with opened(path, ()) as database:
        assert versions(database) == {"": len(MIGRATIONS)}
    with opened(path, [after(VOTES, "alter table votes rename column vote to thumb")]) as database:
        assert versions(database)["votes"] == len(VOTES.migrations) + 1
        assert database.rows("select thumb from votes") == []


def test_table_that_is_made_anew_keeps_the_rows_that_reference_it(path: Path) -> None:
    """With foreign keys, dropping it would delete them."""
    parents = "create table parents (id integer primary key) strict"
    children = (
        "create table children (parent integer references parents (id) on delete cascade) strict"
    )
    first = (
        f"{parents};\n{children};\ninsert into parents values (1);\ninsert into children values (1)"
    )
    anew = "create table anew (id integer primary key, name text) strict;\ninsert into anew (id) select id from parents"
    second = f"{anew};\ndrop table parents;\nalter table anew rename to parents"
    with opened(path, core=after(CORE, first)):
        pass
    with opened(path, core=after(CORE, first, second)) as database:
        assert database.rows("select parents.* from children join parents on id = parent") == [
            {"id": 1, "name": None}
        ]
        assert database.value("pragma foreign_keys") == 1


def test_rows_whose_parents_were_deleted_by_hand_are_named_with_the_command_that_deletes_them(
    path: Path,
) -> None:
    """The program sqlite3 keeps no foreign keys."""
    with closing(sqlite3.connect(path)) as by_hand:
        by_hand.execute(BROKEN_LINK)
        by_hand.commit()
    core = after(CORE, FETCH)
    said = "rows of webhooks belong to deleted rows of messages"
    with pytest.raises(StoreError, match=said) as told, opened(path, core=core):
        pass
    program, file, statement = shlex.split(str(told.value).rpartition("them: ")[2])
    assert (program, file) == ("sqlite3", str(path))
    with closing(sqlite3.connect(path)) as by_hand:
        by_hand.execute(statement)
        by_hand.commit()
    with opened(path, core=core) as database:
        assert database.value("select count(*) from fetches") == 1


@pytest.mark.parametrize("number", range(5))
def test_only_one_of_those_who_open_it_at_once_migrates_it(path: Path, number: int) -> None:
    core = after(CORE, FETCH)
    start = Barrier(8)

    def count(_: int) -> object:
        start.wait()
        with opened(path, core=core) as database:
            return database.value("select count(*) from fetches")

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(count, range(8))) == [1] * 8


@pytest.mark.parametrize("broken", [BROKEN, BROKEN_RULE, BROKEN_LINK])
@pytest.mark.parametrize("of", ["core", "feature"])
def test_migration_that_fails_leaves_the_file_as_it_was(path: Path, of: str, broken: str) -> None:
    """That of a feature takes back that of the core before it, too."""
    more = [FETCH.replace("cs.LG", "cs.CV"), "drop table attempts", broken]
    core, votes = (
        (after(CORE, *more), VOTES)
        if of == "core"
        else (after(CORE, more[0]), after(VOTES, *more[1:]))
    )
    before = path.read_bytes()
    why = r"its migration failed \(.+\) and was rolled back: the previous version still works"
    with pytest.raises(StoreError, match=why), opened(path, [votes], core):
        pass
    assert path.read_bytes() == before
    with opened(path) as database:
        assert database.value("select count(*) from fetches") == 0


@pytest.mark.parametrize(
    ("core", "votes"),
    [(after(CORE, FETCH), VOTES), (CORE, after(VOTES, FETCH))],
    ids=["core", "feature"],
)
def test_database_of_a_newer_version_is_refused_and_untouched(
    path: Path, core: Tables, votes: Tables
) -> None:
    """Also where it lacks migrations of another part."""
    with opened(path, [votes], core):
        pass
    before = path.read_bytes()
    signups = [after(its, "drop table signups") if its.name == "signups" else its for its in TABLES]
    with (
        pytest.raises(
            StoreError, match="a newer version of Paperboy; use that or a later one, or restore"
        ) as caught,
        opened(path, signups),
    ):
        pass
    assert caught.value.exit_code == 78
    assert path.read_bytes() == before
