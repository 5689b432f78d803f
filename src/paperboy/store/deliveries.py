"""The ledger of deliveries. Each move is a conditional update, and the number of rows it touched is the answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from paperboy.models import Addressed, Delivery, DeliveryState, Subscriber
from paperboy.store.database import Database, instant, iso

_WAITING = "state in ('pending', 'sending', 'deferred')"


class Deliveries:
    """One digest to one subscriber each. All moves are their own commit."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(self, now: datetime) -> tuple[Delivery, ...]:
        """What may be sent now, oldest digest first. Only one process sends, so `sending` means a crash left it."""
        rows = self._database.rows(
            f"""select deliveries.*, digests.list from deliveries join digests on digests.id = digest_id
            where {_WAITING} and (try_at is null or try_at <= ?) order by digest_id, deliveries.id""",
            [iso(now)],
        )
        return tuple(_delivery(row) for row in rows)

    def unfinished(self) -> int:
        """How many deliveries are pending, sending or deferred."""
        return int(self._database.rows(f"select count(*) as n from deliveries where {_WAITING}")[0]["n"])

    def next_try(self) -> datetime | None:
        """When the first delivery that waits may be tried; None where none waits."""
        row = self._database.rows(f"select min(coalesce(try_at, at)) as at from deliveries where {_WAITING}")[0]
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
    ) -> bool:
        """Says what became of a delivery that was reserved."""
        return self._move(
            "update deliveries set state = ?, reply = ?, at = ?, via = ?, try_at = ?, uncertain = uncertain + ? "
            "where id = ? and state = 'sending'",
            [state.value, reply, iso(at), via, iso(try_at) if try_at else None, int(uncertain), delivery.id],
        )

    def suppress(self, delivery: Delivery, reason: str, at: datetime) -> bool:
        """Takes out one that waits: its address may get no more mail."""
        return self._move(
            "update deliveries set state = 'suppressed', reply = ?, at = ? where id = ? and state = ?",
            [reason, iso(at), delivery.id, delivery.state.value],
        )

    def _move(self, sql: str, values: list[Any]) -> bool:
        with self._database.transaction(durable=False):
            return self._database.execute(sql, values) == 1


def _delivery(row: dict[str, Any]) -> Delivery:
    return Delivery(
        id=row["id"],
        digest_id=row["digest_id"],
        list_name=row["list"],
        addressed=Addressed(Subscriber(row["address"], row["name"]), row["message_id"], row["token"]),
        state=DeliveryState(row["state"]),
        attempts=row["attempts"],
        uncertain=row["uncertain"],
    )
