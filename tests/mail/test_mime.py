"""The bytes of a mail, held against the standards."""

from __future__ import annotations

import email
import email.policy
import re
from datetime import UTC, date, datetime
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.mail.mime import (
    addr_spec,
    address,
    domain_of,
    freeze,
    message_id,
    unsubscribe_header,
    unsubscribe_token,
)
from paperboy.mail.text import one_line
from paperboy.models import Rendered, Subscriber
from tests.builders import mailing_list

NOW = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)
ADA = Subscriber("ada@example.org")
ID = "<20261120.foundations.abc@example.org>"
HOSTILE = ["a\r\nBcc: eve@example.org", "a\nX: y", "a\rX: y", "a\0b", "a\u2028X: y", "a\x0bX: y", "\u202egnp.exe"]


def frozen(
    subject: str = "Papers",
    text: str = "Hello.\n",
    html: str = "<p>Hello.</p>",
    sender: str = "Paperboy <papers@example.org>",
    reply_to: str = "",
    title: str = "Foundations",
) -> bytes:
    return freeze(
        Rendered(subject, html, text),
        sender=sender,
        reply_to=reply_to,
        mailing_list=mailing_list(title=title, timezone=ZoneInfo("Europe/Berlin")),
        date=NOW,
    )


def own(message: bytes, to: Subscriber = ADA, list_unsubscribe: str | None = None) -> bytes:
    return address(message, to=to, message_id=ID, list_unsubscribe=list_unsubscribe)


def parsed(message: bytes) -> EmailMessage:
    result = email.message_from_bytes(message, policy=email.policy.default)
    assert isinstance(result, EmailMessage)
    assert [part.defects for part in result.walk()] == [[], [], []]
    return result


def solid(text: str) -> str:
    """Without spaces: Python's reader adds one between encoded words in a name, where RFC 2047 has none."""
    return text.replace(" ", "")


def assert_lines_are_legal(message: bytes) -> None:
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n|\0", message)
    assert message.endswith(b"\r\n")
    assert message.isascii()
    assert max(map(len, message.split(b"\r\n"))) <= 78


def test_a_message_has_each_header_once_and_text_before_html() -> None:
    message = parsed(own(frozen(reply_to="office@example.org"), Subscriber("grace@example.org", "Grace Hopper")))
    assert message["From"] == "Paperboy <papers@example.org>"
    assert message["Reply-To"] == "office@example.org"
    assert message["To"] == "Grace Hopper <grace@example.org>"
    assert message["Message-ID"] == ID
    assert message["List-Id"] == "Foundations <foundations.lists.example.org>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Precedence"] == "bulk"
    assert message["MIME-Version"] == "1.0"
    assert len(message.keys()) == len({name.lower() for name in message.keys()})  # noqa: SIM118  # each occurrence
    assert message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    assert [part["Content-Transfer-Encoding"] for part in message.iter_parts()] == ["quoted-printable"] * 2


def test_the_date_is_in_the_lists_zone() -> None:
    message = parsed(own(frozen()))
    assert message["Date"].endswith(" 07:30:00 +0100")
    assert parsedate_to_datetime(message["Date"]) == NOW


def test_bodies_survive_with_dots_long_lines_and_every_line_end() -> None:
    text = "\r\n".join([".", "..", "From here", "trailing space ", "é" * 400, "=2E", "--=_x", "last"])
    html = "<p>" + "x" * 5000 + "</p>\r<p>ö</p>\n"
    message = own(frozen(text=text, html=html))
    assert_lines_are_legal(message)
    plain, rich = parsed(message).iter_parts()
    assert plain.get_content() == text + "\r\n"
    assert rich.get_content() == html.replace("\r", "\n").replace("\n", "\r\n")


@given(st.text(), st.text())
def test_any_bodies_survive(text: str, html: str) -> None:
    message = own(frozen(text=text, html=html))
    assert_lines_are_legal(message)
    plain, rich = parsed(message).iter_parts()
    for part, given_text in ((plain, text), (rich, html)):
        lines = given_text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        assert content.decode().replace("\r\n", "\n") == lines + "\n"


@given(st.text(max_size=300))
def test_any_subject_and_title_parse_back_to_what_went_in(words: str) -> None:
    message = own(frozen(subject=words, title=words))
    assert_lines_are_legal(message)
    back = parsed(message)
    assert " ".join(back["Subject"].split()) == one_line(words)
    assert back["List-Id"].endswith("<foundations.lists.example.org>")


@given(st.text(max_size=120))
def test_any_subscribers_name_parses_back(name: str) -> None:
    back = parsed(own(frozen(), Subscriber("ada@example.org", name)))
    (mailbox,) = back["To"].addresses
    assert mailbox.addr_spec == "ada@example.org"
    assert solid(mailbox.display_name) == solid(one_line(name))


@pytest.mark.parametrize("name", ['O\'Brien, "Bob" <x@y>', "back\\slash", "a" * 200, "=?utf-8?q?x?=", "Gödel; Kurt"])
def test_awkward_names_parse_back(name: str) -> None:
    back = parsed(own(frozen(), Subscriber("ada@example.org", name)))
    assert [(solid(box.display_name), box.addr_spec) for box in back["To"].addresses] == [
        (solid(name), "ada@example.org")
    ]


@pytest.mark.parametrize("evil", HOSTILE)
def test_nothing_can_add_a_header_or_turn_the_text(evil: str) -> None:
    message = own(frozen(subject=evil, title=evil), Subscriber("ada@example.org", evil))
    assert_lines_are_legal(message)
    back = parsed(message)
    assert {"bcc", "x"}.isdisjoint(name.lower() for name in back)
    assert "\u202e" not in back["Subject"] + back["To"] + back["List-Id"]


@pytest.mark.parametrize("evil", [f"ada@example.org{text}" for text in HOSTILE] + ["ada", "a b@example.org", "<>", ""])
def test_what_is_no_address_is_refused_before_it_is_in_a_header(evil: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        own(frozen(), Subscriber(evil))


def test_domains_are_idna_wherever_they_stand() -> None:
    message = own(frozen(sender="Bücher <papers@bücher.example.org>"), Subscriber("ada@straße.example.org"))
    assert_lines_are_legal(message)
    back = parsed(message)
    assert back["From"].addresses[0].addr_spec == "papers@xn--bcher-kva.example.org"
    assert back["From"].addresses[0].display_name == "Bücher"
    assert back["To"] == "ada@xn--strae-oqa.example.org"
    assert "<foundations.lists.xn--bcher-kva.example.org>" in back["List-Id"]
    assert domain_of("x@Bücher.example.org") == "xn--bcher-kva.example.org"
    assert addr_spec("Ada <ada@example.org>") == "ada@example.org"


def test_a_long_list_unsubscribe_is_never_encoded() -> None:
    token = "0123456789abcdef" * 8
    value = unsubscribe_header("papers@example.org", "foundations", token)
    assert value == f"<mailto:papers@example.org?subject=unsubscribe%20foundations%20{token}>"
    message = own(frozen(), list_unsubscribe=value)
    assert f"List-Unsubscribe: {value}\r\n".encode() in message
    two = f"<https://example.org/u/{token}>, {value}"
    assert parsed(own(frozen(), list_unsubscribe=two))["List-Unsubscribe"] == two


@pytest.mark.parametrize("value", ["mailto:a@example.org", "<mailto:a@example.org>\r\nBcc: x", "<a b>", ""])
def test_a_list_unsubscribe_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="List-Unsubscribe"):
        own(frozen(), list_unsubscribe=value)


def test_a_message_id_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="Message-ID"):
        address(frozen(), to=ADA, message_id="<a@b>\r\nBcc: x", list_unsubscribe=None)


def test_addressing_only_puts_headers_in_front() -> None:
    message = frozen()
    assert own(message).endswith(b"\r\n" + message)


def test_a_message_id_is_stable_differs_per_delivery_and_hides_the_address() -> None:
    day, secret = date(2026, 11, 20), b"secret"
    first = message_id("foundations", day, "ada@example.org", secret, "example.org")
    assert re.fullmatch(r"<20261120\.foundations\.[0-9a-f]{24}@example\.org>", first)
    assert first == message_id("foundations", day, "ada@example.org", secret, "example.org")
    others = {
        message_id("foundation", day, "ada@example.org", secret, "example.org"),
        message_id("foundations", day.replace(day=21), "ada@example.org", secret, "example.org"),
        message_id("foundations", day, "bob@example.org", secret, "example.org"),
        message_id("foundations", day, "ada@example.org", b"other", "example.org"),
    }
    assert len(others | {first}) == 5
    assert "ada" not in first


def test_a_token_names_list_and_subscriber_under_the_secret() -> None:
    token = unsubscribe_token("foundations", "ada@example.org", b"secret")
    assert re.fullmatch(r"[0-9a-f]{32}", token)
    assert token == unsubscribe_token("foundations", "ada@example.org", b"secret")
    assert token != unsubscribe_token("foundations", "bob@example.org", b"secret")
    assert token != unsubscribe_token("other", "ada@example.org", b"secret")
    assert token != unsubscribe_token("foundations", "ada@example.org", b"guess")


def test_the_same_digest_gives_the_same_bytes() -> None:
    assert frozen() == frozen()
    assert frozen() != frozen(text="Other.")
