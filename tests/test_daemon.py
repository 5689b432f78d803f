"""The daemon's loop: it starts jobs, looks after their processes, and ends."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from paperboy.daemon import STOPS_WITHIN, STUCK, Child, Daemon, Job
from paperboy.errors import StoreWriteError
from tests.fakes import Clock

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
PATIENCE = timedelta(minutes=30)
SLEEPS = "import time; time.sleep(60)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"


class Process:
    """A small real process. Whether it got on is up to the test."""

    def __init__(self, program: str) -> None:
        self.inner = subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE)
        self.gets_on = False

    @property
    def pid(self) -> int:
        return self.inner.pid

    def poll(self) -> int | None:
        return self.inner.poll()

    def progressed(self) -> bool:
        return self.gets_on

    def terminate(self) -> None:
        self.inner.terminate()

    def kill(self) -> None:
        self.inner.kill()

    def wait(self, timeout: float | None = None) -> int:
        return self.inner.wait(timeout)


@dataclass
class FakeManager:
    """Remembers what it was told."""

    told: list[str] = field(default_factory=list)

    def ready(self) -> None:
        self.told.append("ready")

    def reloading(self, monotonic: float) -> None:
        self.told.append(f"reloading at {monotonic:.0f}")

    def status(self, text: str) -> None:
        self.told.append(f"status: {text}")

    def watchdog(self) -> None:
        self.told.append("watchdog")

    def stopping(self) -> None:
        self.told.append("stopping")


@dataclass
class World:
    """A daemon, and what there is to do: a program for each job. Each look is one tick."""

    jobs: dict[str, str] = field(default_factory=dict)
    clock: Clock = field(default_factory=lambda: Clock(NOW))
    seconds: float = 0.0
    said: str = "all is well"
    manager: FakeManager = field(default_factory=FakeManager)
    started: list[Process] = field(default_factory=list)
    ended: list[tuple[str, int]] = field(default_factory=list)
    reloads: int = 0
    asks: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.daemon = Daemon(self, self.manager, self.clock, timer=lambda: self.seconds)

    def next(self, _now: datetime, running: Collection[str]) -> Job | None:
        self.asks()
        names = [name for name in self.jobs if name not in running]
        return self.job(names[0]) if names else None

    def job(self, name: str) -> Job:
        program = self.jobs.pop(name)
        return Job(name, lambda: self.start(program), lambda code, _: self.ended.append((name, code)), PATIENCE)

    def start(self, program: str) -> Child:
        self.started.append(Process(program))
        return self.started[-1]

    def reload(self) -> str:
        self.reloads += 1
        return "trying"

    def status(self, _now: datetime) -> str:
        return self.said

    def look(self, *, when_all_have_ended: bool = False) -> None:
        for process in self.started if when_all_have_ended else ():
            process.wait(20)
        self.daemon.tick(self.clock())


@pytest.fixture
def world() -> Iterator[World]:
    """No child outlives its test."""
    made = World()
    yield made
    for process in made.started:
        process.kill()
        process.inner.communicate()


def test_a_job_hears_how_its_process_ended(world: World) -> None:
    world.jobs["the morning"] = "raise SystemExit(3)"
    world.look()
    world.look(when_all_have_ended=True)
    assert world.ended == [("the morning", 3)]


def test_jobs_run_side_by_side_and_none_twice(world: World) -> None:
    world.jobs = {"the morning": SLEEPS, "trying the files": SLEEPS}
    world.look()
    world.jobs["the morning"] = SLEEPS
    world.look()
    assert len(world.started) == 2
    world.started[0].kill()
    world.started[0].wait(20)
    world.look()
    assert world.ended == [("the morning", -9)]
    assert len(world.started) == 3


def test_systemd_hears_that_all_is_well_and_each_news_once(world: World) -> None:
    world.look()
    world.look()
    world.said = "2 of 3 subscribers got today's mail"
    world.look()
    assert world.manager.told == [
        *("watchdog", "status: all is well", "watchdog", "watchdog", "status: 2 of 3 subscribers got today's mail"),
    ]


def test_a_job_that_gets_on_may_take_as_long_as_it_takes(world: World) -> None:
    world.jobs["the morning"] = SLEEPS
    world.look()
    for _ in range(5):
        world.seconds += PATIENCE.total_seconds()
        world.started[0].gets_on = True
        world.look()
    assert world.started[0].poll() is None
    assert world.manager.told.count("watchdog") == 6


def test_a_job_that_is_stuck_is_ended_and_no_watchdog_is_fed_until_it_is(world: World) -> None:
    world.jobs["the morning"] = SLEEPS
    world.look()
    world.seconds += PATIENCE.total_seconds()
    fed = world.manager.told.count("watchdog")
    world.look()
    assert world.manager.told.count("watchdog") == fed
    world.look(when_all_have_ended=True)
    assert world.ended == [("the morning", STUCK)]
    assert world.manager.told.count("watchdog") == fed + 1


def test_a_job_that_will_not_end_is_killed(world: World) -> None:
    world.jobs["the morning"] = DEAF
    world.look()
    assert world.started[0].inner.stdout is not None
    world.started[0].inner.stdout.readline()  # from here on it is deaf
    world.seconds += PATIENCE.total_seconds()
    world.look()
    world.seconds += STOPS_WITHIN
    world.look()
    world.look(when_all_have_ended=True)
    assert (world.started[0].poll(), world.ended) == (-9, [("the morning", STUCK)])


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ZeroDivisionError("oops"), "a bug in Paperboy; the log has it"),
        (StoreWriteError("the disk is full"), "the disk is full"),
    ],
)
def test_what_goes_wrong_while_looking_is_logged_and_the_daemon_goes_on(
    world: World, caplog: pytest.LogCaptureFixture, error: Exception, said: str
) -> None:
    calls = []

    def broken() -> None:
        calls.append(1)
        raise error

    world.asks = broken
    world.daemon._tick()
    world.daemon._tick()
    assert len(calls) == 2
    assert str(error) in caplog.text
    assert world.manager.told.count(f"status: {said}") == 1


# ---- the loop itself, in a thread


def in_a_thread(world: World) -> threading.Thread:
    thread = threading.Thread(target=world.daemon.run)
    thread.start()
    return thread


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def test_a_reload_is_done_at_once(world: World) -> None:
    world.daemon.tick_seconds = 600
    thread = in_a_thread(world)
    until(lambda: world.manager.told)
    world.daemon.reload()
    until(lambda: world.reloads)
    world.daemon.stop()
    thread.join(20)
    assert world.manager.told[2:5] == ["reloading at 0", "watchdog", "ready"]


def test_a_reload_lasts_as_long_as_the_job_that_does_it(world: World) -> None:
    """So `systemctl reload` comes back when the files have been tried."""
    world.jobs["trying"] = SLEEPS
    world.daemon.reload()
    world.look()
    world.look()
    assert world.manager.told[:2] == ["reloading at 0", "watchdog"]
    assert "ready" not in world.manager.told
    world.started[0].kill()
    world.look(when_all_have_ended=True)
    world.look()
    assert world.manager.told.count("ready") == 1


def test_the_loop_goes_on_when_local_time_goes_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """`schedule` counts in local time, which in autumn comes twice."""
    looks: list[int] = []

    def look() -> None:
        looks.append(1)
        if len(looks) == 2:
            monkeypatch.setenv("TZ", "Etc/GMT+5")
            time.tzset()

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    world.asks, world.daemon.tick_seconds = look, 1
    thread = in_a_thread(world)
    until(lambda: len(looks) >= 4)
    world.daemon.stop()
    thread.join(20)
    monkeypatch.undo()
    time.tzset()
    assert not thread.is_alive()


def test_stopping_ends_the_loop_when_the_children_have_ended(world: World) -> None:
    world.jobs = {"the morning": SLEEPS, "trying the files": "pass"}
    thread = in_a_thread(world)
    until(lambda: len(world.started) == 2)
    world.daemon.stop()
    thread.join(20)
    assert not thread.is_alive()
    assert world.started[0].poll() == -15
    assert world.manager.told[-1] == "stopping"
    with pytest.raises(ProcessLookupError):
        os.kill(world.started[0].pid, 0)
