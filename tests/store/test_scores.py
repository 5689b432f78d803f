"""Scores are paid for once; what they cost is never forgotten and never made up."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from paperboy.models import Cost, Day, Outcome, Score, Spending, Usage
from paperboy.store import Store
from paperboy.store.scores import Month

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
    assert store.history.days(["foundations"])["foundations"][0].spending == SPENT + SPENT
    assert store.scores.spending("galaxies") == SPENT


def test_one_unknown_price_makes_the_sum_unknown(store: Store) -> None:
    """A sum that leaves it out would be a lie."""
    store.scores.keep("foundations", "abc", "luna", {}, SPENT, NOW)
    store.scores.keep("foundations", "abc", "mine", {}, Spending(Usage(1, 10), None), NOW)
    total = store.scores.spending("foundations")
    assert total.cost is None
    assert total.usage.prompt_tokens == 1010


def spend(store: Store, at: str, spending: Spending = SPENT, list_name: str = "foundations") -> None:
    store.scores.keep(list_name, "abc", "luna", {}, spending, datetime.fromisoformat(at))


def test_months_count_all_lists_newest_first_and_leave_out_those_without_spending(store: Store) -> None:
    spend(store, "2026-11-20T07:00Z")
    spend(store, "2026-11-20T07:00Z", list_name="galaxies")
    spend(store, "2026-09-30T07:00Z")
    spend(store, "2025-12-01T00:00Z")
    months = store.scores.months(NOW)
    assert [(month.first, month.spending) for month in months] == [
        (date(2026, 11, 1), SPENT + SPENT),
        (date(2026, 9, 1), SPENT),
        (date(2025, 12, 1), SPENT),
    ]


def test_this_month_is_always_one_of_them(store: Store) -> None:
    assert store.scores.months(NOW) == (Month(date(2026, 11, 1), Spending(), 0.0),)
    spend(store, "2026-10-20T07:00Z")
    assert [month.spending.usage.calls for month in store.scores.months(NOW)] == [0, 1]


def test_of_many_months_only_the_newest_are_told(store: Store) -> None:
    for month in range(1, 10):
        spend(store, f"2026-0{month}-20T07:00Z")
    assert [month.first.month for month in store.scores.months(NOW, most=3)] == [11, 9, 8, 7]
    assert len(store.scores.months(NOW)) == 10


@pytest.mark.parametrize(
    ("zone", "begins"),
    [
        ("UTC", "2026-11-01T00:00:00Z"),
        ("Asia/Kolkata", "2026-10-31T18:30:00Z"),
        ("Europe/Berlin", "2026-10-31T23:00:00Z"),  # winter time, a week old
        ("Europe/Berlin", "2026-03-31T22:00:00Z"),  # summer time, three days old
        ("America/Los_Angeles", "2026-11-01T07:00:00Z"),  # still summer time, which ends two hours later
        ("America/Havana", "2026-11-01T04:00:00Z"),  # this midnight comes twice
        ("America/Asuncion", "2023-10-01T04:00:00Z"),  # this one never
    ],
)
def test_a_month_begins_at_midnight_in_the_operators_zone(store: Store, zone: str, begins: str) -> None:
    first = datetime.fromisoformat(begins)
    spend(store, (first - timedelta(seconds=1)).isoformat(), Spending(Usage(calls=1)))
    spend(store, first.isoformat(), Spending(Usage(calls=10)))
    now = (first + timedelta(days=20)).astimezone(ZoneInfo(zone))
    assert [month.spending.usage.calls for month in store.scores.months(now)] == [10, 1]


def test_a_month_knows_its_dollars_as_far_as_they_are_priced(store: Store) -> None:
    spend(store, "2026-11-20T07:00Z")
    spend(store, "2026-11-20T07:00Z", Spending(Usage(1, 10), None))
    [month] = store.scores.months(NOW)
    assert month.spending.cost is None
    assert month.dollars == pytest.approx(0.012)
    assert month.spending.usage.calls == 2


def test_spending_of_all_lists_since_an_instant_counts_what_has_a_price(store: Store) -> None:
    store.scores.keep("foundations", "abc", "luna", {}, SPENT, NOW)
    store.scores.keep("other", "abc", "luna", {}, SPENT, NOW + timedelta(hours=1))
    store.scores.keep("foundations", "abc", "mine", {}, Spending(Usage(1, 10), None), NOW)
    assert SPENT.cost is not None
    assert store.scores.spent_since(NOW) == pytest.approx(2 * SPENT.cost.total)
    assert store.scores.spent_since(NOW + timedelta(seconds=1)) == pytest.approx(SPENT.cost.total)
    assert store.scores.spent_since(NOW + timedelta(hours=2)) == 0


def test_a_scorer_that_uses_nothing_leaves_no_spending(store: Store) -> None:
    store.scores.keep("foundations", "abc", "embedded", {"2611.00001": Score(9, None)}, Spending(), NOW)
    assert store.scores.spending("foundations") == Spending()
