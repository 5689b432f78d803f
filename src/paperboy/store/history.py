"""Read models of `status`, `why` and the alerts."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from paperboy.models import (
    Archived,
    Counts,
    Day,
    DeliveryState,
    Paper,
    PaperOutcome,
    Score,
    Spending,
    Suppression,
)
from paperboy.store.database import Noun
from paperboy.store.incidents import Incident, Kind
from paperboy.store.scores import SUMS, summed

WAITING = frozenset({DeliveryState.PENDING, DeliveryState.SENDING, DeliveryState.DEFERRED})

_TRIED_FOR = timedelta(days=30)  # a delivery that was settled lately has no older digest

HAS_PAGE = "link != '' and shown is not null and superseded is null"
ARCHIVED = (
    f"select id, list as list_name, date, subject, at, link, shown from digests where {HAS_PAGE}"
)


@dataclass(frozen=True, slots=True)
class DaySummary(Day):
    """Frozen day, as `status` shows it."""

    spending: Spending = Spending()
    deliveries: Mapping[DeliveryState, int] = field(default_factory=dict)


class NewestDigest(NamedTuple):
    """Newest digest of a list."""

    list_name: str
    digest_id: int
    date: date  # local to the list
    deliveries: Mapping[DeliveryState, int]
    in_outbox: int  # how many of those that were sent went there


class DeliveryRecord(NamedTuple):
    """Delivery of one digest to one recipient."""

    digest_id: int
    list_name: str
    date: date  # the digest's, local to the list
    address: str
    state: DeliveryState
    reply: str  # the last one; empty: it was not tried
    reason: str  # that reply, or the server error that holds back all mail
    at: datetime  # when its state last changed
    try_at: datetime | None  # not before; None: with the next sending, if it waits
    given_up: bool  # after three days of trying
    newest: bool  # belongs to the list's newest digest; only `undelivered` says so

    def next_try(self, now: datetime) -> datetime | None:
        """Return when it is retried; None if it is settled."""
        if self.state not in WAITING:
            return None
        return max(self.try_at or now, now)


class KeptScore(NamedTuple):
    """Score with its model and date."""

    score: Score
    model: str
    at: datetime


class PaperHistory(NamedTuple):
    """History of one paper on one list."""

    scores: tuple[KeptScore, ...] = ()  # newest first
    failures: int = 0  # mornings on which it could not be scored, though others were
    became: PaperOutcome | None = None  # None: the list has not seen it, and will consider it
    day: date | None = None  # of that outcome
    deliveries: Mapping[DeliveryState, int] | None = None  # of its digest; None: it has none


class History(Noun):
    """Queries about days, digests, deliveries and papers."""

    def digest(self, list_name: str, day: date) -> Archived | None:
        """Return the digest of a list's day, as long as it has a page."""
        return self._first(f"{ARCHIVED} and list = ? and date = ?", [list_name, day], Archived)

    def days(
        self, list_names: Iterable[str], most: int = 1, until: date = date.max
    ) -> dict[str, tuple[DaySummary, ...]]:
        """Return the last days `until` a date of each list that had any, newest first. Later ones
        are from a clock that was ahead.
        """
        days = self._rows(
            f"""select days.*, {_STATES} as deliveries, {SUMS}
            from json_each(:names) as name join days on days.list = name.value left join spending using (list, date)
            where date in (
                select date from days as own
                where own.list = name.value and date <= :until order by date desc limit :most
            )
            group by name.key, date order by name.key, date desc""",
            {"names": list(list_names), "most": most, "until": until},
            _day,
        )
        by_list: dict[str, tuple[DaySummary, ...]] = {}
        for day in days:
            by_list[day.list_name] = (*by_list.get(day.list_name, ()), day)
        return by_list

    def months(self, now: datetime, list_names: Iterable[str] = ()) -> dict[date, Spending]:
        """Return the spending of these lists, or of all, in the month of `now` and in any of the 12
        months before, by the month's first day (UTC), newest first.
        """
        names = list(list_names)
        month = now.date().replace(day=1)
        rows = self._rows(
            f"""select substr(at, 1, 7) || '-01' as date, {SUMS} from spending
            where at >= ? and (? or list in (select value from json_each(?))) group by 1 order by 1 desc""",
            [month.replace(year=month.year - 1), not names, names],
        )
        return {month: Spending()} | {row["date"]: summed(row) for row in rows}

    def mailed(self, list_names: Iterable[str], until: date = date.max) -> dict[str, NewestDigest]:
        """Return the newest digest of each list, unless it was superseded."""
        rows = self._rows(
            f"""select list as list_name, digest_id, date, {_STATES} as deliveries, (
                select count(*) from deliveries where frozen_id = digest_id and state = 'sent' and via = 'outbox'
            ) as in_outbox
            from json_each(:names) as name
            join (select id as digest_id, list, date, superseded from digests) on list = name.value
            where superseded is null and date = (
                select max(date) from digests where list = name.value and date <= :until
            )""",
            {"names": list(list_names), "until": until},
            NewestDigest,
        )
        return {digest.list_name: digest for digest in rows}

    def people(self, digest_ids: Iterable[int], others: Iterable[str] = ()) -> int:
        """Count the people whom these digests reached, and those at other addresses, each once."""
        query = """select count(*) from (
            select lower(address) from deliveries
            where state = 'sent' and frozen_id in (select value from json_each(:digests))
            union select lower(value) from json_each(:others)
        )"""
        return self._value(query, {"digests": list(digest_ids), "others": list(others)}) or 0

    def undelivered(self, newest: Collection[int], since: datetime) -> tuple[DeliveryRecord, ...]:
        """Return deliveries that wait; those of the `newest` digests that ended without a mail; and
        those that failed or stayed ambiguous `since` an instant. Newest digests first, without
        superseded ones: their papers come again.
        """
        rows = self._rows(
            f"""{_DELIVERIES}
            where superseded is null and deliveries.id in (
                select id from deliveries where state in ('pending', 'sending', 'deferred')
                union select id from deliveries where state in ('failed', 'ambiguous', 'suppressed')
                and frozen_id in (select value from json_each(:newest))
                union select deliveries.id from digests join deliveries on frozen_id = digests.id
                where digests.at >= :recent and state in ('failed', 'ambiguous') and deliveries.at >= :since
            )
            order by date desc, list, address""",
            {"newest": list(newest), "since": since, "recent": since - _TRIED_FOR},
            DeliveryRecord,
        )
        return tuple(rows)

    def deliveries_to(self, address: str, since: datetime) -> list[DeliveryRecord]:
        """Return the deliveries to an address of digests frozen `since` an instant, newest
        first.
        """
        return self._rows(
            f"{_DELIVERIES} where address = :address collate nocase and digests.at >= :since order by date desc, list",
            {"address": address, "since": since, "newest": []},
            DeliveryRecord,
        )

    def unreached(self, list_names: Iterable[str]) -> list[Incident]:
        """Return lists whose newest digest reached nobody, with the last reply as the reason."""
        return self._rows(_NOBODY, {"names": list(list_names)}, _nobody)

    def failed(self, since: datetime) -> list[Incident]:
        """Return deliveries that failed since then, at a server or after three days, as events."""
        return self._rows(_FAILED, {"since": since}, _failed)

    def suppressed(self, by: str, since: datetime) -> list[Suppression]:
        """Return the suppressions that hold since then, by "bounces" or "complaint"."""
        return self._rows(
            """select address, list as list_name, reason, at, by = 'reader' as own from suppressions
            where holds and by = ? and at >= ? and address not like 'forgotten-%' order by at, address""",
            [by, since],
            Suppression,
        )

    def paper(self, paper_id: str) -> tuple[Paper, datetime] | None:
        """Return the paper, and when it was first fetched; None if it never was, or was deleted by
        retention.
        """
        row = self._first("select * from papers where id = ?", [paper_id])
        if row is None:
            return None
        fetched_at = row.pop("fetched_at")
        return Paper(**row), fetched_at

    def of_paper(self, list_name: str, paper_id: str) -> PaperHistory:
        """Return the paper's history on the list."""
        key = [list_name, paper_id]
        scores = self._rows(
            """select relevance, novelty, comment, scores.model, at from judges join scores using (criteria, model)
            where list = ? and paper_id = ? order by at desc, scores.model""",
            key,
            lambda model, at, **score: KeptScore(Score(**score), model, at),
        )
        query = "select mornings from unscored where list = ? and paper_id = ?"
        failures = self._value(query, key) or 0
        row = self._first(
            f"""select became, seen.date, iif(digest_id is null, null, {_STATES}) as deliveries
            from seen left join days using (list, date) where list = ? and paper_id = ?""",
            key,
        )
        seen = row or {}
        return PaperHistory(
            scores=tuple(scores),
            failures=failures,
            became=seen.get("became"),
            day=seen.get("date"),
            deliveries=seen.get("deliveries"),
        )


def _day(**row: Any) -> DaySummary:
    reason = row["reason"]
    if row["reached_nobody"]:
        reason = f"{reason.rstrip('.')}; reached nobody; superseded".lstrip("; ")
    return DaySummary(
        list_name=row["list"],
        date=row["date"],
        outcome=row["outcome"],
        reason=reason,
        counts=Counts(**{name: row[name] for name in Counts.__slots__}),
        spending=summed(row),
        deliveries=row["deliveries"],
    )


def _nobody(
    list: str,  # noqa: A002  # a column
    reply: str,
    at: datetime,
    since: datetime | None,
    *,
    superseded: bool,
) -> Incident:
    facts = {"list": list, "lines": [f"{list}: {reply}"], "back": superseded}
    return Incident(
        kind=Kind.NOBODY, subject=list, since=since or at, last=at, reason=reply, facts=facts
    )


def _failed(
    id: int,  # noqa: A002  # a column, as the next
    list: str,  # noqa: A002
    address: str,
    reply: str,
    at: datetime,
    *,
    given_up: bool,
) -> Incident:
    facts = {"list": list, "address": address, "lines": [f"{list}: {address}: {reply}"]}
    kind = Kind.EXPIRED if given_up else Kind.REFUSED
    return Incident(kind=kind, subject=str(id), since=at, last=at, facts=facts, event=True)


def _is(states: str, digest: str = "own") -> str:
    """Return the condition that a delivery of the digest is in one of these states."""
    return (
        f"exists (select 1 from deliveries where frozen_id = {digest}.id and state in ({states}))"
    )


# The number of a digest's deliveries in every state.
_STATES = """(
    select json_group_object(state, n) from (
        select state, count(*) as n from deliveries where frozen_id = digest_id group by state
    )
)"""

_DELIVERIES = """
select frozen_id as digest_id, list as list_name, date, address, state, reply, deliveries.at, given_up,
    frozen_id in (select value from json_each(:newest)) as newest,
    nullif(max(coalesce(try_at, ''), coalesce((select until from server_backoff), '')), '') as try_at, case
    when superseded = deliveries.at then 'superseded: its papers come with the list''s next digest'
    when state = 'pending' and reply = '' then coalesce((
        select reply from deliveries where state in ('pending', 'sending', 'deferred') -- the index has these
        and state = 'pending' and reply != '' order by at desc limit 1
    ), '') else reply end as reason
from deliveries join digests on digests.id = frozen_id
"""

# The newest digest of each list that has reached somebody, or nobody.
_NOBODY = f"""
select name.value as list, superseded is not null as superseded,
    coalesce((
        select reply from deliveries where state != 'suppressed' and reply != '' and frozen_id in (
            select id from digests as alike
            where list = digests.list and (id = digests.id or superseded = digests.superseded)
        ) order by at desc, id limit 1
    ), 'it was not tried') as reply,
    coalesce(superseded, (select max(at) from deliveries where frozen_id = digests.id)) as at,
    (
        select min(deliveries.at) from deliveries join digests as own on own.id = frozen_id
        where list = name.value and state in ('failed', 'ambiguous') and own.date > coalesce(
            (select max(date) from digests as own where list = name.value and {_is("'sent'")}), ''
        )
    ) as since
from json_each(:names) as name join digests on digests.id = (
    select id from digests as own where list = name.value and (
        superseded is not null or {_is("'sent'")} or not {_is("'pending', 'sending', 'deferred'")}
    ) order by date desc limit 1
)
where superseded is not null or (not {_is("'sent'", "digests")} and {_is("'failed', 'ambiguous'", "digests")})
order by name.key
"""
# A digest that reached nobody is a problem of its list, not of its addresses.
_FAILED = f"""
select deliveries.id, list, address, reply, deliveries.at, given_up
from deliveries join digests on digests.id = frozen_id
where state = 'failed' and deliveries.at >= :since and superseded is null and (given_up or via = '') and (
    given_up or frozen_id in (
        select own.id from (select distinct frozen_id as id from deliveries where state = 'failed' and at >= :since)
        as own where {_is("'sent', 'pending', 'sending', 'deferred'")}
    )
)
order by +deliveries.id
"""
