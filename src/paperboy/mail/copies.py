"""What differs from one subscriber's copy of a mail to the next, and how it gets into the bodies they share. Pure.

Templates are rendered once per list, with a mark in the place of each value. `quoted_printable` lets every mark stand
whole on a line of its own, so that `filled` can replace it by a value without encoding anything else again.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import quote

from markupsafe import escape

from paperboy.mail.text import wrap

_FROM = re.compile(rb"^From(?= )", re.MULTILINE)
_LATE = re.compile(rb"^(.{74,75})(=20|=09)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Copy:
    """What the templates show that differs from copy to copy, or the marks that stand for it in the shared bytes."""

    kicker: str  # the first word of the mail: "Paperboy", or that this is a test
    reason: str  # one or two sentences: why this person gets the mail
    token: str  # what an unsubscribe mail carries

    @property
    def values(self) -> tuple[str, str, str]:
        """All of it, in one order."""
        return self.kicker, self.reason, self.token

    def as_text(self) -> Copy:
        """As it stands in a plain-text part, where the reason has lines of its own."""
        return replace(self, reason=wrap(self.reason))

    def as_html(self) -> Copy:
        """As it stands in an HTML part: escaped as the templates escape."""
        kicker, reason, token = (str(escape(value)) for value in self.values)
        return Copy(kicker, reason, token)


def unsubscribe_subject(list_name: str, token: str) -> str:
    """What a mail says in its subject to leave a list."""
    return f"unsubscribe {list_name} {token}"


def unsubscribe_uri(address: str, list_name: str, token: str) -> str:
    """A link to that mail, to a bare address with a domain in ASCII."""
    local, _, domain = address.rpartition("@")
    return f"mailto:{quote(local)}@{domain}?subject={quote(unsubscribe_subject(list_name, token))}"


@lru_cache
def marks(secret: bytes, list_name: str) -> Copy:
    """A list's marks: words of 32 digits, always the same, which no abstract holds, because nobody knows the secret."""
    # Digits alone: whatever a template does with capital and small letters, a mark stays what it is.
    kicker, reason, token = (
        f"{int(keyed(secret, 'mark', list_name, name), 16) % 10**32:032}" for name in ("kicker", "reason", "token")
    )
    return Copy(kicker, reason, token)


def keyed(secret: bytes, *fields: str) -> str:
    """The fields' HMAC under the secret, in hexadecimal digits."""
    return hmac.new(secret, "\0".join(fields).encode(), hashlib.sha256).hexdigest()


def quoted_printable(text: str, marks: Sequence[str] = ()) -> bytes:
    """A body in lines of at most 76 octets with CRLF, the last one ended; marks are on lines of their own."""
    whole = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n") + "\n"
    pieces = re.split(f"({'|'.join(marks)})", whole) if marks else [whole]
    joined = b"=\n".join(map(_encoded, pieces))
    joined = joined.replace(b"\n=\n", b"\n").removeprefix(b"=\n")  # a soft line break after nothing joins nothing
    return joined.replace(b"\n", b"\r\n")


def filled(body: bytes, marks: Copy, values: Copy) -> bytes:
    """A body from `quoted_printable` with values in the place of the marks."""
    return b"".join(joined(cut(body, marks), encoded(marks, values)))


def cut(body: bytes, marks: Copy) -> tuple[bytes, ...]:
    """A body in pieces, of which every second one is a mark. It is the same for all copies."""
    return tuple(re.split(f"({'|'.join(marks.values)})".encode(), body))


def encoded(marks: Copy, values: Copy) -> dict[bytes, bytes]:
    """By mark, what comes in its place: lines of its own."""
    lines = (_encoded(value.replace("\r\n", "\n").replace("\r", "\n")) for value in values.values)
    return {mark.encode(): each.replace(b"\n", b"\r\n") for mark, each in zip(marks.values, lines, strict=True)}


def joined(pieces: tuple[bytes, ...], lines: dict[bytes, bytes]) -> list[bytes]:
    """The pieces with lines in the place of the marks."""
    return [lines[piece] if place % 2 else piece for place, piece in enumerate(pieces)]


def _encoded(piece: str) -> bytes:
    """Quoted-printable with LF, whose last line has room for the "=" of a soft line break. No line begins with "From ",
    which mail folders that are one file would change.
    """
    # "=" takes three octets and leaves again: the encoder alone would fill the last line to its end.
    encoded = binascii.b2a_qp(piece.encode("utf-8", "replace") + b"=", istext=True)[:-3].removesuffix(b"=\n")
    encoded = _LATE.sub(rb"\1=\n\2", encoded)  # it notices too late that the space at a line's end needs three, too
    return _FROM.sub(b"=46rom=\n", encoded)
