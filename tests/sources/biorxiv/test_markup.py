"""Titles and abstracts as the API writes them, and as readers see them. All texts are invented."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.sources.biorxiv.markup import to_marked
from paperboy.tex import MARKS, SPACE, SUB, SUB_END, SUP, SUP_END, plain

FIGURE = (
    'O_FIG O_LINKSMALLFIG WIDTH=200 HEIGHT=113 SRC="FIGDIR/small/000001v1_ufig1.gif" ALT="Figure 1">\n'
    "View larger version (39K):\norg.highwire.dtl.DTLVardef@1d0f2aorg.highwire.dtl.DTLVardef@9b"
    "_HPS_FORMAT_FIGEXP  M_FIG How a wren sings\n\nIn three parts. C_FIG"
)
TABLE = (
    "O_TBL View this table:\norg.highwire.dtl.DTLVardef@3c M_TBL "
    "O_FLOATNOTable 1.C_FLOATNO O_TABLECAPTIONWrens by siteC_TABLECAPTION C_TBL"
)


def to_text(written: str) -> str:
    return plain(to_marked(written))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("AO_SCPLOWBSTRACTC_SCPLOWWrens sing.", "Wrens sing."),
        ("AO_SCPCAPBSTRACTC_SCPCAPRNA decays.", "RNA decays."),
        ("MO_SCPLOWUSEC_SCPLOW and O_SCPLOWlacZC_SCPLOW", "MUSE and lacZ"),
        ("GO_SCPLOWENEC_SCPLOWMO_SCPLOWAPC_SCPLOW maps", "GENEMAP maps"),
        (f"Wrens sing.\n\n{FIGURE}", "Wrens sing."),
        (
            f"Wrens sing.\n\nGraphical Abstract\n\n{FIGURE} Owls do not.",
            "Wrens sing.\nOwls do not.",
        ),
        ("Wrens sing. O_FIG_DISPLAY_L [Figure 1] M_FIG_DISPLAY C_FIG_DISPLAY", "Wrens sing."),
        (f"Wrens sing.\n\n{TABLE}", "Wrens sing."),
        ("Wrens sing.\n\nO_TEXTBOXIn briefThey do.\n\nC_TEXTBOX", "Wrens sing."),
        (
            "HighlightsO_LIWrens sing.\nC_LIO_LIOwls listen.\nC_LI\n\nThe end.",
            "Highlights:\n• Wrens sing.\n• Owls listen.\nThe end.",
        ),
        (
            "Structured abstractO_ST_ABSWhat was knownC_ST_ABSLittle.\n\nO_ST_ABSAim:C_ST_ABSMore.",
            "What was known: Little.\nAim: More.",
        ),
        ("O_ST_ABSKey pointsC_ST_ABSO_LIWrens sing.\nC_LI", "Key points:\n• Wrens sing."),
        ("so O_FD O_INLINEFIG[Formula 1]C_INLINEFIGM_FD(1)C_FD holds", "so [Formula 1] (1) holds"),
    ],
)
def test_tokens_of_highwire_go_and_their_text_stays(written: str, shown: str) -> None:
    """Only figures, tables and text boxes go with their contents."""
    assert to_text(written) == to_text(shown) == shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("IL-1{beta}, {Delta}G, {varepsilon} and {omega}-3", "IL-1β, ΔG, ε and ω-3"),
        ("5 {+/-} 2 {micro}m at 37{degrees}C", "5 ± 2 µm at 37°C"),
        ("{approx}3 mol {middle dot} m{superscript 2}", "≈3 mol · m²"),
        ("R [&ge;] 4, p [&le;] 0.05, CT[-&gt;]TC, TGF[beta]", "R ≥ 4, p ≤ 0.05, CT→TC, TGFβ"),
        ("x [isin] [0, 1], [~]10 and [-]0.4", "x ∈ [0, 1], ∼10 and −0.4"),
        ("an L,[x1D05]-peptide at [x1000]", "an L,ᴅ-peptide at [x1000]"),
        ("37{ring}C, f {circ} g, 5 {per thousand}, {ell}-2, {varrho}", "37˚C, f ∘ g, 5 ‰, ℓ-2, ϱ"),
        ("{blacktriangleright} {female} and {male}", "▸ ♀ and ♂"),
        ("at 2.6 [A], 3[A] and a 4-[A] map of [A]", "at 2.6 Å, 3Å and a 4-Å map of [A]"),
        ("p &lt; 0.05, Q&amp;A, 3&nbsp;&#956;l, &amp;lt;", "p < 0.05, Q&A, 3 μl, &lt;"),
    ],
)
def test_names_of_characters_become_them(written: str, shown: str) -> None:
    assert to_text(written) == shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (r"the $\mathrm{MMD}^2$ of songs", "the MMD² of songs"),
        (r"\textit{T. troglodytes} and {Delta}G", "T. troglodytes and ΔG"),
        (r"with $x_1$ in CO<sub>2</sub>, 5\% of {zorp}", "with x₁ in CO₂, 5% of {zorp}"),
        (r"$E_{int}$ and \text{sum} of x_{prod}", "Eᵢₙₜ and sum of x_prod"),
        ("from $1.2 x 10^9 to $3.4 x 10^9 in 2020", "from $1.2 x 10^9 to $3.4 x 10^9 in 2020"),
        ("it costs $5 and $10, 50% of US$ 3_000", "it costs $5 and $10, 50% of US$ 3_000"),
        (r"in C:\wrens and ~10 -- 12", r"in C:\wrens and ~10 -- 12"),
    ],
)
def test_tex_of_authors_is_read_and_text_without_it_stays(written: str, shown: str) -> None:
    assert to_text(written) == shown


@pytest.mark.parametrize(
    ("written", "html"),
    [
        ("<i>E. coli</i> <b>K-12</b> in <EM class='x'>wrens</EM>", "E. coli K-12 in wrens"),
        ("CO<sub>2</sub>, Ca<sup>2+</sup> and 10<sup>-3</sup>", "CO₂, Ca²⁺ and 10⁻³"),
        ("K<sub>ATP</sub> of Tp53<sup>-/-</sup>", "K<sub>ATP</sub> of Tp53<sup>-/-</sup>"),
        ("&lt;i&gt;C. elegans&lt;/i&gt; &lt;sup&gt;Cre&lt;/sup&gt;", "C. elegans <sup>Cre</sup>"),
        ("x<sup>a<i><sub>B</sub></i></sup>", "x<sup>a<sub>B</sub></sup>"),
        ("x<sup>open, y</sub> and <sup></sup>", "xopen, y and"),
        (
            "wrens<o:p></o:p> sing&lt;o:p/&gt; <st1:place w:st='on'>here</st1:place>",
            "wrens sing here",
        ),
        ("<p>Wrens sing.</p><p>Owls<br/>listen.</p>", "Wrens sing.\nOwls\nlisten."),
    ],
)
def test_tags_go_and_scripts_are_marked(written: str, html: str) -> None:
    tags = {SUP: "<sup>", SUP_END: "</sup>", SUB: "<sub>", SUB_END: "</sub>"}
    marked = to_marked(written)
    assert "".join(tags.get(character, character) for character in marked) == html


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("BackgroundDiets are poor.", "Background: Diets are poor."),
        (
            "AbstractBackgroundWrens sing.\n\nMethods and ResultsWe heard 12.\n\nConclusionsSo be it.",
            "Background: Wrens sing.\nMethods and Results: We heard 12.\nConclusions: So be it.",
        ),
        ("Wrens sing. ResultsOwls listen.", "Wrens sing. Results: Owls listen."),
        ("Results50% sing.\nConclusionsmiRNA decays.", "Results: 50% sing.\nConclusions: miRNA decays."),
        ("Results{beta}-cells sing.", "Results: β-cells sing."),
        ("AimSGLT2 is studied.\nAIMTo study AIM2.", "Aim: SGLT2 is studied.\nAIM: To study AIM2."),
        ("Results\nWrens sing.", "Results:\nWrens sing."),
        ("Design, setting, and participantsA cohort.", "Design, setting, and participants: A cohort."),
        ("Main Outcomes and MeasuresSongs.", "Main Outcomes and Measures: Songs."),
        ("Wrens sing.\n\nGraphical abstract", "Wrens sing."),
    ],
)  # fmt: skip
def test_heading_is_parted_from_the_text_after_it(written: str, shown: str) -> None:
    assert to_text(written) == to_text(shown) == shown


@pytest.mark.parametrize(
    "heading",
    [
        "Exposures",
        "Ethics and dissemination",
        "SONGS AND MAIN OUTCOME MEASURES",
        "hypotheses/objectives",
        "What this study of wrens adds",
        "Three, four, five, six, seven and eight findings",
    ],
)
@pytest.mark.parametrize("text", ["We heard 12.", "Wrens sing.", "mRNA decays."])
def test_heading_of_up_to_eight_words_is_known_by_its_end(heading: str, text: str) -> None:
    assert to_text(f"Owls listen.\n\n{heading}{text}") == f"Owls listen.\n{heading}: {text}"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("ExposuresCOVID-19 waned.", "Exposures: COVID-19 waned."),
        ("ContextThe wrens sing.", "Context: The wrens sing."),
        ("Song selectionTo hear wrens.", "Song selection: To hear wrens."),
        ("ContextCite hears wrens.", "ContextCite hears wrens."),
        ("Our SongSelectionNet sings.", "Our SongSelectionNet sings."),
        ("Wrens. Song disseminationOwls sing.", "Wrens. Song disseminationOwls sing."),
        ("It needs further measures1,2 of song.", "It needs further measures1,2 of song."),
        ("1 2 3 4 5 6 7 8 findingsWrens sing.", "1 2 3 4 5 6 7 8 findingsWrens sing."),
    ],
)
def test_word_that_begins_names_ends_a_heading_only_before_a_common_word(
    written: str, shown: str
) -> None:
    assert to_text(f"Owls listen.\n{written}") == f"Owls listen.\n{shown}"


@pytest.mark.parametrize(
    "text",
    [
        "DesignMaster: songs of wrens in E. coli",  # a title has no headings
        "Results were poor. Aimed at 4 wrens.\nMETHODOLOGY matters.\nAIM2 is a gene.",
        "Background: Wrens sing. BACKGROUND Owls listen.",
        "We use ResultsDB.",
        "Here we introduce ConclusionBench",
        "We present MeasureR, a tool.",
        "p < 0.05 and n > 3, a <b and c> d, IL-1<beta>",
        "the set {0, 1}, F_{e}, {zorp}, [zorp], [A], [Pi] and [18F]FDG",
        "AT&T; R&D &zorp; 50% $5",
        "O_FIG without an end, and GEO_LIVER at https://lab.example.org/GEO_LIVER",
        "数学, ünïcode, “quotes”, x² and CO₂",
        "",
    ],
)
def test_what_is_unknown_stays(text: str) -> None:
    assert to_marked(text) == text


def test_paragraphs_are_lines_and_spaces_are_single() -> None:
    assert to_marked(" Wrens  sing.\r\n\n \n Owls\tlisten. ") == "Wrens sing.\nOwls listen."


WORDS = st.text(st.characters(exclude_characters="&<[{", exclude_categories=["C", "Z"]), min_size=1)


@given(st.lists(WORDS))
def test_plain_text_is_unchanged(words: list[str]) -> None:
    text = " ".join(["The", *words])
    assert to_marked(text) == text


PIECES = st.sampled_from(
    [
        *"aB2 .\n<>&;[]{}/_",
        *MARKS,
        SPACE,
        *("O_FIG", "C_FIG", "O_LI", "C_LI", "O_ST_ABS", "C_ST_ABS", "O_SCPLOW", "BSTRACT"),
        *(
            "<sup>",
            "</sup>",
            "<sub>",
            "</sub>",
            "&lt;",
            "&#xFDD0;",
            "[xFDD0]",
            "&#8238;",
            "[xD800]",
        ),
        *("{beta}", "{circ}", "Results", "Aim", "Abstract", "Findings", "We "),
        *("$", "$x_{", r"\textit{", "^2$", "3 [A]"),
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_any_input_is_read_and_its_marks_come_in_pairs(written: str) -> None:
    opened = []
    for mark in to_marked(written):
        if mark in {SUP, SUB}:
            opened.append(mark)
        elif mark in {SUP_END, SUB_END}:
            assert opened.pop() == {SUP_END: SUP, SUB_END: SUB}[mark]
    assert not opened
    assert not set(MARKS + SPACE) & set(to_text(written))


@given(st.lists(st.sampled_from([*MARKS, SPACE, "&#xFDD0;", "[xFDD0]", "&#8238;", "a", " "])))
def test_no_mark_and_nothing_invisible_comes_from_foreign_text(pieces: list[str]) -> None:
    assert set(to_marked("".join(pieces))) <= {"a", " "}


@pytest.mark.parametrize(
    "unit",
    [
        *("O_FIG", "O_FIGO_TBL", "O_LI", "O_LIC_LI", "O_ST_ABS", "O_SCPLOW", "Graphical abstract "),
        *("<sup>", "<sub>a", "<sup>a</sup>", "<i ", "<i a=", "{", "[", "[&a;", "&a"),
        *("Results. ", "Results and ", "ResultsWe. ", "Abstract\n", "a. ", " ", "\n"),
        *("Findings and ", "Study\n", "a/", "$x_", "$x_1$ ", "\\a{", "{circ}"),
    ],
)
@pytest.mark.long("megabytes")
def test_repetition_is_read_in_linear_time(unit: str) -> None:
    """In quadratic time 100,000 of them would take minutes each."""
    to_text(unit * 100_000)
