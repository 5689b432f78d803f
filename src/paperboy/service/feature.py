"""A feature: what a folder in `features/` brings, and the places where the core lets it take part.

No framework: a place is a field here only where several features use it, or where the core would have to name one. The
values are light; a feature imports what is heavy when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from werkzeug.routing import Rule

    from paperboy.home.settings import Settings
    from paperboy.models import Day, MailingList
    from paperboy.service.app import App
    from paperboy.store import Store
    from paperboy.store.schema import Tables


class Signer(Protocol):
    """Signs each copy of a mail that goes to a mail server."""

    def signed(self, message: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One feature, by the name of its folder. What it does not use stays empty."""

    name: str
    tables: Tables | None = None
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # name: its module, and a line for --help
    pages: Callable[[], Sequence[Rule]] | None = None  # of the web room
    links: frozenset[str] = frozenset()  # what its mails link: "view" or "vote"
    frozen: Callable[[Store, MailingList, Day, int | None, datetime], None] | None = None
    """Write rows in the transaction of a day; its digest's id, if there is one."""
    signer: Callable[[Settings], Signer | None] | None = None  # raises ConfigError
    status: Callable[[App, Sequence[MailingList], datetime], Shown] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A feature's part of `paperboy status`."""

    key: str  # in the JSON of each list
    of_lists: Mapping[str, object]  # its value, by list
    otherwise: object = None  # the value of the other lists
    wrong: Sequence[tuple[str, str]] = ()  # a list, and the end of a line about what is wrong
    lines: Sequence[str] = ()  # a section of its own
