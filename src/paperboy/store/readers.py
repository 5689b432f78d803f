"""Readers, by the tokens that their mails carry.

Tokens are stored before a mail to a subscriber leaves, also before a test mail, and never expire: a
mail may lie in a folder for years.
"""

from collections.abc import Iterable
from typing import NamedTuple

from paperboy.edges.tokens import vote_token
from paperboy.models import MessageCopy
from paperboy.store.database import Noun, is_token


class Reader(NamedTuple):
    """Person on a list, identified by a token."""

    list_name: str
    address: str


class Readers(Noun):
    """Tokens, stored with each delivery, so that no request has to derive everybody's."""

    def add(self, list_name: str, copies: Iterable[MessageCopy]) -> None:
        """Store the tokens of these copies, unless an earlier digest has."""
        rows = (
            (copy.token, vote_token(copy.token), list_name, copy.subscriber.address)
            for copy in copies
        )
        self._execute_all("insert or ignore into readers values (?, ?, ?, ?)", rows, durable=False)

    def by_leave_token(self, token: str) -> Reader | None:
        """Return the reader with an unsubscribe token."""
        return self._find("leave", token)

    def by_vote_token(self, token: str) -> Reader | None:
        """Return the reader with a vote token."""
        return self._find("vote", token)

    def _find(self, column: str, token: str) -> Reader | None:
        query = f"select list as list_name, address from readers where {is_token(column)}"
        return self._first(query, {"token": token}, Reader)
