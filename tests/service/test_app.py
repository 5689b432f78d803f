"""The façade: what it builds, and when."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from paperboy.edges import lock
from paperboy.features import FEATURES
from paperboy.service.app import App
from tests.cli.conftest import ENVIRON, World, world
from tests.fakes import NoProgress

__all__ = ["world"]


def app_of(world: World) -> App:
    return App(
        world.path,
        world.environ,
        world.clock,
        world.waits.append,
        lambda: 0.0,
        NoProgress(),
        features=FEATURES,
    )


@pytest.mark.parametrize(("fixed", "number"), [({}, 20), ({"SMTP_CONNECTIONS": 4}, 4)])
def test_there_are_twenty_connections_unless_their_number_is_set(
    world: World, fixed: dict, number: int
) -> None:
    world.env(**fixed)
    with app_of(world) as app:
        assert len(app.transports) == number


def test_preview_that_has_to_score_waits_for_the_morning_under_way_and_says_so(
    world: World,
) -> None:
    world.announce(1)
    said: list[str] = []
    with app_of(world) as app, ExitStack() as other:
        other.enter_context(lock.held(app.settings.paperboy_database, "morning", "once"))

        def say(text: str) -> None:
            said.append(text)
            other.close()

        app.say = say
        assert app.previews("preview").of(app.home.list("foundations")).mail is not None
        assert len(said) == 1
        assert said[0].endswith("is active; waiting for its morning to end")


def test_preview_of_scored_papers_waits_for_nobody(world: World) -> None:
    world.announce(1)
    with app_of(world) as app:
        app.previews("preview").of(app.home.list("foundations"))
    with app_of(world) as app, lock.held(app.settings.paperboy_database, "morning", "once"):
        assert app.previews("preview").of(app.home.list("foundations")).mail is not None


# ---- a database that was there


def with_its_wal_only(home: Path) -> None:
    (home / "data" / "paperboy.db").rename(home / "data" / "paperboy.db-wal")


def linked_to_a_disk_that_is_not_mounted(home: Path) -> None:
    (home / "data" / "paperboy.db").unlink()
    (home / "data" / "paperboy.db").symlink_to(home / "disk" / "paperboy.db")


LOST: dict[str, tuple[Callable[[Path], object], str]] = {
    "gone": (lambda home: (home / "data" / "paperboy.db").unlink(), "is gone"),
    "empty": (lambda home: (home / "data" / "paperboy.db").write_bytes(b""), "is empty"),
    "with its WAL only": (with_its_wal_only, "is gone"),
    "elsewhere": (linked_to_a_disk_that_is_not_mounted, "is gone"),
}


@pytest.fixture
def used(world: World) -> World:
    """A home with a database, in which Ada is suppressed; the operator hears of what no database can record."""
    world.env(ALERT_TO="ops@example.org")
    assert world.run("suppress", "ada@example.org").code == 0
    return world


def files(home: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (home / "data").iterdir() if file.is_file()}


@pytest.mark.parametrize("how", LOST)
def test_database_that_is_lost_is_an_error_and_never_a_fresh_start(used: World, how: str) -> None:
    lose, told = LOST[how]
    lose(used.path)
    before = files(used.path)
    fix = "restore a backup or correct PAPERBOY_DATABASE, or suppressed people would get mail again"
    anew = f"To start afresh anyway: rm {used.path}/.has-database"
    message = f"{used.path}/data/paperboy.db: the database {told}; {fix}. {anew}\n"
    for command in (["status"], ["once"], ["suppress", "vera@example.org"], ["run"]):
        ran = used.run(*command)
        assert (ran.code, ran.err.splitlines(keepends=True)[-1]) == (78, message), command
    found = used.run("check", "--offline")
    assert (found.code, f"fault  database: {message}" in found.out) == (78, True)
    assert used.mails() == ["ops@example.org"]
    after = files(used.path)
    assert {name: after[name] for name in before} == before
    assert {name for name in after.keys() - before.keys() if not name.endswith(".lock")} == {
        "emergency"
    }


def moved(home: Path) -> None:
    (home / "archive.db").write_bytes((home / "data" / "paperboy.db").read_bytes())
    (home / "data" / "paperboy.db").unlink()
    with (home / ".env").open("a") as env:
        env.write("PAPERBOY_DATABASE=archive.db\n")


def mistyped(home: Path) -> None:
    with (home / ".env").open("a") as env:
        env.write("PAPERBOY_DATABASE=data/paperbyo.db\n")


def begun_anew(home: Path) -> None:
    for name in ("data/paperboy.db", ".has-database"):
        (home / name).unlink()


FOUND: dict[
    str, tuple[Callable[[Path], object], int, int]
] = {  # the exit code, and how many are suppressed
    "as it was": (lambda _home: None, 0, 1),
    "moved together with its setting": (moved, 0, 1),
    "with a mistyped setting": (mistyped, 78, 0),
    "of a folder that is not mounted": (lambda home: shutil.rmtree(home / "data"), 78, 0),
    "begun anew": (begun_anew, 0, 0),
    "of a first start that was killed": (
        lambda home: (begun_anew(home), (home / "data/paperboy.db").touch()),
        0,
        0,
    ),
}


@pytest.mark.parametrize("how", FOUND)
def test_database_that_is_there_or_may_begin_is_used(used: World, how: str) -> None:
    change, code, suppressed = FOUND[how]
    change(used.path)
    assert used.run("suppress", "vera@example.org").code == code
    assert used.run("status", "--suppressed").out.count("@example.org") == (
        suppressed + 1 if code == 0 else 0
    )
    assert (used.path / ".has-database").exists()
    assert not (used.path / "data" / "paperbyo.db").exists()


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["FIFO", "/dev/zero"]
)
def test_database_that_is_no_regular_file_is_refused(
    world: World, make: Callable[[Path], object]
) -> None:
    (world.path / "data").mkdir()
    make(world.database)
    message = f"{world.path}/data/paperboy.db: this is not a regular file; PAPERBOY_DATABASE must name a file\n"
    for command in ("status", "run"):
        ran = world.run(command)
        assert (ran.code, ran.err) == (78, message)


def test_another_users_home_is_one_sentence(used: World) -> None:
    """Every command was imported before, since the other user may not see the sources either."""
    commands = ("status", "once", "subscribers", "run")
    for command in commands[:-1]:
        used.run(command)
    used.path.chmod(0)
    root = os.geteuid() == 0
    try:
        if root:
            os.seteuid(65_534)
        ran = {command: used.run(command) for command in commands}
    finally:
        if root:
            os.seteuid(0)
        used.path.chmod(0o700)
    me, fix = (
        ("nobody", "; run this as root (sudo -u root …), or let nobody enter it")
        if root
        else ("", "chmod u+rwX")
    )
    told = {
        command: (result.code, f"user {me}" in result.err, fix in result.err)
        for command, result in ran.items()
    }
    assert told == dict.fromkeys(commands, (78, True, True)), ran


# ---- a clock that cannot be right


@pytest.mark.parametrize("command", ["status", "once", "demo", "check"])
def test_clock_of_1970_ends_in_no_traceback(world: World, command: str) -> None:
    world.clock.now = datetime(1970, 1, 1, tzinfo=UTC)
    ran = world.run(*([command, "--offline"] if command == "check" else [command]))
    assert "Traceback" not in ran.err
    assert "bug" not in ran.err
    assert world.mails() == []


@pytest.mark.parametrize("year", [2020, 2200])
def test_morning_works_at_both_ends_of_the_clocks_range(world: World, year: int) -> None:
    world.clock.now = datetime(year, 12, 31, 23, 59, tzinfo=UTC)
    world.env(
        ARXIV_HOLIDAYS="1991-01-01,2200-12-30",
        KEEP_DAYS=36_500,
        TIMEZONE="Pacific/Kiritimati",
        SEND_AT="00:00",
    )
    world.announce(1)
    assert world.once().code == 0
    assert world.run("status").code == 0


# ---- whose files they are


@pytest.mark.long("a home for each umask")
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_files_in_a_home_are_its_owners_alone(world: World, umask: int) -> None:
    """Also where `data` was there and open to all. What people share stays as it was."""
    world.env(llm=False, smtp=False)
    world.clock.now = datetime.now(UTC)  # the processes have the real clock
    world.announce(1)
    (world.path / "data").mkdir(0o755)
    (world.path / "data").chmod(0o755)
    (world.path / "subscribers.yaml").chmod(0o664)

    def run(*arguments: str) -> None:
        command = world.command(*arguments)
        subprocess.run(command, env=ENVIRON, umask=umask, check=False, capture_output=True)

    for command in (["once"], ["subscribe", "galaxies", "ada@example.org"], ["status"]):
        run(*command)
    with world.held():  # as a daemon, which alone tries an edit
        run("work", "trial")
    files = [
        path
        for name in ("data", "outbox")
        for path in (world.path / name, *(world.path / name).rglob("*"))
    ]
    modes = {path.relative_to(world.path): stat.S_IMODE(path.stat().st_mode) for path in files}
    assert {path.name for path in modes} >= {"paperboy.db", "Maildir", "last-good", ".env"}
    assert modes == {path: 0o700 if (world.path / path).is_dir() else 0o600 for path in modes}
    assert stat.S_IMODE((world.path / "subscribers.yaml").stat().st_mode) == 0o664
