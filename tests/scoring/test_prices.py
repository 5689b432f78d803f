"""Tokens as servers count them, and what they cost."""

from __future__ import annotations

import socket

import pytest

from paperboy.models import Usage
from paperboy.scoring.answer import read_usage
from paperboy.scoring.prices import Prices

WHOLE = {
    "prompt_tokens": 2000,
    "completion_tokens": 300,
    "total_tokens": 2300,
    "prompt_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 512},
    "completion_tokens_details": {"reasoning_tokens": 120},
}
LOCAL = "http://127.0.0.1:8002/v1"


def test_complete_usage_is_read() -> None:
    assert read_usage(WHOLE) == Usage(1, 2000, 1024, 512, 300, 120)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 2000, "completion_tokens": 300},
        {
            **WHOLE,
            "prompt_tokens_details": {"cached_tokens": None},
            "completion_tokens_details": {},
        },
        {"prompt_tokens": 2000.0, "completion_tokens": 300.0},
        {
            **WHOLE,
            "prompt_tokens_details": {"cached_tokens": 10**400},
            "completion_tokens_details": None,
        },
        {**WHOLE, "prompt_tokens_details": "no", "completion_tokens_details": [1]},
    ],
)
def test_missing_parts_of_the_usage_count_as_zero(usage: dict[str, object]) -> None:
    assert read_usage(usage) == Usage(1, 2000, 0, 0, 300, 0)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        "many",
        {"prompt_tokens": 10**400, "completion_tokens": 300},
        {"prompt_tokens": 2000, "completion_tokens": -300},
        {"prompt_tokens": 2000, "completion_tokens": 10**8},
        {"prompt_tokens": 2000.5, "completion_tokens": 300},
        {"prompt_tokens": float("inf"), "completion_tokens": 300},
        {"prompt_tokens": float("nan"), "completion_tokens": 300},
        {"prompt_tokens": True, "completion_tokens": 300},
    ],
)
def test_usage_that_is_missing_or_impossible_is_a_call_without_tokens(usage: object) -> None:
    """For which a budget counts a guess: neither more than everything nor less than nothing."""
    assert read_usage(usage) == Usage(calls=1)


def test_each_kind_of_token_has_its_price() -> None:
    prices = Prices(input=10, cached_input=1, cache_write=12.5, output=40)
    cost = prices.cost(Usage(1, prompt_tokens=1_000_000, cached_tokens=400_000, cache_write_tokens=200_000,
                             completion_tokens=500_000, reasoning_tokens=100_000))  # fmt: skip
    assert cost.prompt == pytest.approx(4 + 0.4 + 2.5)
    assert cost.completion == pytest.approx(20)


@pytest.mark.parametrize("url", ["", "https://api.openai.com/v1", "https://api.openai.com/v1/"])
def test_known_model_has_the_tables_prices(url: str) -> None:
    prices = Prices.find("gpt-4o-mini", url)
    assert prices is not None
    assert 0 < prices.cached_input < prices.input < prices.output


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("gpt-4o-mini", LOCAL),
        ("gpt-4o-mini", "https://llm.example.org/v1"),
        ("no-such-model", ""),
        ("", ""),
    ],
)
def test_unknown_price_is_none(model: str, url: str) -> None:
    """A local model that is called like one of OpenAI's is not priced as OpenAI's."""
    assert Prices.find(model, url) is None


def test_operators_prices_suffice_for_an_unknown_model() -> None:
    assert Prices.find("llama", LOCAL, input=0.2, output=0.6) == Prices(0.2, 0.2, 0.2, 0.6)
    assert Prices.find("llama", LOCAL, input=0, output=0) == Prices(0, 0, 0, 0)
    whole = Prices.find(
        "llama", LOCAL, input=2, cached_input=1, cache_write=3, output=4
    )  # fmt: skip
    assert whole == Prices(2, 1, 3, 4)


def test_unknown_model_needs_input_and_output_prices() -> None:
    assert Prices.find("llama", LOCAL, input=0.2) is None
    assert Prices.find("llama", LOCAL, output=0.2, cached_input=0.1) is None


def test_service_tier_has_its_own_price_where_the_model_has_that_tier() -> None:
    usage = Usage(1, prompt_tokens=1000, completion_tokens=100)
    for model, share in (("gpt-6-luna", 0.5), ("gpt-4o-mini", 1)):
        standard = Prices.find(model)
        flex = Prices.find(model, service_tier="flex")
        assert standard is not None
        assert flex is not None
        assert flex.cost(usage).total == pytest.approx(standard.cost(usage).total * share)


def test_prices_are_found_without_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked for a price")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert Prices.find("gpt-4o") is not None
