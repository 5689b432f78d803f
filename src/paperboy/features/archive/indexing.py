"""The task that lets the papers of public digests be found: as plain text, a digest at a time."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from paperboy.edges.text import one_line
from paperboy.features.archive.search import Search, Text
from paperboy.mail import archive
from paperboy.mail.text import prose
from paperboy.models import Archived, Day, MailingList
from paperboy.service.app import App
from paperboy.store import Store
from paperboy.store.tasks import Task

logger = logging.getLogger(__name__)


def frozen(app: App, mailing_list: MailingList, _: Day, digest_id: int | None, at: datetime) -> None:
    """Add the task to index the digest of a public list."""
    if digest_id and mailing_list.is_public:
        app.store.tasks.add("index", mailing_list.name, at)


def work(app: App, stopped: Callable[[], bool]) -> Callable[[Task], str]:
    """Return the work of a task."""
    return lambda task: index(app.store, app.home.find(task.subject), app.clock(), stopped)


def index(store: Store, mailing_list: MailingList | None, now: datetime, stopped: Callable[[], bool]) -> str:
    """Add the digests of a public list that are not yet in the search, newest first; if `stopped`, add the task anew
    for the others.
    """
    search = Search(store.database)
    if mailing_list is None or not mailing_list.is_public:
        return ""
    while digest := search.waiting(mailing_list.name):
        if stopped():
            store.tasks.add("index", mailing_list.name, now)
            break
        search.add(digest.id, _texts(store, digest))
    return ""


def _texts(store: Store, digest: Archived) -> Sequence[Text]:
    """Return what is shown of the digest, but for papers that are only named."""
    found = list[Text]()
    try:
        thawed = archive.load(digest.shown, store.papers.by_id(archive.ids(digest.shown)))
        for entry in thawed.entries + thawed.over_cap:
            authors = one_line(", ".join(entry.paper.authors))
            found.append(Text(entry.rank, str(prose(entry.paper.title)), authors, str(prose(entry.paper.abstract))))
    except (ValueError, KeyError, TypeError) as error:
        logger.error("the digest %s of %s is spoilt, and not searched: %r", digest.list_name, digest.date, error)
        return ()
    return found
