"""Sources of papers, a folder each. A line here makes it a source."""

from collections.abc import Iterable, Sequence

from paperboy.models import Paper
from paperboy.sources.arxiv import ARXIV
from paperboy.sources.source import Links, Source
from paperboy.tex import plain

SOURCES: Sequence[Source] = (ARXIV,)  # arXiv comes last: any id that is no other's is its own
_BY_KEY = {source.key: source for source in SOURCES}


def source_of(name: str) -> Source:
    """Return the source of a paper's id, or of a category."""
    key = name.partition(":")[0].partition("/")[0]
    return _BY_KEY.get(key.lower(), ARXIV)


def sources_of(categories: Iterable[str]) -> tuple[Source, ...]:
    """Return the sources of these categories, each once."""
    return tuple({source.key: source for source in map(source_of, categories)}.values())


def title_of(paper: Paper) -> str:
    """Return the title as plain text."""
    return plain(source_of(paper.id).marked(paper.title))


def links_of(paper: Paper) -> Links:
    """Return the paper's links."""
    return source_of(paper.id).links(paper.id, paper.version)


def categories(text: str) -> tuple[str, ...]:
    """Return the categories that an item of a list's `categories` stands for. Raises ValueError,
    with a suggestion.
    """
    return source_of(text).categories(text)


def read_id(text: str) -> str:
    """Return the id in what people and LLMs write, such as a URL or an id with its version; empty
    if there is none.
    """
    ids = (source.read_id(text.strip()) for source in SOURCES)
    return next(filter(None, ids), "")
