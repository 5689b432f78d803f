"""TeX turned into text: what readers see, and that nothing is lost on the way."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.tex import (
    MARKS,
    SPACE,
    SUB,
    SUB_END,
    SUP,
    SUP_END,
    math_to_text,
    name_to_text,
    plain,
    to_marked,
)


def to_text(tex: str) -> str:
    return plain(to_marked(tex))


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"CO$_2$ and H$\alpha$", "CO₂ and Hα"),
        (r"$\alpha$-divergence", "α-divergence"),
        (r"$\Lambda$CDM at $z\sim2$ and $z \sim 2$", "ΛCDM at z∼2 and z ∼ 2"),
        (r"10$^{11}$ M$_\odot$, $10^{-3}$", "10¹¹ M⊙, 10⁻³"),
        (r"$\sqrt{s}=13$ TeV, $\sqrt[3]{x+1}$", "√s=13 TeV, ³√(x+1)"),
        (r"$\mathcal{O}(n^2)$ in $\mathbb{R}^d$", "𝒪(n²) in ℝᵈ"),
        (r"$\ell_1$, $x^{a,b}$, $T_{\rm eff}$, $T_{\rm eff}x$", "ℓ₁, x^(a,b), T_eff, T_(eff)x"),
        (r"$O(n\log n)$ and $\sin\theta$", "O(n log n) and sin θ"),
        (r"$\int_{-0.5}^{+0.5} f$", "∫_(−0.5)^(+0.5) f"),
        (
            r"$2^{n^2}$, $x^{y^z}$, $x^{a_1}$, $\zeta_{H_2}$, $x^{a_{b_c}}$",
            "2^(n²), x^(yᶻ), x^(a₁), ζ_H₂, x^(a_(b_c))",
        ),
        (r"$5\,\mathrm{kpc}^{+0.35}_{-0.2}$, $(a, \\ b)$", "5 kpc (+0.35/−0.2), (a, b)"),
        (r"$\frac{a+b}{c}$ or $\frac12$", "(a+b)/c or 1/2"),
        (r"$\hat{x}$, $\tilde\theta$, $\bar{\nu_e}$", "x̂, θ̃, ν̄ₑ"),
        (r"30$^\circ$ and $5'$, $45\deg$ but $\deg p$", "30° and 5′, 45° but deg p"),
        (r"$\mathbf{x}^\top\mathbf{W}$", "𝐱ᵀ𝐖"),
        (r"$3.7\,{\rm km\ s}^{-1}$, $$y < 1$$", "3.7 km s⁻¹, y < 1"),
        (r"\(x \not\in A\) \[\left\{0,1\right\}^n\]", "x ∉ A {0,1}ⁿ"),
        (r"J1712$-$2435 for $<$10%", "J1712-2435 for <10%"),
        (r"10^{-5} without dollars", "10⁻⁵ without dollars"),
        (r"$0.47^{+0.12}_{-0.06}$, 13$_{-6.2}^{+6.8}\%$", "0.47 (+0.12/−0.06), 13 (+6.8/−6.2)%"),
        (
            r"$(4^{+0.5} _{-0.3}) \times 10^7$, $1^{+0.5}_{-0.3}\rm km$",
            "(4 (+0.5/−0.3)) × 10⁷, 1 (+0.5/−0.3) km",
        ),
        (r"$1^{+2}_{-3}$, $x^{+0.5}_{i}$, $x^{0.5}_{-1}$", "1⁺²₋₃, x^(+0.5)ᵢ, x^0.5₋₁"),
        (r"9 \Msun, $M_{\bigodot}$, $0\farcs3$, 7\kms", "9 M⊙, M⊙, 0″.3, 7km s⁻¹"),
    ],
)
def test_formulas_become_unicode(tex: str, text: str) -> None:
    assert to_text(tex) == text


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\textit{Gaia}, {\em x} and \emph{a $\beta$ b}", "Gaia, x and a β b"),
        (r"50\% of users, R\&D, \$6, a\_b, \#1", "50% of users, R&D, $6, a_b, #1"),
        (r"\url{https://x.example.org/~a_b--c}", "https://x.example.org/~a_b--c"),
        (r"\href{https://x.example.org}{code}", "code (https://x.example.org)"),
        ("Fig.~2, 5~kpc, at z~2 and of ~10", "Fig. 2, 5 kpc, at z~2 and of ~10"),
        (r"km~s$^{-1}$ or $\textrm{km~s}^{-1}$", "km s⁻¹ or km s⁻¹"),
        ("3C~59, type~2 AGN and beta~1.5", "3C 59, type 2 AGN and beta~1.5"),
        ("1--2, so---or so -- but --flag and -----", "1–2, so—or so – but --flag and -----"),
        ("``and \"b\" c''", '“and "b" c”'),
        ('the ``tension" and ``that" one', "the “tension” and “that” one"),
        ("``quoted'' and `so', don't; 5'' wide", "“quoted” and ‘so’, don't; 5'' wide"),
        (
            r"Schr\"{o}dinger, Erd\H{o}s, L\'{e}vy, \AA ngstr\"om",
            "Schrödinger, Erdős, Lévy, Å ngström",
        ),
        ("the ({P}reconditioned) {B}ayes", "the (Preconditioned) Bayes"),
        (r"\LaTeX{} is", "LaTeX is"),
    ],
)
def test_prose_loses_its_markup(tex: str, text: str) -> None:
    assert to_text(tex) == text


@pytest.mark.parametrize(
    "text",
    [
        "$5 and $10",
        "from $5-$10, or US$7 to A$9 and 10$",
        "We pay $5 per user and 10$ per group",
        "50% of users % and so on",
        "labels {0, 1} and sqrt{x}",
        "x_1, a^b, snake_case",
        "https://x.example.org/~ada/a--b_c",
        "two  spaces\nand a line end ",
        "ünïcode, “quotes” and 数学",
        "cost $",
        "",
    ],
)
def test_text_that_is_not_tex_is_unchanged(text: str) -> None:
    assert to_text(text) == text


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"$\le -2$, $w=-1$, $<-.5$ and $a \in [-2, -b)$", "≤ −2, w=−1, <−.5 and a ∈ [−2, −b)"),
        (r"$\sim$-2, $\leq$ -2 and $\approx-$2", "∼−2, ≤ −2 and ≈−2"),
        (r"from $-10$ to ($-5\pm1$) and $- 2$", "from −10 to (−5±1) and − 2"),
        (r"$2^{+0.2}_{-0.1}$ at $r^{-2.5}$", "2 (+0.2/−0.1) at r^(−2.5)"),
        (r"$5-10$, 5$-10$, 3$-$D, $(3-1)$ and $a-b$", "5-10, 5-10, 3-D, (3-1) and a-b"),
        (r"$\gamma$ $-ray$ at http://x.org/?a=-2", "γ -ray at http://x.org/?a=-2"),
    ],
)
def test_minus_that_is_a_sign_is_no_hyphen(tex: str, text: str) -> None:
    assert to_text(tex) == text


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        ("radio data, %indicates a shock.", "radio data, indicates a shock."),
        (r"A framework (\textbf{Aug}). % We show", "A framework (Aug). We show"),
        ("intensities %typically agree to 40%", "intensities typically agree to 40%"),
        ("alloys by wt %Ni and vol %Co", "alloys by wt %Ni and vol %Co"),
        ("95% of it, 5 % of it, a few %of it and (%)", "95% of it, 5 % of it, a few %of it and (%)"),
        ("2% and 3 %, 30 wt% LRS at 0.01 wt % in it", "2% and 3 %, 30 wt% LRS at 0.01 wt % in it"),
        (r"Print %s and %d, {50} % of {50} %.", "Print %s and %d, {50} % of {50} %."),
    ],
)  # fmt: skip
def test_percent_sign_of_a_comment_goes_and_no_other(tex: str, text: str) -> None:
    assert to_text(tex) == text


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\ours{} beats \method", "ours beats method"),
        (r"\foo{b\"ar}{}[x] $\baz_{x}$", "foo{bär}[x] bazₓ"),
        (r"$\zz{AB}$ and \cite{ada1843}", "zz{AB} and [ada1843]"),
        (r"\jwst\ and \jwst{}'s \xray{} data of $\jwst$", "jwst and jwst's xray data of jwst"),
        (r"\species{H}{ii} of \nuclide[12]{C}", "species{H}{ii} of nuclide[12]{C}"),
        (r"\begin{align}a + b\end{align}", " a + b "),
        (r"an {unclosed $x$ \textit{group", "an {unclosed x textit{group"),
        (r"\frac{1, \d+ \'{} \~{}", "frac{1, d+ ' ~"),
    ],
)
def test_unknown_macros_lose_backslash_and_empty_braces_and_stay(tex: str, text: str) -> None:
    assert to_text(tex) == text


@pytest.mark.parametrize(
    ("tex", "name"),
    [
        (r"F\'elix", "Félix"),
        (r"K{\i}c{\i}man", "Kıcıman"),
        (r"Thadd\"aus {M\"uller}", "Thaddäus Müller"),
        (r"Gon\c{c}alves", "Gonçalves"),
        (r"Garc{\'\i}a", "García"),
        (r"{\L}ukasz S\o rensen", "Łukasz Sørensen"),
        (r"Nguy\~{\^{e}}n", "Nguyễn"),
        ("J.~O'Brien", "J. O'Brien"),
        ("Zoë Ångström", "Zoë Ångström"),
        ("{Planck Collaboration}", "Planck Collaboration"),
    ],
)
def test_author_names_lose_accents_macros_and_braces(tex: str, name: str) -> None:
    assert name_to_text(tex) == name


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"H\,{\sc i}, H{\sc i}, Fe\,{\sc ii}, [O~{\sc iii}]", "H I, H I, Fe II, [O III]"),
        (
            r"[O\,{\sc\,iii}], Mg\,\textsc{ii}, C{\small IV}, Te~\textsc{iii}",
            "[O III], Mg II, C IV, Te III",
        ),
        (r"\ion{O}{iii}, [\ion{O}{iii}], \ion{Fe}{26}", "O III, [O III], Fe XXVI"),
        (r"\Ha and \Hbeta at \teff{}, \HI", "Hα and Hβ at T_eff, HI"),
        (r"\textsc{Hi}, \textsc{Mix} and code {\sc x}", "Hi, Mix and code x"),
    ],
)
def test_ions_are_written_as_readers_write_them(tex: str, text: str) -> None:
    assert to_text(tex) == text


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"Dark $\ne$ Cold", "Dark ≠ Cold"),
        (r"$f\colon A\to B$, $A \implies B$, $\Pr(x)$", "f:A→B, A ⟹ B, Pr(x)"),
        (r"$a \eqsim b$, $\neg a \lor b$", "a ≂ b, ¬a ∨ b"),
        (r"2{,}392 and $2{,}392$", "2,392 and 2,392"),
        (r"$1.1--1.8$, $\hbox{-}30$, $9\rlap{.}5$", "1.1–1.8, −30, 9.5"),
        (
            r"$\binom{n}{k}$, ${n \choose k}$, ${a+b \over c}$",
            "(n choose k), n choose k, a+b over c",
        ),
        (r"$\dot{M_*}$, $\bar{\nu_\mu}$", "Ṁ*, ν̄_μ"),
        (r"$\hat{x+y}$, $\vec{\nabla}$, $\tilde{\mathcal{R}}$", "x̂+ŷ, ∇⃗, ℛ̃"),
        (r"$M_{\text{if $x_1$}}$, $\text{H_2}$", "M_(if x₁), H₂"),
        (r"\textbf{the $x_1$ norm}, {$x$} and {5\,K}", "the x₁ norm, x and 5 K"),
        (r"\citep[e.g.][]{x} y", "[x] y"),
        (
            "a km^2 s^-1 at (ab)^3 of 10^9.5, 10^$-3$ a_\\odot",
            "a km² s⁻¹ at (ab)³ of 10^9.5, 10⁻³ a⊙",
        ),
        (r"\SI{5}{TeV} of \ce{H2O}, \isotope[12]{C}", "5 TeV of H2O, ¹²C"),
        (r"\num{8192} at \qty{1}{km}, \unicode{x2013}\unicode{x202E}", "8192 at 1 km, –"),
        (r"\color{blue}We\footnote{They.} see \ac{CHIME}", "We (They.) see CHIME"),
        (r"$W$1 at 0.$''$4, of $ 300$ pc, $<$5", "W1 at 0.′′4, of 300 pc, <5"),
    ],
)
def test_macros_of_packages_are_read(tex: str, text: str) -> None:
    assert " ".join(to_text(tex).split()) == text


@pytest.mark.parametrize(
    ("tex", "html"),
    [
        (r"$T_{\rm eff}^4 x^2$ and $x^2$", "T<sub>eff</sub><sup>4</sup> x<sup>2</sup> and x²"),
        (r"T$_{\rm eff}$-H$_2$", "T<sub>eff</sub>-H<sub>2</sub>"),
        (r"$x^{a_b}$", "x<sup>a<sub>b</sub></sup>"),
        (r"M$_\odot$ and $30^\circ$, $5^\dagger$", "M<sub>⊙</sub> and 30°, 5†"),
        (r"$5^{+0.2}_{-0.1}$ kpc", "5<sup>+0.2</sup><sub>−0.1</sub> kpc"),
        (r"$\frac{a_{b,c}}{d}$", "a<sub>b,c</sub>/d"),
        (r"$M_{\{V\}}$, $x^{}y$, 10^{9.5}", "M<sub>{V}</sub>, xy, 10<sup>9.5</sup>"),
    ],
)
def test_scripts_without_a_unicode_form_are_marked(tex: str, html: str) -> None:
    """In the whole formula; the second level is, too, and a third is text."""
    tags = {SUP: "<sup>", SUP_END: "</sup>", SUB: "<sub>", SUB_END: "</sub>"}
    read = to_marked(tex)
    assert "".join(tags.get(character, character) for character in read).replace(SPACE, " ") == html
    assert plain(read) == to_text(tex)


def test_inside_of_a_formula_is_read_in_one_line() -> None:
    assert math_to_text(r"\alpha_1 +\n  2".replace(r"\n", "\n")) == "α₁ + 2"


PIECES = st.sampled_from(
    [
        *"ab1 {}$^_~`'%-.\n",
        "\\",
        "\U000f0000",
        "\\frac",
        "\\sqrt[3]",
        "\\hat",
        "\\'",
        "\\text{",
        "\\left",
        "\\(",
        "\\href",
        "\\foo{",
        "\\begin{cases}",
        "\ufdd0",
        "\ufdd3",
        "_{",
        "^{",
        "\\sc ",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_any_input_is_read_and_its_marks_come_in_pairs(tex: str) -> None:
    marked = to_marked(tex)
    if re.search(r"[\\${}~`^]|--", tex):  # else it is returned as it is
        opened = []
        for mark in re.findall(f"[{SUP}{SUB}{SUP_END}{SUB_END}]", marked):
            assert mark in {SUP, SUB} or opened.pop() == {SUP_END: SUP, SUB_END: SUB}[mark]
            opened += [mark] * (mark in {SUP, SUB})
        assert not opened
    assert to_text(tex) == plain(marked)
    assert isinstance(name_to_text(tex), str)


@given(
    st.text(
        st.characters(exclude_characters=f"\\$~`{{}}-^{MARKS}{SPACE}", exclude_categories=["Cs"])
    )
)
def test_plain_text_is_unchanged(text: str) -> None:
    assert to_text(text) == text
    assert name_to_text(text) == text


@given(
    st.lists(
        st.sampled_from(["\\unknown", "{", "}", "word", "7", "$", " ", "^", "_", "\\'", "\\bar"])
    ).map("".join)
)
def test_words_and_unknown_macros_are_never_dropped(tex: str) -> None:
    text = to_text(tex)
    assert unicodedata.normalize("NFKD", text).count("o") == tex.count("o")  # some are raised: ʷᵒʳᵈ


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        (r"\(", "("),
        ("{", "{"),
        ("$x$", "x"),
        (r"\'e", "é"),
        ("``a''", "“a”"),
        (r"\alpha ", "α "),
        (r"\frac12", "1/2"),
        ("\U000f0000$x$", "x"),
        (r"$\text{", None),
        (r"$\text{a$}", None),
        (r"\bar{", "bar{"),
        (r"\unknown{", "unknown{"),
        (r"\sqrt[", "√["),
        ("$x ", None),  # pairs with spaces inside are money
        ("``a ", None),
        ("a^{", None),
        ("$x^{+1}_{", None),
        ("^{+1}_{-2}", None),
    ],
)
@pytest.mark.long("megabytes")
def test_repetition_is_read_in_linear_time(unit: str, text: str | None) -> None:
    """In quadratic time 200,000 characters would take minutes each; None stands for any text."""
    times = 200_000 // len(unit)
    read = to_text(unit * times)
    assert text is None or read == text * times


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\textit{" * 40 + "x" + "}" * 40, "x"),
        (r"\textit{" * 41 + "x" + "}" * 41, r"\textit{x}"),
        ("{" * 50_000 + "}" * 50_000, "{" * 50_000 + "}" * 50_000),
    ],
)
def test_source_stands_beyond_the_limit_of_depth(tex: str, text: str) -> None:
    assert to_text(tex) == text
