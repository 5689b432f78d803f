"""One page of arXiv's Atom: is it whole, which entries can be read, and the papers they become. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
_CATEGORY = re.compile(r"[a-z-]+(\.[A-Za-z-]+)?")  # beside arXiv's own, authors give MSC and ACM classes


class FaultError(Exception):
    """One answer that cannot be used, in words that go on after the host's name. `hint` is a sentence on the fix."""

    def __init__(
        self, what: str, hint: str = "", *, final: bool = False, busy: bool = False, retry_after: float = 0.0
    ) -> None:
        super().__init__(what)
        self.hint = hint
        self.final = final  # to ask again would not help
        self.busy = busy  # arXiv has too much to do: longer waits
        self.retry_after = retry_after  # seconds, as arXiv asked


@dataclass(frozen=True, slots=True)
class Head:
    """What a page says about itself."""

    total: int  # papers in the whole result
    readable: int  # entries on this page
    unreadable: tuple[str, ...] = ()  # the others, each with its defect


def check_page(body: bytes) -> tuple[Head, bytes]:
    """The page's head, and its bytes without the entries that cannot be read. Raises `FaultError`."""
    feed = _parsed(body)
    entries = feed.findall(f"{_ATOM}entry")
    if says := refusal(body):
        raise FaultError(f"answered with an error ({says})")
    count = (feed.findtext(_TOTAL) or "").strip()
    total = int(count) if count.isdecimal() else -1
    if total < len(entries):
        raise FaultError(f"sent {len(entries)} papers and counts {count or 'none'}")
    if not entries and total == 0:
        raise FaultError(
            "says that there is no paper at all", "If that lasts, check the categories in subscribers.yaml."
        )
    if not entries:
        raise FaultError(f"sent an empty page of {total} papers")
    defects = [(entry, defect) for place, entry in enumerate(entries, 1) if (defect := _defect(entry, place))]
    unreadable = tuple(defect for _, defect in defects)
    if len(unreadable) > max(1, len(entries) // 10) or len(unreadable) == len(entries):
        raise FaultError(f"sent {named(unreadable)}, of {len(entries)} on the page")
    for entry, _ in defects:
        feed.remove(entry)
    return Head(total, len(entries) - len(defects), unreadable), bytes(etree.tostring(feed)) if defects else body


def _parsed(body: bytes) -> Any:  # an lxml element; lxml has no type information
    try:
        feed = etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        if not body.strip():
            raise FaultError("sent a page with nothing in it") from error
        if b"<feed" in body[:2_000]:
            raise FaultError("sent a page that breaks off or is not well-formed") from error
        feed = None
    if feed is None or feed.tag != f"{_ATOM}feed":
        text = re.sub(r"<[^>]*>", " ", body[:2_000].decode(errors="replace"))
        raise FaultError(f"sent something else than a list of papers ({one_line(text)})")
    return feed


def refusal(body: bytes) -> str:
    """What arXiv's error entry says, if the body is one."""
    match = re.search(rb"<id>[^<]*/api/errors.*?<summary>(.*?)</summary>", body[:4_000], re.DOTALL)
    return one_line(match[1].decode(errors="replace")) if match else ""


def _defect(entry: Any, place: int) -> str:
    """Why an entry cannot become a Paper, with its id or its place on the page; empty if it can."""
    address = (entry.findtext(f"{_ATOM}id") or "").strip()
    match = _ID.search(address)
    if match is None:
        return f"entry {place} without an arXiv id"
    if not (entry.findtext(f"{_ATOM}title") or "").strip():
        return f"{match['id']} without a title"
    if not all(_is_date(entry.findtext(f"{_ATOM}{name}")) for name in ("published", "updated")):
        return f"{match['id']} with a date that is none"
    terms = (category.get("term") or "" for category in entry.findall(f"{_ATOM}category"))
    return "" if any(_CATEGORY.fullmatch(term) for term in terms) else f"{match['id']} without a category"


def _is_date(text: str | None) -> bool:
    try:
        datetime.fromisoformat((text or "").strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return True


def paper_from(result: arxiv.Result) -> Paper:
    """The paper of an entry that `check_page` let pass."""
    match = _ID.search(result.entry_id.strip())
    if match is None:
        raise ValueError(f"no arXiv id: {result.entry_id}")
    categories = [term for term in result.categories if _CATEGORY.fullmatch(term)]
    primary = result.primary_category if _CATEGORY.fullmatch(result.primary_category) else categories[0]
    return Paper(
        arxiv_id=match["id"],
        version=int(match["version"] or 1),
        title=" ".join(result.title.split()),
        authors=tuple(name for author in result.authors if (name := _name(author.name))),
        abstract=_abstract(result.summary),
        primary_category=primary,
        categories=tuple(dict.fromkeys([*categories, primary])),
        published=result.published,
        updated=result.updated,
        comment=" ".join((result.comment or "").split()),
        doi=(result.doi or "").strip(),
    )


def _name(name: str) -> str:
    """The name in Unicode; empty for the lone colons that arXiv puts between a collaboration and its members."""
    text = name_to_text(name).strip()
    return text if any(character.isalpha() for character in text) else ""


def _abstract(text: str) -> str:
    """Lines joined; a line that begins with a space begins a paragraph, by arXiv's custom. One newline between them."""
    paragraphs = re.split(r"\n(?=[ \t])|\n[ \t]*\n", text.strip())
    return "\n".join(joined for paragraph in paragraphs if (joined := " ".join(paragraph.split())))


def named(defects: Sequence[str]) -> str:
    """The first three, and how many more."""
    return ", ".join(defects[:3]) + (f" and {len(defects) - 3} more" if len(defects) > 3 else "")


def one_line(text: str) -> str:
    """Foreign text for a message: printable, without line ends, 120 characters at most."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:120]
