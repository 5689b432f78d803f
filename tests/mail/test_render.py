"""What a reader sees: everything that belongs in a mail, whatever arXiv, the LLM and the operator wrote."""

from __future__ import annotations

import html as entities
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html as lxml_html

from paperboy.edges.text import one_line
from paperboy.mail.fit import size
from paperboy.mail.page import page_of
from paperboy.mail.templates import HTML_BUDGET
from paperboy.mail.text import prose
from paperboy.models import Alert, Digest, Spending
from tests.builders import EMBEDDED, digest, entry, mailing_list, paper
from tests.mail.mails import MAILS
from tests.mail.reading import COPY, TEMPLATES, THANKS, flat, online, render, visible


def rich() -> Digest:
    """Two author matches of a list of authors and one paper that was selected, and something of all the rest."""
    matched = paper(
        "2611.10001",
        title="First & foremost",
        authors=("Ann Ö", "YOSHUA BENGIO"),
        primary_category="cs.AI",
    )
    return digest(
        [
            entry(
                1,
                matched,
                relevance=3,
                novelty=2,
                comment="Known author.",
                matched_author="Yoshua Bengio",
            ),
            entry(
                2,
                paper("2611.10002", title="CO$_2$ with $a<b$"),
                relevance=9,
                novelty=None,
                comment="Why: x < y.",
            ),
        ],
        mailing_list=mailing_list(
            topics="Deep theory.\n\nNo <applications>.", authors=("Yoshua Bengio", "Yann LeCun")
        ),
        over_cap=[entry(3, paper("2611.10003", title="Beyond the cap"))],
        let_go=[paper("2611.10004", title="Never scored")],
        carried_over=[paper("2611.10005", title="Back tomorrow")],
    )


def test_both_parts_carry_the_whole_digest() -> None:
    mail = render(rich())
    for part in both(rich()):
        for words in (
            "Paperboy · Friday, 20 November 2026",
            "Two papers, one by Yoshua Bengio, whom you follow.",
            "2 of 15 new papers chosen · 1-minute read · scores: relevance, out of 10",
            "1 paper has no score yet, because the LLM gave no usable score; it will be back the next morning.",
            "1 paper could not be scored on three mornings and is named at the end.",
            "First & foremost",
            "CO₂ with",
            "Ann Ö",
            "Yoshua Bengio",
            "Known author.",
            "Why: x < y.",
            "2611.10001",
            "cs.AI",
            "We study how papers are learned. The method is simple.",
            "Deep theory.",
            "No <applications>.",
            (
                "New papers in cs.LG and stat.ML that score at least 7 for relevance and 6 for novelty, out of 10; "
                "at most 50 a day."
            ),
            "Always included, and shown first: papers by Yoshua Bengio and Yann LeCun.",
            "Total arXiv papers 15 Scanned 13 Relevant 2 by authors you follow 1 by their scores 1",
            (
                "Also passed, over the limit of 50 1 Below the thresholds 10 "
                "Not scored yet: back next morning 1 Could not be scored 1"
            ),
            "Beyond the cap",
            "Never scored",
            "Back tomorrow",
            "gpt-6-luna",
            "Sent to ada@example.org.",
            "papers@example.org",
            THANKS,
        ):
            assert words in part, words
        for cell in (
            "Prompt",
            "15,992",
            "Completion",
            "1,287",
            "All tokens",
            "17,279",
            "$0.0160",
            "$0.0103",
            "$0.0263",
        ):
            assert cell in part
    assert "9 · cs.LG · 2611.10002" in visible(mail.html), "no novelty where the scorer gave none"
    assert "Not on your topics Yoshua Bengio First & foremost " in visible(mail.html)
    assert "3/2 · cs.AI · 2611.10001" in visible(mail.html)
    assert (
        "3/2 · not on your topics · cs.AI · arXiv:2611.10001 > Author match: Yoshua Bengio."
        in flat(mail.text)
    )
    for heading in ("From authors you follow · 1", "Today's papers · 1"):
        assert heading in visible(mail.html)
        assert heading.upper() in mail.text
    assert "<b>YOSHUA\xa0BENGIO</b>" in mail.html, (
        "the followed author stands out, however the name is written"
    )
    assert "*YOSHUA BENGIO*" in mail.text


def test_every_link_leads_to_arxiv_or_out_of_the_list() -> None:
    """None leads down the mail: the apps of Gmail, Outlook and Samsung do nothing there."""
    links = set(re.findall(r'href="([^"]*)"', render(rich()).html))
    assert links == {
        *(
            f"https://arxiv.org/{form}/2611.1000{n}"
            for form in ("abs", "pdf", "html")
            for n in (1, 2)
        ),
        *(f"https://arxiv.org/abs/2611.1000{n}" for n in (3, 4, 5)),
        f"mailto:papers@example.org?subject=unsubscribe%20foundations%20{COPY.token}",
    }


@pytest.mark.parametrize(
    ("matched", "in_html", "in_text"),
    [
        (
            ("Yoshua Bengio",),
            ["Yoshua Bengio", "Good. And new."],
            "Author match: Yoshua Bengio. Good. And new.",
        ),
        (
            ("Yoshua Bengio", "Yann LeCun"),
            ["Yoshua Bengio, Yann LeCun", "Good. And new."],
            "Author match: Yoshua Bengio, Yann LeCun. Good. And new.",
        ),
        ((), ["Good. And new."], "Good. And new."),
    ],
)
def test_paper_says_why_it_came(matched: tuple[str, ...], in_html: list[str], in_text: str) -> None:
    of = replace(entry(1, comment="Good. And new."), matched_authors=matched)
    mail = render(digest([of]))
    why = lxml_html.document_fromstring(mail.html).xpath("//p[@class='m' or @class='w']")
    assert [flat(words.text_content()) for words in why] == in_html
    quoted = re.findall(r"(?m)^    > (.*)$", mail.text)
    assert " ".join(quoted) == in_text


def test_author_match_that_nobody_could_score_says_so() -> None:
    unscored = replace(entry(1, matched_author="Yoshua Bengio"), score=None)
    followed = (
        "From authors you follow · 1 Yoshua Bengio On the Learning",
        "Author match: Yoshua Bengio",
    )
    for part, words in zip(both(digest([unscored, entry(2)])), followed, strict=True):
        assert words in part
        assert "not scored · cs.LG" in part
    only_authors = mailing_list(topics="", authors=("Yoshua Bengio",))
    for part, words in zip(
        both(digest([unscored], mailing_list=only_authors)), followed, strict=True
    ):
        assert words in part
        assert "not scored" not in part


def both(of: Digest) -> tuple[str, str]:
    mail = render(of)
    html = visible(mail.html).replace("‑", "-")
    return html, flat(re.sub(r"(?m)^    >", "", mail.text))


def test_html_loads_nothing_from_elsewhere() -> None:
    for mail in (
        render(rich()),
        render(digest([], below=3)),
        TEMPLATES.alert(Alert("It", ("happened",))),
    ):
        assert not re.search(r"<(?:img|link|script|iframe)|@import|url\(|\ssrc=|<mj-", mail.html)
        assert "prefers-color-scheme:dark" in mail.html


@pytest.mark.parametrize("name", ["digest", "note", "web", "web-note", "alert", "confirmation"])
def test_no_length_is_negative(name: str) -> None:
    """Gmail drops such a declaration."""
    if name == "confirmation":
        html = TEMPLATES.confirmation(mailing_list(), "https://papers.example.org/confirm").html
    else:
        html = MAILS[name]().html
    styles = re.findall(r"(?s)<style[^>]*>.*?</style>|\sstyle=\"[^\"]*\"", html)
    assert any("margin" in style for style in styles)
    assert re.findall(r"[\w-]+:[^;:}]*(?<![\w)])-[\d.]+[^;}]*", " ".join(styles)) == []


def test_each_text_says_its_language() -> None:
    """Comments are in the list's; papers are in English, and the words in that of their file."""
    dutch = mailing_list(language="nl")  # no translation is shipped
    german = mailing_list(language="de-AT")

    def languages(of: Digest) -> dict[str, str | None]:
        root = lxml_html.document_fromstring(render(of).html)
        found = {
            "mail": root,
            "title": root.find(".//h3"),
            "comment": root.find(".//p[@class='w']"),
        }
        return {name: element.get("lang") for name, element in found.items()}

    english = {"mail": "en", "title": None, "comment": None}
    assert languages(digest()) == english
    assert languages(digest(mailing_list=dutch)) == english | {"comment": "nl"}
    embedded = digest([entry()], model=EMBEDDED, spending=Spending())
    assert languages(replace(embedded, mailing_list=dutch)) == english
    assert languages(digest(mailing_list=german)) == {
        "mail": "de",
        "title": "en",
        "comment": "de-AT",
    }
    assert languages(replace(embedded, mailing_list=german)) == {
        "mail": "de",
        "title": "en",
        "comment": None,
    }


def test_scripts_without_a_unicode_form_are_elements_of_html() -> None:
    of = paper(
        title=r"Dwarfs to $M_{V,0} < -5$",
        abstract=r"Of $T_{\rm eff}$ and $\alpha^2$ & $a<\frob{b}$.",
    )
    mail = render(digest([entry(1, of)]))
    assert "M<sub>V,0</sub> &lt;&nbsp;−5" in mail.html
    assert "Of T<sub>eff</sub> and α² &amp; a&lt;frob{b}." in mail.html
    assert "M_(V,0) < −5" in mail.text
    assert "$" not in mail.text.split("THE MORNING")[0].replace("$0.03", "")


def test_alert_says_what_is_wrong_and_where() -> None:
    mail = TEMPLATES.alert(
        Alert(
            "The LLM\nrefuses <the> key",
            ("No list got a digest.", "Mend it."),
            (".env:3: KEY", "x" * 100),
        )
    )
    assert mail.subject == "Paperboy: The LLM refuses <the> key"
    for part in (visible(mail.html), flat(mail.text)):
        for words in (
            "The LLM refuses <the> key",
            "No list got a digest.",
            "Mend it.",
            ".env:3: KEY",
        ):
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
    mail = TEMPLATES.to_readers(page_of(of, copy=COPY, unsubscribe_address=sender))
    assert max(map(len, mail.text.splitlines())) <= 76
    assert max(map(len, render(rich()).text.splitlines())) <= 76
    assert not re.search(r"[ \t]$", render(rich()).text.replace("\n-- \n", "\n"), re.MULTILINE)
    assert not re.search(r"\n{4}", render(rich()).text)


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
                1,
                paper(title=odd, abstract=odd, authors=(odd,), primary_category=odd),
                comment=odd,
                matched_author=odd,
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
    assert not re.search(
        "[\0\x07\x1b\u202e\ud800\ufffe\uffff]", mail.html + mail.text + mail.subject
    )
    assert "\n" not in mail.subject
    if odd and len(odd) < 100 and not set("\\*") & set(odd):
        assert one_line(odd) in visible(mail.html)
        assert one_line(odd) in flat(mail.text)


def test_title_in_an_attribute_survives_mjml() -> None:
    """MJML writes attributes as Rust would: quotes and backslashes must come as entities."""
    title = 'A "b" \\ c e\u0301'
    html = render(digest([entry(1, paper(title='A "b" & é'))])).html
    assert entities.unescape(re.findall(r'aria-label="([^"]*)"', html)[0]) == 'A "b" & é'
    html = online(digest(mailing_list=mailing_list(title=title)))  # a page has no subject
    assert (
        entities.unescape(re.findall(r'aria-label="([^"]*)"', html)[0])
        == 'A "b" \\ c é, Friday, 20 November 2026'
    )


def in_html(tex: str) -> str:
    return entities.unescape(re.sub("</?su[bp]>", "", prose(tex).__html__()))


@settings(max_examples=60)
@given(st.text(max_size=300), st.text(max_size=60), st.text(max_size=600), st.text(max_size=300))
def test_any_paper_reads_back_from_its_html(
    title: str, name: str, abstract: str, comment: str
) -> None:
    mail = render(
        digest([entry(1, paper(title=title, authors=(name,), abstract=abstract), comment=comment)])
    )
    assert size(mail.html) <= HTML_BUDGET
    assert "<mj-" not in mail.html
    root = lxml_html.document_fromstring(mail.html)
    shown = in_html(title) or "(no title)"
    assert root.find(".//h3/a").text_content().replace("\xa0", " ") == shown.replace("\xa0", " ")
    body = [paragraph.text_content() for paragraph in root.iter("p") if not paragraph.get("class")]
    wanted = in_html(abstract)
    assert not wanted or wanted in body
    assert flat(one_line(name)) in visible(mail.html)
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", mail.text)
    assert all(letters in flat(mail.text) for letters in re.findall(r"\w{1,60}", one_line(name)))
    mail.html.encode()
