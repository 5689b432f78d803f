"""No mail is ever clipped, and what has to go goes from the tail."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from paperboy.errors import ConfigError
from paperboy.mail.fit import fitted, in_html, size, steps
from paperboy.mail.page import Page
from paperboy.mail.templates import HTML_BUDGET, Templates
from paperboy.models import Digest, Entry
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


def day(number: int, abstract: str = SENTENCE * 15, **of_entry: str) -> list[Entry]:
    """That many entries: twelve with higher scores, of which three are read first, and a tail."""
    return [
        entry(
            n, paper(f"2611.{n:05}", abstract=abstract), relevance=9 if n <= 12 else 7, **of_entry
        )
        for n in range(1, number + 1)
    ]


@pytest.mark.parametrize(("number", "abstract", "comment", "authors"), HEAVY)
@pytest.mark.long("hundreds of papers")
def test_html_of_any_day_fits_the_budget(
    number: int, abstract: int, comment: int, authors: int
) -> None:
    """The HTML keeps its budget and its end, and each paper or how many it leaves out; the text has all."""
    body = (SENTENCE * 2_000)[:abstract]
    remark = ("A remark on this paper, " * 500)[:comment].strip(", ")
    names = (*(f"Author Number{n}" for n in range(authors - 1)), "Yoshua Bengio")
    of = [
        entry(n, paper(f"2611.{n:05}", abstract=body, authors=names), comment=remark)
        for n in range(1, number + 1)
    ]
    mail = render(digest(of))
    assert size(mail.html) <= HTML_BUDGET
    assert size(mail.html) > HTML_BUDGET * 0.9 or number in {1, 51}
    assert THANKS in mail.html
    assert mail.text.count("\n\n    > A remark on this paper,") == number
    assert all(f"https://arxiv.org/abs/2611.{n:05}\n" in mail.text for n in range(1, number + 1))
    shown = len(re.findall("<h3", mail.html))
    assert (shown == number) or f" {number - shown} more papers did not fit. " in visible(mail.html)


def test_day_that_fits_is_shown_whole() -> None:
    mail = render(digest(day(3)))
    assert mail.html.count((SENTENCE * 15).strip()) == 3
    assert "by title only" not in mail.html


def shape(page: Page) -> dict[str, int]:
    """How many papers are shown with what."""
    rows = [item for item in page.items if item.group == "also"]
    whole = [item for item in page.items if item.group != "also" and not item.brief]
    shown = {
        "named": len(page.over_cap),
        "whole": sum(len(item.abstract) > 400 for item in whole),
        "short": sum(len(item.abstract) <= 400 for item in whole),
        "rows": len(rows),
        "PDF": sum(bool(item.pdf_url) for item in rows),
        "authors": sum(bool(item.authors) for item in rows),
        "why": sum(bool(item.why) for item in rows),
        "titles": sum(item.bare for item in rows),
    }
    return {kind: number for kind, number in shown.items() if number}


def test_cuts_take_from_the_tail_first() -> None:
    """Names, then what stands under the titles of rows, kind by kind, then the rows; the abstracts of
    the three to read first only after it.
    """
    over = [entry(n, paper(f"2611.{n:05}")) for n in range(31, 41)]
    page = in_html(page_of(digest(day(30), over_cap=over)))
    assert shape(page) == {
        "named": 10, "whole": 3, "rows": 27, "PDF": 27, "authors": 27, "why": 27,
    }  # fmt: skip
    assert [len(numbers) for numbers, _ in steps(page)] == [7, 27, 27, 27, 27, 27, 3, 3, 3, 3]
    after = []
    for numbers, cut in steps(page):
        page = cut(page, numbers)
        after.append(shape(page))
    assert after == [
        {"named": 3, "whole": 3, "rows": 27, "PDF": 27, "authors": 27, "why": 27},
        {"named": 3, "whole": 3, "rows": 27, "authors": 27, "why": 27},
        {"named": 3, "whole": 3, "rows": 27, "why": 27},
        {"named": 3, "whole": 3, "rows": 27},
        {"named": 3, "whole": 3, "rows": 27, "titles": 27},
        {"named": 3, "whole": 3},
        {"named": 3, "short": 3},
        {"named": 3},
        {"named": 3},
        {},
    ]


def test_rows_are_cut_from_the_lowest_scores_whatever_their_section() -> None:
    topics = "- trees\n- graphs"
    relevances = [9, 9, 9, 8, 5, 7, 6]
    of = [
        entry(n, relevance=relevance, topic=1 if n in {4, 5} else 2)
        for n, relevance in enumerate(relevances, start=1)
    ]
    page = in_html(page_of(digest(of, mailing_list=mailing_list(topics=topics))))
    assert [item.rank for item in page.items] == [1, 2, 3, 4, 5, 6, 7]
    numbers, cut = steps(page)[0]
    assert [*numbers] == [5, 7, 6, 4]
    assert [item.rank for item in cut(page, numbers[:2]).items if not item.pdf_url] == [5, 7]


def test_rows_of_followed_authors_keep_all_but_become_titles_at_last() -> None:
    of = [entry(n, matched_author="Yoshua Bengio") for n in range(1, 7)]
    page = in_html(page_of(digest(of)))
    numbers, cut = steps(page)[0]
    assert [*numbers] == [6, 5, 4, 3, 2, 1]
    assert all(item.bare and item.pdf_url and item.why for item in cut(page, numbers).items)


def test_as_little_as_possible_is_cut() -> None:
    def draw(page: Page) -> str:
        return "x" * (
            1_000 + sum(100 if item.bare else 500 if item.brief else 1_500 for item in page.items)
        )

    whole = page_of(digest(day(60)))
    html = fitted(whole, draw, 30_000)
    assert html is not None
    assert 30_000 - 400 < len(html) <= 30_000
    assert fitted(whole, draw, 50_000) == draw(in_html(whole))
    assert fitted(whole, draw, 999) is None


@pytest.mark.long("thousands of papers")
def test_html_says_what_it_has_no_room_for() -> None:
    def said(number: int) -> str:
        return visible(
            render(digest(day(number, abstract=SENTENCE * 28, comment=SENTENCE * 3))).html
        )

    assert "by title only" not in said(30)
    assert re.search(
        r" \d+ papers above are listed by title only, to keep this email short enough to be shown in full\. ",
        said(400),
    )
    assert re.search(r" \d+ more papers did not fit\. ", said(600))
    assert "plain-text part" not in said(600), "few readers can open it"


NAMED = [paper(f"2611.2{n:04}", title=f"Left over {n:03} " + "and so on " * 12) for n in range(400)]


def of_named(number: int) -> dict[str, Digest]:
    papers = NAMED[:number]
    return {
        "carried over": digest(day(20), carried_over=papers),
        "let go": digest(day(20), let_go=papers),
        "over the cap": digest(
            day(20), over_cap=[entry(21 + n, left_over) for n, left_over in enumerate(papers)]
        ),
    }


@pytest.mark.parametrize("kind", of_named(0))
@pytest.mark.long("thousands of papers")
def test_papers_without_an_entry_are_named_as_far_as_the_bytes_allow(kind: str) -> None:
    few = render(of_named(30)[kind])
    many = render(of_named(400)[kind])
    assert [n for n in range(30) if f"Left over {n:03} " not in few.html] == []
    shown = len(set(re.findall(r"Left over (\d+) ", many.html)))
    assert 100 < shown < 400
    assert f"and {400 - shown} more" in visible(many.html)
    assert all(left_over.title.strip() in " ".join(many.text.split()) for left_over in NAMED)
    assert many.html.count((SENTENCE * 15).strip()) == 3, "no abstract goes for a name"


def test_long_list_of_authors_keeps_its_ends_and_followed_authors_in_both_parts() -> None:
    names = tuple(f"Author {n}" for n in range(100))
    mail = render(digest([entry(1, paper(authors=(*names[:50], "Yoshua Bengio", *names[50:])))]))
    assert "Author 5, …, Yoshua Bengio, …, Author 99 (101 authors)" in visible(mail.html)
    assert "Author 5, …, *Yoshua Bengio*, …, Author 99 (101 authors)" in " ".join(mail.text.split())


def test_cut_list_of_authors_keeps_its_last_name_before_et_al() -> None:
    names = tuple(f"Author {n}" for n in range(40))
    mail = render(digest([entry(1, paper(authors=(*names, "Ada Lovelace", "et al.")))]))
    assert "Author 5, …, Ada Lovelace, et al." in visible(mail.html)


def test_template_too_large_by_itself_is_reported(tmp_path: Path) -> None:
    shutil.copytree(EMAILS, tmp_path, dirs_exist_ok=True)
    template = tmp_path / "_masthead.mjml.j2"
    text = template.read_text("utf-8")
    assert "</h1>" in text
    template.write_text(text.replace("</h1>", "x" * 96_000 + "</h1>"), "utf-8")
    with pytest.raises(ConfigError, match=r"emails/digest.mjml.j2: .*95,000 bytes"):
        render(digest(), Templates.load([tmp_path]))
