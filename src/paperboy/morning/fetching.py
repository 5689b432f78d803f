"""Fetching from the sources into the store: one fetch each, for the union of all lists' categories.

    window ← the source's look-back, longer if its last whole fetch was longer ago
    papers ← all of the source's, into the store; the source says whether it is late

    older  ← papers from before the window that come to these categories today, by their ids

Papers that surface after the fetch come the next morning: they are in its look-back window, and their ids are new.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from paperboy.due import LONGEST_WINDOW, local_date
from paperboy.errors import FeedError, StoreError, StoreWriteError
from paperboy.models import MailingList, Paper
from paperboy.morning.drafter import Drafter
from paperboy.sources import SOURCES, category_name, named, source_of, sources_of
from paperboy.sources.source import Connect, Feed, FirstRead, MissingIds, Source
from paperboy.store import Store

logger = logging.getLogger(__name__)

_RESTS = timedelta(hours=3)  # between two readings of a feed
_UNREADABLE = timedelta(days=3)  # until that is the operator's problem
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class FetchResult:
    """Result of a fetch, of one source or of several."""

    missing: str = ""  # why papers are missing that lists wait for, for people; empty if none are
    late: frozenset[str] = frozenset()  # keys of the sources whose papers are missing
    unread: frozenset[str] = frozenset()  # categories whose newest papers could not be fetched
    # Feeds that could not be read, by category, and why; no list waits for one.
    failures: Mapping[str, str] = field(default_factory=dict)
    lasting: frozenset[str] = frozenset()  # unread categories that are the operator's problem
    blocks: bool = False  # lists wait for the missing papers even if they have others
    news: bool = False  # the newest batch is there, and is today's

    @property
    def absent(self) -> tuple[str, ...]:
        """Return the names of the sources and journals whose papers are missing."""
        late = (source.name for source in SOURCES if source.key in self.late)
        return (*late, *map(category_name, self.failures))

    @property
    def unreadable(self) -> str:
        """Return why feeds could not be read, for people; empty if all were."""
        return "; ".join(f"{category_name(name)}: {why}" for name, why in self.failures.items())


def result_for(by_source: Mapping[str, FetchResult], mailing_list: MailingList) -> FetchResult:
    """Combine the results of a list's sources; `by_source` has them by source key."""
    results = [by_source[source.key] for source in sources_of(mailing_list.categories)]
    failures = {
        category: why
        for result in results
        for category, why in result.failures.items()
        if category in mailing_list.categories
    }
    return FetchResult(
        missing="; ".join(result.missing for result in results if result.missing),
        late=frozenset().union(*(result.late for result in results)),
        unread=frozenset(failures).union(*(result.unread for result in results)),
        failures=failures,
        lasting=frozenset().union(*(result.lasting for result in results))
        & {*mailing_list.categories},
        blocks=any(result.blocks for result in results),
        news=any(result.news for result in results),
    )


def fetch(
    drafter: Drafter,
    connect: Connect,
    wanted: Sequence[MailingList],
    lists: Sequence[MailingList],
    now: datetime,
    since: Mapping[str, datetime] = MappingProxyType({}),
) -> dict[str, FetchResult]:
    """Fetch the papers of all lists from the sources of the `wanted` lists; return the results by
    source key. A failure leaves the store unchanged, and becomes a sentence in the result.
    `since`, by source key: look back at least this far.
    """
    categories = sorted(
        {category for mailing_list in lists for category in mailing_list.categories}
    )
    sources = sources_of(
        category for mailing_list in wanted for category in mailing_list.categories
    )
    results = dict[str, FetchResult]()
    for source in sources:
        results[source.key] = _fetch_source(
            drafter,
            source,
            feed=connect(source),
            lists=lists,
            categories=[category for category in categories if source_of(category) is source],
            now=now,
            reach=since.get(source.key, now),
        )

    return results


def _fetch_source(
    drafter: Drafter,
    source: Source,
    feed: Feed,
    lists: Sequence[MailingList],
    categories: Sequence[str],
    now: datetime,
    reach: datetime,
) -> FetchResult:
    store = drafter.store
    try:
        # A category that was never fetched has nothing to catch up on.
        fetches = store.papers.fetched(source.key)
        if source.first_read:
            categories = [
                category for category in categories if fetches.get(category, _NEVER) <= now - _RESTS
            ]
            if not categories:
                return FetchResult()
        last_fetch = min(
            (fetches[category] for category in categories if category in fetches),
            default=None,
        )
        since = min(feed.window(now, last_fetch), reach)
        since = max(since, now - LONGEST_WINDOW)
        newest = store.papers.newest(categories)
        with drafter.progress.stage("Fetching papers") as show:
            fetched = feed.fetch(categories, since, now, newest, show)
        papers = fetched.papers
        if source.first_read:
            papers = _as_first_read(store, source.first_read, papers, fetches.keys(), now)
        if papers or not fetched.missing:  # else the next fetch has to reach as far back
            read = [category for category in categories if category not in fetched.failures]
            store.papers.add(papers, read, now, source.key)
    except StoreWriteError:
        raise  # without a disk there is no morning
    except (FeedError, StoreError) as error:
        logger.error("%s", error)
        return _late(source, str(error), categories)
    except Exception as error:
        logger.exception("this is a bug in Paperboy; the morning continues with the stored papers")
        return _late(source, f"fetching hit a bug in Paperboy: {error!r}; see the log", categories)

    _add_older(store, fetched.older, lists, now)

    state = "fresh" if fetched.news else "quiet"
    if fetched.missing:
        state = "late"
    logger.info(
        "%s: %d papers in %s; %s",
        source.name,
        len(fetched.papers),
        ", ".join(named(categories)),
        state,
    )
    if fetched.missing:
        logger.warning("%s", fetched.missing)
        return _late(source, fetched.missing)
    return FetchResult(
        news=fetched.news,
        failures=fetched.failures,
        lasting=_lasting(fetched.failures, fetches, now),
    )


def _lasting(
    failures: Mapping[str, str], fetches: Mapping[str, datetime], now: datetime
) -> frozenset[str]:
    """Log feeds that could not be read, and return those that could not for days."""
    for category, why in failures.items():
        logger.warning("%s: %s", category_name(category), why)
    return frozenset(
        category for category in failures if fetches.get(category, _NEVER) <= now - _UNREADABLE
    )


def _as_first_read(
    store: Store,
    first_read: FirstRead,
    papers: Sequence[Paper],
    read: Collection[str],
    now: datetime,
) -> list[Paper]:
    """Return a feed's papers as they are kept. `read`: the categories that were read before."""
    known = store.papers.by_id([paper.id for paper in papers])
    return [
        first_read(paper, known.get(paper.id), now, in_known=paper.primary_category in read)
        for paper in papers
    ]


def _late(source: Source, missing: str, unread: Sequence[str] = ()) -> FetchResult:
    return FetchResult(
        missing=missing,
        late=frozenset({source.key}),
        unread=frozenset(unread),
        lasting=frozenset(unread),
        blocks=source.waits,
    )


def _add_older(
    store: Store,
    older: Callable[[MissingIds], Sequence[Paper]],
    lists: Sequence[MailingList],
    now: datetime,
) -> None:
    """Store late cross-lists from before the window, marking new ones as too old for lists on their
    primary category. On failure only these are lost.
    """
    try:
        papers = {paper.id: paper for paper in older(store.papers.missing_ids)}
        if not papers:
            return

        new = papers.keys() - store.papers.by_id(papers).keys()
        with store.transaction():  # else a crash between them would send old papers
            store.papers.add([*papers.values()], (), now)
            for mailing_list in lists:
                categories = mailing_list.categories
                ids = {
                    paper_id for paper_id in new if papers[paper_id].primary_category in categories
                }
                if ids:
                    store.days.too_old(mailing_list.name, ids, local_date(mailing_list, now))
    except StoreWriteError:
        raise
    except (FeedError, StoreError) as error:
        logger.warning("older papers are not fetched today: %s", error)
    except Exception:
        logger.exception("this is a bug in Paperboy; older papers are not fetched today")
