"""What was reported to the operator: a row for each problem in a mail, from when that is frozen."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date as Day  # noqa: N812  # a row has a field of that name
from datetime import datetime, tzinfo

from paperboy.store.database import Noun
from paperboy.store.incidents import Incident

_UNSENT = "coalesce(state in ('pending', 'sending', 'deferred'), 0)"


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
    at: datetime | None  # when it was sent
    address: str | None  # to which
    can_be_over: bool  # a list that nothing reached has been reached since

    def day(self, zone: tzinfo) -> Day:
        """Return on which day the operator heard of it: a mail may have been late."""
        return max(self.date, self.at.astimezone(zone).date()) if self.at else self.date


class Alerts(Noun):
    """By kind and subject."""

    def all(self) -> list[Reported]:
        """Return all, without those whose end has arrived."""
        return self._rows(
            f"""select kind, subject, since, date, over, mail, {_UNSENT} as unsent, address,
                iif(state = 'sent', own.at, null) as at,
                kind != 'reached nobody' or exists (
                    select 1 from digests join deliveries as got on got.frozen_id = digests.id
                    where list = alerts.subject and got.state = 'sent' and got.at >= alerts.since
                ) as can_be_over
            from alerts left join deliveries as own on frozen_id = mail
            where not over or {_UNSENT} order by kind, since, subject""",
            make=Reported,
        )

    def add(self, incidents: Iterable[Incident], day: Day, mail: int | None, *, over: bool) -> None:
        """Record a mail about these. Joins the transaction of the caller."""
        rows = [(met.kind, met.subject, met.since, day, over, mail) for met in incidents]
        self._database.execute_all("insert or replace into alerts values (?, ?, ?, ?, ?, ?)", rows)

    def forget(self, kind: str, subject: str) -> None:
        """Delete it: what was reported is moot, or its end has been reported."""
        self._commit("delete from alerts where kind = ? and subject = ?", [kind, subject])
