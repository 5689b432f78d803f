"""What scoring used and cost, as the mail's little table shows it."""

from __future__ import annotations

from dataclasses import dataclass

from paperboy.models import Spending, Usage


@dataclass(frozen=True, slots=True)
class Bill:
    """The rows of the model's table, each prompt, completion and total, formatted. `tokens` is None where the server
    counts none, `cost` where a price is unknown.
    """

    tokens: tuple[str, str, str] | None
    cost: tuple[str, str, str] | None
    details: str  # how many calls, and what the tokens were
    about: str  # the total in words for the masthead, empty where there is nothing to say


def bill(spending: Spending) -> Bill:
    """The bill of what scoring used."""
    usage, cost = spending.usage, spending.cost
    if usage.calls and not usage.total_tokens:  # no model answers with nothing: the server does not count
        return Bill(tokens=None, cost=None, details=_details(usage), about="")
    return Bill(
        tokens=(f"{usage.prompt_tokens:,}", f"{usage.completion_tokens:,}", f"{usage.total_tokens:,}"),
        cost=None if cost is None else (money(cost.prompt), money(cost.completion), money(cost.total)),
        details=_details(usage),
        about="" if cost is None or cost.total <= 0 else _about(cost.total),
    )


def _details(usage: Usage) -> str:
    """How many calls, and what the tokens were, without what there was none of."""
    if not usage.calls:
        return "No calls for this list: its scores were paid for earlier, or by another list."
    cached, written = usage.cached_tokens, usage.cache_write_tokens
    parts = []
    if cached:
        into = f" and {written:,} went into it" if written else ""
        parts.append(f"the prompt, {counted(cached, 'token')} came from the provider's cache{into}")
    elif written:
        parts.append(f"the prompt, {counted(written, 'token')} went into the provider's cache")
    if usage.reasoning_tokens:
        parts.append(f"the completion, {counted(usage.reasoning_tokens, 'token')} went into reasoning")
    made_of = f" Of {'; of '.join(parts)}." if parts else ""
    return f"Asked in {counted(usage.calls, 'call')}.{made_of}"


def counted(number: int, noun: str) -> str:
    """The number with its noun: 1 paper, 1,200 papers."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def money(dollars: float) -> str:
    """Dollars as a reader expects them: cents, and more digits only where there are no cents to see."""
    if dollars == 0 or dollars >= 0.1:
        return f"${dollars:,.2f}"
    return f"${dollars:.4f}" if dollars >= 0.0001 else "under $0.0001"


def _about(dollars: float) -> str:
    return f"about ${dollars:,.2f}" if dollars >= 0.01 else "less than a cent"
