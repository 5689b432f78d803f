"""The feed against a server on loopback: every way in which arXiv fails, what it costs, and what comes of it."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paperboy import __version__
from paperboy.errors import FeedError
from paperboy.models import Paper
from paperboy.sources.arxiv.atom import read_page
from paperboy.sources.arxiv.client import ArxivClient
from tests.builders import paper
from tests.fakes import Clock
from tests.servers import arxiv_faults as faults
from tests.servers.arxiv_api import ArxivServer

NOW = datetime(2026, 11, 20, 7, 0, tzinfo=UTC)
SINCE = NOW - timedelta(days=7)
SHARED = Path(__file__).resolve().parents[3].parent / "shared" / "data"


def some_papers(count: int) -> list[Paper]:
    """Submitted ten minutes apart, ending a day before NOW."""
    return [
        paper(f"2611.{n:05}", published=NOW - timedelta(days=1, minutes=10 * (count - n)))
        for n in range(1, count + 1)
    ]


@pytest.fixture
def server() -> Iterator[ArxivServer]:
    with ArxivServer(some_papers(30)) as running:
        yield running


@dataclass
class Asked:
    """A feed, and the waits that it asked for."""

    url: str
    page_size: int = 100
    tries: int = 5
    delay: float = 3.0
    seconds: float = 60
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.feed = ArxivClient(
            self.url,
            delay_seconds=self.delay,
            contact="ada@example.org",
            page_size=self.page_size,
            tries=self.tries,
            seconds=self.seconds,
            clock=Clock(NOW),
            wait=self.waits.append,
        )

    def fetch(self, *categories: str) -> list[Paper]:
        return self.feed.fetch(categories or ("cs.LG",), SINCE, NOW)

    def error(self, *categories: str) -> str:
        """What a fetch that fails says."""
        with pytest.raises(FeedError) as caught:
            self.fetch(*categories)
        return str(caught.value)


# a good day


def test_one_query_asks_for_the_union_of_the_categories(server: ArxivServer) -> None:
    asked = Asked(server.url, page_size=2_000)
    server.papers[0] = replace(server.papers[0], categories=("math.OC",))
    server.papers[1] = replace(server.papers[1], categories=("math.ST",))
    found = asked.feed.fetch(
        ["cs.LG", "math.OC"], SINCE + timedelta(seconds=30), NOW + timedelta(seconds=1)
    )
    assert [paper.id for paper in found] == [p.id for p in (server.papers[0], *server.papers[2:])]
    (request,) = server.requests
    assert request.query == {
        "search_query": "(cat:cs.LG OR cat:math.OC) AND submittedDate:[202611130700 TO 202611200701]",
        "id_list": "",
        "sortBy": "submittedDate",
        "sortOrder": "ascending",
        "start": "0",
        "max_results": "2000",
    }
    assert request.user_agent == f"paperboy/{__version__} (arXiv e-mail digests; ada@example.org)"
    assert asked.waits == []


def test_paper_survives_the_round_trip_through_atom(server: ArxivServer) -> None:
    """TeX is kept in title and abstract, names are in Unicode, the version is apart from the id."""
    sent = paper(
        "astro-ph/0601001",
        version=3,
        title=r"$\alpha$-divergence & CO$_2$ < 50\%",
        authors=(r"F\'elix K{\i}c{\i}man", "Ada Lovelace", ":"),
        abstract="  First line\nwraps, with $x < y$.\n  A second paragraph\nwraps too.\n",
        categories=("cs.LG", "stat.ML", "68T05", "I.2.6; I.2.7"),
        published=NOW - timedelta(days=2),
        updated=NOW - timedelta(days=1),
        comment="12 pages,\n 3 figures",
        doi="10.1000/example",
    )
    server.papers[:] = [sent]
    (found,) = Asked(server.url).fetch()
    assert found == replace(
        sent,
        authors=("Félix Kıcıman", "Ada Lovelace"),
        abstract="First line wraps, with $x < y$.\nA second paragraph wraps too.",
        categories=("cs.LG", "stat.ML"),
        comment="12 pages, 3 figures",
    )


def test_pages_are_requested_one_at_a_time_three_seconds_apart(server: ArxivServer) -> None:
    asked = Asked(server.url, page_size=10)
    progress = list[tuple[int, int]]()
    found = asked.feed.fetch(
        ["cs.LG"], SINCE, NOW, lambda done, total: progress.append((done, total))
    )
    assert found == server.papers
    assert [request.query["start"] for request in server.requests] == ["0", "10", "20"]
    assert asked.waits == [3.0, 3.0]
    assert progress == [(10, 30), (20, 30), (30, 30)]
    assert {request.concurrent for request in server.requests} == {1}
    asked.feed.probe("cs.LG")
    assert asked.waits == [3.0, 3.0, 3.0], "the rule holds between two calls as well"


def test_next_page_starts_where_a_short_page_ends(server: ArxivServer) -> None:
    server.faults += [faults.first_entries(4)]
    asked = Asked(server.url, page_size=20)
    assert asked.fetch() == server.papers
    assert [request.query["start"] for request in server.requests] == ["0", "4", "24"]


# faults that pass


NOON = ("Date", "Fri, 20 Nov 2026 12:00:00 GMT")
PASSING = {
    "429": (faults.rate_limited(), 30.0),
    "429 with Retry-After": (faults.rate_limited(45), 45.0),
    "429 until an instant": (faults.rate_limited("Fri, 20 Nov 2026 12:00:50 GMT", NOON), 50.0),
    "503 with Retry-After": (faults.unavailable(120), 120.0),
    "500": (faults.plain(500, "oops"), 6.0),
    "HTML page": (faults.html_page, 6.0),
    "empty first page with a total": (faults.empty_page, 6.0),
    "nothing at all": (faults.nothing, 6.0),
    "0-byte body": (faults.no_body, 6.0),
    "truncated XML": (faults.truncated, 6.0),
    "body short of its Content-Length": (faults.short_body, 6.0),
    "dropped connection": (faults.dropped, 6.0),
    "endless count": (
        faults.edited(r">30</opensearch:t", ">" + "9" * 5000 + "</opensearch:t"),
        6.0,
    ),
    "all dates bad": (faults.all_bad_dates, 6.0),
    "no totalResults": (
        faults.edited(r"<opensearch:totalResults>\d+</opensearch:totalResults>", ""),
        6.0,
    ),
    "error entry under 200": (faults.refused("internal error", status=200), 6.0),
}


@pytest.mark.parametrize("name", PASSING)
@pytest.mark.parametrize(
    ("before", "starts"), [([], ["0", "0", "15"]), ([faults.fine], ["0", "15", "15"])]
)
def test_passing_fault_repeats_its_page_alone_after_one_wait(
    server: ArxivServer, name: str, before: list[faults.Fault], starts: list[str]
) -> None:
    fault, wait = PASSING[name]
    server.faults += [*before, fault]
    asked = Asked(server.url, page_size=15)
    assert asked.fetch() == server.papers
    assert [request.query["start"] for request in server.requests] == starts
    assert asked.waits == ([3.0, wait] if before else [wait, 3.0])


@pytest.mark.parametrize(("delay", "when"), [(3.0, " in 6 s"), (0.2, ""), (0.0, "")])
def test_retry_is_logged_with_its_wait_unless_it_comes_at_once(
    server: ArxivServer, delay: float, when: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "paperboy")
    server.faults += [faults.plain(500, "oops")]
    Asked(server.url, delay=delay).fetch()
    assert caplog.messages == [f"127.0.0.1 answered HTTP 500 (oops); retrying{when}"]


@pytest.mark.parametrize("rest", [601, "9" * 4_000])
def test_long_retry_after_ends_the_fetch(server: ArxivServer, rest: int | str) -> None:
    """Asking sooner would be impolite, and waiting for hours is the daemon's work."""
    asked = Asked(server.url)
    server.faults.append(faults.rate_limited(rest))
    assert "429 (Rate exceeded.). The next run fetches" in asked.error()
    assert len(server.requests) == 1


def test_week_without_a_paper_is_no_fault_of_a_longer_window(server: ArxivServer) -> None:
    """A small category may have one. A whole window without a paper is an error."""
    assert Asked(server.url).feed.fetch(("cs.LG",), NOW - timedelta(days=22), NOW) == server.papers
    server.papers.clear()
    with pytest.raises(FeedError, match="no paper at all"):
        Asked(server.url).feed.fetch(("cs.LG",), NOW - timedelta(days=22), NOW)


# faults that stay


LASTING = {
    "429": (faults.rate_limited(), r"answered HTTP 429 \(Rate exceeded\.\)", [30, 60, 120, 240]),
    "HTML page": (
        faults.html_page,
        r"something other than a whole list of papers \(arXiv is down",
        [6, 12, 24, 48],
    ),
    "nothing at all": (faults.nothing, "no paper at all, .* check the categories", [6, 12, 24, 48]),
    "short body": (
        faults.short_body,
        r"did not send a complete reply \(IncompleteRead",
        [6, 12, 24, 48],
    ),
    "all dates bad": (
        faults.all_bad_dates,
        "30 bad entries in 30 .2611.00001 with a bad date",
        [6, 12, 24, 48],
    ),
}


@pytest.mark.parametrize("name", LASTING)
def test_lasting_fault_is_an_error_and_never_an_empty_list(server: ArxivServer, name: str) -> None:
    fault, says, waits = LASTING[name]
    server.faults += [fault] * 5
    asked = Asked(server.url)
    said = asked.error()
    assert re.search(rf"(?i)^127\.0\.0\.1 .*{says}", said)
    assert "after 5 attempts" in said
    assert "The next run fetches the same days again" in said
    assert len(server.requests) == 5
    assert asked.waits == waits
    assert asked.fetch() == server.papers, "and the feed is as good as new"


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (
            faults.refused("incorrect id format for abc"),
            r"HTTP 400 \(incorrect id format for abc\)\. Check",
        ),
        (faults.plain(403, "<h1>Forbidden</h1>"), r"HTTP 403 \(Forbidden\)\. .*wait some hours"),
        (faults.plain(404, ""), r"HTTP 404\. Check ARXIV_API_URL"),
    ],
)
def test_refusal_is_not_retried(server: ArxivServer, fault: faults.Fault, says: str) -> None:
    server.faults += [fault]
    asked = Asked(server.url)
    assert re.search(says, asked.error())
    assert (len(server.requests), asked.waits) == (1, [])


def test_unreachable_server_is_reported_without_the_password_of_its_address() -> None:
    with socket.socket() as taken:  # bound, not listening: refuses
        taken.bind(("127.0.0.1", 0))
        asked = Asked(f"http://user:secret@127.0.0.1:{taken.getsockname()[1]}/api/query", tries=2)
        said = asked.error()
    assert re.search(r"cannot be reached \(Connection refused\).*Check the network", said)
    assert "secret" not in said
    assert asked.waits == [6.0]


def test_host_that_dns_does_not_find_keeps_nobody_waiting() -> None:
    with pytest.raises(socket.gaierror) as found:
        socket.getaddrinfo("arxiv.invalid", 80)
    if found.value.errno == socket.EAI_AGAIN:
        pytest.skip("no DNS answers here, and that is tried again")
    asked = Asked("http://arxiv.invalid/api/query")
    says = r"arxiv\.invalid cannot be reached \(.*Check the network and ARXIV_API_URL"
    assert re.search(says, asked.error())
    assert asked.waits == []


# entries that cannot be read


@pytest.mark.parametrize(
    ("fault", "defect"),
    [
        (faults.bad_date, "2611.00001 with a bad date"),
        (faults.dated("2026-11-20T07:01:00Z"), "2611.00001 with a date outside the window"),
        (faults.dated("2026-11-13T06:59:59Z"), "2611.00001 with a date outside the window"),
        (faults.dated("0001-01-01T00:00:00+23:59"), "2611.00001 with a bad date"),
        (faults.updated("2026-11-21T07:00:01Z"), "2611.00001 with a date in the future"),
        (faults.no_id, "entry 1 without an arXiv id"),
        (faults.no_title, "2611.00001 without a title"),
        (faults.edited(r"<category[^>]*>", "", count=2), "2611.00001 without a category"),
    ],
)
def test_bad_entry_is_left_out_and_logged_alone(
    server: ArxivServer, fault: faults.Fault, defect: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.faults += [fault]
    asked = Asked(server.url)
    assert asked.fetch() == server.papers[1:]
    assert len(server.requests) == 1
    assert f"invalid entries left out: {defect}" in caplog.text
    assert asked.fetch() == server.papers, "every later morning asks for it again"


@pytest.mark.parametrize(
    "fault",
    [
        faults.dated("2026-11-13T07:00:00Z"),
        faults.dated("2026-11-20T07:00:59Z"),
        faults.updated("2026-11-21T07:00:00Z"),
    ],
    ids=["first minute", "last minute", "an update of tomorrow"],
)
def test_paper_at_the_edge_of_its_bounds_is_taken(server: ArxivServer, fault: faults.Fault) -> None:
    """Its date is in the window; its update may be a day ahead of the clock."""
    server.faults += [fault]
    assert len(Asked(server.url).fetch()) == 30


def test_paper_of_the_future_is_no_news(server: ArxivServer) -> None:
    """Nor is it counted when the morning asks whether arXiv has today's batch."""
    feed = Asked(server.url).feed
    assert feed.has_news(SINCE, NOW)
    server.faults += [faults.dated("2027-01-01T00:00:00Z")]
    assert not feed.has_news(SINCE, NOW)


# the whole list


def test_silent_server_meets_the_time_limit(server: ArxivServer) -> None:
    server.faults += [faults.hang(30)] * 2
    said = Asked(server.url, tries=2, seconds=0.1).error()
    assert "did not send a complete reply (the reply took too long), after 2 attempts" in said


def test_long_window_is_fetched_week_by_week(server: ArxivServer) -> None:
    """A short last week is joined to the one before, since it may well hold no paper."""
    server.papers[:] = [
        paper(f"2611.{day:05}", published=NOW - timedelta(days=day, hours=1)) for day in range(30)
    ]
    progress = list[tuple[int, int]]()
    found = Asked(server.url).feed.fetch(
        ["cs.LG"], NOW - timedelta(days=30), NOW, lambda done, total: progress.append((done, total))
    )
    assert {paper.id for paper in found} == {f"2611.{day:05}" for day in range(30)}
    windows = [
        request.query["search_query"].split("submittedDate:")[1] for request in server.requests
    ]
    assert windows == [
        "[202610210700 TO 202610280700]",
        "[202610280700 TO 202611040700]",
        "[202611040700 TO 202611110700]",
        "[202611110700 TO 202611200700]",
    ]
    assert progress == [(7, 7), (14, 14), (21, 21), (30, 30)]


# probing


def test_probe_is_one_small_request(server: ArxivServer) -> None:
    assert Asked(server.url).feed.probe("stat.ML") == 30
    (request,) = server.requests
    assert (request.query["search_query"], request.query["max_results"]) == ("cat:stat.ML", "1")


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (
            faults.rate_limited(),
            r"HTTP 429 \(Rate exceeded\.\)\. A morning would ask up to 5 times",
        ),
        (faults.html_page, "something other than a whole list of papers"),
        (faults.plain(404, ""), r"HTTP 404\. Check ARXIV_API_URL\."),
        (faults.nothing, "no paper at all"),
    ],
)
def test_probe_does_not_retry(server: ArxivServer, fault: faults.Fault, says: str) -> None:
    server.faults += [fault]
    asked = Asked(server.url)
    with pytest.raises(FeedError, match=says):
        asked.feed.probe("cs.LG")
    assert (len(server.requests), asked.waits) == (1, [])


def test_wrong_clock_of_this_machine_is_named_where_every_paper_is_of_the_future(
    server: ArxivServer,
) -> None:
    said = (
        r"dates every paper in the future \(2611\.\d+ with a date in the future\)\. "
        r"This machine's clock says 20 Nov 2025 07:00 UTC; set it if that is wrong\.$"
    )
    client = ArxivClient(server.url, clock=Clock(NOW.replace(year=2025)))
    with pytest.raises(FeedError, match=said):
        client.probe("cs.LG")


# the package, and what arXiv really sent


@pytest.mark.parametrize("contact", ["", "Ada\r\nX-Evil: 1 <ädä@example.org>"])
def test_contact_cannot_break_the_header(server: ArxivServer, contact: str) -> None:
    ArxivClient(server.url, contact=contact, clock=Clock(NOW)).probe("cs.LG")
    said = f"paperboy/{__version__} (arXiv e-mail digests{'; AdaX-Evil: 1 <d@example.org>' if contact else ''})"
    assert server.requests[0].user_agent == said


def captured(name: str, *, total: int = 1) -> tuple[Paper, ...]:
    """The papers of a captured page; `total` where it is the first page of a longer result."""
    return read_page(re.sub(rb"(totalResults>)\d+", rb"\g<1>%d" % total, raw(name)), NOW).papers


def raw(name: str) -> bytes:
    return (SHARED / "raw" / name).read_bytes()


@pytest.mark.data
@pytest.mark.parametrize("count", [10, 100])
def test_captured_search_is_read_whole(count: int) -> None:
    papers = captured(f"api_atom_search_{count}.xml", total=count)
    assert len({paper.id for paper in papers}) == count
    for found in papers:
        assert re.fullmatch(r"\d{4}\.\d{4,5}|[a-z-]+/\d{7}", found.id)
        assert found.version >= 1
        assert found.title
        assert found.authors
        assert found.abstract
        assert found.primary_category in found.categories
        assert found.published <= found.updated
        assert found.published.tzinfo is UTC
        assert not any(
            "\n " in text or text != text.strip()
            for text in (found.title, found.abstract, found.comment)
        )
