"""A home's connection to bioRxiv or medRxiv: how far a fetch looks back, and lateness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from urllib.parse import urlsplit

from paperboy.errors import FeedError
from paperboy.models import Advance
from paperboy.sources.biorxiv.calendar import day_of, last_day, midnight
from paperboy.sources.biorxiv.client import BiorxivClient
from paperboy.sources.biorxiv.records import Window
from paperboy.sources.source import Fetched

_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)  # papers are posted at most this late
_SATURDAY = 5
_HERE = ("127.0.0.1", "::1", "localhost")


class BiorxivSettings(Protocol):
    """Settings of both servers."""

    biorxiv_api_url: str


def connect(
    name: str,
    settings: BiorxivSettings,
    *,
    contact: str,
    proxy: Callable[[str], str],
    clock: Callable[[], datetime],
) -> BiorxivFeed:
    """Return a connection to the configured API for a server, by its name."""
    url = settings.biorxiv_api_url
    client = BiorxivClient(
        url,
        name.lower(),
        contact=contact,
        # A second between requests; none for a cache or a test on this machine.
        delay_seconds=0.0 if urlsplit(url).hostname in _HERE else 1.0,
        proxy=proxy(url),
    )
    return BiorxivFeed(name, client, clock)


@dataclass(frozen=True, slots=True)
class BiorxivFeed:
    """One server through its client."""

    name: str
    client: BiorxivClient
    clock: Callable[[], datetime]

    def window(self, now: datetime, last_fetch: datetime | None) -> datetime:
        """Return the instant since which to fetch papers: a week before the last day fetched, since
        some are posted late.
        """
        return midnight(last_day(last_fetch or now) - _WEEK)

    def fetch(
        self,
        categories: Sequence[str],
        since: datetime,
        now: datetime,
        _: datetime | None,
        progress: Advance,
    ) -> Fetched:
        """Return all papers posted from the day of an instant to yesterday. If yesterday's papers
        are missing, the source is late: return none after one request; the caller retries.
        """
        yesterday = last_day(now)
        try:
            if not self.client.has(yesterday):
                nothing = f"{self.name} has nothing of {yesterday:%A %d %B} yet"
                return Fetched((), news=False, missing=nothing)
            papers = self.client.fetch(Window(day_of(since), yesterday), progress)
        except FeedError as error:
            raise FeedError(f"{self.name}: {error}") from error  # both have the same host

        wanted = frozenset(categories)
        return Fetched([paper for paper in papers if paper.primary_category in wanted], news=True)

    def by_ids(self, _: Sequence[str]) -> None:
        """Return None: the API takes only one id per request."""

    def probe(self, _: str) -> tuple[str, str]:
        """Say how many records the last two complete days have."""
        yesterday = last_day(self.clock())
        window = Window(yesterday - _DAY, yesterday)
        number = self.client.count(window)
        records = "1 record" if number == 1 else f"{number:,} records"
        days = f"{window.first:%A} and {window.last:%A}"
        answer = f"{self.client.url} answers; it has {records} of {days}"
        return answer, "" if number else "it has none of yesterday, so it is late"
