"""What a mail that came back to us says: that a digest bounced, that somebody complained, or wants to leave. Pure.

Anybody can write such a mail. It counts only by what nobody can guess: the Message-ID of one copy, or a token.
"""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.header import decode_header, make_header
from email.message import Message

from paperboy.foreign import one_line, shortened
from paperboy.mail.message import unsubscribe_request
from paperboy.mail.smtp import Verdict, judge

MOST_BYTES = 2_000_000  # of a mail; what is said comes first
_LONGEST = 300  # characters of a server's words
_MOST_PARTS = 50
_FAILED = re.compile(r"\s*5\.\d{1,3}\.\d{1,3}")
_SPAM = frozenset({"abuse", "fraud", "virus", "opt-out"})  # feedback that says "no more of this"


@dataclass(frozen=True, slots=True)
class Bounce:
    """A server that had accepted a mail, or the next one, could not deliver it (RFC 3464)."""

    message_id: str  # of our mail
    reply: str  # one line, for people
    gone: bool  # the address does not exist


@dataclass(frozen=True, slots=True)
class Complaint:
    """Somebody called a mail spam (RFC 5965). One of both is known, or neither is."""

    message_id: str
    token: str


@dataclass(frozen=True, slots=True)
class Request:
    """Somebody wants to leave a list."""

    token: str


def read(mail: bytes) -> Bounce | Complaint | Request | None:
    """What the mail says; None: nothing that counts."""
    try:
        message = email.message_from_bytes(mail[:MOST_BYTES], policy=email.policy.compat32)
    except RecursionError:  # parts within parts, a thousand deep
        return None
    parts = [part for _, part in zip(range(_MOST_PARTS), message.walk(), strict=False)]
    kinds = {part.get_content_type(): part for part in reversed(parts)}
    ours = _returned(parts)
    if report := kinds.get("message/feedback-report"):
        feedback = " ".join(_field(each, "Feedback-Type").lower() for each in report.walk())
        return (
            Complaint(_message_id(ours), _token(_field(ours, "List-Unsubscribe")))
            if _SPAM & {*feedback.split()}
            else None
        )
    if report := kinds.get("message/delivery-status"):
        return next(_failures(report, _message_id(ours)), None)
    if _field(message, "Auto-Submitted").lower() not in {"", "no"}:
        return None
    token = _token(_field(message, "Subject"))
    return Request(token) if token else None


def _returned(parts: list[Message]) -> Message:
    """Our mail, or its headers, as the other side sends it back."""
    for part in parts:
        if part.get_content_type() in {"message/rfc822", "message/global"} and isinstance(part.get_payload(), list):
            return part.get_payload(0)  # type: ignore[return-value]
        if part.get_content_type() in {"text/rfc822-headers", "message/rfc822-headers", "message/global-headers"}:
            text = part.get_payload(decode=True)
            found = email.message_from_bytes(text if isinstance(text, bytes) else b"", policy=email.policy.compat32)
            return found if found.keys() else part.get_payload(0) if part.is_multipart() else found  # type: ignore[return-value]
    return Message()


def _failures(report: Message, message_id: str) -> Iterator[Bounce]:
    """One for each recipient to whom delivery has failed for good; only for our mail."""
    for block in report.walk():
        status, words = _field(block, "Status"), _field(block, "Diagnostic-Code")
        if message_id and _field(block, "Action").lower() == "failed" and _FAILED.match(status):
            said = re.sub(r"^\s*\w+\s*;\s*", "", words)  # "smtp; 550 5.1.1 …"
            code = status.split()[0]
            text = re.sub(r"^[45]\d\d[ -]", "", said)
            reply = f"{code} {text.removeprefix(code).strip()}".strip()
            gone = judge("RCPT", 550, reply) is Verdict.BOUNCE
            yield Bounce(message_id, shortened(f"bounced: {reply}", _LONGEST), gone)


def _message_id(ours: Message) -> str:
    return _field(ours, "Message-ID")


def _token(text: str) -> str:
    found = unsubscribe_request(text)
    return found[1] if found else ""


def _field(message: Message, name: str) -> str:
    """A header as one line of text; empty: there is none that can be read."""
    value = message.get(name)
    if value is None:
        return ""
    try:
        return one_line(str(make_header(decode_header(str(value)))))
    except (ValueError, LookupError):  # an unknown charset, half an encoded word
        return one_line(str(value))
