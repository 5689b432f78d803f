"""The copies of a home's files: what is tried, what is in force, and that the last good version is never lost."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PosixPath

import pytest

from paperboy.cli.files import Files
from paperboy.errors import ConfigError
from paperboy.models import Problem
from tests.cli.conftest import LISTS, World

ADA_LEFT = LISTS.replace("      - ada@example.org\n", "")


def adopting(world: World) -> int:
    """A trial of the files; when they are sound, they come into force."""
    code = world.run("adopt", str(world.path / "data" / "paperboy.db")).code
    Files(world.path).adopt()
    return code


def problems(world: World) -> list[str]:
    """What a trial finds wrong."""
    assert adopting(world) == 78
    return [str(problem) for problem in Files(world.path).faults()]


# --- the last good version


class Worn(PosixPath):
    """A path on a disk that does not rename everything."""

    refused: frozenset[str] = frozenset()

    def rename(self, target: os.PathLike[str] | str) -> Worn:
        if self.name in type(self).refused:
            raise OSError(errno.EIO, "Input/output error", str(self))
        return type(self)(super().rename(target))


class Wears(Worn):
    refused = frozenset({"next"})


class WearsMore(Worn):
    refused = frozenset({"next", "old"})


@pytest.mark.parametrize("disk", [Wears, WearsMore])
def test_a_version_that_cannot_take_its_place_costs_none(world: World, disk: type[Worn]) -> None:
    adopting(world)
    world.write("subscribers.yaml", ADA_LEFT)
    world.run("adopt", str(world.path / "data" / "paperboy.db"))
    files = Files(world.path)
    files.folder = disk(files.folder)
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output"):
            files.adopt()
    kept = files.good if disk is Wears else files.folder / "old"
    assert (kept / "subscribers.yaml").read_text() == LISTS
    files.folder = Path(files.folder)
    assert files.adopt()
    assert (files.good / "subscribers.yaml").read_text() == ADA_LEFT
    assert not (files.folder / "old").exists()


def test_the_one_before_is_back_after_a_kill_between_the_two_renames(world: World) -> None:
    adopting(world)
    files = Files(world.path)
    files.good.rename(files.folder / "old")
    files.prepare()
    assert (files.good / "subscribers.yaml").read_text() == LISTS


def test_what_is_wrong_with_the_version_in_force_is_told_of_the_home(world: World) -> None:
    """As after an upgrade that is stricter: the copies are none of the operator's business."""
    adopting(world)
    files = Files(world.path)
    (files.good / "subscribers.yaml").unlink()
    with pytest.raises(ConfigError) as caught:
        files.last_good(world.environ)
    assert "in-force" not in str(caught.value)
    assert f"there is no such file in {world.path};" in str(caught.value)


# --- edits while it is copied


@dataclass
class Edited:
    """Somebody saves while the files are copied: what they do, copy by copy."""

    files: Files
    saves: list[Callable[[], object]]
    waits: list[float] = field(default_factory=list)

    def copy_whole(self) -> None:
        saves = iter(self.saves)

        class Meanwhile(Files):
            def copy(self) -> None:
                super().copy()
                next(saves, lambda: None)()

        Meanwhile(self.files.folder.parent.parent).copy_whole(self.waits.append)


def test_an_edit_in_the_midst_of_copying_is_copied_whole(world: World) -> None:
    files = Files(world.path)
    files.prepare()

    def save() -> None:
        world.write("subscribers.yaml", ADA_LEFT)
        world.write("prompts/topics/x.md", "learning")

    edited = Edited(files, [save])
    edited.copy_whole()
    assert (files.new / "subscribers.yaml").read_text() == ADA_LEFT
    assert (files.new / "prompts/topics/x.md").read_text() == "learning"
    assert edited.waits == [1.0]


def test_a_file_that_is_away_for_a_moment_is_looked_for_again(world: World) -> None:
    """An editor that moves the old file away before it writes the new one."""
    adopting(world)
    files = Files(world.path)
    settings = world.path / ".env"
    away = settings.rename(world.path / ".env~")

    class Back(Files):
        def copy(self) -> None:
            try:
                super().copy()
            finally:
                if away.exists():
                    away.rename(settings)

    Back(world.path).copy_whole(lambda _: None)
    assert (files.new / ".env").read_text() == settings.read_text()


def test_files_that_never_rest_are_a_problem_with_a_name(world: World) -> None:
    files = Files(world.path)
    files.prepare()
    lists = world.path / "subscribers.yaml"
    edited = Edited(files, [lambda n=n: lists.write_text(LISTS + "#" * n) for n in range(9)])  # type: ignore[misc]
    with pytest.raises(OSError, match="it changes all the time; let whatever writes it come to an end") as caught:
        edited.copy_whole()
    assert caught.value.filename == str(lists)
    assert edited.waits == [1.0] * 4


# --- what cannot be copied


def fifo(place: Path) -> None:
    os.mkfifo(place)


def dangling(place: Path) -> None:
    place.symlink_to("/nowhere/at/all")


def loop(place: Path) -> None:
    place.symlink_to(place.name)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (fifo, "it is no ordinary file; put one in its place"),
        (dangling, "it is a link to a file that does not exist; mend the link, or put a file in its place"),
        (loop, "it is a link to a file that does not exist; mend the link, or put a file in its place"),
        (Path.mkdir, "it is a folder; put a file in its place"),
    ],
)
def test_what_is_no_file_is_told_with_what_to_do(world: World, make: Callable[[Path], None], told: str) -> None:
    (world.path / "subscribers.yaml").unlink()
    make(world.path / "subscribers.yaml")
    assert problems(world) == [f"subscribers.yaml: cannot be copied: {told}"]


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything, and so is somebody else for a while."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_what_may_not_be_read_is_told_with_what_to_do() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to others
        home = Path(folder)
        home.chmod(0o777)
        (home / ".env").touch(mode=0)
        with as_nobody():
            files = Files(home)
            files.prepare()
            with pytest.raises(OSError, match="it may not be read; let Paperboy's user read it"):
                files.copy()


@pytest.mark.parametrize("link", ["x.md", "far/x.md"])
def test_topics_that_lie_elsewhere_are_refused_as_in_the_home_itself(world: World, tmp_path: Path, link: str) -> None:
    world.write("subscribers.yaml", LISTS.replace("topics: dwarf galaxies", f"topics: {link}"))
    world.write("prompts/y.md", "galaxies")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.md").write_text("galaxies")
    if link == "x.md":
        (world.path / "prompts" / "x.md").symlink_to(tmp_path / "elsewhere" / "x.md")
    else:
        (world.path / "prompts" / "far").symlink_to(tmp_path / "elsewhere")
    told = [line.replace(f"{world.path}/", "") for line in world.run("once").err.splitlines() if "link" in line]
    assert (
        problems(world)
        == told
        == [f"subscribers.yaml:13:13: prompts/{link} is a link that leads out of prompts; put the text itself there"]
    )


def test_a_link_inside_prompts_and_one_that_no_list_uses_are_no_matter(world: World, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("a reader's notes")
    world.write("prompts/topics/far.md", "galaxies")
    (world.path / "prompts" / "near.md").symlink_to("topics/far.md")
    (world.path / "prompts" / "notes.md").symlink_to(tmp_path / "notes.md")
    world.write("subscribers.yaml", LISTS.replace("topics: dwarf galaxies", "topics: near.md"))
    assert adopting(world) == 0
    assert (Files(world.path).good / "prompts" / "near.md").read_text() == "galaxies"
    assert not (Files(world.path).good / "prompts" / "near.md").is_symlink()


def test_a_missing_file_is_told_of_the_homes_own_folder(world: World) -> None:
    (world.path / "subscribers.yaml").unlink()
    (problem,) = problems(world)
    assert problem.startswith(f"subscribers.yaml: there is no such file in {world.path}; create it")


def test_a_copy_is_known_by_the_name_of_the_file_in_the_home(world: World) -> None:
    files = Files(world.path)
    problem = Problem(f"{files.good}/prompts/a.md", f"is not in {files.good}, nor in {files.new}/prompts")
    assert files.at_home(problem) == Problem("prompts/a.md", f"is not in {world.path}, nor in prompts")


@pytest.mark.parametrize("blocked", ["data/in-force", "data/in-force/faults.new"])
def test_a_folder_that_cannot_be_written_is_a_sentence(world: World, blocked: str) -> None:
    """And no version counts as sound: the daemon tells it by the exit code."""
    if blocked == "data/in-force":
        world.write(blocked, "in the way")
    else:
        (world.path / blocked).mkdir(parents=True)
    ran = world.run("adopt", str(world.path / "data" / "paperboy.db"))
    assert ran.code == 1
    assert f"{world.path}/data/in-force: cannot be written" in ran.err
    assert "let Paperboy's user write there" in ran.err
    assert "Traceback" not in ran.err


# --- what tells of an edit


def same_length(old: str) -> str:
    return old.replace("ada@", "eve@")


def test_an_edit_that_keeps_time_and_size_is_seen(world: World, tmp_path: Path) -> None:
    """`cp -p`, `rsync -t` and a rename of a file that was made at the same time."""
    lists, files = world.path / "subscribers.yaml", Files(world.path)
    stat = lists.stat()
    before = files.stamps()
    lists.write_text(same_length(LISTS))
    os.utime(lists, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert files.stamps() != before

    before = files.stamps()
    shutil.copy2(lists, tmp_path / "other")
    (tmp_path / "other").rename(lists)
    assert files.stamps() != before
    assert files.stamps() == files.stamps()


def test_another_mode_is_seen(world: World) -> None:
    before = Files(world.path).stamps()
    (world.path / ".env").chmod(0o600)
    assert Files(world.path).stamps() != before
