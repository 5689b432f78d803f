"""The bytes of a mail, held against the standards."""

from __future__ import annotations

import email
import email.policy
import re
from collections import Counter
from datetime import UTC, date, datetime
from email.header import decode_header, make_header
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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
    unsubscribe_token,
    with_subject,
)
from paperboy.mail.text import one_line
from paperboy.models import Rendered, Subscriber
from tests.builders import mailing_list

NOW = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)
ADA = Subscriber("ada@example.org")
ID = "<20261120.foundations.abc@example.org>"
MARKS = marks(b"secret", "foundations")
COPY = Copy("Paperboy", "Your address ada@example.org is on this list.", "0123456789abcdef" * 2)
ONCE = ("Date", "From", "To", "Subject", "Message-ID", "MIME-Version", "Content-Type")
HOSTILE = ["a\r\nBcc: eve@example.org", "a\nX: y", "a\rX: y", "a\0b", "a\u2028X: y", "a\x0bX: y", "\u202egnp.exe"]

# Texts as strangers write them, and such as mean something in a header.
WORDS = (
    "Gödel",
    "a",
    "Ü" * 40,
    "x" * 80,
    "=?utf-8?q?x?=",
    '"',
    "\\",
    "<x@y>",
    ",",
    "\r\n",
    ".",
    "(c)",
    "机器学习",
    "\u0301",
)
PHRASES = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(WORDS)).map(" ".join))


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


def own(message: bytes, to: Subscriber = ADA, list_unsubscribe: tuple[str, ...] = ()) -> bytes:
    return address(message, to=to, message_id=ID, list_unsubscribe=list_unsubscribe)


def phrase(raw: str) -> str:
    """The name in a raw `phrase <...>`, whichever of its forms it has."""
    words = raw.rpartition("<")[0].strip()
    return re.sub(r"\\(.)", r"\1", words[1:-1]) if words.startswith('"') else decoded(words)


def parsed(message: bytes) -> EmailMessage:
    result = email.message_from_bytes(message, policy=email.policy.default)
    assert isinstance(result, EmailMessage)
    assert [part.defects for part in result.walk()] == [[], [], []]
    return result


def headers(message: bytes) -> dict[str, str]:
    """The raw headers, unfolded, by name. Fails where one is there twice, or is no header."""
    lines = message.partition(b"\r\n\r\n")[0].decode().replace("\r\n ", " ").split("\r\n")
    found = [re.fullmatch(r"([!-9;-~]+): (.*)", line, re.DOTALL) for line in lines]
    assert all(found)
    names = Counter(match[1] for match in found if match)
    assert set(names.values()) == {1}
    return {match[1]: match[2] for match in found if match}


def decoded(raw: str) -> str:
    """As the older of Python's two readers decodes a header."""
    return str(make_header(decode_header(raw)))


def solid(text: str) -> str:
    """Without spaces: Python's newer reader adds one between encoded words in a name, where RFC 2047 has none."""
    return text.replace(" ", "")


def body(text: str) -> str:
    """A body with the line ends, and without the lone surrogates, that any mail would give back."""
    lines = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    return lines.rstrip("\n") + "\n"


def assert_legal(message: bytes) -> None:
    """What the standards ask of any mail, whatever is in it."""
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n|\0", message)
    assert message.endswith(b"\r\n")
    assert message.isascii()
    head, _, body = message.partition(b"\r\n\r\n")
    assert max(map(len, body.split(b"\r\n"))) <= 76
    lines = [line for line in head.split(b"\r\n") if not line.startswith((b"List-Unsubscribe: ", b" <mailto:"))]
    assert max(map(len, lines)) <= 76
    assert not any(line.isspace() or line == b"" for line in lines)
    assert not re.search(rb"(?m)^From |^\.\r$", message)
    assert max(map(len, re.findall(rb"=\?.*?\?[qb]\?.*?\?=", head)), default=0) <= 75
    raw = headers(message)
    assert set(ONCE) <= raw.keys()
    for name, value in raw.items():
        bracketed = "".join(re.findall(r"<[^<>]*>$", value))
        plain = value if name in {"Message-ID", "List-Unsubscribe", "Date"} else bracketed
        assert "=?" not in plain


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
    assert_legal(message)
    plain, rich = parsed(message).iter_parts()
    assert plain.get_content() == text + "\r\n"
    assert rich.get_content() == html.replace("\r", "\n").replace("\n", "\r\n")


@given(PHRASES)
@example("Ü" * 300)
@example("x" * 300)
@example("x" * 66 + " " + "x" * 67)
@example("Gödel " * 30)
@example("=?utf-8?q?x?= =?utf-8?b?eA==?=")
@example("a ö b =? c é d")
def test_any_subject_and_title_parse_back_to_what_went_in(words: str) -> None:
    message = own(frozen(subject=words, title=words))
    assert_legal(message)
    back, raw = parsed(message), headers(message)
    assert back["Subject"] == decoded(raw["Subject"]).strip() == one_line(words)
    assert raw["List-Id"].endswith("<foundations.lists.example.org>")
    assert phrase(raw["List-Id"]) == one_line(words)


@given(PHRASES)
@example('O\'Brien, "Bob" <x@y>')
@example("back\\slash")
@example("a" * 200)
@example("=?utf-8?q?x?=")
@example("Gödel; Kurt")
@example("eve@example.org,")
def test_any_subscribers_name_parses_back(name: str) -> None:
    message = own(frozen(), Subscriber("ada@example.org", name))
    assert_legal(message)
    header = parsed(message)["To"]
    (mailbox,) = header.addresses
    assert not header.defects
    assert mailbox.addr_spec == "ada@example.org"
    assert solid(mailbox.display_name) == solid(one_line(name))
    assert phrase(headers(message)["To"]) == one_line(name)


def test_a_long_header_breaks_between_words_and_stays_readable() -> None:
    subject = "Foundations, 20 Nov: 3 papers · Über eine bisher unbekannte Eigenschaft of very wide neural networks"
    assert (
        b"Subject: Foundations, 20 Nov: 3 papers =?utf-8?q?=C2=B7_=C3=9Cber?= eine\r\n"
        b" bisher unbekannte Eigenschaft of very wide neural networks\r\n"
    ) in frozen(subject=subject)
    name = "Paperboy für alle, die morgens beim Frühstück neue Arbeiten lesen"
    assert (
        b"From: =?utf-8?q?Paperboy_f=C3=BCr_alle=2C_die_morgens_beim_?=\r\n"
        b" =?utf-8?q?Fr=C3=BChst=C3=BCck_neue_Arbeiten_lesen?= <papers@example.org>\r\n"
    ) in frozen(sender=f'"{name}" <papers@example.org>')
    assert b"Subject: =?utf-8?b?5py65Zmo5a2m5Lmg?=\r\n" in frozen(subject="机器学习")


@pytest.mark.parametrize("evil", HOSTILE)
def test_nothing_can_add_a_header_or_turn_the_text(evil: str) -> None:
    message = own(frozen(subject=evil, title=evil), Subscriber("ada@example.org", evil))
    assert_legal(message)
    back = parsed(message)
    assert {"bcc", "x"}.isdisjoint(name.lower() for name in back)
    assert "\u202e" not in back["Subject"] + back["To"] + back["List-Id"]


@pytest.mark.parametrize("evil", [f"ada@example.org{text}" for text in HOSTILE] + ["ada", "a b@example.org", "<>", ""])
def test_what_is_no_address_is_refused_before_it_is_in_a_header(evil: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        own(frozen(), Subscriber(evil))


def test_domains_are_idna_wherever_they_stand() -> None:
    message = own(frozen(sender="Bücher <papers@bücher.example.org>"), Subscriber("ada@straße.example.org"))
    assert_legal(message)
    back = parsed(message)
    assert back["From"].addresses[0].addr_spec == "papers@xn--bcher-kva.example.org"
    assert back["From"].addresses[0].display_name == "Bücher"
    assert back["To"] == "ada@xn--strae-oqa.example.org"
    assert "<foundations.lists.xn--bcher-kva.example.org>" in back["List-Id"]
    assert domain_of("x@Bücher.example.org") == "xn--bcher-kva.example.org"
    assert addr_spec("Ada <ada@example.org>") == "ada@example.org"


def test_a_long_list_unsubscribe_is_never_encoded() -> None:
    """`email.policy` makes encoded words of it, which no client takes for a URI."""
    mail = unsubscribe_uri("papers@example.org", "foundations", "0123456789abcdef" * 15)
    assert mail == f"mailto:papers@example.org?subject=unsubscribe%20foundations%20{'0123456789abcdef' * 15}"
    assert len(mail) > 300
    message = own(frozen(), list_unsubscribe=(mail,))
    assert_legal(message)
    assert f"\r\nList-Unsubscribe: <{mail}>\r\n".encode() in message


def test_a_web_address_can_stand_beside_the_mail_to_leave_a_list() -> None:
    web, mail = f"https://example.org/u/{'0' * 300}", unsubscribe_uri("papers@example.org", "foundations", "0" * 32)
    message = own(frozen(), list_unsubscribe=(web, mail))
    assert_legal(message)
    assert f"\r\nList-Unsubscribe: <{web}>,\r\n <{mail}>\r\n".encode() in message
    assert parsed(message)["List-Unsubscribe"] == f"<{web}>, <{mail}>"


@pytest.mark.parametrize(
    "uri", ["<mailto:a@example.org>", "mailto:a@example.org\r\nBcc: x", "a b", "mailto:é@b", "x", ""]
)
def test_what_is_no_uri_is_refused_before_it_is_in_a_header(uri: str) -> None:
    with pytest.raises(ValueError, match="List-Unsubscribe"):
        own(frozen(), list_unsubscribe=(uri,))


def test_a_message_id_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="Message-ID"):
        address(frozen(), to=ADA, message_id="<a@b>\r\nBcc: x")


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


def bodies(message: bytes) -> tuple[str, str]:
    plain, rich = parsed(message).iter_parts()
    text, html = plain.get_payload(decode=True), rich.get_payload(decode=True)
    assert isinstance(text, bytes)
    assert isinstance(html, bytes)
    return text.decode().replace("\r\n", "\n"), html.decode().replace("\r\n", "\n")


@given(PHRASES, PHRASES, PHRASES, PHRASES, st.text(), st.text(), PHRASES, PHRASES)
def test_whatever_is_in_it_a_mail_is_legal_and_says_what_went_in(
    subject: str, title: str, name: str, sender: str, text: str, html: str, kicker: str, reason: str
) -> None:
    copy = Copy(kicker, reason, COPY.token)
    shared = freeze(
        Rendered(subject, f"<p>{MARKS.kicker}{html}{MARKS.reason}</p>", f"{MARKS.kicker} {text}\n{MARKS.reason}."),
        sender=str(Address(one_line(sender), addr_spec="papers@example.org")),
        reply_to="",
        mailing_list=mailing_list(title=title),
        date=NOW,
        marks=MARKS.values,
    )
    message = own(fill(shared, marks=MARKS, copy=copy), Subscriber("ada@example.org", name))
    assert_legal(message)
    back = parsed(message)
    assert back["Subject"] == one_line(subject)
    assert back["From"].addresses[0].addr_spec == "papers@example.org"
    assert solid(back["From"].addresses[0].display_name) == solid(one_line(sender))
    as_text, as_html = copy.as_text(), copy.as_html()
    assert bodies(message) == (
        body(f"{as_text.kicker} {text}\n{as_text.reason}."),
        body(f"<p>{as_html.kicker}{html}{as_html.reason}</p>"),
    )


def test_a_message_without_marks_stays_as_it_is() -> None:
    """An older version froze it."""
    for message in (frozen(), b"Subject: x\r\n\r\nSomething else.\r\n", b""):
        assert fill(message, marks=MARKS, copy=COPY) == message


def test_neither_subject_nor_body_is_taken_for_a_boundary() -> None:
    trap = '\r\nContent-Type: multipart/alternative;\r\n boundary="x"\r\n--x\r\n'
    message = frozen(subject=trap, title=trap, text=f"{trap}{MARKS.token}", html=f"{trap}{MARKS.token}")
    text, html = bodies(own(fill(message, marks=MARKS, copy=COPY)))
    assert text == html == body(f"{trap}{COPY.token}")


@given(PHRASES, PHRASES)
@example("x" * 60, "[Test] " + "x" * 60)
@example("Subject: x\r\n y", "Ü" * 100)
@example("", "x")
def test_another_subject_changes_nothing_else(first: str, second: str) -> None:
    assert with_subject(frozen(subject=first), second) == frozen(subject=second)


def test_a_subject_in_a_body_is_none() -> None:
    message = frozen(text="\r\nSubject: one\r\n\r\nSubject: two\r\n")
    assert parsed(own(with_subject(message, "Other"))).get_content_type() == "multipart/alternative"
    assert with_subject(message, "Other").count(b"Subject: Other") == 1
    assert with_subject(message, "Other").endswith(message.partition(b"\r\n\r\n")[2])


def test_an_alert_comes_from_no_list() -> None:
    frozen_alert = freeze_alert(
        Rendered("Paperboy: The LLM refuses the key", "<p>Look.</p>", "Look."),
        sender="Paperboy <papers@example.org>",
        date=NOW.astimezone(ZoneInfo("Europe/Berlin")),
    )
    message = own(frozen_alert, Subscriber("office@example.org", "The Office"))
    assert_legal(message)
    assert headers(message) == {
        "To": "The Office <office@example.org>",
        "Message-ID": ID,
        "From": "Paperboy <papers@example.org>",
        "Subject": "Paperboy: The LLM refuses the key",
        "Date": "Fri, 20 Nov 2026 06:30:00 +0000",
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
        "MIME-Version": "1.0",
        "Content-Type": parsed(message)["Content-Type"],
    }
    assert bodies(message) == ("Look.\n", "<p>Look.</p>\n")


def test_an_alerts_identifier_is_that_of_its_headline_at_one_instant() -> None:
    first = alert_id("Broken", NOW, b"secret", "example.org")
    assert re.fullmatch(r"<20261120\.alert\.[0-9a-f]{24}@example\.org>", first)
    assert first == alert_id("Broken", NOW.astimezone(ZoneInfo("Asia/Tokyo")), b"secret", "example.org")
    others = {
        alert_id("Mended", NOW, b"secret", "example.org"),
        alert_id("Broken", NOW.replace(minute=31), b"secret", "example.org"),
        alert_id("Broken", NOW, b"other", "example.org"),
        message_id("alert", NOW.date(), "Broken", b"secret", "example.org"),
    }
    assert len(others | {first}) == 5


def test_an_international_address_keeps_its_local_part() -> None:
    """The one thing that may go beyond ASCII; the mail server must know SMTPUTF8 then."""
    message = own(frozen(), Subscriber("grüße@straße.example.org", "Grüße"))
    assert b"To: =?utf-8?q?Gr=C3=BC=C3=9Fe?= <gr\xc3\xbc\xc3\x9fe@xn--strae-oqa.example.org>\r\n" in message


def test_an_address_that_is_longer_than_a_line_stays_whole() -> None:
    long = f"{'a' * 64}@{'b' * 60}.example.org"
    message = own(frozen(), Subscriber(long, "Ada"))
    assert f"To: Ada\r\n <{long}>\r\n".encode() in message
    assert parsed(message)["To"].addresses[0].addr_spec == long
