"""A digest's sections, by the list's own topics, and its papers: whole, or as rows of two lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import lxml.html
import pytest

from paperboy.models import Digest, Entry, Score, Spending
from tests.builders import EMBEDDED, digest, entry, mailing_list, paper
from tests.mail.reading import PAGE, Shown, entries, flat, online, render, visible

TOPICS = "You are an assistant.\n\n- trees & <b>: those that grow\n- graphs\n- knots"
LIST = mailing_list(topics=TOPICS, authors=("Yoshua Bengio", "Yann LeCun"))


def busy(of: Sequence[Entry] | None = None, **changes: Any) -> Digest:
    """A digest of nine papers: an author match, three to read first, and the others by topics."""
    of = of or [
        entry(1, matched_author="Yoshua Bengio"),
        *(entry(n, topic=1) for n in (2, 3, 4)),
        entry(5, topic=2),
        entry(6, topic=2),
        entry(7, topic=1),
        entry(8),
        entry(9, topic=9),  # no topic has that number
    ]
    return digest(of, mailing_list=changes.pop("mailing_list", LIST), **changes)


def headings(html: str) -> list[str]:
    return list(dict.fromkeys(shown.group for shown in entries(html)))


SECTIONS = [
    "From authors you follow · 1",
    "Read first",
    "Graphs · 2",
    "Trees & <b> · 1 of 4",  # the others are to be read first
    "More papers · 2",
]


def test_digest_has_sections_by_its_topics_and_last_the_papers_without_one() -> None:
    mail = render(busy())
    assert headings(mail.html) == SECTIONS
    # Capitals would spoil names such as mRNA.
    ours = {"From authors you follow · 1", "Read first", "More papers · 2"}
    assert ours < {*SECTIONS}
    in_text = [heading.upper() if heading in ours else heading for heading in SECTIONS]
    places = [mail.text.rindex(f"\n{heading}\n") for heading in in_text]
    assert places == sorted(places)
    contents = mail.text.partition("CONTENTS")[2].partition("\n\n\n")[0]
    assert re.findall(r"(?m)^\S.*", contents) == SECTIONS


def test_page_online_has_sections_of_anybody() -> None:
    assert headings(online(busy())) == ["From authors this list follows · 1", *SECTIONS[1:]]


@pytest.mark.parametrize("topics", ["trees, which grow", "- trees, which grow", "Relevant: trees"])
def test_list_with_fewer_than_two_topics_has_no_sections_by_them(topics: str) -> None:
    html = render(busy(mailing_list=replace(LIST, topics=topics))).html
    assert headings(html) == [*SECTIONS[:2], "More papers · 5"]
    assert 'class="o"' not in html


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, ["Today's paper"]),
        (5, ["Today's papers · 5"]),
        (6, ["Read first", "More papers · 3"]),
    ],
)
def test_days_of_up_to_five_papers_are_whole(number: int, expected: list[str]) -> None:
    mail = render(busy([entry(n) for n in range(1, number + 1)]))
    assert headings(mail.html) == expected
    whole = visible(mail.html).count("We study how papers are learned.")
    assert whole == (number if number <= 5 else 3)
    assert flat(mail.text).count("We study how papers are learned.") == number
    assert ("CONTENTS" in mail.text) is (number > 5)


def test_author_matches_count_among_five_and_are_rows_on_longer_days() -> None:
    matched = [entry(n, matched_author="Yann LeCun") for n in (1, 2)]
    html = render(busy([*matched, *(entry(n) for n in (3, 4, 5))])).html
    assert visible(html).count("We study how papers are learned.") == 5
    html = render(busy([*matched, *(entry(n) for n in (3, 4, 5, 6))])).html
    assert visible(html).count("We study how papers are learned.") == 3
    assert all("Abstract" in shown.words for shown in entries(html)[:2])


# --- the box of topics


def box(html: str) -> tuple[str, list[str | None]]:
    """Its words, and where they lead."""
    [element] = lxml.html.document_fromstring(html).xpath("//p[@class='o']")
    return flat(element.text_content()), [link.get("href") for link in element.iter("a")]


def test_box_of_topics_stands_only_where_its_names_lead_to_a_page() -> None:
    words = "Trees & <b> 4 Graphs 2"  # of all the papers
    targets = ["#t7", "#t5"]
    assert 'class="o"' not in render(busy()).html
    assert box(render(busy(), web=True).html) == (words, [PAGE + target for target in targets])
    assert box(online(busy())) == (words, targets)


def test_box_of_topics_begins_with_the_one_of_most_papers() -> None:
    of = [*(entry(n, topic=1) for n in (1, 2)), *(entry(n, topic=2) for n in range(3, 8))]
    assert box(online(busy(of))) == ("Graphs 5 Trees & <b> 2", ["#t4", "#p1"])


def test_topic_whose_papers_are_all_read_first_leads_to_the_best() -> None:
    of = [*(entry(n, topic=1) for n in (1, 2, 3)), *(entry(n, topic=2) for n in (4, 5, 6))]
    assert box(online(busy(of))) == ("Trees & <b> 3 Graphs 3", ["#p1", "#t4"])


def test_page_has_every_place_that_a_mail_leads_to_and_a_mail_none_of_its_own() -> None:
    of = busy()
    mail = render(of, web=True).html
    assert not re.search(r'\sid="|href="#', mail)
    assert not re.search(r'\sid="|href="#', render(of).html)
    places = set(re.findall(rf'href="{PAGE}#(\w+)"', mail))
    assert places == {*["p1", "p5", "p6", "p7", "p8", "p9", "t5", "t7", "criteria"]}
    page = online(of)
    ids = re.findall(r'\sid="(\w+)"', page)
    assert len(set(ids)) == len(ids)
    assert places <= set(ids)
    assert set(re.findall(r'href="#(\w+)"', page)) <= set(ids)


def test_nearest_misses_of_a_note_lead_to_arxiv_and_are_whole_on_its_page() -> None:
    """They have no rank, and so no place there."""
    misses = [entry(0, paper(f"2611.0001{n}"), relevance=5) for n in range(3)]
    of = digest([], nearest=tuple(misses))
    mail = render(of, web=True).html
    assert set(re.findall(r'href="([^"]*)">Abstract<', mail)) == {
        f"https://arxiv.org/abs/2611.0001{n}" for n in range(3)
    }
    page = online(of)
    assert set(re.findall(r'\sid="(\w+)"', page)) == {"criteria"}
    assert visible(page).count("We study how papers are learned.") == 3
    assert f"{PAGE}.bib" not in page


# --- rows


def row(of: Entry, *, web: bool = False, **changes: Any) -> Shown:
    """A paper in the tail of a long day, or among the author matches."""
    others = [entry(n) for n in range(20, 26)]
    digest = busy([of, *others] if of.matched_authors else [*others, of], **changes)
    shown = entries(render(digest, web=web).html)
    return shown[0 if of.matched_authors else -1]


@pytest.mark.parametrize(
    ("comment", "why"),
    [
        (
            "It explains at last why very wide networks generalise. And more.",
            "It explains at last why very wide networks generalise.",
        ),
        (
            "It explains at last why $x^{10}$ vs. y is what settles it. And more.",
            "It explains at last why x¹⁰ vs. y is what settles it.",
        ),
        ("A survey. One finding travels. Read it.", "A survey. One finding travels. Read it."),
        (
            "A survey. One finding travels beyond it, and matters. Read it.",
            "A survey. One finding travels beyond it, and matters.",
        ),
        ("Why <b>&", "Why <b>&"),
        ("", ""),
    ],
)
def test_row_has_the_first_sentence_of_its_comment(comment: str, why: str) -> None:
    """A short one takes the next along."""
    of = entry(7, comment=comment)
    assert row(of).words == flat(
        f"{why} 8/7 · 2611.00007 · Ada Lovelace, Grace Hopper · Abstract · PDF"
    )


def test_row_without_an_llm_has_a_sentence_of_its_abstract() -> None:
    of = entry(7, paper("2611.00007", abstract="It is. We show that a < b. It ends."), novelty=None)
    words = row(of, model=EMBEDDED, spending=Spending()).words
    assert words.startswith("We show that a < b. It ends. 8 · 2611.00007 · ")
    unscored = replace(of, score=None, matched_authors=("Yann LeCun",))
    words = row(unscored, mailing_list=replace(LIST, topics="")).words
    assert words.startswith("We show that a < b. It ends. 2611.00007 · ")


@pytest.mark.parametrize(
    ("authors", "shown"),
    [
        ((), ""),
        (("Ada",), "Ada · "),
        (("Ada", "Bo & <b>"), "Ada, Bo & <b> · "),
        (("Ada", "Bo", "Cy"), "Ada et al. · "),
    ],
)
def test_row_has_its_first_authors(authors: tuple[str, ...], shown: str) -> None:
    of = entry(7, paper("2611.00007", authors=authors), comment="")
    assert row(of).words == f"8/7 · 2611.00007 · {shown}Abstract · PDF"


def abstracts(of: Digest, *, web: bool) -> set[str]:
    return set(re.findall(r'href="([^"]*)">Abstract<', render(of, web=web).html))


def test_rows_abstract_is_on_the_digests_page_and_without_one_at_arxiv() -> None:
    of = busy()
    rows = [1, *range(5, 10)]
    at_arxiv = {f"https://arxiv.org/abs/2611.0000{n}" for n in rows}
    assert abstracts(of, web=True) == {f"{PAGE}#p{n}" for n in rows}
    assert abstracts(of, web=False) == at_arxiv


@pytest.mark.parametrize(
    ("relevance", "novelty", "said"),
    [
        (3, 9, "Yann LeCun · 3/9"),  # and no more
        (6, 9, "Yann LeCun · 6/9"),
        (7, 1, "7/1 · 2611"),  # below the novelty that the list asks for, but on its topics
        (9, None, "9 · 2611"),
        (None, None, "not scored · "),
    ],
)
def test_followed_authors_row_off_the_topics_is_short(
    relevance: int | None, novelty: int | None, said: str
) -> None:
    """A heading says of all of them that they are not on the topics; on the page, each says so."""
    score = Score(relevance, novelty) if relevance else None
    of = replace(entry(7, matched_author="Yann LeCun"), score=score)
    is_off = said.startswith("Yann")
    words = row(of).words
    assert words == said if is_off else words.startswith(said)
    made = busy([of, *(entry(n) for n in range(20, 26))])
    assert visible(render(made).html).count(OFF) == is_off
    assert flat(render(made).text).count(f"{relevance}/{novelty} · not on your topics · ") == is_off
    on_page = visible(online(made))
    assert (f"{relevance}/{novelty} · not on the topics · cs.LG · " in on_page) is is_off
    assert ("not scored" in on_page) is (score is None)
    only_authors = replace(made, mailing_list=replace(LIST, topics=""))
    for html in (render(only_authors).html, online(only_authors)):
        assert not re.search("(?i)not on |not scored", visible(html))


OFF = "Not on your topics"


def test_followed_authors_papers_off_the_topics_stand_under_one_heading() -> None:
    """Also where all are whole; there is none where all are on the topics."""
    on, off, other_off = (entry(n, relevance=n, matched_author="Yann LeCun") for n in (9, 3, 2))
    rows = [on, off, other_off, *(entry(n) for n in range(20, 26))]
    for of in (rows, rows[:5]):
        html = render(busy(of)).html
        [place] = [match.start() for match in re.finditer(OFF, html)]
        titles = [html.index(f"2611.0000{n}</a></h3>") for n in (9, 3, 2)]
        assert sorted([place, *titles]) == [titles[0], place, *titles[1:]]
    assert OFF not in render(busy([on, *rows[3:]])).html


def test_row_names_all_followed_authors_as_the_list_spells_them() -> None:
    of = entry(7, paper("2611.00007", authors=("YANN LECUN", "Ada", "yoshua bengio")))
    of = replace(of, matched_authors=("Yoshua Bengio", "Yann LeCun"))
    mail = render(busy([of, *(entry(n) for n in range(20, 26))]))
    html = mail.html.replace("\xa0", " ").replace("&nbsp;", " ")
    first = html.index('<p class="m"><b>Yoshua Bengio, Yann LeCun</b></p>')
    assert first < html.index("<h3")
    assert "> Author match: Yoshua Bengio, Yann LeCun. It explains" in flat(mail.text)


CODE = "https://github.com/ada/engine"


@pytest.mark.parametrize("number", [1, 7], ids=["whole", "row"])
@pytest.mark.parametrize(
    "where", [{"abstract": f"It is. See {CODE}."}, {"comment": f"12 pages. Code: {CODE}"}]
)
def test_paper_that_names_a_repository_links_its_code(number: int, where: dict[str, str]) -> None:
    of = busy([entry(n, paper(f"2611.0000{n}", **where)) for n in range(1, number + 1)])
    mail = render(of)
    assert mail.html.count(f'<a href="{CODE}">Code</a>') == number
    assert mail.text.count(f" · {CODE}") == number
    assert f'<a href="{CODE}">Code</a>' in online(of)
    assert ">Code<" not in render(busy()).html


def test_each_text_of_a_row_says_its_language() -> None:
    """The LLM's comments are in the list's, and abstracts in English."""

    def language(of: Digest) -> str | None:
        why = lxml.html.document_fromstring(render(of).html).find(".//p[@class='d']")
        return why.get("lang")

    dutch = replace(LIST, language="nl")  # no translation is shipped
    assert language(busy()) is None
    assert language(busy(mailing_list=dutch)) == "nl"
    assert language(busy(mailing_list=dutch, model=EMBEDDED, spending=Spending())) is None


HOSTILE = "<script>alert(1)</script> & \"q\" 'q' {{ page }} <mj-text>"


def test_hostile_text_in_a_row_or_topic_is_escaped() -> None:
    of = entry(
        7,
        paper("2611.00007", title=HOSTILE, authors=(HOSTILE,), abstract=HOSTILE),
        comment=HOSTILE,
        topic=1,
    )
    topics = f"- {HOSTILE}\n- graphs"
    digest = busy([*(entry(n) for n in range(1, 7)), of], mailing_list=replace(LIST, topics=topics))
    for html in (render(digest).html, render(digest, web=True).html, online(digest)):
        assert not re.search("<script|<mj-", html)
        assert "<script>alert(1)</script> & \"q\" 'q' {{ page }}" in visible(html)
