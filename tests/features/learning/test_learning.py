"""What lists learn: beside the morning, and what a morning makes of it, on a real database."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paperboy.features.learning.learning import Learning
from paperboy.features.learning.lessons import ExampleKind, LearnedState, Lessons
from paperboy.features.learning.ranking import LearnedRanker
from paperboy.features.learning.shortlist import LEAST_AGE, LEAST_EXAMPLES
from paperboy.features.votes.rows import cast
from paperboy.models import Day, MailingList, Outcome, Paper, PaperOutcome, Score, Spending, Usage
from paperboy.store import Store
from paperboy.store.readers import Reader
from tests.builders import mailing_list, paper
from tests.features.learning.conftest import likes_in

LIST = mailing_list(timezone=UTC)
BEGAN = datetime(2026, 9, 1, 7, tzinfo=UTC)  # a Tuesday
DAILY = 10  # papers


def text_of(arxiv_id: str) -> dict[str, str]:
    """Every second paper is about what the list wants."""
    wanted = int(arxiv_id[-1]) % 2
    words = "deep networks generalise" if wanted else "galaxies rotate slowly"
    return {"title": f"Why {words}", "abstract": f"We show that {words}, in the case {arxiv_id}."}


@dataclass
class World:
    """One list, whose papers an LLM scores every morning."""

    store: Store
    learning: Learning
    days: int = 0

    @property
    def now(self) -> datetime:
        return BEGAN + timedelta(days=self.days)

    def live(self, days: int, *, learns: bool = True) -> None:
        """Mornings, after each of which the list learns."""
        for _ in range(days):
            at = self.now
            papers = [self.paper(number) for number in range(DAILY)]
            self.store.papers.add(papers, LIST.categories, at)
            scores = {of.id: Score(9 if "deep" in of.title else 2, 5) for of in papers}
            criteria = self.learning.criteria(LIST)
            self.store.scores.keep(
                LIST.name, criteria, "luna", scores, Spending(Usage(1)), at + timedelta(minutes=1)
            )
            outcomes = dict.fromkeys(scores, PaperOutcome.BELOW)
            self.store.days.freeze(Day(LIST.name, at.date(), Outcome.NOTE, outcomes=outcomes), at)
            if learns:
                self.learn(at + timedelta(minutes=2))
            self.days += 1

    def learn(self, at: datetime | None = None) -> None:
        self.learning.work(LIST, at or self.now)

    def paper(self, number: int, **changes: object) -> Paper:
        arxiv_id = f"26{self.now.month:02}.{100 * self.now.day + number:05}"
        return paper(
            arxiv_id, **{**text_of(arxiv_id), "published": self.now - timedelta(days=1), **changes}
        )

    def state(
        self, kind: ExampleKind = ExampleKind.SCORES, of: MailingList = LIST
    ) -> LearnedState | None:
        return self.learning.of(of).get(kind)

    def todays(self) -> list[Paper]:
        """Forty papers of a batch that the list has not seen."""
        return [self.paper(number, published=self.now) for number in range(40)]

    def called(
        self, papers: list[Paper], followed: tuple[str, ...] = (), **changes: object
    ) -> set[str]:
        """Whom the LLM would be asked about, but for the sample."""
        found = replace(self.learning, **changes).learned(LIST, papers, followed, self.now)
        return {of.id for of in papers} - found.not_called - found.sampled


@pytest.fixture
def world(store: Store, lessons: Lessons, tmp_path: Path) -> World:
    return World(
        store,
        Learning(
            store=store,
            lessons=lessons,
            likes=likes_in(store, tmp_path),
            criteria=lambda mailing_list: mailing_list.topics,
            share=0.5,
        ),
    )


def ranks(world: World, kind: ExampleKind = ExampleKind.SCORES) -> bool:
    """Whether what is wanted comes before what is not."""
    state = world.state(kind)
    assert state is not None
    liked, disliked = LearnedRanker(state.weights).strengths(
        [paper(**text_of(f"2612.0000{number}")) for number in (1, 2)]
    )
    return liked > disliked + 1


# --- beside the morning


def test_list_learns_from_its_scores_a_morning_later(world: World) -> None:
    world.live(1)
    assert world.state() is None  # that morning may still go on
    world.live(9)
    state = world.state()
    assert state is not None
    assert (state.examples, state.oldest) == (9 * DAILY, BEGAN + timedelta(minutes=1))
    assert ranks(world)


def test_state_made_anew_is_the_one_that_was_lost(world: World) -> None:
    """To the byte, whether learned day by day or at once."""
    world.live(20)
    before = world.state()
    world.learning.lessons.keep(LIST.name, ExampleKind.SCORES, None, BEGAN)
    world.learn()
    assert world.state() == before is not None


def test_threshold_or_topics_that_changed_leave_nothing_learned(world: World) -> None:
    world.live(5)
    assert world.state() is not None
    assert world.state(of=replace(LIST, min_relevance=8)) is None
    assert world.state(of=replace(LIST, topics="Birds.")) is None


def test_home_that_has_no_use_for_scores_learns_from_votes_alone(world: World) -> None:
    world.learning = replace(world.learning, share=1.0)
    world.live(5)
    assert world.learning.of(LIST) == {}
    ids = [f"2609.00{day}0{number}" for day in range(1, 5) for number in range(6)]
    for address, some in (("ada@example.org", ids), ("grace@example.org", ids[:3])):
        votes = {paper_id: 1 if int(paper_id[-1]) % 2 else -1 for paper_id in some}
        cast(world.store.database, Reader(LIST.name, address), votes, world.now)
    world.learn()
    state = world.state(ExampleKind.VOTES)
    assert state is not None
    assert state.examples == len(ids)
    assert ranks(world, ExampleKind.VOTES)


# --- the morning


def test_no_vote_changes_what_is_called(world: World) -> None:
    """Readers may like what the LLM would not: votes leave nothing out."""
    world.live(33)
    before = world.called(world.todays())
    ids = [f"2609.00{day}0{number}" for day in range(1, 5) for number in range(6)]
    votes = {paper_id: -1 if int(paper_id[-1]) % 2 else 1 for paper_id in ids}
    cast(world.store.database, Reader(LIST.name, "ada@example.org"), votes, world.now)
    world.learn()
    assert world.state(ExampleKind.VOTES) is not None
    assert world.called(world.todays()) == before


def test_everything_is_called_while_the_list_is_young(world: World) -> None:
    """It needs 30 days and 300 scores."""
    world.live(LEAST_AGE.days)
    everything = {of.id for of in world.todays()}
    assert world.called(world.todays()) == everything
    assert (LEAST_AGE.days + 1) * DAILY > LEAST_EXAMPLES
    world.live(2)
    assert world.called(world.todays()) != everything


def test_followed_authors_and_papers_of_an_earlier_batch_are_always_called(world: World) -> None:
    world.live(33)
    papers = world.todays()
    unwanted = [of for of in papers if "deep" not in of.title]
    late = replace(unwanted[0], published=world.now - timedelta(days=3))
    called = world.called([late, *papers[1:]], (unwanted[1].id,))
    assert {late.id, unwanted[1].id} <= called
    assert unwanted[2].id not in called
