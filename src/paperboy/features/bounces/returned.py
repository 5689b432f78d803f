"""Returned mail, parsed: a bounce, a complaint, or a request to leave a list. Pure.

Anybody can write such a mail, so it counts only with something that cannot be guessed: the
Message-ID of one copy, or a token. A forwarded mail gives both away.
"""

import email
import re
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesHeaderParser
from typing import NamedTuple

from paperboy.edges.text import one_line, shortened
from paperboy.mail.message import unsubscribe_request
from paperboy.sending.verdict import RETURNED, Verdict, judge

MOST_BYTES = 500_000  # of a mail; what matters comes first
_LONGEST_REPLY = 300  # characters
_STATUS = re.compile(r"[45]\.\d{1,3}\.\d{1,3}")
_SPAM = frozenset({"abuse", "fraud", "virus", "opt-out"})  # types of feedback that are complaints
_RETURNED = frozenset(  # our mail, or its headers alone
    {"message/rfc822", "message/global", "message/global-headers", "text/rfc822-headers"}
)


class Bounce(NamedTuple):
    """Report that a mail which was accepted at first could not be delivered (RFC 3464)."""

    message_id: str  # of our mail
    reply: str  # one line, for people
    gone: bool  # the address does not exist


class Complaint(NamedTuple):
    """Report that a reader marked a mail as spam (RFC 5965)."""

    message_id: str  # empty: unknown
    token: str  # empty: unknown


class Request(NamedTuple):
    """Request to leave a list."""

    token: str


def read(mail: bytes) -> Bounce | Complaint | Request | None:
    """Return what the mail asks for, or None if it is nothing that counts. Only the command's
    deadline limits the time, which may be quadratic in the mail's length.
    """
    try:
        mail = mail[:MOST_BYTES]
        # RFC 6533 has the same report for addresses beyond ASCII.
        mail = mail.replace(b"message/global-delivery-status", b"message/delivery-status")
        message = email.message_from_bytes(mail)
        parts = list(message.walk())
        by_type = {part.get_content_type(): part for part in reversed(parts)}
        ours = _returned(parts)

        if report := by_type.get("message/feedback-report"):
            types = {_field(part, "Feedback-Type").lower() for part in report.walk()}
            token = _token(_field(ours, "List-Unsubscribe"))
            return Complaint(_field(ours, "Message-ID"), token) if _SPAM & types else None

        if report := by_type.get("message/delivery-status"):
            message_id = (
                _field(ours, "Message-ID")
                or _field(message, "In-Reply-To")
                or _field(message, "References")
            )
            return _bounce(report, message_id) if message_id else None

        is_automatic = (
            message.get_content_type() == "multipart/report"
            or _field(message, "Return-Path") == "<>"
            or _field(message, "Auto-Submitted").lower() not in {"", "no"}
        )
        # Apple Mail marks its unsubscribe mails as automatic replies.
        is_apples = _field(message, "X-Apple-Unsubscribe").lower() == "true"
        if is_automatic and not is_apples:
            return None

        token = _token(_field(message, "Subject"))
        return Request(token) if token else None
    except Exception:  # noqa: BLE001 - mail is anybody's, and the parser raises what it does; or the command's deadline
        return None


def _returned(parts: list[Message]) -> Message:
    """Return our mail, or its headers alone, as the other side sends it back."""
    for part in parts:
        if part.get_content_type() not in _RETURNED:
            continue
        if part.is_multipart():
            return part.get_payload(0)  # type: ignore[return-value]
        text = part.get_payload(decode=True)
        return BytesHeaderParser().parsebytes(text if isinstance(text, bytes) else b"")
    return Message()


def _bounce(report: Message, message_id: str) -> Bounce | None:
    """Return the first delivery that failed for good, also after days of retries (status 4.x)."""
    for block in report.walk():
        status = _STATUS.match(_field(block, "Status"))
        if status is None or _field(block, "Action").lower() != "failed":
            continue
        # As in "smtp; 550 5.1.1 …". Exim's status is 5.0.0, whatever code the server gave.
        words = re.sub(r"^[\w-]+\s*;\s*(?:[45]\d\d[ -])?", "", _field(block, "Diagnostic-Code"))
        reply = words if _STATUS.match(words) else f"{status[0]} {words}".strip()
        is_permanent = status[0].startswith("5")
        gone = is_permanent and judge("RCPT", 550, reply) is Verdict.BOUNCE
        return Bounce(message_id, shortened(f"bounced: {reply}", _LONGEST_REPLY), gone)
    return None


def _token(text: str) -> str:
    request = unsubscribe_request(text)
    return request[1] if request else ""


def _field(message: Message, name: str) -> str:
    """Return a header as one line of text; empty if it is missing."""
    values = (value for key, value in message.raw_items() if key.lower() == name.lower())
    value = next(values, "")
    # The parser keeps bytes beyond ASCII as surrogates.
    value = value.encode(errors="surrogateescape").decode(errors="replace")
    try:
        return one_line(str(make_header(decode_header(value))))
    except (ValueError, LookupError, MessageError):  # half an encoded word, or an unknown charset
        return one_line(value)
