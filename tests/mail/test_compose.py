"""From a digest to an envelope."""

from __future__ import annotations

import email
import email.policy
from dataclasses import replace
from datetime import UTC, date, datetime
from email.message import EmailMessage
from pathlib import Path

import pytest

from paperboy.mail.compose import Composer
from paperboy.mail.copies import Copy, marks
from paperboy.mail.mime import freeze, unsubscribe_token
from paperboy.mail.render import Renderer
from paperboy.models import Alert, Composed, Delivery, DeliveryState, Envelope, Subscriber
from tests.builders import digest, mailing_list

ADA = Subscriber("ada@example.org")
ALERT = Alert("The LLM refuses the key", ("Nothing was scored, so <no> list got a mail.",), ("401 & so on",))
NOW = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)
RENDERER = Renderer([Path(__file__).parents[2] / "emails"])


def composer(sender: str = "Paperboy <papers@example.org>", reply_to: str = "") -> Composer:
    return Composer(RENDERER, sender=sender, reply_to=reply_to, secret=b"secret")


def delivery(by: Composer, subscriber: Subscriber) -> Delivery:
    addressed = by.addressed("foundations", date(2026, 11, 20), subscriber)
    return Delivery(1, 1, "foundations", addressed, DeliveryState.SENDING)


def parsed(envelope: Envelope) -> EmailMessage:
    message = email.message_from_bytes(envelope.message, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def bodies(envelope: Envelope) -> tuple[str, str]:
    plain, html = parsed(envelope).iter_parts()
    return plain.get_content().replace("\r\n", "\n"), html.get_content().replace("\r\n", "\n")


def test_an_envelope_holds_the_shared_bytes_and_what_is_its_own() -> None:
    by = composer(reply_to="Office <office@example.org>")
    composed = by.digest(digest(), NOW)
    grace = Subscriber("grace@example.org", "Grace Hopper")
    envelope = by.envelope(composed, delivery(by, grace))
    message = parsed(envelope)
    assert composed.subject == message["Subject"]
    assert message["Subject"].startswith("Foundations of machine learning, 20 Nov: 3 papers")
    assert (composed.sender, envelope.sender) == ("papers@example.org", "papers@example.org")
    assert (envelope.recipient, message["To"]) == ("grace@example.org", "Grace Hopper <grace@example.org>")
    assert message["Reply-To"] == "Office <office@example.org>"
    token = unsubscribe_token("foundations", "grace@example.org", b"secret")
    uri = f"mailto:office@example.org?subject=unsubscribe%20foundations%20{token}"
    assert message["List-Unsubscribe"] == f"<{uri}>"
    text, html = bodies(envelope)
    assert "\nYour address grace@example.org is on this list.\n" in text
    assert "Your address grace@example.org is on this list." in html
    assert f" unsubscribe foundations {token}\n" in text
    assert f'"{uri}"' in html
    assert "\nPaperboy · Friday" in text
    for shared_only in (*marks(b"secret", "foundations").values, "Test"):
        assert shared_only not in text + html
    for own in (b"grace@", token.encode()):
        assert own not in composed.message


@pytest.mark.parametrize("sender", ["Ada of Paperboy <papers@example.org>", "papers@example.org"])
@pytest.mark.parametrize("reply_to", ["", "Bücher und noch viel mehr damit die Zeile bricht <office@bücher.example>"])
def test_a_retry_is_the_same_message_whatever_is_set_meanwhile(sender: str, reply_to: str) -> None:
    before = composer(sender=sender, reply_to=reply_to)
    composed, own = before.digest(digest(), NOW), delivery(before, Subscriber("grace@example.org"))
    after = composer(sender="other@example.net", reply_to="others@example.net")
    assert before.envelope(composed, own) == after.envelope(composed, own)
    assert "example.net" not in after.envelope(composed, own).message.decode()


@pytest.mark.parametrize("address", ["ada@example.org", "o'brien&co@example.org", f"{'a' * 64}@example.org"])
def test_a_copy_is_what_rendering_it_alone_would_have_given(address: str) -> None:
    by, given = composer(), digest()
    own = delivery(by, Subscriber(address))
    reason = f"Your address {address} is on this list."
    copy = Copy("Paperboy", reason, own.addressed.token)
    text, html = bodies(by.envelope(by.digest(given, NOW), own))
    assert html == RENDERER.digest(given, copy=copy, unsubscribe_address="papers@example.org").html.rstrip("\n") + "\n"
    alone = RENDERER.digest(given, copy=copy.as_text(), unsubscribe_address="papers@example.org").text
    assert text == alone.rstrip("\n") + "\n"


def test_a_reason_too_long_for_a_line_is_wrapped() -> None:
    by = composer()
    address = f"{'a' * 40}@example.org"
    text, html = bodies(by.envelope(by.digest(digest(), NOW), delivery(by, Subscriber(address))))
    assert f"\nYour address {address} is on this\nlist.\n" in text
    assert f"Your address {address} is on this list." in html


def test_a_digest_that_an_older_version_composed_is_sent_as_it_is() -> None:
    by = composer()
    rendered = RENDERER.digest(
        digest(), copy=Copy("Paperboy", "You are on it.", ""), unsubscribe_address="a@example.org"
    )
    older = freeze(rendered, sender="papers@example.org", reply_to="", mailing_list=mailing_list(), date=NOW)
    composed = Composed(rendered.subject, "papers@example.org", older)
    assert by.envelope(composed, delivery(by, ADA)).message.endswith(b"\r\n" + older)
    assert parsed(by.test(composed, delivery(by, ADA)))["Subject"] == f"[Test] {rendered.subject}"


def test_a_test_mail_says_so_and_has_the_headers_of_a_real_one() -> None:
    by = composer()
    composed = by.digest(digest(mailing_list=mailing_list(title="Grundlagen für Anfänger: " + "Überblick " * 10)), NOW)
    real, trial = (made(composed, delivery(by, ADA)) for made in (by.envelope, by.test))
    folded = [line for line in trial.message.split(b"\r\n") if not line.startswith(b"List-Unsubscribe: ")]
    assert max(map(len, folded)) <= 76
    assert parsed(trial)["Subject"] == f"[Test] {parsed(real)['Subject']}"
    assert {name for name in parsed(real).keys() if parsed(real)[name] != parsed(trial)[name]} == {"Subject"}  # noqa: SIM118
    reason = "This is a test, sent to ada@example.org alone; nothing was marked as sent."
    for body in bodies(trial):
        assert "Test mail" in body
        assert reason in body
        assert delivery(by, ADA).addressed.token in body
        assert "Your address" not in body


@pytest.mark.parametrize("headline", ["The LLM refuses the key", "Größe: " + "x" * 90 + " =?utf-8?q?x?="])
def test_an_alert_is_a_mail_to_one_from_no_list(headline: str) -> None:
    office = Subscriber("office@example.org", "The Office")
    envelope = composer(reply_to="replies@example.org").alert(replace(ALERT, headline=headline), office, NOW)
    message = parsed(envelope)
    assert (envelope.sender, envelope.recipient) == ("papers@example.org", "office@example.org")
    assert envelope.list_name == "_alert", "which is no list's name, and files of the outbox can have it"
    assert message["Subject"] == f"Paperboy: {headline}"
    assert message["To"] == "The Office <office@example.org>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert not [name for name in message if name.startswith("List-") or name in {"Precedence", "Reply-To"}]
    for body in bodies(envelope):
        assert "Nothing was scored" in body
    again = composer().alert(replace(ALERT, headline=headline), office, NOW)
    assert parsed(again)["Message-ID"] == message["Message-ID"]


def test_a_subscriber_is_addressed_the_same_whenever_it_is_asked() -> None:
    first, second = (composer().addressed("foundations", date(2026, 11, 20), ADA) for _ in range(2))
    assert first == second
    assert first.message_id.endswith("@example.org>")
    assert first.token != first.message_id[1:25]


def test_the_note_is_a_mail_of_its_own() -> None:
    by = composer()
    composed = by.note(digest([], below=7), NOW)
    assert composed.subject.endswith("no relevant papers today")
    text, html = bodies(by.envelope(composed, delivery(by, ADA)))
    assert "Your address ada@example.org is on this list." in text
    assert "Your address ada@example.org is on this list." in html


def test_without_a_sender_mail_for_the_outbox_has_one_all_the_same() -> None:
    composed = composer(sender="").digest(digest(), NOW)
    assert composed.sender == "paperboy@localhost"
    assert b"From: Paperboy <paperboy@localhost>\r\n" in composed.message


@pytest.mark.parametrize("wrong", ["Paperboy", "papers@", "a@b\r\nBcc: c@d"])
def test_a_sender_that_is_no_address_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="not an address"):
        composer(sender=wrong)


def test_a_reader_sees_the_address_that_is_theirs() -> None:
    by = composer()
    bucher = Subscriber("ada@xn--bcher-kva.example")
    for make in (by.envelope, by.test):
        message = parsed(make(by.digest(digest(), NOW), delivery(by, bucher)))
        assert message["To"] == "ada@xn--bcher-kva.example"
        assert "ada@bücher.example" in message.get_body(("plain",)).get_content()
