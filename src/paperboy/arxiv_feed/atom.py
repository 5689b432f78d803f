"""One page of arXiv's Atom: whether it is whole, and the papers on it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import arxiv
from lxml import etree

from paperboy.models import Paper
from paperboy.tex import name_to_text

_ATOM = "{http://www.w3.org/2005/Atom}"
_TOTAL = "{http://a9.com/-/spec/opensearch/1.1/}totalResults"
_ID = re.compile(r"arxiv\.org/abs/(?P<id>\d{4}\.\d{4,5}|[a-zA-Z.-]+/\d{7})(?:v(?P<version>\d{1,4}))?$", re.ASCII)
_CATEGORY = re.compile(r"[a-z-]+(\.[A-Za-z-]+)?")  # authors add MSC and ACM classes to arXiv's own


@dataclass(eq=False)
class FaultError(Exception):
    """An unusable answer. `what` completes a sentence that begins with the host's name."""

    what: str
    hint: str = ""  # a sentence about the fix
    backoff: int = 2  # in delays; 0: a retry would not help
    retry_after: float = 0.0  # seconds, as arXiv asked

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True, slots=True)
class Head:
    """What a page says about itself."""

    total: int  # papers in the whole result
    readable: int  # entries on this page
    bad: tuple[str, ...] = ()  # the other entries, each with its defect


def check_page(body: bytes) -> tuple[Head, bytes]:
    """Return the page's head, and its bytes without bad entries. Raises FaultError for a page that is not whole.

    One bad entry must not cost all others; a page with more than one in ten is broken.
    """
    try:
        feed: Any = etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        feed = etree.Element("none")
    if feed.tag != f"{_ATOM}feed":
        raise FaultError(f"sent something else than a whole list of papers ({plain_text(body) or 'nothing'})")
    if error := error_text(body):
        raise FaultError(f"answered with an error ({error})")
    entries = feed.findall(f"{_ATOM}entry")
    count = _text(feed, _TOTAL)
    total = int(count) if count.isdecimal() else -1
    if total == 0 and not entries:
        raise FaultError("says that there is no paper at all", "Check the categories in subscribers.yaml.")
    if not entries or total < len(entries):
        raise FaultError(f"sent a page of {len(entries)} papers and counts {count or 'none'}")
    defects = {entry: defect for place, entry in enumerate(entries, 1) if (defect := _defect(entry, place))}
    if len(defects) > min(len(entries) - 1, max(1, len(entries) // 10)):
        some = ", ".join(list(defects.values())[:3])
        raise FaultError(f"sent {len(defects)} bad entries in {len(entries)} ({some})")
    for entry in defects:
        feed.remove(entry)
    return Head(total, len(entries) - len(defects), tuple(defects.values())), bytes(etree.tostring(feed))


def error_text(body: bytes) -> str:
    """Return the summary of arXiv's error entry; empty if the body is none."""
    match = re.search(rb"<id>[^<]*/api/errors.*?<summary>(.*?)</summary>", body[:4_000], re.DOTALL)
    return plain_text(match[1]) if match else ""


def _text(element: Any, name: str) -> str:
    return (element.findtext(name) or "").strip()


def _defect(entry: Any, place: int) -> str:
    """Say why an entry cannot become a Paper, with its id or its place on the page; empty if it can."""
    if (match := _ID.search(_text(entry, f"{_ATOM}id"))) is None:
        return f"entry {place} without an arXiv id"
    if not _text(entry, f"{_ATOM}title"):
        return f"{match['id']} without a title"
    try:
        for name in ("published", "updated"):
            datetime.fromisoformat(_text(entry, f"{_ATOM}{name}")).astimezone(UTC)
    except (ValueError, OverflowError):
        return f"{match['id']} with a bad date"
    terms = (category.get("term") or "" for category in entry.findall(f"{_ATOM}category"))
    return "" if any(map(_CATEGORY.fullmatch, terms)) else f"{match['id']} without a category"


def paper_from(result: arxiv.Result) -> Paper:
    """Return the paper of an entry that `check_page` accepted."""
    if (match := _ID.search(result.entry_id.strip())) is None:
        raise ValueError(f"no arXiv id: {result.entry_id}")
    categories = [term for term in result.categories if _CATEGORY.fullmatch(term)]
    primary = result.primary_category if _CATEGORY.fullmatch(result.primary_category) else categories[0]
    names = (name_to_text(author.name).strip() for author in result.authors)
    # An indented line begins a paragraph, by arXiv's custom. Here one newline separates paragraphs.
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n(?=[ \t])|\n[ \t]*\n", result.summary.strip()))
    return Paper(
        arxiv_id=match["id"],
        version=int(match["version"] or 1),
        title=" ".join(result.title.split()),
        # arXiv puts lone colons between a collaboration and its members
        authors=tuple(name for name in names if any(map(str.isalpha, name))),
        abstract="\n".join(filter(None, paragraphs)),
        primary_category=primary,
        categories=tuple(dict.fromkeys([*categories, primary])),
        published=result.published,
        updated=result.updated,
        comment=" ".join((result.comment or "").split()),
        doi=(result.doi or "").strip(),
    )


def plain_text(foreign: bytes) -> str:
    """Quote foreign bytes in a message: no tags, printable, one line of at most 120 characters."""
    text = re.sub(r"<[^>]*>", " ", foreign[:2_000].decode(errors="replace"))
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:120]
