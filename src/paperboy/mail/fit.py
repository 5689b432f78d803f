"""The HTML part within the size that no mail program clips. Pure.

The whole page is drawn at one level after the other, until it fits:

    whole → abstracts of 700 characters → of 350 → no abstracts → titles and comments alone → and only the best papers

The plain-text part always has everything. The table of contents names every paper that is shown; where papers have
only title and comment, it names the first 30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from paperboy.mail.page import Author, Item, Mention, Page
from paperboy.mail.text import clipped, prose, shorten, shortened
from paperboy.mail.topics import within

_ABSTRACTS = (700, 350)  # characters, by level
_MARGIN = 0.97  # of the budget, for a number of papers that is only an estimate

# What HTML shows at most of texts that have no natural end.
_TITLE, _COMMENT, _NAME, _TOPICS = 400, 600, 80, 9_000
_LINE, _LINES = 120, 30  # characters of a title in the table of contents; its lines, where room is short
_AUTHORS, _FOLLOWED, _MENTIONS = 12, 40, 10
_NONE = prose("")


def fitted(whole: Page, draw: Callable[[Page], str], budget: int) -> str | None:
    """The HTML that `draw` makes of the page at the first level that fits a budget in bytes. None: not even the page
    without a paper fits.
    """
    html, shown = "", whole
    for shown in levels(whole):
        html = draw(shown)
        if size(html) <= budget:
            return html
    bare = shown
    while shown.items:
        fewer = min(int(len(shown.items) * _MARGIN * budget / size(html)), len(shown.items) - 1)
        shown = _first(bare, fewer)
        html = draw(shown)
        if size(html) <= budget:
            return html
    return None


def size(html: str) -> int:
    """Bytes of the decoded part, in which a line's end counts two, as in a mail."""
    return len(html.encode()) + html.count("\n")


def levels(whole: Page) -> Iterator[Page]:
    """The page at each level, from the whole of it to titles and comments alone."""
    page = _trimmed(whole)
    yield page
    for limit in _ABSTRACTS:
        items = tuple(replace(item, abstract=shortened(item.abstract, limit)) for item in page.items)
        yield replace(page, items=items, shortened=True)
    items = tuple(replace(item, abstract=_NONE) for item in page.items)
    without = replace(
        page, items=items, shortened=True, without_abstract=sum(bool(item.abstract) for item in page.items)
    )
    yield without
    bare = tuple(replace(item, bare=True) for item in items)
    yield _first(replace(without, items=bare), len(bare))


def _first(bare: Page, number: int) -> Page:
    """The page with only so many of its papers, and no more lines in its table of contents than a reader takes in."""
    lines = min(_LINES, number)
    return replace(
        bare,
        items=bare.items[:number],
        hidden=len(bare.items) - number,
        contents=bare.contents[:lines],
        contents_left=number - lines if bare.contents else 0,
    )


def _trimmed(page: Page) -> Page:
    """The page with titles, comments, lists of authors and such cut to what a reader of HTML takes in."""
    topics = within(page.topics, _TOPICS)
    followed = page.followed
    if len(followed) > _FOLLOWED:
        followed = (*followed[:_FOLLOWED], f"{len(followed) - _FOLLOWED} more")
    return replace(
        page,
        title=shorten(page.title, _TITLE),
        contents=tuple(replace(line, title=clipped(line.title, _LINE)) for line in page.contents),
        items=tuple(_trimmed_item(item) for item in page.items),
        topics=topics,
        topics_cut=topics != page.topics,
        followed=followed,
        carried_over=_few(page.carried_over),
        let_go=_few(page.let_go),
    )


def _few(mentions: tuple[Mention, ...]) -> tuple[Mention, ...]:
    return tuple(replace(mention, title=shortened(mention.title, _TITLE)) for mention in mentions[:_MENTIONS])


def _trimmed_item(item: Item) -> Item:
    return replace(
        item,
        title=shortened(item.title, _TITLE),
        comment=shortened(item.comment, _COMMENT),
        author_match=shorten(item.author_match, _NAME),
        authors=_some_authors(item.authors),
    )


def _some_authors(authors: tuple[Author, ...]) -> tuple[Author, ...]:
    """A long list without its middle: its first names, its last, and the followed ones at their places."""
    names = tuple(replace(author, name=shorten(author.name, _NAME)) for author in authors)
    if len(names) <= _AUTHORS:
        return names
    gap, last = Author("…"), len(names) - 1
    kept = [
        author if place < _AUTHORS // 2 or place == last or author.followed else gap
        for place, author in enumerate(names)
    ]
    return tuple(author for author, before in zip(kept, [None, *kept], strict=False) if author != gap or before != gap)
