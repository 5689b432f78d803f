"""The HTML part within the size that no client clips. Pure.

A page is squeezed in steps. At each, one more entry, from the lowest rank up, takes the next of these forms, and all
entries take a form before any takes the one after it: so abstracts shrink fairly, and the best papers last.

    whole → abstract of 900, 600, 400, 250 characters → no abstract → only title and comment → in the plain text only
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from paperboy.mail.page import Author, Item, Mention, Page
from paperboy.mail.text import shorten

_WHOLE = 100_000
_ABSTRACTS = (_WHOLE, 900, 600, 400, 250, 0)  # characters, by form
_BARE = len(_ABSTRACTS)
_HIDDEN = _BARE + 1

# What HTML shows at most of texts that have no natural end; the plain text always has them whole.
_TITLE, _COMMENT, _NAME, _TOPICS = 400, 600, 80, 6_000
_AUTHORS, _FOLLOWED, _MENTIONS = 12, 40, 10


def fitted(whole: Page, draw: Callable[[Page], str], budget: int) -> str | None:
    """The HTML that `draw` makes of the page, squeezed as little as a budget in bytes asks for. Lines count with two
    bytes for their end, as in a mail. None: not even the page without an entry fits.
    """
    page = trimmed(whole)
    html = draw(page)
    if size(html) <= budget:
        return html
    fits, low, high = None, 1, _HIDDEN * len(page.items)
    while low <= high:
        step = (low + high) // 2
        html = draw(squeezed(page, step))
        if size(html) <= budget:
            fits, high = html, step - 1
        else:
            low = step + 1
    return fits


def size(html: str) -> int:
    """Bytes of the decoded part."""
    return len(html.encode()) + html.count("\n")


def squeezed(page: Page, step: int) -> Page:
    """The page after that many steps of squeezing."""
    if not page.items:
        return page
    form, ahead = divmod(step, len(page.items))
    shown: list[Item] = []
    for left, item in zip(range(len(page.items), 0, -1), page.items, strict=True):
        mine = form + 1 if left <= ahead else form
        if mine < _HIDDEN:
            shown.append(_formed(item, mine))
    return replace(page, items=tuple(shown), hidden=len(page.items) - len(shown), shortened=step > 0)


def _formed(item: Item, form: int) -> Item:
    if form == _BARE:
        return replace(item, abstract="", bare=True)
    limit = _ABSTRACTS[form]
    return replace(item, abstract=shorten(item.abstract, limit) if limit else "")


def trimmed(page: Page) -> Page:
    """The page with titles, comments, lists of authors and such cut to what a reader of HTML takes in."""
    topics = _within(page.topics, _TOPICS)
    return replace(
        page,
        title=shorten(page.title, _TITLE),
        items=tuple(_trimmed_item(item) for item in page.items),
        topics=topics,
        topics_cut=topics != page.topics,
        followed=_some(page.followed, _FOLLOWED),
        let_go=tuple(Mention(m.arxiv_id, m.url, shorten(m.title, _TITLE)) for m in page.let_go[:_MENTIONS]),
    )


def _trimmed_item(item: Item) -> Item:
    return replace(
        item,
        title=shorten(item.title, _TITLE),
        comment=shorten(item.comment, _COMMENT),
        author_match=shorten(item.author_match, _NAME),
        authors=_some_authors(item.authors),
    )


def _some_authors(authors: tuple[Author, ...]) -> tuple[Author, ...]:
    """A long list without its middle: its first names, its last, and the followed ones at their places."""
    names = tuple(replace(author, name=shorten(author.name, _NAME)) for author in authors)
    if len(names) <= _AUTHORS:
        return names
    kept: list[Author] = []
    followed = 0
    for place, author in enumerate(names):
        followed += author.followed
        if place < _AUTHORS // 2 or place == len(names) - 1 or (author.followed and followed <= _FOLLOWED):
            kept.append(author)
        elif kept[-1].name != "…":
            kept.append(Author("…"))
    return tuple(kept)


def _some(names: tuple[str, ...], most: int) -> tuple[str, ...]:
    if len(names) <= most:
        return names
    return (*names[:most], f"{len(names) - most} more")


def _within(lines: tuple[str, ...], characters: int) -> tuple[str, ...]:
    kept: list[str] = []
    for line in lines:
        kept.append(shorten(line, characters))
        characters -= len(line)
        if characters <= 0:
            break
    return tuple(kept)
