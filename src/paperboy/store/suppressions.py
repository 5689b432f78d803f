"""Suppressions: addresses that must not get mail, whatever `subscribers.yaml` says.

Addresses compare in lower case, which all those beyond ASCII are in already: casefolded, straße@
would be strasse@, somebody else. An erased person's address is kept as a keyed hash: it cannot be
read, and still matches if somebody adds it again.
"""

from datetime import datetime

from paperboy.models import Suppression
from paperboy.store.database import Noun


class Suppressions(Noun):
    """Suppressions by address and list; an empty list name stands for all lists."""

    def find(self, list_name: str, address: str) -> Suppression | None:
        """Return the suppression of the address for the list; the one for all lists if it has
        both.
        """
        for suppression in self.of(address):
            if suppression.list_name in {"", list_name}:
                return suppression
        return None

    def of(self, address: str) -> list[Suppression]:
        """Return those that hold for an address, the one for all lists first."""
        return self._rows(
            """select :address as address, list as list_name, reason, at, by = 'reader' as own from suppressions
            where holds and address in (:address, forgotten(:address)) order by list""",
            {"address": address.lower()},
            Suppression,
        )

    def all(self) -> list[Suppression]:
        """Return those that hold, by address, or the hash of one."""
        return self._rows(
            """select address, list as list_name, reason, at, by = 'reader' as own from suppressions
            where holds order by address, list""",
            make=Suppression,
        )

    def add(
        self, address: str, list_name: str, reason: str, at: datetime, *, by: str = "operator"
    ) -> bool:
        """Suppress the address and its waiting deliveries. False: it is suppressed already, and
        keeps its reason and date. `by`: "reader" if the person asked for it, "operator", "bounces"
        or "complaint".

        A delivery in `sending` stays: another process may be sending it, and checks again before a
        retry.
        """
        values = {
            "address": address.lower(),
            "list": list_name,
            "reason": reason,
            "at": at,
            "by": by,
        }
        with self._transaction():
            new = self._execute(
                """insert into suppressions
                select :address, :list, :reason, :at, 1, null, :by where not exists (
                    select 1 from suppressions where address = forgotten(:address) and list = :list and holds
                )
                on conflict do update set reason = excluded.reason, at = excluded.at, by = excluded.by, holds = 1
                where not holds or (by = 'reader' and excluded.by != 'reader')""",
                values,
            )
            self._execute(
                """update deliveries set state = 'suppressed', reply = :reason, at = :at
                where state in ('pending', 'deferred') and address = :address collate nocase
                and frozen_id in (select id from messages where list != '' and :list in ('', list))""",
                values,
            )
        return new == 1

    def lift(self, address: str, list_name: str, at: datetime) -> bool:
        """Lift one suppression; one for a list outlives the one for all lists. False: there was
        none.
        """
        lifted = self._commit(
            """update suppressions set holds = 0, lifted = :at
            where address in (:address, forgotten(:address)) and list = :list and holds""",
            {"at": at, "address": address.lower(), "list": list_name},
        )
        return lifted > 0
