"""Every fault that Postfix's `smtp-sink` can make, and what it means for a message: a server that is not ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from paperboy.errors import MailServerError
from paperboy.models import DeliveryState, Envelope, Receipt
from paperboy.sending.smtp import SmtpTransport
from tests.servers.smtp_sink import MISSING, PROGRAM, smtp_sink

pytestmark = pytest.mark.skipif(PROGRAM is None, reason=MISSING)

SENT = DeliveryState.SENT
DEFERRED = DeliveryState.DEFERRED
FAILED = DeliveryState.FAILED
AMBIGUOUS = DeliveryState.AMBIGUOUS
PENDING = DeliveryState.PENDING
MESSAGE = b"Subject: papers\r\n\r\n" + b"Hello.\r\n" * 9_000  # as large as a digest
NO_USER = "550 5.1.1 no such user"


@contextmanager
def through_sink(flags: str, **settings: Any) -> Iterator[SmtpTransport]:
    """A transport to an `smtp-sink` with these flags."""
    with smtp_sink(*flags.split()) as port, closing(transport(port, **settings)) as sender:
        yield sender


def transport(port: int, **settings: Any) -> SmtpTransport:
    usual = {
        "security": "none",
        "username": "",
        "password": "",
        "timeout": 300,
        "local_hostname": "localhost",
    }
    return SmtpTransport(host="127.0.0.1", port=port, **{**usual, **settings})


def send(sender: SmtpTransport) -> Receipt:
    return sender.send(Envelope("papers@example.org", "ada@example.org", MESSAGE, "foundations"))


RECEIPTS: list[tuple[str, DeliveryState, str]] = [  # flags, state, what else the receipt says
    ("", SENT, ""),
    ("-f QUIT", SENT, ""),
    ("-q QUIT", SENT, ""),
    ("-Q QUIT", SENT, ""),
    ("-r MAIL", DEFERRED, "slow_down"),
    ("-Q MAIL", DEFERRED, "slow_down"),
    ("-q MAIL", PENDING, ""),
    ("-r RCPT", DEFERRED, "slow_down"),
    ("-f RCPT", FAILED, ""),
    ("-Q RCPT", DEFERRED, "slow_down"),
    ("-q RCPT", PENDING, ""),
    ("-r DATA", DEFERRED, "slow_down"),
    ("-f DATA", FAILED, ""),
    ("-Q DATA", DEFERRED, "slow_down"),
    ("-q DATA", PENDING, ""),
    ("-r .", DEFERRED, "slow_down"),
    ("-f .", FAILED, ""),
    ("-Q .", DEFERRED, "slow_down"),
    ("-q .", AMBIGUOUS, ""),
]


@pytest.mark.parametrize(
    "pipelining", ["", "-p"], ids=["", "one by one"]
)  # -f and -r mean one by one, too
@pytest.mark.parametrize(("flags", "state", "also"), RECEIPTS)
def test_each_fault_of_the_sink_has_its_receipt(
    flags: str, state: DeliveryState, also: str, pipelining: str
) -> None:
    with through_sink(f"{flags} {pipelining}") as sender:
        for _ in range(2):  # on what the first one leaves of the connection, it is the same
            receipt = send(sender)
            assert receipt.state is state
            assert (receipt.bounce, receipt.slow_down) == (False, also == "slow_down")


def test_no_reply_to_the_dot_in_time_is_ambiguous() -> None:
    with through_sink("-W .:120", dot_timeout=0.1) as sender:
        assert send(sender).state is AMBIGUOUS


@pytest.mark.parametrize(("phase", "bounce"), [("RCPT", True), ("DATA", False), (".", False)])
def test_bounce_is_distinguished_from_a_refused_message(phase: str, bounce: bool) -> None:
    with smtp_sink("-B", NO_USER, "-f", phase) as port, closing(transport(port)) as sender:
        receipt = send(sender)
    assert (receipt.state, receipt.bounce) == (FAILED, bounce)
    assert NO_USER in receipt.reply


@pytest.mark.parametrize("phase", ["MAIL", "RCPT", "DATA", "."])
def test_too_much_mail_slows_us_down(phase: str) -> None:
    with (
        smtp_sink("-b", "450 4.7.1 too much mail", "-r", phase) as port,
        closing(transport(port)) as sender,
    ):
        receipt = send(sender)
    assert (receipt.state, receipt.slow_down) == (DEFERRED, True)


REFUSALS: list[tuple[str, bool]] = [  # flags, whether it may go better later
    ("-r CONNECT", True),
    ("-f CONNECT", False),
    ("-Q CONNECT", True),
    ("-q CONNECT", True),
    ("-r EHLO", True),
    ("-f EHLO", False),
    ("-e", False),
    ("-Q EHLO", True),
    ("-q EHLO", True),
    ("-f MAIL", False),
]


@pytest.mark.parametrize(("flags", "temporary"), REFUSALS)
def test_refusal_of_a_connection_says_whether_it_is_temporary(flags: str, temporary: bool) -> None:
    with through_sink(flags) as sender, pytest.raises(MailServerError) as raised:
        send(sender)
    assert raised.value.temporary is temporary


def test_server_that_ends_for_good_leaves_one_message_ambiguous() -> None:
    """It takes the second message, and is gone before it has said so."""
    with through_sink("-M 2") as sender:
        assert [send(sender).state, send(sender).state] == [SENT, AMBIGUOUS]
        with pytest.raises(MailServerError, match="cannot reach") as raised:
            send(sender)
    assert raised.value.temporary
