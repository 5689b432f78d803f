"""Incidents: problems that no other row shows, written in the transaction that they are about."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from paperboy.store.database import Noun


class Kind(StrEnum):
    """Kinds of problems; features have kinds of their own."""

    SCORING = "scoring"  # papers have no score
    BUDGET = "budget"
    LATE = "late"  # no digest, or none of the newest papers, in time
    SOURCE = "source"  # cannot be read, and its lists are served without it
    LET_GO = "let go"  # a paper
    MAIL = "mail"  # cannot be sent
    NOBODY = "reached nobody"  # a digest
    EXPIRED = "expired"  # a delivery
    REFUSED = "refused"  # a delivery, for good
    SUPPRESSED = "suppressed"  # an address
    INACTIVE = "inactive"  # rows of a file, by their status
    FILES = "files"  # of the home are broken
    PROCESS = "process"  # of a morning or a sending crashed, got stuck or hit a bug
    TASKS = "tasks"  # their process did
    WORKERS = "workers"  # other processes or a cluster could not help a morning


# Subjects that are no lists:
MAIL_SERVER = "the mail server"
THE_MORNING = "the morning"
THE_TASKS = "the tasks"
THE_WORKERS = "the workers"
NO_LISTS = frozenset({MAIL_SERVER, THE_MORNING, THE_TASKS, THE_WORKERS})

_NOW = datetime.min.replace(tzinfo=UTC)  # of an incident that is not stored yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Problem of one subject."""

    kind: str  # a `Kind`, or a feature's own
    subject: str  # a list, a file, the mail server …
    reason: str = ""  # for people
    facts: Mapping[str, Any] = field(default_factory=dict)  # for the placeholders of its words
    event: bool = False  # it does not last, and is reported once
    since: datetime = _NOW  # when it was first met
    last: datetime = _NOW  # when it was last met
    ended: datetime | None = None  # None: it lasts

    @property
    def list_name(self) -> str:
        """Return the list that has the problem; empty if none."""
        return str(self.facts.get("list", ""))

    @property
    def lines(self) -> tuple[str, ...]:
        """Return its details, lines to show as they are."""
        return tuple(self.facts.get("lines", ()))


class Incidents(Noun):
    """Incidents by kind and subject."""

    def all(self) -> list[Incident]:
        """Return all by kind, oldest first; those that have ended, until that is reported."""
        return self._rows("select * from incidents order by kind, last, subject", make=Incident)

    def note(self, incidents: Iterable[Incident], at: datetime) -> None:
        """Add incidents, or update known ones. Joins the caller's transaction."""
        self._execute_all(
            """insert into incidents (kind, subject, reason, facts, event, since, last)
            values (:kind, :subject, :reason, :facts, :event, :at, :at)
            on conflict do update set
                reason = excluded.reason, facts = excluded.facts, last = excluded.last, ended = null""",
            [asdict(incident) | {"at": at} for incident in incidents],
        )

    def end(self, kind: str, subject: str, at: datetime) -> None:
        """Record that an incident is over, which is reported next."""
        query = "update incidents set ended = ? where kind = ? and subject = ? and ended is null"
        self._commit(query, [at, kind, subject])

    def forget(self, kind: str, subject: str) -> None:
        """Delete an incident."""
        self._commit("delete from incidents where kind = ? and subject = ?", [kind, subject])
