"""arXiv's announcement feed: the papers announced today, and their categories. Pure.

The feed covers one day, has no dates of submission, and holds at most 2,000 entries. It is read for
papers that were cross-listed long after their submission: the API finds papers by that date alone.
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
    """Entry of today's announcement."""

    id: str
    kind: str  # "new", "cross", "replace" or "replace-cross"
    categories: tuple[str, ...]


def read_feed(body: bytes) -> tuple[Announced, ...]:
    """Read a feed in Atom; on weekends it has no entries. Invalid entries are left out. Raises
    FaultError if the feed is incomplete or something else.
    """
    feed = tree(body)
    if feed.tag != "{http://www.w3.org/2005/Atom}feed":
        raise FaultError(f"sent something other than a whole feed ({beginning(body) or 'nothing'})")

    papers = []
    for entry in feed.findall("{*}entry"):
        name = _NAME.fullmatch(text_at(entry, "atom:id").strip())
        kind = text_at(entry, "arxiv:announce_type").strip()
        categories = tuple(filter(CATEGORY.fullmatch, texts(entry, "atom:category", CATEGORIES)))
        if name and kind in _KINDS:
            papers.append(Announced(name["id"], kind, categories))
    return tuple(papers)
