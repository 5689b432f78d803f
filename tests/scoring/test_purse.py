"""The budget: what a call sets aside before it begins."""

from __future__ import annotations

import pytest

from paperboy.models import Spending, Usage
from paperboy.scoring.costs import Prices
from paperboy.scoring.purse import Purse
from tests.scoring.asking import Budget

PRICES = Prices(input=1, cached_input=0.1, cache_write=1.25, output=4)


def spent(prompt: int, completion: int) -> Spending:
    usage = Usage(calls=1, prompt_tokens=prompt, completion_tokens=completion)
    return Spending(usage, PRICES.cost(usage))


def test_a_call_sets_aside_more_than_it_can_cost() -> None:
    """Every byte of the prompt written to a cache as a short token, and an answer of the length that is allowed."""
    hold = Purse(Budget(1.0), PRICES).hold(10_000, 16)
    assert hold is not None
    assert hold.dollars == pytest.approx((10_000 * 0.4 * 1.25 + hold.most_output * 4) / 1e6)
    assert hold.most_output > 16 * 200


def test_calls_under_way_share_what_is_left() -> None:
    first = Purse(Budget(1.0), PRICES).hold(10_000, 16)
    assert first is not None
    purse = Purse(Budget(1.5 * first.dollars), PRICES)
    assert purse.hold(10_000, 16) is not None
    assert purse.hold(10_000, 16) is None


def test_after_an_answer_the_next_call_sets_aside_less() -> None:
    purse = Purse(Budget(0.1), PRICES)
    first = purse.hold(10_000, 16)
    assert first is not None
    purse.learn(first, spent(2_200, 600).usage)
    second = purse.hold(10_000, 16)
    assert second is not None
    used = spent(2_200, 600).cost
    assert used is not None
    assert used.total < second.dollars < first.dollars / 2


def test_without_a_limit_on_its_length_an_answer_may_be_long() -> None:
    purse = Purse(Budget(10.0), PRICES)
    capped, free = purse.hold(10_000, 16), purse.hold(10_000, 16, capped=False)
    assert capped is not None
    assert free is not None
    assert free.dollars > 5 * capped.dollars


def test_a_tier_may_not_be_served_so_the_dearer_price_is_set_aside() -> None:
    flex = Prices(0.5, 0.05, 0.625, 2, tier="flex", standard=PRICES)
    dearer, plain = Purse(Budget(1.0), flex).hold(10_000, 16), Purse(Budget(1.0), PRICES).hold(10_000, 16)
    assert dearer == plain


def test_an_empty_purse_lets_no_call_begin() -> None:
    assert Purse(Budget(0.0), PRICES).hold(1, 1) is None


def test_spending_never_exceeds_the_budget_however_answers_vary() -> None:
    """As long as no answer is longer than it was told it may be."""
    budget, total = Budget(0.1), 0.0
    purse = Purse(budget, PRICES)
    for length in (50, 5_000, 20, 9_000, 100, 3_000, 10, 8_000, 60, 2_000):
        hold = purse.hold(20_000, 16)
        if hold is None:
            break
        answer = spent(5_000, min(length, hold.most_output))
        assert answer.cost is not None
        total += answer.cost.total
        budget.settle(hold.number, answer)
        purse.learn(hold, answer.usage)
    assert 0 < total <= 0.1
