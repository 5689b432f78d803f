"""Search over the papers of public lists' digests: SQLite's full-text index, which a task fills
beside the mail.

A paper's place in the table is its digest and rank.
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

MOST_WORDS = 20


def waiting(database: Database, list_name: str) -> Archived | None:
    """Return the newest digest of the list that is to be added."""
    query = """select id, list as list_name, date, subject, at, link, shown from digests
        where id = (select digest_id from unindexed where list = ? order by date desc limit 1)"""
    return database.first(query, [list_name], Archived)


def add(database: Database, digest_id: int, papers: Iterable[tuple[int, str, str, str]]) -> None:
    """Let the papers of a digest be found: the rank, the title, the authors and the abstract of
    each, without TeX.
    """
    insert = "insert into paper_search (rowid, title, authors, abstract) values (?, ?, ?, ?)"
    with database.transaction(durable=False):
        for rank, *texts in papers:
            database.execute(insert, [digest_id * SHIFT + rank, *texts])
        database.execute("delete from unindexed where digest_id = ?", [digest_id])


def find(database: Database, list_name: str, words: str, most: int) -> list[dict[str, Any]]:
    """Return a list's papers that have all these words, the best first: the date of the digest, the
    place there, the title, and the names of the authors.
    """
    query = expression(words)
    return database.rows(_FIND, [query, list_name, most]) if query else []


def expression(words: str) -> str:
    """Quote each of a visitor's words for FTS5, so that nothing of its language is heard: papers
    with all of them, and with words that begin like the last. Empty: there is nothing to look for.
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


# The task, for a digest at a time


def frozen(
    app: App, mailing_list: MailingList, _: Day, digest_id: int | None, at: datetime
) -> None:
    """Add the task to index the digest of a public list."""
    if digest_id and mailing_list.is_public:
        app.store.tasks.add("index", mailing_list.name, at)


def work(app: App, task: Task, stopped: Stopped) -> str:
    """Add the digests of a public list that are not yet in the search, newest first. If `stopped`,
    add the task anew for the others.
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

        papers = []  # what is shown of the digest, but for papers that are only named
        try:
            thawed = archive.load(digest.shown, store.papers.by_id)
            for entry in thawed.entries + thawed.over_cap:
                paper = entry.paper
                marked = source_of(paper.id).marked
                title, abstract = (
                    str(prose(text, marked)) for text in (paper.title, paper.abstract)
                )
                papers.append((entry.rank, title, one_line(", ".join(paper.authors)), abstract))
        except (ValueError, KeyError, TypeError) as error:
            logger.error(
                "the digest %s of %s is spoilt, and not searched: %r", name, digest.date, error
            )
            papers = []
        add(store.database, digest.id, papers)
    return ""
