"""What counts as a bounce, a complaint or a request to leave, in the shapes in which servers write them."""

from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.features.bounces.returned import Bounce, Complaint, Request, read

ID = "<20261120.foundations.6f79ccffeb5088a333dc0123@example.org>"
TOKEN = "0123456789abcdef" * 2


def report(
    *,
    action: str = "failed",
    status: str = "5.1.1",
    code: str = "smtp; 550 5.1.1 <ada@wren.edu>: no such user",
    returned: str = "message/rfc822",
    message_id: str = ID,
    kind: str = "delivery-status",
) -> bytes:
    """A delivery status notification with the three parts of RFC 3464."""
    return f"""\
From: MAILER-DAEMON@mx.wren.edu
To: papers@example.org
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type={kind}; boundary="b"

--b
Content-Type: text/plain

Your mail could not be delivered.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.wren.edu
X-Queue-ID: 4D1

Final-Recipient: rfc822; ada@wren.edu
Original-Recipient: rfc822;ada@wren.edu
Action: {action}
Status: {status}
Diagnostic-Code: {code}

--b
Content-Type: {returned}

From: Foundations <papers@example.org>
To: ada@wren.edu
Message-ID: {message_id}
Subject: 3 papers
List-Unsubscribe: <https://papers.example.org/leave/{TOKEN}>

--b--
""".replace("\n", "\r\n").encode()


def complaint(feedback: str = "abuse", message_id: str = ID) -> bytes:
    whole = report(kind="feedback-report", message_id=message_id).decode()
    before, _, rest = whole.partition("--b\r\nContent-Type: message/delivery-status")
    after = rest.partition("--b\r\n")[2]
    middle = f"Content-Type: message/feedback-report\r\n\r\nFeedback-Type: {feedback}\r\nVersion: 1\r\n\r\n"
    return f"{before}--b\r\n{middle}--b\r\n{after}".encode()


@pytest.mark.parametrize("returned", ["message/rfc822", "text/rfc822-headers", "message/global"])
def test_report_of_a_mail_that_failed_for_good_is_a_bounce(returned: str) -> None:
    said = read(report(returned=returned))
    assert said == Bounce(ID, TOKEN, "bounced: 5.1.1 <ada@wren.edu>: no such user", gone=True)


@pytest.mark.parametrize(
    ("status", "code", "gone"),
    [
        ("5.1.1", "smtp;550 5.1.1 The email account that you tried to reach does not exist", True),
        ("5.1.10", "smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound", True),
        ("5.2.1", "smtp; 550-5.2.1 The email account is inactive", True),
        ("5.0.0", "x-unix; user unknown", True),
        ("5.0.0", "smtp; 550 no such user", True),
        ("5.0.0", "smtp; 550 not today", False),
        ("5.2.1", "smtp; 550 5.2.1 gets mail at a rate that is too high", False),
        ("5.1.90", "smtp; 550 5.1.90 you have reached the daily limit of recipients", False),
        ("5.4.1", "smtp; 550 5.4.1 Recipient address rejected: Access denied.", True),
        ("5.2.2", "smtp; 552 5.2.2 mailbox full", False),
        ("5.7.1", "smtp; 554 5.7.1 rejected by policy", False),
        ("5.1.8", "smtp; 550 5.1.8 sender address rejected", False),
    ],
)
def test_only_some_codes_say_that_the_address_does_not_exist(
    status: str, code: str, *, gone: bool
) -> None:
    said = read(report(status=status, code=code))
    assert isinstance(said, Bounce)
    assert said.gone is gone


@pytest.mark.parametrize(
    ("status", "code", "reply", "gone"),
    [
        ("5.0.0", "smtp; 550-5.1.1 No such user\n 550 5.1.1 Sorry", "5.1.1 No such user 550 5.1.1 Sorry", True),
        ("5.0.0", "smtp; 550 Unknown", "5.0.0 Unknown", False),
        ("5.0.0", "", "5.0.0", False),
        ("5.1.1 (bad address)", "", "5.1.1", True),
        ("", "smtp; 550 5.1.1 no such user", "5.1.1 no such user", True),
        ("", "smtp; 550 never", "5.0.0 never", False),
        ("4.4.1", "X-Postfix; connect to mx[192.0.2.1]:25: Gone", "4.4.1 connect to mx[192.0.2.1]:25: Gone", False),
    ],
    ids=[
        "the server's code",
        "no code",
        "no diagnosis",
        "a comment",
        "no status",
        "neither status nor code",
        "given up after days of retries",
    ],
)  # fmt: skip
def test_reply_has_the_refusing_servers_code_if_the_report_has_none_of_its_own(
    status: str, code: str, reply: str, *, gone: bool
) -> None:
    """Exim reports every failure as 5.0.0."""
    assert read(report(status=status, code=code)) == Bounce(
        ID, TOKEN, f"bounced: {reply}", gone=gone
    )


EXIM = f"""\
From MAILER-DAEMON Mon Nov 23 03:17:56 2026
X-Failed-Recipients: ada@wren.edu
Auto-Submitted: auto-replied
References: {ID}
Content-Type: multipart/report; report-type=delivery-status; boundary=1795403876-eximdsn-1088847562

--1795403876-eximdsn-1088847562
Content-type: text/plain; charset=us-ascii

This could not be delivered.

--1795403876-eximdsn-1088847562
Content-type: message/delivery-status

Reporting-MTA: dns; mx.example.org

Action: failed
Final-Recipient: rfc822;ada@wren.edu
Status: 5.0.0
Remote-MTA: dns; mx.wren.edu
Diagnostic-Code: smtp; 550-5.1.1 No such user
 550 5.1.1 <ada@wren.edu> Try another

--1795403876-eximdsn-1088847562
Content-type: message/rfc822

Return-path: <papers@example.org>
Message-ID: {ID}

Hello.
--1795403876-eximdsn-1088847562--
"""
EXCHANGE = f"""\
From: <postmaster@wren.edu>
Content-Type: multipart/report; report-type=delivery-status;
\tboundary="8f1c"
Content-Language: en-US
In-Reply-To: {ID}
References: {ID}
Auto-Submitted: auto-replied

--8f1c
Content-Type: multipart/alternative; differences=Content-Type;
\tboundary="2a90"

--2a90
Content-Type: text/plain; charset="us-ascii"
Content-Transfer-Encoding: quoted-printable

ada was not found at wren.edu.
--2a90
Content-Type: text/html; charset="us-ascii"

<p>ada was not found at wren.edu.</p>
--2a90--

--8f1c
Content-Type: message/delivery-status

Reporting-MTA: dns;mail.wren.edu
Received-From-MTA: dns;mx.example.org

Final-Recipient: rfc822;ada@wren.edu
Action: failed
Status: 5.1.10
Diagnostic-Code: smtp;550 5.1.10 Recipient not found
X-Display-Name: ada@wren.edu

--8f1c
Content-Type: message/rfc822

Received: from mx.example.org by mail.wren.edu
Message-ID: {ID}
Content-Type: text/plain

Hello.
--8f1c--
"""
GMAIL = f"""\
Return-Path: <>
To: papers@example.org
Auto-Submitted: auto-replied
In-Reply-To: {ID}
References: {ID}
Content-Type: multipart/report; boundary="0000000a"; report-type=delivery-status

--0000000a
Content-Type: multipart/related; boundary="0000000b"

--0000000b
Content-Type: text/html; charset="UTF-8"

<p>The address was not found.</p>
--0000000b
Content-Type: image/png; name="icon.png"
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--0000000b--
--0000000a
Content-Type: message/delivery-status

Reporting-MTA: dns; googlemail.com
X-Original-Message-ID: {ID}

Final-Recipient: rfc822; ada@wren.edu
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550-5.1.1 No account of this name exists
Last-Attempt-Date: Mon, 23 Nov 2026 03:17:56 -0800 (PST)

--0000000a--
"""


@pytest.mark.parametrize(
    ("mail", "reply"),
    [
        (EXIM, "5.1.1 No such user 550 5.1.1 <ada@wren.edu> Try another"),
        (EXCHANGE, "5.1.10 Recipient not found"),
        (GMAIL, "5.1.1 No account of this name exists"),
    ],
    ids=["Exim", "Exchange", "Gmail"],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_reports_are_read_in_the_shapes_of_other_servers(mail: str, reply: str, end: str) -> None:
    assert read(mail.replace("\n", end).encode()) == Bounce(ID, "", f"bounced: {reply}", gone=True)


def test_report_without_our_mail_names_it_in_its_own_headers() -> None:
    """As Gmail's do."""
    bare = report(message_id="").replace(b"Message-ID: \r\n", b"")
    for header in (b"In-Reply-To: ", b"References: "):
        assert read(header + ID.encode() + b"\r\n" + bare) == read(report())


HEAD = f"""\
From: Foundations <papers@example.org>
To: ada@wren.edu
Message-ID: {ID}
List-Unsubscribe: <https://papers.example.org/leave/{TOKEN}>
Subject: 550 5.7.1 papers

"""
ROBOT = "Return-Path: <>\nFrom: MAILER-DAEMON@mx.wren.edu\nSubject: failure notice\n"
PLAIN = {
    "Exim": f"""\
Auto-Submitted: auto-replied
X-Failed-Recipients: ada@wren.edu
From: Mail Delivery System <Mailer-Daemon@mx.wren.edu>

  ada@wren.edu
    SMTP error after RCPT TO:<ada@wren.edu>:
    550 5.1.1 no such user

------ A copy of the headers ------

{HEAD}""",
    "qmail": f"""{ROBOT}
<ada@wren.edu>:
Sorry, nobody here has that name. (#5.1.1)

--- Below is a copy.

{HEAD}""",
    "quoted": f"{ROBOT}\n550 5.1.1 <ada@wren.edu>: no such user\n\n" + HEAD.replace("\n", "\n> "),
}


@pytest.mark.parametrize("mail", PLAIN.values(), ids=PLAIN)
def test_bounce_in_plain_text_is_read_up_to_our_own_mail(mail: str) -> None:
    said = read(mail.encode())
    assert isinstance(said, Bounce)
    assert (said.message_id, said.token, said.gone) == (ID, TOKEN, True)
    assert said.reply.startswith("bounced: 5.1.1")


@pytest.mark.parametrize(
    "body",
    [
        "I am away.\n-- \n550 Main Street",
        "I am away. Meet me at a conference with 500 people.",
        "Powered by Znuny 5.1.2",
        "See the staff handbook, section 5.1.3",
        f"> We followed 500 patients.\n> https://papers.example.org/leave/{TOKEN}",
    ],
)
@pytest.mark.parametrize("path", ["", "Return-Path: <>\n"])
def test_automatic_reply_of_a_person_or_helpdesk_is_no_bounce(path: str, body: str) -> None:
    head = f"From: help@wren.edu\n{path}Auto-Submitted: auto-replied\nIn-Reply-To: {ID}\n"
    assert read(f"{head}\n{body}\n".encode()) is None


def test_robot_that_quotes_our_mail_without_its_headers_has_no_code_from_it() -> None:
    quoted = f"> papers.example.org/leave/{TOKEN}\n> 550 5.1.1 patients"
    assert read(f"{ROBOT}\nIt was lost.\n{quoted}\n".encode()) is None


@pytest.mark.parametrize(
    "words",
    [
        "Your mail about 503 papers is held, 500 kB of them",
        'Yesterday 550 users saw "no such user" here',
        "It has not yet been delivered to ada@wren.edu\nafter 24 hours, among\n503 papers",
        "Delay reason: host mx.wren.edu said 451 4.3.0 later: 550 5.1.1 no such user",
        "This is a warning; you do not need to resend your mail.\n<<< 550 5.1.1 no such user",
    ],
)
def test_robot_that_tells_of_a_delay_or_of_numbers_reports_no_bounce(words: str) -> None:
    assert read(f"{ROBOT}\n{words}\n\n{HEAD}".encode()) is None


def test_codes_in_our_own_mail_are_none_of_the_other_sides() -> None:
    assert read(f"{ROBOT}\nYour mail was lost.\n\n{HEAD}".encode()) is None


def returned(kind: str, original: str) -> bytes:
    before, _, after = report().decode().partition("Content-Type: message/rfc822\r\n\r\n")
    return f"{before}{kind}\r\n\r\n{original}\r\n--b--\r\n".encode() if after else b""


@pytest.mark.parametrize(
    ("kind", "original"),
    [
        ('Content-Type: text/plain; name="original headers"', HEAD),
        ("Content-Type: application/octet-stream; name=original.eml", HEAD),
        (
            "Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64",
            b64encode(HEAD.encode()).decode(),
        ),
        (
            "Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64",
            b64encode(HEAD.encode()).decode(),
        ),
    ],
    ids=["text", "octets", "base64", "octets in base64"],
)
def test_our_mail_is_found_however_it_comes_back(kind: str, original: str) -> None:
    said = read(returned(kind, original))
    assert isinstance(said, Bounce)
    assert (said.message_id, said.token, said.gone) == (ID, TOKEN, True)


def test_report_that_somebody_forwards_is_read() -> None:
    forward = b"From: op@example.org\r\nContent-Type: multipart/mixed; boundary=fw\r\n\r\n"
    parts = b"--fw\r\n\r\nsee below\r\n--fw\r\nContent-Type: message/rfc822\r\n\r\n"
    assert read(forward + parts + report() + b"\r\n--fw--\r\n") == read(report())


def test_mail_with_another_message_id_is_known_by_its_token() -> None:
    """Amazon SES gives each mail an identifier of its own."""
    said = read(report(message_id="<0102-4f-000000@eu-west-1.amazonses.com>"))
    assert isinstance(said, Bounce)
    assert (said.message_id, said.token) == ("", TOKEN)


def test_report_about_an_address_beyond_ascii_is_read_too() -> None:
    """RFC 6533 has types of its own."""
    whole = report(returned="message/global-headers", code="smtp; 550 5.1.1 müller: no such user")
    said = read(whole.replace(b"message/delivery-status", b"message/global-delivery-status"))
    assert said == Bounce(ID, TOKEN, "bounced: 5.1.1 müller: no such user", gone=True)


def test_long_digest_that_comes_back_whole_is_read() -> None:
    """Papers are about boundaries, too."""
    whole = report().replace(
        b"\r\n\r\n--b--", b"\r\n\r\n" + b"A free boundary = the problem.\r\n" * 40 + b"--b--"
    )
    assert read(whole) == read(report())


@pytest.mark.parametrize(
    "mail",
    [
        report(action="delayed", status="4.4.1"),
        report(action="delivered", status="2.0.0"),
        report(action="failed", status="unknown", code="smtp; 250 ok"),
        report(message_id="<1@elsewhere>").replace(TOKEN.encode(), b""),
        report(action="delayed", status="4.4.1").replace(b"Your mail", b"550 5.1.1 Your mail"),
        complaint("not-spam"),
        complaint("auth-failure"),
        b"Subject: Out of office\r\n\r\nBack on Monday.",
        f"Subject: Re: unsubscribe foundations {TOKEN}\r\nAuto-Submitted: auto-replied\r\n\r\nI am away.".encode(),
        f"Subject: unsubscribe foundations {TOKEN}\r\nReturn-Path: <>\r\n\r\nYour mail was lost.".encode(),
        f"Subject: unsubscribe foundations {TOKEN}\r\nContent-Type: multipart/report; boundary=b\r\n\r\n--b--".encode(),
        b"Subject: unsubscribe me please\r\n\r\n",
        b"",
        b"\0" * 1000,
    ],
)
def test_mail_that_is_no_bounce_complaint_or_request_is_ignored(mail: bytes) -> None:
    assert read(mail) is None


@pytest.mark.parametrize(
    "subject",
    [
        f"unsubscribe foundations {TOKEN}",
        f"Re: unsubscribe foundations {TOKEN.upper()}",
        f"=?utf-8?q?unsubscribe_foundations_{TOKEN}?=",
        f"unsubscribe foundations\r\n {TOKEN}",
        f"unsubscribe+foundations+{TOKEN}",
    ],
)
def test_unsubscribe_mail_names_its_token_in_the_subject(subject: str) -> None:
    for sender, written in (("ada", "no"), ("ada", "auto-generated"), ("postmaster", "no")):
        mail = f"From: {sender}@wren.edu\r\nSubject: {subject}\r\nAuto-Submitted: {written}\r\n\r\n"
        assert read(mail.encode()) == Request(TOKEN)


def test_unsubscribe_mail_of_apple_mail_counts_though_it_calls_itself_a_reply() -> None:
    head = "From: ada@icloud.com\r\nAuto-Submitted: auto-replied\r\nX-Apple-Unsubscribe: true\r\n"
    assert read(f"{head}Subject: unsubscribe foundations {TOKEN}\r\n\r\n".encode()) == Request(
        TOKEN
    )


@pytest.mark.parametrize("feedback", ["abuse", "fraud", "opt-out"])
def test_complaint_names_the_mail_by_its_id_and_by_the_token_of_its_way_out(feedback: str) -> None:
    assert read(complaint(feedback)) == Complaint(ID, TOKEN)
    assert read(complaint(feedback, message_id="redacted")) == Complaint("redacted", TOKEN)


@given(st.binary(max_size=600), st.integers(0, 1500), st.integers(0, 1500))
def test_any_mail_can_be_read(noise: bytes, start: int, end: int) -> None:
    for mail in (report(), complaint(), report(returned="text/rfc822-headers")):
        read(mail[:start] + noise + mail[end:])


@pytest.mark.parametrize(
    "word", [b"=?utf-8?b?A?=", b"=?rot13?q?A?=", b"=?a\0b?q?A?=", b"=?idna?q?\xff?=", b"\xff\xfe"]
)
def test_header_that_cannot_be_decoded_is_read_as_it_is(word: bytes) -> None:
    assert read(
        b"Subject: " + word + f" unsubscribe foundations {TOKEN}\r\n\r\n".encode()
    ) == Request(TOKEN)


def test_words_in_the_charsets_of_mail_programs_are_decoded() -> None:
    request = f"回复: unsubscribe foundations {TOKEN}"
    for charset in ("utf-8", "gb2312", "gbk", "gb18030", "big5", "shift_jis"):
        word = b64encode(request.replace("回复", "回").encode(charset)).decode()
        assert read(f"Subject: =?{charset}?b?{word}?=\r\n\r\n".encode()) == Request(TOKEN)
