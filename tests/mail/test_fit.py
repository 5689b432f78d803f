"""No mail is ever clipped, and what has to go goes fairly."""

from __future__ import annotations

import re
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from paperboy.errors import RenderError
from paperboy.mail.fit import size, squeezed, trimmed
from paperboy.mail.render import HTML_BUDGET, Renderer
from tests.builders import digest, entry, mailing_list, paper
from tests.mail.reading import EMAILS, THANKS, page_of, render, visible

SENTENCE = "Some twenty words of an abstract that goes on for a while stand here. "

HEAVY = [
    pytest.param(51, 1_300, 120, 5, id="a usual heavy day"),
    pytest.param(183, 2_000, 200, 12, id="a day of 183"),
    pytest.param(183, 2_000, 10_000, 300, id="a day of 183 with endless comments and authors"),
    pytest.param(3_000, 900, 100, 3, id="more papers than any HTML holds"),
    pytest.param(1, 90_000, 10_000, 3_000, id="one paper without measure"),
]


@pytest.mark.parametrize(("number", "abstract", "comment", "authors"), HEAVY)
def test_no_day_is_too_large(number: int, abstract: int, comment: int, authors: int) -> None:
    """The HTML keeps its budget and its end; the text drops nothing."""
    body, remark = (SENTENCE * 2_000)[:abstract], ("A remark on this paper. " * 500)[:comment].strip()
    names = (*(f"Author Number{n}" for n in range(authors - 1)), "Yoshua Bengio")
    of = digest(
        [entry(n, paper(f"2611.{n:05}", abstract=body, authors=names), comment=remark) for n in range(1, number + 1)]
    )
    mail = render(of)
    assert size(mail.html) <= HTML_BUDGET
    assert size(mail.html) > HTML_BUDGET * 0.8 or number == 1
    assert THANKS in mail.html
    assert mail.text.count("    > Why: A remark on this paper.") == number
    assert all(f"https://arxiv.org/abs/2611.{n:05}\n" in mail.text for n in range(1, number + 1))
    shown = len(re.findall("<h2", mail.html))
    assert (shown == number) or f"And {number - shown} more in the plain-text part" in mail.html


def test_a_day_that_fits_is_left_whole() -> None:
    body = SENTENCE * 20
    mail = render(digest([entry(1, paper(abstract=body))]))
    assert body.strip() in mail.html
    assert "shortened" not in mail.html


def test_squeezing_takes_from_the_lowest_rank_first_and_never_makes_more() -> None:
    whole = trimmed(page_of(digest([entry(n, paper(f"2611.{n:05}", abstract=SENTENCE * 25)) for n in (1, 2, 3)])))
    lengths = [tuple(len(item.abstract) for item in squeezed(whole, step).items) for step in range(19)]
    assert lengths[0] == (len(SENTENCE) * 25 - 1,) * 3
    assert lengths[1][:2] == lengths[0][:2]
    assert lengths[1][2] < lengths[0][2]
    assert lengths[3][0] == lengths[3][2]
    assert all(sum(after) <= sum(before) for before, after in pairwise(lengths))
    assert all(tuple(sorted(each, reverse=True)) == each for each in lengths), "a lower rank is never the longer"
    assert squeezed(whole, 21).items == ()
    assert squeezed(whole, 21).hidden == 3


def test_abstracts_are_shortened_at_the_end_of_a_sentence() -> None:
    whole = trimmed(page_of(digest([entry(1, paper(abstract=SENTENCE * 25))])))
    assert str(squeezed(whole, 2).items[0].abstract).endswith("stand here. …")


def test_the_contents_name_what_is_shown_and_give_way_before_a_paper_does() -> None:
    long = "A title that goes on and on, because its authors could not agree on fewer words than all of these"
    whole = trimmed(page_of(digest([entry(n, paper(f"2611.{n:05}", title=long)) for n in (1, 2, 3)])))
    assert [line.title for line in whole.contents] == [long] * 3
    assert all(line.url for line in squeezed(whole, 15).contents), "links, while every paper has more than a title"
    short = squeezed(whole, 17).contents
    assert len(short) == 3
    assert all(len(line.title) <= 62 and not line.url for line in short)
    assert [line.rank for line in squeezed(whole, 20).contents] == [1]


def test_a_long_list_of_authors_loses_its_middle_and_no_followed_author() -> None:
    names = tuple(f"Author {n}" for n in range(100))
    mail = render(digest([entry(1, paper(authors=(*names[:50], "Yoshua Bengio", *names[50:])))]))
    assert "Author 5, …, Yoshua Bengio, …, Author 99 (101 authors)" in visible(mail.html)
    assert all(name in " ".join(mail.text.split()) for name in names)


def test_followed_authors_are_named_however_many_wrote_a_paper() -> None:
    followed = tuple(f"Followed {n}" for n in range(60))
    others = tuple(f"Author {n}" for n in range(2_940))
    of = digest([entry(1, paper(authors=others + followed))], mailing_list=mailing_list(authors=followed))
    shown = visible(render(of).html)
    assert all(f"{name}," in shown for name in followed[:-1])
    assert "(3,000 authors)" in shown


def test_a_template_that_is_too_large_by_itself_is_told(tmp_path: Path) -> None:
    shutil.copytree(EMAILS, tmp_path, dirs_exist_ok=True)
    template = tmp_path / "_masthead.mjml.j2"
    template.write_text(template.read_text("utf-8").replace("<h1>", "<h1>" + "x" * 96_000), "utf-8")
    with pytest.raises(RenderError, match=r"emails/digest.mjml.j2: .*95,000 bytes"):
        render(digest(), Renderer([tmp_path]))
