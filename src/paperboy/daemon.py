"""The daemon: a small loop that decides what there is to do, and does it in child processes.

    every five seconds, whenever a signal asks for it, and when a child ends:
        for each child: has it ended? report what it could not report itself; is it stuck? end it
        have the files changed, and rested for ten seconds? load and copy them, and try the copy in a child;
            if it is sound it comes into force, else the last good version stays
        is a list due, and nobody at work on a morning? start one
        does mail or an alert wait, and nobody send? start a sending
        notify systemd that the daemon is alive, and of what the day came to

A child's memory goes back to the system when it ends, and its crash is contained. When something is retried is data:
`due`, the deliveries and the alerts know it, over a restart too.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Literal
from zoneinfo import ZoneInfo

import schedule

from paperboy import alerts, due, lock, status
from paperboy.app import App
from paperboy.config.home import FILES, RESTED, Files, Fingerprint, Home, as_known
from paperboy.due import RETRY
from paperboy.errors import ConfigError, MailServerError, PaperboyError, StoreError
from paperboy.mail.text import one_line
from paperboy.models import DeliveryState, Problem, Subscriber
from paperboy.privacy import without_addresses
from paperboy.store.alerts import Cause
from paperboy.systemd import ENVIRONMENT, Notifier

logger = logging.getLogger(__name__)

Kind = Literal["morning", "sending", "trial"]
Process = subprocess.Popen[bytes]  # whatever it writes to its standard output is progress
Spawn = Callable[[Sequence[str], Mapping[str, str]], Process]  # a command line of ours, and more environment for it

TICK_SECONDS = 5
STOPS_WITHIN = 60.0  # seconds that a child has after SIGTERM
_LOOK_SECONDS = 20.0  # between two looks at the database while nothing happens
_STUCK_SECONDS: Mapping[Kind, float] = {"morning": 1800.0, "sending": 1800.0, "trial": 180.0}  # without progress
_LONGEST_FAULT = 160  # characters of a broken file in the status line


@dataclass(slots=True)
class _Child:
    kind: Kind
    process: Process
    began: datetime
    progressed: float  # on the timer
    patience: float  # seconds without progress
    lists: frozenset[str]  # that a morning is to serve
    output: str = ""
    stuck: bool = False

    def progress(self) -> bool:
        """Whether it has written something since the last look."""
        new = self.process.stdout.read() if self.process.stdout else b""
        self.output += (new or b"").decode(errors="replace")
        return bool(new)

    def close(self) -> None:
        """The process has ended."""
        if self.process.stdout:
            self.process.stdout.close()


class Daemon:
    """Works for the home of `app` until it is stopped. `home` is what is in force."""

    def __init__(self, app: App, notifier: Notifier, spawn: Spawn) -> None:
        self.home = app.home
        self.problems: tuple[Problem, ...] = ()  # with the files as they are
        self.adopted: Callable[[Home], None] = lambda _home: None  # called with each version that comes into force
        self.tick_seconds = max(1, int(min(TICK_SECONDS, notifier.feed_every or TICK_SECONDS)))
        self._app, self._store, self._clock, self._timer = app, app.store, app.clock, app.timer
        self._notifier, self._spawn = notifier, spawn
        self._files, self._database = Files(app.path), app.settings.paperboy_database
        self._children: dict[Kind, _Child] = {}
        self._rests: dict[Kind, float] = {}  # until when, on the timer, after an abnormal exit
        self._trying: Home | None = None  # read from its copy
        self._seen, self._tried = Fingerprint(), Fingerprint()
        self._seen_at = self._tried_at = self._looked_at = float("-inf")
        self._begun, self._asked, self._announce = False, True, True  # first trial over; trial wanted; `ready` owed
        self._sound = False  # what was tried last is in force
        self._reload, self._stopping, self._said = False, "", ""
        self._fatal: ConfigError | None = None
        # Signals come at any moment, also within our own methods: unlike an Event, a SimpleQueue is made for that.
        self._calls: SimpleQueue[None] = SimpleQueue()

    # ---- the loop

    def run(self) -> None:
        """Work until `stop`, then end the children. Raises ConfigError if no version of the files was ever good."""
        scheduler = schedule.Scheduler()
        self.wake()
        while not self._stopping:
            if not scheduler.jobs or (scheduler.idle_seconds or 0.0) > self.tick_seconds:  # local time went back
                scheduler.clear()
                scheduler.every(self.tick_seconds).seconds.do(self._tick)
            scheduler.run_pending()
            called = self._called_within(max(0.0, min(scheduler.idle_seconds or 0.0, self.tick_seconds)))
            if called and not self._stopping:
                self._looked_at = float("-inf")
                self._tick()
        logger.info("%s: stopping", self._stopping)
        self._notifier.stopping()
        self._end_children()
        if self._fatal:
            raise self._fatal

    def stop(self, signum: int = signal.SIGTERM, _frame: FrameType | None = None) -> None:
        """End the loop; a signal handler."""
        self._stopping = signal.Signals(signum).name
        self._calls.put(None)

    def reload(self, _signum: int = signal.SIGHUP, _frame: FrameType | None = None) -> None:
        """Try the files at once; a signal handler."""
        self._reload = True
        self._calls.put(None)

    def wake(self, _signum: int = signal.SIGCHLD, _frame: FrameType | None = None) -> None:
        """Look at everything at once; a signal handler."""
        self._calls.put(None)

    def _called_within(self, seconds: float) -> bool:
        """Wait for a call, and take all that have come: one look serves them."""
        try:
            self._calls.get(timeout=seconds)
        except Empty:
            return False
        while not self._calls.empty():
            self._calls.get()
        return True

    def _tick(self) -> None:
        """A tick from which no exception escapes: `schedule` would run the job again at once."""
        try:
            self.tick(self._clock())
        except ConfigError as error:
            self._fatal, self._stopping = error, "the files were never good"
        except PaperboyError as error:
            logger.error("%s", error)
            self._say(without_addresses(str(error)))
            if isinstance(error, StoreError):
                emergency(self._app, self.home, str(error))
        except Exception:
            logger.exception("the daemon goes on; this is a bug in Paperboy")
            self._say("a bug in Paperboy; the log has it")

    def tick(self, now: datetime) -> None:
        """One look at everything. Raises ConfigError if no version of the files was ever good."""
        if self._reload:
            self._reload, self._asked, self._announce = False, True, True
            self._notifier.reloading(self._timer())
        for child in list(self._children.values()):
            self._look_after(child, now)
        if not any(child.stuck for child in self._children.values()):
            self._notifier.watchdog()
        self._look_at_files(now)
        if self._announce and not self._asked and "trial" not in self._children:
            self._announce = False
            self._notifier.ready()
        if self._begun and self._timer() - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = self._timer()
            self._start_what_is_due(now)
            self._say(self._status(now))

    def _status(self, now: datetime) -> str:
        """The day in a line; before it, what is broken. Anybody on the machine may read it."""
        settings = self.home.settings
        patience = timedelta(hours=settings.give_up_after_hours)
        found = status.read(self._store, self.home.lists, now, patience, settings.arxiv_holidays)
        line = status.answer(found, at_work="morning" in self._children)
        if not self.problems:
            return line
        fault = without_addresses(one_line(str(self.problems[0])))[:_LONGEST_FAULT]
        return f"{fault} (the last good version stays in force). {line}"

    def _say(self, text: str) -> None:
        if text != self._said:
            self._said = text
            self._notifier.status(text)

    # ---- the children

    def _start_what_is_due(self, now: datetime) -> None:
        if (names := self._ready(now)) and self._may_start("morning"):
            lists = [option for each in self.home.lists if each.name in names for option in ("--list", each.name)]
            self._start("morning", ["once", "--scheduled", "morning", *lists], now, names)
        next_try = self._store.deliveries.next_try(now)
        report_at = alerts.next_try(self._store, self.home.settings.timezone)
        if any(at is not None and at <= now for at in (next_try, report_at)) and self._may_start("sending"):
            self._start("sending", ["once", "--scheduled", "sending"], now)

    def _ready(self, now: datetime) -> frozenset[str]:
        """The lists that a morning may take up now."""
        days, patience = self._store.days, timedelta(hours=self.home.settings.give_up_after_hours)
        standings = due.standings(self.home.lists, days.outcomes(self.home.lists, now), days.attempts(), now, patience)
        return frozenset(name for name, each in standings.items() if each.ready(now))

    def _may_start(self, kind: Literal["morning", "sending"]) -> bool:
        rests = self._timer() < self._rests.get(kind, float("-inf"))
        return kind not in self._children and not rests and lock.holder(self._database, kind) is None

    def _start(self, kind: Kind, arguments: Sequence[str], now: datetime, lists: frozenset[str] = frozenset()) -> None:
        home = self._trying if kind == "trial" and self._trying else self.home
        process = self._spawn(arguments, {FILES: str(home.source)})
        logger.debug("%s: process %d begins", kind, process.pid)
        patience = max(_STUCK_SECONDS[kind], 3 * home.settings.llm_timeout_seconds if kind == "morning" else 0.0)
        self._children[kind] = _Child(kind, process, now, self._timer(), patience, lists)

    def _look_after(self, child: _Child, now: datetime) -> None:
        code = child.process.poll()
        progress, silent = child.progress(), self._timer() - child.progressed
        if code is not None:
            child.close()
            del self._children[child.kind]
            self._looked_at = float("-inf")
            how = _abnormal(child, code)
            (self._trial_ended if child.kind == "trial" else self._work_ended)(child, how, now)
        elif progress:
            child.progressed = self._timer()
        elif child.stuck and silent >= STOPS_WITHIN:
            child.process.kill()
        elif not child.stuck and silent >= child.patience:
            child.stuck, child.progressed = True, self._timer()
            child.process.terminate()

    def _work_ended(self, child: _Child, how: str, now: datetime) -> None:
        """Report what the child could not, and let rest what it could not do."""
        logger.log(logging.ERROR if how else logging.INFO, "the %s ended%s", child.kind, f": {how}" if how else "")
        left = self._ready(now) & child.lists
        if how:
            self._rests[child.kind] = self._timer() + RETRY.total_seconds()
        if left and not how:
            how = f"nothing became of {min(left)}, and it did not say why"
        attempts = self._store.days.attempts()
        for each in self.home.lists:
            if each.name in left:
                why = f"the morning crashed or got stuck: {how}"
                self._store.days.note_attempt(due.failed(each, why, attempts.get(each.name), child.began, now))
        if how:
            self._store.alerts.note(alerts.bad_end(how, left), now)

    def _end_children(self) -> None:
        """Tell all children to stop, and wait for the messages in their hands."""
        for child in self._children.values():
            with suppress(ProcessLookupError):
                child.process.terminate()
        for child in self._children.values():
            try:
                child.process.wait(STOPS_WITHIN)
            except subprocess.TimeoutExpired:
                logger.warning("the %s did not stop within %d s and is killed", child.kind, STOPS_WITHIN)
                child.process.kill()
                child.process.wait()
            child.close()

    # ---- the files

    def _look_at_files(self, now: datetime) -> None:
        """Try an edit that has rested, what somebody asks for, and from time to time what is broken."""
        found, timer = self._files.fingerprint(), self._timer()
        if found != self._seen:
            self._seen, self._seen_at = found, timer
        rested = found != self._tried and timer - self._seen_at >= RESTED.total_seconds()
        again = not self._sound and timer - self._tried_at >= RETRY.total_seconds()
        if "trial" in self._children or not (self._asked or rested or again):
            return
        self._asked, self._sound, self._tried, self._tried_at = False, False, found, timer
        try:
            home = Home.load(self._app.path, self._app.environ)
            if home.settings.paperboy_database != self._database:
                message = "PAPERBOY_DATABASE has changed; the daemon has to be restarted for that"
                raise ConfigError([Problem(".env", message)])
            copy = self._files.copy()
        except ConfigError as error:
            self._found_broken(error.problems, now)
            return
        if self._files.fingerprint() != found:  # the copy may be half an edit
            shutil.rmtree(copy, ignore_errors=True)
            self._tried, self._asked = Fingerprint(), not self._begun
            return
        self._trying = replace(home, source=copy)
        self._start("trial", ["check", "--offline"], now)

    def _trial_ended(self, child: _Child, how: str, now: datetime) -> None:
        home, self._trying = self._trying, None
        if home is None or home.source is None:
            return
        if not how:
            self._put_in_force(home, home.source, now)
            return
        shutil.rmtree(home.source, ignore_errors=True)
        faults = [line.split(": ", 2) for line in child.output.splitlines() if line.startswith("fault")]
        problems = [Problem(fault[1], fault[2]) if fault[2:] else Problem("the home", fault[-1]) for fault in faults]
        problems = problems or [Problem("the home", f"its files could not be tried: {how}")]
        self._found_broken(as_known(problems, home.source), now)

    def _put_in_force(self, home: Home, copy: Path, now: datetime) -> None:
        self._files.put_in_force(copy)
        first, self.home, self._begun, self._sound, self.problems = not self._begun, home, True, True, ()
        self.adopted(home)
        self._store.alerts.end(Cause.FILES, alerts.HOME_FILES, now)
        if not first:  # whatever failed may be fixed
            self._rests.clear()
            self._store.days.retry_now(now)
            self._store.deliveries.retry_now()
            logger.info("an edit of %s is in force: %d lists", home.path, len(home.lists))

    def _found_broken(self, found: Sequence[Problem], now: datetime) -> None:
        """The last good version stays in force. Raises ConfigError where there is none."""
        problems = as_known(found, self._app.path)
        if not self._begun:
            if not self._files.last_good.exists():
                raise ConfigError(problems)
            self.home = Home.in_force(self._app.path, self._app.environ)
            if self.home.settings.paperboy_database != self._database:
                raise ConfigError(problems)
            self.adopted(self.home)
            self._begun = True
        if problems != self.problems:
            self.problems = problems
            logger.error("%s\nthe last good version stays in force until that is fixed", "\n".join(map(str, problems)))
            self._store.alerts.note([alerts.broken_files(problems)], now)


def _abnormal(child: _Child, code: int) -> str:
    """Describe an abnormal exit; empty if the child reported its own failure."""
    if child.stuck:
        return f"it made no progress for {child.patience // 60:.0f} minutes, and was ended"
    if code < 0:
        return f"signal {-code} ended it"
    last = child.output.rstrip("\n").rpartition("\n")[2].lstrip(".")
    return (last or f"its exit code was {code}") if code else ""


def spawn(environ: Mapping[str, str], home: Path, arguments: Sequence[str], more: Mapping[str, str]) -> Process:
    """Start a command of ours; systemd's variables are for the daemon alone."""
    inherited = {name: value for name, value in {**os.environ, **environ}.items() if name not in ENVIRONMENT}
    command = [sys.executable, "-m", "paperboy", "--home", str(home), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0, env={**inherited, **more})
    if process.stdout:
        os.set_blocking(process.stdout.fileno(), False)
    return process


def emergency(app: App, home: Home, problem: str) -> None:
    """Mail the operator, once a day, what no database can remember. Errors are only logged."""
    to, now, zone = home.settings.alert_to, app.clock(), home.settings.timezone
    mark = home.path / "data" / "emergency"  # its time is that of the last such mail
    try:
        if to is None or home.settings.uses_outbox or _day(mark, zone) == now.astimezone(zone).date():
            return
        mark.touch()
        os.utime(mark, (now.timestamp(),) * 2)  # first: a full disk has room for a time, and is no reason for two mails
        with app.at(home) as apart, closing(apart.smtp()) as transport:
            composer = apart.composer_with(secrets.token_bytes(32))
            receipt = transport.send(composer.alert(alerts.no_start(problem), Subscriber(to.address, to.name), now))
            if receipt.state is not DeliveryState.SENT:
                raise MailServerError(f"{receipt.state}: {receipt.reply}")
    except (PaperboyError, OSError) as error:
        logger.error("ALERT_TO could not be alerted: %s", error)
        with suppress(OSError):
            os.utime(mark, (0, 0))


def _day(mark: Path, zone: ZoneInfo) -> date | None:
    return datetime.fromtimestamp(mark.stat().st_mtime, zone).date() if mark.exists() else None
