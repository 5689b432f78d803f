"""A mail's bytes (RFC 5322, 2045-2047, 2369, 2919). Pure.

`freeze` serialises once per list what all recipients share; `address` puts a recipient's own headers in front of it.
The headers are written here and not by `email.policy`, which encodes a long List-Unsubscribe until no client can read
it and breaks names with quotes when it folds them.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re
from base64 import b64encode
from collections.abc import Iterator
from datetime import date as Date  # noqa: N812  # `date` is the name of two parameters
from datetime import datetime
from email.utils import format_datetime, parseaddr
from urllib.parse import quote

import idna

from paperboy.mail.text import one_line
from paperboy.models import MailingList, Rendered, Subscriber

_LINE = 76
_WORD_BYTES = 39  # of UTF-8 in one encoded word: with a header's name before it, it still fits a line
_PLAIN_PHRASE = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]*")
_ADDRESS = re.compile(r"[^\s<>()\[\]\\,;:\"@\x00-\x1f\x7f]+@[^\s<>()\[\]\\,;:\"@\x00-\x1f\x7f]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MESSAGE_ID = re.compile(r"<[!-;=?-~]+@[!-;=?-~]+>")
_LIST_UNSUBSCRIBE = re.compile(r"<[!-;=?-~]+>(, <[!-;=?-~]+>)*")


def freeze(rendered: Rendered, *, sender: str, reply_to: str, mailing_list: MailingList, date: datetime) -> bytes:
    """The message that all subscribers of a list share, without To, Message-ID and List-Unsubscribe.

    Text and HTML as alternatives, lines of at most 76 octets that end in CRLF. `sender` and `reply_to` are addresses
    with or without a name, `reply_to` may be empty; `date` is shown in the list's zone. Only ASCII comes out, except
    where an address has a local part beyond it. ValueError for something that is no address.
    """
    text, html = _quoted_printable(rendered.text), _quoted_printable(rendered.html)
    boundary = "=_" + hashlib.sha256(text + html).hexdigest()[:32]  # "=_" never occurs in quoted-printable
    headers = [
        f"From: {_mailbox(sender)}",
        *([f"Reply-To: {_mailbox(reply_to)}"] if reply_to else []),
        f"Subject: {_unstructured(rendered.subject)}",
        f"Date: {format_datetime(date.astimezone(mailing_list.timezone))}",
        f"List-Id: {_named(mailing_list.title, f'{mailing_list.name}.lists.{domain_of(sender)}')}",
        "Auto-Submitted: auto-generated",
        "Precedence: bulk",
        "X-Auto-Response-Suppress: All",
        "MIME-Version: 1.0",
        f'Content-Type: multipart/alternative;\r\n boundary="{boundary}"',
    ]
    return b"".join(
        (
            "".join(f"{header}\r\n" for header in headers).encode(),
            _part(boundary, "plain", text),
            _part(boundary, "html", html),
            f"\r\n--{boundary}--\r\n".encode(),
        )
    )


def address(message: bytes, *, to: Subscriber, message_id: str, list_unsubscribe: str | None) -> bytes:
    """The frozen message for one recipient. Nothing of it is parsed or encoded again. ValueError for an identifier or
    a List-Unsubscribe that may not stand in a header.
    """
    if not _MESSAGE_ID.fullmatch(message_id):
        raise ValueError(f"not a Message-ID: {message_id!r}")
    own = f"To: {_named(to.name, addr_spec(to.address))}\r\nMessage-ID: {message_id}\r\n"
    if list_unsubscribe is not None:
        if not _LIST_UNSUBSCRIBE.fullmatch(list_unsubscribe):
            raise ValueError("not a List-Unsubscribe of URIs in angle brackets")
        folded = list_unsubscribe.replace(", ", ",\r\n ")
        own += f"List-Unsubscribe: {folded}\r\n"
    return own.encode() + message


def message_id(list_name: str, date: Date, address: str, secret: bytes, domain: str) -> str:
    """One delivery's identifier: the same whenever it is tried, and it does not give the address away."""
    digest = _hmac(secret, "message", list_name, date.isoformat(), address)
    return f"<{date:%Y%m%d}.{list_name}.{digest[:24]}@{domain}>"


def unsubscribe_token(list_name: str, address: str, secret: bytes) -> str:
    """What names list and subscriber in an unsubscribe mail: 32 hexadecimal digits."""
    return _hmac(secret, "unsubscribe", list_name, address)[:32]


def unsubscribe_header(address: str, list_name: str, token: str) -> str:
    """The value of List-Unsubscribe: a mail to `address`. Other URIs can join it after a comma."""
    local, _, domain = addr_spec(address).rpartition("@")
    return f"<mailto:{quote(local)}@{domain}?subject={quote(f'unsubscribe {list_name} {token}')}>"


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


def _hmac(secret: bytes, *fields: str) -> str:
    return hmac.new(secret, "\0".join(fields).encode(), hashlib.sha256).hexdigest()


def _quoted_printable(text: str) -> bytes:
    """Lines of at most 76 octets with CRLF, the last one ended."""
    lines = text.encode("utf-8", "replace").replace(b"\r\n", b"\n").replace(b"\r", b"\n").rstrip(b"\n")
    return binascii.b2a_qp(lines, istext=True).replace(b"\n", b"\r\n") + b"\r\n"


def _part(boundary: str, subtype: str, body: bytes) -> bytes:
    head = (
        f"\r\n--{boundary}\r\n"  # the line end before it is the boundary's
        f'Content-Type: text/{subtype}; charset="utf-8"\r\n'
        "Content-Transfer-Encoding: quoted-printable\r\n"
        "\r\n"
    )
    return head.encode() + body


def _mailbox(mailbox: str) -> str:
    name = "" if _ADDRESS.fullmatch(mailbox) else parseaddr(mailbox)[0]
    return _named(name, addr_spec(mailbox))


def _named(name: str, bracketed: str) -> str:
    """`Name <bracketed>`, the name as atoms, as a quoted string, or as encoded words; only the brackets' content for
    an empty name, unless it is a List-Id, which needs them.
    """
    phrase = _phrase(one_line(name))
    if not phrase:
        return bracketed if "@" in bracketed else f"<{bracketed}>"
    joint = "\r\n " if "\r\n" in phrase or len(phrase) + len(bracketed) > _LINE - 13 else " "
    return f"{phrase}{joint}<{bracketed}>"


def _phrase(name: str) -> str:
    if not name.isascii() or len(name) > 60 or "=?" in name:
        return "\r\n ".join(_encoded_words(name))
    if _PLAIN_PHRASE.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _unstructured(text: str) -> str:
    """Any text as the value of a header such as Subject, folded."""
    clean = one_line(text)
    words = clean.split(" ")
    if not clean.isascii() or "=?" in clean or max(map(len, words)) > 60:
        return "\r\n ".join(_encoded_words(clean))
    lines, room = [""], _LINE - len("Subject: ")
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append(word)
            room = _LINE - 1
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return "\r\n ".join(lines)


def _encoded_words(text: str) -> Iterator[str]:
    """RFC 2047 words, none of which cuts a character in two."""
    chunk = b""
    for character in text:
        encoded = character.encode()
        if len(chunk) + len(encoded) > _WORD_BYTES:
            yield f"=?utf-8?b?{b64encode(chunk).decode()}?="
            chunk = b""
        chunk += encoded
    if chunk:
        yield f"=?utf-8?b?{b64encode(chunk).decode()}?="
