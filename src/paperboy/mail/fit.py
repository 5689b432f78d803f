"""Fit the HTML part into a size that no mail program clips. Pure.

The page is cut as little as possible, in this order, each step from the lowest-ranked paper up
(rows: from the lowest-scored):

    the papers that are only named, except three of each kind
    in the group "also": the links to PDFs, then the authors, then the comments
    in all rows: everything except titles and scores
    in the group "also": the papers themselves
    in the groups before it: the abstracts, first to 350 characters, then entirely, then the papers
    the remaining papers that are only named

The page says how many papers it leaves out. The plain-text part has more: see `in_text`. The
templates shorten overlong texts, such as a title of 3,000 characters.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from paperboy.mail.page import MOST_SHOWN, Page, without_middle
from paperboy.mail.text import shorten
from paperboy.models import Group
from paperboy.topics import within

_MIN_NAMED = 3  # papers of each kind that are only named, kept until the last step
_ABSTRACT = 350  # characters
_TOPICS = 9_000  # bytes
_ROW_AUTHORS = 4  # shown in a row
_WHOLE_IN_TEXT = 15  # papers that have an abstract even as rows

Cut = Callable[[Page, Sequence[int]], Page]
"""Takes a page and the numbers of a step (see `steps`); returns the page, cut."""


def fitted(whole: Page, draw: Callable[[Page], str], budget: int) -> str | None:
    """Return the page as HTML, cut as little as possible to fit a budget in bytes; None if it
    does not fit even without papers.
    """
    page = in_html(whole)
    if size(html := draw(page)) <= budget:
        return html

    for numbers, cut in steps(page):
        after = cut(page, numbers)
        if size(html := draw(after)) <= budget:
            fits = partial(_fits, page, cut, numbers, draw, budget)
            fewest = bisect_left(range(1, len(numbers)), True, key=fits) + 1
            return html if fewest == len(numbers) else draw(cut(page, numbers[:fewest]))
        page = after

    return None


def _fits(
    page: Page,
    cut: Cut,
    numbers: Sequence[int],
    draw: Callable[[Page], str],
    budget: int,
    number: int,
) -> bool:
    return size(draw(cut(page, numbers[:number]))) <= budget


def size(html: str) -> int:
    """Return the size of the decoded part in bytes; a line end counts as two (CRLF)."""
    return len(html.encode()) + html.count("\n")


def in_html(whole: Page) -> Page:
    """Return the page as HTML, before any cut: with long author lists and long topics
    shortened.
    """
    items = []
    for item in whole.items:
        most = _ROW_AUTHORS if item.brief else MOST_SHOWN
        items.append(replace(item, authors=without_middle(item.authors, most)))
    topics = within(whole.topics, _TOPICS)
    return replace(
        whole,
        items=tuple(items),
        topics=topics,
        topics_left_out=len(whole.topics) - len(topics),
    )


def in_text(whole: Page) -> Page:
    """Return the page as plain text: with long author lists shortened, and abstracts also in
    the first rows.
    """
    items = tuple(
        replace(
            item,
            authors=without_middle(item.authors, MOST_SHOWN),
            brief=item.brief and item.rank > _WHOLE_IN_TEXT,
        )
        for item in whole.items
    )
    return replace(whole, items=items)


def steps(page: Page) -> Sequence[tuple[Sequence[int], Cut]]:
    """Return the cuts in order: (ranks to cut, or numbers of names to keep; the cut)."""
    tail_first = page.items[::-1]
    head = [item.rank for item in tail_first if item.group != Group.ALSO]
    head_rows = [item.rank for item in tail_first if item.group != Group.ALSO and item.brief]
    worst_first = sorted(tail_first, key=lambda item: (item.relevance or 0) + (item.novelty or 0))
    also = [item.rank for item in worst_first if item.group == Group.ALSO]
    most = max(map(len, (page.over_cap, page.carried_over, page.let_go)))
    found: Sequence[tuple[Sequence[int], Cut]] = (
        (range(most - 1, _MIN_NAMED - 1, -1), _naming),
        (also, partial(_changed, pdf_url="")),
        (also, partial(_changed, authors=(), author_count=0)),
        (also, partial(_changed, why="")),
        ([*also, *head_rows], partial(_changed, bare=True)),
        (also, _dropped),
        (head, _shortened),
        (head, partial(_changed, brief=True)),
        (head, _dropped),
        (range(min(_MIN_NAMED, most) - 1, -1, -1), _naming),
    )
    return [(numbers, cut) for numbers, cut in found if numbers]


def _changed(page: Page, ranks: Sequence[int], **changes: Any) -> Page:
    chosen = frozenset(ranks)
    items = (replace(item, **changes) if item.rank in chosen else item for item in page.items)
    return replace(page, items=tuple(items))


def _shortened(page: Page, ranks: Sequence[int]) -> Page:
    for item in page.items:
        if item.rank in ranks:
            page = _changed(page, [item.rank], abstract=shorten(item.abstract, _ABSTRACT))
    return page


def _dropped(page: Page, ranks: Sequence[int]) -> Page:
    gone = frozenset(ranks)
    return replace(page, items=tuple(item for item in page.items if item.rank not in gone))


def _naming(page: Page, left: Sequence[int]) -> Page:
    most = left[-1]
    return replace(
        page,
        over_cap=page.over_cap[:most],
        carried_over=page.carried_over[:most],
        let_go=page.let_go[:most],
    )
