"""What is wrong. What no other row shows is written here, in the transaction of what it is
about.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from paperboy.store.database import Noun


class Kind(StrEnum):
    """What a problem is about; features have kinds of their own."""

    SCORING = "scoring"  # papers have no score
    BUDGET = "budget"
    LATE = "late"  # no digest, or none of the newest papers, in time
    SOURCE = "source"  # cannot be read, and its lists do without
    LET_GO = "let go"  # a paper
    MAIL = "mail"  # cannot be sent
    NOBODY = "reached nobody"  # a digest
    EXPIRED = "expired"  # a delivery
    REFUSED = "refused"  # a delivery, for good
    SUPPRESSED = "suppressed"  # an address
    FILES = "files"  # of the home are broken
    PROCESS = "process"  # of a morning or a sending crashed, got stuck or hit a bug
    TASKS = "tasks"  # their process did
    WORKERS = "workers"  # other processes or a cluster could not help a morning


# Subjects beside lists:
MAIL_SERVER, THE_MORNING, THE_TASKS, THE_WORKERS = (
    "the mail server",
    "the morning",
    "the tasks",
    "the workers",
)
NO_LISTS = frozenset({MAIL_SERVER, THE_MORNING, THE_TASKS, THE_WORKERS})


_NOW = datetime.min.replace(tzinfo=UTC)  # of an incident that is being noted


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One thing that is wrong."""

    kind: str  # a `Kind`, or a feature's own
    subject: str  # a list, a file, the mail server …
    reason: str = ""  # for people
    facts: Mapping[str, Any] = field(default_factory=dict)  # what its words count
    event: bool = False  # it does not last: it is reported once
    since: datetime = _NOW  # when it was first met
    last: datetime = _NOW  # when it was last met
    ended: datetime | None = None  # None: it lasts

    @property
    def list_name(self) -> str:
        """Return whose problem it is; empty: no list's."""
        return str(self.facts.get("list", ""))

    @property
    def lines(self) -> tuple[str, ...]:
        """Return lines to show as they are."""
        return tuple(self.facts.get("lines", ()))


class Incidents(Noun):
    """By kind and subject."""

    def all(self) -> list[Incident]:
        """Return all by kind, oldest first; also those that have ended, until that is reported."""
        return self._rows("select * from incidents order by kind, last, subject", make=Incident)

    def note(self, incidents: Iterable[Incident], at: datetime) -> None:
        """Add them, or update those that are known. Joins the transaction of the caller."""
        self._database.execute_all(
            """insert into incidents (kind, subject, reason, facts, event, since, last)
            values (:kind, :subject, :reason, :facts, :event, :at, :at)
            on conflict do update set
                reason = excluded.reason, facts = excluded.facts, last = excluded.last, ended = null""",
            [asdict(met) | {"at": at} for met in incidents],
        )

    def end(self, kind: str, subject: str, at: datetime) -> None:
        """Record that it is over, which is then to be reported."""
        ends = "update incidents set ended = ? where kind = ? and subject = ? and ended is null"
        self._commit(ends, [at, kind, subject])

    def forget(self, kind: str, subject: str) -> None:
        """Delete it."""
        self._commit("delete from incidents where kind = ? and subject = ?", [kind, subject])
