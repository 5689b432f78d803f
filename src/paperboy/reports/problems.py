"""What is wrong now: lasting problems, and events, each of which is reported once.

Most is read off rows that are kept anyway; what no such row shows was noted as an incident. `status` and the alerts
read this. A problem of a list that is gone or paused is moot.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from paperboy.models import MailingList, Suppression
from paperboy.store import Store
from paperboy.store.incidents import Incident, Kind

NEWS = timedelta(days=7)  # after which an event is no news any more


def read(store: Store, lists: Iterable[MailingList], now: datetime) -> list[Incident]:
    """Gather what may be wrong, within one moment of the database."""
    names = [mailing_list.name for mailing_list in lists if mailing_list.is_active]
    with store.snapshot():
        suppressed = store.history.suppressed("bounces", now - NEWS)
        return [
            *store.incidents.all(),
            *store.history.nobody(names),
            *store.history.failed(now - NEWS),
            *(of_suppression(Kind.SUPPRESSED, held) for held in suppressed),
        ]


def problems(rows: Sequence[Incident], lists: Iterable[MailingList]) -> tuple[Incident, ...]:
    """Return all that is wrong, by kind and subject. Pure."""
    active = {"", *(mailing_list.name for mailing_list in lists if mailing_list.is_active)}
    lasting = [row for row in rows if not row.event and row.ended is None and row.list_name in active]
    refused = max((row.last for row in lasting if row.kind == Kind.MAIL), default=None)
    if refused:  # that is why
        lasting = [row for row in lasting if row.kind != Kind.NOBODY or row.last > refused]
    named = {row.list_name for row in rows if "address" in row.facts}
    readers = {of.name: {*of.addresses()} for of in lists if of.name in named}
    events = [
        row
        for row in rows
        if row.event and ("address" not in row.facts or row.facts["address"].lower() in readers.get(row.list_name, ()))
    ]
    return tuple(sorted([*lasting, *events], key=lambda row: (row.kind, row.last, row.subject)))


def of_suppression(kind: str, held: Suppression) -> Incident:
    """Return the event of a suppression, whose reason ends with what the other side said."""
    lines = [f"{held.address}: {held.reason}"]
    return Incident(kind=kind, subject=held.address, since=held.at, last=held.at, facts={"lines": lines}, event=True)
