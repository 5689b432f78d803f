"""arXiv: its API and feed, its calendar, its categories, its ids."""

from paperboy.sources.arxiv import ids
from paperboy.sources.source import Source

ARXIV = Source(name="arXiv", prefix="", read_id=ids.read, links=ids.links, citation=ids.citation)
