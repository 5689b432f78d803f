"""Addresses are masked in logs and reports."""

import pytest

from paperboy.privacy import masked, without_addresses


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
