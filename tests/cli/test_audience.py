"""Who is on a list while it is edited: what an editor does in seconds costs nobody a digest, and who left gets none."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paperboy.cli.audience import Audience, Membership
from paperboy.cli.files import Files
from paperboy.config.home import Home
from tests.cli.conftest import LISTS, World

ADA, GRACE, VERA = "ada@example.org", "grace@example.org", "vera@example.org"
WITHOUT_ADA = LISTS.replace(f"      - {ADA}\n", "")
BROKEN = LISTS.partition("      - Grace")[0] + "      - Gra: ]\n"
ON, LEAVING, GONE = Membership.ON, Membership.LEAVING, Membership.GONE
SOON, LATER = timedelta(seconds=30), timedelta(minutes=2)


@pytest.fixture
def now() -> datetime:
    """Files have the real time."""
    return datetime.now(UTC)


def reading(world: World) -> Audience:
    return Audience(Home.load(world.path, world.environ))


def ada(audience: Audience, at: datetime) -> Membership:
    return audience("foundations", "Ada@Example.org", at)


def test_who_is_cut_from_the_file_is_gone_after_a_minute(world: World, now: datetime) -> None:
    audience = reading(world)
    assert ada(audience, now) is ON
    world.write("subscribers.yaml", WITHOUT_ADA)
    assert ada(audience, now) is LEAVING
    assert ada(audience, now + SOON) is LEAVING
    assert ada(audience, now + LATER) is GONE
    assert audience("foundations", GRACE, now + LATER) is ON


def test_who_is_pasted_elsewhere_half_a_minute_later_was_never_gone(world: World, now: datetime) -> None:
    audience = reading(world)
    world.write("subscribers.yaml", WITHOUT_ADA)
    assert ada(audience, now) is LEAVING
    world.write("subscribers.yaml", WITHOUT_ADA.replace(f"[{VERA}]", f"[{VERA}, {ADA}]"))
    assert ada(audience, now + SOON) is LEAVING
    assert audience("galaxies", ADA, now + SOON) is ON
    world.write("subscribers.yaml", LISTS)
    assert ada(audience, now + LATER) is ON


def test_a_list_that_is_cut_from_the_file_is_gone_after_a_minute(world: World, now: datetime) -> None:
    audience = reading(world)
    world.write("subscribers.yaml", LISTS.partition("  - name: galaxies")[0])
    assert audience("galaxies", VERA, now) is LEAVING
    assert audience("galaxies", VERA, now + LATER) is GONE


def test_the_files_own_time_counts_so_that_nobody_need_have_watched(world: World, now: datetime) -> None:
    """Each round is another process: one that begins later knows how long ago it was."""
    world.write("subscribers.yaml", WITHOUT_ADA)
    assert ada(reading(world), now + SOON) is LEAVING
    assert ada(reading(world), now + LATER) is GONE


def test_a_file_from_the_future_holds_nothing_up(world: World, now: datetime) -> None:
    """Its clock was put back since."""
    world.write("subscribers.yaml", WITHOUT_ADA)
    assert ada(reading(world), now - LATER) is GONE


def test_while_the_file_is_broken_its_last_good_version_holds_and_nobody_is_gone(world: World, now: datetime) -> None:
    audience = reading(world)
    world.write("subscribers.yaml", WITHOUT_ADA)
    assert ada(audience, now) is LEAVING
    world.write("subscribers.yaml", BROKEN)
    assert ada(audience, now + LATER) is LEAVING
    assert audience("foundations", GRACE, now + LATER) is ON
    (world.path / "subscribers.yaml").unlink()
    assert ada(audience, now + LATER) is LEAVING
    world.write("subscribers.yaml", WITHOUT_ADA)
    assert ada(audience, now + SOON) is LEAVING
    assert ada(audience, now + LATER) is GONE


def test_a_file_that_is_written_while_the_first_half_of_a_morning_is_at_work_is_read(
    world: World, now: datetime
) -> None:
    """Scoring may take an hour between the reading of the lists and the first message."""
    home = Home.load(world.path, world.environ)
    world.write("subscribers.yaml", WITHOUT_ADA)
    audience = Audience(home)
    assert ada(audience, now) is LEAVING
    assert ada(audience, now + LATER) is GONE


def in_force(world: World, lists: str) -> Home:
    """The home by the daemon's copy, with another file in the home itself."""
    world.write("subscribers.yaml", lists)
    world.run("adopt", str(world.path / "data" / "paperboy.db"))
    files = Files(world.path)
    assert files.adopt()
    return files.last_good(world.environ)


def test_a_copy_in_force_may_be_older_than_the_file(world: World, now: datetime) -> None:
    home = in_force(world, LISTS)
    world.write("subscribers.yaml", WITHOUT_ADA.replace(f"[{VERA}]", f"[{VERA}, new@example.org]"))
    audience = Audience(home)
    assert ada(audience, now) is LEAVING
    assert audience("galaxies", "new@example.org", now) is ON
    assert ada(audience, now + LATER) is GONE


def test_an_edit_that_keeps_time_and_size_is_seen(world: World, now: datetime, tmp_path: Path) -> None:
    audience, lists = reading(world), world.path / "subscribers.yaml"
    assert ada(audience, now) is ON
    stat = lists.stat()
    (tmp_path / "other").write_text(LISTS.replace(ADA, "eve@example.org"))
    os.utime(tmp_path / "other", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    shutil.copy2(tmp_path / "other", lists)
    assert ada(audience, now) is LEAVING
    assert audience("foundations", "eve@example.org", now) is ON


def test_a_link_that_is_pointed_at_an_older_file_has_just_changed(world: World, now: datetime, tmp_path: Path) -> None:
    """The link alone is new."""
    lists = world.path / "subscribers.yaml"
    (tmp_path / "old.yaml").write_text(WITHOUT_ADA)
    audience = reading(world)
    lists.unlink()
    lists.symlink_to(tmp_path / "old.yaml")
    assert ada(audience, now) is LEAVING
