"""A mail's bytes (RFC 5322, 2045-2047, 2369, 2919). Pure.

`freeze` serialises once per list what all recipients share; `fill` puts what is a recipient's own into it, and
`address` their own headers in front of it. The headers are written here and not by `email.policy`, which encodes a long
List-Unsubscribe until no client can read it and breaks names with quotes when it folds them.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from datetime import date as Date  # noqa: N812  # `date` is the name of two parameters
from email.utils import format_datetime, parseaddr
from functools import lru_cache
from string import ascii_letters, digits

import idna

from paperboy.mail.copies import Copy, cut, encoded, joined, keyed, quoted_printable
from paperboy.mail.lines import Copied, dotted, on_the_line
from paperboy.mail.text import one_line
from paperboy.models import MailingList, Rendered, Subscriber

_LINE = 76
_WORD = 66  # of a line: what cannot be folded still fits behind the longest header's name, "Reply-To: "
_PLAIN_PHRASE = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]*")
_ADDRESS = re.compile(r"[^\s<>()\[\]\\,;:\"@\x00-\x1f\x7f]+@[^\s<>()\[\]\\,;:\"@\x00-\x1f\x7f]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MESSAGE_ID = re.compile(r"<[!-;=?-~]+@[!-;=?-~]+>")
_URI = re.compile(r"[a-z]+:[!-;=?-~]+")
_BOUNDARY = re.compile(rb'\r\nContent-Type: multipart/alternative;\r\n boundary="([^"\r\n]+)"\r\n')
_REPLIED_TO = re.compile(rb"^(From|Reply-To):((?:[^\r\n]|\r\n[ \t])+)", re.MULTILINE)
_SUBJECT = re.compile(rb"\r\nSubject:[^\r\n]*(?:\r\n[ \t][^\r\n]*)*")


def freeze(
    rendered: Rendered,
    *,
    sender: str,
    reply_to: str,
    mailing_list: MailingList,
    date: datetime,
    marks: Sequence[str] = (),
) -> bytes:
    """The message that all subscribers of a list share, without To, Message-ID and List-Unsubscribe.

    Text and HTML as alternatives, lines of at most 76 octets that end in CRLF, `marks` (plain words) unbroken, so that
    `fill` finds them. `sender` and `reply_to` are addresses with or without a name, `reply_to` may be empty; `date` is
    shown in the list's zone. Only ASCII comes out, except where an address has a local part beyond it. ValueError for
    something that is no address.
    """
    list_id = f"{mailing_list.name}.lists.{domain_of(sender)}"
    headers = [
        *_always(rendered.subject, sender, date.astimezone(mailing_list.timezone)),
        *([_header("Reply-To", _mailbox(reply_to))] if reply_to else []),
        _header("List-Id", [*_phrase(one_line(mailing_list.title)), f"<{list_id}>"]),
        "Precedence: bulk",
    ]
    return _serialised(headers, rendered, marks)


def freeze_alert(rendered: Rendered, *, sender: str, date: datetime) -> bytes:
    """A message to the operator, from no list, without To and Message-ID; its date is shown in UTC. Otherwise as for
    `freeze`.
    """
    return _serialised(_always(rendered.subject, sender, date.astimezone(UTC)), rendered)


def fill(message: bytes, *, marks: Copy, copy: Copy) -> bytes:
    """The frozen message with a copy's own values where its marks stand. One without marks stays as it is."""
    if not (parts := _cut(message, marks)):
        return message
    text, html = encoded(marks, copy.as_text()), encoded(marks, copy.as_html())
    whole = _joined(parts, text, html)
    dotted_text, dotted_html = ({mark: dotted(lines) for mark, lines in part.items()} for part in (text, html))
    return Copied.of(whole, _joined(_cut(message, marks, for_line=True), dotted_text, dotted_html))


_Parts = tuple[tuple[bytes, ...], ...]


@lru_cache(maxsize=8)  # the thousands of copies of one digest are made one after the other
def _cut(message: bytes, marks: Copy, *, for_line: bool = False) -> _Parts:
    """Head, text, HTML and end of a message from `freeze`, in pieces; nothing where it is not from there."""
    if not (found := boundary_of(message)):
        return ()
    boundary = b"\r\n--" + found
    head, text, html, end = (on_the_line(message) if for_line else message).split(boundary)
    return (head + boundary,), cut(text, marks), cut(boundary + html, marks), (boundary + end,)


def _joined(parts: _Parts, text: dict[bytes, bytes], html: dict[bytes, bytes]) -> bytes:
    head, text_pieces, html_pieces, end = parts
    return b"".join((*head, *joined(text_pieces, text), *joined(html_pieces, html), *end))


@lru_cache(maxsize=8)
def replies_to(message: bytes) -> str:
    """Where replies to a message from `freeze` go: a bare address. It stays what it was then, whatever is set now."""
    head = message.partition(b"\r\n\r\n")[0]
    last = {name: value.split()[-1] for name, value in _REPLIED_TO.findall(head)}
    address: bytes = last.get(b"Reply-To", last.get(b"From", b"")).strip(b"<>")
    return address.decode()


def boundary_of(message: bytes) -> bytes:
    """What stands between the parts of a message from here; empty for others."""
    found = _BOUNDARY.search(message)
    return found[1] if found else b""


def address(message: bytes, *, to: Subscriber, message_id: str, list_unsubscribe: Sequence[str] = ()) -> bytes:
    """The frozen message for one recipient, who can leave the list at each of the URIs `list_unsubscribe`. Nothing of
    it is parsed or encoded again. ValueError for an identifier or a URI that may not stand in a header.
    """
    if not _MESSAGE_ID.fullmatch(message_id):
        raise ValueError(f"not a Message-ID: {message_id!r}")
    own = [_header("To", _named(to.name, addr_spec(to.address))), f"Message-ID: {message_id}"]
    if list_unsubscribe:
        own.append(_list_unsubscribe(list_unsubscribe))
    head = "".join(f"{header}\r\n" for header in own).encode()
    return Copied.of(head + message, head + message.on_the_line) if isinstance(message, Copied) else head + message


def with_subject(message: bytes, subject: str) -> bytes:
    """The frozen message under another subject."""
    head, end, body = message.partition(b"\r\n\r\n")
    header = f"\r\n{_header('Subject', _words(subject))}".encode()
    return _SUBJECT.sub(lambda _: header, head, count=1) + end + body


def message_id(list_name: str, date: Date, address: str, secret: bytes, domain: str) -> str:
    """One delivery's identifier: the same whenever it is tried, and it does not give the address away."""
    digest = keyed(secret, "message", list_name, date.isoformat(), address)
    return f"<{date:%Y%m%d}.{list_name}.{digest[:24]}@{domain}>"


def alert_id(headline: str, now: datetime, secret: bytes, domain: str) -> str:
    """An alert's identifier: the same for one headline at one instant."""
    instant = now.astimezone(UTC)
    digest = keyed(secret, "alert", instant.isoformat(), headline)
    return f"<{instant:%Y%m%d}.alert.{digest[:24]}@{domain}>"


def unsubscribe_token(list_name: str, address: str, secret: bytes) -> str:
    """What names list and subscriber in an unsubscribe mail: 32 hexadecimal digits."""
    return keyed(secret, "unsubscribe", list_name, address)[:32]


def addr_spec(mailbox: str) -> str:
    """The bare address of `Name <address>` or `address`, its domain in ASCII (IDNA). ValueError if it is none."""
    if _CONTROL.search(mailbox):
        raise ValueError(f"not an address: {mailbox!r}")
    found = mailbox if _ADDRESS.fullmatch(mailbox) else parseaddr(mailbox)[1]
    if not _ADDRESS.fullmatch(found):
        raise ValueError(f"not an address: {mailbox!r}")
    local, _, domain = found.rpartition("@")
    if not domain.isascii():
        try:
            domain = idna.encode(domain, uts46=True).decode()
        except idna.IDNAError as error:
            raise ValueError(f"not a domain: {domain!r}: {error}") from error
    return f"{local}@{domain}"


def domain_of(mailbox: str) -> str:
    """The domain of an address in ASCII, for Message-ID and List-Id."""
    return addr_spec(mailbox).rpartition("@")[2]


# --- the whole


def _always(subject: str, sender: str, date: datetime) -> list[str]:
    """The headers of all that Paperboy writes, to readers and to its operator."""
    return [
        _header("From", _mailbox(sender)),
        _header("Subject", _words(subject)),
        f"Date: {format_datetime(date)}",
        "Auto-Submitted: auto-generated",
        "X-Auto-Response-Suppress: All",
    ]


def _serialised(headers: Iterable[str], rendered: Rendered, marks: Sequence[str] = ()) -> bytes:
    text, html = quoted_printable(rendered.text, marks), quoted_printable(rendered.html, marks)
    boundary = "=_" + hashlib.sha256(text + html).hexdigest()[:32]  # "=_" never occurs in quoted-printable
    head = [*headers, "MIME-Version: 1.0", f'Content-Type: multipart/alternative;\r\n boundary="{boundary}"']
    return b"".join(
        (
            "".join(f"{header}\r\n" for header in head).encode(),
            _part(boundary, "plain", text),
            _part(boundary, "html", html),
            f"\r\n--{boundary}--\r\n".encode(),
        )
    )


def _part(boundary: str, subtype: str, body: bytes) -> bytes:
    head = (
        f"\r\n--{boundary}\r\n"  # the line end before it is the boundary's
        f'Content-Type: text/{subtype}; charset="utf-8"\r\n'
        "Content-Transfer-Encoding: quoted-printable\r\n"
        "\r\n"
    )
    return head.encode() + body


# --- headers: a list of tokens, between any two of which a line may end


def _header(name: str, tokens: Iterable[str]) -> str:
    start = f"{name}:"
    lines = [start]
    for token in tokens:
        if lines[-1] != start and len(lines[-1]) + 1 + len(token) > _LINE:
            lines.append("")
        lines[-1] += f" {token}"
    return "\r\n".join(lines)


def _list_unsubscribe(uris: Sequence[str]) -> str:
    """No line ends within a URI, however long it is, and none is encoded: clients read them as they stand."""
    if not all(map(_URI.fullmatch, uris)):
        raise ValueError("not a List-Unsubscribe of URIs")
    return "List-Unsubscribe: " + ",\r\n ".join(f"<{uri}>" for uri in uris)


def _mailbox(mailbox: str) -> list[str]:
    name = "" if _ADDRESS.fullmatch(mailbox) else parseaddr(mailbox)[0]
    return _named(name, addr_spec(mailbox))


def _named(name: str, address: str) -> list[str]:
    phrase = _phrase(one_line(name))
    return [*phrase, f"<{address}>"] if phrase else [address]


def _phrase(name: str) -> list[str]:
    """A name as atoms, as a quoted string, or as encoded words."""
    if name.isascii() and "=?" not in name:
        words = name.split()
        if _PLAIN_PHRASE.fullmatch(name) and all(len(word) <= _WORD for word in words):
            return words
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        if len(escaped) + 2 <= _WORD:
            return [f'"{escaped}"']
    return list(_encoded_words(name))


def _words(text: str) -> list[str]:
    """Any text for a header such as Subject: encoded from the first word that must be to the last."""
    words = one_line(text).split(" ")
    odd = [place for place, word in enumerate(words) if not word.isascii() or "=?" in word or len(word) > _WORD]
    if not odd:
        return words
    first, after = odd[0], odd[-1] + 1
    return [*words[:first], *_encoded_words(" ".join(words[first:after])), *words[after:]]


def _encoded_words(text: str) -> Iterator[str]:
    """RFC 2047 words, which end where words end. Space between them is not text, so each has its own within."""
    chunk = ""
    for word in re.findall(r"[^ ]* ?", text):
        for part in [word] if len(_encoded_word(word)) <= _WORD else word:
            if len(_encoded_word(chunk + part)) > _WORD:
                yield _encoded_word(chunk)
                chunk = ""
            chunk += part
    if chunk:
        yield _encoded_word(chunk)


def _encoded_word(text: str) -> str:
    """In the form that people can read, unless base64 is much shorter."""
    octets = text.encode()
    readable = "".join(_READABLE[octet] for octet in octets)
    base64 = b64encode(octets).decode()
    return f"=?utf-8?q?{readable}?=" if len(readable) <= 1.5 * len(base64) else f"=?utf-8?b?{base64}?="


_PLAIN_OCTETS = f"{ascii_letters}{digits}!*+-/".encode()  # wherever an encoded word may stand
_READABLE = {octet: chr(octet) if octet in _PLAIN_OCTETS else f"={octet:02X}" for octet in range(256)} | {ord(" "): "_"}
