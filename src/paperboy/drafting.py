"""What a list's digest would be now: from the papers in the store to a composed draft.

    candidates ← stored papers in the list's categories that it has not seen, less those from before its start
    material   ← the candidates that the list's filters leave, with their scores: kept ones, else the scorer's, kept as
                 they arrive; followed authors' papers first
    draft      ← curate, render: pure; what could not be scored is carried over

Marks nothing as sent: scores are kept, because they were paid for; `morning.py` freezes everything else.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Protocol

from paperboy import announcements, curate
from paperboy.due import LONGEST_WINDOW, local_date
from paperboy.errors import BudgetUsedUpError, ScoringError, StoreWriteError
from paperboy.learning import Learning
from paperboy.mail.text import counted, money, together
from paperboy.models import (
    Composed,
    Cost,
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
from paperboy.scoring.local import LocalScorer, Recent
from paperboy.shortlist import Shortlist
from paperboy.store import Store
from paperboy.store.learned import Kind
from paperboy.store.packing import pack

if TYPE_CHECKING:
    from paperboy.mail.message import Composer, Stationery

logger = logging.getLogger(__name__)

_WEEK = timedelta(days=7)


class Scorer(Protocol):
    """Scores several lists at once, asking once for what they share. `score` yields the result of each request
    as it arrives, and raises ScoringError when it cannot continue. It compares with the papers of `recent_days`, which
    include the candidates; 0: it needs none. `estimate` is what scoring may cost; None: the price is unknown.
    """

    @property
    def model(self) -> Model: ...

    @property
    def recent_days(self) -> int: ...

    def criteria(self, mailing_list: MailingList) -> str: ...

    def estimate(self, papers: Sequence[Paper]) -> Cost | None: ...

    def score(
        self, jobs: Sequence[ToScore], may_spend: Callable[[], bool] | None = None
    ) -> Generator[Scored, None, None]: ...


class Progress(Protocol):
    """Shows long work. The stage's callable takes (done, total) as the work goes on."""

    def stage(self, what: str) -> AbstractContextManager[Callable[[int, int], None]]: ...


@dataclass(slots=True)
class Material:
    """All that one list's digest is made of; scoring fills it in. Can be pickled; nobody on the list is named in it."""

    mailing_list: MailingList
    papers: tuple[Paper, ...]  # less the filtered; those by followed authors first
    criteria: str
    model: Model
    stationery: Stationery
    now: datetime
    filtered: frozenset[str] = frozenset()  # by arXiv id
    shortlist: Shortlist = Shortlist()
    learned: tuple[bytes, ...] = ()  # see ToScore
    liked: Mapping[str, float] = field(default_factory=dict)  # by arXiv id: what readers may like, by their votes
    followed: frozenset[str] = frozenset()  # by arXiv id: written by followed authors
    only_days: int = field(default=0, kw_only=True)  # see Digest
    tries: Mapping[str, int] = field(default_factory=dict)  # by arXiv id: earlier mornings on which it was not scored
    scores: dict[str, Score] = field(default_factory=dict)  # by arXiv id
    unscored: dict[str, str] = field(default_factory=dict)  # by arXiv id: why it is not retried today
    spending: Spending = Spending()
    problem: str = ""  # why the others have no score
    shortfall: Shortfall | None = None
    bug: bool = False  # scoring hit one

    @property
    def missing(self) -> tuple[Paper, ...]:
        """Papers with neither a score nor a reason for having none; a list without topics needs no scores."""
        if not self.mailing_list.topics:
            return ()
        known = self.scores.keys() | self.unscored.keys() | self.shortlist.not_called
        return tuple(paper for paper in self.papers if paper.arxiv_id not in known)

    def take(self, scored: Scored) -> tuple[dict[str, Score], Spending]:
        """Take over one request's scores, for the list that asked or one with its criteria; only the first pays. What
        costs nothing is welcome, whatever the shortlist. Returns what is new.
        """
        wanted = {paper.arxiv_id for paper in self.missing}
        free = wanted | self.not_called
        scores = {arxiv_id: score for arxiv_id, score in scored.scores.items() if arxiv_id in free}
        spending = scored.spending if self.mailing_list.name == scored.list_name else Spending()
        self.scores |= scores
        self.spending += spending
        self.unscored |= {arxiv_id: why for arxiv_id, why in scored.unscored.items() if arxiv_id in wanted}
        if self.missing:
            self.problem = self.problem or scored.problem
        return scores, spending

    @property
    def not_called(self) -> frozenset[str]:
        """The papers that the shortlist leaves out and that no other list has paid for, by arXiv id."""
        return self.shortlist.not_called - self.scores.keys()


@dataclass(frozen=True, slots=True)
class Draft:
    """A list's morning as it would be frozen now."""

    digest: Digest
    tried: frozenset[str]  # papers that could not be scored while others were
    judged: bool  # there are scores, or nothing to wait for
    leftover: bool  # all papers, if any, failed before while others were scored, and fail again
    problem: str  # why some papers have no score
    composed: Composed | None = None  # None: there is no mail, or it was not composed

    def outcome(self, missing: str) -> Outcome | None:
        """What the day's outcome would be while the list may wait."""
        return self.outcome_if(missing, waits=True, answered=True)

    def outcome_if(self, missing: str, *, waits: bool, answered: bool) -> Outcome | None:
        """See `curate.outcome_of`."""
        counts, judged, leftover = self.digest.counts, self.judged, self.leftover
        return curate.outcome_of(counts, missing, judged=judged, leftover=leftover, waits=waits, answered=answered)


def draft(material: Material) -> Draft:
    """What the list's digest would be now, not rendered. Pure."""
    mailing_list, scores, unscored = material.mailing_list, material.scores, material.unscored
    day = local_date(mailing_list, material.now)
    tries = {arxiv_id: material.tries.get(arxiv_id, 0) + 1 for arxiv_id in unscored}
    model, spending, shortfall = material.model, material.spending, material.shortfall
    empty = Digest(mailing_list, day, model, spending, shortfall, only_days=material.only_days)
    papers = [paper for paper in material.papers if paper.arxiv_id not in material.not_called]
    digest = curate.curate(empty, papers, scores, tries, material.filtered, material.not_called, material.liked)
    failed_again = unscored.keys() & material.tries.keys()
    leftover = failed_again >= {paper.arxiv_id for paper in papers}
    judged = bool(scores) or leftover or not mailing_list.topics
    return Draft(digest, frozenset(unscored if scores else ()), judged, leftover, material.problem)


def compose(material: Material) -> Draft:
    """Chooses and renders. Pure, from one value that can be pickled to another: any process may do it."""
    made = draft(material)
    counts, send_empty = made.digest.counts, material.mailing_list.send_empty
    if counts.relevant or (made.judged and (counts.scored or counts.filtered) and send_empty):
        return replace(made, composed=material.stationery.digest(made.digest, material.now))
    return made


# Elsewhere


@dataclass(frozen=True, slots=True)
class Batch:
    """Lists whose digests are to be made in another process, and what the embedded scorer has to rank before."""

    materials: tuple[Material, ...]
    jobs: tuple[ToScore, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a batch."""

    scored: tuple[Scored, ...]
    drafts: tuple[Draft | None, ...]  # of each material; None: it could not be composed


def work(batch: Batch) -> Done:
    """Rank, choose, render and compress. Pure, from one value that can be pickled to another."""
    materials = [replace(each, scores=dict(each.scores), unscored=dict(each.unscored)) for each in batch.materials]
    criteria = {each.mailing_list.name: each.criteria for each in materials}
    scored = tuple(_RANKER.score(batch.jobs))
    for one in scored:
        for each in materials:
            if each.criteria == criteria[one.list_name]:
                each.take(one)
    drafts: list[Draft | None] = []
    try:
        drafts += (_packed(compose(each)) for each in materials)
    except Exception as error:  # noqa: BLE001  # it will be raised, and told, where the list is closed
        logger.debug("%r", error)
    return Done(scored, (*drafts, *[None] * (len(materials) - len(drafts))))


_RANKER = LocalScorer()  # keeps its index for the next batch on the same categories


def _packed(made: Draft) -> Draft:
    return replace(made, composed=pack(made.composed)) if made.composed else made


@dataclass(slots=True, kw_only=True)
class Drafter:
    """From the store and the scorer to material."""

    store: Store
    scorer: Scorer
    composer: Composer
    progress: Progress
    learning: Learning
    clock: Callable[[], datetime]
    budget: float | None = None  # US dollars a day, all lists
    budget_zone: tzinfo = UTC  # in which that day begins at midnight
    holidays: Collection[date] = ()  # of arXiv, beyond those that `announcements` knows
    _recent: tuple[tuple[frozenset[str], bool, datetime], Recent] | None = None
    _dead: tuple[str, Shortfall | None] | None = None  # why the scorer is asked for nothing more; None in it: a bug
    _said: str = ""  # the last reason that was logged

    def candidates(
        self, mailing_list: MailingList, now: datetime, *, before: date | None = None, since: datetime | None = None
    ) -> tuple[list[Paper], frozenset[str]]:
        """Papers that the list has not seen, or had not `before` a day: those to consider, and the ids of those from
        before its start: with the newest batch, or with papers submitted `since` then.
        """
        unseen = self.store.papers.unseen(mailing_list, before)
        start = announcements.start_of_newest((paper.published for paper in unseen), now, self.holidays)
        start = min(start, since) if since else start
        started = self.store.days.started(mailing_list.name, LONGEST_WINDOW)
        too_old = curate.before_start(mailing_list, unseen, started, start)
        return [paper for paper in unseen if paper.arxiv_id not in too_old], too_old

    def gather(self, mailing_list: MailingList, papers: Iterable[Paper], now: datetime) -> Material:
        """The candidates with their kept scores, including those that another list paid for."""
        name, criteria, model = mailing_list.name, self.scorer.criteria(mailing_list), self.scorer.model
        found = list(papers)
        filtered = frozenset(each.arxiv_id for each in found if curate.why_filtered(mailing_list, each))
        followed = frozenset(each.arxiv_id for each in found if curate.matched_author(each, mailing_list.authors))
        wanted = [each for each in found if each.arxiv_id not in filtered]
        wanted.sort(key=lambda each: each.arxiv_id not in followed)
        states, none = self.learning.states(mailing_list), Shortlist()
        ranked = {} if model.is_llm else {kind: states[kind].weights for kind in sorted(states)}
        if ranked:  # what was learned since, or by another list on the same topics, ranks otherwise
            criteria += hashlib.sha256(b"".join(ranked.values())).hexdigest()[:16]
        votes = states.get(Kind.VOTES)
        return Material(
            replace(mailing_list, subscribers=(), webhook=""),  # addresses and a secret
            tuple(wanted),
            criteria,
            replace(model, learned_from=" and ".join(ranked)),
            self.composer.stationery(mailing_list, local_date(mailing_list, now)),
            now,
            filtered,
            self.learning.shortlist(mailing_list, wanted, followed, now) if model.is_llm else none,
            tuple(ranked.values()),
            self.learning.strengths(votes, wanted) if votes else {},
            followed,
            self.store.days.tries(name),
            self.store.scores.kept(name, criteria, model.name, [paper.arxiv_id for paper in wanted], now),
            spending=self.store.scores.spending(name),
        )

    def score(self, materials: Sequence[Material], *, aloud: bool = False) -> None:
        """Ask the scorer for all missing scores of these lists at once, and fill them in as they arrive.

        Lists with the same criteria are scored once. A scorer that could not continue is not asked again.
        What a bug leaves unscored is carried over, too. `aloud`: tell a terminal, too, what it will cost.
        """
        if not any(each.missing for each in materials):
            return
        kept = [len(each.scores) for each in materials]
        try:
            if self._dead is None:
                self._ask(materials, aloud=aloud)
        except ScoringError as error:
            used_up = isinstance(error, BudgetUsedUpError)
            self._dead = str(error), Shortfall.BUDGET if used_up else Shortfall.SERVER
        except StoreWriteError:
            raise  # without a disk there is no morning
        except Exception as error:
            logger.exception("this is a bug in Paperboy; the morning continues with the scores it has")
            self._dead = f"scoring hit a bug in Paperboy: {error!r}; see the log", None
        self._conclude(materials, kept)

    def batch(self, materials: Sequence[Material]) -> Batch:
        """What another process needs to make these lists' digests: all but the scores of an LLM, which it has."""
        jobs = () if self.scorer.model.is_llm else tuple(self._jobs(materials))
        return Batch(tuple(materials), jobs)

    def take(self, materials: Sequence[Material], scored: Sequence[Scored]) -> None:
        """Fill in and keep what another process has scored."""
        if not any(each.missing for each in materials):
            return
        kept = [len(each.scores) for each in materials]
        self._keep(materials, scored, sum(len(each.scores) for each in scored))
        self._conclude(materials, kept)

    def _conclude(self, materials: Sequence[Material], kept: Sequence[int]) -> None:
        """Log what was scored and why other scores are missing. `kept`: how many each list had before."""
        for each, before in zip(materials, kept, strict=True):
            if not each.mailing_list.topics:
                continue
            name, number = each.mailing_list.name, len(each.scores)
            logger.info("%s: %d of %d scored, %d now", name, number, len(each.papers), number - before)
            self._explain(each)

    def _ask(self, materials: Sequence[Material], *, aloud: bool) -> None:
        jobs = self._jobs(materials)
        total = sum(len(job.papers) for job in jobs)
        if not total:
            return
        self._announce(jobs, materials[0].now, aloud=aloud)
        with closing(self.scorer.score(jobs, self._may_spend())) as requests:
            self._keep(materials, requests, total)

    def _keep(self, materials: Sequence[Material], requests: Iterable[Scored], total: int) -> None:
        """Fill in and keep the scores of so many papers as they arrive."""
        criteria, done = {each.mailing_list.name: each.criteria for each in materials}, 0
        with self.progress.stage("Scoring papers") as show:
            for scored in requests:
                for each in materials:
                    if each.criteria == criteria[scored.list_name]:
                        self._fill_in(each, scored)
                done += len(scored.scores) + len(scored.unscored)
                show(done, total)

    def _announce(self, jobs: Sequence[ToScore], now: datetime, *, aloud: bool) -> None:
        """Log what scoring will cost; a backlog, or what a person asked for, also on a terminal."""
        if not self.scorer.model.is_llm:
            return
        papers, week_ago = [paper for job in jobs for paper in job.papers], now - _WEEK
        backlog = 2 * sum(paper.published < week_ago for paper in papers) > len(papers)
        cost, names = self.scorer.estimate(papers), together([job.mailing_list.name for job in jobs], 3)
        words = "price unknown" if cost is None else f"about {money(cost.total)}"
        level = logging.WARNING if aloud or backlog else logging.INFO
        logger.log(
            level, "scoring %s for %s by %s: %s", counted(len(papers), "paper"), names, self.scorer.model.name, words
        )

    def _jobs(self, materials: Sequence[Material]) -> list[ToScore]:
        """What to ask for. Of lists with the same criteria, the first asks for what several miss. Lists on the same
        categories share the papers that a scorer compares with.
        """
        asked: set[tuple[str, str]] = set()
        first = {(each.criteria, arxiv_id) for each in materials for arxiv_id in each.followed}
        jobs = []
        for each in materials:
            of, days = each.mailing_list, self.scorer.recent_days
            papers = tuple(paper for paper in each.missing if (each.criteria, paper.arxiv_id) not in asked)
            asked |= {(each.criteria, paper.arxiv_id) for paper in papers}
            if papers:
                recent = self._recent_of(of, each.now - timedelta(days=days)) if days else ()
                ahead = frozenset(paper.arxiv_id for paper in papers if (each.criteria, paper.arxiv_id) in first)
                jobs.append(ToScore(of, papers, recent, ahead, each.learned))
        return jobs

    def _recent_of(self, mailing_list: MailingList, since: datetime) -> Recent:
        """What to compare with. Lists on the same categories, which come one after the other, share it."""
        among = frozenset(mailing_list.categories), mailing_list.cross_lists, since
        if self._recent is None or self._recent[0] != among:
            self._recent = among, Recent(self.store.papers.recent(mailing_list, since))
        return self._recent[1]

    def _fill_in(self, material: Material, scored: Scored) -> None:
        """Let the list take over one request's scores, and keep them."""
        scores, spending = material.take(scored)
        if scores or spending.usage.calls:
            name, criteria, model = material.mailing_list.name, material.criteria, material.model.name
            self.store.scores.keep(name, criteria, model, scores, spending, self.clock())

    def _may_spend(self) -> Callable[[], bool] | None:
        """Whether anything is left of the day's budget for all lists."""
        if self.budget is None:
            return None
        local, budget = self.clock().astimezone(self.budget_zone), self.budget
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
        return lambda: self.store.scores.spent_since(midnight) < budget

    def _explain(self, material: Material) -> None:
        """Log why scores are missing, and keep it for the draft."""
        name = material.mailing_list.name
        problem, shortfall = self._dead or ("", Shortfall.SERVER)  # it may answer for one list and not for another
        if missing := {paper.arxiv_id for paper in material.missing}:
            material.problem = material.problem or problem
            material.shortfall, material.bug = shortfall, shortfall is None
            waiting = f"{len(missing - material.followed)} of them " if missing & material.followed else ""
            told = f"{counted(len(missing), 'paper')} not scored, {waiting}carried over"
            new, self._said = material.problem != self._said, material.problem  # a dead LLM is dead for each list
            level, why = (logging.ERROR, f": {material.problem}") if new else (logging.INFO, "")
            logger.log(level, "%s: %s%s", name, told, why)
        for reason, number in Counter(material.unscored.values()).items():
            logger.warning("%s: %s could not be scored: %s", name, counted(number, "paper"), reason)
        material.problem = material.problem or next(iter(material.unscored.values()), "")
