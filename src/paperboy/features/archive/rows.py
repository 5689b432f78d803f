"""Full-text search over the papers of public lists' digests, in SQLite.

A paper's row id combines its digest's id and its rank there.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from paperboy.edges.text import one_line
from paperboy.features.archive import SHIFT
from paperboy.models import Archived, Day, MailingList
from paperboy.service.app import App
from paperboy.store.database import Database


def waiting(database: Database, list_name: str) -> Archived | None:
    """Return the list's newest digest that is not in the index yet."""
    query = """select id, list as list_name, date, subject, at, link, shown from digests
        where id = (select digest_id from unindexed where list = ? order by date desc limit 1)"""
    return database.first(query, [list_name], Archived)


def add(database: Database, digest_id: int, papers: Iterable[tuple[int, str, str, str]]) -> None:
    """Index the papers of a digest: for each its rank, and title, authors and abstract without
    TeX.
    """
    insert = "insert into paper_search (rowid, title, authors, abstract) values (?, ?, ?, ?)"
    with database.transaction(durable=False):
        for rank, *texts in papers:
            database.execute(insert, [digest_id * SHIFT + rank, *texts])
        database.execute("delete from unindexed where digest_id = ?", [digest_id])


def find(database: Database, list_name: str, words: str, most: int) -> list[dict[str, Any]]:
    """Return a list's papers that match all these words, best first: each with its digest's id and
    date, its place there, its title and its authors' names.
    """
    query = expression(words)
    return database.rows(_FIND, [query, list_name, most]) if query else []


def expression(text: str) -> str:
    """Return an FTS5 query for a visitor's text: all its words, the last one as a prefix; empty if
    it has none. The words are quoted, so that FTS5's operators have no effect.
    """
    words = re.findall(r"[^\W_]+", one_line(text))
    query = " AND ".join(f'"{word}"' for word in words)
    if words and len(words[-1]) > 1:
        query += "*"
    return query


_FIND = f"""
select digests.id as digest_id, date, paper_search.rowid % {SHIFT} as place, title, authors as names
from paper_search join digests on digests.id = paper_search.rowid / {SHIFT}
where paper_search match ? and list = ? and shown is not null and superseded is null
order by bm25(paper_search, 8.0, 3.0, 1.0), date desc limit ?
"""


def frozen(
    app: App, mailing_list: MailingList, _: Day, digest_id: int | None, at: datetime
) -> None:
    """Add the task that indexes the digest of a public list."""
    if digest_id and mailing_list.is_public:
        app.store.tasks.add("index", mailing_list.name, at)
