"""Mornings in brief, which are paid for once."""

import json
from collections.abc import Sequence
from datetime import datetime

from paperboy.models import BriefSentence
from paperboy.store.database import Noun


class Briefs(Noun):
    """Sentences by list and key, a fingerprint of what was asked."""

    def kept(self, list_name: str, key: str) -> tuple[BriefSentence, ...] | None:
        """Return the sentences that an LLM wrote; empty if none was usable, None if it was never
        asked.
        """
        query = "select sentences as said from briefs where list = ? and key = ?"
        said = self._value(query, [list_name, key])
        if said is None:
            return None
        return tuple(BriefSentence(text, *map(tuple, more)) for text, *more in json.loads(said))

    def keep(
        self,
        list_name: str,
        key: str,
        sentences: Sequence[BriefSentence],
        at: datetime,
    ) -> None:
        """Store the sentences. Joins the caller's transaction."""
        query = "insert or replace into briefs (list, key, sentences, at) values (?, ?, ?, ?)"
        said = json.dumps(sentences, ensure_ascii=False)
        self._commit(query, [list_name, key, said, at], durable=False)
