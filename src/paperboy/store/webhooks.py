"""The ledger of webhooks: one call for each digest of a list that has one.

Each move is a conditional update in its own commit, as for deliveries. A call that a crash left in `sending` waits like
a pending one: each crash repeats one call at most.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from paperboy.models import DeliveryState
from paperboy.store.database import Database, iso

_WAITING = "state in ('pending', 'sending')"  # spelled as in the partial index, or SQLite does not use it


@dataclass(frozen=True, slots=True)
class Call:
    """What a list's webhook is told, or was told, of one digest."""

    digest_id: int
    list_name: str
    date: date  # local to the list
    subject: str
    link: str  # the token of the digest's page; empty: it has none
    frozen_at: datetime
    state: DeliveryState  # PENDING, SENDING, SENT or FAILED
    attempts: int
    reply: str  # the last one
    at: datetime  # of the last move
    try_at: datetime | None = None  # retry backoff: not before; None: at once, or never again
    shown: bytes = field(default=b"", repr=False)  # what it tells is made of; see mail/archive.py


class Webhooks:
    """All calls of one database. A row is written when its digest is frozen."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(self, now: datetime) -> tuple[int, ...]:
        """The digests whose call may be tried now: first the call that was never tried, or not for the longest time."""
        query = f"select digest_id from webhooks where {_WAITING} and coalesce(try_at, '') <= ? order by at, digest_id"
        return tuple(row["digest_id"] for row in self._database.rows(query, [iso(now)]))

    def get(self, digest_id: int) -> Call | None:
        """The call of a digest, in any state; None: there is none any more."""
        return self._database.first(f"{_SELECT} where digest_id = ?", [digest_id], Call)

    def newest(self, list_names: Collection[str]) -> dict[str, Call]:
        """The call of each list's newest digest that has one."""
        rows = self._database.rows(f"{_SELECT} where digest_id in {_NEWEST}", [json.dumps(list(list_names))], Call)
        return {call.list_name: call for call in rows}

    def reserve(self, call: Call, at: datetime, try_at: datetime) -> bool:
        """Record that a call is being made, before the request; `try_at`: when it is repeated after a crash. False:
        another process moved it.
        """
        return self._move(
            "update webhooks set state = 'sending', attempts = attempts + 1, at = ?, try_at = ? "
            f"where digest_id = ? and state = ? and attempts = ? and {_WAITING}",
            [iso(at), iso(try_at), call.digest_id, call.state.value, call.attempts],
        )

    def settle(
        self, call: Call, state: DeliveryState, reply: str, at: datetime, try_at: datetime | None = None
    ) -> bool:
        """Record the new state of a call that waits or is being made; `try_at`: when it is tried again."""
        return self._move(
            f"update webhooks set state = ?, reply = ?, at = ?, try_at = ? where digest_id = ? and {_WAITING}",
            [state.value, reply, iso(at), iso(try_at) if try_at else None, call.digest_id],
        )

    def _move(self, sql: str, values: Sequence[str | int | None]) -> bool:
        return self._database.commit(sql, values) == 1


_FROM = "from webhooks join digests on digests.id = digest_id"
_SELECT = f"""
select digest_id, list as list_name, date, subject, link, digests.at as frozen_at, state, attempts, reply, webhooks.at,
    try_at, shown
{_FROM}
"""
_NEWEST = f"(select max(digest_id) {_FROM} where list in (select value from json_each(?)) group by list)"
