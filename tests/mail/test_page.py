"""A digest as words and numbers for readers."""

from __future__ import annotations

from datetime import date

import pytest

from paperboy.mail.page import money
from paperboy.models import Score
from tests.builders import digest, entries, entry, mailing_list, paper
from tests.mail.reading import page_of


def titled(*titles: str, name: str = "Graphs") -> str:
    of = [entry(rank, paper(f"2611.{rank:05}", title=title)) for rank, title in enumerate(titles, 1)]
    return page_of(digest(of, mailing_list=mailing_list(title=name), date=date(2026, 3, 2))).subject


def test_the_subject_carries_the_first_title_where_it_fits() -> None:
    assert titled("On $k$-trees") == "Graphs, 2 Mar: 1 paper · On k-trees"
    assert titled("On trees", "On graphs") == "Graphs, 2 Mar: 2 papers · On trees"


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("TreeLab Two: A very long explanation of what the trees in it are good for", " · TreeLab Two"),
        ("TreeLab: A very long explanation of what the trees in it are good for", ""),
        ("Is this a tree? A very long answer to the question that nobody asked here", " · Is this a tree?"),
        ("Trees that grow - a very long explanation of how and when and where they do", " · Trees that grow"),
        ("A very long title that has no clause at which anybody could cut it short", ""),
        ("A very long title that has its colon far too late for any inbox: this one", ""),
    ],
)
def test_of_a_title_too_long_for_the_subject_only_what_stands_before_its_colon(title: str, shown: str) -> None:
    assert titled(title) == "Graphs, 2 Mar: 1 paper" + shown


@pytest.mark.parametrize(("length", "fits"), [(45, True), (46, False)])
@pytest.mark.parametrize("joint", [": ", " - "])
def test_a_head_that_just_fits_is_taken(length: int, joint: str, *, fits: bool) -> None:
    """The subject is 70 characters wide."""
    subject = titled("A " + "x" * (length - 2) + joint + "and the rest of it")
    assert (len(subject) == 70) == fits
    assert subject.endswith("x") == fits


def test_a_subject_is_never_as_long_as_a_lists_title_may_be() -> None:
    assert titled("On trees", name="word " * 60).endswith("word …, 2 Mar: 1 paper")
    assert len(titled("On trees", name="word " * 60)) < 125


def test_a_long_name_of_a_list_leaves_no_room_for_a_title() -> None:
    assert titled("On trees", name="L" * 60) == "L" * 60 + ", 2 Mar: 1 paper"


def test_the_preheader_goes_on_where_the_subject_ends() -> None:
    of = [entry(rank, paper(f"2611.{rank:05}", title=f"Paper {rank}")) for rank in (1, 2, 3)]
    short = page_of(digest(of, mailing_list=mailing_list(title="Graphs")))
    assert short.subject.endswith("Paper 1")
    assert short.preheader == "Paper 2 · Paper 3"
    long = page_of(
        digest(of, mailing_list=mailing_list(title="A list with quite a long name, which takes all the room"))
    )
    assert long.preheader == "Paper 1 · Paper 2 · Paper 3"
    head = [entry(1, paper(title="Paper one: the whole of a very long story about the first of all papers")), *of[1:]]
    after_it = page_of(digest(head, mailing_list=mailing_list(title="Graphs")))
    assert after_it.subject.endswith("Paper one")
    assert after_it.preheader == "Paper 2 · Paper 3"
    alone = page_of(digest(of[:1], mailing_list=mailing_list(title="Graphs")))
    assert alone.preheader == "Paper 1"


def test_the_preheader_is_as_long_as_an_inbox_shows() -> None:
    many = page_of(digest([entry(n, paper(f"2611.{n:05}", title="Is this a long title? Yes")) for n in range(1, 9)]))
    assert 100 <= len(many.preheader) <= 132


def test_the_figures_add_up_level_by_level() -> None:
    of = digest(
        [entry(1, matched_author="Yoshua Bengio"), entry(2), entry(3)],
        over_cap=[entry(4)],
        let_go=[paper("2611.10004")],
        carried_over=[paper("2611.10005"), paper("2611.10006")],
        below=1_000,
    )
    figures = page_of(of).figures
    assert [(figure.label, figure.number) for figure in figures] == [
        ("Total arXiv papers", "1,007"),
        ("Scanned", "1,004"),
        ("Relevant", "3"),
        ("by authors this list follows", "1"),
        ("by their scores", "2"),
        ("Passed, beyond the 50 that this list takes", "1"),
        ("Below the thresholds", "1,000"),
        ("Not scored, and back on the next morning", "2"),
        ("Not scored, and let go", "1"),
    ]
    for place, total in enumerate(figures):
        parts = []
        for figure in figures[place + 1 :]:
            if figure.depth <= total.depth:
                break
            if figure.depth == total.depth + 1:
                parts.append(int(figure.number.replace(",", "")))
        assert not parts or sum(parts) == int(total.number.replace(",", ""))


def test_figures_that_are_nothing_are_not_shown() -> None:
    assert [figure.label for figure in page_of(digest()).figures] == [
        "Total arXiv papers",
        "Scanned",
        "Relevant",
        "Below the thresholds",
    ]


@pytest.mark.parametrize(
    ("arxiv_id", "html_url"),
    [
        ("2611.00001", "https://arxiv.org/html/2611.00001"),
        ("2312.00001", "https://arxiv.org/html/2312.00001"),
        ("2311.00001", ""),
        ("0704.0001", ""),
        ("astro-ph/0601001", ""),
    ],
)
def test_only_papers_that_arxiv_made_html_of_link_to_it(arxiv_id: str, html_url: str) -> None:
    item = page_of(digest([entry(1, paper(arxiv_id))])).items[0]
    assert item.html_url == html_url
    assert item.pdf_url == f"https://arxiv.org/pdf/{arxiv_id}"


@pytest.mark.parametrize(
    ("comment", "shown"),
    [
        (
            "**Strong** result; uses `torch.compile` in `__init__`.",
            "Strong result; uses torch.compile in __init__.",
        ),
        ("**Uses `x` for y**, then `z`; `**` stays", "Uses x for y, then z; ** stays"),
        ("### Why\n- first\n- second", "Why first second"),
        ("1. Proves it.\n2. Tests it.", "Proves it. Tests it."),
        ("2 ** 3 and a_b__c stay, as do `` and **", "2 ** 3 and a_b__c stay, as do `` and **"),
        ("For $x^2$ it holds.", "For x² it holds."),
    ],
)
def test_a_comment_loses_its_markdown(comment: str, shown: str) -> None:
    item = page_of(digest([entry(1, comment=comment)])).items[0]
    assert str(item.comment) == shown


@pytest.mark.parametrize(
    ("dollars", "words"),
    [(0, "$0.00"), (0.00001, "under $0.0001"), (0.0263, "$0.0263"), (0.4, "$0.40"), (1234, "$1,234.00")],
)
def test_money_is_never_rounded_to_nothing(dollars: float, words: str) -> None:
    assert money(dollars) == words


def test_a_single_paper_needs_no_contents() -> None:
    assert page_of(digest(entries(1))).contents == ()
    assert [line.title for line in page_of(digest(entries(2))).contents] == [
        "On the Learning of Paper 2611.00001",
        "On the Learning of Paper 2611.00002",
    ]


def test_a_score_without_novelty_has_none_to_show() -> None:
    of = entry(1, novelty=None)
    assert of.score == Score(8, None, of.score.comment)
    assert page_of(digest([of])).items[0].novelty is None
