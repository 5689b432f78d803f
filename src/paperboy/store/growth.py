"""Keeps the database small: what is too old goes, in small transactions, and nothing that prevents repeats.

    31 days after its submission   no fetch can bring a paper again, and a list that has seen it wants it no more: its
                                   abstract goes. What single calls cost is added up
    KEEP_DAYS after it came        a paper goes, with its scores; a digest, with its bytes and its deliveries

What lists have seen stays for ever, as do their days and what was spent. So does, whatever its age, what a list still
waits for; each list's newest digest, with its papers; what waits to be delivered or told; and the bounces that count.
Time is that of the last fetch: while no papers come, as in a summer without power, nothing grows old.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from paperboy.due import LONGEST_WINDOW
from paperboy.store.database import Database, instant, iso
from paperboy.store.days import packed

_T = TypeVar("_T")

SETTLED = LONGEST_WINDOW + timedelta(days=1)  # after that, no fetch looks so far back

# Rows in one transaction: each is done within a few hundredths of a second, and who waits comes in between.
_PAPERS, _DIGESTS, _CALLS = 100, 10, 100

_NO_BYTES = packed(b"")


@dataclass(frozen=True, slots=True)
class Thinned:
    """How much went."""

    papers: int = 0
    scores: int = 0  # of those papers
    abstracts: int = 0  # of papers that stay
    digests: int = 0
    deliveries: int = 0


@dataclass(frozen=True, slots=True)
class Size:
    """Of the database, in bytes."""

    whole: int
    free: int  # of that, what holds nothing and is used again before it grows


class Growth:
    """Whoever calls this holds the home: no morning runs meanwhile. Commands may, and wait for no more than one small
    transaction, or for `compact`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def thin(self, keep: timedelta, now: datetime, pause: Callable[[], None]) -> Thinned:
        """Takes out what is older than `keep`, and of what is settled what nobody needs any more.

        `pause` is called between two transactions, so that who waits to write gets his turn. A kill at any moment
        leaves a database that is as sound, and the next call goes on.
        """
        newest = self._database.rows("select max(fetched_at) as at from fetches")[0]["at"]
        if newest is None:
            return Thinned()
        today = min(now, instant(newest))
        settled, old = iso(today - SETTLED), iso(today - max(keep, SETTLED))
        digests, deliveries = self._thin_digests(old, pause)
        papers, scores, abstracts = self._thin_papers(settled, old, now, pause)
        self._add_up_spending(settled, pause)
        self._sweep(old)
        return Thinned(papers, scores, abstracts, digests, deliveries)

    def _thin_digests(self, old: str, pause: Callable[[], None]) -> tuple[int, int]:
        digests = deliveries = 0
        found = self._database.rows(_OLD_DIGESTS, {"old": old})
        for ids in _batches([row["id"] for row in found], _DIGESTS):
            values = {"ids": json.dumps(ids), "none": _NO_BYTES}
            with self._database.transaction(durable=False):
                deliveries += self._database.execute(_DELIVERIES_OF, values)
                self._database.execute(_EMPTY_DAYS, values)
                digests += self._database.execute(_DIGESTS_OF, values)
                self._database.execute(_EMPTY_DIGESTS, values)
                self._database.execute(_NEVER_AGAIN, values)
            pause()
        return digests, deliveries

    def _thin_papers(self, settled: str, old: str, now: datetime, pause: Callable[[], None]) -> tuple[int, int, int]:
        found = self._database.rows(
            _SETTLED_PAPERS, {"settled": settled, "old": old, "awake": json.dumps(self._awake(now))}
        )
        gone, stay = ([row["arxiv_id"] for row in found if bool(row["old"]) is old_ones] for old_ones in (True, False))
        known = {"lists": self._names("list", "scores"), "categories": self._names("category", "paper_categories")}
        papers = scores = abstracts = 0
        for ids in _batches(gone, _PAPERS):
            values = {"ids": json.dumps(ids), **known}
            with self._database.transaction(durable=False):
                scores += self._database.execute(_SCORES_OF, values)
                self._database.execute(_TRIES_OF, values)
                self._database.execute(_CATEGORIES_OF, values)
                papers += self._database.execute(_PAPERS_OF, values)
            pause()
        for ids in _batches(stay, _PAPERS):
            with self._database.transaction(durable=False):
                abstracts += self._database.execute(_WITHOUT_ABSTRACTS, {"ids": json.dumps(ids)})
            pause()
        return papers, scores, abstracts

    def _names(self, column: str, table: str) -> str:
        """As JSON, what a table's key begins with; with that, rows are found by what comes second."""
        return json.dumps([row[column] for row in self._database.rows(f"select distinct {column} from {table}")])

    def _awake(self, now: datetime) -> list[str]:
        """The lists that a paper which they have not seen may still come to; as `Days.started` has it."""
        newest = self._database.rows("select max(at) as at from days where at <= ?", [iso(now)])[0]["at"]
        since = iso(instant(newest) - LONGEST_WINDOW) if newest else ""
        rows = self._database.rows(
            "select list from days where at >= :since union select list from started where at >= :since",
            {"since": since},
        )
        return [row["list"] for row in rows]

    def _add_up_spending(self, settled: str, pause: Callable[[], None]) -> None:
        """One entry for a list's calls of a quarter of an hour, at which any month of any zone begins."""
        for sums in _batches(self._database.rows(_SUMS, {"settled": settled}), _CALLS):
            with self._database.transaction(durable=False):
                for row in sums:
                    self._database.execute(_REPLACE_BY_SUM, row)
                    self._database.execute(
                        "delete from spending where id in (select value from json_each(:ids)) and id != :id", row
                    )
            pause()

    def _sweep(self, old: str) -> None:
        """What lists that are no more, and crashes, left behind."""
        with self._database.transaction(durable=False):
            self._database.execute("delete from attempts where at < ?", [old])
            self._database.execute("delete from holds where at < ?", [old])
            self._database.execute("delete from alerts where noted < ? and alert is null", [old])

    def size(self) -> Size:
        """How large the database is, what is in its WAL included."""
        page, pages, free = (
            int(self._database.rows(f"pragma {name}")[0][name])
            for name in ("page_size", "page_count", "freelist_count")
        )
        return Size(page * pages, page * free)

    def compact(self) -> None:
        """Writes the database anew, without what is free in it. Who wants to write waits. It takes up to twice the new
        size of disk beside the file, half of that until `checkpoint`. Raises StoreWriteError; then all is as it was.
        """
        beside = str(self._database.path.parent).replace("'", "''")  # in /tmp, which may be memory, it would by itself
        self._database.rows(f"pragma temp_store_directory = '{beside}'")
        self._database.execute("vacuum")

    def checkpoint(self) -> None:
        """Moves what is in the WAL into the database. Where somebody reads just now, the rest is left to the next."""
        self._database.rows("pragma busy_timeout = 1000")  # who wants to write waits meanwhile
        self._database.rows("pragma wal_checkpoint(truncate)")

    def optimize(self) -> None:
        """Lets SQLite look at its tables, where they have changed much, so that it finds its way in them."""
        self._database.rows("pragma analysis_limit = 400")
        self._database.rows("pragma optimize")


def _batches(items: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    return (items[start : start + size] for start in range(0, len(items), size))


# Nobody sends them, sends them again or is to be told of them.
_OLD_DIGESTS = """
select id from digests where at < :old
and id not in (select max(id) from digests group by list)
and (list, date) not in (select list, max(date) from digests group by list)
and tell is null and not exists (
    select 1 from deliveries
    where digest_id = digests.id and (state in ('pending', 'sending', 'deferred') or given_up = 1)
)
order by id
"""

# All but those that `Deliveries.bounced_thrice` needs: what bounced and what ended otherwise, as far as nothing but
# bounces came after it. A bounce counts in a digest that reached somebody else, one of whom stays as its witness; what
# ended otherwise stays where a bounce before it does.
_DELIVERIES_OF = """
delete from deliveries where digest_id in (select value from json_each(:ids)) and id not in (
    with last_words as (
        select id, digest_id, address, bounce from deliveries as own
        where digest_id in (select value from json_each(:ids)) and state in ('sent', 'failed', 'ambiguous')
        and not exists (
            select 1 from suppressions where suppressions.address = lower(own.address) and list = '' and holds
        ) and not exists (
            select 1 from deliveries as later join digests on digests.id = later.digest_id
            where later.address = own.address collate nocase and later.digest_id > own.digest_id
            and state in ('sent', 'failed', 'ambiguous') and not bounce and superseded is null
        )
    ), witnesses as (
        select min(id) as id, digest_id from deliveries
        where digest_id in (select digest_id from last_words where bounce) and state = 'sent' and via = 'smtp'
        group by digest_id
    )
    select id from witnesses union all
    select id from last_words where bounce and digest_id in (select digest_id from witnesses) union all
    select id from last_words as own where not bounce and exists (
        select 1 from deliveries as earlier
        where earlier.address = own.address collate nocase and earlier.digest_id < own.digest_id and earlier.bounce
        and earlier.digest_id not in (select value from json_each(:ids))
    )
)
"""

_EMPTY_DAYS = "update days set digest_id = null where digest_id in (select value from json_each(:ids))"

_DIGESTS_OF = """
delete from digests where id in (select value from json_each(:ids))
and not exists (select 1 from deliveries where digest_id = digests.id)
"""

# What is left of a digest holds the bounces that count, and nothing that could be sent.
_EMPTY_DIGESTS = """
update digests set message = :none where id in (select value from json_each(:ids)) and message != :none
"""

_NEVER_AGAIN = "update deliveries set given_up = 0 where digest_id in (select value from json_each(:ids)) and given_up"

_SETTLED_PAPERS = """
select arxiv_id, fetched_at < :old as old from papers
where published < :settled and (fetched_at < :old or abstract != '' or comment != '')
and not exists (
    select 1 from started
    where list in (select value from json_each(:awake))
    and (way = primary_category or way in (select 'cross-list ' || value from json_each(categories)))
    and not exists (select 1 from seen where seen.list = started.list and seen.arxiv_id = papers.arxiv_id)
) and not exists (
    select 1 from (select list, max(date) as date from digests group by list) as newest
    join seen on seen.list = newest.list and seen.arxiv_id = papers.arxiv_id and seen.date = newest.date
)
order by arxiv_id
"""

_SCORES_OF = """
delete from scores where (list, arxiv_id) in (
    select lists.value, ids.value from json_each(:lists) as lists, json_each(:ids) as ids
)
"""

_TRIES_OF = "delete from tries where arxiv_id in (select value from json_each(:ids))"

_CATEGORIES_OF = """
delete from paper_categories where (category, arxiv_id) in (
    select categories.value, ids.value from json_each(:categories) as categories, json_each(:ids) as ids
)
"""

_PAPERS_OF = "delete from papers where arxiv_id in (select value from json_each(:ids))"

# At the end of the table: a row that becomes shorter where it is leaves a hole in its page for good.
_WITHOUT_ABSTRACTS = """
update papers set abstract = '', comment = '', rowid = (select max(rowid) from papers) + 1 + key
from json_each(:ids) where arxiv_id = value
"""

_COUNTED = (
    *("calls", "prompt_tokens", "cached_tokens", "cache_write_tokens", "completion_tokens", "reasoning_tokens"),
    *("prompt_usd", "completion_usd"),
)

_SUMS = f"""
select min(id) as id, min(at) as at, json_group_array(id) as ids,
    {", ".join(f"sum({name}) as {name}" for name in _COUNTED)}
from spending where at < :settled
group by list, date, model, prompt_usd is null, cast(strftime('%s', at) as integer) / 900
having count(*) > 1
"""

_REPLACE_BY_SUM = f"update spending set at = :at, {', '.join(f'{name} = :{name}' for name in _COUNTED)} where id = :id"
