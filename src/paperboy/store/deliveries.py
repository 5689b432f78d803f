"""The ledger of deliveries: one digest to one subscriber each.

Each move is a conditional update; the rows that it changed say whether it happened. It is a commit of its own.
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Any

from paperboy.models import Addressed, Delivery, DeliveryState, Subscriber
from paperboy.store.alerts import Alerts, Cause, Note
from paperboy.store.database import Database, iso

_WAITING = "state in ('pending', 'sending', 'deferred')"  # spelled as in the partial index, or SQLite does not use it
_BACKOFF = "(select max(until) from server_backoff where at <= :now)"
_EXPIRES = timedelta(days=3)
_MESSAGE_ID = re.compile(r"<(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)\.(?P<list>[a-z0-9-]{1,63})\.[0-9a-f]{24}@[^\s<>]+>")


@dataclass(frozen=True, slots=True)
class Frozen:
    """A list's digest, as the ledger knows it."""

    id: int
    date: date  # local to the list
    superseded: bool  # it reached nobody, and its papers came back


class Missed(Enum):
    """Which deliveries `resend` sends again, as conditions."""

    ANY = "(state in ('failed', 'ambiguous', 'deferred', 'suppressed') or via = 'outbox' and :by_mail)"
    FAILED = "state in ('failed', 'ambiguous')"
    EXPIRED = "state = 'failed' and given_up"  # after three days


class Deliveries:
    """All deliveries of one database. Only one process sends at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(self, now: datetime, *, by_hand: bool = False, only: int = 0) -> tuple[int, ...]:
        """The ids of deliveries that may be sent now, oldest digest first, and at the end those whose recipient was
        refused and put back, so that the next round begins with others; `only` that one, if it may. Domains take turns,
        since a refusal by the first three recipients ends the round.

        `sending` is what a crash left behind. `by_hand` ignores retry backoffs; addresses that have one come last.
        """
        rows = self._database.rows(
            f"""select id from deliveries where {_WAITING} and :only in (0, id)
            and (:by_hand or coalesce(try_at, '') <= :now and coalesce({_BACKOFF}, '') <= :now)
            order by coalesce(try_at, '') > :now, case when held then at end, digest_id, row_number() over (
                partition by digest_id, lower(substr(address, instr(address, '@'))) order by id
            ), id""",
            {"now": iso(now), "by_hand": by_hand, "only": only},
        )
        return tuple(row["id"] for row in rows)

    def last_sent(self) -> datetime | None:
        """When the last delivery of any digest was sent."""
        return self._database.value("select max(at) as at from deliveries where state = 'sent'")

    def get(self, delivery_id: int) -> Delivery:
        """One delivery, in any state."""
        found: list[Delivery] = self._database.rows(f"{_SELECT} where deliveries.id = ?", [delivery_id], _delivery)
        return found[0]

    def read(self, ids: Iterable[int]) -> dict[int, Delivery]:
        """Return deliveries by their ids, in any state, without spoilt rows."""
        found = self._database.rows(
            f"{_SELECT} where deliveries.id in (select value from json_each(?))",
            [json.dumps([*ids])],
            _delivery,
            without_spoilt=True,
        )
        return {delivery.id: delivery for delivery in found}

    def find(self, digest_id: int, address: str) -> Delivery | None:
        """The delivery of a digest to an address, in any state."""
        query = f"{_SELECT} where address = ? collate nocase and digest_id = ?"
        return self._database.first(query, [address, digest_id], _delivery)

    def unfinished(self) -> int:
        """How many deliveries are pending, sending or deferred."""
        return int(self._database.rows(f"select count(*) as n from deliveries where {_WAITING}")[0]["n"])

    def next_try(self, now: datetime) -> datetime | None:
        """When the first waiting delivery may be tried; None if none waits."""
        return self._database.value(
            f"select max(min(coalesce(try_at, :now)), coalesce({_BACKOFF}, '')) as at from deliveries where {_WAITING}",
            {"now": iso(now)},
        )

    def reached(self, digest_ids: Collection[int]) -> frozenset[int]:
        """Those of the digests that somebody got by mail."""
        rows = self._database.rows(
            """select distinct digest_id from deliveries where digest_id in (select value from json_each(?))
            and state = 'sent' and via = 'smtp'""",
            [json.dumps([*digest_ids])],
        )
        return frozenset(row["digest_id"] for row in rows)

    def is_expired(self, delivery: Delivery, now: datetime) -> bool:
        """Whether three days have passed since its digest was frozen and since that first reached somebody: one that
        reached nobody is superseded instead. What a crash left in `sending` is tried once more.
        """
        until = now - _EXPIRES
        if delivery.state is DeliveryState.SENDING or delivery.frozen_at is None or delivery.frozen_at > until:
            return False
        reached = "select 1 from deliveries where digest_id = ? and state in ('sent', 'ambiguous') and at <= ? limit 1"
        return bool(self._database.rows(reached, [delivery.digest_id, iso(until)]))

    def only_in_outbox(self) -> tuple[str, ...]:
        """The lists whose newest digest is only in the outbox, from a sender that a mail server would accept."""
        rows = self._database.rows(
            """select list from digests join deliveries on digest_id = digests.id
            where digests.id in (select max(id) from digests group by list) and sender not like '%@localhost'
            group by list having max(via = 'outbox') and not max(via = 'smtp') order by list"""
        )
        return tuple(row["list"] for row in rows)

    def reserve(self, delivery: Delivery, at: datetime) -> bool:
        """Record that a delivery is being sent, before its message leaves. False: another process moved it."""
        return self._move(
            "update deliveries set state = 'sending', attempts = attempts + 1, at = ? "
            f"where id = ? and state = ? and {_WAITING}",
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
        held: bool = False,
    ) -> bool:
        """Record the new state of a reserved delivery. False: another process moved it.

        `bounce`: its address does not exist. `undone`: the attempt does not count. `held`: the refusal may be about us.
        """
        return self._move(
            "update deliveries set state = ?, reply = ?, at = ?, via = ?, try_at = ?, uncertain = uncertain + ?, "
            "bounce = ?, attempts = attempts - ?, held = ? where id = ? and state = 'sending'",
            [
                *(state.value, reply, iso(at), via, iso(try_at) if try_at else None),
                *(uncertain, bounce, undone, held, delivery.id),
            ],
        )

    def by_message_id(self, message_id: str) -> Delivery | None:
        """The delivery whose copy has this Message-ID, which names its list and its day."""
        named = _MESSAGE_ID.search(message_id)
        values = [named["list"], f"{named['y']}-{named['m']}-{named['d']}", named[0]] if named else [""] * 3
        return self._database.first(f"{_SELECT} where list = ? and date = ? and message_id = ?", values, _delivery)

    def came_back(self, delivery: Delivery, reply: str, at: datetime, *, gone: bool) -> bool:
        """Record that a mail which the server had accepted was not delivered. False: that is known, or it waits."""
        return self._move(
            "update deliveries set state = 'failed', reply = ?, at = ?, bounce = ? "
            "where id = ? and state in ('sent', 'ambiguous')",
            [reply, iso(at), gone, delivery.id],
        )

    def end(self, delivery: Delivery, state: DeliveryState, reason: str, at: datetime) -> bool:
        """Settle a waiting delivery without another try: suppressed, or failed, which is noted for the operator."""
        name, gave_up = delivery.list_name, state is DeliveryState.FAILED
        detail = f"{name}: {delivery.addressed.subscriber.address}: {reason}"
        note = Note(Cause.EXPIRED, str(delivery.id), detail=detail, facts={"list": name})
        with self._database.transaction(durable=False):
            moved = self._move(
                "update deliveries set state = ?, reply = ?, at = ?, given_up = ? "
                f"where id = ? and state = ? and {_WAITING}",
                [state.value, reason, iso(at), gave_up, delivery.id, delivery.state.value],
            )
            Alerts(self._database).note([note] if moved and gave_up else [], at)
        return moved

    def postpone(self, until: datetime, now: datetime) -> None:
        """Retry backoff of the server: nothing is tried before `until`, except by hand."""
        self._move("insert or replace into server_backoff values (1, ?, ?)", [iso(now), iso(until)])

    def _move(self, sql: str, values: list[Any]) -> bool:
        return self._database.commit(sql, values) == 1

    def refused_by_all(self, digest_ids: Collection[int]) -> tuple[tuple[str, str], ...]:
        """Those of the digests that failed for all recipients: each one's list, and the last reply."""
        rows = self._database.rows(
            """select list, reply, max(deliveries.at) from deliveries join digests on digests.id = digest_id
            where digest_id in (select value from json_each(?)) and state != 'suppressed'
            group by digest_id having min(state in ('failed', 'ambiguous')) order by list""",
            [json.dumps(sorted(digest_ids))],
        )
        return tuple((row["list"], row["reply"]) for row in rows)

    def bounced_thrice(self) -> tuple[tuple[str, str], ...]:
        """Addresses, lowered, whose last three settled deliveries bounced, each with the last reply; over all lists,
        and since the address was last unsuppressed.

        Only digests that reached somebody else by mail count: otherwise the server may be at fault. Addresses that are
        suppressed for all lists are left out.
        """
        return tuple((row["address"], row["reply"]) for row in self._database.rows(_BOUNCED_THRICE))

    def digests(self, list_name: str) -> tuple[Frozen, ...]:
        """The list's digests, newest first."""
        query = """select id, date, superseded is not null as superseded from digests
            where list = ? order by at desc, id desc"""
        return tuple(self._database.rows(query, [list_name], Frozen))

    def newest(self, list_name: str) -> Frozen | None:
        """The list's newest digest; None if it has had none."""
        return next(iter(self.digests(list_name)), None)

    def again(
        self, digest: Frozen, addressed: Sequence[Addressed], missed: Missed, at: datetime, *, by_mail: bool
    ) -> int:
        """Reset the `missed` deliveries of recipients in `addressed` to pending, as if never tried; returns how many.

        `by_mail`: mail that is only in the outbox is missed. With Missed.ANY a recipient without a delivery gets one.
        """
        if digest.superseded:
            return 0
        values = {"digest": digest.id, "at": iso(at), "by_mail": by_mail}
        with self._database.transaction():
            number = self._database.execute(
                f"{_AS_NEW} and {missed.value}",
                values | {"to": json.dumps([of.subscriber.address for of in addressed])},
            )
            for of in addressed if missed is Missed.ANY else ():
                who = of.subscriber
                own = {"address": who.address, "name": who.name, "message_id": of.message_id, "token": of.token}
                number += self._database.execute(_JOINED, values | own)
        return number


def _delivery(address: str, name: str, message_id: str, token: str, **others: Any) -> Delivery:
    return Delivery(addressed=Addressed(Subscriber(address, name), message_id, token), **others)


_SELECT = """
select deliveries.id, digest_id, list as list_name, address, name, message_id, token, state, attempts, uncertain, reply,
    coalesce(again, digests.at) as frozen_at,
    (select reason from suppressions where holds and suppressions.list in ('', digests.list)
        and suppressions.address in (lower(deliveries.address), forgotten(lower(deliveries.address)))
        order by suppressions.list limit 1) as suppressed
from deliveries cross join digests on digests.id = digest_id
"""

_AS_NEW = """
update deliveries set state = 'pending', attempts = 0, uncertain = 0, try_at = null, via = '', bounce = 0, given_up = 0,
    again = :at, at = :at
where digest_id = :digest and address collate nocase in (select value from json_each(:to))
"""

_JOINED = """
insert into deliveries (digest_id, address, name, message_id, token, state, again, at)
select :digest, :address, :name, :message_id, :token, 'pending', :at, :at
where not exists (select 1 from deliveries where digest_id = :digest and address = :address collate nocase)
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
