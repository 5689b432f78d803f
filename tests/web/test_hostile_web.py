"""What strangers may send to the site: it answers each, stays alive, and its log names nobody.

Requests go to `paperboy web` over real sockets, byte by byte, past every HTTP library and proxy.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import threading
from collections.abc import Iterator

import pytest
from werkzeug.test import Client

from paperboy.web.site import HEADERS
from tests.cli.conftest import LISTS
from tests.web.conftest import CLICK, WEB_URL, Web
from tests.web.served import Answer, Served

END = b" HTTP/1.1\r\nHost: papers.example.org\r\nConnection: close\r\n\r\n"
BY_WAITRESS = {400, 413, 431, 501}  # pages without a word of the request


def path_of(web: Web, pattern: str = "leave/") -> str:
    return web.link(pattern).removeprefix(WEB_URL)


def is_safe(answer: Answer) -> bool:
    """It says nothing of the program, and a browser takes it for what it is."""
    if "server" in answer.headers or "Traceback" in answer.body:
        return False
    if answer.status in BY_WAITRESS and answer.headers["content-type"].startswith("text/plain"):
        return True
    return all(
        answer.headers.get(name.lower()) == HEADERS[name] for name in HEADERS.keys() - MAY_DIFFER
    )


MAY_DIFFER = {"Cache-Control", "X-Robots-Tag"}  # of pages that anybody may see


def is_discreet(served: Served, web: Web) -> bool:
    """The log has no token, no address and no traceback, and its lines are short."""
    token = path_of(web).rpartition("/")[2]
    words = [token, token.upper(), "ada@", "Traceback", "bug in Paperboy"]
    return not any(word in served.log for word in words) and all(
        len(line) < 200 for line in served.log.splitlines()
    )


def is_alive(served: Served, web: Web) -> bool:
    answer = served.ask(path_of(web))
    return answer.status == 200 and "Unsubscribe from Foundations" in answer.body


# ── Requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def hostile_paths(leave: str) -> Iterator[tuple[bytes, int]]:
    token = leave.rpartition("/")[2]
    found = {
        404: [
            *("/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/.env", "/data/", "/digest/../x"),
            *(f"{leave}%00", f"{leave}\0", f"{leave}%0d%0aX:y", f"{leave};x", f"{leave}a"),
            *(leave[:-1], leave.upper(), f"/leave/{token.upper()}"),
            "/leave/%D9%A0" + "%D9%A0" * 31,  # 32 digits, of another script
            *(f"/vote/{token}/2026-02-30", f"/vote/{token}/%EF%BC%92026-11-20"),
            *("/" * 9_000 + "x", "/leave/" + "a" * 9_000, "/%ff%fe", "/%", "/%zz", "*", "//["),
        ],
        400: ["/\udcff\udcfe", "/leave/٠", "/a b"],
        431: ["/" + "a" * 20_000],
    }
    for status, paths in found.items():
        yield from ((path.encode(errors="surrogateescape"), status) for path in paths)


def test_hostile_paths_find_nothing(served: Served, web: Web) -> None:
    for path, status in hostile_paths(path_of(web)):
        (answer,) = served.say(b"GET " + path + END)
        assert (answer.status, is_safe(answer)) == (status, True), path
    assert is_alive(served, web)
    assert is_discreet(served, web)


def test_only_get_head_and_post_are_methods(served: Served, web: Web) -> None:
    leave = path_of(web).encode()
    for method in (b"PUT", b"DELETE", b"TRACE", b"CONNECT", b"OPTIONS", b"PROPFIND", b"A" * 5_000):
        (answer,) = served.say(method + b" " + leave + END)
        assert (answer.status, is_safe(answer)) == (405, True), method
    for method in (b"get", b"G\0T", b"<script>", "GÉT".encode(), b"", b"\x16\x03\x01\x00\xa5\x01"):
        (answer,) = served.say(method + b" " + leave + END)
        assert (answer.status, is_safe(answer)) == (400, True), method
    assert web.get(path_of(web)).text.count("<button>Unsubscribe</button>") == 1  # nobody has left
    assert is_discreet(served, web)


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
BIG = b"1000\r\n" + b"a" * 4_096 + b"\r\n"
BODIES = {
    "17 kB": (b"Content-Length: 17000\r\n\r\n" + b"a" * 17_000, 413),
    "a length beyond all": (b"Content-Length: 99999999999999999999\r\n\r\na", 413),
    "a negative length": (b"Content-Length: -1\r\n\r\n", 400),
    "a length with a sign": (b"Content-Length: +3\r\n\r\na=b", 400),
    "a length in other digits": ("Content-Length: ٣\r\n\r\na=b".encode(), 400),
    "chunks": (CHUNKED + b"3\r\na=b\r\n0\r\n\r\n", 200),
    "20 kB in chunks": (CHUNKED + BIG * 5 + b"0\r\n\r\n", 413),
    "a chunk without end": (CHUNKED + b"fffffffffffffffff\r\n" + b"a" * 17_000, 413),
    "no chunk": (CHUNKED + b"zz\r\na=b\r\n0\r\n\r\n", 400),
    "a negative chunk": (CHUNKED + b"-3\r\na=b\r\n0\r\n\r\n", 400),
    "expected": (b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\na=b", 200),
    "expected, 17 kB": (
        b"Expect: 100-continue\r\nContent-Length: 17000\r\n\r\n" + b"a" * 17_000,
        413,
    ),
    "two lengths": (b"Content-Length: 3\r\nContent-Length: 4\r\n\r\na=bc", 400),
    "length and chunks": (b"Content-Length: 3\r\n" + CHUNKED + b"0\r\n\r\n", 400),
    "chunks, and more": (b"Transfer-Encoding: identity\r\n" + CHUNKED + b"0\r\n\r\n", 501),
    "hidden chunks": (b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
    "chunks behind a tab": (b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400),
}


def test_bodies_are_small_and_have_one_end(served: Served, web: Web) -> None:
    start = f"POST {path_of(web)}/undo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n".encode()
    for name, (rest, status) in BODIES.items():
        found = served.say(start + rest)
        assert [(answer.status, is_safe(answer)) for answer in found] in ([(status, True)], []), (
            name
        )  # []: reset meanwhile
        assert found or status == 413, name
    assert is_alive(served, web)
    assert is_discreet(served, web)


def test_old_request_with_a_length_and_chunks_is_refused_too(served: Served, web: Web) -> None:
    """RFC 9112: a Transfer-Encoding in HTTP/1.0 is faulty framing, whoever believes which."""
    start = f"POST {path_of(web)}/undo HTTP/1.0\r\n".encode()
    (answer,) = served.say(start + b"Content-Length: 5\r\n" + CHUNKED + b"0\r\n\r\n")
    assert (answer.status, is_safe(answer)) == (400, True)


def test_request_that_waitress_stumbles_over_ends_its_connection_alone(
    served: Served, web: Web
) -> None:
    leave = path_of(web).encode()
    for request in (
        b"GET http://[::1" + leave + END,
        b"POST " + leave + b" HTTP/1.1\r\nContent-Length: " + b"9" * 5_000,
    ):
        assert served.say(request + b"\r\n\r\n") == []
    assert is_alive(served, web)
    assert leave.decode().rpartition("/")[2] not in served.log


def multipart(number: int) -> bytes:
    return (
        b"".join(
            b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n' for _ in range(number)
        )
        + b"--b--\r\n"
    )


@pytest.mark.parametrize(
    ("kind", "body", "statuses"),
    [
        ("multipart/form-data; boundary=b", multipart(300), {200}),
        ("multipart/form-data; boundary=b", multipart(10_000), {413}),
        ("multipart/form-data; boundary=b", b"--b\r\n" * 3_000, {200, 400, 413}),
        ("multipart/form-data", b"--b", {200, 400}),
        ("multipart/form-data; boundary=" + "b" * 5_000, b"--b", {200, 400}),
        ("application/x-www-form-urlencoded", b"2611.00001=up&" * 1_100, {200}),
        (
            "application/x-www-form-urlencoded; charset=utf-7",
            b"2611.00001=\xff\xfe%ff%00",
            {200, 400},
        ),
        ("application/json", b"{" * 5_000, {200, 400, 415}),
        ("\xff/\xfe; charset=zzz", b"\0" * 5_000, {200, 400, 415}),
    ],
)
def test_hostile_forms_are_bounded(kind: str, body: bytes, statuses: set[int], web: Web) -> None:
    """On the page that reads the most from its form."""
    answer = web.post(web.link("vote/"), data=body, content_type=kind, headers=CLICK)
    assert answer.status_code in statuses
    assert web.get(path_of(web)).status_code == 200


HEADS = {
    "2,500 headers": (b"A: b\r\n" * 2_500, {200}),
    "25,000 headers": (b"A: b\r\n" * 25_000, {431}),
    "a header of 100 kB": (b"A: " + b"b" * 100_000 + b"\r\n", {431}),
    "a folded header": (b"A: b\r\n c\r\n", {200, 400}),
    "a space before the colon": (b"Content-Length : 5\r\n", {400}),
    "a control character": (b"A: \x00\r\n", {400}),
    "a line feed alone": (b"A: b\nX: y\r\n", {400}),
    "wrong encodings": (
        b'Cookie: \xff=; =;\r\nIf-None-Match: "\xff\r\nRange: bytes=9-1,x\r\nAccept: \xfe\r\n',
        {200},
    ),
    "another upgrade": (b"Upgrade: h2c\r\nHTTP2-Settings: x\r\n", {200}),
}


def test_hostile_headers(served: Served, web: Web) -> None:
    for name, (headers, statuses) in HEADS.items():
        found = served.say(
            f"GET {path_of(web)} HTTP/1.1\r\nConnection: close\r\n".encode() + headers + b"\r\n"
        )
        assert all(is_safe(answer) and answer.status in statuses for answer in found), name
        assert len(found) == 1 or 431 in statuses, name
    assert is_alive(served, web)
    assert is_discreet(served, web)


# ── Links ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_links_begin_with_web_url_whatever_the_request_says(served: Served, web: Web) -> None:
    lies = [
        "Host: evil.example",
        "X-Forwarded-Host: evil.example",
        "X-Forwarded-Proto: gopher",
        "X-Forwarded-Prefix: /evil.example",
        "X-Forwarded-For: evil.example",
        "X-Original-URL: /evil.example",
        "Forwarded: host=evil.example;proto=gopher",
    ]
    request = "\r\n".join(
        [f"GET http://evil.example{path_of(web)} HTTP/1.1", *lies, "Connection: close", "", ""]
    )
    (answer,) = served.say(request.encode())
    assert answer.status == 200
    assert "evil.example" not in answer.body + str(answer.headers)
    assert "gopher" not in answer.body
    assert f'action="{WEB_URL}{path_of(web)}/now"' in answer.body


@pytest.mark.parametrize("strips", [False, True])
def test_room_below_a_path_works_whether_or_not_the_proxy_strips_it(
    web: Web, *, strips: bool
) -> None:
    base = "https://example.org/papers"
    web.world.env(WEB_URL=base)
    leave = path_of(web)
    asked = leave if strips else f"/papers{leave}"
    page = web.get(asked)
    assert page.status_code == 200
    assert f'action="{base}{leave}/now"' in page.text
    assert web.post(f"{asked}/now").status_code == 200
    assert (
        "Disallow: /papers/leave/"
        in web.get("/robots.txt" if strips else "/papers/robots.txt").text
    )


# ── Slow clients ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_clients_who_send_or_read_slowly_keep_no_thread_from_others(
    served: Served, web: Web
) -> None:
    """The proxy waits for them; without it, each costs a connection."""
    leave = path_of(web)
    with contextlib.ExitStack() as slow:
        for _ in range(50):
            slow.enter_context(served.connect()).sendall(
                f"POST {leave} HTTP/1.1\r\nContent-Length: 9\r\n\r\n".encode()
            )
            slow.enter_context(served.connect()).sendall(f"GET {leave} HTTP/1.1\r\n\r\n".encode())
        assert is_alive(served, web)
        assert served.ask(leave, "POST").status == 200
    assert is_discreet(served, web)


# ── Its database and its files ───────────────────────────────────────────────────────────────────────────────────────


def test_killed_room_stops_no_mail_and_leaves_the_database_sound(served: Served, web: Web) -> None:
    leave = path_of(web)
    stop = threading.Event()

    def click() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError, ValueError):
                served.ask(f"{leave}/{'undo' if os.urandom(1) < b'a' else 'now'}", "POST")

    clicking = threading.Thread(target=click)
    clicking.start()
    web.world.clock.now = web.world.clock().replace(day=23)
    web.world.announce(4, 5, 6)
    before = len(web.world.smtp.messages)
    threading.Timer(0.2, served.process.send_signal, [signal.SIGKILL]).start()
    ran = web.run("once", "--list", "foundations")
    stop.set()
    clicking.join(60)
    assert served.process.wait(60) == -signal.SIGKILL
    assert ran.code == 0
    assert "grace@example.org" in web.world.mails()[before:]
    with contextlib.closing(sqlite3.connect(web.world.path / "data" / "paperboy.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_room_answers_while_somebody_else_writes_for_long(web: Web) -> None:
    """Pages are read all the same; a click that has waited in vain is told to come again, and changes nothing."""
    leave = path_of(web)
    with contextlib.closing(sqlite3.connect(web.world.path / "data" / "paperboy.db")) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert web.get(leave).status_code == 200
        answer = web.post(f"{leave}/now")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
        writer.execute("ROLLBACK")
    assert "<button>Unsubscribe</button>" in web.get(leave).text
    assert "Unsubscribed" in web.post(f"{leave}/now").text


def test_broken_edit_leaves_the_version_before(web: Web, caplog: pytest.LogCaptureFixture) -> None:
    leave = path_of(web)
    reader = Client(web.site)
    web.world.write("subscribers.yaml", "lists:\n  - nam: x\n")
    for _ in range(3):
        assert "Unsubscribe from Foundations" in reader.get(leave).text
        web.world.later(seconds=10)
    assert "the previous version stays in force until that is fixed" in caplog.text


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        (
            "subscribers.yaml",
            LISTS.replace("title: Foundations", "title: Basics"),
            "Unsubscribe from Basics",
        ),
        ("emails/leave.html.j2", "Leave it", "Leave it"),
        ("emails/leave.html.j2", "Leave it {{ no_such_name }}", "Unsubscribe from Foundations"),
        ("emails/digest.mjml.j2", "{% if %}", "Unsubscribe from Foundations"),
    ],
)
def test_edit_is_shown_once_it_has_rested_if_nothing_is_broken(
    web: Web, name: str, text: str, shown: str
) -> None:
    leave = path_of(web)
    reader = Client(web.site)
    web.world.write(name, text)
    for _ in range(2):
        assert "Unsubscribe from Foundations" in reader.get(leave).text
        web.world.later(seconds=5)
    assert shown in reader.get(leave).text


def test_edit_is_shown_though_mail_cannot_be_sent(web: Web) -> None:
    """The login is a credential, which only the daemon can see."""
    leave = path_of(web)
    reader = Client(web.site)
    web.world.env(WEB_URL=WEB_URL, SMTP_USERNAME="ada", SMTP_SECURITY="starttls")
    web.world.write("subscribers.yaml", LISTS.replace("title: Foundations", "title: Basics"))
    reader.get(leave)
    web.world.later(seconds=10)
    assert "Unsubscribe from Basics" in reader.get(leave).text


def test_beside_a_daemon_pages_show_what_it_has_brought_into_force(web: Web) -> None:
    leave = path_of(web)
    reader = Client(web.site)
    with web.world.held():
        web.world.write("subscribers.yaml", LISTS.replace("title: Foundations", "title: Basics"))
        for _ in range(2):
            assert "Unsubscribe from Foundations" in reader.get(leave).text
            web.world.later(hours=1)
        assert web.run("work", "trial").code == 0
        assert "Unsubscribe from Basics" in reader.get(leave).text


def test_missing_database_is_no_page_and_is_not_made(web: Web) -> None:
    leave = path_of(web)
    data = web.world.path / "data"
    for file in data.glob("paperboy.db*"):
        file.unlink()
    assert [web.get(leave).status_code, web.post(leave).status_code] == [
        503,
        503,
    ]  # until it is back
    assert not list(data.glob("paperboy.db*"))


def test_restored_backup_is_what_the_next_request_sees(web: Web) -> None:
    leave = path_of(web)
    data = web.world.path / "data"
    copy = web.world.path.with_name("copy.db")
    assert web.run("backup", str(copy)).code == 0
    web.post(f"{leave}/now")
    assert "Unsubscribed" in web.get(leave).text
    for file in data.glob("paperboy.db*"):
        file.unlink()
    copy.rename(data / "paperboy.db")
    assert "<button>Unsubscribe</button>" in web.get(leave).text
    assert "Unsubscribed" in web.post(f"{leave}/now").text
    with web.store() as store:
        assert [row.address for row in store.suppressions.all()] == ["ada@example.org"]
