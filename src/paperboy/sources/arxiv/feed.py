"""A home's connection to arXiv: how far a fetch looks back, lateness, and late cross-lists."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import Protocol

from paperboy.errors import FeedError
from paperboy.models import Advance, Paper
from paperboy.sources.arxiv import calendar, hosts
from paperboy.sources.arxiv.client import AT_ONCE, ArxivClient
from paperboy.sources.source import Fetched, MissingIds

_DAY = timedelta(days=1)
_HELD = timedelta(days=4)  # how long moderation holds a paper, at most
_ANY = "cs.LG"

logger = logging.getLogger(__name__)


class ArxivSettings(Protocol):
    """Settings of arXiv."""

    arxiv_api_url: str
    arxiv_feed_url: str
    arxiv_delay_seconds: float
    arxiv_lookback_days: int
    arxiv_holidays: Collection[date]


def connect(
    settings: ArxivSettings,
    *,
    contact: str,
    proxy: Callable[[str], str],
    clock: Callable[[], datetime],
) -> ArxivFeed:
    """Return a connection to the configured servers, at the configured pace."""
    api_url = settings.arxiv_api_url
    feed_url = hosts.announcements(api_url, settings.arxiv_feed_url)
    client = ArxivClient(
        api_url,
        clock=clock,
        delay_seconds=settings.arxiv_delay_seconds,
        contact=contact,
        proxy=proxy(api_url),
        feed_url=feed_url,
        feed_proxy=proxy(feed_url),
    )
    return ArxivFeed(client, timedelta(days=settings.arxiv_lookback_days), settings.arxiv_holidays)


@dataclass(frozen=True, slots=True)
class ArxivFeed:
    """arXiv through its client."""

    client: ArxivClient
    lookback: timedelta
    holidays: Collection[date] = ()  # beyond those that the calendar knows

    def window(self, now: datetime, last_fetch: datetime | None) -> datetime:
        """Return the instant since which to fetch papers. After an outage, look back as far as the
        daily fetches would have, and at least as long as moderation can hold a paper: papers that
        appeared meanwhile were submitted earlier.
        """
        lookback = self.lookback
        if last_fetch:
            lookback = max(lookback, now - last_fetch + max(_HELD, lookback - _DAY))
        return now - lookback

    def fetch(
        self,
        categories: Sequence[str],
        since: datetime,
        now: datetime,
        newest: datetime | None,
        progress: Advance,
    ) -> Fetched:
        """Return all papers submitted since an instant. The next morning's look-back finds those
        that appear later. A batch is news for 24 hours; later it is no longer waited for.
        """
        papers = self.client.fetch(categories, since, now, progress)
        submitted = [paper.published for paper in papers]
        if newest:
            submitted.append(newest)

        batch = calendar.newest_batch(now, self.holidays)
        is_todays = now - batch.visible < calendar.NEWS_FOR
        is_here = any(instant >= batch.submitted_from for instant in submitted)
        if is_todays and not is_here:  # it may be there, with nothing in these categories
            is_here = self.client.has_news(batch.submitted_from, now)

        missing = ""
        if is_todays and not is_here:
            evening = f"{batch.announced.astimezone(calendar.EASTERN):%A %d %B}"
            missing = f"arXiv's batch of {evening} was due at {batch.visible:%H:%M} UTC and has not arrived yet"
        return Fetched(
            papers=papers,
            news=is_todays and is_here,
            missing=missing,
            older=partial(self._late_cross_lists, categories, since),
        )

    def _late_cross_lists(
        self, categories: Sequence[str], since: datetime, missing_ids: MissingIds
    ) -> list[Paper]:
        """Return papers that were cross-listed today and submitted before the window. On failure
        only these are lost, but for good: the announcement feed covers one day.
        """
        try:
            cross_lists = self.client.cross_lists(categories, missing_ids)
        except FeedError as error:
            logger.warning("late cross-lists are not fetched today: %s", error)
            return []

        late = [paper for paper in cross_lists if paper.published < since]
        if late:
            ids = ", ".join(paper.id for paper in late)
            logger.info("arXiv: %d late cross-lists: %s", len(late), ids)
        return late

    def by_ids(self, ids: Sequence[str]) -> Sequence[Paper]:
        """Return the papers with these ids, a hundred in a request."""
        papers = list[Paper]()
        for start in range(0, len(ids), AT_ONCE):
            papers += self.client.by_ids(ids[start : start + AT_ONCE])
        return papers

    def probe(self, category: str) -> tuple[str, str]:
        """Say how many papers the category has, and what is wrong with the announcement feed."""
        category = category or _ANY
        number = self.client.probe(category)
        papers = "1 paper" if number == 1 else f"{number:,} papers"
        answer = f"{self.client.url} answers; asked for {category} alone, it has {papers}"

        try:
            self.client.cross_lists([category], lambda _: ())
        except FeedError as error:
            effect = f"until {self.client.feed_url} answers, nobody sees papers that are cross-listed late"
            return answer, f"{error}; {effect}"
        return answer, ""
