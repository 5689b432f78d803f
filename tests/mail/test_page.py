"""A digest as words and numbers for readers: subject, entries, figures, the bill, and what was not scored."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import date
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from paperboy.curate import MOST_MORNINGS
from paperboy.mail.text import money
from paperboy.models import Cost, Digest, Entry, Paper, Shortfall, Spending, Usage
from paperboy.scoring.reply import clean_comment
from tests.builders import EMBEDDED, digest, entries, entry, mailing_list, paper
from tests.mail.reading import flat, page_of, render, visible


def titled(*titles: str, name: str = "Graphs") -> str:
    of = [entry(rank, paper(f"2611.{rank:05}", title=title)) for rank, title in enumerate(titles, 1)]
    return page_of(digest(of, mailing_list=mailing_list(title=name), date=date(2026, 3, 2))).subject


def test_subject_has_the_first_title_where_it_fits() -> None:
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
def test_subject_has_a_long_title_up_to_its_colon(title: str, shown: str) -> None:
    assert titled(title) == "Graphs, 2 Mar: 1 paper" + shown


@pytest.mark.parametrize(("length", "fits"), [(45, True), (46, False)])
@pytest.mark.parametrize("joint", [": ", " - "])
def test_subject_is_at_most_70_characters_with_a_title(length: int, joint: str, *, fits: bool) -> None:
    """The subject is 70 characters wide."""
    subject = titled("A " + "x" * (length - 2) + joint + "and the rest of it")
    assert (len(subject) == 70) == fits
    assert subject.endswith("x") == fits


def test_long_list_title_is_clipped_in_the_subject() -> None:
    assert titled("On trees", name="word " * 60).endswith("word …, 2 Mar: 1 paper")
    assert len(titled("On trees", name="word " * 60)) < 125


def test_long_list_title_leaves_no_room_for_a_paper() -> None:
    assert titled("On trees", name="L" * 60) == "L" * 60 + ", 2 Mar: 1 paper"


def test_preheader_continues_where_the_subject_ends() -> None:
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


def test_preheader_is_as_long_as_an_inbox_shows() -> None:
    many = page_of(digest([entry(n, paper(f"2611.{n:05}", title="Is this a long title? Yes")) for n in range(1, 9)]))
    assert 100 <= len(many.preheader) <= 132


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
def test_html_link_is_shown_for_papers_since_december_2023(arxiv_id: str, html_url: str) -> None:
    item = page_of(digest([entry(1, paper(arxiv_id))])).items[0]
    assert item.html_url == html_url
    assert item.pdf_url == f"https://arxiv.org/pdf/{arxiv_id}"


@pytest.mark.parametrize(
    ("comment", "shown"),
    [
        ("**Strong** result; uses `torch` in `__init__`.", "Strong result; uses torch in __init__."),
        ("**Uses `x` for y**, then `z`; `**` stays", "Uses x for y, then z; ** stays"),
        ("### Why\n- first\n- second", "Why first second"),
        ("1. Proves it.\n2. Tests it.", "Proves it. Tests it."),
        ("2 ** 3 and a_b__c stay, as do `` and **", "2 ** 3 and a_b__c stay, as do `` and **"),
        ("For $x^2$ it holds.", "For x² it holds."),
    ],
)
def test_comment_is_shown_without_its_markdown(comment: str, shown: str) -> None:
    item = page_of(digest([entry(1, comment=comment)])).items[0]
    assert str(item.comment) == shown


@pytest.mark.parametrize(
    ("said", "stored", "mailed"),
    [
        # spelled out: not even stored
        ("See https://evil.com/a.", "See.", "See."),
        ("See http ://evil.com now.", "See now.", "See now."),
        ("See evil .com/ now.", "See now.", "See now."),
        ("See evil.com:8080 now.", "See now.", "See now."),
        ("See `http://evil.com` now.", "See now.", "See now."),
        ("See hxxp://evil[.]com now.", "See now.", "See now."),
        ("See ht\u00adtp://ev\u200bil.\u2060com now.", "See now.", "See now."),
        ("See http http://x ://evil.com now.", "See http now.", "See http now."),
        ("See еvil.com/a and 例え.jp/a now.", "See and now.", "See and now."),
        ("See www.1evil.com and file:///etc now.", "See and now.", "See and now."),
        ("See [this][1]. [1]: http://evil.com", "See [this][1]. [1]:", "See [this][1]. [1]:"),
        # what mail programs would make links of: stored, and mailed with joiners (here ¦)
        ("See evil.com, **evil.com** and `evil`.`com`.", None, "See evil.¦com, evil.¦com and evil.¦com."),
        ("Ask user@evil.com or user＠evil．com.", None, "Ask user¦@¦evil.¦com or user¦＠¦evil．¦com."),
        ("See еvil.com, 例え.jp and 例え。jp｡com.", None, "See еvil.¦com, 例え.¦jp and 例え。¦jp｡¦com."),
        ("See evil$.$com, w$w$w.evil.com.", None, "See evil.¦com, www¦.¦evil.¦com."),
        ("See http$:$//evil.com and s3$:$//evil.", None, "See http¦://evil.¦com and s3¦://evil."),
        ("See http**:**//evil**.**com.", None, "See http¦://evil.¦com."),
        (r"See evil.\-com, \url{evil.com} and \href{evil.com}{this}.", None,
         "See evil.¦com, evil.¦com and this (evil.¦com)."),
        ("See $evil.com_{a,b}$ and evil.$com_{a,b}$.", None, "See evil.¦com_(a,b) and evil.¦com_(a,b)."),
        ("See evil[.](x)com and evil.[com](x).", "See evil.com and evil.com.", "See evil.¦com and evil.¦com."),
        ("See evil.\u200bcom and evil.\u200dcom.", "See evil.com and evil.\u200dcom.",
         "See evil.¦com and evil.¦\u200dcom."),
        ("See www . evil . com now.", "See www. evil. com now.", "See www¦. evil. com now."),
        ("See javascript:alert(1) and tel:+491.", None, "See javascript¦:alert(1) and tel¦:+491."),
        ("See //evil.com and <evil.com>.", None, "See //evil.¦com and <evil.¦com>."),
        ("See evil%2Ecom and http%3A%2F%2Fevil.com.", None, "See evil%2Ecom and http%3A%2F%2Fevil.¦com."),
        ("See evil&#46;com and http&colon;//evil.", None, "See evil&#46;com and http&colon;//evil."),
        ("See 192.168.0.1 or localhost:80.", None, "See 192.¦168.0.1 or localhost¦:80."),
        ("See evil․com and evil﹒com.", None, "See evil․¦com and evil﹒¦com."),
        (r"See \\evil\a or {\backslash}{\backslash}evil\a.", None, r"See evil\a or \¦\evil\a."),
        # and what ordinary comments hold
        ("Uses Node.js and scikit-learn 1.5 vs. v2.0.1.", None, "Uses Node.¦js and scikit-learn 1.5 vs. v2.0.1."),
        ("It is 3.5, i.e. more, at 10:30; ratio 3:1.", None, "It is 3.5, i.¦e. more, at 10:30; ratio 3:1."),
        ("GPT-4.1 (by Doe et al.) and/or 100% of it... so.", None, None),
    ],
)  # fmt: skip
def test_no_mail_program_finds_a_link_in_a_comment(said: str, stored: str | None, mailed: str | None) -> None:
    """Neither in the text nor in HTML; what is not given is as it was before."""
    comment = clean_comment(said)
    assert comment == (said if stored is None else stored)
    mail = render(digest([entry(1, comment=comment)]))
    shown = (comment if mailed is None else mailed).replace("¦", "\u2060")
    in_text, in_html = re.search(r"Why:(.*?)\n\n", mail.text, re.DOTALL), re.search("Why:</b>(.*?)</p>", mail.html)
    assert in_text
    assert in_html
    assert " ".join(re.sub(r"(?m)^ *>", "", in_text[1]).split()) == shown
    assert unescape(re.sub("<sub>(.*?)</sub>", r"_(\1)", in_html[1])).strip() == shown


ODD_LINKS = [
    *"evil", "evil", "com", "www", "ftp", "http", "s3", "mailto", ".", "。", "．", ":", "/", "//", "://", "@", "＠",
    "\n", "\\", " ", "\u200b", "\u200d", "`", "**", "$", "[", "]", "(x)", "<", ">", "é", "1", "{", "}", "_", r"\-",
    r"\url{",
]  # fmt: skip
LINKED = re.compile(
    r"[^\W_]\.[^\W\d_]|(?:www|ftp)\.|\d+\.\d+\.\d+\.\d|[^\W_]@[^\W_]|[^\W\d_]:\S|\d:/|\\\\", re.IGNORECASE
)


@given(st.lists(st.sampled_from(ODD_LINKS), max_size=25).map("".join))
def test_nothing_in_a_comment_looks_like_a_link(said: str) -> None:
    comment = clean_comment(said)
    item = page_of(digest([entry(1, comment=comment)])).items[0]
    assert not LINKED.search(str(item.comment))
    assert not LINKED.search(unescape(re.sub("</?code>", "", escape(item.comment))))
    assert clean_comment(comment) == comment


@pytest.mark.parametrize(
    "of",
    [
        paper(abstract="word " * 200_000),
        paper(abstract="{" * 1_000_000),
        paper(abstract="$x_{a,b}$ " * 9_999),
        paper(title="a: b " * 200_000),
        paper(authors=tuple(f"Ada {number} Doe" for number in range(30_000))),
        paper(authors=("x" * 1_000_000,)),
        paper(primary_category="x" * 1_000_000),
    ],
    ids=["abstract", "braces", "formulas", "title", "authors", "name", "category"],
)
def test_paper_from_before_there_were_bounds_is_mailed(of: Paper) -> None:
    """Whole in the text, shortened in HTML, within a second and some 60 MB."""
    begun = time.thread_time()
    mail = render(digest([entry(1, of), entry(2, paper("2611.00002", title="On trees"))]))
    assert time.thread_time() - begun < 20
    assert "On trees" in mail.text
    assert "On trees" in mail.html
    assert len(mail.html) < 20_000


@pytest.mark.parametrize(
    ("dollars", "words"),
    [(0, "$0.00"), (0.00001, "under $0.0001"), (0.0263, "$0.0263"), (0.4, "$0.40"), (1234, "$1,234.00")],
)
def test_money_is_never_rounded_to_nothing(dollars: float, words: str) -> None:
    assert money(dollars) == words


def test_contents_are_left_out_for_a_single_paper() -> None:
    assert "CONTENTS" not in render(digest(entries(1))).text
    contents = flat(render(digest(entries(2))).text.partition("CONTENTS")[2].partition("PAPERS")[0])
    assert contents == "1. On the Learning of Paper 2611.00001 2. On the Learning of Paper 2611.00002"


WAITING = [paper(f"2611.2000{n}", title=f"Waits {n}") for n in range(4)]


def both(of: Digest) -> tuple[str, str]:
    """The words of both parts of the digest's mail, or of the note's."""
    mail = render(of)
    return visible(mail.html), flat(mail.text)


PRICE = Cost(0.01, 0.02)


def paid(usage: Usage, cost: Cost | None = PRICE) -> Digest:
    return digest(spending=Spending(usage, cost))


# --- the morning in numbers


def test_figures_add_up_level_by_level() -> None:
    of = digest(
        [entry(1, matched_author="Yoshua Bengio"), entry(2), entry(3)],
        over_cap=[entry(4)],
        let_go=[paper("2611.10004")],
        carried_over=[paper("2611.10005"), paper("2611.10006")],
        below=1_000,
    )
    text = render(of).text.partition("THE MORNING IN NUMBERS\n\n")[2].partition("\n\n\n")[0]
    rows = [
        (len(indent) // 2 - 1, label, number) for indent, label, number in re.findall(r"( +)(.*?)  +(\S+)\n?", text)
    ]
    assert rows == [
        (0, "Total arXiv papers", "1,007"),
        (1, "Scanned", "1,004"),
        (2, "Relevant", "3"),
        (3, "by authors this list follows", "1"),
        (3, "by their scores", "2"),
        (2, "Passed, beyond the 50 that this list takes", "1"),
        (2, "Below the thresholds", "1,000"),
        (1, "Not scored, and back on the next morning", "2"),
        (1, "Not scored, and let go", "1"),
    ]


def test_figures_that_are_zero_are_left_out() -> None:
    for part in both(digest()):
        assert (
            "Total arXiv papers 13 Scanned 13 Relevant 3 Below the thresholds 10 Who scored them".lower()
            in part.lower()
        )


# --- tokens and money


def test_bill_says_what_the_tokens_were() -> None:
    for part in both(paid(Usage(27, 148_232, 31_232, 1_216, 9_120, 320))):
        for words in (
            "Tokens 148,232 9,120 157,352",
            "Cost $0.0100 $0.0200 $0.0300",
            "Asked in 27 calls. Of the prompt, 31,232 tokens came from the provider's cache and 1,216 went into it;",
            "; of the completion, 320 tokens went into reasoning.",
        ):
            assert words in part


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (Usage(2, 900, completion_tokens=80), "Asked in 2 calls."),
        (
            Usage(1, 900, 1, completion_tokens=80),
            "Asked in 1 call. Of the prompt, 1 token came from the provider's cache.",
        ),
        (
            Usage(1, 900, cache_write_tokens=768, completion_tokens=80),
            "Asked in 1 call. Of the prompt, 768 tokens went into the provider's cache.",
        ),
        (
            Usage(1, 900, completion_tokens=80, reasoning_tokens=64),
            "Asked in 1 call. Of the completion, 64 tokens went into reasoning.",
        ),
    ],
)
def test_bill_leaves_out_tokens_that_are_zero(usage: Usage, words: str) -> None:
    for part in both(paid(usage)):
        assert f" {words} " in part


def test_server_that_counts_no_tokens_is_reported_as_such() -> None:
    """Its calls are all that is known of it; not even that it was free."""
    for part in both(paid(Usage(calls=3))):
        assert "Tokens not counted by the server" in part
        assert "Cost not known" in part
        assert "price unknown" not in part
        assert "Asked in 3 calls." in part
        assert "$" not in part


def test_tokens_are_shown_where_the_price_is_unknown() -> None:
    for part in both(paid(Usage(1, 900, completion_tokens=100), cost=None)):
        assert "Tokens 900 100 1,000" in part
        assert "Cost price unknown" in part
        assert "$" not in part


def test_morning_of_kept_scores_says_why_it_cost_nothing() -> None:
    for part in both(digest(spending=Spending())):
        assert "Cost $0.00 $0.00 $0.00" in part
        assert "No calls for this list: its scores were paid for earlier, or by another list." in part


def test_note_has_its_bill() -> None:
    for part in both(digest([], below=20)):
        assert "Of the prompt, 4,096 tokens came from the provider's cache and 1,152 went into it" in part


def test_embedded_scorer_has_no_bill() -> None:
    of = digest([entry(novelty=None)], model=EMBEDDED, spending=Spending())
    assert page_of(of).spending is None
    for part in both(of):
        assert "Tokens" not in part
        assert "calls" not in part


# --- why papers wait


@pytest.mark.parametrize(
    ("shortfall", "because"),
    [
        (Shortfall.BUDGET, "today's budget for the LLM was used up"),
        (Shortfall.SERVER, "the LLM stopped answering"),
        (None, "the LLM gave no usable score"),
    ],
)
@pytest.mark.parametrize("of", [[entry()], []], ids=["digest", "note"])
def test_mail_says_why_papers_were_carried_over(of: Sequence[Entry], shortfall: Shortfall | None, because: str) -> None:
    html, text = both(digest(of, carried_over=WAITING, shortfall=shortfall))
    for part in (html, text):
        assert f"Not scored yet, and back on the next morning: 4, because {because}." in part
    assert f"Not scored this morning, and back on the next, because {because}: Waits 0" in html
    assert f"NOT SCORED THIS MORNING, AND BACK ON THE NEXT Why: {because}. - Waits 0" in text


@pytest.mark.parametrize(("number", "opening"), [(1, "1 paper could not be"), (4, "4 papers could not be")])
@pytest.mark.parametrize("of", [[entry()], []], ids=["digest", "note"])
def test_papers_let_go_are_in_the_first_paragraph_and_named_at_the_end(
    of: Sequence[Entry], number: int, opening: str
) -> None:
    assert MOST_MORNINGS == 3  # else the templates need another word
    is_named = "and is named at the end." if number == 1 else "and are named at the end."
    html, text = both(digest(of, let_go=WAITING[:number]))
    for part, chosen in ((html, "How these papers" if of else "What this list"), (text, "PAPERS" if of else "WHAT")):
        assert f"{opening} scored on three mornings {is_named}" in part.partition(chosen)[0]
    assert "Could not be scored on three mornings, and will not come back: Waits 0" in html
    assert "COULD NOT BE SCORED ON THREE MORNINGS, AND WILL NOT COME BACK - Waits 0" in text


def test_mail_is_silent_about_papers_let_go_where_there_are_none() -> None:
    for of in (digest(), digest([], below=3)):
        for part in both(of):
            assert "could not be scored" not in part.lower()


def test_mail_is_silent_about_the_budget_where_no_paper_waits() -> None:
    of = digest(shortfall=Shortfall.BUDGET)
    for part in both(of):
        assert "because" not in part
        assert "budget" not in part


# --- no silent zero


def first_words(of: Digest) -> tuple[str, str, str]:
    """What an inbox shows of a note, subject and preheader, and what stands first in it."""
    mail, page = render(of), page_of(of)
    lead = flat(mail.text.partition("2026")[2].partition("WHAT THIS LIST")[0])
    assert lead in visible(mail.html)
    return mail.subject.partition(": ")[2], page.preheader, lead


def test_note_says_that_all_were_scanned_and_none_passed() -> None:
    assert first_words(digest([], below=183)) == (
        "no relevant papers today",
        "None of 183 scanned papers passed.",
        (
            "No relevant papers today. 183 new papers came in cs.LG, stat.ML; all were scanned, and none passed the "
            "thresholds of this list."
        ),
    )


def test_note_claims_nothing_of_papers_that_were_not_scanned() -> None:
    """It claims no more than it knows: a relevant paper may be among those that wait."""
    assert first_words(digest([], below=14, carried_over=WAITING, shortfall=Shortfall.SERVER)) == (
        "none of 14 scanned papers passed",
        "4 of 18 new papers not scored.",
        (
            "None of the 14 scanned papers passed. 18 new papers came in cs.LG, stat.ML. Not scored yet, and back on "
            "the next morning: 4, because the LLM stopped answering."
        ),
    )


def test_note_counts_papers_let_go_as_not_scanned() -> None:
    assert first_words(digest([], below=14, let_go=WAITING[:1])) == (
        "none of 14 scanned papers passed",
        "1 of 15 new papers not scored.",
        (
            "None of the 14 scanned papers passed. 15 new papers came in cs.LG, stat.ML. 1 paper could not be scored "
            "on three mornings and is named at the end."
        ),
    )


def test_note_speaks_of_a_single_paper_in_the_singular() -> None:
    assert first_words(digest([], below=1)) == (
        "no relevant papers today",
        "The one scanned paper did not pass.",
        (
            "No relevant papers today. 1 new paper came in cs.LG, stat.ML; it was scanned, and did not pass the "
            "thresholds of this list."
        ),
    )
    assert first_words(digest([], below=1, let_go=WAITING)) == (
        "the one scanned paper did not pass",
        "4 of 5 new papers not scored.",
        (
            "The one scanned paper did not pass. 5 new papers came in cs.LG, stat.ML. 4 papers could not be scored on "
            "three mornings and are named at the end."
        ),
    )
