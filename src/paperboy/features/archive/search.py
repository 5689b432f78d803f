"""Full-text search over the papers of public lists' digests, in SQLite; a task fills the index.

A paper's row id is made of its digest's id and its rank there.
"""

import logging
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from paperboy.edges.text import one_line
from paperboy.features.archive import SHIFT
from paperboy.mail import archive
from paperboy.mail.text import prose
from paperboy.models import Archived, Day, MailingList
from paperboy.service.app import App
from paperboy.service.feature import Stopped
from paperboy.sources import source_of
from paperboy.store.database import Database
from paperboy.store.tasks import Task

logger = logging.getLogger(__name__)


def waiting(database: Database, list_name: str) -> Archived | None:
    """Return the list's newest digest that is not in the index yet."""
    query = """select id, list as list_name, date, subject, at, link, shown from digests
        where id = (select digest_id from unindexed where list = ? order by date desc limit 1)"""
    return database.first(query, [list_name], Archived)


def add(database: Database, digest_id: int, papers: Iterable[tuple[int, str, str, str]]) -> None:
    """Index the papers of a digest, each with its rank, and title, authors and abstract without
    TeX.
    """
    insert = "insert into paper_search (rowid, title, authors, abstract) values (?, ?, ?, ?)"
    with database.transaction(durable=False):
        for rank, *texts in papers:
            database.execute(insert, [digest_id * SHIFT + rank, *texts])
        database.execute("delete from unindexed where digest_id = ?", [digest_id])


def find(database: Database, list_name: str, words: str, most: int) -> list[dict[str, Any]]:
    """Return a list's papers that match all these words, the best first: the date of the digest,
    the place there, the title, and the authors' names.
    """
    query = expression(words)
    return database.rows(_FIND, [query, list_name, most]) if query else []


def expression(text: str) -> str:
    """Return an FTS5 query for a visitor's text: all its words, the last one as a prefix; empty
    without words. Each is quoted, so that no operator of FTS5 is obeyed.
    """
    words = re.findall(r"[^\W_]+", one_line(text))
    query = " AND ".join(f'"{word}"' for word in words)
    if words and len(words[-1]) > 1:
        query += "*"
    return query


_FIND = f"""
select date, paper_search.rowid % {SHIFT} as place, title, authors as names
from paper_search join digests on id = paper_search.rowid / {SHIFT}
where paper_search match ? and list = ? and shown is not null and superseded is null
order by bm25(paper_search, 8.0, 3.0, 1.0), date desc limit ?
"""


# The task


def frozen(
    app: App, mailing_list: MailingList, _: Day, digest_id: int | None, at: datetime
) -> None:
    """Add the task that indexes the digest of a public list."""
    if digest_id and mailing_list.is_public:
        app.store.tasks.add("index", mailing_list.name, at)


def work(app: App, task: Task, stopped: Stopped) -> str:
    """Index a public list's new digests, newest first. If `stopped`, add the task again for the
    rest.
    """
    store = app.store
    name = task.subject
    mailing_list = app.home.find(name)
    if mailing_list is None or not mailing_list.is_public:
        return ""
    while digest := waiting(store.database, name):
        if stopped():
            store.tasks.add("index", name, app.clock())
            break

        papers = []
        try:
            thawed = archive.load(digest.shown, store.papers.by_id)
            for entry in thawed.entries + thawed.over_cap:
                paper = entry.paper
                marked = source_of(paper.id).marked
                title = str(prose(paper.title, marked))
                abstract = str(prose(paper.abstract, marked))
                authors = one_line(", ".join(paper.authors))
                papers.append((entry.rank, title, authors, abstract))
        except (ValueError, KeyError, TypeError) as error:
            logger.error(
                "%s: the digest of %s is damaged and not indexed: %r", name, digest.date, error
            )
            papers = []

        add(store.database, digest.id, papers)
    return ""
