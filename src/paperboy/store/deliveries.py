"""The ledger of deliveries. Each move is a conditional update, and the number of rows it touched is the answer."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from paperboy.models import Addressed, Delivery, DeliveryState, MailingList, Subscriber
from paperboy.store.database import Database, instant, iso
from paperboy.store.putting_back import PuttingBack
from paperboy.store.reach import Reach, Undelivered, reach, undelivered

_UNTOLD, _TOLD = 1, 2  # of a delivery that was given up after three days: whether the operator knows
_WAITING = "state in ('pending', 'sending', 'deferred')"
# what was put off while the clock was ahead is not waited for
_MAY_GO = "(try_at is null or try_at <= :now or deliveries.at > :now)"
_NOW = f"{_WAITING} and {_MAY_GO} and (:only is null or deliveries.id = :only)"


@dataclass(frozen=True, slots=True)
class Frozen:
    """A list's digest, as the ledger knows it."""

    id: int
    date: date  # local to the list
    superseded: bool  # it reached nobody, and its papers came back


class Deliveries:
    """One digest to one subscriber each. All moves are their own commit."""

    def __init__(self, database: Database, only: int | None = None) -> None:
        self._database = database
        self._only = only

    def only(self, delivery: Delivery) -> Deliveries:
        """The same ledger, of which nothing but this delivery waits."""
        return Deliveries(self._database, delivery.id)

    def waiting(self, now: datetime, *, behind: Delivery | None = None, most: int = -1) -> tuple[Delivery, ...]:
        """What may be sent now, oldest digest first; `behind` one of them, and so many at `most` (-1: all). Only one
        process sends, so `sending` means a crash left it.
        """
        rows = self._database.rows(
            f"""{_SELECT} where {_NOW} and (digest_id, deliveries.id) > (:digest, :behind)
            order by digest_id, deliveries.id limit :most""",
            {
                **self._now(now),
                "digest": behind.digest_id if behind else 0,
                "behind": behind.id if behind else 0,
                "most": most,
            },
        )
        return tuple(_delivery(row) for row in rows)

    def queue(self, now: datetime) -> tuple[int, datetime | None]:
        """How many may be sent now; and since when nothing has left of it: what has waited longest was frozen then, or
        the last mail was sent.
        """
        (row,) = self._database.rows(
            f"""select count(*) as n, min(:now, max(
                min(coalesce(again, digests.at)),
                coalesce((select max(at) from deliveries where state = 'sent' and at <= :now), '')
            )) as since from deliveries join digests on digests.id = digest_id where {_NOW}""",
            self._now(now),
        )
        return row["n"], instant(row["since"]) if row["since"] else None

    def _now(self, now: datetime) -> dict[str, Any]:
        return {"now": iso(now), "only": self._only}

    def find(self, digest_id: int, address: str) -> Delivery | None:
        """The delivery of a digest to an address, whatever became of it."""
        rows = self._database.rows(
            f"{_SELECT} where address = ? collate nocase and digest_id = ?", [address, digest_id]
        )
        return _delivery(rows[0]) if rows else None

    def unfinished(self) -> int:
        """How many deliveries are pending, sending or deferred."""
        return int(self._database.rows(f"select count(*) as n from deliveries where {_WAITING}")[0]["n"])

    def reached(self, digest_id: int) -> datetime | None:
        """When the digest was first delivered to somebody, or may have been."""
        row = self._database.rows(
            "select min(at) as at from deliveries where digest_id = ? and state in ('sent', 'ambiguous')", [digest_id]
        )[0]
        return instant(row["at"]) if row["at"] else None

    def only_in_outbox(self) -> tuple[str, ...]:
        """The lists whose newest digest went to the outbox and to nobody by mail, though its sender is one that mail
        can have: before MAIL_FROM is set it is at localhost.
        """
        rows = self._database.rows(
            """select list from digests join deliveries on digest_id = digests.id
            where digests.id in (select max(id) from digests group by list) and sender not like '%@localhost'
            group by list having max(via = 'outbox') and not max(via = 'smtp') order by list"""
        )
        return tuple(row["list"] for row in rows)

    def next_try(self, now: datetime) -> datetime | None:
        """When the first delivery that waits may be tried; None where none waits."""
        row = self._database.rows(
            f"""select min(case when {_MAY_GO} then min(at, :now) else try_at end) as at
            from deliveries where {_WAITING}""",
            {"now": iso(now)},
        )[0]
        return instant(row["at"]) if row["at"] else None

    def reserve(self, delivery: Delivery, at: datetime) -> bool:
        """Says, before the first word to the server, that this one is on its way. False: somebody else moved it."""
        return self._move(
            "update deliveries set state = 'sending', attempts = attempts + 1, at = ? where id = ? and state = ?",
            [iso(at), delivery.id, delivery.state.value],
        )

    def settle(
        self,
        delivery: Delivery,
        state: DeliveryState,
        reply: str,
        at: datetime,
        *,
        via: str = "",
        try_at: datetime | None = None,
        uncertain: bool = False,
        bounce: bool = False,
        undone: bool = False,
    ) -> bool:
        """Says what became of a delivery that was reserved. `bounce`: its address does not exist. `undone`: it was not
        tried, after all.
        """
        return self._move(
            "update deliveries set state = ?, reply = ?, at = ?, via = ?, try_at = ?, uncertain = uncertain + ?, "
            "bounce = ?, attempts = attempts - ? where id = ? and state = 'sending'",
            [
                *(state.value, reply, iso(at), via, iso(try_at) if try_at else None),
                *(int(uncertain), int(bounce), int(undone), delivery.id),
            ],
        )

    def suppress(self, delivery: Delivery, reason: str, at: datetime) -> bool:
        """Takes out one that waits: its address may get no more mail."""
        return self._move(
            "update deliveries set state = 'suppressed', reply = ?, at = ? where id = ? and state = ?",
            [reason, iso(at), delivery.id, delivery.state.value],
        )

    def expire(self, delivery: Delivery, reason: str, at: datetime) -> bool:
        """Gives up one that waits; the operator is to be told."""
        return self._move(
            f"update deliveries set state = 'failed', reply = ?, at = ?, given_up = {_UNTOLD} "
            f"where id = ? and state = ? and {_WAITING}",
            [reason, iso(at), delivery.id, delivery.state.value],
        )

    def untold(self) -> tuple[Delivery, ...]:
        """What was given up, and the operator was not told."""
        rows = self._database.rows(f"{_SELECT} where given_up = {_UNTOLD} order by deliveries.id")
        return tuple(map(_delivery, rows))

    def refused_by_all(self, digest_ids: Collection[int]) -> tuple[tuple[str, str], ...]:
        """Those of the digests that every server refused for good, for all that were to get them: each one's list,
        and the last reply.
        """
        rows = self._database.rows(
            """select list, reply, max(deliveries.at) from deliveries join digests on digests.id = digest_id
            where digest_id in (select value from json_each(?)) and state != 'suppressed'
            group by digest_id having min(state in ('failed', 'ambiguous')) order by list""",
            [json.dumps(sorted(digest_ids))],
        )
        return tuple((row["list"], row["reply"]) for row in rows)

    def told(self) -> None:
        """The operator knows of all that was given up."""
        with self._database.transaction():
            self._database.execute(f"update deliveries set given_up = {_TOLD} where given_up = {_UNTOLD}")

    def _move(self, sql: str, values: list[Any]) -> bool:
        with self._database.transaction(durable=False):
            return self._database.execute(sql, values) == 1

    def bounced_thrice(self) -> tuple[tuple[str, str], ...]:
        """The addresses, casefolded, that do not exist, each with the last server's word for it.

        That is: of what the address was to get since it was last brought back, over all lists, the last three
        deliveries that came to an end bounced, each in a digest that reached somebody else by mail. A bounce in one
        that did not may be the server's fault: it counts neither way, as what waits, what was suppressed and what was
        superseded do not. Addresses that are suppressed for all lists already are left out.
        """
        rows = self._database.rows(_BOUNCED_THRICE)
        return tuple((row["address"], row["reply"]) for row in rows)

    def reach(self, days: Iterable[tuple[MailingList, date]]) -> Reach:
        """Whom the digests of those days reached, and who on the lists now was to get one and did not."""
        return reach(self._database, days)

    def undelivered(self, since: datetime) -> tuple[Undelivered, ...]:
        """All that waits; what failed or stayed ambiguous since an instant, or in a list's newest digest; and what was
        suppressed in that. Newest digests first, and none that was superseded.
        """
        return undelivered(self._database, since)

    def newest(self, list_name: str, now: datetime) -> Frozen | None:
        """The list's newest digest; None where it has had none. One of a clock that was ahead is not the newest."""
        rows = self._database.rows(
            "select id, date, superseded from digests where list = ? order by at > ?, date desc limit 1",
            [list_name, iso(now)],
        )
        return _frozen(rows[0]) if rows else None

    def again(
        self, list_name: str, *, failed_only: bool, addressed: Sequence[Addressed], by_mail: bool, at: datetime
    ) -> int:
        """Puts back, as if they had never been tried, the deliveries of the list's newest digest that did not reach
        whom they were for; gives how many.

        `addressed` are those who are on the list now, made for that digest's day; who is suppressed is left out. With
        `failed_only` those that failed or stayed ambiguous. Else also what was deferred or suppressed; what reached
        only the outbox, if mail leaves `by_mail` now; and who joined the list since. Nothing of a superseded digest.
        """
        with self._database.transaction():
            digest = self.newest(list_name, at)
            if digest is None or digest.superseded:
                return 0
            back = PuttingBack(self._database, list_name, addressed, at)
            number = back.missed(digest.id, failed_only=failed_only, by_mail=by_mail)
            return number if failed_only else number + back.joined_since(digest.id)

    def given_up_again(
        self, list_name: str, *, addressed: Sequence[Addressed], since: date, at: datetime
    ) -> dict[date, int]:
        """Puts back what was given up after three days, of the list's digests since a day, for who is on the list now
        and not suppressed: how many, by the digest's date.
        """
        with self._database.transaction():
            back = PuttingBack(self._database, list_name, addressed, at)
            return back.given_up(since)


_SELECT = """
select deliveries.*, digests.list, coalesce(again, digests.at) as frozen_at
from deliveries join digests on digests.id = digest_id
"""

_BOUNCED_THRICE = """
with suspects as (
    select address collate nocase as suspect from deliveries where bounce = 1 group by 1 having count(*) >= 3
), ended as (
    select lower(suspect) as address, bounce, reply,
        dense_rank() over (partition by suspect order by digests.date desc) as n
    from suspects join deliveries as own on own.address = suspect collate nocase
    join digests on digests.id = digest_id
    where state in ('sent', 'failed', 'ambiguous') and superseded is null
    and own.at > coalesce((select max(lifted) from suppressions as old where old.address = lower(suspect)), '')
    and (not bounce or exists (
        select 1 from deliveries as other
        where other.digest_id = own.digest_id and other.state = 'sent' and other.via = 'smtp'
    ))
)
select address, max(reply) filter (where n = 1) as reply from ended where n <= 3 and not exists (
    select 1 from suppressions as now where now.address = ended.address and now.list = '' and now.holds
)
group by address having max(n) = 3 and min(bounce) order by address
"""


def _frozen(row: dict[str, Any]) -> Frozen:
    return Frozen(row["id"], date.fromisoformat(row["date"]), row["superseded"] is not None)


def _delivery(row: dict[str, Any]) -> Delivery:
    return Delivery(
        id=row["id"],
        digest_id=row["digest_id"],
        list_name=row["list"],
        addressed=Addressed(Subscriber(row["address"], row["name"]), row["message_id"], row["token"]),
        state=DeliveryState(row["state"]),
        attempts=row["attempts"],
        uncertain=row["uncertain"],
        frozen_at=instant(row["frozen_at"]),
        reply=row["reply"],
    )
