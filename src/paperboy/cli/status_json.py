"""What `status` says to programs. Keys are only ever added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paperboy.cli import words
from paperboy.cli.batches import next_batch, why_quiet
from paperboy.cli.picture import Picture
from paperboy.cli.status_tables import headline
from paperboy.cli.undelivered import as_json as lack_as_json
from paperboy.models import Cost, Counts, MailingList, Outcome, Suppression, Usage
from paperboy.store.alerts import Standing
from paperboy.store.scores import Month


def picture(of: Picture) -> dict[str, Any]:
    """All of it."""
    return {
        "answer": of.answer,
        "running": {"process": of.holder.process, "command": of.holder.command} if of.holder else None,
        "alerts": [_alert(standing) for standing in of.alerts],
        "lists": [_list(of, entry) for entry in of.home.lists],
        "undelivered": [lack_as_json(lack) for lack in of.lacks],
        **_months(of.months),
    }


def suppressed(found: Sequence[Suppression]) -> dict[str, Any]:
    """Who must not get mail. A list that is null stands for all lists."""
    return {
        "suppressed": [
            {"address": one.address, "list": one.list_name or None, "since": one.at.isoformat(), "reason": one.reason}
            for one in found
        ]
    }


def _alert(standing: Standing) -> dict[str, Any]:
    """`told`: the operator's day on which a mail, or the log where ALERT_TO is empty, last said so."""
    return {
        "cause": standing.cause,
        "headline": headline(standing),
        "since": standing.since.isoformat(),
        "about": sorted(standing.about),
        "told": standing.told.isoformat() if standing.told else None,
    }


def _list(of: Picture, entry: MailingList) -> dict[str, Any]:
    newest = next(iter(of.days_of(entry.name)), None)
    following, trouble, holidays = of.next(entry), of.trouble(entry), of.home.settings.arxiv_holidays
    quiet = newest and newest.outcome is Outcome.QUIET
    return {
        "name": entry.name,
        "outcome": newest.outcome.value if newest else None,
        "date": newest.date.isoformat() if newest else None,
        "reason": newest.reason if newest else "",
        "quiet": why_quiet(entry, of.facts.days[entry.name], holidays) if quiet else None,
        "trouble": {
            "reason": trouble.reason,
            "at": trouble.at.isoformat(),
            "next_try": max(trouble.next_try, of.now).isoformat(),
        }
        if trouble
        else None,
        "counts": _counts(newest.counts) if newest else None,
        "deliveries": {state.value: number for state, number in newest.deliveries.items()} if newest else {},
        "cost": _dollars(newest.spending.cost) if newest else None,
        "usage": _usage(newest.spending.usage) if newest else None,
        "next": following.isoformat() if following else None,
        "next_batch": next_batch(entry, of.now, holidays).isoformat() if following else None,
    }


def _counts(counts: Counts) -> dict[str, int]:
    return {
        "considered": counts.considered,
        "scored": counts.scored,
        "carried_over": counts.carried_over,
        "let_go": counts.let_go,
        "author_matches": counts.author_matches,
        "selected": counts.selected,
        "over_cap": counts.over_cap,
        "below": counts.below,
    }


def _usage(usage: Usage) -> dict[str, int | None]:
    """Tokens are None where the server counts none."""
    tokens = {
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "completion_tokens": usage.completion_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }
    return {"calls": usage.calls, **(dict.fromkeys(tokens) if words.uncounted(usage) else tokens)}


def _months(months: Sequence[Month]) -> dict[str, Any]:
    """`month` is the first of `months`, which is the one of today."""
    each = [
        {"month": f"{month.first:%Y-%m}", "cost": _dollars(month.spending.cost), "usage": _usage(month.spending.usage)}
        for month in months
    ]
    return {"month": {"cost": each[0]["cost"], "usage": each[0]["usage"]}, "months": each}


def _dollars(cost: Cost | None) -> float | None:
    """None: the price of some of it is unknown."""
    return None if cost is None else round(cost.total, 6)
