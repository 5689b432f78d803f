"""What lists learn: outside the morning from what they have, and in the morning which papers are worth a call.

    learn       the errand: a state for each list and kind, from an LLM's scores and from readers' votes
    states      what a list has learned
    shortlist   what the LLM is not asked about

A state of scores learns only what has come since it was last made, and never forgets; where its key has changed, it
begins anew with the last three months. One of votes is always made anew.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from paperboy.due import local_date
from paperboy.models import Became, MailingList, Paper, Spending
from paperboy.scoring import learned
from paperboy.shortlist import LOOKED_BACK, Recall, Share, Shortlist, off_until, share_of, shortlist
from paperboy.sources.arxiv import calendar as announcements
from paperboy.store import Store
from paperboy.store.learned import Kind, Progress, State

logger = logging.getLogger(__name__)

BEGINS = timedelta(days=92)  # before a state is made anew: then its examples begin, since all their texts are kept
LEAST_EXAMPLES, LEAST_AGE = 300, timedelta(days=30)  # of a state, before an LLM's calls depend on it


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a list's shortlist stands."""

    share: float  # of a day's papers, those that the LLM is asked about now
    off_until: date | None  # `auto` is off, since the sample found too much
    progress: Progress | None  # None: it has learned nothing yet
    is_young: bool  # the LLM is asked about everything until it is not
    recall: Recall  # of the last 60 days
    spending: Spending  # of the days on which something was left out

    @property
    def saved(self) -> float | None:
        """US dollars, by what a paper cost on those days. None: the price is unknown."""
        cost, recall = self.spending.cost, self.recall
        return cost.total / max(1, recall.called) * recall.not_called if cost and cost.total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """The lists of one home, and what it is set to learn."""

    store: Store
    criteria: Callable[[MailingList], str]  # by which an LLM scores a list, or scored it
    share: Share = 1.0  # of a day's papers, those that an LLM is asked about
    from_scores: bool = False  # whether there is a use for them
    holidays: Collection[date] = ()  # of arXiv, beyond those that `announcements` knows

    # In the morning

    def states(self, mailing_list: MailingList) -> Mapping[Kind, State]:
        """What the list has learned."""
        if not mailing_list.topics:
            return {}
        kinds = [Kind.SCORES, Kind.VOTES] if self.from_scores else [Kind.VOTES]
        return {kind: state for kind in kinds if (state := self._state(mailing_list, kind))}

    def shortlist(
        self, mailing_list: MailingList, papers: Sequence[Paper], followed: Collection[str], now: datetime
    ) -> Shortlist:
        """What the LLM is not asked about. Where the list or its criteria are young, it is asked about everything; and
        in any case about papers by followed authors, and those of a batch that the list has seen before.
        """
        name, day = mailing_list.name, local_date(mailing_list, now)
        share = share_of(self.share, self.store.samples.found(name, day - 2 * LOOKED_BACK), day)
        state = self.states(mailing_list).get(Kind.SCORES) if share < 1 else None
        looked = self.store.days.looked(name, day)
        if state is None or looked is None or _is_young(state, now):
            return Shortlist()
        over = announcements.newest_batch(looked, self.holidays).submitted_until
        ranked = [each for each in papers if each.arxiv_id not in followed and each.published >= over]
        return shortlist(self.strengths(state, ranked), share, f"{name} {day}")

    def strengths(self, state: State, papers: Sequence[Paper]) -> dict[str, float]:
        """Return how the papers rank, by arXiv id."""
        ranker = learned.Ranker(state.weights)
        return {paper.arxiv_id: ranker.strength(learned.features(paper.title, paper.abstract)) for paper in papers}

    def switches_off(
        self, mailing_list: MailingList, became: Mapping[str, Became], sampled: Collection[str], day: date
    ) -> bool:
        """Whether what passed today of the sample switches `auto` off."""
        before = self.store.samples.found(mailing_list.name, day - 2 * LOOKED_BACK)
        passed = [day for each in sampled if became.get(each) in {Became.SELECTED, Became.OVER_CAP}]
        return self.share == "auto" and bool(off_until([*before, *passed], day)) and not off_until(before, day)

    def standing(self, lists: Sequence[MailingList], now: datetime) -> dict[str, Standing]:
        """Where the lists' shortlists stand, by the lists' names."""
        names = [each.name for each in lists if each.topics]
        since = (now - LOOKED_BACK).date()
        progress, recalls = self.store.learned.progress(names), self.store.samples.recalls(names, since)
        found = {}
        for each in lists:
            day, its = local_date(each, now), progress.get(each.name)
            passed = self.store.samples.found(each.name, day - 2 * LOOKED_BACK)
            recall, spending = recalls.get(each.name, (Recall(), Spending()))
            share, off = share_of(self.share, passed, day), off_until(passed, day) if self.share == "auto" else None
            found[each.name] = Standing(share, off, its, its is None or _is_young(its, now), recall, spending)
        return found

    # The errand

    def learn(self, lists: Sequence[MailingList], now: datetime, stopped: Callable[[], bool] = lambda: False) -> None:
        """Let each list learn what is new, until `stopped`."""
        due = self.store.learned.due([each.name for each in lists if each.topics], now, scores=self.from_scores)
        for each in lists:
            for kind in sorted(due.get(each.name, ())):
                if stopped():
                    return
                state = self._by_scores(each, now) if kind is Kind.SCORES else self._by_votes(each, now)
                self.store.learned.keep(each.name, kind, state, now)

    def _by_scores(self, mailing_list: MailingList, now: datetime) -> State | None:
        name, before = mailing_list.name, self._state(mailing_list, Kind.SCORES)
        rows = self.store.learned.judged(name, self.criteria(mailing_list), now - BEGINS, before)
        if not rows:
            return before
        examples = [
            learned.Example(row.title, row.abstract, learned.target(row.relevance, mailing_list.min_relevance))
            for row in rows
        ]
        weights = learned.train(before.weights if before else b"", examples)
        oldest = before.oldest if before else rows[0].at
        number = learned.Ranker(weights).examples
        logger.debug("%s has learned from %d scores", name, number)
        key = self._key(Kind.SCORES, mailing_list)
        return State(key, oldest, rows[-1].at, rows[-1].arxiv_id, number, weights)

    def _by_votes(self, mailing_list: MailingList, now: datetime) -> State | None:
        rows = self.store.learned.voted(mailing_list.name)
        if not rows:
            return None
        weights = learned.train_votes(learned.Example(row.title, row.abstract, row.share) for row in rows)
        key, number = self._key(Kind.VOTES, mailing_list), sum(row.share is not None for row in rows)
        return State(key, now, now, "", number, weights)

    def _state(self, mailing_list: MailingList, kind: Kind) -> State | None:
        return self.store.learned.state(mailing_list.name, kind, self._key(kind, mailing_list))

    def _key(self, kind: Kind, mailing_list: MailingList) -> str:
        """What a state depends on, beside its examples."""
        if kind is Kind.VOTES:
            return learned.FEATURES
        return f"{learned.FEATURES}; {self.criteria(mailing_list)}; {mailing_list.min_relevance}"


def _is_young(state: State | Progress, now: datetime) -> bool:
    return state.examples < LEAST_EXAMPLES or now - state.oldest < LEAST_AGE
