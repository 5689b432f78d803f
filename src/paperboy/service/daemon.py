"""The daemon: a small loop that decides what is due, and runs it in child processes.

    every five seconds, on each signal and when a child ends:
        for each child: has it ended? report what it could not report itself; is it stuck? stop it
        have the files changed, and rested for ten seconds? start a trial: it brings a copy of them into force if the
            copy is sound; then load the version in force
        is a list due, and no morning running? start one
        does mail or an alert wait, and no sending running? start one
        is a task due, and no child for tasks running? start one
        notify systemd that the daemon is alive

    each minute, by `schedule`, and when a child begins or ends:
        notify systemd of the day's status

A child writes dots of progress to its standard output, then its failures, a line of JSON each. Its memory
goes back to the system when it ends, and its crash is contained. Retry times are data, so they
survive a restart.
"""

import json
import logging
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import IO, Literal, cast

import schedule

from paperboy import due
from paperboy.due import RETRY
from paperboy.edges import lock
from paperboy.edges.text import counted
from paperboy.errors import ConfigError, MailServerError, PaperboyError, Problem, StoreError
from paperboy.home.home import Home
from paperboy.home.watcher import Watcher
from paperboy.models import Delivery, DeliveryState
from paperboy.reports import alerts, status
from paperboy.service.app import App, Job
from paperboy.service.systemd import ENVIRONMENT, Notifier
from paperboy.store import incidents
from paperboy.store.incidents import THE_MORNING, THE_TASKS, Incident

logger = logging.getLogger(__name__)

Kind = Literal[Job, "trial"]
Process = subprocess.Popen[bytes]
# Starts a child, given the arguments of its `paperboy` command.
Spawn = Callable[[Sequence[str]], Process]

TICK_SECONDS = 5
STOPS_WITHIN = 60.0  # seconds that a child has after SIGTERM
_EMERGENCY_EVERY = 86_400.0  # seconds between two mails about a home that cannot work
_QUERY_SECONDS = 20.0  # between two queries of the database while nothing happens
_STUCK_SECONDS = 1800.0  # without progress, unless the LLM may take longer


@dataclass(slots=True)
class _Child:
    kind: Kind
    process: Process
    stdout: IO[bytes]
    began: datetime
    progressed: float  # on the timer
    patience: float  # seconds without progress
    lists: frozenset[str]  # to be served by a morning
    output: str = ""

    @property
    def failures(self) -> list[Problem]:
        """Return the failures that it reported, a line each, among its dots of progress."""
        found = list[Problem]()
        for line in self.output.splitlines():
            with suppress(ValueError, TypeError):
                found.append(Problem(**json.loads(line)))
        return found

    def describe_exit(self, code: int, silent: float) -> str:
        """Describe an exit after so many seconds without progress; empty if all went well."""
        if code and silent >= self.patience:
            return f"it made no progress for {self.patience // 60:.0f} minutes and was stopped"
        if code < 0:
            return f"signal {-code} ended it"
        if code == 0:
            return ""

        return str(self.failures[-1]) if self.failures else f"its exit code was {code}"


class Daemon:
    """Service of one home until a signal stops the daemon. `home` is the version in force."""

    def __init__(self, app: App, notifier: Notifier, spawn: Spawn) -> None:
        self.problems: tuple[Problem, ...] = ()  # in the files as they are now
        self.tick_seconds = TICK_SECONDS
        self._app = app
        self._store = app.store
        self._timer = app.timer
        self._notifier = notifier
        self._spawn = spawn
        self._children = dict[Kind, _Child]()
        # After an abnormal exit: no start before that time on the timer.
        self._backoff = dict[Kind, float]()

        self._try_at = float("-inf")  # time on the timer of the next trial without an edit
        self._queried_at = float("-inf")  # time on the timer of the last query of the database
        self.housekeeping = schedule.Scheduler()
        self._begin_housekeeping()

        self._reload = False
        self._stopping = ""  # the signal
        # Signals come at any moment, even inside our own methods: `SimpleQueue.put` is reentrant,
        # `Event.set` is not.
        self._calls: SimpleQueue[None] = SimpleQueue()

    @property
    def home(self) -> Home:
        return self._app.home

    @property
    def _in_force(self) -> bool:
        """Check whether the home is a version that passed a trial; after the first trial it is."""
        return self.home.source != self.home.path

    @cached_property
    def _watcher(self) -> Watcher:
        return Watcher(self._app.path, self._timer)

    # ---- the loop

    def run(self) -> None:
        """Work until SIGTERM, then end the children.

        Raises ConfigError if no version of the files was ever good.
        """
        try:
            while not self._stopping:
                # End if the database is gone: a new one would know neither who is suppressed nor what was sent.
                self._app.require_store()
                self._tick()
                self._wait()

            logger.info("%s: stopping", self._stopping)
        finally:
            self._notifier.send("STOPPING=1")
            self._end_children()

    def signalled(self, signum: int, _frame: FrameType | None = None) -> None:
        """Handle a signal: tick at once. SIGHUP tries the files; SIGTERM and SIGINT end the loop."""
        if signum == signal.SIGHUP:
            self._reload = True
        elif signum in {signal.SIGTERM, signal.SIGINT}:
            self._stopping = signal.Signals(signum).name

        self._calls.put(None)

    def _wait(self) -> None:
        with suppress(Empty):
            self._calls.get(timeout=self.tick_seconds)
            self._queried_at = float("-inf")

    def _tick(self) -> None:
        try:
            self.tick(self._app.clock())
        except ConfigError:
            raise
        except PaperboyError as error:
            logger.error("%s", error)
            self._notifier.status(str(error))
            if isinstance(error, StoreError):
                emergency(self._app, str(error))
        except Exception:
            logger.exception("this is a bug in Paperboy; the daemon continues")
            self._notifier.status("a bug in Paperboy; see the log")

    def tick(self, now: datetime) -> None:
        """Check everything once. Raises ConfigError if no version of the files was ever good."""
        for child in list(self._children.values()):
            self._check_child(child, now)

        self._check_files(now)
        self._notifier.send("WATCHDOG=1")
        if not self._in_force or self._timer() - self._queried_at < _QUERY_SECONDS:
            return

        self._queried_at = self._timer()
        if self._store.settle_clock(now):
            self._begin_housekeeping()  # a clock that was ahead set the hours of its next runs
        for kind, lists in self._app.due(now).items():
            self._start(kind, now, lists)

        with alerts.never_raising():  # last, so that a failure here costs no mail
            mails = self._app.alerts.plan(self._app.problems(), now)
            if any(mail.due <= now for mail in mails):
                self._start("sending", now)

        self.housekeeping.run_pending()

    # ---- the status line

    def _begin_housekeeping(self) -> None:
        # `schedule` counts in local time, in which an hour comes twice in autumn: its jobs may be an
        # hour late. Children, files, the watchdog (five minutes) and due work must not be, so they
        # stay on the monotonic timer.
        self.housekeeping.clear()
        self.housekeeping.every().minute.do(self.say_status)

    def say_status(self) -> None:
        """Notify systemd of the day's status, in one line, preceded by any broken file."""
        day = self._app.status(self.home.lists)
        line = status.answer(day, at_work="morning" in self._children)
        if self.problems:
            line = f"{self.problems[0]} (the last good version stays in force). {line}"

        self._notifier.status(line)

    # ---- the children

    def _start(self, kind: Kind, now: datetime, lists: frozenset[str] = frozenset()) -> None:
        """Start a child, unless one of its kind is running, here or elsewhere, or just crashed."""
        settings = self.home.settings
        if kind in self._children or self._timer() < self._backoff.get(kind, 0.0):
            return
        if kind != "trial" and lock.holder(settings.paperboy_database, kind):
            return

        process = self._spawn(["work", kind, *sorted(lists)])
        logger.debug("%s: process %d begins", kind, process.pid)
        self._children[kind] = _Child(
            kind=kind,
            process=process,
            stdout=cast("IO[bytes]", process.stdout),
            began=now,
            progressed=self._timer(),
            patience=max(_STUCK_SECONDS, 3 * settings.llm_timeout_seconds),
            lists=lists,
        )
        self.say_status()

    def _check_child(self, child: _Child, now: datetime) -> None:
        code = child.process.poll()  # before its last output is read
        output = child.stdout.read()
        silent = self._timer() - child.progressed
        child.output += (output or b"").decode(errors="replace")
        if code is not None:
            child.stdout.close()
            del self._children[child.kind]
            self._queried_at = float("-inf")
            problem = child.describe_exit(code, silent)
            if child.kind == "trial":
                self._trial_ended(child, problem, now)
            else:
                self._work_ended(child, problem, now)
            self.say_status()
        elif output:
            child.progressed = self._timer()
        elif silent >= child.patience + STOPS_WITHIN:
            child.process.kill()
        elif silent >= child.patience:
            child.process.terminate()

    def _work_ended(self, child: _Child, problem: str, now: datetime) -> None:
        """Report what the child did not report itself, and start the retry backoff of its kind."""
        if problem:
            logger.error("the %s ended: %s", child.kind, problem)
        else:
            logger.info("the %s ended", child.kind)

        attempts = self._store.days.attempts()
        noted = {name for name, attempt in attempts.items() if attempt.at >= child.began}
        left = self._app.due(now).get("morning", frozenset()) & (child.lists - noted)
        if left and not problem:
            problem = f"it left {min(left)} without a result and gave no reason"
        if not problem:
            return

        self._backoff[child.kind] = self._timer() + RETRY.total_seconds()
        why = f"the morning crashed or got stuck: {problem}"
        for mailing_list in self.home.lists:
            if mailing_list.name in left:
                before = attempts.get(mailing_list.name)
                attempt = due.failed(mailing_list, why, before, child.began, now)
                self._store.days.note_attempt(attempt)

        incident = Incident(kind=incidents.Kind.PROCESS, subject=THE_MORNING, reason=problem)
        if child.kind == "tasks":
            incident = Incident(kind=incidents.Kind.TASKS, subject=THE_TASKS, reason=problem)

        by_list = [replace(incident, subject=name, facts={"list": name}) for name in sorted(left)]
        self._store.incidents.note(by_list or [incident], now)

    def _end_children(self) -> None:
        """Stop all children, each after its current message."""
        for child in self._children.values():
            child.process.terminate()
        for child in self._children.values():
            try:
                child.process.wait(STOPS_WITHIN)
            except subprocess.TimeoutExpired:
                message = "the %s did not stop within %d s and is killed"
                logger.warning(message, child.kind, STOPS_WITHIN)
                child.process.kill()
                child.process.wait()
            child.stdout.close()

    # ---- the files

    def _check_files(self, now: datetime) -> None:
        """Start a trial when an edit is complete, on a reload, or to try broken files again."""
        if "trial" in self._children:
            return
        elapsed = self._timer()
        if not self._watcher.rested(at_once=self._reload, again=elapsed >= self._try_at):
            return

        if self._reload:
            self._notifier.send(f"RELOADING=1\nMONOTONIC_USEC={round(elapsed * 1_000_000)}")

        self._reload = False
        self._try_at = float("inf")
        self._start("trial", now)

    def _trial_ended(self, child: _Child, problem: str, now: datetime) -> None:
        """Load the version that came into force.

        After a broken edit the last good version stays in force, if this database has one.
        """
        problems = tuple(
            replace(failure, place=failure.place or "the home") for failure in child.failures
        )
        if problem and not problems:
            problems = (Problem("the home", f"its files could not be tried: {problem}"),)

        is_first = not self._in_force
        if is_first or not problems:
            database = self.home.settings.paperboy_database
            self._app.home = Home.in_force(self._app.path, self._app.environ)
            is_same = self.home.settings.paperboy_database == database
            if problems and not (self._in_force and is_same):
                raise ConfigError(problems)
            self._app.set_up_log(by_hand=False)  # at its LOG_LEVEL

        broken = _broken_files(problems)
        if child.process.poll() in {0, ConfigError.exit_code}:  # else not every file was tried
            subjects = {incident.subject for incident in broken}
            for incident in self._store.incidents.all():
                if incident.kind == incidents.Kind.FILES and incident.subject not in subjects:
                    self._store.incidents.end(incident.kind, incident.subject, now)

        if problems:
            self._try_at = min(self._try_at, self._timer() + RETRY.total_seconds())
            if problems != self.problems:
                lines = "\n".join(map(str, problems))
                logger.error("%s\nthe last good version stays in force until that is fixed", lines)
                self._store.incidents.note(broken, now)
        elif not is_first:  # whatever failed may be fixed
            self._backoff.clear()
            self._store.retry_now(now)
            number = counted(len(self.home.lists), "list")
            logger.info("an edit of %s is in force: %s", self.home.path, number)

        self.problems = problems
        self._notifier.send("READY=1")


def _broken_files(problems: Sequence[Problem]) -> list[Incident]:
    files = defaultdict[str, list[Problem]](list)
    for problem in problems:
        files[problem.place.partition(":")[0]].append(problem)

    return [
        Incident(
            kind=incidents.Kind.FILES,
            subject=file,
            reason=found[0].message,
            facts={"place": found[0].place, "lines": "\n".join(map(str, found)).splitlines()},
        )
        for file, found in files.items()
    ]


def spawn(environ: Mapping[str, str], home: Path, arguments: Sequence[str]) -> Process:
    """Start one of our commands, without systemd's variables, which are for the daemon alone."""
    inherited = {name: value for name, value in environ.items() if name not in ENVIRONMENT}
    command = [sys.executable, "-m", "paperboy", "--home", str(home), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0, env=inherited)
    if process.stdout:
        os.set_blocking(process.stdout.fileno(), False)

    return process


def emergency(app: App, problem: str) -> None:
    """Mail the operator a problem that the database cannot record, at most once a day.

    Errors are only logged.
    """
    to = app.settings.alert_to
    mark = app.path / "data" / "emergency"  # its mtime is the time of the last such mail
    if to is None or app.settings.uses_outbox:
        return

    try:
        now = app.clock()
        time = now.timestamp()
        if mark.exists() and abs(time - mark.stat().st_mtime) < _EMERGENCY_EVERY:
            return
        # Set before the mail is sent: even a full disk can store a time, and must not cause two mails.
        mark.parent.mkdir(mode=0o700, exist_ok=True)
        mark.touch(0o600)
        os.utime(mark, (time, time))

        with app.at(app.home) as spare, closing(spare.smtp()) as transport:
            spare.store = spare.enter_context(spare.store_in_memory())
            composed, copy = spare.composer.alert(alerts.emergency_alert(problem), to, now)
            receipt = transport.send(spare.composer.envelope(composed, Delivery("", copy)))
            if receipt.state is not DeliveryState.SENT:
                raise MailServerError(f"{receipt.state}: {receipt.reply}")
    except (PaperboyError, OSError) as error:
        logger.error("ALERT_TO could not be alerted: %s", error)
        with suppress(OSError):
            mark.unlink()
