"""`paperboy run` as a real process: it does the morning that is due, waits, and ends on SIGTERM."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paperboy.cli.home import Home
from paperboy.cli.main import Surroundings
from paperboy.cli.run import Watch
from paperboy.store import Store
from tests.cli.conftest import World
from tests.servers.smtp import Fault

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
    time.sleep(2)  # it looks for work at once; give it the time to find some
    again.send_signal(signal.SIGTERM)
    again.communicate(timeout=SECONDS)
    assert again.returncode == 0
    assert world.mails() == ["ada@example.org"]


def test_an_edit_is_picked_up_without_a_restart(world: World) -> None:
    """A list that joins while the daemon runs gets its morning; a broken edit is told, and mended again."""
    world.clock.now = datetime.now(UTC)
    world.announce(1)
    world.announce(2, categories=("astro-ph.GA",))
    world.write("subscribers.yaml", LISTS)
    home = Home.load(world.path, {})
    with Store.open(home.settings.paperboy_database) as store:
        watch = Watch(Surroundings(world.path, {}, world.clock), home, store)
        assert watch.has_work(world.clock())
        world.run("once")
        assert not watch.has_work(world.clock())
        joined = "  - {name: sky, categories: [astro-ph.GA], topics: x, send_at: '00:00', subscribers: [v@b.org]}\n"
        world.write("subscribers.yaml", LISTS + joined + "    oops")
        assert not watch.has_work(world.clock())
        world.write("subscribers.yaml", LISTS + joined)
        assert watch.has_work(world.clock())
        world.env(PAPERBOY_DATABASE="elsewhere.db")
        assert not watch.has_work(world.clock())


def test_what_is_mended_without_a_new_time_stamp_is_noticed(world: World) -> None:
    """As a file that was unreadable for a moment."""
    world.write("subscribers.yaml", LISTS)
    home = Home.load(world.path, {})
    credentials = world.path / "credentials"
    (credentials / "SMTP_PORT").mkdir(parents=True)
    around = Surroundings(world.path, {"CREDENTIALS_DIRECTORY": str(credentials)}, world.clock)
    with Store.open(home.settings.paperboy_database) as store:
        watch = Watch(around, home, store)
        assert not watch.has_work(world.clock())
        (credentials / "SMTP_PORT").rmdir()
        assert watch.has_work(world.clock())


def test_a_deferred_delivery_is_work_when_its_wait_is_over(world: World) -> None:
    world.write("subscribers.yaml", LISTS)
    world.smtp.faults.append(Fault("RCPT", "450 later", times=1))
    world.announce(1)
    world.run("once")
    home = Home.load(world.path, {})
    with Store.open(home.settings.paperboy_database) as store:
        watch = Watch(Surroundings(world.path, {}, world.clock), home, store)
        assert not watch.has_work(world.clock())
        assert watch.has_work(world.clock() + timedelta(minutes=7))


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
