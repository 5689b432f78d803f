"""What a list's digest would be now: from the papers in the store to a curated draft.

    candidates ← stored papers in the list's categories that it has not seen, less those from before its start
    scores     ← kept ones, else the scorer's, kept as they arrive; what fails is carried over
    curation   ← curate

Marks nothing: scores are kept, because they were paid for, and all else is for `morning.py` to freeze.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from paperboy import announcements, curate
from paperboy.due import LONGEST_WINDOW, local_date
from paperboy.errors import ScoringError
from paperboy.models import Digest, MailingList, Model, Outcome, Paper, Score, Scored, Spending

logger = logging.getLogger(__name__)


class Scorer(Protocol):
    """Who scores. `recent_days` of papers, the candidates among them, are what it compares with; 0: it needs none."""

    @property
    def model(self) -> Model: ...

    @property
    def recent_days(self) -> int: ...

    def criteria(self, mailing_list: MailingList) -> str: ...

    def score(
        self,
        mailing_list: MailingList,
        papers: Sequence[Paper],
        recent: Sequence[Paper],
        budget: float | None = None,
    ) -> Generator[Scored, None, None]: ...


class Papers(Protocol):
    """The stored papers."""

    def unseen(self, mailing_list: MailingList) -> tuple[Paper, ...]: ...

    def recent(self, mailing_list: MailingList, since: datetime) -> tuple[Paper, ...]: ...


class Scores(Protocol):
    """The kept scores and the spending."""

    def kept(self, list_name: str, criteria: str, model: str, arxiv_ids: Iterable[str]) -> dict[str, Score]: ...

    def keep(
        self, list_name: str, criteria: str, model: str, scores: Mapping[str, Score], spending: Spending, at: datetime
    ) -> None: ...

    def spending(self, list_name: str) -> Spending: ...

    def dollars_since(self, since: datetime) -> float: ...


class Days(Protocol):
    """What each list has begun with."""

    def started(self, list_name: str, absence: timedelta) -> frozenset[str]: ...


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
    budget: float | None = None  # US dollars a day, all lists


@dataclass(frozen=True, slots=True)
class Draft:
    """A list's morning as it would be frozen now."""

    digest: Digest
    curation: curate.Curation
    problem: str = ""  # why some papers have no score

    @property
    def outcome(self) -> Outcome | None:
        """None: nothing could be scored, so there is no saying what the day came to."""
        counts = self.digest.counts
        if not counts.considered:
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
    start = announcements.start_of_newest((paper.published for paper in unseen), now)
    started = parts.days.started(mailing_list.name, LONGEST_WINDOW)
    too_old = curate.before_start(mailing_list, unseen, started, start)
    old_ids = {paper.arxiv_id for paper in too_old}
    return [paper for paper in unseen if paper.arxiv_id not in old_ids], list(too_old)


def draft(parts: Parts, mailing_list: MailingList, now: datetime) -> Draft:
    """What the list's digest would be now. Scores are kept, nothing else is."""
    papers, _ = candidates(parts, mailing_list, now)
    scores, problem = _scores(parts, mailing_list, papers, now)
    curation = curate.curate(mailing_list, papers, scores)
    digest = Digest(
        mailing_list=mailing_list,
        date=local_date(mailing_list, now),
        entries=curation.entries,
        counts=curation.counts,
        model=parts.scorer.model,
        spending=parts.scores.spending(mailing_list.name),
        over_cap=curation.over_cap,
        carried_over=curation.carried_over,
    )
    return Draft(digest, curation, problem)


def _scores(
    parts: Parts, mailing_list: MailingList, papers: Sequence[Paper], now: datetime
) -> tuple[dict[str, Score], str]:
    """Kept scores first; the scorer is asked for the rest. The sentence says why some are missing, if any are."""
    name, model = mailing_list.name, parts.scorer.model.name
    criteria = parts.scorer.criteria(mailing_list)
    scores = parts.scores.kept(name, criteria, model, [paper.arxiv_id for paper in papers])
    unscored = [paper for paper in papers if paper.arxiv_id not in scores]
    if not unscored:
        return scores, ""
    reasons: dict[str, str] = {}
    recent = (
        parts.papers.recent(mailing_list, now - timedelta(days=parts.scorer.recent_days))
        if parts.scorer.recent_days
        else ()
    )
    requests = parts.scorer.score(mailing_list, unscored, recent, _budget_left(parts, now))
    problem = ""
    try:
        with parts.progress.stage(f"Scoring for {name}") as progress, closing(requests):
            for scored in requests:
                parts.scores.keep(name, criteria, model, scored.scores, scored.spending, parts.clock())
                scores |= scored.scores
                reasons |= scored.unscored
                progress(len(reasons) + len(scores) - (len(papers) - len(unscored)), len(unscored))
    except ScoringError as error:
        logger.error("%s: %s", name, error)
        problem = str(error)
    for reason, number in Counter(reasons.values()).items():
        logger.warning("%s: %d papers have no score and come back: %s", name, number, reason)
    return scores, problem or next(iter(reasons.values()), "")


def _budget_left(parts: Parts, now: datetime) -> float | None:
    if parts.budget is None:
        return None
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return max(0.0, parts.budget - parts.scores.dollars_since(day))
