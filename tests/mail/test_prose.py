"""Prose with formulas: one line in two forms, plain text and HTML, that say the same."""

import html
import re
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import escape

from paperboy.mail.prose import Piece, Prose, prose, shortened
from paperboy.mail.text import one_line
from paperboy.tex import to_text

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
    "\u1100",
    "\u1161",
    "\u09be",
    "数。",
    "(",
    ")",
]
FORMULAS = [
    "$x^{9.5}$", "$T_{\\rm eff}$", "$a_{b,E}$", r"\(M_{V,0} = 3\)", "$<$", "$\\alpha$", "$$\\foo<b$$", "$a_\\hat{E}$",
    "$\\{1\\}$", "$\0_V$", "$\u0301_V$", "$\\!$", "$_\u1100$", "$\u1161_V$", "$", "\\emph{", "}", "^", "\\,", "{",
]  # fmt: skip
TEX = st.one_of(st.text(), st.lists(st.sampled_from(WORDS + FORMULAS)).map("".join))


def shown(text: Prose) -> str:
    return "".join(piece.text for piece in text.pieces)


def both(text: Prose) -> tuple[str, tuple[Piece, ...]]:
    return str(text), text.pieces


def test_a_formula_without_a_unicode_form_is_marked() -> None:
    text = prose("Stars of $E_{p,z}$ M$_\\odot$  & $<$ CO$_2$\n")
    assert str(text) == "Stars of E_(p,z) M⊙ & < CO₂"
    assert text.pieces == (Piece("Stars of "), Piece("E_{p,z}", True, "E_(p,z)"), Piece(" M⊙ & < CO₂"))
    assert escape(text) == "Stars of <code>E_{p,z}</code> M⊙ &amp; &lt; CO₂"
    assert not prose(" \0$\\,$ ")


@pytest.mark.parametrize(
    ("tex", "source"),
    [
        ("$x_{a,b}$", "x_{a,b}"),
        ("$$ T_{\\rm  eff,0}\n$$", "T_{\\rm eff,0}"),
        (r"\(M_{V,0}\)", "M_{V,0}"),
        (r"\[M_{V,0}\]", "M_{V,0}"),
        (r"$a_{V,0}\,b\;c\:d\!e\>f\ g~h\quad i$", "a_{V,0} b c d e f g h i"),
        (r"$\alpha\!b_{V,0}\!c$", r"\alpha b_{V,0}c"),
        (r"$a_V \\, \~b \quadratic$", r"a_V \\, \~b \quadratic"),
        (r"$\unknown{x}$", r"\unknown{x}"),
    ],
)
def test_sources_are_legible(tex: str, source: str) -> None:
    """Without delimiters, and TeX's spaces are spaces; what is only like one is left alone."""
    assert prose(tex).pieces[0] == Piece(source, True, to_text(tex))


@pytest.mark.parametrize(
    ("tex", "plain"),
    [
        (r"$T_{\rm eff}$", "T_eff"),
        (r"$M_V = -5$, $M_\star$", "M_V = -5, M⋆"),
        ("$10^{9.5}$ of $t^{2/3}$", "10^9.5 of t^(2/3)"),
        (r"PAH$_{3.3}$, H$_\varnothing$", "PAH_3.3, H_∅"),
        (r"$S_V(\lambda)$", "S_V(λ)"),
    ],
)
def test_scripts_that_everybody_reads_are_no_sources(tex: str, plain: str) -> None:
    assert both(prose(tex)) == (plain, (Piece(plain),))


@pytest.mark.parametrize("tex", ["$x_{a_b}$", "$x_{a,b}$", "$x_{V}^{W,W}$", r"$\unknown_V$"])
def test_scripts_of_scripts_and_of_several_words_are_sources(tex: str) -> None:
    assert prose(tex).pieces[0].source


@pytest.mark.parametrize(
    ("tex", "plain"),
    [
        (r"$\{0.5, 1\}$", "{0.5, 1}"),
        (r"$\left\{x\_y\right\}\backslash A$", "{x_y}\\A"),
        (r"\ours{} with 10^5 and x_1 in {a}", r"\ours{} with 10^5 and x_1 in {a}"),
    ],
)
def test_what_is_meant_as_it_stands_is_no_source(tex: str, plain: str) -> None:
    """Braces, underscores and backslashes that a formula shows, and what prose holds."""
    assert both(prose(tex)) == (plain, (Piece(plain),))


def test_spaces_between_pieces_are_kept_and_never_doubled() -> None:
    text = prose(" a \n $x_V$ \0 $y_V$$z_V$ , b$ w_V $ ")
    assert shown(text) == "a x_V y_Vz_V , bw_V"


def test_an_accent_after_a_formula_goes_with_it() -> None:
    text = prose("$a_{b,E}$\u0301 so")
    assert text.pieces == (Piece("a_{b,E}\u0301", True, "a_(b,E)\u0301"), Piece(" so"))


@given(TEX)
@example("$a_{b,E}$\u0301\u0302")
@example("\u1100$\u1161_{V,0}$")
def test_both_forms_are_clean_and_say_the_same(tex: str) -> None:
    text = prose(tex)
    assert str(text) == one_line(to_text(tex))
    assert one_line("".join(piece.unicode if piece.source else piece.text for piece in text.pieces)) == str(text)
    assert one_line(shown(text)) == shown(text)
    for piece in text.pieces:
        assert piece.text
        assert unicodedata.is_normalized("NFC", piece.text)
    markup = text.__html__()
    assert html.unescape(re.sub("</?code>", "", markup)) == shown(text)
    assert set(re.findall("<[^>]*>?", markup)) <= {"<code>", "</code>"}
    assert all(one.source or two.source for one, two in zip(text.pieces, text.pieces[1:], strict=False))
    if not any(piece.source for piece in text.pieces):
        assert shown(text) == str(text)


# --- shortened


def test_both_forms_are_cut_at_the_same_place() -> None:
    text = prose("Of $N_{a,b}$ stars. We see $M_{V,0} = 3$. This is the rest, and it is longer.")
    assert str(shortened(text, 60)) == "Of N_(a,b) stars. We see M_(V,0) = 3. …"
    assert escape(shortened(text, 60)) == "Of <code>N_{a,b}</code> stars. We see <code>M_{V,0} = 3</code>. …"
    assert shortened(text, 500) is text


def test_no_formula_is_cut() -> None:
    text = prose("We see $M_{V,0} = 3 + 4$ here")
    assert shown(shortened(text, 18)) == "We see …"
    assert shown(shortened(text, 23)) == "We see M_{V,0} = 3 + 4 …"
    assert shown(shortened(prose("PAH$_{3,3}$$x_{V,0}$ so on"), 7)) == "PAH …"


def test_a_line_that_is_one_long_formula_is_cut_as_plain_text() -> None:
    text = prose("$A_{1,2} : C_{3,4} : E_F : G_H : I_J$")
    assert both(shortened(text, 24)) == ("A_(1,2) : C_(3,4) : E_F …", (Piece("A_(1,2) : C_(3,4) : E_F …"),))


@given(TEX, st.integers(1, 60))
def test_a_shortened_text_is_a_start_of_the_whole(tex: str, limit: int) -> None:
    whole = prose(tex)
    text = shortened(whole, limit)
    assert len(text) <= limit + 2
    assert one_line(shown(text)) == shown(text)
    if text != whole:
        assert shown(text)[-1] == str(text)[-1] == "…" or shown(text) == str(text) == str(whole)
        start = shown(text).removesuffix("…").rstrip()
        assert shown(whole).startswith(start) or str(whole).startswith(start)
        assert {piece for piece in text.pieces if piece.source} <= set(whole.pieces)
        assert shortened(text, limit + 2) == text


@given(TEX, st.integers(1, 60), st.integers(0, 60))
def test_a_wider_limit_shows_no_less(tex: str, limit: int, more: int) -> None:
    whole = prose(tex)
    narrow, wide = shortened(whole, limit), shortened(whole, limit + more)
    assert len(narrow) <= len(wide) + 2


@pytest.mark.parametrize("tex", ["$a_V$" * 5000, "$a_V$\u0301" * 3000, "\u0301" * 50_000, "$<$ a " * 5000])
def test_hostile_text_ends_soon(tex: str) -> None:
    begun = time.thread_time()
    shortened(prose(tex), 600)
    assert time.thread_time() - begun < 5
