"""What a mail that came back to us says: that a digest bounced, that somebody complained, or wants
to leave. Pure.

Anybody can write such a mail. It counts only by what nobody can guess: the Message-ID of one copy,
or a token. Both go along with a forwarded mail.
"""

import email
import re
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.policy import Compat32
from itertools import islice
from typing import NamedTuple

from paperboy.edges.text import one_line, shortened
from paperboy.mail.message import unsubscribe_request
from paperboy.sending.smtp import Verdict, judge

MOST_BYTES = 500_000  # of a mail; what is said comes first
_LONGEST_HEADER = 4_000  # characters; decoding one takes time quadratic in its length
_LONGEST = 300  # characters of a server's words
_MOST_PARTS = 50
_BOUNDARY = re.compile(rb"boundary[*\d]*\s*=", re.IGNORECASE)
_STATUS = re.compile(r"[45]\.\d{1,3}\.\d{1,3}")
_SPAM = frozenset({"abuse", "fraud", "virus", "opt-out"})  # feedback that says "no more of this"


class Bounce(NamedTuple):
    """A server that had accepted a mail, or the next one, could not deliver it (RFC 3464)."""

    message_id: str  # of our mail
    reply: str  # one line, for people
    gone: bool  # the address does not exist


class Complaint(NamedTuple):
    """Somebody called a mail spam (RFC 5965). One of both is known, or neither is."""

    message_id: str
    token: str


class Request(NamedTuple):
    """Somebody wants to leave a list."""

    token: str


class _Policy(Compat32):
    """The parser's own policy, with every header cut before anything is decoded: Content-Type,
    too.
    """

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_LONGEST_HEADER]


_POLICY = _Policy()


def read(mail: bytes) -> Bounce | Complaint | Request | None:
    """Return what the mail says; None: nothing that counts."""
    try:
        mail = mail[:MOST_BYTES].replace(
            b"message/global-delivery-status", b"message/delivery-status"
        )  # RFC 6533
        if (
            len(_BOUNDARY.findall(mail)) > _MOST_PARTS
        ):  # one in another: each line is compared with all
            return None
        message = email.message_from_bytes(mail, policy=_POLICY)
        parts = list(islice(message.walk(), _MOST_PARTS))
        kinds = {part.get_content_type(): part for part in reversed(parts)}
        ours = _returned(parts)

        if report := kinds.get("message/feedback-report"):
            said = {_field(part, "Feedback-Type").lower() for part in report.walk()}
            way_out = _token(_field(ours, "List-Unsubscribe"))
            return Complaint(_field(ours, "Message-ID"), way_out) if _SPAM & said else None

        if report := kinds.get("message/delivery-status"):
            own_id = (
                _field(ours, "Message-ID")
                or _field(message, "In-Reply-To")
                or _field(message, "References")
            )
            return _failure(report, own_id) if own_id else None

        if (
            _field(message, "X-Apple-Unsubscribe").lower() != "true"
        ):  # Apple Mail calls these auto-replied
            is_report = (
                message.get_content_type() == "multipart/report"
                or _field(message, "Return-Path") == "<>"
            )
            if is_report or _field(message, "Auto-Submitted").lower() not in {"", "no"}:
                return None
        token = _token(_field(message, "Subject"))
        return Request(token) if token else None
    except Exception:  # noqa: BLE001 - mail is anybody's, and the parser raises what it does; or the command's deadline
        return None


def _returned(parts: list[Message]) -> Message:
    """Return our mail, or its headers, as the other side sends it back."""
    for part in parts:
        if part.get_content_type() in {"message/rfc822", "message/global"} and isinstance(
            part.get_payload(), list
        ):
            return part.get_payload(0)  # type: ignore[return-value]
        if part.get_content_type() in {
            "text/rfc822-headers",
            "message/rfc822-headers",
            "message/global-headers",
        }:
            text = part.get_payload(decode=True)
            headers = BytesHeaderParser(
                policy=_POLICY
            )  # no parts, which encoded text could hold any number of
            found = headers.parsebytes(text if isinstance(text, bytes) else b"")
            return found if found.keys() else part.get_payload(0) if part.is_multipart() else found  # type: ignore[return-value]
    return Message()


def _failure(report: Message, message_id: str) -> Bounce | None:
    """Return the first delivery that failed for good: also after days of retries, whose code is
    4.x.
    """
    for block in report.walk():
        status = _STATUS.match(_field(block, "Status"))
        if status and _field(block, "Action").lower() == "failed":
            # As in "smtp; 550 5.1.1 …". Exim has 5.0.0 as the status, whatever the server's own
            # code is.
            words = re.sub(r"^[\w-]+\s*;\s*(?:[45]\d\d[ -])?", "", _field(block, "Diagnostic-Code"))
            reply = words if _STATUS.match(words) else f"{status[0]} {words}".strip()
            gone = status[0][0] == "5" and judge("RCPT", 550, reply) is Verdict.BOUNCE
            return Bounce(message_id, shortened(f"bounced: {reply}", _LONGEST), gone)
    return None


def _token(text: str) -> str:
    found = unsubscribe_request(text)
    return found[1] if found else ""


def _field(message: Message, name: str) -> str:
    """Return a header as one line of text; empty: there is none that can be read."""
    found = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
    value = found.encode(errors="surrogateescape").decode(
        errors="replace"
    )  # bytes beyond ASCII are surrogates
    try:
        return one_line(str(make_header(decode_header(value))))
    except (
        ValueError,
        LookupError,
        MessageError,
    ):  # half an encoded word, or a charset that nobody knows
        return one_line(value)
