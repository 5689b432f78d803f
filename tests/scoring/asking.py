"""A scorer against a test LLM server, and all that came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paperboy.errors import BudgetUsedUpError, ScoringError
from paperboy.models import Paper, Score, Scored, Spending, ToScore
from paperboy.scoring.costs import Prices
from paperboy.scoring.llm import LlmScorer
from paperboy.scoring.prompt import Prompt
from tests.builders import mailing_list, paper
from tests.servers.llm import LlmServer

KEY = "sk-not-for-the-log"
PROMPT = Prompt([Path(__file__).parents[2] / "prompts"])
PRICES = Prices(input=1, cached_input=0.1, cache_write=1.25, output=4)
DEAD = "http://127.0.0.1:9/v1"  # the discard port: nothing listens


def papers(number: int) -> list[Paper]:
    return [paper(f"2611.{n:05}") for n in range(number)]


def jobs(asked: Sequence[Paper]) -> list[ToScore]:
    """The papers for one list."""
    return [ToScore(mailing_list(), tuple(asked))]


@dataclass
class Outcome:
    """All that a scorer gave, and how it ended."""

    scores: dict[str, Score] = field(default_factory=dict)
    unscored: dict[str, str] = field(default_factory=dict)
    spending: Spending = Spending()
    error: str = ""
    problem: str = ""
    budget_used_up: bool = False
    parts: list[Scored] = field(default_factory=list)


@contextmanager
def scorer_for(server: LlmServer | str, waits: list[float] | None = None, **changes: Any) -> Iterator[LlmScorer]:
    """A scorer of four papers a batch, one call at a time, that notes its waits instead of waiting."""
    settings: dict[str, Any] = {
        "base_url": server if isinstance(server, str) else server.base_url,
        "api_key": KEY,
        "model": "gpt-6-luna",
        "prompt": PROMPT,
        "prices": PRICES,
        "batch_size": 4,
        "concurrency": 1,
        "timeout_seconds": 5,
        "wait": (waits if waits is not None else []).append,
        **changes,
    }
    scorer = LlmScorer(**settings)
    try:
        yield scorer
    finally:
        scorer.close()


@dataclass
class Budget:
    """Sets aside what calls may cost, and takes back what they did not use, as the store does."""

    left: float
    held: dict[int, float] = field(default_factory=dict)
    numbers: int = 0

    def __call__(self, dollars: float) -> int | None:
        if dollars > self.left:
            return None
        self.left -= dollars
        self.numbers += 1
        self.held[self.numbers] = dollars
        return self.numbers

    def settle(self, number: int, spending: Spending) -> None:
        assert spending.cost is not None
        self.left += self.held.pop(number) - spending.cost.total


def run(scorer: LlmScorer, asked: Sequence[Paper], budget: float | None = None) -> Outcome:
    book = None if budget is None else Budget(budget)
    outcome = collect(scorer.score(jobs(asked), book), book)
    assert book is None or not book.held
    return outcome


def collect(parts: Iterable[Scored], budget: Budget | None = None) -> Outcome:
    outcome = Outcome()
    try:
        for part in parts:
            if budget is not None and part.hold is not None:
                budget.settle(part.hold, part.spending)
            assert outcome.scores.keys().isdisjoint(part.scores)
            outcome.scores |= part.scores
            outcome.unscored |= part.unscored
            outcome.spending += part.spending
            outcome.problem = outcome.problem or part.problem
            outcome.parts.append(part)
    except ScoringError as error:
        outcome.error, outcome.budget_used_up = str(error), isinstance(error, BudgetUsedUpError)
        assert KEY not in outcome.error
    assert outcome.scores.keys().isdisjoint(outcome.unscored)
    return outcome
