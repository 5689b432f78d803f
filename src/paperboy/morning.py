"""The imperative shell, first half: from papers to frozen digests.

    lists ← the caller
    fetch the union of all lists' categories into the store; announcements says fresh | quiet | late
    for each list that is due:
        start      ← once: what is too old for a list, or a way into it, that is new
        candidates ← stored papers in its categories that it has not seen, less those from before its start
        scores     ← kept ones, else the scorer's, kept as they arrive; what fails is carried over
        curation   ← curate
        composed   ← the mail's shared bytes
        freeze     ← outcome, digest, what the list has seen, one pending delivery per subscriber: one transaction

It decides nothing that `curate` or `announcements` could decide, and knows the rooms of floor 2 only through the
Protocols below. Sending is `delivery.py`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Protocol

from paperboy import announcements, draft
from paperboy.curate import ways_in
from paperboy.due import LONGEST_WINDOW, begins, local_date, window
from paperboy.errors import FeedError, PaperboyError, StoreWriteError
from paperboy.models import (
    Addressed,
    Composed,
    Counts,
    Day,
    Digest,
    MailingList,
    Outcome,
    Paper,
    Spending,
    Subscriber,
)

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


class Composer(Protocol):
    """Makes a mail's shared bytes, and what makes one copy a subscriber's own."""

    def digest(self, digest: Digest, now: datetime) -> Composed: ...

    def note(self, digest: Digest, now: datetime) -> Composed: ...

    def addressed(self, list_name: str, day: date, subscriber: Subscriber) -> Addressed: ...


class Papers(draft.Papers, Protocol):
    """The stored papers, and a place for new ones."""

    def add(self, papers: Sequence[Paper], categories: Collection[str], at: datetime) -> int: ...

    def last_fetch(self, categories: Collection[str]) -> datetime | None: ...

    def fetched_since(self, categories: Collection[str], since: datetime) -> bool: ...

    def newest(self, categories: Collection[str]) -> datetime | None: ...


class Days(draft.Days, Protocol):
    """What each list's days came to."""

    def outcome(self, list_name: str, day: date) -> Outcome | None: ...

    def begin(self, list_name: str, ways: Collection[str], too_old: Iterable[str], day: date, at: datetime) -> None: ...

    def trouble(self, list_name: str, reason: str, at: datetime) -> None: ...

    def untrouble(self, list_name: str) -> None: ...

    def freeze(self, day: Day, at: datetime) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts(draft.Parts):
    """Everything a morning works with."""

    feed: Feed
    composer: Composer
    papers: Papers
    days: Days
    lookback: timedelta = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class ListReport:
    """What a morning came to for one list. No outcome: it is still due, and `problem` says why."""

    list_name: str
    outcome: Outcome | None
    counts: Counts = Counts()
    spending: Spending = Spending()
    problem: str = ""
    earlier: bool = False  # the outcome stood before this run


@dataclass(frozen=True, slots=True)
class Report:
    """What a morning came to."""

    lists: tuple[ListReport, ...]

    @property
    def due(self) -> tuple[str, ...]:
        """The lists that were tried and have no outcome yet."""
        return tuple(entry.list_name for entry in self.lists if entry.outcome is None)


def run(
    parts: Parts, lists: Sequence[MailingList], chosen: Collection[str], patience: timedelta | None = None
) -> Report:
    """This morning's work for the chosen lists that have no outcome on their local date yet.

    `lists` are all the home's lists, since one fetch serves them all; those without subscribers cost nothing. With
    `patience` the run is one of the daemon's: a list that is not to send on this weekday is skipped, and one that waits
    for a late arXiv or a dead LLM is given up when its hour is that long ago. Without, a person asked: what is there is
    sent, and what fails stays due.
    """
    now = parts.clock()
    wanted = [entry for entry in lists if entry.name in chosen and entry.subscribers]
    outcomes = {entry.name: parts.days.outcome(entry.name, local_date(entry, now)) for entry in wanted}
    reports = [ListReport(name, outcome, earlier=True) for name, outcome in outcomes.items() if outcome]
    if len(reports) == len(wanted):
        return Report(tuple(reports))
    problem = look(parts, [entry for entry in lists if entry.subscribers], now)
    for entry in wanted:
        if outcomes[entry.name] is None:
            report = _one_list(parts, entry, problem, now, patience)
            if report.outcome is None:
                parts.days.trouble(entry.name, report.problem, now)
            else:
                parts.days.untrouble(entry.name)
            reports.append(report)
    return Report(tuple(reports))


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


def _one_list(
    parts: Parts, mailing_list: MailingList, missing: str, now: datetime, patience: timedelta | None
) -> ListReport:
    """One list's failure stops no other: an expected one is a sentence in the report, another one a traceback too."""
    try:
        return _morning_of(parts, mailing_list, missing, now, patience)
    except StoreWriteError:
        raise  # no other list could be frozen either
    except PaperboyError as error:
        logger.error("%s: %s", mailing_list.name, error)
        return ListReport(mailing_list.name, None, problem=str(error))
    except Exception as error:
        logger.exception("%s: this is a bug in Paperboy", mailing_list.name)
        return ListReport(mailing_list.name, None, problem=f"this is a bug in Paperboy: {error!r}; see the log")


def _morning_of(
    parts: Parts, mailing_list: MailingList, missing: str, now: datetime, patience: timedelta | None
) -> ListReport:
    """`missing` says what arXiv has not given yet; empty: it has given all."""
    name, day = mailing_list.name, local_date(mailing_list, now)
    _begin(parts, mailing_list, now)
    if patience is not None and day.weekday() not in mailing_list.weekdays:
        return _freeze(parts, Day(name, day, Outcome.SKIPPED), now)
    waits = patience is None or now < begins(mailing_list, day) + patience
    if missing and waits and patience is not None:
        return ListReport(name, None, problem=missing)
    made = draft.draft(parts, mailing_list, now)
    counts, spending = made.digest.counts, made.digest.spending
    if made.stays_due(missing):
        reason = made.problem or missing
        if waits:
            return ListReport(name, None, counts, spending, reason)
        return _freeze(parts, Day(name, day, Outcome.GAVE_UP, reason, made.digest.model.name, counts), now, spending)
    if made.outcome is Outcome.QUIET and now < announcements.next_batch(now).visible <= begins(mailing_list, day):
        return ListReport(name, Outcome.QUIET)  # asked by hand, and today's batch is to come: the day stays open
    return _freeze(parts, _day(parts, made, now), now, spending)


def _begin(parts: Parts, mailing_list: MailingList, now: datetime) -> None:
    """Settles what is too old for a list, or a way into it, that is new. Not left to the first digest: if that has to
    wait, today's papers are not too old tomorrow. Left to the first fetch: before it, nobody knows what is old.
    """
    if not parts.papers.fetched_since(mailing_list.categories, now):
        return
    papers, too_old = draft.candidates(parts, mailing_list, now)
    if papers or too_old or parts.days.started(mailing_list.name, LONGEST_WINDOW):
        ids = (paper.arxiv_id for paper in too_old)
        parts.days.begin(mailing_list.name, ways_in(mailing_list), ids, local_date(mailing_list, now), now)


def _day(parts: Parts, made: draft.Draft, now: datetime) -> Day:
    """The draft with its mail composed and addressed."""
    digest, mailing_list, outcome = made.digest, made.digest.mailing_list, made.outcome
    assert outcome is not None  # noqa: S101  # the caller has told the two apart
    composed: Composed | None = None
    if outcome is Outcome.DIGEST:
        composed = parts.composer.digest(digest, now)
    elif outcome is Outcome.NOTE and mailing_list.send_empty:
        composed = parts.composer.note(digest, now)
    return Day(
        list_name=mailing_list.name,
        date=digest.date,
        outcome=outcome,
        reason=made.problem,
        model=digest.model.name,
        counts=digest.counts,
        became=made.curation.became(),
        composed=composed,
        addressed=tuple(
            parts.composer.addressed(mailing_list.name, digest.date, subscriber)
            for subscriber in mailing_list.subscribers
            if composed
        ),
    )


def _freeze(parts: Parts, day: Day, now: datetime, spending: Spending = Spending()) -> ListReport:
    parts.days.freeze(day, now)
    logger.info("%s: %s; %s", day.list_name, day.outcome, in_words(day.counts))
    return ListReport(day.list_name, day.outcome, day.counts, spending, day.reason)


def late_sentence(now: datetime) -> str:
    """Why there is nothing yet, for people."""
    batch = announcements.newest_batch(now)
    return (
        f"arXiv's batch of {batch.announced.astimezone(announcements.EASTERN):%A %d %B} was due at "
        f"{batch.visible:%H:%M} UTC and is not there yet"
    )


def in_words(counts: Counts) -> str:
    """The counts as one sentence that adds up."""
    return (
        f"{counts.considered} considered = {counts.scored} scored + {counts.carried_over} carried over"
        f" + {counts.let_go} let go; {counts.scored} scored = {counts.author_matches} author matches"
        f" + {counts.selected} selected + {counts.over_cap} over the cap + {counts.below} below"
    )
