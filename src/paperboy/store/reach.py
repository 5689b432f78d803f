"""Whom digests reached, and whom they did not. Reads; nothing here changes anything."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from paperboy.models import DeliveryState, MailingList
from paperboy.store.database import Database, instant, iso

WAITING = frozenset({DeliveryState.PENDING, DeliveryState.SENDING, DeliveryState.DEFERRED})

_RECENT = timedelta(days=30)  # before what was settled lately, its digest was frozen: three days, and `resend`


@dataclass(frozen=True, slots=True)
class Reach:
    """How some digests fared together. Each subscriber counts once, on however many lists; the suppressed do not, nor
    those who left a list and had not got its digest.
    """

    subscribers: int = 0
    missed: int = 0  # of them, who lacks one of the digests
    wait: int = 0  # of those, for whom one is pending, sending or deferred
    failed: int = 0
    ambiguous: int = 0
    in_outbox: bool = False  # what was sent went there, and to nobody by mail
    replies: tuple[str, ...] = ()  # to those who lack one, without their addresses
    try_at: datetime | None = None  # before which nothing deferred is tried
    tried: datetime | None = None  # when the mail server last refused us before it was any address's turn


@dataclass(frozen=True, slots=True)
class Undelivered:
    """One digest that one subscriber did not get."""

    list_name: str
    date: date  # the digest's, local to the list
    address: str
    state: DeliveryState
    reply: str  # the last one; empty: it was not tried
    at: datetime  # of the last move
    try_at: datetime | None  # not before; None: with the next round, if it waits
    given_up: bool  # after three days
    newest: bool  # of the list's newest digest


def reach(database: Database, days: Iterable[tuple[MailingList, date]]) -> Reach:
    """Whom the digests of those days reached, and who on the lists now was to get one and did not."""
    digests = _digests(database, days)
    ids = json.dumps(list(digests))
    sent = database.rows(_SENT, [ids])[0]
    lacking: dict[str, list[dict[str, Any]]] = {}  # by address
    for row in database.rows(_NOT_SENT, [ids]):
        if row["address"].casefold() in digests[row["digest_id"]]:
            lacking.setdefault(row["address"].casefold(), []).append(row)
    rows = [row for of_one in lacking.values() for row in of_one]
    got_another = database.rows(_SENT_TO, [ids, json.dumps(list(lacking))])[0]["n"] if lacking else 0

    def people(*states: DeliveryState) -> int:
        return sum(any(row["state"] in states for row in of_one) for of_one in lacking.values())

    return Reach(
        subscribers=sent["n"] + len(lacking) - got_another,
        missed=len(lacking),
        wait=people(*WAITING),
        failed=people(DeliveryState.FAILED),
        ambiguous=people(DeliveryState.AMBIGUOUS),
        in_outbox=bool(sent["in_outbox"]),
        replies=tuple(sorted({_without(row["address"], row["reply"]) for row in rows if row["reply"]})[:3]),
        try_at=_instant(min((row["try_at"] for row in rows if _waits_for_its_hour(row)), default="")),
        tried=_instant(max((row["at"] for row in rows if row["state"] == "pending" and row["reply"]), default="")),
    )


def _digests(database: Database, days: Iterable[tuple[MailingList, date]]) -> dict[int, frozenset[str]]:
    """By the id of each digest, the addresses on its list, casefolded."""
    found = {}
    for entry, day in days:
        for row in database.rows(
            "select id from digests where list = ? and date = ? and superseded is null", [entry.name, day.isoformat()]
        ):
            found[row["id"]] = frozenset(who.address.casefold() for who in entry.subscribers)
    return found


def _waits_for_its_hour(row: dict[str, Any]) -> bool:
    return row["state"] == DeliveryState.DEFERRED and bool(row["try_at"])


def _without(address: str, reply: str) -> str:
    return reply.replace(address, "…")


def undelivered(database: Database, since: datetime) -> tuple[Undelivered, ...]:
    """All that waits; what failed or stayed ambiguous since an instant, or in a list's newest digest; and what was
    suppressed in that. Newest digests first. A superseded one is left out: its papers come with another.
    """
    rows = database.rows(_UNDELIVERED, {"since": iso(since), "recent": iso(since - _RECENT)})
    return tuple(
        Undelivered(
            row["list"],
            date.fromisoformat(row["date"]),
            row["address"],
            DeliveryState(row["state"]),
            row["reply"],
            instant(row["at"]),
            _instant(row["try_at"]) if row["state"] == DeliveryState.DEFERRED else None,
            given_up=bool(row["given_up"]),
            newest=bool(row["newest"]),
        )
        for row in rows
    )


_SENT = """
select count(distinct lower(address)) as n, coalesce(min(via = 'outbox'), 0) as in_outbox from deliveries
where state = 'sent' and digest_id in (select value from json_each(?))
"""

_NOT_SENT = """
select digest_id, address, state, reply, try_at, at from deliveries
where state not in ('sent', 'suppressed') and digest_id in (select value from json_each(?))
"""

_SENT_TO = """
select count(distinct lower(address)) as n from deliveries
where state = 'sent' and digest_id in (select value from json_each(?))
and lower(address) in (select value from json_each(?))
"""

_UNDELIVERED = """
with newest as (select max(id) as id from digests group by list)
select list, date, address, state, reply, deliveries.at, try_at, given_up, digest_id in newest as newest
from deliveries join digests on digests.id = digest_id
where superseded is null and deliveries.id in (
    select id from deliveries where state in ('pending', 'sending', 'deferred')
    union select deliveries.id from digests join deliveries on digest_id = digests.id
    where digests.at >= :recent and state in ('failed', 'ambiguous') and deliveries.at >= :since
    union select deliveries.id from newest join deliveries on digest_id = newest.id
    where state in ('failed', 'ambiguous', 'suppressed')
)
order by date desc, list, address
"""


def _instant(text: Any) -> datetime | None:
    return instant(text) if text else None
