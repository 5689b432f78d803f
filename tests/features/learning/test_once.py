"""A morning of the real program, whose list has learned what it wants."""

from __future__ import annotations

from datetime import timedelta

from paperboy.features.learning import ranking
from paperboy.features.learning.lessons import ExampleKind, LearnedState, Lessons
from paperboy.home.home import Home
from paperboy.models import Day, Outcome
from paperboy.scoring.prompt import Prompt
from paperboy.store import Store
from tests.builders import TABLES
from tests.cli.conftest import FRIDAY, World, world

__all__ = ["world"]  # a fixture

YESTERDAY = FRIDAY - timedelta(days=1)


def learned(world: World) -> None:
    """Let foundations have learned enough, from papers that all begin alike: later numbers are wanted."""
    home = Home.load(world.path, {})
    criteria = Prompt(home.folders("prompts")).criteria(home.list("foundations").topics)
    rows = [
        ranking.Example(f"Wanted {number}", "", 1.0 if number > 20 else 0.0)
        for number in range(1, 41)
    ]
    key = f"{ranking.FEATURES}; {criteria}; 7"
    since = FRIDAY - timedelta(days=31)
    state = LearnedState(key, since, YESTERDAY, "2611.00001", 300, ranking.train(b"", rows))
    with Store.open(world.database, tables=TABLES) as store:
        store.days.freeze(Day("foundations", YESTERDAY.date(), Outcome.NOTE), YESTERDAY)
        Lessons(store.database).keep("foundations", ExampleKind.SCORES, state, YESTERDAY)


def test_once_asks_the_llm_about_half_of_the_papers_and_keeps_the_sample(world: World) -> None:
    world.env(LLM_SHORTLIST="0.5")
    learned(world)
    world.announce(*range(1, 41))
    assert world.run("once", "--list", "foundations").code == 0
    (shown, _) = world.json("status")["lists"]
    counts = shown["counts"]
    shortlist = shown["shortlist"]
    assert 10 < counts["not_called"] <= 20
    assert counts["scored"] == 40 - counts["not_called"]
    assert shortlist["not_called"] == counts["not_called"]
    assert shortlist["sampled"] == 20 - counts["not_called"]
