"""Ledger of mail: messages, which are frozen once, and their deliveries, one per recipient.

Digests and notes have a date, alerts and confirmations have none. Every move is a conditional
update in its own commit; the number of changed rows shows whether it happened.
"""

import lzma
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Any, NamedTuple

from paperboy.models import (
    LOCAL_SENDER,
    Composed,
    Delivery,
    DeliveryState,
    MessageCopy,
    Packed,
    Subscriber,
)
from paperboy.store.database import Noun

WORTH_SENDING = timedelta(days=3)  # how long a digest is retried after it first reached somebody

# spelled as in the partial index, or SQLite would not use the index
_WAITING = "state in ('pending', 'sending', 'deferred')"
_BACKOFF = "(select max(until) from server_backoff where at <= :now)"
_BESIDE = "(select id from messages where date is null)"  # alerts and confirmations
MESSAGE_ID = re.compile(  # of a copy
    r"<(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)\.(?P<list>[a-z0-9-]{1,63})\.[0-9a-f]{24}@[^\s<>]+>"
)
# The window of 512 KiB holds both parts of a mail.
_LZMA = [{"id": lzma.FILTER_LZMA2, "preset": 2, "dict_size": 1 << 19}]


def pack(composed: Composed) -> Packed:
    """Compress a mail's bytes for the database. This takes as long as writing them, so a worker may
    do it beforehand.
    """
    if isinstance(composed, Packed):
        return composed
    message = lzma.compress(composed.message, filters=_LZMA)
    shown = lzma.compress(composed.shown, filters=_LZMA) if composed.shown else b""
    return Packed(composed.subject, composed.sender, message, link=composed.link, shown=shown)


class FrozenDigest(NamedTuple):
    """Digest of a list in the ledger."""

    id: int
    date: date  # local to the list
    superseded: bool  # it reached nobody, and its papers came back


class Missed(Enum):
    """SQL conditions: which deliveries `resend` retries."""

    ANY = "(state in ('failed', 'ambiguous', 'deferred', 'suppressed') or via = 'outbox' and :by_mail)"
    FAILED = "state in ('failed', 'ambiguous')"
    EXPIRED = "state = 'failed' and given_up"  # after three days


class Ledger(Noun):
    """Messages and deliveries of one database. Only one process sends at a time."""

    def freeze(
        self,
        mail: Composed,
        copies: Iterable[MessageCopy],
        at: datetime,
        *,
        list_name: str = "",
        day: date | None = None,
        expires: datetime | None = None,
        priority: int = 0,
    ) -> int:
        """Add a message with a pending delivery per recipient, and return its id. Joins the
        caller's transaction. `list_name`: the list on which recipients must be; `day`: of a digest
        or note; `priority`: the highest is sent first, digests have 0, and lower ones wait for the
        end of a round.
        """
        message = {
            "list": list_name,
            "date": day,
            "at": at,
            "expires": expires,
            "priority": priority,
        }
        frozen_id: int = self._column(
            """insert into messages (list, date, subject, sender, message, at, expires, priority, link, shown)
            values (:list, :date, :subject, :sender, :message, :at, :expires, :priority, :link, nullif(:shown, x''))
            returning id""",
            message | asdict(pack(mail)),
        )[0]
        rows = (_recipient(copy) | {"frozen_id": frozen_id, "at": at} for copy in copies)
        self._execute_all(
            """insert into deliveries (frozen_id, address, name, state, message_id, token, at)
            values (:frozen_id, :address, :name, 'pending', :message_id, :token, :at)""",
            rows,
        )
        return frozen_id

    def message(self, frozen_id: int) -> Composed:
        """Return a message as it was frozen."""
        query = "select date, list, subject, sender, message from messages where id = ?"
        messages: list[Composed] = self._rows(
            query,
            [frozen_id],
            lambda subject, sender, message, **_: Composed(subject, sender, message),
        )
        return messages[0]

    def withdraw(self, frozen_id: int) -> None:
        """Delete an unsent message, unless it is being sent."""
        unsent = f"exists (select 1 from deliveries where frozen_id = ? and {_WAITING} and state != 'sending')"
        self._commit(f"delete from messages where id = ? and {unsent}", [frozen_id, frozen_id])

    def beside(self, now: datetime, *, late: bool = False, by_hand: bool = False) -> list[int]:
        """Return the ids of deliveries other than digests that may be sent now, highest priority
        first. `late`: after a round, include priorities below 0 and ignore the round's backoff.
        `by_hand` ignores retry backoffs.
        """
        return self._column(
            f"""select deliveries.id from messages join deliveries on frozen_id = messages.id
            where date is null and priority >= :least and {_WAITING}
            and (:by_hand and (priority < 0 or not :late)
                or coalesce(try_at, '') <= :now and (:late or coalesce({_BACKOFF}, '') <= :now))
            order by priority desc, deliveries.id""",
            {"now": now, "least": -1 if late else 0, "late": late, "by_hand": by_hand},
        )

    def waiting(self, now: datetime, *, by_hand: bool = False, only: int = 0) -> list[int]:
        """Return the ids of digests' deliveries that may be sent now, oldest digest first; or
        `only` that id, if it may. Held refusals come last, so that the next round begins with other
        recipients. Domains take turns, since three refusals at the start end a round.

        Deliveries that a crash left in `sending` are included. `by_hand` ignores retry backoffs;
        addresses with one come last.
        """
        return self._column(
            f"""select id from deliveries where {_WAITING} and :only in (0, id) and frozen_id not in {_BESIDE}
            and (:by_hand or coalesce(try_at, '') <= :now and coalesce({_BACKOFF}, '') <= :now)
            order by coalesce(try_at, '') > :now, case when held then at end, frozen_id, row_number() over (
                partition by frozen_id, lower(substr(address, instr(address, '@'))) order by id
            ), id""",
            {"now": now, "by_hand": by_hand, "only": only},
        )

    def last_sent(self) -> datetime | None:
        """Return when the last delivery of any digest was sent."""
        query = f"select max(at) as at from deliveries where state = 'sent' and frozen_id not in {_BESIDE}"
        return self._value(query)

    def get(self, delivery_id: int) -> Delivery:
        """Return a delivery, in any state."""
        query = f"{_SELECT} where deliveries.id = ?"
        deliveries: list[Delivery] = self._rows(query, [delivery_id], _delivery)
        return deliveries[0]

    def read(self, delivery_ids: Iterable[int]) -> dict[int, Delivery]:
        """Return deliveries by id, in any state; corrupt rows are left out."""
        query = f"{_SELECT} where deliveries.id in (select value from json_each(?))"
        deliveries = self._rows(query, [list(delivery_ids)], _delivery, skip_corrupt=True)
        return {delivery.id: delivery for delivery in deliveries}

    def find(self, frozen_id: int, address: str) -> Delivery | None:
        """Return the delivery of a digest to an address, in any state."""
        query = f"{_SELECT} where address = ? collate nocase and frozen_id = ?"
        return self._first(query, [address, frozen_id], _delivery)

    def unfinished(self) -> int:
        """Count the deliveries of digests that are pending, sending or deferred."""
        query = f"select count(*) from deliveries where {_WAITING} and frozen_id not in {_BESIDE}"
        return self._value(query) or 0

    def next_try(self, now: datetime) -> datetime | None:
        """Return when the first waiting delivery may be tried; None if none waits."""
        return self._value(
            f"select max(min(coalesce(try_at, :now)), coalesce({_BACKOFF}, '')) as at from deliveries where {_WAITING}",
            {"now": now},
        )

    def reached(self, frozen_ids: Collection[int]) -> frozenset[int]:
        """Return the digests that reached somebody by mail."""
        query = """select distinct frozen_id from deliveries
            where frozen_id in (select value from json_each(?)) and state = 'sent' and via = 'smtp'"""
        return frozenset(self._column(query, [list(frozen_ids)]))

    def is_expired(self, delivery: Delivery, now: datetime) -> bool:
        """Check whether the delivery has expired. A digest expires three days after it first reached
        somebody, but not before `expires`; one that reached nobody is superseded instead
        (`Days.supersede`). A delivery that a crash left in `sending` is tried once more.
        """
        if delivery.state is DeliveryState.SENDING:
            return False
        if delivery.expires is None or delivery.expires > now:
            return False
        if not delivery.is_digest:
            return True
        query = """select 1 from deliveries
            where frozen_id = ? and state in ('sent', 'ambiguous') and at <= ? limit 1"""
        return bool(self._rows(query, [delivery.frozen_id, now - WORTH_SENDING]))

    def only_in_outbox(self) -> list[str]:
        """Return the lists whose newest digest is only in the outbox, and can be sent by mail."""
        return self._column(
            """select list from digests join deliveries on frozen_id = digests.id
            where digests.id in (select max(id) from digests group by list) and sender != ?
            group by list having max(via = 'outbox') and not max(via = 'smtp') order by list""",
            [LOCAL_SENDER.address],
        )

    def reserve(self, delivery: Delivery, at: datetime) -> bool:
        """Record that a delivery is being sent, before its message leaves. False: another process
        moved it, or its address has been suppressed meanwhile.
        """
        return self._move(
            f"""update deliveries set state = 'sending', attempts = attempts + 1, at = :at
            where id = :id and state = :state and {_WAITING} and not exists (
                select 1 from {_SUPPRESSED.format(list=":list", address=":address")}
            )""",
            {
                "at": at,
                "id": delivery.id,
                "state": delivery.state,
                "list": delivery.list_name,
                "address": delivery.copy.subscriber.address,
            },
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
        doubtful: bool = False,
        undone: bool = False,
        held: bool = False,
    ) -> bool:
        """Record the new state of a reserved delivery. False: another process moved it.

        `bounce`: its address does not exist; `doubtful`: that is not believed if its server says so
        of most addresses of its domain. `undone`: the attempt does not count. `held`: the refusal
        may be about us.
        """
        return self._move(
            """update deliveries set state = ?, reply = ?, at = ?, via = ?, try_at = ?, uncertain = uncertain + ?,
                bounce = ?, doubtful = ?, attempts = attempts - ?, held = ?
            where id = ? and state = 'sending'""",
            [state, reply, at, via, try_at, uncertain, bounce, doubtful, undone, held, delivery.id],
        )

    def by_message_id(self, message_id: str) -> Delivery | None:
        """Return the delivery whose copy has this Message-ID, which names its list and its day."""
        match = MESSAGE_ID.search(message_id)
        if match is None:
            return None
        day = f"{match['y']}-{match['m']}-{match['d']}"
        query = f"{_SELECT} where list = ? and date = ? and message_id = ?"
        return self._first(query, [match["list"], day, match[0]], _delivery)

    def last_to(self, list_name: str, address: str) -> Delivery | None:
        """Return the newest delivery of a list to an address, in any state."""
        query = f"{_SELECT} where list = ? and address = ? collate nocase order by messages.at desc"
        return self._first(query, [list_name, address], _delivery)

    def record_bounce(
        self, delivery: Delivery, reply: str, at: datetime, *, gone: bool, doubtful: bool
    ) -> bool:
        """Record that an accepted mail was not delivered. False: that was known, or it waits again."""
        return self._move(
            """update deliveries set state = 'failed', reply = ?, at = ?, bounce = ?, doubtful = ?
            where id = ? and state in ('sent', 'ambiguous')""",
            [reply, at, gone, doubtful, delivery.id],
        )

    def end(self, delivery: Delivery, state: DeliveryState, reason: str, at: datetime) -> bool:
        """Settle a waiting delivery without another try, as suppressed or failed."""
        gave_up = state is DeliveryState.FAILED
        return self._move(
            f"""update deliveries set state = ?, reply = ?, at = ?, given_up = ?
            where id = ? and state = ? and {_WAITING}""",
            [state, reason, at, gave_up, delivery.id, delivery.state],
        )

    def postpone(self, until: datetime, now: datetime) -> None:
        """Set the server's retry backoff: nothing is tried before `until`, except by hand."""
        backoff = "insert or replace into server_backoff values (1, ?, ?)"
        self._commit(backoff, [now, until], durable=False)

    def _move(self, sql: str, values: list[Any] | dict[str, Any]) -> bool:
        return self._commit(sql, values, durable=False) == 1

    def refused_by_all(self, frozen_ids: Collection[int]) -> tuple[str, ...]:
        """Return the lists of the digests that failed for all recipients."""
        names = self._column(
            """select list from deliveries join digests on digests.id = frozen_id
            where frozen_id in (select value from json_each(?)) and state != 'suppressed'
            group by frozen_id having min(state in ('failed', 'ambiguous')) order by list""",
            [list(frozen_ids)],
        )
        return tuple(names)

    def digests(self, list_name: str) -> list[FrozenDigest]:
        """Return the list's digests, newest first."""
        query = """select id, date, superseded is not null as superseded from digests
            where list = ? order by at desc, id desc"""
        return self._rows(query, [list_name], FrozenDigest)

    def newest(self, list_name: str) -> FrozenDigest | None:
        """Return the list's newest digest; None if it has had none."""
        return next(iter(self.digests(list_name)), None)

    def reset(
        self,
        digest: FrozenDigest,
        copies: Sequence[MessageCopy],
        missed: Missed,
        at: datetime,
        *,
        by_mail: bool,
    ) -> int:
        """Reset the `missed` deliveries of the recipients of `copies` to pending, as if never
        tried; return their number. With Missed.ANY, a recipient without a delivery gets one.
        `by_mail`: mail that is only in the outbox counts as missed.
        """
        if digest.superseded:
            return 0
        values = {
            "digest": digest.id,
            "at": at,
            "expires": at + WORTH_SENDING,
            "to": [copy.subscriber.address for copy in copies],
            "by_mail": by_mail,
        }
        with self._transaction():
            number = self._execute(
                f"""update deliveries set state = 'pending', attempts = 0, uncertain = 0, try_at = null, via = '',
                    bounce = 0, given_up = 0, at = :at
                where frozen_id = :digest and address collate nocase in (select value from json_each(:to))
                and {missed.value}""",
                values,
            )
            if missed is Missed.ANY:
                for copy in copies:
                    number += self._execute(_ADD_MISSING, values | _recipient(copy))
            if number:
                self._execute(
                    """update messages set expires = max(expires, :expires)
                    where id = :digest""",
                    values,
                )
        return number


def _recipient(copy: MessageCopy) -> dict[str, str]:
    to = copy.subscriber
    return {
        "address": to.address,
        "name": to.name,
        "message_id": copy.message_id,
        "token": copy.token,
    }


def _delivery(address: str, name: str, message_id: str, token: str, **others: Any) -> Delivery:
    return Delivery(copy=MessageCopy(Subscriber(address, name), message_id, token), **others)


_SUPPRESSED = """suppressions where holds and suppressions.list in ('', {list}) and {list} != ''
        and suppressions.address in (lower({address}), forgotten(lower({address})))"""

_SELECT = f"""
select deliveries.id, frozen_id, list as list_name, address, name, message_id, token, state, attempts, uncertain, reply,
    messages.at as frozen_at, expires, date is not null as is_digest,
    (select reason from {_SUPPRESSED.format(list="messages.list", address="deliveries.address")}
        order by suppressions.list limit 1) as suppressed
from deliveries cross join messages on messages.id = frozen_id
"""

_ADD_MISSING = """
insert into deliveries (frozen_id, address, name, message_id, token, state, at)
select :digest, :address, :name, :message_id, :token, 'pending', :at where not exists (
    select 1 from deliveries where frozen_id = :digest and address = :address collate nocase
)
"""
