"""Templates that an operator copied from 1.0 and restyled still make sound mails of every kind."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import lxml.html
import pytest

from paperboy.mail.fit import size
from paperboy.mail.templates import HTML_BUDGET, Templates
from paperboy.models import BriefSentence, Spending
from tests.builders import EMBEDDED, digest, entry, mailing_list, paper
from tests.mail.reading import COPY, EMAILS, LINK, OF_1_0, SAMPLES, flat, online, render, visible

LIST = mailing_list(topics="- trees\n- graphs", description="Trees & graphs.")
BUSY = digest(
    [
        entry(1, relevance=3, matched_author="Yoshua Bengio"),
        *(entry(n, topic=1 + n % 2) for n in range(2, 9)),
        entry(9, relevance=4, comment=""),
    ],
    mailing_list=LIST,
    over_cap=[entry(10)],
    carried_over=[paper("2611.00020")],
    let_go=[paper("2611.00021")],
    brief=(BriefSentence("Trees & graphs meet.", ("2611.00003", "2611.00004")),),
)
KINDS = {
    "with a brief and topics": BUSY,
    "without a brief": replace(BUSY, brief=()),
    "one paper": digest([entry()], mailing_list=LIST),
    "embedded": digest(
        [entry(n, novelty=None) for n in range(1, 8)], model=EMBEDDED, spending=Spending()
    ),
    "authors alone": digest(
        [replace(entry(matched_author="Yoshua Bengio"), score=None)],
        mailing_list=mailing_list(topics=""),
    ),
    "library": digest(
        [entry(n) for n in range(1, 8)], mailing_list=mailing_list(topics="", library_size=30)
    ),
    "note": digest([], nearest=(entry(0, relevance=5),), mailing_list=LIST),
}
FILES = sorted(file.name for file in OF_1_0.iterdir())


@pytest.fixture(params=[*([name] for name in FILES), FILES], ids=[*FILES, "all"])
def templates(request: pytest.FixtureRequest, tmp_path: Path) -> Templates:
    """The templates of a home with these ones of 1.0."""
    names: Sequence[str] = request.param
    for name in names:
        shutil.copy(OF_1_0 / name, tmp_path)
    return Templates.load([tmp_path, EMAILS])


def test_templates_of_1_0_pass_the_check(templates: Templates) -> None:
    assert FILES == ["_entry.mjml.j2", "_words.j2", "digest.mjml.j2"]
    templates.check({"en", "de"})
    templates.check_pages({"en", "de"}, SAMPLES)


@pytest.mark.parametrize("web", [False, True], ids=["", "web"])
@pytest.mark.parametrize("kind", KINDS)
def test_home_with_templates_of_1_0_still_sends(kind: str, web: bool, templates: Templates) -> None:
    of = KINDS[kind]
    mail = render(of, templates, web=web)
    assert mail.subject == render(of).subject
    html = visible(mail.html)
    links = set(re.findall('href="([^"]*)"', mail.html))
    for shown in of.entries:
        assert f"https://arxiv.org/abs/{shown.paper.id}" in links
        assert shown.paper.title in html
        assert shown.paper.title in flat(mail.text)
        assert not shown.score or f"{shown.score.relevance}" in html
    for part in (mail.html, mail.text):
        assert COPY.token in part
        assert COPY.address in part
    assert "undefined" not in mail.html.lower()
    assert "<mj-" not in mail.html
    assert size(mail.html) <= HTML_BUDGET


@pytest.mark.parametrize("names", [["digest.mjml.j2"], ["digest.mjml.j2", "_words.j2"]])
def test_row_says_by_itself_that_it_is_outside_the_topics(names: list[str], tmp_path: Path) -> None:
    """For a digest.mjml.j2 of 1.0 has no heading that does, nor the words."""
    for name in names:
        shutil.copy(OF_1_0 / name, tmp_path)
    html = visible(render(BUSY, Templates.load([tmp_path, EMAILS])).html)
    assert "3/7 · not on your topics · 2611.00001" in html
    assert "Not on your topics" not in html


@pytest.mark.quick
def test_page_of_a_digest_by_templates_of_1_0_has_every_paper(templates: Templates) -> None:
    root = lxml.html.document_fromstring(online(BUSY, templates))
    ids = [element.get("id") for element in root.iter("h3")]
    assert sorted(ids) == sorted(f"p{rank}" for rank in range(1, 11))
    assert LINK in lxml.html.tostring(root, encoding="unicode")
    assert len(root.xpath("//p[contains(., 'We study how papers are learned.')]")) == 10
