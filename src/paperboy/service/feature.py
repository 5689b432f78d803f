"""Features: what a folder in `features/` brings, and where the core lets it take part.

No framework: a hook is a field here only if several features use it, or if the core would have to
name one. The values are light; a feature imports heavy modules when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from werkzeug.routing import Rule

    from paperboy.home.settings import Settings
    from paperboy.mail.message import Signer
    from paperboy.mail.templates import Samples
    from paperboy.models import Day, MailingList, Tables
    from paperboy.morning.drafting import Learn
    from paperboy.morning.workers import WorkerPool
    from paperboy.reports.problems import Words
    from paperboy.service.app import App
    from paperboy.store.incidents import Incident
    from paperboy.store.tasks import Task


Stopped = Callable[[], bool]  # returns whether the work has to end
Work = Callable[["App", "Task", Stopped], str]  # does a task; returns why it has to be tried again


def lazily(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a feature's module that imports it when called."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(f"paperboy.features.{module}"), name)(*arguments)

    return call


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """Feature, by the name of its folder. Hooks that it does not use stay empty."""

    name: str
    tables: Tables | None = None
    tasks: Mapping[str, Work] = field(default_factory=dict)  # by kind

    # name of the command: its module, and a line for --help
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    pages: Callable[[], Sequence[Rule]] | None = None  # of the site
    samples: Samples | None = None  # of those pages, to try their templates with
    links: frozenset[str] = frozenset()  # that its mails carry: "view" or "vote"
    signer: Callable[[Settings], Signer | None] | None = None  # raises ConfigError

    # The morning: what a list has learned, workers for many lists, and rows in the transaction of
    # a day, with its digest's id if there is one. If that raises, the day is tried again: what
    # needs files or a network belongs in a task.
    learned: Callable[[App], Learn] | None = None
    worker_pool: Callable[[Settings], WorkerPool | None] | None = None
    frozen: Callable[[App, MailingList, Day, int | None, datetime], None] | None = None

    # A query of readers' votes, for features that learn: list, paper_id, vote, at.
    ballots: str = ""

    problems: Callable[[App], Iterable[Incident]] | None = None
    words: Callable[[], Mapping[str, Words]] | None = None  # of its kinds of problem
    check: Callable[[App], Iterable[Finding]] | None = None  # probes servers
    status: Callable[[App, Sequence[MailingList], datetime], Shown] | None = None
    why: Callable[[App, str], Mapping[str, str]] | None = None  # a line about a paper, by list


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Part of a feature in `paperboy status`."""

    key: str  # in the JSON of each list
    of_lists: Mapping[str, object]  # its value, by list; the others have none
    wrong: Sequence[tuple[str, str]] = ()  # a list, and the end of a line about what is wrong
    lines: Sequence[str] = ()  # a section of its own


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the check: a fault if it has an exit code, else a note or all well."""

    what: str
    message: str
    exit_code: int = 0
    note: bool = False

    @property
    def mark(self) -> str:
        """Return "fault", "note" or "ok"."""
        if self.exit_code:
            return "fault"
        return "note" if self.note else "ok"


def note(what: str, message: str) -> Finding:
    return Finding(what, message, note=True)
