"""The one way in for what servers send: whatever comes, a request ends in time, in little memory, with plain words."""

import base64
import gzip
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
import trustme

from paperboy.edges.wire import BoundedReader, Http, NoReplyError, TooLargeError, retry_after

Talk = Callable[[socket.socket], None]
OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def server(*talks: Talk) -> Iterator[str]:
    """A server that reads a request, and answers each connection with the next talk, the last one for ever."""
    stopping = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        number = 0
        while not stopping.is_set():
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            talk = talks[min(number, len(talks) - 1)]
            number += 1
            threading.Thread(target=converse, args=(sock, talk), daemon=True).start()

    def converse(sock: socket.socket, talk: Talk) -> None:
        with closing(sock):
            try:
                while sock.recv(65_536):
                    talk(sock)
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/x"
    finally:
        stopping.set()
        listener.close()


def says(answer: bytes, *, closes: bool = True) -> Talk:
    def talk(sock: socket.socket) -> None:
        sock.sendall(answer)
        if closes:
            sock.shutdown(socket.SHUT_RDWR)

    return talk


def endless(start: bytes, piece: bytes, pause: float = 0.0) -> Talk:
    """Say the start, and then the piece again and again, with a pause between."""

    def talk(sock: socket.socket) -> None:
        sock.sendall(start)
        for _ in range(10_000_000):
            sock.sendall(piece)
            if pause:
                time.sleep(pause)

    return talk


def zipped(body: bytes) -> bytes:
    return (
        OK
        + b"Connection: close\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
        + body
    )


BOMB = gzip.compress(b" " * 100_000_000)
TOO_LONG = "the reply is too large"
TOO_SLOW = "the reply took too long"
MOST = 1_000_000

HOSTILE = {
    "a body that is too large": (endless(OK + b"\r\n", b"x" * 65_536), TOO_LONG),
    "a chunked body that never ends": (
        endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"x" * 4096 + b"\r\n"),
        TOO_LONG,
    ),
    "a gzip bomb": (says(zipped(BOMB)), TOO_LONG),
    "a body that drips": (endless(OK + b"\r\n", b"x", 0.05), TOO_SLOW),
    "a body that was promised": (says(OK + b"Content-Length: 9\r\n\r\nx", closes=False), TOO_SLOW),
    "headers that drip": (endless(OK, b"a", 0.05), TOO_SLOW),
    "one dripping 100 Continue after the other": (
        endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.05),
        TOO_SLOW,
    ),
    "silence": (says(b"", closes=False), TOO_SLOW),
    "a header of a megabyte": (
        says(OK + b"a: " + b"x" * 1_000_000 + b"\r\n\r\n"),
        "got more than 65536 bytes when reading header line",
    ),
    "ten thousand headers": (
        says(OK + b"a: b\r\n" * 10_000 + b"\r\n"),
        "got more than 100 headers",
    ),
    "an absurd length": (
        says(OK + b"Content-Length: 99999999999999999999\r\n\r\nx"),
        "IncompleteRead(1 bytes read, 99999999999999999998 more expected)",
    ),
    "an absurd chunk": (
        says(OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 60 + b"\r\nx"),
        None,
    ),
    "no HTTP": (says(b"220 mail.example.org ESMTP\r\n"), None),
    "a status that is none": (says(b"HTTP/1.1 20000 OK\r\n\r\n"), None),
    "the connection lost": (says(b""), None),
    "half a gzip": (says(zipped(gzip.compress(b"hello" * 100)[:20])), "the reply ends too early"),
    "a gzip that is none": (says(zipped(b"hello")), "the reply cannot be decompressed"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_reply_ends_in_plain_words_and_the_next_request_is_answered(case: str) -> None:
    talk, said = HOSTILE[case]
    client = Http(most=MOST)
    with server(talk, says(OK + b"Content-Length: 2\r\n\r\nhi")) as url:
        with pytest.raises(NoReplyError) as error:
            client.request("GET", url, {}, seconds=0.4 if said == TOO_SLOW else 300)
        assert said is None or str(error.value) == said
        assert (error.value.slow, error.value.unreachable) == (said == TOO_SLOW, False)
        assert client.request("GET", url, {}, seconds=300).body == b"hi"
    client.close()


def test_reply_is_returned_as_it_is_unpacked_and_no_redirect_is_followed() -> None:
    moved = b"HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: http://127.0.0.1:1/\r\n\r\n"
    with (
        server(says(moved), says(zipped(gzip.compress(b"hello")))) as url,
        closing(Http(most=MOST)) as client,
    ):
        redirect, reply = (client.request("GET", url, {}, seconds=300) for _ in range(2))
    assert (redirect.status, redirect.headers["location"]) == (302, "http://127.0.0.1:1/")
    assert (reply.status, reply.body) == (200, b"hello")


NOW = "Fri, 20 Nov 2026 07:00:00 GMT"
LATER = "Fri, 20 Nov 2026 07:01:30 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": " 0.5 "}, 0.5),
        ({"Retry-After": "9" * 9_000}, 1e9),
        *(({"Retry-After": text}, 0) for text in ("-1", "soon", "1e309", "²")),
        ({"Retry-After": LATER, "Date": NOW}, 90),
        ({"Retry-After": NOW, "Date": LATER}, 0),
        ({"Retry-After": LATER}, 0),
        ({"Retry-After": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "Date": NOW}, 0),
        ({"Retry-After": LATER, "Date": "today"}, 0),
        ({"Retry-After": LATER, "Date": NOW.removesuffix(" GMT")}, 0),
        ({"Retry-After": "Fri, 99 Nov 99999 99:99:99 GMT", "Date": NOW}, 0),
    ],
)
def test_wait_before_a_retry_is_seconds_or_a_date_by_the_servers_clock(
    headers: dict[str, str], seconds: float
) -> None:
    assert retry_after(headers) == seconds


def test_requests_share_a_connection() -> None:
    second = says(OK + b"Content-Length: 6\r\n\r\nsecond")
    first = says(OK + b"Content-Length: 5\r\n\r\nfirst", closes=False)
    with server(first, second) as url, closing(Http(most=MOST)) as client:
        assert [client.request("GET", url, {}, seconds=300).body for _ in range(3)] == [
            b"first"
        ] * 3


def test_server_that_is_not_there_is_named_by_its_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    with (
        closing(Http(most=MOST)) as client,
        pytest.raises(NoReplyError, match=r"^Connection refused$") as error,
    ):
        client.request("GET", url, {}, seconds=300)
    assert error.value.unreachable


def test_environment_names_no_proxy_and_a_given_one_is_for_https_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    heard = bytearray()

    def refuses(sock: socket.socket) -> None:
        sock.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
        sock.shutdown(socket.SHUT_RDWR)

    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        server(says(OK + b"Content-Length: 2\r\n\r\nhi")) as url,
    ):

        def proxy() -> None:
            sock, _ = listener.accept()
            heard.extend(sock.recv(65_536))
            with closing(sock):
                refuses(sock)

        thread = threading.Thread(target=proxy)
        thread.start()
        with closing(
            Http(most=MOST, proxy=f"http://ada:s%40cret@127.0.0.1:{listener.getsockname()[1]}")
        ) as client:
            assert client.request("GET", url, {}, seconds=300).body == b"hi"
            with pytest.raises(
                NoReplyError, match="Tunnel connection failed: 407 Proxy Authentication Required"
            ) as error:
                client.request("GET", "https://llm.example.org/v1", {}, seconds=300)
            assert error.value.unreachable
        thread.join()
    assert heard.startswith(b"CONNECT llm.example.org:443 HTTP/1.")
    assert b"proxy-authorization: basic " + base64.b64encode(b"ada:s@cret").lower() in heard.lower()


def test_certificates_are_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    heard = []

    def over_tls(sock: socket.socket) -> None:
        with context.wrap_socket(sock, server_side=True) as secured:
            heard.append(b"")  # a client that closes is an error in some versions of OpenSSL
            heard[-1] = secured.recv(65_536)
            secured.sendall(OK + b"Content-Length: 2\r\n\r\nhi")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"

        def serve() -> None:
            for _ in range(4):
                with suppress(OSError):
                    over_tls(listener.accept()[0])

        thread = threading.Thread(target=serve)
        thread.start()
        with (
            closing(Http(most=MOST)) as client,
            pytest.raises(NoReplyError, match="certificate verify failed") as error,
        ):
            client.request("GET", url, {}, seconds=300)
        assert error.value.unreachable
        with (
            closing(Http(most=MOST)) as client,
            pytest.raises(NoReplyError, match="certificate verify failed"),
        ):
            client.connect(url, seconds=300)
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        with closing(Http(most=MOST)) as client:
            assert client.request("GET", url, {}, seconds=300).body == b"hi"
            client.connect(url, seconds=300)
        thread.join()
    assert [len(request) > 0 for request in heard] == [True, False], "to connect is no request"


def test_reader_counts_bytes() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, closing(BoundedReader(ours, 5, 10)) as reader:
        theirs.sendall(b"x" * 10)
        assert reader.read(20) == b"x" * 10
        theirs.sendall(b"x")
        with pytest.raises(TooLargeError):
            reader.read(20)
