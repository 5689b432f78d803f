"""A list's digest as it would be now, from its papers and their scores to a composed draft. Pure.

gathered  ← `drafter.py`: the papers that the list's filters leave, followed authors' first
scored    ← plus the scores, including kept ones, and the brief
draft     ← curate: papers without a score are carried over
composed  ← render
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from paperboy import curate
from paperboy.due import local_date
from paperboy.models import (
    BriefSentence,
    Composed,
    Digest,
    MailingList,
    Model,
    Outcome,
    Paper,
    Ranker,
    Score,
    Scored,
    Shortfall,
    Spending,
)
from paperboy.store.ledger import pack

if TYPE_CHECKING:
    from paperboy.mail.message import ListComposer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """How a list's learned state changes its morning. Empty by default: no effect."""

    not_called: frozenset[str] = frozenset()  # ids that the LLM is not asked about
    sampled: frozenset[str] = frozenset()  # ids that it is asked about in addition, by chance

    # By id: how much readers will like them, which orders papers with equal scores.
    liked: Mapping[str, float] = field(default_factory=dict)

    rankers: Sequence[Ranker] = ()  # for the embedded scorer
    learned_from: str = ""  # see Model
    key: str = ""  # fingerprint of the rankers


Learn = Callable[[MailingList, Sequence[Paper], Collection[str], datetime], Learned]
"""Returns what a list has learned, given it, its papers, the ids of followed authors' papers, and now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Everything a digest needs except scores. Picklable; contains no subscriber."""

    mailing_list: MailingList
    papers: tuple[Paper, ...]  # without filtered ones; followed authors' papers first
    criteria: str
    model: Model
    for_list: ListComposer
    now: datetime
    filtered: frozenset[str]  # by id
    followed: frozenset[str]  # by id: written by followed authors
    closeness: Mapping[
        str, float
    ]  # to the topics, and to what the embedded scorer has learned, by id
    learned: Learned
    tries: Mapping[str, int]  # by id: number of earlier mornings that failed to score it
    only_days: int  # see Digest
    late: tuple[str, ...] = ()  # see Digest
    # By id not yet seen by the list: the id of the same preprint among the papers.
    twins: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredList:
    """A list's papers and their scores; initially only the cached ones."""

    gathered: Gathered
    scores: Mapping[str, Score]  # by id
    spending: Spending  # not yet frozen into a day; in a preview, also today's
    unscored: Mapping[str, str] = field(default_factory=dict)  # by id: why it is not retried today
    problem: str = ""  # why papers in neither mapping, if any, have no score
    shortfall: Shortfall | None = None
    bug: bool = False  # scoring hit a bug
    brief: tuple[BriefSentence, ...] = ()

    @property
    def missing(self) -> tuple[Paper, ...]:
        """Return the papers with neither a score nor a reason for having none; a list that
        is not judged needs no scores.
        """
        if not self.gathered.mailing_list.is_judged:
            return ()
        known = self.scores.keys() | self.unscored.keys() | self.gathered.learned.not_called
        return tuple(paper for paper in self.gathered.papers if paper.id not in known)

    @property
    def not_called(self) -> frozenset[str]:
        """Return the ids of papers that are left out and that no other list has paid for."""
        return self.gathered.learned.not_called - self.scores.keys()

    def with_scores(self, result: Scored) -> ScoredList:
        """Take over one request's scores, for the list that asked or another with its criteria; only
        the list that asked pays. Free scores are accepted even for papers outside the shortlist.
        """
        missing = {paper.id for paper in self.missing}
        welcome = missing | self.not_called
        scores = {
            paper_id: score for paper_id, score in result.scores.items() if paper_id in welcome
        }
        unscored = {
            paper_id: why for paper_id, why in result.unscored.items() if paper_id in missing
        }
        spending = self.spending
        if self.gathered.mailing_list.name == result.list_name:
            spending += result.spending
        return replace(
            self,
            scores={**self.scores, **scores},
            unscored={**self.unscored, **unscored},
            spending=spending,
            problem=self.problem or result.problem,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Digest of a scored list as it would be frozen now."""

    digest: Digest
    scoring_done: bool  # there are scores, or none to wait for
    leftover: bool  # every paper, if any, has failed again, after mornings that scored others
    problem: str  # why some papers have no score
    mail: Composed | None = None  # None: there is nothing to send, or it was not rendered

    def outcome(self, missing: str, *, waits: bool = True) -> Outcome | None:
        """Return what the day's outcome would be; see `curate.outcome_of`."""
        return curate.outcome_of(
            self.digest.counts,
            missing,
            scoring_done=self.scoring_done,
            leftover=self.leftover,
            waits=waits,
        )


def draft(scored: ScoredList) -> Draft:
    """Choose the entries of the list's digest as it would be now. Pure."""
    gathered = scored.gathered
    mailing_list = gathered.mailing_list
    empty = Digest(
        mailing_list=mailing_list,
        date=local_date(mailing_list, gathered.now),
        model=gathered.model,
        spending=scored.spending,
        shortfall=scored.shortfall,
        only_days=gathered.only_days,
        late=gathered.late,
        brief=scored.brief,
    )
    papers = [paper for paper in gathered.papers if paper.id not in scored.not_called]
    tries = {paper_id: gathered.tries.get(paper_id, 0) + 1 for paper_id in scored.unscored}
    digest = curate.curate(
        empty,
        papers,
        scored.scores,
        tries,
        filtered=gathered.filtered,
        not_called=scored.not_called,
        liked=gathered.learned.liked,
        closeness=gathered.closeness,
    )

    sent = {
        twin: digest.outcomes[paper_id]
        for twin, paper_id in gathered.twins.items()
        if digest.outcomes.get(paper_id) in curate.SHOWN
    }
    digest = replace(digest, outcomes={**digest.outcomes, **sent})

    failed_again = scored.unscored.keys() & gathered.tries.keys()
    leftover = failed_again >= {paper.id for paper in papers}
    return Draft(
        digest=digest,
        scoring_done=bool(scored.scores) or leftover or not mailing_list.is_judged,
        leftover=leftover,
        problem=scored.problem,
    )


def compose(scored: ScoredList) -> Draft:
    """Choose entries and render. Pure; argument and result are picklable, so any process may do it."""
    result = draft(scored)
    gathered = scored.gathered
    counts = result.digest.counts
    if not counts.relevant:
        passed_none = result.scoring_done and (counts.scored or counts.filtered)
        if not (passed_none and gathered.mailing_list.send_empty):
            return result

    return replace(result, mail=gathered.for_list.digest(result.digest, gathered.now))


def work(scored: ScoredList) -> Draft | None:
    """Compose and compress; None if that failed. Pure, with a picklable argument and result."""
    try:
        result = compose(scored)
        if result.mail:
            result = replace(result, mail=pack(result.mail))
    except Exception as error:  # noqa: BLE001  # it will be raised, and reported, where the list is closed
        logger.debug("%r", error)
        return None

    return result
