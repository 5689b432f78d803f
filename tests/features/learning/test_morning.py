"""A morning of lists that have learned: what the LLM is not asked about, what readers like, how papers are ranked."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from paperboy import curate
from paperboy.errors import ConfigError, Problem
from paperboy.features.learning.learning import Learning
from paperboy.features.learning.lessons import Lessons
from paperboy.features.votes.rows import cast
from paperboy.home.settings import Share
from paperboy.models import (
    Day,
    MailingList,
    Model,
    Outcome,
    Paper,
    PaperOutcome,
    Score,
    Spending,
    Usage,
)
from paperboy.morning.drafter import Drafter
from paperboy.morning.preview import Previews
from paperboy.store import Store
from paperboy.store.readers import Reader
from tests.features.learning.conftest import VOTES, likes_in
from tests.morning import test_morning
from tests.morning.test_morning import FRIDAY, THURSDAYS, foundations, good, new


@dataclass
class World(test_morning.World):
    """That of other mornings, with lists that learn."""

    share: Share = 1.0

    @property
    def learning(self) -> Learning:
        return Learning(
            store=self.store,
            lessons=Lessons(self.store.database, VOTES),
            likes=likes_in(self.store, Path()),
            criteria=self.scorer.criteria,
            share=self.share,
            ranks=not self.scorer.model.is_llm,
        )

    def drafter(self, **changes: Any) -> Drafter:
        self.frozen = [self.learning.freeze]
        return super().drafter(learn=self.learning.learned, **changes)

    def learn(self, *lists: MailingList) -> None:
        for mailing_list in lists:
            self.learning.work(mailing_list, self.clock())


@pytest.fixture
def world(store: Store) -> World:
    return World(store)


class TestShortlist:
    """A list that has learned what it wants asks the LLM about half of its papers."""

    @pytest.fixture
    def learned(self, world: World) -> World:
        """After a month and 300 scores; today 40 papers come, of which every second one is wanted."""
        month_ago = FRIDAY - timedelta(days=31)
        yesterday = FRIDAY - timedelta(days=1)
        old = [self.about(number, published=month_ago) for number in range(1000, 1300)]
        world.store.papers.add(old, foundations().categories, month_ago)
        scores = {paper.id: Score(9 if "Deep" in paper.title else 2, 6) for paper in old}
        criteria = world.scorer.criteria(foundations())
        world.store.scores.keep(
            "foundations", criteria, "luna", scores, Spending(Usage(1)), month_ago
        )
        world.store.days.begin(
            "foundations", curate.ways_in(foundations()), (), month_ago.date(), month_ago
        )
        seen = Day(
            "foundations",
            yesterday.date(),
            Outcome.NOTE,
            outcomes=dict.fromkeys(scores, PaperOutcome.BELOW),
        )
        world.store.days.freeze(seen, yesterday)
        world.share = 0.5
        world.clock.now = yesterday
        world.learn(foundations())
        world.clock.now = FRIDAY
        world.feed.papers = [self.about(number) for number in range(40)]
        return world

    def about(self, number: int, **changes: object) -> Paper:
        words = "Deep networks generalise" if number % 2 else "Galaxies rotate slowly"
        return new(number, **{"title": words, "abstract": words.lower(), **changes})

    def left_out(self, world: World) -> set[str]:
        lives = {
            paper.id: world.store.history.of_paper("foundations", paper.id)
            for paper in world.feed.papers
        }
        return {
            arxiv_id for arxiv_id, life in lives.items() if life.became is PaperOutcome.NOT_CALLED
        }

    def test_llm_is_asked_about_the_best_half_and_a_sample_of_the_rest(
        self, learned: World
    ) -> None:
        (report,) = learned.run(foundations()).lists
        unwanted = {paper.id for paper in learned.feed.papers if "Galaxies" in paper.title}
        counts = report.counts
        out = self.left_out(learned)
        assert out < unwanted
        assert {paper.id for paper in learned.feed.papers} - out == set(learned.scorer.asked)
        assert (counts.considered, counts.not_called, counts.scored) == (
            40,
            len(out),
            40 - len(out),
        )
        recall, _ = learned.learning.lessons.recalls(["foundations"], FRIDAY.date())["foundations"]
        assert (recall.called, recall.not_called, recall.sampled) == (
            40 - len(out),
            len(out),
            20 - len(out),
        )

    def test_paper_left_out_by_the_shortlist_never_comes_back(self, learned: World) -> None:
        """Not even with the papers of a digest that reached nobody."""
        learned.mail_is_down = True
        learned.scorer.known = good(
            *(paper for paper in learned.feed.papers if "Deep" in paper.title)
        )
        learned.run(foundations())
        out = self.left_out(learned)
        asked = len(learned.scorer.asked)
        learned.clock.now += timedelta(days=1)
        (report,) = learned.run(foundations()).lists
        assert report.counts.considered == 40 - len(out)
        assert len(learned.scorer.asked) == asked
        assert self.left_out(learned) == out

    def test_second_try_and_a_preview_ask_about_the_same_papers(self, learned: World) -> None:
        learned.scorer.dies_after = 7
        learned.composer.broken = ConfigError([Problem("emails/digest.mjml.j2:3", "broken")])
        learned.scorer.known = good(*learned.feed.papers)
        assert learned.run(foundations()).due == ("foundations",)
        learned.scorer.dies_after = None
        learned.composer.broken = None
        learned.run(foundations())
        out = self.left_out(learned)
        assert len(set(learned.scorer.asked)) == len(learned.scorer.asked) == 40 - len(out)
        previews = Previews(
            learned.drafter(), learned.connect, [foundations()], nullcontext, FRIDAY
        )
        assert previews.of(foundations()).digest.counts.not_called == len(out)
        assert len(learned.scorer.asked) == 40 - len(out)

    def test_paper_that_another_list_pays_for_is_taken(self, learned: World) -> None:
        """A twin on the same topics, which is young, asks about everything."""
        learned.scorer.known = good(*learned.feed.papers)
        first, twin = learned.run(foundations(), foundations(name="twin")).lists
        assert (first.counts.not_called, first.counts.selected) == (0, 40)
        assert twin.counts.selected == 40
        assert len(learned.scorer.asked) == 40

    def test_dead_llm_leaves_nothing_out_for_good(self, learned: World) -> None:
        """A day that is given up has shown nobody anything: all of its papers come again."""
        learned.scorer.dies_after = 0
        patience = timedelta(hours=6)
        assert learned.run(foundations(), patience=patience).due == ("foundations",)
        learned.clock.now += patience + timedelta(hours=1)
        (report,) = learned.run(foundations(), patience=patience).lists
        assert report.outcome is Outcome.GAVE_UP
        assert self.left_out(learned) == set()

    def test_sampled_paper_that_has_no_score_yet_is_no_sample(self, learned: World) -> None:
        learned.scorer.known = good(*learned.feed.papers)
        learned.scorer.dies_after = 1
        (report,) = learned.run(foundations()).lists
        assert (report.counts.scored, report.counts.carried_over, report.counts.not_called) == (
            1,
            21,
            18,
        )
        drawn = learned.store.database.column("select paper_id from samples")
        assert set(drawn) <= set(learned.scorer.asked)

    def test_eighth_sampled_paper_that_passes_switches_auto_off_and_alerts_once(
        self, learned: World
    ) -> None:
        before = FRIDAY - timedelta(days=10)
        passed = {f"2611.0510{number}": PaperOutcome.SELECTED for number in range(7)}
        seven = Day(
            "foundations", before.date(), Outcome.NOTE, outcomes=passed, sampled=frozenset(passed)
        )
        learned.store.days.freeze(
            seven, before, lambda _: learned.learning.freeze(foundations(), seven, None, before)
        )
        learned.share = "auto"
        learned.feed.papers = [self.about(number) for number in range(100)]
        learned.scorer.known = good(*learned.feed.papers)
        (report,) = learned.run(foundations()).lists
        assert report.counts.not_called > 20
        assert [(row.kind, row.subject) for row in learned.store.incidents.all()] == [
            ("shortlist", "foundations")
        ]
        learned.clock.now += timedelta(days=3)  # a Monday
        published = FRIDAY + timedelta(hours=1)
        learned.feed.papers = [
            self.about(number, published=published) for number in range(200, 240)
        ]
        learned.scorer.known = good(*learned.feed.papers)
        learned.store.incidents.forget("shortlist", "foundations")
        (report,) = learned.run(foundations()).lists
        assert (report.counts.not_called, report.counts.selected) == (0, 40)
        assert learned.store.incidents.all() == []


def test_votes_order_papers_with_equal_scores_and_hide_none(world: World) -> None:
    week_ago = FRIDAY - timedelta(days=7)
    old = [
        new(900 + number, published=week_ago, title=f"Why {'cats' if number % 2 else 'dogs'}")
        for number in range(20)
    ]
    world.store.papers.add(old, foundations().categories, week_ago)
    votes = {paper.id: 1 if "cats" in paper.title else -1 for paper in old}
    cast(world.store.database, Reader("foundations", "ada@example.org"), votes, week_ago)
    world.clock.now = week_ago
    world.learn(foundations())
    world.clock.now = FRIDAY
    titles = {1: "Why dogs", 2: "Why cats", 3: "Why dogs", 4: "Why cats"}
    world.feed.papers = [new(number, title=title) for number, title in titles.items()]
    world.scorer.known = good(*world.feed.papers) | {"2611.00003": Score(10, 8)}
    world.run(foundations())
    (digest,) = world.digests()
    assert digest == ["2611.00003", "2611.00002", "2611.00004", "2611.00001"]


def test_embedded_lists_on_the_same_topics_share_no_ranking_once_one_has_learned(
    world: World,
) -> None:
    """Nor does a ranking from before the votes outlive them."""
    world.scorer.model = Model("embedded ranker", is_llm=False)
    world.feed.papers = [new(1)]
    one = foundations()
    twin = foundations(name="twin")
    world.run(one, twin)
    assert world.scorer.asked == ["2611.00001"]
    votes = {f"2611.{number:05}": 1 for number in range(100, 110)}
    world.store.papers.add([new(100 + number) for number in range(10)], one.categories, FRIDAY)
    cast(world.store.database, Reader("twin", "ada@example.org"), votes, FRIDAY)
    world.learn(one, twin)
    world.clock.now += timedelta(days=3)
    world.feed.papers.append(new(2, published=THURSDAYS + timedelta(days=1)))
    world.run(one, twin)
    assert world.scorer.asked.count("2611.00002") == 2
    assert {digest.model.learned_from for digest in world.composer.made[-2:]} == {"", "votes"}
