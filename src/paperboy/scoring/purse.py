"""The day's budget: what a call sets aside of it before it begins.

A call may begin only when the budget covers the most it can cost. What it used is known when it has answered; where a
server counts nothing, it is taken to have cost what was set aside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paperboy.models import Usage
from paperboy.scoring.costs import Prices

# Until answers tell: more tokens in a byte than texts of ours have, and room for a model that reasons at length.
_TOKENS_PER_BYTE = 0.4
_OUTPUT_PER_PAPER = 600
# From then on: times the most that was seen.
_PROMPT_MARGIN = 1.3
_OUTPUT_MARGIN = 4
_LEAST_OUTPUT_PER_PAPER = 100
_UNCAPPED = 10
_FIXED_OUTPUT = 1_000  # tokens of an answer beside those for its papers


@dataclass(frozen=True, slots=True)
class Hold:
    """What a call has set aside."""

    number: int  # in whoever's book it stands
    dollars: float
    prompt_bytes: int
    papers: int
    most_output: int  # tokens; the server is told, so that an answer cannot cost more


# Sets aside so many US dollars, and gives the number of that entry; None where the budget does not cover them.
Reserve = Callable[[float], int | None]


class Purse:
    """Estimates the most that a call can cost, and has `reserve` set that aside."""

    def __init__(self, reserve: Reserve, prices: Prices) -> None:
        self._reserve = reserve
        self._rates = [prices, *([prices.standard] if prices.standard else [])]
        self._tokens_per_byte = 0.0  # the most that was seen; 0: nothing was
        self._output_per_paper = 0.0

    def hold(self, prompt_bytes: int, papers: int, *, capped: bool = True) -> Hold | None:
        """Sets aside the most that a call can cost; None where the budget does not cover that. One that is not
        `capped`, because the server takes no limit, may be of any length; ten times the usual has to do.
        """
        density, length = self._tokens_per_byte, self._output_per_paper
        prompt = prompt_bytes * (_PROMPT_MARGIN * density if density else _TOKENS_PER_BYTE)
        per_paper = max(_OUTPUT_MARGIN * length, _LEAST_OUTPUT_PER_PAPER) if length else _OUTPUT_PER_PAPER
        output = (_FIXED_OUTPUT + round(papers * per_paper)) * (1 if capped else _UNCAPPED)
        dollars = max(
            prompt * max(rate.input, rate.cached_input, rate.cache_write) + output * rate.output for rate in self._rates
        )
        number = self._reserve(dollars / 1e6)
        return None if number is None else Hold(number, dollars / 1e6, prompt_bytes, papers, output)

    def learn(self, hold: Hold, usage: Usage) -> None:
        """A call has ended: what it used tells what the next ones may."""
        if usage.calls == 1 and usage.total_tokens:
            self._tokens_per_byte = max(self._tokens_per_byte, usage.prompt_tokens / hold.prompt_bytes)
            self._output_per_paper = max(self._output_per_paper, usage.completion_tokens / hold.papers)
