"""The announcement feed: late cross-lists, which the API does not find by the date of their submission."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from paperboy.errors import FeedError
from paperboy.sources.arxiv.announced import cross_listed
from paperboy.sources.arxiv.client import ArxivClient
from paperboy.sources.polite import FaultError
from tests.builders import paper
from tests.fakes import Clock
from tests.servers import arxiv_faults as faults
from tests.servers.arxiv_api import ArxivServer

RAW = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "raw"
OLD = paper(
    "2312.02073", published=datetime(2023, 12, 4, tzinfo=UTC), categories=("cs.CV", "cs.LG")
)
YOUNG = paper("2611.00001", categories=("cs.CV", "cs.LG"))
NEW = paper("2611.00002")
NOW = datetime(2026, 11, 20, 7, 0, tzinfo=UTC)

HEAD = b'<feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom">'


def entry(
    arxiv_id: str = "oai:arXiv.org:2611.00001v1", kind: str = "cross", categories: str = "cs.LG"
) -> bytes:
    terms = "".join(f'<category term="{name}"/>' for name in categories.split())
    return f"<entry><id>{arxiv_id}</id>{terms}<arxiv:announce_type>{kind}</arxiv:announce_type></entry>".encode()


def everything(crossed: Mapping[str, Collection[str]]) -> Sequence[str]:
    return sorted(crossed)


@pytest.fixture
def server() -> Iterator[ArxivServer]:
    with ArxivServer([OLD, YOUNG, NEW]) as running:
        running.announced = [
            (OLD, "cross"),
            (YOUNG, "cross"),
            (NEW, "new"),
            (paper("2610.00001"), "replace"),
        ]
        yield running


def feed(server: ArxivServer, waits: list[float] | None = None) -> ArxivClient:
    wait = [].append if waits is None else waits.append
    return ArxivClient(
        server.url, contact="ada@example.org", feed_url=server.feed_url, clock=Clock(NOW), wait=wait
    )


# --- one feed


@pytest.mark.data
def test_real_feed_is_read() -> None:
    crossed = cross_listed((RAW / "rss_atom_csAI_2025-08-20_86entries.xml").read_bytes())
    assert len(crossed) == 45
    assert "2508.00875" in crossed
    assert all("cs.AI" in categories for categories in crossed.values())


@pytest.mark.data
@pytest.mark.parametrize(
    "name", ["rss_atom_csAI_2025-08-20_truncated.xml", "rss20_header_csAI_2025-09-18.xml"]
)
def test_real_feed_that_is_cut_or_of_another_form_is_refused(name: str) -> None:
    with pytest.raises(FaultError, match="sent something other than a whole feed"):
        cross_listed((RAW / name).read_bytes())


def test_feed_of_a_weekend_is_empty() -> None:
    assert cross_listed(HEAD + b"</feed>") == {}


@pytest.mark.parametrize(
    "body", [b"", b"not xml", HEAD, b"<html><body>Busy</body></html>", b"<feed/>"]
)
def test_reply_that_is_no_feed_is_refused(body: bytes) -> None:
    with pytest.raises(FaultError, match="whole feed"):
        cross_listed(body)


@pytest.mark.parametrize(
    "bad",
    [
        entry("oai:arXiv.org:../../etc/passwd"),
        entry("2611.00001"),
        entry("oai:arXiv.org:2611.00001v1,2611.00002"),
        entry(kind="crossed"),
        entry(kind="replace-cross"),
        b"<entry/>",
    ],
)
def test_entry_that_makes_no_sense_costs_no_other(bad: bytes) -> None:
    good = entry("oai:arXiv.org:astro-ph/0601001v3", categories="astro-ph math.OC")
    crossed = cross_listed(HEAD + bad + good + b"</feed>")
    assert crossed == {"astro-ph/0601001": {"astro-ph", "math.OC"}}


# --- the client


def test_cross_lists_come_by_their_ids_and_in_their_new_categories(server: ArxivServer) -> None:
    server.papers[0] = replace(OLD, categories=("cs.CV",))  # the API does not know yet
    asked: list[Mapping[str, Collection[str]]] = []

    def missing_ids(crossed: Mapping[str, Collection[str]]) -> Sequence[str]:
        asked.append(crossed)
        return [OLD.id]

    assert feed(server).cross_lists(["cs.LG", "stat.ML"], missing_ids) == [OLD]
    assert asked == [{OLD.id: {"cs.LG"}, YOUNG.id: {"cs.LG"}}]
    assert server.feeds == ["cs.LG+stat.ML"]
    assert server.requests[-1].query["id_list"] == OLD.id


@pytest.mark.parametrize("name", ["published", "updated"])
def test_cross_list_with_a_bad_date_costs_no_other(
    server: ArxivServer, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.papers[0] = replace(OLD, **{name: datetime(9999, 12, 31, tzinfo=UTC)})
    assert feed(server).cross_lists(["cs.LG"], everything) == [YOUNG]
    assert f"invalid entries left out: {OLD.id} with a date in the future;" in caplog.text


def test_requests_are_polite(server: ArxivServer) -> None:
    """One at a time, three seconds apart, also after the fetch, and with our name."""
    waits: list[float] = []
    asking = feed(server, waits)
    asking.probe("cs.LG")
    asking.cross_lists(["cs.LG"], everything)
    assert waits == [3.0, 3.0]
    assert len(server.requests) == 3
    assert {request.concurrent for request in server.requests} == {1}
    assert all("ada@example.org" in request.user_agent for request in server.requests)


def test_known_cross_lists_cost_one_request(server: ArxivServer) -> None:
    assert feed(server).cross_lists(["cs.LG"], lambda _: []) == []
    assert len(server.requests) == 1


def test_without_a_feed_there_is_no_request(server: ArxivServer) -> None:
    assert ArxivClient(server.url, clock=Clock(NOW)).cross_lists(["cs.LG"], everything) == []
    assert server.requests == []


def test_at_most_a_hundred_papers_are_asked_for(server: ArxivServer) -> None:
    many = [paper(f"2312.{number:05}", categories=("cs.LG",)) for number in range(150)]
    server.papers = many
    server.announced = [(crossed, "cross") for crossed in many]
    assert feed(server).cross_lists(["cs.LG"], everything) == many[:100]


@pytest.mark.parametrize(
    "name", ["html", "429", "503", "400", "no-body", "truncated", "short", "dropped"]
)
def test_failing_feed_is_an_error_after_one_try(server: ArxivServer, name: str) -> None:
    server.feed_fault = faults.BY_NAME[name]
    with pytest.raises(FeedError, match=r"^127\.0\.0\.1 "):
        feed(server).cross_lists(["cs.LG"], everything)
    assert len(server.requests) == 1


def test_failing_api_is_an_error_after_one_try(server: ArxivServer) -> None:
    server.lasting_fault = faults.rate_limited()
    with pytest.raises(FeedError, match="HTTP 429"):
        feed(server).cross_lists(["cs.LG"], everything)
    assert len(server.requests) == 2
