"""The drafter collects all that a draft needs: from the store, the scorer and the brief writer.

    candidates ← stored papers in the list's categories, new to the list, and not from before its start
    gathered   ← the candidates that pass the list's filters, followed authors' papers first, with their kept scores
    scored     ← the scorer's scores for the others, kept as they arrive
    brief      ← kept sentences about the chosen papers, else the LLM's, requested once, for up to 20 seconds; optional

Nothing is marked as sent here. Scores and briefs are kept at once, because they were paid for;
`morning.py` freezes everything else.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from paperboy import curate
from paperboy.due import LONGEST_WINDOW, local_date
from paperboy.edges.text import counted, money, one_line, together
from paperboy.errors import BudgetUsedUpError, PaperboyError, ScoringError, StoreWriteError
from paperboy.models import (
    Briefed,
    Cost,
    Digest,
    MailingList,
    Model,
    Outcome,
    Paper,
    Progress,
    Scored,
    Shortfall,
    Spending,
    Text,
    ToScore,
)
from paperboy.morning.drafting import Draft, Gathered, Learn, Learned, ScoredList, draft
from paperboy.scoring.local import closeness
from paperboy.sources import source_of, sources_of, twins
from paperboy.store import Store

if TYPE_CHECKING:
    from paperboy.mail.message import Composer

logger = logging.getLogger(__name__)

# A ranking scorer compares each candidate with all papers of these days, candidates included.
RECENT = timedelta(days=30)

BRIEF_SECONDS = 20.0  # for a list's brief; once one takes longer, no more are asked for
FEWEST_BRIEFED = 4  # papers; fewer can be read as fast as a brief


class Scorer(Protocol):
    """Scores several lists at once; shared papers are asked for once. `score` yields the result of
    each request as it arrives, and raises ScoringError when it cannot continue. `estimate` returns
    what scoring may cost; None: the price is unknown.
    """

    @property
    def model(self) -> Model: ...

    def criteria(self, mailing_list: MailingList) -> str: ...

    def estimate(self, papers: Sequence[Paper]) -> Cost | None: ...

    def score(
        self,
        jobs: Sequence[ToScore],
        may_spend: Callable[[], bool] | None = None,
    ) -> Generator[Scored]: ...


class BriefWriter(Protocol):
    """Writes briefs: one request per digest, within a time limit."""

    def brief_key(self, digest: Digest, criteria: str) -> str: ...

    def briefs(
        self,
        digests: Sequence[Digest],
        may_spend: Callable[[], bool] | None,
        seconds: float,
    ) -> Generator[Briefed]: ...


_Wanted = Mapping[str, tuple[str, Digest]]  # briefs by list: the key of a kept one, and the digest


@dataclass(slots=True, kw_only=True)
class Drafter:
    """Gathers lists' papers from the store, scores them, and adds the morning in brief."""

    store: Store
    scorer: Scorer
    brief_writer: BriefWriter | None  # None: the scorer can only rank, or writing has failed
    composer: Composer
    progress: Progress
    clock: Callable[[], datetime]
    budget: float  # US dollars a day, all lists; 0: no limit
    budget_zone: tzinfo  # in which that day begins at midnight
    learn: Learn | None
    brief_seconds: float = BRIEF_SECONDS

    # The papers that a scorer last compared candidates with, and the key that selected them.
    _recent: Sequence[Text] = ()
    _recent_key: object = None

    _dead: str = ""  # why the scorer is no longer asked; empty: it still is
    _shortfall: Shortfall | None = Shortfall.SERVER  # None: scoring hit a bug
    _logged: str = ""  # the last reason that was logged

    def candidates(
        self,
        mailing_list: MailingList,
        now: datetime,
        *,
        before: date | None = None,
        since: Mapping[str, datetime] = MappingProxyType({}),
        unread: Collection[str],
    ) -> tuple[list[Paper], frozenset[str], frozenset[str]]:
        """Return the papers to consider, the ids of papers too old for the list, and the ways by
        which papers come to it. The list has seen none of them, or none `before` that day.

        A list starts with the newest batch of each source, or earlier, with the papers submitted
        `since` the instant under the source's key. A category that is `unread` today starts on the
        first day when it can be read.
        """
        started = self.store.days.started(mailing_list.name, LONGEST_WINDOW)
        known = [
            category
            for category in mailing_list.categories
            if category in started or category not in unread
        ]
        mailing_list = replace(mailing_list, categories=tuple(known))
        unseen = self.store.papers.unseen(mailing_list, before)

        too_old = frozenset[str]()
        for source in sources_of(mailing_list.categories):
            papers = [paper for paper in unseen if source_of(paper.id) is source]
            published = (paper.published for paper in papers)
            start = source.calendar.start_of_newest(published, now, mailing_list.holidays)
            start = min(start, since.get(source.key, start))
            too_old |= curate.before_start(mailing_list, papers, started, start)

        considered = [paper for paper in unseen if paper.id not in too_old]
        came_before = self._came_before(mailing_list.name, considered, before)
        considered = [paper for paper in considered if paper.id not in came_before]
        return considered, too_old, curate.ways_in(mailing_list)

    def _came_before(
        self, list_name: str, papers: Sequence[Paper], before: date | None
    ) -> frozenset[str]:
        """Return the ids of papers already sent to the list under another id, and of those that are
        here under the id of another source, too.
        """
        ids = {paper.id for paper in papers}
        found = set[str]()
        for paper in papers:
            for twin in twins(paper):
                life = self.store.history.of_paper(list_name, twin)
                if twin in ids:
                    found.add(twin)
                elif life.became in curate.SHOWN and life.day != before:
                    found.add(paper.id)

        return frozenset(found)

    def gather(
        self,
        mailing_list: MailingList,
        papers: Sequence[Paper],
        now: datetime,
        *,
        only_days: int = 0,
        late: Collection[str] = (),
        spent_on: date | None = None,
    ) -> ScoredList:
        """Return the candidates with their kept scores, including scores that another list paid
        for. `late`: the names of late sources and journals. Spending covers everything not yet frozen into a day,
        plus that of the day `spent_on`.
        """
        # Addresses are not needed from here on.
        mailing_list = replace(mailing_list, subscribers=())
        name = mailing_list.name
        model = self.scorer.model
        filtered = frozenset(
            paper.id for paper in papers if curate.why_filtered(mailing_list, paper)
        )
        followed = frozenset(
            paper.id for paper in papers if curate.matched_authors(paper, mailing_list.authors)
        )
        kept = [paper for paper in papers if paper.id not in filtered]
        kept.sort(key=lambda paper: paper.id not in followed)

        sources = sources_of(mailing_list.categories)
        unseen_twins = {
            twin: paper.id
            for paper in kept
            for twin in twins(paper)
            if source_of(twin) in sources and not self.store.history.of_paper(name, twin).became
        }
        learned = Learned()
        if self.learn:
            learned = self.learn(mailing_list, kept, followed, now)
        # The key includes the rankers, so scores from a different ranker are not reused.
        criteria = self.scorer.criteria(mailing_list) + learned.key
        gathered = Gathered(
            mailing_list=replace(mailing_list, webhook="", journals=()),  # which hold secrets
            papers=tuple(kept),
            criteria=criteria,
            model=replace(model, learned_from=learned.learned_from),
            for_list=self.composer.for_list(mailing_list, local_date(mailing_list, now)),
            now=now,
            filtered=filtered,
            followed=followed,
            closeness=closeness(
                mailing_list.topics,
                kept,
                learned.rankers,
                mailing_list.titles,
            ),
            learned=learned,
            tries=self.store.days.tries(name),
            only_days=only_days,
            late=tuple(late),
            twins=unseen_twins,
        )
        ids = [paper.id for paper in kept]
        return ScoredList(
            gathered=gathered,
            scores=self.store.scores.kept(name, criteria, model.name, ids, now),
            spending=self.store.scores.spending(name, spent_on),
        )

    def score(self, kept: Sequence[ScoredList], *, show_cost: bool = False) -> Sequence[ScoredList]:
        """Return the lists with the scorer's scores, which are kept as they arrive.

        Lists with the same criteria are scored once. A scorer that could not continue is not asked
        again. Papers left unscored by a bug are carried over like others. `show_cost`: also show
        the cost on a terminal.
        """
        lists = list(kept)
        jobs = list(self._jobs(lists))
        if not jobs:
            return lists

        try:
            if not self._dead:
                self._announce(jobs, show_cost=show_cost)
                self._ask(lists, jobs)
        except ScoringError as error:
            self._dead = str(error)
            if isinstance(error, BudgetUsedUpError):
                self._shortfall = Shortfall.BUDGET
        except StoreWriteError:
            raise  # without a disk there is no morning
        except Exception as error:
            logger.exception(
                "this is a bug in Paperboy; the morning continues with the scores it has"
            )
            self._dead = f"scoring hit a bug in Paperboy: {error!r}; see the log"
            self._shortfall = None

        return list(map(self._explained, lists))

    def _ask(self, lists: list[ScoredList], jobs: Sequence[ToScore]) -> None:
        """Give each result, as it arrives, to every list with the criteria of the list that asked,
        and keep the scores.
        """
        gathered = [scored.gathered for scored in lists]
        criteria_of = {parts.mailing_list.name: parts.criteria for parts in gathered}
        total = sum(len(job.papers) for job in jobs)
        done = 0
        with (
            self.progress.stage("Scoring papers") as show,
            closing(self.scorer.score(jobs, self._may_spend())) as results,
        ):
            for result in results:
                criteria = criteria_of[result.list_name]
                for place, old in enumerate(lists):
                    if old.gathered.criteria != criteria:
                        continue

                    new = old.with_scores(result)
                    lists[place] = new
                    name = new.gathered.mailing_list.name
                    self.store.scores.keep(
                        name,
                        criteria,
                        new.gathered.model.name,
                        dict(new.scores.items() - old.scores.items()),
                        result.spending if name == result.list_name else Spending(),
                        self.clock(),
                    )

                done += len(result.scores) + len(result.unscored)
                show(done, total)

    def _may_spend(self) -> Callable[[], bool] | None:
        """Return a function that checks whether any of the local day's budget, shared by all lists,
        is left. None: there is no budget.
        """
        if not self.budget:
            return None

        local = self.clock().astimezone(self.budget_zone)
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
        return lambda: self.store.scores.spent_since(midnight) < self.budget

    def _announce(self, jobs: Sequence[ToScore], *, show_cost: bool) -> None:
        if not self.scorer.model.is_llm:
            return

        papers = [paper for job in jobs for paper in job.papers]
        cost = self.scorer.estimate(papers)
        logger.log(
            logging.WARNING if show_cost else logging.INFO,
            "scoring %s for %s by %s: %s",
            counted(len(papers), "paper"),
            together([job.mailing_list.name for job in jobs], 3),
            self.scorer.model.name,
            "price unknown" if cost is None else f"about {money(cost.total)}",
        )

    def _jobs(self, lists: Sequence[ScoredList]) -> Iterator[ToScore]:
        """Yield the requests to the scorer. Of lists with the same criteria, only the first asks
        for a paper that several lack. Lists with the same categories share the papers that a scorer
        compares with.
        """
        asked: set[tuple[str, str]] = set()
        ranks = not self.scorer.model.is_llm
        for scored in lists:
            gathered = scored.gathered
            mailing_list = gathered.mailing_list
            criteria = gathered.criteria
            papers = tuple(paper for paper in scored.missing if (criteria, paper.id) not in asked)
            if not papers:
                continue

            asked |= {(criteria, paper.id) for paper in papers}

            if ranks:
                since = gathered.now - RECENT
                key = frozenset(mailing_list.categories), mailing_list.cross_lists, since
                if key != self._recent_key:  # lists on the same categories come one after the other
                    self._recent_key = key
                    self._recent = self.store.papers.recent(mailing_list, since)

            yield ToScore(mailing_list, papers, self._recent, gathered.learned.rankers)

    def _explained(self, scored: ScoredList) -> ScoredList:
        """Log how many papers were scored, and why not all; add the reason for the draft."""
        gathered = scored.gathered
        if not gathered.mailing_list.is_judged:
            return scored

        name = gathered.mailing_list.name
        logger.info("%s: %d of %d scored", name, len(scored.scores), len(gathered.papers))
        for reason, times in Counter(scored.unscored.values()).items():
            logger.warning("%s: %s could not be scored: %s", name, counted(times, "paper"), reason)

        unscored = next(iter(scored.unscored.values()), "")
        missing = len(scored.missing)
        if not missing:
            return replace(scored, problem=unscored)

        what = f"{name}: {counted(missing, 'paper')} not scored"
        problem = scored.problem or self._dead or unscored
        if problem == self._logged:  # an LLM that is down is down for every list
            logger.info("%s", what)
        else:
            logger.error("%s: %s", what, problem)

        self._logged = problem
        return replace(
            scored,
            problem=problem,
            shortfall=self._shortfall,
            bug=self._shortfall is None,
        )

    def brief(
        self,
        lists: Sequence[ScoredList],
        outcome: Callable[[Draft], Outcome | None],
        *,
        alone: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> Sequence[ScoredList]:
        """Return the lists, with a brief where the day's outcome is already known to be a digest.

        Briefs that are not kept are asked for once, in parallel, while `alone` is held; but not if
        scoring could not continue. A failure is logged, and costs only the brief. After a bug or a
        timeout, this morning's other lists go without a brief, too.
        """
        writer = self.brief_writer
        if writer is None:
            return lists

        briefed = {scored.gathered.mailing_list.name: scored for scored in lists}
        try:
            missing = self._with_kept(briefed, _to_brief(writer, lists, outcome))
            if missing and not self._dead:
                with alone():
                    # Whoever had the lock may have asked meanwhile.
                    self._ask_for_briefs(writer, briefed, self._with_kept(briefed, missing))
        except StoreWriteError:
            raise  # without a disk there is no morning
        except Exception as error:  # noqa: BLE001  # a brief never stops a mail
            self.brief_writer = None
            reason = str(error) if isinstance(error, PaperboyError) else repr(error)
            logger.warning("digests go without the morning in brief: %s", one_line(reason))

        return list(briefed.values())

    def _with_kept(self, lists: dict[str, ScoredList], wanted: _Wanted) -> _Wanted:
        """Give the lists the briefs that are kept, and return those that are not."""
        missing = {}
        for name, (key, digest) in wanted.items():
            kept = self.store.briefs.kept(name, key)
            if kept is None:
                missing[name] = key, digest
            else:
                lists[name] = replace(lists[name], brief=kept)

        return missing

    def _ask_for_briefs(
        self,
        writer: BriefWriter,
        lists: dict[str, ScoredList],
        wanted: _Wanted,
    ) -> None:
        """Give the lists their briefs as they arrive, and keep each brief and its cost."""
        digests = [digest for _, digest in wanted.values()]
        problems = set[str]()
        asked = writer.briefs(digests, self._may_spend(), self.brief_seconds)
        with closing(asked) as results:
            for result in results:
                name = result.list_name
                key, digest = wanted[name]
                scored = lists[name]
                criteria = scored.gathered.criteria
                spending = result.spending
                now = self.clock()
                with self.store.transaction(durable=False):
                    self.store.scores.keep(name, criteria, digest.model.name, {}, spending, now)
                    if result.sentences is not None:
                        self.store.briefs.keep(name, key, result.sentences, now)

                lists[name] = replace(
                    scored,
                    brief=result.sentences or (),
                    spending=scored.spending + spending,
                )
                if result.timed_out:
                    self.brief_writer = None
                if result.problem and result.problem not in problems:
                    problems.add(result.problem)
                    logger.warning("%s: no morning in brief: %s", name, result.problem)


def _to_brief(
    writer: BriefWriter,
    lists: Sequence[ScoredList],
    outcome: Callable[[Draft], Outcome | None],
) -> _Wanted:
    wanted = {}
    for scored in lists:
        gathered = scored.gathered
        if not (gathered.mailing_list.is_judged and gathered.mailing_list.brief):
            continue

        made = draft(scored)
        is_long = len(made.digest.entries) >= FEWEST_BRIEFED
        if is_long and outcome(made) is Outcome.DIGEST:
            key = writer.brief_key(made.digest, gathered.criteria)
            wanted[gathered.mailing_list.name] = key, made.digest

    return wanted
