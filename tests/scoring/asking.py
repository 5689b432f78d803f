"""A scorer against a test LLM server, and all that came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier
from typing import Any

from paperboy.errors import BudgetUsedUpError, ScoringError
from paperboy.models import Paper, Score, Scored, Spending, ToScore
from paperboy.scoring.brief import BriefPrompt
from paperboy.scoring.llm import LlmScorer
from paperboy.scoring.prices import Prices
from paperboy.scoring.prompt import Prompt
from paperboy.scoring.server import Server
from tests.builders import added, mailing_list, paper
from tests.servers.llm import LlmServer

KEY = "sk-not-for-the-log"
PROMPTS = Path(__file__).parents[2] / "prompts"
PROMPT = Prompt([PROMPTS])
PRICES = Prices(input=1, cached_input=0.1, cache_write=1.25, output=4)
PATIENCE = 600  # seconds; only a test that fails waits so long
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
def scorer_for(
    server: LlmServer | str, waits: list[float] | None = None, **changes: Any
) -> Iterator[LlmScorer]:
    """A scorer of four papers a batch, one call at a time, that notes its waits instead of waiting."""
    scoring = {
        "prompt": PROMPT,
        "brief_prompt": BriefPrompt([PROMPTS]),
        "prices": PRICES,
        "batch_size": 4,
        "concurrency": 1,
    }
    scoring |= {name: changes.pop(name) for name in scoring.keys() & changes.keys()}
    asking: dict[str, Any] = {
        "api_key": KEY,
        "model": "gpt-6-luna",
        "reasoning_effort": "low",
        "timeout_seconds": PATIENCE,
    }
    asking["connections"] = scoring["concurrency"]
    asking["wait"] = (waits if waits is not None else []).append
    url = server if isinstance(server, str) else server.base_url
    scorer = LlmScorer(Server(url, **asking | changes), **scoring)
    try:
        yield scorer
    finally:
        scorer.server.close()


def meeting(*numbers: int) -> Callable[[Mapping[str, Any]], str]:
    """A `fault_for` that holds requests in groups of these sizes, in order of arrival, until each group is whole."""
    barriers = iter(
        [barrier for number in numbers for barrier in [Barrier(number, timeout=PATIENCE)] * number]
    )

    def hold(_body: Mapping[str, Any]) -> str:
        if barrier := next(barriers, None):
            barrier.wait()
        return ""

    return hold


def run(scorer: LlmScorer, asked: Sequence[Paper], budget: float | None = None) -> Outcome:
    """Score the papers for one list; `budget` is in US dollars."""
    outcome = Outcome()

    def may_spend() -> bool:
        assert outcome.spending.cost is not None
        assert budget is not None
        return outcome.spending.cost.total < budget

    return collect(scorer.score(jobs(asked), None if budget is None else may_spend), outcome)


def collect(parts: Iterable[Scored], outcome: Outcome | None = None) -> Outcome:
    outcome = outcome or Outcome()
    try:
        for part in parts:
            assert outcome.scores.keys().isdisjoint(part.scores)
            outcome.scores |= part.scores
            outcome.unscored |= part.unscored
            outcome.spending = added(outcome.spending, part.spending)
            outcome.problem = outcome.problem or part.problem
            outcome.parts.append(part)
    except ScoringError as error:
        outcome.error = str(error)
        outcome.budget_used_up = isinstance(error, BudgetUsedUpError)
        assert KEY not in outcome.error
    assert outcome.scores.keys().isdisjoint(outcome.unscored)
    return outcome
