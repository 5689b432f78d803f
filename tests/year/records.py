"""What the servers and the daemon did, and when."""

import re
from dataclasses import dataclass
from datetime import date, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import cached_property

from tests.servers.smtp import Message

KILLED = -9  # a child's exit code


@dataclass(frozen=True)
class Mail:
    """A mail that the server took."""

    at: datetime
    message: Message

    @cached_property
    def parsed(self) -> EmailMessage:
        return message_from_bytes(self.message.content, _class=EmailMessage, policy=policy.default)

    @cached_property
    def plain(self) -> str:
        part = self.parsed.get_body(("plain",))
        assert part is not None
        return str(part.get_content())

    @property
    def to(self) -> str:
        return self.message.recipient

    @cached_property
    def subject(self) -> str:
        return str(self.parsed["Subject"])

    @cached_property
    def message_id(self) -> str:
        return str(self.parsed["Message-ID"])

    @cached_property
    def papers(self) -> tuple[str, ...]:
        return tuple(re.findall(r"arxiv\.org/abs/(\d{4}\.\d{5})", self.plain))


@dataclass(frozen=True)
class Fetch:
    """A request to arXiv: how many papers it had, and whether it answered."""

    at: datetime
    papers: int
    well: bool


@dataclass(frozen=True)
class Asked:
    """A request to the LLM: for which list and papers, and whether it was answered."""

    at: datetime
    list_name: str
    papers: tuple[str, ...]
    answered: bool


@dataclass
class Run:
    """A child of the daemon."""

    command: str
    began: datetime
    ended: datetime
    code: int = 0
    lists: frozenset[str] = frozenset()  # that it was to try


@dataclass(frozen=True)
class Copy:
    """A digest addressed to somebody, as the ledger had it when it was made."""

    list_name: str
    day: date
    address: str
    message_id: str


@dataclass
class Doom:
    """A kill of the child that has looked at the clock so many times."""

    results: int
    # Until when the whole machine is off then; None: the child dies alone.
    off: datetime | None = None


class Killed(BaseException):
    """Ends a child between two steps, as kill -9 would; its `finally` blocks change no record."""
