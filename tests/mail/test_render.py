"""What a reader sees: everything that belongs in a digest, whatever arXiv, the LLM and the operator wrote."""

from __future__ import annotations

import html as entities
import re
import shutil
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paperboy.errors import ConfigError, RenderError
from paperboy.mail.fit import size, squeezed, trimmed
from paperboy.mail.page import money, page
from paperboy.mail.render import HTML_BUDGET, Renderer
from paperboy.mail.text import one_line, shorten, wrap
from paperboy.models import Counts, Digest, Rendered, Spending, Usage
from tests.builders import EMBEDDED, digest, entries, entry, mailing_list, paper

EMAILS = Path(__file__).parents[2] / "emails"
RENDERER = Renderer([EMAILS])
THANKS = "Thank you to arXiv for use of its open access interoperability."
SENTENCE = "Some twenty words of an abstract that goes on for a while stand here. "


def render(of: Digest) -> Rendered:
    return RENDERER.digest(of, unsubscribe_address="papers@example.org")


def visible(html: str) -> str:
    """The words of the HTML on one line."""
    body = re.sub(r"<!--.*?-->", "", html.partition("<body")[2], flags=re.DOTALL)
    body = re.sub(r"</?(?:a|b|span)\b[^>]*>", "", "<" + body)
    return " ".join(entities.unescape(re.sub(r"<[^>]*>", " ", body)).split())


def flat(text: str) -> str:
    return " ".join(text.split())


def rich() -> Digest:
    """Two author matches of a list of authors and one paper that was selected, and something of all the rest."""
    matched = paper(
        "2611.10001", title="First & foremost", authors=("Ann Ö", "YOSHUA BENGIO"), primary_category="cs.AI"
    )
    return digest(
        [
            entry(1, matched, relevance=3, novelty=2, comment="Known author.", matched_author="Yoshua Bengio"),
            entry(2, paper("2611.10002", title="CO$_2$ with $a<b$"), relevance=9, novelty=None, comment="Why: x < y."),
        ],
        mailing_list=mailing_list(topics="Deep theory.\n\nNo <applications>.", authors=("Yoshua Bengio", "Yann LeCun")),
        over_cap=[entry(3, paper("2611.10003", title="Beyond the cap"))],
        let_go=[paper("2611.10004", title="Never scored")],
        carried_over=[paper("2611.10005", title="Back tomorrow")],
    )


def test_both_parts_carry_the_whole_digest() -> None:
    mail = render(rich())
    for part in (visible(mail.html), flat(mail.text)):
        for words in (
            "Friday, 20 November 2026",
            "2 papers of 15 new ones in cs.LG, stat.ML, 1 by authors this list follows, for about $0.03.",
            "First & foremost",
            "CO₂ with",
            "Ann Ö",
            "Author match: Yoshua Bengio",
            "Known author.",
            "Why: x < y.",
            "arXiv:2611.10001",
            "cs.AI",
            "18 Nov 2026",
            "We study how papers are learned. The method is simple.",
            "gpt-6-luna",
            "Deep theory.",
            "No <applications>.",
            "15 papers were new to this list: 13 scanned, 1 carried over to the next morning, 1 let go.",
            "Of the 13 scanned, 1 came by an author match, 1 was selected, 1 passed over the cap, and 10 stayed below",
            "Never scored",
            "1 paper.",
            "Your address is on the list Foundations of machine learning.",
            "papers@example.org",
            THANKS,
        ):
            assert words in part
        for column in ("Prompt", "15,992", "Completion", "1,287", "Total", "17,279", "$0.0160", "$0.0103", "$0.0263"):
            assert column in part
    assert "Total arXiv papers 15 · scanned 13 · relevant 2" in visible(mail.html)
    assert "Relevance 9 · cs.LG" in visible(mail.html), "no novelty where the scorer gave none"
    assert "Relevance 3 · Novelty 2" in visible(mail.html)
    assert "<b>YOSHUA BENGIO</b>" in mail.html, "the followed author stands out, however the name is written"
    assert "*YOSHUA BENGIO*" in mail.text


def test_titles_link_to_arxiv_and_no_other_address_is_in_the_html() -> None:
    links = set(re.findall(r'href="([^"]*)"', render(rich()).html))
    assert links == {
        "https://arxiv.org/abs/2611.10001",
        "https://arxiv.org/abs/2611.10002",
        "https://arxiv.org/abs/2611.10004",
        "mailto:papers@example.org?subject=unsubscribe%20foundations",
    }


def test_nothing_is_loaded_from_elsewhere() -> None:
    html = render(rich()).html
    assert not re.search(r"<(?:img|link|script|iframe)|@import|url\(|\ssrc=", html)
    assert "<mj-" not in html
    assert "prefers-color-scheme:dark" in html


def test_papers_beyond_the_cap_are_a_number_in_html_and_named_in_the_text() -> None:
    mail = render(rich())
    assert "Beyond the cap" not in mail.html
    assert "1 paper, named in the plain-text part" in visible(mail.html)
    assert "Beyond the cap" in mail.text
    assert "https://arxiv.org/abs/2611.10003" in mail.text


def test_an_unknown_price_is_said_and_never_zero() -> None:
    mail = render(digest(spending=Spending(Usage(prompt_tokens=900, completion_tokens=100), cost=None)))
    for part in (mail.html, mail.text):
        assert "price unknown" in part
        assert "$" not in part


def test_the_embedded_scorer_is_named_as_what_it_is() -> None:
    mail = render(digest([entry(novelty=None)], model=EMBEDDED, spending=Spending()))
    for part in (visible(mail.html), flat(mail.text)):
        assert "No LLM judged these papers." in part
        assert "Prompt" not in part
        assert "Novelty: at least" not in part
        assert "novelty of at least" not in part


@pytest.mark.parametrize(
    ("dollars", "words"),
    [(0, "$0.00"), (0.00001, "under $0.0001"), (0.0263, "$0.0263"), (0.4, "$0.40"), (1234, "$1,234.00")],
)
def test_money_is_never_rounded_to_nothing(dollars: float, words: str) -> None:
    assert money(dollars) == words


def test_a_note_says_that_papers_came_and_none_passed() -> None:
    mail = RENDERER.note(digest([], below=123), unsubscribe_address="papers@example.org")
    assert mail.subject == "Foundations of machine learning, 20 Nov: no relevant papers today"
    for part in (visible(mail.html), flat(mail.text)):
        assert "No relevant papers today. 123 new papers came in cs.LG, stat.ML" in part
        assert "and 123 stayed below the thresholds" in part
        assert THANKS in part


def test_the_subject_carries_the_first_title_where_it_fits() -> None:
    short = [entry(1, paper(title="On $k$-trees"))]
    of = digest(short, mailing_list=mailing_list(title="Graphs"), date=date(2026, 3, 2))
    assert render(of).subject == "Graphs, 2 Mar: 1 paper · On k-trees"
    long = digest([entry(1, paper(title="A long title " * 5))], mailing_list=mailing_list(title="Graphs"))
    assert render(long).subject == "Graphs, 20 Nov: 1 paper"


def test_plain_text_is_wrapped() -> None:
    assert max(map(len, render(rich()).text.splitlines())) <= 76


# --- the size

HEAVY = [
    pytest.param(51, 1_300, 120, 5, id="a usual heavy day"),
    pytest.param(183, 2_000, 200, 12, id="a day of 183"),
    pytest.param(183, 2_000, 10_000, 300, id="a day of 183 with endless comments and authors"),
    pytest.param(3_000, 900, 100, 3, id="more papers than any HTML holds"),
]


@pytest.mark.parametrize(("number", "abstract", "comment", "authors"), HEAVY)
def test_no_day_is_too_large(number: int, abstract: int, comment: int, authors: int) -> None:
    """The HTML keeps its budget and its end; the text drops nothing."""
    body, remark = (SENTENCE * 100)[:abstract], ("A remark on this paper. " * 500)[:comment].strip()
    names = (*(f"Author Number{n}" for n in range(authors - 1)), "Yoshua Bengio")
    of = digest(
        [entry(n, paper(f"2611.{n:05}", abstract=body, authors=names), comment=remark) for n in range(1, number + 1)]
    )
    mail = render(of)
    assert HTML_BUDGET * 0.8 < size(mail.html) <= HTML_BUDGET
    assert THANKS in mail.html
    assert mail.text.count("    > A remark on this paper.") >= number
    assert all(f"https://arxiv.org/abs/2611.{n:05}\n" in mail.text for n in range(1, number + 1))
    shown = len(re.findall("<h2", mail.html))
    assert (shown == number) or f"And {number - shown} more in the plain-text part" in mail.html


def test_a_day_that_fits_is_left_whole() -> None:
    body = SENTENCE * 20
    mail = render(digest([entry(1, paper(abstract=body))]))
    assert body.strip() in mail.html
    assert "shortened" not in mail.html


def test_squeezing_takes_from_the_lowest_rank_first_and_never_makes_more() -> None:
    whole = trimmed(
        page(digest([entry(n, paper(f"2611.{n:05}", abstract=SENTENCE * 25)) for n in (1, 2, 3)]), "a@b.org")
    )
    lengths = [tuple(len(item.abstract) for item in squeezed(whole, step).items) for step in range(19)]
    assert lengths[0] == (len(SENTENCE) * 25 - 1,) * 3
    assert lengths[1][:2] == lengths[0][:2]
    assert lengths[1][2] < lengths[0][2]
    assert lengths[3][0] == lengths[3][2]
    assert all(sum(after) <= sum(before) for before, after in pairwise(lengths))
    assert all(tuple(sorted(each, reverse=True)) == each for each in lengths), "a lower rank is never the longer"
    assert squeezed(whole, 21).items == ()
    assert squeezed(whole, 21).hidden == 3


def test_a_long_list_of_authors_loses_its_middle_and_no_followed_author() -> None:
    names = tuple(f"Author {n}" for n in range(100))
    of = digest([entry(1, paper(authors=(*names[:50], "Yoshua Bengio", *names[50:])))])
    mail = render(of)
    words = "Author 5, …, Yoshua Bengio, …, Author 99 (101 authors)"
    assert words in visible(mail.html)
    assert all(name in flat(mail.text) for name in names)


def test_a_template_that_is_too_large_by_itself_is_told(tmp_path: Path) -> None:
    shutil.copytree(EMAILS, tmp_path, dirs_exist_ok=True)
    template = tmp_path / "digest.mjml.j2"
    template.write_text(template.read_text("utf-8").replace("<h1>", "<h1>" + "x" * 96_000), "utf-8")
    with pytest.raises(RenderError, match=r"emails/digest.mjml.j2: .*95,000 bytes"):
        Renderer([tmp_path]).digest(digest(), unsubscribe_address="papers@example.org")


# --- hostile and odd input

ODD = [
    "<script>alert(1)</script>",
    "a < b && c > d",
    "\"quoted\" & 'quoted'",
    "one\ntwo",
    "nul\0 bell\x07 esc\x1b",
    "\u202eright to left",
    "\ud800 lone",
    "\ufffe \uffff",
    "e\u0301 and 🙂",
    "{{ page }} {% if %}",
    "<mj-text>",
    "back\\slash %s",
    "w" * 5_000,
    "",
]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_odd_text_anywhere_gives_a_good_mail(odd: str) -> None:
    of = digest(
        [
            entry(
                1, paper(title=odd, abstract=odd, authors=(odd,), primary_category=odd), comment=odd, matched_author=odd
            )
        ],
        mailing_list=mailing_list(title=odd, topics=odd, authors=(odd,)),
        model=replace(digest().model, name=odd),
        let_go=[paper("2611.00009", title=odd)],
    )
    mail = render(of)
    assert size(mail.html) <= HTML_BUDGET
    assert THANKS in mail.html
    assert not re.search("<script|<mj-", mail.html)
    assert not re.search("[\0\x07\x1b\u202e\ud800\ufffe\uffff]", mail.html + mail.text + mail.subject)
    assert "\n" not in mail.subject
    if odd and len(odd) < 100 and "\\" not in odd:
        assert one_line(odd) in visible(mail.html)
        assert one_line(odd) in flat(mail.text)


def test_a_title_in_an_attribute_survives_mjml() -> None:
    """MJML writes attributes as Rust would: quotes and backslashes must come as entities."""
    html = render(digest(mailing_list=mailing_list(title='A "b" \\ c é'))).html
    assert entities.unescape(re.findall(r'aria-label="([^"]*)"', html)[0]) == 'A "b" \\ c é, Friday, 20 November 2026'


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.text(max_size=60), st.text(max_size=600))
def test_any_paper_renders_and_reads_back(title: str, name: str, abstract: str) -> None:
    mail = render(digest([entry(1, paper(title=title, authors=(name,), abstract=abstract))]))
    assert size(mail.html) <= HTML_BUDGET
    assert one_line(name) in visible(mail.html)
    assert one_line(name) in flat(mail.text)
    mail.html.encode()


def test_a_paper_without_anything_still_has_an_entry() -> None:
    mail = render(digest([entry(1, paper(title="", abstract="", authors=()), comment="")]))
    assert "(no title)" in visible(mail.html)
    assert "(no title)" in mail.text


# --- the operator's templates


def changed(tmp_path: Path, name: str, text: str) -> Renderer:
    """A renderer whose home overrides one template."""
    (tmp_path / name).write_text(text, "utf-8")
    return Renderer([tmp_path, EMAILS])


def test_the_templates_we_ship_are_in_order() -> None:
    RENDERER.check()


def test_an_operator_overrides_one_file_and_inherits_the_rest(tmp_path: Path) -> None:
    renderer = changed(tmp_path, "_counts.txt.j2", "Counted.")
    renderer.check()
    mail = renderer.digest(digest(), unsubscribe_address="papers@example.org")
    assert "Counted." in mail.html
    assert "Counted." in mail.text


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("digest.txt.j2", "one\n{% if %}\n", r"^emails/digest\.txt\.j2:2: "),
        ("digest.txt.j2", "one\n\n{{ page.titel }}\n", r"^emails/digest\.txt\.j2:3: .*titel"),
        ("_entry.mjml.j2", "<p>\n{{ item.nonsense }}</p>", r"^emails/_entry\.mjml\.j2:2: .*nonsense"),
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
    (tmp_path / "_badge.j2").write_text("{{ item.title }}")
    hostile = digest([entry(of=paper(title="<script>alert(1)</script>"))])
    html = Renderer([tmp_path, EMAILS]).digest(hostile, unsubscribe_address="papers@example.org").html
    assert "<script" not in html


def test_a_template_that_includes_itself_is_told(tmp_path: Path) -> None:
    (tmp_path / "note.txt.j2").write_text('{% include "note.txt.j2" %}')
    with pytest.raises(ConfigError, match=r"emails/note\.txt\.j2:1"):
        Renderer([tmp_path, EMAILS]).check()


def test_templates_that_are_nowhere_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"emails/digest\.mjml\.j2: there is no template"):
        Renderer([tmp_path]).digest(digest(), unsubscribe_address="papers@example.org")


# --- the small parts


def test_a_text_is_cut_at_the_end_of_a_sentence() -> None:
    text = "We follow J. Doe et al. here, e.g. This holds. It ends later than the limit allows it to do so."
    assert shorten(text, 60) == "We follow J. Doe et al. here, e.g. This holds. …"
    assert shorten("word " * 30, 22) == "word word word word …"
    assert shorten("short", 60) == "short"


@given(st.text(), st.integers(10, 200))
def test_a_cut_text_is_hardly_longer_than_its_limit(text: str, limit: int) -> None:
    assert len(shorten(text, limit)) <= limit + 2


def test_wrapped_text_has_its_indents() -> None:
    assert wrap("word " * 20, "  1. ", "     ").splitlines()[1].startswith("     word")


def test_entries_of_an_empty_digest_give_no_contents() -> None:
    none = digest([], below=0)
    assert none.counts == Counts()
    assert "0 papers of 0 new ones" in visible(render(none).html)
    assert len(entries(2)) == 2
