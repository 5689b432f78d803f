"""arXiv's announcement feed: which papers it announced today, and in which categories. Pure.

The feed has one day and no dates of submission, and holds at most 2,000 entries. What matters here
are papers that were cross-listed long after they were submitted: the API finds papers by the date
of their submission alone.
"""

import re
from dataclasses import dataclass

from paperboy.sources.arxiv.atom import (
    ARXIV_ID,
    CATEGORIES,
    CATEGORY,
    FaultError,
    beginning,
    text_at,
    texts,
    tree,
)

MOST = 2_000  # entries of a feed; one with so many is cut

_NAME = re.compile(rf"oai:arXiv\.org:(?P<id>{ARXIV_ID})(?:v\d{{1,4}})?", re.ASCII)
_KINDS = frozenset({"new", "cross", "replace", "replace-cross"})


@dataclass(frozen=True, slots=True)
class Announced:
    """A paper of today's announcement."""

    id: str
    kind: str  # "new", "cross", "replace" or "replace-cross"
    categories: tuple[str, ...]


def read_feed(body: bytes) -> tuple[Announced, ...]:
    """Read a feed in Atom; on weekends it has no entries. Those that make no sense are left out.
    Raises FaultError if it is no feed, or not whole.
    """
    feed = tree(body)
    if feed.tag != "{http://www.w3.org/2005/Atom}feed":
        raise FaultError(f"sent something else than a whole feed ({beginning(body) or 'nothing'})")
    found = []
    for entry in feed.findall("{*}entry"):
        name = _NAME.fullmatch(text_at(entry, "atom:id").strip())
        kind = text_at(entry, "arxiv:announce_type").strip()
        categories = tuple(filter(CATEGORY.fullmatch, texts(entry, "atom:category", CATEGORIES)))
        if name and kind in _KINDS:
            found.append(Announced(name["id"], kind, categories))
    return tuple(found)
