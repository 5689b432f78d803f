"""The imperative shell, first half: from papers to frozen digests.

    lists ← the caller
    fetch the union of all lists' categories into the store; announcements says fresh | quiet | late
    for each list that is due:
        superseded ← what reached nobody until now: its papers return to the pool
        start      ← once: what is too old for a list, or a way into it, that is new
        candidates ← stored papers in its categories that it has not seen, less those from before its start
    scores     ← kept ones, else the scorer's, for all these lists at once, kept as they arrive
    for each of them:
        curation   ← curate; what could not be scored is carried over, and after three mornings let go
        composed   ← the mail's shared bytes
        freeze     ← outcome, digest, what the list has seen, one pending delivery per subscriber: one transaction

It decides nothing that `curate` or `announcements` could decide, and knows the rooms of floor 2 only through the
Protocols below. Sending is `delivery.py`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Protocol, TypeVar

from paperboy import announcements, drafting, due, fetching
from paperboy.curate import ways_in
from paperboy.decisions import explained
from paperboy.due import LONGEST_WINDOW, begins, is_open, local_date
from paperboy.errors import PaperboyError, StoreWriteError
from paperboy.models import (
    Addressed,
    Attempt,
    Composed,
    Counts,
    Day,
    Digest,
    ListReport,
    MailingList,
    MorningReport,
    Outcome,
    Subscriber,
)

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

NOTHING_WAS_DONE = "no morning of this list came to its end: Paperboy was not at work, or the list had no subscribers"


class Composer(Protocol):
    """Makes a mail's shared bytes, and what makes one copy a subscriber's own."""

    def digest(self, digest: Digest, now: datetime) -> Composed: ...

    def note(self, digest: Digest, now: datetime) -> Composed: ...

    def addressed(self, list_name: str, day: date, subscriber: Subscriber) -> Addressed: ...


class Days(drafting.Days, Protocol):
    """What each list's days came to."""

    def outcome(self, list_name: str, day: date) -> Outcome | None: ...

    def begin(self, list_name: str, ways: Collection[str], too_old: Iterable[str], day: date, at: datetime) -> None: ...

    def supersede(self, list_name: str, before: date, at: datetime) -> date | None: ...

    def last(self, list_name: str) -> date | None: ...

    def attempts(self) -> Mapping[str, Attempt]: ...

    def note_attempt(self, attempt: Attempt) -> None: ...

    def forget_attempt(self, list_name: str) -> None: ...

    def freeze(self, day: Day, at: datetime) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts(fetching.Parts):
    """Everything a morning works with."""

    composer: Composer
    days: Days


def run(
    parts: Parts, lists: Sequence[MailingList], chosen: Collection[str], patience: timedelta | None = None
) -> MorningReport:
    """This morning's work for the chosen lists whose local date is open.

    `lists` are all the home's lists, since one fetch serves them all; those without subscribers cost nothing. With
    `patience` the run is one of the daemon's: a list that is not to send on this weekday is skipped, and one that waits
    for a late arXiv or a dead LLM is given up when it was first tried that long ago. Without, a person asked: what is
    there is sent, also where the daemon skipped the day or gave it up, and what fails stays due.
    """
    now, by_hand = parts.clock(), patience is None
    wanted = [entry for entry in lists if entry.name in chosen and entry.subscribers]
    to_do, reports = list[MailingList](), list[ListReport]()
    for entry in wanted:
        day = local_date(entry, now)
        outcome = parts.days.outcome(entry.name, day)
        if is_open(entry, day, outcome, by_hand=by_hand):
            to_do.append(entry)
        else:
            reports.append(ListReport(entry.name, outcome, earlier=True))
    if not to_do:
        return MorningReport(tuple(reports))
    looked = fetching.look(parts, [entry for entry in lists if entry.subscribers], now, twice=not by_hand)
    missing = looked.missing
    if not by_hand:
        for entry in wanted:
            _guarded(entry, partial(_explain, parts, entry, now))
    opened = {entry.name: _guarded(entry, partial(_open, parts, entry, missing, now, patience)) for entry in to_do}
    scorings = [each for each in opened.values() if isinstance(each, drafting.Scoring)]
    bug = _score(parts, scorings, now)
    for entry in to_do:
        each = opened[entry.name]
        if isinstance(each, drafting.Scoring):
            report = _guarded(each.mailing_list, partial(_close, parts, each, missing, now, patience))
            if bug and each.missing:
                report = replace(report, bug=True)
        else:
            report = each
        if report.outcome is None:
            before = parts.days.attempts().get(entry.name)
            parts.days.note_attempt(due.failed(entry, _trouble(report), before, now, parts.clock()))
        else:
            parts.days.forget_attempt(entry.name)
        reports.append(report)
    return MorningReport(tuple(reports), missing, looked.news)


def _next_batch(parts: Parts, now: datetime) -> datetime:
    return announcements.next_batch(now, parts.holidays).visible


def _waits(parts: Parts, mailing_list: MailingList, now: datetime, patience: timedelta) -> bool:
    """Whether a list that has nothing to say yet is tried again today."""
    attempt = parts.days.attempts().get(mailing_list.name)
    return now < due.standing(mailing_list, None, attempt, now, patience).gives_up


def _explain(parts: Parts, mailing_list: MailingList, now: datetime) -> None:
    """No day is left without a word: one that ended before its list could be served, or while nobody was at work."""
    name, today = mailing_list.name, local_date(mailing_list, now)
    last, attempt = parts.days.last(name), parts.days.attempts().get(name)
    if last is None or today - last > LONGEST_WINDOW:  # it is new, or back after a long absence
        return
    for day in (last + timedelta(days=ahead) for ahead in range(1, (today - last).days)):
        outcome = Outcome.GAVE_UP if day.weekday() in mailing_list.weekdays else Outcome.SKIPPED
        tried = attempt is not None and local_date(mailing_list, attempt.at) == day
        why = attempt.reason if attempt and tried else NOTHING_WAS_DONE
        parts.days.freeze(Day(name, day, outcome, why if outcome is Outcome.GAVE_UP else ""), now)
        logger.warning("%s: %s ended as %s%s", name, day, outcome, f"; {why}" if outcome is Outcome.GAVE_UP else "")


def _trouble(report: ListReport) -> str:
    considered = report.counts.considered
    return f"scored 0 of {considered}: {report.problem}" if considered else report.problem


def _score(parts: Parts, scorings: Sequence[drafting.Scoring], now: datetime) -> bool:
    """Scores what all lists are missing. Says whether that met a bug; what it left unscored is carried over."""
    try:
        drafting.score(parts, scorings, now)
    except StoreWriteError:
        raise  # without a disk there is no morning
    except Exception as error:
        logger.exception("this is a bug in Paperboy; what is scored already goes on")
        for scoring in scorings:
            if scoring.missing:
                scoring.problem = f"scoring met a bug in Paperboy: {error!r}; see the log"
        return True
    return False


def _guarded(mailing_list: MailingList, work: Callable[[], _T]) -> _T | ListReport:
    """One list's failure stops no other: an expected one is a sentence in the report, another one a traceback too."""
    try:
        return work()
    except StoreWriteError:
        raise  # no other list could be frozen either
    except PaperboyError as error:
        logger.error("%s: %s", mailing_list.name, error)
        return ListReport(mailing_list.name, None, problem=str(error))
    except Exception as error:
        logger.exception("%s: this is a bug in Paperboy", mailing_list.name)
        return ListReport(
            mailing_list.name, None, problem=f"this is a bug in Paperboy: {error!r}; see the log", bug=True
        )


def _open(
    parts: Parts, mailing_list: MailingList, missing: str, now: datetime, patience: timedelta | None
) -> ListReport | drafting.Scoring:
    """What is to be scored; or the report of a list that need not, or must not yet, go on.

    `missing` says what arXiv has not given yet; empty: it has given all.
    """
    name, day = mailing_list.name, local_date(mailing_list, now)
    _begin(parts, mailing_list, now)
    if patience is not None and day.weekday() not in mailing_list.weekdays:
        return _freeze(parts, Day(name, day, Outcome.SKIPPED), now, parts.clock())
    if missing and patience is not None and _waits(parts, mailing_list, now, patience):
        return ListReport(name, None, problem=missing)
    if superseded := parts.days.supersede(name, day, now):
        logger.warning("%s: the digest of %s reached nobody; its papers come with today's", name, superseded)
    return drafting.gather(parts, mailing_list, now)


def _close(
    parts: Parts, scoring: drafting.Scoring, missing: str, now: datetime, patience: timedelta | None
) -> ListReport:
    """From scores to a frozen day."""
    mailing_list = scoring.mailing_list
    name, day, begun = mailing_list.name, local_date(mailing_list, now), parts.clock()
    made = drafting.draft(parts, scoring, now)
    if logger.isEnabledFor(logging.DEBUG):
        for line in explained(mailing_list, made.curation, scoring.scores, scoring.unscored, scoring.problem):
            logger.debug("%s: %s", name, line)
    counts = made.digest.counts
    if made.stays_due(missing):
        reason = missing if made.leftover else made.problem or missing
        if patience is None or _waits(parts, mailing_list, now, patience):
            return _report(made, None, reason)
        # it answered, and had nothing: a holiday that is on no list looks like that
        gap = made.outcome is Outcome.QUIET and _fetched(parts, mailing_list, now)
        outcome = Outcome.QUIET if gap else Outcome.GAVE_UP
        frozen = Day(name, day, outcome, reason, made.digest.model.name, counts)
    elif made.outcome is Outcome.QUIET and now < _next_batch(parts, now) <= begins(mailing_list, day):
        return ListReport(name, Outcome.QUIET)  # asked by hand, and today's batch is to come: the day stays open
    else:
        frozen = _day(parts, made, missing, now)
    _freeze(parts, frozen, now, begun)
    return _report(made, frozen.outcome, frozen.reason)


def _report(made: drafting.Draft, outcome: Outcome | None, problem: str) -> ListReport:
    digest = made.digest
    due = outcome in {None, Outcome.GAVE_UP}
    counts = Counts() if due and made.leftover else digest.counts  # then it waits for arXiv, whatever is left over
    let_go = digest.let_go if outcome in {Outcome.DIGEST, Outcome.NOTE} else ()
    return ListReport(
        digest.mailing_list.name,
        outcome,
        counts,
        digest.spending,
        problem,
        shortfall=digest.shortfall,
        let_go=let_go,
    )


def _begin(parts: Parts, mailing_list: MailingList, now: datetime) -> None:
    """Settles what is too old for a list, or a way into it, that is new. Not left to the first digest: if that has to
    wait, today's papers are not too old tomorrow. Left to the first fetch: before it, nobody knows what is old.
    """
    if not _fetched(parts, mailing_list, now):
        return
    papers, too_old = drafting.candidates(parts, mailing_list, now)
    for paper in too_old:
        logger.debug("%s: %s: from before its start", mailing_list.name, paper.arxiv_id)
    if papers or too_old or parts.days.started(mailing_list.name, LONGEST_WINDOW):
        ids = (paper.arxiv_id for paper in too_old)
        parts.days.begin(mailing_list.name, ways_in(mailing_list), ids, local_date(mailing_list, now), now)


def _fetched(parts: Parts, mailing_list: MailingList, now: datetime) -> bool:
    """Whether this run has fetched the list's papers."""
    return parts.papers.fetched_between(mailing_list.categories, now, max(now, parts.clock()))


def _day(parts: Parts, made: drafting.Draft, missing: str, now: datetime) -> Day:
    """The draft with its mail composed and addressed. It goes out also without what is `missing`."""
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
        reason=made.problem or missing,
        model=digest.model.name,
        counts=digest.counts,
        became=made.curation.became(),
        tried=made.tried if outcome is not Outcome.QUIET else frozenset(),
        composed=composed,
        addressed=tuple(
            parts.composer.addressed(mailing_list.name, digest.date, subscriber)
            for subscriber in mailing_list.subscribers
            if composed
        ),
    )


def _freeze(parts: Parts, day: Day, now: datetime, begun: datetime) -> ListReport:
    parts.days.freeze(day, now)
    seconds = (parts.clock() - begun).total_seconds()
    logger.info("%s: %s; %s; in %.1f s", day.list_name, day.outcome, in_words(day.counts), seconds)
    return ListReport(day.list_name, day.outcome, day.counts, problem=day.reason)


def in_words(counts: Counts) -> str:
    """The counts as one sentence that adds up."""
    return (
        f"{counts.considered} considered = {counts.scored} scored + {counts.carried_over} carried over"
        f" + {counts.let_go} let go; {counts.scored} scored = {counts.author_matches} author matches"
        f" + {counts.selected} selected + {counts.over_cap} over the cap + {counts.below} below"
    )
