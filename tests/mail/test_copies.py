"""What differs from copy to copy, patched into a body that was encoded once."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paperboy.mail.copies import Copy, filled, marks, quoted_printable

MARKS = marks(b"secret", "foundations")
KICKER, REASON, TOKEN = MARKS.values

# Texts of which every few characters mean something to an encoder, or to a mail folder.
WORDS = ("From ", "from", ".", "=", " ", "\t", "\n", "\r", "\r\n", "é", "😀", "x" * 30, "20")
AWKWARD = st.lists(st.sampled_from(WORDS)).map("".join)
TEXTS = st.one_of(st.text(), AWKWARD)
BODIES = st.lists(st.one_of(TEXTS, st.sampled_from(MARKS.values))).map("".join)


def decoded(body: bytes) -> str:
    """What a strict reader of RFC 2045 makes of a body; it fails on what the RFC does not allow."""
    assert body.isascii()
    assert body.endswith(b"\r\n")
    out = b""
    for line in body[:-2].split(b"\r\n"):
        assert len(line) <= 76
        assert not re.search(rb"[\r\n\0]|[ \t]$|=(?!$|[0-9A-F]{2})", line)
        assert not line.startswith(b"From ")
        assert line != b"."
        octets = re.sub(rb"=([0-9A-F]{2})", lambda found: bytes([int(found[1], 16)]), line.removesuffix(b"="))
        out += octets if line.endswith(b"=") else octets + b"\n"
    return out.decode()


def lines(text: str) -> str:
    """The text with the line ends, and without the lone surrogates, that any mail would give back."""
    return text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")


def body(text: str) -> str:
    return lines(text).rstrip("\n") + "\n"


def test_marks_are_a_lists_own_and_no_letters() -> None:
    """What a template does with capital and small letters leaves them alone."""
    assert all(re.fullmatch(r"[0-9]{32}", mark) for mark in MARKS.values)
    assert marks(b"secret", "foundations") == MARKS
    others = marks(b"secret", "galaxies").values + marks(b"other", "foundations").values
    assert len({*MARKS.values, *others}) == 9


@given(BODIES)
@example("")
@example("\n\n")
@example("x" * 76)
@example("x" * 73 + " \n" + "x" * 74 + " \n" + "x" * 75 + " \n" + "x" * 76 + "\t")
@example(f"{'x' * 75}{KICKER}")
@example(f"{'x' * 76}{KICKER}{'x' * 76}\n")
@example(KICKER + REASON + TOKEN)
@example(f"{KICKER}\n{REASON} \n {TOKEN}")
@example("." + KICKER + ".")
@example("From " + KICKER + "From \nFrom From ")
@example("From " + "x" * 71 + "\n" + "x" * 74 + " From here")
def test_a_body_survives_with_its_marks_unbroken(text: str) -> None:
    encoded = quoted_printable(text, MARKS.values)
    assert decoded(encoded) == body(text)
    for mark in MARKS.values:
        assert encoded.count(mark.encode()) == text.count(mark)
        assert len(re.findall(rf"(?m)^{mark}=?\r$".encode(), encoded)) == text.count(mark)


@given(BODIES, TEXTS, TEXTS, TEXTS)
@example(f"Hello {KICKER}\n", "Paperboy ", "", "")
@example(KICKER, "x" * 75, "", "")
@example(f"a {KICKER} b", "é" * 500, "", "")
@example(f"a {KICKER} b", "From here ", "", "")
@example(f"{KICKER}{REASON}{TOKEN}", ".", "\n", "From ")
def test_filled_is_as_if_the_values_had_been_there(text: str, kicker: str, reason: str, token: str) -> None:
    values = Copy(kicker, reason, token)
    expected = body(text)
    for mark, value in zip(MARKS.values, values.values, strict=True):
        expected = expected.replace(mark, lines(value))
    assert decoded(filled(quoted_printable(text, MARKS.values), MARKS, values)) == expected


def test_without_marks_a_body_stays_as_it_is() -> None:
    encoded = quoted_printable("Grüße.\n")
    assert filled(encoded, MARKS, Copy("a", "b", "c")) == encoded == b"Gr=C3=BC=C3=9Fe.\r\n"


@pytest.mark.parametrize("text", [f"token={TOKEN}", f'<a href="mailto:a@b?subject=x%20{TOKEN}">', f"20{TOKEN}01"])
def test_a_mark_is_found_among_digits_and_signs(text: str) -> None:
    encoded = quoted_printable(text, MARKS.values)
    assert decoded(filled(encoded, MARKS, Copy("", "", "0a" * 16))) == text.replace(TOKEN, "0a" * 16) + "\n"


def test_a_reason_is_wrapped_as_text_and_escaped_as_html() -> None:
    copy = Copy("A & B", "Because of <ada@example.org> " + "and so on " * 10, "00")
    assert max(map(len, copy.as_text().reason.split("\n"))) <= 76
    assert copy.as_text().reason.split() == copy.reason.split()
    assert copy.as_text().kicker == "A & B"
    assert copy.as_html().kicker == "A &amp; B"
    assert copy.as_html().reason.startswith("Because of &lt;ada@example.org&gt; and")
