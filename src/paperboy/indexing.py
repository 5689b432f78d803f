"""The errand that lets the papers of public digests be found: as plain text, a digest at a time."""

import logging
from collections.abc import Callable, Sequence

from paperboy.edges.text import one_line
from paperboy.mail import archive
from paperboy.mail.text import prose
from paperboy.models import Archived, MailingList
from paperboy.store import Store
from paperboy.store.search import Text

logger = logging.getLogger(__name__)


def index(store: Store, lists: Sequence[MailingList], stopped: Callable[[], bool] = lambda: False) -> None:
    """Add the digests that are not yet in the search, newest first, until `stopped`."""
    names = [each.name for each in lists if each.is_public]
    while not stopped() and (digest := store.search.waiting(names)):
        store.search.add(digest.id, _texts(store, digest))


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
