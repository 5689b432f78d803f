"""A source of papers, as the rooms above see it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol

from paperboy.models import Paper


@dataclass(frozen=True, slots=True)
class Links:
    """Where a paper stands on the web."""

    page: str
    pdf: str = ""  # empty: there is none
    html: str = ""  # empty: there is none


@dataclass(frozen=True, slots=True)
class Batch:
    """Papers that a source shows together. All instants are in UTC."""

    submitted_from: datetime
    submitted_until: datetime  # exclusive
    visible: datetime  # when the source should have it


class Calendar(Protocol):
    """When a source has new papers. Every instant is aware; `deferred` are dates that the operator
    knows as holidays, for a source that has some.
    """

    def newest_batch(self, now: datetime, deferred: Collection[date] = ...) -> Batch:
        """Return the newest batch that the source should show now; there is at most one a day."""

    def why_none(self, since: datetime, until: datetime, deferred: Collection[date] = ...) -> str:
        """Say why no batch became visible between two instants, such as "weekend"; empty if one
        did.
        """

    def start_of_newest(
        self, published: Iterable[datetime], now: datetime, deferred: Collection[date] = ...
    ) -> datetime:
        """Return where a new list starts: with the newest batch that has one of the papers
        submitted then.
        """


MissingIds = Callable[[Mapping[str, Collection[str]]], Sequence[str]]
"""Of papers with their categories, by id, gives the ids of those that are not stored in all of these."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A whole fetch."""

    papers: Sequence[Paper]  # all of the window
    news: bool  # the newest batch is here, and today's
    missing: str = ""  # the source is late: why, for people, while its newest batch may still come
    older: Callable[[MissingIds], Sequence[Paper]] = (
        lambda _: ()
    )  # of those lacking, that come today from before it; raises FeedError


class Feed(Protocol):
    """A source as a home reaches it."""

    def window(self, now: datetime, last_fetch: datetime | None) -> datetime:
        """Return since when papers are to be fetched, after the last whole fetch of the same
        categories.
        """

    def fetch(
        self,
        categories: Sequence[str],
        since: datetime,
        now: datetime,
        newest: datetime | None,
        progress: Callable[[int, int], None],
    ) -> Fetched:
        """Return all papers submitted to any of these categories since then. `newest` is when the
        newest of these that the home has was submitted; `progress` is told how many have come, and
        how many there are. Raises FeedError.
        """

    def probe(self, category: str) -> tuple[str, str]:
        """Say what the source answers to one small request about a category (empty: any), and what
        it lacks (empty: nothing). Raises FeedError.
        """


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """One source. Its `key` begins its ids, as "biorxiv:", and its categories, as "biorxiv/";
    arXiv's alone is empty, and what belongs to no other source is arXiv's.
    """

    name: str  # as readers know it
    key: str
    categories: Callable[
        [str], tuple[str, ...]
    ]  # those that an entry of a list stands for; raises ValueError
    read_id: Callable[
        [str], str
    ]  # from what people and LLMs write, such as a URL; empty: it is none of its ids
    marked: Callable[[str], str]  # a title or an abstract as text, with the marks of `paperboy.tex`
    links: Callable[[str, int], Links]  # of a paper, by its id and version
    citation: Callable[[Paper], Mapping[str, str]]  # BibTeX's fields that only this source has
    calendar: Calendar
    waits: bool  # while it is late its lists wait, also with papers of another source
    status_page: str  # where it says how it fares
    if_late: str  # what the operator may do; empty: nothing
    connect: Callable[
        ..., Feed
    ]  # with the settings; `contact`, `proxy` of a URL, and `clock` as keywords


Connect = Callable[[Source], Feed]
