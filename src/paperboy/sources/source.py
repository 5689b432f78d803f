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
    """One source, by the name of its folder."""

    name: str  # as readers know it
    prefix: str  # of its ids, with a colon; empty for arXiv's alone
    read_id: Callable[[str], str]  # from what people and LLMs write, such as a URL; empty: it is none of its ids
    links: Callable[[str], Links]  # of a paper, by its id
    citation: Callable[[Paper], Mapping[str, str]]  # BibTeX's fields that only this source has
