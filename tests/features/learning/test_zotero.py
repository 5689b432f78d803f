"""Zotero collections against a server on loopback: what is read, what each fault costs, and what an error says."""

from __future__ import annotations

import socket
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from paperboy.edges.text import visible
from paperboy.errors import FeedError
from paperboy.features.learning.zotero import CollectionItems, ZoteroClient
from paperboy.home.library import MOST_ITEMS, Collection, LibraryItem
from tests.servers import arxiv_faults as faults
from tests.servers.arxiv_faults import Answer, Fault
from tests.servers.zotero import ZoteroServer, html_page, with_header

KEY = "P9NiFoyLeZu2bZNvvuQPDWsd"
NOON = ("Date", "Sat, 28 Nov 2026 12:00:00 GMT")


@dataclass
class Asked:
    """A client, and the waits that it asked for: its timer moves by these alone."""

    server: ZoteroServer
    api_key: str = ""
    seconds: float = 60
    waits: list[float] = field(default_factory=list)
    now: float = 1_000.0

    def __post_init__(self) -> None:
        self.client = ZoteroClient(
            self.api_key,
            url=self.server.url,
            seconds=self.seconds,
            wait=self.wait,
            monotonic=lambda: self.now,
        )

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def fetch(self, key: str, known: int | None = None) -> CollectionItems | None:
        return self.client.fetch(Collection(self.server.library, key), known)

    def items(self, key: str) -> tuple[LibraryItem, ...]:
        fetched = self.fetch(key)
        assert fetched is not None
        return fetched.items

    def error(self, key: str) -> str:
        """What a fetch that fails says, without the collection and the host, with which each begins."""
        with pytest.raises(FeedError) as caught:
            self.fetch(key)
        said = str(caught.value)
        assert said == visible(said), "a line"
        assert len(said) < 500
        if self.api_key:
            assert self.api_key not in "".join(traceback.format_exception(caught.value))
        beginning = f"library {Collection(self.server.library, key)}: 127.0.0.1 "
        assert said.startswith(beginning)
        return said.removeprefix(beginning)


@pytest.fixture
def server() -> Iterator[ZoteroServer]:
    with ZoteroServer() as running:
        yield running


@pytest.fixture
def liked(server: ZoteroServer) -> str:
    """A collection of one paper."""
    key = server.collection("Liked")
    server.item(key)
    return key


def titles(items: tuple[LibraryItem, ...]) -> list[str]:
    """The newest one's first."""
    return [item.title for item in reversed(items)]


def only(server: ZoteroServer, **fields: object) -> LibraryItem:
    """The item that a collection of it alone gives."""
    key = server.collection("One")
    server.item(key, **fields)
    (item,) = Asked(server).items(key)
    return item


# items


def test_preprint_and_its_publication_are_one_paper(server: ZoteroServer) -> None:
    """By the title or the DOI, with what either has."""
    liked = server.collection("Liked")
    server.item(liked, title="Rain", archiveID="arXiv:2502.06786", abstractNote="We measure rain.")
    server.item(liked, title="Rain!", DOI="10.5555/rain")
    server.item(liked, title="Rain on tea", DOI="10.5555/Rain")
    (item,) = Asked(server).items(liked)
    assert (item.title, item.doi) == ("Rain on tea", "10.5555/rain")
    assert (item.paper_id, item.abstract) == ("2502.06786", "We measure rain.")


def test_item_of_a_preprint(server: ZoteroServer) -> None:
    """As Zotero's translators write one."""
    item = only(
        server,
        title="Rain in <i>H</i><sub>2</sub>O<sup>+</sup> at <span class='nocase'>McMurdo</span>\nBay",
        creators=[
            {"creatorType": "author", "firstName": "Marta", "lastName": "Iversen"},
            {"creatorType": "author", "firstName": "", "lastName": "Yuki Morita"},
            {"creatorType": "author", "name": "The Rain Team"},
            {"creatorType": "editor", "firstName": "Tobias", "lastName": "Oduya"},
            "noise",
        ],
        abstractNote="We measure\nrain.",
        DOI="10.48550/arXiv.2502.06786",
        url="http://arxiv.org/abs/2502.06786",
        archiveID="arXiv:2502.06786",
        extra="arXiv:2502.06786 [cs]",
        dateAdded="2026-11-03T10:11:12Z",
    )
    assert item == LibraryItem(
        paper_id="2502.06786",
        doi="10.48550/arxiv.2502.06786",
        title="Rain in H2O+ at McMurdo Bay",
        authors=("Marta Iversen", "Yuki Morita", "The Rain Team"),
        abstract="We measure rain.",
    )


@pytest.mark.parametrize(
    ("fields", "paper_id"),
    [
        ({"archiveID": "arXiv:2502.06786"}, "2502.06786"),
        ({"archiveID": "arXiv:2502.06786v3"}, "2502.06786"),
        ({"archiveID": "arXiv:hep-th/9901001"}, "hep-th/9901001"),
        ({"extra": "arXiv:2502.06786 [cs]"}, "2502.06786"),
        ({"extra": "arXiv: hep-th/9901001"}, "hep-th/9901001"),
        ({"extra": "Citation Key: rain2026\narXiv:2502.06786 [astro-ph.GA]\n"}, "2502.06786"),
        ({"extra": "DOI: 10.48550/arXiv.2502.06786"}, "2502.06786"),
        ({"url": "https://arxiv.org/abs/2502.06786v1"}, "2502.06786"),
        ({"url": "https://arxiv.org/pdf/2502.06786.pdf"}, "2502.06786"),
        ({"url": "https://arxiv.org/abs/2502.06786?context=cs"}, "2502.06786"),
        ({"DOI": "10.48550/ARXIV.2502.06786"}, "2502.06786"),
        ({"DOI": "https://doi.org/10.48550/arXiv.2502.06786"}, "2502.06786"),
        ({"DOI": "10.1101/2026.07.31.741992"}, "biorxiv:10.1101/2026.07.31.741992"),
        ({"url": "https://www.biorxiv.org/content/10.1101/2026.07.31.741992v2"},
         "biorxiv:10.1101/2026.07.31.741992"),
        ({"itemType": "webpage", "url": "https://arxiv.org/abs/2502.06786"}, "2502.06786"),
        ({"archiveID": "biorxiv:none", "url": "https://example.org/2502.06786"}, ""),
        ({"DOI": "10.1103/PhysRevD.1.2", "extra": "PMID: 2502\n123 citations"}, ""),
        ({"archiveID": 25, "extra": ["2502.06786"], "url": None}, ""),
    ],
)  # fmt: skip
def test_id_of_a_paper_is_found_in_the_fields_that_have_one(
    server: ZoteroServer, fields: dict[str, object], paper_id: str
) -> None:
    assert only(server, **fields).paper_id == paper_id


@pytest.mark.parametrize(
    ("fields", "doi"),
    [
        ({"DOI": "10.1103/PhysRevD.1.2"}, "10.1103/physrevd.1.2"),
        ({"DOI": "https://dx.doi.org/10.1103/PhysRevD.1.2 "}, "10.1103/physrevd.1.2"),
        ({"extra": "PMID: 1\nDOI: 10.1103/PhysRevD.1.2"}, "10.1103/physrevd.1.2"),
        ({"url": "https://doi.org/10.1103/PhysRevD.1.2"}, "10.1103/physrevd.1.2"),
        ({"DOI": "10.1103/A", "extra": "DOI: 10.1103/B"}, "10.1103/a"),
        ({"DOI": "pending"}, ""),
    ],
)
def test_doi_is_in_small_letters(server: ZoteroServer, fields: dict[str, object], doi: str) -> None:
    assert only(server, itemType="journalArticle", **fields).doi == doi


def test_only_papers_with_a_title_and_a_date_count(server: ZoteroServer) -> None:
    liked = server.collection("Liked")
    server.item(liked, title="A thesis", itemType="thesis")
    for kind in ("attachment", "note", "annotation", "computerProgram", "webpage"):
        server.item(liked, itemType=kind)
    server.item(liked, title="")
    server.item(liked, title="<i> </i>")
    for date_added in ("yesterday", "0001-01-01T00:00:00+23:00", ""):
        server.item(liked, dateAdded=date_added)
    server.trash(server.item(liked, title="In the bin"))
    asked = Asked(server)
    assert titles(asked.items(liked)) == ["A thesis"]
    last = server.requests[-1]
    assert last.query["itemType"] == "-attachment || note"


def test_items_in_the_bin_are_left_out_even_if_they_are_sent(
    server: ZoteroServer, liked: str
) -> None:
    gone = server.item(liked, title="In the bin")

    def trashed(answer: Answer) -> Answer:
        text = answer.body.decode()
        key = f'"key": "{gone}", "itemType"'
        marked = text.replace(key, f'"deleted": 1, {key}')
        assert marked != text
        return replace(answer, body=marked.encode())

    server.faults += [faults.fine, faults.fine, trashed]
    assert titles(Asked(server).items(liked)) == ["Paper 0"]


def test_long_fields_are_cut(server: ZoteroServer) -> None:
    item = only(
        server,
        title="rain " * 100_000,
        abstractNote="rain " * 100_000,
        extra="arXiv:2502.06786\n" * 10_000,
        creators=[{"creatorType": "author", "name": "Ada " * 1_000}] * 3_000,
    )
    assert len(item.title) <= 1_000
    assert len(item.abstract) <= 10_000
    assert len(item.authors) == 1_000
    assert max(map(len, item.authors)) <= 200


# pages and collections


def test_collection_of_250_items_is_read_in_three_pages(server: ZoteroServer) -> None:
    liked = server.collection("Liked")
    for _ in range(250):
        server.item(liked)
    asked = Asked(server)
    fetched = asked.fetch(liked)
    assert fetched is not None
    assert titles(fetched.items) == [f"Paper {number}" for number in reversed(range(250))]
    assert fetched.version == server.version
    paths = [(request.path, request.query.get("start")) for request in server.requests]
    collections = f"/{server.library}/collections"
    pages = [(f"{collections}/{liked}/items/top", start) for start in ("0", "100", "200")]
    assert paths == [(collections, None), (collections, "0"), *pages]
    assert {request.headers["zotero-api-version"] for request in server.requests} == {"3"}
    assert asked.waits == []


def test_page_that_shrinks_meanwhile_ends_the_reading(server: ZoteroServer) -> None:
    """The version is that of before, so that the next fetch reads all of it again."""
    liked = server.collection("Liked")
    keys = [server.item(liked) for _ in range(201)]
    before = server.version

    def shrinking(answer: Answer) -> Answer:
        for key in keys[-101:]:
            server.remove(key)
        return answer

    server.faults += [faults.fine, faults.fine, shrinking]
    asked = Asked(server)
    fetched = asked.fetch(liked)
    assert fetched is not None
    assert fetched.version == before
    assert len(fetched.items) == 100, "of the second page, there is nothing any more"
    again = asked.fetch(liked, fetched.version)
    assert again is not None
    assert len(again.items) == 100
    assert again.version == server.version
    assert asked.fetch(liked, again.version) is None


def test_item_that_moves_to_the_next_page_comes_once(server: ZoteroServer) -> None:
    liked = server.collection("Liked")
    for _ in range(150):
        server.item(liked)

    def growing(answer: Answer) -> Answer:
        server.item(liked, title="New")
        return answer

    server.faults += [faults.fine, faults.fine, growing]
    names = titles(Asked(server).items(liked))
    assert len(names) == len(set(names)) == 150


def test_sub_collections_count_at_any_depth_and_each_item_once(server: ZoteroServer) -> None:
    """Also where the server says that collections are below each other."""
    liked = server.collection("Liked")
    child = server.collection("Child", liked)
    grandchild = server.collection("Grandchild", child)
    other = server.collection("Other")
    gone = server.collection("In the bin", liked)
    below_gone = server.collection("Below it", gone)
    server.trash(gone)
    server.item(liked, child, title="Both")
    server.item(child, title="Child's")
    server.item(grandchild, title="Grandchild's")
    for key in (other, gone, below_gone):
        server.item(key, title="Not ours")
    server.collections[liked]["parentCollection"] = grandchild
    server.collections[other]["parentCollection"] = other
    server.collections["../../x"] = {"key": "../../x", "parentCollection": liked, "version": 1}
    asked = Asked(server)
    assert titles(asked.items(liked)) == ["Grandchild's", "Child's", "Both"]
    assert len(server.requests) == 2 + 3
    assert titles(asked.items(child)) == ["Grandchild's", "Child's", "Both"], "a cycle has no top"


def test_library_of_150_collections_is_read_whole(server: ZoteroServer) -> None:
    liked = server.collection("Liked")
    for number in range(149):
        server.collection(f"Other {number}")
    server.item(server.collection("Last", liked))
    assert titles(Asked(server).items(liked)) == ["Paper 0"]


def test_only_the_newest_items_of_all_collections_are_kept(server: ZoteroServer) -> None:
    """No page beyond them is asked for."""
    liked = server.collection("Liked")
    child = server.collection("Child", liked)
    oldest = datetime(2020, 1, 1, tzinfo=UTC)
    for number in range(MOST_ITEMS + 150):
        server.item(liked, dateAdded=f"{oldest + timedelta(minutes=number):%Y-%m-%dT%H:%M:%SZ}")
    server.item(child, title="Old", dateAdded="2019-01-01T00:00:00Z")
    server.item(child, title="New", dateAdded="2026-11-01T00:00:00Z")
    items = Asked(server).items(liked)
    assert len(items) == MOST_ITEMS
    assert titles(items)[:2] == ["New", f"Paper {MOST_ITEMS + 149}"]
    assert "Old" not in titles(items)
    assert len(server.requests) == 2 + MOST_ITEMS // 100 + 1


def test_server_that_ignores_the_start_of_a_page_comes_to_an_end(
    server: ZoteroServer, liked: str
) -> None:
    def first_page(answer: Answer) -> Answer:
        again = replace(server.requests[-1], query={"start": "0"})
        return with_header("Total-Results", 10**12)(server._right(again))

    for number in range(99):
        server.item(liked, title=f"Other {number}")
    server.lasting_fault = first_page
    server.faults += [faults.fine, faults.fine]
    assert len(Asked(server).items(liked)) == 25
    assert len(server.requests) == 2 + MOST_ITEMS // 25


def test_empty_collection_has_no_items(server: ZoteroServer) -> None:
    key = server.collection("Empty")
    assert Asked(server).fetch(key) == CollectionItems(server.version, ())


# versions


def test_unchanged_library_costs_one_request(server: ZoteroServer, liked: str) -> None:
    asked = Asked(server)
    fetched = asked.fetch(liked)
    assert fetched is not None
    server.requests.clear()
    assert asked.fetch(liked, fetched.version) is None
    (request,) = server.requests
    assert request.headers["if-modified-since-version"] == f"{fetched.version}"
    server.item(liked, title="Another")
    again = asked.fetch(liked, fetched.version)
    assert again is not None
    assert titles(again.items) == ["Another", "Paper 0"]
    assert again.version == fetched.version + 1


@pytest.mark.parametrize("version", ["", "soon", "-1", "9" * 30, "٣"])
def test_version_that_is_none_counts_as_unknown(
    server: ZoteroServer, liked: str, version: str
) -> None:
    server.lasting_fault = with_header("Last-Modified-Version", version.encode().decode("latin-1"))
    fetched = Asked(server).fetch(liked)
    assert fetched is not None
    assert (fetched.version, len(fetched.items)) == (0, 1)


# waiting


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        (faults.rate_limited(45), 45.0),
        (faults.rate_limited("1.5"), 2.0),
        (faults.rate_limited("Sat, 28 Nov 2026 12:00:50 GMT", NOON), 50.0),
        (faults.rate_limited("Sat, 28 Nov 2026 11:00:00 GMT", NOON), 2.0),
        (faults.rate_limited("soon"), 2.0),
        (faults.rate_limited(), 2.0),
        (faults.unavailable(30), 30.0),
        (faults.unavailable(), 2.0),
        (faults.plain(500, "An error occurred", ("Backoff", "30")), 30.0),
        (html_page, 2.0),
        (faults.truncated, 2.0),
        (faults.short_body, 2.0),
        (faults.no_body, 2.0),
        (faults.dropped, 2.0),
        (faults.body(b"[" * 100_000), 2.0),
        (faults.body(b'{"items": []}'), 2.0),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_passing_fault_repeats_its_page_after_one_wait(
    server: ZoteroServer, liked: str, fault: Fault, wait: float, place: int
) -> None:
    server.faults += [faults.fine] * place + [fault]
    asked = Asked(server)
    assert titles(asked.items(liked)) == ["Paper 0"]
    assert asked.waits == [wait]
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("name", "value", "wait"),
    [
        ("Backoff", "10", 10.0),
        ("Backoff", "Sat, 28 Nov 2026 12:01:00 GMT", 60.0),
        ("Retry-After", "10", 10.0),
        ("Backoff", "-5", None),
        ("Backoff", "soon", None),
    ],
)
def test_backoff_of_a_good_reply_delays_the_next_request(
    server: ZoteroServer, liked: str, name: str, value: str, wait: float | None
) -> None:
    """A reply to the last request delays the next fetch."""
    server.faults += [with_header(name, value, NOON), faults.fine, with_header(name, value, NOON)]
    asked = Asked(server)
    waits = [] if wait is None else [wait]
    assert titles(asked.items(liked)) == ["Paper 0"]
    assert asked.waits == waits
    asked.items(liked)
    assert asked.waits == waits * 2


def test_time_that_passes_counts_as_waiting(server: ZoteroServer, liked: str) -> None:
    server.faults += [faults.fine, faults.fine, with_header("Backoff", 3_600)]
    asked = Asked(server)
    asked.items(liked)
    assert asked.error(liked) == "keeps us waiting for too long; the next run asks again"
    assert len(server.requests) == 3
    asked.now += 3_560
    asked.items(liked)
    assert asked.waits == [40.0]


@pytest.mark.parametrize("value", ["61", "9" * 5_000, "Sat, 28 Nov 2026 13:00:00 GMT"])
def test_wait_of_more_than_a_minute_ends_the_fetch(
    server: ZoteroServer, liked: str, value: str
) -> None:
    asked = Asked(server)
    server.faults += [faults.rate_limited(value, NOON)]
    assert asked.error(liked) == "answers HTTP 429: Rate exceeded.; the next run asks again"
    assert (len(server.requests), asked.waits) == (1, [])

    asked = Asked(server)
    server.faults += [with_header("Backoff", value, NOON)]
    assert asked.error(liked) == "keeps us waiting for too long; the next run asks again"
    assert (len(server.requests), asked.waits) == (2, [])


def test_all_waits_together_take_at_most_ten_minutes(server: ZoteroServer) -> None:
    liked = server.collection("Liked")
    for _ in range(1_200):
        server.item(liked)
    server.lasting_fault = with_header("Backoff", 50)
    asked = Asked(server)
    assert asked.error(liked) == "keeps us waiting for too long; the next run asks again"
    assert asked.waits == [50.0] * 12
    assert len(server.requests) == 13


# lasting faults


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (faults.rate_limited(), "answers HTTP 429: Rate exceeded. in 4 attempts; the next run"),
        (faults.unavailable(), "answers HTTP 503: first byte timeout in 4 attempts; the next run"),
        (faults.plain(500, ""), "answers HTTP 500 in 4 attempts; the next run asks again"),
        (
            html_page,
            "sent no list of items (Sign in to the network) in 4 attempts; check that no proxy",
        ),
        (faults.body(b'[{"key"'), 'sent no list of items ([{"key") in 4 attempts; check that no'),
        (faults.no_body, "sent no list of items (an empty body) in 4 attempts; check that no"),
        (faults.dropped, "did not send a complete reply (Remote end closed"),
        (faults.endless_body, "did not send a complete reply (the reply is too large) in 4"),
        (faults.packed_spaces(100_000_000), "did not send a complete reply (the reply is too"),
    ],
)
def test_lasting_fault_is_an_error_after_four_attempts(
    server: ZoteroServer, liked: str, fault: Fault, says: str
) -> None:
    server.lasting_fault = fault
    asked = Asked(server)
    assert asked.error(liked).startswith(says)
    assert len(server.requests) == 4
    assert asked.waits == [2.0, 4.0, 8.0]
    server.lasting_fault = None
    assert titles(asked.items(liked)) == ["Paper 0"], "and the client is as good as new"


@pytest.mark.parametrize("fault", [faults.hang(30), faults.dripping_body, faults.dripping_headers])
def test_reply_without_end_is_given_up_in_time(
    server: ZoteroServer, liked: str, fault: Fault
) -> None:
    server.lasting_fault = fault
    said = Asked(server, seconds=0.1).error(liked)
    what = "did not send a complete reply (the reply took too long) in 4 attempts"
    assert said == f"{what}; check the network and HTTPS_PROXY"


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (
            faults.plain(400, "Invalid Authorization header format"),
            "answers HTTP 400: Invalid Authorization header format; check ZOTERO_API_KEY and",
        ),
        (faults.plain(304, ""), "answers HTTP 304; check ZOTERO_API_KEY and the list's library"),
        (
            faults.redirected("https://x.example/"),
            "answers HTTP 302, a redirect to https://x.example/; check ZOTERO_API_KEY and the",
        ),
        (faults.plain(403, "<h1>Forbidden</h1>"), "requires an API key (HTTP 403: Forbidden)"),
    ],
)
def test_refusal_is_not_retried(server: ZoteroServer, liked: str, fault: Fault, says: str) -> None:
    server.lasting_fault = fault
    asked = Asked(server)
    assert asked.error(liked).startswith(says)
    assert (len(server.requests), asked.waits) == (1, [])


def test_unknown_collection_is_an_error_that_names_the_library(
    server: ZoteroServer, liked: str
) -> None:
    fix = (
        "correct the list's library: the collection's address on zotero.org ends in its KEY, and"
        " zotero.org/settings/keys shows your ID"
    )
    asked = Asked(server)
    assert asked.error("ABCD2345") == (
        f"has no such collection (HTTP 404: Collection not found); {fix}"
    )
    server.library = "users/7"
    with pytest.raises(FeedError, match=r"\(HTTP 404: User 1234567 not found\); correct the"):
        asked.client.fetch(Collection("users/1234567", liked))


def test_dead_server_is_reported_after_four_attempts(server: ZoteroServer) -> None:
    with socket.socket() as taken:  # bound, not listening: refuses
        taken.bind(("127.0.0.1", 0))
        server.url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        asked = Asked(server)
        said = asked.error("ABCD2345")
    what = "cannot be reached (Connection refused) in 4 attempts"
    assert said == f"{what}; check the network and HTTPS_PROXY"
    assert asked.waits == [2.0, 4.0, 8.0]


# rows of noise


@pytest.mark.parametrize(
    "rows",
    [
        '[null, 7, "x", [], {}]',
        '[{"data": null}, {"data": []}, {"data": {"key": {}, "itemType": []}}]',
        '[{"data": {"key": "A", "itemType": "preprint", "title": 7, "dateAdded": 7}}]',
        '[{"data": {"key": "A", "itemType": "preprint", "title": "x", "dateAdded": "9999"}}]',
    ],
)
def test_rows_of_noise_cost_themselves_alone(server: ZoteroServer, liked: str, rows: str) -> None:
    noise = faults.body(rows.encode())
    server.faults += [faults.fine, noise]
    asked = Asked(server)
    assert titles(asked.items(liked)) == ["Paper 0"]
    server.faults += [faults.fine, faults.fine, noise]
    assert asked.items(liked) == ()


def test_hostile_text_becomes_one_printable_line(server: ZoteroServer) -> None:
    item = only(server, title="\x1b[31m\u202eevil\x07\n\ttitle\ud800")
    assert item.title == "[31mevil title"


# the key


def test_key_is_sent_in_a_header_alone_and_opens_a_private_library(server: ZoteroServer) -> None:
    liked = server.collection("Liked")
    server.item(liked)
    server.api_key = KEY
    assert titles(Asked(server, KEY).items(liked)) == ["Paper 0"]
    for request in server.requests:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert KEY not in f"{request.path}{request.query}"
    fix = "set ZOTERO_API_KEY to a key that may read it, from zotero.org/settings/keys"
    asked = Asked(server)
    assert asked.error(liked) == f"requires an API key (HTTP 403: Forbidden); {fix}"
    assert "authorization" not in server.requests[-1].headers


def test_refused_key_is_an_error_that_names_the_setting(server: ZoteroServer, liked: str) -> None:
    fix = "make a key that may read this library at zotero.org/settings/keys"
    asked = Asked(server, KEY)
    assert asked.error(liked) == f"refuses ZOTERO_API_KEY (HTTP 403: Invalid key); {fix}"
    assert len(server.requests) == 1, "six wrong keys in five minutes lock an address out"


ECHOES = {
    "403": faults.plain(403, f"Invalid key {KEY}"),
    "429": faults.plain(429, f"Too many requests of {KEY}"),
    "400": faults.plain(400, "x" * 1_990 + KEY),
    "at the cut": faults.plain(503, "y" * 100 + f" {KEY}"),
    "often": faults.plain(503, KEY * 1_000),
    "HTML": faults.body(f"<title>Authorization: Bearer {KEY}</title>".encode()),
    "JSON": faults.body(f'{{"key": "{KEY}"}}'.encode()),
    "a redirect": faults.redirected(f"https://x.example/?key={KEY}"),
    "no HTTP": lambda answer: replace(answer, raw=lambda: [f"{KEY} {KEY}\r\n\r\n".encode()]),
}


@pytest.mark.parametrize("name", ECHOES)
def test_server_that_repeats_the_key_brings_it_into_no_error_and_no_log(
    server: ZoteroServer, liked: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    server.lasting_fault = ECHOES[name]
    asked = Asked(server, KEY)
    said = asked.error(liked)
    heard = f"{said}{caplog.text}{asked.client!r}{vars(asked.client)['_http']!r}"
    for length in range(6, len(KEY) + 1):
        assert KEY[:length] not in heard, "not a part of it either"
    assert len(server.requests) == 1 or "retrying" in caplog.text


def test_key_that_no_header_may_have_is_not_shown(server: ZoteroServer, liked: str) -> None:
    """Settings refuse such a key; a line end would begin another header."""
    said = Asked(server, f"{KEY}\r\nX: y").error(liked)
    assert KEY[:6] not in said
    assert server.requests == []
