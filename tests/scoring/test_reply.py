"""Reading replies: lenient in form, strict in substance."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.edges.text import hidden
from paperboy.models import Score
from paperboy.scoring.reply import MAX_COMMENT, clean_comment, read_reply

A = "2502.06786"
B = "astro-ph/0601001"
KEY = "sk-not-for-the-log"
ASKED = [A, B]
GOOD = {A: Score(9, 8, "Good."), B: Score(2, 3)}


def entry(
    arxiv_id: object = A, relevance: object = 9, novelty: object = 8, comment: object = "Good."
) -> dict[str, Any]:
    return {"arxiv_id": arxiv_id, "relevance": relevance, "novelty": novelty, "comment": comment}


def entry_without_id(whole: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in whole.items() if name != "arxiv_id"}


BOTH = [entry(), entry(B, 2, 3, "")]
PLAIN = json.dumps({"scores": BOTH})


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        json.dumps({"scores": BOTH}, indent=2),
        f"```json\n{PLAIN}\n```",
        f"Certainly! Here [as asked] are the {{scores}}:\n{PLAIN}\nAnything else?",
        json.dumps(BOTH),
        "\n".join(json.dumps(score) for score in BOTH),
        ",\n".join(json.dumps(score) for score in BOTH),
        json.dumps({"result": {"papers": BOTH}}),
        json.dumps({"scores": [entry(relevance="9", novelty=" 8 "), entry(B, 2.0, "3", None)]}),
        json.dumps({"scores": [entry(f"{A}v2"), entry(f"arXiv:{B}", 2, 3, "")]}),
        json.dumps({"scores": [entry(f"https://arxiv.org/abs/{A}"), entry(f" {B} ", 2, 3, "")]}),
        f"<think>Perhaps {json.dumps([entry(relevance=1)])}? No.</think>{PLAIN}",
        PLAIN[:-2] + ', {"arxiv_id": "25',
        PLAIN.replace("}", ",}").replace("]", ",\n]"),
        PLAIN.replace('"', "'"),
        json.dumps({"scores": {A: entry_without_id(BOTH[0]), B: entry_without_id(BOTH[1])}}),
        PLAIN.replace(f'"{A}"', A),
    ],
    ids=[
        "plain", "indented", "fenced", "prose", "bare list", "JSON lines", "lines with commas", "other wrapper",
        "numbers as strings", "versions", "addresses", "thoughts", "cut-off tail",
        "trailing commas", "single quotes", "keyed by id", "id without quotes",
    ],
)  # fmt: skip
def test_every_form_of_the_same_scores_is_read(text: str) -> None:
    assert read_reply(text, ASKED).scores == GOOD


@pytest.mark.parametrize(
    "bad",
    [
        entry(relevance=0),
        entry(relevance=8.5),
        entry(relevance="high"),
        entry(novelty=True),
        entry(relevance=float("nan")),
        {"arxiv_id": A, "relevance": 9},
        entry("2502.06787"),
        entry(None),
    ],
)
def test_invalid_entry_is_missing_and_costs_no_other(bad: dict[str, Any]) -> None:
    """And the entry beside it is used."""
    assert read_reply(json.dumps({"scores": [bad, BOTH[1]]}), ASKED).scores == {B: GOOD[B]}


def test_ids_that_were_not_asked_for_are_dropped() -> None:
    assert read_reply(json.dumps({"scores": [entry("9912.99999"), *BOTH]}), [B]).scores == {
        B: GOOD[B]
    }


@pytest.mark.parametrize(
    ("entries", "defect"),
    [
        ([entry(relevance=7), entry(novelty=None)], ""),
        ([entry(), entry()], ""),
        ([entry(), entry(comment=" Good.\u200b ")], ""),
        ([entry(relevance=7), entry(relevance=9)], ""),
        ([entry(relevance=85)], "relevance is not a whole number from 1 to 10"),
        ([entry(relevance=[[9]])], "relevance is not a whole number from 1 to 10"),
        ([entry(novelty=None)], "novelty is not a whole number from 1 to 10"),
        ([entry("2502.06787")], "no entry for the paper"),
    ],
)
def test_paper_has_one_score_or_a_defect(entries: list[dict[str, Any]], defect: str) -> None:
    reply = read_reply(json.dumps(entries), [A])
    assert (reply.scores.keys(), reply.defects) == (
        ({A}, {}) if not defect else (set(), {A: defect})
    )


def test_two_different_entries_count_only_for_a_paper_that_was_asked_alone() -> None:
    entries = json.dumps([entry(relevance=7), *BOTH])
    reply = read_reply(entries, ASKED)
    assert (reply.scores, reply.defects) == (
        {B: GOOD[B]},
        {A: "two different ones for the same paper"},
    )
    assert read_reply(entries, [A]).scores == {A: GOOD[A]}


DRAFT = [entry(relevance=4), entry(B, 5, 5)]
DRAFTED = json.dumps({"scores": DRAFT})
DRAFT_SCORES = {A: Score(4, 8, "Good."), B: Score(5, 5, "Good.")}
CUT_OFF = json.dumps({"scores": [BOTH[0], entry("2502.00001"), BOTH[1]]})[:-30]


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        (f"{DRAFTED}\n\nOn reflection:\n\n{PLAIN}", GOOD),
        (f"{DRAFTED}{json.dumps({'scores': [entry(relevance=1), entry(B)]})}{PLAIN}", GOOD),
        (f"```json\n{json.dumps(DRAFT)}\n```\nOn reflection:\n```json\n{json.dumps(BOTH)}\n```", GOOD),
        (json.dumps({"draft": DRAFT, "scores": BOTH}), GOOD),
        (json.dumps([{"scores": DRAFT}, {"scores": BOTH}]), GOOD),
        ("\n".join([DRAFTED, *map(json.dumps, BOTH)]), GOOD),
        ("\n".join([*map(json.dumps, DRAFT), PLAIN]), GOOD),
        (f"{DRAFTED} On reflection: {json.dumps([BOTH[0]])}", {**DRAFT_SCORES, A: GOOD[A]}),
        (f"{DRAFTED} On reflection: {CUT_OFF}", DRAFT_SCORES),
        (f"{json.dumps([DRAFT[1]])} On reflection: {CUT_OFF}", {A: GOOD[A], B: DRAFT_SCORES[B]}),
        (f"{DRAFTED[:-2]}, On reflection: {PLAIN}", GOOD),
        (f"{DRAFTED} On reflection: {json.dumps([entry(relevance=99), BOTH[1]])}", {B: GOOD[B]}),
        (f"{DRAFTED} On reflection: {json.dumps([*DRAFT, *BOTH])}", {}),
        (f"{json.dumps([*DRAFT, *BOTH])} On reflection: {PLAIN}", GOOD),
        ("\n".join(map(json.dumps, [*DRAFT, *BOTH])), {}),
        (f"{PLAIN} Is [2] a {{list}}? {json.dumps([entry('2502.00001'), 7, {}])} No.", GOOD),
    ],
    ids=[
        "two lists", "three lists", "fenced", "lists of one object", "lists in a list", "list and JSON lines",
        "JSON lines and list", "last one names one paper", "last one cut off", "paper named only where it is cut off",
        "first one cut off", "last one unusable", "two in the last one", "two in the first one", "two in JSON lines",
        "other lists after it",
    ],
)  # fmt: skip
def test_entry_of_the_last_whole_list_that_names_a_paper_counts(
    text: str, scores: dict[str, Score]
) -> None:
    assert read_reply(text, ASKED).scores == scores


def test_key_that_a_comment_quotes_is_hidden() -> None:
    """Also one that only the removal of a link puts together."""
    for said in (
        KEY,
        f"{KEY[:4]}\u200b{KEY[4:]}",
        f"{KEY[:4]}</a>{KEY[4:]}",
        f"{KEY[:4]}[{KEY[4:]}](x)",
    ):
        scores = read_reply(
            json.dumps([entry(comment=f"The key is {said}!")]), [A], lambda text: hidden(text, KEY)
        ).scores
        assert scores[A].comment == "The key is …!"


@pytest.mark.parametrize(
    ("written", "topic"),
    [
        *[(3, 3), ("3", 3), (3.0, 3), (" 12 ", 12), (999, 999)],
        *[(0, None), (-1, None), (1.5, None), (1000, None), (10**30, None), (float("nan"), None)],
        *[(None, None), (True, None), ("", None), ("streams", None), ([3], None), ({}, None)],
    ],
)
def test_topic_is_a_whole_number_or_none_and_never_costs_a_score(
    written: object, topic: int | None
) -> None:
    reply = read_reply(json.dumps({"scores": [{**entry(), "topic": written}, BOTH[1]]}), ASKED)
    assert reply.scores == {A: Score(9, 8, "Good.", topic), B: GOOD[B]}
    assert reply.defects == {}


def test_two_entries_that_differ_in_the_topic_alone_are_one() -> None:
    """The last one's topic counts."""
    entries = [{**entry(), "topic": 1}, {**entry(), "topic": 2}, BOTH[1]]
    assert read_reply(json.dumps(entries), ASKED).scores == {
        A: Score(9, 8, "Good.", 2),
        B: GOOD[B],
    }


@pytest.mark.parametrize("comment", [None, 7, ["a"], {"a": 1}])
def test_comment_of_the_wrong_type_costs_only_the_comment(comment: object) -> None:
    assert read_reply(json.dumps([entry(comment=comment)]), [A]).scores[A] == Score(9, 8, "")


def said_of(comment: str, *, after: str = "") -> str:
    """A reply whose comment is written as a model writes it, escaped or not."""
    return f'{{"scores": [{{"arxiv_id": "{A}", "relevance": 9, "novelty": 8, "comment": "{comment}"{after}}}]}}'


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"Of $\ell_2$ and $\sigma$.", r"Of $\ell_2$ and $\sigma$."),
        (r"Up to $5\%$ of \textbf{all}.", r"Up to $5\%$ of \textbf{all}."),
        (
            r"$\tau \to \nu$, $\rho$, $\beta$, $\frac12$",
            r"$\tau \to \nu$, $\rho$, $\beta$, $\frac12$",
        ),
        (
            r"$x \neq y$, $\nabla f$, $a \notin b$, $\ni$",
            r"$x \neq y$, $\nabla f$, $a \notin b$, $\ni$",
        ),
        (r"$\underline{x}$, $\uparrow$, caf\u00e9", r"$\underline{x}$, $\uparrow$, café"),
        (r"Right as it is: $\\tau$ and $\\nu$.", r"Right as it is: $\tau$ and $\nu$."),
        (r"One line.\nanother, \nthe third.", "One line. another, the third."),
        ("One line.\nanother.", "One line. another."),
        (r"One line.\ni.e. a short one, \ne.g. this.", "One line. i.e. a short one, e.g. this."),
        (r"It\'s new, and doesn\'t cost.", "It's new, and doesn't cost."),
        (r"A \"quoted\" word, a \/ and b.", 'A "quoted" word, a / and b.'),
        ('The "new" idea is "old".', 'The "new" idea is "old".'),
        (r'The "new" $\tau$, \"so\".', r'The "new" $\tau$, "so".'),
    ],
    ids=lambda text: text[:24],
)
def test_comment_is_read_as_it_was_meant(written: str, read: str) -> None:
    for after in ("", ', "topic": 2', ","):
        scores = read_reply(said_of(written, after=after), [A]).scores
        assert scores[A].comment == read
        assert scores[A].topic == (2 if "topic" in after else None)


def test_paper_whose_comment_cannot_be_read_keeps_its_scores() -> None:
    """An entry that is cut off within a number is none, since its last digit may be missing."""
    whole = said_of("It has no end")
    numbers = whole.partition(', "comment"')[0]
    assert read_reply(whole[: whole.index("no end")], [A]).scores == {A: Score(9, 8)}
    assert read_reply(f"{numbers},", [A]).scores == {A: Score(9, 8)}
    assert read_reply(numbers, [A]).scores == {}
    assert read_reply(numbers[:-3], [A]).scores == {}


@pytest.mark.parametrize("topic", ["None", "null", "1"])
def test_entry_that_is_no_json_ends_before_the_next_one(topic: str) -> None:
    first = (
        f"'arxiv_id': '{A}', 'relevance': 9, 'novelty': 8, 'comment': 'First.', 'topic': {topic}"
    )
    second = f"'arxiv_id': '{B}', 'relevance': 2, 'novelty': 3, 'comment': 'Second.', 'topic': 2"
    scores = read_reply(f"[{{{first}}}, {{{second}}}]", ASKED).scores
    assert scores == {
        A: Score(9, 8, "First.", 1 if topic == "1" else None),
        B: Score(2, 3, "Second.", 2),
    }


def test_whole_entries_go_before_those_that_are_no_json() -> None:
    draft = said_of('The "old" idea.').replace("9", "4")
    for text in (f"{draft}\n{PLAIN}", f"{PLAIN}\n{draft}"):
        assert read_reply(text, ASKED).scores == GOOD


def test_entry_that_copies_the_prompts_example_is_unusable() -> None:
    """As models of a few hundred million parameters do. Others in the reply count."""
    copied = json.dumps([entry(comment=" It shows\nhow. "), BOTH[1]])
    reply = read_reply(copied, ASKED, examples={"It shows how."})
    assert reply.scores == {B: GOOD[B]}
    assert reply.defects == {A: "the comment is the prompt's example"}


def test_id_is_no_number() -> None:
    """Its last 0 counts."""
    text = '{"scores": [{"arxiv_id": 2611.00010, "relevance": 9.0, "novelty": 8, "comment": ""}]}'
    assert read_reply(text, ["2611.00010"]).scores == {"2611.00010": Score(9, 8)}
    assert read_reply(text, ["2611.0001"]).scores == {}


@pytest.mark.parametrize(
    "text", ["", "   ", "No.", "{", "[[[[", "null", "7", '"x"', "{}", '{"scores": null}', "<think>"]
)
def test_reply_without_scores_scores_nothing(text: str) -> None:
    assert read_reply(text, ASKED).scores == {}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a":' * 50_000,
        "[0," * 100_000,
        "<think>" * 50_000,
        "[{}," * 50_000,
        "9" * 100_000,
        "{" * 100_000,
        '["' * 100_000,
        '{"a":"\\x' * 50_000,
        "[" * 900 + "{}," * 100_000,
        "[" * 900 + "1," * 100_000,
        "[" * 900 + "9" * 100_000,
        f'"arxiv_id": "{A}", "relevance": 9, "novelty": 8, "comment": "' * 2_000,
        f'{{"arxiv_id": "{A}", "relevance": 9, "novelty": 8, "comment": "' + '" ' * 50_000,
        "\\" * 100_000,
        ", " * 50_000,
        json.dumps([entry(), entry(B, relevance=10**3000)]).replace("0" * 3000, "0" * 10_000),
    ],
    ids=[
        "brackets",
        "objects",
        "lists",
        "thoughts",
        "pairs",
        "digits",
        "braces",
        "quotes",
        "escapes",
        "deep",
        "numbers",
        "deep digits",
        "no end",
        "no brace",
        "backslashes",
        "commas",
        "10**10000",
    ],
)
def test_hostile_reply_is_read(text: str) -> None:
    assert B not in read_reply(text, ASKED).scores


LEAVES = st.none() | st.booleans() | st.floats() | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(st.text() | VALUES.map(json.dumps))
def test_no_reply_crashes_the_parser_or_scores_by_accident(text: str) -> None:
    assert read_reply(text, ASKED).scores == {}


MARKS = st.integers(-2, 13)


@given(st.lists(st.builds(entry, st.sampled_from([A, B, "x"]), MARKS, MARKS, st.text())))
def test_only_ids_asked_for_are_scored_with_short_encodable_comments(
    entries: list[dict[str, Any]],
) -> None:
    scores = read_reply(json.dumps(entries), ASKED).scores
    assert set(scores) <= {A, B}
    for score in scores.values():
        assert len(score.comment) <= MAX_COMMENT
        score.comment.encode()


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("It  shows\n\n why.", "It shows why."),
        ("See https://evil.example.org/a?b=c#d.", "See."),
        ("See http://evil.example.org, then stop.", "See, then stop."),
        ("See (https://evil.example.org/x) there.", "See there."),
        ("See <https://evil.example.org/x>.", "See."),
        ("See WWW.evil.example.org now.", "See now."),
        ("See [the code](https://evil.example.org/x) now.", "See the code now."),
        ("A ![picture](http://evil.example.org/p.png) here.", "A picture here."),
        ("[a [b](http://evil.example.org)](http://evil.example.org)", "a b"),
        ("Code at evil.example.org/repo and more.", "Code at and more."),
        ("ht\u200btps://evil.example.org", ""),
        ("https[:](x)//evil.example.org", ""),
        ("Write to mailto:ada@example.org today.", "Write to today."),
        ("Extends GPT-4.1 vs. Llama-3.1 (i.e. by 3.5 points) and/or [12].", None),
        ("A \u202egnitset\u202c of\x00 con\x07trols\ud800.", "A gnitset of controls."),
        ('See <a href="http://evil.example.org">the code</a> now.', "See the code now."),
        ("Bounds <a, b> for a<A and b>c.", None),
        ("<b>bold</b> & $\\alpha$-divergence", None),
        # as readers see it
        ("See \\texttt{example}.org/x now.", "See now."),
        ("See example\u200d.org/x now.", "See now."),
        ("It reaches $x_{10}$ at 3.5/4 of \\textbf{it}, می\u200cشود.", None),
        ("… 9/10 …", ""),
        ("z\u0334\u0335\u0336\u0337\u0338 wins", ""),
        ("שָׁ֑לוֹם, Việt Nam", None),
    ],
)
def test_comments_are_one_plain_line_without_links(said: str, kept: str | None) -> None:
    assert clean_comment(said) == (said if kept is None else kept)


SHOWS = "It shows that wide networks forget less, e.g. by a third (Fig. 2)."


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            f"{SHOWS} " + "It fits since topics ask for it. " * 20,
            f"{SHOWS}{' It fits since topics ask for it.' * 5}",
        ),
        (f"{SHOWS} It fits {'because topics ask for it ' * 20}.", SHOWS),
        ("Yes! Then " + "because topics ask for it " * 20, "Yes!"),
        ("它表明宽网络遗忘更少。" * 30, "它表明宽网络遗忘更少。" * 21),
        ("Es zeigt, dass breite Netze weniger vergessen. Übrigens auch tiefe. " * 6, None),
        ("x" * MAX_COMMENT, "x" * MAX_COMMENT),
        ("x" * (MAX_COMMENT - 1) + ".", "x" * (MAX_COMMENT - 1) + "."),
        ("x" * (MAX_COMMENT + 1), "x" * (MAX_COMMENT - 1) + "…"),
    ],
)
def test_long_comments_end_at_the_last_whole_sentence(said: str, kept: str | None) -> None:
    comment = clean_comment(said)
    assert len(comment) <= MAX_COMMENT == 240
    if kept is None:
        assert said.startswith(comment)
        assert comment.endswith(".")
    else:
        assert comment == kept


def test_long_comments_without_a_whole_sentence_end_at_a_word() -> None:
    comment = clean_comment("abcde, " * 200)
    assert comment.endswith("abcde…")
    assert MAX_COMMENT - 10 < len(comment) <= MAX_COMMENT


@pytest.mark.parametrize(
    "unit",
    [
        "[",
        "[a](",
        "a.",
        "a://",
        "http",
        "`",
        "*",
        "<",
        "()",
        "a .b/",
        "www. ",
        " .",
        ": //",
        "a.b:80",
        "<a href=",
        "@",
    ],
)
def test_hostile_comments_are_cleaned(unit: str) -> None:
    for nested in (
        unit * 50_000,
        f"{'(' * 2000}{unit}{')' * 2000}",
        f"{'[' * 1000}{unit}{'](x)' * 500}",
    ):
        assert len(clean_comment(nested)) <= MAX_COMMENT


def test_comment_in_burmese_is_readable() -> None:
    """Its vowel signs stand beside a letter, and do not pile up on it."""
    comment = "လျှော့ချနိုင်သော နည်းလမ်းသစ်"
    assert clean_comment(comment) == comment
