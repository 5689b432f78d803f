"""The words of Paperboy as frozen values.

Each stage of a morning passes some of these to the next. They do no I/O, import no other room,
compare by value and can be pickled. Instants are aware and in UTC; a local date is a plain `date`.

    to read    MailingList, Subscriber, Paper
    to score   ToScore → Scored: a Score for each paper, Spending
    to choose  Digest: Entry, Counts, and the PaperOutcome of each paper
    to brief   Digest → Briefed: a BriefSentence or more
    to freeze  Composed, Day with its Outcome; an Attempt where there is none yet
    to send    Delivery → Envelope → Receipt; Suppression
    to keep    Tables of a feature
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass, field
from datetime import date, datetime, time
from enum import StrEnum
from operator import add
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo

EVERY_DAY = frozenset(range(7))


@dataclass(frozen=True, slots=True)
class Subscriber:
    """Recipient of a list. `str()` is the form of a mail header, before any encoding."""

    # International domains are in their xn-- form; only the local part may be beyond ASCII.
    address: str
    name: str = ""

    def __str__(self) -> str:
        from email.headerregistry import Address  # noqa: PLC0415  # a tenth of --help

        return str(Address(self.name, *self.address.rsplit("@", 1)))


BRAND = "Paperboy"  # what readers know the service by, unless the operator says otherwise

SHARES = "Shares with the topics: "  # begins a comment of the embedded scorer, as it is stored

# The sender of mail to the outbox while MAIL_FROM is not set; no mail server accepts it.
LOCAL_SENDER = Subscriber("paperboy@localhost", BRAND)


class Subscribers(Sequence[Subscriber]):
    """Subscribers that are made on demand, since there may be a million."""

    __slots__ = ()

    @abstractmethod
    def addresses(self) -> Iterator[str]:
        """Yield every address in lower case."""

    @abstractmethod
    def inactive(self) -> list[tuple[str, str]]:
        """Return the address and status of each row that is no subscriber because of its status,
        such as "unsubscribed".
        """


@dataclass(frozen=True, slots=True)
class Keywords:
    """Words and phrases that filter a list's papers by title and abstract."""

    must: tuple[str, ...] = ()  # at least one has to occur
    never: tuple[str, ...] = ()  # none may occur


@dataclass(frozen=True, slots=True)
class MailingList:
    """Item of `subscribers.yaml`, with the defaults of the settings filled in."""

    name: str
    title: str
    categories: tuple[str, ...]
    topics: str  # the text, also of a topics file; may be empty
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
    description: str = ""  # a sentence for readers
    brief: bool = True  # whether an LLM may write the morning in brief
    exclude: tuple[str, ...] = ()  # categories whose papers it never takes
    keywords: Keywords = Keywords()
    paused: bool = False
    # Who may read its digests on the web: "none", "link", "public", "indexed".
    archive: str = "link"
    open: bool = False  # whoever confirms an address may sign up
    webhook: str = field(default="", repr=False)  # a URL, often with a secret in it
    webhook_format: str = "json"  # or "slack", "telegram", "feishu", "ntfy", "teams"
    subscribers: tuple[Subscriber, ...] | Subscribers = ()
    subscribers_file: str = ""  # in the home; its lines are among the subscribers
    journals: tuple[tuple[str, str], ...] = field(
        default=(), repr=False
    )  # its feeds: category, URL
    library: str = ""  # of liked papers: a file in the home, or a Zotero collection
    titles: tuple[str, ...] = field(default=(), repr=False)  # of the library; never published
    library_size: int = 0  # the number of these titles, which stand in for topics

    @property
    def is_judged(self) -> bool:
        """Check whether its papers are scored; if not, it gets those by followed authors alone."""
        return bool(self.topics or self.library_size)

    @property
    def is_active(self) -> bool:
        """Check whether it has subscribers and is not paused."""
        return bool(self.subscribers) and not self.paused

    @property
    def cross_listed(self) -> tuple[str, ...]:
        """Return the categories that also bring papers whose primary category is elsewhere: all with
        `cross_lists`; without it the journals, since a paper in two feeds has no primary one.
        """
        feeds = dict(self.journals)
        return tuple(name for name in self.categories if self.cross_lists or name in feeds)

    @property
    def is_public(self) -> bool:
        """Check whether the site lists its digests for everybody."""
        return self.archive in {"public", "indexed"}

    def subscriber(self, address: str) -> Subscriber | None:
        """Return the subscriber with the address, whatever its case."""
        if address.lower() in self.addresses():
            for subscriber in self.subscribers:
                if subscriber.address.lower() == address.lower():
                    return subscriber

        return None

    def addresses(self) -> Iterator[str]:
        """Return all subscribers' addresses in lower case."""
        if isinstance(self.subscribers, Subscribers):
            return self.subscribers.addresses()
        return (subscriber.address.lower() for subscriber in self.subscribers)


ET_AL = "et al."  # the last of a paper's authors, if its source cut the list


@dataclass(frozen=True, slots=True)
class Paper:
    """Preprint, with the mark-up of its source still in title and abstract."""

    id: str  # without the version: "2502.06786", "astro-ph/0601001", "biorxiv:10.64898/…"
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
    # Where the source has initials of all other authors, the whole name of the corresponding one;
    # None: all names are whole.
    corresponding: str | None = None
    institution: str = ""  # of the corresponding author
    license: str = ""  # of the abstract, such as "cc_by"; empty: the source names none
    link: str = ""  # of its page, if that does not follow from the id


class Text(NamedTuple):
    """Title and abstract of a paper, for a ranking."""

    id: str
    title: str
    abstract: str


@dataclass(frozen=True, slots=True)
class Score:
    """Judgement of one paper for one list."""

    relevance: int  # 1-10
    novelty: int | None  # 1-10; None where the scorer cannot judge it
    comment: str = ""
    topic: int | None = None  # the number of the list's topic that it serves best; None: not known

    def __post_init__(self) -> None:
        for value in (self.relevance, self.novelty):
            if value is not None and not 1 <= value <= 10:
                raise ValueError(f"a score is 1 to 10, not {value}")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that an LLM counted. Prompt tokens include cached and cache-write tokens, completion
    tokens include reasoning tokens.
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
    """US dollars. Where a price is unknown the cost is None, never zero."""

    prompt: float = 0.0
    completion: float = 0.0

    @property
    def total(self) -> float:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Spending:
    """Usage of an LLM, and its cost."""

    usage: Usage = Usage()
    cost: Cost | None = Cost()  # None: the price of some of it is unknown

    def __add__(self, other: Spending) -> Spending:
        usage = Usage(*map(add, astuple(self.usage), astuple(other.usage)))
        if self.cost is None or other.cost is None:
            return Spending(usage, None)
        cost = Cost(*map(add, astuple(self.cost), astuple(other.cost)))
        return Spending(usage, cost)


@dataclass(frozen=True, slots=True)
class Model:
    """Model that scored the papers."""

    name: str
    is_llm: bool  # False: the embedded scorer, which ranks by words and judges nothing
    learned_from: str = ""  # beside words: "votes", "scores" or "scores and votes"


class Ranker(Protocol):
    """Ranking that a list has learned."""

    @property
    def weight(self) -> float: ...  # beside the words of the topics, which weigh 1

    def strengths(self, texts: Sequence[Text]) -> Sequence[float]: ...


@dataclass(frozen=True, slots=True)
class ToScore:
    """Request to a scorer: the papers that a list wants scored."""

    mailing_list: MailingList
    papers: tuple[Paper, ...]
    recent: Sequence[Text] = ()  # for a scorer that ranks, to compare them with
    rankers: Sequence[Ranker] = ()  # for a scorer that ranks, to blend in


@dataclass(frozen=True, slots=True)
class Scored:
    """Result of one request to a scorer."""

    list_name: str
    scores: Mapping[str, Score] = field(default_factory=dict)  # by id
    # By id: why the paper itself could not be scored.
    unscored: Mapping[str, str] = field(default_factory=dict)
    spending: Spending = Spending()
    problem: str = ""  # why scoring stopped before the list's other papers


class Briefed(NamedTuple):
    """Result of one request for the morning in brief."""

    list_name: str
    sentences: tuple[BriefSentence, ...] | None  # None: there was no answer
    spending: Spending = Spending()
    problem: str = ""  # why there are none to use
    timed_out: bool = False


class Shortfall(StrEnum):
    """Reason why sound papers have no score."""

    BUDGET = "budget"  # the day's budget was used up
    SERVER = "server"  # the LLM is dead or refuses us, or failed on this list too often


@dataclass(frozen=True, slots=True)
class Entry:
    """Paper in a digest."""

    rank: int  # from 1
    paper: Paper
    score: Score | None  # None: a followed author's paper that could not be scored
    matched_authors: tuple[str, ...] = ()  # the followed ones, as the list spells them


class Group(StrEnum):
    """Parts of a digest, in their order."""

    FOLLOWED = "followed"  # by followed authors
    CLOSEST = "closest"  # the best by their scores, to read first
    ALSO = "also"  # in sections by the list's topics, where it has several


class Section(NamedTuple):
    """Part of a digest with a heading of its own."""

    group: Group
    topic: str  # its name; empty: of none
    entries: tuple[Entry, ...]


class BriefSentence(NamedTuple):
    """Sentence by an LLM about papers of a digest."""

    text: str
    paper_ids: tuple[str, ...]
    words: tuple[str, ...] = ()  # of the text, that mean each paper; empty: none do


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of a digest's papers by outcome. Counts that do not add up are refused."""

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
    def scored(self) -> int:
        """Return the number of scored papers; author matches count even without a score."""
        return self.author_matches + self.selected + self.over_cap + self.below

    @property
    def relevant(self) -> int:
        return self.author_matches + self.selected


class PaperOutcome(StrEnum):
    """Outcome of a paper that a list has seen."""

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
    """Digest of one list and morning, before it is rendered. `curate` fills in its papers."""

    mailing_list: MailingList
    date: date  # the list's local date
    model: Model
    spending: Spending = Spending()
    shortfall: Shortfall | None = None  # why sound papers were carried over
    only_days: int = 0  # after a long absence, only papers of so many days; 0: all papers
    late: tuple[str, ...] = ()  # names of the sources whose papers are still to come
    brief: tuple[BriefSentence, ...] = ()  # the morning in brief; empty: nobody wrote one
    entries: tuple[Entry, ...] = ()
    over_cap: tuple[Entry, ...] = ()  # passed, but beyond max_papers; ranked after the entries
    nearest: tuple[Entry, ...] = ()  # the best ten below the thresholds, without a rank
    carried_over: tuple[Paper, ...] = ()
    let_go: tuple[Paper, ...] = ()
    outcomes: Mapping[str, PaperOutcome] = field(default_factory=dict)  # by id; see carried_over
    counts: Counts = Counts()


@dataclass(frozen=True, slots=True)
class Alert:
    """Problem that needs the operator, or news that one is resolved."""

    headline: str  # a short sentence: "The LLM refuses the key"
    paragraphs: tuple[str, ...]  # what happened, what it means for the lists, what to do
    details: tuple[str, ...] = ()  # lines to show as they are: places in files, replies of servers


@dataclass(frozen=True, slots=True)
class Rendered:
    """Content of a mail. The subject is one line of text."""

    subject: str
    html: str
    text: str


@dataclass(frozen=True, slots=True)
class Composed:
    """Shared bytes of a mail: everything but what differs per recipient."""

    subject: str
    sender: str  # the address of the envelope's MAIL FROM
    message: bytes  # RFC 5322 with CRLF line ends
    link: str = ""  # token of its web page; empty: it has none
    shown: bytes = b""  # what that page is made of; see mail/archive.py


class Packed(Composed):
    """Composed mail with `message` and `shown` compressed, as the database keeps them."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Archived:
    """Frozen digest, as the site shows it."""

    id: int
    list_name: str
    date: date  # local to the list
    subject: str
    at: datetime  # when it was frozen
    link: str  # the token of its page
    shown: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ListReport:
    """Result of a morning for one list. Without an outcome the list is still due; see `problem`."""

    list_name: str
    outcome: Outcome | None
    counts: Counts = Counts()
    spending: Spending = Spending()
    problem: str = ""
    earlier: bool = False  # the outcome was recorded before this run
    shortfall: Shortfall | None = None  # why sound papers have no score
    let_go: tuple[Paper, ...] = ()  # not scored on several mornings; they will not come back
    bug: bool = False  # in Paperboy; `problem` names it

    @property
    def is_served(self) -> bool:
        """Check whether scores decided the day's outcome."""
        return self.outcome is not None and self.outcome.is_served


@dataclass(frozen=True, slots=True)
class MorningReport:
    """Result of a morning."""

    lists: tuple[ListReport, ...]

    @property
    def due(self) -> tuple[str, ...]:
        """Return the lists that were tried and have no outcome yet."""
        return tuple(report.list_name for report in self.lists if report.outcome is None)


class DeliveryState(StrEnum):
    """State of a delivery."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    DEFERRED = "deferred"
    AMBIGUOUS = "ambiguous"
    FAILED = "failed"
    SUPPRESSED = "suppressed"  # or no longer on the list, or the list is paused

    @property
    def is_lost(self) -> bool:
        """Check whether sending ended without a mail known to have arrived."""
        return self in {DeliveryState.FAILED, DeliveryState.AMBIGUOUS}


@dataclass(frozen=True, slots=True)
class MessageCopy:
    """Values of one subscriber in their copy of a message."""

    subscriber: Subscriber
    message_id: str  # with angle brackets; the same at every attempt
    token: str  # identifies list and subscriber in an unsubscribe mail


@dataclass(frozen=True, slots=True)
class Delivery:
    """Message to one recipient, as the ledger has it."""

    list_name: str  # the recipient must be on this list; empty: on none
    copy: MessageCopy
    state: DeliveryState = DeliveryState.PENDING
    id: int = 0  # 0: outside the ledger
    frozen_id: int = 0  # of its message
    attempts: int = 0
    uncertain: int = 0  # how often the connection was lost after the final dot
    frozen_at: datetime | None = None  # of its message
    expires: datetime | None = None  # when sending gives up; None: when its message is replaced
    # A digest: refusals count against the server, bounces against the address.
    is_digest: bool = True
    reply: str = ""  # the last one
    suppressed: str | None = None  # why its address gets no mail of the list; None: it does

    @property
    def what(self) -> str:
        """Return the list's name for the log, or the kind of other mail: an alert never expires."""
        return self.list_name or ("confirmation" if self.expires else "alert")


@dataclass(frozen=True, slots=True)
class Envelope:
    """Message on its way to one recipient."""

    sender: str
    recipient: str
    # No line begins with a dot, which SMTP would double: searching each copy costs too much.
    message: bytes
    list_name: str  # empty: it is no digest


@dataclass(frozen=True, slots=True)
class Receipt:
    """Reply of a mail server, or the outbox, to one envelope."""

    state: DeliveryState  # SENT, DEFERRED, FAILED or AMBIGUOUS; PENDING: it was never handed over
    reply: str  # one line, for people
    bounce: bool = False  # the address does not exist
    doubtful: bool = False  # a bounce, unless the server knows no address of its domain
    unclear: bool = False  # refused for good; other recipients show whether we are the reason
    slow_down: bool = False  # the server is overloaded: 421, or "too many"


@dataclass(frozen=True, slots=True)
class Suppression:
    """Address that must not get mail, whatever `subscribers.yaml` says."""

    address: str
    list_name: str  # empty: from any list
    reason: str  # one line, for people
    at: datetime
    own: bool = False  # the person's own wish, which signing up again undoes


class Outcome(StrEnum):
    """Outcome of a list's day."""

    DIGEST = "digest"
    NOTE = "note"  # papers came, none passed
    QUIET = "quiet"  # nothing was announced
    GAVE_UP = "gave up"  # late source, dead LLM
    SKIPPED = "skipped"  # not one of the list's weekdays

    @property
    def is_served(self) -> bool:
        """Check whether scores decided it."""
        return self in {Outcome.DIGEST, Outcome.NOTE}


@dataclass(frozen=True, slots=True)
class Attempt:
    """Failed morning of a list, which stays due."""

    list_name: str
    reason: str  # for people
    at: datetime  # when it was last tried
    since: datetime  # the day's first attempt
    next_try: datetime  # retry backoff: not before
    unscored: int = 0  # papers, where none of them could be scored

    @property
    def why(self) -> str:
        """Return the reason, after the number of papers that were not scored."""
        return f"scored 0 of {self.unscored}: {self.reason}" if self.unscored else self.reason


@dataclass(frozen=True, slots=True)
class Day:
    """Day of one list, with its outcome, ready to be frozen in one transaction."""

    list_name: str
    date: date  # local
    outcome: Outcome
    reason: str = ""  # for people; empty where the outcome needs none
    model: str = ""
    counts: Counts = Counts()
    outcomes: Mapping[str, PaperOutcome] = field(default_factory=dict)  # of seen papers, by id
    tried: frozenset[str] = frozenset()  # ids that could not be scored, though others were
    sampled: frozenset[str] = frozenset()  # ids outside the shortlist, scored as a random sample
    composed: Composed | None = None  # None: there is nothing to send
    copies: tuple[MessageCopy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Tables of a feature. Its statements may use the named values of the core's."""

    name: str  # the feature's
    migrations: tuple[str, ...]  # see store/schema.py
    # Statements by what they delete; see store/retention.py.
    retain: Mapping[str, Sequence[str]] = field(default_factory=dict)
    erase: Sequence[str] = ()  # see store/erasure.py


Advance = Callable[[int, int], None]
"""Takes (done, total) whenever some of the work has ended, well or not: the daemon stops a child
that is silent for too long.
"""


class Progress(Protocol):
    """Shows long work, stage by stage."""

    def stage(self, what: str) -> AbstractContextManager[Advance]: ...
