"""Learning: train outside the morning; in the morning, choose the papers worth an LLM call.

    work      train a state for each list and kind: from an LLM's scores, readers' votes, its library
    of        the states of a list
    learned   how they change its morning

A state of scores is trained further on new scores, and never forgets; if its key has changed, it
starts afresh from the last three months. States of votes or a library always start afresh.
"""

import hashlib
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from paperboy.due import local_date
from paperboy.edges.text import counted, folded, money, together
from paperboy.errors import ConfigError, FeedError, HomeBusyError
from paperboy.features.learning import ranking
from paperboy.features.learning.lessons import (
    NO_VOTES,
    ExampleKind,
    LearnedState,
    Lessons,
    TrainingProgress,
)
from paperboy.features.learning.likes import MOST_LIKES, Likes, likes_of
from paperboy.features.learning.ranking import LEAST_LIKES, Example, LearnedRanker
from paperboy.features.learning.shortlist import (
    LEAST_AGE,
    LEAST_EXAMPLES,
    MISS_WINDOW,
    Recall,
    off_until,
    sampled_of,
    share_of,
    shortlist,
)
from paperboy.home.settings import Share
from paperboy.models import Day, MailingList, Paper, Spending
from paperboy.morning.drafting import Learned
from paperboy.reports.problems import Words
from paperboy.service.app import App
from paperboy.service.feature import Shown
from paperboy.sources import source_of, sources_of
from paperboy.store import Store
from paperboy.store.incidents import Incident

logger = logging.getLogger(__name__)

_OFF = "shortlist"  # the problem that a shortlist missed too much and is off

_SOME = 5  # names of lists in a line
_YOUNG = "{} (learned {papers} of {papers_needed} papers, day {days} of {days_needed})"

BEGINS = timedelta(days=92)  # how far back a new state's examples go; their texts are still stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """Learning for one home's lists, according to its settings."""

    store: Store
    lessons: Lessons
    likes: Likes
    criteria: Callable[[MailingList], str]  # by which an LLM scores, or scored, a list
    share: Share = 1.0  # of a day's papers that the LLM is asked about
    ranks: bool = False  # the embedded scorer scores, with the rankings

    # In the morning

    def learned(
        self,
        mailing_list: MailingList,
        papers: Sequence[Paper],
        followed: Collection[str],
        now: datetime,
    ) -> Learned:
        """Return how the list's learned state changes its morning.

        The LLM is asked about all papers while the list or its criteria are new, and always about
        papers by followed authors and those of batches that the list has seen before.
        """
        states = self.of(mailing_list)
        rankers = {
            kind: LearnedRanker(state.weights, of_library=kind is ExampleKind.LIBRARY)
            for kind, state in states.items()
        }

        if self.ranks and rankers:
            digest = hashlib.sha256(b"".join(ranker.state for ranker in rankers.values()))
            return Learned(
                rankers=tuple(rankers.values()),
                learned_from=" and ".join(kind for kind in rankers if kind in _SAID),
                key=digest.hexdigest()[:16],
            )

        liked = _liking([ranker for kind, ranker in rankers.items() if kind in _LIKES], papers)

        name = mailing_list.name
        day = local_date(mailing_list, now)
        share = share_of(self.share, self.lessons.misses(name, day), day)
        looked = self.store.days.last_considered(name, day)
        scores = states.get(ExampleKind.SCORES)
        if share == 1 or scores is None or looked is None or is_young(scores, now):
            return Learned(liked=liked)

        seen_until = {
            source.key: source.calendar.newest_batch(looked, mailing_list.holidays).submitted_until
            for source in sources_of(mailing_list.categories)
        }
        ranked = [
            paper
            for paper in papers
            if paper.id not in followed and paper.published >= seen_until[source_of(paper.id).key]
        ]
        strengths = _strengths(rankers[ExampleKind.SCORES], ranked)
        choice = shortlist(strengths, share, sampled_of(self.share), f"{name} {day}")
        return replace(choice, liked=liked)

    def of(self, mailing_list: MailingList) -> Mapping[ExampleKind, LearnedState]:
        """Return the list's current states, by kind."""
        if not mailing_list.is_judged:
            return {}
        kinds = [
            kind for kind in ExampleKind if kind is not ExampleKind.LIBRARY or mailing_list.library
        ]
        states = {kind: self._state(mailing_list, kind) for kind in kinds}
        return {kind: state for kind, state in states.items() if state}

    def freeze(self, mailing_list: MailingList, day: Day, _: int | None, at: datetime) -> None:
        """Add the learning task and the day's sample; report if the sample switches `auto` off."""
        name = day.list_name
        if self._due(mailing_list, at):
            self.store.tasks.add("learning", name, at)

        was_off = off_until(self.lessons.misses(name, day.date), day.date)
        self.lessons.add_sample(day)
        is_off = off_until(self.lessons.misses(name, day.date), day.date)
        if self.share == "auto" and is_off and not was_off:
            incident = Incident(kind=_OFF, subject=name, facts={"list": name}, event=True)
            self.store.incidents.note([incident], at)

    # Beside the morning

    def work(self, mailing_list: MailingList | None, now: datetime) -> str:
        """Train a list's states on new examples; return why to retry (empty: no retry)."""
        if mailing_list is None:
            return ""
        trained = {
            ExampleKind.SCORES: self._trained_on_scores,
            ExampleKind.VOTES: self._trained_on_votes,
            ExampleKind.LIBRARY: self._trained_on_library,
        }
        name = mailing_list.name
        problem = ""
        for kind in self._due(mailing_list, now):
            try:
                state = trained[kind](mailing_list, now)
            except HomeBusyError:
                problem = "a morning is under way"
                logger.info("%s: its library waits for the end of a morning", name)
            except (ConfigError, FeedError) as error:
                problem = str(error)
                logger.warning("%s: nothing is learned from its library: %s", name, problem)
            else:
                self.lessons.keep(name, kind, state, now)
        return problem

    def _trained_on_scores(self, mailing_list: MailingList, now: datetime) -> LearnedState | None:
        """Return the list's state, trained on scores since its last training; None: no scores."""
        state = self._state(mailing_list, ExampleKind.SCORES)
        papers = self.lessons.judged(
            mailing_list.name, self.criteria(mailing_list), now - BEGINS, state
        )
        if not papers:
            return state

        examples = []
        for paper in papers:
            target = ranking.target(paper.relevance, mailing_list.min_relevance)
            examples.append(Example(paper.title, paper.abstract, target))
        weights = ranking.train(state.weights if state else b"", examples)

        return LearnedState(
            key=self._key(ExampleKind.SCORES, mailing_list),
            oldest=state.oldest if state else papers[0].at,
            until=papers[-1].at,
            until_id=papers[-1].paper_id,
            examples=LearnedRanker(weights).examples,
            weights=weights,
        )

    def _trained_on_votes(self, mailing_list: MailingList, now: datetime) -> LearnedState | None:
        """Return a new state from all votes of the list; None: too few."""
        votes = self.lessons.voted(mailing_list.name)
        if not votes:
            return None

        return self._likes_state(ExampleKind.VOTES, mailing_list, votes, now)

    def _trained_on_library(self, mailing_list: MailingList, now: datetime) -> LearnedState | None:
        """Return a new state from the list's library and the papers that it has seen; None: too few
        of either. Raises ConfigError, FeedError or HomeBusyError if the library cannot be read now.
        """
        newest = self.likes.read(mailing_list.library, now).items[-MOST_LIKES:]
        items = self.likes.with_texts(newest, now)
        likes = [Example(item.title, item.abstract, 1.0) for item in items]
        titles = {folded(like.title) for like in likes}
        others = [
            other
            for other in self.lessons.others(mailing_list.name, len(likes))
            if folded(other.title) not in titles
        ]
        if len(likes) < LEAST_LIKES or not others:
            return None
        return self._likes_state(ExampleKind.LIBRARY, mailing_list, likes + others, now)

    def _likes_state(
        self,
        kind: ExampleKind,
        mailing_list: MailingList,
        examples: Sequence[Example],
        now: datetime,
    ) -> LearnedState:
        weights = ranking.train_likes(examples)
        return LearnedState(
            key=self._key(kind, mailing_list),
            oldest=now,
            until=now,
            until_id="",
            examples=LearnedRanker(weights).examples,
            weights=weights,
        )

    def _due(self, mailing_list: MailingList, now: datetime) -> list[ExampleKind]:
        """Return the kinds that may have something new to learn from."""
        if not mailing_list.is_judged:
            return []
        scores = self.share != 1 or self.ranks
        library = bool(mailing_list.library)
        return self.lessons.due(mailing_list.name, now, scores=scores, library=library)

    def _state(self, mailing_list: MailingList, kind: ExampleKind) -> LearnedState | None:
        return self.lessons.state(mailing_list.name, kind, self._key(kind, mailing_list))

    def _key(self, kind: ExampleKind, mailing_list: MailingList) -> str:
        """Return the key of a state: everything that it depends on, except its examples."""
        if kind is ExampleKind.VOTES:
            return ranking.FEATURES
        if kind is ExampleKind.LIBRARY:
            return f"{ranking.FEATURES}; {mailing_list.library}"
        return f"{ranking.FEATURES}; {self.criteria(mailing_list)}; {mailing_list.min_relevance}"


_LIKES = (ExampleKind.VOTES, ExampleKind.LIBRARY)  # which break ties of scores
_SAID = (ExampleKind.SCORES, ExampleKind.VOTES)  # that mails mention to readers


def _strengths(ranker: LearnedRanker, papers: Sequence[Paper]) -> dict[str, float]:
    """Return the papers' strengths, by id."""
    return dict(zip((paper.id for paper in papers), ranker.strengths(papers), strict=True))


def _liking(rankers: Sequence[LearnedRanker], papers: Sequence[Paper]) -> dict[str, float]:
    """Return how much each paper is liked, by id: the weighted sum of the rankers' strengths."""
    liking = dict[str, float]()
    for ranker in rankers:
        for paper_id, strength in _strengths(ranker, papers).items():
            liking[paper_id] = liking.get(paper_id, 0.0) + ranker.weight * strength
    return liking


def is_young(state: LearnedState | TrainingProgress, now: datetime) -> bool:
    """Check whether too little was learned for a shortlist."""
    return state.examples < LEAST_EXAMPLES or now - state.oldest < LEAST_AGE


def learning_of(app: App) -> Learning:
    """Return the learning of a home."""
    settings = app.settings
    store = app.store_to_ask
    votes = next((feature.ballots for feature in app.features if feature.ballots), NO_VOTES)

    def criteria(mailing_list: MailingList) -> str:
        return app.prompt.criteria(mailing_list.topics, mailing_list.language, mailing_list.titles)

    return Learning(
        store=store,
        lessons=Lessons(store.database, votes=votes),
        likes=likes_of(app, store.database),
        criteria=criteria,
        share=settings.llm_shortlist if settings.has_llm else 1.0,
        ranks=not settings.has_llm,
    )


# Reports to the operator


def words() -> Mapping[str, Words]:
    """Return the words for a shortlist that is switched off."""
    return {
        _OFF: Words(
            "The shortlist of {names} misses too much, and is off",
            "Within 60 days, eight papers that it had left out passed when the LLM scored a random sample of them. For "
            "60 days the LLM scores all papers again, and costs rise.",
            "Nothing needs to be done. To do without a shortlist from now on, set LLM_SHORTLIST=1 in .env; to fix its "
            "share, for example LLM_SHORTLIST=0.7.",
        ),
    }


def status(app: App, lists: Sequence[MailingList], now: datetime) -> Shown:
    """Show the shortlists in use: a line for each that left papers out, and one for all that are
    still learning.
    """
    learning = learning_of(app)
    lessons = learning.lessons
    setting = learning.share
    if setting == 1:
        return Shown(key="shortlist", of_lists={})
    learners = {
        mailing_list.name: mailing_list
        for mailing_list in lists
        if mailing_list.is_judged and mailing_list.is_active
    }
    progress = lessons.progress(learners)
    recalls = lessons.recalls(learners, now.date())

    shown: dict[str, object] = {}
    lines = []
    young = []
    for name, mailing_list in learners.items():
        recall, spending = recalls.get(name, (Recall(), Spending()))
        day = local_date(mailing_list, now)
        misses = lessons.misses(name, day)
        share = share_of(setting, misses, day)
        off = off_until(misses, day) if setting == "auto" else None

        learned = progress.get(name)
        learns = None
        if share < 1 and (learned is None or is_young(learned, now)):
            learns = _progress(learned, now)

        saved = None
        if spending.cost and spending.cost.total:
            cost_a_paper = spending.cost.total / max(1, recall.called)
            saved = cost_a_paper * recall.not_called

        shown[name] = {
            "share": share,
            "off_until": off,
            "learns": learns,
            **recall._asdict(),
            "recall": recall.estimate and round(recall.estimate, 4),
            "recall_interval": recall.interval and [round(bound, 4) for bound in recall.interval],
            "saved": saved and round(saved, 6),
        }

        change = _change(setting, share, off, day)
        if recall.not_called:
            lines.append(f"Shortlist of {name} {_results(recall, saved)}{change}")
        if learns:
            young.append(_YOUNG.format(name, **learns))
    if young:
        lines.append(f"No shortlist yet for {together(young, _SOME)}")
    return Shown(key="shortlist", of_lists=shown, lines=lines)


def _results(recall: Recall, saved: float | None) -> str:
    """Return how many papers a shortlist called, found and left out, and what that saved."""
    by_chance = f"{counted(recall.sampled, 'paper')} called by chance"
    if recall.interval is None:
        finds = f"too few to say what it finds ({by_chance}, {recall.passed} passed)"
    else:
        least, most = recall.interval
        finds = f"it finds about {recall.estimate:.0%} of what passes ({100 * least:.0f}–{most:.0%}, from {by_chance})"

    left_out = f"left out {counted(recall.not_called, 'paper')}"
    if saved is not None:
        left_out += f", which saved about {money(saved)}"
    return f"in {MISS_WINDOW.days} days: {recall.share:.0%} of papers called; {finds}; {left_out}"


def _change(setting: Share, share: float, off: date | None, day: date) -> str:
    """Return what has changed since those days; empty: nothing."""
    if off:
        return f"; off until {off:%a %d %b}, since it missed too much"
    if share > share_of(setting, (), day):
        return f"; raised to {share:.0%} of papers, since it missed some"
    return ""


def _progress(learned: TrainingProgress | None, now: datetime) -> dict[str, int]:
    """Return how much was learned, and how much is needed."""
    papers = learned.examples if learned else 0
    days = (now - learned.oldest).days if learned else 0
    return {
        "papers": min(papers, LEAST_EXAMPLES),
        "papers_needed": LEAST_EXAMPLES,
        "days": min(days, LEAST_AGE.days),
        "days_needed": LEAST_AGE.days,
    }
