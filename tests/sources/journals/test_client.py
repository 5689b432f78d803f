"""The client of feeds against servers on loopback: redirects, refusals, pauses, bounds, and what may be said of a URL
that holds a key.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from paperboy import __version__
from paperboy.sources.journals.client import FeedClient, Reading, read_all
from paperboy.sources.journals.entries import ENTRIES, JournalFeed
from paperboy.sources.polite import FaultError
from tests.hostile import http
from tests.hostile.talk import Talker
from tests.servers import arxiv_faults as faults
from tests.servers.arxiv_faults import Answer, Fault
from tests.servers.journals import JournalServer, item, login_page, refused, rss

PATH = "/private-feed/tea.rss?token=S3cretKey+of%20mine&limit=100"
SECRETS = ("private-feed", "tea.rss", "S3cretKey", "limit=100")
TEA = rss(item("Tea", guid="10.5555/tea", link="https://doi.org/10.5555/tea"))


@pytest.fixture
def server() -> Iterator[JournalServer]:
    with JournalServer({PATH: TEA}) as running:
        yield running


@dataclass
class Asked:
    """A client, and the waits that it asked for."""

    server: JournalServer
    seconds: float = 60
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.url = self.server.url + PATH
        self.client = FeedClient(
            self.url,
            contact="ada@example.org",
            seconds=self.seconds,
            wait=self.waits.append,
        )

    def titles(self) -> list[str]:
        return titles(self.client.read(self.url))

    def error(self) -> FaultError:
        """Return the fault of a reading that fails. What it says is one line without the URL."""
        with pytest.raises(FaultError) as caught:
            self.titles()
        said = f"{caught.value} {caught.value.hint}"
        assert said.isprintable()
        assert not [secret for secret in SECRETS if secret.lower() in said.lower()], said
        return caught.value


def titles(reading: Reading) -> list[str]:
    assert isinstance(reading, JournalFeed)
    return [entry.title for entry in reading.entries]


def echoed(status: int) -> Fault:
    """A page that repeats the address, as many servers' own do."""
    page = (
        f"<html><title>Error</title>No {PATH} on this server, nor ?token=S3cretKey+of%20mine</html>"
    )
    return lambda answer: replace(answer, status=status, body=page.encode())


# a good day


def test_feed_is_one_request_under_our_name(server: JournalServer) -> None:
    asked = Asked(server)
    assert asked.titles() == ["Tea"]
    (request,) = server.requests
    assert request.path == PATH
    said = f"paperboy/{__version__} (journal e-mail digests; ada@example.org)"
    assert request.user_agent == said
    assert asked.waits == []


def test_feed_without_an_entry_is_a_normal_reply(server: JournalServer) -> None:
    server.feeds[PATH] = rss()
    assert Asked(server).titles() == []


def test_packed_feed_is_read(server: JournalServer) -> None:
    packed = (("Content-Encoding", "gzip"),)
    server.faults += [lambda answer: Answer(gzip.compress(answer.body), headers=packed)]
    assert Asked(server).titles() == ["Tea"]


# redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "location", ["/new.rss", "new.rss", "//127.0.0.1:{port}/private-feed/new.rss"]
)
def test_redirect_is_followed_wherever_it_leads(
    server: JournalServer, status: int, location: str
) -> None:
    server.feeds |= dict.fromkeys(["/new.rss", "/private-feed/new.rss"], TEA)
    headers = ("Location", location.format(port=server.port))
    server.faults += [faults.plain(status, "moved", headers)]
    asked = Asked(server)
    assert asked.titles() == ["Tea"]
    assert len(server.requests) == 2
    assert asked.waits == [1.0], "a request is one, wherever it comes from"


def test_redirect_to_another_host_is_followed(server: JournalServer) -> None:
    with JournalServer({"/tea": TEA}) as other:
        server.faults += [faults.redirected(f"http://localhost:{other.port}/tea")]
        assert Asked(server).titles() == ["Tea"]


def test_redirects_without_an_end_are_a_fault(server: JournalServer) -> None:
    server.lasting_fault = faults.redirected(PATH)
    fault = Asked(server).error()
    assert str(fault) == "redirects without an end"
    assert len(server.requests) == 5


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "mailto:a@b.example",
        "http://[::1",
        "//[/x",
        "data:,x",
    ],
)
def test_redirect_to_what_is_no_server_is_a_fault(server: JournalServer, location: str) -> None:
    server.faults += [faults.redirected(location)]
    fault = Asked(server).error()
    assert "redirects to an address that cannot be read" in str(fault)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [300, 304, 305])
def test_redirect_of_another_kind_does_not_name_its_target(
    server: JournalServer, status: int
) -> None:
    target = ("Location", server.url + PATH)
    server.faults += [faults.plain(status, "", target)] * 2
    Asked(server).error()


# refusals, in words


@pytest.mark.parametrize(
    ("fault", "says", "fix"),
    [
        (refused, "answered HTTP 403 (Just a moment...)", "The publisher refuses programs"),
        (faults.plain(401, "who?"), "answered HTTP 401 (who?)", "The publisher refuses programs"),
        (faults.plain(404, ""), "answered HTTP 404", "Look for the feed's new address"),
        (faults.plain(410, "gone"), "answered HTTP 410 (gone)", "Look for the feed's new address"),
        (faults.plain(400, "bad"), "answered HTTP 400 (bad)", "Check the feed's address in subsc"),
        (login_page, "sent a login page instead of a feed (Sign in)", "Open the address in a b"),
        (
            faults.body(b"<!DOCTYPE html><html><title>News</title></html>"),
            "sent a web page instead of a feed (News)",
            "Open the address in a browser",
        ),
        (faults.body(b'{"a": 1}'), 'sent JSON instead of a feed ({"a": 1})', "Check the address"),
        (faults.body(b"hello"), "sent something other than a feed (hello)", "Check the address"),
    ],
)
def test_refusal_is_said_with_its_fix_and_not_repeated(
    server: JournalServer, fault: Fault, says: str, fix: str
) -> None:
    server.faults += [fault]
    met = Asked(server).error()
    assert str(met) == says
    assert met.hint.startswith(fix)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [200, 400, 403, 404, 500])
def test_page_that_repeats_the_address_is_quoted_without_it(
    server: JournalServer, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "paperboy")
    server.lasting_fault = echoed(status)
    assert "No …" in str(Asked(server).error())
    assert not [secret for secret in SECRETS if secret in caplog.text], caplog.text


def test_address_of_a_redirect_is_not_quoted_either(
    server: JournalServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Publishers sign such addresses."""
    caplog.set_level("DEBUG", "paperboy")
    target = "/signed?signature=AbCdEf123456"
    server.faults += [
        faults.redirected(target),
        faults.plain(503, f"no {target}"),
        faults.redirected(target),
        faults.plain(404, f"no {target}"),
    ]
    said = str(Asked(server).error())
    assert said == "answered HTTP 404 (no …)"
    assert "AbCdEf" not in caplog.text


def test_key_that_the_quotation_cuts_is_hidden(server: JournalServer) -> None:
    server.faults += [faults.plain(404, f"{'x' * 100} token=S3cretKey+of%20mine and more")]
    Asked(server).error()


@pytest.mark.parametrize("host", ["127.0.0.1:99999", "a..b"])
def test_address_that_cannot_be_read_is_not_quoted(server: JournalServer, host: str) -> None:
    asked = Asked(server)
    asked.url = f"http://{host}{PATH}"
    fault = asked.error()
    assert "did not send a complete reply" in str(fault) or "cannot be" in str(fault)


# faults that pass


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_busy_server_is_asked_once_more(server: JournalServer, status: int) -> None:
    server.faults += [faults.plain(status, "busy")]
    asked = Asked(server)
    assert asked.titles() == ["Tea"]
    assert (len(server.requests), asked.waits) == (2, [2.0])
    server.lasting_fault = faults.plain(status, "busy")
    assert str(asked.error()) == f"answered HTTP {status} (busy)"
    assert len(server.requests) == 4


@pytest.mark.parametrize(("seconds", "requests"), [(20, 2), (31, 1)])
def test_wait_that_the_server_asks_for_has_an_end(
    server: JournalServer, seconds: int, requests: int
) -> None:
    server.lasting_fault = faults.unavailable(seconds)
    asked = Asked(server)
    asked.error()
    assert len(server.requests) == requests
    assert asked.waits == [20.0] * (requests - 1)


@pytest.mark.parametrize(
    "fault",
    [faults.body(b""), lambda answer: replace(answer, dropped=True)],
    ids=["empty", "dropped"],
)
def test_reply_without_a_body_is_asked_for_once_more(server: JournalServer, fault: Fault) -> None:
    server.faults += [fault]
    assert Asked(server).titles() == ["Tea"]
    server.lasting_fault = fault
    Asked(server).error()
    assert len(server.requests) == 4


# bounds


@pytest.mark.long("megabytes")
@pytest.mark.parametrize("kind", http.AT_ONCE)
def test_hostile_reply_costs_its_feed_alone(kind: str) -> None:
    """Beside a feed of the same host that is sound."""

    def talk(talker: Talker, sock: object) -> None:
        received = b""
        while b"\r\n\r\n" not in received:
            received += sock.recv(65_536)  # type: ignore[attr-defined]
        good = http.reply(TEA, "application/rss+xml", more={"Connection": "close"})
        hostile = http.AT_ONCE[kind](TEA, "application/rss+xml")
        talker.say(sock, hostile if b"/evil" in received else [good])  # type: ignore[arg-type]

    with Talker(talk) as talker:
        evil, good = (f"http://127.0.0.1:{talker.port}/{name}" for name in ("evil", "good"))
        readings = read_all([evil, good], patient, lambda *_: None)
    assert titles(readings[good]) == ["Tea"]
    assert isinstance(readings[evil], FaultError) or kind == "headers of noise"


def patient(url: str) -> FeedClient:
    """Return a client that does not wait."""
    return FeedClient(url, delay_seconds=0, seconds=2, wait=lambda _: None)


@pytest.mark.parametrize("fault", [faults.dripping_body, faults.dripping_headers, faults.hang(30)])
def test_slow_reply_meets_the_deadline(server: JournalServer, fault: Fault) -> None:
    server.lasting_fault = fault
    fault_met = Asked(server, seconds=0.2).error()
    assert str(fault_met) == "did not send a complete reply (the reply took too long)"


@pytest.mark.long("megabytes")
@pytest.mark.parametrize(
    "fault",
    [
        faults.endless_body,
        faults.packed_spaces(500_000_000),
        lambda answer: replace(answer, body=answer.body + b" " * 10_000_000),
    ],
    ids=["endless", "bomb", "a byte too much"],
)
def test_reply_of_more_than_ten_megabytes_is_a_fault(server: JournalServer, fault: Fault) -> None:
    server.lasting_fault = fault
    said = str(Asked(server).error())
    assert said == "did not send a complete reply (the reply is too large)"


@pytest.mark.long("megabytes")
def test_feed_of_ten_megabytes_and_one_of_100_000_entries_are_read(server: JournalServer) -> None:
    server.feeds[PATH] = TEA + b" " * (10_000_000 - len(TEA))
    assert Asked(server).titles() == ["Tea"]
    server.feeds[PATH] = rss(*(item(f"Tea {number}") for number in range(100_000)))
    assert len(server.feeds[PATH]) < 10_000_000
    assert Asked(server).titles() == [f"Tea {number}" for number in range(ENTRIES)]


# several feeds


def test_host_has_one_connection_and_a_pause_between_its_requests(server: JournalServer) -> None:
    paths = [f"/{number}.rss" for number in range(5)]
    server.feeds |= dict.fromkeys(paths, TEA)
    server.faults_of["/3.rss"] = faults.plain(404, "")
    made = list[str]()
    waits = list[float]()
    progress = list[tuple[int, int]]()

    def client(url: str) -> FeedClient:
        made.append(url)
        return FeedClient(url, wait=waits.append)

    urls = [server.url + path for path in paths]
    readings = read_all([*urls, urls[0]], client, lambda done, of: progress.append((done, of)))
    assert len(made) == 1
    assert sorted(server.paths) == paths, "a URL that stands there twice is asked once"
    assert {request.concurrent for request in server.requests} == {1}
    assert waits == [1.0] * 4
    assert progress == [(number, 5) for number in range(1, 6)]
    failed = [url for url in urls if isinstance(readings[url], FaultError)]
    assert failed == urls[3:4]


def test_four_hosts_are_read_at_once() -> None:
    """A server that keeps silent until four are asked would keep a single reader for ever; the fifth has to wait."""
    meeting = threading.Barrier(4, timeout=30)
    reached = list[str]()

    def met(answer: Answer) -> Answer:
        if len(reached) < 4:
            reached.append("")
            meeting.wait()
        return answer

    hosts = ["127.0.0.1", "127.0.1", "127.1", "2130706433", "localhost"]  # all of them this machine
    with JournalServer({"/tea": TEA}) as server:
        server.lasting_fault = met
        urls = [f"http://{host}:{server.port}/tea" for host in hosts]
        readings = read_all(urls, patient, lambda *_: None)
    assert [titles(readings[url]) for url in urls] == [["Tea"]] * 5
    assert max(request.concurrent for request in server.requests) <= 4
