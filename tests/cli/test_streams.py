"""A command whose stdout or stderr is closed, full or gone works as ever; only lost results make it fail."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from tests.cli.conftest import ENVIRON, World


@pytest.fixture
def due(world: World) -> World:
    """A home whose lists are due on the real clock, whatever the day and the hour."""
    now = datetime.now(UTC)
    days = [(now + timedelta(days=number)).date().isoformat() for number in (-3, -2, -1, 0, 1)]
    world.clock.now = now
    world.env(
        TIMEZONE=f"Etc/GMT{now.hour - 12:+d}", ARXIV_HOLIDAYS=" ".join(days)
    )  # about noon; no batch is late
    (world.path / "data").mkdir()
    with world.store() as store:  # as if it had run yesterday
        store.days.first_seen(["foundations", "galaxies"], now - timedelta(days=1))
    world.announce_both(1, 4)
    return world


def ran(world: World, arguments: str, redirection: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a shell with that redirection; the exit code is Paperboy's."""
    line = f'"$0" -m paperboy --home "$1" {arguments} {redirection}; exit ${{PIPESTATUS[0]}}'
    command = ["bash", "-c", line, sys.executable, str(world.path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRON)


@pytest.mark.parametrize(
    ("redirection", "code"),
    [("2>&-", 0), ("2>/dev/full", 0), (">/dev/full", 1), ("<&- >&- 2>&-", 1), ("2>&1 | true", 1)],
)
def test_once_sends_the_mail_wherever_its_output_goes(
    due: World, redirection: str, code: int
) -> None:
    made = ran(due, "once", redirection)
    assert sorted(due.mails()) == ["ada@example.org", "grace@example.org", "vera@example.org"]
    assert made.returncode == code, made.stderr
    assert "Traceback" not in made.stdout + made.stderr


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_results_are_the_same_without_stderr(world: World, redirection: str) -> None:
    """The log does not get among them."""
    made = ran(world, "subscribers", redirection)
    assert (made.stdout, made.returncode) == (world.run("subscribers").out, 0)


@pytest.mark.parametrize(
    ("command", "redirection", "why"),
    [
        ("--version", ">/dev/full", "No space left on device"),
        ("subscribers", ">&-", "it is closed"),
        ("status --json", ">/dev/full", "No space left on device"),
        ("service --user", ">&-", "it is closed"),
    ],
)
def test_lost_results_are_exit_code_1_and_one_sentence(
    world: World, command: str, redirection: str, why: str
) -> None:
    made = ran(world, command, redirection)
    assert made.returncode == 1
    assert (
        made.stderr
        == f"standard output: {why}; the results could not be written, and nothing else was affected\n"
    )


def test_command_without_results_needs_no_stdout(world: World) -> None:
    assert ran(world, "bounce", "<&- >&- 2>&-").returncode == 0


def test_reader_who_has_seen_enough_ends_a_command_in_silence(world: World) -> None:
    made = ran(world, "subscribers", "| head -0")
    assert (made.returncode, made.stderr) == (1, "")


def test_no_file_gets_the_number_of_a_closed_stream(world: World) -> None:
    """What is written to stderr would go into it, and it may be the database."""
    program = (
        "from os import open; from paperboy.console.streams import take_streams; take_streams(); "
    )
    program += "print(open('/dev/zero', 0) > 2)"
    line = f'exec "$0" -c "{program}" <&- 2>&-'
    command = ["bash", "-c", line, sys.executable]
    made = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRON)
    assert made.stdout == "True\n"
