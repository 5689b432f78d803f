"""What the operator was told of, and what waits to be told. Each move is its own commit."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any

from paperboy.models import Alert
from paperboy.store.database import Database, instant, iso


@dataclass(frozen=True, slots=True)
class Standing:
    """A cause that is not over, or a message that is told once."""

    cause: str
    since: datetime
    about: frozenset[str]  # whom it still troubles; none: it goes when it is told
    told: date | None  # the operator's day on which that was last done
    waiting: Alert | None  # what is to be told
    noted: datetime  # when that was found


class Alerts:
    """By cause."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def standing(self) -> tuple[Standing, ...]:
        """All that is not over or not told, oldest news first."""
        return tuple(_standing(row) for row in self._database.rows("select * from alerts order by noted, cause"))

    def note(self, cause: str, about: Collection[str], alert: Alert, day: date, at: datetime) -> None:
        """The cause is there, `about` among those that it troubles. The alert waits, unless the day has had one."""
        with self._database.transaction():
            self._database.execute(
                """insert into alerts values (:cause, :at, :about, null, :at, :alert)
                on conflict (cause) do update set
                about = (select json_group_array(value) from
                    (select value from json_each(alerts.about) union select value from json_each(excluded.about))),
                noted = case when told = :day or alert = excluded.alert then noted else excluded.noted end,
                alert = case when told = :day then alert else excluded.alert end""",
                {
                    "cause": cause,
                    "at": iso(at),
                    "about": json.dumps(sorted(about)),
                    "alert": json.dumps(asdict(alert)),
                    "day": day.isoformat(),
                },
            )

    def touch(self, cause: str) -> None:
        """Changes nothing, but raises StoreWriteError where nothing can be changed."""
        with self._database.transaction():
            self._database.execute("update alerts set noted = noted where cause = ?", [cause])

    def told(self, cause: str, day: date) -> None:
        """What waited has been told."""
        with self._database.transaction():
            self._database.execute("update alerts set told = ?, alert = null where cause = ?", [day.isoformat(), cause])
            self._database.execute("delete from alerts where cause = ? and about = '[]'", [cause])

    def narrow(self, cause: str, about: Collection[str]) -> None:
        """The cause troubles only these any more."""
        with self._database.transaction():
            self._database.execute("update alerts set about = ? where cause = ?", [json.dumps(sorted(about)), cause])

    def end(self, causes: Collection[str], key: str, alert: Alert | None, at: datetime) -> None:
        """The causes are over, whatever of them still waited; the alert, if there is one, waits in their place."""
        with self._database.transaction():
            for cause in causes:
                self._database.execute("delete from alerts where cause = ?", [cause])
            if alert:
                self._database.execute(
                    "insert into alerts values (?, ?, '[]', null, ?, ?) on conflict do nothing",
                    [key, iso(at), iso(at), json.dumps(asdict(alert))],
                )


def _standing(row: dict[str, Any]) -> Standing:
    return Standing(
        cause=row["cause"],
        since=instant(row["since"]),
        about=frozenset(json.loads(row["about"])),
        told=date.fromisoformat(row["told"]) if row["told"] else None,
        waiting=_alert(json.loads(row["alert"])) if row["alert"] else None,
        noted=instant(row["noted"]),
    )


def _alert(kept: dict[str, Any]) -> Alert:
    return Alert(kept["headline"], tuple(kept["paragraphs"]), tuple(kept["details"]))
