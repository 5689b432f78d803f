"""Errands: small work beside the mail. It never holds up a morning or a sending, which run at the same time.

    webhooks    tell other programs of a digest
    sign-ups    confirmation mails go out, and who confirmed comes into the list's file
    indexing    let the papers of a public digest be found
    learning    from an LLM's scores, and from readers' votes

`App.errands` does them all once. The daemon starts that while `waits` says so, in a child of its own kind; `once` ends
with it.
"""

from collections.abc import Sequence
from datetime import datetime

from paperboy.models import MailingList
from paperboy.store import Store

SECONDS = 30.0  # for each kind in one round; what is left waits for the next, so that the other kinds have their turn


def waits(store: Store, lists: Sequence[MailingList], now: datetime, *, from_scores: bool = False) -> bool:
    """Whether there is something to do now: one cheap query for each kind. `from_scores`: see `Learning`."""
    return (
        store.webhooks.is_due(now)
        or store.signups.is_due(now)
        or store.search.is_due([each.name for each in lists if each.is_public])
        or bool(store.learned.due([each.name for each in lists if each.topics], now, scores=from_scores))
    )
