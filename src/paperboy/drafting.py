"""What a list's digest would be now: from the papers in the store to a curated draft.

    candidates ← stored papers in the list's categories that it has not seen, less those from before its start
    scores     ← kept ones, else the scorer's, kept as they arrive; what fails is carried over
    curation   ← curate

Marks nothing: scores are kept, because they were paid for, and all else is for `morning.py` to freeze.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Protocol

from paperboy import announcements, curate
from paperboy.due import LONGEST_WINDOW, local_date
from paperboy.errors import BudgetUsedUpError, ScoringError
from paperboy.models import (
    Digest,
    MailingList,
    Model,
    Outcome,
    Paper,
    Score,
    Scored,
    Shortfall,
    Spending,
    ToScore,
)

logger = logging.getLogger(__name__)


class Scorer(Protocol):
    """Who scores. `recent_days` of papers, the candidates among them, are what it compares with; 0: it needs none.

    `score` serves several lists at once, since what they share is asked for only once. It gives what each request
    brought as it arrives. Raises ScoringError when it cannot go on.
    """

    @property
    def model(self) -> Model: ...

    @property
    def recent_days(self) -> int: ...

    def criteria(self, mailing_list: MailingList) -> str: ...

    def score(
        self, jobs: Sequence[ToScore], may_spend: Callable[[], bool] | None = None
    ) -> Generator[Scored, None, None]: ...


class Papers(Protocol):
    """The stored papers."""

    def unseen(self, mailing_list: MailingList) -> tuple[Paper, ...]: ...

    def recent(self, mailing_list: MailingList, since: datetime) -> tuple[Paper, ...]: ...


class Scores(Protocol):
    """The kept scores and the spending."""

    def kept(self, list_name: str, criteria: str, model: str, arxiv_ids: Iterable[str]) -> dict[str, Score]: ...

    def kept_by_others(self, criteria: str, model: str, arxiv_ids: Iterable[str]) -> dict[str, Score]: ...

    def keep(
        self,
        list_name: str,
        criteria: str,
        model: str,
        scores: Mapping[str, Score],
        spending: Spending,
        at: datetime,
    ) -> None: ...

    def spent_since(self, since: datetime) -> float: ...

    def spending(self, list_name: str) -> Spending: ...


class Days(Protocol):
    """What each list has begun with, and what it could not score before."""

    def started(self, list_name: str, absence: timedelta) -> frozenset[str]: ...

    def tries(self, list_name: str) -> dict[str, int]: ...


class Progress(Protocol):
    """Shows long work. The stage's callable takes (done, total) as the work goes on."""

    def stage(self, what: str) -> AbstractContextManager[Callable[[int, int], None]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that drafting works with."""

    scorer: Scorer
    papers: Papers
    scores: Scores
    days: Days
    progress: Progress
    clock: Callable[[], datetime]
    alone: Callable[[], AbstractContextManager[object]] = nullcontext  # held while scores are paid for
    budget: float | None = None  # US dollars a day, all lists
    budget_zone: tzinfo = UTC  # in which that day begins at midnight
    holidays: Collection[date] = ()  # of arXiv, beyond those that `announcements` knows


@dataclass(slots=True)
class Scoring:
    """A list's papers, and what is known of them: kept scores first, then what the scorer brings."""

    mailing_list: MailingList
    papers: tuple[Paper, ...]
    criteria: str
    scores: dict[str, Score] = field(default_factory=dict)  # by arXiv id
    unscored: dict[str, str] = field(default_factory=dict)  # by arXiv id: why there is no use asking for it again today
    problem: str = ""  # why the others have no score
    shortfall: Shortfall | None = None

    @property
    def missing(self) -> tuple[Paper, ...]:
        """What there is neither a score of nor a reason why."""
        return tuple(
            paper for paper in self.papers if paper.arxiv_id not in self.scores and paper.arxiv_id not in self.unscored
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """A list's morning as it would be frozen now."""

    digest: Digest
    curation: curate.Curation
    tried: frozenset[str] = frozenset()  # papers that could not be scored, and are to blame for it
    leftover: bool = False  # there is nothing but papers that could not be scored, and are to blame for it
    problem: str = ""  # why some papers have no score

    @property
    def outcome(self) -> Outcome | None:
        """None: nothing could be scored, so there is no saying what the day came to."""
        counts = self.digest.counts
        if not counts.considered or self.leftover:
            return Outcome.QUIET
        if not counts.scored:
            return None
        return Outcome.DIGEST if counts.relevant else Outcome.NOTE

    def stays_due(self, missing: str) -> bool:
        """Whether there is nothing to say yet: nothing could be scored, or `missing` tells what arXiv has not given."""
        return self.outcome is None or (self.outcome is Outcome.QUIET and bool(missing))


def candidates(parts: Parts, mailing_list: MailingList, now: datetime) -> tuple[list[Paper], list[Paper]]:
    """The papers that the list has not seen: those to consider, and those from before its start."""
    unseen = parts.papers.unseen(mailing_list)
    start = announcements.start_of_newest((paper.published for paper in unseen), now, parts.holidays)
    started = parts.days.started(mailing_list.name, LONGEST_WINDOW)
    too_old = curate.before_start(mailing_list, unseen, started, start)
    old_ids = {paper.arxiv_id for paper in too_old}
    return [paper for paper in unseen if paper.arxiv_id not in old_ids], list(too_old)


def gather(parts: Parts, mailing_list: MailingList, now: datetime) -> Scoring:
    """The list's candidates with the scores that are kept of them, also those that another list paid for."""
    papers, _ = candidates(parts, mailing_list, now)
    scoring = Scoring(mailing_list, tuple(papers), parts.scorer.criteria(mailing_list))
    _look_up(parts, scoring, now)
    return scoring


def _look_up(parts: Parts, scoring: Scoring, now: datetime) -> None:
    name, criteria, model = scoring.mailing_list.name, scoring.criteria, parts.scorer.model.name
    scoring.scores |= parts.scores.kept(name, criteria, model, [paper.arxiv_id for paper in scoring.missing])
    missing = [paper.arxiv_id for paper in scoring.missing]
    if missing and (others := parts.scores.kept_by_others(criteria, model, missing)):
        parts.scores.keep(name, criteria, model, others, Spending(), now)
        scoring.scores |= others


def score(parts: Parts, scorings: Sequence[Scoring], now: datetime) -> None:
    """Asks the scorer for what is missing, of all these lists at once, and fills it in. Scores are kept as they arrive.

    Lists that are judged by the same criteria are judged once.
    """
    twins: dict[str, list[Scoring]] = {}
    for scoring in scorings:
        twins.setdefault(scoring.criteria, []).append(scoring)
    if not any(scoring.missing for scoring in scorings):
        return
    problem, shortfall = "", None
    begun, kept = parts.clock(), {scoring.mailing_list.name: len(scoring.scores) for scoring in scorings}
    with parts.alone():  # a preview beside a morning would pay twice, and out of a budget that both count as theirs
        for scoring in scorings:
            _look_up(parts, scoring, now)
        try:
            _ask(parts, twins, now)
        except BudgetUsedUpError as error:
            problem, shortfall = str(error), Shortfall.BUDGET
        except ScoringError as error:
            problem, shortfall = str(error), Shortfall.SERVER
    seconds = (parts.clock() - begun).total_seconds()
    for scoring in scorings:
        name, number = scoring.mailing_list.name, len(scoring.scores)
        new = number - kept[name]
        logger.info("%s: %d of %d scored, %d of them now, in %.1f s", name, number, len(scoring.papers), new, seconds)
        _conclude(scoring, problem, shortfall)


def _ask(parts: Parts, twins: Mapping[str, Sequence[Scoring]], now: datetime) -> None:
    """Fills in what the scorer brings."""
    jobs = list(_jobs(parts, twins.values(), now))
    total = sum(len(job.papers) for job in jobs)
    if not total:
        return
    by_name = {scoring.mailing_list.name: scoring for scorings in twins.values() for scoring in scorings}
    requests = parts.scorer.score(jobs, _may_spend(parts, now))
    with parts.progress.stage("Scoring papers") as progress, closing(requests):
        done = 0
        for scored in requests:
            asker = by_name[scored.list_name]
            for twin in twins[asker.criteria]:
                _fill_in(parts, twin, scored, paid=twin is asker)
            done += len(scored.scores) + len(scored.unscored)
            progress(done, total)


def _jobs(parts: Parts, twins: Iterable[Sequence[Scoring]], now: datetime) -> Iterator[ToScore]:
    """What to ask for: of twins, the first list asks for what several miss."""
    for scorings in twins:
        asked: set[str] = set()
        for scoring in scorings:
            papers = tuple(paper for paper in scoring.missing if paper.arxiv_id not in asked)
            asked |= {paper.arxiv_id for paper in papers}
            days = parts.scorer.recent_days
            recent = parts.papers.recent(scoring.mailing_list, now - timedelta(days=days)) if days and papers else ()
            if papers:
                yield ToScore(scoring.mailing_list, papers, recent)


def _fill_in(parts: Parts, scoring: Scoring, scored: Scored, *, paid: bool) -> None:
    wanted = {paper.arxiv_id for paper in scoring.missing}
    scores = {arxiv_id: score for arxiv_id, score in scored.scores.items() if arxiv_id in wanted}
    spending = scored.spending if paid else Spending()
    name, model = scoring.mailing_list.name, parts.scorer.model.name
    if scores or spending.usage.calls:
        parts.scores.keep(name, scoring.criteria, model, scores, spending, parts.clock())
    scoring.scores |= scores
    scoring.unscored |= {arxiv_id: why for arxiv_id, why in scored.unscored.items() if arxiv_id in wanted}
    if scoring.missing:
        scoring.problem = scoring.problem or scored.problem


def _conclude(scoring: Scoring, problem: str, shortfall: Shortfall | None) -> None:
    """Says why scores are missing, in the log and to whoever drafts the list."""
    name = scoring.mailing_list.name
    if missing := scoring.missing:
        scoring.problem = scoring.problem or problem
        scoring.shortfall = shortfall or Shortfall.SERVER  # it answered nothing for this list
        fate = "paper was not scored and comes back" if len(missing) == 1 else "papers were not scored and come back"
        logger.error("%s: %d %s: %s", name, len(missing), fate, scoring.problem)
    for reason, number in Counter(scoring.unscored.values()).items():
        noun = "paper" if number == 1 else "papers"
        logger.warning("%s: %d %s could not be scored: %s", name, number, noun, reason)
    scoring.problem = scoring.problem or next(iter(scoring.unscored.values()), "")


def draft(parts: Parts, scoring: Scoring, now: datetime) -> Draft:
    """What the list's digest would be now. Pure but for what it looks up."""
    mailing_list = scoring.mailing_list
    before = parts.days.tries(mailing_list.name)
    tries = {arxiv_id: before.get(arxiv_id, 0) + 1 for arxiv_id in scoring.unscored}
    curation = curate.curate(mailing_list, scoring.papers, scoring.scores, tries)
    digest = Digest(
        mailing_list=mailing_list,
        date=local_date(mailing_list, now),
        entries=curation.entries,
        counts=curation.counts,
        model=parts.scorer.model,
        spending=parts.scores.spending(mailing_list.name),
        over_cap=curation.over_cap,
        let_go=curation.let_go,
        carried_over=curation.carried_over,
        shortfall=scoring.shortfall,
    )
    leftover = not scoring.scores and all(paper.arxiv_id in scoring.unscored for paper in scoring.papers)
    return Draft(digest, curation, frozenset(scoring.unscored), leftover, scoring.problem)


def _may_spend(parts: Parts, now: datetime) -> Callable[[], bool] | None:
    """Whether the day's budget, of all lists, has anything left."""
    if parts.budget is None:
        return None
    midnight = now.astimezone(parts.budget_zone).replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
    budget = parts.budget
    return lambda: parts.scores.spent_since(midnight) < budget
