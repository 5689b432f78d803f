"""What each list's days came to, and the digests of them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from paperboy.models import Composed, Counts, Day, DaySummary, DeliveryState, Outcome
from paperboy.store.database import Database, iso
from paperboy.store.scores import Scores

_COUNTS = ("considered", "carried_over", "let_go", "author_matches", "selected", "over_cap", "below")


class Days:
    """A list's day, by (list, local date), has one outcome and at most one digest."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._scores = Scores(database)

    def outcome(self, list_name: str, day: date) -> Outcome | None:
        """None: the list is still due on that day."""
        rows = self._database.rows("select outcome from days where list = ? and date = ?", [list_name, day.isoformat()])
        return Outcome(rows[0]["outcome"]) if rows else None

    def started(self, list_name: str) -> frozenset[str]:
        """The categories that the list has had on a frozen day."""
        rows = self._database.rows("select category from started where list = ?", [list_name])
        return frozenset(row["category"] for row in rows)

    def freeze(self, day: Day, at: datetime) -> None:
        """Everything a morning decides for a list, in one durable transaction: all of it stands, or nothing.

        Raises StoreWriteError, and sqlite3.IntegrityError where that day was frozen before.
        """
        stamp, local = iso(at), day.date.isoformat()
        with self._database.transaction(durable=True):
            digest_id = self._freeze_digest(day, stamp)
            self._database.insert_all("days", [_row(day, digest_id, stamp)])
            self._database.insert_all(
                "seen",
                [
                    {"list": day.list_name, "arxiv_id": arxiv_id, "became": became.value, "date": local}
                    for arxiv_id, became in day.became.items()
                ],
            )
            for category in day.started:
                self._database.execute(
                    "insert into started values (?, ?, ?) on conflict do nothing", [day.list_name, category, stamp]
                )
            self._database.execute(
                "update spending set date = ? where list = ? and date is null", [local, day.list_name]
            )

    def _freeze_digest(self, day: Day, stamp: str) -> int | None:
        if day.composed is None:
            return None
        digest_id = int(
            self._database.rows(
                "insert into digests (list, date, subject, sender, message, at) values (?, ?, ?, ?, ?, ?) returning id",
                [
                    day.list_name,
                    day.date.isoformat(),
                    day.composed.subject,
                    day.composed.sender,
                    zlib.compress(day.composed.message),
                    stamp,
                ],
            )[0]["id"]
        )
        self._database.insert_all(
            "deliveries",
            [
                {
                    "digest_id": digest_id,
                    "address": addressed.subscriber.address,
                    "name": addressed.subscriber.name,
                    "state": DeliveryState.PENDING.value,
                    "message_id": addressed.message_id,
                    "token": addressed.token,
                    "at": stamp,
                }
                for addressed in day.addressed
            ],
        )
        return digest_id

    def composed(self, list_name: str, day: date) -> Composed | None:
        """The digest of a list's day, as it was frozen."""
        return self._composed("list = ? and date = ?", list_name, day.isoformat())

    def composed_by_id(self, digest_id: int) -> Composed:
        """The digest that a delivery belongs to. Raises KeyError where there is none."""
        if composed := self._composed("id = ?", digest_id):
            return composed
        raise KeyError(digest_id)

    def _composed(self, condition: str, *values: str | int) -> Composed | None:
        rows = self._database.rows(f"select subject, sender, message from digests where {condition}", values)
        return Composed(rows[0]["subject"], rows[0]["sender"], zlib.decompress(rows[0]["message"])) if rows else None

    def newest(self, list_names: Iterable[str], most: int = 1) -> tuple[DaySummary, ...]:
        """Each list's last days, newest first within a list."""
        return tuple(
            self._summary(row)
            for name in list_names
            for row in self._database.rows("select * from days where list = ? order by date desc limit ?", [name, most])
        )

    def _summary(self, row: dict[str, Any]) -> DaySummary:
        deliveries = self._database.rows(
            "select state, count(*) as n from deliveries where digest_id = ? group by state", [row["digest_id"]]
        )
        return DaySummary(
            list_name=row["list"],
            date=date.fromisoformat(row["date"]),
            outcome=Outcome(row["outcome"]),
            reason=row["reason"],
            model=row["model"],
            counts=Counts(**{name: row[name] for name in _COUNTS}),
            spending=self._scores.spending_on(row["list"], row["date"]),
            deliveries={DeliveryState(state["state"]): state["n"] for state in deliveries},
        )


def _row(day: Day, digest_id: int | None, stamp: str) -> dict[str, Any]:
    return {
        "list": day.list_name,
        "date": day.date.isoformat(),
        "outcome": day.outcome.value,
        "reason": day.reason,
        "digest_id": digest_id,
        "model": day.model,
        **{name: getattr(day.counts, name) for name in _COUNTS},
        "at": stamp,
    }
