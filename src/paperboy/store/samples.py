"""The random sample of what the learned shortlist leaves out: what it found, by list."""

import json
from collections.abc import Collection, Iterable
from datetime import date

from paperboy.models import Spending
from paperboy.shortlist import Recall
from paperboy.store.database import Database
from paperboy.store.scores import SUMS, summed


class Samples:
    """A row for each paper of the sample that was scored."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, list_name: str, arxiv_ids: Iterable[str], day: date) -> None:
        """Joins the transaction of the caller."""
        for arxiv_id in arxiv_ids:
            values = [list_name, arxiv_id, day.isoformat()]
            self._database.execute("insert into samples values (?, ?, ?) on conflict do nothing", values)

    def found(self, list_name: str, since: date) -> tuple[date, ...]:
        """The list's days since then on which a paper of the sample passed, one for each such paper, in order."""
        rows = self._database.rows(_FOUND, [list_name, since.isoformat()])
        return tuple(row["date"] for row in rows)

    def recalls(self, list_names: Collection[str], since: date) -> dict[str, tuple[Recall, Spending]]:
        """How well the lists' shortlists did since then, on days on which they left papers out; and what those days
        cost.
        """
        asked = {"names": json.dumps(list(list_names)), "since": since.isoformat()}
        spent = {row["list"]: summed(row) for row in self._database.rows(_SPENT, asked)}
        return {
            name: (Recall(**counts), spent.get(name, Spending()))
            for name, counts in ((row.pop("list"), row) for row in self._database.rows(_RECALLS, asked))
        }


_PASSED = "became in ('selected', 'over the cap')"
_FOUND = f"""
select samples.date from samples join seen using (list, arxiv_id)
where samples.list = ? and samples.date >= ? and {_PASSED} order by samples.date, arxiv_id
"""
_SHORTLISTED = """
select * from days where list in (select value from json_each(:names)) and date >= :since and not_called > 0
and outcome != 'gave up'  -- its papers come again, as do those of a digest that reached nobody
and not exists (select 1 from digests where digests.id = days.digest_id and superseded is not null)
"""
_RECALLS = f"""
select list, sum(considered - filtered - not_called) as called, sum(not_called) as not_called,
    sum(selected + over_cap) as passed,
    coalesce((select count(*) from samples where samples.list = some.list and samples.date >= :since), 0) as sampled,
    coalesce((
        select count(*) from samples join seen using (list, arxiv_id)
        where samples.list = some.list and samples.date >= :since and {_PASSED}
    ), 0) as found
from ({_SHORTLISTED}) as some group by list
"""
_SPENT = f"""
select list, {SUMS} from spending where (list, date) in (select list, date from ({_SHORTLISTED})) group by list
"""
