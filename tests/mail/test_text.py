"""Text made fit for a mail: how formulas show, where it is cut, how it is wrapped."""

import html
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import escape
from rich.cells import cell_len

from paperboy.edges.text import one_line, printable
from paperboy.mail.text import (
    WIDTH,
    Prose,
    bare_title,
    clipped,
    code_url,
    cut,
    prose,
    shorten,
    telling_sentence,
    unbroken,
    unlinked,
    wrap,
)
from tests.test_tex import to_text

ODD = st.text(
    st.sampled_from('ab .,;([)]!…"“ \n\t\0\u00a0\u202e\u200b\u0301\u1100\u1161\ud800数😀é-–'),
    max_size=300,
)


# --- where a text is cut


def test_text_is_cut_at_the_end_of_a_sentence() -> None:
    text = "We follow J. Doe et al. here, e.g. This holds. It ends later than the limit allows it to do so."
    assert shorten(text, 60) == "We follow J. Doe et al. here, e.g. This holds. …"
    assert shorten("word " * 30, 22) == "word word word word …"
    assert shorten("short", 60) == "short"
    assert clipped("Is this a title? Yes, it is one.", 29) == "Is this a title? Yes, it is …"


@pytest.mark.parametrize(
    "sentence",
    [
        "We follow J. Doe, H.-W. Rix and Smith et al. (2020) here.",
        "It holds, e.g. Bayes, i.e. All of it, cf. Sect. 3 and Fig. 2 (Eq. 4, Sec. IV, App. B, No. 7).",
        "A cut vs. An end, ca. 10, approx. 10 or resp. The rest of it.",
        "Dr. Doe of St. Andrews wrote to Prof. Hopper and Mt. Wilson on it.",
        "Version 3.5 is 0.5 better than v. 2 (p. 30, Jan. 5).",
        "It has three parts: 1. The first one, as it is.",
        "The H.E.S.S. Collaboration and the U.S. Navy agree on it.",
        "All of approx. five and of https://x.example.org/a.b.",
        "We measure the redshift z.",
        "It reacts with CO.",
        "Is it so?",
        "They said “it is so.”",
        "It is so (as we say here).",
    ],
)
@pytest.mark.parametrize("then", ["We go on with", "The rest is", "This is", "In it, there is"])
def test_abbreviation_is_not_taken_for_the_end_of_a_sentence(sentence: str, then: str) -> None:
    """No abbreviation, initial or number in it is taken for its end, and its own end is found."""
    text = f"{sentence} {then} " + "more of it " * 10
    for limit in range(len(sentence), len(sentence) + 10):
        assert shorten(text, limit) == f"{sentence} …"


@pytest.mark.parametrize("start", ["as it is", "com/a_b is", "k-means is", "i.e. it is"])
def test_word_in_lower_case_starts_no_sentence(start: str) -> None:
    assert (
        shorten(f"This much is known of it. {start} " + "so on " * 20, 60)
        != "This much is known of it. …"
    )


def test_chinese_sentences_end_without_a_space() -> None:
    assert shorten("这是第一句话。这是第二句话,它比较长,一直没有结束" * 2, 14) == "这是第一句话。 …"


def test_cut_leaves_no_bracket_open_where_another_sentence_ends_near() -> None:
    text = "It is so. It was so (this is. And it goes on. And on) for ever and ever after."
    assert shorten(text, 50) == "It is so. It was so (this is. And it goes on. …"
    assert shorten(text, 28) == "It is so. …"
    assert (
        shorten("a long line of words (with a bracket that does not end", 40)
        == "a long line of words …"
    )
    assert shorten("a (word with a bracket that does not end before the limit)", 40).startswith(
        "a (word with"
    )
    assert shorten("for all of x in [0, 1) it holds and for all others it does not", 40).startswith(
        "for all of x in [0, 1) it"
    )


def test_words_without_spaces_are_cut_between_characters() -> None:
    assert shorten("x" * 50, 20) == "x" * 20 + " …"
    assert shorten("A " + "x" * 500, 100) == "A " + "x" * 98 + " …"


@given(ODD, st.integers(1, 100), st.integers(0, 100))
@example(";;;;;;;;;;;;;;;;;;;;;.;;;;;; ", 23, 5)
@example("a" * 25 + "(bbbbbbbbb ccccc", 30, 8)
def test_wider_limit_never_cuts_earlier(text: str, limit: int, more: int) -> None:
    if limit + more < len(text):
        assert cut(text, limit) <= cut(text, limit + more)


@pytest.mark.parametrize(
    ("name", "on_a_line"),
    [
        ("Ada de la Cruz", "Ada\u00a0de\u00a0la\u00a0Cruz"),
        ("Grace Murray-Hopper", "Grace\u00a0Murray-Hopper"),
        (f"Ada {'x' * 26}", f"Ada\u00a0{'x' * 26}"),
        (f"Ada {'x' * 27}", f"Ada {'x' * 27}"),
    ],
)
def test_name_of_up_to_30_characters_stays_on_one_line(name: str, on_a_line: str) -> None:
    """A longer one may fit on no line. Hyphens stay as readers type them."""
    assert unbroken(name) == on_a_line


# --- the sentence that stands for an abstract


@pytest.mark.parametrize(
    "telling",
    [
        "We show that deep networks forget.",
        "Here we prove it for all dimensions.",
        "In this work, a bound is given.",
        "To this end, we propose Gibbs sampling (cf. Sect. 2) with a prior.",
        "Using 12 radio dishes and a telescope, I have found a pulsar.",
        "This paper carefully examines four cases.",
        "Our findings suggest that it is so.",
        "A new pipeline is presented, with a test.",
    ],
)
def test_telling_sentence_is_the_first_about_the_work_itself(telling: str) -> None:
    """A short one takes the next along."""
    abstract = (
        f"Networks forget. It matters how we see them, e.g. We do. {telling} We also test it."
    )
    found = telling_sentence(abstract)
    assert found == (telling if len(telling) >= 50 else f"{telling} We also test it.")


@pytest.mark.parametrize(
    ("abstract", "sentence"),
    [
        ("Networks forget. They also learn.", "They also learn."),
        ("We know that networks forget, and we live with it. They learn.", "They learn."),
        ("Just a line without an end", "Just a line without an end"),
        ("这是第一句话。这是第二句话。", "这是第二句话。"),
        ("", ""),
    ],
)
def test_telling_sentence_is_else_the_last(abstract: str, sentence: str) -> None:
    assert telling_sentence(abstract) == sentence


def test_telling_sentence_is_shortened_between_words() -> None:
    sentence = telling_sentence(f"Networks forget. We show that {'they forget ' * 40}a lot.")
    assert sentence.startswith("We show that they forget")
    assert sentence.endswith("forget …")
    assert 200 < len(sentence) < 245


def test_telling_sentence_of_prose_keeps_its_formulas() -> None:
    found = telling_sentence(prose(r"Stars shine. We find $T_{\rm eff}$ < 3 kpc. Others do not."))
    assert found == "We find T_eff < 3 kpc. Others do not."
    assert escape(found) == "We find T<sub>eff</sub> &lt; 3 kpc. Others do not."


# --- formulas


def shown(text: Prose) -> str:
    """What HTML shows, as text."""
    return html.unescape(re.sub("</?su[bp]>", "", escape(text)))


FORMULAS = [
    "$x^{9.5}$", "$T_{\\rm eff}$", "$a_{b,E}$", r"\(M_{V,0} = 3\)", "$<$", "$\\alpha$", "$$\\foo<b$$", "$a_\\hat{E}$",
    "$\\{1\\}$", "$\0_V$", "$\u0301_V$", "$\\!$", "$", "\\emph{", "}", "^", "\\,", "{", "\ufdd0", "\ufdd1",
    "$x^{a_b}$", "M_{V,0}", r"T_{\textit{room temperature of all}}",
    "$a : b_V = 3$", r"\text{a $x_V$}", "$^{</sup>}$", "_{<sub>",
]  # fmt: skip
WORDS = [
    "ab",
    "c. The",
    " ",
    "  ",
    "\n",
    "<b>",
    "&",
    "'",
    "\0",
    "\u202e",
    "\u0301",
    "数。",
    "(",
    ")",
]
TEX = st.one_of(st.text(), st.lists(st.sampled_from(WORDS + FORMULAS)).map("".join))


@pytest.mark.parametrize(
    ("tex", "plain", "markup"),
    [
        (
            "Stars of $E_{p,z}$ & $<$ CO$_2$\n",
            "Stars of E_(p,z) & < CO₂",
            "Stars of E<sub>p,z</sub> &amp; &lt; CO₂",
        ),
        (
            r"$T_{\rm eff}$ of $10^{9.5}$ K",
            "T_eff of 10^9.5 K",
            "T<sub>eff</sub> of 10<sup>9.5</sup> K",
        ),
        (r"$10^{5}\,M_V$ and $10^5$", "10⁵ M_V and 10⁵", "10<sup>5</sup> M<sub>V</sub> and 10⁵"),
        (r"$x_{V}^{a_b}$", "x_V^(a_b)", "x<sub>V</sub><sup>a<sub>b</sub></sup>"),
        (
            r"$2.1^{+0.2}_{-0.1}$ kpc",
            "2.1 (+0.2/−0.1) kpc",
            "2.1<sup>+0.2</sup><sub>−0.1</sub> kpc",
        ),
        (r"$\frac{a}{b+c}$, $\{0.5, 1\}$", "a/(b+c), {0.5, 1}", "a/(b+c), {0.5, 1}"),
        (r"$x_{<b>}$ <sub>", "x_(<b>) <sub>", "x<sub>&lt;b&gt;</sub> &lt;sub&gt;"),
        (r"\ours{} with x_1 in {a}", "ours with x_1 in {a}", "ours with x_1 in {a}"),
    ],
)
def test_formula_is_legible_in_text_and_has_scripts_in_html(
    tex: str, plain: str, markup: str
) -> None:
    assert str(prose(tex)) == plain
    assert escape(prose(tex)) == markup
    assert not prose(" \0$\\,$ ")


@given(TEX)
@example("${A$\u0300")
def test_text_and_html_forms_are_clean(tex: str) -> None:
    """Each is in NFC, but that nothing is composed over the ends of a script."""
    text = prose(tex)
    assert str(text) == one_line(to_text(printable(tex)))
    assert set(re.findall("[<>][^<>]*[<>]?", re.sub(r"</?su[bp]>", "", text.__html__()))) == set()
    if "<su" not in text.__html__():
        assert shown(text).split() == text.split()


def has_balanced_tags(markup: str) -> bool:
    opened: list[str] = []
    for closing, tag in re.findall("<(/?)([^>]*)>", markup):
        if closing and (not opened or opened.pop() != tag):
            return False
        opened += [] if closing else [tag]
    return not opened


@given(TEX, st.integers(1, 60))
@example("$a^{bcα。d}$", 1)
def test_no_text_makes_other_tags_than_scripts_and_they_are_balanced(tex: str, limit: int) -> None:
    """Whole, shortened, unlinked, both, and its telling sentence."""
    whole = prose(tex)
    for text in (
        whole,
        shorten(whole, limit),
        unlinked(whole),
        shorten(unlinked(whole), limit),
        telling_sentence(whole),
    ):
        markup = text.__html__()
        assert has_balanced_tags(markup)
        assert set(re.findall("<[^>]*>?", markup)) <= {"<sub>", "</sub>", "<sup>", "</sup>"}
        assert not re.search("[\ufdd0-\ufdef]", markup + text)


def test_shortened_text_cuts_no_formula() -> None:
    text = prose("Of $N_{a,b}$ stars. We see $M_{V,0} = 3$. This is the rest, and it is longer.")
    assert escape(shorten(text, 40)) == "Of N<sub>a,b</sub> stars. We see M<sub>V,0</sub> = 3. …"
    assert str(shorten(text, 40)) == "Of N_(a,b) stars. We see M_(V,0) = 3. …"
    assert shorten(text, 500) is text
    text = prose("We see $M_{V,0} = 3 + 4$ here")
    assert str(shorten(text, 14)) == "We see …"
    assert str(shorten(text, 21)) == "We see M_(V,0) = 3 + 4 …"
    assert (
        escape(shorten(prose("$A_{1,2} : C_{3,4} : E_F : G_H : I_J$"), 24))
        == "A_(1,2) : C_(3,4) : E_F …"
    )


@given(TEX, st.integers(1, 60), st.integers(0, 60))
@example(r"$\0$", 1, 1)
def test_shortened_text_is_the_start_of_the_whole(tex: str, limit: int, more: int) -> None:
    whole = prose(tex)
    narrow = shorten(whole, limit)
    wide = shorten(whole, limit + more)
    for text in (narrow, wide):
        assert text is whole or shown(text).endswith("…")
        start = shown(text).removesuffix("…").rstrip()
        assert shown(whole).startswith(start) or str(whole).startswith(start)
    assert len(shown(narrow)) <= limit + 2


# --- links to code


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("Code: https://github.com/a-b/c.d.", "https://github.com/a-b/c.d"),
        ("It is at github.com/a/b, as is all.", "https://github.com/a/b"),
        ("源代码github.com/a/b。", "https://github.com/a/b"),
        ("(http://www.GitHub.com/a/B/)", "https://github.com/a/B"),
        ("12 pages, code:gitlab.com/group/sub/tool/-/tree/v1.0", "https://gitlab.com/group/sub/tool/-/tree/v1.0"),
        ("See [codeberg.org/a/b] and https://github.com/c/d", "https://codeberg.org/a/b"),
        ("<https://bitbucket.org/a/b/src>", "https://bitbucket.org/a/b/src"),
        (r"\url{https://github.com/a/b\_c{\_}d}", "https://github.com/a/b_c_d"),
        (r"\href{https://github.com/a/b}{\texttt{b}} is new", "https://github.com/a/b"),
        ("at~\\url{github.com/a/b}~and more", "https://github.com/a/b"),
        ("https://github.com/a/b?tab=readme#usage", "https://github.com/a/b"),
        ("https://github.com/a/b/blob/main/My%20File", "https://github.com/a/b/blob/main"),
        ("https://github.com/a/../login/oauth", ""),
        ("https://github.com/a/b/../../login/oauth", "https://github.com/a/b"),
        ("https://github.com/a/%2e%2e/login", ""),
        ("https://github.com/login/oauth/authorize", ""),
        ("https://github.com/a", ""),
        ("https://github. com/a/b is broken", ""),
        ("https://github.com.evil.org/a/b", ""),
        ("https://notgithub.com/a/b", ""),
        ("https://pages.github.com/a/b", ""),
        ("https://evil.org/github.com/a/b", ""),
        ("https://evil.org/?https://github.com/a/b", ""),
        ("https://evil@github.com/a/b", ""),
        ("https://github.com@evil.org/a/b", ""),
        ("https://github.com:8080/a/b", ""),
        ("javascript://github.com/a/b", ""),
        ("https://bitbuc\u212aet.org/a/b", ""),
        ("https://github.com/a/" + "b" * 101, ""),
        ("https://github.com/a/b/" + "c" * 101, "https://github.com/a/b"),
        ("Our code is on GitHub.", ""),
    ],
)  # fmt: skip
def test_link_to_code_is_the_first_repository_of_a_known_host(text: str, url: str) -> None:
    assert code_url(text) == url


def test_link_to_code_is_found_in_the_text_that_readers_see() -> None:
    shown_to_readers = prose(r"Code: \href{https://github.com/a/b\_c}{b\_c}.")
    assert code_url(shown_to_readers) == "https://github.com/a/b_c"


@given(st.lists(st.sampled_from(["github.com", "https://", "/", "a", ".", "%", "@", '"', "é"])))
def test_link_to_code_is_always_safe(pieces: list[str]) -> None:
    url = code_url("".join(pieces))
    assert not url or re.fullmatch(r"https://github\.com/a[a./]*", url)
    assert ".." not in url.split("/")


# --- titles as subjects


@pytest.mark.parametrize(
    ("title", "subject"),
    [
        ("Re: Attention", "Attention"),
        ("FWD: fw: Aw: WG: re[2] : Attention", "Attention"),
        ("[Vision paper] Attention [sic] is all", "Attention [sic] is all"),
        ("Re: [foundations] [2]: Fwd: Attention", "Attention"),
        ("[Re] Attention", "Attention"),
        ("Re-examining attention: RE-Bench", "Re-examining attention: RE-Bench"),
        ("Reply: is it attention? Re: it", "Reply: is it attention? Re: it"),
        ("[C/N] ages of [Fe/H] and [α/Fe]", "C/N ages of [Fe/H] and [α/Fe]"),
        ("[O III]λ5007 in galaxies", "O III λ5007 in galaxies"),
        ("[CII]-dark galaxies", "CII-dark galaxies"),
        ("[Attention is all]", "Attention is all"),
        ("Re: [Attention]", "Attention"),
        ("Re:", "Re:"),
        ("[", "["),
        ("Attention\nis  all", "Attention is all"),
    ],
)
def test_title_as_a_subject_is_neither_a_reply_nor_tagged(title: str, subject: str) -> None:
    assert bare_title(title) == subject


@given(st.text(st.sampled_from("[]Re:Fwd \n/IV"), min_size=1))
@example("[]")
@example("Re: [ ]")
def test_title_as_a_subject_is_one_line_and_never_lost(title: str) -> None:
    subject = bare_title(title)
    assert subject == one_line(subject)
    assert bool(subject) == bool(title.strip())


# --- wrapping


def test_wrapped_text_has_its_indents() -> None:
    lines = wrap("word " * 20, "  1. ", "     ").split("\n")
    assert lines == ["  1. " + "word " * 13 + "word", "     word word word word word word"]
    assert wrap("word " * 20, "> ").count("\n> ") == 1
    assert wrap("", "> ") == ""
    assert wrap(12) == "12"


def test_wide_and_combining_characters_are_measured_in_columns() -> None:
    for text, columns in {"abc": 3, "数学": 4, "e\u0301": 1, "😀": 2, "각": 2, "x̂₂": 2}.items():
        most = (WIDTH + 1) // (columns + 1)
        assert wrap(f"{text} " * (most + 1)) == " ".join([text] * most) + f"\n{text}"
    assert wrap("数学 " * 20).split("\n")[0] == " ".join(["数学"] * 15)
    assert wrap("e\u0301" * 70 + " word").count("\n") == 0


def test_long_words_are_broken_and_addresses_are_not() -> None:
    assert wrap("so " + "x" * 100, "  ") == f"  so\n  {'x' * 74}\n  {'x' * 26}"
    for address in (
        "https://x.example.org/" + "a" * 90,
        "ada@" + "a" * 90 + ".example.org",
        "mailto:" + "a" * 90,
    ):
        assert wrap(f"see {address} there") == f"see\n{address}\nthere"


def test_no_break_space_keeps_words_on_one_line() -> None:
    assert wrap("a" * 72 + " 12\u00a0km off").split("\n")[1] == "12\u00a0km off"


@given(st.one_of(st.text(), ODD), st.text(" >1.", max_size=20), st.text(" >1.", max_size=20))
@example("( " * 100, "", "")
@example("\u00a0" * 200 + "a", "", " ")
@example("a" * 70 + "数" * 70, "", " " * 20)
def test_wrapping_keeps_every_word_within_the_width(text: str, first: str, rest: str) -> None:
    wrapped = wrap(text, first, rest)
    lines = wrapped.split("\n") if wrapped else []
    assert wrapped.splitlines() == lines
    for number, line in enumerate(lines):
        assert line == line.rstrip()
        assert line.startswith(rest if number else first)
        assert cell_len(line) <= WIDTH or re.search(r"\w@\w|\w://|mailto:", line)
    bodies = [line.removeprefix(rest if number else first) for number, line in enumerate(lines)]
    assert "".join("".join(bodies).split()) == "".join(text.split())


def test_abbreviation_in_unlinked_text_ends_no_sentence() -> None:
    text = unlinked(
        prose("It is so, and it holds for all i.e. All of them, as in evil.com. And so on.")
    )
    assert shorten(text, 50) == "It is so, and it holds for all i.\u2060e. All of them …"


def test_words_in_a_script_stay_apart_and_together() -> None:
    assert str(prose(r"$T_{\text{room temp}}$ and $x_{i j}$")) == "T_(room temp) and xᵢⱼ"
    assert "<sub>room temp</sub>" in prose(r"$T_{\text{room temp}}$").__html__()
