"""Parse one page of arXiv's Atom, and check that it is complete. Pure.

The number of a page's elements is limited, and its texts are cut when they are read. A field that
is too long ends in "…", so that one paper never costs the others. Everything takes linear time.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from lxml import etree

from paperboy.edges.text import shortened
from paperboy.models import Paper
from paperboy.sources.polite import FaultError, quoted
from paperboy.tex import name_to_text

LONGEST = 30_000  # papers that arXiv lists for one query
TITLE = 1_000  # characters, as below
ABSTRACT = 10_000  # arXiv takes up to 1,920
COMMENT = 2_000
DOI = 300
AUTHOR = 200
AUTHORS = 5_000
CATEGORIES = 50
AHEAD = timedelta(days=1)  # of our clock: a later date is wrong
_FUTURE = "with a date in the future"
MARKUP = 600_000  # elements and attributes of a page; the busiest 2,000 papers have some 100,000

_NAMESPACES = {
    "atom": "http://www.w3.org/2005/Atom",
    "arxiv": "http://arxiv.org/schemas/atom",
    "opensearch": "http://a9.com/-/spec/opensearch/1.1/",
}
# A category's term, else the text, cut by lxml: 64 MB with an emoji would take 256 MB in Python.
_BEGINNING = etree.XPath(f"substring(@term | text()[1], 1, {ABSTRACT + 1})", smart_strings=False)
_ARCHIVE = "[a-zA-Z-]{1,20}(?:\\.[a-zA-Z-]{1,20})?"
ARXIV_ID = rf"\d{{4}}\.\d{{4,5}}|{_ARCHIVE}/\d{{7}}"
_ID = re.compile(
    rf"https?://(?:export\.|www\.)?arxiv\.org/abs/(?P<id>{ARXIV_ID})(?:v(?P<version>\d{{1,4}}))?",
    re.ASCII,
)
# Authors add MSC and ACM classes to arXiv's own; those do not match.
CATEGORY = re.compile(r"[a-z-]{1,20}(\.[A-Za-z-]{1,20})?")

Window = tuple[datetime, datetime]  # of submissions: from one minute to another, both included


class EmptyError(FaultError):
    """Answer without papers, which can be right for a window of a small category."""


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Page of a longer list."""

    total: int  # papers in the whole list
    papers: tuple[Paper, ...]
    bad: tuple[str, ...]  # the defects of the other entries


def read_page(body: bytes, now: datetime, window: Window | None = None) -> FeedPage:
    """Read a page of the papers submitted in a window. Raises FaultError if it is incomplete.

    One bad entry must not cost all others; a page with more than one in ten is broken.
    """
    feed = tree(body)
    if feed.tag != f"{{{_NAMESPACES['atom']}}}feed":
        text = quoted(body) or "nothing"
        raise FaultError(f"sent something other than a whole list of papers ({text})")

    entries = feed.findall("atom:entry", _NAMESPACES)
    size = len(entries)

    count = text_at(feed, "opensearch:totalResults").strip()
    total = int(count) if re.fullmatch(r"\d{1,9}", count, re.ASCII) else -1
    if total == 0 and not entries:
        hint = "Check the categories in subscribers.yaml."
        raise EmptyError("says that there is no paper at all", hint)
    if total > LONGEST:
        hint = "Set ARXIV_LOOKBACK_DAYS to fewer days."
        raise FaultError(f"counts {total} papers", hint, backoff=0)
    if not entries or total < size:
        raise FaultError(
            f"sent a page of {size} papers and counts {'none' if total < 0 else total}"
        )

    papers = []
    bad = []
    for place, entry in enumerate(entries, 1):
        paper = _paper(entry, place, now, window)
        if isinstance(paper, str):
            bad.append(paper)
        else:
            papers.append(paper)
    if not papers and all(defect.endswith(_FUTURE) for defect in bad):
        hint = f"This machine's clock says {now:%d %b %Y %H:%M} UTC; set it if that is wrong."
        raise FaultError(f"dates every paper in the future ({bad[0]})", hint, backoff=0)
    if len(bad) > min(size - 1, max(1, size // 10)):
        raise FaultError(f"sent {len(bad)} bad entries in {size} ({', '.join(bad[:3])})")
    return FeedPage(total, tuple(papers), tuple(bad))


def tree(body: bytes) -> Any:
    """Parse a page; return an empty element if it is not XML or has too many elements."""
    # Without `huge_tree`, a text of 10 MB would fail the page. Without `encoding`, the page could
    # declare one that hides markup from the count below.
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=True, encoding="utf-8"
    )
    is_bounded = body.count(b"<") + body.count(b"=") <= MARKUP
    try:
        return etree.fromstring(body if is_bounded else b"", parser)
    except etree.XMLSyntaxError:
        return etree.Element("none")


def texts(element: Any, path: str, most: int = 1) -> list[str]:
    """Return the texts, cut, of the first elements at a path."""
    return [_BEGINNING(child) for child in islice(element.iterfind(path, _NAMESPACES), most)]


def text_at(element: Any, path: str) -> str:
    """Return the text, cut, of the first element at a path; empty if there is none."""
    return "".join(texts(element, path))


def _paper(entry: Any, place: int, now: datetime, window: Window | None) -> Paper | str:
    match = _ID.fullmatch(text_at(entry, "atom:id").strip())
    if match is None:
        return f"entry {place} without an arXiv id"
    try:
        published = _instant(text_at(entry, "atom:published"))
        updated = _instant(text_at(entry, "atom:updated"))
    except (ValueError, OverflowError):
        return f"{match['id']} with a bad date"

    wrong = _FUTURE if max(published, updated) > now + AHEAD else ""
    # arXiv selects by the date that it shows; it does not say whether the last minute's seconds
    # belong to the window.
    if window and not window[0] <= published < window[1] + timedelta(minutes=1):
        wrong = wrong or "with a date outside the window"
    if wrong:
        return f"{match['id']} {wrong}"

    title = " ".join(text_at(entry, "atom:title").split())
    if not title:
        return f"{match['id']} without a title"

    categories = list(filter(CATEGORY.fullmatch, texts(entry, "atom:category", CATEGORIES)))
    if not categories:
        return f"{match['id']} without a category"

    primary = text_at(entry, "arxiv:primary_category")
    if not CATEGORY.fullmatch(primary):
        primary = categories[0]

    names = texts(entry, "atom:author/atom:name", AUTHORS)
    authors = [name_to_text(shortened(name, AUTHOR)).strip() for name in names]
    # arXiv puts lone colons between a collaboration and its members.
    authors = [name for name in authors if any(map(str.isalpha, name))]

    # By arXiv's custom an indented line begins a paragraph; here one newline separates them.
    abstract = text_at(entry, "atom:summary").strip()
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n(?=[ \t])|\n[ \t]*\n", abstract))
    return Paper(
        id=match["id"],
        version=int(match["version"] or 1),
        title=shortened(title, TITLE),
        authors=tuple(authors),
        abstract=shortened("\n".join(filter(None, paragraphs)), ABSTRACT),
        primary_category=primary,
        categories=tuple(dict.fromkeys([*categories, primary])),
        published=published,
        updated=updated,
        comment=shortened(" ".join(text_at(entry, "arxiv:comment").split()), COMMENT),
        doi=shortened(text_at(entry, "arxiv:doi").strip(), DOI),
    )


def _instant(text: str) -> datetime:
    return datetime.strptime(text.strip(), "%Y-%m-%dT%H:%M:%S%z").astimezone(UTC)


def summary(body: bytes) -> str:
    """Quote an answer that is no page: the summary of arXiv's error entry, or its beginning."""
    return quoted(text_at(tree(body), "atom:entry/atom:summary")) or quoted(body)
