"""bioRxiv as a home reaches it: the days that it is asked for, and when it is late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from paperboy.errors import FeedError
from paperboy.home.settings import Settings
from paperboy.sources.biorxiv import BIORXIV, MEDRXIV
from paperboy.sources.biorxiv.categories import read as read_categories
from paperboy.sources.biorxiv.feed import BiorxivFeed
from paperboy.sources.source import Fetched
from tests.fakes import Clock
from tests.servers import biorxiv_faults as faults
from tests.servers.biorxiv_api import BiorxivServer, preprint

FRIDAY = datetime(2026, 11, 20, 7, tzinfo=UTC)
WEEK = [date(2026, 11, day) for day in range(12, 20)]  # before it, from a Thursday to the next
ALL = read_categories("biorxiv", "biorxiv")


def eastern(day: date) -> datetime:
    return datetime.combine(day, datetime.min.time(), ZoneInfo("America/New_York"))


@pytest.fixture
def server() -> Iterator[BiorxivServer]:
    """Three papers each day, of categories in turn."""
    records = [preprint(3 * number + n, day) for number, day in enumerate(WEEK) for n in range(3)]
    with BiorxivServer(records) as running:
        yield running


def feed_of(server: BiorxivServer, key: str = "bioRxiv") -> BiorxivFeed:
    source = {"bioRxiv": BIORXIV, "medRxiv": MEDRXIV}[key]
    feed = source.connect(
        Settings(biorxiv_api_url=server.url),
        contact="ada@example.org",
        proxy=lambda _: "",
        clock=Clock(FRIDAY),
    )
    assert isinstance(feed, BiorxivFeed)
    return feed


def fetch(server: BiorxivServer, now: datetime = FRIDAY, *categories: str) -> Fetched:
    feed = feed_of(server)
    since = feed.window(now, None)
    return feed.fetch(categories or ALL, since, now, None, lambda *_: None)


# the window


@pytest.mark.parametrize(
    ("now", "hours_since_fetch", "first"),
    [
        ("2026-11-20T07:00", None, "2026-11-12"),  # a week before the 19th
        ("2026-11-20T07:00", 24, "2026-11-11"),  # the last day that was fetched is the 18th
        ("2026-11-20T07:00", 5 * 24, "2026-11-07"),
        ("2026-11-20T03:00", None, "2026-11-11"),  # the 19th has not ended in New York
        ("2026-11-02T07:00", None, "2026-10-25"),  # over the change of the clocks
    ],
)
def test_fetch_asks_for_complete_days_from_a_week_before_the_last_one_fetched(
    server: BiorxivServer, now: str, hours_since_fetch: int | None, first: str
) -> None:
    at = datetime.fromisoformat(now).replace(tzinfo=UTC)
    last = at - timedelta(hours=hours_since_fetch) if hours_since_fetch else None
    since = feed_of(server).window(at, last)
    assert since == eastern(date.fromisoformat(first))


def test_fetch_asks_whether_yesterday_is_there_and_then_for_all_days(server: BiorxivServer) -> None:
    fetch(server)
    assert [(request.since, request.until) for request in server.requests] == [
        ("2026-11-19", "2026-11-19"),
        ("2026-11-12", "2026-11-19"),
    ]


# freshness

_, SAT, SUN, _, TUE, WED, THU = WEEK[1:]
MONDAY = datetime(2026, 11, 16, 7, tzinfo=UTC)


def lateness(server: BiorxivServer, now: datetime = FRIDAY) -> str:
    """What a late source or a failure says; empty if it is whole. A late one gives no papers."""
    try:
        fetched = fetch(server, now)
    except FeedError as error:
        return str(error)
    assert fetched.news is not bool(fetched.missing)
    assert bool(fetched.papers) is fetched.news
    return fetched.missing


@pytest.mark.parametrize(
    ("now", "empty", "missing"),
    [
        (FRIDAY, [], ""),
        (FRIDAY, [THU], "Thursday 19 November"),
        # an earlier day was late on its own morning, and the window still has it
        (FRIDAY, [TUE], ""),
        (FRIDAY, [TUE, THU], "Thursday 19 November"),
        # weekends have papers, too
        (FRIDAY, [SAT, SUN], ""),
        (MONDAY, [SAT], ""),
        (MONDAY, [SUN], "Sunday 15 November"),
    ],
)
def test_source_is_late_while_it_has_nothing_of_yesterday(
    server: BiorxivServer, now: datetime, empty: list[date], missing: str
) -> None:
    server.records[:] = [
        record for record in server.records if date.fromisoformat(record.date) not in empty
    ]
    assert lateness(server, now) == (f"bioRxiv has nothing of {missing} yet" if missing else "")


def test_revision_proves_that_a_day_is_there(server: BiorxivServer) -> None:
    server.records = [
        replace(record, version="2") if record.date == f"{THU}" else record
        for record in server.records
    ]
    fetched = fetch(server)
    assert (fetched.news, fetched.missing) == (True, "")
    assert max(paper.published for paper in fetched.papers) == eastern(WED)


def test_waiting_for_a_stale_mirror_costs_a_request_each_time(server: BiorxivServer) -> None:
    server.lasting_fault = faults.stale()
    assert lateness(server) == "bioRxiv has nothing of Thursday 19 November yet"
    assert len(server.requests) == 1


def test_failure_of_a_server_names_it(server: BiorxivServer) -> None:
    """Both have the same host."""
    server.lasting_fault = faults.plain(404, "")
    assert lateness(server).startswith("bioRxiv: 127.0.0.1 answered HTTP 404; check BIORXIV_API_")


# papers


def test_papers_are_those_of_the_lists_categories(server: BiorxivServer) -> None:
    """A category that is not known here comes to those who take all of the server."""
    server.records.append(preprint(99, WEEK[-1], category="xenobiology"))
    assert len(fetch(server).papers) == 25
    found = fetch(server, FRIDAY, "biorxiv/genomics", "biorxiv/zoology").papers
    assert {paper.categories for paper in found} == {("biorxiv/genomics",)}
    assert len(found) == 4
    assert {(*request.query,) for request in server.requests} == {()}, "the server does not filter"


# probing


def test_probe_counts_the_records_of_two_days(server: BiorxivServer) -> None:
    answer, lack = feed_of(server).probe("biorxiv/genomics")
    assert answer == f"{server.url} answers; it has 6 records of Wednesday and Thursday"
    assert lack == ""
    (request,) = server.requests
    assert (request.since, request.until) == ("2026-11-18", "2026-11-19")
    answer, lack = feed_of(server, "medRxiv").probe("medrxiv/oncology")
    assert "it has 0 records of Wednesday and Thursday" in answer
    assert lack == "it has none of yesterday, so it is late"


@pytest.mark.parametrize(
    ("url", "delay"),
    [
        ("https://api.biorxiv.org", 1.0),
        ("https://cache.example.org/biorxiv", 1.0),
        ("http://127.0.0.1:8004", 0.0),
        ("http://[::1]:8004", 0.0),
    ],
)
def test_only_a_server_on_this_machine_is_asked_without_a_pause(url: str, delay: float) -> None:
    proxies = {url: "http://proxy:3128"}
    settings = Settings(biorxiv_api_url=url)
    feed = MEDRXIV.connect(settings, contact="", proxy=proxies.__getitem__, clock=Clock(FRIDAY))
    client = feed.client  # type: ignore[attr-defined]
    assert (client.url, client.key, client.proxy) == (url, "medrxiv", "http://proxy:3128")
    assert client.delay_seconds == delay
