"""From a digest to the frozen message that its subscribers share, and from that to each one's own copy."""

from __future__ import annotations

from datetime import date, datetime

from paperboy.mail.mime import (
    addr_spec,
    address,
    domain_of,
    freeze,
    message_id,
    unsubscribe_header,
    unsubscribe_token,
)
from paperboy.mail.render import Renderer
from paperboy.models import Addressed, Composed, Delivery, Digest, Envelope, Rendered, Subscriber

LOCAL_SENDER = "Paperboy <paperboy@localhost>"  # where mail goes to the outbox and nobody named a sender


class Composer:
    """Composes mails from `sender`, which may be empty for the outbox; replies, and wishes to stop, go to `reply_to`,
    or to the sender where that is empty. `secret` is the key of Message-IDs and tokens. ValueError if `sender` or
    `reply_to` is no address.
    """

    def __init__(self, renderer: Renderer, *, sender: str, reply_to: str, secret: bytes) -> None:
        self._renderer = renderer
        self._sender = sender or LOCAL_SENDER
        self._reply_to = reply_to
        self._secret = secret
        self._envelope_sender = addr_spec(self._sender)
        self._unsubscribe_address = addr_spec(reply_to or self._sender)

    def digest(self, digest: Digest, now: datetime) -> Composed:
        """The digest's mail, dated `now`. Errors as for `Renderer.digest`."""
        rendered = self._renderer.digest(digest, unsubscribe_address=self._unsubscribe_address)
        return self._composed(rendered, digest, now)

    def note(self, digest: Digest, now: datetime) -> Composed:
        """The note of a morning on which none passed, dated `now`. Errors as for `Renderer.note`."""
        rendered = self._renderer.note(digest, unsubscribe_address=self._unsubscribe_address)
        return self._composed(rendered, digest, now)

    def _composed(self, rendered: Rendered, digest: Digest, now: datetime) -> Composed:
        message = freeze(
            rendered, sender=self._sender, reply_to=self._reply_to, mailing_list=digest.mailing_list, date=now
        )
        return Composed(rendered.subject, self._envelope_sender, message)

    def addressed(self, list_name: str, day: date, subscriber: Subscriber) -> Addressed:
        """What makes one subscriber's copy theirs; the same whenever it is asked for."""
        return Addressed(
            subscriber,
            message_id(list_name, day, subscriber.address, self._secret, domain_of(self._sender)),
            unsubscribe_token(list_name, subscriber.address, self._secret),
        )

    def envelope(self, composed: Composed, delivery: Delivery) -> Envelope:
        """A delivery's message with its own headers before the shared bytes."""
        own = delivery.addressed
        message = address(
            composed.message,
            to=own.subscriber,
            message_id=own.message_id,
            list_unsubscribe=unsubscribe_header(self._unsubscribe_address, delivery.list_name, own.token),
        )
        return Envelope(composed.sender, own.subscriber.address, message, delivery.list_name)
