"""Search over the papers of public lists' digests: SQLite's full-text index, filled beside the mail.

A paper's place in the table is its digest and rank.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from paperboy.edges.text import one_line
from paperboy.features.archive.tables import SHIFT
from paperboy.models import Archived
from paperboy.store.database import Database

MOST_WORDS = 20


class Text(NamedTuple):
    """A paper as it is found: text without TeX."""

    rank: int
    title: str
    authors: str
    abstract: str


@dataclass(frozen=True, slots=True)
class Found:
    """A paper in a digest."""

    date: date
    place: int  # its rank there
    title: str
    names: str  # of its authors


class Search:
    """The papers of all public lists in one table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(self, list_name: str) -> Archived | None:
        """The newest digest of the list that is to be added."""
        query = """select id, list as list_name, date, subject, at, link, shown from digests
            where id = (select digest_id from unindexed where list = ? order by date desc limit 1)"""
        return self._database.first(query, [list_name], Archived)

    def add(self, digest_id: int, papers: Iterable[Text]) -> None:
        """Let the papers of a digest be found."""
        insert = "insert into paper_search (rowid, title, authors, abstract) values (?, ?, ?, ?)"
        with self._database.transaction(durable=False):
            for paper in papers:
                self._database.execute(insert, [digest_id * SHIFT + paper.rank, *paper[1:]])
            self._database.execute("delete from unindexed where digest_id = ?", [digest_id])

    def find(self, list_name: str, words: str, most: int) -> tuple[Found, ...]:
        """A list's papers that have all these words, the best first."""
        query = expression(words)
        return tuple(self._database.rows(_FIND, [query, list_name, most], Found)) if query else ()


def expression(words: str) -> str:
    """A visitor's words for FTS5, each as a quoted string, so that nothing of its language is heard: papers with all of
    them, and with words that begin like the last. Empty: there is nothing to look for.
    """
    found = re.findall(r"[^\W_]+", one_line(words))[:MOST_WORDS]
    last = "*" if found and len(found[-1]) > 1 else ""
    return " AND ".join(f'"{word}"' for word in found) + last


_FIND = f"""
select date, paper_search.rowid % {SHIFT} as place, title, authors as names
from paper_search join digests on id = paper_search.rowid / {SHIFT}
where paper_search match ? and list = ? and shown is not null and superseded is null
order by bm25(paper_search, 8.0, 3.0, 1.0), date desc limit ?
"""
