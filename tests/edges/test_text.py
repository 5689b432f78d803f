"""Text from outside, made fit for a line, a message or a terminal."""

import base64
import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.edges.text import (
    did_you_mean,
    hidden,
    money,
    one_line,
    printable,
    shortened,
    visible,
    without_addresses,
)

ODD = st.text(
    st.sampled_from('ab .,;([)]!…"“ \n\t\0\u00a0\u202e\u200b\u0301\u0316\u1100\u1161\ud800数😀é-–'),
    max_size=300,
)
SECRET = "sk-5ecret/&+ä"


@pytest.mark.parametrize(
    ("text", "cleaned", "shown"),
    [
        (" two \n\t words\u00a0here ", "two words here", " two \\n\\t words\u00a0here "),
        ("a\0b\x1b[31mc\x07", "ab[31mc", r"a\x00b\x1b[31mc\x07"),
        (
            "\x1b]8;;http://a\x1b\\b\x9d52;c;x\x9c",
            "]8;;http://a\\b52;c;x",
            r"\x1b]8;;http://a\x1b\b\x9d52;c;x\x9c",
        ),
        ("d\u202e\u2066\u200f\u061ce", "de", r"d\u202e\u2066\u200f\u061ce"),
        ("\u200bf\ufeff\u2060g\xad\U000e0041h", "fgh", r"\u200bf\ufeff\u2060g\xad\U000e0041h"),
        ("\ud800i\uffff\ufdd0", "i", r"\ud800i\uffff\ufdd0"),
        ("e\u0301", "é", "e\u0301"),
        ("one\u2028two\u2029three\x85four\r\nfive", "one two three four five", None),
        (
            "👩\u200d🔬 \ufe0f可 می\u200cخواهم ∑_{i}\\alpha",
            "👩\u200d🔬 \ufe0f可 می\u200cخواهم ∑_{i}\\alpha",
            None,
        ),
    ],
)
def test_control_characters_are_removed_or_shown(
    text: str, cleaned: str, shown: str | None
) -> None:
    assert one_line(text) == cleaned
    assert visible(text) == (
        shown or text.encode("unicode_escape").decode() if text != cleaned else text
    )


@given(st.one_of(st.text(), ODD))
def test_clean_line_is_left_unchanged(text: str) -> None:
    line = one_line(text)
    assert one_line(line) == line == visible(line)
    assert (
        line
        == " ".join(line.split())
        == unicodedata.normalize("NFC", " ".join(printable(text).split()))
    )
    assert not any(
        unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}
        for character in line + visible(text)
    )


def test_word_of_a_hundred_thousand_marks_is_not_composed() -> None:
    """That would take a minute."""
    word = "a" + "\u0316\u0301" * 50_000
    assert one_line(f" e\u0301\n{word}") == f"é {word}"


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("short", 5, "short"),
        ("two words", 8, "two…"),
        ("a list, of words", 10, "a list…"),
        ("x" * 20, 5, "xxxx…"),
    ],
)
def test_long_text_is_cut_after_a_word(text: str, most: int, expected: str) -> None:
    assert shortened(text, most) == expected


@given(ODD, st.integers(1, 50))
def test_shortened_text_never_exceeds_its_limit(text: str, most: int) -> None:
    assert len(shortened(text, most)) <= most


@pytest.mark.parametrize(
    "echoed",
    [
        SECRET,
        SECRET.upper(),
        quote(SECRET),
        quote(SECRET, safe=""),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        f"{SECRET[:4]} {SECRET[4:]}",
        f"{SECRET[:7]}\r\n\t{SECRET[7:]}",
        f"{SECRET[:7]}\\n{SECRET[7:]}",
        " ".join(SECRET),
        "\n".join(base64.b64encode(SECRET.encode()).decode()),
        *(
            base64.b64encode(f"\0{user}\0{SECRET}".encode()).decode()
            for user in ("u", "us", "use", "user")
        ),
        *(
            base64.b64encode(f"{user}:{SECRET} and more".encode()).decode()
            for user in ("u", "us", "use", "user")
        ),
    ],
)
def test_secret_is_hidden_however_a_server_echoes_it(echoed: str) -> None:
    said = hidden(f"Bad key {echoed}, try again with {echoed}!", SECRET)
    assert said.startswith("Bad key ")
    assert said.count("…") == 2
    assert SECRET[:6] not in "".join(said.split())
    assert all(core not in said for core in (echoed[4:-4], quote(SECRET)))


def test_secret_that_is_short_takes_no_ordinary_word_with_it() -> None:
    assert hidden("there is none", "none") == "there is none"
    assert hidden("there is none", "none", least=4) == "there is …"
    assert hidden("nothing to hide", "", least=0) == "nothing to hide"
    assert hidden("nothing to hide", " " * 8) == "nothing to hide"


def test_secret_with_a_space_or_a_backslash_is_hidden_in_each_form() -> None:
    """As Google shows the passwords that it makes, and takes them without the spaces, too."""
    assert hidden("abcd efgh, abcdefgh, abcd\nefgh", "abcd efgh") == "…, …, …"
    assert hidden(r"abcd\nefgh", r"abcd\nefgh") == "…"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ada@example.org", "a…@example.org"),
        ("550 5.1.1 <ada@example.org>: no such user", "550 5.1.1 <a…@example.org>: no such user"),
        ("forwarded as a.lovelace+x@mx.corp.example.", "forwarded as a…@mx.corp.example."),
        (
            "subscribers.yaml:7: ada@bücher.example is on this list",
            "subscribers.yaml:7: a…@bücher.example is on this list",
        ),
        ("(ada@a.example,bob@b.example)", "(a…@a.example,b…@b.example)"),
        ("nothing @ all", "nothing @ all"),
        ("a@b@c.example, @d@e.example@", "a…@b@c.example, @d…@e.example@"),
        ("full@example.org: Mailbox is full", "f…@example.org: Mailbox is full"),
        ("x" * 300_000, "x" * 300_000),
        ("x" * 300_000 + "@example.org", "x…@example.org"),
        ("x@" * 150_000 + "y", "x…@x@" * 75_000 + "y"),
    ],
    ids=lambda text: text[:40],
)
def test_every_address_in_a_text_is_masked_and_nothing_else(text: str, expected: str) -> None:
    """In time linear in its length: by trying an address at every letter, 300,000 letters take minutes."""
    assert without_addresses(text) == expected


# --- suggestions


def test_suggestion_ignores_case_and_keeps_the_spelling_of_the_choice() -> None:
    assert did_you_mean("cs.lg", ["cs.CV", "cs.LG"]) == ", did you mean 'cs.LG'?"
    assert did_you_mean("zzz", ["cs.CV", "cs.LG"]) == ""


def test_suggested_address_is_almost_the_same() -> None:
    people = ["ada@example.org", "bo@elsewhere.net"]
    assert (
        did_you_mean("ADDA@example.org", people, cutoff=0.85) == ", did you mean 'ada@example.org'?"
    )
    assert (
        did_you_mean("bo@elswhere.net", people, cutoff=0.85) == ", did you mean 'bo@elsewhere.net'?"
    )
    assert did_you_mean("eve@example.org", people, cutoff=0.85) == ""


# --- our own numbers


@pytest.mark.parametrize(
    ("dollars", "words"),
    [
        (0, "$0.00"),
        (0.00001, "under $0.0001"),
        (0.0263, "$0.0263"),
        (0.4, "$0.40"),
        (1234, "$1,234.00"),
    ],
)
def test_money_is_never_rounded_to_nothing(dollars: float, words: str) -> None:
    assert money(dollars) == words
