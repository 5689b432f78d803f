"""From a digest to the frozen message that its subscribers share, and from that to each one's own copy."""

from __future__ import annotations

import contextlib
from datetime import date, datetime
from functools import lru_cache

import idna

from paperboy.mail.copies import Copy, marks, unsubscribe_uri
from paperboy.mail.mime import (
    addr_spec,
    address,
    alert_id,
    domain_of,
    fill,
    freeze,
    freeze_alert,
    message_id,
    replies_to,
    unsubscribe_token,
    with_subject,
)
from paperboy.mail.render import Renderer
from paperboy.mail.text import one_line
from paperboy.models import Addressed, Alert, Composed, Delivery, Digest, Envelope, Rendered, Subscriber

LOCAL_SENDER = "Paperboy <paperboy@localhost>"  # where mail goes to the outbox and nobody named a sender
_ALERT = "_alert"  # what an alert's files are called in the outbox; no list can be called that


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
        rendered = self._renderer.digest(
            digest, copy=self._marks(digest.mailing_list.name), unsubscribe_address=self._unsubscribe_address
        )
        return self._composed(rendered, digest, now)

    def note(self, digest: Digest, now: datetime) -> Composed:
        """The note of a morning on which none passed, dated `now`. Errors as for `Renderer.note`."""
        rendered = self._renderer.note(
            digest, copy=self._marks(digest.mailing_list.name), unsubscribe_address=self._unsubscribe_address
        )
        return self._composed(rendered, digest, now)

    def _composed(self, rendered: Rendered, digest: Digest, now: datetime) -> Composed:
        message = freeze(
            rendered,
            sender=self._sender,
            reply_to=self._reply_to,
            mailing_list=digest.mailing_list,
            date=now,
            marks=self._marks(digest.mailing_list.name).values,
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
        """A delivery's message: the shared bytes with what is the subscriber's own."""
        reason = f"Your address {_shown(delivery)} is on this list."
        return self._envelope(composed, delivery, "Paperboy", reason)

    def test(self, composed: Composed, delivery: Delivery) -> Envelope:
        """The same message as a test mail, which says so in subject and body. Its headers are the real ones, the wish
        to stop included, so that a test tests them.
        """
        reason = f"This is a test, sent to {_shown(delivery)} alone; nothing was marked as sent."
        subject = f"[Test] {composed.subject}"
        marked = Composed(subject, composed.sender, with_subject(composed.message, subject))
        return self._envelope(marked, delivery, "Test mail", reason)

    def _envelope(self, composed: Composed, delivery: Delivery, kicker: str, reason: str) -> Envelope:
        own, list_name = delivery.addressed, delivery.list_name
        message = address(
            fill(composed.message, marks=self._marks(list_name), copy=Copy(kicker, reason, own.token)),
            to=own.subscriber,
            message_id=own.message_id,
            list_unsubscribe=[unsubscribe_uri(replies_to(composed.message), list_name, own.token)],
        )
        return Envelope(composed.sender, own.subscriber.address, message, list_name)

    def alert(self, alert: Alert, to: Subscriber, now: datetime) -> Envelope:
        """A mail to the operator, dated `now`. Errors as for `Renderer.alert`."""
        message = address(
            freeze_alert(self._renderer.alert(alert), sender=self._sender, date=now),
            to=to,
            message_id=alert_id(alert.headline, now, self._secret, domain_of(self._sender)),
        )
        return Envelope(self._envelope_sender, to.address, message, _ALERT)

    def _marks(self, list_name: str) -> Copy:
        return marks(self._secret, list_name)


def _shown(delivery: Delivery) -> str:
    """The address as its owner writes it: ada@bücher.example, not ada@xn--bcher-kva.example."""
    local, _, domain = delivery.addressed.subscriber.address.rpartition("@")
    return one_line(f"{local}@{_domain_shown(domain)}")


@lru_cache(maxsize=1_024)  # subscribers share few domains
def _domain_shown(domain: str) -> str:
    with contextlib.suppress(idna.IDNAError):
        return idna.decode(domain)
    return domain
