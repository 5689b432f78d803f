"""Scores, which are paid for once, and what they cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any

from paperboy.models import Cost, Score, Spending, Usage
from paperboy.store.database import Database, instant, iso


@dataclass(frozen=True, slots=True)
class Month:
    """What all lists spent in one calendar month."""

    first: date  # its first day
    spending: Spending = Spending()
    dollars: float = 0.0  # as far as prices are known


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

    def kept_by_others(self, criteria: str, model: str, arxiv_ids: Iterable[str]) -> dict[str, Score]:
        """The first scores that the model has given some of these papers on those criteria, for whichever list."""
        rows = self._database.rows(
            "select arxiv_id, relevance, novelty, comment from scores where criteria = ? and model = ? "
            "and arxiv_id in (select value from json_each(?)) order by at desc, list desc",
            [criteria, model, json.dumps(list(arxiv_ids))],
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
        """Store what one request brought, and what it used, in one transaction. A kept score stays as it is."""
        stamp = iso(at)
        with self._database.transaction(durable=False):
            for arxiv_id, score in scores.items():
                self._database.execute(
                    "insert into scores values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
                    [criteria, model, arxiv_id, list_name, score.relevance, score.novelty, score.comment, stamp],
                )
            if spending.usage.calls:
                self._database.insert_all("spending", [_spent(list_name, model, spending, stamp)])

    def spending(self, list_name: str) -> Spending:
        """What the list has spent since its last frozen day, over restarts and previews."""
        return self._sum("list = ? and date is null", list_name)

    def months(self, now: datetime, most: int = 12) -> tuple[Month, ...]:
        """What all lists spent in the month of `now`, and in up to `most` earlier ones in which they spent anything,
        newest first. Days begin at midnight in the zone that `now` is told in.
        """
        oldest = self._database.rows("select min(at) as at from spending")[0]["at"]
        first = now.date().replace(day=1)
        began = instant(oldest).astimezone(now.tzinfo).date() if oldest else first
        months = [self._month(first, now.tzinfo)]
        while first > began and len(months) <= most:
            first = (first - timedelta(days=1)).replace(day=1)
            month = self._month(first, now.tzinfo)
            if month.spending.usage.calls:
                months.append(month)
        return tuple(months)

    def _month(self, first: date, zone: tzinfo | None) -> Month:
        following = (first + timedelta(days=31)).replace(day=1)
        bounds = [iso(datetime.combine(day, time(), zone)) for day in (first, following)]
        within = "at >= ? and at < ?"
        return Month(first, self._sum(within, *bounds), self._dollars(within, *bounds))

    def spent_since(self, since: datetime) -> float:
        """US dollars that all lists have spent since then, as far as prices are known."""
        return self._dollars("at >= ?", iso(since))

    def _dollars(self, condition: str, *values: str) -> float:
        row = self._database.rows(
            f"select coalesce(sum(prompt_usd + completion_usd), 0.0) as usd from spending where {condition}", values
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
