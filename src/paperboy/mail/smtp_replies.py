"""What a mail server's replies and silences mean, for one recipient and for us. Pure."""

from __future__ import annotations

import re
import smtplib
import socket
import ssl

from paperboy.mail.text import one_line, shorten

_ENHANCED = re.compile(r"#?([245])\.(\d{1,3})\.(\d{1,3})(?!\d)")  # RFC 3463; one kind of server puts a "#" before it
_SENDERS = {7, 8}  # of 5.1.x: what is wrong is the sender's address
_VOLUME = re.compile(
    r"too (?:many|much|fast|frequent)|throttl|\brate(?:s|d|-?limit\w*)?\b|\bfrequency\b|\bvolume\b|congest|exceed"
    r"|limit reached|per connection|concurren",
    re.IGNORECASE,
)
_ONE_MAILBOX = re.compile(
    r"\b(?:mailbox|inbox|storage|size)\b|\b(?:over|user|recipient|account|disk)\W+(?:is\W+)?(?:over\W+)?quota",
    re.IGNORECASE,
)


_LIMIT = re.compile(r"\b(?:daily|hourly|sending|outgoing)\W+(?:\w+\W+){0,3}?(?:limit|quota)\b", re.IGNORECASE)


class RefusedError(Exception):
    """A reply that is not the one hoped for, in the course of one message."""

    def __init__(self, command: str, code: int, reply: bytes | str) -> None:
        super().__init__(said(code, reply))
        self.command = command
        self.code = code
        self.text = _line(reply)


def said(code: int, reply: bytes | str) -> str:
    """A reply as one line of a length for people."""
    return shorten(f"{code} {_line(reply)}", 300)


def complaint(error: OSError) -> str:
    """What a failure of the line says, as one line of a length for people."""
    return shorten(one_line(error.strerror or str(error) or type(error).__name__), 200)


def bounces(code: int, text: str) -> bool:
    """Whether this reply to RCPT says that the address does not exist, or is no more. The enhanced status code tells;
    without one, nobody can know it from a refusal of our mail.
    """
    found = _ENHANCED.match(text)
    if not 500 <= code <= 599 or not found or found[1] != "5":
        return False
    subject, detail = int(found[2]), int(found[3])
    if subject == 1:
        return detail not in _SENDERS and not re.search(r"\bsender\b", text, re.IGNORECASE)  # Postfix: 5.1.0 Sender …
    return (subject, detail) == (2, 1)


def slows_down(code: int, text: str) -> bool:
    """Whether the server has enough of us, or has to see to itself (4.3.x: its disk is full, say)."""
    found = _ENHANCED.match(text) if 400 <= code <= 499 else None
    return (found is not None and found[2] == "3") or too_much(code, text)


def limits_us(code: int, text: str) -> bool:
    """Whether a refusal for good is about how much we have sent, as at a provider's daily limit."""
    if not 500 <= code <= 599:
        return False
    found = _ENHANCED.match(text)
    return (found is not None and (found[2], found[3]) == ("4", "5")) or bool(_LIMIT.search(text))


def too_much(code: int, text: str) -> bool:
    """Whether this reply says that we send too much, or too fast. What is about one mailbox (4.2.x), or asks an unknown
    sender to come again later, is not about our pace.
    """
    if code == 421 or not 400 <= code <= 499:
        return code == 421
    found = _ENHANCED.match(text)
    subject, detail = (int(found[2]), int(found[3])) if found else (0, 0)
    if (subject, detail) in {(7, 28), (4, 5)}:
        return True
    return subject != 2 and bool(_VOLUME.search(text)) and not _ONE_MAILBOX.search(text)


def is_temporary(error: OSError) -> bool:
    """Whether what failed while a connection was opened may go better later, or with fewer connections."""
    if isinstance(error, smtplib.SMTPResponseException):
        return 400 <= error.smtp_code <= 499
    if isinstance(error, smtplib.SMTPException):
        return isinstance(error, smtplib.SMTPServerDisconnected)
    if isinstance(error, ssl.SSLError):
        return isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
    if isinstance(error, socket.gaierror):
        return error.errno == socket.EAI_AGAIN
    return True


def _line(reply: bytes | str) -> str:
    return one_line(reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply)
