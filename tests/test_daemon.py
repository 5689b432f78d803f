"""The daemon's loop: when it starts a morning, what it does when one fails, and how it ends."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from paperboy.daemon import AFTER_A_FAILURE, Daemon
from tests.fakes import Clock

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)


def child(code: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-S", "-c", code])


@dataclass
class World:
    """A daemon whose mornings are small real processes. Each look is one tick; between them the clock is moved."""

    work: bool = True
    program: str = "pass"
    clock: Clock = field(default_factory=lambda: Clock(NOW))
    children: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.daemon = Daemon(has_work=lambda _now: self.work, start=self.start, clock=self.clock)

    def start(self) -> "subprocess.Popen[bytes]":
        self.children.append(child(self.program))
        return self.children[-1]

    def look(self, *, after: timedelta = timedelta()) -> int:
        """One tick, when the child at work, if any, has ended; gives how many mornings have begun."""
        for process in self.children:
            process.wait(20)
        self.clock.now += after
        self.daemon._look(self.clock())
        return len(self.children)


@pytest.fixture
def world() -> Iterator[World]:
    """No child outlives its test."""
    made = World()
    yield made
    for process in made.children:
        process.kill()
        process.wait(20)


def test_a_morning_begins_when_there_is_work_and_only_then(world: World) -> None:
    world.work = False
    assert world.look() == 0
    world.work = True
    assert world.look() == 1


def test_while_a_morning_is_at_work_no_other_begins(world: World) -> None:
    world.program = "import time; time.sleep(60)"
    world.daemon._look(NOW)
    world.daemon._look(NOW)
    assert len(world.children) == 1
    world.children[0].kill()
    world.look()
    world.look(after=AFTER_A_FAILURE)
    assert len(world.children) == 2


def test_after_a_failure_the_next_try_waits(world: World) -> None:
    """Exit code 1 means that something is still due: never a hot loop."""
    world.program = "raise SystemExit(1)"
    assert world.look() == 1
    assert world.look() == 1
    assert world.look(after=AFTER_A_FAILURE - timedelta(seconds=1)) == 1
    assert world.look(after=timedelta(seconds=1)) == 2


def test_after_a_success_the_next_work_begins_at_once(world: World) -> None:
    assert world.look() == 1
    assert world.look() == 2


def test_a_bug_while_looking_for_work_is_logged_and_the_daemon_goes_on(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    calls = []

    def broken(now: datetime) -> bool:
        calls.append(now)
        raise ZeroDivisionError("oops")

    world.daemon.has_work = broken
    world.daemon._tick()
    world.daemon._tick()
    assert len(calls) == 2
    assert "ZeroDivisionError: oops" in caplog.text


def test_the_loop_goes_on_when_local_time_goes_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """`schedule` counts in local time, which in autumn comes twice."""
    looks: list[datetime] = []

    def look(now: datetime) -> bool:
        looks.append(now)
        if len(looks) == 2:
            monkeypatch.setenv("TZ", "Etc/GMT+5")
            time.tzset()
        return False

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    world.daemon.has_work, world.daemon.tick_seconds = look, 1
    thread = threading.Thread(target=world.daemon.run)
    thread.start()
    end = time.monotonic() + 20
    while len(looks) < 4 and time.monotonic() < end:
        time.sleep(0.05)
    world.daemon.stop()
    thread.join(20)
    monkeypatch.undo()
    time.tzset()
    assert len(looks) >= 4


def test_stopping_ends_the_loop_and_lets_the_child_end(world: World) -> None:
    """SIGTERM reaches the child, and `run` returns when it has ended."""
    world.program = "import time; time.sleep(60)"
    thread = threading.Thread(target=world.daemon.run)
    thread.start()
    while not world.children:
        pass
    world.daemon.stop()
    thread.join(20)
    assert not thread.is_alive()
    assert world.children[0].returncode == -15
