"""What bioRxiv, or somebody in its place, may send: whatever that is, a fetch ends in time, with papers that are
bounded and fit, or with an error in one printable line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.edges.text import one_line, visible
from paperboy.errors import FeedError
from paperboy.models import Paper
from paperboy.sources.biorxiv.categories import read as read_categories
from paperboy.sources.biorxiv.client import BiorxivClient
from paperboy.sources.biorxiv.markup import to_marked
from paperboy.sources.biorxiv.records import Window
from paperboy.store import Store
from paperboy.tex import plain
from tests.hostile.http import AT_ONCE, EVIL
from tests.servers import biorxiv_faults as faults
from tests.servers.biorxiv_api import BiorxivServer, preprint

WINDOW = Window(date(2026, 11, 12), date(2026, 11, 19))
NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
LAST = 34  # number of the window's last record
MB = 1_000_000


@pytest.fixture(scope="module")
def server() -> Iterator[BiorxivServer]:
    """Two pages of records."""
    records = [
        preprint(number, WINDOW.last - timedelta(days=(LAST - number) // 5))
        for number in range(LAST + 1)
    ]
    with BiorxivServer(records) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "paperboy.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("store") / "paperboy.db") as opened:
        yield opened


def fetch(server: BiorxivServer, *faults: faults.Fault, seconds: float = 60) -> list[Paper] | str:
    """Return the papers, or the error, of a server with that fault for each of its first requests."""
    server.faults[:] = faults
    server.requests.clear()
    client = BiorxivClient(
        server.url, "biorxiv", tries=2, seconds=seconds, delay_seconds=0, wait=lambda _: None
    )
    try:
        papers = client.fetch(WINDOW)
    except FeedError as error:
        return str(error)
    finally:
        server.faults.clear()
        assert len(server.requests) <= 6
    return papers


def check(found: list[Paper] | str, store: Store) -> None:
    """Check that an error is a line, or that papers are bounded and fit."""
    if isinstance(found, str):
        assert found == visible(found), "a line"
        assert found.startswith("127.0.0.1 ")
        assert len(found) < 700
        return
    known = read_categories("biorxiv", "biorxiv")
    for paper in found:
        assert re.fullmatch(r"biorxiv:10\.(1101|64898)/[0-9.]{6,22}", paper.id)
        assert paper.version == 1
        assert 0 < len(paper.title) <= 1_000
        assert len(paper.abstract) <= 10_000
        assert len(paper.authors) <= 5_000
        assert all(0 < len(name) <= 600 for name in paper.authors)
        assert len(paper.institution) + len(paper.license) + len(paper.corresponding or "") <= 600
        assert paper.categories == (paper.primary_category,)
        assert paper.primary_category in known
        assert datetime(2026, 11, 12, tzinfo=UTC) <= paper.published == paper.updated <= NOW
        texts = [paper.title, *paper.abstract.splitlines(), *paper.authors, paper.institution]
        texts += plain(to_marked(f"{paper.title}\n{paper.abstract}")).splitlines()
        assert texts == list(map(one_line, texts)), "no line ends, and nothing invisible"
    store.papers.add(found, known, NOW, "biorxiv")
    assert store.papers.by_id([paper.id for paper in found]) == {paper.id: paper for paper in found}


# whole replies


def raw(kind: str) -> faults.Fault:
    return lambda answer: replace(
        answer,
        raw=lambda: filter(None, AT_ONCE[kind](answer.body, "application/json")),  # type: ignore[arg-type]
    )


ENDLESS: dict[str, faults.Fault] = {
    "dripping body": faults.dripping_body,
    "dripping headers": faults.dripping_headers,
    "dripping interim replies": faults.dripping_continue,
    "silence": faults.hang(30),
}
LARGE: dict[str, faults.Fault] = {
    "spaces": faults.body(b" " * 17 * MB),
    "16 MB of spaces": faults.body(b" " * 15 * MB),
    "spaces in a bomb": faults.packed_spaces(500 * MB),
    "arrays in arrays": faults.body(b"[" * 15 * MB),
    "a long text": faults.body(b'"', b"x" * 15 * MB, b'"'),
    "a million records": faults.top(collection=[{}] * MB),
    "a million messages": faults.top(messages=[{}] * MB),
    "a long title": faults.long_field("title", 8 * MB),
    "long authors": faults.record(authors="A,b;" * 3 * MB),
    "a nested record": faults.nested(),
}
HOSTILE = {**{kind: raw(kind) for kind in AT_ONCE}, **ENDLESS, **LARGE}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_reply_is_an_error_in_one_line_or_costs_itself_alone(
    server: BiorxivServer, store: Store, kind: str
) -> None:
    """In the place of the second page, again and again."""
    patience = 0.5 if kind in ENDLESS or "endless" in kind else 30
    found = fetch(server, faults.fine, HOSTILE[kind], HOSTILE[kind], seconds=patience)
    check(found, store)
    if isinstance(found, list):
        assert len(found) == LAST + 1


# random ones

PIECES = (
    *[EVIL, "\ud800", "\0", "NA", "", " ", "٣", "1", "2", "all", "ok", "no posts found"],
    *["2026-11-18", "2026-1-1", "9999-12-31", "10.64898/2026.11.17.700001", "10.1101/000001"],
    *["9" * 5_000, "a,b;" * 9_000, "<" * 30_000, "{" * 30_000, "\u0958" * 9_000, "C_SCPLOW" * 900],
    *[10**30, -1, 0, 1e308, float("nan"), True, None, [], {}],
)
VALUES = st.recursive(
    st.sampled_from(PIECES) | st.text() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
FIELDS = sorted(preprint(1, WINDOW.last).__slots__)
PLACES = st.one_of(
    st.tuples(st.just("messages"), st.just(0), st.sampled_from(["status", "category", "cursor", "total"])),
    st.tuples(st.just("collection"), st.integers(0, 6), st.sampled_from(FIELDS)),
    st.tuples(st.just("collection"), st.integers(0, 6)),
    st.tuples(st.sampled_from(["messages", "collection"])),
)  # fmt: skip


@pytest.mark.quick
@given(
    st.lists(st.tuples(PLACES, VALUES), min_size=1, max_size=5),
    st.integers(0, 1),
    st.integers(1, 3),
)
def test_random_values_anywhere_cost_no_more_than_a_morning(
    server: BiorxivServer,
    shared_store: Store,
    changes: list[tuple[tuple[str | int, ...], Any]],
    place: int,
    times: int,
) -> None:
    """In one of the pages, once or more often."""

    def change(content: Any) -> None:
        for (*path, last), value in changes:
            try:
                node = content
                for step in path:
                    node = node[step]
                node[last] = value
            except (KeyError, IndexError, TypeError):
                continue  # another change has left nothing there

    check(fetch(server, *[faults.fine] * place, *[faults.changed(change)] * times), shared_store)


@given(st.binary(max_size=300), st.integers(0, 30_000), st.integers(0, 30_000), st.integers(1, 3))
def test_random_bytes_anywhere_cost_no_more_than_a_morning(
    server: BiorxivServer, shared_store: Store, noise: bytes, start: int, cut: int, times: int
) -> None:
    def spoilt(answer: faults.Answer) -> faults.Answer:
        body = answer.body[:start] + noise + answer.body[start + cut :]
        return replace(answer, body=body)

    check(fetch(server, *[spoilt] * times), shared_store)
