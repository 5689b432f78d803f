"""A Zotero collection as a library of liked papers, read from Zotero's web API.

    version       ← of the whole library; known already? then nothing has changed, after one request
    collections   ← of the library; ours and those below it are read
    items         ← of each, newest first, a hundred a page

A failed page is requested again, no sooner than the server says; a fetch takes at most ten minutes.
The API key is sent only in a header, and hidden where the server's words are quoted.
"""

import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from paperboy import __version__
from paperboy.edges.text import hidden, one_line, shortened
from paperboy.edges.wire import TRANSIENT, Http, HttpReply, NoReplyError, retry_after
from paperboy.errors import FeedError
from paperboy.home.library import KEY, MOST_ITEMS, Collection, LibraryItem, distinct
from paperboy.sources.polite import FaultError, quoted
from paperboy.sources.references import id_in

URL = "https://api.zotero.org"
MOST_COLLECTIONS = 5_000  # of a whole library
LONGEST = 600.0  # seconds of a fetch, with all its pauses
LONGEST_PAUSE = 60.0  # seconds
TRIES = 4

_PAGE = 100  # the most that the API gives
_LARGEST_REPLY = 16_000_000  # bytes; a page takes 500,000
_AGAIN = "the next run asks again"
_KEYS = "zotero.org/settings/keys"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CollectionItems:
    """Papers of a collection and of all below it, a preprint and its publication as one. All text
    is plain, in one line.
    """

    version: int  # of the library before its items were read; 0: unknown
    items: tuple[LibraryItem, ...]  # the newest is the last


class _Added(NamedTuple):
    at: datetime  # in UTC
    key: str
    item: LibraryItem


class _Page(NamedTuple):
    status: int  # 200 or 304
    version: int
    total: int  # of all pages
    rows: list[Any]


class ZoteroClient:
    """Client of the API at `url`. Without an `api_key` it reads public libraries.

    `seconds` limit each reply; `proxy` is for https; `wait` sleeps between requests.
    """

    def __init__(
        self,
        api_key: str = "",
        *,
        url: str = URL,
        proxy: str = "",
        seconds: float = 60.0,
        wait: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._host = urlsplit(url).hostname
        self._key = api_key
        self._seconds = seconds
        self._wait = wait
        self._monotonic = monotonic
        self._ready = 0.0  # when the next request may be sent
        self._end = 0.0  # of this fetch
        self._proxy = proxy

    @cached_property
    def _http(self) -> Http:
        """Each list of a morning gets a client; few ask, and certificates take 60 ms to load."""
        return Http(most=_LARGEST_REPLY, proxy=self._proxy)

    def fetch(self, collection: Collection, known: int | None = None) -> CollectionItems | None:
        """Return the papers of a collection and of those below it, at most `MOST_ITEMS`; None if
        the library still has the version `known`, of an earlier fetch. Raises FeedError.

        A change while pages are read gives the library a later version than the result has, so
        the next fetch reads everything again.
        """
        self._end = self._monotonic() + LONGEST
        try:
            with closing(self._http):  # closes the connection; the next request reopens it
                first = self._page(f"{collection.library}/collections", {"limit": 1}, known)
                if first.status == 304:
                    return None
                items = self._items(collection)
        except FaultError as fault:
            attempts = f" in {fault.attempts} attempts" if fault.attempts > 1 else ""
            what = f"library {collection}: {self._host} {fault}{attempts}; {fault.hint}"
            raise FeedError(what) from None
        return CollectionItems(first.version, items)

    def _items(self, collection: Collection) -> tuple[LibraryItem, ...]:
        path = f"{collection.library}/collections"
        parents = dict[str, str]()
        for row in self._rows(path, MOST_COLLECTIONS, {}):
            data = _data(row)
            key = _text(data, "key")
            if re.fullmatch(KEY, key) and not data.get("deleted"):  # in the bin
                parents[key] = _text(data, "parentCollection")

        keys = [collection.key]
        for key in keys:  # which grows; a collection may be said to be below itself
            keys += [name for name, parent in parents.items() if parent == key and name not in keys]

        query = {"itemType": "-attachment || note", "sort": "dateAdded", "direction": "desc"}
        newest = list[_Added]()
        for key in keys:
            rows = self._rows(f"{path}/{key}/items/top", MOST_ITEMS, query)
            added = filter(None, map(_added, rows))
            found = {one.key: one for one in (*newest, *added)}
            newest = sorted(found.values(), key=lambda one: one.at, reverse=True)[:MOST_ITEMS]

        return tuple(reversed(distinct(one.item for one in newest)))

    def _rows(self, path: str, most: int, query: Mapping[str, object]) -> Iterator[Any]:
        """Yield the rows of all pages, but not many more than `most`. Raises FaultError."""
        start = 0
        total = most
        while start < min(total, most):
            page = self._page(path, {"limit": _PAGE, "start": start, **query})
            if not page.rows:  # some were removed meanwhile
                return
            yield from page.rows
            start += len(page.rows)
            total = page.total

    def _page(self, path: str, query: Mapping[str, object], known: int | None = None) -> _Page:
        """Ask for a page until it comes. Raises FaultError."""
        url = f"{self._url}/{path}?{urlencode(query)}"
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._ask(url, known)
            except FaultError as fault:
                fault.attempts = attempt
                self._ready = max(self._ready, self._monotonic() + 2.0**attempt)
                if (
                    not fault.backoff
                    or attempt >= TRIES
                    or self._ready > self._last_start(self._monotonic())
                ):
                    raise
                logger.info("%s %s; retrying", self._host, fault)

    def _last_start(self, now: float) -> float:
        """Return the latest time for a request to begin; after it, the task retries later."""
        return min(self._end, now + LONGEST_PAUSE)

    def _ask(self, url: str, known: int | None) -> _Page:
        """Ask once, as soon as the server allows. Raises FaultError, also once the time is up."""
        now = self._monotonic()
        if max(self._ready, now) > self._last_start(now):
            raise FaultError("keeps us waiting for too long", _AGAIN, backoff=0)
        if self._ready > now:
            self._wait(self._ready - now)

        headers = {"User-Agent": f"paperboy/{__version__}", "Zotero-API-Version": "3"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        if known is not None:
            headers["If-Modified-Since-Version"] = f"{known}"
        try:
            reply = self._http.request("GET", url, headers, seconds=self._seconds)
        except NoReplyError as error:
            # If the host is unknown, there is probably no network, and a retry would not help.
            backoff = 0 if error.unknown else 1
            what = "cannot be reached" if error.unreachable else "did not send a complete reply"
            hint = "check the network and HTTPS_PROXY"
            raise FaultError(f"{what} ({self._quoted(str(error))})", hint, backoff) from None

        self._ready = self._monotonic() + _asked_pause(reply.headers)
        if reply.status == 304 and known is not None:
            return _Page(304, known, 0, [])
        if reply.status != 200:
            raise self._refusal(reply)
        try:
            rows = json.loads(reply.body)
        except (ValueError, RecursionError):
            rows = None
        if not isinstance(rows, list):
            what = f"sent no list of items ({self._quoted(reply.body) or 'an empty body'})"
            hint = "check that no proxy or login page answers in its place"
            raise FaultError(what, hint)
        version = _number(reply.headers, "Last-Modified-Version", 0)
        total = _number(reply.headers, "Total-Results", MOST_COLLECTIONS)
        return _Page(200, version, total, rows[:_PAGE])

    def _refusal(self, reply: HttpReply) -> FaultError:
        status = reply.status
        words = f"HTTP {status}: {self._quoted(reply.body)}".removesuffix(": ")
        if status == 403 and self._key:
            hint = f"make a key that may read this library at {_KEYS}"
            return FaultError(f"refuses ZOTERO_API_KEY ({words})", hint, backoff=0)
        if status == 403:
            hint = f"set ZOTERO_API_KEY to a key that may read it, from {_KEYS}"
            return FaultError(f"requires an API key ({words})", hint, backoff=0)
        if status == 404:
            hint = (
                "correct the list's library: the collection's address on zotero.org ends in its"
                f" KEY, and {_KEYS} shows your ID"
            )
            return FaultError(f"has no such collection ({words})", hint, backoff=0)
        if status in TRANSIENT:
            return FaultError(f"answers {words}", _AGAIN)
        if location := reply.headers.get("Location"):
            words += f", a redirect to {self._quoted(location)}"
        hint = "check ZOTERO_API_KEY and the list's library"
        return FaultError(f"answers {words}", hint, backoff=0)

    def _quoted(self, foreign: str | bytes) -> str:
        """Quote the server without the key, which is hidden before anything is cut."""
        start = foreign[:100_000]
        text = start if isinstance(start, str) else start.decode(errors="replace")
        return quoted(hidden(text, self._key))


def _asked_pause(headers: Mapping[str, str]) -> float:
    """Return how many seconds a reply asks to wait: by Retry-After, or by Backoff, which comes with
    good replies, too.
    """
    backoff = {"Retry-After": headers.get("Backoff", ""), "Date": headers.get("Date", "")}
    return max(retry_after(headers), retry_after(backoff))


def _number(headers: Mapping[str, str], name: str, default: int) -> int:
    written = headers.get(name, "").strip()
    return int(written) if re.fullmatch(r"[0-9]{1,18}", written) else default


# --- items

_PAPERS = frozenset({
    "book", "bookSection", "conferencePaper", "document", "journalArticle", "manuscript",
    "preprint", "report", "thesis",
})  # fmt: skip
_AROUND_ID = re.compile(r"^DOI:\s*|\s*\[[\w.-]+\]$|[?#].*", re.IGNORECASE)  # "X [cs]", "X?query"
_DOI = re.compile(
    r"(?:(?:https?://)?(?:dx\.|www\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/\S+)",
    re.ASCII | re.IGNORECASE,
)
_TAG = re.compile(r"</?(?:b|i|sc|span|su[bp])(?:\s[^<>]{0,200})?>", re.IGNORECASE)
_LINE = 500  # characters of a line that may be an id
_LINES = 100  # of the field "extra"
_TITLE = 1_000  # characters
_ABSTRACT = 10_000
_NAME = 200
_AUTHORS = 1_000


def _added(row: Any) -> _Added | None:
    """Return the paper in a row of a page; None if it is something else, or cannot be read."""
    data = _data(row)
    lines = _text(data, "extra").splitlines()[:_LINES]
    texts = [_text(data, "archiveID"), *lines, _text(data, "url"), _text(data, "DOI")]
    places = [text.strip()[:_LINE] for text in texts]
    paper_id = next(filter(None, map(_written_id, places)), "")
    dois = map(_DOI.fullmatch, reversed(places))  # the item's own field first
    kind = _text(data, "itemType")
    is_paper = kind in _PAPERS or (kind == "webpage" and paper_id)
    title = _plain(_text(data, "title"), _TITLE)
    key = _text(data, "key")
    if data.get("deleted") or not (is_paper and title and key):
        return None

    try:
        added = datetime.fromisoformat(_text(data, "dateAdded"))
        added = added.astimezone(UTC) if added.tzinfo else added.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None

    item = LibraryItem(
        paper_id=paper_id,
        doi=next((doi[1].lower() for doi in dois if doi), ""),
        title=title,
        authors=tuple(_authors(data)),
        abstract=_plain(_text(data, "abstractNote"), _ABSTRACT),
    )
    return _Added(added, key, item)


def _written_id(text: str) -> str:
    return id_in(_AROUND_ID.sub("", text))


def _authors(data: Mapping[str, Any]) -> Iterator[str]:
    creators = data.get("creators")
    for creator in creators[:_AUTHORS] if isinstance(creators, list) else ():
        if isinstance(creator, dict) and creator.get("creatorType", "author") == "author":
            parts = (_text(creator, part) for part in ("firstName", "lastName", "name"))
            if name := _plain(" ".join(parts), _NAME):
                yield name


def _plain(text: str, most: int) -> str:
    return shortened(one_line(_TAG.sub("", text[: 4 * most])), most)


def _data(row: Any) -> Mapping[str, Any]:
    data = row.get("data") if isinstance(row, dict) else None
    return data if isinstance(data, dict) else {}


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""
