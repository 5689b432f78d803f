"""Bytes of a mail (RFC 5322, 2045-2047, 2369, 2919): frozen once per list, completed for each
recipient. Pure.

    freeze     the rendered digest, with a placeholder for each value that differs between recipients
               → the message that all of them share
    complete   the frozen message, with a recipient's own values in place of the placeholders
               → their copy, which begins with its own To, Message-ID and List-Unsubscribe

A placeholder is a word of 32 digits that may occur any number of times. In the frozen bytes each
occurrence has its own line between soft line breaks, so that nothing around it is re-encoded.
"""

import binascii
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from email.charset import Charset
from email.parser import BytesHeaderParser
from email.utils import format_datetime, parseaddr
from functools import lru_cache
from typing import Protocol
from urllib.parse import quote, unquote

from markupsafe import escape

from paperboy.edges.text import one_line
from paperboy.edges.tokens import keyed, unsubscribe_token, view_token, vote_token
from paperboy.mail.archive import dump
from paperboy.mail.page import Copy, page_of, unsubscribe_uri
from paperboy.mail.templates import Templates
from paperboy.mail.text import clipped
from paperboy.models import (
    Alert,
    Composed,
    Delivery,
    Digest,
    Envelope,
    MailingList,
    MessageCopy,
    Rendered,
    Subscriber,
)

_TITLE = 60  # characters of a list's title in From


class Signer(Protocol):
    """Signer of each copy of a mail that goes to a mail server."""

    def signed(self, message: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class ListComposer:
    """Composer of one list's mail for one day. It holds no secret, so any process may use it."""

    templates: Templates
    sender: Subscriber
    reply_to: Subscriber | None
    web_url: str
    placeholders: Copy
    links: frozenset[str]  # kinds of pages that it links to: "view", "vote"
    link: str  # the token of the digest's page; empty: there is none
    shown: bool  # whether the digest is kept for pages and webhooks

    def digest(self, digest: Digest, now: datetime) -> Composed:
        """Compose the mail of a digest or note, dated `now`. Raises as
        `Templates.to_readers` does.
        """
        mailing_list = digest.mailing_list
        name = mailing_list.name
        owner = (self.reply_to or self.sender).address
        has_page = "view" in self.links and mailing_list.archive != "none"
        page = page_of(
            digest,
            copy=self.placeholders,
            unsubscribe_address=owner,
            web_url=self.web_url,
            link=self.link if has_page else "",
            votes="vote" in self.links,
        )
        rendered = self.templates.to_readers(page)

        domain = _domain(self.sender)
        sender_id = hashlib.sha256(domain.encode()).hexdigest()[:15]
        kind = "digest" if page.items else "note"
        owner_url = f"mailto:{quote(owner, safe='@')}"
        local = now.astimezone(mailing_list.timezone)
        headers = _headers(clipped(page.title, _TITLE), self.sender, rendered.subject, local)
        if self.reply_to:
            headers.append(_header("Reply-To", _mailbox(self.reply_to.name, self.reply_to)))
        headers += [
            _header("List-Id", f"{_words(page.title, _ATOMS)} <{name}.lists.{domain}>"),
            f"List-Help: <{owner_url}?subject=help>",
            f"List-Owner: <{owner_url}>",
            "List-Post: NO",
            f"Feedback-ID: {digest.date:%Y%m%d}:{name[:64]}:{kind}:{sender_id}",
            "Precedence: bulk",
        ]
        return Composed(
            subject=rendered.subject,
            sender=self.sender.address,
            message=freeze(headers, rendered, self.placeholders),
            link=self.link,
            shown=dump(digest) if self.shown else b"",
        )


@dataclass(frozen=True, slots=True)
class Composer:
    """Composer of mails from `sender`. Replies and unsubscribe requests go to `reply_to`, or to
    the sender if that is None. `secret` is the key for Message-IDs, tokens and placeholders.
    """

    templates: Templates
    sender: Subscriber
    reply_to: Subscriber | None
    secret: bytes = field(repr=False)
    web_url: str = ""  # of the site; empty: there is none
    links: frozenset[str] = frozenset()  # kinds of pages that mails link to: "view", "vote"
    signer: Signer | None = None  # None: the relay signs

    def for_list(self, mailing_list: MailingList, day: date) -> ListComposer:
        """Return the composer of that list's mail of that day."""
        links = self.links if self.web_url else frozenset[str]()
        return ListComposer(
            templates=self.templates,
            sender=self.sender,
            reply_to=self.reply_to,
            web_url=self.web_url,
            placeholders=placeholders_of(self.secret, mailing_list.name),
            links=links,
            link=view_token(mailing_list.name, day, self.secret) if links else "",
            shown=bool(links or mailing_list.webhook),
        )

    def alert(
        self,
        alert: Alert,
        to: Subscriber,
        now: datetime,
    ) -> tuple[Composed, MessageCopy]:
        """Compose a mail to the operator, dated `now`. Raises as `Templates.alert` does."""
        instant = now.astimezone(UTC)
        return self._compose(
            to,
            self.sender.name,
            self.templates.alert(alert),
            instant,
            "alert",
            instant.isoformat(),
            alert.headline,
        )

    def confirmation(
        self,
        mailing_list: MailingList,
        to: Subscriber,
        token: str,
        at: datetime,
    ) -> tuple[Composed, MessageCopy]:
        """Compose the mail that asks the owner of an address to confirm the sign-up that was made
        `at` that time. It contains no input from the form except the address. Raises as
        `Templates.confirmation` does.
        """
        url = f"{self.web_url}/confirm/{token}/{mailing_list.name}"
        rendered = self.templates.confirmation(mailing_list, url)
        title = clipped(one_line(mailing_list.title), _TITLE)
        return self._compose(
            to,
            title,
            rendered,
            at.astimezone(mailing_list.timezone),
            "confirm",
            token,
        )

    def _compose(
        self,
        to: Subscriber,
        name: str,
        rendered: Rendered,
        at: datetime,
        kind: str,
        *fields: str,
    ) -> tuple[Composed, MessageCopy]:
        """Compose a mail to one person that is not a digest. Its Message-ID is derived from `kind`
        and the fields.
        """
        headers = _headers(name, self.sender, rendered.subject, at)
        composed = Composed(
            subject=rendered.subject,
            sender=self.sender.address,
            message=freeze(headers, rendered),
        )
        message_id = self._message_id(kind, at.astimezone(UTC).date(), kind, *fields)
        return composed, MessageCopy(to, message_id, token="")

    def copy_for(
        self,
        list_name: str,
        day: date,
        subscriber: Subscriber,
    ) -> MessageCopy:
        """Return the identifiers of a subscriber's copy; the same arguments give the same ones."""
        address = subscriber.address
        fields = ("message", list_name, day.isoformat(), address)
        return MessageCopy(
            subscriber,
            message_id=self._message_id(list_name, day, *fields),
            token=unsubscribe_token(list_name, address, self.secret),
        )

    def envelope(
        self,
        composed: Composed,
        delivery: Delivery,
        *,
        test: bool = False,
    ) -> Envelope:
        """Return the frozen message, completed for the delivery's recipient. A test mail is marked
        in subject and body; all its other headers are the real ones.
        """
        list_name = delivery.list_name
        subscriber = delivery.copy.subscriber
        token = delivery.copy.token
        message = composed.message

        kicker = self.templates.brand
        address = subscriber.address
        if test:
            subject = _header("Subject", _words(f"[Test] {composed.subject}")).encode()
            message = _SUBJECT.sub(lambda _: subject, message, count=1)
            kicker = f"Test mail to {subscriber.address} alone, nothing was marked as sent"
            address = "(each reader's own)"

        ways_out = []  # none for alerts and confirmation mails
        if list_name and self.web_url:
            ways_out.append(f"{self.web_url}/leave/{token}")
        if list_name:
            ways_out.append(_leave_by_mail(message, list_name) + quote(token))

        head = own_headers(subscriber, delivery.copy.message_id, ways_out)
        copy = Copy(
            kicker=kicker,
            token=token,
            address=address,
            vote=vote_token(token),
        )
        message = complete(message, placeholders_of(self.secret, list_name), copy, head)
        if self.signer:
            message = self.signer.signed(message)
        return Envelope(
            sender=composed.sender,
            recipient=subscriber.address,
            message=message,
            list_name=list_name,
        )

    def _message_id(
        self,
        name: str,
        day: date,
        *fields: str,
    ) -> str:
        """Return an identifier that does not reveal the fields it is derived from."""
        return f"<{day:%Y%m%d}.{name}.{keyed(self.secret, *fields)[:24]}@{_domain(self.sender)}>"


def unsubscribe_request(text: str) -> tuple[str, str] | None:
    """Return list name (empty if not given) and token from the subject of an unsubscribe mail, a
    link or a bare token; None if there is no token.
    """
    request = _REQUEST.search(unquote(text).lower())
    return (request["name"] or "", request["token"]) if request else None


@lru_cache(maxsize=8)  # the thousands of copies of one digest are made one after the other
def _leave_by_mail(message: bytes, list_name: str) -> str:
    """Return the link to an unsubscribe mail, up to the token. Uses the frozen Reply-To or From,
    not the current settings.
    """
    head = BytesHeaderParser().parsebytes(message.partition(b"\r\n\r\n")[0])
    return unsubscribe_uri(parseaddr(head["Reply-To"] or head["From"])[1], list_name, "")


# Freezing, and completing what was frozen

# Occurs once: quoted-printable text cannot contain '="'.
_HTML_PART = b'\r\nContent-Type: text/html; charset="utf-8"\r\n'
_SUBJECT = re.compile(rb"(?<=\r\n)Subject:[^\r]*(?:\r\n [^\r]*)*")
_LATE_SPACE = re.compile(rb"=(?<=[^\n]{75})(?=(?:20|09)$)", re.MULTILINE)
_NEVER_FIRST = re.compile(rb"\n(?:\.*F(?=rom )|\.+)")  # four times as fast as "^"
_PLAIN = re.compile(r"[0-9A-Za-z@+_-][0-9A-Za-z@+_.-]{,69}")  # unchanged by quoted-printable
_REQUEST = re.compile(  # a subject, perhaps after "Re:", a link, or only the token
    r"(?:\bunsubscribe[\s+]+(?P<name>[a-z0-9-]+)[\s+]+|/leave/|^\s*(?=\S{32}\s*$))(?P<token>[0-9a-f]{32})(?![0-9a-f])"
)


@lru_cache
def placeholders_of(secret: bytes, list_name: str) -> Copy:
    """Return a list's placeholders, always the same. They are derived from the secret, so no
    abstract contains them.
    """
    # Only digits: a template may change the case of letters.
    numbers = [int(keyed(secret, "mark", list_name, name), 16) for name in Copy._fields]
    return Copy(*(f"{number % 10**32:032}" for number in numbers))


def freeze(headers: Iterable[str], rendered: Rendered, placeholders: Iterable[str] = ()) -> bytes:
    """Return the headers, then text and HTML as alternatives, in ASCII lines of at most 76 octets.
    No line begins with a dot or "From ", which SMTP and mbox files would change.
    """
    bodies = {
        "plain": _body(rendered.text, placeholders),
        "html": _body(rendered.html, placeholders),
    }
    digest = hashlib.sha256("".join(bodies.values()).encode()).hexdigest()
    boundary = f"=_{digest[:32]}"  # quoted-printable text cannot contain "=_"
    lines = [
        *headers,
        "MIME-Version: 1.0",
        f'Content-Type: multipart/alternative;\r\n boundary="{boundary}"',
        "",
    ]
    for subtype, body in bodies.items():
        lines += [f"--{boundary}", f'Content-Type: text/{subtype}; charset="utf-8"']
        lines += ["Content-Transfer-Encoding: quoted-printable", "", body.replace("\n", "\r\n")]
    return "\r\n".join([*lines, f"--{boundary}--\r\n"]).encode("ascii")


def _body(text: str, placeholders: Iterable[str]) -> str:
    """Return quoted-printable without NUL, each placeholder on a line of its own."""
    text = text.rstrip("\r\n") + "\n"
    for placeholder in placeholders:  # a regular expression would be compiled for each list
        text = text.replace(placeholder, f"\0{placeholder}\0")
    return b"=\n".join(map(_encoded, text.split("\0"))).decode("ascii")


def _encoded(piece: str) -> bytes:
    """Return quoted-printable with LF; the last line has room for the "=" of a soft line break."""
    if _PLAIN.fullmatch(piece):
        return piece.encode("ascii")
    octets = piece.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace")
    # The encoder would fill the last line completely: append "=", which takes three octets, and
    # remove it again.
    encoded = binascii.b2a_qp(octets + b"=", istext=True)[:-3].removesuffix(b"=\n")
    # It makes a line too long if its last space has to be escaped: break before that.
    encoded = _LATE_SPACE.sub(b"=\n=", encoded)
    encoded = _NEVER_FIRST.sub(
        lambda at: at[0].replace(b".", b"=2E=\n").replace(b"F", b"=46=\n"), b"\n" + encoded
    )
    return encoded[1:]


def complete(
    message: bytes,
    placeholders: Copy,
    copy: Copy,
    head: bytes = b"",
) -> bytes:
    """Return a copy: its own head, then the frozen message with the copy's values in place of the
    placeholders, escaped in HTML.
    """
    text, html = _pieces(message, placeholders)
    completed = [head]
    for pieces, values in ((text, copy), (html, map(escape, copy))):
        own = {
            placeholder.encode(): _encoded(value).replace(b"\n", b"\r\n")
            for placeholder, value in zip(placeholders, values, strict=True)
        }
        completed += [own.get(piece, piece) for piece in pieces]

    return b"".join(completed)


@lru_cache(maxsize=8)  # the thousands of copies of one digest are made one after the other
def _pieces(message: bytes, placeholders: Copy) -> tuple[list[bytes], list[bytes]]:
    """Split text and HTML into placeholders and the pieces between them."""
    for placeholder in map(str.encode, placeholders):
        message = message.replace(placeholder, b"\0" + placeholder + b"\0")
    text, separator, html = message.partition(_HTML_PART)
    return text.split(b"\0"), (separator + html).split(b"\0")


# Headers

_UTF8 = Charset("utf-8")
_WORD = 66  # octets; the longest word that fits on a line after "Subject: "
_ASCII = re.compile(r"[ -~]*")
_ATOMS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~ -]*")


def own_headers(to: Subscriber, message_id: str, ways_out: Sequence[str] = ()) -> bytes:
    """Return a recipient's own headers, in UTF-8 if the address needs it (RFC 6532). If the first
    of `ways_out` is a page, mail programs may call it with one click (RFC 8058).
    """
    headers = [
        _header("To", _mailbox(to.name, to)),
        f"Message-ID: {message_id}",
    ]
    if ways_out:  # on one line: mail programs do not unfold URIs
        uris = ", ".join(f"<{uri}>" for uri in ways_out)
        headers.append(f"List-Unsubscribe: {uris}")
    if len(ways_out) > 1:
        headers.append("List-Unsubscribe-Post: List-Unsubscribe=One-Click")
    return "".join(f"{header}\r\n" for header in headers).encode()


def _headers(
    name: str,
    sender: Subscriber,
    subject: str,
    at: datetime,
) -> list[str]:
    """Return the headers that every mail has; `name` is shown before the sender's address."""
    return [
        _header("From", _mailbox(name, sender)),
        _header("Subject", _words(subject)),
        f"Date: {format_datetime(at)}",
        "Auto-Submitted: auto-generated",
        "X-Auto-Response-Suppress: All",
    ]


def _domain(sender: Subscriber) -> str:
    return sender.address.rpartition("@")[2]


def _header(name: str, value: str) -> str:
    """Return a header, folded between words."""
    return re.sub(r"(?=.{76})(.{1,75}) ", "\\1\r\n ", f"{name}: {value}")


def _mailbox(name: str, subscriber: Subscriber) -> str:
    phrase = _words(one_line(name), _ATOMS)
    return f"{phrase} <{subscriber.address}>" if phrase else subscriber.address


def _words(line: str, plain: re.Pattern[str] = _ASCII) -> str:
    """Return a line of text as it is if every word is plain, else as encoded words (RFC 2047).

    These end at word ends if possible: some mail programs show a space between them, and in names
    all do.
    """
    is_short = all(len(word) <= _WORD for word in line.split())
    if is_short and plain.fullmatch(line) and "=?" not in line:
        return line

    chunks = [""]
    for word in re.findall(r"[^ ]+ ?", line):
        fits = len(_UTF8.header_encode(word)) <= _WORD
        for part in [word] if fits else word:
            if len(_UTF8.header_encode(chunks[-1] + part)) <= _WORD:
                chunks[-1] += part
            else:
                chunks.append(part)

    return " ".join(map(_UTF8.header_encode, chunks))
