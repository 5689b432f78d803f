"""What the database remembers of one paper, across its tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from paperboy.models import Became, DeliveryState, Paper, Score
from paperboy.store.database import Database, instant
from paperboy.store.papers import paper_of


@dataclass(frozen=True, slots=True)
class Judged:
    """A score that was kept."""

    score: Score
    model: str
    criteria: str  # the fingerprint of rubric and topics at the time
    at: datetime


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of a paper for a list, and how the digest of that day was delivered, if it had one."""

    became: Became
    day: date  # local to the list
    deliveries: dict[DeliveryState, int]
    digest_kept: bool  # False: there was none, or it was thinned


class Lives:
    """Reads; nothing here changes anything."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def paper(self, arxiv_id: str) -> tuple[Paper, datetime] | None:
        """The paper, and when it was first fetched; None where it never was."""
        rows = self._database.rows("select * from papers where arxiv_id = ?", [arxiv_id])
        return (paper_of(rows[0]), instant(rows[0]["fetched_at"])) if rows else None

    def judged(self, list_name: str, arxiv_id: str) -> tuple[Judged, ...]:
        """All scores that the list's scorers gave it, newest first."""
        rows = self._database.rows(
            "select * from scores where list = ? and arxiv_id = ? order by at desc, model", [list_name, arxiv_id]
        )
        return tuple(
            Judged(
                Score(row["relevance"], row["novelty"], row["comment"]),
                row["model"],
                row["criteria"],
                instant(row["at"]),
            )
            for row in rows
        )

    def tries(self, list_name: str, arxiv_id: str) -> int:
        """On how many of the list's mornings it could not be scored, though others were; 0 once it is seen."""
        rows = self._database.rows("select mornings from tries where list = ? and arxiv_id = ?", [list_name, arxiv_id])
        return int(rows[0]["mornings"]) if rows else 0

    def seen(self, list_name: str, arxiv_id: str) -> Seen | None:
        """None: the list has not seen it, and will consider it."""
        rows = self._database.rows("select * from seen where list = ? and arxiv_id = ?", [list_name, arxiv_id])
        if not rows:
            return None
        digests = self._database.rows(
            "select digest_id from days where list = ? and date = ? and digest_id is not null",
            [list_name, rows[0]["date"]],
        )
        states = self._database.rows(
            "select state, count(*) as n from deliveries where digest_id = ? group by state",
            [digests[0]["digest_id"] if digests else None],
        )
        return Seen(
            Became(rows[0]["became"]),
            date.fromisoformat(rows[0]["date"]),
            {DeliveryState(row["state"]): row["n"] for row in states},
            digest_kept=bool(digests),
        )
