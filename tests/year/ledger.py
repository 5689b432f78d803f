"""What the database holds of a simulated year."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class Day:
    """A list's local date and its outcome."""

    name: str
    date: date
    outcome: str
    reason: str
    at: datetime
    considered: int
    carried_over: int

    def __str__(self) -> str:
        return f"{self.name}, {self.date:%a %d %b}, {self.outcome} {self.reason!r} at {self.at:%d %H:%M:%S}"

    @property
    def superseded(self) -> bool:
        """Whether its digest reached nobody, so that its papers came again."""
        return "reached nobody" in self.reason


@dataclass(frozen=True)
class Seen:
    """What became of a paper for a list, and on which date."""

    became: str
    date: date

    def is_before(self, day: date) -> bool:
        """Whether the list had seen it before that day."""
        return self.date < day or self.became == "before start"


@dataclass(frozen=True)
class Ledger:
    """The tables, read once."""

    path: Path

    def _rows(self, sql: str) -> list[tuple[str, ...]]:
        with closing(sqlite3.connect(self.path)) as database:
            return database.execute(sql).fetchall()

    @cached_property
    def days(self) -> list[Day]:
        rows = self._rows(
            "select list, date, outcome, reason, at, considered, carried_over from days order by list, date"
        )
        return [
            Day(
                name=name,
                date=date.fromisoformat(day),
                outcome=outcome,
                reason=reason,
                at=datetime.fromisoformat(at),
                considered=int(number),
                carried_over=int(left),
            )
            for name, day, outcome, reason, at, number, left in rows
        ]

    @cached_property
    def seen(self) -> Mapping[tuple[str, str], Seen]:
        """By list and arXiv id."""
        rows = self._rows("select list, paper_id, became, date from seen")
        return {
            (name, paper): Seen(became, date.fromisoformat(day))
            for name, paper, became, day in rows
        }

    @cached_property
    def size(self) -> int:
        """Bytes."""
        return self.path.stat().st_size
