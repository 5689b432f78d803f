"""The HTML part within the size that no mail program clips. Pure.

The page is cut from its tail, by as little as possible. Cut away are, in this order, each from its last to its first:

    the papers that are only named, but for three of each kind
    of the group "also": all but the titles, then the papers themselves
    of the groups before it: the abstracts down to 350 characters, then to nothing, then the papers
    the papers that are only named

The page says how many it leaves out. The plain-text part has more: `in_text`. Texts that have no natural end, such as
a title of 3,000 characters, are shortened by the templates.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import accumulate, groupby

from paperboy.mail.page import Author, Item, Page
from paperboy.mail.topics import within
from paperboy.models import Group

_NAMED = 3  # papers of each kind that are named longest
_ABSTRACT = 350  # characters
_TOPICS = 9_000  # bytes
_AUTHORS = 12  # of a paper, before the middle of the list is left out
_BRIEF_AUTHORS = 6  # of one without an abstract
_AUTHORS_ONLINE = 200  # of a paper, on the web
_WHOLE_IN_TEXT = 19  # papers


def fitted(whole: Page, draw: Callable[[Page], str], budget: int) -> str | None:
    """Draw the page as HTML with as few cuts as fit a budget in bytes; None if that takes more than leaving out all
    papers.
    """
    page = in_html(whole)
    if size(html := draw(page)) <= budget:
        return html
    too_few, enough = 0, sum(_stages(page))  # so many that no paper is left
    if size(html := draw(cut(page, enough))) > budget:
        return None
    while enough - too_few > 1:
        cuts = (too_few + enough) // 2
        if size(tried := draw(cut(page, cuts))) <= budget:
            enough, html = cuts, tried
        else:
            too_few = cuts
    return html


def size(html: str) -> int:
    """Bytes of the decoded part, in which a line's end counts two, as in a mail."""
    return len(html.encode()) + html.count("\n")


def in_html(whole: Page) -> Page:
    """The page as its HTML shows it where there is room: without the middle of long lists of authors."""
    topics = within(whole.topics, _TOPICS)
    items = tuple(
        replace(item, authors=_some(item.authors, _BRIEF_AUTHORS if item.brief else _AUTHORS)) for item in whole.items
    )
    return replace(whole, items=items, topics=topics, topics_left_out=len(whole.topics) - len(topics))


def in_text(whole: Page) -> Page:
    """The page as plain text shows it: whole abstracts also of the group "also", but for its long tail."""
    items = tuple(
        replace(
            item,
            authors=_some(item.authors, _AUTHORS),
            brief=item.brief and item.rank > _WHOLE_IN_TEXT,
        )
        for item in whole.items
    )
    return replace(whole, items=items)


def in_full(whole: Page) -> Page:
    """The page as the web shows it, where only lists of hundreds of authors lack their middle."""
    items = tuple(replace(item, authors=_some(item.authors, _AUTHORS_ONLINE)) for item in whole.items)
    over_cap = tuple(
        replace(each, authors=_some(each.authors, _AUTHORS_ONLINE)) if isinstance(each, Item) else each
        for each in whole.over_cap
    )
    return replace(whole, items=items, over_cap=over_cap)


def levels(page: Page) -> Iterator[Page]:
    """The page after all cuts of one sort, of two, and so on."""
    return (cut(page, cuts) for cuts in accumulate(_stages(page)))


def cut(page: Page, cuts: int) -> Page:
    """The page after that many cuts."""
    done = []
    for number in _stages(page):
        done.append(min(cuts, number))
        cuts -= done[-1]
    unnamed, bare, hidden, shorter, brief, gone, nameless = done
    items = list(page.items)
    head = sum(item.group != Group.ALSO for item in items)
    items[len(items) - bare :] = [replace(item, bare=True) for item in items[len(items) - bare :]]
    items[head - shorter : head] = [
        replace(item, abstract=item.abstract.shortened(_ABSTRACT)) for item in items[head - shorter : head]
    ]
    items[head - brief : head] = [replace(item, brief=True) for item in items[head - brief : head]]
    named = max(min(_NAMED, _most_named(page)), _most_named(page) - unnamed) - nameless
    return replace(
        page,
        items=tuple(items[: len(items) - hidden - gone]),
        over_cap=page.over_cap[:named],
        carried_over=page.carried_over[:named],
        let_go=page.let_go[:named],
    )


def _stages(page: Page) -> tuple[int, ...]:
    """How many cuts of each sort there can be, in their order."""
    tail = sum(item.group == Group.ALSO for item in page.items)
    head, most = len(page.items) - tail, _most_named(page)
    return (max(0, most - _NAMED), tail, tail, head, head, head, min(_NAMED, most))


def _most_named(page: Page) -> int:
    return max(map(len, (page.over_cap, page.carried_over, page.let_go)))


def _some(authors: tuple[Author, ...], most: int) -> tuple[Author, ...]:
    """A long list without its middle: the first names, the last, and the followed ones at their places."""
    if len(authors) <= most:
        return authors
    ends = {*range(most // 2), len(authors) - 1}
    shown = (each if place in ends or each.followed else Author("…") for place, each in enumerate(authors))
    return tuple(each for each, _ in groupby(shown))
