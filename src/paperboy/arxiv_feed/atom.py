"""One page of arXiv's Atom: whether it is whole, and the papers on it. Pure."""

import re
from dataclasses import dataclass
from typing import Any

from arxiv import _feed as package  # its reader of one entry
from lxml import etree

from paperboy.models import Paper
from paperboy.tex import name_to_text

_ATOM = "{http://www.w3.org/2005/Atom}"
_TOTAL = "{http://a9.com/-/spec/opensearch/1.1/}totalResults"
_ID = re.compile(r"arxiv\.org/abs/(?P<id>\d{4}\.\d{4,5}|[a-zA-Z.-]+/\d{7})(?:v(?P<version>\d{1,4}))?$", re.ASCII)
LONGEST = 30_000  # papers that arXiv lists for one query
_CATEGORY = re.compile(r"[a-z-]+(\.[A-Za-z-]+)?")  # authors add MSC and ACM classes to arXiv's own


class FaultError(Exception):
    """An unusable answer, in words that follow the host's name; `hint` is a sentence about the fix.

    `backoff` counts delays, and 0 says that a retry would not help; `retry_after` are the seconds that arXiv asked for.
    """

    def __init__(self, what: str, hint: str = "", backoff: int = 2, retry_after: float = 0.0) -> None:
        super().__init__(what)
        self.hint, self.backoff, self.retry_after = hint, backoff, retry_after


class EmptyError(FaultError):
    """An answer without a paper, which a window of a small category may have."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a longer list."""

    total: int  # papers in the whole list
    papers: tuple[Paper, ...]
    bad: tuple[str, ...]  # the other entries, each with its defect


def read_page(body: bytes) -> Page:
    """Read a page. Raises FaultError if it is not whole.

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
    entries, count = feed.findall(f"{_ATOM}entry"), (feed.findtext(_TOTAL) or "").strip()
    total = int(count) if re.fullmatch(r"\d{1,9}", count) else -1
    if total == 0 and not entries:
        raise EmptyError("says that there is no paper at all", "Check the categories in subscribers.yaml.")
    if total > LONGEST:
        raise FaultError(f"counts {count} papers", "Set ARXIV_LOOKBACK_DAYS to fewer days.", backoff=0)
    if not entries or total < len(entries):
        raise FaultError(f"sent a page of {len(entries)} papers and counts {count or 'none'}")
    read = [_paper(entry, place) for place, entry in enumerate(entries, 1)]
    bad = [defect for defect in read if isinstance(defect, str)]
    if len(bad) > min(len(entries) - 1, max(1, len(entries) // 10)):
        raise FaultError(f"sent {len(bad)} bad entries in {len(entries)} ({', '.join(bad[:3])})")
    return Page(total, tuple(paper for paper in read if isinstance(paper, Paper)), tuple(bad))


def _paper(entry: Any, place: int) -> Paper | str:
    """Turn an entry into a Paper, or name its defect."""
    if (match := _ID.search((entry.findtext(f"{_ATOM}id") or "").strip())) is None:
        return f"entry {place} without an arXiv id"
    try:
        result = package._build_result(entry)
    except (ValueError, OverflowError):
        result = None
    if result is None:
        return f"{match['id']} with a bad date"
    if not (title := " ".join(result.title.split())):
        return f"{match['id']} without a title"
    if not (categories := [term for term in result.categories if _CATEGORY.fullmatch(term)]):
        return f"{match['id']} without a category"
    primary = result.primary_category if _CATEGORY.fullmatch(result.primary_category) else categories[0]
    names = (name_to_text(author.name).strip() for author in result.authors)
    # An indented line begins a paragraph, by arXiv's custom. Here one newline separates paragraphs.
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n(?=[ \t])|\n[ \t]*\n", result.summary.strip()))
    return Paper(
        arxiv_id=match["id"],
        version=int(match["version"] or 1),
        title=title,
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


def error_text(body: bytes) -> str:
    """Return the summary of arXiv's error entry; empty if the body is none."""
    match = re.search(rb"<id>[^<]*/api/errors.*?<summary>(.*?)</summary>", body[:4_000], re.DOTALL)
    return plain_text(match[1]) if match else ""


def plain_text(foreign: bytes) -> str:
    """Quote foreign bytes in a message: no tags, printable, one line of at most 120 characters."""
    text = re.sub(r"<[^>]*>", " ", foreign[:2_000].decode(errors="replace"))
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:120]
