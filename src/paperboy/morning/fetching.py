"""From arXiv to the store: one fetch for the union of all lists' categories.

    window ← the look-back, or longer where the last whole fetch is longer ago
    papers ← the feed's, all of them into the store
    announcements says fresh | quiet | late

    late   ← papers from before the window that arXiv announces today as cross-lists, by their ids

What surfaces after the fetch comes the next morning, by its id, from the look-back window.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from paperboy import due
from paperboy.errors import FeedError, StoreError, StoreWriteError
from paperboy.models import MailingList, Paper
from paperboy.morning.drafting import Drafter
from paperboy.sources.arxiv import calendar as announcements
from paperboy.store import Store

logger = logging.getLogger(__name__)


class Feed(Protocol):
    """Where papers come from. `fetch` gives every paper of the window or raises FeedError."""

    def fetch(
        self, categories: Sequence[str], since: datetime, until: datetime, progress: Callable[[int, int], None]
    ) -> list[Paper]: ...

    def cross_lists(
        self, categories: Sequence[str], lacking: Callable[[Mapping[str, Collection[str]]], Sequence[str]]
    ) -> list[Paper]:
        """Papers that arXiv announces today as cross-lists in these categories: of all of them, with those categories,
        those that are `lacking`. Raises FeedError.
        """

    def has_news(self, since: datetime, until: datetime) -> bool:
        """Whether it has any paper of that window, in any category. False also if it does not answer."""


@dataclass(frozen=True, slots=True)
class Look:
    """The result of a fetch."""

    missing: str = ""  # why papers are missing, for people; empty if none are
    news: bool = False  # its newest batch is there, and is today's
    whole: bool = True  # all that it has now is in the store


def look(drafter: Drafter, feed: Feed, lists: Sequence[MailingList], now: datetime, lookback: timedelta) -> Look:
    """Fetch the papers of all these lists. A failure leaves the store as it was, and is a sentence in the result."""
    store, holidays = drafter.store, drafter.holidays
    batch = announcements.newest_batch(now, holidays)
    categories = sorted({category for mailing_list in lists for category in mailing_list.categories})
    try:
        before = store.papers.fetched()  # a category that was never fetched has nothing to catch up on
        last_fetch = min((before[category] for category in categories if category in before), default=None)
        since = now - due.window(now, lookback, last_fetch)
        with drafter.progress.stage("Fetching papers") as show:
            papers = feed.fetch(categories, since, now, show)
        new = store.papers.add(papers, categories, now)
        state = announcements.state(now, store.papers.newest(categories), holidays)
        if state is announcements.State.LATE and feed.has_news(batch.submitted_from, now):
            state = announcements.state(now, now, holidays)  # the batch is there, without these categories
    except StoreWriteError:
        raise  # without a disk there is no morning
    except (FeedError, StoreError) as error:
        logger.error("%s", error)
        return Look(str(error), whole=False)
    except Exception as error:
        logger.exception("this is a bug in Paperboy; the morning continues with the stored papers")
        return Look(f"fetching hit a bug in Paperboy: {error!r}; see the log", whole=False)
    _late_cross_lists(store, feed, lists, categories, since, now)
    logger.info("arXiv: %d papers in %s, %d of them new; %s", len(papers), ", ".join(categories), new, state)
    if state is not announcements.State.LATE or not announcements.is_waited_for(now, holidays):
        return Look(news=state is announcements.State.FRESH)
    evening = f"{batch.announced.astimezone(announcements.EASTERN):%A %d %B}"
    missing = f"arXiv's batch of {evening} was due at {batch.visible:%H:%M} UTC and has not arrived yet"
    logger.warning("%s", missing)
    return Look(missing)


def _late_cross_lists(
    store: Store, feed: Feed, lists: Sequence[MailingList], categories: Sequence[str], since: datetime, now: datetime
) -> None:
    """Store papers that were cross-listed today and submitted before the window of the fetch; those that are new here
    are too old for lists on their primary category. A failure costs them alone: the feed has one day.
    """
    try:
        crossed = feed.cross_lists(categories, store.papers.lacking)
        found = {paper.id: paper for paper in crossed if paper.published < since}  # the fetch has younger ones
        if not found:
            return
        new = found.keys() - store.papers.by_id(found).keys()
        with store.transaction():  # else a crash between them would send old papers
            store.papers.add([*found.values()], (), now)
            for of in lists:
                ids = {paper_id for paper_id in new if found[paper_id].primary_category in of.categories}
                if ids:
                    store.days.too_old(of.name, ids, due.local_date(of, now))
        logger.info("arXiv: %d late cross-lists: %s", len(found), ", ".join(found))
    except StoreWriteError:
        raise
    except (FeedError, StoreError) as error:
        logger.warning("late cross-lists are not looked for today: %s", error)
    except Exception:
        logger.exception("this is a bug in Paperboy; late cross-lists are not looked for today")
