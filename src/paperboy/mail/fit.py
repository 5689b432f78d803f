"""The HTML part within the size that no client clips. Pure.

A page is squeezed in steps. At each, one more entry, from the lowest rank up, takes the next of these forms, and all
entries take a form before any takes the one after it: so abstracts shrink fairly, and the best papers last.

    whole → abstract of 900, 600, 400, 250 characters → no abstract → only title and comment → in the plain text only

The table of contents names every paper that is shown; once any has only its title and comment, it names the first 30.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from paperboy.mail.page import Author, Item, Mention, Page
from paperboy.mail.prose import prose, shortened
from paperboy.mail.text import clipped, shorten
from paperboy.mail.topics import within

_WHOLE = 100_000
_ABSTRACTS = (_WHOLE, 900, 600, 400, 250, 0)  # characters, by form
_BARE = len(_ABSTRACTS)
_HIDDEN = _BARE + 1

# What HTML shows at most of texts that have no natural end; the plain text always has them whole.
_TITLE, _COMMENT, _NAME, _TOPICS = 400, 600, 80, 9_000
_LINE, _LINES = 120, 30  # characters of a title in the table of contents; its lines, where room is short
_AUTHORS, _FOLLOWED, _MENTIONS = 12, 40, 10
_NONE = prose("")


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
    lines = min(_LINES, len(shown)) if any(item.bare for item in shown) else len(shown)
    return replace(
        page,
        contents=page.contents[:lines],
        contents_left=len(shown) - lines if page.contents else 0,
        items=tuple(shown),
        hidden=len(page.items) - len(shown),
        shortened=step > 0,
        without_abstract=sum(
            bool(old.abstract) > bool(new.abstract) for old, new in zip(page.items, shown, strict=False)
        ),
    )


def _formed(item: Item, form: int) -> Item:
    if form == _BARE:
        return replace(item, abstract=_NONE, bare=True)
    limit = _ABSTRACTS[form]
    return replace(item, abstract=shortened(item.abstract, limit) if limit else _NONE)


def trimmed(page: Page) -> Page:
    """The page with titles, comments, lists of authors and such cut to what a reader of HTML takes in."""
    topics = within(page.topics, _TOPICS)
    return replace(
        page,
        title=shorten(page.title, _TITLE),
        contents=tuple(replace(line, title=clipped(line.title, _LINE)) for line in page.contents),
        items=tuple(_trimmed_item(item) for item in page.items),
        topics=topics,
        topics_cut=topics != page.topics,
        followed=_some(page.followed, _FOLLOWED),
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
    is_kept = [place < _AUTHORS // 2 or author.followed for place, author in enumerate(names)]
    is_kept[-1] = True
    kept: list[Author] = []
    for place, author in enumerate(names):
        stands_alone = all(is_kept[place - 1 : place] + is_kept[place + 1 : place + 2])  # "…" for one saves nothing
        if is_kept[place] or stands_alone:
            kept.append(author)
        elif kept[-1].name != "…":
            kept.append(Author("…"))
    return tuple(kept)


def _some(names: tuple[str, ...], most: int) -> tuple[str, ...]:
    if len(names) <= most:
        return names
    return (*names[:most], f"{len(names) - most} more")
