"""Erasing a person: the ledger's rows stay for its counts and receipts, without the address."""

from datetime import datetime

from paperboy.edges.text import mentions
from paperboy.store.database import Noun

_WAITING = (
    # Alerts may name the address; unsent ones are composed again.
    """delete from alerts where mail in (
        select frozen_id from deliveries where state in ('pending', 'sending', 'deferred')
    )""",
    """delete from messages where date is null and (
        expires is null or id in (select frozen_id from deliveries where redacted(address) = '…')
    )""",
    """update deliveries set state = case state when 'sending' then 'ambiguous' else 'suppressed' end, at = :at,
        reply = 'the address was forgotten'
    where redacted(address) = '…' and state in ('pending', 'sending', 'deferred')""",
)
_ADDRESSES = (
    """update deliveries
    set address = 'forgotten-' || id || '@invalid', name = '', message_id = '', token = '', bounce = 0
    where redacted(address) = '…'""",
    "update or replace suppressions set address = forgotten(:address) where address = :address and holds",
    "delete from suppressions where address = :address or (address = forgotten(:address) and not holds)",
    "delete from alerts where redacted(subject) = '…'",
)
_TEXTS = (  # columns that may contain the address
    ("deliveries", "reply"),
    ("suppressions", "reason"),
    ("incidents", "reason"),
    ("incidents", "facts"),
    ("attempts", "reason"),
    ("tasks", "reply"),
    ("days", "reason"),
)


class Erasure(Noun):
    """Erasure of addresses, only while nobody composes or sends: both would write one again."""

    def erase(self, address: str, at: datetime) -> int:
        """Erase an address from all tables, and return how many rows held it. Waiting mail is not
        sent. A suppression that holds stays, as a hash. The erased text is overwritten in the file.
        """
        mention = mentions(address)
        self._database.define("redacted", lambda text: mention.sub("…", text))
        values = {"address": address.lower(), "at": at}
        self._rows("pragma secure_delete = on")
        with self._transaction():
            self._execute_each(_WAITING, values)
            rows = self._execute_each(_ADDRESSES, values)
            for tables in self._database.tables:
                rows += self._execute_each(tables.erase, values)
            for table, column in _TEXTS:
                new = f"redacted({column})"
                rows += self._execute(
                    f"update {table} set {column} = {new} where {new} != {column}"
                )
            # last, since it has triggers; their rows are not counted
            self._execute("delete from readers where redacted(address) = '…'")
        self._rows("pragma wal_checkpoint(truncate)")
        return rows
