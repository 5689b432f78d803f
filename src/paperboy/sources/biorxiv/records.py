"""Parse one page of records from the API of bioRxiv and medRxiv, and check that it answers what was
asked. Pure.

A record is a version of a preprint. The API reports failures within HTTP 200, ignores a category
that it does not know, and counts more records than it has.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from html import unescape
from typing import Any, NamedTuple

from paperboy.edges.text import NAME_SUFFIXES, folded, one_line, shortened
from paperboy.models import ET_AL, Paper
from paperboy.sources.biorxiv import categories, ids
from paperboy.sources.biorxiv.calendar import midnight
from paperboy.sources.biorxiv.markup import to_marked
from paperboy.sources.polite import FaultError, quoted
from paperboy.tex import plain

LONGEST = 100_000  # records of a window; a month has 7,500
LARGEST_PAGE = 1_000  # records
TITLE = 1_000  # characters, as below
ABSTRACT = 10_000
NAME = 200
AUTHORS = 5_000
CUT = range(598, 601)  # characters of a list of authors that the API may have cut

NO_PAPERS = "no posts found"  # the status beyond the last record, too

_DAY = timedelta(days=1)
_NO_BREAK = "\u00a0"


class Window(NamedTuple):
    """Days whose records were asked for, both included."""

    first: date
    last: date


@dataclass(frozen=True, slots=True)
class RecordsPage:
    """Page of a longer list of records, oldest first."""

    total: int  # records in the whole list, or more
    size: int  # records of this page, of any kind; 0: there are none, or no more
    versions: frozenset[str] = frozenset()  # names of the versions, such as DOIv1
    newest: date = date.min  # day of the newest record
    papers: tuple[Paper, ...] = ()  # the first versions
    bad: tuple[str, ...] = ()  # the defects of unusable records


def read_page(body: bytes, key: str, window: Window, cursor: int = 0) -> RecordsPage:
    """Return the page that begins with record `cursor` of a server, by its key. Raises FaultError
    if the body is anything else.

    One bad record must not cost all others; a page with more than one in ten is broken.
    """
    message, records = _parsed(body)
    status = _text(message, "status")
    if status.lower() not in {"ok", NO_PAPERS}:
        raise FaultError(f"says {quoted(status)!r}")
    if not records:
        return RecordsPage(total=cursor, size=0)

    total = _total(message, cursor)
    size = len(records)
    if not size <= LARGEST_PAGE:
        raise FaultError(f"sent a page of {size} records")

    versions = set[str]()
    newest = date.min
    papers = list[Paper]()
    bad = list[str]()
    for place, record in enumerate(records, cursor + 1):
        try:
            version, day, paper = _read(record, key, window)
        except _DefectError as defect:
            bad.append(f"{quoted(_text(record, 'doi')) or f'record {place}'} {defect}")
            continue
        versions.add(version)
        newest = max(newest, day)
        if paper and day <= window.last:  # today's come with tomorrow's fetch
            papers.append(paper)

    if len(bad) > max(1, size // 10):
        raise FaultError(f"sent {len(bad)} bad records in {size} ({', '.join(bad[:3])})")
    return RecordsPage(
        total=total,
        size=size,
        versions=frozenset(versions),
        newest=newest,
        papers=tuple(papers),
        bad=tuple(bad),
    )


def _parsed(body: bytes) -> tuple[Mapping[str, Any], list[Any]]:
    try:
        reply = json.loads(body)
        message = reply["messages"][0]
        has_none = str(message["status"]).lower() == NO_PAPERS
        records = reply.get("collection", [] if has_none else None)
        if isinstance(message, dict) and isinstance(records, list):
            return message, records
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    raise FaultError(f"sent no list of records ({quoted(body) or 'an empty body'})")


def _total(message: Mapping[str, Any], cursor: int) -> int:
    """Return how many records there are in total. Raises FaultError if they are not the requested
    ones.
    """
    echo = _text(message, "category")
    if echo != "all":
        raise FaultError(f"answered for the category {quoted(echo)!r}, not for all")
    begins = _text(message, "cursor")
    if "cursor" in message and begins != str(cursor):
        raise FaultError(f"answered from record {quoted(begins)!r} on, not from {cursor}")

    total = _text(message, "total")
    if not re.fullmatch(r"\d{1,9}", total, re.ASCII):
        raise FaultError(f"counts {quoted(total)!r} records")
    if int(total) > LONGEST:
        raise FaultError(f"counts {total} records", backoff=0)
    return int(total)


class _DefectError(ValueError):
    """Defect of a record, in words that follow its DOI."""


def _read(record: Any, key: str, window: Window) -> tuple[str, date, Paper | None]:
    """Return the version's name, the day on which it was posted and, for a first version, the
    paper. Raises _DefectError.
    """
    doi = _text(record, "doi").lower()
    if not re.fullmatch(ids.DOI, doi, re.ASCII):
        raise _DefectError("without a DOI of bioRxiv or medRxiv")
    if _text(record, "server").lower() not in {key, ""}:
        raise _DefectError("of another server")

    parts = re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", _text(record, "date"), re.ASCII)
    try:
        day = date(*map(int, parts.groups())) if parts else date.min
    except ValueError:
        day = date.min
    if not window.first <= day <= window.last + _DAY:  # today's may be there, too
        raise _DefectError("with a bad date")

    version = _text(record, "version")
    if not re.fullmatch(r"\d{1,4}", version, re.ASCII):
        raise _DefectError("without a version")
    name = f"{doi}v{version}"
    if version != "1":
        return name, day, None

    title = one_line(_text(record, "title"))
    category = _text(record, "category")
    if not title:
        raise _DefectError("without a title")
    if not category:
        raise _DefectError("without a category")

    whole_name = _TITLES.sub("", _words(record, "author_corresponding"))
    found = categories.of_record(key, category)
    posted = midnight(day)
    lines = map(one_line, _known(record, "abstract").splitlines())
    paper = Paper(
        id=f"{key}:{doi}",
        version=1,
        title=shortened(title, TITLE),
        authors=_authors(_known(record, "authors"), whole_name),
        abstract=shortened("\n".join(filter(None, lines)), ABSTRACT),
        primary_category=found,
        categories=(found,),
        published=posted,
        updated=posted,
        doi=doi,
        corresponding=whole_name,
        institution=_words(record, "author_corresponding_institution"),
        license=_words(record, "license").lower() or "unknown",
    )
    return name, day, paper


def _authors(text: str, whole_name: str) -> tuple[str, ...]:
    """Return "Surname, A. B.; …" as names in their natural order, with the corresponding author's
    `whole_name` in its place. A consortium has no comma. If the list was cut, its last piece is
    dropped, the whole name is added if missing, and "et al." is appended.
    """
    is_cut = len(text) in CUT
    pieces = unescape(text).split(";")  # an entity has a semicolon, too
    if is_cut:
        pieces.pop()

    whole_words = _comparable(whole_name)
    names = list[str]()
    place = -1
    for written in pieces[:AUTHORS]:
        parts = map(one_line, plain(to_marked(shortened(written, NAME))).split(","))
        surname, given, *suffix = [*filter(None, parts), "", ""]
        # A no-break space keeps a surname of several words together, also for comparisons.
        last = _NO_BREAK.join(surname.split()) if given else surname
        name = " ".join(filter(None, [given, last, *suffix]))
        if not any(map(str.isalpha, name)):
            continue
        words = _comparable(surname)
        has_surname = (
            given and len(words) < len(whole_words) and whole_words[-len(words) :] == words
        )
        if has_surname and folded(given)[:1] == whole_words[0][0]:
            place = len(names)  # of several, the last: corresponding authors come late
        names.append(name)

    if place >= 0:
        names[place] = whole_name
    elif is_cut and whole_name:
        names.append(whole_name)
    return (*names, ET_AL) if is_cut else tuple(names)


# Titles and degrees around a name, and the comma before a suffix. Ma and Do are surnames, and Md is
# a first name.
_TITLES = re.compile(
    r"^(?:(?:Dr|Prof|Professor)\b\.?\s*)+"
    r"|,(?=\s(?:[JS]r|I{2,3}|IV)\b)"
    r"|(?:[\s,]+(?:M\.?D|Ph\.? ?D|D\.?Phil|DrPH|Pharm\.?D|Sc\.?D|DVM|M\.?Sc|MPH|MBBS|MBBCh|FRCPC?|FACC|FACS)\b\.?)+$",
    re.IGNORECASE,
)


def _comparable(name: str) -> list[str]:
    words = [folded(word).strip(".,") for word in name.split()]
    return [word for word in words if word and word not in NAME_SUFFIXES]


def _words(record: Any, name: str) -> str:
    return shortened(one_line(plain(to_marked(_known(record, name)))), NAME)


def _known(record: Any, name: str) -> str:
    text = _text(record, name)
    return "" if text.upper() == "NA" else text


def _text(record: Any, name: str) -> str:
    """Return a field as text; what exceeds its limits is not read."""
    value = record.get(name) if isinstance(record, Mapping) else None
    if isinstance(value, int):
        value = str(value)[:20] if abs(value) < 10**20 else ""
    most = {"authors": AUTHORS * 50, "abstract": 2 * ABSTRACT}.get(name, 2 * TITLE)
    return value[:most].strip() if isinstance(value, str) else ""
