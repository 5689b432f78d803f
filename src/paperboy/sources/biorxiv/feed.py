"""A home's connection to bioRxiv or medRxiv: how far a fetch looks back, and lateness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Protocol
from urllib.parse import urlsplit

from paperboy.errors import FeedError
from paperboy.models import Paper
from paperboy.sources.biorxiv.calendar import day_of, last_day, midnight
from paperboy.sources.biorxiv.client import BiorxivClient
from paperboy.sources.biorxiv.records import NothingError, Window
from paperboy.sources.source import Fetched

_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)  # after which nothing is posted belatedly
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
        # A second between requests; a cache or a test on this machine needs no mercy.
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
        """Return from when on papers are to be fetched: a week before the last day that has been
        fetched, since some are posted late.
        """
        return midnight(last_day(last_fetch or now) - _WEEK)

    def fetch(
        self,
        categories: Sequence[str],
        since: datetime,
        now: datetime,
        newest: datetime | None,
        progress: Callable[[int, int], None],
    ) -> Fetched:
        """Return all papers posted from the day of an instant to yesterday. Raises FeedError also
        while the server has nothing of yesterday, which is asked for first: whoever waits for it
        tries again and again. It is late, too, if it has nothing of an earlier weekday after the
        `newest` stored paper.
        """
        yesterday = last_day(now)
        windows = [Window(yesterday, yesterday), Window(day_of(since), yesterday - _DAY)]
        papers = list[Paper]()
        days = frozenset[date]()
        for window in windows:
            try:
                posted, on_days = self.client.fetch(window, progress)
            except FeedError as error:
                if isinstance(error.__cause__, NothingError):
                    of_days = " to ".join(dict.fromkeys(f"{day:%A %d %B}" for day in window))
                    nothing = f"{self.name} has nothing of {of_days} yet"
                    raise FeedError(nothing) from error
                raise FeedError(f"{self.name}: {error}") from error  # both have the same host
            papers += posted
            days |= on_days

        wanted = frozenset(categories)
        of_days = ""
        if newest:
            known = max(day_of(newest), day_of(since) - _DAY)  # no earlier day was asked for
            empty = _empty_weekdays(days, known, yesterday)
            of_days = ", ".join(f"{day:%A %d %B}" for day in empty)
        return Fetched(
            papers=[paper for paper in papers if paper.primary_category in wanted],
            news=not of_days,
            missing=f"{self.name} has nothing of {of_days} yet" if of_days else "",
        )

    def probe(self, _: str) -> tuple[str, str]:
        """Say how many records the last two complete days have."""
        yesterday = last_day(self.clock())
        window = Window(yesterday - _DAY, yesterday)
        number = self.client.count(window)
        records = "1 record" if number == 1 else f"{number:,} records"
        days = f"{window.first:%A} and {window.last:%A}"
        return f"{self.client.url} answers; it has {records} of {days}", ""


def _empty_weekdays(days: frozenset[date], after: date, until: date) -> Iterator[date]:
    while (after := after + _DAY) <= until:
        if after.weekday() < _SATURDAY and after not in days:
            yield after
