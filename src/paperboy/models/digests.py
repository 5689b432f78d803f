"""One list's product of one morning, and what becomes of the papers that were considered for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from paperboy.models.lists import MailingList
from paperboy.models.papers import Paper
from paperboy.models.scores import Model, Score, Shortfall, Spending


@dataclass(frozen=True, slots=True)
class Entry:
    """A paper in a digest."""

    rank: int  # from 1
    paper: Paper
    score: Score
    matched_author: str | None = None  # as the list spells the name it follows


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the papers of a digest. They always add up; a set that does not cannot be made."""

    considered: int = 0
    carried_over: int = 0
    let_go: int = 0
    author_matches: int = 0
    selected: int = 0
    over_cap: int = 0
    below: int = 0

    def __post_init__(self) -> None:
        if self.considered != self.scored + self.carried_over + self.let_go:
            raise ValueError(f"the counts do not add up: {self}")

    @property
    def scored(self) -> int:
        return self.author_matches + self.selected + self.over_cap + self.below

    @property
    def relevant(self) -> int:
        return self.author_matches + self.selected


class Became(StrEnum):
    """What became of a paper that a list has seen."""

    AUTHOR_MATCH = "author match"
    SELECTED = "selected"
    OVER_CAP = "over the cap"
    BELOW = "below"
    LET_GO = "let go"
    BEFORE_START = "before start"


@dataclass(frozen=True, slots=True)
class Digest:
    """One list's product of one morning, before it is rendered."""

    mailing_list: MailingList
    date: date  # the list's local date
    entries: tuple[Entry, ...]
    counts: Counts
    model: Model
    spending: Spending = Spending()
    over_cap: tuple[Entry, ...] = ()  # passed, but beyond max_papers; ranks go on after the entries
    let_go: tuple[Paper, ...] = ()
    carried_over: tuple[Paper, ...] = ()
    shortfall: Shortfall | None = None  # why papers were carried over that nothing is wrong with


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that needs the operator's hand, or that no longer does."""

    headline: str  # a short sentence: "The LLM refuses the key"
    paragraphs: tuple[str, ...]  # what happened, what it means for the lists, what to do
    details: tuple[str, ...] = ()  # lines to show as they are: places in files, replies of servers


@dataclass(frozen=True, slots=True)
class Rendered:
    """A mail's content. The subject is one line of text."""

    subject: str
    html: str
    text: str


@dataclass(frozen=True, slots=True)
class Composed:
    """A mail's shared bytes: everything but what differs per recipient."""

    subject: str
    sender: str  # the address of the envelope's MAIL FROM
    message: bytes  # RFC 5322 with CRLF line ends
