"""The morning in brief: an LLM's sentences with links to their papers, or a sentence of ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import lxml.html
import pytest

from paperboy.models import BriefSentence, Digest, Entry, Spending
from tests.builders import EMBEDDED, digest, entries, entry, mailing_list, paper
from tests.mail.reading import flat, online, page_of, render, visible

TITLES = (
    "Attention: a survey",
    "Learning on graphs",
    "Graphs: all of them",
    "w" * 60 + " and more",
)
PAPERS = [paper(f"2611.0000{n}", title=title) for n, title in enumerate(TITLES, 1)]
ONE, TWO, THREE, FOUR = (of.id for of in PAPERS)
WHY = "It explains why wide networks generalise."


def briefed(*sentences: tuple[str, Sequence[str]], **changes: Any) -> Digest:
    """A digest of those papers that an LLM says these sentences of."""
    of = [entry(rank, paper) for rank, paper in enumerate(PAPERS, 1)]
    brief = tuple(BriefSentence(text, tuple(ids)) for text, ids in sentences)
    return replace(digest(of, **changes), brief=brief)


def lead(html: str) -> list[lxml.html.HtmlElement]:
    """The paragraphs before everything else."""
    return lxml.html.document_fromstring(html).xpath("//p[@class='l']")


def said(of: Digest) -> tuple[str, str]:
    """The first paragraphs of both parts, in which a link is [words|id]."""
    mail = render(of)
    paragraphs = lead(mail.html)
    for link in [link for each in paragraphs for link in each.iter("a")]:
        arxiv_id = link.get("href").removeprefix("https://arxiv.org/abs/")
        link.text = f"[{link.text_content()}|{arxiv_id}]"
    in_text = mail.text.partition("2026\n")[2].partition(" new papers ")[0]
    in_text = in_text.rpartition("\n\n")[0]
    in_html = " ".join(paragraph.text_content() for paragraph in paragraphs)
    return flat(in_html).replace("\u00a0", " "), flat(in_text)


@pytest.mark.parametrize(
    ("text", "links", "in_html", "in_text"),
    [
        (
            "Attention is all there is.",
            {ONE: "Attention"},
            f"[Attention|{ONE}] is all there is.",
            "Attention is all there is [1].",
        ),
        (
            "Two works agree.",
            {TWO: "Two Works", ONE: ""},
            f"Two works agree ([Learning on graphs|{TWO}], [Attention|{ONE}]).",
            "Two works agree [1] [2].",
        ),
        (
            "What graphs knew, attention proves!",
            {ONE: "attention proves!", TWO: "What graphs"},
            f"[What graphs|{TWO}] knew, [attention proves!|{ONE}]",
            "What graphs knew, attention proves! [1] [2]",
        ),
        # one word that is no name
        (
            "Größe of graphs.",
            {TWO: "graphs", FOUR: "Größe"},
            f"Größe of graphs ([Learning on graphs|{TWO}], [{'w' * 40} …|{FOUR}]).",
            "Größe of graphs [2] [4].",
        ),
        # words within words, and such as are linked already
        (
            "Via graphs, a graph is.",
            {TWO: "a graph", THREE: "graph is"},
            f"Via graphs, [a graph|{TWO}] is (also: [Graphs|{THREE}]).",
            "Via graphs, a graph is [2] [3].",
        ),
        # no space separates words
        ("注意力就是一切。", {ONE: "注意力"}, f"[注意力|{ONE}]就是一切。", "注意力就是一切 [1]。"),
        # no half of a formula
        (
            r"All $M_{\rm a b}$ merge.",
            {TWO: "a b"},
            f"All Ma b merge ([Learning on graphs|{TWO}]).",
            "All M_(a b) merge [2].",
        ),
        ("Long.", {FOUR: r"$\,$"}, f"Long ([{'w' * 40} …|{FOUR}]).", "Long [4]."),
    ],
)  # fmt: skip
def test_sentence_links_each_paper_at_the_words_that_mean_it_or_else_at_its_end(
    text: str, links: dict[str, str], in_html: str, in_text: str
) -> None:
    """The text part has the papers' ranks."""
    of = replace(briefed(), brief=(BriefSentence(text, tuple(links), tuple(links.values())),))
    assert said(of) == (in_html, in_text)


def test_title_that_begins_with_a_colon_has_a_name() -> None:
    of = replace(
        digest([entry(1, paper(ONE, title=": a title"))]), brief=(BriefSentence("It.", (ONE,)),)
    )
    assert said(of) == (f"It ([: a title|{ONE}]).", "It [1].")


def test_papers_that_a_sentence_does_not_name_are_its_more() -> None:
    said = BriefSentence("Attention and others.", (ONE, TWO), ("Attention",))
    [sentence] = page_of(replace(briefed(), brief=(said,))).brief
    assert sentence.text == "Attention and others"
    assert [(piece.text.marked, piece.url[-10:]) for piece in sentence.pieces] == [
        ("Attention", ONE),
        (" and others", ""),
    ]
    assert [(piece.text, piece.url[-10:]) for piece in sentence.more] == [
        ("Learning on graphs", TWO)
    ]
    assert (sentence.end, sentence.ranks) == (".", (1, 2))


def test_sentence_about_papers_that_are_gone_is_dropped() -> None:
    """As after an edit of the list; papers that are left keep theirs."""
    of = briefed(("Gone.", ["2611.99999"]), ("Half.", ["2611.99999", TWO]), ("None.", []))
    assert said(of) == (f"Half ([Learning on graphs|{TWO}]).", "Half [2].")
    assert said(replace(of, brief=of.brief[:1])) == (WHY, WHY)


def test_brief_is_by_its_model_and_only_where_there_is_one() -> None:
    mail = render(briefed(("It is.", [ONE])))
    assert " · summary written by gpt\u20116\u2011luna · " in visible(mail.html)
    assert " · summary written by gpt-6-luna · " in flat(mail.text)
    mail = render(briefed())
    assert "summary written" not in visible(mail.html) + flat(mail.text)


def test_followed_authors_stand_below_a_brief_in_a_sentence_of_ours() -> None:
    of = briefed(("It is.", [TWO]), mailing_list=mailing_list(authors=("Ö & <b>", "Bo Li")))
    first = replace(of.entries[0], matched_authors=("Ö & <b>", "Bo Li"))
    of = replace(
        of,
        entries=(first, *of.entries[1:]),
        counts=replace(of.counts, author_matches=1, selected=3),
    )
    people = "One paper by Ö & <b> and Bo Li, whom you follow."
    assert said(of) == (
        f"It is ([Learning on graphs|{TWO}]). {people}",
        f"It is [2]. {people}",
    )


def test_brief_is_in_the_lists_language_and_our_sentence_in_that_of_its_words() -> None:
    """The best paper's comment is an LLM's, too; its abstract is in English."""

    def languages(list_language: str, **changes: Any) -> tuple[str, str | None]:
        of = mailing_list(language=list_language, topics="- trees\n- graphs")
        html = render(
            digest([entry(topic=changes.pop("topic", None))], mailing_list=of, **changes)
        ).html
        return lxml.html.document_fromstring(html).get("lang"), lead(html)[0].get("lang")

    brief = (BriefSentence("Es ist.", (ONE,)),)
    assert languages("nl", brief=brief) == ("en", "nl")
    assert languages("nl") == ("en", "nl")
    assert languages("nl", model=EMBEDDED) == ("en", None)
    assert languages("nl", topic=1) == ("en", None)
    assert languages("de", brief=brief) == ("de", None)
    assert languages("de") == ("de", None)
    assert languages("de", model=EMBEDDED) == ("de", "en")
    assert languages("de", topic=1) == ("de", None)


HOSTILE = [
    "<script>alert(1)</script> & more",
    "\"quoted\" 'title' {{ page }} {% if %}",
    "See evil.com or www.evil.com, user@evil.com and javascript:alert(1)",
    "\u202eright to left\0\x07",
    "<mj-text>",
    "a $<b>$ c",
]


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_sentence_is_escaped_and_has_no_live_link(hostile: str) -> None:
    of = briefed((hostile, [ONE]))
    mail = render(of)
    for html in (mail.html, online(of)):
        assert not re.search(r"<(?:script|b>|mj-)|[\0\x07\u202e]", html)
        for paragraph in lead(html):
            assert {link.get("href") for link in paragraph.iter("a")} == {
                f"https://arxiv.org/abs/{ONE}"
            }
    assert not re.search(r"[\0\x07\u202e]", mail.text)
    for part in (lead(mail.html)[0].text_content(), mail.text.partition("CONTENTS")[0]):
        assert not re.search(r"\bevil\.com|www\.|@evil|javascript:", part)


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("sentence", ["{}", "It says so."], ids=["named", "not named"])
def test_hostile_words_are_escaped_and_link_to_their_paper(hostile: str, sentence: str) -> None:
    name = hostile[:40]
    of = replace(
        digest([entry(1, paper(ONE, title=f"{name}: x"))]),
        brief=(BriefSentence(sentence.format(name), (ONE,), (name,)),),
    )
    html = render(of).html
    assert not re.search(r"<(?:script|b>|mj-)|[\0\x07\u202e]", html)
    [link] = lead(html)[0].iter("a")
    assert link.get("href") == f"https://arxiv.org/abs/{ONE}"


# --- a sentence of ours, where no LLM says one

FOLLOWED = ("Ada Byron", "Bo Li", "Cy Fu", "Di Wu")
TREES = mailing_list(topics="- trees\n- Dwarf galaxies\n- LLMs", authors=FOLLOWED)


def on(topic: int | None, number: int, first: int = 1) -> list[Entry]:
    return [entry(rank, topic=topic) for rank in range(first, first + number)]


def by(names: tuple[str, ...], rank: int, topic: int | None = None) -> Entry:
    return replace(entry(rank, topic=topic), matched_authors=names)


@pytest.mark.parametrize(
    ("of", "sentence"),
    [
        (on(1, 1), "One of 11 new papers, on trees."),
        (on(1, 9), "Nine papers, all on trees."),
        (on(2, 13), "13 papers, all on dwarf galaxies."),
        # a name that has capitals keeps them all
        (on(3, 2), "Two papers, both on LLMs."),
        # most is more than half, of all papers
        ([*on(1, 3), *on(None, 2, 4)], "Five papers, most on trees."),
        # less than that says nothing of the day, unlike its best paper
        ([*on(1, 2), *on(2, 2, 3)], WHY),
        ([*on(1, 2), *on(None, 2, 3)], WHY),
        (on(None, 1), WHY),
        ([entry(n, comment="") for n in range(1, 4)], "Three papers."),
        ([by(("Ada Byron",), 1)], "One of 11 new papers, by Ada Byron, whom you follow."),
        (
            [by(("Ada Byron",), 1), by(("Bo Li",), 2)],
            "Two papers by Ada Byron and Bo Li, whom you follow.",
        ),
        (
            [by(("Ada Byron",), 1, topic=1), by(("Bo Li",), 2, topic=1)],
            "Two papers, both on trees; both by Ada Byron and Bo Li, whom you follow.",
        ),
        (
            [by(FOLLOWED, 1), *on(None, 1, 2)],
            "Two papers, one by authors you follow: Ada Byron, Bo Li, Cy Fu and 1 more.",
        ),
        (
            [by(("Bo Li",), 1), by(("Ada Byron",), 2), *on(1, 7, 3)],
            "Nine papers, most on trees; two by Ada Byron and Bo Li, whom you follow.",
        ),
    ],
)
def test_without_a_brief_a_sentence_says_what_there_is(of: list[Entry], sentence: str) -> None:
    assert said(digest(of, mailing_list=TREES)) == (sentence, sentence)


def test_list_without_topics_or_llm_has_our_sentence_too() -> None:
    unscored = replace(by(("Ada Byron",), 1), score=None)
    of = digest([unscored], mailing_list=replace(TREES, topics=""))
    assert said(of) == ("One of 11 new papers, by Ada Byron, whom you follow.",) * 2
    of = digest(
        entries(3, novelty=None, comment="Shares with the topics: trees."),
        model=EMBEDDED,
        mailing_list=TREES,
    )
    assert said(of) == ("We study how papers are learned. The method is simple.",) * 2


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "Words in common with the topics:"), ("de", "Gemeinsame Wörter mit den Themen:")],
)
def test_shared_words_are_introduced_in_the_language_of_the_mail(language: str, said: str) -> None:
    ours = mailing_list(language=language)
    shares = "Shares with the topics: trees, graphs"  # as an earlier version stored it, too
    shown = entry(novelty=None, comment=shares)
    of = digest([shown], mailing_list=ours, model=EMBEDDED, spending=Spending())
    note = digest([], nearest=(shown,), mailing_list=ours, model=EMBEDDED, spending=Spending())
    mail = render(of)
    for part in (visible(mail.html), flat(mail.text), flat(render(note).text)):
        assert f" {said} trees, graphs. " in part
        assert "Shares with" not in part


def test_page_online_speaks_of_the_list_and_not_to_anybody() -> None:
    of = digest([by(("Ada Byron",), 1), *on(1, 6, 2)], mailing_list=TREES)
    assert flat(lead(online(of))[0].text_content()).replace("\u00a0", " ") == (
        "Seven papers, most on trees; one by Ada Byron, whom this list follows."
    )
    assert " you" not in visible(online(of)).replace("Thank you", "")
