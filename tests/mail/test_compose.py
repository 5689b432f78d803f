"""From a digest to an envelope."""

from __future__ import annotations

import email
import email.policy
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from paperboy.mail.compose import Composer
from paperboy.mail.mime import unsubscribe_token
from paperboy.mail.render import Renderer
from paperboy.models import Delivery, DeliveryState, Subscriber
from tests.builders import digest

NOW = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)
RENDERER = Renderer([Path(__file__).parents[2] / "emails"])


def composer(sender: str = "Paperboy <papers@example.org>", reply_to: str = "") -> Composer:
    return Composer(RENDERER, sender=sender, reply_to=reply_to, secret=b"secret")


def delivery(by: Composer, subscriber: Subscriber) -> Delivery:
    addressed = by.addressed("foundations", date(2026, 11, 20), subscriber)
    return Delivery(1, 1, "foundations", addressed, DeliveryState.SENDING)


def test_an_envelope_holds_the_shared_bytes_and_its_own_headers() -> None:
    by = composer(reply_to="Office <office@example.org>")
    composed = by.digest(digest(), NOW)
    grace = Subscriber("grace@example.org", "Grace Hopper")
    envelope = by.envelope(composed, delivery(by, grace))
    message = email.message_from_bytes(envelope.message, policy=email.policy.default)
    assert composed.subject == message["Subject"] == "Foundations of machine learning, 20 Nov: 3 papers"
    assert (composed.sender, envelope.sender) == ("papers@example.org", "papers@example.org")
    assert (envelope.recipient, message["To"]) == ("grace@example.org", "Grace Hopper <grace@example.org>")
    assert envelope.message.endswith(composed.message)
    token = unsubscribe_token("foundations", "grace@example.org", b"secret")
    assert message["List-Unsubscribe"] == f"<mailto:office@example.org?subject=unsubscribe%20foundations%20{token}>"
    assert "office@example.org" in message.get_body(("plain",)).get_content()
    assert b"grace@" not in composed.message


def test_a_subscriber_is_addressed_the_same_whenever_it_is_asked() -> None:
    ada = Subscriber("ada@example.org")
    first, second = (composer().addressed("foundations", date(2026, 11, 20), ada) for _ in range(2))
    assert first == second
    assert first.message_id.endswith("@example.org>")
    assert first.token != first.message_id[1:25]


def test_the_note_is_a_mail_of_its_own() -> None:
    composed = composer().note(digest([], below=7), NOW)
    assert composed.subject.endswith("no relevant papers today")
    assert b"7 stayed below" in composed.message.replace(b"=\r\n", b"")


def test_without_a_sender_mail_for_the_outbox_has_one_all_the_same() -> None:
    composed = composer(sender="").digest(digest(), NOW)
    assert composed.sender == "paperboy@localhost"
    assert b"From: Paperboy <paperboy@localhost>\r\n" in composed.message


@pytest.mark.parametrize("wrong", ["Paperboy", "papers@", "a@b\r\nBcc: c@d"])
def test_a_sender_that_is_no_address_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="not an address"):
        composer(sender=wrong)
