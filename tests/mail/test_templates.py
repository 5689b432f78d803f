"""The operator may restyle the mails, and is told what is wrong, by file and line, before a morning comes."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from paperboy.errors import ConfigError
from paperboy.mail.copies import Copy
from paperboy.mail.page import Author, Bill, Figure, Item, Line, Mention, Page
from paperboy.mail.render import Renderer
from paperboy.mail.topics import Block
from paperboy.models import Alert
from tests.builders import digest, entry, paper
from tests.mail.reading import EMAILS, RENDERER, render


def changed(tmp_path: Path, name: str, text: str) -> Renderer:
    """A renderer whose home overrides one template."""
    (tmp_path / name).write_text(text, "utf-8")
    return Renderer([tmp_path, EMAILS])


def test_the_templates_we_ship_are_in_order() -> None:
    RENDERER.check()


@pytest.mark.parametrize("shown", [Page, Item, Author, Line, Figure, Bill, Block, Copy, Mention, Alert])
def test_the_readme_names_everything_that_a_template_may_use(shown: type) -> None:
    readme = (EMAILS / "README.md").read_text("utf-8")
    assert [field.name for field in fields(shown) if f"`{field.name}`" not in readme] == []


def test_an_operator_overrides_one_file_and_inherits_the_rest(tmp_path: Path) -> None:
    old = (EMAILS / "_masthead.txt.j2").read_text("utf-8")
    renderer = changed(tmp_path, "_masthead.txt.j2", "Good morning!\n" + old)
    renderer.check()
    assert render(digest(), renderer).text.startswith("Good morning!\n")
    assert render(digest(), renderer).html == render(digest()).html


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("digest.txt.j2", "one\n{% if %}\n", r"^emails/digest\.txt\.j2:2: "),
        (
            "digest.txt.j2",
            "one\n\n{{ page.titel }}\n",
            r"^emails/digest\.txt\.j2:3: page has no 'titel'; emails/README.md",
        ),
        ("_entry.mjml.j2", "<p>\n{{ item.nonsense }}</p>", r"^emails/_entry\.mjml\.j2:2: item has no 'nonsense'; "),
        ("alert.txt.j2", "{{ alert.heading }}", r"^emails/alert\.txt\.j2:1: alert has no 'heading'; "),
        ("note.txt.j2", "{{ page.title + 1 }}", r"^emails/note\.txt\.j2:1: TypeError"),
        ("note.txt.j2", "\n{{ page.title|wrapp }}", r"^emails/note\.txt\.j2:2: .*wrapp"),
        ("note.txt.j2", "\n{% include '_gone.j2' %}", r"^emails/note\.txt\.j2:2: there is no template _gone\.j2"),
        ("note.mjml.j2", "<mjml><mj-body>", r"^emails/note\.mjml\.j2: MJML"),
        (
            "note.mjml.j2",
            "<mjml><mj-body><mj-sektion></mj-sektion></mj-body></mjml>",
            r"^emails/note\.mjml\.j2: .*mj-sektion",
        ),
    ],
)
def test_a_broken_template_is_named_with_its_line(tmp_path: Path, name: str, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        changed(tmp_path, name, text).check()


@pytest.mark.parametrize(
    ("name", "kept", "told"),
    [
        ("digest.txt.j2", "", r"emails/digest\.txt\.j2: the mail that it gives does not show 'This is why"),
        ("digest.mjml.j2", "<mjml><mj-body></mj-body></mjml>", r"emails/digest\.mjml\.j2: .* does not show"),
        ("note.txt.j2", "{{ page.copy.reason }}", r"emails/note\.txt\.j2: .* does not show '0123456789abcdef"),
        (
            "_entry.mjml.j2",
            "{{ item.title }}",
            r"emails/digest\.mjml\.j2: .* does not show 'https://arxiv.org/abs/2601",
        ),
        ("alert.mjml.j2", "<mjml><mj-body></mj-body></mjml>", r"emails/alert\.mjml\.j2: .* does not show"),
    ],
)
def test_a_template_that_leaves_out_what_every_mail_needs_is_told(
    tmp_path: Path, name: str, kept: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        changed(tmp_path, name, kept).check()


def test_all_broken_templates_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "note.txt.j2").write_text("{% if %}")
    (tmp_path / "_mine.txt.j2").write_text("{{ 1 + }}")
    with pytest.raises(ConfigError) as raised:
        Renderer([tmp_path, EMAILS]).check()
    assert sorted(problem.place for problem in raised.value.problems) == [
        "emails/_mine.txt.j2:1",
        "emails/note.txt.j2:1",
    ]


def test_a_template_cannot_reach_into_python(tmp_path: Path) -> None:
    (tmp_path / "note.txt.j2").write_text("{{ page.__class__.__mro__ }}")
    with pytest.raises(ConfigError, match=r"emails/note\.txt\.j2:1: .*unsafe"):
        Renderer([tmp_path, EMAILS]).check()


def test_a_part_of_any_name_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "_entry.mjml.j2").write_text('{% include "_badge.j2" %}')
    (tmp_path / "_badge.j2").write_text("{{ item.title }}{{ item.comment }}{{ item.abstract }}{{ item.category }}")
    evil = "<script>alert(1)</script>"
    hostile = digest([entry(of=paper(title=evil, abstract=evil, primary_category=evil), comment=evil)])
    assert not re.search("<script", render(hostile, Renderer([tmp_path, EMAILS])).html)


def test_a_template_that_includes_itself_is_told(tmp_path: Path) -> None:
    (tmp_path / "note.txt.j2").write_text('{% include "note.txt.j2" %}')
    with pytest.raises(ConfigError, match=r"emails/note\.txt\.j2:1"):
        Renderer([tmp_path, EMAILS]).check()


def test_templates_that_are_nowhere_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"emails/digest\.mjml\.j2: there is no template"):
        render(digest(), Renderer([tmp_path]))
