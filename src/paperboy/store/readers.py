"""The tokens that mails carry, and whom each one names: the only place that answers whose token it
is.

They are written before a mail to a subscriber leaves, also before a test mail, and never end: a
mail may lie in a folder for years.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from paperboy.edges.tokens import vote_token
from paperboy.models import MessageCopy
from paperboy.store.database import Noun, is_token


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody on a list, as a token names them."""

    list_name: str
    address: str


class Readers(Noun):
    """Written when a delivery is, so that no request has to try everybody's token."""

    def know(self, list_name: str, copies: Iterable[MessageCopy]) -> None:
        """Keep the tokens of these copies, unless an earlier digest has made them known."""
        rows = (
            (copy.token, vote_token(copy.token), list_name, copy.subscriber.address)
            for copy in copies
        )
        self._database.execute_all(
            "insert or ignore into readers values (?, ?, ?, ?)", rows, durable=False
        )

    def leaving(self, token: str) -> Reader | None:
        """Whom the token of a way out names."""
        return self._named("leave", token)

    def voting(self, token: str) -> Reader | None:
        """Whom a token of votes names."""
        return self._named("vote", token)

    def _named(self, column: str, token: str) -> Reader | None:
        query = f"select list as list_name, address from readers where {is_token(column)}"
        return self._first(query, {"token": token}, Reader)
