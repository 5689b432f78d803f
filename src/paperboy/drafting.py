"""What a list's digest would be now: from the papers in the store to a composed draft.

    candidates ← stored papers in the list's categories that it has not seen, less those from before its start
    scores     ← kept ones, else the scorer's, kept as they arrive; what fails is carried over
    material   ← all that one digest is made of, as one value
    draft      ← curate, render, compress: pure

Marks nothing: scores are kept, because they were paid for, and all else is for `morning.py` to freeze.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Protocol

from paperboy import announcements, curate
from paperboy.due import LONGEST_WINDOW, local_date
from paperboy.errors import BudgetUsedUpError, ScoringError
from paperboy.models import (
    Addressed,
    Became,
    Composed,
    Digest,
    MailingList,
    Model,
    Outcome,
    Packed,
    Paper,
    Score,
    Scored,
    Shortfall,
    Spending,
    Subscriber,
    ToScore,
)
from paperboy.store import Store
from paperboy.store.days import packed

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


class Progress(Protocol):
    """Shows long work. The stage's callable takes (done, total) as the work goes on."""

    def stage(self, what: str) -> AbstractContextManager[Callable[[int, int], None]]: ...


class Composer(Protocol):
    """Makes a mail's shared bytes, and what makes one copy a subscriber's own."""

    def digest(self, digest: Digest, now: datetime) -> Composed: ...

    def addressed(self, list_name: str, day: date, subscriber: Subscriber) -> Addressed: ...


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
    bug: bool = False  # scoring met one

    @property
    def missing(self) -> tuple[Paper, ...]:
        """What there is neither a score of nor a reason why."""
        known = self.scores.keys() | self.unscored.keys()
        return tuple(paper for paper in self.papers if paper.arxiv_id not in known)


@dataclass(frozen=True, slots=True)
class Material:
    """All that one list's digest is made of. Can be pickled; nobody on the list is named in it."""

    scoring: Scoring
    date: date  # local
    tries: Mapping[str, int]  # by arXiv id: on how many mornings it could not be scored, this one among them
    model: Model
    spending: Spending
    composer: Composer
    now: datetime


@dataclass(frozen=True, slots=True)
class Draft:
    """A list's morning as it would be frozen now."""

    digest: Digest
    became: Mapping[str, Became]  # by arXiv id: what the list has then seen
    tried: frozenset[str]  # papers that could not be scored, and are to blame for it
    leftover: bool  # there is nothing but such papers
    problem: str  # why some papers have no score
    packed: Packed | None = None  # the mail; None: there is none, or it was not composed

    @property
    def outcome(self) -> Outcome | None:
        """None: nothing could be scored, so there is no saying what the day came to."""
        return curate.outcome_of(self.digest.counts, leftover=self.leftover)

    def stays_due(self, missing: str) -> bool:
        """Whether the list stays due: nothing could be scored, or arXiv has given no papers and some are `missing`."""
        return self.outcome is None or (self.outcome is Outcome.QUIET and bool(missing))


def draft(material: Material) -> Draft:
    """What the list's digest would be now, not rendered. Pure."""
    scoring = material.scoring
    curation = curate.curate(scoring.mailing_list, scoring.papers, scoring.scores, material.tries)
    digest = Digest(
        scoring.mailing_list,
        material.date,
        curation.entries,
        curation.counts,
        material.model,
        material.spending,
        curation.over_cap,
        curation.let_go,
        curation.carried_over,
        scoring.shortfall,
    )
    leftover = not scoring.scores and all(paper.arxiv_id in scoring.unscored for paper in scoring.papers)
    return Draft(digest, curation.became(), frozenset(scoring.unscored), leftover, scoring.problem)


def compose(material: Material) -> Draft:
    """Chooses, renders and compresses. Pure, from one value that can be pickled to another: any process may do it."""
    made, composer, now = draft(material), material.composer, material.now
    if made.outcome is Outcome.DIGEST or (made.outcome is Outcome.NOTE and made.digest.mailing_list.send_empty):
        return replace(made, packed=packed(composer.digest(made.digest, now)))
    return made


@dataclass(slots=True, kw_only=True)
class Drafter:
    """From the store and the scorer to material. Papers are read once, and shared by lists until `forget`."""

    store: Store
    scorer: Scorer
    composer: Composer
    progress: Progress
    clock: Callable[[], datetime]
    budget: float | None = None  # US dollars a day, all lists
    budget_zone: tzinfo = UTC  # in which that day begins at midnight
    holidays: Collection[date] = ()  # of arXiv, beyond those that `announcements` knows
    _papers: dict[str, Paper] = field(default_factory=dict)
    _recent: dict[tuple[object, ...], tuple[Paper, ...]] = field(default_factory=dict)
    _dead: tuple[str, Shortfall] | None = None  # why the scorer is asked for nothing more

    def forget(self) -> None:
        """Forget the papers that were read; a fetch may have changed them."""
        self._papers, self._recent = {}, {}

    def candidates(self, mailing_list: MailingList, now: datetime) -> tuple[list[Paper], list[Paper]]:
        """The papers that the list has not seen: those to consider, and those from before its start."""
        unseen = self.store.papers.unseen(mailing_list, self._papers)
        start = announcements.start_of_newest((paper.published for paper in unseen), now, self.holidays)
        started = self.store.days.started(mailing_list.name, LONGEST_WINDOW)
        too_old = curate.before_start(mailing_list, unseen, started, start)
        old_ids = {paper.arxiv_id for paper in too_old}
        return [paper for paper in unseen if paper.arxiv_id not in old_ids], list(too_old)

    def gather(self, mailing_list: MailingList, papers: Iterable[Paper], now: datetime) -> Scoring:
        """The candidates with the scores that are kept of them, also those that another list paid for."""
        scoring = Scoring(replace(mailing_list, subscribers=()), tuple(papers), self.scorer.criteria(mailing_list))
        self._look_up(scoring, now)
        return scoring

    def _look_up(self, scoring: Scoring, now: datetime) -> None:
        key, store = (scoring.mailing_list.name, scoring.criteria, self.scorer.model.name), self.store.scores
        scoring.scores |= store.kept(*key, [paper.arxiv_id for paper in scoring.missing])
        if missing := [paper.arxiv_id for paper in scoring.missing]:
            store.share(*key, missing, now)
            scoring.scores |= store.kept(*key, missing)

    def score(self, scorings: Sequence[Scoring], now: datetime) -> None:
        """Ask the scorer for what is missing, of all these lists at once, and fills it in as it arrives.

        Lists that are judged by the same criteria are judged once. A scorer that could not go on is not asked again.
        """
        if not any(scoring.missing for scoring in scorings):
            return
        kept = {scoring.mailing_list.name: len(scoring.scores) for scoring in scorings}
        for scoring in scorings:
            self._look_up(scoring, now)
        try:
            if self._dead is None:
                self._ask(scorings, now)
        except BudgetUsedUpError as error:
            self._dead = str(error), Shortfall.BUDGET
        except ScoringError as error:
            self._dead = str(error), Shortfall.SERVER
        for scoring in scorings:
            name, number = scoring.mailing_list.name, len(scoring.scores)
            logger.info("%s: %d of %d scored, %d now", name, number, len(scoring.papers), number - kept[name])
            _conclude(scoring, *(self._dead or ("", None)))

    def _ask(self, scorings: Sequence[Scoring], now: datetime) -> None:
        jobs = list(self._jobs(scorings, now))
        total, done = sum(len(job.papers) for job in jobs), 0
        if not total:
            return
        criteria = {scoring.mailing_list.name: scoring.criteria for scoring in scorings}
        requests = self.scorer.score(jobs, self._may_spend(now))
        with self.progress.stage("Scoring papers") as show, closing(requests):
            for scored in requests:
                for scoring in scorings:
                    if scoring.criteria == criteria[scored.list_name]:
                        self._fill_in(scoring, scored)
                done += len(scored.scores) + len(scored.unscored)
                show(done, total)

    def _jobs(self, scorings: Iterable[Scoring], now: datetime) -> Iterator[ToScore]:
        """What to ask for. Of lists that are judged by the same criteria, the first asks for what several miss."""
        asked: dict[str, set[str]] = {}
        for scoring in scorings:
            already = asked.setdefault(scoring.criteria, set())
            if papers := tuple(paper for paper in scoring.missing if paper.arxiv_id not in already):
                already |= {paper.arxiv_id for paper in papers}
                yield ToScore(scoring.mailing_list, papers, self._compared(scoring.mailing_list, now))

    def _compared(self, mailing_list: MailingList, now: datetime) -> tuple[Paper, ...]:
        """What a scorer that ranks compares with: one tuple for all lists on the same categories."""
        if not self.scorer.recent_days:
            return ()
        since = now - timedelta(days=self.scorer.recent_days)
        key = (frozenset(mailing_list.categories), mailing_list.cross_lists, since)
        if key not in self._recent:
            self._recent[key] = self.store.papers.recent(mailing_list, since, self._papers)
        return self._recent[key]

    def _fill_in(self, scoring: Scoring, scored: Scored) -> None:
        """What one request brought, for the list that asked or one of the same criteria; the first pays for it."""
        wanted = {paper.arxiv_id for paper in scoring.missing}
        scores = {arxiv_id: score for arxiv_id, score in scored.scores.items() if arxiv_id in wanted}
        name, model = scoring.mailing_list.name, self.scorer.model.name
        spending = scored.spending if name == scored.list_name else Spending()
        if scores or spending.usage.calls:
            self.store.scores.keep(name, scoring.criteria, model, scores, spending, self.clock())
        scoring.scores |= scores
        scoring.unscored |= {arxiv_id: why for arxiv_id, why in scored.unscored.items() if arxiv_id in wanted}
        if scoring.missing:
            scoring.problem = scoring.problem or scored.problem

    def _may_spend(self, now: datetime) -> Callable[[], bool] | None:
        """Whether the day's budget, of all lists, has anything left."""
        if self.budget is None:
            return None
        midnight = now.astimezone(self.budget_zone).replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
        budget = self.budget
        return lambda: self.store.scores.spent_since(midnight) < budget

    def material(self, scoring: Scoring, now: datetime) -> Material:
        """All that the list's digest is made of, after scoring."""
        before = self.store.days.tries(scoring.mailing_list.name)
        return Material(
            scoring,
            local_date(scoring.mailing_list, now),
            {arxiv_id: before.get(arxiv_id, 0) + 1 for arxiv_id in scoring.unscored},
            self.scorer.model,
            self.store.scores.spending(scoring.mailing_list.name),
            self.composer,
            now,
        )


def _conclude(scoring: Scoring, problem: str, shortfall: Shortfall | None) -> None:
    """Log why scores are missing, and keep it for the draft."""
    name = scoring.mailing_list.name
    if missing := len(scoring.missing):
        scoring.problem = scoring.problem or problem
        scoring.shortfall = shortfall or Shortfall.SERVER  # it answered nothing for this list
        logger.error("%s: %s not scored, carried over: %s", name, _papers(missing), scoring.problem)
    for reason, number in Counter(scoring.unscored.values()).items():
        logger.warning("%s: %s could not be scored: %s", name, _papers(number), reason)
    scoring.problem = scoring.problem or next(iter(scoring.unscored.values()), "")


def _papers(number: int) -> str:
    return f"{number} paper" + ("" if number == 1 else "s")
