"""What arXiv, or somebody in its place, may send without end: each case costs itself alone, in time and in memory."""

from __future__ import annotations

import json
import string
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from paperboy.errors import FeedError
from paperboy.models import Paper
from paperboy.sources.arxiv.client import ArxivClient
from tests.builders import paper
from tests.fakes import Clock
from tests.servers import arxiv_faults as faults
from tests.servers.arxiv_api import ArxivServer

NOW = datetime(2026, 11, 20, 7, 0, tzinfo=UTC)
SINCE = NOW - timedelta(days=7)
MB = 1_000_000


@pytest.fixture
def server() -> Iterator[ArxivServer]:
    papers = [paper(f"2611.{n:05}", published=NOW - timedelta(hours=80 - n)) for n in range(1, 31)]
    with ArxivServer(papers) as running:
        yield running


def fetch(server: ArxivServer, seconds: float = 60) -> list[Paper]:
    feed = ArxivClient(
        server.url, delay_seconds=0, tries=2, seconds=seconds, clock=Clock(NOW), wait=lambda _: None
    )
    return feed.fetch(["cs.LG"], SINCE, NOW)


def error(server: ArxivServer, seconds: float = 60) -> str:
    """What a fetch that fails says."""
    with pytest.raises(FeedError) as caught:
        fetch(server, seconds)
    return str(caught.value)


# fields of the first of thirty entries


def words(count: int) -> str:
    return " ".join(["word"] * (count // 5))


def author(name: str, more: str = "") -> str:
    return f"<author><name>{name}</name>{more}</author>"


MANY = [f"math.{a}{b}" for a in string.ascii_uppercase for b in string.ascii_uppercase]
SECOND = "Grace Hopper"
CUT = {
    "title": ("title", f"<title>{words(MB)}</title>", {"title": words(1_000) + "…"}),
    "abstract": (
        "summary",
        f"<summary>{words(21 * MB // 2)}</summary>",
        {"abstract": words(10_000) + "…"},
    ),
    "comment": (
        "link",
        f"<arxiv:comment>{words(MB)}</arxiv:comment>",
        {"comment": words(2_000) + "…"},
    ),
    "doi": ("link", f"<arxiv:doi>{'1' * MB}</arxiv:doi>", {"doi": "1" * 299 + "…"}),
    "name": ("author", author(words(MB)), {"authors": (words(200) + "…", SECOND)}),
    "authors": ("author", author("Ada") * 50_000, {"authors": ("Ada",) * 5_000}),
    "categories": (
        "category",
        "".join(f'<category term="{name}"/>' for name in MANY),
        {"categories": (*MANY[:50], "cs.LG")},
    ),
    "primary": (
        "arxiv:primary_category",
        f'<arxiv:primary_category term="cs.{"A" * MB}"/>',
        {"primary_category": "cs.LG"},
    ),
    "link": ("link", f'<link href="https://{"a" * 11 * MB}"/>', {}),
    "text in many pieces": ("title", f"<title>Word{'<x/>x' * 200_000}</title>", {"title": "Word"}),
}


@pytest.mark.parametrize("name", CUT)
def test_field_beyond_its_bound_is_cut_with_a_mark(server: ArxivServer, name: str) -> None:
    element, instead, changes = CUT[name]
    server.faults += [faults.in_first_entry(element, instead)]
    first, *others = fetch(server)
    assert others == server.papers[1:]
    assert {field: getattr(first, field) for field in changes} == changes
    assert len(server.requests) == 1


BAD = {
    "id": (
        "id",
        f"<id>http://arxiv.org/abs/2611.{'0' * MB}1v1</id>",
        "entry 1 without an arXiv id",
    ),
    "id of many ids": (
        "id",
        f"<id>{'http://arxiv.org/abs/' * 50_000}</id>",
        "entry 1 without an arXiv id",
    ),
    "version": (
        "id",
        f"<id>http://arxiv.org/abs/2611.00001v{'1' * 99}</id>",
        "entry 1 without an arXiv id",
    ),
    "date": ("published", f"<published>{'2' * MB}</published>", "2611.00001 with a bad date"),
    "update": ("updated", f"<updated>{'2' * MB}</updated>", "2611.00001 with a bad date"),
    "title of spaces": ("title", f"<title>{' ' * 11 * MB}x</title>", "2611.00001 without a title"),
}


@pytest.mark.parametrize("name", BAD)
def test_field_that_cannot_be_cut_makes_a_bad_entry(
    server: ArxivServer, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    element, instead, defect = BAD[name]
    server.faults += [faults.in_first_entry(element, instead)]
    assert fetch(server) == server.papers[1:]
    assert f"invalid entries left out: {defect}; " in caplog.text
    assert len(server.requests) == 1


# whole replies


def nested(depth: int) -> bytes:
    return b"<a>" * depth + b"</a>" * depth


BOMB = b"".join(b'<!ENTITY e%d "%s">' % (n, b"&e%d;" % (n - 1) * 100) for n in range(1, 9))
NO_LIST = "sent something other than a whole list of papers"
NO_REPLY = "did not send a complete reply (the reply %s)"
BROKEN = {
    "spaces": (faults.body(b" " * 70 * MB), NO_REPLY % "is too large"),
    "spaces in a bomb": (faults.packed_spaces(500 * MB), NO_REPLY % "is too large"),
    "64 MB of spaces": (faults.body(b" " * 63 * MB), f"{NO_LIST} (nothing)"),
    "endless body": (faults.endless_body, NO_REPLY % "is too large"),
    "elements": (faults.body(b"<feed>", b"<a/>" * 15 * MB), NO_LIST),
    "attributes": (
        faults.body(b"<feed ", b" ".join(b'a%d=""' % n for n in range(MB)), b"/>"),
        NO_LIST,
    ),
    "nested elements": (faults.body(nested(250_000)), f"{NO_LIST} (<a)"),
    "bomb of entities": (
        faults.body(b'<!DOCTYPE feed [<!ENTITY e0 "ha">', BOMB, b']><feed a="&e8;">&e8;</feed>'),
        f"{NO_LIST} (<!DOCTYPE feed [",
    ),
    "count of 60 MB": (
        faults.claimed_total("\U0001f600" + "x" * 60 * MB),
        "sent a page of 30 papers and counts none",
    ),
    "one text": (
        faults.body("<feed>\U0001f600".encode(), b"x" * 63 * MB, b"</feed>"),
        f"{NO_LIST} (",
    ),
    "UTF-16": (
        faults.body("<feed>".encode("utf-16"), "<a/>".encode("utf-16-le") * 5 * MB),
        NO_LIST,
    ),
    "EBCDIC": (
        faults.body("<?xml version='1.0' encoding='cp037'?><feed/>".encode("cp037")),
        f"{NO_LIST} (Lo",
    ),
}
CHILD = """
import json, resource, sys
from datetime import datetime
from paperboy.sources.arxiv.client import ArxivClient
from paperboy.errors import FeedError
resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000,) * 2)
url, since, until = sys.argv[1:]
until = datetime.fromisoformat(until)
feed = ArxivClient(url, delay_seconds=0, tries=2, clock=lambda: until, wait=lambda _: None)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    said = str(feed.fetch(["cs.LG"], datetime.fromisoformat(since), until))
except FeedError as error:
    said = str(error)
print(json.dumps([said, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before]))
"""


@pytest.mark.parametrize("name", BROKEN)
def test_reply_beyond_its_bound_is_a_broken_page_in_little_memory(
    server: ArxivServer, name: str
) -> None:
    fault, says = BROKEN[name]
    server.faults += [fault] * 2
    command = [sys.executable, "-c", CHILD, server.url, SINCE.isoformat(), NOW.isoformat()]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    said, kilobytes = json.loads(result.stdout)
    assert said.startswith(f"127.0.0.1 {says}")
    assert "after 2 attempts" in said
    assert said.endswith("The next run fetches the same days again, so no paper is lost.")
    assert kilobytes < 300_000
    assert len(server.requests) == 2


LATE = NO_REPLY % "took too long"
ENDLESS_HEAD = NO_REPLY.removesuffix("the reply %s)")
ENDLESS = {
    "dripping body": (faults.dripping_body, LATE),
    "dripping headers": (faults.dripping_headers, LATE),
    "dripping interim replies": (faults.dripping_continue, LATE),
    "endless headers": (faults.endless_headers, ENDLESS_HEAD),
    "endless header": (faults.endless_header, ENDLESS_HEAD),
    "endless interim replies": (faults.endless_continue, ENDLESS_HEAD),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_reply_that_never_ends_meets_the_deadline(server: ArxivServer, name: str) -> None:
    fault, says = ENDLESS[name]
    server.faults += [fault] * 2
    said = error(server, seconds=0.3 if says == LATE else 1)
    assert said.startswith(f"127.0.0.1 {says}")
    assert "), after 2 attempts. Check the net" in said
    assert len(server.requests) == 2


# numbers


@pytest.mark.parametrize(
    ("total", "says"),
    [
        ("30001", "counts 30001 papers. Set ARXIV_LOOKBACK_DAYS to fewer days."),
        ("9" * 5_000, "sent a page of 30 papers and counts none, after 2 attempts."),
        ("-1", "sent a page of 30 papers and counts none, after 2 attempts."),
        ("29", "sent a page of 30 papers and counts 29, after 2 attempts."),
        (
            "3\n2026-11-20 07:00:00 ERROR forged",
            "sent a page of 30 papers and counts none, after 2 attempts.",
        ),
        ("\u0663\u0660", "sent a page of 30 papers and counts none, after 2 attempts."),
    ],
)
def test_count_beyond_its_range_is_a_plain_outcome(
    server: ArxivServer, total: str, says: str
) -> None:
    server.faults += [faults.claimed_total(total)] * 2
    assert error(server).startswith(f"127.0.0.1 {says}")


# redirects


@pytest.mark.parametrize(
    ("location", "says"),
    [
        ("http://localhost:1/api/query", "redirects to http://localhost:1/api/query"),
        ("//arxiv.example:80/api/query", "redirects to //arxiv.example:80/api/query"),
        ("ftp://127.0.0.1/list", "redirects to ftp://127.0.0.1/list"),
        ("file:///etc/passwd", "redirects to file:///etc/passwd"),
        ("http://[::1", "redirects to http://[::1"),
        ("https://" + "a" * 5_000, "redirects to https://" + "a" * 111 + "…"),
    ],
)
def test_redirect_is_an_error_that_names_its_target(
    server: ArxivServer, location: str, says: str
) -> None:
    server.faults += [faults.redirected(location)]
    assert error(server) == f"127.0.0.1 {says}. Check ARXIV_API_URL."


# what is said of it


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (
            faults.refused("no\n2026-11-20 07:00:00 ERROR forged\u202e"),
            r"HTTP 400 (no 2026-11-20 07:00:00 ERROR forged\u202e)",
        ),
        (
            faults.plain(404, "no\r\n2026-11-20 ERROR \x1b[2J"),
            r"HTTP 404 (no 2026-11-20 ERROR \x1b[2J)",
        ),
        (faults.refused("x" * MB), f"HTTP 400 ({'x' * 119}…)"),
        (faults.plain(404, "<" * MB), f"HTTP 404 ({'<' * 119}…)"),
    ],
)
def test_words_of_the_server_stay_on_their_line(
    server: ArxivServer, fault: faults.Fault, says: str
) -> None:
    server.faults += [fault]
    assert error(server).startswith(f"127.0.0.1 answered {says}. Check ")
