"""The words of Paperboy as frozen values.

Every stage of a morning hands the next one some of these. They do no I/O, know no other room,
compare by value and can be pickled. Instants are aware and in UTC; a local date is a plain `date`.

    to read    MailingList, Subscriber, Paper
    to score   ToScore → Scored: a Score for each paper, Spending
    to choose  Digest: Entry, Counts, what each paper PaperOutcome
    to freeze  Composed, Day with its Outcome; an Attempt where there is none yet
    to send    Delivery → Envelope → Receipt; Suppression
    to keep    Tables of a feature
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from datetime import date, datetime, time
from email.headerregistry import Address
from enum import StrEnum
from operator import add
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo

EVERY_DAY = frozenset(range(7))


@dataclass(frozen=True, slots=True)
class Subscriber:
    """Somebody with an address; `str()` is the form of a mail header, before any encoding."""

    address: str  # an international domain is in its xn-- form; only what stands before the @ may be beyond ASCII
    name: str = ""

    def __str__(self) -> str:
        return str(Address(self.name, *self.address.rsplit("@", 1)))


class Subscribers(Sequence[Subscriber]):
    """Subscribers who are made only when they are asked for, since there may be a million."""

    __slots__ = ()

    @abstractmethod
    def find(self, address: str) -> Subscriber | None:
        """The one with the address, in upper or lower case."""

    @abstractmethod
    def addresses(self) -> Iterator[str]:
        """Everybody's, in lower case."""


@dataclass(frozen=True, slots=True)
class Keywords:
    """Words and phrases that filter a list's papers by title and abstract."""

    must: tuple[str, ...] = ()  # one of them has to occur
    never: tuple[str, ...] = ()  # none of them may


@dataclass(frozen=True, slots=True)
class MailingList:
    """One item of `subscribers.yaml`, with the defaults of the settings filled in."""

    name: str
    title: str
    categories: tuple[str, ...]
    topics: str  # the text itself, also where the file names another file; empty: papers by followed authors alone
    timezone: ZoneInfo
    language: str = "en"  # of comments and of the mail: a BCP 47 tag, in canonical case
    send_at: time = time(7, 0)  # local
    weekdays: frozenset[int] = EVERY_DAY  # Monday is 0
    holidays: frozenset[date] = frozenset()  # of its sources, beyond those that they know
    authors: tuple[str, ...] = ()
    min_relevance: int = 7
    min_novelty: int = 6
    max_papers: int = 50
    cross_lists: bool = True
    send_empty: bool = True
    exclude: tuple[str, ...] = ()  # categories whose papers it never takes
    keywords: Keywords = Keywords()
    paused: bool = False
    archive: str = (
        "link"  # who sees its digests on the web: "none", "link" (who has it), "public", "indexed"
    )
    open: bool = False  # whoever confirms an address may sign up
    webhook: str = field(default="", repr=False)  # a URL, often with a secret in it
    webhook_format: str = "json"  # or "slack"
    subscribers: tuple[Subscriber, ...] | Subscribers = ()
    subscribers_file: str = ""  # in the home; its people are among the subscribers

    @property
    def is_active(self) -> bool:
        """Check whether it has subscribers and is not paused."""
        return bool(self.subscribers) and not self.paused

    @property
    def is_public(self) -> bool:
        """Whether the web room lists its digests for everybody."""
        return self.archive in {"public", "indexed"}

    def subscriber(self, address: str) -> Subscriber | None:
        """The subscriber with the address, in upper or lower case."""
        if isinstance(self.subscribers, Subscribers):
            return self.subscribers.find(address)
        return next(
            (who for who in self.subscribers if who.address.lower() == address.lower()), None
        )

    def addresses(self) -> Iterator[str]:
        """All subscribers' addresses in lower case."""
        if isinstance(self.subscribers, Subscribers):
            return self.subscribers.addresses()
        return (who.address.lower() for who in self.subscribers)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a file or a setting: where, what, and what to do about it."""

    place: str  # "subscribers.yaml:14:9", ".env:3", "environment"
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Paper:
    """One preprint, with the mark-up of its source still in title and abstract."""

    id: str  # without the version: "2502.06786", "astro-ph/0601001"
    version: int
    title: str
    authors: tuple[str, ...]  # already Unicode
    abstract: str
    primary_category: str
    categories: tuple[str, ...]
    published: datetime  # when version 1 was submitted
    updated: datetime  # when this version was submitted
    comment: str = ""  # the authors' remark, for example "12 pages, 3 figures"
    doi: str = ""


class Text(NamedTuple):
    """What of a paper a ranking reads."""

    id: str
    title: str
    abstract: str


@dataclass(frozen=True, slots=True)
class Score:
    """What a scorer thinks of one paper for one list."""

    relevance: int  # 1-10
    novelty: int | None  # 1-10; None where the scorer cannot judge it
    comment: str = ""

    def __post_init__(self) -> None:
        for value in (self.relevance, self.novelty):
            if value is not None and not 1 <= value <= 10:
                raise ValueError(f"a score is 1 to 10, not {value}")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that an LLM counted. The prompt's include cached and cache-write ones, the
    completion's reasoning ones.
    """

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars. Where a price is unknown there is no Cost (`None`), never a zero."""

    prompt: float = 0.0
    completion: float = 0.0

    @property
    def total(self) -> float:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Spending:
    """What scoring used and what that cost."""

    usage: Usage = Usage()
    cost: Cost | None = Cost()  # None: the price of some of it is unknown

    def __add__(self, other: Spending) -> Spending:
        usage = Usage(*map(add, astuple(self.usage), astuple(other.usage)))
        if self.cost is None or other.cost is None:
            return Spending(usage, None)
        return Spending(usage, Cost(*map(add, astuple(self.cost), astuple(other.cost))))


@dataclass(frozen=True, slots=True)
class Model:
    """Who scored."""

    name: str
    is_llm: bool  # False: the embedded scorer, which ranks by words and judges nothing
    learned_from: str = ""  # what its ranking has learned from, beside words: "votes", "scores" or "scores and votes"


class Ranker(Protocol):
    """A ranking that a list has learned."""

    @property
    def examples(self) -> int: ...  # that it has learned from

    def strengths(self, texts: Sequence[Text]) -> Sequence[float]: ...


@dataclass(frozen=True, slots=True)
class ToScore:
    """Papers that a list wants scored."""

    mailing_list: MailingList
    papers: tuple[Paper, ...]
    recent: Sequence[Text] = ()  # what a scorer that ranks compares them with
    rankers: Sequence[Ranker] = ()  # what a scorer that ranks blends in


@dataclass(frozen=True, slots=True)
class Scored:
    """The result of one request to a scorer."""

    list_name: str
    scores: Mapping[str, Score] = field(default_factory=dict)  # by id
    unscored: Mapping[str, str] = field(
        default_factory=dict
    )  # by id: why the paper itself has no score today
    spending: Spending = Spending()
    problem: str = ""  # why the list's other papers were not asked for


class Shortfall(StrEnum):
    """Why sound papers have no score."""

    BUDGET = "budget"  # the day's budget was used up
    SERVER = "server"  # the LLM is dead, or refuses us


@dataclass(frozen=True, slots=True)
class Entry:
    """A paper in a digest."""

    rank: int  # from 1
    paper: Paper
    score: Score | None  # None: a followed author's paper, which nobody could score
    matched_author: str | None = None  # as the list spells the name it follows


class Group(StrEnum):
    """The parts of a digest, in their order."""

    FOLLOWED = "followed"  # by followed authors
    CLOSEST = "closest"  # the best by their scores
    ALSO = "also"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many papers of a digest had which outcome. Counts that do not add up are refused."""

    considered: int = 0
    carried_over: int = 0
    let_go: int = 0
    author_matches: int = 0
    selected: int = 0
    over_cap: int = 0
    below: int = 0
    filtered: int = 0
    not_called: int = 0  # left out by the learned shortlist

    def __post_init__(self) -> None:
        if self.to_score != self.scored + self.carried_over + self.let_go:
            raise ValueError(f"the counts do not add up: {self}")

    @property
    def to_score(self) -> int:
        return self.considered - self.filtered - self.not_called

    @property
    def scored(self) -> int:  # an author match counts here, also where it has no score
        return self.author_matches + self.selected + self.over_cap + self.below

    @property
    def relevant(self) -> int:
        return self.author_matches + self.selected


class PaperOutcome(StrEnum):
    """The outcome of a paper that a list has seen."""

    AUTHOR_MATCH = "author match"
    SELECTED = "selected"
    OVER_CAP = "over the cap"
    BELOW = "below"
    FILTERED = "filtered"
    NOT_CALLED = "not called"
    LET_GO = "let go"
    BEFORE_START = "before start"


@dataclass(frozen=True, slots=True)
class Digest:
    """One list's digest of one morning, before it is rendered. `curate` fills in the outcome of its
    papers.
    """

    mailing_list: MailingList
    date: date  # the list's local date
    model: Model
    spending: Spending = Spending()
    shortfall: Shortfall | None = None  # why sound papers were carried over
    only_days: int = 0  # after a long absence: older papers were not looked at; 0: all were
    entries: tuple[Entry, ...] = ()
    over_cap: tuple[Entry, ...] = ()  # passed, but beyond max_papers; ranks go on after the entries
    nearest: tuple[Entry, ...] = ()  # the best ten below the thresholds, without a rank
    carried_over: tuple[Paper, ...] = ()
    let_go: tuple[Paper, ...] = ()
    outcomes: Mapping[str, PaperOutcome] = field(
        default_factory=dict
    )  # by id; papers carried over come back
    counts: Counts = Counts()


@dataclass(frozen=True, slots=True)
class Alert:
    """A problem that needs the operator, or one that is resolved."""

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
    link: str = ""  # the token of its page on the web; empty: there is none
    shown: bytes = b""  # what that page is made of; see mail/archive.py


class Packed(Composed):
    """The same with both its bytes compressed, as the database keeps them."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Archived:
    """A digest as the web room finds it."""

    id: int
    list_name: str
    date: date  # local to the list
    subject: str
    at: datetime  # when it was frozen
    link: str  # the token of its page
    shown: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ListReport:
    """The result of a morning for one list. No outcome: it is still due, and `problem` says why."""

    list_name: str
    outcome: Outcome | None
    counts: Counts = Counts()
    spending: Spending = Spending()
    problem: str = ""
    earlier: bool = False  # the outcome stood before this run
    shortfall: Shortfall | None = None  # why sound papers have no score
    let_go: tuple[
        Paper, ...
    ] = ()  # could not be scored on several mornings, and will not come back
    bug: bool = False  # in Paperboy; `problem` names it

    @property
    def is_served(self) -> bool:
        """Check whether the day has an outcome for which the LLM was asked."""
        return self.outcome is not None and self.outcome.is_served


@dataclass(frozen=True, slots=True)
class MorningReport:
    """The result of a morning."""

    lists: tuple[ListReport, ...]

    @property
    def due(self) -> tuple[str, ...]:
        """The lists that were tried and have no outcome yet."""
        return tuple(each.list_name for each in self.lists if each.outcome is None)


class DeliveryState(StrEnum):
    """Where one digest to one subscriber stands."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    DEFERRED = "deferred"
    AMBIGUOUS = "ambiguous"
    FAILED = "failed"
    SUPPRESSED = "suppressed"

    @property
    def is_lost(self) -> bool:
        """Return whether sending has ended without a mail that is known to have arrived."""
        return self in {DeliveryState.FAILED, DeliveryState.AMBIGUOUS}


@dataclass(frozen=True, slots=True)
class MessageCopy:
    """One subscriber's own values in a copy of a digest."""

    subscriber: Subscriber
    message_id: str  # with its angle brackets; the same at every attempt
    token: str  # names list and subscriber in an unsubscribe mail


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to one recipient."""

    id: int
    frozen_id: int  # of its message
    list_name: str  # on which the recipient must be; empty: on none
    copy: MessageCopy
    state: DeliveryState
    attempts: int = 0
    uncertain: int = 0  # how often the connection was lost after the final dot
    frozen_at: datetime | None = None  # when its message was; None: outside the ledger
    expires: datetime | None = (
        None  # when sending it is given up; None: when its message is replaced
    )
    counts: bool = (
        True  # of a digest: its refusals count against the server, its bounces against the address
    )
    reply: str = ""  # the last one
    suppressed: str | None = None  # why its address got no mail of the list when this was read

    @property
    def what(self) -> str:
        """Return the list's name for the log; of other mail what the Message-ID has in its place,
        such as "alert".
        """
        return self.list_name or self.copy.message_id.split(".")[1]


@dataclass(frozen=True, slots=True)
class Envelope:
    """One message on its way to one recipient."""

    sender: str
    recipient: str
    message: bytes  # no line begins with a dot, which SMTP would double: a search of each copy costs too much
    list_name: str  # whose digest it is; empty: it is none


@dataclass(frozen=True, slots=True)
class Receipt:
    """The reply of a mail server, or the outbox, to one envelope."""

    state: DeliveryState  # SENT, DEFERRED, FAILED or AMBIGUOUS; PENDING: it was never handed over
    reply: str  # one line, for people
    bounce: bool = False  # the address does not exist
    unclear: bool = (
        False  # refused for good, but only other recipients can tell whether that is about us
    )
    slow_down: bool = False  # the server is busy with us: 421, or "too many"


@dataclass(frozen=True, slots=True)
class Suppression:
    """An address that must not get mail, whatever `subscribers.yaml` says."""

    address: str
    list_name: str  # empty: from any list
    reason: str  # one line, for people
    at: datetime
    own: bool = False  # the person's own wish, which signing up again undoes


class Outcome(StrEnum):
    """How a list's day ended."""

    DIGEST = "digest"
    NOTE = "note"  # papers came, none passed
    QUIET = "quiet"  # nothing was announced
    GAVE_UP = "gave up"  # late source, dead LLM
    SKIPPED = "skipped"  # not one of the list's weekdays

    @property
    def is_served(self) -> bool:
        """Check whether there were papers, and their scores decided about the day."""
        return self in {Outcome.DIGEST, Outcome.NOTE}


@dataclass(frozen=True, slots=True)
class Attempt:
    """A failed morning of a list, which stays due."""

    list_name: str
    reason: str  # for people
    at: datetime  # when it was last tried
    since: datetime  # the day's first attempt
    next_try: datetime  # retry backoff: not before
    unscored: int = 0  # papers, where none of them could be scored

    @property
    def why(self) -> str:
        """Return the reason, after the number of papers that it cost."""
        return f"scored 0 of {self.unscored}: {self.reason}" if self.unscored else self.reason


@dataclass(frozen=True, slots=True)
class Day:
    """One list's day and its outcome, ready to be frozen in one transaction."""

    list_name: str
    date: date  # local
    outcome: Outcome
    reason: str = ""  # for people; empty where the outcome says it all
    model: str = ""
    counts: Counts = Counts()
    outcomes: Mapping[str, PaperOutcome] = field(
        default_factory=dict
    )  # by id: what the list has now seen
    tried: frozenset[str] = frozenset()  # ids that could not be scored, though others were
    sampled: frozenset[str] = frozenset()  # ids that were scored by chance, beside the shortlist
    composed: Composed | None = None  # None: there is nothing to send
    copies: tuple[MessageCopy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """A feature's tables. Its statements may use the named values of those of the core beside
    them.
    """

    name: str  # the feature's
    migrations: tuple[str, ...]  # see store/schema.py
    retain: Mapping[str, Sequence[str]] = field(
        default_factory=dict
    )  # by what they delete; see retention.py
    erase: Sequence[str] = ()  # see erasure.py
