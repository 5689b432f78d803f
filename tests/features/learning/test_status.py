"""`paperboy status` says what each list's learned shortlist leaves out, what that misses, and what it saves."""

from datetime import timedelta
from typing import Any

import pytest

from paperboy.features.learning.lessons import ExampleKind, LearnedState, Lessons
from paperboy.models import Cost, Counts, Day, Outcome, PaperOutcome, Spending, Usage
from paperboy.store import Store
from tests.builders import TABLES
from tests.cli.conftest import FRIDAY, World, world

__all__ = ["world"]  # a fixture

YESTERDAY = FRIDAY.date() - timedelta(days=1)
PAID = Spending(Usage(1, 900), Cost(1.06, 0))
COUNTS = Counts(considered=200, selected=20, below=86, not_called=94)


def had(
    world: World,
    sample: dict[str, PaperOutcome] | None = None,
    counts: Counts = COUNTS,
    spent: Spending = PAID,
) -> None:
    """Yesterday of foundations, and what became of its random sample."""
    sample = sample or {}
    at = FRIDAY - timedelta(days=1)
    with Store.open(world.database, tables=TABLES) as store:
        store.scores.keep("foundations", "criteria", "gpt-6-luna", {}, spent, at)
        sampled = frozenset(sample)
        day = Day(
            "foundations", YESTERDAY, Outcome.NOTE, counts=counts, outcomes=sample, sampled=sampled
        )
        store.days.freeze(day, at, lambda _: Lessons(store.database).add_sample(day))


def sample(size: int, found: int = 0) -> dict[str, PaperOutcome]:
    became = [PaperOutcome.SELECTED] * found + [PaperOutcome.BELOW] * (size - found)
    return {f"2611.{number:05}": outcome for number, outcome in enumerate(became)}


def learned(world: World, name: str, papers: int, days: int) -> None:
    since = FRIDAY - timedelta(days=days)
    with Store.open(world.database, tables=TABLES) as store:
        state = LearnedState("key", since, FRIDAY, "2611.00001", papers, b"weights")
        Lessons(store.database).keep(name, ExampleKind.SCORES, state, FRIDAY)


def told(world: World) -> list[str]:
    return [line for line in world.run("status").out.splitlines() if "hortlist" in line]


def in_json(world: World) -> list[dict[str, Any] | None]:
    return [shown["shortlist"] for shown in world.json("status")["lists"]]


def of_foundations(world: World) -> dict[str, Any]:
    """The shortlist of the first list, in JSON."""
    shown = in_json(world)[0]
    assert shown is not None
    return shown


@pytest.fixture
def busy(world: World) -> World:
    """Both lists have learned enough."""
    world.env(LLM_SHORTLIST="auto")
    for name in ("foundations", "galaxies"):
        learned(world, name, 300, 30)
    return world


def test_status_estimates_what_the_shortlist_finds_and_what_it_saved(busy: World) -> None:
    had(busy, sample(40, found=1))
    (line,) = told(busy)
    assert line == (
        "Shortlist of foundations in 60 days: 53% of papers called; it finds about 89% of what passes (62–98%, from 40 "
        "papers called by chance); left out 94 papers, which saved about $0.94"
    )
    assert of_foundations(busy) == (
        {
            "share": 0.6,
            "off_until": None,
            "learns": None,
            "called": 106,
            "not_called": 94,
            "passed": 20,
            "sampled": 40,
            "found": 1,
            "recall": 0.8949,
            "recall_interval": [0.6229, 0.9796],
            "saved": 0.94,
        }
    )


@pytest.mark.parametrize(
    ("size", "counts", "why"),
    [
        (0, COUNTS, "0 papers called by chance, 20 passed"),
        (1, Counts(considered=200, below=106, not_called=94), "1 paper called by chance, 0 passed"),
    ],
)
def test_too_small_a_sample_says_nothing(busy: World, size: int, counts: Counts, why: str) -> None:
    had(busy, sample(size), counts)
    assert f"; too few to say what it finds ({why}); left out 94 papers, " in told(busy)[0]
    shown = of_foundations(busy)
    assert shown["recall"] is shown["recall_interval"] is None


@pytest.mark.parametrize("cost", [None, Cost(0, 0)])
def test_no_money_is_saved_where_a_price_is_unknown_or_nothing(
    busy: World, cost: Cost | None
) -> None:
    had(busy, spent=Spending(Usage(1, 900), cost))
    assert told(busy)[0].endswith("; left out 94 papers")
    assert of_foundations(busy)["saved"] is None


@pytest.mark.parametrize(
    ("found", "then", "share", "until"),
    [
        (3, "", 0.6, None),
        (4, "; raised to 70% of papers, since it missed some", 0.7, None),
        (8, "; off until Mon 18 Jan, since it missed too much", 1.0, "2027-01-18"),
    ],
)
def test_status_says_what_the_sample_has_changed(
    busy: World, found: int, then: str, share: float, until: str | None
) -> None:
    had(busy, sample(40, found))
    assert told(busy)[0].endswith(f"which saved about $0.94{then}")
    shown = of_foundations(busy)
    assert (shown["share"], shown["off_until"]) == (share, until)


@pytest.mark.parametrize("env", [{}, {"LLM_SHORTLIST": "auto", "llm": False}])
def test_shortlist_that_is_no_longer_used_is_not_shown(busy: World, env: dict[str, Any]) -> None:
    had(busy, sample(40, 6))
    busy.env(**env)
    assert told(busy) == []
    assert in_json(busy) == [None, None]


def test_young_lists_share_a_line(world: World) -> None:
    world.env(LLM_SHORTLIST="0.5")
    learned(world, "foundations", 120, 12)
    (line,) = told(world)
    assert line == (
        "No shortlist yet for foundations (learned 120 of 300 papers, day 12 of 30) and "
        "galaxies (learned 0 of 300 papers, day 0 of 30)"
    )
    needed = {"papers_needed": 300, "days_needed": 30}
    assert of_foundations(world)["learns"] == {"papers": 120, "days": 12, **needed}


def test_status_is_silent_without_the_setting(world: World) -> None:
    learned(world, "foundations", 120, 12)
    assert told(world) == []
    assert in_json(world) == [None, None]


def test_status_needs_no_prompt(world: World) -> None:
    """While the prompt is broken, the question is all the more what happens to the mail."""
    world.env(LLM_SHORTLIST="auto")
    learned(world, "foundations", 120, 12)
    world.write("prompts/score.md.j2", "{{ nowhere }}")
    assert of_foundations(world)["learns"]["papers"] == 120
