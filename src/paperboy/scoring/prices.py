"""Prices of models: tokens → US dollars.

Prices are the operator's, else those of `genai-prices`' bundled table; nothing is fetched. An
unknown price is None, never zero.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from paperboy.models import Cost, Usage

OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in US dollars per million tokens, at the service tier that is asked for."""

    input: float
    cached_input: float
    cache_write: float
    output: float

    @classmethod
    def find(
        cls,
        model: str,
        base_url: str = "",
        service_tier: str = "",
        **operators: Decimal | float | None,
    ) -> Prices | None:
        """Find the prices of a model on a server (empty: OpenAI's), the `operators` figures first,
        named as the fields.

        None if neither the operator nor the table knows the prices of input and output. The
        operator's figures apply to every tier. Cached input and cache writes default to the table's
        price, then to the price of input.
        """
        from genai_prices import Usage as PricedUsage  # noqa: PLC0415 - 175 ms that only scoring needs
        from genai_prices import calc_price  # noqa: PLC0415

        # Without a URL, a local model would have OpenAI's prices.
        server = base_url or OPENAI_URL
        tier = "" if service_tier in {"auto", "default"} else service_tier
        known: dict[str, Any] = {}
        with suppress(LookupError):
            price = calc_price(
                PricedUsage(),
                model,
                provider_api_url=server,
                price_context={"service_tier": tier},
            ).model_price
            known = {
                "input": price.input_mtok,
                "cached_input": price.cache_read_mtok,
                "cache_write": price.cache_write_mtok,
                "output": price.output_mtok,
            }

        rates: dict[str, float] = {}
        for kind, rate in [*known.items(), *operators.items()]:
            if rate is not None:
                # the higher step of a tiered price is for prompts of 200,000 tokens and more, which
                # no batch has
                rates[kind] = float(getattr(rate, "base", rate))

        if not rates.keys() >= {"input", "output"}:
            return None
        return cls(
            input=rates["input"],
            cached_input=rates.get("cached_input", rates["input"]),
            cache_write=rates.get("cache_write", rates["input"]),
            output=rates["output"],
        )

    def cost(self, usage: Usage) -> Cost:
        """Price the tokens of a call."""
        cached = usage.cached_tokens
        written = usage.cache_write_tokens
        plain = usage.prompt_tokens - cached - written
        prompt = plain * self.input + cached * self.cached_input + written * self.cache_write
        completion = usage.completion_tokens * self.output
        return Cost(prompt / 1e6, completion / 1e6)
