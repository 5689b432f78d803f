"""The fetch: papers that were cross-listed long after they were submitted, which only the announcement feed names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paperboy.errors import FeedError, StoreWriteError
from paperboy.models import Outcome, Paper, PaperOutcome, Score
from paperboy.store import Store
from tests.builders import paper
from tests.cli.conftest import World as Home
from tests.cli.conftest import world as home
from tests.morning.test_morning import FRIDAY, World, foundations, good, new
from tests.servers.arxiv_faults import rate_limited

__all__ = ["home"]  # a fixture

OLD = paper(
    "2312.02073",
    published=datetime(2023, 12, 4, tzinfo=UTC),
    categories=("cs.CV", "cs.LG"),
    primary_category="cs.CV",
)
DAY = timedelta(days=1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A list that has had its first morning."""
    with Store.open(tmp_path / "paperboy.db") as store:
        world = World(store)
        world.clock.now -= DAY
        world.feed.papers = [new(1, published=FRIDAY - 2 * DAY)]
        assert world.run().lists[0].outcome is Outcome.NOTE
        world.clock.now += DAY
        world.scorer.known = good(OLD)
        yield world


def became(world: World, arxiv_id: str = OLD.id) -> PaperOutcome | None:
    return world.store.history.of_paper("foundations", arxiv_id).became


def test_late_cross_list_comes_once(world: World) -> None:
    world.feed.crossed = [OLD]
    world.run()
    assert world.digests()[-1] == [OLD.id]
    for _ in range(3):
        world.clock.now += 20 * DAY
        world.run()
    assert sum(OLD.id in ids for ids in world.digests()) == 1
    assert world.scorer.asked.count(OLD.id) == 1


def test_paper_that_is_kept_and_gets_a_new_category_comes_to_the_lists_of_that(
    world: World,
) -> None:
    """The list that has seen it does not get it again."""
    robots = foundations(name="robots", categories=("cs.RO",))
    world.run(robots, any_day=True)
    world.feed.crossed = [replace(OLD, categories=("cs.CV", "cs.RO"))]
    world.clock.now += DAY
    world.run(foundations(), robots)
    assert (became(world), world.digests()[-1]) == (None, [OLD.id])
    world.feed.crossed = [OLD]
    world.clock.now += DAY
    world.run(foundations(), robots)
    assert became(world) is PaperOutcome.SELECTED
    assert sum(OLD.id in ids for ids in world.digests()) == 2


def test_late_cross_list_is_no_news_to_a_list_on_its_old_category(world: World) -> None:
    vision = foundations(name="vision", categories=("cs.CV",))
    world.run(vision, any_day=True)
    world.feed.crossed = [OLD]
    world.clock.now += DAY
    world.run(foundations(), vision)
    assert became(world) is PaperOutcome.SELECTED
    assert world.store.history.of_paper("vision", OLD.id).became is PaperOutcome.BEFORE_START


def test_late_cross_list_waits_whole_for_a_list_not_served_for_weeks(world: World) -> None:
    """Retention leaves what a list has not seen, whatever its age."""
    tuesdays = foundations(name="tuesdays", weekdays=frozenset({1}))
    world.run(tuesdays, any_day=True)
    world.feed.crossed = [OLD]
    world.clock.now += DAY
    world.run(foundations(), tuesdays)
    world.feed.crossed = []
    world.clock.now += 3 * DAY  # Tuesday
    world.run(foundations(), tuesdays)
    digest = world.composer.made[-1]
    assert [(entry.paper.id, entry.paper.abstract) for entry in digest.entries] == [
        (OLD.id, OLD.abstract)
    ]


def test_new_list_begins_with_the_newest_batch_nevertheless(world: World) -> None:
    world.feed.crossed = [OLD]
    world.run(foundations(name="young", categories=("cs.LG", "cs.CV")))
    assert world.store.history.of_paper("young", OLD.id).became is PaperOutcome.BEFORE_START


def test_younger_papers_are_left_to_the_fetch(world: World) -> None:
    """Else arXiv's batch would seem to be there while its API is late."""
    young = new(7, published=FRIDAY - DAY)
    world.feed.crossed = [young]
    world.run()
    assert world.store.history.paper(young.id) is None


@pytest.mark.parametrize(
    "error", [FeedError("rss.arxiv.org answered HTTP 503"), ZeroDivisionError()]
)
def test_failure_costs_the_late_cross_lists_alone(
    world: World, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    world.feed.no_cross_lists = error
    world.feed.papers.append(new(2))
    world.scorer.known = good(new(2))
    (report,) = world.run().lists
    assert (report.outcome, report.problem) == (Outcome.DIGEST, "")
    assert "are not fetched today" in caplog.text


def test_full_disk_ends_the_morning(world: World) -> None:
    world.feed.no_cross_lists = StoreWriteError("the disk is full")
    with pytest.raises(StoreWriteError):
        world.run()


def test_arxiv_that_does_not_answer_is_not_asked_for_more(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.feed.broken = "no network"
    world.feed.crossed = [OLD]
    world.run()
    assert became(world) is None
    assert "late cross-lists" not in caplog.text


def morning(home: Home, number: int, *announced: tuple[Paper, str]) -> str:
    """The next day, with one new paper of that number and what arXiv announces; gives what `once` said."""
    home.clock.now += DAY
    home.arxiv.announced = list(announced)
    home.announce(number)
    ran = home.run("once")
    assert ran.code == 0
    return ran.err


def test_late_cross_list_goes_from_the_feed_into_the_mail(home: Home) -> None:
    home.clock.now -= 4 * DAY  # Monday
    home.arxiv.papers.append(OLD)
    morning(home, 1, (OLD, "cross"))
    assert (
        home.arxiv.feeds == []
    )  # whoever has an API of their own does not expect requests to arXiv
    home.env(ARXIV_FEED_URL=home.arxiv.feed_url)
    home.llm.scores = {OLD.id: Score(9, 8, "It matters.")}
    said = morning(home, 2, (OLD, "cross"))
    assert "1 late cross-lists: 2312.02073" in said
    assert OLD.id.encode() in home.smtp.messages[-1].content
    home.arxiv.feed_fault = rate_limited()
    assert "late cross-lists are not fetched today: 127.0.0.1 answered HTTP 429" in morning(
        home, 3, (OLD, "cross")
    )
    assert home.arxiv.feeds == ["astro-ph.GA+cs.LG+stat.ML"] * 2
    assert home.run("why", OLD.id).out.count("selected, in the digest of Wed 18 Nov 2026") == 1
