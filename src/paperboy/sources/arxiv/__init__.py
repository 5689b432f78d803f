"""arXiv: its API and feed, its calendar, its categories, its ids."""

from typing import Any

from paperboy.sources.arxiv import calendar, categories, ids
from paperboy.sources.source import Feed, Source
from paperboy.tex import to_marked


def _connect(settings: Any, **means: Any) -> Feed:
    from paperboy.sources.arxiv import feed  # noqa: PLC0415 - slow to import, and most commands fetch nothing

    return feed.connect(settings, **means)


ARXIV = Source(
    name="arXiv",
    key="",
    categories=categories.read,
    read_id=ids.read,
    marked=to_marked,
    links=ids.links,
    citation=ids.citation,
    calendar=calendar,
    waits=True,
    status_page="status.arxiv.org",
    if_late="If Paperboy does not know one of arXiv's holidays, add that evening to ARXIV_HOLIDAYS.",
    connect=_connect,
)
