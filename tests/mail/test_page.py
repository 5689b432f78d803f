"""A digest as words and numbers for readers: subject, entries, figures, the bill, and what was not scored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from paperboy.curate import MOST_MORNINGS
from paperboy.models import BriefSentence, Cost, Digest, Entry, Rendered, Shortfall, Spending, Usage
from paperboy.scoring.reply import clean_comment
from tests.builders import EMBEDDED, digest, entry, mailing_list, paper
from tests.mail.reading import flat, page_of, render, visible

WHY = "It explains why wide networks generalise."


def first_seen(mail: Rendered) -> tuple[str, str]:
    hidden = re.search(r'<div style="display:none[^>]*>([^<]*)</div>', mail.html)
    assert hidden
    return mail.subject, unescape(hidden[1]).strip()


MANY_WORDS = "words " * 20


@pytest.mark.parametrize(
    ("title", "subject"),
    [
        ("On $k$-trees: a < b", "On k-trees: a < b"),
        ("Re: [EXTERNAL] Fwd: trees", "trees"),
        ("w" * 110, "w" * 110),
        ("w" * 111, f"{'w' * 108} …"),
        (f"Trees that grow in woods: {MANY_WORDS}", "Trees that grow in woods"),
        # a short name says too little
        (f"WOODS: {MANY_WORDS}", f"WOODS: {'words ' * 17}…"),
    ],
)
def test_subject_is_the_best_title_or_if_that_is_long_its_name(title: str, subject: str) -> None:
    named = mailing_list(title="A list, whose title stands in From")
    of = [entry(1, paper(title=title)), entry(2)]
    assert render(digest(of, mailing_list=named)).subject == subject
    assert len(subject) <= 110


@pytest.mark.parametrize(
    ("number", "comment", "brief", "preheader"),
    [
        (1, "So a < b & c.", "", "So a < b & c."),
        (1, "", "", "1 paper"),
        (2, WHY, "", f"2 papers · {WHY}"),
        (2, WHY, "Trees & graphs grow.", "2 papers · Trees & graphs grow."),
        (2, "", "", "2 papers"),
        (2, "word " * 30, "", f"2 papers · {'word ' * 24}…"),
    ],
)
def test_preheader_has_the_number_and_the_first_sentence_of_the_day(
    number: int, comment: str, brief: str, preheader: str
) -> None:
    """The brief's, or the best paper's comment; before that of one paper, no number."""
    of = digest([entry(n, comment=comment) for n in range(1, number + 1)])
    sentences = [BriefSentence(text, ("2611.00001",), ("",)) for text in (brief, "More.") if brief]
    assert first_seen(render(replace(of, brief=tuple(sentences))))[1] == preheader


def test_inbox_shows_the_best_by_the_scores_and_no_name_after_its_title() -> None:
    """A followed author's paper stands first in the mail, but its scores may be low."""
    matched = entry(
        1,
        paper("2611.00001", title="Low"),
        relevance=3,
        comment="It is low.",
        matched_author="Yoshua Bengio",
    )
    of = [matched, *(entry(n, paper(f"2611.0000{n}", title=f"High {n}")) for n in (2, 3))]
    assert first_seen(render(digest(of))) == (
        "High 2",
        f"3 papers, 1 by an author you follow · {WHY}",
    )
    assert first_seen(render(digest([matched]))) == ("Low", "It is low.")
    unscored = replace(matched, score=None)
    assert first_seen(render(digest([unscored]))) == ("Low", "1 paper by Yoshua Bengio")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("Ada Byron",), "Ada Byron"),
        (("Ada Byron", "Bo Li"), "Ada Byron and Bo Li"),
        (("Ada Byron", "Bo Li", "Cy Fu", "Di Wu", "Ed Ox"), "Ada Byron, Bo Li, Cy Fu and 2 more"),
    ],
)
def test_inbox_names_followed_authors_as_the_list_spells_them(
    names: tuple[str, ...], said: str
) -> None:
    matched = replace(
        entry(1, paper(authors=tuple(map(str.upper, reversed(names))))), matched_authors=names
    )
    follows = mailing_list(authors=names)
    both = [matched, matched]
    for of, number in (([*both, entry(3)], "3 papers, 2"), (both, "2 papers")):
        preheader = first_seen(render(digest(of, mailing_list=follows)))[1]
        assert preheader == f"{number} by {said} · {WHY}"


def test_sections_and_groups_keep_the_numbers_of_papers_without_room() -> None:
    """The groups are what the templates of 1.0 know."""
    of = [
        entry(1, matched_author="Yoshua Bengio"),
        *(entry(n, topic=1 + n % 2) for n in range(2, 10)),
        entry(10),
    ]
    whole = page_of(digest(of, mailing_list=mailing_list(topics="- trees\n- graphs")))
    assert [(part.kind, part.topic, part.number) for part in whole.sections] == [
        ("followed", "", 1),
        ("closest", "", 3),
        ("also", "Graphs", 3),
        ("also", "Trees", 2),
        ("also", "", 1),
    ]
    assert [(part.kind, part.number) for part in whole.groups] == [
        ("followed", 1),
        ("closest", 3),
        ("also", 6),
    ]
    shown = replace(whole, items=whole.items[:6])
    assert [part.number for part in shown.groups] == [1, 3, 6]
    assert [part.number for part in shown.sections] == [1, 3, 3]
    assert shown.hidden == 4


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
        (
            "**Strong** result; uses `torch` in `__init__`.",
            "Strong result; uses torch in __init__.",
        ),
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
        ("See hxxp://evil[.]com now.", "See now.", "See now."),
        ("See ht\u00adtp://ev\u200bil.\u2060com now.", "See now.", "See now."),
        ("See http http://x ://evil.com now.", "See http now.", "See http now."),
        ("See еvil.com/a and 例え.jp/a now.", "See and now.", "See and now."),
        ("See evil$.$com, w$w$w.evil.com.", "See evil.com,.", "See evil.¦com,."),
        ("See http$:$//evil.com and s3$:$//evil.", "See and.", "See and."),
        ("See [this][1]. [1]: http://evil.com", "See [this][1]. [1]:", "See [this][1]. [1]:"),
        # what mail programs would make links of: stored, and mailed with joiners (here ¦)
        ("See evil.com, **evil.com** and `evil`.`com`.", None, "See evil.¦com, evil.¦com and evil.¦com."),
        ("Ask user@evil.com or user＠evil．com.", None, "Ask user¦@¦evil.¦com or user¦＠¦evil．¦com."),
        ("See еvil.com, 例え.jp and 例え。jp｡com.", None, "See еvil.¦com, 例え.¦jp and 例え。¦jp｡¦com."),
        ("See evil$.$com.", None, "See evil.¦com."),
        (r"See evil.\-com, \url{evil.com} and \href{evil.com}{this}.", None,
         "See evil.¦com, evil.¦com and this (evil.¦com)."),
        ("See evil.\u200bcom and evil.\u200dcom.", "See evil.com and evil.\u200dcom.",
         "See evil.¦com and evil.¦\u200dcom."),
        ("See javascript:alert(1) and tel:+491.", None, "See javascript¦:alert(1) and tel¦:+491."),
        ("See evil․com and evil﹒com.", None, "See evil․¦com and evil﹒¦com."),
        (r"See \\evil\a or {\backslash}{\backslash}evil\a.", None, r"See evila or \¦\evila."),
        # and what ordinary comments hold
        ("Uses Node.js and scikit-learn 1.5 vs. v2.0.1.", None, "Uses Node.¦js and scikit-learn 1.5 vs. v2.0.1."),
        ("GPT-4.1 (by Doe et al.) and/or 100% of it... so.", None, None),
    ],
)  # fmt: skip
def test_no_mail_program_finds_a_link_in_a_comment(
    said: str, stored: str | None, mailed: str | None
) -> None:
    """Neither in the text nor in HTML; what is not given is as it was before."""
    comment = clean_comment(said)
    assert comment == (said if stored is None else stored)
    mail = render(digest([entry(1, comment=comment)]))
    shown = (comment if mailed is None else mailed).replace("¦", "\u2060")
    in_text = re.search(r"\n(    >.*?)\n\n", mail.text, re.DOTALL)
    in_html = re.search('<p class="w"[^>]*>(.*?)</p>', mail.html)
    assert in_text
    assert in_html
    assert " ".join(re.sub(r"(?m)^ *>", "", in_text[1]).split()) == shown
    assert (
        unescape(re.sub("<sub>(.*?)</sub>", r"_(\1)", in_html[1])).replace("\xa0", " ").strip()
        == shown
    )


ODD_LINKS = [
    *"evil", "evil", "com", "www", "ftp", "http", "s3", "mailto", ".", "。", "．", ":", "/", "//", "://", "@", "＠",
    "\n", "\\", " ", "\u200b", "\u200d", "`", "**", "$", "[", "]", "(x)", "<", ">", "é", "1", "{", "}", "_", r"\-",
    r"\url{",
]  # fmt: skip
LINKED = re.compile(
    r"[^\W_]\.[^\W\d_]|(?:www|ftp)\.|\d+\.\d+\.\d+\.\d|[^\W_]@[^\W_]|[^\W\d_]:\S|\d:/|\\\\",
    re.IGNORECASE,
)


@given(st.lists(st.sampled_from(ODD_LINKS), max_size=25).map("".join))
def test_nothing_in_a_comment_looks_like_a_link(said: str) -> None:
    comment = clean_comment(said)
    item = page_of(digest([entry(1, comment=comment)])).items[0]
    assert not LINKED.search(str(item.comment))
    assert not LINKED.search(unescape(re.sub("</?code>", "", escape(item.comment))))
    assert clean_comment(comment) == comment


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
    text = render(of).text.partition("THE MORNING IN NUMBERS\n\n")[2].partition("\n\n")[0]
    rows = [
        (len(indent) // 2 - 1, label, number)
        for indent, label, number in re.findall(r"( +)(.*?)  +(\S+)\n?", text)
    ]
    assert rows == [
        (0, "Total arXiv papers", "1,007"),
        (1, "Scanned", "1,004"),
        (2, "Relevant", "3"),
        (3, "by authors you follow", "1"),
        (3, "by their scores", "2"),
        (2, "Also passed, over the limit of 50", "1"),
        (2, "Below the thresholds", "1,000"),
        (1, "Not scored yet: back next morning", "2"),
        (1, "Could not be scored", "1"),
    ]


@pytest.mark.parametrize(
    ("filtered", "not_called", "below", "subject", "said"),
    [
        (
            3,
            0,
            10,
            "Nothing for you today",
            "; this list's filters left out 3; the others were",
        ),
        (
            0,
            9,
            10,
            "None of the 10 scanned papers passed",
            "; this list's learned shortlist left out 9; the others were scanned",
        ),
        (
            5,
            9,
            1,
            "The one scanned paper did not pass",
            "; this list's filters left out 5, its learned shortlist 9; the other was scanned",
        ),
    ],
)
def test_note_says_which_papers_nobody_was_asked_about(
    filtered: int, not_called: int, below: int, subject: str, said: str
) -> None:
    """It calls none irrelevant that the LLM was not asked about."""
    of = digest([], below=below)
    considered = below + filtered + not_called
    of = replace(
        of,
        counts=replace(of.counts, considered=considered, filtered=filtered, not_called=not_called),
    )
    seen, preheader = first_seen(render(of))
    assert seen == subject
    assert preheader == ("" if not_called else f"{considered} new papers, none passed.")
    for part in both(of):
        assert f"{considered} new papers appeared in cs.LG and stat.ML{said}" in part
        assert subject in part


@pytest.mark.parametrize(
    ("learned_from", "said"),
    [
        ("", ""),
        ("votes", " and by this list's votes"),
        ("scores", " and by what an LLM scored before"),
        ("scores and votes", ", by what an LLM scored before and by this list's votes"),
    ],
)
def test_embedded_ranking_says_what_it_was_made_by(learned_from: str, said: str) -> None:
    today = " today" if "scores" in learned_from else ""
    for part in both(
        digest(model=replace(EMBEDDED, learned_from=learned_from), spending=Spending())
    ):
        assert f"Ranked by shared words{said}, not by an LLM{today}." in part
        assert (
            f"ranked them by the words they share with the topics{said}: relevance is a rank"
            in part
        )


# --- tokens and money


@pytest.mark.parametrize(
    ("usage", "rows", "said"),
    [
        (
            Usage(27, 148_232, 31_232, 1_216, 9_120, 320),
            "Prompt tokens 148,232 $0.0100 Completion tokens 9,120 $0.0200 All tokens 157,352 $0.0300",
            (
                "Scored by gpt-6-luna (27 calls; 31,232 prompt tokens cached; 1,216 written to the cache; "
                "320 completion tokens for reasoning)."
            ),
        ),
        (
            Usage(2, 900, completion_tokens=80),
            "All tokens 980 $0.0300",
            "Scored by gpt-6-luna (2 calls).",
        ),
        (
            Usage(1, 900, 1, completion_tokens=80),
            "",
            "Scored by gpt-6-luna (1 call; 1 prompt token cached).",
        ),
        (
            Usage(1, 900, cache_write_tokens=768, completion_tokens=80),
            "",
            "Scored by gpt-6-luna (1 call; 768 prompt tokens written to the cache).",
        ),
        (
            Usage(1, 900, completion_tokens=80, reasoning_tokens=64),
            "",
            "Scored by gpt-6-luna (1 call; 64 completion tokens for reasoning).",
        ),
    ],
)
def test_bill_says_what_the_tokens_were(usage: Usage, rows: str, said: str) -> None:
    for part in both(paid(usage)):
        assert rows in part
        assert said in part


def test_server_that_counts_no_tokens_is_reported_as_such() -> None:
    """Its calls are all that is known of it; not even that it was free."""
    for part in both(paid(Usage(calls=3))):
        assert "Scored by gpt-6-luna (3 calls; its server counts no tokens)." in part
        assert "Prompt tokens" not in part
        assert "$" not in part


def test_tokens_are_shown_where_the_price_is_unknown() -> None:
    for part in both(paid(Usage(1, 900, completion_tokens=100), cost=None)):
        assert "Prompt tokens 900 Completion tokens 100 All tokens 1,000" in part
        assert "Scored by gpt-6-luna (1 call; price unknown)." in part
        assert "$" not in part


def test_morning_of_kept_scores_says_why_it_cost_nothing() -> None:
    for part in both(digest(spending=Spending())):
        assert (
            "No calls for this list: its scores were paid for earlier, or by another list." in part
        )


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
def test_mail_says_why_papers_were_carried_over(
    of: Sequence[Entry], shortfall: Shortfall | None, because: str
) -> None:
    html, text = both(digest(of, carried_over=WAITING, shortfall=shortfall))
    for part in (html, text):
        said = f"4 papers have no score yet, because {because}; they will be back the next morning."
        assert said in part
    why = f"{because[0].upper()}{because[1:]}."
    assert f" Not scored yet: back next morning · 4 {why} Waits 0" in html
    assert f" NOT SCORED YET: BACK NEXT MORNING · 4 {why} - Waits 0" in text


@pytest.mark.parametrize(
    ("number", "opening"), [(1, "1 paper could not be"), (4, "4 papers could not be")]
)
@pytest.mark.parametrize("of", [[entry()], []], ids=["digest", "note"])
def test_papers_let_go_are_in_the_first_paragraph_and_named_at_the_end(
    of: Sequence[Entry], number: int, opening: str
) -> None:
    assert MOST_MORNINGS == 3  # else the templates need another word
    is_named = "and is named at the end." if number == 1 else "and are named at the end."
    html, text = both(digest(of, let_go=WAITING[:number]))
    for part in (html, text):
        assert (
            f"{opening} scored on three mornings {is_named}"
            in re.split("(?i)could not be scored · ", part)[0]
        )
    assert f" Could not be scored · {number} Waits 0" in html
    assert f" COULD NOT BE SCORED · {number} - Waits 0" in text


# --- no silent zero


def first_words(of: Digest) -> tuple[str, str, str]:
    """What an inbox shows of a note, subject and preheader, and what stands first in it."""
    mail = render(of)
    lead = flat(mail.text.partition("2026")[2].partition("\n\n\n")[0])
    assert f" {lead} " in visible(mail.html)
    return *first_seen(mail), lead


SERVER = "4 papers have no score yet, because the LLM stopped answering; they will be back the next morning."
LET_GO = "1 paper could not be scored on three mornings and is named at the end."


@pytest.mark.parametrize(
    ("of", "subject", "preheader", "lead"),
    [
        (
            digest([], below=183),
            "Nothing for you today",
            "183 new papers, none passed.",
            "Nothing for you today. All 183 new papers in cs.LG and stat.ML were scanned; none scored high enough.",
        ),
        (
            digest([], below=1),
            "Nothing for you today",
            "1 new paper, which did not pass.",
            "Nothing for you today. The one new paper in cs.LG and stat.ML was scanned; it did not score high enough.",
        ),
        (
            digest([], below=14, carried_over=WAITING, shortfall=Shortfall.SERVER),
            "None of the 14 scanned papers passed",
            "4 of 18 new papers not scored.",
            f"None of the 14 scanned papers passed. 18 new papers appeared in cs.LG and stat.ML. {SERVER}",
        ),
        (
            digest([], below=1, let_go=WAITING[:1]),
            "The one scanned paper did not pass",
            "1 of 2 new papers not scored.",
            f"The one scanned paper did not pass. 2 new papers appeared in cs.LG and stat.ML. {LET_GO}",
        ),
    ],
)
def test_note_claims_no_more_than_was_scanned(
    of: Digest, subject: str, preheader: str, lead: str
) -> None:
    """A relevant paper may be among those that wait."""
    assert first_words(of) == (subject, preheader, lead)


def test_note_shows_the_three_nearest_misses_as_such_and_the_topics_by_their_names() -> None:
    misses = tuple(
        entry(
            0,
            paper(f"2611.3000{n}", title=f"Miss {n}"),
            relevance=6,
            novelty=9 - n,
            comment=f"Nearly {n}.",
        )
        for n in range(4)
    )
    topics = "You read for us.\n\n- trees: those that grow\n- graphs"
    of = digest([], below=9, nearest=misses, mailing_list=mailing_list(topics=topics))
    mail = render(of)
    inbox = "9 new papers, none passed. Closest: Miss 0 · Miss 1 · Miss 2"
    assert first_seen(mail) == ("Nothing for you today", inbox)
    html, text = both(of)
    assert "Topics: Trees · Graphs." in html
    assert "• trees: those that grow • graphs" in text
    for part in (html.removeprefix(inbox), text):
        assert " Closest " in part or " CLOSEST " in part
        at = [part.index(words) for words in ("Miss 0", "Miss 1", "Miss 2")]
        assert at == sorted(at)
        assert re.search(r" Scores: relevance/novelty, out of 10\.? ", part)
        assert "Miss 3" not in part
        for n in range(3):
            assert f"6/{9 - n}" in part
            assert f"Nearly {n}." in part
