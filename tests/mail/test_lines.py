"""What a mail server gets to read, line by line."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from paperboy.mail.copies import Copy, marks
from paperboy.mail.lines import Copied, on_the_line
from paperboy.mail.mime import address, fill, freeze
from paperboy.models import Rendered, Subscriber
from tests.builders import mailing_list

MARKS = marks(b"secret", "foundations")
OCTETS = st.lists(st.sampled_from([b".", b"..", b"\r\n", b"\n", b"\r", b"a", b"\r\n."])).map(b"".join)
TEXTS = st.lists(st.sampled_from([".", "..", "\n.", "\n", "\r\n", "\r", "a", " ", "x" * 40, "é"])).map("".join)
SHARED = st.lists(st.one_of(TEXTS, st.sampled_from(MARKS.values))).map("".join)


@given(OCTETS)
@example(b"")
@example(b".")
@example(b"\r\n.\r\n.\r\n")
def test_a_message_on_the_line_ends_once_and_is_what_it_was(message: bytes) -> None:
    lines = on_the_line(message)
    assert lines.endswith(b"\r\n.\r\n")
    body = lines[: -len(b".\r\n")]
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n", body)
    assert b"\r\n.\r\n" not in b"\r\n" + body
    whole = re.sub(rb"\r\n|\r|\n", b"\r\n", message)
    undotted = re.sub(rb"(?m)^\.", b"", body)
    assert undotted == (whole if whole.endswith(b"\r\n") else whole + b"\r\n")


@given(SHARED, SHARED, TEXTS, TEXTS, TEXTS)
@example(f"{MARKS.reason}.", f".{MARKS.token}\n.", ".", ".", ".")
@example(f"{MARKS.reason}\n.", f"a\n{MARKS.token}", "", "..\n.", "\n.")
def test_a_copy_carries_along_what_one_would_find_by_looking(
    text: str, html: str, kicker: str, reason: str, token: str
) -> None:
    frozen = freeze(
        Rendered("papers", html, text),
        sender="papers@example.org",
        reply_to="",
        mailing_list=mailing_list(),
        date=datetime(2026, 11, 20, 7, tzinfo=UTC),
        marks=MARKS.values,
    )
    copy = address(
        fill(frozen, marks=MARKS, copy=Copy(kicker, reason, token)),
        to=Subscriber("ada@example.org", "Ada"),
        message_id="<1@example.org>",
        list_unsubscribe=["mailto:papers@example.org"],
    )
    assert isinstance(copy, Copied)
    assert on_the_line(copy) == on_the_line(bytes(copy))


def test_a_message_that_is_not_ours_is_looked_through() -> None:
    message = address(b"Subject: x\n\n.\n", to=Subscriber("ada@example.org"), message_id="<1@example.org>")
    assert on_the_line(message).endswith(b"\r\nSubject: x\r\n\r\n..\r\n.\r\n")
