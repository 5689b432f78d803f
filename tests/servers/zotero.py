"""Zotero's web API on loopback: a library of collections and items that a test can change, with faults on order.

    with ZoteroServer() as server:
        liked = server.collection("Liked")
        server.item(liked, title="On rain", DOI="10.5555/rain")
        server.faults += [rate_limited(retry_after=60)]   # one per request, in this order; then all is well
        ...  # a client reads server.url

Each change gives the library its next version, as in zotero/dataserver, from which the rules here are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.message import Message
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.servers.arxiv_faults import Answer, Fault
from tests.servers.loopback import LoopbackServer

MOST = 100  # rows of a page; 25 if nobody says
_ALPHABET = "23456789ABCDEFGHIJKLMNPQRSTUVWXYZ"  # of keys
_FIRST = datetime(2026, 1, 1, 12, tzinfo=UTC)  # an item is added each hour


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it came."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in small letters


@dataclass
class ZoteroServer(LoopbackServer):
    """Serves one library from a thread while its `with` block lasts. All may be changed at any time."""

    library: str = "users/1234567"
    api_key: str = ""  # the only one that there is; empty: the library is public
    version: int = 7
    port: int = 0
    collections: dict[str, dict[str, Any]] = field(default_factory=dict)
    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    lasting_fault: Fault | None = None  # met by every request when `faults` is empty
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.port = self.listen(self.port)
        self.url = f"http://127.0.0.1:{self.port}"

    # the library

    def collection(self, name: str, parent: str = "") -> str:
        """Add a collection, and return its key."""
        key = _key(len(self.collections))
        self.collections[key] = {
            "key": key,
            "name": name,
            "parentCollection": parent or False,
            "relations": {},
        }
        self._changed(self.collections[key])
        return key

    def item(self, *collections: str, **fields: Any) -> str:
        """Add an item to collections, and return its key. It is a preprint unless the fields say else."""
        number = len(self.items)
        key = _key(1_000_000 + number)
        added = f"{_FIRST + timedelta(hours=number):%Y-%m-%dT%H:%M:%SZ}"
        self.items[key] = {
            "key": key,
            "itemType": "preprint",
            "title": f"Paper {number}",
            "creators": [],
            "abstractNote": "",
            "url": "",
            "extra": "",
            "tags": [],
            "collections": list(collections),
            "dateAdded": added,
            "dateModified": added,
            **fields,
        }
        self._changed(self.items[key])
        return key

    def remove(self, item: str) -> None:
        """Erase an item."""
        del self.items[item]
        self.version += 1

    def trash(self, key: str) -> None:
        """Put an item or a collection into the bin."""
        thing = self.items.get(key) or self.collections[key]
        thing["deleted"] = 1
        self._changed(thing)

    def _changed(self, thing: dict[str, Any]) -> None:
        self.version += 1
        thing["version"] = self.version

    # HTTP

    def answer_to(self, target: str, headers: Message, _: int) -> Answer:
        """Record the request, find what it asks for, apply the next fault."""
        address = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        said = {name.lower(): value for name, value in headers.items()}
        request = Request(address.path, query, said)
        self.requests.append(request)
        fault = self.next_fault()
        right = self._right(request)
        return fault(right) if fault else right

    def _right(self, request: Request) -> Answer:
        if refusal := self._refusal(request):
            return refusal
        version = ("Last-Modified-Version", str(self.version))
        if self.version <= int(request.headers.get("if-modified-since-version", "-1")):
            return Answer(b"", 304, (version,))

        _, _, *path = request.path.strip("/").split("/")
        match path:
            case ["collections"]:
                rows = list(self.collections.values())  # those in the bin, too
            case ["collections", name, "items", "top"] if name in self.collections:
                rows = self._items(name, request.query)
            case _:
                found = "Collection not found" if path[:1] == ["collections"] else "Not found"
                return _said(404, found)

        start = int(request.query.get("start", "0"))
        limit = min(int(request.query.get("limit", "25")), MOST)
        page = [
            {"key": row["key"], "version": row["version"], "data": row}
            for row in rows[start : start + limit]
        ]
        headers = (
            ("Content-Type", "application/json"),
            ("Zotero-API-Version", "3"),
            ("Total-Results", str(len(rows))),
            version,
        )
        return Answer(json.dumps(page).encode(), headers=headers)

    def _refusal(self, request: Request) -> Answer | None:
        bearer = request.headers.get("authorization", "")
        key = request.headers.get("zotero-api-key", "") or bearer.removeprefix("Bearer ")
        kind, number = request.path.strip("/").split("/")[:2]
        if bearer and not re.fullmatch("Bearer [A-Za-z0-9]+", bearer):
            return _said(400, "Invalid Authorization header format")
        if key and key != self.api_key:
            return _said(403, "Invalid key")
        if f"{kind}/{number}" != self.library:
            return _said(404, f"User {number} not found" if kind == "users" else "Not found")
        if self.api_key and not key:
            return _said(403, "Forbidden")
        return None

    def _items(self, collection: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return a collection's items; those of collections below it are not within it."""
        types = query.get("itemType", "")
        left_out = types[1:].split(" || ") if types.startswith("-") else []
        rows = [
            item
            for item in self.items.values()
            if collection in item["collections"]
            and item["itemType"] not in left_out
            and (not item.get("deleted") or query.get("includeTrashed") == "1")
        ]
        order = query.get("sort", "dateModified")
        return sorted(rows, key=lambda item: item[order], reverse=query.get("direction") == "desc")


def _key(number: int) -> str:
    """Return the eight characters of a key."""
    letters = ""
    for _ in range(8):
        number, place = divmod(number, len(_ALPHABET))
        letters = _ALPHABET[place] + letters
    return letters


def _said(status: int, words: str) -> Answer:
    return Answer(words.encode(), status, (("Content-Type", "text/plain"),))


def with_header(name: str, value: object, *others: tuple[str, str]) -> Fault:
    """The right answer with one more header, such as `Backoff`, and others in place of its own."""

    def fault(answer: Answer) -> Answer:
        replaced = {name, *dict(others)}
        kept = [header for header in answer.headers if header[0] not in replaced]
        return replace(answer, headers=(*kept, (name, str(value)), *others))

    return fault


def html_page(answer: Answer) -> Answer:
    """A login page with 200, as of a hotel's network."""
    text = b"<!DOCTYPE html><html><head><title>Sign in to the network</title></head></html>"
    return replace(answer, body=text, headers=(("Content-Type", "text/html"),))
