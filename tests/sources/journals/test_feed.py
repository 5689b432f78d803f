"""Feeds as a home reaches them: entries as papers, and which feeds could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from paperboy.curate import matched_authors, possible_authors
from paperboy.errors import FeedError
from paperboy.home.settings import Settings
from paperboy.models import Paper
from paperboy.sources.journals import JOURNALS
from paperboy.sources.journals.entries import read_feed
from paperboy.sources.journals.feed import JournalsFeed, papers_of
from paperboy.sources.source import Fetched
from tests.fakes import Clock
from tests.servers.arxiv_faults import plain
from tests.servers.journals import JournalServer, item, login_page, refused, rss

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
DAY = timedelta(days=1)
TEXT = "A simple model explains most of the difference between cups of tea, at any temperature, age and price."
CATEGORY = "journal/Tea"


@pytest.fixture
def server() -> Iterator[JournalServer]:
    with JournalServer() as running:
        yield running


def feed_of(server: JournalServer, **paths: str) -> JournalsFeed:
    """Connect to feeds, paths of the server by names of journals."""
    feeds = {f"journal/{name}": server.url + path for name, path in paths.items()}
    feed = JOURNALS.connect(
        Settings(), contact="ada@example.org", proxy=lambda _: "", clock=Clock(NOW), feeds=feeds
    )
    assert isinstance(feed, JournalsFeed)
    return feed


def fetch(feed: JournalsFeed, categories: Sequence[str] = ()) -> Fetched:
    return feed.fetch(categories or list(feed.feeds), NOW, NOW, None, lambda *_: None)


def papers(*items: str) -> list[Paper]:
    return list(papers_of(read_feed(rss(*items), "https://tea.example/rss"), CATEGORY, NOW))


# papers


def test_entry_is_a_paper_of_its_journal() -> None:
    (paper,) = papers(
        item(
            "Rain",
            guid="10.5555/RAIN",
            link="https://tea.example/rain",
            description=TEXT,
            dc_creator="Ada Lovelace",
            pubDate="Thu, 19 Nov 2026 12:00:00 +0100",
        )
    )
    at = datetime(2026, 11, 19, 11, tzinfo=UTC)
    assert paper == Paper(
        id="journal:10.5555/rain",
        version=1,
        title="Rain",
        authors=("Ada Lovelace",),
        abstract=TEXT,
        primary_category=CATEGORY,
        categories=(CATEGORY,),
        published=at,
        updated=at,
        doi="10.5555/rain",
        license="publisher",
        link="https://tea.example/rain",
    )


@pytest.mark.parametrize(
    ("date", "published"),
    [
        ("2026-11-19", NOW.replace(hour=0) - DAY),
        ("Thu, 19 Nov 2026 23:30:00 -0800", NOW),  # half past seven in UTC
        ("2031-01-01", NOW),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("0001-01-01T00:00:00+14:00", NOW - 3 * DAY),  # before the first instant of UTC
        ("soon", NOW - 3 * DAY),
        ("", NOW - 3 * DAY),
    ],
)
def test_date_is_the_feeds_but_never_in_the_future(date: str, published: datetime) -> None:
    (paper,) = papers(item("Rain", guid="10.5555/a", pubDate=date))
    assert (paper.published, paper.updated) == (published, published)


def test_entries_without_dates_come_in_their_order_before_those_of_two_days() -> None:
    """Newest first, as feeds are."""
    made = papers(*(item(f"Rain {number}", guid=f"10.5555/{number}") for number in range(30)))
    published = [paper.published for paper in made]
    assert published == sorted(set(published), reverse=True)
    assert published[0] < NOW - 2 * DAY
    assert published[-1] > NOW - 4 * DAY


def test_entry_that_leads_nowhere_is_left_out() -> None:
    made = papers(
        item("Rain"),
        item("Snow", guid="tea-7"),
        item("Hail", link="javascript:alert(1)"),
        item("Fog", link="https://tea.example/fog"),
        item("Ice", guid="10.5555/ice"),
    )
    assert [paper.title for paper in made] == ["Fog", "Ice"]


@pytest.mark.parametrize(
    ("written", "certain", "possible"),
    [
        (["Wei Xin Zhang", "Ada Lovelace"], True, False),
        (["Zhang, Wei Xin", "Lovelace, Ada", "Hopper, Grace"], True, False),
        (["W. X. Zhang", "A. Lovelace"], False, True),
        (["W.X. Zhang", "A. Lovelace"], False, True),
        (["Zhang WX", "Lovelace A"], False, True),
        (["Zhang WX, Lovelace A, Hopper G."], False, True),
        (["W.-X. Zhang"], False, True),
        (["X. Zhang", "A. Lovelace"], False, False),
        (["Wei X. Zhang", "Ada Lovelace"], False, False),
        ([], False, False),
    ],
)
def test_followed_author_is_certain_by_a_whole_name_alone(
    written: list[str], *, certain: bool, possible: bool
) -> None:
    names = "".join(f"<dc:creator>{name}</dc:creator>" for name in written)
    entry = item("Rain", guid="10.5555/a").replace("</item>", f"{names}</item>")
    (paper,) = papers(entry)
    followed = ["Wei Xin Zhang"]
    assert bool(matched_authors(paper, followed)) is certain
    assert bool(possible_authors(paper, followed)) is possible


# feeds


def test_paper_of_two_feeds_comes_once_with_the_text_of_both(server: JournalServer) -> None:
    server.feeds = {
        "/tea": rss(item("Rain", guid="10.5555/A", dc_creator="Ada Lovelace")),
        "/rain": rss(
            item("Rain.", guid="doi:10.5555/a", description=TEXT), item("Fog", guid="10.5555/b")
        ),
    }
    fetched = fetch(feed_of(server, Tea="/tea", Rain="/rain"))
    first, second = fetched.papers
    assert (first.id, first.title) == ("journal:10.5555/a", "Rain")
    assert first.primary_category == "journal/Tea"
    assert first.categories == ("journal/Tea", "journal/Rain")
    assert (first.abstract, first.authors) == (TEXT, ("Ada Lovelace",))
    assert (second.id, second.categories) == ("journal:10.5555/b", ("journal/Rain",))
    assert (fetched.news, fetched.missing, fetched.failures) == (True, "", {})


def test_feed_of_two_names_is_read_once(server: JournalServer) -> None:
    server.feeds = {"/tea": rss(item("Rain", guid="10.5555/a"))}
    (paper,) = fetch(feed_of(server, Tea="/tea", Rain="/tea")).papers
    assert paper.categories == ("journal/Tea", "journal/Rain")
    assert server.paths == ["/tea"]


def test_feed_that_fails_costs_its_own_papers(server: JournalServer) -> None:
    """The reason names the host, and not the path or query."""
    server.feeds = {"/tea": rss(item("Rain", guid="10.5555/a"))}
    server.faults_of = {"/private?token=S3cret": refused, "/login": login_page}
    feed = feed_of(server, Tea="/tea", Secret="/private?token=S3cret", Login="/login", Gone="/gone")
    fetched = fetch(feed)
    assert [paper.id for paper in fetched.papers] == ["journal:10.5555/a"]
    assert fetched.failures.keys() == {"journal/Secret", "journal/Login", "journal/Gone"}
    said = fetched.failures["journal/Secret"]
    assert said.startswith("127.0.0.1 answered HTTP 403 (Just a moment...); the publisher refuses")
    assert "token" not in said
    assert fetched.failures["journal/Gone"] == (
        "127.0.0.1 answered HTTP 404 (not found); look for the feed's new address on the journal's page"
    )
    assert fetched.missing == "", "no list waits"


def test_only_the_feeds_that_are_wanted_are_asked(server: JournalServer) -> None:
    server.feeds = dict.fromkeys(["/tea", "/rain"], rss())
    feed = feed_of(server, Tea="/tea", Rain="/rain")
    fetched = fetch(feed, ["journal/Rain", "journal/Unknown"])
    assert server.paths == ["/rain"]
    assert (fetched.papers, fetched.news, fetched.failures) == ([], False, {})
    assert not feed.by_ids(["journal:10.5555/a"])


def test_probe_reads_one_feed(server: JournalServer) -> None:
    server.feeds = {"/tea": rss(item("Rain", guid="10.5555/a"))}
    feed = feed_of(server, Tea="/tea")
    assert feed.probe(CATEGORY) == ("its feed has 1 paper", "")
    server.lasting_fault = plain(404, "")
    with pytest.raises(FeedError, match=r"127\.0\.0\.1 answered HTTP 404; look for"):
        feed.probe(CATEGORY)


def test_proxy_is_that_of_https_to_which_a_feed_of_http_may_lead() -> None:
    asked = list[str]()

    def proxy(url: str) -> str:
        asked.append(url)
        return "http://proxy.example:3128"

    feeds = {CATEGORY: "http://tea.example:81/rss?token=S3cret"}
    feed = JOURNALS.connect(Settings(), contact="", proxy=proxy, clock=Clock(NOW), feeds=feeds)
    client = feed.client(feeds[CATEGORY])
    assert asked == ["https://tea.example"]
    assert (client.proxy, client.delay_seconds) == ("http://proxy.example:3128", 1.0)
    client.close()
