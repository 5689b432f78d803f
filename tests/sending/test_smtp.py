"""What each answer of a mail server, and each silence, means for a message."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from paperboy.errors import MailServerError
from paperboy.models import DeliveryState, Envelope, Receipt
from paperboy.sending.smtp import SmtpTransport
from tests.sending.conftest import Contexts
from tests.servers.smtp import Fault, SmtpServer, certificates

SENT = DeliveryState.SENT
DEFERRED = DeliveryState.DEFERRED
FAILED = DeliveryState.FAILED
AMBIGUOUS = DeliveryState.AMBIGUOUS
PENDING = DeliveryState.PENDING


def envelope(
    recipient: str = "ada@example.org", message: bytes = b"Subject: papers\r\n\r\nHello.\r\n"
) -> Envelope:
    return Envelope("papers@example.org", recipient, message, "foundations")


SENDER = "papers@example.org"
RECIPIENT = "op@example.org"
LOGIN = {"username": "paperboy", "password": "s3cret"}


def transport(server: SmtpServer, **changes: Any) -> SmtpTransport:
    settings = {
        "host": "localhost",
        "security": server.security,
        "username": "",
        "password": "",
        "timeout": 300,
    }
    return SmtpTransport(
        **{**settings, "port": server.port, "local_hostname": "localhost", **changes}
    )


def relay(contexts: Contexts, security: Any = "starttls", **changes: Any) -> SmtpServer:
    """A server that wants a login."""
    return SmtpServer(security, contexts[0], **LOGIN, **changes)


def logged_in(server: SmtpServer, contexts: Contexts, **changes: Any) -> SmtpTransport:
    return transport(server, ssl_context=contexts[1], **{**LOGIN, **changes})


@pytest.fixture(params=[True, False], ids=["all at once", "one by one"])
def server(request: pytest.FixtureRequest) -> Iterator[SmtpServer]:
    """One that takes MAIL, RCPT and DATA together, and one that does not."""
    with SmtpServer(pipelining=request.param) as server:
        yield server


@pytest.fixture
def sender(server: SmtpServer) -> Iterator[SmtpTransport]:
    with closing(transport(server)) as opened:
        yield opened


def test_messages_share_a_connection_and_arrive_unchanged(
    server: SmtpServer, sender: SmtpTransport
) -> None:
    message = b"Subject: dots\r\n\r\n=2E\r\nno dot begins a line.\r\nlast line\r\n"
    receipts = [
        sender.send(envelope("ada@example.org", message)),
        sender.send(envelope("bob@example.org", message)),
    ]
    assert [receipt.state for receipt in receipts] == [SENT, SENT]
    assert receipts[0].reply == "250 2.0.0 taken as 1"
    assert [(m.sender, m.recipient, m.connection) for m in server.messages] == [
        ("papers@example.org", "ada@example.org", 1),
        ("papers@example.org", "bob@example.org", 1),
    ]
    assert {m.content for m in server.messages} == {message}


@pytest.mark.parametrize(("offers", "packets"), [("PIPELINING", 1), ("SIZE", 3)])
def test_commands_leave_in_one_packet_if_the_server_offers_pipelining(
    offers: str, packets: int
) -> None:
    """It offers that, or else waits for each."""
    came: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"220 hello\r\n")
            connection.recv(4096)
            connection.sendall(b"250-hello\r\n250 " + offers.encode() + b"\r\n")
            while not (came and came[-1].endswith(b"DATA\r\n")):
                came.append(connection.recv(4096))
                good = b"250 2.1.0 good\r\n" * (came[-1].count(b"\r\n") - came[-1].count(b"DATA"))
                connection.sendall(good + b"354 go on\r\n" * came[-1].count(b"DATA"))
            connection.recv(4096)
            connection.sendall(b"250 2.0.0 taken\r\n")
            connection.recv(4096)
            connection.sendall(b"221 bye\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as executor:
        served = executor.submit(serve, listener)
        port = listener.getsockname()[1]
        with closing(
            SmtpTransport(host="127.0.0.1", port=port, security="none", username="", password="")
        ) as sender:
            assert sender.send(envelope()) == Receipt(SENT, "250 2.0.0 taken")
        served.result(10)
    assert len(came) == packets
    assert b"".join(came).split(b"\r\n")[1:] == [b"RCPT TO:<ada@example.org>", b"DATA", b""]


def test_server_that_wants_data_after_a_refusal_gets_an_empty_message(
    server: SmtpServer, sender: SmtpTransport
) -> None:
    """Some say 354 though they have refused the only recipient (RFC 2920, 3.1). The line is in order after that."""
    server.faults += [
        Fault("RCPT", "550 5.1.1 no such user", times=1),
        Fault("DATA", "354 go on", times=1),
    ]
    if server.pipelining:
        receipt = sender.send(envelope())
        assert (receipt.state, receipt.reply) == (FAILED, "RCPT: 550 5.1.1 no such user")
        assert sender.send(envelope()) == Receipt(SENT, "250 2.0.0 taken as 1")
    assert server.connections == int(server.pipelining)


def test_any_2xx_reply_is_consent(server: SmtpServer, sender: SmtpTransport) -> None:
    """RFC 5321, 4.3.2: the first digit counts."""
    server.faults.append(Fault("RCPT", "252 2.1.5 cannot verify, will try", keeps=True))
    assert sender.send(envelope()).state is SENT
    assert [m.content for m in server.messages] == [envelope().message]


@pytest.mark.parametrize("phase", ["MAIL", "RCPT", "dot"])
def test_sending_limit_is_a_server_error_and_not_a_bounce(
    server: SmtpServer, sender: SmtpTransport, phase: Any
) -> None:
    server.faults.append(Fault(phase, "550 5.4.5 Daily user sending limit exceeded"))
    with pytest.raises(MailServerError, match="takes no more from us") as raised:
        sender.send(envelope())
    assert raised.value.busy


@pytest.mark.parametrize("reply", ["", "500 5.5.1 what?", "421 4.3.2 closing", "450 4.3.2 later"])
def test_failed_reset_costs_a_connection_and_no_message(
    server: SmtpServer, sender: SmtpTransport, reply: str
) -> None:
    server.faults += [
        Fault("RCPT", "550 5.1.1 no such user", times=1),
        Fault("RSET", reply, times=1),
    ]
    assert sender.send(envelope("bob@example.org")).state is FAILED
    assert sender.send(envelope()).state is SENT
    assert server.connections == 2


@pytest.mark.parametrize("more", ["250 ok", "550 5.7.1 no", "354 go on", "421 4.3.2 bye"])
def test_reply_too_many_is_not_taken_for_the_next_messages(
    server: SmtpServer, sender: SmtpTransport, more: str
) -> None:
    said = f"250 2.0.0 taken\r\n{more}\r\n".encode()
    server.faults.append(Fault("dot", said, address="bob@example.org", keeps=True))
    assert sender.send(envelope("bob@example.org")).state is SENT
    assert sender.send(envelope()).state is SENT
    assert [(m.recipient, m.connection) for m in server.messages] == [
        ("bob@example.org", 1),
        ("ada@example.org", 2),
    ]


def test_address_beyond_ascii_fails_where_the_server_has_no_smtputf8(
    server: SmtpServer, sender: SmtpTransport
) -> None:
    assert sender.send(envelope("grüße@example.org")).state is FAILED
    assert sender.send(envelope()).state is SENT


BOUNCE = {"bounce"}
SLOW_DOWN = {"slow_down"}
FAULTS: list[tuple[Fault, DeliveryState, set[str]]] = [
    (Fault("MAIL", "450 4.7.1 later"), DEFERRED, SLOW_DOWN),
    (Fault("MAIL", "421 4.7.0 too many"), DEFERRED, SLOW_DOWN),
    (Fault("MAIL"), PENDING, set()),
    (Fault("RCPT", "450 4.2.1 mailbox busy"), DEFERRED, set()),
    (Fault("RCPT", "550 5.1.1 no such user"), FAILED, BOUNCE),
    (Fault("RCPT", "421 4.3.2 closing"), DEFERRED, SLOW_DOWN),
    (Fault("RCPT"), PENDING, set()),
    (Fault("DATA", "451 4.3.0 later"), DEFERRED, SLOW_DOWN),
    (Fault("DATA", "554 5.1.1 no valid recipients"), FAILED, set()),
    (Fault("DATA"), PENDING, set()),
    (Fault("dot", "452 4.3.1 Insufficient system storage"), DEFERRED, SLOW_DOWN),
    (Fault("dot", "550 5.1.1 not liked"), FAILED, set()),
    (Fault("dot", "421 4.3.2 closing"), DEFERRED, SLOW_DOWN),
    (Fault("dot"), AMBIGUOUS, set()),
    (Fault("dot", keeps=True), AMBIGUOUS, set()),
    (Fault("dot", "what?"), AMBIGUOUS, set()),
]


def remarks(receipt: Receipt) -> set[str]:
    return {name for name in ("bounce", "slow_down") if getattr(receipt, name)}


@pytest.mark.parametrize(
    ("fault", "state", "also"), FAULTS, ids=lambda value: getattr(value, "at", "")
)
def test_each_fault_has_its_state_and_the_next_message_goes_through(
    server: SmtpServer, sender: SmtpTransport, fault: Fault, state: DeliveryState, also: set[str]
) -> None:
    server.faults.append(Fault(fault.at, fault.reply, times=1, keeps=fault.keeps))
    receipt = sender.send(envelope("bob@example.org"))
    after = sender.send(envelope("ada@example.org"))
    assert receipt.state is state
    assert remarks(receipt) == also
    assert fault.reply in receipt.reply or fault.reply == "what?"
    assert after.state is SENT
    assert [m.recipient for m in server.messages] == [
        *(["bob@example.org"] if fault.keeps else []),
        "ada@example.org",
    ]


def test_connection_lost_in_the_middle_of_a_message_leaves_it_pending(
    server: SmtpServer, sender: SmtpTransport
) -> None:
    """The body is larger than the buffers between us, so that the loss is met before the dot."""
    server.faults.append(Fault("body", times=1))
    receipt = sender.send(
        envelope(message=b"Subject: long\r\n\r\n" + b"All work and no play.\r\n" * 1_000_000)
    )
    assert receipt.state is PENDING
    assert server.messages == []


def test_silence_after_the_dot_is_ambiguous(server: SmtpServer) -> None:
    """The reply to the dot has a timeout of its own, and no other reply has that."""
    server.faults += [
        Fault("RCPT", "250 slow", keeps=True, delay=0.3),
        Fault("dot", "250 at last", delay=120),
    ]
    with closing(transport(server, timeout=300, dot_timeout=0.05)) as sender:
        assert sender.send(envelope()).state is AMBIGUOUS


@pytest.mark.parametrize(
    ("phase", "reply"),
    [
        ("MAIL", ""),
        ("MAIL", "421 4.7.0 too many messages in this connection"),
        ("MAIL", "452 4.5.3 too many messages in this connection"),
        ("MAIL", "450 4.3.2 later"),
        ("RCPT", ""),
        ("DATA", ""),
    ],
)
def test_used_connection_that_the_server_ended_is_replaced_at_once(
    server: SmtpServer, sender: SmtpTransport, phase: Any, reply: str
) -> None:
    """As long as nothing of the message was handed over."""
    assert sender.send(envelope()).state is SENT
    server.faults.append(Fault(phase, reply, times=1))
    assert sender.send(envelope("bob@example.org")) == Receipt(SENT, "250 2.0.0 taken as 2")
    assert [(m.recipient, m.connection) for m in server.messages] == [
        ("ada@example.org", 1),
        ("bob@example.org", 2),
    ]


@pytest.mark.parametrize("phase", ["MAIL", "RCPT", "DATA"])
def test_message_gets_one_new_connection_and_no_third(
    server: SmtpServer, sender: SmtpTransport, phase: Any
) -> None:
    assert sender.send(envelope()).state is SENT
    server.faults.append(Fault(phase, times=2))
    assert sender.send(envelope("bob@example.org")).state is PENDING
    assert server.connections == 2
    assert sender.send(envelope("bob@example.org")).state is SENT
    assert server.connections == 3


@pytest.mark.parametrize(("phase", "reply"), [("RCPT", "421 4.3.2 bye"), ("DATA", "451 4.3.0 no")])
def test_refusal_on_a_used_connection_is_not_retried_at_once(
    server: SmtpServer, sender: SmtpTransport, phase: Any, reply: str
) -> None:
    assert sender.send(envelope()).state is SENT
    server.faults.append(Fault(phase, reply, times=1))
    assert sender.send(envelope("bob@example.org")).state is DEFERRED
    assert server.connections == 1


def test_message_lost_after_the_dot_is_not_repeated_on_a_new_connection(
    server: SmtpServer, sender: SmtpTransport
) -> None:
    assert sender.send(envelope()).state is SENT
    server.faults.append(Fault("dot", times=1, keeps=True))
    assert sender.send(envelope("bob@example.org")).state is AMBIGUOUS
    assert [m.recipient for m in server.messages] == ["ada@example.org", "bob@example.org"]


def test_refused_sender_is_a_server_error_for_messages_and_probes(
    server: SmtpServer, sender: SmtpTransport
) -> None:
    server.faults.append(Fault("MAIL", "550 5.7.1 not your address"))
    said = r"localhost:\d+ refuses the sender papers@example\.org: 550 5\.7\.1.*set MAIL_FROM"
    with pytest.raises(MailServerError, match=said):
        sender.send(envelope())
    with pytest.raises(MailServerError, match=said):
        transport(server).probe(SENDER, RECIPIENT)


@pytest.mark.parametrize("phase", ["MAIL", "RCPT"])
def test_wanted_login_is_a_server_error_that_names_the_settings_of_the_login(
    server: SmtpServer, sender: SmtpTransport, phase: Any
) -> None:
    server.faults.append(Fault(phase, "530 5.7.0 authentication required"))
    said = r"wants a login: 530.*Set SMTP_USERNAME and SMTP_PASSWORD\. With systemd credentials, use the wrapper"
    with pytest.raises(MailServerError, match=said):
        sender.send(envelope())


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_tls_is_verified_and_carries_the_login(security: Any, contexts: Contexts) -> None:
    with relay(contexts, security) as server:
        sender = logged_in(server, contexts)
        assert sender.send(envelope()).state is SENT
        assert sender._connection is not None
        sock = sender._connection.sock
        assert sock is not None
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), (
            "each TLS message would wait 40 ms"
        )
        sender.close()
        assert [(m.tls, m.login) for m in server.messages] == [(True, "paperboy")]
        probing = logged_in(server, contexts)
        assert "logged in as paperboy" in probing.probe(SENDER, RECIPIENT)[0]


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_untrusted_certificate_is_refused(security: Any, contexts: Contexts) -> None:
    with relay(contexts, security) as server:
        with pytest.raises(
            MailServerError, match=r"certificate of mail server localhost:\d+ cannot be trusted"
        ) as raised:
            transport(server, **LOGIN).probe(SENDER, RECIPIENT)
        assert not raised.value.temporary
        with pytest.raises(MailServerError, match="certificate"):
            transport(server, host="127.0.0.1", ssl_context=contexts[1]).probe(SENDER, RECIPIENT)


def test_expired_certificate_is_refused_with_the_fix() -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    expired = certificates(not_after=yesterday)
    said = pytest.raises(MailServerError, match=r"has expired\. Renew it")
    with SmtpServer(security="starttls", ssl_context=expired[0]) as server, said:
        transport(server, ssl_context=expired[1]).probe(SENDER, RECIPIENT)


def test_refused_password_is_offered_once_and_the_error_names_the_settings_alone(
    contexts: Contexts,
) -> None:
    tries: list[Fault] = []
    with relay(contexts, on_fault=tries.append) as server:
        server.faults.append(Fault("AUTH", "535 5.7.8 gue55ed is wrong"))
        sender = logged_in(server, contexts, password="gue55ed")
        with pytest.raises(
            MailServerError, match=r"refuses the login of paperboy.*SMTP_PASSWORD"
        ) as raised:
            sender.send(envelope())
    assert len(tries) == 1
    assert "gue55ed" not in str(raised.value)
    assert "gue55ed" not in repr(sender)


WRONG_SETTINGS: list[tuple[dict[str, str], str]] = [
    (LOGIN, "sent in the clear: use starttls or tls"),
    ({"security": "starttls", **LOGIN}, "offers no STARTTLS that Paperboy supports"),
    (
        {"security": "starttls", **LOGIN},
        r"port 465 tls\. On this machine .* but allows no login\.$",
    ),
    (
        {"security": "starttls"},
        r"offers no STARTTLS .* On this machine or in a trusted network, SMTP_SECURITY=none",
    ),
    ({"security": "tls"}, r"no TLS with mail server localhost:\d+.*SMTP_SECURITY"),
]


@pytest.mark.parametrize(("settings", "told"), WRONG_SETTINGS)
def test_wrong_settings_are_reported_and_no_password_is_sent_in_the_clear(
    server: SmtpServer, settings: dict[str, str], told: str
) -> None:
    with pytest.raises(MailServerError, match=told) as raised:
        transport(server, **settings).send(envelope())
    assert not raised.value.temporary
    assert (server.passwords_in_the_clear, server.messages) == (0, [])


@pytest.mark.parametrize(
    ("offers", "tries"), [("XOAUTH2 GSSAPI", 0), ("CRAM-MD5", 0), ("CRAM-MD5 PLAIN LOGIN", 1)]
)
def test_login_is_tried_by_one_mechanism_that_we_know_or_not_at_all(
    contexts: Contexts, offers: str, tries: int
) -> None:
    """Several refusals may lock the account, and mechanisms that we do not know are no passing fault."""
    hello = f"250-hello\r\n250 AUTH {offers}\r\n".encode()
    with relay(contexts, "tls", faults=[Fault("EHLO", hello, keeps=True)]) as server:
        server.faults.append(Fault("AUTH", "535 5.7.8 wrong"))
        sender = logged_in(server, contexts)
        with pytest.raises(MailServerError) as raised:
            sender.send(envelope())
    assert (server.logins, raised.value.temporary) == (tries, False)
    if not tries:
        assert f"supports (PLAIN or LOGIN), but {offers.replace(' ', ', ')}. Use" in str(
            raised.value
        )


def test_refused_connection_is_reported(server: SmtpServer) -> None:
    server.faults.append(Fault("connect", "554 5.7.1 go away"))
    with pytest.raises(MailServerError, match=r"localhost:\d+ answers the connection with 554"):
        transport(server).probe(SENDER, RECIPIENT)


def test_probe_describes_the_connection_and_sends_nothing(server: SmtpServer) -> None:
    text = f"mail server localhost:{server.port}, no encryption, no login"
    assert transport(server).probe(SENDER, RECIPIENT) == (text, None)
    assert server.messages == []


REFUSED_RCPT = [  # a reply to RCPT, and whether only other recipients can tell whom it is about
    ("550 5.1.1 no such user", FAILED, False),
    ("554 5.7.1 <op@example.org>: Relay access denied", FAILED, True),
    ("450 4.2.0 greylisted", DEFERRED, False),
]


@pytest.mark.parametrize(("reply", "state", "unclear"), REFUSED_RCPT)
def test_probe_names_a_recipient_and_reports_the_refusal(
    server: SmtpServer, reply: str, state: DeliveryState, unclear: bool
) -> None:
    server.faults.append(Fault("RCPT", reply, address=RECIPIENT))
    refusal = transport(server).probe(SENDER, RECIPIENT)[1]
    assert refusal is not None
    assert (refusal.state, refusal.unclear, refusal.reply) == (state, unclear, f"RCPT: {reply}")


@pytest.mark.parametrize("phase", ["MAIL", "RCPT"])
@pytest.mark.parametrize(
    "reply",
    [
        "530 5.7.0 Must issue a STARTTLS command first",
        "451 5.7.3 STARTTLS is required to send mail",
    ],
)
def test_server_that_wants_starttls_first_is_answered_with_the_setting(
    server: SmtpServer, sender: SmtpTransport, phase: Any, reply: str
) -> None:
    server.faults.append(Fault(phase, reply))
    with pytest.raises(MailServerError) as raised:
        sender.send(envelope())
    assert str(raised.value).endswith(f"wants encryption: {reply}. Set SMTP_SECURITY=starttls.")
    assert not raised.value.temporary


def test_login_wanted_after_a_login_fails_one_address(contexts: Contexts) -> None:
    """We have logged in, so it cannot be about us; the queue behind it must go on."""
    fault = Fault("RCPT", "530 5.7.0 relaying not allowed", address="bob@example.org")
    with (
        relay(contexts, faults=[fault]) as server,
        closing(logged_in(server, contexts)) as sender,
    ):
        assert sender.send(envelope("bob@example.org")).state is FAILED
        assert sender.send(envelope("ada@example.org")).state is SENT


def test_message_that_is_too_big_fails_alone(server: SmtpServer, sender: SmtpTransport) -> None:
    """Were it the server's fault, the queue would stand still behind it."""
    server.faults.append(Fault("MAIL", "552 5.3.4 message too big", times=1))
    assert sender.send(envelope()).state is FAILED
    assert sender.send(envelope()).state is SENT


# --- errors that a retry may fix

LATER: list[tuple[Fault, bool]] = [
    (Fault("connect", "421 4.7.0 too many connections"), True),
    (Fault("connect", "450 4.3.2 come back"), True),
    (Fault("connect", "554 5.7.1 go away"), False),
    (Fault("connect", "hello"), False),
    (Fault("connect"), True),
    (Fault("EHLO", "421 4.3.2 closing"), True),
    (Fault("EHLO", "451 4.3.0 later"), True),
    (Fault("EHLO", "550 5.7.1 not you"), False),
    (Fault("EHLO"), True),
    (Fault("STARTTLS", "454 4.7.0 not now"), True),
    (Fault("STARTTLS", "501 5.5.4 no"), False),
    (Fault("STARTTLS"), True),
    (Fault("AUTH", "454 4.7.0 not now"), True),
    (Fault("AUTH", "535 5.7.8 wrong"), False),
    (Fault("AUTH"), True),
    (Fault("MAIL", "550 5.7.1 not your address"), False),
]


@pytest.mark.parametrize(("fault", "temporary"), LATER, ids=lambda value: getattr(value, "at", ""))
def test_refusal_on_the_way_to_a_connection_says_whether_to_retry(
    contexts: Contexts, fault: Fault, temporary: bool
) -> None:
    with relay(contexts, faults=[fault]) as server:
        sender = logged_in(server, contexts)
        with pytest.raises(MailServerError) as raised:
            sender.send(envelope())
        sender.close()
        assert raised.value.temporary is temporary
        assert raised.value.busy is (temporary and bool(fault.reply))
        assert server.messages == []


def test_login_that_is_refused_for_now_does_not_blame_the_password(
    contexts: Contexts,
) -> None:
    busy = Fault("AUTH", "454 4.7.0 Temporary authentication failure")
    with relay(contexts, faults=[busy]) as server:
        sender = logged_in(server, contexts)
        with pytest.raises(MailServerError, match=r"the login of paperboy: 454 4\.7\.0") as raised:
            sender.send(envelope())
        assert str(raised.value).endswith("It may be temporary.")


RECIPES = [
    ("534 5.7.9 Application-specific password required. For more, go to", "apppasswords"),
    (
        "535 5.7.8 Not accepted. See https://support.google.com/mail/?p=BadCredentials",
        "apppasswords",
    ),
    ("535 5.7.139 SmtpClientAuthentication is disabled for the Tenant.", "Authenticated SMTP"),
    ("535 5.7.8 no", "Check SMTP_USERNAME and SMTP_PASSWORD."),
]


@pytest.mark.parametrize(("reply", "fix"), RECIPES)
def test_refused_login_is_shown_with_the_recipe_of_the_provider(
    contexts: Contexts, reply: str, fix: str
) -> None:
    with relay(contexts, faults=[Fault("AUTH", reply)]) as server:
        sender = logged_in(server, contexts)
        with pytest.raises(MailServerError) as raised:
            sender.send(envelope())
    said = f"refuses the login of paperboy: {reply.rstrip('.')}. "
    assert said in str(raised.value)
    assert fix in str(raised.value).partition(said)[2]


def test_refused_login_stays_refused_if_the_server_then_hangs_up(
    contexts: Contexts,
) -> None:
    """Trying again and again could lock the account."""
    with relay(contexts) as server:
        server.faults += [Fault("AUTH", "535 5.7.8 wrong", times=1), Fault("AUTH")]
        with pytest.raises(MailServerError, match="refuses the login of paperboy") as raised:
            logged_in(server, contexts, password="wrong").send(envelope())
        assert not raised.value.temporary


def test_password_beyond_ascii_is_reported(contexts: Contexts) -> None:
    with relay(contexts) as server:
        with pytest.raises(MailServerError, match="SMTP_PASSWORD") as raised:
            logged_in(server, contexts, password="schlüssel").send(envelope())
        assert "schl" not in str(raised.value)


def test_unreachable_or_silent_server_is_temporary() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        silent = SmtpTransport(
            host="127.0.0.1", port=port, security="none", username="", password="", timeout=0.05
        )
        with pytest.raises(MailServerError, match="cannot reach") as raised:
            silent.send(envelope())
        assert raised.value.temporary
    with pytest.raises(
        MailServerError, match=rf"cannot reach mail server 127.0.0.1:{port}: .*refused.*SMTP_HOST"
    ) as raised:
        silent.send(envelope())
    assert raised.value.temporary


@pytest.mark.parametrize(
    ("code", "temporary"), [(socket.EAI_AGAIN, True), (socket.EAI_NONAME, False)]
)
def test_name_that_does_not_resolve_is_temporary_if_its_server_is_away(
    monkeypatch: pytest.MonkeyPatch, code: int, temporary: bool
) -> None:
    def resolve(*_: object, **__: object) -> None:
        raise socket.gaierror(code, "no answer")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    sender = SmtpTransport(
        host="mail.example.org", port=25, security="none", username="", password=""
    )
    with pytest.raises(
        MailServerError, match=r"cannot reach mail server mail.example.org:25: .*Check SMTP_HOST"
    ) as raised:
        sender.send(envelope())
    assert raised.value.temporary is temporary


# --- aborting

Sending = Callable[[SmtpTransport], "Future[Receipt]"]


@pytest.fixture
def sending() -> Iterator[Sending]:
    """Sends in a thread of its own."""
    with ThreadPoolExecutor() as executor:
        yield lambda sender: executor.submit(sender.send, envelope("bob@example.org"))


@pytest.mark.parametrize("security", ["none", "starttls", "tls"])
@pytest.mark.parametrize(
    ("phase", "state"),
    [("MAIL", PENDING), ("RCPT", PENDING), ("DATA", PENDING), ("dot", AMBIGUOUS)],
)
def test_abort_ends_what_is_under_way(
    sending: Sending,
    contexts: Contexts,
    security: Any,
    phase: Any,
    state: DeliveryState,
) -> None:
    """On a used connection, too, which is not replaced by a new one."""
    met = threading.Event()
    context = None if security == "none" else contexts[0]
    with SmtpServer(security, context, on_fault=lambda _: met.set()) as server:
        sender = transport(server, ssl_context=contexts[1])
        assert sender.send(envelope()).state is SENT
        server.faults.append(Fault(phase, "250 at last", delay=3600))
        receipt = sending(sender)
        assert met.wait(300)
        sender.abort()
        assert receipt.result(300).state is state
        assert sender.send(envelope()).state is PENDING
        sender.close()
        assert server.connections == 1


def test_abort_ends_the_wait_for_a_greeting(
    sending: Sending, server: SmtpServer, sender: SmtpTransport
) -> None:
    met = threading.Event()
    server.on_fault = lambda _: met.set()
    server.faults.append(Fault("connect", "220 at last", delay=3600))
    receipt = sending(sender)
    assert met.wait(300)
    sender.abort()
    assert receipt.result(300) == Receipt(PENDING, "the message was not handed over: told to stop")


def test_abort_ends_the_wait_for_tls(sending: Sending) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        sender = SmtpTransport(
            host="127.0.0.1", port=port, security="tls", username="", password=""
        )
        receipt = sending(sender)
        with listener.accept()[0]:
            sender.abort()
            assert receipt.result(300).state is PENDING
