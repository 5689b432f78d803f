"""Sources of papers, one folder each. A folder becomes a source by its line here."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from paperboy.edges.text import did_you_mean, together
from paperboy.models import Paper
from paperboy.sources.arxiv import ARXIV
from paperboy.sources.biorxiv import BIORXIV, MEDRXIV
from paperboy.sources.journals import JOURNALS
from paperboy.sources.source import Links, Source
from paperboy.tex import plain

# arXiv comes last: it claims every id that no other source does.
SOURCES: Sequence[Source] = (BIORXIV, MEDRXIV, JOURNALS, ARXIV)
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
    links = source_of(paper.id).links(paper.id, paper.version)
    return links if links.page else Links(page=paper.link)


def twins(paper: Paper) -> tuple[str, ...]:
    """Return ids of the same preprint at other sources, by the DOI that arXiv gives."""
    if not paper.doi or source_of(paper.id) is not ARXIV:
        return ()
    ids = (source.read_id(paper.doi.strip()) for source in SOURCES if source is not ARXIV)
    return tuple(filter(None, ids))


def categories(text: str) -> tuple[str, ...]:
    """Return the categories that an item of a list's `categories` stands for. Raises ValueError,
    with a suggestion.
    """
    source = source_of(text)
    try:
        return source.categories(text)
    except ValueError as error:
        key, slash, name = text.partition("/")
        if slash and key.casefold() == ARXIV.name.casefold():
            ARXIV.categories(name.strip())
            fix = f"{ARXIV.name}'s need no prefix: write {name.strip()}"
            raise ValueError(f"unknown category {text!r}; {fix}") from error
        keys = list(filter(None, _BY_KEY))
        near = did_you_mean(key, keys, cutoff=0.7)
        if meant := _meant(text):
            raise ValueError(f"unknown category {text!r}, did you mean {meant!r}?") from error
        if source is ARXIV and (slash or near):  # its categories have no slash
            others = f"; beside arXiv's own categories, there are those of {together(keys)}"
            raise ValueError(f"unknown source {key!r}{near or others}") from error
        raise


def _meant(text: str) -> str:
    """Return the category of another source that a name without prefix, or after a wrong separator,
    means; empty if there is none.
    """
    first, *rest = re.split(r"[\s.:_/-]+", text.strip().lower(), maxsplit=1)
    for source in filter(lambda source: source.key, SOURCES):
        name = rest[0] if rest and first == source.key else text
        with suppress(ValueError):
            return source.categories(f"{source.key}/{name}")[0]
    return ""


def category_name(category: str) -> str:
    """Return a category as readers see it: "q-bio.GN", but "bioRxiv · genomics"."""
    source = source_of(category)
    name = category.partition("/")[2]
    if source is JOURNALS:
        return name
    return " · ".join(filter(None, [source.name, name])) if source.key else category


def named(categories: Sequence[str]) -> Iterator[str]:
    """Yield categories as readers see them: "q-bio.GN" if all are arXiv's, else by source, such as
    "arXiv (q-bio.GN)", "bioRxiv (genomics, zoology)", or "bioRxiv" for all of it; journals by their
    names.
    """
    sources = sources_of(categories)
    for source in sources:
        of_source = [category for category in categories if source_of(category) is source]
        if sources == (ARXIV,):
            yield from of_source
        elif source is JOURNALS:
            yield from map(category_name, of_source)
        elif source.key in of_source:
            yield source.name
        else:
            names = (category.removeprefix(f"{source.key}/") for category in of_source)
            yield f"{source.name} ({', '.join(names)})"


def source_names(categories: Sequence[str]) -> tuple[str, ...]:
    """Return the names of these categories' sources; journals have their own names."""
    names = list[str]()
    for source in sources_of(categories):
        of_source = [category for category in categories if source_of(category) is source]
        names += map(category_name, of_source) if source is JOURNALS else [source.name]
    return tuple(names)


def journal_names(categories: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the journals among categories."""
    return tuple(category_name(name) for name in categories if source_of(name) is JOURNALS)


def read_id(text: str) -> str:
    """Return the id in what people and LLMs write, such as a URL or an id with its version; empty
    if there is none.
    """
    ids = (source.read_id(text.strip()) for source in SOURCES)
    return next(filter(None, ids), "")
