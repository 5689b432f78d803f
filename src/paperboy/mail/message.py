"""A mail's bytes (RFC 5322, 2045-2047, 2369, 2919): frozen once per list, completed for each recipient. Pure.

    freeze     the rendered digest, with a placeholder for each value that differs between recipients
               → the message that all of them share
    complete   the frozen message, with a recipient's own values in place of the placeholders
               → their copy, after three headers of their own: To, Message-ID, List-Unsubscribe

A placeholder is a word of 32 digits that may stand in any number of places. In the frozen bytes each has a line to
itself, between soft line breaks, so that nothing around it is encoded again. The version before froze the same form.
"""

from __future__ import annotations

import binascii
import contextlib
import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from email.charset import Charset
from email.message import Message
from email.parser import BytesHeaderParser
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from functools import lru_cache
from urllib.parse import unquote

import idna

from paperboy.mail.page import Copy, page, unsubscribe_uri
from paperboy.mail.templates import Templates
from paperboy.mail.text import one_line
from paperboy.models import Addressed, Alert, Composed, Delivery, Digest, Envelope, Rendered, Subscriber

LOCAL_SENDER = "Paperboy <paperboy@localhost>"  # where mail goes to the outbox and no sender is set
_ALERT = "_alert"  # the list name of alerts in the outbox; no list can be called that


@dataclass(frozen=True, slots=True)
class Composer:
    """Composes mails from `sender`; replies and requests to unsubscribe go to `reply_to`.

    An empty `sender` is `LOCAL_SENDER`, an empty `reply_to` the sender. `secret` is the key of Message-IDs, tokens and
    placeholders. ValueError if `sender` or `reply_to` is not an address.
    """

    templates: Templates
    sender: str
    reply_to: str
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        for mailbox in filter(None, (self.sender, self.reply_to)):
            addr_spec(mailbox)

    def digest(self, digest: Digest, now: datetime) -> Composed:
        """Compose the mail of a digest, or the note of one without entries, dated `now`. Errors as for
        `Templates.to_readers`.
        """
        mailing_list, domain = digest.mailing_list, _domain(self._from)
        marks = placeholders(self.secret, mailing_list.name)
        whole = page(digest, copy=marks, unsubscribe_address=addr_spec(self.reply_to or self._from))
        rendered = self.templates.to_readers(whole)
        headers = [
            *self._headers(rendered.subject, now.astimezone(mailing_list.timezone)),
            *([_header("Reply-To", _mailbox(*parseaddr(self.reply_to)))] if self.reply_to else []),
            _header("List-Id", [*_words(mailing_list.title, _ATOMS), f"<{mailing_list.name}.lists.{domain}>"]),
            "Precedence: bulk",
        ]
        return Composed(rendered.subject, addr_spec(self._from), freeze(headers, rendered, marks))

    def alert(self, alert: Alert, to: Subscriber, now: datetime) -> Envelope:
        """Compose a mail to the operator, dated `now`. Errors as for `Templates.alert`."""
        rendered, instant = self.templates.alert(alert), now.astimezone(UTC)
        own_id = self._message_id("alert", instant.date(), "alert", instant.isoformat(), alert.headline)
        message = own_headers(to, own_id) + freeze(self._headers(rendered.subject, instant), rendered)
        return Envelope(addr_spec(self._from), to.address, message, _ALERT)

    def addressed(self, list_name: str, day: date, subscriber: Subscriber) -> Addressed:
        """Make the identifiers of one subscriber's copy; always the same for the same arguments."""
        own_id = self._message_id(list_name, day, "message", list_name, day.isoformat(), subscriber.address)
        return Addressed(subscriber, own_id, unsubscribe_token(list_name, subscriber.address, self.secret))

    def envelope(self, composed: Composed, delivery: Delivery) -> Envelope:
        """Complete the frozen message for the delivery's subscriber."""
        return self._envelope(composed, delivery, "Paperboy", f"Your address {_shown(delivery)} is on this list.")

    def test(self, composed: Composed, delivery: Delivery) -> Envelope:
        """Complete the frozen message as a test mail: subject and body say so, all other headers are the real ones."""
        reason = f"This is a test, sent to {_shown(delivery)} alone; nothing was marked as sent."
        head, end, body = composed.message.partition(b"\r\n\r\n")
        subject = _header("Subject", _words(f"[Test] {composed.subject}")).encode()
        marked = _SUBJECT.sub(lambda _: b"\r\n" + subject, head, count=1) + end + body
        return self._envelope(replace(composed, message=marked), delivery, "Test mail", reason)

    @property
    def _from(self) -> str:
        return self.sender or LOCAL_SENDER

    def _headers(self, subject: str, now: datetime) -> list[str]:
        return [
            _header("From", _mailbox(*parseaddr(self._from))),
            _header("Subject", _words(subject)),
            f"Date: {format_datetime(now)}",
            "Auto-Submitted: auto-generated",
            "X-Auto-Response-Suppress: All",
        ]

    def _message_id(self, name: str, day: date, *fields: str) -> str:
        """An identifier that does not give away the fields that it is made of."""
        return f"<{day:%Y%m%d}.{name}.{_keyed(self.secret, *fields)[:24]}@{_domain(self._from)}>"

    def _envelope(self, composed: Composed, delivery: Delivery, kicker: str, reason: str) -> Envelope:
        own, list_name = delivery.addressed, delivery.list_name
        leave = unsubscribe_uri(_replies_to(composed.message), list_name, own.token)
        copy = Copy(kicker, reason, own.token)
        shared = complete(composed.message, placeholders(self.secret, list_name), copy)
        message = own_headers(own.subscriber, own.message_id, leave) + shared
        return Envelope(composed.sender, own.subscriber.address, message, list_name)


def unsubscribe_token(list_name: str, address: str, secret: bytes) -> str:
    """The token that names list and subscriber in an unsubscribe mail: 32 hexadecimal digits."""
    return _keyed(secret, "unsubscribe", list_name, address)[:32]


def unsubscribe_request(text: str) -> tuple[str, str] | None:
    """The list's name (empty: not given) and the token, both in lower case.

    `text` is the subject of an unsubscribe mail, the link that opens one, or a bare token; None if it is none of these.
    """
    if found := _REQUEST.search(unquote(text)):
        return found["name"].lower(), found["token"].lower()
    return ("", text.strip().lower()) if _TOKEN.fullmatch(text.strip()) else None


def addr_spec(mailbox: str) -> str:
    """The bare address of `Name <address>` or `address`, all ASCII. ValueError if there is none."""
    address = parseaddr(mailbox)[1]
    if not _ADDRESS.fullmatch(address) or not address.isascii() or re.search(r"[\x00-\x1f\x7f]", mailbox):
        raise ValueError(f"not an address: {mailbox!r}")
    return address


def boundary_of(message: bytes) -> bytes:
    """The MIME boundary of a composed message, which is the same in all copies; empty for other messages."""
    found = _BOUNDARY.search(message)
    return found[1] if found else b""


def _domain(mailbox: str) -> str:
    return addr_spec(mailbox).rpartition("@")[2]


@lru_cache(maxsize=8)
def _replies_to(message: bytes) -> str:
    """The address that replies to a frozen message go to, whatever the settings are now."""
    head = BytesHeaderParser(policy=SMTP).parsebytes(message)
    address: str = (head["Reply-To"] or head["From"]).addresses[0].addr_spec
    return address


def _shown(delivery: Delivery) -> str:
    """The address as its owner writes it: ada@bücher.example, not ada@xn--bcher-kva.example."""
    local, _, domain = delivery.addressed.subscriber.address.rpartition("@")
    if "xn--" in domain:
        with contextlib.suppress(idna.IDNAError):
            domain = idna.decode(domain)
    return one_line(f"{local}@{domain}")


def _keyed(secret: bytes, *fields: str) -> str:
    return hmac.new(secret, "\0".join(fields).encode(), hashlib.sha256).hexdigest()


# Freezing, and completing what was frozen

_POLICY = SMTP.clone(max_line_length=None)  # headers arrive encoded and folded
_BOUNDARY = re.compile(rb'\r\nContent-Type: multipart/alternative;\r\n boundary="([^"\r\n]+)"\r\n')
_HTML_PART = b'\r\nContent-Type: text/html; charset="utf-8"\r\n'  # found once: quoted-printable has no '="'
_UTF8 = Charset("utf-8")
_LINE, _WORD = 76, 66  # octets; a word that cannot be folded still fits after the longest name, "Reply-To: "
_ASCII = re.compile(r"[ -~]*")
_ATOMS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]*")
_ADDRESS = re.compile(r"[^\s<>()\[\]\\,;:\"@]+@[^\s<>()\[\]\\,;:\"@]+")
_SUBJECT = re.compile(rb"\r\nSubject:[^\r\n]*(?:\r\n[ \t][^\r\n]*)*")
_NEVER_FIRST = re.compile(rb"^\.*(?:F(?=rom ))?", re.MULTILINE)
_TOKEN = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)
_REQUEST = re.compile(  # the subject of an unsubscribe mail, perhaps after a "Re:"
    r"\bunsubscribe\s+(?P<name>[a-z0-9-]+)\s+(?P<token>[0-9a-f]{32})(?![0-9a-f])", re.IGNORECASE
)
_LATE = re.compile(rb"^(.{74,75})(=20|=09)$", re.MULTILINE)


@lru_cache
def placeholders(secret: bytes, list_name: str) -> Copy:
    """A list's placeholders, always the same; no abstract holds them, because they are made from the secret."""
    # Digits alone: whatever a template does with capital and small letters, a placeholder stays what it is.
    names = ("kicker", "reason", "token")
    return Copy(*(f"{int(_keyed(secret, 'mark', list_name, name), 16) % 10**32:032}" for name in names))


def freeze(headers: Iterable[str], rendered: Rendered, marks: Copy | None = None) -> bytes:
    """Text and HTML as alternatives after the headers, in ASCII lines of at most 76 octets. No line begins with a dot
    or "From ", which SMTP and mail folders would change.
    """
    bodies = {"plain": _body(rendered.text, marks), "html": _body(rendered.html, marks)}
    boundary = "=_" + hashlib.sha256("".join(bodies.values()).encode()).hexdigest()[:32]  # "=_" is no quoted-printable
    whole = Message()
    for header in (*headers, "MIME-Version: 1.0"):
        name, _, value = header.partition(": ")
        whole[name] = value
    whole["Content-Type"] = f'multipart/alternative;\r\n boundary="{boundary}"'
    for subtype, body in bodies.items():
        part = Message()
        part["Content-Type"] = f'text/{subtype}; charset="utf-8"'
        part["Content-Transfer-Encoding"] = "quoted-printable"
        part.set_payload(body)
        whole.attach(part)
    return whole.as_bytes(policy=_POLICY)


def _body(text: str, marks: Copy | None) -> str:
    """Quoted-printable, each placeholder on a line of its own."""
    whole = text.rstrip("\r\n") + "\n"
    pieces = re.split(f"({'|'.join(marks.values)})", whole) if marks else [whole]
    return b"=\n".join(map(_encoded, pieces)).decode("ascii")


def _encoded(piece: str) -> bytes:
    """Quoted-printable with LF, the last line with room for the "=" of a soft line break."""
    octets = re.sub(r"\r\n?", "\n", piece).encode("utf-8", "replace")
    # "=" takes three octets and leaves again: the encoder alone would fill the last line to its end.
    encoded = binascii.b2a_qp(octets + b"=", istext=True)[:-3].removesuffix(b"=\n")
    encoded = _LATE.sub(rb"\1=\n\2", encoded)  # it notices too late that the space at a line's end needs three, too
    return _NEVER_FIRST.sub(lambda found: b"".join(b"=%02X=\n" % octet for octet in found[0]), encoded)


def complete(message: bytes, marks: Copy, copy: Copy) -> bytes:
    """The frozen message with a copy's own values in the place of the placeholders."""
    done: list[bytes] = []
    for pieces, values in zip(_pieces(message, marks), (copy.as_text(), copy.as_html()), strict=True):
        lines = {
            mark.encode(): _encoded(value).replace(b"\n", b"\r\n")
            for mark, value in zip(marks.values, values.values, strict=True)
        }
        done += [lines.get(piece, piece) for piece in pieces]
    return b"".join(done)


@lru_cache(maxsize=8)  # the thousands of copies of one digest are made one after the other
def _pieces(message: bytes, marks: Copy) -> tuple[list[bytes], list[bytes]]:
    """The message up to the HTML part, and that part, both cut at the placeholders.

    Dots that begin a line are encoded: the version before left them to SMTP.
    """
    mark = re.compile(f"({'|'.join(marks.values)})".encode())
    head, separator, html = message.replace(b"\r\n.", b"\r\n=2E").partition(_HTML_PART)
    return mark.split(head), [separator, *mark.split(html)]


# Headers


def own_headers(to: Subscriber, message_id: str, list_unsubscribe: str = "") -> bytes:
    """A recipient's own headers. ValueError for what is no address. A URI is never folded or encoded: clients would
    not take it for one.
    """
    headers = [_header("To", _mailbox(to.name, to.address)), f"Message-ID: {message_id}"]
    if list_unsubscribe:
        headers.append(f"List-Unsubscribe: <{list_unsubscribe}>")
    return "".join(f"{header}\r\n" for header in headers).encode("ascii")


def _header(name: str, words: Iterable[str]) -> str:
    """A header, folded between words."""
    start = f"{name}:"
    lines = [start]
    for word in words:
        if lines[-1] != start and len(lines[-1]) + 1 + len(word) > _LINE:
            lines.append("")
        lines[-1] += f" {word}"
    return "\r\n".join(lines)


def _mailbox(name: str, address: str) -> list[str]:
    phrase = _words(name, _ATOMS)
    return [*phrase, f"<{addr_spec(address)}>"] if phrase else [addr_spec(address)]


def _words(text: str, plain: re.Pattern[str] = _ASCII) -> list[str]:
    """The words of one line of text: as they are if all are plain, else as encoded words (RFC 2047)."""
    line = one_line(text)
    words = line.split()
    is_plain = plain.fullmatch(line) and "=?" not in line and all(len(word) <= _WORD for word in words)
    return words if is_plain else list(_encoded_words(line))


def _encoded_words(text: str) -> Iterator[str]:
    """Encoded words that end where words end: some readers show a space between them, and in a name all do."""
    chunk = ""
    for word in re.findall(r"[^ ]* ?", text):
        for part in [word] if len(_UTF8.header_encode(word)) <= _WORD else word:
            if len(_UTF8.header_encode(chunk + part)) > _WORD:
                yield _UTF8.header_encode(chunk)
                chunk = ""
            chunk += part
    yield from [_UTF8.header_encode(chunk)] if chunk else []
