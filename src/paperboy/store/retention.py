"""Retention: old records are deleted, except those that prevent repeats.

    31 days after submission     a paper that all lists have seen leaves its categories and loses its abstract: no
                                 fetch can bring it again
    a month after a list saw it  a paper below the list's thresholds loses its score; an LLM's only where scores are not
                                 kept for learning
    KEEP_DAYS after it came      a paper without an abstract goes, with its scores; a digest, with its deliveries
    31 days after it came        a morning in brief, which is kept for previews; its digest has it
    seven days after it came     an alert or confirmation that does not wait any more

Features add their own steps.

A paper on a page of the site keeps its abstract as long as the page is kept. Where an LLM's
scores are kept for learning, a paper that it scored keeps its abstract for the 93 days before its
list's newest score.

Never deleted: what lists have seen, their days, spending, votes, and the readers whom tokens name;
nor, whatever their age, each list's newest digest and deliveries that wait.
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

SETTLED = LONGEST_WINDOW + timedelta(days=1)  # no fetch looks back so far
_WEEK = timedelta(days=7)  # how long settled alerts and confirmations, and events, are kept
_LOOKED_BACK = timedelta(days=35)  # for papers whose scores are a month old: a list may be weekly


class Retention(Noun):
    """Last step of the day's first morning. Other writers wait for one short transaction at a
    time.
    """

    def is_due(self, now: datetime) -> bool:
        """Check whether no list has had a morning since midnight, UTC."""
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return not self._rows("select 1 from days where at >= ? limit 1", [midnight])

    def thin(
        self, keep: timedelta, lists: Collection[str], now: datetime, *, keeps_scores: bool = False
    ) -> None:
        """Delete what is older than `keep`, and abstracts of settled papers. The file keeps its
        size, and new rows fill it. `lists`: names of lists that can still receive papers;
        `keeps_scores`: an LLM's are kept for learning. A disk error is logged.
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
        deleted = []
        try:
            for steps in (_STEPS, *(tables.retain for tables in self._database.tables)):
                for what, statements in steps.items():
                    number = self._execute_each(statements, values, durable=False)
                    if number:
                        deleted.append(f"{number:,} {what}")
            if deleted:
                logger.info("retention: deleted %s", ", ".join(deleted))
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

# A journal's feed may have no abstract: then the categories tell.
TEXT_KEPT = "(abstract != '' or papers.id in (select paper_id from paper_categories))"
"""Condition on a paper that is not settled yet."""

_SETTLED = f"""
with newest as materialized (
    select list_keys.key as list_key, cast(strftime('%s', max(date)) as integer) / 86400 as since
    from digests join list_keys using (list) group by list
)
select id from papers left join paper_keys using (id)
where published < :settled and {TEXT_KEPT} and not exists (
    select 1 from started left join list_keys using (list)
    where list in (select value from json_each(:lists))
    and (way = primary_category or way in (select '{CROSS_LIST}' || value from json_each(categories)))
    and not exists (select 1 from seen_rows where list_key = list_keys.key and paper_key = paper_keys.key)
) and not exists (
    select 1 from newest cross join seen_rows using (list_key) where paper_key = paper_keys.key and day >= since
)
"""

# Papers on a page of the site, which stays as it was on its morning; below, those shown in full
# there. `cross` fixes the order: `seen_rows` is the largest table.
_SHOWN = """
    select 1 from paper_keys cross join (select distinct list from digests where link != '') as lists
    cross join list_keys using (list) cross join seen_rows on list_key = list_keys.key and paper_key = paper_keys.key
    cross join digests on digests.list = lists.list and digests.date = date(day * 86400, 'unixepoch')
    where paper_keys.id = papers.id and link != ''
"""
_FULL = (PaperOutcome.AUTHOR_MATCH, PaperOutcome.SELECTED, PaperOutcome.OVER_CAP)
_IN_FULL = f"{_SHOWN} and became in {tuple(CODES[outcome] for outcome in _FULL)}"

# By the newest score, not by the clock: a list that has lost its LLM still learns from its scores.
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

# Papers get their keys as they arrive, so a judge's old rows are neighbours.
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

# Rows move to the end of the table: one that is shortened in place leaves a hole in its page.
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
    "mornings in brief": ("delete from briefs where at < :settled",),
    "attempts": ("delete from attempts where at < :old",),
}
