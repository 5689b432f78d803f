"""No mail is ever clipped, and what has to go goes fairly."""

from __future__ import annotations

import re
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from paperboy.errors import ConfigError
from paperboy.mail.fit import fitted, levels, size
from paperboy.mail.page import Page
from paperboy.mail.templates import HTML_BUDGET, Templates
from tests.builders import digest, entry, mailing_list, paper
from tests.mail.reading import EMAILS, THANKS, page_of, render, visible

SENTENCE = "Some twenty words of an abstract that goes on for a while stand here. "

HEAVY = [
    pytest.param(51, 1_300, 120, 5, id="a usual heavy day"),
    pytest.param(183, 2_000, 200, 12, id="a day of 183"),
    pytest.param(183, 2_000, 10_000, 300, id="a day of 183 with endless comments and authors"),
    pytest.param(1_000, 900, 100, 3, id="more papers than any HTML holds"),
    pytest.param(1, 90_000, 10_000, 3_000, id="one paper without measure"),
]


@pytest.mark.parametrize(("number", "abstract", "comment", "authors"), HEAVY)
def test_html_of_any_day_fits_the_budget(number: int, abstract: int, comment: int, authors: int) -> None:
    """The HTML keeps its budget and its end; the text drops nothing."""
    body, remark = (SENTENCE * 2_000)[:abstract], ("A remark on this paper. " * 500)[:comment].strip()
    names = (*(f"Author Number{n}" for n in range(authors - 1)), "Yoshua Bengio")
    of = digest(
        [entry(n, paper(f"2611.{n:05}", abstract=body, authors=names), comment=remark) for n in range(1, number + 1)]
    )
    mail = render(of)
    assert size(mail.html) <= HTML_BUDGET
    assert size(mail.html) > HTML_BUDGET * 0.4 or number == 1
    assert THANKS in mail.html
    assert mail.text.count("    > Why: A remark on this paper.") == number
    assert all(f"https://arxiv.org/abs/2611.{n:05}\n" in mail.text for n in range(1, number + 1))
    shown = len(re.findall("<h2", mail.html))
    assert (shown == number) or f"And {number - shown} more in the plain-text part" in mail.html


def test_day_that_fits_is_shown_whole() -> None:
    body = SENTENCE * 20
    mail = render(digest([entry(1, paper(abstract=body))]))
    assert body.strip() in mail.html
    assert "shortened" not in mail.html


def many(number: int, **of_paper: str) -> Page:
    return page_of(digest([entry(n, paper(f"2611.{n:05}", **of_paper)) for n in range(1, number + 1)]))


def test_each_level_shortens_all_papers_alike() -> None:
    whole, *shorter, without, bare = levels(many(3, abstract=SENTENCE * 25))
    assert not whole.shortened
    assert all(len(item.abstract) == len(SENTENCE) * 25 - 1 for item in whole.items)
    lengths = [{len(item.abstract) for item in level.items} for level in (whole, *shorter, without)]
    assert all(max(after) < min(before) for before, after in pairwise(lengths))
    assert all(str(item.abstract).endswith("stand here. …") for level in shorter for item in level.items)
    assert (without.without_abstract, [item.bare for item in bare.items]) == (3, [True] * 3)


def test_best_papers_stay_where_titles_alone_do_not_fit() -> None:
    def draw(page: Page) -> str:
        drawn.append(page)
        return "x" * (1_000 + 300 * len(page.items))

    drawn: list[Page] = []
    html = fitted(many(90), draw, 10_000)
    assert html == draw(drawn[-1])
    assert 25 <= len(drawn[-1].items) <= 30
    assert [item.rank for item in drawn[-1].items] == list(range(1, len(drawn[-1].items) + 1))
    assert drawn[-1].hidden == 90 - len(drawn[-1].items)
    assert fitted(many(90), draw, 999) is None


@pytest.mark.parametrize(("number", "named", "left"), [(40, 40, 0), (110, 30, 80)])
def test_contents_name_every_paper_and_the_best_thirty_where_papers_have_only_titles(
    number: int, named: int, left: int
) -> None:
    title, body = "A title? It " + "goes on " * 20, SENTENCE * 10
    html = render(
        digest([entry(n, paper(f"2611.{n:05}", title=title, abstract=body)) for n in range(1, number + 1)])
    ).html
    lines = re.findall(r'<li><a href="[^"]*">(.*?)</a></li>', html)
    assert len(lines) == named
    assert all(100 < len(line) <= 122 for line in lines), "cut at a word, not at a question mark"
    assert (f"and {left} more below" in html) == bool(left)


def test_html_says_what_only_the_text_part_has() -> None:
    def said(number: int) -> str:
        abstract = SENTENCE * 28
        return visible(
            render(digest([entry(n, paper(f"2611.{n:05}", abstract=abstract)) for n in range(1, number + 1)])).html
        )

    assert "this mail," not in said(3)
    never = [
        entry(1, paper(abstract="")),
        *(entry(n, paper(f"2611.{n:05}", abstract=SENTENCE * 28)) for n in range(2, 50)),
    ]
    assert "abstracts are shortened here" in render(digest(never)).html, "not: one paper has no abstract here"
    assert "clips this mail, abstracts are shortened here; the plain-text part has everything." in said(60)
    assert re.search(r"clips this mail, \d+ papers have no abstract here; the plain", said(110))
    assert re.search(r"clips this mail, \d+ papers have only title and reason here; the plain", said(220))
    assert re.search(r"and \d+ more below", said(220))
    assert re.search(r"And \d+ more in the plain-text part of this mail\. So that", said(600))


def test_long_list_of_authors_keeps_its_ends_and_followed_authors() -> None:
    names = tuple(f"Author {n}" for n in range(100))
    mail = render(digest([entry(1, paper(authors=(*names[:50], "Yoshua Bengio", *names[50:])))]))
    assert "Author 5, …, Yoshua Bengio, …, Author 99 (101 authors)" in visible(mail.html)
    assert all(name in " ".join(mail.text.split()) for name in names)


def test_thousand_topics_leave_room_for_the_papers() -> None:
    topics = "\n".join(f"- topic {n}" for n in range(1_000))
    of = [entry(n, paper(f"2611.{n:05}", abstract=SENTENCE * 15)) for n in range(1, 41)]
    mail = render(digest(of, mailing_list=mailing_list(topics=topics)))
    assert len(re.findall("<h2", mail.html)) == 40
    assert "The plain-text part of this mail has the topics in full." in mail.html
    assert mail.html.count(SENTENCE.strip()) > 40 * 4
    assert "topic 999" in mail.text


def test_followed_authors_are_all_shown_among_thousands() -> None:
    followed = tuple(f"Followed {n}" for n in range(60))
    others = tuple(f"Author {n}" for n in range(2_940))
    of = digest([entry(1, paper(authors=others + followed))], mailing_list=mailing_list(authors=followed))
    shown = visible(render(of).html)
    assert all(f"{name}," in shown for name in followed[:-1])
    assert "(3,000 authors)" in shown


def test_template_too_large_by_itself_is_reported(tmp_path: Path) -> None:
    shutil.copytree(EMAILS, tmp_path, dirs_exist_ok=True)
    template = tmp_path / "_masthead.mjml.j2"
    template.write_text(template.read_text("utf-8").replace("<h1>", "<h1>" + "x" * 96_000), "utf-8")
    with pytest.raises(ConfigError, match=r"emails/digest.mjml.j2: .*95,000 bytes"):
        render(digest(), Templates.load([tmp_path]))
