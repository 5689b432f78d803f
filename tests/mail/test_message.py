"""The bytes of a mail, held against the standards, from the frozen message to one recipient's copy."""

from __future__ import annotations

import email
import email.policy
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from html import unescape
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import escape

from paperboy.edges.text import one_line
from paperboy.edges.tokens import unsubscribe_token
from paperboy.mail.message import (
    Composer,
    complete,
    freeze,
    own_headers,
    placeholders_of,
)
from paperboy.mail.page import Copy, page_of, unsubscribe_uri
from paperboy.mail.text import clipped
from paperboy.models import (
    Alert,
    Composed,
    Delivery,
    DeliveryState,
    Envelope,
    MailingList,
    MessageCopy,
    Rendered,
    Subscriber,
)
from tests.builders import digest, mailing_list
from tests.mail.mails import compose
from tests.mail.reading import TEMPLATES, online

ADA = Subscriber("ada@example.org")
BOB = Subscriber("bob@example.org")
ALERT = Alert(
    "The LLM refuses the key", ("Nothing was scored, so <no> list got a mail.",), ("401 & so on",)
)
NOW = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)
TODAY = date(2026, 11, 20)
MARKS = placeholders_of(b"secret", "foundations")
KICKER, TOKEN, ADDRESS, VOTE = MARKS
COPY = Copy("Paperboy", "0123456789abcdef" * 2, "ada@example.org")
ONCE = ("Date", "From", "To", "Subject", "Message-ID", "MIME-Version", "Content-Type")
HOSTILE = [
    "a\r\nBcc: eve@example.org",
    "a\nX: y",
    "a\rX: y",
    "a\0b",
    "a\u2028X: y",
    "a\x0bX: y",
    "\u202egnp.exe",
]

# Texts as strangers write them, and such as mean something in a header.
WORDS = (
    "Gödel", "a", "Ü" * 40, "x" * 80, "=?utf-8?q?x?=", '"', "\\", "<x@y>", ",", "\r\n", ".", "(c)", "机器学习", "\u0301"
)  # fmt: skip
PHRASES = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(WORDS)).map(" ".join))

# Texts of which every few characters mean something to an encoder, or to a mail folder.
AWKWARD = ("From ", "from", ".", "=", " ", "\t", "\n", "\r", "\r\n", "é", "😀", "x" * 30, "20")
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(AWKWARD)).map("".join))
SHARED = st.lists(st.one_of(TEXTS, st.sampled_from(MARKS))).map("".join)


SENDER = Subscriber("papers@example.org", "Paperboy")


def composer(
    sender: Subscriber = SENDER, reply_to: Subscriber | None = None, secret: bytes = b"secret"
) -> Composer:
    return Composer(TEMPLATES, sender, reply_to, secret)


def delivery(by: Composer, subscriber: Subscriber = ADA, day: date = TODAY) -> Delivery:
    own = by.copy_for("foundations", day, subscriber)
    return Delivery("foundations", own, DeliveryState.SENDING)


def alone(by: Composer, composed: Composed, copy: MessageCopy) -> Envelope:
    """A mail for one recipient."""
    return by.envelope(composed, Delivery("", copy, DeliveryState.SENDING))


def to_ada(of: MailingList) -> bytes:
    by = composer()
    return by.envelope(compose(digest(mailing_list=of), by, NOW), delivery(by)).message


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


def phrase(raw: str) -> str:
    """The name in a raw `phrase <...>`."""
    return decoded(raw.rpartition("<")[0].strip())


def solid(text: str) -> str:
    """Without spaces: Python's newer reader adds one between encoded words in a name, where RFC 2047 has none."""
    return text.replace(" ", "")


def lines(text: str) -> str:
    """The text with the line ends, and without the lone surrogates, that any mail would give back."""
    return text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")


def body(text: str) -> str:
    """A part as readers get it: NUL, which no mail may have, is left out."""
    return lines(text).rstrip("\n").replace("\0", "") + "\n"


def bodies(message: bytes) -> tuple[str, str]:
    plain, rich = parsed(message).iter_parts()
    text = plain.get_payload(decode=True)
    html = rich.get_payload(decode=True)
    assert isinstance(text, bytes)
    assert isinstance(html, bytes)
    return text.decode().replace("\r\n", "\n"), html.decode().replace("\r\n", "\n")


def assert_legal(message: bytes) -> None:
    """What the standards ask of any mail, whatever is in it."""
    assert message.isascii()
    assert message.endswith(b"\r\n")
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n|\0", message)
    assert not re.search(rb"(?m)^From ", message), "mail folders would change such a line"
    assert not re.search(rb"(?m)^\.", message), "SMTP would take a dot away"
    head, _, rest = message.partition(b"\r\n\r\n")
    folded = [line for line in head.split(b"\r\n") if not line.startswith((b"List-", b" <mailto:"))]
    for line in (*folded, *rest.split(b"\r\n")):
        assert len(line) <= 76
        assert not re.search(rb"[ \t]$", line)
    assert max(map(len, re.findall(rb"=\?.*?\?[qb]\?.*?\?=", head)), default=0) <= 75
    raw = headers(message)
    assert set(ONCE) <= raw.keys()
    for name, value in raw.items():
        bracketed = "".join(re.findall(r"<[^<>]*>$", value))
        plain = value if name in {"Message-ID", "List-Unsubscribe", "Date"} else bracketed
        assert "=?" not in plain


# --- one recipient's copy


def test_copy_has_the_shared_bytes_and_the_recipients_own_values() -> None:
    by = composer(reply_to=Subscriber("office@example.org", "Office"))
    composed = compose(digest(mailing_list=mailing_list(title="Foundations")), by, NOW)
    envelope = by.envelope(composed, delivery(by, Subscriber("grace@example.org", "Grace Hopper")))
    assert_legal(envelope.message)
    message = parsed(envelope.message)
    assert composed.subject == message["Subject"]
    assert message["Subject"] == "On the Learning of Paper 2611.00001"
    assert (composed.sender, envelope.sender) == ("papers@example.org", "papers@example.org")
    assert (envelope.recipient, message["To"]) == (
        "grace@example.org",
        "Grace Hopper <grace@example.org>",
    )
    assert message["From"] == "Foundations <papers@example.org>"
    assert message["Reply-To"] == "Office <office@example.org>"
    assert message["List-Id"] == "Foundations <foundations.lists.example.org>"
    assert (message["Auto-Submitted"], message["Precedence"]) == ("auto-generated", "bulk")
    assert message["List-Help"] == "<mailto:office@example.org?subject=help>"
    assert message["List-Owner"] == "<mailto:office@example.org>"
    assert message["List-Post"] == "NO"
    assert re.fullmatch(r"20261120:foundations:digest:[0-9a-f]{15}", message["Feedback-ID"])
    assert message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    token = unsubscribe_token("foundations", "grace@example.org", b"secret")
    uri = f"mailto:office@example.org?subject=unsubscribe%20foundations%20{token}"
    assert message["List-Unsubscribe"] == f"<{uri}>"
    text, html = bodies(envelope.message)
    assert "\nSent to grace@example.org.\n" in text
    assert "Sent to grace@example.org. " in html
    assert f" unsubscribe foundations {token}\n" in text
    assert f'"{uri}"' in html
    assert "\nPaperboy · Friday" in text
    for shared_only in (*MARKS, "Test"):
        assert shared_only not in text + html
    for own in (b"grace@", token.encode()):
        assert own not in composed.message


def test_date_header_is_in_the_lists_timezone() -> None:
    message = parsed(to_ada(mailing_list(timezone=ZoneInfo("Europe/Berlin"))))
    assert message["Date"].endswith(" 07:30:00 +0100")
    assert parsedate_to_datetime(message["Date"]) == NOW


@pytest.mark.parametrize("name", ["Ada of Paperboy", ""])
@pytest.mark.parametrize(
    "reply_to",
    [None, Subscriber("office@example.com", "Bücher und noch viel mehr damit die Zeile bricht")],
)
def test_retry_sends_the_same_bytes_after_settings_have_changed(
    name: str, reply_to: Subscriber | None
) -> None:
    before = composer(sender=Subscriber("papers@example.org", name), reply_to=reply_to)
    composed = compose(digest(), before, NOW)
    own = delivery(before)
    after = composer(
        sender=Subscriber("other@example.net"), reply_to=Subscriber("others@example.net")
    )
    assert before.envelope(composed, own) == after.envelope(composed, own)
    assert "example.net" not in after.envelope(composed, own).message.decode()


@pytest.mark.parametrize(
    "address", ["ada@example.org", "o'brien&co@example.org", f"{'a' * 64}@example.org"]
)
def test_completed_copy_equals_a_copy_rendered_alone(address: str) -> None:
    by = composer()
    given = digest()
    own = delivery(by, Subscriber(address))
    copy = Copy("Paperboy", own.copy.token, address)
    alone = TEMPLATES.to_readers(
        page_of(given, copy=copy, unsubscribe_address="papers@example.org")
    )
    assert bodies(by.envelope(compose(given, by, NOW), own).message) == (
        body(alone.text),
        body(alone.html),
    )


def test_brand_of_the_operator_stands_in_every_mail_and_page() -> None:
    """One with the characters of HTML, and longer than a line of quoted-printable."""
    brand = "Papers & <Preprints> für das Institut"
    templates = replace(TEMPLATES, brand=brand)
    by = replace(composer(), templates=templates)
    ours = mailing_list()
    composed = compose(digest(mailing_list=ours), by, NOW)
    text, html = bodies(by.envelope(composed, delivery(by)).message)
    assert f"\n{brand} · Friday" in text
    asked = templates.confirmation(ours, "https://papers.example.org/confirm/0").html
    alert = templates.alert(Alert("It failed", ()))
    assert alert.subject == f"{brand}: It failed"
    page = templates.web("leave", state="on", title="1", address="2", url="3", list_url="")
    for shown in (html, asked, alert.html, page, online(digest(), templates)):
        assert escape(brand) in shown
        assert "Paperboy" not in shown


def test_repr_of_a_composer_hides_its_secret() -> None:
    assert "hidden" not in repr(composer(secret=b"hidden"))


def test_message_without_placeholders_is_left_unchanged() -> None:
    for message in (b"Subject: x\r\n\r\nSomething else.\r\n", b""):
        assert complete(message, MARKS, COPY) == message


def test_test_mail_is_marked_and_has_the_headers_of_a_real_one() -> None:
    by = composer()
    composed = compose(
        digest(mailing_list=mailing_list(title="Grundlagen für Anfänger: " + "Überblick " * 10)),
        by,
        NOW,
    )
    real, trial = (
        by.envelope(composed, delivery(by), test=is_test).message for is_test in (False, True)
    )
    assert_legal(trial)
    assert headers(trial).keys() == headers(real).keys()
    assert parsed(trial)["Subject"] == f"[Test] {parsed(real)['Subject']}"
    assert {name for name in headers(real) if parsed(real)[name] != parsed(trial)[name]} == {
        "Subject"
    }
    for part in bodies(trial):
        assert "Test mail to ada@example.org alone, nothing was marked as sent · Friday" in part
        assert "Sent to (each reader's own)." in unescape(part)
        assert delivery(by).copy.token in part


# --- alerts


@pytest.mark.parametrize(
    "headline", ["The LLM refuses the key", "Größe: " + "x" * 90 + " =?utf-8?q?x?="]
)
def test_alert_has_no_list_headers_and_a_message_id_of_its_own(headline: str) -> None:
    def sent(now: datetime = NOW, headline: str = headline, secret: bytes = b"secret") -> Envelope:
        by = composer(reply_to=Subscriber("replies@example.org"), secret=secret)
        office = Subscriber("office@example.org", "The Office")
        return alone(by, *by.alert(replace(ALERT, headline=headline), office, now))

    envelope = sent()
    assert_legal(envelope.message)
    message = parsed(envelope.message)
    assert (envelope.sender, envelope.recipient) == ("papers@example.org", "office@example.org")
    assert not envelope.list_name
    assert message["Subject"] == f"Paperboy: {headline}"
    assert message["To"] == "The Office <office@example.org>"
    assert message["Date"] == "Fri, 20 Nov 2026 06:30:00 +0000"
    assert message["Auto-Submitted"] == "auto-generated"
    assert not [
        name for name in message if name.startswith("List-") or name in {"Precedence", "Reply-To"}
    ]
    assert all("Nothing was scored" in part for part in bodies(envelope.message))
    assert re.fullmatch(r"<20261120\.alert\.[0-9a-f]{24}@example\.org>", message["Message-ID"])
    assert sent(NOW.astimezone(ZoneInfo("Asia/Tokyo"))) == envelope
    others = [sent(NOW.replace(minute=31)), sent(headline="Fixed"), sent(secret=b"other")]
    assert message["Message-ID"] not in {parsed(other.message)["Message-ID"] for other in others}


# --- headers


@given(PHRASES, PHRASES, PHRASES)
@example("Ü" * 300, "x" * 300, 'O\'Brien, "Bob" <x@y>')
@example("x" * 66 + " " + "x" * 67, "back\\slash", "a" * 200)
@example("Gödel " * 30, "=?utf-8?q?x?=", "Gödel; Kurt")
@example("=?utf-8?q?x?= =?utf-8?b?eA==?=", "a ö b =? c é d", "eve@example.org,")
@example(*HOSTILE[:3])
@example(*HOSTILE[3:6])
@example(*HOSTILE[-3:])
def test_any_title_and_name_parse_back_and_add_no_header(
    title: str, name: str, sender: str
) -> None:
    by = composer(sender=Subscriber("papers@example.org", sender))
    composed = compose(digest(mailing_list=mailing_list(title=title)), by, NOW)
    message = by.envelope(composed, delivery(by, Subscriber("ada@example.org", name))).message
    assert_legal(message)
    back = parsed(message)
    raw = headers(message)
    assert {"bcc", "x"}.isdisjoint(name.lower() for name in back)
    assert back["Subject"] == decoded(raw["Subject"]).strip() == composed.subject
    assert raw["List-Id"].endswith("<foundations.lists.example.org>")
    assert phrase(raw["List-Id"]) == one_line(title)
    to_operator = parsed(alone(by, *by.alert(ALERT, ADA, NOW)).message)
    for mail, header, address, shown in (
        (back, "To", ADA.address, name),
        (back, "From", "papers@example.org", clipped(one_line(title), 60)),
        (to_operator, "From", "papers@example.org", sender),
    ):
        (mailbox,) = mail[header].addresses
        assert not mail[header].defects
        assert mailbox.addr_spec == address
        assert solid(mailbox.display_name) == solid(one_line(shown))
    assert phrase(raw["To"]) == one_line(name)


def test_list_unsubscribe_is_neither_encoded_nor_folded() -> None:
    """`email.policy` makes encoded words of it, which no client takes for a URI."""
    mail = unsubscribe_uri("papers@example.org", "foundations", "0123456789abcdef" * 15)
    assert (
        mail
        == f"mailto:papers@example.org?subject=unsubscribe%20foundations%20{'0123456789abcdef' * 15}"
    )
    assert own_headers(ADA, "<1@x>", [mail]).endswith(
        f"\r\nList-Unsubscribe: <{mail}>\r\n".encode()
    )


def test_message_id_and_token_differ_per_delivery_and_hide_the_address() -> None:
    def copy_for(
        name: str = "foundations",
        day: date = TODAY,
        to: Subscriber = ADA,
        secret: bytes = b"secret",
    ) -> MessageCopy:
        return composer(secret=secret).copy_for(name, day, to)

    first = copy_for()
    tomorrow = copy_for(day=date(2026, 11, 21))
    others = (copy_for("foundation"), copy_for(to=BOB), copy_for(secret=b"other"))
    assert first == copy_for()
    assert first.message_id == "<20261120.foundations.6f79ccffeb5088a333dcd7c3@example.org>"
    assert len({copy.message_id for copy in (first, tomorrow, *others)}) == 5
    assert re.fullmatch(r"[0-9a-f]{32}", first.token)
    assert first.token == unsubscribe_token("foundations", "ada@example.org", b"secret")
    assert first.token == tomorrow.token
    assert first.token not in {copy.token for copy in others}


# --- bodies and placeholders


HEADERS = ("From: papers@example.org", "Subject: Papers", "Date: Fri, 20 Nov 2026 06:30:00 +0000")
OWN = own_headers(ADA, "<1@example.org>")


@given(SHARED, SHARED, TEXTS, TEXTS, TEXTS)
@example("", "\n\n", "", "", "")
@example(
    "\r\n".join([".", "..", "From here", "space ", "é" * 400, "=2E", "--=_x"]),
    "<p>" + "x" * 5000,
    "",
    "",
    "",
)
@example(
    "x" * 73 + " \n" + "x" * 74 + " \n" + "x" * 75 + " \n" + "x" * 76 + "\t",
    f"{'x' * 75}{KICKER}",
    ".",
    "",
    "a@b",
)
@example(f"{'x' * 76}{KICKER}{'x' * 76}\n", KICKER + TOKEN + ADDRESS, "x" * 75, "\n", ".")
@example(f"{KICKER}\n{ADDRESS} \n {TOKEN}", "." + KICKER + ".", "é" * 500, "From ", "..\n.")
@example("From " + KICKER + "From \nFrom From ", "." * 80 + KICKER, "From here ", "\n.", ".")
@example(".From 0", "..From ", "", "", "")
@example(f"a\0{KICKER}\0\0b", f"\0{TOKEN}{ADDRESS}\0", "Paperboy", "0a" * 16, "a@b")
@example(
    "From " + "x" * 71 + "\n" + "x" * 74 + " From here",
    f"token={TOKEN} 20{TOKEN}01",
    "A & B",
    "0a" * 16,
    "",
)
def test_any_text_and_values_give_a_legal_mail_that_decodes_to_them(
    text: str, html: str, kicker: str, token: str, address: str
) -> None:
    """Each placeholder, in any number of places, gives way to the value as if that had always been there."""
    copy = Copy(kicker, token, address)
    frozen = freeze(HEADERS, Rendered("Papers", html, text), MARKS)
    for mark in MARKS:
        assert len(re.findall(rf"(?m)^{mark}=?\r$".encode(), frozen)) == (text + html).count(mark)
    message = OWN + complete(frozen, MARKS, copy)
    assert_legal(message)
    expected = [body(text), body(html)]
    for place, values in enumerate((copy, map(escape, copy))):
        for mark, value in zip(MARKS, values, strict=True):
            expected[place] = expected[place].replace(mark, lines(str(value)))
    assert bodies(message) == tuple(expected)


def test_placeholders_differ_per_list_and_are_digits() -> None:
    """What a template does with capital and small letters leaves it alone."""
    assert all(re.fullmatch(r"[0-9]{32}", mark) for mark in MARKS)
    others = placeholders_of(b"secret", "galaxies") + placeholders_of(b"other", "foundations")
    assert len({*MARKS, *others}) == 12


def test_text_that_looks_like_mime_stays_in_its_body() -> None:
    trap = '\r\nSubject: x\r\nContent-Type: text/html; charset="utf-8"\r\n\r\n--=_x\r\n'
    message = OWN + complete(
        freeze(HEADERS, Rendered("", trap + TOKEN, trap + ADDRESS), MARKS), MARKS, COPY
    )
    assert bodies(message) == (body(trap + COPY.address), body(trap + COPY.token))
