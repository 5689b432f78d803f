"""Journals, and anything else that has an RSS or Atom feed: one source, whose categories are feeds.

An operator names the feeds in subscribers.yaml. A feed says neither when it was complete nor which
of its entries are new, so a paper is new when its entry was never read before.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import quote

from paperboy.models import Paper
from paperboy.sources.journals import calendar
from paperboy.sources.source import Feed, Links, Source

KEY = "journal"
# Preprint servers' own: their papers have ids of theirs. Cold Spring Harbor's journals begin alike.
_PREPRINT = r"10\.(?:48550/|(?:1101|64898)/(?:\d{4}\.\d\d\.\d\d\.)?\d{6,9})"
_DOI = re.compile(
    rf"(?:{KEY}:\s*|(?:(?:https?://)?(?:dx\.)?doi\.org/|doi:\s*)?(?!{_PREPRINT}))"
    r"(10\.\d{4,9}/[^\s\"<>]{1,300})",
    re.ASCII | re.IGNORECASE,
)
_HASH = re.compile(rf"{KEY}:\s*([0-9a-f]{{16}})", re.ASCII | re.IGNORECASE)


def _categories(text: str) -> tuple[str, ...]:
    raise ValueError(f"unknown category {text!r}; write {KEY}/NAME, with a name of `journals`")


def _read_id(text: str) -> str:
    match = _DOI.fullmatch(text) or _HASH.fullmatch(text)
    return f"{KEY}:{match[1].lower()}" if match else ""


def _marked(text: str) -> str:
    from paperboy.sources.journals.markup import to_marked  # noqa: PLC0415 - its patterns take time

    return to_marked(text)


def _links(paper_id: str, _: int) -> Links:
    name = paper_id.removeprefix(f"{KEY}:")
    return Links(page=f"https://doi.org/{quote(name)}" if name.startswith("10.") else "")


def _citation(paper: Paper) -> Mapping[str, str]:
    return {"journal": paper.primary_category.partition("/")[2]}


def _first_read(paper: Paper, known: Paper | None, at: datetime, *, in_known: bool) -> Paper:
    """Return a paper as the first reading that had it has dated it, with the text of all readings.
    Its own date counts only in the first reading of its feed (not `in_known`).
    """
    if known is None:
        return replace(paper, published=at, updated=at) if in_known else paper
    return replace(
        paper,
        categories=tuple(dict.fromkeys([*known.categories, *paper.categories])),
        primary_category=known.primary_category,
        published=known.published,
        updated=known.updated,
        abstract=paper.abstract or known.abstract,
        authors=paper.authors or known.authors,
        link=paper.link or known.link,
    )


def _connect(settings: Any, **means: Any) -> Feed:
    from paperboy.sources.journals import feed  # noqa: PLC0415 - most commands fetch nothing

    return feed.connect(settings, **means)


JOURNALS = Source(
    name="journals",
    key=KEY,
    categories=_categories,
    read_id=_read_id,
    marked=_marked,
    links=_links,
    citation=_citation,
    calendar=calendar,
    waits=False,
    status_page="the publisher's page",
    if_late="",
    connect=_connect,
    first_read=_first_read,
)
