"""Scores are paid for once; what they cost is never forgotten and never made up."""

from datetime import date, timedelta

import pytest

from paperboy.models import Cost, Day, Outcome, Score, Spending, Usage
from paperboy.store import Store
from tests.builders import added
from tests.store.ledger import NOW, keep_scores

SPENT = Spending(Usage(1, 1000, 100, 10, 50, 20), Cost(0.01, 0.002))


def test_kept_score_is_found_by_list_criteria_and_model_and_the_first_one_stays(
    store: Store,
) -> None:
    scores = {"2611.00001": Score(9, 8, "good"), "2611.00002": Score(3, None)}
    keep_scores(store, scores)
    keep_scores(store, {"2611.00001": Score(1, 1)})
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
        keep_scores(store, {"2611.00001": Score(relevance, 8)}, later, list_name=list_name)
    keep_scores(store, {"2611.00002": Score(5, 5)}, spending=SPENT, list_name="mine")
    ids = ["2611.00001", "2611.00002", "2611.00003"]
    mine = {"2611.00001": Score(2, 8), "2611.00002": Score(5, 5)}
    assert store.scores.kept("mine", "other topics", "luna", ids, NOW) == {}
    assert store.history.of_paper("mine", "2611.00001").scores == ()
    assert store.scores.kept("mine", "abc", "luna", ids, NOW) == mine
    assert [kept.score for kept in store.history.of_paper("mine", "2611.00001").scores] == [
        Score(2, 8)
    ]
    assert store.scores.spending("mine") == SPENT


def test_topic_is_kept_and_taken_over_from_another_list(store: Store) -> None:
    scores = {"2611.00001": Score(9, 8, "good", topic=3), "2611.00002": Score(7, 6, "fine")}
    keep_scores(store, scores)
    for name in ("foundations", "mine", "mine"):
        assert store.scores.kept(name, "abc", "luna", [*scores], NOW) == scores


def test_spending_adds_up_over_calls_until_a_day_is_frozen(store: Store) -> None:
    for list_name in ("foundations", "foundations", "galaxies"):
        keep_scores(store, spending=SPENT, list_name=list_name)
    assert store.scores.spending("foundations") == added(SPENT, SPENT)
    store.days.freeze(Day("foundations", date(2026, 11, 20), Outcome.QUIET), NOW)
    assert store.scores.spending("foundations") == Spending()
    assert store.scores.spending("galaxies") == SPENT


def test_spending_since_an_instant_counts_what_has_a_price(store: Store) -> None:
    keep_scores(store, spending=SPENT)
    keep_scores(store, {}, NOW + timedelta(hours=1), spending=SPENT, list_name="other")
    keep_scores(store, spending=Spending(Usage(1, 10), None))
    assert SPENT.cost is not None
    assert store.scores.spent_since(NOW) == pytest.approx(2 * SPENT.cost.total)
    assert store.scores.spent_since(NOW + timedelta(seconds=1)) == pytest.approx(SPENT.cost.total)
    assert store.scores.spent_since(NOW + timedelta(hours=2)) == 0


def test_scorer_that_uses_nothing_leaves_no_spending(store: Store) -> None:
    keep_scores(store, {"2611.00001": Score(9, None)}, model="embedded")
    assert store.scores.spending("foundations") == Spending()
