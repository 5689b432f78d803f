"""What a reply of a mail server says, and what it does not."""

from __future__ import annotations

import smtplib
import socket
import ssl

import pytest

from paperboy.mail.smtp import RefusedError, is_temporary

BOUNCES = {
    "550 5.1.1 <ada@example.org>: Recipient address rejected: User unknown in local recipient table": True,
    "550-5.1.1 The email account that you tried to reach does not exist.\n5.1.1 Please try again": True,
    "550 5.1.2 no such domain": True,
    "501 5.1.3 bad recipient address syntax": True,
    "550 5.1.6 the mailbox has moved": True,
    "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup": True,
    "550 #5.1.0 Address rejected.": True,
    "550 5.2.1 The email account that you tried to reach is disabled.": True,
    "553 5.1.7 malformed address": False,
    "550 5.1.8 <papers@example.org>: Domain not found": False,
    "550 5.1.0 <papers@example.org>: Sender address rejected: User unknown": False,
    "550 5.2.0 something with the mailbox": False,
    "552 5.2.2 mailbox full": False,
    "550 5.2.10 nobody knows": False,
    "550 5.7.1 user unknown": False,
    "550 5.10.1 nobody knows": False,
    "554 5.4.14 hop count exceeded": False,
    "550 User unknown": False,
    "550 see RFC 5.1.1": False,
    "550 4.1.1 cannot make up its mind": False,
    "450 4.1.1 unknown for now": False,
    "450 5.1.1 cannot make up its mind": False,
    "550": False,
}
SLOWS_DOWN = {
    "421": True,
    "421 4.3.2 closing": True,
    "421-4.7.28 unusual rate of unsolicited mail": True,
    "450 4.7.28 come back": True,
    "451 4.4.5 system is congested": True,
    "452 4.5.3 too many recipients": True,
    "450 4.7.1 Error: too much mail from 192.0.2.1": True,
    "450 too many messages in this connection": True,
    "452 Too many connections": True,
    "451 4.7.650 The mail server has been temporarily rate limited": True,
    "454 Throttling failure: Maximum sending rate exceeded.": True,
    "454 Throttling failure: Daily message quota exceeded.": True,
    "450 4.7.0 rate-limit": True,
    "451 4.7.1 Greylisted, please try again later": False,
    "450 4.2.0 Greylisted for 300 seconds": False,
    "450-4.2.1 The user you are trying to contact is receiving mail at a rate that": False,
    "452 4.2.2 The recipient's quota is exceeded": False,
    "452 mailbox quota exceeded": False,
    "452 the user is over quota, which was exceeded": False,
    "452 4.3.1 Insufficient system storage": True,
    "451 4.3.0 moderately generated, accurate": True,
    "450 4.3.2 later": True,
    "550 5.3.0 never": False,
    "450": False,
    "550 5.7.1 too many messages": False,
    "554 5.4.5 rate limit exceeded": False,
}


def refused(reply: str) -> RefusedError:
    return RefusedError("RCPT", int(reply[:3]), reply[4:].encode())


@pytest.mark.parametrize(("reply", "expected"), BOUNCES.items())
def test_bounce_is_known_by_its_enhanced_status_code(reply: str, expected: bool) -> None:
    assert refused(reply).bounces is expected


@pytest.mark.parametrize(("reply", "expected"), SLOWS_DOWN.items())
def test_overloaded_server_is_known_by_its_reply(reply: str, expected: bool) -> None:
    assert refused(reply).slows_down is expected


ERRORS: dict[OSError, bool] = {
    ConnectionRefusedError(): True,
    ConnectionResetError(): True,
    TimeoutError(): True,
    OSError("no route to host"): True,
    socket.gaierror(socket.EAI_AGAIN, "no answer from the name server"): True,
    socket.gaierror(socket.EAI_NONAME, "no such name"): False,
    smtplib.SMTPServerDisconnected(): True,
    smtplib.SMTPConnectError(421, b"busy"): True,
    smtplib.SMTPAuthenticationError(454, b"not now"): True,
    smtplib.SMTPAuthenticationError(535, b"wrong"): False,
    smtplib.SMTPNotSupportedError(): False,
    ssl.SSLEOFError(): True,
    ssl.SSLError(): False,
    ssl.SSLCertVerificationError(): False,
}


@pytest.mark.parametrize(("error", "expected"), ERRORS.items(), ids=repr)
def test_temporary_errors_are_those_that_a_retry_may_fix(error: OSError, expected: bool) -> None:
    assert is_temporary(error) is expected


def test_reply_becomes_one_line_without_control_characters() -> None:
    assert str(refused("550 5.1.1 no\r\n\x1b[2Jsuch\nuser")) == "550 5.1.1 no [2Jsuch user"
    assert len(str(refused("550 " + "word " * 500))) < 310
