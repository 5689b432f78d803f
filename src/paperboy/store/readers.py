"""The tokens that mails carry, and whom each one names: the only place that answers whose token it is.

They are written before a mail to a subscriber leaves, also before a test mail, and never end: a mail may lie in a
folder for years.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from paperboy.models import Addressed
from paperboy.store.database import Database
from paperboy.tokens import vote_token

Row = tuple[str, str, str, str]  # the two tokens, list and address

_AT_ONCE = 5000
_ID = 16  # digits of a token by which it is looked up; the others are compared in constant time


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody on a list, as a token names them."""

    list_name: str
    address: str


class Readers:
    """Written when a delivery is, so that no request has to try everybody's token."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def know(self, list_name: str, addressed: Iterable[Addressed]) -> None:
        """Keep the tokens of these copies."""
        rows = self.unknown(list_name, addressed)
        with self._database.transaction(durable=False):
            self.add(rows)

    def unknown(self, list_name: str, addressed: Iterable[Addressed]) -> list[Row]:
        """What to `add` of these copies: nothing of those whom an earlier digest has made known."""
        query, rows = "select value as token from json_each(?) where value not in (select leave from readers)", []
        of_all = iter(addressed)
        while people := {each.token: each.subscriber.address for each in islice(of_all, _AT_ONCE)}:
            new = (row["token"] for row in self._database.rows(query, [json.dumps(list(people))]))
            rows += [(token, vote_token(token), list_name, people[token]) for token in new]
        return sorted(rows)

    def add(self, rows: Iterable[Row]) -> None:
        """Keep these tokens, inside a transaction."""
        self._database.execute_all("insert or ignore into readers values (?, ?, ?, ?)", rows)

    def leaving(self, token: str) -> Reader | None:
        """Whom the token of a way out names."""
        return self._named("leave", token)

    def voting(self, token: str) -> Reader | None:
        """Whom a token of votes names."""
        return self._named("vote", token)

    def _named(self, column: str, token: str) -> Reader | None:
        rows = self._database.rows(
            f"select {column} as token, list, address from readers where {column} between :id and :id || 'g'",
            {"id": token[:_ID]},
        )
        found = [each for each in rows if hmac.compare_digest(each["token"].encode(), token.encode())]
        return Reader(found[0]["list"], found[0]["address"]) if found else None
