"""The daemon: a small loop that decides when a morning has work, and runs each one in a child process.

    every half minute:
        is a child at work? look whether it is done, and how it ended
        else is a list due, or may a delivery that waits be tried? start one, unless the last one failed just now

The work itself is `paperboy once`'s, so memory goes back to the system after each morning and a crash is contained.
"""

from __future__ import annotations

import logging
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event
from types import FrameType

import schedule

from paperboy.errors import PaperboyError

logger = logging.getLogger(__name__)

TICK_SECONDS = 30
AFTER_A_FAILURE = timedelta(minutes=15)
_CHILD_STOPS_WITHIN = 60  # seconds, after SIGTERM


@dataclass(slots=True)
class Daemon:
    """Ticks until it is told to stop. `has_work` may fail; that is logged, and asked again at the next tick."""

    has_work: Callable[[datetime], bool]
    start: Callable[[], subprocess.Popen[bytes]]
    clock: Callable[[], datetime]
    tick_seconds: int = TICK_SECONDS
    stopping: Event = field(default_factory=Event)
    _child: subprocess.Popen[bytes] | None = None
    _not_before: datetime | None = None

    def run(self) -> None:
        """Returns when `stop` was called, and the child, if there is one, has ended."""
        scheduler = schedule.Scheduler()
        scheduler.every(self.tick_seconds).seconds.do(self._tick)
        self._tick()
        while not self.stopping.is_set():
            if (scheduler.idle_seconds or 0.0) > self.tick_seconds:  # local time went back, as in autumn
                scheduler.clear()
                scheduler.every(self.tick_seconds).seconds.do(self._tick)
            scheduler.run_pending()
            self.stopping.wait(max(0.0, min(scheduler.idle_seconds or 0.0, self.tick_seconds)))
        self._end_child()

    def stop(self, signum: int = signal.SIGTERM, _frame: FrameType | None = None) -> None:
        """Ends the loop; fit to be a signal handler."""
        logger.info("%s: stopping", signal.Signals(signum).name)
        self.stopping.set()

    def _tick(self) -> None:
        """An exception here would make `schedule` run the job again at every look, so none gets out."""
        try:
            self._look(self.clock())
        except PaperboyError as error:
            logger.error("%s", error)
        except Exception:
            logger.exception("the daemon goes on; this is a bug in Paperboy")

    def _look(self, now: datetime) -> None:
        if self._child is not None:
            code = self._child.poll()
            if code is None:
                return
            self._child = None
            self._not_before = now + AFTER_A_FAILURE if code else None
            logger.log(
                logging.WARNING if code else logging.INFO,
                "the morning's process ended with exit code %d%s",
                code,
                f"; the next try is at {self._not_before:%H:%M} UTC" if self._not_before else "",
            )
        if self._not_before is not None and now < self._not_before:
            return
        if self.has_work(now):
            self._child = self.start()
            logger.info("a morning begins: process %d", self._child.pid)

    def _end_child(self) -> None:
        """Tells a child at work to stop, and waits for the message in its hand."""
        if self._child is None or self._child.poll() is not None:
            return
        self._child.terminate()
        try:
            self._child.wait(_CHILD_STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            logger.warning("the morning's process did not stop within %d s and is killed", _CHILD_STOPS_WITHIN)
            self._child.kill()
            self._child.wait()
