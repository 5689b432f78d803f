"""Suppressions: addresses that must not get mail, whatever `subscribers.yaml` says.

Addresses are compared in lower case, and those beyond ASCII are in lower case already. Casefolding
would turn straße@ into strasse@, which is somebody else. An erased person's address is kept as a
keyed hash, which cannot be read, but still matches if somebody adds the address again.
"""

from datetime import datetime

from paperboy.models import Suppression
from paperboy.store.database import Noun

THRICE = "it did not exist for three digests in a row"


class Suppressions(Noun):
    """Suppressions by address and list; an empty list name stands for all lists."""

    def find(self, list_name: str, address: str) -> Suppression | None:
        """Return the suppression of the address for the list; the one for all lists if it has
        both.
        """
        names = {"", list_name}
        return next((found for found in self.of(address) if found.list_name in names), None)

    def of(self, address: str) -> list[Suppression]:
        """Return those that hold for an address, the one for all lists first."""
        return self._rows(
            """select :address as address, list as list_name, reason, at, by = 'reader' as own from suppressions
            where holds and address in (:address, forgotten(:address)) order by list""",
            {"address": address.lower()},
            Suppression,
        )

    def all(self) -> list[Suppression]:
        """Return the suppressions that hold, in order of address, or of its hash if erased."""
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

    def bounced_thrice(self) -> dict[str, str]:
        """Return the addresses, in lower case, that bounced on the last three dates on which any
        list had a digest for them, each with the last reply. Bounces do not count if they came
        before the address was last unsuppressed.

        Only digests that reached somebody else by mail count: otherwise the server may be at fault.
        Doubtful bounces do not count if most addresses of the domain have one: its server may be at
        fault.
        Addresses that are suppressed for all lists are left out.
        """
        return self._pairs(_BOUNCED_THRICE)

    def add_bounced(self, at: datetime) -> tuple[str, ...]:
        """Suppress the addresses of `bounced_thrice` for all lists, and return them."""
        with self._transaction():
            bounced = self.bounced_thrice()
            for address, reply in bounced.items():
                self.add(address, "", f"{THRICE}: {reply}", at, by="bounces")
        return tuple(bounced)

    def lift(self, address: str, list_name: str, at: datetime) -> bool:
        """Lift one suppression. Lifting the one for all lists leaves those for single lists.
        False: there was none.
        """
        lifted = self._commit(
            """update suppressions set holds = 0, lifted = :at
            where address in (:address, forgotten(:address)) and list = :list and holds""",
            {"at": at, "address": address.lower(), "list": list_name},
        )
        return lifted > 0


_BOUNCED_THRICE = """
with suspects as (
    select address collate nocase as suspect from deliveries where bounce = 1 group by 1 having count(*) >= 3
), ended as (
    select lower(suspect) as address, bounce, reply,
        dense_rank() over (partition by suspect order by digests.date desc) as n
    from suspects join deliveries as own on own.address = suspect collate nocase
    join digests on digests.id = frozen_id
    where state in ('sent', 'failed', 'ambiguous') and superseded is null
    and own.at > coalesce((select max(lifted) from suppressions as old where old.address = lower(suspect)), '')
    and (not bounce or exists (
        select 1 from deliveries as other
        where other.frozen_id = own.frozen_id and other.state = 'sent' and other.via = 'smtp'
    ))
    and (not own.doubtful or (
        select sum(doubtful) <= max(1, count(*) / 2) from deliveries as other
        where other.frozen_id = own.frozen_id
        and lower(substr(other.address, instr(other.address, '@')))
            = lower(substr(own.address, instr(own.address, '@')))
    ))
)
select address, max(reply) filter (where n = 1) as reply from ended where n <= 3 and not exists (
    select 1 from suppressions as current
    where current.address = ended.address and current.list = '' and current.holds
)
group by address having max(n) = 3 and min(bounce) order by address
"""
