"""Rows that are spoilt, by a disk or by hand: one sentence with the row and the fix, and no list but its own stops."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from tests.cli.conftest import World, world

__all__ = ["world"]  # a fixture

ADVICE = "restore a backup, or correct (never delete) that row with the program sqlite3"


@pytest.fixture
def served(world: World) -> World:
    """A home after a morning, with an alert, a failed attempt and a suppression. Then comes the next day."""
    world.announce(1)
    world.announce(2, categories=("astro-ph.GA",))
    assert world.run("once").code == 0
    world.run("suppress", "vera@example.org")
    world.clock.now += timedelta(days=3)
    world.announce(3)
    world.announce(4, categories=("astro-ph.GA",))
    with closing(sqlite3.connect(world.path / "data" / "paperboy.db")) as database:
        database.execute(
            "insert into alerts values ('mail', 'x', ?, '2026-11-20', 0, null)", [NOON]
        )
        database.execute(
            "insert into attempts values ('galaxies', 'late', :at, :at, :at, 0)", [NOON]
        )
        database.commit()
    return world


NOON = "2026-11-20T12:00:00+00:00"
SPOILT = {  # a statement, the command that meets what it did, and what is said
    "authors that are no JSON": (
        "update papers set authors = '[1' ",
        "why 2611.00001",
        "id 2611.00001: ",
    ),
    "a date of a paper": (
        "update papers set updated = 'once'",
        "why 2611.00001",
        "Invalid isoformat string: 'once'",
    ),
    "what became of a paper": (
        "update seen_rows set became = 99",
        "why 2611.00001",
        "99 is not a valid PaperOutcome",
    ),
    "a score": (
        "update score_rows set relevance = 85",
        "why 2611.00001",
        "a score is 1 to 10, not 85",
    ),
    "an outcome": ("update days set outcome = 'maybe'", "status", "'maybe' is not a valid Outcome"),
    "counts": (
        "update days set considered = 99",
        "status",
        "list foundations, date 2026-11-20, digest_id 1: ",
    ),
    "a terminal's orders": (
        "update days set outcome = char(27) || '[2J'",
        "status",
        r"\x1b[2J' is not a valid",
    ),
}


@pytest.mark.parametrize("name", SPOILT)
def test_spoilt_row_is_one_sentence(served: World, name: str) -> None:
    statement, command, told = SPOILT[name]
    spoil(served, statement)
    ran = served.run(*command.split())
    assert ran.code == 78
    assert ran.err.startswith(f"{served.path}/data/paperboy.db: a row is corrupt (")
    assert told in ran.err
    assert ran.err.endswith(f"); {ADVICE}\n")
    assert ran.err.count("\n") == 1


DAMAGED = {
    "a table": ("drop table seen_rows", "why 2611.00001", "no such table: main.seen_rows"),
    "text that is no UTF-8": (
        "update papers set title = cast(x'ff' as text)",
        "why 2611.00001",
        "Could not decode",
    ),
    "the secret": (
        "delete from secrets",
        "once",
        "the secret of all tokens is missing; restore a backup",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_database_that_misses_something_is_one_sentence(served: World, name: str) -> None:
    statement, command, told = DAMAGED[name]
    spoil(served, statement)
    ran = served.run(*command.split())
    assert ran.code in {1, 78}
    assert told in ran.err
    assert "restore a backup" in ran.err
    assert "bug" not in ran.err


def test_spoilt_day_stops_no_other_list(served: World) -> None:
    spoil(served, "update days set date = '2026-11-1' where list = 'galaxies'")
    ran = served.run("work", "morning", "foundations", "galaxies")
    assert "ERROR galaxies: " in ran.err
    assert "list galaxies" not in ran.err.partition("ERROR galaxies")[0]
    assert "INFO foundations: 2026-11-23 digest" in ran.err
    assert "bug" not in ran.err


def test_spoilt_digest_stops_no_other_mail(served: World) -> None:
    served.clock.now -= timedelta(days=3)
    spoil(served, "update messages set message = x'00' where list = 'galaxies'")
    spoil(served, "update deliveries set state = 'pending'")
    spoil(served, "update suppressions set holds = 0")
    already = len(served.mails())
    ran = served.run("once")
    assert ran.code == 78
    assert "a row is corrupt (list galaxies, date 2026-11-20: " in ran.err
    assert {"ada@example.org", "grace@example.org"} <= set(served.mails()[already:])


def spoil(home: World, statement: str) -> None:
    with closing(sqlite3.connect(home.path / "data" / "paperboy.db")) as database:
        assert database.execute(statement).rowcount
        database.commit()
