"""`paperboy why` says which papers were scored by chance."""

from __future__ import annotations

from paperboy.features.learning.lessons import Lessons
from paperboy.models import Day, Outcome, PaperOutcome, Score, Spending
from paperboy.store import Store
from tests.builders import TABLES
from tests.cli.conftest import FRIDAY, World, world

__all__ = ["world"]  # a fixture


def test_why_says_what_was_scored_by_chance(world: World) -> None:
    world.announce(1, 2)
    outcomes = {"2611.00001": PaperOutcome.NOT_CALLED, "2611.00002": PaperOutcome.BELOW}
    day = Day(
        "foundations",
        FRIDAY.date(),
        Outcome.NOTE,
        outcomes=outcomes,
        sampled=frozenset({"2611.00002"}),
    )
    with Store.open(world.database, tables=TABLES) as store:
        store.papers.add(world.arxiv.papers, ["cs.LG"], FRIDAY)
        scores = {"2611.00002": Score(3, 5, "")}
        store.scores.keep("foundations", "abc", "gpt-6-luna", scores, Spending(), FRIDAY)
        store.days.freeze(day, FRIDAY, lambda _: Lessons(store.database).add_sample(day))
    told = world.run("why", "2611.00002", "--list", "foundations").out
    outcome, score, by_chance = told.splitlines()[-3:]
    assert outcome.startswith("foundations: below the thresholds on Fri 20 Nov 2026")
    assert by_chance == (
        "  called by chance: the shortlist had left it out; some such papers are scored to see what it misses"
    )
    assert score.startswith("  relevance 3, novelty 5")
    assert "by chance" not in world.run("why", "2611.00001").out
