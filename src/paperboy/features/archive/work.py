"""The task that fills the search's index."""

import logging

from paperboy.edges.text import one_line
from paperboy.features.archive.rows import add, waiting
from paperboy.mail import archive
from paperboy.mail.text import prose
from paperboy.service.app import App
from paperboy.service.feature import Stopped
from paperboy.sources import source_of
from paperboy.store.tasks import Task

logger = logging.getLogger(__name__)


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
