"""The daemon: a small loop that asks what there is to do, and does each job in a child process.

    every twenty seconds, whenever a signal asks for it, and when a child ends:
        for each child: has it ended? say so to its job; has it made no progress for too long? end it
        while there is something to do that can be done now: start it
        tell systemd that all is well, unless a child is stuck, and what the day came to

What a morning takes goes back to the system when its process ends, and a crash there is contained.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Protocol

import schedule

from paperboy.errors import PaperboyError
from paperboy.privacy import without_addresses

logger = logging.getLogger(__name__)

TICK_SECONDS = 20
STOPS_WITHIN = 60.0  # seconds that a child has after SIGTERM
STUCK = -signal.SIGTERM  # what a job hears of a child that had to be ended, whatever its own last word


class Child(Protocol):
    """A process at work."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it is at work."""
        ...

    def progressed(self) -> bool:
        """Whether it has got on since this was last asked."""
        ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...

    def wait(self, timeout: float | None = None) -> int: ...


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do in a process of its own."""

    name: str  # no two of a name at a time
    start: Callable[[], Child]
    ended: Callable[[int, datetime], None]  # takes the exit code
    patience: timedelta  # without progress, and it is stuck


class Duties(Protocol):
    """What there is to do. May raise: that is logged, and asked again at the next tick."""

    def next(self, now: datetime, running: Collection[str]) -> Job | None:
        """The next thing to do beside the jobs that run."""
        ...

    def reload(self) -> str:
        """Somebody asks for the files to be read again; gives the name of the job that does it."""
        ...

    def status(self, now: datetime) -> str:
        """In a line: did everybody get their mail, and if not, why?"""
        ...


class Manager(Protocol):
    """Who has started the daemon and watches it."""

    def ready(self) -> None: ...

    def reloading(self, monotonic: float) -> None: ...

    def status(self, text: str) -> None: ...

    def watchdog(self) -> None: ...

    def stopping(self) -> None: ...


@dataclass(slots=True)
class _Running:
    job: Job
    child: Child
    seen: float  # on the timer, when it last got on
    told_to_stop: bool = False


@dataclass(slots=True)
class Daemon:
    """Ticks until it is told to stop."""

    duties: Duties
    manager: Manager
    clock: Callable[[], datetime]
    timer: Callable[[], float] = time.monotonic
    tick_seconds: int = TICK_SECONDS
    _running: dict[str, _Running] = field(default_factory=dict)
    _stopping: str = ""  # the signal that asked for it
    _reload: bool = False
    _reloading: str = ""  # the job that does it
    _said: str = ""
    # Signals come at any moment, also within its own methods: unlike an Event, it is made for that.
    _calls: SimpleQueue[None] = field(default_factory=SimpleQueue)

    def run(self) -> None:
        """Returns when `stop` was called, and the children have ended."""
        scheduler = schedule.Scheduler()
        scheduler.every(self.tick_seconds).seconds.do(self._tick)
        self.wake()
        while not self._stopping:
            if (scheduler.idle_seconds or 0.0) > self.tick_seconds:  # local time went back, as in autumn
                scheduler.clear()
                scheduler.every(self.tick_seconds).seconds.do(self._tick)
            scheduler.run_pending()
            called = self._called_within(max(0.0, min(scheduler.idle_seconds or 0.0, self.tick_seconds)))
            if called and not self._stopping:
                self._tick()
        logger.info("%s: stopping", self._stopping)
        self.manager.stopping()
        self._end_children()

    def stop(self, signum: int = signal.SIGTERM, _frame: FrameType | None = None) -> None:
        """Ends the loop; fit to be a signal handler."""
        self._stopping = signal.Signals(signum).name
        self._calls.put(None)

    def reload(self, _signum: int = signal.SIGHUP, _frame: FrameType | None = None) -> None:
        """Has the files read again at once; fit to be a signal handler."""
        self._reload = True
        self._calls.put(None)

    def wake(self, _signum: int = signal.SIGCHLD, _frame: FrameType | None = None) -> None:
        """Has a look at everything at once; fit to be a signal handler."""
        self._calls.put(None)

    def _called_within(self, seconds: float) -> bool:
        """Waits for a call, and takes all that have come: one look serves them."""
        try:
            self._calls.get(timeout=seconds)
        except Empty:
            return False
        while not self._calls.empty():
            self._calls.get()
        return True

    def _tick(self) -> None:
        """An exception here would make `schedule` run the job again at every look, so none gets out."""
        try:
            self.tick(self.clock())
        except PaperboyError as error:
            logger.error("%s", error)
            self._say(without_addresses(str(error)))
        except Exception:
            logger.exception("the daemon goes on; this is a bug in Paperboy")
            self._say("a bug in Paperboy; the log has it")

    def tick(self, now: datetime) -> None:
        """One look at everything."""
        if self._reload:
            self._reload = False
            self.manager.reloading(self.timer())
            self._reloading = self.duties.reload()
        for running in list(self._running.values()):
            self._look_after(running, now)
        if not any(running.told_to_stop for running in self._running.values()):
            self.manager.watchdog()
        while job := self.duties.next(now, frozenset(self._running)):
            child = job.start()
            self._running[job.name] = _Running(job, child, self.timer())
            logger.debug("%s: process %d begins", job.name, child.pid)
            self._look_after(self._running[job.name], now)
        if self._reloading and self._reloading not in self._running:
            self._reloading = ""
            self.manager.ready()
        self._say(self.duties.status(now))

    def _say(self, text: str) -> None:
        if text != self._said:
            self._said = text
            self.manager.status(text)

    def _look_after(self, running: _Running, now: datetime) -> None:
        code = running.child.poll()
        if code is not None:
            del self._running[running.job.name]
            running.job.ended(STUCK if running.told_to_stop else code, now)
            return
        silent = self.timer() - running.seen
        if running.child.progressed():
            running.seen = self.timer()
        elif running.told_to_stop and silent >= STOPS_WITHIN:
            running.child.kill()
        elif not running.told_to_stop and silent >= running.job.patience.total_seconds():
            logger.error("%s has made no progress for %d minutes, and is ended", running.job.name, silent // 60)
            running.told_to_stop, running.seen = True, self.timer()
            running.child.terminate()

    def _end_children(self) -> None:
        """Tells all at work to stop, and waits for the messages in their hands."""
        for running in self._running.values():
            with suppress(ProcessLookupError):
                running.child.terminate()
        for running in self._running.values():
            try:
                running.child.wait(STOPS_WITHIN)
            except subprocess.TimeoutExpired:
                logger.warning("%s did not stop within %d s and is killed", running.job.name, STOPS_WITHIN)
                running.child.kill()
                running.child.wait()
