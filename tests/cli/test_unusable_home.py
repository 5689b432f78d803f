"""Every command against a home of which a file or folder cannot be used: one line, a right exit code, no traceback.

Root can use everything, so the commands run in a forked child of another user, which has imported all before.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import tests.preloaded  # noqa: F401 - the other user may not see the sources
from paperboy.cli.main import cli, invoke
from paperboy.edges.files import become_owner
from tests.cli.conftest import FRIDAY, LISTS, Ran, World
from tests.fakes import Clock

ROOT = os.geteuid() == 0
NOBODY = 65_534
SOMEBODY = 1
THEIRS = pwd.getpwuid(SOMEBODY).pw_name

COMMANDS = """\
service
status
status --suppressed
subscribers
check --offline
why 2611.00001
why ada@example.org
suppress x@example.org
unsuppress x@example.org
forget y@example.org
subscribe galaxies new@example.org
unsubscribe galaxies new@example.org
backup
preview foundations
once
resend foundations
resend --failed
work sending
run
""".splitlines()
LEFT_OUT = {
    "bounce": "a mail server calls it, and has its own test",
    "demo": "makes a home of its own",
    "init": "makes a new home",
    "learn": "needs a library",
    "manual": "needs no home",
    "web": "serves until it is stopped",
}
PLACES = [
    ".",
    ".env",
    "subscribers.yaml",
    "prompts",
    "prompts/topics",
    "prompts/topics/g.md",
    "emails",
    "data",
    "data/paperboy.db",
    "data/paperboy.db-wal",
    "data/paperboy.db.lock",
    "data/paperboy.db.sending.lock",
    "outbox",
    "outbox/Maildir/new",
    "outbox/preview",
]
ALL_NEED = {"data", "data/paperboy.db", "data/paperboy.db-wal", "."}  # all commands but `service`


@pytest.fixture
def used(world: World) -> Iterator[World]:
    """A home that every command was tried in, where another user can come."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    shutil.move(world.path, folder / "home")
    world.path = folder / "home"
    world.write("subscribers.yaml", LISTS.replace("topics: dwarf galaxies", "topics: topics/g.md"))
    world.write("prompts/topics/g.md", "dwarf galaxies")
    (world.path / "emails").mkdir()
    world.env(llm=False, smtp=False)
    world.announce(1)
    for command in COMMANDS:
        run(world, world.path, command)
    for backup in (world.path / "data").glob("backup*"):
        backup.unlink()
    yield world
    shutil.rmtree(folder)


def run(world: World, home: Path, command: str) -> Ran:
    def stop() -> float:
        raise KeyboardInterrupt

    world.capture.readouterr()
    timer = stop if command == "run" else lambda: 0.0  # the daemon ends at its first look
    code = invoke(["--home", str(home), *command.split()], {}, Clock(FRIDAY), lambda _: None, timer)
    return Ran(code, *world.capture.readouterr())


def as_nobody(world: World, home: Path) -> dict[str, Ran]:
    """All commands, in a child that is nobody where this process is root."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        if ROOT:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        found = {command: run(world, home, command) for command in COMMANDS}
        with os.fdopen(writing, "w") as file:
            json.dump(
                {command: [ran.code, ran.out, ran.err] for command, ran in found.items()}, file
            )
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    os.waitpid(child, 0)
    return {command: Ran(*ran) for command, ran in json.loads(text).items()}


def spoil(place: Path, how: str) -> None:
    if how in {"unreadable", "unwritable", "another's"}:
        place.chmod({"unreadable": 0, "unwritable": 0o500, "another's": 0o700}[how])
        if how == "another's":
            os.chown(place, SOMEBODY, SOMEBODY)
        return
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    place.symlink_to("nowhere/at/all" if how == "dangling" else "/dev/zero")


def judge(case: Path, how: str, place: str, command: str, ran: Ran) -> None:
    said = ran.out + ran.err
    where = (how, place, command, ran)
    assert "Traceback" not in said, where
    assert "bug" not in said, where
    assert ran.code in {0, 1, 2, 78, 130}, where
    blocked = place in ALL_NEED and command != "service" and how in {"unreadable", "another's"}
    if blocked:
        assert ran.code == 78, where
    if ran.code == 78:
        lines = [line for line in said.splitlines() if line and not line.startswith(("ok", "note"))]
        assert any(str(case) in line or Path(place).name in line for line in lines), where
    if blocked and not command.startswith("work"):
        assert (f"sudo -u {THEIRS} …)" if how == "another's" else "chmod") in said, where
    assert "sudo chown" not in said, where


@pytest.mark.quick
def test_a_new_command_is_tried_here_or_has_its_reason() -> None:
    tried = {command.split()[0] for command in COMMANDS} - {"work"}
    assert sorted(tried | LEFT_OUT.keys()) == sorted(cli.list_commands(click.Context(cli)))


@pytest.mark.parametrize("how", ["unreadable", "unwritable", "another's", "dangling", "device"])
def test_unusable_file_or_folder_is_one_line_from_every_command(used: World, how: str) -> None:
    if how == "another's" and not ROOT:
        pytest.skip("only root can give a file to somebody else")
    case = used.path.with_name("case")
    for place in PLACES:
        shutil.copytree(used.path, case, symlinks=True)
        if not (case / place).exists():
            (case / place).touch()
        for path in (case, *case.rglob("*")) if ROOT else ():
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        spoil(case / place, how)
        for command, ran in as_nobody(used, case).items():
            judge(case, how, place, command, ran)
        if case.is_dir() and not case.is_symlink():
            for path in (case, *case.rglob("*")) if not ROOT else ():
                path.chmod(0o700)
            shutil.rmtree(case)
        else:
            case.unlink()


@pytest.mark.skipif(not ROOT, reason="only root can work in a home of somebody else's")
def test_files_that_root_makes_in_somebody_elses_home_are_theirs(used: World) -> None:
    for folder in ("data", "outbox"):
        shutil.rmtree(used.path / folder)
    (used.path / ".has-database").unlink()
    for path in (used.path, *used.path.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    for command in (
        "suppress x@example.org",
        "preview foundations",
        "backup",
        "once --list foundations",
    ):
        if (child := os.fork()) == 0:
            invoke(
                ["--home", str(used.path), *command.split()],
                {},
                Clock(FRIDAY),
                lambda _: None,
                enter=become_owner,
            )
            os._exit(os.geteuid() != NOBODY)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    made = set(used.path.rglob("*"))
    assert {used.database, used.path / "outbox" / "preview"} <= made
    assert {path.stat().st_uid for path in made} == {NOBODY}


@pytest.mark.skipif(not ROOT, reason="only root can work in a home of somebody else's")
def test_init_by_root_in_somebody_elses_folder_follows_no_link_as_root(
    used: World,
) -> None:
    theirs = used.path.with_name("theirs")
    ours = used.path.with_name("ours")
    theirs.mkdir()
    ours.mkdir(mode=0o755)
    (theirs / "prompts").symlink_to(ours)
    os.chown(theirs, NOBODY, NOBODY)
    for link, code in (("prompts", 78), ("", 0)):
        if (child := os.fork()) == 0:
            os._exit(
                invoke(["init", str(theirs)], {}, Clock(FRIDAY), lambda _: None, enter=become_owner)
            )
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code
        if link:
            (theirs / link).unlink()
    assert (list(ours.iterdir()), ours.stat().st_uid) == ([], 0)
    assert {path.stat().st_uid for path in theirs.rglob("*")} == {NOBODY}
