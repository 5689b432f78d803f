"""What there is to do for one home: an edit to try, a morning, tidying up. The daemon asks; here is what it is told."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial

from paperboy import alerts, due, status
from paperboy.agenda import Agenda
from paperboy.cli import operator, words
from paperboy.cli.files import Files, Stamps
from paperboy.cli.main import Surroundings
from paperboy.cli.turn import LETS_OTHERS_IN
from paperboy.config.home import FILES, Home
from paperboy.daemon import STUCK, Child, Job
from paperboy.errors import StoreWriteError
from paperboy.mail.text import clipped, one_line
from paperboy.models import MailingList, Problem
from paperboy.privacy import without_addresses
from paperboy.store import Store

logger = logging.getLogger(__name__)

Spawn = Callable[[Sequence[str], Mapping[str, str]], Child]  # a command line of ours, and what its environment has more

TRYING, MORNING = "trying the files", "the morning"  # jobs
MAIL, ALERT = "the mail", "the alert "  # what waits, beside lists, whose names have no spaces; each alert for itself
_FAULT = 160  # characters of what is broken
_QUICK = timedelta(minutes=3)  # without an end, and a trial of the files is stuck
_PATIENCE = timedelta(minutes=30)  # without progress, and a morning is
_AWAY_FROM_MORNINGS = timedelta(hours=1)  # there is time enough to tidy up
_BROKEN_IS_TRIED_AGAIN = timedelta(minutes=15)
_SETTLED = timedelta(seconds=10)  # without another change, and an edit is over
_LONG_ENOUGH = timedelta(seconds=40)  # of changes, and what is there is tried all the same
_HOLDS_UP = timedelta(minutes=1)  # an edit, a morning


class Watch:
    """`home` is what is in force: read from the last good version of the files. `adopted` hears of each
    that follows.
    """

    def __init__(
        self,
        around: Surroundings,
        home: Home,
        store: Store,
        files: Files,
        spawn: Spawn,
        adopted: Callable[[Home], None] = lambda _home: None,
    ) -> None:
        self._around, self._store, self._files, self._spawn = around, store, files, spawn
        self._home, self._adopted = home, adopted
        self._agenda = Agenda(growing=_is_alert)
        self._seen: Stamps | None = None
        self._seen_since = datetime.min.replace(tzinfo=UTC)
        self._edited: datetime | None = None  # since when there are edits
        self._tried: Stamps | None = None
        self._tried_at: datetime | None = None
        self._asked = False
        self._told = True  # the operator, of what is broken
        self._not_adopted = ""  # why not
        self._stale = False  # what is in force is not what was read
        self._problems: tuple[Problem, ...] = ()  # with the version that was tried last
        self._tidied: date | None = None
        self._at_work = False  # a morning is
        self._ended_badly = False  # the last one did

    @property
    def home(self) -> Home:
        """What is in force."""
        return self._home

    def reload(self) -> str:
        """The files are tried at the next look, whether they have changed or not."""
        self._asked = True
        return TRYING

    def next(self, now: datetime, running: Collection[str]) -> Job | None:
        """An edit is tried beside all else; it comes into force, and a morning begins, when nobody is at work."""
        if TRYING not in running and self._is_to_be_tried(now):
            return self._trial(now)
        if not {TRYING, MORNING}.isdisjoint(running) or self._edit_goes_on(now):
            return None
        if self._seen == self._tried:  # else what is ready may be half of what is being written
            self._put_in_force()
        waiting = self.waiting(now)
        if ready := self._agenda.ready(waiting, now):
            patience = max(_PATIENCE, timedelta(seconds=3 * self._home.settings.llm_timeout_seconds))
            ended = partial(self._morning_ended, ready, now, patience)
            return Job(MORNING, partial(self._morning, ready), ended, patience)
        return None

    def waiting(self, now: datetime) -> frozenset[str]:
        """All that could be done: lists that are due, mail and alerts that may go."""
        things = {name for name, each in self._standings(now).items() if each.next_try is not None}
        next_try = self._store.deliveries.next_try(now)
        if next_try is not None and next_try <= now:
            things.add(MAIL)
        things |= {_alert(standing.cause) for standing in self._store.alerts.standing() if standing.waiting}
        return frozenset(things)

    def status(self, now: datetime) -> str:
        """The answer to what everybody asks; before it, what is broken. Anybody on the machine may read it."""
        holidays = self._home.settings.arxiv_holidays
        patience = timedelta(hours=self._home.settings.give_up_after_hours)
        stands = status.read(self._store, self._home.lists, now, patience, holidays)
        answer = status.answer(stands, at_work=self._at_work)
        if not self._problems:
            return answer
        problem = clipped(without_addresses(one_line(str(self._problems[0]))), _FAULT)
        return f"{problem} (the version before stays in force). {answer}"

    # --- the files

    def _is_to_be_tried(self, now: datetime) -> bool:
        """Whether there is an edit that is over, or goes on for long enough; or one that was broken, and may have been
        mended elsewhere, or not told.
        """
        stamps = self._files.stamps()
        if stamps != self._seen:
            self._seen, self._seen_since = stamps, now
        at_rest = not _within(_SETTLED, self._seen_since, now)
        if stamps != self._tried:
            self._edited = self._edited or now
        elif at_rest:
            self._edited = None
        for_long = not _within(_LONG_ENOUGH, self._edited, now) and not _within(_HOLDS_UP, self._tried_at, now)
        settled = at_rest or for_long
        again = not _within(_BROKEN_IS_TRIED_AGAIN if self._told else _HOLDS_UP, self._tried_at, now)
        return self._asked or (settled and stamps != self._tried) or (again and bool(self._problems or not self._told))

    def _edit_goes_on(self, now: datetime) -> bool:
        """A morning waits for it, but not for long."""
        return self._seen != self._tried and _within(_HOLDS_UP, self._edited, now)

    def _trial(self, now: datetime) -> Job:
        stamps = self._files.stamps()

        def start() -> Child:
            child = self._child("adopt", str(self._home.settings.paperboy_database))
            self._asked, self._tried, self._tried_at = False, stamps, now
            return child

        return Job(TRYING, start, self._trial_ended, _QUICK)

    def try_at_once(self, now: datetime) -> tuple[Problem, ...]:
        """The trial before anything else; gives what is wrong."""
        job = self._trial(now)
        child = job.start()
        try:
            code = child.wait(_QUICK.total_seconds())
        except subprocess.TimeoutExpired:
            child.kill()
            code = child.wait()
        job.ended(code, now)
        self._put_in_force()
        if self._problems and self._files.good.is_dir():
            self._home = self._last_good()  # also where it is no list that is broken
            self._adopted(self._home)
        return self._problems

    def _trial_ended(self, code: int, now: datetime) -> None:
        problems = self._files.faults()
        if code and not problems:
            problems = (Problem("the home", f"its files could not be tried (exit code {code})"),)
        zone = self._home.settings.timezone
        before, self._problems = self._problems, problems
        if problems and (problems != before or not self._told):
            complaint = "\n".join(map(str, problems))
            if self._files.good.is_dir():
                logger.error("%s\nthe version before stays in force until that is mended", complaint)
            self._told = False  # until it is written down: the database may be busy, and this is tried again
            operator.note_one(self._store.alerts, alerts.broken_files(problems), zone, now)
        elif not problems:
            if before:
                logger.info("the home's files are in order again")
            self._told = False
            operator.end_one(self._store.alerts, alerts.Kind.FILES, zone, now)
        self._told = True

    def _put_in_force(self) -> None:
        try:
            if not self._files.adopt() and not self._stale:
                return
        except OSError as error:  # the mornings go on with what is in force
            said = f"{error.filename}: {error.strerror}; a sound edit cannot be put in force"
            logger.log(logging.DEBUG if said == self._not_adopted else logging.ERROR, "%s", said)
            self._not_adopted = said
            return
        self._not_adopted, self._stale = "", True
        before, self._home = self._home, self._last_good()
        self._stale = False
        self._agenda.forget()  # what is tried in vain may be mended
        with suppress(StoreWriteError):  # on a full disk the mail waits for its quarter of an hour
            self._store.deliveries.retry_now()
        self._adopted(self._home)
        if before.lists != self._home.lists or before.settings != self._home.settings:
            number = words.counted(len(self._home.lists), "list", "lists")
            logger.info("the files of %s are in force: %s", self._home.path, number)

    def _last_good(self) -> Home:
        return self._files.last_good(self._around.environ)

    # --- the other jobs

    def _morning(self, ready: frozenset[str]) -> Child:
        names = [entry.name for entry in self._home.lists if entry.name in ready]
        lists = [option for name in names for option in ("--list", name)]
        child = self._child("once", "--scheduled", *lists)
        self._at_work = True
        return child

    def _child(self, *arguments: str) -> Child:
        return self._spawn(arguments, {FILES: str(self._files.good)})

    def _morning_ended(
        self, ready: frozenset[str], began: datetime, patience: timedelta, code: int, now: datetime
    ) -> None:
        """Every morning tries all mail and alerts, whatever it began for."""
        self._at_work = False
        left = self.waiting(now)
        lists = [entry for entry in self._home.lists if entry.name in ready & left and _was_due(entry, began, now)]
        how = self._bad_end(code, frozenset(entry.name for entry in lists), began, patience)
        if how:
            left |= {_alert(alerts.Kind.PROCESS)}
        if not how or self._ended_badly:  # else it is tried again at once
            told = frozenset(thing for thing in left if _is_alert(thing))
            if code == LETS_OTHERS_IN:  # its lists were tried before it sent, for however long
                self._agenda.tried(ready - {MAIL}, left, began)
            else:
                self._agenda.tried(ready | told | {MAIL}, left, now)
        self._ended_badly = bool(how)
        again = self._agenda.next_try(left)
        then = f"; the next try is at {again:%H:%M} UTC" if again else ""
        level = logging.ERROR if how else logging.INFO
        logger.log(level, "the morning's process ended with exit code %d%s", code, then)
        if how:  # last, for the disk may be full
            self._write_down(how, lists, now)

    def _write_down(self, how: str, lists: Sequence[MailingList], now: datetime) -> None:
        cause = alerts.broken_morning(how, {entry.name for entry in lists})
        operator.note_one(self._store.alerts, cause, self._home.settings.timezone, now)
        for entry in lists:
            before = self._store.days.attempts().get(entry.name)
            self._store.days.note_attempt(due.failed(entry, f"the morning came to a bad end: {how}", before, now, now))

    def _bad_end(self, code: int, left: frozenset[str], began: datetime, patience: timedelta) -> str:
        """What is to be told of a morning that could not tell it by itself; nothing of one that could."""
        if code == STUCK:
            return f"it made no progress for {patience // timedelta(minutes=1)} minutes, and was ended"
        if code not in {0, 1, LETS_OTHERS_IN}:
            return f"signal {-code} ended it" if code < 0 else f"its exit code was {code}"
        told = {each.cause for each in self._store.alerts.standing()}
        if code == 0 or alerts.Kind.PROCESS in told:  # it has said by itself what it met
            return ""
        attempts = self._store.days.attempts()
        silent = sorted(
            name for name in left if name not in attempts or attempts[name].at < began.replace(microsecond=0)
        )
        return f"nothing became of {silent[0]}, and it did not say why" if silent else ""

    def _standings(self, now: datetime) -> dict[str, due.Standing]:
        patience = timedelta(hours=self._home.settings.give_up_after_hours)
        lists, days = self._home.lists, self._store.days
        return due.standings(lists, days.outcomes(lists, now), days.attempts(), now, patience)

    def _today(self, now: datetime) -> date:
        return now.astimezone(self._home.settings.timezone).date()


def _alert(cause: str) -> str:
    return f"{ALERT}{cause}"


def _is_alert(thing: str) -> bool:
    return thing.startswith(ALERT)


def _was_due(entry: MailingList, began: datetime, now: datetime) -> bool:
    """Whether what is due now was when the morning began, and is not the list's next day."""
    return due.begins(entry, due.local_date(entry, now)) <= began


def _within(span: timedelta, since: datetime | None, now: datetime) -> bool:
    """Whether that was so lately. A clock that was put back holds nothing up."""
    return since is not None and timedelta() <= now - since < span
