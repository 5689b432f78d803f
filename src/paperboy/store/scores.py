"""Scores, which are paid for once, and what they cost."""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import date, datetime
from typing import Any

from paperboy.models import Cost, Score, Spending, Usage
from paperboy.store.database import Noun, iso
from paperboy.store.seen import KNOW_LIST, LIST_KEY, PAPER_KEYS

SUMS = (
    ", ".join(f"coalesce(sum({name}), 0) as {name}" for name in Usage.__slots__)
    + ", total(prompt_usd) as prompt_usd, total(completion_usd) as completion_usd"
    ", count(calls) - count(prompt_usd) as unpriced"
)
"""What a query selects from `spending` for `summed`."""


class Scores(Noun):
    """Kept by list, paper, criteria (the fingerprint of rubric and topics) and model."""

    def kept(
        self, list_name: str, criteria: str, model: str, arxiv_ids: Collection[str], at: datetime
    ) -> dict[str, Score]:
        """The scores of some of these papers from the model on those criteria, by arXiv id. Where the list has none,
        that of the list which the store has known longest is kept for this one, too.
        """
        asked = {"list": list_name, "criteria": criteria, "model": model, "given": int(at.timestamp())}
        kept = dict(self._database.rows(_KEPT, asked | {"ids": list(arxiv_ids)}, _kept))
        missing = asked | {"ids": list({*arxiv_ids} - kept.keys())}
        if self._database.rows(f"select 1 {_OTHERS} limit 1", missing):
            self._database.execute_each((KNOW_LIST, _TAKE), missing, durable=False)
            kept |= self._database.rows(_KEPT, missing, _kept)
        return kept

    def keep(
        self, list_name: str, criteria: str, model: str, scores: Mapping[str, Score], spending: Spending, at: datetime
    ) -> None:
        """Store what one request brought, and what it used, in one transaction. A kept score stays as it is."""
        cost = spending.cost
        values = {"list": list_name, "criteria": criteria, "model": model, "given": int(at.timestamp())}
        rows = {arxiv_id: (score.relevance, score.novelty, score.comment) for arxiv_id, score in scores.items()}
        values |= {"ids": list(scores), "rows": rows}
        with self._database.transaction(durable=False):
            if scores:
                self._database.execute_each((KNOW_LIST, PAPER_KEYS, _KNOW_JUDGE, _KEEP), values)
            if spending.usage.calls:
                dollars = {"prompt_usd": cost and cost.prompt, "completion_usd": cost and cost.completion}
                row = {"list": list_name, "model": model, "at": iso(at)} | asdict(spending.usage) | dollars
                self._database.insert_all("spending", [row])

    def spending(self, list_name: str, day: date | None = None) -> Spending:
        """What the list has spent since its last frozen day, over restarts and previews; and for a day's digest."""
        own = f"select {SUMS} from spending where list = ? and (date is null or date = ?)"
        (row,) = self._database.rows(own, [list_name, day or ""])
        return summed(row)

    def spent_since(self, since: datetime) -> float:
        """US dollars that all lists have spent since then, as far as prices are known."""
        query = "select total(prompt_usd) + total(completion_usd) as dollars from spending where at >= ?"
        return self._database.value(query, [since]) or 0.0


_KNOW_JUDGE = "insert into judges (criteria, model) values (:criteria, :model) on conflict do nothing"
_JUDGE = "(select id from judges where criteria = :criteria and model = :model)"
_OTHERS = f"""
from score_rows join paper_keys on paper_keys.id = paper_id
where judge_id = {_JUDGE} and paper_id in (
    select id from paper_keys where arxiv_id in (select value from json_each(:ids))
)
"""
_KEPT = f"select arxiv_id, relevance, novelty, coalesce(comment, '') as comment {_OTHERS} and list_id = {LIST_KEY}"
_TAKE = f"""
insert into score_rows select judge_id, paper_id, {LIST_KEY}, relevance, novelty, comment, :given
{_OTHERS} and list_id = (
    select min(list_id) from score_rows as any_list
    where any_list.judge_id = score_rows.judge_id and any_list.paper_id = score_rows.paper_id
) on conflict do nothing
"""  # one row is sought for each paper, since thousands of lists may have it
_KEEP = f"""
insert into score_rows select {_JUDGE}, paper_keys.id, {LIST_KEY}, json_extract(rows.value, '$[0]'),
    json_extract(rows.value, '$[1]'), nullif(json_extract(rows.value, '$[2]'), ''), :given
from json_each(:rows) as rows join paper_keys on arxiv_id = rows.key where true on conflict do nothing
"""


def _kept(arxiv_id: str, **score: Any) -> tuple[str, Score]:
    return arxiv_id, Score(**score)


def summed(row: Mapping[str, Any]) -> Spending:
    """The spending of a row of `SUMS`."""
    cost = None if row["unpriced"] else Cost(row["prompt_usd"], row["completion_usd"])
    return Spending(Usage(*(row[name] for name in Usage.__slots__)), cost)
