"""What was reported to the operator: a row for each problem in a mail, from when that is frozen."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date as Day  # noqa: N812  # a row has a field of that name
from datetime import datetime

from paperboy.store.database import Noun
from paperboy.store.incidents import Incident


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A problem that was reported."""

    kind: str
    subject: str
    since: datetime  # when the problem was first met; of an event, when it happened
    date: Day  # the operator's, of the mail or the log line
    over: bool  # its end was reported
    mail: int | None  # the message; None: there was no ALERT_TO
    unsent: bool  # that waits
    address: str | None  # to which
    can_be_over: bool  # a list that nothing reached has been reached since


class Alerts(Noun):
    """By kind and subject."""

    def all(self) -> list[Reported]:
        """Return all, without those whose end has arrived."""
        return self._database.rows(
            """select kind, subject, since, date, over, mail, waits.id is not null as unsent, address,
                kind != 'reached nobody' or exists (
                    select 1 from digests join deliveries as got on got.frozen_id = digests.id
                    where list = alerts.subject and got.state = 'sent' and got.at >= alerts.since
                ) as can_be_over
            from alerts
            left join deliveries as waits on frozen_id = mail and state in ('pending', 'sending', 'deferred')
            where not over or waits.id is not null order by kind, since, subject""",
            make=Reported,
        )

    def add(self, incidents: Iterable[Incident], day: Day, mail: int | None, *, over: bool) -> None:
        """Record a mail about these. Joins the transaction of the caller."""
        with self._database.transaction():
            for met in incidents:
                values = [met.kind, met.subject, met.since, day, over, mail]
                self._database.execute("insert or replace into alerts values (?, ?, ?, ?, ?, ?)", values)

    def forget(self, kind: str, subject: str) -> None:
        """Delete it: what was reported is moot, or its end has been reported."""
        self._database.commit("delete from alerts where kind = ? and subject = ?", [kind, subject])
