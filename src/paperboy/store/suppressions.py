"""Who must not get mail, whatever `subscribers.yaml` says. Addresses compare casefolded."""

from datetime import datetime

from paperboy.models import Suppression
from paperboy.store.alerts import Alerts, Cause, Note
from paperboy.store.database import Database, iso

_SELECT = "select address, list as list_name, reason, at from suppressions where holds"


class Suppressions:
    """One for each address and list; an empty list name stands for all lists. Each change is its own commit."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, list_name: str, address: str) -> Suppression | None:
        """The suppression of the address for the list; the one for all lists if it has both."""
        rows = self._database.rows(
            f"{_SELECT} and address = ? and list in ('', ?) order by list limit 1",
            [address.casefold(), list_name],
            Suppression,
        )
        return rows[0] if rows else None

    def of(self, address: str) -> tuple[Suppression, ...]:
        """All that hold for an address; the one for all lists first."""
        rows = self._database.rows(f"{_SELECT} and address = ? order by list", [address.casefold()], Suppression)
        return tuple(rows)

    def all(self) -> tuple[Suppression, ...]:
        """All that hold, by address."""
        return tuple(self._database.rows(f"{_SELECT} order by address, list", make=Suppression))

    def by_token(self, token: str) -> tuple[str, str] | None:
        """The list and the address that a token names; None where no delivery carried it."""
        rows = self._database.rows(
            "select list, address from deliveries join digests on digests.id = digest_id where token = ? "
            "order by deliveries.id desc limit 1",
            [token],
        )
        return (rows[0]["list"], rows[0]["address"]) if rows else None

    def add(self, address: str, list_name: str, reason: str, at: datetime, *, bounced: str = "") -> bool:
        """Suppress the address and its waiting deliveries. False: it is suppressed already, and keeps its reason and
        date. `bounced`: the server's reply, to be reported to the operator.

        A delivery in `sending` is left alone: another process may be sending it, and checks again before a retry.
        """
        values = {"address": address.casefold(), "list": list_name, "reason": reason, "at": iso(at)}
        with self._database.transaction():
            new = self._database.execute(
                "insert into suppressions values (:address, :list, :reason, :at, 1, null) on conflict do update "
                "set reason = excluded.reason, at = excluded.at, holds = 1 where not holds",
                values,
            )
            self._database.execute(
                """update deliveries set state = 'suppressed', reply = :reason, at = :at
                where state in ('pending', 'deferred') and address = :address collate nocase and
                (:list = '' or digest_id in (select id from digests where list = :list))""",
                values,
            )
            if new and bounced:
                note = Note(Cause.SUPPRESSED, address.casefold(), "", f"{address}: {bounced}")
                Alerts(self._database).note([note], at)
        return new == 1

    def lift(self, address: str, list_name: str, at: datetime) -> bool:
        """End one suppression; one for a list outlives the one for all lists. False: there was none."""
        with self._database.transaction():
            lifted = self._database.execute(
                "update suppressions set holds = 0, lifted = ? where address = ? and list = ? and holds",
                [iso(at), address.casefold(), list_name],
            )
        return lifted == 1
