"""A source of papers, as the rooms above see it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from paperboy.models import Paper


@dataclass(frozen=True, slots=True)
class Links:
    """Where a paper stands on the web."""

    page: str
    pdf: str = ""  # empty: there is none
    html: str = ""  # empty: there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One source. Its `key` begins its ids, as "biorxiv:", and its categories, as "biorxiv/"; arXiv's alone is empty,
    and what belongs to no other source is arXiv's.
    """

    name: str  # as readers know it
    key: str
    categories: Callable[[str], tuple[str, ...]]  # those that an entry of a list stands for; raises ValueError
    read_id: Callable[[str], str]  # from what people and LLMs write, such as a URL; empty: it is none of its ids
    marked: Callable[[str], str]  # a title or an abstract as text, with the marks of `paperboy.tex`
    links: Callable[[str, int], Links]  # of a paper, by its id and version
    citation: Callable[[Paper], Mapping[str, str]]  # BibTeX's fields that only this source has
