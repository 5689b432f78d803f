"""What is wrong now: lasting problems, and events, each of which is reported once. Pure.

Most is read off rows that are kept anyway; what no such row shows is an incident. `status` and the alerts read this. A
problem of a list that is gone or paused is moot.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from paperboy.mail.text import counted
from paperboy.models import MailingList, Suppression
from paperboy.store import Store
from paperboy.store.history import Failed, Unreached
from paperboy.store.incidents import Incident, Kind

NEWS = timedelta(days=7)  # after which an event is no news any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong."""

    kind: str  # a `Kind`, or a feature's own
    subject: str  # a list, an address, a file, the mail server …
    since: datetime  # when it was first met
    last: datetime  # when it was last met
    reason: str = ""  # for people
    lines: tuple[str, ...] = ()  # to show as they are
    facts: Mapping[str, Any] = field(default_factory=dict)  # what a headline counts
    event: bool = False  # it happened, and does not last
    list_name: str = ""  # whose problem it is; empty: no list's


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What `problems` is decided from."""

    incidents: Sequence[Incident] = ()
    nobody: Sequence[Unreached] = ()
    failed: Sequence[Failed] = ()
    suppressed: Sequence[Suppression] = ()
    others: Sequence[Problem] = ()  # of features


def read(store: Store, lists: Iterable[MailingList], now: datetime, others: Sequence[Problem] = ()) -> Rows:
    """Gather the rows, within one moment of the database."""
    with store.snapshot():
        return Rows(
            incidents=store.incidents.all(),
            nobody=store.history.nobody([mailing_list.name for mailing_list in lists if mailing_list.is_active]),
            failed=store.history.failed(now - NEWS),
            suppressed=store.history.suppressed("bounces", now - NEWS),
            others=others,
        )


def problems(rows: Rows, lists: Iterable[MailingList]) -> tuple[Problem, ...]:
    """Return all that is wrong, by kind and subject."""
    active = {mailing_list.name for mailing_list in lists if mailing_list.is_active}
    found = [*_all(rows)]
    found = [problem for problem in found if problem.event or problem.list_name in {"", *active}]
    return tuple(sorted(found, key=lambda problem: (problem.kind, problem.last, problem.subject)))


def _all(rows: Rows) -> Iterator[Problem]:
    for incident in rows.incidents:
        if incident.event or incident.ended is None:
            yield of_incident(incident)

    cannot_send = any(incident.kind == Kind.MAIL and incident.ended is None for incident in rows.incidents)
    for unreached in () if cannot_send else rows.nobody:  # else that is why
        yield Problem(
            kind=Kind.NOBODY,
            subject=unreached.list,
            since=unreached.at,
            last=unreached.at,
            reason=unreached.reply,
            lines=(f"{unreached.list}: {unreached.reply}",),
            facts={"back": unreached.superseded},
            list_name=unreached.list,
        )

    nobody: Collection[str] = {unreached.list for unreached in rows.nobody if not unreached.superseded}
    for delivery in rows.failed:
        if delivery.given_up or delivery.list_name not in nobody:
            yield Problem(
                kind=Kind.EXPIRED if delivery.given_up else Kind.REFUSED,
                subject=str(delivery.id),
                since=delivery.at,
                last=delivery.at,
                lines=(f"{delivery.list_name}: {delivery.address}: {delivery.reply}",),
                facts={"list": delivery.list_name},
                event=True,
                list_name=delivery.list_name,
            )

    for held in rows.suppressed:
        yield of_suppression(Kind.SUPPRESSED, held)
    yield from rows.others


def of_incident(incident: Incident) -> Problem:
    """Return an incident as a problem."""
    facts = incident.facts
    return Problem(
        kind=incident.kind,
        subject=incident.subject,
        since=incident.since,
        last=incident.ended or incident.last,
        reason=incident.reason,
        lines=(_counts(incident.subject, facts),) if "considered" in facts else tuple(facts.get("lines", ())),
        facts=facts,
        event=incident.event,
        list_name=facts.get("list", ""),
    )


def _counts(list_name: str, facts: Mapping[str, Any]) -> str:
    """Return how far a list's morning came."""
    line = f"{list_name}: {facts['outcome'] or 'still due'}"
    if considered := facts["considered"]:
        line += f", {facts['scored']:,} of {counted(considered, 'paper')} scored"
    if carried_over := facts["carried_over"]:
        line += f", {carried_over:,} carried over"
    return line


def of_suppression(kind: str, held: Suppression) -> Problem:
    """Return the event of a suppression, whose reason ends with what the other side said."""
    return Problem(
        kind=kind,
        subject=held.address,
        since=held.at,
        last=held.at,
        lines=(f"{held.address}: {held.reason}",),
        event=True,
    )
