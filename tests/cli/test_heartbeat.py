"""`HEARTBEAT_URL` is fetched after each morning and its sending, unless something is wrong."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from tests.cli.conftest import World
from tests.hostile.talk import Talker
from tests.servers.smtp import Fault

SECRET = "/ping/0c5a-secret?status=up"


@dataclass
class Monitor:
    """A monitor that watches the service: the requests it got, and its answer."""

    url: str = ""
    status: int = 200
    says: bytes = b""  # instead of HTTP
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def monitor() -> Iterator[Monitor]:
    told = Monitor()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.requests.append(self.path)
            if told.says:
                self.wfile.write(told.says)
                return
            self.send_response(told.status, f"you asked for {self.path}")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        told.url = f"http://127.0.0.1:{server.server_port}{SECRET}"
        yield told
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("what", "beats"),
    [
        ("mail left", 1),
        ("a quiet day", 1),
        ("one address deferred", 1),
        ("the mail server refuses us", 0),
        ("the mail server takes none", 0),
        ("every address refused", 0),
        ("arXiv is down", 0),
    ],
)
@pytest.mark.parametrize("by", ["once", "the daemon"])
def test_heartbeat_follows_a_morning_and_its_sending(
    world: World, monitor: Monitor, what: str, beats: int, by: str
) -> None:
    """By the daemon's children: by the morning where nothing is to be sent, else by the sending."""
    more = {"ARXIV_API_URL": "http://127.0.0.1:9/api/query"} if what == "arXiv is down" else {}
    world.env(HEARTBEAT_URL=monitor.url, **more)
    faults = {
        "one address deferred": Fault("RCPT", "450 full", address="ada@example.org"),
        "the mail server refuses us": Fault("MAIL", "550 5.7.1 you may not send"),
        "the mail server takes none": Fault("MAIL", "451 not now"),
        "every address refused": Fault("RCPT", "550 5.1.1 no"),
    }
    world.smtp.faults.extend(fault for name, fault in faults.items() if name == what)
    world.announce_both(1, 4)
    if what == "a quiet day":
        world.once()
        world.later(days=1)
        monitor.requests.clear()
    if by == "once":
        world.once()
    else:
        world.run("work", "morning", "foundations", "galaxies")
        assert len(monitor.requests) == (what == "a quiet day")
        world.run("work", "sending")
    assert monitor.requests == [SECRET] * beats
    world.run("work", "sending")  # of nothing
    assert len(monitor.requests) == beats


@pytest.mark.quick
def test_heartbeat_that_fails_is_logged_without_its_path(world: World, monitor: Monitor) -> None:
    monitor.status = 404
    world.announce(1)
    for url, said in (
        (monitor.url, "it answers 404"),
        (f"http://127.0.0.1:9{SECRET}", "Connection refused"),
    ):
        world.env(HEARTBEAT_URL=url)
        ran = world.once("foundations")
        assert ran.code == 0
        world.run("work", "morning", "galaxies")
        assert f"HEARTBEAT_URL at 127.0.0.1 could not be fetched: {said}\n" in ran.err
        assert "0c5a" not in ran.err + ran.out


@pytest.mark.parametrize("path", ["/{}", "/ping/{}", "/{}/nightly", "/ping?key={}&status=up"])
def test_part_of_the_heartbeats_address_that_is_echoed_alone_is_not_logged(
    world: World, monitor: Monitor, path: str
) -> None:
    uuid = "0c5a7d1e-93b4-4f0e-8a52-7f6be3d81a90"
    world.env(HEARTBEAT_URL=monitor.url.removesuffix(SECRET) + path.format(uuid))
    monitor.says = f"{uuid} is no check of ours; {uuid[:13]} {uuid[13:]}\r\n".encode()
    world.announce(1)
    ran = world.once()
    assert "HEARTBEAT_URL at 127.0.0.1 could not be fetched: … is no check of ours; …" in ran.err
    assert "0c5a7d1e" not in ran.err + ran.out


# ── In the check ─────────────────────────────────────────────────────────────────────────────────


def checked(world: World) -> str:
    """The line about the heartbeat."""
    world.announce(1)
    ran = world.run("check")
    assert (ran.code, "0c5a" in ran.out) == (0, False)
    (line,) = [line for line in ran.out.splitlines() if line[7:].startswith("heartbeat: ")]
    return line


def test_check_connects_and_sends_no_heartbeat(world: World, monitor: Monitor) -> None:
    world.env(HEARTBEAT_URL=monitor.url)
    assert checked(world) == (
        "ok     heartbeat: HEARTBEAT_URL at 127.0.0.1 can be reached; nothing was requested"
    )
    assert monitor.requests == []


def test_heartbeat_whose_host_cannot_be_reached_is_a_note(world: World) -> None:
    world.env(HEARTBEAT_URL=f"http://127.0.0.1:9{SECRET}")
    assert checked(world) == (
        "note   heartbeat: HEARTBEAT_URL at 127.0.0.1 cannot be reached (Connection refused), "
        "so your monitoring will raise an alarm; check the URL and HTTPS_PROXY"
    )


def test_check_connects_through_the_proxy(world: World) -> None:
    heard = []

    def refuse(_: Talker, sock: socket.socket) -> None:
        heard.append(sock.recv(65_536))
        sock.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")

    world.env(HEARTBEAT_URL=f"https://monitor.example.org{SECRET}")
    with Talker(refuse) as proxy:
        world.environ["HTTPS_PROXY"] = f"http://127.0.0.1:{proxy.port}"
        assert "(Tunnel connection failed: 403 Forbidden)" in checked(world)
    assert [request.split()[:2] for request in heard] == [[b"CONNECT", b"monitor.example.org:443"]]
