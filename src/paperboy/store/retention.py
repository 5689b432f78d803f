"""Retention: old records are deleted, except those that prevent repeats.

    31 days after its submission   no fetch can bring a paper again: once all lists have seen it, it leaves its
                                   categories, and its abstract goes
    KEEP_DAYS after it came        such a paper goes, with its scores; a digest, with its bytes, its deliveries and its
                                   webhook's call

    seven days after it was made   a request to sign up that nobody confirmed

A paper on a page of the web room keeps its abstract as long as that page is kept; and where lists learn from an LLM's
scores, one that it scored keeps it for 93 days before its list's newest score.

What lists have seen stays for ever, as do their days, what was spent, votes, and whom the tokens of mails name; so do,
whatever their age, each list's newest digest and what waits to be delivered.
"""

import json
import logging
from collections.abc import Collection
from datetime import datetime, timedelta

from paperboy.due import LONGEST_WINDOW
from paperboy.errors import StoreWriteError
from paperboy.store.database import Database, iso
from paperboy.store.search import Search
from paperboy.store.signups import HOLDS

logger = logging.getLogger(__name__)

SETTLED = LONGEST_WINDOW + timedelta(days=1)  # after that, no fetch looks so far back


class Retention:
    """Called by the day's first morning as its last step; other writers wait for one short transaction at a time."""

    def __init__(self, database: Database) -> None:
        self._database, self._search = database, Search(database)

    def is_due(self, now: datetime) -> bool:
        """Whether no list has had a morning since midnight, UTC."""
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return not self._database.rows("select 1 from days where at >= ? limit 1", [iso(midnight)])

    def thin(self, keep: timedelta, lists: Collection[str], now: datetime, *, learns: bool = False) -> None:
        """Delete what is older than `keep`, and abstracts of settled papers; the file keeps its size, and new rows fill
        it. `lists` are the names of the lists that a paper may still come to; `learns`: they learn from an LLM's
        scores. A disk error is logged.
        """
        old, lists_now = iso(now - max(keep, SETTLED)), json.dumps(list(lists))
        values = {"settled": iso(now - SETTLED), "old": old, "lists": lists_now, "week": iso(now - HOLDS)}
        values["learns"] = str(int(learns))
        gone = []
        try:
            self._search.delete([row["id"] for row in self._database.rows(_OLD, values)])
            for what, statements in _STEPS.items():
                with self._database.transaction(durable=False):
                    if number := sum(self._database.execute(statement, values) for statement in statements):
                        gone.append(f"{number:,} {what}")
            if gone:
                logger.info("retention: deleted %s", ", ".join(gone))
            for pragma in ("analysis_limit = 400", "optimize", "wal_checkpoint(passive)"):
                self._database.rows(f"pragma {pragma}")
        except StoreWriteError as error:
            logger.warning("retention is retried tomorrow: %s", error)


_OLD = """
select id from digests where at < :old and id not in (select max(id) from digests group by list)
and not exists (
    select 1 from deliveries where digest_id = digests.id and state in ('pending', 'sending', 'deferred')
)
"""

_SETTLED = """
select arxiv_id from papers where published < :settled and abstract != '' and not exists (
    select 1 from started
    where list in (select value from json_each(:lists))
    and (way = primary_category or way in (select 'cross-list ' || value from json_each(categories)))
    and not exists (select 1 from seen where seen.list = started.list and seen.arxiv_id = papers.arxiv_id)
) and not exists (
    select 1 from (select list, max(date) as newest from digests group by list) join seen using (list)
    where seen.arxiv_id = papers.arxiv_id and seen.date >= newest
)
"""

# On a page of the web room, which shows what it showed on its morning; and in full there, not only named. `cross` fixes
# the order: what lists have seen is the largest table.
_SHOWN = """
    select 1 from (select distinct list from digests where link != '') cross join seen using (list)
    cross join digests using (list, date) where seen.arxiv_id = papers.arxiv_id and link != ''
"""
_IN_FULL = f"{_SHOWN} and became in ('author match', 'selected', 'over the cap')"

# By the newest score and not by the clock: a list that has no LLM any more still learns from the scores it had.
_LEARNED_FROM = """
select arxiv_id from scores
join (select list, max(at) as newest from scores where novelty is not null group by list) using (list)
where novelty is not null and at >= strftime('%Y-%m-%dT%H:%M:%S', newest, '-93 days')
"""

_GONE = f"""
select arxiv_id from papers where fetched_at < :old and published < :settled and abstract = '' and not exists ({_SHOWN})
"""

# At the end of the table: a row that becomes shorter where it is leaves a hole in its page for good.
_WITHOUT_ABSTRACT = f"""
update papers set abstract = '', comment = '', rowid = (select max(rowid) from papers) + places.place
from (
    select arxiv_id, row_number() over (order by arxiv_id) as place
    from ({_SETTLED} and not exists ({_IN_FULL}) and not (:learns = '1' and arxiv_id in ({_LEARNED_FROM})))
) as places
where papers.arxiv_id = places.arxiv_id
"""

_STEPS = {
    "digests": (
        f"update days set digest_id = null where digest_id in ({_OLD})",
        f"delete from deliveries where digest_id in ({_OLD})",
        f"delete from webhooks where digest_id in ({_OLD})",
        f"delete from digests where id in ({_OLD})",
    ),
    "abstracts": (f"delete from paper_categories where arxiv_id in ({_SETTLED})", _WITHOUT_ABSTRACT),
    "papers": tuple(f"delete from {table} where arxiv_id in ({_GONE})" for table in ("scores", "tries", "papers")),
    "sign-ups": ("delete from signups where at < :week and state != 'confirmed'",),
    "samples": ("delete from samples where date < :old",),
    "states": ("delete from learned where at < :settled and list not in (select value from json_each(:lists))",),
    "attempts": ("delete from attempts where at < :old",),
}
