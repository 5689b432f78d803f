"""What each list's days came to, and the digests of them."""

from __future__ import annotations

import json
import lzma
from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from paperboy.models import (
    Attempt,
    Became,
    Composed,
    Day,
    DeliveryState,
    MailingList,
    Outcome,
    Packed,
)
from paperboy.store.alerts import Alerts, Cause, Note
from paperboy.store.database import Database, instant, iso

_COUNTS = ("considered", "carried_over", "let_go", "author_matches", "selected", "over_cap", "below")

_LZMA = [{"id": lzma.FILTER_LZMA2, "preset": 2, "dict_size": 1 << 19}]  # bytes: a mail's two parts within one window

_SUPERSEDED = "superseded: its papers come with the list's next digest"
_NOBODY = "reached nobody; superseded"


class Days:
    """A list's day, by (list, local date), has one outcome and at most one digest."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def outcome(self, list_name: str, day: date) -> Outcome | None:
        """None: the list is still due on that day."""
        rows = self._database.rows("select outcome from days where list = ? and date = ?", [list_name, day.isoformat()])
        return Outcome(rows[0]["outcome"]) if rows else None

    def outcomes(self, lists: Sequence[MailingList], now: datetime) -> dict[str, Outcome | None]:
        """What each list's local date came to, by the list's name. None: nothing yet."""
        dates = {each.name: now.astimezone(each.timezone).date().isoformat() for each in lists}
        rows = self._database.rows(
            "select list, outcome from days join json_each(?) as wanted on list = wanted.key and date = wanted.value",
            [json.dumps(dates)],
        )
        found = {row["list"]: Outcome(row["outcome"]) for row in rows}
        return {name: found.get(name) for name in dates}

    def last(self, list_name: str) -> date | None:
        """The newest of the list's days that has an outcome."""
        row = self._database.rows("select max(date) as date from days where list = ?", [list_name])[0]
        return date.fromisoformat(row["date"]) if row["date"] else None

    def started(self, list_name: str, absence: timedelta) -> frozenset[str]:
        """The ways by which papers come to the list since it began. Empty where it is new, and where other lists have
        had days for that long that it has not: then it begins anew.
        """
        newest = self._database.rows("select max(at) as at from days")[0]["at"]
        since = iso(instant(newest) - absence) if newest else ""
        awake = self._database.rows(
            "select 1 from days where list = :list and at >= :since "
            "union all select 1 from started where list = :list and at >= :since limit 1",
            {"list": list_name, "since": since},
        )
        ways = self._database.rows("select way from started where list = ?", [list_name]) if awake else []
        return frozenset(row["way"] for row in ways)

    def begin(self, list_name: str, ways: Collection[str], too_old: Iterable[str], day: date, at: datetime) -> None:
        """From now on papers come to the list by these ways and no others; it has seen what is too old for that."""
        stamp = iso(at)
        with self._database.transaction(durable=False):
            self._database.execute(
                "delete from started where list = ? and way not in (select value from json_each(?))",
                [list_name, json.dumps(sorted(ways))],
            )
            for way in sorted(ways):
                self._database.execute("insert or replace into started values (?, ?, ?)", [list_name, way, stamp])
            for arxiv_id in too_old:
                self._database.execute(
                    "insert into seen values (?, ?, ?, ?) on conflict do nothing",
                    [list_name, arxiv_id, Became.BEFORE_START.value, day.isoformat()],
                )

    def note_attempt(self, attempt: Attempt) -> None:
        """Notes why the list's last try came to nothing, until a day of it is frozen."""
        with self._database.transaction(durable=False):
            self._database.execute(
                "insert or replace into attempts (list, reason, at, since, next_try) values (?, ?, ?, ?, ?)",
                [attempt.list_name, attempt.reason, iso(attempt.at), iso(attempt.since), iso(attempt.next_try)],
            )

    def retry_now(self, now: datetime) -> None:
        """End the retry backoff of all lists: whatever failed may be fixed."""
        with self._database.transaction():
            self._database.execute("update attempts set next_try = ? where next_try > ?", [iso(now), iso(now)])

    def forget_attempt(self, list_name: str) -> None:
        """The list's last try came to something."""
        with self._database.transaction(durable=False):
            self._database.execute("delete from attempts where list = ?", [list_name])

    def attempts(self) -> dict[str, Attempt]:
        """The last try of each list that is still due, by the list's name."""
        rows = self._database.rows("select * from attempts")
        return {
            row["list"]: Attempt(
                row["list"], row["reason"], instant(row["at"]), instant(row["since"]), instant(row["next_try"])
            )
            for row in rows
        }

    def tries(self, list_name: str) -> dict[str, int]:
        """On how many of the list's mornings papers that it has not seen could not be scored, though others were."""
        rows = self._database.rows("select arxiv_id, mornings from tries where list = ?", [list_name])
        return {row["arxiv_id"]: row["mornings"] for row in rows}

    def freeze(self, day: Day, at: datetime) -> None:
        """Everything a morning decides for a list, in one durable transaction: all of it stands, or nothing.

        What was skipped or given up may come to something after all. Raises StoreWriteError, and sqlite3.IntegrityError
        where that day has another outcome already.
        """
        stamp, local = iso(at), day.date.isoformat()
        with self._database.transaction(durable=True):
            self._database.execute(
                "delete from days where list = ? and date = ? and digest_id is null and outcome in (?, ?)",
                [day.list_name, local, Outcome.SKIPPED.value, Outcome.GAVE_UP.value],
            )
            digest_id = self._freeze_digest(day, stamp)
            self._database.insert_all("days", [_row(day, digest_id, stamp)])
            self._database.insert_all(
                "seen",
                [
                    {"list": day.list_name, "arxiv_id": arxiv_id, "became": became.value, "date": local}
                    for arxiv_id, became in day.became.items()
                ],
            )
            for arxiv_id in day.tried:
                self._database.execute(
                    "insert into tries values (?, ?, 1) on conflict do update set mornings = mornings + 1",
                    [day.list_name, arxiv_id],
                )
            self._database.execute(
                "delete from tries where list = ? and arxiv_id in (select value from json_each(?))",
                [day.list_name, json.dumps(list(day.became))],
            )
            self._database.execute(
                "update spending set date = ? where list = ? and date is null", [local, day.list_name]
            )
            self._database.execute("delete from attempts where list = ?", [day.list_name])

    def _freeze_digest(self, day: Day, stamp: str) -> int | None:
        if day.composed is None:
            return None
        composed = day.composed if isinstance(day.composed, Packed) else packed(day.composed)
        digest_id = int(
            self._database.rows(
                "insert into digests (list, date, subject, sender, message, at) values (?, ?, ?, ?, ?, ?) returning id",
                [
                    day.list_name,
                    day.date.isoformat(),
                    composed.subject,
                    composed.sender,
                    composed.message,
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

    def supersede(self, list_name: str, before: date, at: datetime) -> date | None:
        """Gives up what reached nobody: each of the list's digests of days before `before`, back to the last that
        reached somebody. Their papers are unseen again, but for those let go; the operator is to be told. The newest of
        those days is given.

        A digest whose last try was cut short, or went beyond the final dot, may have reached somebody. One that went to
        nobody but the suppressed and one address that does not exist has had its chance; that several do not is more
        than their owners' doing.
        """
        days: list[str] = []
        with self._database.transaction(durable=True):
            for digest in self._database.rows(
                "select id, date, superseded from digests where list = ? and date < ? order by date desc",
                [list_name, before.isoformat()],
            ):
                reached, open_ = self._chances(digest["id"])
                if reached:
                    break
                if open_ and digest["superseded"] is None:
                    self._supersede(list_name, digest, iso(at))
                    days.append(digest["date"])
        return date.fromisoformat(days[0]) if days else None

    def _chances(self, digest_id: int) -> tuple[bool, bool]:
        """Whether a digest reached somebody, or may have; and whether something could come, or have come, of it."""
        row = self._database.rows(
            """select max(state in ('sent', 'ambiguous', 'sending') or uncertain) as reached,
            sum(bounce) > 1 or max(not (state = 'failed' and bounce) and (state != 'suppressed' or not exists (
                select 1 from suppressions where holds and suppressions.address = lower(deliveries.address)
                and suppressions.list in ('', digests.list)
            ))) as open
            from deliveries join digests on digests.id = digest_id where digest_id = ?""",
            [digest_id],
        )[0]
        return bool(row["reached"]), bool(row["open"])

    def _supersede(self, list_name: str, digest: dict[str, Any], stamp: str) -> None:
        replies = self._database.rows(
            "select reply from deliveries where digest_id = ? and state != 'suppressed' and reply != '' "
            "order by at desc, id limit 1",
            [digest["id"]],
        )
        reply = replies[0]["reply"] if replies else "it was not tried"
        note = Note(Cause.NOBODY, list_name, reply, f"{list_name}: {reply}", {"back": True})
        Alerts(self._database).note([note], instant(stamp))
        self._database.execute("update digests set superseded = ? where id = ?", [stamp, digest["id"]])
        self._database.execute(
            "update deliveries set state = 'failed', reply = ?, at = ? "
            "where digest_id = ? and state in ('pending', 'deferred')",
            [_SUPERSEDED, stamp, digest["id"]],
        )
        self._database.execute(
            "delete from seen where list = ? and date = ? and became not in (?, ?)",
            [list_name, digest["date"], Became.BEFORE_START.value, Became.LET_GO.value],
        )
        self._database.execute(
            "update days set reason = case reason when '' then ? else rtrim(reason, '.') || '; ' || ? end "
            "where list = ? and date = ?",
            [_NOBODY, _NOBODY, list_name, digest["date"]],
        )

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
        return Composed(rows[0]["subject"], rows[0]["sender"], unpacked(rows[0]["message"])) if rows else None


def packed(composed: Composed) -> Packed:
    """Compressed, in about the time of zlib, and a third smaller."""
    return Packed(composed.subject, composed.sender, lzma.compress(composed.message, filters=_LZMA))


def unpacked(message: bytes) -> bytes:
    return lzma.decompress(message)


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
