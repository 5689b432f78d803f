"""Read one feed: RSS 0.91 to 2.0, RDF or Atom, by the local names of its elements. Pure.

Publishers' XML is often broken, and their namespaces are wrong, so what can be read is read. The
elements of a feed are limited in number, and its texts are cut where they are read. Everything
takes linear time.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any

from lxml import etree

from paperboy.edges.text import printable, shortened, without_url
from paperboy.sources.journals import authors, ids, markup
from paperboy.sources.polite import FaultError, quoted

ENTRIES = 1_000  # of a feed; the longest that were captured have 100
TITLE = 1_000  # characters, as below
ABSTRACT = 10_000
LINK = 2_000
HTML = 40_000  # of a description
_NAMES = 100_000  # of all authors in one text
MARKUP = 600_000  # elements and attributes of a feed; more are cut off

_ITEMS = frozenset({"item", "entry"})
_DESCRIPTIONS = ("description", "encoded", "summary", "content")
_DATES = ("pubDate", "published", "date", "publicationDate", "updated")
_GUIDS = ("guid", "id")
_DOIS = ("doi", "identifier")


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """Paper as one feed has it. Title and abstract keep `<sub>`, `<sup>` and TeX, which
    `markup.to_marked` reads.
    """

    id: str  # "journal:10.1234/abc", or "journal:" and 16 hex digits
    title: str
    authors: tuple[str, ...]
    abstract: str  # a paragraph a line; empty: the feed has none
    link: str  # http or https; empty: none
    doi: str  # in lower case; empty: none
    date: datetime | None  # in UTC, as the feed says, which may be wrong


@dataclass(frozen=True, slots=True)
class JournalFeed:
    """Entries of a feed, in its order, each id once."""

    entries: tuple[JournalEntry, ...]
    skipped: int = 0  # entries without a title
    no_papers: int = 0  # corrigenda, covers and the like


def read_feed(body: bytes, url: str) -> JournalFeed:
    """Read the feed that was found at a URL; it may have no entries. Raises FaultError if it is no
    feed.
    """
    text = printable(_decoded(body))
    root = _tree(text)
    if root is None:
        raise _no_feed(text, url)

    found = list[_Item]()
    skipped = 0
    no_papers = 0
    for element in islice(_items(root), ENTRIES):
        item = _read(element)
        if not item.title:
            skipped += 1
        elif _NO_PAPER.match(item.title) or _NO_PAPER_END.search(item.title):
            no_papers += 1
        else:
            found.append(item)

    names = authors.natural([item.names for item in found])
    entries = dict[str, JournalEntry]()
    for item, its_authors in zip(found, names, strict=True):
        entry = JournalEntry(
            id=ids.entry_id(item.doi, item.link, item.title, url),
            title=item.title,
            authors=its_authors,
            abstract=item.abstract,
            link=item.link,
            doi=item.doi,
            date=item.date,
        )
        entries.setdefault(entry.id, entry)
    return JournalFeed(tuple(entries.values()), skipped, no_papers)


# --- from bytes to a tree

# How a document begins: with a byte order mark, or "<" in 16 bits.
_BEGINNINGS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"<\0": "utf-16-le",
    b"\0<": "utf-16-be",
}
_DECLARED = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]{1,40})")
# Python's other codecs do more than decode, and some take quadratic time.
_CODECS = re.compile(
    r"(?:iso-?(?:8859|2022)|windows-|cp\d|gb|big5|shift|s?jis|euc|koi8|mac)[\w.:-]*"
)
# Bytes that are no UTF-8, as Windows-1252 has them.
_WESTERN = {
    0xDC00 + byte: bytes([byte]).decode("cp1252", errors="replace") for byte in range(128, 256)
}


def _decoded(body: bytes) -> str:
    for beginning, encoding in _BEGINNINGS.items():
        if body.startswith(beginning):
            return body.decode(encoding, errors="replace")

    declaration = _DECLARED.search(body[:300])
    declared = declaration[1].decode("ascii", errors="replace").lower() if declaration else ""
    text = body.decode(errors="surrogateescape")
    is_utf_8 = not _ESCAPED_BYTE.search(text)
    if _CODECS.fullmatch(declared) and (not is_utf_8 or declared.startswith("iso-2022")):
        with suppress(LookupError):
            return body.decode(declared, errors="replace")
    return text if is_utf_8 else text.translate(_WESTERN)


_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_ROOT = re.compile(r"<(?:[\w.-]{1,30}:)?(?:rss|rdf|feed)(?=[\s/>])", re.IGNORECASE)
_PAGE = re.compile(r"<(?:!doctype\s+html|html)\b", re.IGNORECASE)
# A reference, or a "&" or "<" that is no mark-up. Each becomes a number, since libxml2 drops names
# after the first error; what a document type declares is never read.
_REFERENCE = re.compile("&(?:(amp|lt|gt|quot|apos);)?|<(?![A-Za-z_/!?])")
_NUMBERS = {
    "&": "&#38;",
    "<": "&#60;",
    "amp": "&#38;",
    "lt": "&#60;",
    "gt": "&#62;",
    "quot": "&#34;",
    "apos": "&#39;",
}
_SIGN = re.compile("[<=]")


def _tree(text: str) -> Any:
    """Return the root of a feed; None if it is none."""
    root = _ROOT.search(text)
    if root is None or _PAGE.search(text, 0, root.start()):
        return None

    text = text[root.start() :]
    beyond = next(islice(_SIGN.finditer(text), MARKUP, None), None)
    if beyond:
        text = text[: beyond.start()]
    text = _REFERENCE.sub(lambda found: _NUMBERS[found[1] or found[0]], text)
    parser = etree.XMLParser(
        recover=True,
        resolve_entities=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
    )
    return etree.fromstring(text.encode(), parser)


def _no_feed(text: str, url: str) -> FaultError:
    if not text.strip():
        return FaultError("sent an empty reply", "Check the feed's address.")
    beginning = text[:5_000]
    said = quoted(without_url(beginning, url))  # a page may repeat it
    if _PAGE.search(beginning):
        what = "a login page" if _LOGIN.search(text) else "a web page"
        hint = (
            "Open the address in a browser: if it shows a feed there, the publisher refuses programs;"
            ' if not, look for "RSS" on the journal\'s page.'
        )
        return FaultError(f"sent {what} instead of a feed ({said})", hint, backoff=0)
    what = "JSON instead of a feed" if text.lstrip()[0] in "{[" else "something other than a feed"
    hint = "Check the address: it must be that of an RSS or Atom feed."
    return FaultError(f"sent {what} ({said})", hint, backoff=0)


_LOGIN = re.compile(r"<input[^<>]{0,300}\btype=[\"']?password", re.IGNORECASE)


# --- from a tree to items


@dataclass(frozen=True, slots=True)
class _Item:
    """Item of RSS or entry of Atom, with its authors as they are written."""

    title: str
    names: Sequence[str]
    abstract: str
    link: str
    doi: str
    date: datetime | None


Children = Mapping[str, Sequence[Any]]
"""Children of an item by their local names."""


def _items(root: Any) -> Iterator[Any]:
    return (element for element in root.iter(etree.Element) if _name(element) in _ITEMS)


def _name(element: Any) -> str:
    """Return the local name, also where the prefix has no namespace."""
    tag = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2] if isinstance(tag, str) else ""


def _read(item: Any) -> _Item:
    children: dict[str, list[Any]] = {}
    for child in item:
        children.setdefault(_name(child), []).append(child)

    title = next(iter(_texts(children, ["title"], 4 * TITLE)), "")
    descriptions = _texts(children, _DESCRIPTIONS, HTML)
    texts = [markup.paragraphs(text) for text in descriptions]
    paragraphs = [paragraph for text in texts for paragraph in text]
    abstracts = map(markup.abstract, texts)
    link = _link(item, children)
    guid = "".join(_texts(children, _GUIDS, LINK)[:1])
    doi = ids.doi(
        fields=_texts(children, _DOIS, LINK),
        addresses=[guid, link],
        text="\n".join(paragraphs),
    )
    return _Item(
        title=shortened(" ".join(markup.paragraphs(title)), TITLE),
        names=_authors(children) or authors.in_text(paragraphs),
        abstract=shortened(max(abstracts, key=len, default=""), ABSTRACT),
        link=link,
        doi=doi,
        date=_date(children),
    )


def _texts(children: Children, names: Sequence[str], most: int, count: int = 20) -> list[str]:
    """Return the texts, cut, of so many children with the first name, then the next; none empty."""
    elements = (child for name in names for child in children.get(name, ()))
    texts = (_text(element, most).strip() for element in islice(elements, count))
    return [text for text in texts if text]


def _text(element: Any, most: int) -> str:
    """Return the text of an element, cut, with the mark-up inside it as tags."""
    if not len(element):
        return markup.unescaped((element.text or "")[:most])

    pieces = list[str]()
    left = most
    for event, node in etree.iterwalk(element, events=("start", "end")):
        name = _name(node)
        if left <= 0 or name in _ITEMS:  # an item that is not closed can hold the next one
            break
        is_start = event == "start"
        text = node.text if is_start else node.tail
        if node is not element:
            text = f"<{'' if is_start else '/'}{name}>{text or ''}"
        elif not is_start:
            break
        pieces.append((text or "")[:left])
        left -= len(pieces[-1])
    return markup.unescaped("".join(pieces))


def _authors(children: Children) -> list[str]:
    if creators := _texts(children, ["creator"], _NAMES, authors.MOST):
        return creators
    written = list[str]()
    for author in islice(children.get("author", ()), authors.MOST):
        names = [child for child in author if _name(child) == "name"]
        written.append(_text(names[0] if names else author, _NAMES).strip())
    return list(filter(None, written))


def _link(item: Any, children: Children) -> str:
    """Return the address of the entry's page, if it has one that begins with http or https."""
    written = [
        link.get("href", "")
        for link in islice(children.get("link", ()), 20)
        if link.get("rel", "alternate") == "alternate"
    ]
    written += _texts(children, ["link", "guid", "id"], LINK + 1)
    written.append(item.get(_ABOUT, ""))
    for address in map(markup.unescaped, written):
        if _HTTP.fullmatch(address.strip()):
            return address.strip()
    return ""


_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_HTTP = re.compile(rf"https?://[^\s<>\"]{{1,{LINK - 8}}}", re.IGNORECASE)


def _date(children: Children) -> datetime | None:
    for text in _texts(children, _DATES, 100):
        for parse in (datetime.fromisoformat, parsedate_to_datetime):
            with suppress(ValueError, OverflowError):
                instant = parse(text)
                return instant.replace(tzinfo=instant.tzinfo or UTC).astimezone(UTC)
    return None


# --- what is no paper

_NO_PAPER = re.compile(
    r"""
    \W*
    (?:
        (?:author|publisher)(?:['’]?s)?\ (?:correction|note)\b
        |(?:addend|corrigend|errat)(?:um|a)\b
        |retraction\ not(?:e|ice)\b|(?:editorial\ )?expression\ of\ concern\b
        |(?:correction|retraction)s?\ (?:for|to)\ .{1,80}\bet\ al\b
        |(?:correction|retraction|retracted|withdrawal|withdrawn)s?(?:\ (?:article|for|of|to))?\ ?(?:[:\]"“‘'«]|$)
        |(?:
            issue\ (?:publication\ )?information|(?:issue\ )?(?:editorial\ )?masthead
            |editorial\ board|front\ matter|back\ matter|in\ this\ issue|full\ issue
            |(?:table\ of\ )?contents(?:\ list)?|frontispiece|book\ reviews?
            |(?:(?:inside|outside)\ )?(?:(?:front|back)\ )?covers?(?:\ (?:art|feature|image|picture|profile))?
        )\ ?(?:$|[:(\[,;.|–—-])
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
# At the end of a title; and the price or the pages of a book that is reviewed
_NO_PAPER_END = re.compile(
    r"[–—:(\[-]\ ?(?:addendum|corrigend(?:um|a)|errat(?:um|a)|retraction|retracted)[)\]]?\.?$"
    r"|\bISBN\b|\bpp\.\s?[ivxl\d]|\d\s?pp\.|[£$€]\s?\d{1,3}(?:\.\d\d)?(?:\s?\(?(?:cloth|hardback|hb|paper\w*|pb)\)?)?\.?$",
    re.IGNORECASE,
)
