"""`paperboy check` asks the pages where readers would, and says what to fix."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import pytest
import trustme

from tests.hostile.talk import Talker
from tests.servers.smtp_sink import free_port
from tests.web.conftest import Web
from tests.web.served import Served


def said(web: Web) -> str:
    """The line of the check about the pages. Mail goes out without them, so it is no fault."""
    ran = web.run("check")
    assert ran.code == 0
    (line,) = [line for line in ran.out.splitlines() if line[7:].startswith("web: ")]
    return line


def answering(status: str, body: str = "") -> Talker:
    def talk(_: Talker, sock: socket.socket) -> None:
        sock.recv(65_536)
        sock.sendall(
            f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()
        )

    return Talker(talk)


@pytest.mark.parametrize("base", ["", "/papers"])
def test_pages_that_answer_are_ok(web: Web, base: str) -> None:
    port = free_port()
    web.world.env(WEB_URL=f"http://127.0.0.1:{port}{base}", WEB_LISTEN=f"127.0.0.1:{port}")
    with Served(web.world.path, port):
        assert said(web) == f"ok     web: http://127.0.0.1:{port}{base} answers"


def test_pages_that_nobody_serves_are_a_note(web: Web) -> None:
    port = free_port()
    web.world.env(WEB_URL=f"http://127.0.0.1:{port}")
    line = said(web)
    assert line.startswith(
        f"note   web: http://127.0.0.1:{port}/robots.txt does not answer (Connection refused), so "
    )
    assert line.endswith(
        "see that `paperboy web` and its proxy run, and that the proxy's name and certificate are right"
    )


@pytest.mark.parametrize(
    ("status", "body"),
    [
        ("502 Bad Gateway", ""),
        ("404 Not Found", ""),
        ("301 Moved", ""),
        ("200 OK", "User-agent: *\nDisallow: /wp-admin/\n"),
    ],
)
def test_proxy_that_leads_elsewhere_is_a_note(web: Web, status: str, body: str) -> None:
    with answering(status, body) as proxy:
        web.world.env(WEB_URL=f"http://127.0.0.1:{proxy.port}")
        fix = "start `paperboy web`, and have the proxy pass requests to 127.0.0.1:8025"
        assert said(web) == (
            f"note   web: http://127.0.0.1:{proxy.port}/robots.txt answers {status[:3]}, "
            f"but the response is not Paperboy's; {fix}"
        )


def test_page_without_end_is_a_note(web: Web) -> None:
    with answering("200 OK", "x" * 200_000) as proxy:
        web.world.env(WEB_URL=f"http://127.0.0.1:{proxy.port}")
        assert "/robots.txt does not answer (" in said(web)


@pytest.fixture
def tls() -> Iterator[Talker]:
    """With a certificate that nobody trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)

    def talk(_: Talker, sock: socket.socket) -> None:
        context.wrap_socket(sock, server_side=True)

    with Talker(talk) as talker:
        yield talker


def test_certificate_that_is_not_trusted_is_a_note(web: Web, tls: Talker) -> None:
    web.world.env(WEB_URL=f"https://localhost:{tls.port}")
    assert "certificate" in said(web).partition("(")[2].partition(")")[0]


def test_home_without_web_url_is_not_asked_about_pages(web: Web) -> None:
    web.world.env()
    assert " web: " not in web.run("check").out
