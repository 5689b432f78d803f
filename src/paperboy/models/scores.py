"""What a scorer thinks of papers, and what asking it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from paperboy.models.lists import MailingList
from paperboy.models.papers import Paper


@dataclass(frozen=True, slots=True)
class Score:
    """What a scorer thinks of one paper for one list."""

    relevance: int  # 1-10
    novelty: int | None  # 1-10; None where the scorer cannot judge it
    comment: str = ""

    def __post_init__(self) -> None:
        for value in (self.relevance, self.novelty):
            if value is not None and not 1 <= value <= 10:
                raise ValueError(f"a score is 1 to 10, not {value}")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that an LLM counted, as its replies report them. Cached and cache-write tokens are part of the prompt's,
    reasoning tokens are part of the completion's.
    """

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.completion_tokens + other.completion_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars. Where a price is unknown there is no Cost (`None`), never a zero."""

    prompt: float = 0.0
    completion: float = 0.0

    @property
    def total(self) -> float:
        return self.prompt + self.completion

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.prompt + other.prompt, self.completion + other.completion)


@dataclass(frozen=True, slots=True)
class Spending:
    """What scoring used and what that cost."""

    usage: Usage = Usage()
    cost: Cost | None = Cost()  # None: the price of some of it is unknown

    def __add__(self, other: Spending) -> Spending:
        known = self.cost is not None and other.cost is not None
        return Spending(
            self.usage + other.usage,
            self.cost + other.cost if known else None,  # type: ignore[operator]  # narrowed by `known`
        )


@dataclass(frozen=True, slots=True)
class Model:
    """Who scored."""

    name: str
    is_llm: bool  # False: the embedded scorer, which ranks by words and judges nothing


@dataclass(frozen=True, slots=True)
class ToScore:
    """Papers that a list wants scored."""

    mailing_list: MailingList
    papers: tuple[Paper, ...]
    recent: tuple[Paper, ...] = ()  # what a scorer that ranks compares them with


@dataclass(frozen=True, slots=True)
class Scored:
    """What came of one request to a scorer. `unscored` says of papers why they, and not the scorer, are the reason that
    there will be no score this morning.
    """

    list_name: str
    scores: Mapping[str, Score] = field(default_factory=dict)  # by arXiv id
    unscored: Mapping[str, str] = field(default_factory=dict)  # by arXiv id
    spending: Spending = Spending()
    problem: str = ""  # why the list's other papers are not even asked for
    hold: int | None = None  # the entry by which its cost was set aside of a budget


class Shortfall(StrEnum):
    """Why papers have no score though nothing is wrong with them."""

    BUDGET = "budget"  # the day's budget was used up
    SERVER = "server"  # the LLM is dead, or refuses us
