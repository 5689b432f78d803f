"""The `usage` of a reply → tokens, and tokens → US dollars.

Prices come from the operator, else from `genai-prices`' bundled table (nothing is fetched). Where a price is unknown
there is none, never a zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from paperboy.models import Cost, Usage

_MOST_TOKENS = 10**9  # of one call; more is nonsense
OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens, at the service tier that is asked for."""

    input: float
    cached_input: float
    cache_write: float
    output: float
    tier: str = ""  # the service tier these hold for
    standard: Prices | None = None  # what the same tokens cost where the server serves them at another tier

    @classmethod
    def find(
        cls,
        model: str,
        base_url: str = "",
        *,
        service_tier: str = "",
        input_price: float | None = None,
        cached_input_price: float | None = None,
        cache_write_price: float | None = None,
        output_price: float | None = None,
    ) -> Prices | None:
        """The prices of a model on a server (empty: OpenAI's), the operator's figures first.

        None where neither the operator nor the table knows what input and output cost. The operator's figures hold
        for every tier; without one for cached input or cache writes, the table's holds, else the one for input.
        """
        known = _look_up(model, base_url, service_tier)
        given = {
            "input": input_price,
            "cached_input": cached_input_price,
            "cache_write": cache_write_price,
            "output": output_price,
        }
        changes: dict[str, Any] = {name: price for name, price in given.items() if price is not None}
        if known is not None:
            standard = replace(known.standard, **changes) if known.standard else None
            return replace(known, **changes, standard=standard)
        if input_price is None or output_price is None:
            return None
        return cls(**{"cached_input": input_price, "cache_write": input_price, **changes})

    def cost(self, usage: Usage, tier: str = "") -> Cost:
        """What the tokens cost; `tier` is the one the reply says it was served at, empty where it says nothing."""
        if self.standard is not None and tier and tier != self.tier:
            return self.standard.cost(usage)
        cached, written = usage.cached_tokens, usage.cache_write_tokens
        plain = max(0, usage.prompt_tokens - cached - written)
        prompt = plain * self.input + cached * self.cached_input + written * self.cache_write
        return Cost(prompt / 1e6, usage.completion_tokens * self.output / 1e6)


def read_usage(usage: object) -> Usage | None:
    """The tokens of one call from the `usage` object of its reply; None where the server counts nothing.

    Any part of the object may be absent, null or of the wrong type: such a part counts as 0.
    """
    if not isinstance(usage, Mapping) or _count(usage, "prompt_tokens") + _count(usage, "completion_tokens") == 0:
        return None
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    cached = min(prompt, _count(usage, "prompt_tokens_details", "cached_tokens"))
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        cached_tokens=cached,
        cache_write_tokens=min(prompt - cached, _count(usage, "prompt_tokens_details", "cache_write_tokens")),
        completion_tokens=completion,
        reasoning_tokens=min(completion, _count(usage, "completion_tokens_details", "reasoning_tokens")),
    )


def _count(usage: Mapping[str, Any], *path: str) -> int:
    value: object = usage
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_TOKENS else 0


def _look_up(model: str, base_url: str, service_tier: str) -> Prices | None:
    """The bundled table's prices, with those of the standard tier beside them where another one is asked for."""
    standard = _table(model, base_url, "")
    if standard is None or service_tier in {"", "auto", "default"}:
        return standard
    tiered = _table(model, base_url, service_tier)
    return None if tiered is None else replace(tiered, tier=service_tier, standard=standard)


def _table(model: str, base_url: str, service_tier: str) -> Prices | None:
    from genai_prices import Usage as PricedUsage  # noqa: PLC0415 - 175 ms that only scoring needs
    from genai_prices import calc_price  # noqa: PLC0415

    try:
        found = calc_price(
            PricedUsage(),
            model,
            provider_api_url=base_url or OPENAI_URL,  # without a URL a local model would be priced as OpenAI's
            price_context={"service_tier": service_tier},
        ).model_price
    except LookupError:
        return None
    rates = {name: getattr(found, f"{name}_mtok", None) for name in ("input", "output", "cache_read", "cache_write")}
    # a tiered price starts at a prompt of 200,000 tokens or more, which no batch of ours reaches
    flat = {name: float(getattr(rate, "base", rate)) for name, rate in rates.items() if rate is not None}
    if "input" not in flat or "output" not in flat:
        return None
    paid = flat["input"]
    return Prices(paid, flat.get("cache_read", paid), flat.get("cache_write", paid), flat["output"])
