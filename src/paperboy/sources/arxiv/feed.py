"""arXiv as a home reaches it: how far a fetch looks back, whether arXiv is late, and late
cross-lists.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import Protocol

from paperboy.errors import FeedError
from paperboy.models import Paper
from paperboy.sources.arxiv import calendar, hosts
from paperboy.sources.arxiv.calendar import Freshness
from paperboy.sources.arxiv.client import ArxivClient
from paperboy.sources.source import Fetched, MissingIds

_DAY = timedelta(days=1)
_HELD = timedelta(days=4)  # by moderation, at most
_ANY = "cs.LG"

logger = logging.getLogger(__name__)


class ArxivSettings(Protocol):
    """Those of arXiv."""

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
    """Return the feed of the configured server, polite at the configured pace."""
    announcements = hosts.announcements(settings.arxiv_api_url, settings.arxiv_feed_url)
    client = ArxivClient(
        settings.arxiv_api_url,
        delay_seconds=settings.arxiv_delay_seconds,
        contact=contact,
        proxy=proxy(settings.arxiv_api_url),
        feed_url=announcements,
        feed_proxy=proxy(announcements),
        clock=clock,
    )
    return ArxivFeed(client, timedelta(days=settings.arxiv_lookback_days), settings.arxiv_holidays)


@dataclass(frozen=True, slots=True)
class ArxivFeed:
    """arXiv through its client. `holidays` are evenings without an announcement, beyond those that
    the calendar has.
    """

    client: ArxivClient
    lookback: timedelta
    holidays: Collection[date] = ()

    def window(self, now: datetime, last_fetch: datetime | None) -> datetime:
        """Return since when papers are to be fetched. After an outage that is as far back as the
        daily fetches would have looked, and at least the days for which moderation can hold a
        paper: what surfaced meanwhile was submitted before.
        """
        outage = now - last_fetch + max(_HELD, self.lookback - _DAY) if last_fetch else timedelta()
        return now - max(self.lookback, outage)

    def fetch(
        self,
        categories: Sequence[str],
        since: datetime,
        now: datetime,
        newest: datetime | None,
        progress: Callable[[int, int], None],
    ) -> Fetched:
        """Return all papers submitted since then. What surfaces later comes the next morning, from
        the look-back.
        """
        papers = self.client.fetch(categories, since, now, progress)
        submitted = [paper.published for paper in papers] + ([newest] if newest else [])
        state = calendar.state(now, max(submitted, default=None), self.holidays)
        batch = calendar.newest_batch(now, self.holidays)
        if state is Freshness.LATE and self.client.has_news(batch.submitted_from, now):
            state = calendar.state(
                now, now, self.holidays
            )  # the batch is there, without these categories
        missing = ""
        if (
            state is Freshness.LATE and now - batch.visible < calendar.NEWS_FOR
        ):  # after a day it counts as a gap
            evening = f"{batch.announced.astimezone(calendar.EASTERN):%A %d %B}"
            missing = f"arXiv's batch of {evening} was due at {batch.visible:%H:%M} UTC and has not arrived yet"
        return Fetched(
            papers,
            state is Freshness.FRESH,
            missing,
            partial(self._late_cross_lists, categories, since),
        )

    def _late_cross_lists(
        self, categories: Sequence[str], since: datetime, missing_ids: MissingIds
    ) -> list[Paper]:
        """Return papers that were cross-listed today and submitted before the window. A failure
        costs them alone: the announcement feed has one day.
        """
        try:
            crossed = self.client.cross_lists(categories, missing_ids)
        except FeedError as error:
            logger.warning("late cross-lists are not looked for today: %s", error)
            return []
        found = [paper for paper in crossed if paper.published < since]
        if found:
            logger.info(
                "arXiv: %d late cross-lists: %s", len(found), ", ".join(paper.id for paper in found)
            )
        return found

    def probe(self, category: str) -> tuple[str, str]:
        """Say how many papers the category has, and whether the announcement feed answers."""
        category = category or _ANY
        number = self.client.probe(category)
        papers = "1 paper" if number == 1 else f"{number:,} papers"
        said = f"{self.client.url} answers; asked for {category} alone, it has {papers}"
        try:
            self.client.cross_lists([category], lambda _: ())
        except FeedError as error:
            why = f"until {self.client.feed_url} answers, nobody sees papers that are cross-listed late"
            return said, f"{error}; {why}"
        return said, ""
