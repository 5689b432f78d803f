"""Addresses, times, timezones and words as people write them."""

import re
from datetime import date, time
from pathlib import Path

import pytest
from email_validator import EmailNotValidError, validate_email
from hypothesis import example, given
from hypothesis import strategies as st

from paperboy.errors import ConfigError
from paperboy.home import settings
from paperboy.home import values as notation
from paperboy.models import Subscriber


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" Vera Rubin ", "Vera Rubin"),
        ("Rubin, Vera", "Vera Rubin"),
        ("Rubin ,V. C.", "V. C. Rubin"),
        ("van den Bosch, Frank C.", "Frank C. van den Bosch"),
        ("Rabi, I. I.", "I. I. Rabi"),
        ("Kennicutt Jr., Robert C.", "Robert C. Kennicutt Jr."),
        ("Robert C. Kennicutt, Jr.", "Robert C. Kennicutt Jr."),  # as arXiv has it
        ("Neal J. Evans, II", "Neal J. Evans II"),
        ("Vera Rubin, Ph. D.", "Vera Rubin Ph. D."),
        ("Rubin, Vera, Kent Ford", "Rubin, Vera, Kent Ford"),
        ("Rubin,", "Rubin,"),
    ],
)
def test_author_is_read_with_the_surname_first_or_last(text, name):
    assert notation.author(text) == name
    assert notation.author(name) == name


@pytest.mark.parametrize(
    ("text", "address", "name", "written"),
    [
        (" ada@Example.org ", "ada@example.org", "", "ada@example.org"),
        ("<ada@example.org>", "ada@example.org", "", "ada@example.org"),
        ("Ada L <ada@example.org>", "ada@example.org", "Ada L", "Ada L <ada@example.org>"),
        (
            "Lovelace, Ada <ada@example.org>",
            "ada@example.org",
            "Lovelace, Ada",
            '"Lovelace, Ada" <ada@example.org>',
        ),
        (
            r'"Ada \"A\" L" <ada@example.org>',
            "ada@example.org",
            'Ada "A" L',
            r'"Ada \"A\" L" <ada@example.org>',
        ),
        (
            "Zoë <z@bücher.example>",
            "z@xn--bcher-kva.example",
            "Zoë",
            "Zoë <z@xn--bcher-kva.example>",
        ),
        ("root@localhost", "root@localhost", "", "root@localhost"),
        (
            "MÜLLER@Bücher.example",
            "müller@xn--bcher-kva.example",
            "",
            "müller@xn--bcher-kva.example",
        ),
        ("Jo <jürgen@localhost>", "jürgen@localhost", "Jo", "Jo <jürgen@localhost>"),
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
    ["", "ada", "@example.org", "ada@", "ada@example", "ada@@example.org", "a b@example.org", "ä\u202e@example.org",
     "ada@example..org", "ada@.localhost", "ada@example.invalid", "ada@[127.0.0.1]", "Ada <>", "Ada <ada@example.org",
     "a@example.org, b@example.org", "Ada\n <ada@example.org>", "A\x00 <ada@example.org>", "A\u2028B <a@example.org>"],
)  # fmt: skip
def test_invalid_address_is_refused(text):
    with pytest.raises(ValueError, match=r"\w"):
        notation.mailbox(text)


def validated(address: str) -> str:
    """What the full validator makes of an address; empty where it refuses it."""
    try:
        return validate_email(address, check_deliverability=False).ascii_email or "beyond ASCII"
    except EmailNotValidError:
        return ""


LOCAL_PARTS = st.text("abYZ09._+-'!#\"ü", max_size=5) | st.integers(60, 70).map("x".__mul__)
LABELS = st.text("abZ09-_", max_size=4) | st.sampled_from(
    ["xn--bcher-kva", "xn--ab", "ä", "x" * 63, "x" * 64]
)
DOMAINS = st.lists(LABELS, min_size=1, max_size=5).flatmap(
    lambda labels: st.sampled_from(["org", "ORG", "c", "1", "invalid", "xn--p1ai", ""]).map(
        lambda top: ".".join([*labels, top])
    )
)


@given(st.builds("{}@{}".format, LOCAL_PARTS, DOMAINS))
@example("Ada.Lovelace+papers@Example.ORG")
@example("x" * 64 + "@" + ".".join(["y" * 63, "y" * 63, "y" * 57, "org"]))  # 254 characters
@example("x" * 64 + "@" + ".".join(["y" * 63, "y" * 63, "y" * 58, "org"]))
@example("x" * 60 + "@" + ".".join(["xn--" + "a" * 59] * 2 + ["org"]))
@example("ada@example.org.")
@example("ada@-example.org")
def test_address_is_what_the_full_validator_makes_of_it_however_plain_it_is(text):
    wanted = validated(text)
    try:
        found = notation.mailbox(text).address
    except ValueError:
        found = ""
    assert found == wanted or (wanted == "beyond ASCII" and not found.isascii())


@pytest.mark.parametrize(
    ("text", "expected"),
    [("07:00", time(7)), ("7:00", time(7)), ("00:00", time(0)), ("23:59", time(23, 59))],
)
def test_time_of_day_is_read(text, expected):
    assert notation.time_of_day(text) == expected


@pytest.mark.parametrize(
    "text", ["", "7", "7:0", "24:00", "12:60", "07:00:00", "7:00 am", "-1:00", "٠٧:٠٠"]
)
def test_invalid_time_of_day_is_refused(text):
    with pytest.raises(ValueError, match="such as 07:00 or 18:30"):
        notation.time_of_day(text)


@pytest.mark.parametrize(
    "text", ["Europe", "CEST", "UTC+15", "/etc/passwd", "..", "", "x" * 5000, "a\0b"]
)
def test_unknown_timezone_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match="unknown timezone; use a name such as Europe/Berlin"):
        notation.timezone(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Berlin", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("europe/berlin", "Europe/Berlin"),
        ("UTC+1", "Etc/GMT-1"),
        ("gmt -05:00", "Etc/GMT+5"),
        ("+2", "Etc/GMT-2"),
        ("Eastern", "US/Eastern"),
        ("Europe/Berln", "Europe/Berlin"),
    ],
)
def test_timezone_as_people_say_it_is_refused_with_its_name(text, meant):
    with pytest.raises(ValueError, match=rf"^unknown timezone, did you mean '{re.escape(meant)}'"):
        notation.timezone(text)
    assert notation.timezone(meant)


@pytest.mark.parametrize("name", ["smtp..example.org", f"{'a' * 64}.example.org", ".example.org"])
def test_host_name_that_cannot_be_looked_up_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must be the server's name alone"):
        notation.host(name)
    with pytest.raises(ValueError, match="must be a full URL"):
        notation.url(f"http://{name}/v1")


def test_international_host_name_is_accepted() -> None:
    assert notation.host("smtp.bücher.example") == "smtp.bücher.example"


RANGES = {  # of each setting that is a number: the least and the most, as people write them
    "LLM_BATCH_SIZE": ("1", "200"),
    "LLM_CONCURRENCY": ("1", "1000"),
    "LLM_TIMEOUT_SECONDS": ("0.1", "3600"),
    "LLM_BUDGET_USD": ("0", "1000000"),
    "LLM_PRICE_INPUT": ("0", "1000000"),
    "LLM_PRICE_CACHED_INPUT": ("0", "1000000"),
    "LLM_PRICE_CACHE_WRITE": ("0", "1000000"),
    "LLM_PRICE_OUTPUT": ("0", "1000000"),
    "SMTP_PORT": ("1", "65535"),
    "SMTP_MAX_PER_MINUTE": ("0", "1000000"),
    "ARXIV_DELAY_SECONDS": ("0", "3600"),
    "ARXIV_LOOKBACK_DAYS": ("1", "30"),
    "GIVE_UP_AFTER_HOURS": ("0", "23"),
    "KEEP_DAYS": ("31", "36500"),
}


def test_every_number_among_the_settings_has_a_range() -> None:
    numbers = {
        name
        for name, read in settings._PARSERS.items()
        if getattr(read, "__qualname__", "").startswith("number")
    }
    assert numbers == set(RANGES)


@pytest.mark.parametrize("name", RANGES)
def test_number_is_taken_at_both_ends_of_its_range_and_refused_beyond(
    tmp_path: Path, name: str
) -> None:
    least, most = RANGES[name]
    prices = {"LLM_PRICE_INPUT": "1", "LLM_PRICE_OUTPUT": "1"} if "PRICE" in name else {}
    sound = prices | {"ARXIV_API_URL": "http://127.0.0.1/", name: ""}
    for text in (least, most):
        assert float(getattr(settings.load(tmp_path, sound | {name: text}), name.lower())) == float(
            text
        )
    beyond = [
        f"{float(most) + 1:.0f}",
        "9" * 9,
        "9" * 5000,
        "1e3",
        "inf",
        "nan",
        "-1",
        "0x10",
        "٣",
        "1,5",
    ]
    for text in beyond:
        with pytest.raises(ConfigError) as caught:
            settings.load(tmp_path, sound | {name: text})
        (problem,) = caught.value.problems
        assert problem.message.startswith(f"{name}: ")
        assert f" from {least} to {most}" in problem.message


def test_dates_are_read() -> None:
    assert notation.dates("2026-12-29,2200-12-31 1991-01-01") == {
        date(2026, 12, 29),
        date(2200, 12, 31),
        date(1991, 1, 1),
    }


@pytest.mark.parametrize("name", ["PAPERBOY_DATABASE", "PAPERBOY_OUTBOX"])
@pytest.mark.parametrize("text", ["x" * 201, "é" * 101, "x/" * 501])
def test_path_that_no_disk_can_hold_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(
        ConfigError,
        match=f"environment: {name}: is too long for a path: at most 1000 bytes, and 200 ",
    ):
        settings.load(tmp_path, {name: text})
