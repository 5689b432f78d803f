"""What lists learn: outside the morning from what they have, and in the morning which papers are
worth a call.

    learn     a state for each list and kind, from an LLM's scores and from readers' votes
    of        what a list has learned
    learned   what its morning makes of that

A state of scores learns only what has come since it was last made, and never forgets; where its key
has changed, it begins anew with the last three months. One of votes is always made anew.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial

from paperboy.due import local_date
from paperboy.features.learning import ranking
from paperboy.features.learning.lessons import (
    NO_VOTES,
    ExampleKind,
    LearnedState,
    Lessons,
    TrainingProgress,
)
from paperboy.features.learning.ranking import LearnedRanker
from paperboy.features.learning.shortlist import (
    LEAST_AGE,
    LEAST_EXAMPLES,
    LOOKED_BACK,
    Recall,
    off_until,
    share_of,
    shortlist,
)
from paperboy.home.settings import Share
from paperboy.mail.text import counted, money, together
from paperboy.models import Day, MailingList, Paper, Spending
from paperboy.morning.drafting import Learned
from paperboy.reports.problems import Words
from paperboy.service.app import App
from paperboy.service.feature import Shown
from paperboy.sources import source_of, sources_of
from paperboy.store import Store
from paperboy.store.incidents import Incident

_BY_CHANCE = "called by chance: the shortlist had left it out; some such papers are scored to see what it misses"
_OFF = "shortlist"  # missed too much, and is off

_SOME = 5  # names of lists in a line
_YOUNG = "{} (learned {papers} of {papers_needed} papers, day {days} of {days_needed})"

BEGINS = timedelta(
    days=92
)  # before a state is made anew: then its examples begin, since all their texts are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """Learning of the lists of one home, as it is set."""

    store: Store
    lessons: Lessons
    criteria: Callable[[MailingList], str]  # by which an LLM scores a list, or scored it
    share: Share = 1.0  # of a day's papers, those that an LLM is asked about
    ranks: bool = False  # for the embedded scorer, which scores

    # In the morning

    def learned(
        self,
        mailing_list: MailingList,
        papers: Sequence[Paper],
        followed: Collection[str],
        now: datetime,
    ) -> Learned:
        """Return what the list's morning makes of what it has learned.

        Where the list or its criteria are young, the LLM is asked about everything; and in any case
        about papers by followed authors, and those of a batch that the list has seen before.
        """
        states = self.of(mailing_list)
        rankers = {str(kind): LearnedRanker(state.weights) for kind, state in states.items()}
        scores = states.get(ExampleKind.SCORES)
        votes = rankers.get(ExampleKind.VOTES)
        liked = _strengths(votes, papers) if votes else {}
        if self.ranks and rankers:
            key = hashlib.sha256(b"".join(ranker.state for ranker in rankers.values())).hexdigest()[
                :16
            ]
            return Learned(liked=liked, rankers=rankers, key=key)

        name = mailing_list.name
        day = local_date(mailing_list, now)
        share = share_of(self.share, self.lessons.found(name, day), day)
        looked = self.store.days.looked(name, day)
        if share == 1 or scores is None or looked is None or is_young(scores, now):
            return Learned(liked=liked)
        over = {
            source.key: source.calendar.newest_batch(looked, mailing_list.holidays).submitted_until
            for source in sources_of(mailing_list.categories)
        }
        ranked = [
            paper
            for paper in papers
            if paper.id not in followed and paper.published >= over[source_of(paper.id).key]
        ]
        strengths = _strengths(rankers[ExampleKind.SCORES], ranked)
        return replace(shortlist(strengths, share, f"{name} {day}"), liked=liked)

    def of(self, mailing_list: MailingList) -> Mapping[ExampleKind, LearnedState]:
        """Return what the list has learned."""
        if not mailing_list.topics:
            return {}
        states = {
            kind: self.lessons.state(mailing_list.name, kind, self._key(kind, mailing_list))
            for kind in ExampleKind
        }
        return {kind: state for kind, state in states.items() if state}

    def freeze(self, mailing_list: MailingList, day: Day, _: int | None, at: datetime) -> None:
        """Keep the day's sample, note where what passed of it switches `auto` off, and add the task
        to learn.
        """
        if self._due(mailing_list, at):
            self.store.tasks.add("learning", day.list_name, at)
        found = partial(self.lessons.found, day.list_name, day.date)
        was_off = off_until(found(), day.date)
        self.lessons.add_sample(day)
        if self.share == "auto" and off_until(found(), day.date) and not was_off:
            off = Incident(
                kind=_OFF, subject=day.list_name, facts={"list": day.list_name}, event=True
            )
            self.store.incidents.note([off], at)

    def why(self, paper_id: str) -> Mapping[str, str]:
        """Say of which lists' samples a paper is."""
        return dict.fromkeys(self.lessons.sampled(paper_id), _BY_CHANCE)

    # Beside the morning

    def work(self, mailing_list: MailingList | None, now: datetime) -> str:
        """Let a list learn what is new, from each kind that may have something."""
        if mailing_list is None:
            return ""
        name = mailing_list.name
        for kind in self._due(mailing_list, now):
            key = self._key(kind, mailing_list)
            state = None
            if kind is ExampleKind.SCORES:
                state = self.lessons.state(name, kind, key)
                judged = self.lessons.judged(name, self.criteria(mailing_list), now - BEGINS, state)
                if judged:
                    least = mailing_list.min_relevance
                    examples = [
                        ranking.Example(
                            row.title, row.abstract, ranking.target(row.relevance, least)
                        )
                        for row in judged
                    ]
                    weights = ranking.train(state.weights if state else b"", examples)
                    oldest = state.oldest if state else judged[0].at
                    last = judged[-1]
                    state = LearnedState(
                        key,
                        oldest,
                        last.at,
                        last.paper_id,
                        LearnedRanker(weights).examples,
                        weights,
                    )
            elif votes := self.lessons.voted(name):
                weights = ranking.train_votes(votes)
                state = LearnedState(key, now, now, "", LearnedRanker(weights).examples, weights)
            self.lessons.keep(name, kind, state, now)
        return ""

    def _due(self, mailing_list: MailingList, now: datetime) -> list[ExampleKind]:
        """Return from what the list may have something to learn."""
        if not mailing_list.topics:
            return []
        return self.lessons.due(mailing_list.name, now, scores=self.share != 1 or self.ranks)

    def _key(self, kind: ExampleKind, mailing_list: MailingList) -> str:
        """Return what a state depends on, beside its examples."""
        if kind is ExampleKind.VOTES:
            return ranking.FEATURES
        return f"{ranking.FEATURES}; {self.criteria(mailing_list)}; {mailing_list.min_relevance}"


def _strengths(ranker: LearnedRanker, papers: Sequence[Paper]) -> dict[str, float]:
    """Return how the papers rank, by id."""
    return dict(zip((paper.id for paper in papers), ranker.strengths(papers), strict=True))


def is_young(state: LearnedState | TrainingProgress, now: datetime) -> bool:
    """Return whether too little was learned for a shortlist."""
    return state.examples < LEAST_EXAMPLES or now - state.oldest < LEAST_AGE


def of(app: App) -> Learning:
    """Return the learning of a home."""
    settings = app.settings
    store = app.store_to_ask
    votes = next((feature.ballots for feature in app.features if feature.ballots), NO_VOTES)
    return Learning(
        store=store,
        lessons=Lessons(store.database, votes=votes),
        criteria=lambda mailing_list: app.prompt.criteria(
            mailing_list.topics, mailing_list.language
        ),
        share=settings.llm_shortlist if settings.has_llm else 1.0,
        ranks=not settings.has_llm,
    )


# What the operator sees of it


def words() -> Mapping[str, Words]:
    """Return the words of a shortlist that is switched off."""
    return {
        _OFF: Words(
            "The shortlist of {names} misses too much, and is off",
            "Six papers that it had left out, and that the LLM scored by chance, passed within 60 days. For 60 days "
            "the LLM scores all papers again, and costs rise.",
            "Nothing has to be done. To do without a shortlist from now on, set LLM_SHORTLIST=1 in .env; to fix its "
            "share, for example LLM_SHORTLIST=0.7.",
        ),
    }


def status(app: App, lists: Sequence[MailingList], now: datetime) -> Shown:
    """Show the shortlists of those of these lists that use one now, or did in the last 60 days: a
    line for each that left something out, and one for all that still learn.
    """
    learning = of(app)
    lessons = learning.lessons
    setting = learning.share
    names = [mailing_list.name for mailing_list in lists if mailing_list.topics]
    progress = lessons.progress(names)
    recalls = lessons.recalls(names, now.date())
    shown: dict[str, object] = {}
    lines = []
    young = []
    for mailing_list in lists:
        name = mailing_list.name
        day = local_date(mailing_list, now)
        recall, spending = recalls.get(name, (Recall(), Spending()))
        is_used = setting != 1 and mailing_list.topics and mailing_list.is_active
        if not is_used and not recall.not_called:
            continue

        passed = lessons.found(name, day)
        learned = progress.get(name)
        share = share_of(setting, passed, day)
        off = off_until(passed, day) if setting == "auto" else None
        learns = None
        if share < 1 and (learned is None or is_young(learned, now)):
            learns = _progress(learned, now)
        cost = spending.cost.total if spending.cost else 0.0
        saved = (
            cost / max(1, recall.called) * recall.not_called if cost else None
        )  # by what a paper cost on those days
        shown[name] = {
            "share": share,
            "off_until": off,
            "learns": learns,
            **recall._asdict(),
            "recall": recall.estimate and round(recall.estimate, 4),
            "recall_interval": recall.interval and [round(bound, 4) for bound in recall.interval],
            "saved": saved and round(saved, 6),
        }

        changed = _changed(setting, share, off, day)
        if recall.not_called:
            lines.append(f"Shortlist of {name} {_left_out(recall, saved)}{changed}")
        elif off:
            lines.append(f"Shortlist of {name}{changed}")
        if learns:
            young.append(_YOUNG.format(name, **learns))
    if young:
        lines.append(f"No shortlist yet for {together(young, _SOME)}")
    return Shown(key="shortlist", of_lists=shown, lines=lines)


def _left_out(recall: Recall, saved: float | None) -> str:
    """Say what was left out, what that found and missed, and what it saved."""
    by_chance = f"{counted(recall.sampled, 'paper')} called by chance"
    if recall.interval is None:
        finds = f"too few to say what it finds ({by_chance}, {recall.passed} passed)"
    else:
        least, most = recall.interval
        finds = f"it finds about {recall.estimate:.0%} of what passes ({100 * least:.0f}–{most:.0%}, from {by_chance})"
    money_saved = "" if saved is None else f", which saved about {money(saved)}"
    left_out = f"left out {counted(recall.not_called, 'paper')}{money_saved}"
    return f"in {LOOKED_BACK.days} days: {recall.share:.0%} of papers called; {finds}; {left_out}"


def _changed(setting: Share, share: float, off: date | None, day: date) -> str:
    """Say what has changed since, if anything."""
    if setting == 1:
        return "; off now"
    if off:
        return f"; off until {off:%a %d %b}, since it missed too much"
    usual = share_of(setting, (), day)
    return f"; raised to {share:.0%} of papers, since it missed some" if share > usual else ""


def _progress(learned: TrainingProgress | None, now: datetime) -> dict[str, int]:
    """Return how much was learned, and how much is needed."""
    papers, days = (learned.examples, (now - learned.oldest).days) if learned else (0, 0)
    return {
        "papers": min(papers, LEAST_EXAMPLES),
        "papers_needed": LEAST_EXAMPLES,
        "days": min(days, LEAST_AGE.days),
        "days_needed": LEAST_AGE.days,
    }
