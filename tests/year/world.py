"""The world of a simulated year: arXiv, an LLM, a mail server, a home, and a daemon over it that can die.

    with World(path, seed=1, now=begin) as world:
        world.announce(batches)
        world.at(instant, action)                 # outages, edits
        world.live(until)
        world.fetches, world.asked, world.mails   # what the servers saw, and when

Real servers, a real database, the real commands; only time is not real. The daemon's children work in this process, at
once: what they wait, the clock moves. Where a child looks at the clock it can be killed.
"""

import contextlib
import io
import random
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import partial
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from paperboy.cli.main import invoke
from paperboy.due import RETRY
from paperboy.edges import lock
from paperboy.features import FEATURES
from paperboy.home.home import Home
from paperboy.models import Paper
from paperboy.service.app import App
from paperboy.service.daemon import TICK_SECONDS, Daemon
from paperboy.store import Store
from tests.fakes import NoProgress
from tests.servers.arxiv_api import ArxivServer
from tests.servers.arxiv_faults import dropped
from tests.servers.llm import LlmServer
from tests.servers.smtp import SmtpServer
from tests.year.arxiv import Announced, Batch, Edition, editions, papers
from tests.year.home import EMAILS, LISTS, OPERATOR, OPERATORS_ZONE, Reading, file_of
from tests.year.processes import Child, Systemd
from tests.year.records import KILLED, Asked, Copy, Doom, Fetch, Killed, Mail, Run

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
TICK = timedelta(seconds=TICK_SECONDS)
TAKES = timedelta(seconds=3)  # a child, beside what it waits
HALVES = frozenset({"morning", "sending"})
IDLE = 2 * HOUR  # between two looks when nothing is to be seen

SETTINGS = {
    "ARXIV_DELAY_SECONDS": 0,
    "LLM_CONCURRENCY": 1,  # so that a seed gives the same year again
    "LLM_BATCH_SIZE": 6,
    "SMTP_HOST": "127.0.0.1",
    "SMTP_SECURITY": "none",
    "MAIL_FROM": "papers@example.org",
    "ALERT_TO": OPERATOR,
    "TIMEZONE": OPERATORS_ZONE.key,
    "KEEP_DAYS": 90,  # so that the year sees what is old go
}


@dataclass
class World:
    """The servers, the home and the daemon; every clock shows `now`."""

    path: Path
    seed: int
    now: datetime
    lists: dict[str, Reading] = field(default_factory=lambda: {each.name: each for each in LISTS})
    broken: bool = False  # what was written last into the file
    # Good ones, and since when.
    versions: list[tuple[datetime, dict[str, Reading]]] = field(default_factory=list)
    announced: list[Announced] = field(default_factory=list)
    editions: list[Edition] = field(default_factory=list)  # of the announcement feed
    # Of the feed, where it answered and was not stale.
    reads: list[datetime] = field(default_factory=list)
    fetches: list[Fetch] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    mails: list[Mail] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    starts: list[datetime] = field(default_factory=list)  # of the daemon
    # When the machine was off or asleep.
    away: list[tuple[datetime, datetime]] = field(default_factory=list)
    results: int = 0
    doom: Doom | None = None
    off_until: datetime | None = None  # the machine is
    asleep_until: datetime | None = None  # the laptop is

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)  # noqa: S311  # a script, no secret
        self.began = self.now
        self.home = self.path / "home"
        self.log = self.path / "log"
        self.database = self.home / "data" / "paperboy.db"
        self._events: list[tuple[datetime, int, Callable[[], None]]] = []
        self._looks: list[datetime] = []
        self._number = count()
        # Requests for the announcement feed; it has yesterday's.
        self._feeds = 0
        self._stale = False
        self._copied = 0  # the number of the last delivery in `copies`
        self._lock = threading.RLock()
        self._at_work: Run | None = None
        self._store: Store | None = None
        self._running = contextlib.ExitStack()  # of the daemon: its lock and its App
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self.arxiv = self._stack.enter_context(ArxivServer())
        self.llm = self._stack.enter_context(LlmServer())
        self.smtp = self._stack.enter_context(SmtpServer())
        servers: dict[str, object] = {
            "ARXIV_API_URL": self.arxiv.url,
            "ARXIV_FEED_URL": self.arxiv.feed_url,
        }
        servers |= {"OPENAI_BASE_URL": self.llm.base_url, "SMTP_PORT": self.smtp.port}
        (self.home / "emails").mkdir(parents=True)
        for name, text in EMAILS.items():
            (self.home / "emails" / name).write_text(text, "utf-8")
        lines = (f"{name}={value}\n" for name, value in {**SETTINGS, **servers}.items())
        (self.home / ".env").write_text("".join(lines), "utf-8")
        self.save()
        self._log = self._stack.enter_context(self.log.open("w", encoding="utf-8"))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()
        self._stack.close()

    # --- what happens

    def at(self, instant: datetime, action: Callable[[], None]) -> None:
        """The script has something for that instant."""
        heappush(self._events, (instant, next(self._number), action))

    def announce(self, batches: Sequence[Batch]) -> None:
        """Give the papers to the server when arXiv has them, and a few of them a second version later."""

        def put(paper: Paper) -> None:
            self.arxiv.papers.append(paper)

        def revise(paper: Paper) -> None:
            title = f"{paper.title}, revised"
            place = self.arxiv.papers.index(paper)
            self.arxiv.papers[place] = replace(paper, version=2, title=title, updated=self.now)

        for each in papers(batches, self.dice):
            self.announced.append(each)
            self.at(each.there, lambda paper=each.paper: put(paper))  # type: ignore[misc]
            if self.dice.random() < 0.05:
                self.at(each.there + 2 * DAY, lambda paper=each.paper: revise(paper))  # type: ignore[misc]
        self.editions = list(editions(batches, self.announced, random.Random(self.seed + 1_000)))  # noqa: S311  # a script, no secret
        for edition in self.editions:
            self.at(edition.since, partial(self._publish, edition))
            self.at(edition.until, partial(self._publish, None))

    def _publish(self, edition: Edition | None) -> None:
        """The announcement feed has another day, or none."""
        if edition is None or not edition.stale:
            self.arxiv.announced = edition.entries if edition else []
        self.arxiv.feed_fault = dropped if edition and edition.down else None
        self._stale = bool(edition and edition.stale)
        if edition and edition.late:
            self.arxiv.papers.append(
                edition.late
            )  # its API has had it for long, and finds it by its id alone

    def save(self) -> None:
        """Write the lists to `subscribers.yaml`."""
        (self.home / "subscribers.yaml").write_text(
            file_of(self.lists.values(), broken=self.broken), "utf-8"
        )
        if not self.broken:
            self.versions.append((self.now, dict(self.lists)))
        self.look_often()

    def edit(self, name: str, **changes: Any) -> None:
        """The operator edits a list, and saves."""
        self.lists[name] = replace(self.lists[name], **changes)
        self.save()

    def look_often(self) -> None:
        """Let the daemon look at each tick for a minute, as after an edit."""
        for number in range(1, 13):
            self.look_at(self.now + number * TICK)

    def look_at(self, instant: datetime) -> None:
        """Let the daemon look at that instant."""
        heappush(self._looks, instant)

    def restart(self) -> None:
        """The daemon is stopped between two looks, and begins anew at the next."""
        if self._at_work is None:
            self._end()

    def cut_power(self, until: datetime) -> None:
        """The machine is off from now on."""
        self.off_until = until
        if self._at_work is not None:
            raise Killed
        self._end()

    def sleep(self, until: datetime) -> None:
        """The laptop is closed from now on; a child under way finishes when it is opened."""
        self.asleep_until = until

    # --- time

    def clock(self) -> datetime:
        """The time as a child sees it; a doomed child dies here."""
        with self._lock:
            if (
                self.doom is not None
                and self._at_work is not None
                and self._at_work.command in HALVES
            ):
                self.doom.results -= 1
                if self.doom.results < 0:
                    raise Killed
            return self.now

    def wait(self, seconds: float) -> None:
        """Move the clock by what a child waits, at least by its resolution."""
        self.advance(self.now + max(timedelta(seconds=seconds), timedelta.resolution))

    def timer(self) -> float:
        return (self.now - self.began).total_seconds()

    def advance(self, to: datetime) -> None:
        """Time passes, and what the script has for it happens."""
        with self._lock:
            self._note()
            while self._events and self._events[0][0] <= to:
                instant, _, action = heappop(self._events)
                self.now = max(self.now, instant)
                action()
            self.now = max(self.now, to)

    def _note(self) -> None:
        """Record what the servers saw since the clock last moved."""
        well = self.arxiv.lasting_fault is None
        if (
            len(self.arxiv.feeds) > self._feeds
            and self.arxiv.feed_fault is None
            and not self._stale
        ):
            self.reads.append(self.now)
        self._feeds = len(self.arxiv.feeds)
        named = {
            each for request in self.arxiv.requests[len(self.fetches) :] for each in request.ids
        }
        for late in (
            each.late for each in self.editions if each.late and each.late.id in named and well
        ):
            self.announced = [each for each in self.announced if each.paper != late] + [
                Announced(late, self.now)
            ]
        self.fetches += [Fetch(self.now, len(self.arxiv.papers), well)] * (
            len(self.arxiv.requests) - len(self.fetches)
        )
        self.mails += [Mail(self.now, message) for message in self.smtp.messages[len(self.mails) :]]
        for number in range(len(self.asked), len(self.llm.requests)):
            text = str(self.llm.requests[number]["messages"])
            name = next((each.name for each in LISTS if each.topics in text), "")
            answered = bool(self.llm.counted[number]) and self.llm.lasting_fault is None
            self.asked.append(
                Asked(self.now, name, tuple(self.llm.asked[number]) if name else (), answered)
            )

    # --- the daemon

    def live(self, until: datetime) -> None:
        """Run the daemon until then."""
        while self.now < until:
            for away in filter(None, (self.off_until, self.asleep_until)):
                cut = self.runs and self.runs[-1].code == KILLED and self.runs[-1].ended == self.now
                self.away.append((self.runs[-1].began - TICK if cut else self.now, away))
                self.advance(away)
                self.look_often()
            self.off_until = self.asleep_until = None
            with (
                contextlib.suppress(Killed),
                contextlib.redirect_stdout(self._log),
                contextlib.redirect_stderr(self._log),
            ):
                self._look()
                self._pass(until)
            if self.off_until is not None:
                self._end()

    def _look(self) -> None:
        if self._store is None:
            self._begin()
        self.results += 1
        before = len(self.runs)
        self._daemon.tick(self.now)
        for run in self.runs[before:]:
            for number in range(1, 4):
                self.look_at(self.now + number * TICK)
            if (
                run.command in HALVES
            ):  # what rests may be tried again so long after the daemon has heard of its end
                for number in range(1, 9):
                    self.look_at(self.now + RETRY + number * TICK)

    def _pass(self, until: datetime) -> None:
        """Move the clock to the next look that may matter."""
        assert self._store is not None
        hours = [
            each.starts(each.local(self.now) + number * DAY)
            for each in self.lists.values()
            for number in (0, 1)
        ]
        ahead = [
            instant
            for instant in (*hours, self._store.ledger.next_try(self.now))
            if instant and instant > self.now
        ]
        while self._looks and self._looks[0] <= self.now:
            heappop(self._looks)
        ahead += [
            instant for instant, _, _ in self._events[:1]
        ]  # after which there may be more to look at
        following = min([*ahead, *self._looks[:1], self.now + IDLE, until])
        self.advance(following + timedelta(seconds=self.dice.randrange(TICK_SECONDS)))

    def _begin(self) -> None:
        """Start the daemon as `paperboy run` does."""
        self.starts.append(self.now)
        self._mark("the daemon begins")
        home, _ = Home.own_or_in_force(self.home, {})
        self._running.enter_context(lock.held(home.settings.paperboy_database, "run", "run"))
        app = App(
            self.home, {}, self.clock, self.wait, self.timer, NoProgress(), features=FEATURES
        ).at(home)
        self._store = self._running.enter_context(app).store
        self._daemon = Daemon(app, Systemd(), self._spawn)
        self.look_often()

    def _end(self) -> None:
        self._running.close()
        self._store = None

    def _spawn(self, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        run = self._at_work = Run(
            arguments[1], self.now, self.now, lists=frozenset(arguments) & self.lists.keys()
        )
        self.runs.append(run)
        self._mark(" ".join(arguments))
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                run.code = self.command(*arguments)
            self.advance(self.now + TAKES)
        except Killed:
            self._mark("killed")
            if self.doom is not None:
                self.off_until = self.doom.off or self.off_until
            self.doom = None
            run.code = KILLED
            if self.off_until is not None:
                raise
        finally:
            self._at_work = None
            run.ended = self.now
            self._note()
            self._copy()
        return cast(
            "subprocess.Popen[bytes]", Child(run.code, io.BytesIO(said.getvalue().encode()))
        )

    def command(self, *arguments: str) -> int:
        """Run a command in this process; return its exit code."""
        return invoke(["--home", str(self.home), *arguments], {}, self.clock, self.wait, self.timer)

    def _copy(self) -> None:
        """Copy the new deliveries, before retention deletes them."""
        with contextlib.closing(sqlite3.connect(self.database)) as database:
            rows = database.execute(
                "select deliveries.id, list, date, address, message_id from deliveries "
                "join digests on digests.id = frozen_id where deliveries.id > ? order by 1",
                [self._copied],
            ).fetchall()
        self._copied = rows[-1][0] if rows else self._copied
        self.copies += [
            Copy(name, date.fromisoformat(day), to, number) for _, name, day, to, number in rows
        ]

    def _mark(self, what: str) -> None:
        print(f"\n{self.now:%a %Y-%m-%d %H:%M:%S} UTC: {what}", file=self._log)
