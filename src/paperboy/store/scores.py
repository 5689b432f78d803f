"""Scores, which are paid for once, and what they cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from paperboy.models import Cost, Score, Spending, Usage
from paperboy.store.database import Database, iso


class Scores:
    """Kept by list, paper, criteria (the fingerprint of rubric and topics) and model."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def kept(self, list_name: str, criteria: str, model: str, arxiv_ids: Iterable[str]) -> dict[str, Score]:
        """The scores that the model has given some of these papers on those criteria, by arXiv id."""
        rows = self._database.rows(
            "select arxiv_id, relevance, novelty, comment from scores where list = ? and criteria = ? and model = ? "
            "and arxiv_id in (select value from json_each(?))",
            [list_name, criteria, model, json.dumps(list(arxiv_ids))],
        )
        return {row["arxiv_id"]: Score(row["relevance"], row["novelty"], row["comment"]) for row in rows}

    def keep(
        self,
        list_name: str,
        criteria: str,
        model: str,
        scores: Mapping[str, Score],
        spending: Spending,
        at: datetime,
    ) -> None:
        """Stores what one request brought, and what it used, in one transaction. A kept score stays as it is."""
        stamp = iso(at)
        with self._database.transaction(durable=False):
            for arxiv_id, score in scores.items():
                self._database.execute(
                    "insert into scores values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
                    [list_name, arxiv_id, criteria, model, score.relevance, score.novelty, score.comment, stamp],
                )
            if spending.usage.calls:
                self._database.insert_all("spending", [_spent(list_name, model, spending, stamp)])

    def spending(self, list_name: str) -> Spending:
        """What the list has spent since its last frozen day, over restarts and previews."""
        return self._sum("list = ? and date is null", list_name)

    def spending_on(self, list_name: str, date: str) -> Spending:
        """What counts towards one frozen day of the list."""
        return self._sum("list = ? and date = ?", list_name, date)

    def spent_since(self, since: datetime) -> Spending:
        """What all lists have spent since an instant."""
        return self._sum("at >= ?", iso(since))

    def dollars_since(self, since: datetime) -> float:
        """What all lists have spent since an instant, as far as its price is known."""
        row = self._database.rows(
            "select coalesce(sum(prompt_usd + completion_usd), 0.0) as usd from spending where at >= ?", [iso(since)]
        )[0]
        return float(row["usd"])

    def _sum(self, condition: str, *values: str) -> Spending:
        row = self._database.rows(
            f"""select coalesce(sum(calls), 0) as calls,
                coalesce(sum(prompt_tokens), 0) as prompt_tokens, coalesce(sum(cached_tokens), 0) as cached_tokens,
                coalesce(sum(cache_write_tokens), 0) as cache_write_tokens,
                coalesce(sum(completion_tokens), 0) as completion_tokens,
                coalesce(sum(reasoning_tokens), 0) as reasoning_tokens,
                coalesce(sum(prompt_usd), 0.0) as prompt_usd, coalesce(sum(completion_usd), 0.0) as completion_usd,
                count(*) - count(prompt_usd) as unpriced
            from spending where {condition}""",
            values,
        )[0]
        unpriced, prompt, completion = row.pop("unpriced"), row.pop("prompt_usd"), row.pop("completion_usd")
        return Spending(Usage(**row), None if unpriced else Cost(prompt, completion))


def _spent(list_name: str, model: str, spending: Spending, stamp: str) -> dict[str, Any]:
    usage, cost = spending.usage, spending.cost
    return {
        "list": list_name,
        "model": model,
        "at": stamp,
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "completion_tokens": usage.completion_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "prompt_usd": cost.prompt if cost else None,
        "completion_usd": cost.completion if cost else None,
    }
