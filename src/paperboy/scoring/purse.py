"""The day's budget: what is left of it, and what calls under way have set aside.

A call may begin only when the budget covers the most it can cost. What it used is known when it has answered; where a
server counts nothing, it is taken to have cost what was set aside.
"""

from __future__ import annotations

from dataclasses import dataclass

from paperboy.models import Spending
from paperboy.scoring.costs import Prices

# Until answers tell: more tokens in a byte than texts of ours have, and room for a model that reasons at length.
_TOKENS_PER_BYTE = 0.4
_OUTPUT_PER_PAPER = 600
# From then on: times the most that was seen.
_PROMPT_MARGIN = 1.3
_OUTPUT_MARGIN = 4
_LEAST_OUTPUT_PER_PAPER = 100
_FIXED_OUTPUT = 1_000  # tokens of an answer beside those for its papers


@dataclass(frozen=True, slots=True)
class Hold:
    """What a call has set aside."""

    dollars: float
    prompt_bytes: int
    papers: int
    most_output: int  # tokens; the server is told, so that an answer cannot cost more


class Purse:
    """What may still be spent, in US dollars."""

    def __init__(self, budget: float, prices: Prices) -> None:
        self._left = budget
        self._rates = [prices, *([prices.standard] if prices.standard else [])]
        self._tokens_per_byte = 0.0  # the most that was seen; 0: nothing was
        self._output_per_paper = 0.0

    def hold(self, prompt_bytes: int, papers: int) -> Hold | None:
        """Sets aside the most that a call can cost; None where the budget does not cover that."""
        density, length = self._tokens_per_byte, self._output_per_paper
        prompt = prompt_bytes * (_PROMPT_MARGIN * density if density else _TOKENS_PER_BYTE)
        per_paper = max(_OUTPUT_MARGIN * length, _LEAST_OUTPUT_PER_PAPER) if length else _OUTPUT_PER_PAPER
        output = _FIXED_OUTPUT + round(papers * per_paper)
        dollars = max(
            prompt * max(rate.input, rate.cached_input, rate.cache_write) + output * rate.output for rate in self._rates
        )
        if dollars / 1e6 > self._left:
            return None
        self._left -= dollars / 1e6
        return Hold(dollars / 1e6, prompt_bytes, papers, output)

    def settle(self, hold: Hold, spending: Spending) -> None:
        """A call has ended: gives back what it did not use, and learns from what it did."""
        used = hold.dollars if spending.cost is None else spending.cost.total
        self._left += hold.dollars - used
        usage = spending.usage
        if usage.calls == 1 and usage.total_tokens:
            self._tokens_per_byte = max(self._tokens_per_byte, usage.prompt_tokens / hold.prompt_bytes)
            self._output_per_paper = max(self._output_per_paper, usage.completion_tokens / hold.papers)
