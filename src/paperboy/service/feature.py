"""A feature: what a folder in `features/` brings, and the places where the core lets it take part.

No framework: a place is a field here only where several features use it, or where the core would
have to name one. The values are light; a feature imports what is heavy when it is called.
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
    from paperboy.models import Day, MailingList, Tables
    from paperboy.morning.drafting import Learn
    from paperboy.morning.workers import WorkerPool
    from paperboy.reports.problems import Words
    from paperboy.service.app import App
    from paperboy.service.check import Finding
    from paperboy.store.incidents import Incident
    from paperboy.store.tasks import Task


Stopped = Callable[[], bool]  # has the work to end?
Work = Callable[["App", "Task", Stopped], str]  # on a task; returns why it has to be tried again


def lazily(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a feature's module, which is imported when it is called."""
    return lambda *given: getattr(import_module(f"paperboy.features.{module}"), name)(*given)  # noqa: PLW0108 - lazy


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One feature, by the name of its folder. What it does not use stays empty."""

    name: str
    tables: Tables | None = None
    commands: Mapping[str, tuple[str, str]] = field(
        default_factory=dict
    )  # name: its module, and a line for --help
    pages: Callable[[], Sequence[Rule]] | None = None  # of the web room
    links: frozenset[str] = frozenset()  # what its mails link: "view" or "vote"
    learned: Callable[[App], Learn] | None = None  # what a list has learned, for its morning
    ballots: str = (
        ""  # a query of readers' votes, for what learns from them: list, paper_id, vote, at
    )
    frozen: Callable[[App, MailingList, Day, int | None, datetime], None] | None = None
    """Write rows in the transaction of a day; with its digest's id, if there is one."""
    tasks: Mapping[str, Work] = field(default_factory=dict)  # their work, by kind
    problems: Callable[[App], Iterable[Incident]] | None = None
    words: Callable[[], Mapping[str, Words]] | None = None  # of its kinds of problem
    signer: Callable[[Settings], Signer | None] | None = None  # raises ConfigError
    worker_pool: Callable[[Settings], WorkerPool | None] | None = (
        None  # who composes where a morning has many lists
    )
    check: Callable[[App], Iterable[Finding]] | None = None  # what `check` asks of servers
    status: Callable[[App, Sequence[MailingList], datetime], Shown] | None = None
    why: Callable[[App, str], Mapping[str, str]] | None = None  # a line about a paper, by list


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A feature's part of `paperboy status`."""

    key: str  # in the JSON of each list
    of_lists: Mapping[str, object]  # its value, by list; the others have none
    wrong: Sequence[tuple[str, str]] = ()  # a list, and the end of a line about what is wrong
    lines: Sequence[str] = ()  # a section of its own
