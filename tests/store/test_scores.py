"""Scores are paid for once; what they cost is never forgotten and never made up."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from paperboy.models import Cost, Day, Outcome, Score, Spending, Usage
from paperboy.store import Store

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
SPENT = Spending(Usage(1, 1000, 100, 10, 50, 20), Cost(0.01, 0.002))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "paperboy.db")
    yield opened
    opened.close()


def test_a_kept_score_is_found_by_list_criteria_and_model(store: Store) -> None:
    scores = {"2611.00001": Score(9, 8, "good"), "2611.00002": Score(3, None)}
    store.scores.keep("foundations", "abc", "luna", scores, SPENT, NOW)
    ids = [*scores, "2611.00003"]
    assert store.scores.kept("foundations", "abc", "luna", ids) == scores
    assert store.scores.kept("foundations", "abc", "luna", ids[1:2]) == {"2611.00002": Score(3, None)}
    assert store.scores.kept("galaxies", "abc", "luna", ids) == {}
    assert store.scores.kept("foundations", "other topics", "luna", ids) == {}
    assert store.scores.kept("foundations", "abc", "sol", ids) == {}


def test_the_first_score_stays(store: Store) -> None:
    store.scores.keep("foundations", "abc", "luna", {"2611.00001": Score(9, 8)}, SPENT, NOW)
    store.scores.keep("foundations", "abc", "luna", {"2611.00001": Score(1, 1)}, SPENT, NOW)
    assert store.scores.kept("foundations", "abc", "luna", ["2611.00001"]) == {"2611.00001": Score(9, 8)}


def test_spending_adds_up_over_calls_and_counts_towards_the_day_that_is_frozen(store: Store) -> None:
    store.scores.keep("foundations", "abc", "luna", {}, SPENT, NOW)
    store.scores.keep("foundations", "abc", "luna", {}, SPENT, NOW)
    store.scores.keep("galaxies", "abc", "luna", {}, SPENT, NOW)
    assert store.scores.spending("foundations") == SPENT + SPENT
    store.days.freeze(Day("foundations", date(2026, 11, 20), Outcome.QUIET), NOW)
    assert store.scores.spending("foundations") == Spending()
    assert store.scores.spending_on("foundations", "2026-11-20") == SPENT + SPENT
    assert store.scores.spending("galaxies") == SPENT


def test_one_unknown_price_makes_the_sum_unknown(store: Store) -> None:
    """A sum that leaves it out would be a lie."""
    store.scores.keep("foundations", "abc", "luna", {}, SPENT, NOW)
    store.scores.keep("foundations", "abc", "mine", {}, Spending(Usage(1, 10), None), NOW)
    total = store.scores.spending("foundations")
    assert total.cost is None
    assert total.usage.prompt_tokens == 1010


def test_what_was_spent_since_an_instant_counts_all_lists(store: Store) -> None:
    store.scores.keep("foundations", "abc", "luna", {}, SPENT, NOW - timedelta(days=1))
    store.scores.keep("foundations", "abc", "luna", {}, SPENT, NOW)
    store.scores.keep("galaxies", "abc", "luna", {}, SPENT, NOW)
    assert store.scores.spent_since(NOW).usage.calls == 2


def test_the_budget_counts_what_has_a_price(store: Store) -> None:
    store.scores.keep("foundations", "abc", "luna", {}, SPENT, NOW)
    store.scores.keep("foundations", "abc", "mine", {}, Spending(Usage(1, 10), None), NOW)
    assert store.scores.dollars_since(NOW) == pytest.approx(0.012)
    assert store.scores.dollars_since(NOW + timedelta(seconds=1)) == 0


def test_a_scorer_that_uses_nothing_leaves_no_spending(store: Store) -> None:
    store.scores.keep("foundations", "abc", "embedded", {"2611.00001": Score(9, None)}, Spending(), NOW)
    assert store.scores.spending("foundations") == Spending()
