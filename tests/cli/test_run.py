"""`paperboy run` as a real process: it does the morning that is due, waits, and ends on SIGTERM."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import World

SRC = Path(__file__).parents[2] / "src"
SECONDS = 30

LISTS = """\
lists:
  - name: foundations
    categories: [cs.LG]
    topics: learning
    send_at: "00:00"
    subscribers: [ada@example.org]
"""


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


@pytest.fixture
def daemon(world: World) -> Iterator["tuple[World, subprocess.Popen[str]]"]:
    world.clock.now = datetime.now(UTC)
    world.write("subscribers.yaml", LISTS)
    world.announce(1)
    process = start(world)
    yield world, process
    process.kill()
    process.communicate()


def start(world: World) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "paperboy", "--home", str(world.path), "run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SRC)},
    )


def test_it_does_the_morning_that_is_due_and_stops_on_sigterm(
    daemon: "tuple[World, subprocess.Popen[str]]",
) -> None:
    world, process = daemon
    until(world.mails)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert "Traceback" not in err
    assert world.mails() == ["ada@example.org"]


def test_while_it_runs_the_home_is_held_and_status_answers(daemon: "tuple[World, subprocess.Popen[str]]") -> None:
    world, process = daemon
    until(world.mails)
    ran = world.run("once")
    assert ran.code == 75
    assert f"process {process.pid}, paperboy run) holds this home: stop that one first" in ran.err
    until(lambda: "1 sent" in world.run("status").out)


def test_a_restart_the_same_day_sends_nothing_again(daemon: "tuple[World, subprocess.Popen[str]]") -> None:
    world, process = daemon
    until(lambda: "1 sent" in world.run("status").out)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=SECONDS)
    again = start(world)
    assert again.stderr is not None
    until(lambda: "Paperboy watches" in again.stderr.readline())
    time.sleep(1)  # it looks for work at once; give it the time to find some
    again.send_signal(signal.SIGTERM)
    again.communicate(timeout=SECONDS)
    assert again.returncode == 0
    assert world.mails() == ["ada@example.org"]


def test_sigterm_in_mid_morning_ends_the_child_too(daemon: "tuple[World, subprocess.Popen[str]]") -> None:
    world, process = daemon
    world.llm.latency = 10
    until(lambda: world.llm.requests or world.mails())
    started = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert time.monotonic() - started < 8
    assert world.run("status").code == 0


def test_broken_files_at_the_start_are_exit_code_78(world: World) -> None:
    world.write("subscribers.yaml", "lists:\n  - nam: x\n")
    process = start(world)
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 78
    assert "subscribers.yaml:2:5" in err
