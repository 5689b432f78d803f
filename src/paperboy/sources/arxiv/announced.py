"""arXiv's announcement feed: today's cross-lists, and their categories. Pure.

The feed covers one day, has no dates of submission, and holds at most 2,000 entries: beyond that it
lacks new papers first, then cross-lists. It is read for papers that were cross-listed long after
submission, which the API cannot find: it searches only by the date of submission.
"""

import re

from paperboy.sources.arxiv.atom import ARXIV_ID, CATEGORIES, text_at, texts, tree
from paperboy.sources.polite import FaultError, quoted

_NAME = re.compile(rf"oai:arXiv\.org:(?P<id>{ARXIV_ID})(?:v\d{{1,4}})?", re.ASCII)


def cross_listed(body: bytes) -> dict[str, frozenset[str]]:
    """Return the categories of an Atom feed's cross-listed papers, by id; empty on weekends.
    Invalid entries are left out. Raises FaultError if the body is not a complete feed.
    """
    feed = tree(body)
    if feed.tag != "{http://www.w3.org/2005/Atom}feed":
        raise FaultError(f"sent something other than a whole feed ({quoted(body) or 'nothing'})")

    crossed = {}
    for entry in feed.findall("{*}entry"):
        name = _NAME.fullmatch(text_at(entry, "atom:id").strip())
        if name and text_at(entry, "arxiv:announce_type").strip() == "cross":
            crossed[name["id"]] = frozenset(texts(entry, "atom:category", CATEGORIES))
    return crossed
