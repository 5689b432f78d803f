"""A library: an operator's file of liked papers, as reference managers export BibTeX (`refs.bib`),
or an id, DOI or link on each line (`refs.txt`).

    read → bytes → text → entries: BibTeX's, or lines
         → items: identity, title, authors, abstract → distinct, the newest

Exporters disagree on where a preprint's id stands, so `_ID_FIELDS` are tried in order. What cannot
be read costs one entry, never the file.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat
from pathlib import PurePath
from typing import TYPE_CHECKING

from paperboy.edges.text import counted, folded, one_line, printable, shortened
from paperboy.errors import MOST_PROBLEMS, ConfigError, Problem
from paperboy.home import nodes
from paperboy.sources import SOURCES, categories
from paperboy.sources.references import doi_in, id_in
from paperboy.tex import name_to_text, plain, to_marked

if TYPE_CHECKING:
    from bibtexparser.model import Block, Entry

MOST_BYTES = 32_000_000
MOST_ITEMS = 2_000
MOST_TITLES = 30  # that stand in for topics

_MOST_ENTRIES = 50_000  # bibtexparser needs a kilobyte for each that is broken

_LONGEST_TITLE = 1_000  # characters
_LONGEST_FIELD = 100_000  # characters; what follows is left out
_LONGEST_ABSTRACT = 10_000  # characters of TeX
_LONGEST_STRING = 1_000  # characters of an @string, which may be made of others, and they of others

_UNCLOSED = "look for a brace or quote that is never closed"
_UNPARSABLE = f"cannot be read as BibTeX; {_UNCLOSED}, or for a missing comma or ="
_NOT_AN_ID = "is neither a paper's id nor a DOI, nor a link with one; write one on each line"

_NAME = r"\w[\w ./-]*\.(?:bib|txt)"


def files_named(text: str) -> list[str]:
    """Return the libraries that subscribers.yaml names as files."""
    return nodes.files_named(text, "library", _NAME)


@dataclass(frozen=True, slots=True)
class Collection:
    """Zotero collection, in somebody's library there."""

    library: str  # "users/1234567" or "groups/1234567"
    key: str

    def __str__(self) -> str:
        return f"zotero:{self.library}/collections/{self.key}"


KEY = "[A-Z0-9]{8}"  # of a collection, or of an item
_COLLECTION = re.compile(rf"zotero:((?:users|groups)/[0-9]{{1,20}})/collections/({KEY})")


def parse(text: str) -> Collection | str:
    """Return what a list's `library` names: a collection, or a file of the home. Raises ValueError,
    with an example.
    """
    if match := _COLLECTION.fullmatch(text):
        return Collection(*match.groups())
    if text.startswith("zotero:"):
        forms = "zotero:users/1234567/collections/ABCD2345 or zotero:groups/…"
        raise ValueError(f"{shortened(text, 100)!r} is no Zotero collection; write it as {forms}")
    if nodes.is_file_name(text, _NAME):
        return text
    raise ValueError(
        "must be a file in the home that ends in .bib (BibTeX) or .txt (an id, DOI or link on each "
        "line), or a Zotero collection (zotero:users/…)"
    )


@dataclass(frozen=True, slots=True)
class LibraryItem:
    """Liked paper."""

    paper_id: str  # as its source writes it; empty: none was found
    doi: str  # in lower case; a preprint server's own, too; empty: none was found
    title: str  # plain text; empty: only in a file of ids
    authors: tuple[str, ...] = ()  # "First Last"
    abstract: str = ""  # plain text; empty: the file has none
    line: int = 0  # where it begins in the file, from 1
    category: str = ""  # its primary one, if the file says it


@dataclass(frozen=True, slots=True)
class Library:
    """Papers of a file."""

    items: tuple[LibraryItem, ...]  # distinct, at most `MOST_ITEMS`; the newest is the last
    unread: tuple[Problem, ...]  # what cost an entry; the first `MOST_PROBLEMS`


def newest_titles(items: Sequence[LibraryItem]) -> tuple[str, ...]:
    """Return the titles that may stand in for topics, the newest first."""
    titles = (item.title for item in reversed(items) if item.title)
    return tuple(dict.fromkeys(titles))[:MOST_TITLES]


@dataclass(frozen=True, slots=True)
class _Dated:
    item: LibraryItem  # with its abstract in TeX
    date: str  # "2024" or "2024-01-03"; empty: unknown


@lru_cache(maxsize=1)  # lists that share a library come one after the other
def read(name: str, content: bytes) -> Library:
    """Return the papers of a file, whose name ends in .bib or .txt. Raises ConfigError for any other
    name, and for a file that is too large.
    """
    kinds = {".bib": (_bibtex, _ENTRY), ".txt": (_lines, re.compile("\n"))}
    kind = kinds.get(PurePath(name).suffix.lower())
    if kind is None:
        fix = "name one that ends in .bib (BibTeX) or .txt (an id, DOI or link on each line)"
        raise ConfigError.at(name, f"is not a library that can be read; {fix}")
    read_entries, entry = kind

    text = _text(content[: MOST_BYTES + 1])
    if len(content) > MOST_BYTES or sum(1 for _ in entry.finditer(text)) > _MOST_ENTRIES:
        limit = f"{MOST_BYTES // 1_000_000} MB, or has more than {_MOST_ENTRIES:,} entries"
        raise ConfigError.at(name, f"is larger than {limit}; is it the right file?")

    dated = list[_Dated]()
    unread = list[Problem]()
    for line, found in read_entries(text):
        if isinstance(found, _Dated):
            dated.append(found)
        elif len(unread) < MOST_PROBLEMS:
            unread.append(Problem(f"{name}:{line}", found))

    oldest_first = sorted(dated, key=lambda paper: paper.date)
    newest_first = distinct(paper.item for paper in reversed(oldest_first))
    # Abstracts are read last: TeX takes longer than all else.
    items = [
        replace(item, abstract=_plain(item.abstract[:_LONGEST_ABSTRACT]))
        for item in newest_first[:MOST_ITEMS]
    ]
    return Library(tuple(reversed(items)), tuple(unread))


_Found = tuple[int, _Dated | str]  # a line, with the paper or why there is none


def _text(content: bytes) -> str:
    r"""Decode a file, with \n for each line end. Lines that are not UTF-8 are read as Windows-1252,
    since entries are pasted from anywhere.
    """
    lines = list[str]()
    for line in content.split(b"\n"):
        try:
            lines.append(line.decode())
        except UnicodeDecodeError:
            lines.append(line.decode("cp1252", errors="replace"))

    text = "\n".join(lines)
    return printable(text.replace("\r\n", "\n").replace("\r", "\n"))


# --- a file of ids


def _lines(text: str) -> Iterator[_Found]:
    for number, line in enumerate(text.split("\n"), 1):
        written = re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip()
        if not written:
            continue

        paper_id = id_in(written)
        doi = doi_in(written) if _IS_DOI.fullmatch(written) else ""
        if paper_id or doi:
            yield number, _Dated(LibraryItem(paper_id, doi, title="", line=number), date="")
        else:
            yield number, _NOT_AN_ID


# --- BibTeX

_Fields = Mapping[str, Sequence[str]]  # values in the file's order, by the name in lower case

# An entry without its key, or without the comma after it: `@misc{title = …` or `@misc{key title = …`.
_NO_KEY = re.compile(
    r"^([ \t]*@(?!(?:comment|preamble|string)\b)\w+[ \t]*[{(])"
    r'(?:(?=\s*[\w-]+\s*=)|\s*([^\s,=(){}"]++)(?=\s+[\w-]+\s*=))',
    re.IGNORECASE | re.MULTILINE,
)
_ENTRY = re.compile(r"@\w*[ \t]*[{(]")
_NEXT_FIELD = re.compile(r"(?<!\S)([A-Za-z][\w-]*)\s*=")
_DELIMITER = re.compile(r'(?<!\\)[{}"]')  # as bibtexparser has it
_NO_ENTRY = re.compile(r"@(comment|preamble|string|(mv)?proceedings)\b", re.IGNORECASE)


def _bibtex(text: str) -> Iterator[_Found]:
    from bibtexparser.entrypoint import parse_string  # noqa: PLC0415 - 0.16 s, for which most commands have no use
    from bibtexparser.model import Entry, String  # noqa: PLC0415

    logging.getLogger("bibtexparser").setLevel(
        logging.CRITICAL
    )  # what it warns of is returned here

    text = text.replace("\\\n", "\\ \n")  # else it would not count this line
    text = _NO_KEY.sub(lambda found: f"{found[1]}{found[2] or ''},", text)

    strings = dict[str, str]()
    # Without its own middleware, which neither joins values nor reads entries with repeated keys.
    for block in parse_string(text, parse_stack=[]).blocks:
        line = (block.start_line or 0) + 1
        whole = _whole(block)
        if isinstance(whole, String):
            value = _values("", whole.value, strings)[0][1]
            strings[whole.key.lower()] = value[:_LONGEST_STRING]
        elif isinstance(whole, Entry):
            if not _NO_ENTRY.match(f"@{whole.entry_type}"):
                yield from _paper(line, _fields(whole, strings))
        elif whole is None and not _NO_ENTRY.match(block.raw or ""):
            yield line, _UNPARSABLE


def _whole(block: "Block") -> "Block | None":
    """Return the block; of a failed one what was to be kept, as with a repeated key or field, if
    there is any.
    """
    from bibtexparser.model import ParsingFailedBlock  # noqa: PLC0415

    return block.ignore_error_block if isinstance(block, ParsingFailedBlock) else block


def _fields(entry: "Entry", strings: Mapping[str, str]) -> _Fields:
    fields = defaultdict[str, list[str]](list)
    for field in entry.fields:
        name = field.key.rpartition("\n")[2].strip()  # a comment may stand before it
        for written, value in _values(name, field.value, strings):
            fields[written.lower()].append(value)
    return fields


def _values(name: str, raw: str, strings: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return a field's name and value, in one line and without the delimiters; and those of the
    fields that follow without a comma: `author = {Ada Lovelace} title = {Rivers}`.
    """
    values = [(name, "")]

    def add(text: str) -> None:
        name, value = values[-1]
        if len(value) < _LONGEST_FIELD:
            values[-1] = (name, (value + text)[:_LONGEST_FIELD])

    for text, is_delimited in _stretches(raw):
        if is_delimited:
            add(text)
            continue
        before, *others = _NEXT_FIELD.split(text)
        for next_name, bare in zip(["", *others[::2]], [before, *others[1::2]], strict=True):
            if next_name:
                values.append((next_name, ""))
            for word in filter(str.strip, bare.split("#")):
                add(strings.get(word.strip().lower(), word))

    return [(name, " ".join(value.split())) for name, value in values]


def _stretches(raw: str) -> Iterator[tuple[str, bool]]:
    """Yield what stands within outer braces or quotes, and what stands between them, with whether
    it was within.
    """
    opening = ""
    depth = 0
    start = 0
    for mark in _DELIMITER.finditer(raw):
        sign = mark[0]
        if not opening and sign == "}":
            continue
        if not opening:
            yield raw[start : mark.start()], False
            opening = sign
            start = mark.end()
        elif sign == "{":
            depth += 1
        elif sign == "}" and depth:
            depth -= 1
        elif not depth and sign == {"{": "}", '"': '"'}[opening]:
            yield raw[start : mark.start()], True
            opening = ""
            start = mark.end()

    yield raw[start:], bool(opening)


# --- an entry


def _paper(line: int, fields: _Fields) -> Iterator[_Found]:
    """Yield the paper of an entry; nothing without a title."""
    titles = filter(None, map(_plain, fields.get("title", ())))
    title = next(titles, "")
    if not title:
        return
    if len(title) > _LONGEST_TITLE:
        yield line, f"has a title of {counted(len(title), 'character')}; {_UNCLOSED}"
        return

    item = LibraryItem(
        paper_id=_id_of(fields),
        doi=_doi_of(fields),
        title=title,
        authors=tuple(_authors(_first(fields, "author"))),
        abstract=_first(fields, "abstract"),
        line=line,
        category=next(filter(None, map(_category, _CATEGORY_FIELDS, repeat(fields))), ""),
    )
    date = re.match(r"\d{4}(-\d\d){0,2}", _first(fields, "date") or _first(fields, "year"))
    yield line, _Dated(item, date[0] if date else "")


_CATEGORY_FIELDS = ("primaryclass", "eprintclass")  # BibTeX's, biblatex's


def _category(name: str, fields: _Fields) -> str:
    """Return the category that a field names; empty if it is none, or a whole archive."""
    written = _first(fields, name)
    try:
        found = categories(written)
    except ValueError:
        return ""
    return written if found == (written,) else ""


def _first(fields: _Fields, name: str) -> str:
    return next(iter(fields.get(name, ())), "")


def _plain(tex: str) -> str:
    """Return TeX as plain text. Braces go, too: BibTeX's protect capitals."""
    return one_line(re.sub("[{}]", "", plain(to_marked(tex))))


def _authors(tex: str) -> Iterator[str]:
    for written in _split(tex, r"\s+and\s+"):
        name = name_to_text(_in_order(written.strip()))
        if name and name != "others":
            yield name


def _in_order(name: str) -> str:
    """Return "von Last, Jr, First", or biblatex's "family=Last, given=First, prefix=von", as "First
    von Last Jr".
    """
    parts = [part.strip() for part in _split(name, ",")]
    labelled = [re.fullmatch(r'(\w+)\s*=\s*"?(.*?)"?', part) for part in parts]
    by_label = {part[1].lower(): part[2] for part in labelled if part}
    if "family" in by_label:
        order = [by_label.get(label, "") for label in ("given", "prefix", "family", "suffix")]
    elif len(parts) > 1:
        last, *suffix, first = parts
        order = [first, last, *suffix]
    else:
        order = parts
    return " ".join(filter(None, order))


def _split(tex: str, separator: str) -> list[str]:
    """Split at separators outside of braces."""
    parts = list[str]()
    depth = 0
    start = 0
    for mark in re.finditer(rf"[{{}}]|{separator}", tex, re.IGNORECASE):
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth = max(depth - 1, 0)
        elif not depth:
            parts.append(tex[start : mark.start()])
            start = mark.end()
    return [*parts, tex[start:]]


# --- its identity

_ID_FIELDS = (
    "eprint",
    *(f"{source.name.lower()}id" for source in SOURCES),  # Mendeley's
    "doi",
    "url",
    "number",
    "journal",
    "journaltitle",
    "volume",  # DBLP's "abs/2502.06786"
    "note",
    "eid",
    "howpublished",
)
_IS_DOI = re.compile(r"(?:(?:https?://)?(?:dx\.)?doi\.org/|doi:\s*)?10\.\d{4,9}/\S+", re.IGNORECASE)


def _id_of(fields: _Fields) -> str:
    values = (value for name in _ID_FIELDS for value in fields.get(name, ()))
    words = (word.strip("[](),;.") for value in values for word in re.split(r"[\s{}]+", value))
    return next(filter(None, map(id_in, words)), "")


def _doi_of(fields: _Fields) -> str:
    links = (url for url in fields.get("url", ()) if "doi.org/" in url.lower())
    # Some write \_ in it.
    written = (re.sub(r"[\\{}]", "", value) for value in (*fields.get("doi", ()), *links))
    dois = map(doi_in, written)
    return next(filter(None, dois), "")


# --- distinct papers


def distinct(items: Iterable[LibraryItem]) -> list[LibraryItem]:
    """Return each paper once, where it comes first; others with its id, DOI or title fill in what
    that one lacks.
    """
    papers = list[LibraryItem]()
    places = dict[str, int]()
    for item in items:
        title = re.sub(r"\W+", " ", folded(item.title)).strip()
        keys = [key for key in (item.paper_id, item.doi, title) if key]
        place = next((places[key] for key in keys if key in places), len(papers))
        if place == len(papers):
            papers.append(item)
        else:
            papers[place] = _completed(papers[place], item)
        for key in keys:
            places.setdefault(key, place)

    return papers


def _completed(item: LibraryItem, other: LibraryItem) -> LibraryItem:
    return replace(
        item,
        paper_id=item.paper_id or other.paper_id,
        doi=item.doi or other.doi,
        title=item.title or other.title,
        authors=item.authors or other.authors,
        abstract=item.abstract or other.abstract,
        category=item.category or other.category,
    )
