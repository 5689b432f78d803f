"""What can be wrong with an answer of bioRxiv's API: each fault turns the right answer into a wrong one.

Those of any HTTP server are arXiv's, and are named here too. Those of the JSON and of its records leave an answer alone
that is no page.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.servers.arxiv_faults import (
    Answer,
    Fault,
    body,
    dripping_body,
    dripping_continue,
    dripping_headers,
    dropped,
    edited,
    endless_body,
    endless_continue,
    endless_header,
    endless_headers,
    fine,
    hang,
    no_body,
    packed_spaces,
    plain,
    rate_limited,
    redirected,
    short_body,
    truncated,
    unavailable,
)
from tests.servers.biorxiv_api import Page, Preprint, day_of

__all__ = [
    "Answer",
    "Fault",
    "body",
    "dripping_body",
    "dripping_continue",
    "dripping_headers",
    "dropped",
    "edited",
    "endless_body",
    "endless_continue",
    "endless_header",
    "endless_headers",
    "fine",
    "hang",
    "no_body",  # so from 15 to 30 September 2026
    "packed_spaces",
    "plain",
    "rate_limited",
    "redirected",
    "short_body",
    "truncated",
    "unavailable",
]

MISSING: Any = object()
"""The value of a field that is left out."""


def together(*faults: Fault) -> Fault:
    """All of these at once, in this order. One that changes what the page is made of goes first."""

    def fault(answer: Answer) -> Answer:
        for each in faults:
            answer = each(answer)
        return answer

    return fault


def only(server: str, fault: Fault) -> Fault:
    """The fault for "biorxiv" or "medrxiv" alone."""
    return lambda answer: (
        fault(answer) if isinstance(answer, Page) and answer.server == server else answer
    )


# ── Other than a page, in HTTP 200 ───────────────────────────────────────────────────────────────────────────────────


def html_page(answer: Answer) -> Answer:
    text = (
        "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body><br></body></html>"
    )
    return replace(answer, body=text.encode(), headers=(("Content-Type", "text/html"),))


def said(status: str) -> Fault:
    """That status, and no records."""
    content = {"messages": [{"status": status}], "collection": []}
    return body(json.dumps(content).encode())


no_posts = said("no posts found")
bad_doi = said("DOI not recognizable")
refused = body(b"Error : (2002) Connection refused")  # the server's own database
refused_in_json = said("(2002) Connection refused")
not_available = body(b"Not available at this time")
not_available_in_json = said("Not available at this time")


# ── The page's JSON ──────────────────────────────────────────────────────────────────────────────────────────────────


def changed(change: Callable[[Any], object]) -> Fault:
    """The page after `change` did something to its JSON, a dict of "messages" and "collection"."""

    def fault(answer: Answer) -> Answer:
        if not isinstance(answer, Page):
            return answer
        content = json.loads(answer.body)
        change(content)
        return replace(answer, body=json.dumps(content).encode())

    return fault


def _put(fields: dict[str, Any], values: dict[str, Any]) -> None:
    fields.update(values)
    for name, value in values.items():
        if value is MISSING:
            del fields[name]


def message(**values: Any) -> Fault:
    """Other values in `messages[0]`, such as `total=109`, `total=MISSING` or `category="genomics"`."""
    return changed(lambda content: _put(content["messages"][0], values))


def top(**values: Any) -> Fault:
    """Other values of "messages" and "collection"."""
    return changed(lambda content: _put(content, values))


def total_plus(number: int) -> Fault:
    """A `total` that is too large by that number, or too small."""

    def change(content: Any) -> None:
        for fields in content["messages"]:
            if "total" in fields:
                fields["total"] = str(int(fields["total"]) + number)

    return changed(change)


def _numbers(content: Any) -> None:
    for fields in content["messages"]:
        for name in {"total", "count_new_papers"} & set(fields):
            fields[name] = int(fields[name])


numeric_total = changed(_numbers)
"""Counts as numbers instead of text."""


def record(number: int = 0, /, **values: Any) -> Fault:
    """Other values in one of the page's records, if it has so many: of any type, or MISSING."""

    def change(content: Any) -> None:
        for fields in content["collection"][number:][:1]:
            _put(fields, values)

    return changed(change)


def each_record(**values: Any) -> Fault:
    """Other values in all of the page's records, of any type, or MISSING."""

    def change(content: Any) -> None:
        for fields in content["collection"]:
            _put(fields, values)

    return changed(change)


def each_field(name: str, change: Callable[[str], Any]) -> Fault:
    """A field of all records of the page, after `change`."""

    def change_all(content: Any) -> None:
        for fields in content["collection"]:
            fields[name] = change(fields[name])

    return changed(change_all)


def long_field(name: str, letters: int) -> Fault:
    """The page's first record with so long a text of words in a field."""
    return record(**{name: ("word " * (letters // 5)).strip()})


# 2026-6-30, not 2026-06-30.
unpadded_dates = each_field("date", lambda day: "-".join(str(int(part)) for part in day.split("-")))
capitalised_categories = each_field("category", str.title)


def _no_records(content: Any) -> None:
    content["collection"].clear()
    content["messages"][0]["count"] = 0


empty_page = changed(_no_records)
"""Status ok and the right total, but no record."""


def nested(depth: int = 100_000) -> Fault:
    """A first record of lists in lists: valid JSON that no recursive parser survives."""
    return edited(r'("collection": \[)', rf"\1{'[' * depth}{']' * depth}, ")


# ── What the page is made of ─────────────────────────────────────────────────────────────────────────────────────────


def made(remake: Callable[[Page], Page]) -> Fault:
    """The page after `remake` made it of other records."""
    return lambda answer: remake(answer) if isinstance(answer, Page) else answer


cursor_ignored = made(lambda page: page.of(page.found, start=0))
"""The first page again, whatever was asked."""


def overlapping(count: int = 1) -> Fault:
    """A page that begins so many records before its cursor: with those that ended the page before."""
    return made(lambda page: page.of(page.found, start=max(0, page.cursor - count)))


def stale(days: int = 1) -> Fault:
    """A mirror that does not have the newest days of the window yet."""

    def remake(page: Page) -> Page:
        newest = sorted({day_of(record) for record in page.found})[-days:]
        return page.of(record for record in page.found if day_of(record) not in newest)

    return made(remake)


def with_records(*records: Preprint) -> Fault:
    """These among the window's records, whatever their server or date."""
    return made(lambda page: page.of([*page.found, *records]))


BY_NAME = {
    "429": rate_limited(),
    "503": unavailable(),
    "html": html_page,
    "no-body": no_body,
    "no-posts": no_posts,
    "bad-doi": bad_doi,
    "refused": refused,
    "refused-in-json": refused_in_json,
    "not-available": not_available,
    "not-available-in-json": not_available_in_json,
    "truncated": truncated,
    "short": short_body,
    "dropped": dropped,
    "nested": nested(),
    "other-category": message(category="genomics"),
    "empty-page": empty_page,
    "stale": stale(),
}
"""Those under which no reading of a window is a whole one, while every request meets them."""
