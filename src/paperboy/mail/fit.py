"""The HTML part within the size that no mail program clips. Pure.

The whole page is drawn at one level after the other, until it fits:

    whole → abstracts of 700 characters → of 350 → no abstracts → titles and comments alone → and only the best papers

The plain-text part always has everything. Texts that have no natural end, such as a title of 3,000 characters, are
shortened by the templates.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby

from paperboy.mail.page import Author, Page
from paperboy.mail.text import prose
from paperboy.mail.topics import within

_ABSTRACTS = (700, 350)  # characters, by level
_TOPICS = 9_000  # bytes
_AUTHORS = 12  # of a paper, before the middle of the list is left out
_MARGIN = 0.97  # of the budget, because the number of papers that fit is an estimate


def fitted(whole: Page, draw: Callable[[Page], str], budget: int) -> str | None:
    """Draw the page as HTML at the first level that fits a budget in bytes. None if not even the page without a paper
    fits.
    """
    for shown in levels(whole):
        if size(html := draw(shown)) <= budget:
            return html
    while shown.items:
        number = min(int(len(shown.items) * _MARGIN * budget / size(html)), len(shown.items) - 1)
        shown = replace(shown, items=shown.items[:number], hidden=len(whole.items) - number)
        if size(html := draw(shown)) <= budget:
            return html
    return None


def size(html: str) -> int:
    """Bytes of the decoded part, in which a line's end counts two, as in a mail."""
    return len(html.encode()) + html.count("\n")


def levels(whole: Page) -> Iterator[Page]:
    """The page at each level, from the whole of it to titles and comments alone."""
    topics = within(whole.topics, _TOPICS)
    items = tuple(replace(item, authors=_some_authors(item.authors)) for item in whole.items)
    page = replace(whole, items=items, topics=topics, topics_cut=topics != whole.topics)
    yield page
    for limit in _ABSTRACTS:
        shorter = tuple(replace(item, abstract=item.abstract.shortened(limit)) for item in items)
        yield replace(page, items=shorter, shortened=True)
    without = sum(bool(item.abstract) for item in items)
    items = tuple(replace(item, abstract=prose("")) for item in items)
    page = replace(page, items=items, shortened=True, without_abstract=without)
    yield page
    yield replace(page, items=tuple(replace(item, bare=True) for item in items))


def _some_authors(authors: tuple[Author, ...]) -> tuple[Author, ...]:
    """A long list without its middle: the first names, the last, and the followed ones at their places."""
    if len(authors) <= _AUTHORS:
        return authors
    ends = {*range(_AUTHORS // 2), len(authors) - 1}
    shown = (each if place in ends or each.followed else Author("…") for place, each in enumerate(authors))
    return tuple(each for each, _ in groupby(shown))
