"""From arXiv to the store: one fetch for the union of all lists' categories.

    window ← the look-back, or longer where the last whole fetch is longer ago
    papers ← the feed's, all of them into the store; again where they have only just come, until two looks agree
    announcements says fresh | quiet | late

Floor 2 is known only through the Protocols below.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Protocol

from paperboy import announcements, drafting
from paperboy.due import window
from paperboy.errors import FeedError, StoreWriteError
from paperboy.models import MailingList, Paper

logger = logging.getLogger(__name__)

_NEXT_LOOK = 300.0  # seconds
_MOST_LOOKS = 6


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


class Papers(drafting.Papers, Protocol):
    """The stored papers, and a place for new ones."""

    def add(self, papers: Sequence[Paper], categories: Collection[str], at: datetime) -> int: ...

    def last_fetch(self, categories: Collection[str]) -> datetime | None: ...

    def fetched_between(self, categories: Collection[str], since: datetime, now: datetime) -> bool: ...

    def newest(self, categories: Collection[str]) -> datetime | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts(drafting.Parts):
    """Everything that fetching, and drafting after it, work with."""

    feed: Feed
    papers: Papers
    wait: Callable[[float], None]  # seconds
    lookback: timedelta = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at arXiv came to."""

    missing: str = ""  # what it has not given, for people; empty: it has given all that is due
    news: bool = False  # its newest batch is there, and today's news


def look(parts: Parts, lists: Sequence[MailingList], now: datetime, *, twice: bool = False) -> Look:
    """Fetches. `twice`: a batch may come in pieces, so one that is new is looked for until two looks agree."""
    try:
        came, state = fetch(parts, lists, now)
        for _ in range(_MOST_LOOKS if twice else 0):
            if not came:
                break
            logger.info("the batch is new here, and may be coming still; another look in %d minutes", _NEXT_LOOK // 60)
            parts.wait(_NEXT_LOOK)
            came, state = fetch(parts, lists, max(now, parts.clock()))
    except FeedError as error:
        logger.error("%s", error)
        return Look(str(error))
    except StoreWriteError:
        raise  # without a disk there is no morning
    except Exception as error:
        logger.exception("this is a bug in Paperboy; what is stored already goes on")
        return Look(f"fetching met a bug in Paperboy: {error!r}; see the log")
    if state is not announcements.State.LATE or not announcements.is_waited_for(now, parts.holidays):
        return Look(news=state is announcements.State.FRESH)
    late = late_sentence(now, parts.holidays)
    logger.warning("%s", late)
    return Look(late)


def fetch(parts: Parts, lists: Sequence[MailingList], now: datetime) -> tuple[bool, announcements.State]:
    """Brings the new papers of all lists' categories into the store. Raises FeedError; then the store is as it was.

    Says first whether papers came, on the day of a batch, that were not there at the look before: more may come.
    """
    begun = parts.clock()
    categories = sorted({category for entry in lists for category in entry.categories})
    batch, last_look = announcements.newest_batch(now, parts.holidays), parts.papers.last_fetch(categories)
    since = now - window(now, parts.lookback, last_look)
    with parts.progress.stage("Fetching papers") as progress:
        papers = parts.feed.fetch(categories, since, now, progress)
    new = parts.papers.add(papers, categories, now)
    state = announcements.state(now, parts.papers.newest(categories), parts.holidays)
    if state is announcements.State.LATE and parts.feed.has_news(batch.submitted_from, now):
        state = announcements.state(now, now, parts.holidays)  # it is there; these small categories have no part in it
    seconds = (parts.clock() - begun).total_seconds()
    where = ", ".join(categories)
    logger.info("arXiv: %d papers in %s, %d of them new; %s; in %.1f s", len(papers), where, new, state, seconds)
    return new > 0 and state is announcements.State.FRESH, state


def late_sentence(now: datetime, holidays: Collection[date] = ()) -> str:
    """Why there is nothing yet, for people."""
    batch = announcements.newest_batch(now, holidays)
    return (
        f"arXiv's batch of {batch.announced.astimezone(announcements.EASTERN):%A %d %B} was due at "
        f"{batch.visible:%H:%M} UTC and is not there yet"
    )
