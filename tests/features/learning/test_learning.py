"""What lists learn: beside the morning, and what a morning makes of it, on a real database."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paperboy.features.learning.learning import Learning
from paperboy.features.learning.lessons import ExampleKind, LearnedState, Lessons
from paperboy.features.learning.ranking import Example, LearnedRanker, train_likes
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


# --- the library


def with_library(world: World, folder: Path, number: int, name: str = "refs.bib") -> MailingList:
    """LIST with a library of so many papers, with their abstracts, about what the list wants."""
    ids = [f"2610.{2 * place + 1:05}" for place in range(number)]
    entries = []
    for paper_id in ids:
        text = text_of(paper_id)
        fields = f"title={{{text['title']} {paper_id}}}, abstract={{{text['abstract']}}}"
        entries.append(f"@misc{{k{paper_id}, {fields}}}")
    (folder / name).write_text("\n".join(entries), "utf-8")
    return replace(LIST, library=name)


def test_library_is_learned_from_once_the_list_has_seen_papers(
    world: World, tmp_path: Path
) -> None:
    liking = with_library(world, tmp_path, 5)
    assert world.learning.work(liking, world.now) == ""
    assert world.state(ExampleKind.LIBRARY, liking) is None
    world.live(2, learns=False)
    world.learning.work(liking, world.now)
    state = world.state(ExampleKind.LIBRARY, liking)
    assert state is not None
    assert state.examples == 5
    liked, other = LearnedRanker(state.weights, of_library=True).strengths(
        [paper(**text_of(f"2612.0000{number}")) for number in (1, 2)]
    )
    assert liked > other
    assert world.state(ExampleKind.LIBRARY, replace(LIST, library="")) is None, "it left the file"


def test_library_of_four_papers_teaches_nothing(world: World, tmp_path: Path) -> None:
    liking = with_library(world, tmp_path, 4)
    world.live(2, learns=False)
    world.learning.work(liking, world.now)
    assert world.state(ExampleKind.LIBRARY, liking) is None


def test_liked_papers_are_not_compared_with_themselves(world: World, tmp_path: Path) -> None:
    """A list that has seen nothing else learns nothing."""
    seen = [world.paper(number) for number in range(DAILY)]
    entries = [f"@misc{{k{of.id}, title={{{of.title} {of.id}}}, abstract={{A}}}}" for of in seen]
    (tmp_path / "refs.bib").write_text("\n".join(entries), "utf-8")
    liking = replace(LIST, library="refs.bib")
    titled = [replace(of, title=f"{of.title} {of.id}".upper()) for of in seen]
    world.store.papers.add(titled, LIST.categories, world.now)
    outcomes = dict.fromkeys((of.id for of in seen), PaperOutcome.BELOW)
    today = Day(LIST.name, world.now.date(), Outcome.NOTE, outcomes=outcomes)
    world.store.days.freeze(today, world.now)
    world.learning.work(liking, world.now)
    assert world.state(ExampleKind.LIBRARY, liking) is None


@pytest.mark.parametrize(
    ("papers", "weight"), [(5, 0.5), (10, 0.5 + 0.5 / 3), (20, 1.0), (500, 1.0)]
)
def test_library_weighs_half_of_the_words_and_grows_to_once(papers: int, weight: float) -> None:
    likes = [Example(f"Deep networks {number}", "", 1.0) for number in range(papers)]
    ranker = LearnedRanker(train_likes([*likes, Example("Stars", "", None)]), of_library=True)
    assert ranker.weight == pytest.approx(weight)


def test_library_that_cannot_be_read_is_tried_again_and_costs_nothing_else(
    world: World, tmp_path: Path
) -> None:
    liking = with_library(world, tmp_path, 5)
    (tmp_path / "refs.bib").unlink()
    world.live(3, learns=False)
    reply = world.learning.work(liking, world.now)
    assert reply == "refs.bib: is missing; put it back into the home"
    assert world.state(of=liking) is not None, "scores are learned all the same"
    with_library(world, tmp_path, 5)
    assert world.learning.work(liking, world.now) == ""
    assert world.state(ExampleKind.LIBRARY, liking) is not None


def test_library_breaks_ties_of_an_llm_and_changes_nothing_that_is_called(
    world: World, tmp_path: Path
) -> None:
    world.live(33)
    before = world.called(world.todays())
    liking = with_library(world, tmp_path, 20)
    world.learning.work(liking, world.now)
    learned = world.learning.learned(liking, world.todays(), (), world.now)
    assert {of.id for of in world.todays()} - learned.not_called - learned.sampled == before
    best = max(learned.liked, key=lambda paper_id: learned.liked[paper_id])
    assert int(best[-1]) % 2 == 1
    assert learned.rankers == ()


def test_embedded_scorer_is_given_the_library_and_readers_are_not_told(
    world: World, tmp_path: Path
) -> None:
    """Templates of 1.0 know no other words than votes and scores."""
    world.learning = replace(world.learning, ranks=True, share=1.0)
    world.live(3)
    liking = with_library(world, tmp_path, 20)
    world.learning.work(liking, world.now)
    learned = world.learning.learned(liking, world.todays(), (), world.now)
    assert learned.learned_from == "scores"
    assert [ranker.weight for ranker in learned.rankers] == [pytest.approx(0.1), 1.0]
    world.learning.lessons.keep(LIST.name, ExampleKind.SCORES, None, world.now)
    learned = world.learning.learned(liking, world.todays(), (), world.now)
    assert (learned.learned_from, len(learned.rankers)) == ("", 1)
