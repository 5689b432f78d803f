"""What a mail server says too much of, too slowly, or should not have said at all."""

from __future__ import annotations

import base64
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any

import pytest

from paperboy.errors import MailServerError
from paperboy.models import DeliveryState, Receipt
from paperboy.sending.smtp import SmtpTransport
from tests.sending.conftest import Contexts
from tests.sending.test_smtp import envelope, logged_in
from tests.servers.smtp import Fault, SmtpServer

SENT = DeliveryState.SENT
DEFERRED = DeliveryState.DEFERRED
FAILED = DeliveryState.FAILED
AMBIGUOUS = DeliveryState.AMBIGUOUS
PENDING = DeliveryState.PENDING
PASSWORD = "c0rrect h0rse"
PORTS = "Port 587 usually wants SMTP_SECURITY=starttls, port 465 tls."
TOO_LONG = "the reply is too large"
TOO_SLOW = "the reply took too long"


@pytest.fixture
def server(contexts: Contexts) -> Iterator[SmtpServer]:
    with SmtpServer("starttls", contexts[0], "paperboy", PASSWORD) as server:
        yield server


@pytest.fixture
def sender(server: SmtpServer, contexts: Contexts) -> Iterator[SmtpTransport]:
    """Logs in over TLS."""
    with closing(logged_in(server, contexts, password=PASSWORD)) as transport:
        yield transport


def came(sender: SmtpTransport) -> Receipt | str:
    """The receipt, or the error's words."""
    try:
        return sender.send(envelope("bob@example.org"))
    except MailServerError as error:
        return f"{error} {'' if error.temporary else '(for good)'}".rstrip()


ENDLESS: dict[str, tuple[bytes, float, str]] = {
    "lines without end": (b"250-and so on\r\n" * 1_000, 0, TOO_LONG),
    "a line without end": (b"250-and so on" * 1_000, 0, TOO_LONG),
    "lines that drip": (b"250-and so on\r\n", 0.02, TOO_SLOW),
    "bytes that drip": (b"2", 0.02, TOO_SLOW),
    "silence": (b"", 60, TOO_SLOW),
}
LOST: dict[Any, Receipt | str] = {
    "connect": "cannot reach {server}: {why}. Check SMTP_HOST and SMTP_PORT. {ports}",
    "EHLO": "the connection to {server} was lost during the STARTTLS: {why}. {ports}",
    "STARTTLS": "the connection to {server} was lost during the STARTTLS: {why}. {ports}",
    "AUTH": "the connection to {server} was lost during the login: {why}. {ports}",
    "MAIL": Receipt(PENDING, "the message was not handed over: connection lost: {why}"),
    "RCPT": Receipt(PENDING, "the message was not handed over: connection lost: {why}"),
    "DATA": Receipt(PENDING, "the message was not handed over: connection lost: {why}"),
    "dot": Receipt(AMBIGUOUS, "no clear reply to the message: {why}"),
    "RSET": Receipt(FAILED, "RCPT: 550 5.1.1 no such user", bounce=True),
    "QUIT": Receipt(SENT, "250 2.0.0 taken as 1"),
}


@pytest.mark.parametrize("endless", ENDLESS)
@pytest.mark.parametrize("phase", LOST)
def test_reply_that_does_not_end_costs_its_own_message_at_most(
    server: SmtpServer, sender: SmtpTransport, phase: Any, endless: str
) -> None:
    piece, every, why = ENDLESS[endless]
    if why == TOO_SLOW:
        sender.timeout = sender.dot_timeout = 0.5
    server.faults.append(Fault(phase, piece, every=every, times=1))
    if phase == "RSET":
        server.faults.append(Fault("RCPT", "550 5.1.1 no such user", times=1))
    expected = LOST[phase]
    words = {"server": str(sender), "why": why, "ports": PORTS}
    if isinstance(expected, Receipt):
        assert came(sender) == Receipt(
            expected.state, expected.reply.format(**words), bounce=expected.bounce
        )
    else:
        assert came(sender) == expected.format(**words)
    if phase == "QUIT":
        sender.close()
    assert sender.send(envelope()).state is SENT
    assert server.connections == 2


@pytest.mark.parametrize(
    ("phase", "reply", "expected"),
    [
        ("dot", b"999 what?\r\n", Receipt(AMBIGUOUS, "no clear reply to the message: 999 what?")),
        (
            "dot",
            "٢٥٠ taken\r\n".encode(),
            Receipt(AMBIGUOUS, "no clear reply to the message: -1 ٠ taken"),
        ),
        ("dot", b"2_5 taken\r\n", Receipt(AMBIGUOUS, "no clear reply to the message: -1 taken")),
        ("dot", b"\r\n", Receipt(AMBIGUOUS, "no clear reply to the message: -1")),
        ("dot", b"250-\r\n" * 99 + b"250 taken\r\n", Receipt(SENT, "250 taken")),
        (
            "dot",
            b"250-\r\n" * 100 + b"250 taken\r\n",
            Receipt(AMBIGUOUS, f"no clear reply to the message: {TOO_LONG}"),
        ),
        ("dot", b"250 " + b"x" * 50_000 + b"\r\n", Receipt(SENT, "250…")),
        (
            "dot",
            b"250 " + b"x" * 65_000 + b"\r\n",
            Receipt(AMBIGUOUS, f"no clear reply to the message: {TOO_LONG}"),
        ),
        ("dot", b"250 \x1b[2Jtaken\xff\r\n", Receipt(SENT, "250 [2Jtaken�")),
        ("dot", b"250 taken\r\n550 5.7.1 and not taken\r\n", Receipt(SENT, "250 taken")),
        (
            "RCPT",
            b"550-5.1.1 no\x00\r\n550 such user\r\n",
            Receipt(FAILED, "RCPT: 550 5.1.1 no such user", bounce=True),
        ),
        ("RCPT", b"999 what?\r\n", Receipt(DEFERRED, "RCPT: 999 what?")),
        ("RCPT", b"550 5.1.1 " + b"word " * 5_000 + b"\r\n", None),
        (
            "EHLO",
            b"250-localhost\r\n250-STARTTLS\r\n250-SIZE "
            + b"9" * 50_000
            + b"\r\n250 AUTH PLAIN\r\n",
            None,
        ),
        (
            "EHLO",
            b"250-localhost\r\n250-STARTTLS\r\n" + b"250-X\r\n" * 97 + b"250 AUTH LOGIN\r\n",
            None,
        ),
        (
            "EHLO",
            b"250-localhost\r\n250-STARTTLS\r\n250 AUTH " + b"PLAIN LOGIN " * 4_000 + b"\r\n",
            None,
        ),
    ],
    ids=lambda value: f"{value[:30]!r}" if isinstance(value, bytes) else None,
)
def test_strange_reply_has_a_plain_outcome(
    server: SmtpServer, sender: SmtpTransport, phase: Any, reply: bytes, expected: Receipt | None
) -> None:
    server.faults.append(
        Fault(phase, reply, times=2 if phase == "EHLO" else 1, keeps=phase == "EHLO")
    )
    receipt = came(sender)
    assert isinstance(receipt, Receipt)
    assert len(receipt.reply) <= 310
    assert receipt == expected or expected is None
    assert sender.send(envelope()).state is SENT


def test_login_answered_by_several_replies_at_once_ends_the_connection(
    server: SmtpServer, sender: SmtpTransport
) -> None:
    server.faults.append(Fault("AUTH", b"334 !\r\n" * 3))
    with pytest.raises(
        MailServerError, match="lost during the login: the server says more than it was asked"
    ):
        sender.send(envelope())


@pytest.mark.quick
def test_reply_injected_before_tls_ends_the_connection(
    contexts: Contexts,
) -> None:
    heard: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        plain, _ = listener.accept()
        plain.sendall(b"220 hello\r\n")
        plain.recv(4096)
        plain.sendall(b"250-hello\r\n250 STARTTLS\r\n")
        plain.recv(4096)
        plain.sendall(b"220 go on\r\n250-injected\r\n250 AUTH PLAIN\r\n")
        with contexts[0].wrap_socket(plain, server_side=True) as secured, suppress(OSError):
            heard.append(secured.recv(4096))

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as executor:
        served = executor.submit(serve, listener)
        sender = SmtpTransport(
            host="localhost",
            port=listener.getsockname()[1],
            security="starttls",
            username="paperboy",
            password=PASSWORD,
            ssl_context=contexts[1],
        )
        with pytest.raises(MailServerError, match="says more than it was asked"):
            sender.send(envelope())
        served.result(60)
    assert b"".join(heard) == b""


def test_tls_handshake_that_drips_ends_in_time() -> None:
    def serve(listener: socket.socket) -> None:
        with listener.accept()[0] as connection, suppress(OSError):
            connection.sendall(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")  # a ServerHello of 16 kB
            while connection.send(b"x"):
                time.sleep(0.02)

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as executor:
        served = executor.submit(serve, listener)
        port = listener.getsockname()[1]
        sender = SmtpTransport(
            host="127.0.0.1", port=port, security="tls", username="", password="", timeout=0.5
        )
        with pytest.raises(
            MailServerError, match=r"cannot reach mail server 127.0.0.1:\d+: .* timed out"
        ) as raised:
            sender.send(envelope())
        served.result(60)
    assert raised.value.temporary


# --- the password


ECHOED = [
    PASSWORD,
    PASSWORD.upper(),
    base64.b64encode(PASSWORD.encode()).decode(),
    base64.b64encode(f"\0paperboy\0{PASSWORD}".encode()).decode(),
]


@pytest.mark.parametrize("echoed", ECHOED)
@pytest.mark.parametrize(
    "phase", ["connect", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "dot"]
)
@pytest.mark.parametrize("code", ["451 4.7.1", "550 5.7.1", "what?"])
def test_no_reply_shows_the_password(
    server: SmtpServer, sender: SmtpTransport, phase: Any, echoed: str, code: str
) -> None:
    long = "word " * 56  # so that it stands where a long reply is cut
    server.faults.append(Fault(phase, f"{code} {long}{echoed} and {echoed}"))
    said = str(came(sender))
    if phase not in {"RCPT", "DATA", "dot"}:
        sender.close()
        with pytest.raises(MailServerError) as raised:
            sender.probe("papers@example.org", "op@example.org")
        said += f"{raised.value} {raised.value.__cause__}"
    for secret in (PASSWORD, *(form.rstrip("=")[-8:] for form in ECHOED[2:])):
        assert secret.casefold() not in said.casefold()
    assert "…" in said


@pytest.mark.parametrize(
    ("password", "said"),
    [
        ("userpass", "250 userpath, no such … "),
        ("user", "250 …path, no such …pass"),
        ("use", "250 userpath, no such userpass"),
        ("", "250 userpath, no such userpass"),
    ],
)
@pytest.mark.quick
def test_password_of_fewer_than_four_characters_hides_no_words(password: str, said: str) -> None:
    with SmtpServer(faults=[Fault("dot", "250 userpath, no such userpass")]) as server:
        sender = SmtpTransport(
            host="localhost", port=server.port, security="none", username="", password=""
        )
        sender.send(envelope())
        sender.password = password
        assert sender.send(envelope()).reply == said.strip()
        sender.close()
