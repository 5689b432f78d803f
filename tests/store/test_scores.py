"""Scores are paid for once; what they cost is never forgotten and never made up."""

from datetime import UTC, date, datetime, timedelta

import pytest

from paperboy.models import Cost, Day, Outcome, Score, Spending, Usage
from paperboy.store import Store
from tests.builders import added

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
SPENT = Spending(Usage(1, 1000, 100, 10, 50, 20), Cost(0.01, 0.002))


def test_kept_score_is_found_by_list_criteria_and_model_and_the_first_one_stays(
    store: Store,
) -> None:
    scores = {"2611.00001": Score(9, 8, "good"), "2611.00002": Score(3, None)}
    store.scores.keep("foundations", "abc", "luna", scores, SPENT, NOW)
    store.scores.keep("foundations", "abc", "luna", {"2611.00001": Score(1, 1)}, SPENT, NOW)
    ids = [*scores, "2611.00003"]
    assert store.scores.kept("foundations", "abc", "luna", ids, NOW) == scores
    assert store.scores.kept("foundations", "abc", "luna", ids[1:2], NOW) == {
        "2611.00002": Score(3, None)
    }
    for other in (("foundations", "other topics", "luna"), ("foundations", "abc", "sol")):
        assert store.scores.kept(*other, ids, NOW) == {}


def test_scores_are_shared_by_lists_with_the_same_criteria(store: Store) -> None:
    """Its own first, then that of the list known longest; from then on it is the list's own, too, and nobody pays."""
    for list_name, relevance in (("galaxies", 2), ("foundations", 9)):
        later = NOW + timedelta(hours=relevance)
        store.scores.keep(
            list_name, "abc", "luna", {"2611.00001": Score(relevance, 8)}, SPENT, later
        )
    store.scores.keep("mine", "abc", "luna", {"2611.00002": Score(5, 5)}, SPENT, NOW)
    ids, mine = (
        ["2611.00001", "2611.00002", "2611.00003"],
        {"2611.00001": Score(2, 8), "2611.00002": Score(5, 5)},
    )
    assert store.scores.kept("mine", "other topics", "luna", ids, NOW) == {}
    assert store.history.of_paper("mine", "2611.00001").scores == ()
    assert store.scores.kept("mine", "abc", "luna", ids, NOW) == mine
    assert [kept.score for kept in store.history.of_paper("mine", "2611.00001").scores] == [
        Score(2, 8)
    ]
    assert store.scores.spending("mine") == SPENT


def test_spending_adds_up_over_calls_until_a_day_is_frozen(store: Store) -> None:
    store.scores.keep("foundations", "abc", "luna", {}, SPENT, NOW)
    store.scores.keep("foundations", "abc", "luna", {}, SPENT, NOW)
    store.scores.keep("galaxies", "abc", "luna", {}, SPENT, NOW)
    assert store.scores.spending("foundations") == added(SPENT, SPENT)
    store.days.freeze(Day("foundations", date(2026, 11, 20), Outcome.QUIET), NOW)
    assert store.scores.spending("foundations") == Spending()
    assert store.scores.spending("galaxies") == SPENT


def test_spending_since_an_instant_counts_what_has_a_price(store: Store) -> None:
    store.scores.keep("foundations", "abc", "luna", {}, SPENT, NOW)
    store.scores.keep("other", "abc", "luna", {}, SPENT, NOW + timedelta(hours=1))
    store.scores.keep("foundations", "abc", "mine", {}, Spending(Usage(1, 10), None), NOW)
    assert SPENT.cost is not None
    assert store.scores.spent_since(NOW) == pytest.approx(2 * SPENT.cost.total)
    assert store.scores.spent_since(NOW + timedelta(seconds=1)) == pytest.approx(SPENT.cost.total)
    assert store.scores.spent_since(NOW + timedelta(hours=2)) == 0


def test_scorer_that_uses_nothing_leaves_no_spending(store: Store) -> None:
    store.scores.keep(
        "foundations", "abc", "embedded", {"2611.00001": Score(9, None)}, Spending(), NOW
    )
    assert store.scores.spending("foundations") == Spending()
