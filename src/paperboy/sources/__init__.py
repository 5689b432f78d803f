"""Where papers come from, a folder each. A line here makes it a source."""

from collections.abc import Sequence

from paperboy.sources.arxiv import ARXIV
from paperboy.sources.source import Source

SOURCES: Sequence[Source] = (ARXIV,)  # arXiv is the last: any id may be its own


def source_of(paper_id: str) -> Source:
    """Return the source that has papers with such ids."""
    return next(source for source in SOURCES if paper_id.startswith(source.prefix))


def read_id(text: str) -> str:
    """Return the id in what people and LLMs write: a URL, or an id with its version; empty if there is none."""
    return next(filter(None, (source.read_id(text.strip()) for source in SOURCES)), "")
