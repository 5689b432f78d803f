"""arXiv: its API and feed, its calendar, its categories, its ids."""

from paperboy.sources.arxiv import categories, ids
from paperboy.sources.source import Source

ARXIV = Source(
    name="arXiv",
    key="",
    categories=categories.read,
    read_id=ids.read,
    links=ids.links,
    citation=ids.citation,
)
