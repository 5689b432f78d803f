"""A home's journals: their feeds read at once, and their entries as papers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from paperboy.edges.text import counted
from paperboy.errors import FeedError
from paperboy.models import Advance, Paper
from paperboy.sources.journals.client import FeedClient, host_of, read_all
from paperboy.sources.journals.entries import JournalEntry, JournalFeed
from paperboy.sources.polite import FaultError
from paperboy.sources.source import Fetched

_BEFORE = timedelta(days=3)  # what has no date is older than what a new list takes for its dates
_INITIALS = 2  # letters of a given name that is none
_HERE = {"127.0.0.1", "localhost", "::1"}


def connect(
    _: object,
    *,
    contact: str,
    proxy: Callable[[str], str],
    clock: Callable[[], datetime],
    feeds: Mapping[str, str],
) -> JournalsFeed:
    """Return a connection to feeds, whose URLs are by category."""

    def client(url: str) -> FeedClient:
        return FeedClient(
            url,
            contact=contact,
            # A cache or a test on this machine needs no mercy.
            delay_seconds=0.0 if urlsplit(url).hostname in _HERE else 1.0,
            proxy=proxy(f"https://{host_of(url)}"),  # to which http is often redirected
        )

    return JournalsFeed(feeds, client, clock)


@dataclass(frozen=True, slots=True)
class JournalsFeed:
    """Feeds, by category."""

    feeds: Mapping[str, str]
    client: Callable[[str], FeedClient]  # of a URL's host
    clock: Callable[[], datetime]

    def window(self, now: datetime, _: datetime | None) -> datetime:
        """Return now: a feed has what it has."""
        return now

    def fetch(
        self,
        categories: Sequence[str],
        _: datetime,
        now: datetime,
        __: datetime | None,
        progress: Advance,
    ) -> Fetched:
        """Return all papers of these categories' feeds, and which feeds could not be read."""
        urls = {name: self.feeds[name] for name in categories if name in self.feeds}
        readings = read_all(urls.values(), self.client, progress)
        papers = dict[str, Paper]()
        failures = dict[str, str]()
        for category, url in urls.items():
            reading = readings[url]
            if isinstance(reading, FaultError):
                failures[category] = _failure(reading, url)
                continue
            for paper in papers_of(reading, category, now):
                known = papers.get(paper.id)
                papers[paper.id] = _both(known, paper) if known else paper
        return Fetched(list(papers.values()), news=bool(papers), failures=failures)

    def by_ids(self, _: Sequence[str]) -> None:
        """Return None: a feed cannot be asked for papers."""

    def probe(self, category: str) -> tuple[str, str]:
        """Say how many papers the feed of a category has. Raises FeedError."""
        now = self.clock()
        fetched = self.fetch([category], now, now, None, lambda *_: None)
        for why in fetched.failures.values():
            raise FeedError(why)
        return f"its feed has {counted(len(fetched.papers), 'paper')}", ""


def papers_of(reading: JournalFeed, category: str, now: datetime) -> Iterator[Paper]:
    """Yield the entries of a feed as papers, dated by the feed; what has no date comes in its
    order, before what a new list takes for its date.
    """
    for place, entry in enumerate(reading.entries):
        if not (entry.doi or entry.link):  # it leads nowhere
            continue
        undated = now - _BEFORE - timedelta(minutes=place)
        date = min(entry.date or undated, now)
        yield Paper(
            id=entry.id,
            version=1,
            title=entry.title,
            authors=entry.authors,
            abstract=entry.abstract,
            primary_category=category,
            categories=(category,),
            published=date,
            updated=date,
            doi=entry.doi,
            corresponding="" if _has_initials(entry) else None,
            license="publisher",
            link=entry.link,
        )


def _has_initials(entry: JournalEntry) -> bool:
    """Check whether no author has a whole given name."""
    givens = [name.rpartition(" ")[0] for name in entry.authors]
    words = [word for given in givens for word in re.split(r"[\s.-]+", given) if word]
    return bool(words) and all(len(word) < _INITIALS for word in words)


def _both(paper: Paper, other: Paper) -> Paper:
    """Return a paper that stands in two feeds."""
    return replace(
        paper,
        categories=(*paper.categories, *other.categories),
        abstract=max(paper.abstract, other.abstract, key=len),
        authors=paper.authors or other.authors,
    )


def _failure(fault: FaultError, url: str) -> str:
    hint = f"; {fault.hint[0].lower()}{fault.hint[1:].rstrip('.')}" if fault.hint else ""
    return f"{host_of(url)} {fault}{hint}"
