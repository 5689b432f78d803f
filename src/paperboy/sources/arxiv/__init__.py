"""arXiv: its API and feed, its calendar, its categories, its ids."""

from paperboy.sources.arxiv import categories, ids
from paperboy.sources.source import Source
from paperboy.tex import to_marked

ARXIV = Source(
    name="arXiv",
    key="",
    categories=categories.read,
    read_id=ids.read,
    marked=to_marked,
    links=ids.links,
    citation=ids.citation,
)
