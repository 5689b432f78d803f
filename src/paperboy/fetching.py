"""From arXiv to the store: one fetch for the union of all lists' categories.

    window ← the look-back, or longer where the last whole fetch is longer ago
    papers ← the feed's, all of them into the store
    announcements says fresh | quiet | late

Floor 2 is known only through the Protocols below.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from paperboy import announcements, draft
from paperboy.due import window
from paperboy.errors import FeedError, StoreWriteError
from paperboy.models import MailingList, Paper

logger = logging.getLogger(__name__)


class Feed(Protocol):
    """Where papers come from. `fetch` gives every paper of the window or raises FeedError."""

    def fetch(
        self,
        categories: Sequence[str],
        since: datetime,
        until: datetime,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Paper]: ...

    def has_news(self, since: datetime, until: datetime) -> bool:
        """Whether it knows of any paper of that window, whatever its category. False also where it cannot tell."""
        ...


class Papers(draft.Papers, Protocol):
    """The stored papers, and a place for new ones."""

    def add(self, papers: Sequence[Paper], categories: Collection[str], at: datetime) -> int: ...

    def last_fetch(self, categories: Collection[str]) -> datetime | None: ...

    def fetched_since(self, categories: Collection[str], since: datetime) -> bool: ...

    def newest(self, categories: Collection[str]) -> datetime | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts(draft.Parts):
    """Everything that fetching, and drafting after it, work with."""

    feed: Feed
    papers: Papers
    lookback: timedelta = timedelta(days=7)


def look(parts: Parts, lists: Sequence[MailingList], now: datetime) -> str:
    """Fetches, and says in a sentence what arXiv has not given; empty: it has given all that is due."""
    try:
        state = fetch(parts, lists, now)
    except FeedError as error:
        logger.error("%s", error)
        return str(error)
    except StoreWriteError:
        raise  # without a disk there is no morning
    except Exception as error:
        logger.exception("this is a bug in Paperboy; what is stored already goes on")
        return f"fetching met a bug in Paperboy: {error!r}; see the log"
    if state is not announcements.State.LATE:
        return ""
    logger.warning("%s", late_sentence(now))
    return late_sentence(now)


def fetch(parts: Parts, lists: Sequence[MailingList], now: datetime) -> announcements.State:
    """Brings the new papers of all lists' categories into the store. Raises FeedError; then the store is as it was."""
    categories = sorted({category for entry in lists for category in entry.categories})
    since = now - window(now, parts.lookback, parts.papers.last_fetch(categories))
    with parts.progress.stage("Fetching papers") as progress:
        papers = parts.feed.fetch(categories, since, now, progress)
    new = parts.papers.add(papers, categories, now)
    state = announcements.state(now, parts.papers.newest(categories))
    if state is announcements.State.LATE and parts.feed.has_news(announcements.newest_batch(now).submitted_from, now):
        state = announcements.state(now, now)  # the batch is there; these small categories have no part in it
    logger.info("arXiv: %d papers in %s, %d of them new; %s", len(papers), ", ".join(categories), new, state)
    return state


def late_sentence(now: datetime) -> str:
    """Why there is nothing yet, for people."""
    batch = announcements.newest_batch(now)
    return (
        f"arXiv's batch of {batch.announced.astimezone(announcements.EASTERN):%A %d %B} was due at "
        f"{batch.visible:%H:%M} UTC and is not there yet"
    )
