"""`paperboy tidy`, the daemon's child: what it says, what still works after it, and when it writes the file anew."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from paperboy.cli import tidy
from paperboy.cli.main import invoke
from paperboy.models import Score, Spending
from paperboy.store import Store
from paperboy.store.growth import Growth
from tests.builders import paper
from tests.cli.conftest import FRIDAY, World


def database(world: World) -> Path:
    return world.path / "data" / "paperboy.db"


def later(world: World, days: int) -> None:
    """So many days on, arXiv has another batch for the one list and nothing for the other."""
    world.clock.now += timedelta(days=days)
    world.announce(50 + days % 40)
    assert world.run("once", "--list", "foundations").code == 0


def test_it_is_there_and_not_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["tidy", "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: paperboy tidy")
    invoke(["--help"])
    assert "tidy" not in capsys.readouterr().out


def test_a_home_without_a_database_is_left_alone(world: World) -> None:
    ran = world.run("tidy")
    assert (ran.code, ran.out) == (0, "")
    assert "there is no database yet; the first morning makes it" in ran.err
    assert not (world.path / "data").exists()


def test_it_says_in_one_line_what_it_did(world: World) -> None:
    world.announce(1, 2)
    world.run("once")
    later(world, 400)
    ran = world.run("tidy")
    assert (ran.code, ran.out) == (0, "")
    assert re.fullmatch(
        r"\S+ \S+ INFO the database is tidy: 2 papers, 2 scores, 1 digest, 2 deliveries taken out; "
        r"0\.\d MB before, 0\.\d MB now, 0\.\d MB of them free; \d+\.\d s\n",
        ran.err,
    )
    assert "the database is tidy: nothing taken out; " in world.run("tidy").err
    assert set(world.waits) == {0.02}  # the pauses, in which others may write


def test_what_was_sent_is_never_sent_again_and_all_else_still_works(world: World) -> None:
    world.announce(1, 2)
    world.announce(3, categories=("astro-ph.GA",))
    world.run("once")
    later(world, 400)
    assert "3 papers" not in world.run("tidy").err  # the newest digest of the other list can still be sent again
    with Store.open(database(world)) as store:
        store.papers.add([paper("2611.00001", published=FRIDAY)], ["cs.LG", "stat.ML"], world.clock())
    world.clock.now += timedelta(days=1)
    sent = len(world.mails())
    assert world.run("once").code == 0
    assert len(world.mails()) == sent
    assert world.run("resend", "galaxies", "--to", "vera@example.org").code == 0
    assert world.mails()[sent:] == ["vera@example.org"]
    assert "selected, in the digest of" in world.run("why", "2611.00003", "--list", "galaxies").out
    assert "Spent in November 2026" in world.run("status").out
    assert world.run("preview", "foundations").code == 0


# --- writing it anew


@contextmanager
def half_empty(path: Path, megabytes: int) -> Iterator[Growth]:
    """A database of which so much is full, and as much is free."""
    papers = [paper(f"2611.{number:05}", title="x" * 10_000) for number in range(200 * megabytes)]
    with Store.open(path) as store:
        store.papers.add(papers, ["cs.LG"], FRIDAY)
        with sqlite3.connect(path) as connection:
            connection.execute("delete from papers where arxiv_id >= ?", [f"2611.{100 * megabytes:05}"])
        connection.close()
        yield store.growth


def test_it_is_written_anew_where_a_fifth_and_ten_megabytes_are_free(tmp_path: Path) -> None:
    with half_empty(tmp_path / "large.db", 12) as growth:
        assert growth.size().free > 10_000_000
        assert tidy.compact(growth, tmp_path / "large.db", room=10**9)
        assert growth.size().free == 0
        assert not tidy.compact(growth, tmp_path / "large.db", room=10**9)
    with half_empty(tmp_path / "small.db", 5) as growth:
        assert growth.size().free > 0.4 * growth.size().whole
        assert not tidy.compact(growth, tmp_path / "small.db", room=10**9)


def test_a_disk_without_room_for_it_is_told_and_nothing_is_begun(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "large.db"
    with half_empty(path, 12) as growth:
        before = growth.size()
        needed = 2 * (before.whole - before.free)
        assert not tidy.compact(growth, path, room=needed - 1)
        assert growth.size() == before
        assert re.search(
            r"large\.db: of its 2\d\.\d MB, 1\d\.\d MB are empty; writing it anew would give them back, but needs "
            r"3\d\.\d MB of disk, and 3\d\.\d MB are free",
            caplog.text,
        )
        assert tidy.compact(growth, path, room=needed)


def test_a_database_that_cannot_be_written_anew_stays_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody writes to it just now, and does not stop."""
    path = tmp_path / "large.db"
    with half_empty(path, 12) as growth:
        before = growth.size()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("begin immediate")
        growth._database.rows("pragma busy_timeout = 1")
        assert not tidy.compact(growth, path, room=10**9)
        assert "could not be written anew, and stays as it is: " in caplog.text
        other.execute("commit")
        other.close()
        assert growth.size() == before


def test_the_whole_command_gives_the_disk_its_room_back(world: World) -> None:
    world.announce(1)
    world.run("once")
    ids = [f"2510.{number:05}" for number in range(1500)]
    with Store.open(database(world)) as store:
        old = FRIDAY - timedelta(days=50)
        of = paper(published=old, abstract="x" * 10_000, primary_category="q-bio.GN", categories=("q-bio.GN",))
        store.papers.add([replace(of, arxiv_id=each) for each in ids], ["q-bio.GN"], old)
        scores = {each: Score(3, 3) for each in ids}
        store.scores.keep("gone", "criteria", "luna", scores, Spending(), old)
    world.env(KEEP_DAYS=40)
    before = database(world).stat().st_size
    ran = world.run("tidy")
    assert ran.code == 0
    assert "1500 papers, 1500 scores taken out" in ran.err
    assert ", written anew, 0.0 MB of them free" in ran.err
    assert database(world).stat().st_size < before / 10
    left = {path.suffix for path in database(world).parent.iterdir()}
    assert left == {".db", ".lock"}  # no WAL, no temporary file
