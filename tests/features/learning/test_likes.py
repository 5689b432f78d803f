"""The papers of libraries: files, Zotero collections, and the texts that sources have of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paperboy.errors import ConfigError, FeedError, HomeBusyError
from paperboy.features.learning.likes import Likes
from paperboy.home.library import LibraryItem
from paperboy.store import Store
from tests.builders import paper
from tests.features.learning.conftest import likes_in
from tests.servers.arxiv_api import ArxivServer
from tests.servers.arxiv_faults import unavailable
from tests.servers.zotero import ZoteroServer

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
KNOWN = paper("2502.06786", title="Rain in caves", abstract="We measure *rain* with $x^2$.")


@pytest.fixture
def arxiv() -> Iterator[ArxivServer]:
    with ArxivServer([KNOWN]) as server:
        yield server


@pytest.fixture
def zotero() -> Iterator[ZoteroServer]:
    with ZoteroServer() as server:
        yield server


@pytest.fixture
def likes(store: Store, tmp_path: Path, arxiv: ArxivServer, zotero: ZoteroServer) -> Likes:
    return likes_in(store, tmp_path, zotero=zotero.url, source=arxiv.url)


def item(paper_id: str = "2502.06786", **fields: str) -> LibraryItem:
    return LibraryItem(**{"paper_id": paper_id, "doi": "", "title": "", **fields})  # type: ignore[arg-type]


def test_file_is_read_from_the_home(likes: Likes, tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text("@misc{a, title={Rain}, eprint={2502.06786}}", "utf-8")
    (only,) = likes.read("refs.bib", NOW).items
    assert (only.title, only.paper_id) == ("Rain", "2502.06786")


def test_file_that_is_gone_is_one_line_with_its_name(likes: Likes) -> None:
    with pytest.raises(ConfigError, match=r"^refs\.bib: is missing; put it back into the home$"):
        likes.read("refs.bib", NOW)


class TestCollection:
    """A collection is fetched once, and again when it has changed."""

    def test_papers_are_kept_while_nothing_changes(
        self, likes: Likes, zotero: ZoteroServer
    ) -> None:
        name = f"zotero:{zotero.library}/collections/{zotero.collection('Liked')}"
        key = name.rpartition("/")[2]
        zotero.item(key, title="Rain", abstractNote="Wet.", creators=[{"name": "Ada Wren"}])
        first = likes.read(name, NOW)
        assert [(of.title, of.abstract, of.authors) for of in first.items] == [
            ("Rain", "Wet.", ("Ada Wren",))
        ]
        zotero.requests.clear()
        assert likes.read(name, NOW + timedelta(days=1)) == first
        assert len(zotero.requests) == 1

        zotero.item(key, title="Snow")
        assert [of.title for of in likes.read(name, NOW).items] == ["Rain", "Snow"]

    def test_zotero_that_is_down_is_said(self, store: Store, tmp_path: Path) -> None:
        likes = likes_in(store, tmp_path)
        with pytest.raises(FeedError, match=r"^library zotero:users/1/.*cannot be reached"):
            likes.read("zotero:users/1/collections/ABCD2345", NOW)


class TestTexts:
    """A library's own abstract wins; else the source is asked, once."""

    def test_source_gives_what_the_library_lacks_as_plain_text(
        self, likes: Likes, arxiv: ArxivServer
    ) -> None:
        (bare, titled) = likes.with_texts([item(), item(title="My title")], NOW)
        assert (bare.title, bare.abstract) == ("Rain in caves", "We measure *rain* with x².")
        assert titled.title == "My title"
        (request,) = arxiv.requests
        assert request.ids == ["2502.06786"]

    def test_nobody_is_asked_twice_nor_for_what_is_there(
        self, likes: Likes, arxiv: ArxivServer
    ) -> None:
        asked = [item(), item("2502.99999")]
        assert [of.paper_id for of in likes.with_texts(asked, NOW)] == ["2502.06786"]
        arxiv.requests.clear()
        kept = likes.with_texts([*asked, item("2502.11111", title="Snow", abstract="White.")], NOW)
        assert [of.title for of in kept] == ["Rain in caves", "Snow"]
        assert arxiv.requests == []
        assert likes.not_found(asked) == ["2502.99999"]

    def test_title_alone_counts_where_no_source_can_be_asked(
        self, likes: Likes, arxiv: ArxivServer
    ) -> None:
        """At bioRxiv, each paper would take a request of its own."""
        of = [
            item("", title="A thesis"),
            item("", doi="10.1103/a"),
            item("", title="B", doi="10.1103/b"),
        ]
        assert [found.title for found in likes.with_texts(of, NOW)] == ["A thesis", "B"]
        assert arxiv.requests == []

    def test_two_hundred_and_fifty_ids_take_three_requests(
        self, likes: Likes, arxiv: ArxivServer
    ) -> None:
        arxiv.papers = [paper(f"2502.{number:05}") for number in range(250)]
        assert len(likes.with_texts([item(of.id) for of in arxiv.papers], NOW)) == 250
        assert [len(request.ids) for request in arxiv.requests] == [100, 100, 50]

    def test_source_that_fails_is_said_and_nothing_is_kept(
        self, likes: Likes, arxiv: ArxivServer
    ) -> None:
        arxiv.faults.append(unavailable())
        with pytest.raises(FeedError, match="503"):
            likes.with_texts([item()], NOW)
        assert [of.title for of in likes.with_texts([item()], NOW)] == ["Rain in caves"]

    def test_sources_are_asked_in_the_turn_of_a_morning(
        self, store: Store, tmp_path: Path, arxiv: ArxivServer
    ) -> None:
        def taken() -> AbstractContextManager[object]:
            raise HomeBusyError("a morning holds this home")

        likes = likes_in(store, tmp_path, source=arxiv.url, turn=taken)
        with pytest.raises(HomeBusyError):
            likes.with_texts([item()], NOW)
        assert arxiv.requests == []
        assert likes.with_texts([item(title="Rain", abstract="Wet.")], NOW), "nobody is asked"

    def test_only_the_newest_without_a_title_are_asked_for_titles(
        self, likes: Likes, arxiv: ArxivServer
    ) -> None:
        items = [item(f"2502.{number:05}") for number in range(150)]
        arxiv.papers = [paper(of.paper_id) for of in items]
        titled = likes.with_titles(items, NOW)
        assert [bool(of.title) for of in titled] == [False] * 50 + [True] * 100
        assert len(arxiv.requests) == 1


def test_texts_that_no_list_needs_are_deleted_in_time(likes: Likes, store: Store) -> None:
    likes.with_texts([item()], NOW)
    keep = timedelta(days=365)
    store.retention.thin(keep, ["foundations"], NOW + timedelta(days=100))
    assert store.database.value("select count(*) from library_texts") == 1
    likes.with_texts([item()], NOW + timedelta(days=100))
    store.retention.thin(keep, ["foundations"], NOW + timedelta(days=400))
    assert store.database.value("select count(*) from library_texts") == 1
    store.retention.thin(keep, ["foundations"], NOW + timedelta(days=500))
    assert store.database.value("select count(*) from library_texts") == 0
