"""Reported problems: a row for each one in an alert, as soon as that is frozen."""

from collections.abc import Iterable
from datetime import date as Day  # noqa: N812  # a row has a field of that name
from datetime import datetime
from typing import NamedTuple

from paperboy.store.database import Noun
from paperboy.store.incidents import Incident

_UNSENT = "coalesce(state in ('pending', 'sending', 'deferred'), 0)"


class Reported(NamedTuple):
    """Problem that was reported."""

    kind: str
    subject: str
    since: datetime  # when the problem was first met; of an event, when it happened
    date: Day  # the operator's, of the mail or the log line
    over: bool  # its end was reported
    mail: int | None  # the message; None: there was no ALERT_TO
    unsent: bool  # the mail waits
    address: str | None  # the mail's recipient
    can_be_over: bool  # for `reached nobody`: a digest has been delivered since


class Alerts(Noun):
    """Reported problems by kind and subject."""

    def all(self) -> list[Reported]:
        """Return all, except those whose end was reported and sent."""
        return self._rows(
            f"""select kind, subject, since, date, over, mail, {_UNSENT} as unsent, address,
                kind != 'reached nobody' or exists (
                    select 1 from digests join deliveries as got on got.frozen_id = digests.id
                    where list = alerts.subject and got.state = 'sent' and got.at >= alerts.since
                ) as can_be_over
            from alerts left join deliveries as own on frozen_id = mail
            where not over or {_UNSENT} order by kind, since, subject""",
            make=Reported,
        )

    def add(self, incidents: Iterable[Incident], day: Day, mail: int | None, *, over: bool) -> None:
        """Record a mail about these. Joins the caller's transaction."""
        rows = [
            (incident.kind, incident.subject, incident.since, day, over, mail)
            for incident in incidents
        ]
        self._execute_all("insert or replace into alerts values (?, ?, ?, ?, ?, ?)", rows)

    def forget(self, kind: str, subject: str) -> None:
        """Delete a reported problem that is moot."""
        self._commit("delete from alerts where kind = ? and subject = ?", [kind, subject])
