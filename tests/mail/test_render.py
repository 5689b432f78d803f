"""What a reader sees: everything that belongs in a mail, whatever arXiv, the LLM and the operator wrote."""

from __future__ import annotations

import html as entities
import itertools
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html as lxml_html

from paperboy.foreign import one_line
from paperboy.mail.fit import size
from paperboy.mail.page import page
from paperboy.mail.templates import HTML_BUDGET
from paperboy.mail.text import prose
from paperboy.models import Alert, Digest, Spending
from tests.builders import EMBEDDED, digest, entries, entry, mailing_list, paper
from tests.mail.reading import COPY, TEMPLATES, THANKS, flat, render, visible

ALERT = Alert("It", ("happened",))


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
            "Paperboy · Friday, 20 November 2026",
            "2 of 15 new papers, for about $0.03. By authors this list follows: 1. Not scored yet, and back on",
            "First & foremost",
            "CO₂ with",
            "Ann Ö",
            "Author match: Yoshua Bengio",
            "Why: Known author.",
            "Why: x < y.",
            "arXiv:2611.10001",
            "cs.AI",
            "18 Nov 2026",
            "We study how papers are learned. The method is simple.",
            "Deep theory.",
            "No <applications>.",
            (
                "New papers of cs.LG, stat.ML with a relevance of at least 7 and a novelty of at least 6, of 10 each; "
                "at most 50 a morning."
            ),
            "Always in, and first: papers by Yoshua Bengio, Yann LeCun.",
            "Total arXiv papers 15 Scanned 13 Relevant 2 by authors this list follows 1 by their scores 1",
            (
                "beyond the 50 that this list takes 1 Below the thresholds 10 "
                "Not scored, and back on the next morning 1 Not scored, and let go 1"
            ),
            "Never scored",
            "Back tomorrow",
            "gpt-6-luna",
            COPY.reason,
            "papers@example.org",
            THANKS,
        ):
            assert words in part, words
        for column in ("Prompt", "15,992", "Completion", "1,287", "Total", "17,279", "$0.0160", "$0.0103", "$0.0263"):
            assert column in part
    assert "Relevance 9 Why: Why" in visible(mail.html), "no novelty where the scorer gave none"
    assert "Relevance 3 Novelty 2" in visible(mail.html)
    assert "> Relevance 3, novelty 2 > Why: Known" in flat(mail.text)
    assert "<b>YOSHUA BENGIO</b>" in mail.html, "the followed author stands out, however the name is written"
    assert "*YOSHUA BENGIO*" in mail.text


def test_every_link_leads_to_arxiv_or_out_of_the_list() -> None:
    links = set(re.findall(r'href="([^"]*)"', render(rich()).html))
    assert links == {
        *(f"https://arxiv.org/{form}/2611.1000{n}" for form in ("abs", "pdf", "html") for n in (1, 2)),
        "https://arxiv.org/abs/2611.10004",
        "https://arxiv.org/abs/2611.10005",
        f"mailto:papers@example.org?subject=unsubscribe%20foundations%20{COPY.token}",
    }


def test_text_part_shows_the_subject_that_unsubscribes() -> None:
    assert f"    unsubscribe foundations {COPY.token}\n" in render(rich()).text


def test_html_loads_nothing_from_elsewhere() -> None:
    for mail in (render(rich()), render(digest([], below=3)), TEMPLATES.alert(Alert("It", ("happened",)))):
        assert not re.search(r"<(?:img|link|script|iframe)|@import|url\(|\ssrc=|<mj-", mail.html)
        assert "prefers-color-scheme:dark" in mail.html


def test_html_has_the_structure_that_screen_readers_need() -> None:
    """Language, title, one h1, an h2 for each paper, headings that skip no level, and tables that are only layout."""
    for mail, papers in ((render(rich()), 2), (render(digest([], below=3)), 0)):
        root = lxml_html.document_fromstring(mail.html)
        assert root.get("lang") == "en"
        assert root.findtext(".//title") == "Foundations of machine learning, Friday, 20 November 2026"
        levels = [int(heading.tag[1]) for heading in root.iter("h1", "h2", "h3", "h4")]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
        if papers:
            assert levels.count(2) == papers
        names = [link.get("aria-label") or link.text_content() for link in root.iter("a")]
        names = [name.removeprefix("Author match ") for name in names]
        assert len(set(names)) == len(names) - (papers if papers > 1 else 0), "only titles stand twice, as in contents"
        for table in root.iter("table"):
            is_data = table.find(".//th") is not None and table.find(".//table") is None
            assert is_data or table.get("role") == "presentation"


def test_preheader_comes_first_and_is_hidden() -> None:
    mail = render(digest(entries(3)))
    first = lxml_html.document_fromstring(mail.html).find("body")[0][0]
    assert first.text.strip() == " · ".join(f"On the Learning of Paper 2611.0000{n}" for n in (1, 2, 3))
    assert "display:none" in first.get("style")


def test_scripts_without_a_unicode_form_are_elements_of_html() -> None:
    of = paper(title=r"Dwarfs to $M_{V,0} < -5$", abstract=r"Of $T_{\rm eff}$ and $\alpha^2$ & $a<\frob{b}$.")
    mail = render(digest([entry(1, of)]))
    assert "M<sub>V,0</sub> &lt; -5" in mail.html
    assert r"Of T<sub>eff</sub> and α² &amp; a&lt;\frob{b}." in mail.html
    assert "M_(V,0) < -5" in mail.text
    assert "$" not in mail.text.split("THE MORNING")[0].replace("$0.03", "")


def test_lists_in_topics_are_marked_up_as_lists() -> None:
    of = digest(
        [],
        below=3,
        mailing_list=mailing_list(topics="We read\n\n1. dwarfs\n   - near\n   - far\n\nand so on\n\n- more"),
    )
    root = lxml_html.document_fromstring(render(of).html)
    lists = [[" ".join(item.text_content().split()) for item in each] for each in root.findall(".//div[@role='list']")]
    assert lists == [["1. dwarfs", "• near", "• far"], ["• more"]]


def test_tables_for_outlook_are_no_wider_than_their_cells() -> None:
    """Outlook on Windows takes the width of each table from its attribute, and widens what is around it."""
    for mail, lines in (
        (render(rich()), {"616"}),
        (render(digest([], below=3)), {"616"}),
        (TEMPLATES.alert(ALERT), set()),
    ):
        widths = re.findall(r'<table[^>]*?width="?(\d+)(?:px)?"[^>]*?style="border-top', mail.html)
        assert set(widths) == lines
        assert max(map(int, re.findall(r'width="(\d+)(?:px)?"', mail.html))) == 680


def test_papers_over_the_cap_are_counted_in_html_and_named_in_text() -> None:
    mail = render(rich())
    assert "Beyond the cap" not in mail.html
    assert "The plain-text part of this mail names the 1 paper beyond the 50." in visible(mail.html)
    assert "Beyond the cap" in mail.text
    assert "https://arxiv.org/abs/2611.10003" in mail.text


def test_html_names_ten_unscored_papers_and_text_names_all() -> None:
    left = [paper(f"2611.2{n:04}", title=f"Left over {n:02}") for n in range(30)]
    mail = render(digest(carried_over=left))
    assert "Left over 09" in mail.html
    assert "Left over 10" not in mail.html
    assert "20 more, named in the plain-text part of this mail" in visible(mail.html)
    assert all(each.title in mail.text for each in left)


def test_embedded_scorer_is_not_called_an_llm() -> None:
    mail = render(digest([entry(novelty=None)], model=EMBEDDED, spending=Spending()))
    for part in (visible(mail.html), flat(mail.text)):
        assert "1 of 11 new papers. Ranked by their words; no LLM judged them." in part
        assert part.count("No LLM judged these papers.") == 1
        assert "Prompt" not in part
        assert "a novelty of at least" not in part


def test_a_note_says_that_papers_came_and_none_passed() -> None:
    mail = render(digest([], below=123))
    assert mail.subject == "Foundations of machine learning, 20 Nov: no relevant papers today"
    for part in (visible(mail.html), flat(mail.text)):
        assert "No relevant papers today. 123 new papers came in cs.LG, stat.ML" in part
        assert "Below the thresholds 123" in part
        assert COPY.reason in part
        assert THANKS in part


def test_alert_says_what_is_wrong_and_where() -> None:
    mail = TEMPLATES.alert(
        Alert("The LLM\nrefuses <the> key", ("No list got a digest.", "Mend it."), (".env:3: KEY", "x" * 100))
    )
    assert mail.subject == "Paperboy: The LLM refuses <the> key"
    for part in (visible(mail.html), flat(mail.text)):
        for words in ("The LLM refuses <the> key", "No list got a digest.", "Mend it.", ".env:3: KEY"):
            assert words in part
        assert "unsubscribe" not in part
    assert "<code>.env:3: KEY</code>" in mail.html


def test_alert_with_a_thousand_lines_is_shortened_in_html() -> None:
    """HTML shows the first ones, and the text all."""
    lines = tuple(f"subscribers.yaml:{n}:3: {'x' * 400}" for n in range(1_000))
    mail = TEMPLATES.alert(Alert("A broken file", ("Mend it. " * 1_000,) * 30, lines))
    assert size(mail.html) < HTML_BUDGET
    assert "950 more in the plain-text part of this mail" in visible(mail.html)
    assert mail.text.count("subscribers.yaml:") == 1_000


def test_text_part_is_wrapped_whatever_the_settings() -> None:
    of = replace(rich(), model=replace(rich().model, name="a/very/long/name-of-a-model " * 9))
    sender = "a-rather-long-name-of-a-sender@mail.department.university.example.org"
    mail = TEMPLATES.to_readers(page(of, copy=COPY, unsubscribe_address=sender))
    assert max(map(len, mail.text.splitlines())) <= 76
    assert max(map(len, render(rich()).text.splitlines())) <= 76
    assert not re.search(r"[ \t]$", render(rich()).text.replace("\n-- \n", "\n"), re.MULTILINE)
    assert not re.search(r"\n{4}", render(rich()).text)


def test_both_parts_name_the_papers_in_the_same_order() -> None:
    mail = render(digest(entries(12)))
    html, text = (re.findall(r"arxiv\.org/abs/([\d.]+\d)", part) for part in (mail.html, mail.text))
    assert list(dict.fromkeys(html)) == list(dict.fromkeys(text)) == [f"2611.{n:05}" for n in range(1, 13)]


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
    'O\'Brien, "Bob" <x@y>',
    "**bold** [link](javascript:alert(1)) https://evil.example/",
    "w" * 5_000,
    "word " * 2_000,
    "",
]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_hostile_text_anywhere_is_escaped_and_fits(odd: str) -> None:
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
    assert not re.search('href="(?!https://arxiv.org/|mailto:papers@)', mail.html)
    assert not re.search("[\0\x07\x1b\u202e\ud800\ufffe\uffff]", mail.html + mail.text + mail.subject)
    assert "\n" not in mail.subject
    if odd and len(odd) < 100 and not set("\\*") & set(odd):
        assert one_line(odd) in visible(mail.html)
        assert one_line(odd) in flat(mail.text)


def test_title_in_an_attribute_survives_mjml() -> None:
    """MJML writes attributes as Rust would: quotes and backslashes must come as entities."""
    html = render(digest(mailing_list=mailing_list(title='A "b" \\ c é'))).html
    assert entities.unescape(re.findall(r'aria-label="([^"]*)"', html)[0]) == 'A "b" \\ c é, Friday, 20 November 2026'


def in_html(tex: str) -> str:
    return entities.unescape(re.sub("</?code>", "", prose(tex).__html__()))


@settings(max_examples=60)
@given(st.text(max_size=300), st.text(max_size=60), st.text(max_size=600), st.text(max_size=300))
def test_any_paper_reads_back_from_its_html(title: str, name: str, abstract: str, comment: str) -> None:
    mail = render(digest([entry(1, paper(title=title, authors=(name,), abstract=abstract), comment=comment)]))
    assert size(mail.html) <= HTML_BUDGET
    assert "<mj-" not in mail.html
    root = lxml_html.document_fromstring(mail.html)
    shown = in_html(title) or "(no title)"
    assert root.find(".//h2/a").text_content() == shown
    body = [paragraph.text_content() for paragraph in root.iter("p") if not paragraph.get("class")]
    wanted = in_html(abstract)
    assert not wanted or wanted in body
    assert flat(one_line(name)) in visible(mail.html)
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", mail.text)
    assert all(letters in flat(mail.text) for letters in re.findall(r"\w{1,60}", one_line(name)))
    mail.html.encode()


def test_paper_without_title_and_abstract_has_an_entry() -> None:
    mail = render(digest([entry(1, paper(title="", abstract="", authors=()), comment="")]))
    assert "(no title)" in visible(mail.html)
    assert "(no title)" in mail.text
    assert "Why:" not in mail.html + mail.text
