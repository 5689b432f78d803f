"""Edits at the moments when they are hardest to get right: as a morning begins, and before the daemon is up."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import pytest

from paperboy.cli.files import Files
from paperboy.cli.main import Surroundings
from paperboy.cli.watch import MORNING, TRYING, Watch
from paperboy.config.home import Home
from paperboy.daemon import Child, Job
from paperboy.store import Store
from tests.cli.conftest import World
from tests.cli.test_watch import JOINED, LISTS, opened

TICK = timedelta(seconds=20)


@pytest.fixture
def store(world: World) -> Iterator[Store]:
    world.write("subscribers.yaml", LISTS)
    with Store.open(world.path / "data" / "paperboy.db") as made:
        yield made


def watching(world: World, store: Store) -> Watch:
    return opened(world, [], store, Home.load(world.path, world.environ))


def name_of(job: Job | None) -> str:
    return job.name if job else ""


def test_a_morning_waits_for_an_edit_that_is_first_seen_as_it_begins(world: World, store: Store) -> None:
    """The daemon asks again at the same instant, and at any other when a child ends: that is no second look."""
    world.announce(1)
    watch = watching(world, store)
    watch.try_at_once(world.clock())
    world.write("subscribers.yaml", JOINED)
    assert watch.next(world.clock(), []) is None
    assert watch.next(world.clock() + TICK / 4, []) is None
    trial = watch.next(world.clock() + TICK, [])
    assert trial is not None
    assert trial.name == TRYING
    code = trial.start().wait()
    assert watch.next(world.clock() + TICK, [TRYING]) is None
    trial.ended(code, world.clock() + TICK)
    assert name_of(watch.next(world.clock() + TICK, [])) == MORNING
    assert len(watch.home.lists) == 2


def test_whoever_saves_again_and_again_holds_up_neither_trial_nor_morning(world: World, store: Store) -> None:
    world.announce(1)
    watch = watching(world, store)
    watch.try_at_once(world.clock())
    world.clock.now += timedelta(minutes=2)
    for second in range(0, 45, 5):
        world.write("subscribers.yaml", f"{JOINED}# {second}\n")
        now = world.clock() + timedelta(seconds=second)
        job = watch.next(now, [])
        assert (job is None) is (second < 40)
    assert name_of(job) == TRYING
    assert job is not None
    job.ended(job.start().wait(), now)
    assert name_of(watch.next(now, [])) == MORNING


def test_files_that_never_rest_starve_no_morning(world: World, store: Store) -> None:
    """A trial takes its time then, and the next one would begin as it ends."""
    world.announce(1)
    watch = watching(world, store)
    watch.try_at_once(world.clock())
    did = []
    for second in range(0, 180, 3):
        world.write("prompts/notes.txt", str(second))
        now = world.clock() + timedelta(seconds=second)
        job = watch.next(now, [])
        did.append(name_of(job))
        if job is not None and job.name == TRYING:
            job.ended(job.start().wait(), now)
        elif job is not None:
            break
    assert did[-1] == MORNING
    assert did.count(TRYING) <= 3


def with_an_edit_found_sound(world: World, store: Store) -> Watch:
    """While a morning was at work, so it is not in force yet."""
    watch = watching(world, store)
    watch.try_at_once(world.clock())
    world.write("subscribers.yaml", JOINED)
    watch.reload()
    trial = watch.next(world.clock(), [MORNING])
    assert trial is not None
    trial.ended(trial.start().wait(), world.clock())
    return watch


def test_half_an_edit_does_not_come_into_force(world: World, store: Store) -> None:
    """It was found sound, and by then there is more."""
    watch = with_an_edit_found_sound(world, store)
    world.write("subscribers.yaml", f"{JOINED}# more\n")
    watch.next(world.clock(), [])
    assert len(watch.home.lists) == 1


def test_nothing_comes_into_force_while_the_copy_is_made_anew(world: World, store: Store) -> None:
    watch = with_an_edit_found_sound(world, store)
    watch.next(world.clock(), [TRYING])
    assert len(watch.home.lists) == 1
    watch.next(world.clock(), [])
    assert len(watch.home.lists) == 2


def test_after_a_restart_all_is_as_it_last_was_good_whatever_file_is_broken(world: World, store: Store) -> None:
    """Else the daemon would wait for the mail of a list that no morning knows."""
    watching(world, store).try_at_once(world.clock())
    world.write("subscribers.yaml", JOINED)  # sound
    world.write("emails/digest.txt.j2", "{{ nothing")
    watch = watching(world, store)
    assert [problem.place for problem in watch.try_at_once(world.clock())] == ["emails/digest.txt.j2:1"]
    assert [entry.name for entry in watch.home.lists] == ["foundations"]


@dataclass
class Stuck:
    """A child that does nothing until it is killed."""

    code: int | None = None
    pid: int = 1

    def poll(self) -> int | None:
        return self.code

    def progressed(self) -> bool:
        return False

    def terminate(self) -> None:
        pass

    def kill(self) -> None:
        self.code = -9

    def wait(self, timeout: float | None = None) -> int:
        if self.code is None:
            assert timeout is not None, "nobody would ever know"
            raise subprocess.TimeoutExpired("paperboy adopt", timeout)
        return self.code


def test_a_trial_before_the_start_that_has_no_end_is_ended_and_told(world: World, store: Store) -> None:
    def spawn(_arguments: Sequence[str], _more: Mapping[str, str]) -> Child:
        return Stuck()

    around = Surroundings(world.path, world.environ, world.clock)
    watch = Watch(around, Home.load(world.path, world.environ), store, Files(world.path), spawn)
    assert [problem.message for problem in watch.try_at_once(world.clock())] == [
        "its files could not be tried (exit code -9)"
    ]
