"""Every word that readers see stands in one file, so that one file translates the mails."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes

from paperboy.mail.page import page_of
from paperboy.mail.templates import Templates
from paperboy.models import Digest, Rendered, Shortfall
from tests.builders import digest, entry, mailing_list, paper
from tests.mail.reading import COPY, EMAILS, FROM, render, visible

# What is not a plain string, with the words of its own replaced.
OF_ANOTHER_SHAPE = {
    "lang": "'eo'",
    "groups": "{'followed': '¤', 'closest': '¤', 'also': '¤'}",
    "counted": "[('¤', 1, 0, true)]",
    "tokens": "[('¤', 1, 0.1)]",
    "chosen": "['¤']",
    "filters": "[('¤', ['1'])]",
}
NO_WORDS = re.compile(
    r"PDF|HTML|arXiv|Paperboy|ab|cs\.LG|https?://\S+|papers@\S+|unsubscribe foundations|[0-9a-f]{32}|ada@\S+"
)


def without_words(name: str = "_words.j2") -> str:
    """Such a file that has each name, and says ¤ for each word."""
    lines = []
    for node in jinja2.Environment(autoescape=True).parse((EMAILS / name).read_text("utf-8")).body:
        for part in [node, *node.find_all((nodes.Assign, nodes.Macro))]:
            if isinstance(part, nodes.Assign) and isinstance(part.target, nodes.Name):
                lines.append(
                    f"{{% set {part.target.name} = {OF_ANOTHER_SHAPE.get(part.target.name, repr('¤'))} %}}"
                )
            elif isinstance(part, nodes.Macro):
                parameters = ", ".join(f"{argument.name}=''" for argument in part.args)
                lines.append(f"{{% macro {part.name}({parameters}) %}}¤{{% endmacro %}}")
    return "\n".join(dict.fromkeys(lines)) + "\n"


NUMBERED = mailing_list(title="1", topics="2", authors=("3",), max_papers=2)
PAPERS = [
    paper(f"2611.{n:05}", title="4", authors=("3",), abstract="5", primary_category="cs.LG")
    for n in range(1, 40)
]
FULL = digest(
    [
        entry(1, PAPERS[0], comment="6", relevance=2, matched_author="3"),
        *(entry(n, PAPERS[n - 1], comment="6") for n in range(2, 30)),
    ],
    mailing_list=NUMBERED,
    over_cap=[entry(30, PAPERS[30], comment="6")],
    carried_over=PAPERS[31:33],
    let_go=PAPERS[33:35],
    shortfall=Shortfall.BUDGET,
)
MISSES = tuple(entry(0, miss, comment="6", relevance=3) for miss in PAPERS[:3])
NOTE = digest(
    [],
    below=9,
    mailing_list=NUMBERED,
    carried_over=PAPERS[31:33],
    let_go=PAPERS[33:35],
    nearest=MISSES,
)


@pytest.mark.parametrize("of", [FULL, NOTE], ids=["digest", "note"])
def test_every_word_of_a_mail_comes_from_one_file(of: Digest, tmp_path: Path) -> None:
    (tmp_path / "_words.j2").write_text(without_words(), "utf-8")
    mail = render(of, Templates.load([tmp_path, EMAILS]))
    assert 'lang="eo"' in mail.html
    assert words_of(mail) == set()


def words_of(mail: Rendered) -> set[str]:
    """Those that stand in it though the file of words says none."""
    parts = (
        mail.subject,
        mail.text,
        visible(mail.html),
        *re.findall(r'aria-label="([^"]*)"', mail.html),
    )
    return {word for part in parts for word in re.findall(r"[^\W\d_]+", NO_WORDS.sub("", part))}


def with_web(of: Digest, by: Templates) -> Rendered:
    """The mail of a home that has a web room."""
    copy, web = COPY._replace(vote="9" * 32), "https://papers.example.org"
    return by.to_readers(
        page_of(of, copy=copy, unsubscribe_address=FROM, web_url=web, link="8" * 32, votes=True)
    )


@pytest.mark.parametrize("of", [FULL, NOTE], ids=["digest", "note"])
def test_words_about_the_web_room_come_from_the_rooms_file(of: Digest, tmp_path: Path) -> None:
    """So a `_words.j2` that was translated before there was a web room still has all that a mail needs."""
    (tmp_path / "_words.j2").write_text(without_words(), "utf-8")
    assert {"View", "online", "button"} <= words_of(
        with_web(of, Templates.load([tmp_path, EMAILS]))
    )
    (tmp_path / "_room.j2").write_text(without_words("_room.j2"), "utf-8")
    assert words_of(with_web(of, Templates.load([tmp_path, EMAILS]))) == set()
