"""The outbox of alerts: what is to be reported to the operator, or was reported and still lasts.

A row per cause and subject (a list, an address, the mail server …) is written in the transaction of what it reports.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from paperboy.store.database import Database, iso


class Cause(StrEnum):
    """What an alert is about."""

    SCORING = "scoring"  # papers have no score
    BUDGET = "budget"
    LATE = "late"  # no digest, or none of arXiv's newest papers, in time
    LET_GO = "let go"  # a paper
    SHORTLIST = "shortlist"  # missed too much, and is off
    MAIL = "mail"  # cannot be sent
    NOBODY = "reached nobody"  # a digest
    EXPIRED = "expired"  # a delivery
    REFUSED = "refused"  # a delivery, for good
    SUPPRESSED = "suppressed"  # an address
    COMPLAINT = "complaint"  # of somebody who called a mail spam
    SIGNUP = "sign-up"  # confirmed, and the list's file cannot be edited
    FILES = "files"  # of the home are broken
    PROCESS = "process"  # of a morning or a sending crashed, got stuck or hit a bug
    WEBHOOK = "webhook"  # was not told of a digest
    ERRANDS = "errands"  # their process did
    WORKERS = "workers"  # other processes or a cluster could not help a morning


@dataclass(frozen=True, slots=True)
class Note:
    """One thing to report."""

    cause: Cause
    subject: str
    reason: str = ""  # for people
    detail: str = ""  # lines to show as they are
    facts: Mapping[str, Any] = field(default_factory=dict)  # what its headline counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept(Note):
    """A note in the outbox."""

    since: datetime  # when it was first met
    noted: datetime  # when it was last met
    over: datetime | None = None  # when it ended; None: it lasts
    reported: date | None = None  # the operator's day of the last mail
    next_try: datetime | None = None  # retry backoff of a mail that could not be sent


_NOTE = """
insert into alerts (cause, subject, reason, detail, facts, since, noted)
values (:cause, :subject, :reason, :detail, :facts, :at, :at) on conflict do update set
    noted = case when reported is null and over is null and (reason, detail, facts) = (:reason, :detail, :facts)
        then noted else :at end,
    reason = :reason, detail = :detail, facts = :facts, over = null
"""

_OF = "cause = ? and subject = coalesce(?, subject)"


class Alerts:
    """By cause and subject."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> tuple[Kept, ...]:
        """Return the whole outbox by cause, oldest first."""
        rows = self._database.rows("select * from alerts order by cause, noted, subject")
        return tuple(Kept(**row | {"cause": Cause(row["cause"])}) for row in rows)

    def note(self, notes: Iterable[Note], at: datetime) -> None:
        """Add or update the notes. One that says nothing new keeps its date until it is reported, so each try of its
        mail is the same message. Joins the transaction of the caller.
        """
        with self._database.transaction():
            for note in notes:
                self._database.execute(_NOTE, asdict(note) | {"facts": json.dumps(note.facts), "at": iso(at)})

    def end(self, cause: Cause, subject: str, at: datetime) -> None:
        """Mark it as over, which is then to be reported."""
        ends = "update alerts set over = ? where cause = ? and subject = ? and over is null"
        self._change(ends, iso(at), cause, subject)

    def forget(self, cause: Cause, subject: str | None = None) -> None:
        """Delete it, or the whole cause: nothing more is to be reported."""
        self._change(f"delete from alerts where {_OF}", cause, subject)

    def reported(self, cause: Cause, day: date, subject: str | None = None) -> None:
        """Mark it, or the whole cause, as reported by the mail of that day."""
        self._change(f"update alerts set next_try = null, reported = ? where {_OF}", day.isoformat(), cause, subject)

    def settle(self, cause: Cause, day: date, at: datetime) -> None:
        """Mark a cause that has no end as reported by the mail of that day, and forget what earlier ones reported."""
        with self._database.transaction():
            self._change("delete from alerts where cause = ? and over is not null", cause)
            ends = "update alerts set over = ?, reported = ?, next_try = null where cause = ?"
            self._change(ends, iso(at), day.isoformat(), cause)

    def postpone(self, cause: Cause, until: datetime, subject: str | None = None) -> None:
        """Retry backoff: do not retry its mail before `until`."""
        self._change(f"update alerts set next_try = ? where {_OF}", iso(until), cause, subject)

    def _change(self, statement: str, *values: str | None) -> None:
        self._database.commit(statement, values, durable=True)
