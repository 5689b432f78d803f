"""Scores, which are paid for once, and what they cost."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import date, datetime
from typing import Any

from paperboy.models import Cost, Score, Spending, Usage
from paperboy.store.database import Database, iso

SUMS = ", ".join(
    [f"coalesce(sum({name}), 0) as {name}" for name in Usage.__slots__]
    + [f"coalesce(sum({name}), 0.0) as {name}" for name in ("prompt_usd", "completion_usd")]
    + ["count(*) - count(prompt_usd) as unpriced"]
)
"""What a query selects from `spending` for `summed`."""


class Scores:
    """Kept by list, paper, criteria (the fingerprint of rubric and topics) and model."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def kept(
        self, list_name: str, criteria: str, model: str, arxiv_ids: Collection[str], at: datetime
    ) -> dict[str, Score]:
        """The scores of some of these papers from the model on those criteria, by arXiv id. Where the list has none,
        the first that the model gave another list is kept for this one, too.
        """
        given = "from scores where criteria = ? and model = ? and arxiv_id in (select value from json_each(?))"
        own = f"select arxiv_id, relevance, novelty, comment {given} and list = ?"
        kept = dict(self._database.rows(own, [criteria, model, json.dumps(list(arxiv_ids)), list_name], _kept))
        missing = [criteria, model, json.dumps(list({*arxiv_ids} - kept.keys()))]
        if self._database.rows(f"select 1 {given} limit 1", missing):
            with self._database.transaction(durable=False):
                self._database.execute(
                    "insert into scores select criteria, model, arxiv_id, ?, relevance, novelty, comment, ? "
                    f"{given} order by scores.at, list on conflict do nothing",
                    [list_name, iso(at), *missing],
                )
            kept |= self._database.rows(own, [*missing, list_name], _kept)
        return kept

    def keep(
        self, list_name: str, criteria: str, model: str, scores: Mapping[str, Score], spending: Spending, at: datetime
    ) -> None:
        """Store what one request brought, and what it used, in one transaction. A kept score stays as it is."""
        stamp, cost = iso(at), spending.cost
        with self._database.transaction(durable=False):
            for arxiv_id, score in scores.items():
                self._database.execute(
                    "insert into scores values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
                    [criteria, model, arxiv_id, list_name, score.relevance, score.novelty, score.comment, stamp],
                )
            if spending.usage.calls:
                dollars = {"prompt_usd": cost and cost.prompt, "completion_usd": cost and cost.completion}
                row = {"list": list_name, "model": model, "at": stamp} | asdict(spending.usage) | dollars
                self._database.insert_all("spending", [row])

    def spending(self, list_name: str, day: date | None = None) -> Spending:
        """What the list has spent since its last frozen day, over restarts and previews; and for a day's digest."""
        own = f"select {SUMS} from spending where list = ? and (date is null or date = ?)"
        (row,) = self._database.rows(own, [list_name, day.isoformat() if day else ""])
        return summed(row)

    def spent_since(self, since: datetime) -> float:
        """US dollars that all lists have spent since then, as far as prices are known."""
        (row,) = self._database.rows(f"select {SUMS} from spending where at >= ?", [iso(since)])
        return float(row["prompt_usd"] + row["completion_usd"])


def _kept(arxiv_id: str, relevance: int, novelty: int | None, comment: str) -> tuple[str, Score]:
    return arxiv_id, Score(relevance, novelty, comment)


def summed(row: Mapping[str, Any]) -> Spending:
    """The spending of a row of `SUMS`."""
    cost = None if row["unpriced"] else Cost(row["prompt_usd"], row["completion_usd"])
    return Spending(Usage(*(row[name] for name in Usage.__slots__)), cost)
