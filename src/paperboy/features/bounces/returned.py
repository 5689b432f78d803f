"""Returned mail, parsed: a bounce, a complaint, or a request to leave a list. Pure.

Anybody can write such a mail, so it counts only if it contains something that cannot be guessed:
the Message-ID of one copy, or a token. A forwarded mail gives both away.
"""

import email
import re
from binascii import a2b_base64
from collections.abc import Sequence
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesHeaderParser
from typing import NamedTuple

from paperboy.edges.text import one_line, shortened
from paperboy.mail.message import unsubscribe_request
from paperboy.sending.verdict import RETURNED, Verdict, judge
from paperboy.store.ledger import MESSAGE_ID

MOST_BYTES = 500_000  # of a mail; what matters comes first
_LONGEST_REPLY = 300  # characters
_STATUS = re.compile(r"[45]\.\d{1,3}\.\d{1,3}")
# A permanent code in plain text: "550 5.1.1 …", "(#5.1.1)" as in qmail, or "550 …" where it cannot be
# a number in a sentence.
_CODE = re.compile(
    r"(?<![\w.])(?:5(?:0\d|21|5\d)[ -]+)?#?(?P<status>5\.\d{1,3}\.\d{1,3})(?!\.?\d)"
    r"|(?:^|[:;>\"'(\]] ?|[ \t]{2})5(?:0\d|21|5\d)[ -]+(?=[^\W\d]|[<'\"(])",
    re.MULTILINE,
)
_DELAY = re.compile(r"not yet been delivered|do not need to resend|delay reason", re.IGNORECASE)
_ROBOT = re.compile(r"mailer-?daemon|postmaster|mail ?delivery", re.IGNORECASE)
# Where our own mail begins in a text, perhaps quoted.
_OURS = re.compile(
    r"^[>| \t]*(?:Message-ID|List-Unsubscribe)[ \t]*:|/leave/|unsubscribe[ %+]",
    re.IGNORECASE | re.MULTILINE,
)
_SPAM = frozenset({"abuse", "fraud", "virus", "opt-out"})  # types of feedback that are complaints
_RETURNED = frozenset(  # our mail, or its headers alone
    {"message/rfc822", "message/global", "message/global-headers", "text/rfc822-headers"}
)


class Bounce(NamedTuple):
    """Report that a mail which was accepted at first could not be delivered (RFC 3464)."""

    message_id: str  # of our mail; empty if unknown: Amazon SES, for one, changes it
    token: str  # empty: unknown
    reply: str  # one line, for people
    gone: bool  # the address does not exist
    doubtful: bool = False  # not believed if its server says so of most of its domain


class Complaint(NamedTuple):
    """Report that a reader marked a mail as spam (RFC 5965)."""

    message_id: str  # empty: unknown
    token: str  # empty: unknown


class Request(NamedTuple):
    """Request to leave a list."""

    token: str


def read(mail: bytes) -> Bounce | Complaint | Request | None:
    """Return what the mail reports or asks for, or None if it does not count. The time may be
    quadratic in the mail's length; only the command's deadline limits it.
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

        report = by_type.get("message/delivery-status")
        # Only a mail server's own text: automatic replies of helpdesks and people on leave contain
        # numbers, too.
        is_robot = _ROBOT.search(_field(message, "From")) or _field(message, "X-Failed-Recipients")
        text = _text(parts) if report or is_robot else ""
        if reply := _reported(report) or (is_robot and _written(report, text)):
            return _bounce(reply, message, ours, text)

        is_automatic = (
            report
            or message.get_content_type() == "multipart/report"
            or _field(message, "Return-Path") == "<>"
            or _field(message, "Auto-Submitted").lower() not in {"", "no", "auto-generated"}
        )
        # Apple Mail marks its unsubscribe mails as automatic replies.
        is_apples = _field(message, "X-Apple-Unsubscribe").lower() == "true"
        if is_automatic and not is_apples:
            return None

        token = _token(_field(message, "Subject"))
        return Request(token) if token else None
    except Exception:  # noqa: BLE001 - mail that breaks the parser, or the command's deadline
        return None


def _is_ours(part: Message) -> bool:
    """Check whether a part is our mail, or only its headers, and not a report that somebody has
    forwarded.
    """
    return part.get_content_type() in _RETURNED and not any(
        inner.get_content_type() == "message/delivery-status" for inner in part.walk()
    )


def _returned(parts: Sequence[Message]) -> Message:
    """Return our mail, or only its headers, as the other side sent it back."""
    for part in filter(_is_ours, parts):
        text = part.get_payload(decode=True)
        if part.is_multipart():
            message: Message = part.get_payload(0)  # type: ignore[assignment]
            if _field(part, "Content-Transfer-Encoding").lower() != "base64":
                return message
            text = a2b_base64(str(message.get_payload()))
        return BytesHeaderParser().parsebytes(text if isinstance(text, bytes) else b"")
    return Message()


def _text(parts: Sequence[Message]) -> str:
    """Return the other side's text, decoded: everything except the outer headers and our mail."""
    texts = []
    inside = {inner for part in filter(_is_ours, parts) for inner in part.walk()}
    for part in parts:
        if part in inside:
            continue
        if not part.is_multipart():
            payload = part.get_payload(decode=True)
            texts.append(payload.decode(errors="replace") if isinstance(payload, bytes) else "")
        if part is not parts[0]:
            texts += (f"{key}: {value}" for key, value in part.raw_items())
    return "\n".join(texts)


def _reported(report: Message | None) -> str:
    """Return the code and words of the first delivery that failed for good, even if after days of
    retries (status 4.x); empty if none has.
    """
    for block in report.walk() if report else ():
        if not re.match(r"failed\b", _field(block, "Action"), re.IGNORECASE):
            continue
        # As in "smtp; 550 5.1.1 …". Exim's status is 5.0.0, whatever code the server gave.
        words = re.sub(r"^[\w-]+\s*;\s*", "", _field(block, "Diagnostic-Code"))
        status = _STATUS.match(_field(block, "Status")) or _CODE.search(words)
        if status:
            words = re.sub(r"^[45]\d\d(?:[ -]|$)", "", words)
            return words if _STATUS.match(words) else f"{_status(status)} {words}".strip()
    return ""


def _written(report: Message | None, text: str) -> str:
    """Return the first permanent code in the text before our own mail, and the words after it;
    empty if there is none, or if the mail reports a delay or something else.
    """
    if report and any(_field(block, "Action") for block in report.walk()):
        return ""
    ours = _OURS.search(text)
    text = text[: ours.start()] if ours else text
    code = _CODE.search(text)
    if code is None or _DELAY.search(text):
        return ""
    words = re.split(r"\n\s*(?:\n|--)", text[code.end() :][:_LONGEST_REPLY], maxsplit=1)[0]
    return f"{_status(code)} {one_line(words).lstrip(') ')}".strip()


def _status(code: re.Match[str]) -> str:
    groups = code.groupdict()
    return (groups["status"] or "5.0.0") if groups else code[0]


def _bounce(reply: str, message: Message, ours: Message, text: str) -> Bounce | None:
    replied = f"{_field(message, 'In-Reply-To')} {_field(message, 'References')}"
    found = MESSAGE_ID.search(f"{_field(ours, 'Message-ID')} {replied} {text}")
    token = _token(_field(ours, "List-Unsubscribe")) or _token(text)
    if not (found or token):
        return None
    verdict = judge(RETURNED, 550, reply) if reply.startswith("5") else Verdict.LATER
    doubtful = verdict is Verdict.DOUBTFUL
    said = shortened(f"bounced: {reply}", _LONGEST_REPLY)
    gone = doubtful or verdict is Verdict.BOUNCE
    return Bounce(found[0] if found else "", token, said, gone, doubtful)


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
