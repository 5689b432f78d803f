"""Addresses are masked in logs and reports."""

import pytest

from paperboy.privacy import masked, without, without_addresses


def test_masked_address_still_shows_its_server() -> None:
    assert masked("ada@example.org") == "a…@example.org"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("550 5.1.1 <ada@example.org>: no such user", "550 5.1.1 <a…@example.org>: no such user"),
        ("forwarded as a.lovelace+x@mx.corp.example.", "forwarded as a…@mx.corp.example."),
        (
            "subscribers.yaml:7: ada@bücher.example is on this list",
            "subscribers.yaml:7: a…@bücher.example is on this list",
        ),
        ("(ada@a.example,bob@b.example)", "(a…@a.example,b…@b.example)"),
        ("nothing @ all", "nothing @ all"),
    ],
)
def test_every_address_in_a_text_is_masked(text: str, expected: str) -> None:
    assert without_addresses(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RCPT: 550 5.1.1 lovelace: user unknown", "RCPT: 550 5.1.1 l…: user unknown"),
        ("Lovelace@EXAMPLE.org, LOVELACE", "L…@EXAMPLE.org, l…"),
        ("lovelaces and 4lovelace stay", "lovelaces and 4lovelace stay"),
    ],
)
def test_local_part_alone_is_masked_too(text: str, expected: str) -> None:
    assert without(text, "lovelace@example.org") == expected


def test_short_local_part_that_may_be_any_word_stays() -> None:
    assert without("550 no such user", "no@example.org") == "550 no such user"
