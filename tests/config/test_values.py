"""Addresses, times, timezones and words as people write them."""

from datetime import time

import pytest

from paperboy.config import values as notation
from paperboy.config.categories import ARCHIVES_ONLY, CATEGORIES
from paperboy.config.values import did_you_mean
from paperboy.models import Subscriber


@pytest.mark.parametrize(
    ("text", "address", "name", "written"),
    [
        (" ada@Example.org ", "ada@example.org", "", "ada@example.org"),
        ("<ada@example.org>", "ada@example.org", "", "ada@example.org"),
        ("Ada L <ada@example.org>", "ada@example.org", "Ada L", "Ada L <ada@example.org>"),
        ("Lovelace, Ada <ada@example.org>", "ada@example.org", "Lovelace, Ada", '"Lovelace, Ada" <ada@example.org>'),
        (r'"Ada \"A\" L" <ada@example.org>', "ada@example.org", 'Ada "A" L', r'"Ada \"A\" L" <ada@example.org>'),
        ("Zoë <z@bücher.example>", "z@xn--bcher-kva.example", "Zoë", "Zoë <z@xn--bcher-kva.example>"),
        ("root@localhost", "root@localhost", "", "root@localhost"),
        ("x@mail.home.local", "x@mail.home.local", "", "x@mail.home.local"),
    ],
)
def test_address_is_read_with_or_without_a_name(text, address, name, written):
    mailbox = notation.mailbox(text)
    assert mailbox == Subscriber(address, name)
    assert str(mailbox) == written
    assert notation.mailbox(written) == mailbox


@pytest.mark.parametrize(
    "text",
    ["", "ada", "@example.org", "ada@", "ada@example", "ada@@example.org", "a b@example.org", "ä@example.org",
     "ada@example..org", "ada@.localhost", "ada@example.invalid", "ada@[127.0.0.1]", "Ada <>", "Ada <ada@example.org",
     "a@example.org, b@example.org", "Ada\n <ada@example.org>", "A\x00 <ada@example.org>", "A\u2028B <a@example.org>"],
)  # fmt: skip
def test_invalid_address_is_refused(text):
    with pytest.raises(ValueError, match=r"\w"):
        notation.mailbox(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("07:00", time(7)), ("7:00", time(7)), ("00:00", time(0)), ("23:59", time(23, 59))]
)
def test_time_of_day_is_read(text, expected):
    assert notation.time_of_day(text) == expected


@pytest.mark.parametrize("text", ["", "7", "7:0", "24:00", "12:60", "07:00:00", "7:00 am", "-1:00", "٠٧:٠٠"])
def test_invalid_time_of_day_is_refused(text):
    with pytest.raises(ValueError, match="write it as 07:00 or 18:30"):
        notation.time_of_day(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [("new york", "'America/New_York'"), ("utc", "'UTC'"), ("Europe/Pari", "'Europe/Paris'"), ("Europe", "unknown"),
     ("/etc/passwd", "unknown"), ("..", "unknown"), ("", "unknown"), ("x" * 5000, "unknown"), ("a\0b", "unknown")],
)  # fmt: skip
def test_unknown_timezone_is_refused_with_a_suggestion(text, hint):
    with pytest.raises(ValueError, match="unknown timezone") as caught:
        notation.timezone(text)
    assert hint in str(caught.value)


def test_suggestion_ignores_case_and_keeps_the_spelling_of_the_choice():
    assert did_you_mean("cs.lg", CATEGORIES) == ", did you mean 'cs.LG'?"
    assert did_you_mean("zzz", CATEGORIES) == ""


def test_taxonomy_has_todays_categories_and_the_divided_archives():
    assert {
        "cs.LG",
        "stat.ML",
        "astro-ph.GA",
        "hep-th",
        "math-ph",
        "q-bio.NC",
        "eess.IV",
        "physics.optics",
    } <= CATEGORIES
    assert {"astro-ph", "cond-mat", "nlin", "q-bio"} <= CATEGORIES
    assert {"cs", "math", "physics", "stat"} <= ARCHIVES_ONLY
    assert len(CATEGORIES) == 155 + 4, "155 categories as arXiv lists them, 4 that were divided since"


@pytest.mark.parametrize("name", ["smtp..example.org", f"{'a' * 64}.example.org", ".example.org"])
def test_host_name_that_cannot_be_looked_up_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must be the server's name alone"):
        notation.host(name)
    with pytest.raises(ValueError, match="must be a full URL"):
        notation.url(f"http://{name}/v1")


def test_international_host_name_is_accepted() -> None:
    assert notation.host("smtp.bücher.example") == "smtp.bücher.example"
