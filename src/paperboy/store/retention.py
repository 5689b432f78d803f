"""Retention: old records are deleted, except those that prevent repeats.

    31 days after its submission   no fetch can bring a paper again: once all lists have seen it, it leaves its
                                   categories, and its abstract goes
    a month after a list saw it    the score of a paper goes that was below the list's thresholds; an LLM's only where
                                   they are not kept for learning
    KEEP_DAYS after it came        such a paper goes, with its scores; a digest, with its bytes and its deliveries

    seven days after it was made   an alert or confirmation that does not wait any more

Features add what is theirs.

A paper on a page of the web room keeps its abstract as long as that page is kept; and where an
LLM's scores are kept for learning, one that it scored keeps it for 93 days before its list's newest
score.

What lists have seen stays for ever, as do their days, what was spent, votes, and whom the tokens of
mails name; so do, whatever their age, each list's newest digest and what waits to be delivered.
"""

import logging
from collections.abc import Collection
from datetime import datetime, timedelta

from paperboy.curate import CROSS_LIST
from paperboy.due import LONGEST_WINDOW
from paperboy.errors import StoreWriteError
from paperboy.models import PaperOutcome
from paperboy.store.database import Noun
from paperboy.store.seen import CODES, day_number

logger = logging.getLogger(__name__)

SETTLED = LONGEST_WINDOW + timedelta(days=1)  # after that, no fetch looks so far back
_WEEK = timedelta(days=7)  # after which a settled alert or confirmation, and an event, are no news
_LOOKED_BACK = timedelta(
    days=35
)  # before that, for papers whose scores are a month old: a list may be a weekly one


class Retention(Noun):
    """Called by the day's first morning as its last step; other writers wait for one short
    transaction at a time.
    """

    def is_due(self, now: datetime) -> bool:
        """Whether no list has had a morning since midnight, UTC."""
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return not self._rows("select 1 from days where at >= ? limit 1", [midnight])

    def thin(
        self, keep: timedelta, lists: Collection[str], now: datetime, *, keeps_scores: bool = False
    ) -> None:
        """Delete what is older than `keep`, and abstracts of settled papers; the file keeps its
        size, and new rows fill it. `lists` are the names of the lists that a paper may still come
        to; `keeps_scores`: an LLM's are kept for learning. A disk error is logged.
        """
        values = {
            "settled": now - SETTLED,
            "old": now - max(keep, SETTLED),
            "lists": list(lists),
            "week": now - _WEEK,
            "keeps_scores": keeps_scores,
            "month": day_number((now - SETTLED).date()),
            "looked": now - SETTLED - _LOOKED_BACK,
        }
        steps = [
            *_STEPS.items(),
            *(step for its in self._database.tables for step in its.retain.items()),
        ]
        gone = []
        try:
            for what, statements in steps:
                if number := self._execute_each(statements, values, durable=False):
                    gone.append(f"{number:,} {what}")
            if gone:
                logger.info("retention: deleted %s", ", ".join(gone))
            for pragma in ("analysis_limit = 400", "optimize", "wal_checkpoint(passive)"):
                self._rows(f"pragma {pragma}")
        except StoreWriteError as error:
            logger.warning("retention is retried tomorrow: %s", error)


_OLD = """
select id from digests where at < :old and id not in (select max(id) from digests group by list)
and not exists (
    select 1 from deliveries where frozen_id = digests.id and state in ('pending', 'sending', 'deferred')
)
"""

_SETTLED = f"""
with newest as materialized (
    select list_keys.key as list_key, cast(strftime('%s', max(date)) as integer) / 86400 as since
    from digests join list_keys using (list) group by list
)
select id from papers left join paper_keys using (id)
where published < :settled and abstract != '' and not exists (
    select 1 from started left join list_keys using (list)
    where list in (select value from json_each(:lists))
    and (way = primary_category or way in (select '{CROSS_LIST}' || value from json_each(categories)))
    and not exists (select 1 from seen_rows where list_key = list_keys.key and paper_key = paper_keys.key)
) and not exists (
    select 1 from newest cross join seen_rows using (list_key) where paper_key = paper_keys.key and day >= since
)
"""

# On a page of the web room, which shows what it showed on its morning; and in full there, not only
# named. `cross` fixes the order: what lists have seen is the largest table.
_SHOWN = """
    select 1 from paper_keys cross join (select distinct list from digests where link != '') as lists
    cross join list_keys using (list) cross join seen_rows on list_key = list_keys.key and paper_key = paper_keys.key
    cross join digests on digests.list = lists.list and digests.date = date(day * 86400, 'unixepoch')
    where paper_keys.id = papers.id and link != ''
"""
_FULL = (PaperOutcome.AUTHOR_MATCH, PaperOutcome.SELECTED, PaperOutcome.OVER_CAP)
_IN_FULL = f"{_SHOWN} and became in ({', '.join(str(CODES[each]) for each in _FULL)})"

# By the newest score and not by the clock: a list that has no LLM any more still learns from the
# scores it had.
_LEARNED_FROM = """
select id from paper_keys where key in (
    select paper_key from score_rows
    join (select list_key, max(given) as newest from score_rows where novelty is not null group by list_key)
    using (list_key) where novelty is not null and given >= newest - 93 * 86400
)
"""

_GONE = f"""
select id from papers where fetched_at < :old and published < :settled and abstract = '' and not exists ({_SHOWN})
"""

# Keys of papers are given as these arrive, so that a judge's old rows stand together.
_MONTH_OLD = "from papers join paper_keys using (id) where fetched_at between :looked and :settled"
_WITHOUT_SCORES = f"""
delete from score_rows where judge_key in (select key from judges)
and paper_key between (select min(paper_keys.key) {_MONTH_OLD}) and (select max(paper_keys.key) {_MONTH_OLD})
and exists (
    select 1 from seen_rows
    where seen_rows.list_key = score_rows.list_key and seen_rows.paper_key = score_rows.paper_key
    and became = {CODES[PaperOutcome.BELOW]} and day < :month
) and not (:keeps_scores and novelty is not null)
"""
_WITHOUT_ANY_SCORE = f"""
delete from score_rows where judge_key in (select key from judges)
and paper_key in (select key from paper_keys where id in ({_GONE}))
"""

# At the end of the table: a row that becomes shorter where it is leaves a hole in its page for
# good.
_WITHOUT_ABSTRACT = f"""
update papers set abstract = '', comment = '', rowid = (select max(rowid) from papers) + places.place
from (
    select id, row_number() over (order by id) as place
    from ({_SETTLED} and not exists ({_IN_FULL}) and not (:keeps_scores and id in ({_LEARNED_FROM})))
) as places
where papers.id = places.id
"""

_STEPS = {
    "scores": (_WITHOUT_SCORES,),
    "digests": (
        f"update days set digest_id = null where digest_id in ({_OLD})",
        f"delete from messages where id in ({_OLD})",
    ),
    "incidents": ("delete from incidents where event and last < :week",),
    "alerts and confirmations": (
        """delete from messages where date is null and at < :week and not exists (
            select 1 from deliveries where frozen_id = messages.id and state in ('pending', 'sending', 'deferred')
        )""",
        "delete from alerts where over and date < :week and mail is null",
    ),
    "abstracts": (
        f"delete from paper_categories where paper_id in ({_SETTLED})",
        _WITHOUT_ABSTRACT,
    ),
    "papers": (
        _WITHOUT_ANY_SCORE,
        f"delete from unscored where paper_id in ({_GONE})",
        f"delete from papers where id in ({_GONE})",
        "delete from judges where not exists (select 1 from score_rows where judge_key = judges.key)",
    ),
    "attempts": ("delete from attempts where at < :old",),
}
