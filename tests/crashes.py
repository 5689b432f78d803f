"""A home whose Paperboy is ended by a signal again and again, with servers that remember all it did.

Each run is the real command, `paperboy once`, in a process of its own, forked from one that has imported everything. It
is ended at an instant drawn beforehand (a `Kill`): some requests or messages into a phase of the morning, and some
milliseconds later. The servers' records say what a run did, and a copy of the database what it left.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from multiprocessing.connection import wait
from pathlib import Path
from threading import Lock
from typing import Self

from paperboy.cli.main import invoke
from paperboy.models import Paper, Score
from paperboy.sources.arxiv import calendar as announcements
from tests.builders import paper
from tests.servers.arxiv_api import ArxivServer
from tests.servers.arxiv_faults import hang
from tests.servers.llm import LlmServer
from tests.servers.llm_cache import text_of
from tests.servers.smtp import Message, SmtpServer

TOPICS = {"foundations": "why networks generalise", "galaxies": "dwarf galaxies and their stars"}
CATEGORIES = {"foundations": ("cs.LG", "stat.ML"), "galaxies": ("astro-ph.GA",)}
SUBSCRIBERS = {
    "foundations": range(180),
    "galaxies": range(120, 300),
}  # of 300, and 60 of them on both
CONNECTIONS = 4
BATCHES_AT_ONCE = 4
LATENCY = 0.06  # seconds that the LLM takes for an answer
ARXIV_SECONDS = 0.1
PATIENCE = 300.0  # seconds for what has to happen
LOOK = 0.001  # seconds between two looks at the servers' records
WARMING_UP = 0.1  # seconds for which a new process cannot have asked for anything: what comes then is from the last one


class Phase(IntEnum):
    """The phase of a run, as the servers see it."""

    STARTING = 0  # nothing was asked for yet
    FETCHING = 1  # from the first request to arXiv
    SCORING = 2  # from the first request to the LLM
    COMPOSING = 3  # all papers are fetched and scored, and nobody has called the mail server
    SENDING = 4


Asked = frozenset[tuple[str, str]]  # list and arXiv id


@dataclass(frozen=True, slots=True)
class Kill:
    """When a run is to be ended: so many events into a phase, and so many seconds later."""

    phase: Phase
    events: int = 0
    seconds: float = 0.0
    in_hand: bool = False  # the last event is a message that was taken and not yet confirmed


@dataclass(frozen=True, slots=True)
class Mark:
    """The lengths of the servers' records at some instant."""

    arxiv: int = 0
    llm: int = 0
    connections: int = 0
    dots: int = 0  # messages that were handed over, whatever the server has said of them


@dataclass(frozen=True, slots=True)
class Left:
    """What a run left in the database."""

    integrity: str = "ok"
    scores: Asked = frozenset()
    seen: Asked = frozenset()  # what will not come again
    states: Mapping[str, int] = field(default_factory=dict)  # how many deliveries are in each


@dataclass
class Run:
    """One process. `phase` is where it was killed; None: it ended by itself."""

    since: Mark
    known: Asked  # what was scored before it began
    began: dict[Phase, float] = field(default_factory=dict)  # seconds after its start
    seconds: float = 0.0  # that it ran
    phase: Phase | None = None
    code: int = 0
    obeyed: float = 0.0  # seconds from the signal to its end
    until: Mark = Mark()
    left: Left = Left()


class _Once:
    """`paperboy once` in a process of its own."""

    _forks = multiprocessing.get_context("forkserver")
    # Starting one looks after them all, and only one of two threads can read how a process ended.
    _lock = Lock()

    def __init__(self, home: Path, log: Path) -> None:
        self._forks.set_forkserver_preload(["tests.preloaded"])
        self._process = self._forks.Process(target=_once, args=(home, log))
        with self._lock:
            self._process.start()

    def poll(self) -> int | None:
        """The exit code, once there is one."""
        with self._lock:
            return self._process.exitcode

    def wait(self, seconds: float = PATIENCE) -> int | None:
        """As `poll`, at the latest after so many seconds."""
        wait([self._process.sentinel], seconds)
        return self.poll()

    def send_signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._process.pid or 0, number)


def _once(home: Path, log: Path) -> None:
    time.sleep(WARMING_UP)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    sys.exit(invoke(["--home", str(home), "once"], {}))


class World:
    """One home, its servers, and the runs so far."""

    def __init__(self, path: Path) -> None:
        self.home = path / "home"
        self.runs: list[Run] = []
        self._log = path / "log"
        self._copy = path / "copy.db"
        self._asked: list[Asked] = []  # of each request to the LLM, as far as it was looked at

    def __enter__(self) -> Self:
        with ExitStack() as servers:
            self.arxiv = servers.enter_context(ArxivServer(_papers()))
            self.llm = servers.enter_context(LlmServer(_score, latency=LATENCY))
            self.smtp = servers.enter_context(SmtpServer())
            self._servers = servers.pop_all()
        self.papers: Asked = frozenset(
            (name, paper.id)
            for name, categories in CATEGORIES.items()
            for paper in self.arxiv.papers
            if not set(categories).isdisjoint(paper.categories)
        )
        self.home.mkdir(parents=True)
        (self.home / "subscribers.yaml").write_text(_lists(), "utf-8")
        (self.home / ".env").write_text(self._settings(), "utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self._servers.close()

    def _settings(self) -> str:
        ahead = 12 - datetime.now(UTC).hour  # noon is near: no run meets another day
        return f"""\
ARXIV_API_URL={self.arxiv.url}
ARXIV_DELAY_SECONDS=0
OPENAI_BASE_URL={self.llm.base_url}
LLM_BATCH_SIZE=3
LLM_CONCURRENCY={BATCHES_AT_ONCE}
SMTP_HOST=127.0.0.1
SMTP_PORT={self.smtp.port}
SMTP_SECURITY=none
SMTP_CONNECTIONS={CONNECTIONS}
MAIL_FROM=Paperboy <papers@example.org>
TIMEZONE=Etc/GMT{-ahead:+d}
"""

    def run(self, kills: deque[Kill], number: signal.Signals = signal.SIGKILL) -> Run:
        """One process. It is ended by the first of the kills whose phase is not over when it gets there; those before
        are dropped. Without any left it ends by itself.
        """
        self.arxiv.faults[:] = [hang(ARXIV_SECONDS)] * 10
        run = Run(self._mark(), self.runs[-1].left.scores if self.runs else frozenset())
        self.runs.append(run)
        self._log.write_text("")
        process = _Once(self.home, self._log)
        try:
            self._watch(run, process, kills, number)
        finally:
            self.smtp.on_message = None
            process.send_signal(signal.SIGKILL)
            code = process.wait()
        if run.phase is not None:
            kills.popleft()
        assert code is not None
        run.code = code
        self._settle()
        if len(self.runs) > 1:
            self.runs[-2].until = run.since
        run.until = self._mark()
        run.left = self._look_into_the_database()
        return run

    def _watch(self, run: Run, process: _Once, kills: deque[Kill], number: signal.Signals) -> None:
        start = time.monotonic()
        while process.poll() is None and run.phase is None:
            seconds = time.monotonic() - start
            assert seconds < PATIENCE, f"it hangs\n{self.said}"
            if seconds < WARMING_UP:
                run.since = self._mark()
            now = self._phase(run)
            run.began.setdefault(now, seconds)
            while kills and kills[0].phase < now:
                kills.popleft()
            if kills and kills[0].phase == now:
                self._strike(run, process, kills[0], number)
            time.sleep(LOOK)
        run.seconds = time.monotonic() - start
        process.wait()
        run.obeyed = time.monotonic() - start - run.seconds

    def _strike(self, run: Run, process: _Once, kill: Kill, number: signal.Signals) -> None:
        """Ends the process if its events have come, and if it is still there some seconds later."""
        if kill.in_hand:
            self.smtp.on_message = self._striking(run, process, kill, number)
        elif self._events(run, kill.phase) >= kill.events and process.wait(kill.seconds) is None:
            run.phase = self._phase(run)
            process.send_signal(number)

    def _striking(
        self, run: Run, process: _Once, kill: Kill, number: signal.Signals
    ) -> Callable[[Message], None]:
        """Ends the process from within the server: it gets no word on the message in its hand."""

        def strike(_: Message) -> None:
            if run.phase is None and self._events(run, Phase.SENDING) >= kill.events:
                run.phase = Phase.SENDING
                process.send_signal(number)
                if number == signal.SIGKILL:  # until it is dead the word might reach it
                    process.wait()

        return strike

    def _phase(self, run: Run) -> Phase:
        if self.smtp.connections > run.since.connections:
            return Phase.SENDING
        if len(self.arxiv.requests) == run.since.arxiv:
            return Phase.STARTING
        if not self.papers <= run.known | self.answered(run.since.llm):
            return Phase.SCORING if len(self.llm.counted) > run.since.llm else Phase.FETCHING
        return Phase.COMPOSING if "INFO arXiv: " in self.said else Phase.FETCHING

    def _events(self, run: Run, phase: Phase) -> int:
        """Requests or messages of the run that belong to the phase."""
        now = self._mark()
        if phase is Phase.SCORING:
            return now.llm - run.since.llm
        return now.dots - run.since.dots if phase is Phase.SENDING else 0

    def _mark(self) -> Mark:
        return Mark(
            len(self.arxiv.requests), len(self.llm.counted), self.smtp.connections, self.smtp.dots
        )

    def _settle(self) -> None:
        """Waits until the servers, too, are through with a process that has ended."""
        end = time.monotonic() + PATIENCE
        while len(self.smtp.ended) < self.smtp.connections or not all(self.llm.counted):
            assert time.monotonic() < end, "the servers still wait for a process that has ended"
            time.sleep(LOOK)

    def _look_into_the_database(self) -> Left:
        """Reads a copy, since whoever opens the database after a crash has already repaired it."""
        original = self.home / "data" / "paperboy.db"
        if not original.exists():
            return Left()
        for ending in ("", "-wal"):
            self._copy.with_name(self._copy.name + ending).unlink(missing_ok=True)
            if (there := original.with_name(original.name + ending)).exists():
                shutil.copy(there, self._copy.with_name(self._copy.name + ending))
        with closing(sqlite3.connect(self._copy)) as database:
            integrity = "; ".join(row[0] for row in database.execute("pragma integrity_check"))
            tables = {row[0] for row in database.execute("select name from sqlite_master")}
            if "deliveries" not in tables:
                return Left(integrity)
            scores = frozenset(database.execute("select list, paper_id from scores"))
            seen = frozenset(database.execute("select list, paper_id from seen"))
            states = dict(database.execute("select state, count(*) from deliveries group by state"))
        return Left(integrity, scores, seen, states)

    # what the records say

    @property
    def said(self) -> str:
        """The log of the last run."""
        return self._log.read_text("utf-8")

    def asked(self, since: int, until: int | None = None) -> list[Asked]:
        """What the requests to the LLM asked for, from one on and before another one."""
        for number in range(len(self._asked), len(self.llm.counted)):
            text = text_of(self.llm.requests[number])
            (name,) = (name for name, topics in TOPICS.items() if topics in text)
            self._asked.append(frozenset((name, arxiv_id) for arxiv_id in self.llm.asked[number]))
        return self._asked[since:until]

    def answered(self, since: int) -> Asked:
        """What the LLM has answered from that request on."""
        asked = zip(self.asked(since), self.llm.counted[since:], strict=False)
        return frozenset().union(*(pairs for pairs, usage in asked if usage))


def _papers() -> list[Paper]:
    """45 papers for one list, 30 for the other, 15 for both, in the newest batch."""
    last = announcements.newest_batch(datetime.now(UTC)).submitted_until
    groups = Counter({("cs.LG",): 45, ("astro-ph.GA",): 30, ("stat.ML", "astro-ph.GA"): 15})
    return [
        paper(
            f"2611.{number:05}",
            categories=categories,
            primary_category=categories[0],
            published=last - timedelta(minutes=number),
            updated=last - timedelta(minutes=number),
        )
        for number, categories in enumerate(groups.elements(), 1)
    ]


def _score(arxiv_id: str) -> Score:
    return (
        Score(9, 8, f"What {arxiv_id} says matters.")
        if int(arxiv_id[-1]) % 10 == 0
        else Score(3, 3)
    )


def address(number: int) -> str:
    return f"reader{number:03}@example.org"


def _lists() -> str:
    return "lists:\n" + "".join(
        f"  - name: {name}\n    categories: [{', '.join(CATEGORIES[name])}]\n    topics: {TOPICS[name]}\n"
        f"    subscribers: [{', '.join(address(number) for number in numbers)}]\n"
        for name, numbers in SUBSCRIBERS.items()
    )
