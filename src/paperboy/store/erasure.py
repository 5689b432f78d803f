"""Erasing a person: the ledger's rows stay, since counts and receipts are made of them, but tell of
nobody.
"""

from datetime import datetime

from paperboy.edges.text import mentions
from paperboy.store.database import Noun

_WAITING = (
    # Alerts may name the address; one that was not sent is written anew.
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
_TEXTS = (  # that may name a person
    ("deliveries", "reply"),
    ("suppressions", "reason"),
    ("incidents", "reason"),
    ("incidents", "facts"),
    ("attempts", "reason"),
    ("tasks", "reply"),
    ("days", "reason"),
)


class Erasure(Noun):
    """Only while nobody composes or sends: either would write the address down again."""

    def erase(self, address: str, at: datetime) -> int:
        """Erase an address from all tables, and return how many rows held it. Waiting mail is not
        sent. A suppression that holds stays, as a hash. What was erased is overwritten in the file,
        too.
        """
        mention = mentions(address)
        self._database.define("redacted", lambda text: mention.sub("…", text))
        values = {"address": address.lower(), "at": at}
        self._rows("pragma secure_delete = on")
        with self._transaction():
            self._execute_each(_WAITING, values)
            rows = self._execute_each(_ADDRESSES, values)
            for its in self._database.tables:
                rows += self._execute_each(its.erase, values)
            for table, column in _TEXTS:
                where = f"redacted({column}) != {column}"
                rows += self._execute(
                    f"update {table} set {column} = redacted({column}) where {where}"
                )
            # not counted, and last: triggers follow
            self._execute("delete from readers where redacted(address) = '…'")
        self._rows("pragma wal_checkpoint(truncate)")
        return rows
