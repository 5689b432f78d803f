"""Scores, which are paid for once, and spending."""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import date, datetime
from typing import Any

from paperboy.models import Cost, Score, Spending, Usage
from paperboy.store.database import Noun
from paperboy.store.seen import KNOW_LIST, LIST_KEY, PAPER_KEYS

SUMS = (
    ", ".join(f"coalesce(sum({name}), 0) as {name}" for name in Usage.__slots__)
    + ", total(prompt_usd) as prompt_usd, total(completion_usd) as completion_usd"
    ", count(calls) - count(prompt_usd) as unpriced"
)
"""What a query selects from `spending` for `summed`."""


class Scores(Noun):
    """Scores by list, paper, criteria (the fingerprint of rubric and topics) and model."""

    def kept(
        self, list_name: str, criteria: str, model: str, paper_ids: Collection[str], at: datetime
    ) -> dict[str, Score]:
        """Return the stored scores of these papers by the model on those criteria, by id. Where the
        list has none, the oldest list's is stored for this one, too.
        """
        key = _key(list_name, criteria, model, at)
        kept = dict(self._rows(_KEPT, key | {"ids": list(paper_ids)}, _kept))
        missing = key | {"ids": list({*paper_ids} - kept.keys())}
        if self._rows(f"select 1 {_OTHERS} limit 1", missing):
            self._execute_each((KNOW_LIST, _TAKE), missing, durable=False)
            kept |= self._rows(_KEPT, missing, _kept)
        return kept

    def keep(
        self,
        list_name: str,
        criteria: str,
        model: str,
        scores: Mapping[str, Score],
        spending: Spending,
        at: datetime,
    ) -> None:
        """Store the scores and the spending of one request, in one transaction. A score that is
        stored already stays as it is.
        """
        cost = spending.cost
        rows = {paper_id: asdict(score) for paper_id, score in scores.items()}
        values = _key(list_name, criteria, model, at) | {"ids": list(scores), "rows": rows}
        with self._transaction(durable=False):
            if scores:
                self._execute_each((KNOW_LIST, PAPER_KEYS, _KNOW_JUDGE, _KEEP), values)
            if spending.usage.calls:
                row = asdict(spending.usage) | {
                    "list": list_name,
                    "model": model,
                    "at": at,
                    "prompt_usd": cost and cost.prompt,
                    "completion_usd": cost and cost.completion,
                }
                self._database.insert("spending", row)

    def spending(self, list_name: str, day: date | None = None) -> Spending:
        """Return what the list has spent since its last frozen day, over restarts and previews; and
        for a day's digest.
        """
        query = f"select {SUMS} from spending where list = ? and (date is null or date = ?)"
        (row,) = self._rows(query, [list_name, day or ""])
        return summed(row)

    def spent_since(self, since: datetime) -> float:
        """Return the US dollars that all lists have spent since then, as far as prices are
        known.
        """
        query = "select total(prompt_usd) + total(completion_usd) as dollars from spending where at >= ?"
        return self._value(query, [since]) or 0.0


_KNOW_JUDGE = (
    "insert into judges (criteria, model) values (:criteria, :model) on conflict do nothing"
)
_JUDGE = "(select key from judges where criteria = :criteria and model = :model)"
_OTHERS = f"""
from score_rows join paper_keys on paper_keys.key = paper_key
where judge_key = {_JUDGE} and paper_key in (
    select key from paper_keys where id in (select value from json_each(:ids))
)
"""
_KEPT = f"""
select paper_keys.id as paper_id, relevance, novelty, coalesce(comment, '') as comment, topic {_OTHERS}
and list_key = {LIST_KEY}
"""
_COLUMNS = "judge_key, paper_key, list_key, relevance, novelty, comment, given, topic"
# Seeks one row per paper, since thousands of lists may have it.
_TAKE = f"""
insert into score_rows ({_COLUMNS}) select judge_key, paper_key, {LIST_KEY}, relevance, novelty, comment, :given, topic
{_OTHERS} and list_key = (
    select min(list_key) from score_rows as any_list
    where any_list.judge_key = score_rows.judge_key and any_list.paper_key = score_rows.paper_key
) on conflict do nothing
"""
_KEEP = f"""
insert into score_rows ({_COLUMNS}) select {_JUDGE}, paper_keys.key, {LIST_KEY},
    json_extract(rows.value, '$.relevance'), json_extract(rows.value, '$.novelty'),
    nullif(json_extract(rows.value, '$.comment'), ''), :given, json_extract(rows.value, '$.topic')
from json_each(:rows) as rows join paper_keys on paper_keys.id = rows.key where true on conflict do nothing
"""


def _key(list_name: str, criteria: str, model: str, at: datetime) -> dict[str, Any]:
    given = int(at.timestamp())
    return {"list": list_name, "criteria": criteria, "model": model, "given": given}


def _kept(paper_id: str, **score: Any) -> tuple[str, Score]:
    return paper_id, Score(**score)


def summed(row: Mapping[str, Any]) -> Spending:
    """Return the spending of a row of `SUMS`."""
    cost = None if row["unpriced"] else Cost(row["prompt_usd"], row["completion_usd"])
    usage = Usage(**{name: row[name] for name in Usage.__slots__})
    return Spending(usage, cost)
