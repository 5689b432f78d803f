"""The façade: everything that Paperboy can do with one home, and the only builder of real parts.

A part is built when it is first used, and closed with the `App`. The scorer and the mail rooms are
imported only then: importing `openai` alone takes 0.4 s, which commands without an LLM save.
"""

from __future__ import annotations

import logging
import random
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from paperboy.console.log import set_up
from paperboy.edges import lock
from paperboy.errors import CREDENTIAL, ConfigError, PaperboyError
from paperboy.home import edits
from paperboy.home.home import Home
from paperboy.home.proxy import proxy_for
from paperboy.home.settings import MOST_CONNECTIONS, SETTINGS, Settings
from paperboy.home.versions import Files
from paperboy.home.watcher import Watcher
from paperboy.models import (
    LOCAL_SENDER,
    MailingList,
    MorningReport,
    Progress,
    Tables,
)
from paperboy.morning.drafter import Drafter
from paperboy.reports import alerts, problems, status
from paperboy.scoring.local import LocalScorer
from paperboy.scoring.prices import OPENAI_URL, Prices
from paperboy.sending import delivery
from paperboy.sending.outbox import Outbox
from paperboy.sending.recipients import Recipients
from paperboy.sending.xoauth2 import TokenCommand
from paperboy.store import Store
from paperboy.store.database import require
from paperboy.store.incidents import Incident

if TYPE_CHECKING:
    from paperboy.mail.message import Composer, Signer
    from paperboy.mail.templates import Templates
    from paperboy.morning.preview import Previews
    from paperboy.morning.workers import WorkerPool
    from paperboy.scoring.brief import BriefPrompt
    from paperboy.scoring.llm import LlmScorer
    from paperboy.scoring.prompt import Prompt
    from paperboy.sending.resend import Resend
    from paperboy.sending.smtp import SmtpTransport
    from paperboy.service.feature import Feature
    from paperboy.sources.source import Connect, Feed, Source

logger = logging.getLogger(__name__)

Job = Literal["morning", "sending", "tasks"]

_PAGE_TIMEOUT = 5.0  # seconds to wait for other writers: the page's thread serves nobody meanwhile
IN_FORCE = "The last good version stays in force until that is fixed."


@dataclass(eq=False)
class App(ExitStack):
    """Façade of one home. As a context manager it closes what was opened."""

    path: Path  # the folder, read when its settings or lists are first used
    environ: Mapping[str, str]
    clock: Callable[[], datetime]
    wait: Callable[[float], None]  # seconds
    timer: Callable[[], float]  # monotonic seconds
    progress: Progress
    say: Callable[[str], None] = logger.info  # for notices, such as waiting for a lock
    features: Sequence[Feature] = ()

    def __post_init__(self) -> None:
        super().__init__()

    def at(self, home: Home) -> App:
        """Return an App for another home, or another version of this one."""
        app = replace(self, path=home.path)
        app.home = home
        return app

    # The parts

    @cached_property
    def home(self) -> Home:
        """Return settings and lists. Raises ConfigError."""
        return Home.load(self.path, self.environ)

    def take_own_or_in_force(self) -> None:
        """Read the home for a command that changes none of its files. Raises ConfigError.

        While the files are broken and the daemon runs, take the version in force, and say so.
        """
        self.home, broken = Home.own_or_in_force(self.path, self.environ)
        if not broken:
            return
        if lock.holder(self.settings.paperboy_database, "run") is None:
            raise broken
        for problem in broken.problems:
            self.say(str(problem))

        self.say(IN_FORCE)

    @property
    def settings(self) -> Settings:
        return self.home.settings

    def set_up_log(self, *, by_hand: bool = True) -> None:
        """Log to stderr from LOG_LEVEL on; see `console/log.py`."""
        set_up(self.settings.log_level, self.environ, by_hand=by_hand)

    @cached_property
    def store(self) -> Store:
        """Open the database, or create it. Raises StoreError."""
        store = self.enter_context(self._open())
        store.settle_clock(self.clock())
        return store

    @property
    def store_to_ask(self) -> Store:
        """Return the database, or an empty one in memory, so that a query creates no file."""
        return self.store if self.require_store() else self.enter_context(self.store_in_memory())

    def store_in_memory(self) -> Store:
        """Return an empty database."""
        return Store.in_memory(self._tables)

    def open_store(self, *, check: bool = False) -> Store | None:
        """Open the database, for the caller to close; None if there is none yet. `check` reads all of it.

        Raises StoreError.
        """
        if not self.require_store():
            return None
        return self._open(check=check, patience=_PAGE_TIMEOUT)

    def require_store(self) -> bool:
        """Return whether there is a database. Raises StoreError if it was there and is gone."""
        database = self.settings.paperboy_database
        return require(database, self._mark) or database.exists()

    def _open(self, *, check: bool = False, patience: float = 30) -> Store:
        with suppress(OSError):  # another user's folder, or none yet
            (self.path / "data").chmod(0o700)

        path = self.settings.paperboy_database
        return Store.open(path, self._mark, self._tables, check=check, patience=patience)

    @cached_property
    def _tables(self) -> Sequence[Tables]:
        return [feature.tables for feature in self.features if feature.tables]

    @property
    def _mark(self) -> Path:
        """Return the marker file, which exists once the home has had a database, at whatever path."""
        return self.path / ".has-database"

    @cached_property
    def scorer(self) -> LlmScorer | LocalScorer:
        """Return the LLM, or the embedded scorer if no LLM is set up.

        Raises ConfigError for a broken prompt, and for a budget with unknown prices.
        """
        settings = self.settings
        if not settings.has_llm:
            return LocalScorer()

        from paperboy.scoring.llm import LlmScorer
        from paperboy.scoring.server import Server

        if settings.llm_budget_usd and self.prices is None:
            message = (
                f"LLM_BUDGET_USD: the price of {settings.openai_model} is unknown, so a budget cannot be kept; "
                "set LLM_PRICE_INPUT and LLM_PRICE_OUTPUT, or LLM_BUDGET_USD to 0"
            )
            raise ConfigError.at("settings", message)

        server = Server(
            settings.openai_base_url,
            settings.openai_api_key.value,
            settings.openai_model,
            reasoning_effort=settings.openai_reasoning_effort,
            service_tier=settings.openai_service_tier,
            timeout_seconds=settings.llm_timeout_seconds,
            headers=dict(settings.openai_headers),
            proxy=self.proxy(settings.openai_base_url or OPENAI_URL),
            connections=settings.llm_concurrency,
            wait=self.wait,
        )
        self.enter_context(closing(server))
        return LlmScorer(
            server,
            self.prompt,
            self.prices,
            batch_size=settings.llm_batch_size,
            concurrency=settings.llm_concurrency,
            brief_prompt=self.brief_prompt,
        )

    @cached_property
    def prices(self) -> Prices | None:
        """Return the LLM's prices, from the settings or the built-in table; None if unknown."""
        settings = self.settings
        return Prices.find(
            settings.openai_model,
            settings.openai_base_url,
            settings.openai_service_tier,
            input=settings.llm_price_input,
            cached_input=settings.llm_price_cached_input,
            cache_write=settings.llm_price_cache_write,
            output=settings.llm_price_output,
        )

    @cached_property
    def prompt(self) -> Prompt:
        """Load the prompt and try it. Raises ConfigError."""
        from paperboy.scoring.prompt import Prompt

        return Prompt(self.home.folders("prompts"))

    @cached_property
    def brief_prompt(self) -> BriefPrompt:
        """Load the prompt for the morning in brief and try it. Raises ConfigError."""
        from paperboy.scoring.brief import BriefPrompt

        return BriefPrompt(self.home.folders("prompts"))

    @cached_property
    def templates(self) -> Templates:
        from paperboy.mail.templates import Templates

        return Templates.load(self.home.folders("emails"), self.settings.brand)

    @cached_property
    def composer(self) -> Composer:
        return self._composer(self.signer)

    def _composer(self, signer: Signer | None) -> Composer:
        from paperboy.mail.message import Composer

        return Composer(
            templates=self.templates,
            sender=self.settings.mail_from or LOCAL_SENDER,
            reply_to=self.settings.mail_reply_to,
            secret=self.store.secret(),
            web_url=self.settings.web_url,
            links=frozenset().union(*(feature.links for feature in self.features)),
            signer=signer,
        )

    @cached_property
    def signer(self) -> Signer | None:
        """Return the signer of mail that goes to a mail server, if a feature provides one.

        Raises ConfigError.
        """
        signers = (feature.signer(self.settings) for feature in self.features if feature.signer)
        return next(signers, None)

    @cached_property
    def transports(self) -> tuple[delivery.Transport, ...]:
        """Return connections to the mail server, or the outbox if there is no server."""
        settings = self.settings
        if settings.uses_outbox:
            return (Outbox(settings.paperboy_outbox),)
        return tuple(self.smtp() for _ in range(settings.smtp_connections or MOST_CONNECTIONS))

    def smtp(self, timeout: float = 60) -> SmtpTransport:
        """Return a connection to the mail server; `timeout` (seconds) is for each reply.

        Raises ConfigError if only half of the login is set. Checked here, not on loading, because
        the other half may be a credential that only the service can see.
        """
        from paperboy.sending.smtp import SmtpTransport

        settings = self.settings
        password = settings.smtp_password.value
        has_secret = bool(password or self.token_command)
        if bool(settings.smtp_username) != has_secret:
            needs = "SMTP_USERNAME needs SMTP_PASSWORD or SMTP_TOKEN_COMMAND"
            if has_secret:
                needs = "SMTP_PASSWORD or SMTP_TOKEN_COMMAND needs SMTP_USERNAME"
            message = f"{needs} to be set, too; or leave out both. {CREDENTIAL}"
            raise ConfigError.at(".env", message)

        return SmtpTransport(
            host=settings.smtp_host,
            port=settings.smtp_port,
            security=settings.smtp_security,
            username=settings.smtp_username,
            password=password,
            tokens=self.token_command,
            timeout=timeout,
        )

    @cached_property
    def token_command(self) -> TokenCommand | None:
        """Return the operator's command for access tokens, shared by all connections.

        Its environment excludes Paperboy's settings.
        """
        words = self.settings.smtp_token_command
        if not words:
            return None

        environ = {name: value for name, value in self.environ.items() if name not in SETTINGS}
        return TokenCommand(words=words, environ=environ, folder=self.path, timer=self.timer)

    @cached_property
    def connect(self) -> Connect:
        """Return a function that connects to a source, and caches the feed. It raises ConfigError."""
        settings = self.settings
        person = settings.mail_reply_to or settings.alert_to or settings.mail_from
        contact = person.address if person else ""

        def connect(source: Source) -> Feed:
            means: dict[str, Any] = {"contact": contact, "proxy": self.proxy, "clock": self.clock}
            if source.first_read:
                means["feeds"] = {
                    category: url
                    for mailing_list in self.home.lists
                    for category, url in mailing_list.journals
                }
            return source.connect(settings, **means)

        return cache(connect)

    def proxy(self, url: str) -> str:
        """Return the proxy for a server; empty: none. Raises ConfigError."""
        return proxy_for(url, self.environ)

    def previews(self, command: str) -> Previews:
        """Return previews of a morning that runs now."""
        from paperboy.morning.preview import Previews

        return Previews(
            self.drafter,
            self.connect,
            self.home.lists,
            alone=partial(self.alone, "morning", command),
            now=self.clock(),
        )

    # The two halves of a morning

    @contextmanager
    def alone(self, work: Job, command: str = "once") -> Iterator[None]:
        """Wait for one of the home's locks, and hold it. Reads the lists again, since they may have
        changed meanwhile.

        Raises ConfigError if they are broken by then, or if a daemon still uses another database:
        then it and this process would send the same digests.
        """
        database = self.settings.paperboy_database
        before = self.home.database_in_force(self.environ)
        if before != database and (holder := lock.holder(before)):
            process = f"process {holder.process or 'unknown'}"
            message = (
                f"PAPERBOY_DATABASE has changed, and paperboy {holder.command} ({process}) still uses {before}; "
                "restart that one first"
            )
            raise ConfigError.at(".env", message)

        with lock.held(database, work, command, self.say):
            watcher = Watcher(self.path, self.timer)
            self.home = self.home.again()
            self.recipients = Recipients(self.home, watcher)
            yield

    @cached_property
    def drafter(self) -> Drafter:
        settings = self.settings
        learns = (feature.learned(self) for feature in self.features if feature.learned)
        return Drafter(
            store=self.store,
            scorer=self.scorer,
            brief_writer=None if isinstance(self.scorer, LocalScorer) else self.scorer,
            composer=self.composer,
            progress=self.progress,
            clock=self.clock,
            budget=settings.llm_budget_usd,
            budget_zone=settings.timezone,
            learn=next(learns, None),
        )

    def morning(
        self,
        names: Collection[str],
        patience: timedelta | None = None,
        *,
        any_day: bool = False,
        since: date | None = None,
    ) -> MorningReport:
        """Fetch new papers, and freeze the digests of these lists.

        A list waits for its sources and the LLM for `patience`; None: it runs by hand and does not
        wait. `any_day` ignores the lists' weekdays. `since` begins with the papers of that local
        date; raises NotTodayError if that is not possible.
        """
        from paperboy.morning import morning

        settings = self.settings
        return morning.Morning(
            drafter=self.drafter,
            connect=self.connect,
            lists=self.home.lists,
            patience=patience,
            any_day=any_day,
            overdue_after=self.patience,
            lookback=timedelta(days=settings.arxiv_lookback_days),
            keep=timedelta(days=settings.keep_days),
            keeps_scores=settings.learns_from_scores and self.drafter.learn is not None,
            frozen=[partial(feature.frozen, self) for feature in self.features if feature.frozen],
            since=since,
            worker_pool=self.worker_pool,
            # Large enough that few groups wait for their last calls.
            group=max(morning.GROUP, settings.llm_concurrency // 2),
        ).run(names)

    def due(self, now: datetime) -> dict[Job, frozenset[str]]:
        """Return which jobs are due, a morning with its lists.

        A list that is new to the service is first due at its next `send_at`.
        """
        days = self.store.days
        lists = self.home.lists
        active = [mailing_list.name for mailing_list in lists if mailing_list.is_active]
        since = days.first_seen(active, now)
        standings = days.standings(lists, now, self.patience, since)
        jobs = dict[Job, frozenset[str]]()
        if names := frozenset(name for name, standing in standings.items() if standing.ready(now)):
            jobs["morning"] = names

        mail = self.store.ledger.next_try(now)
        if mail and mail <= now:
            jobs["sending"] = frozenset()

        for feature in self.features:
            for kind in feature.tasks:
                task = self.store.tasks.next_try(kind)
                if task and task <= now:
                    jobs["tasks"] = frozenset()

        return jobs

    def worker_pool(self, lists: int) -> WorkerPool | None:
        """Return workers to compose for this number of lists; None: this process composes alone."""
        from paperboy.morning import workers

        if lists <= workers.WORTH_SHARING:
            return None
        for feature in self.features:
            if feature.worker_pool and (pool := feature.worker_pool(self.settings)):
                return pool

        number = self.settings.workers or workers.helpful(lists)
        if number <= 1:
            return None

        return workers.WorkerPool(partial(workers.processes, number), f"{number} processes")

    def deliver(
        self, stopped: Callable[[], bool], *, by_hand: bool = False, only: int = 0
    ) -> delivery.Report:
        """Send waiting mail, or `only` one delivery, then the alerts that follow from it.

        Alerts are not sent through a server that has just refused us. See `delivery.Round`.
        """
        if not self.settings.uses_outbox and (names := self.store.ledger.only_in_outbox()):
            logger.warning("%s", status.moved_from_outbox(names))

        self.report(sends=True)
        sent = self._round(stopped).deliver(by_hand=by_hand, only=only)
        delivery.record(self.store, sent, self.clock(), self.patience)
        self.report()
        if not sent.problem or sent.transient or sent.turned_away:
            self._round(stopped).deliver(by_hand=by_hand, rest=True)

        return sent

    def deliver_rest(self, stopped: Callable[[], bool]) -> None:
        """Send all mail but digests, with the alerts that are due."""
        self.report()
        self._round(stopped).deliver(rest=True)

    @cached_property
    def recipients(self) -> Recipients:
        """Return the current subscribers of each list, which are reloaded while mail is sent."""
        return Recipients(self.home, Watcher(self.path, self.timer))

    def _round(self, stopped: Callable[[], bool]) -> delivery.Round:
        settings = self.settings
        return delivery.Round(
            store=self.store,
            transports=self.transports,
            composer=self.composer,
            on_list=self.recipients,
            reload_lists=self.recipients.reload,
            clock=self.clock,
            timer=self.timer,
            wait=self.wait,
            jitter=random.random,
            progress=self.progress,
            stopped=stopped,
            most_per_minute=0 if settings.uses_outbox else settings.smtp_max_per_minute,
            grows=not settings.smtp_connections,
        )

    def resend(self, mailing_list: MailingList) -> Resend:
        """Prepare to resend a list's digests. Raises PaperboyError if it has had none."""
        from paperboy.sending.resend import Resend

        name = mailing_list.name
        if not self.require_store():
            raise PaperboyError(
                f"{name} has had no digest yet; paperboy once --list {name} makes it"
            )

        by_mail = not self.settings.uses_outbox
        return Resend(self.store, self.composer, mailing_list, self.clock(), by_mail=by_mail)

    # Subscribers

    def forget(self, address: str) -> tuple[edits.Lines, int]:
        """Erase an address from the lists' files, the version in force and the database.

        Return the lines by file, and the number of rows that held it. Waits until nobody composes
        or sends. Raises ConfigError for a file that cannot be edited; what was erased stays erased.
        """
        if self.require_store():
            _ = self.store  # fails on a damaged database before any file is edited
        lines = self._forget_in_files(address)  # at once, so that a running sending skips it
        with (
            self.alone("morning", "forget"),
            self.alone("sending", "forget"),
            self.alone("tasks", "forget"),
        ):
            lines = self._forget_in_files(address) | lines  # a sign-up may have come meanwhile
            # Checked again: the first morning may have created the database meanwhile.
            rows = self.store.erasure.erase(address, self.clock()) if self.require_store() else 0
            for copy in Files(self.path).containing(address):  # not in force, and nobody reads it
                shutil.rmtree(copy, ignore_errors=True)

        return lines, rows

    def _forget_in_files(self, address: str) -> edits.Lines:
        files = Files(self.path)
        in_force = [copy for copy in files.containing(address) if copy == files.in_force()]
        versions = [replace(self.home, source=source) for source in (self.path, *in_force)]
        return edits.forget(versions, address)

    # What is wrong, and its alerts

    def status(
        self, lists: Sequence[MailingList], mornings: int = 1, *, at_work: bool = False
    ) -> status.Status:
        """Return the status of these lists, with the last `mornings` of each."""
        return status.read(
            self.store_to_ask, lists, self.clock(), self.patience, mornings, at_work=at_work
        )

    def problems(self) -> Sequence[Incident]:
        """Return everything that is wrong now."""
        incidents = problems.read(self.store_to_ask, self.home.lists, self.clock())
        for feature in self.features:
            if feature.problems:
                with alerts.never_raising():  # a feature's failure hides nothing else
                    incidents += feature.problems(self)
        return problems.problems(incidents, self.home.lists)

    @property
    def alerts(self) -> alerts.AlertReporter:
        """Return the reporter of problems."""
        words = dict(problems.WORDS)
        for feature in self.features:
            if feature.words:
                words |= feature.words()

        return alerts.AlertReporter(
            store=self.store_to_ask, lists=self.home.lists, words=words, zone=self.settings.timezone
        )

    def report(self, *, sends: bool = False) -> None:
        """Log what is wrong, and freeze mails to ALERT_TO; `sends`: a round of sending follows.

        Never raises, so that no morning fails because of it.
        """
        with alerts.never_raising():
            to = self.settings.alert_to
            self.alerts.report(self.problems(), self._composer(None), to, self.clock(), sends=sends)

    def retry(self, at: datetime | None) -> datetime | None:
        """Return `at`, the time of a retry, if a daemon runs to make it; else None."""
        return at if lock.holder(self.settings.paperboy_database, "run") else None

    @property
    def patience(self) -> timedelta:
        """Return how long a morning of the daemon waits for a late source or a dead LLM."""
        return timedelta(hours=self.settings.give_up_after_hours)
