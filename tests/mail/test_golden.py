"""Whole mails stay as they are until somebody means to change them."""

from __future__ import annotations

import re

import pytest

from tests.mail.golden import FILES, FOLDER, comparable, difference, made


@pytest.mark.parametrize("name", FILES)
def test_golden_mail_is_unchanged(name: str) -> None:
    told = difference(name, (FOLDER / name).read_bytes(), made(name))
    if told:
        pytest.fail(told, pytrace=False)


def test_golden_folder_has_no_stray_file() -> None:
    assert {file.name for file in FOLDER.iterdir()} == set(FILES)


def test_comparison_ignores_what_does_not_show() -> None:
    """White space, the order of attributes and declarations, and how conditional comments are cut."""
    html = (
        '<p class="a" style="color:red;margin:0">one  <b>two</b></p><!--[if mso]><table><tr><![endif]-->'
        "<style>a{b:c}</style>"
    )
    other = (
        '<p style="margin: 0; color: red;"\n class="a">\n  one <b>two</b>\n</p><!--[if mso]><table><![endif]-->'
        "<!--[if mso]><tr><![endif]--><style>\n a {\n b : c;\n }\n</style>"
    )
    assert comparable("x.html", html.encode()) == comparable("x.html", other.encode())


@pytest.mark.parametrize(
    ("was", "now"),
    [("two", "three"), ("color:red", "color:blue"), ("<b>", "<i>"), ("b:c", "b:d"), ("<tr>", "")],
)
def test_comparison_finds_what_shows(was: str, now: str) -> None:
    html = '<p style="color:red">one <b>two</b></p><!--[if mso]><table><tr><![endif]--><style>a{b:c}</style>'
    assert difference("x.html", html.encode(), html.replace(was, now).encode())


def test_difference_is_short_and_names_the_command() -> None:
    mail = made("digest.eml")
    told = difference("digest.eml", mail, re.sub(rb"(?m)^Subject: ", b"Subject: Other ", mail))
    assert "python -m tests.mail.golden" in told
    assert "+Subject: Other" in told
    assert len(told.splitlines()) < 50
