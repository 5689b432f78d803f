"""The client against a server on loopback: every way in which the API fails, what it costs, and what comes of it."""

from __future__ import annotations

import itertools
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

import pytest

from paperboy import __version__
from paperboy.errors import FeedError
from paperboy.models import Paper
from paperboy.sources.biorxiv.client import BiorxivClient
from paperboy.sources.biorxiv.records import Window
from tests.servers import biorxiv_faults as faults
from tests.servers.biorxiv_api import BiorxivServer, Preprint, preprint

YESTERDAY = date(2026, 11, 19)
WINDOW = Window(date(2026, 11, 12), YESTERDAY)


def some_records(count: int = 70) -> list[Preprint]:
    """Of the last week, oldest first, as the server sorts them."""
    return [
        preprint(number, YESTERDAY - timedelta(days=7 - 8 * number // count))
        for number in range(count)
    ]


def ids(of: Sequence[Preprint] | Sequence[Paper]) -> list[str]:
    return [item.id if isinstance(item, Paper) else f"biorxiv:{item.doi}" for item in of]


@pytest.fixture
def server() -> Iterator[BiorxivServer]:
    with BiorxivServer(some_records()) as running:
        yield running


@dataclass
class Asked:
    """A client, and the waits that it asked for."""

    url: str
    key: str = "biorxiv"
    tries: int = 5
    seconds: float = 60
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client = BiorxivClient(
            self.url,
            self.key,
            contact="ada@example.org",
            tries=self.tries,
            seconds=self.seconds,
            wait=self.waits.append,
        )

    def fetch(self) -> list[Paper]:
        return self.client.fetch(WINDOW)

    def error(self) -> str:
        """What a fetch that fails says."""
        with pytest.raises(FeedError) as caught:
            self.fetch()
        said = str(caught.value)
        assert said.isprintable()
        return said


def cursors(server: BiorxivServer) -> list[int]:
    return [request.cursor for request in server.requests]


# a good day


@pytest.mark.parametrize(("page_size", "starts"), [(30, [0, 30, 60]), (100, [0])])
def test_all_records_are_read_one_page_at_a_time_a_second_apart(
    server: BiorxivServer, page_size: int, starts: list[int]
) -> None:
    """Whatever the size of a page. Nothing but dates and a place is asked for."""
    server.page_size = page_size
    asked = Asked(server.url)
    progress = list[tuple[int, int]]()
    papers = asked.client.fetch(WINDOW, lambda done, total: progress.append((done, total)))
    assert ids(papers) == ids(server.records)
    assert [request.path for request in server.requests] == [
        f"/details/biorxiv/2026-11-12/2026-11-19/{start}/json" for start in starts
    ]
    assert [request.query for request in server.requests] == [{}] * len(starts)
    said = f"paperboy/{__version__} (preprint e-mail digests; ada@example.org)"
    assert {request.user_agent for request in server.requests} == {said}
    assert {request.concurrent for request in server.requests} == {1}
    assert asked.waits == [1.0] * len(starts)
    assert progress == [(min(start + page_size, 70), 70) for start in starts]
    asked.client.count(WINDOW)
    assert asked.waits == [1.0] * (len(starts) + 1), "the rule holds between two calls as well"


def test_each_server_has_its_own_records(server: BiorxivServer) -> None:
    server.records.append(preprint(99, YESTERDAY, "medRxiv"))
    (found,) = Asked(server.url, "medrxiv").fetch()
    assert found.id == f"medrxiv:{server.records[-1].doi}"


def test_versions_of_one_preprint_are_one_paper(server: BiorxivServer) -> None:
    """A revision of an old one is none, but shows that the server has that day."""
    first = preprint(1, YESTERDAY - timedelta(days=1))
    old = preprint(2, YESTERDAY, doi="10.64898/2026.01.01.700002", version="4")
    server.records[:] = [first, replace(first, date=f"{YESTERDAY}", version="2"), old]
    assert ids(Asked(server.url).fetch()) == ids([first])


def test_record_that_moves_to_the_next_page_comes_once(server: BiorxivServer) -> None:
    """As where somebody posts while the pages are read."""
    server.lasting_fault = faults.overlapping(3)
    assert ids(Asked(server.url).fetch()) == ids(server.records)


@pytest.mark.parametrize(
    "fault",
    [faults.numeric_total, faults.unpadded_dates, faults.capitalised_categories],
    ids=["numbers for counts", "unpadded dates", "capitalised categories"],
)
def test_another_spelling_is_no_fault(server: BiorxivServer, fault: faults.Fault) -> None:
    whole = Asked(server.url).fetch()
    server.lasting_fault = fault
    assert Asked(server.url).fetch() == whole


# faults that pass


# A stale server gives whole pages; the feed sees that.
FAULTS = {name: fault for name, fault in faults.BY_NAME.items() if name != "stale"}
NOON = ("Date", "Fri, 20 Nov 2026 12:00:00 GMT")
PASSING = {
    **{name: (fault, 2.0) for name, fault in FAULTS.items()},
    "429 with Retry-After": (faults.rate_limited(45), 45.0),
    "429 until an instant": (faults.rate_limited("Fri, 20 Nov 2026 12:00:50 GMT", NOON), 50.0),
    "503 with Retry-After": (faults.unavailable(50), 50.0),
    "408": (faults.plain(408, "slow"), 2.0),
    "another cursor": (faults.message(cursor=7), 2.0),
    "no total": (faults.message(total=faults.MISSING), 2.0),
    "all dates bad": (faults.each_record(date="soon"), 2.0),
    "the other server": (faults.each_record(server="medRxiv"), 2.0),
    "no collection": (faults.top(collection=faults.MISSING), 2.0),
    "records that are none": (faults.top(collection=["x", 7, None]), 2.0),
}
LIKE_AN_END = {"empty-page", "no-posts"}  # at the beginning, they are an answer


@pytest.mark.parametrize(
    ("name", "place"),
    [(name, 0) for name in PASSING if name not in LIKE_AN_END] + [(name, 30) for name in PASSING],
)
def test_passing_fault_repeats_its_page_alone_after_one_wait(
    server: BiorxivServer, name: str, place: int, caplog: pytest.LogCaptureFixture
) -> None:
    fault, wait = PASSING[name]
    if name in LIKE_AN_END:
        wait = 1.0
    server.faults += [faults.fine, fault] if place else [fault]
    asked = Asked(server.url)
    assert ids(asked.fetch()) == ids(server.records)
    assert cursors(server) == sorted([0, 30, 60, place])
    assert asked.waits == ([1.0, 1.0, wait, 1.0] if place else [1.0, wait, 1.0, 1.0])
    assert "that it counts" not in caplog.text


# faults that stay


SAYS = {
    "429": r"answered HTTP 429 \(Rate exceeded\.\)",
    "503": r"answered HTTP 503 \(first byte timeout\)",
    "html": r"sent no list of records \(Just a moment\.\.\.\)",
    "no-body": r"sent no list of records \(an empty body\)",
    "bad-doi": "says 'DOI not recognizable'",
    "refused": r"sent no list of records \(Error : \(2002\) Connection refused\)",
    "refused-in-json": r"says '\(2002\) Connection refused'",
    "not-available": r"sent no list of records \(Not available at this time\)",
    "not-available-in-json": "says 'Not available at this time'",
    "truncated": r'sent no list of records \(\{"messages"',
    "short": r"did not send a complete reply \(IncompleteRead.*\)",
    "dropped": r"did not send a complete reply \(Remote end closed.*\)",
    "nested": r'sent no list of records \(\{"messages"',
    "other-category": "answered for the category 'genomics', not for all",
}


@pytest.mark.parametrize("name", sorted(FAULTS.keys() - LIKE_AN_END))
def test_lasting_fault_is_an_error_and_never_an_empty_list(
    server: BiorxivServer, name: str
) -> None:
    server.lasting_fault = FAULTS[name]
    asked = Asked(server.url)
    ending = " in 5 attempts.*; the next run fetches the same days again, so no paper is lost"
    assert re.fullmatch(rf"127\.0\.0\.1 {SAYS[name]}.*{ending}", asked.error())
    assert cursors(server) == [0] * 5
    assert asked.waits == [1.0, 2.0, 4.0, 8.0, 16.0]
    server.lasting_fault = None
    assert ids(asked.fetch()) == ids(server.records), "and the client is as good as new"


def test_long_retry_after_ends_the_fetch(server: BiorxivServer) -> None:
    asked = Asked(server.url)
    server.faults.append(faults.rate_limited(61))
    assert "429 (Rate exceeded.); the next run fetches" in asked.error()
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (faults.plain(400, "bad"), "answered HTTP 400 (bad); check BIORXIV_API_URL"),
        (faults.plain(403, "<h1>No</h1>"), "answered HTTP 403 (No); check BIORXIV_API_URL"),
        (faults.plain(404, ""), "answered HTTP 404; check BIORXIV_API_URL"),
        (
            faults.redirected("https://x.example/"),
            "redirects to https://x.example/; check BIORXIV_API_URL",
        ),
        (faults.message(total="100001"), "counts 100001 records"),
    ],
)
def test_refusal_is_not_retried(server: BiorxivServer, fault: faults.Fault, says: str) -> None:
    server.faults += [fault]
    asked = Asked(server.url)
    assert asked.error().startswith(f"127.0.0.1 {says}; the next run fetches the same days again")
    assert (len(server.requests), asked.waits) == (1, [1.0])


def test_server_that_repeats_its_first_page_is_an_error(server: BiorxivServer) -> None:
    server.lasting_fault = faults.cursor_ignored
    assert "127.0.0.1 sends the same records again; the next run" in Asked(server.url).error()
    assert cursors(server) == [0, 30]


@pytest.mark.parametrize("name", sorted(LIKE_AN_END))
def test_day_without_records_costs_one_request(server: BiorxivServer, name: str) -> None:
    asked = Asked(server.url)
    assert asked.client.has(YESTERDAY)
    server.lasting_fault = FAULTS[name]
    assert not asked.client.has(YESTERDAY)
    assert asked.waits == [1.0, 1.0]
    days = [(request.since, request.until) for request in server.requests]
    assert days == [(f"{YESTERDAY}", f"{YESTERDAY}")] * 2


@pytest.mark.parametrize("pages", [0, 1])
def test_list_that_ends_before_its_newest_records_is_an_error(
    server: BiorxivServer, pages: int
) -> None:
    """Its pages are oldest first."""
    server.faults += [faults.fine] * pages + [faults.empty_page] * 2
    said = "127.0.0.1 ended before its newest records; the next run fetches the same days again"
    assert Asked(server.url).error() == f"{said}, so no paper is lost"


def test_window_that_takes_too_long_is_an_error(server: BiorxivServer) -> None:
    """Other lists wait meanwhile."""
    asked = Asked(server.url)
    asked.client.monotonic = itertools.count(0.0, 400.0).__next__
    said = asked.error()
    assert said.startswith("127.0.0.1 took more than 15 minutes; the next run fetches the same")
    assert cursors(server) == [0, 30]


def test_page_of_one_bad_record_at_the_end_costs_that_alone(server: BiorxivServer) -> None:
    server.records[:] = some_records(61)
    server.faults += [faults.fine, faults.fine, faults.each_record(date="soon")]
    assert ids(Asked(server.url).fetch()) == ids(server.records[:60])
    server.records[:] = server.records[:1]
    server.lasting_fault = faults.each_record(date="soon")
    assert "127.0.0.1 ended before its newest records" in Asked(server.url).error()


def test_unreachable_server_is_reported() -> None:
    with socket.socket() as taken:  # bound, not listening: refuses
        taken.bind(("127.0.0.1", 0))
        asked = Asked(f"http://127.0.0.1:{taken.getsockname()[1]}", tries=2)
        said = asked.error()
    fix = "in 2 attempts; check the network and BIORXIV_API_URL; the next run"
    assert f"cannot be reached (Connection refused) {fix}" in said
    assert asked.waits == [1.0, 2.0]


def test_host_that_dns_does_not_find_keeps_nobody_waiting() -> None:
    with pytest.raises(socket.gaierror) as found:
        socket.getaddrinfo("biorxiv.invalid", 80)
    if found.value.errno == socket.EAI_AGAIN:
        pytest.skip("no DNS answers here, and that is tried again")
    asked = Asked("http://biorxiv.invalid")
    assert "biorxiv.invalid cannot be reached" in asked.error()
    assert asked.waits == [1.0]


# a count that is too large


@pytest.mark.parametrize("beyond", ["no posts found", "ok"])
@pytest.mark.parametrize("surplus", [1, 7, 200])
def test_count_that_is_too_large_is_whole_and_logged(
    server: BiorxivServer, beyond: str, surplus: int, caplog: pytest.LogCaptureFixture
) -> None:
    """An end counts once it was seen twice."""
    caplog.set_level("INFO", "paperboy")
    server.beyond = beyond
    server.lasting_fault = faults.total_plus(surplus)
    asked = Asked(server.url)
    assert ids(asked.fetch()) == ids(server.records)
    assert cursors(server) == [0, 30, 60, 70, 70]
    assert asked.waits == [1.0] * 5
    assert f"biorxiv: received 70 of the {70 + surplus} records that it counts" in caplog.text


# records that cannot be read


def test_bad_record_is_left_out_and_logged_alone(
    server: BiorxivServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.faults += [faults.record(2, date="soon")]
    asked = Asked(server.url)
    third = server.records[2]
    assert ids(asked.fetch()) == ids([one for one in server.records if one is not third])
    assert f"invalid records left out (1): {third.doi} with a bad date" in caplog.text
    assert ids(asked.fetch()) == ids(server.records), "every later morning asks for it again"


# counting


def test_count_is_one_request_without_a_retry(server: BiorxivServer) -> None:
    asked = Asked(server.url)
    assert asked.client.count(WINDOW) == 70
    server.lasting_fault = faults.rate_limited()
    again = r"HTTP 429 \(Rate exceeded\.\)\. A morning would ask up to 5 times"
    with pytest.raises(FeedError, match=again):
        asked.client.count(WINDOW)
    server.lasting_fault = faults.plain(404, "")
    with pytest.raises(FeedError, match=r"HTTP 404; check BIORXIV_API_URL\.$"):
        asked.client.count(WINDOW)
    assert cursors(server) == [0, 0, 0]
