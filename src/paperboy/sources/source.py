"""The port of a source of papers."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Protocol

from paperboy.models import Advance, Paper


@dataclass(frozen=True, slots=True)
class Links:
    """Links of a paper on the web."""

    page: str
    pdf: str = ""  # empty: there is none
    html: str = ""  # empty: there is none


@dataclass(frozen=True, slots=True)
class Batch:
    """Papers that a source releases together. All instants are in UTC."""

    submitted_from: datetime
    submitted_until: datetime  # exclusive
    visible: datetime  # when the source should have it


class Calendar(Protocol):
    """Calendar of a source's batches. All instants are aware; `deferred` are holidays added by the
    operator, for a source that has holidays.
    """

    def newest_batch(self, now: datetime, deferred: Collection[date] = ...) -> Batch:
        """Return the newest batch that should be visible now; there is at most one a day."""

    def why_none(self, since: datetime, until: datetime, deferred: Collection[date] = ...) -> str:
        """Say why no batch became visible between two instants, such as "weekend"; empty if one
        did.
        """

    def start_of_newest(
        self, published: Iterable[datetime], now: datetime, deferred: Collection[date] = ...
    ) -> datetime:
        """Return where a new list starts: at the newest batch that includes one of the instants
        `published`.
        """


MissingIds = Callable[[Mapping[str, Collection[str]]], Sequence[str]]
"""Given categories by paper id, returns the ids of papers that are not stored in all of them."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Result of a complete fetch."""

    papers: Sequence[Paper]  # all papers of the window
    news: bool  # the newest batch is here, and it is today's
    missing: str = ""  # why the source is late, for people, while its newest batch may still come
    # Categories that could not be read, and why; only of a source that reads each on its own.
    failures: Mapping[str, str] = field(default_factory=dict)
    older: Callable[[MissingIds], Sequence[Paper]] = lambda _: ()
    """Missing papers from before the window that the source shows again today. Raises FeedError."""


class Feed(Protocol):
    """Connection of a home to a source."""

    def window(self, now: datetime, last_fetch: datetime | None) -> datetime:
        """Return the instant since which to fetch papers, given the last complete fetch of the
        same categories.
        """

    def fetch(
        self,
        categories: Sequence[str],
        since: datetime,
        now: datetime,
        newest: datetime | None,
        progress: Advance,
    ) -> Fetched:
        """Return all papers submitted to any of these categories since an instant. `newest` is when
        the newest stored paper was submitted; `progress` is called with the numbers of papers so
        far and in total. Raises FeedError.
        """

    def by_ids(self, ids: Sequence[str]) -> Sequence[Paper] | None:
        """Return the papers with these ids, without those that the source does not have; None if it
        cannot be asked for several at once. Raises FeedError.
        """

    def probe(self, category: str) -> tuple[str, str]:
        """Send one small request about a category (empty: any); return the answer in words, and
        what is wrong (empty: nothing). Raises FeedError.
        """


class FirstRead(Protocol):
    """See `Source.first_read`."""

    def __call__(
        self, paper: Paper, known: Paper | None, at: datetime, *, in_known: bool
    ) -> Paper: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """Source of papers. Its `key` begins its ids, as in "biorxiv:", and its categories, as in
    "biorxiv/". Only arXiv's key is empty; whatever belongs to no other source is arXiv's.
    """

    name: str  # as readers know it
    key: str
    categories: Callable[[str], tuple[str, ...]]  # of an item of a list; raises ValueError
    read_id: Callable[[str], str]  # in what people and LLMs write; empty: none of its ids
    marked: Callable[[str], str]  # a title or an abstract as text, with the marks of `paperboy.tex`
    links: Callable[[str, int], Links]  # of a paper, by its id and version
    citation: Callable[[Paper], Mapping[str, str]]  # BibTeX fields that only this source has
    calendar: Calendar
    waits: bool  # while it is late, its lists wait, even if another source has papers
    status_page: str  # where it reports its outages
    if_late: str  # what the operator may do; empty: nothing
    connect: Callable[..., Feed]
    """Takes the settings, and as keywords `contact`, `proxy` (of a URL) and `clock`; and `feeds`,
    the URLs by category, where it has `first_read`.
    """

    # Only for a source of feeds that the operator names, each read on its own: returns a paper as
    # it is stored, given the known one, the instant, and whether its category was read before.
    first_read: FirstRead | None = None


Connect = Callable[[Source], Feed]
