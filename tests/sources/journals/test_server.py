"""The loopback server of journals' feeds serves what its tests rely on."""

from __future__ import annotations

import urllib3

from paperboy.sources.journals.entries import read_feed
from tests.servers.arxiv_faults import redirected
from tests.servers.journals import JournalServer, changing, item, login_page, refused, rss

PATH = "/inv.rss?key=1"


def get(server: JournalServer, path: str = PATH) -> urllib3.BaseHTTPResponse:
    with urllib3.PoolManager() as pool:
        return pool.request("GET", server.url + path, redirect=False, retries=False)


def test_feed_is_served_by_path_after_its_faults() -> None:
    with JournalServer({PATH: rss(item("Tea", guid="10.5555/a"))}) as server:
        server.faults += [refused, login_page, redirected(f"{server.url}/new")]
        assert [get(server).status for _ in range(3)] == [403, 200, 302]
        assert [entry.title for entry in read_feed(get(server).data, "").entries] == ["Tea"]
        assert get(server, "/other").status == 404
        assert server.paths == [*[PATH] * 4, "/other"]


def test_guids_and_links_change_at_each_fetch() -> None:
    feeds = {
        PATH: rss(item("Tea", guid="x", link="https://x.example/?t=")),
        "/b": rss(item("Rain")),
    }
    with JournalServer(feeds) as server:
        server.faults_of[PATH] = changing("guid", "link")
        first, second = (get(server).data for _ in range(2))
        assert b"<guid>x1</guid><link>https://x.example/?t=1</link>" in first
        assert b"<guid>x2</guid><link>https://x.example/?t=2</link>" in second
        assert get(server, "/b").data == feeds["/b"]
