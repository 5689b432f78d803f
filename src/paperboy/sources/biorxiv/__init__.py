"""bioRxiv and medRxiv, which share an API: two sources, each with its own ids and links."""

from functools import partial
from typing import Any

from paperboy.sources.biorxiv import calendar, categories, ids
from paperboy.sources.source import Feed, Source


def _marked(text: str) -> str:
    from paperboy.sources.biorxiv.markup import to_marked  # noqa: PLC0415 - its patterns take time

    return to_marked(text)


def _source(name: str) -> Source:
    key = name.lower()

    def connect(settings: Any, **means: Any) -> Feed:
        from paperboy.sources.biorxiv import feed  # noqa: PLC0415 - most commands fetch nothing

        return feed.connect(name, settings, **means)

    return Source(
        name=name,
        key=key,
        categories=partial(categories.read, key),
        read_id=partial(ids.read, key),
        marked=_marked,
        links=ids.links,
        citation=lambda _: {"howpublished": f"{name} preprint"},
        calendar=calendar,
        waits=False,
        status_page="api.biorxiv.org",
        if_late="",
        connect=connect,
    )


BIORXIV = _source("bioRxiv")
MEDRXIV = _source("medRxiv")
