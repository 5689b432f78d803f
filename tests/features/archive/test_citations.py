"""Papers for reference managers: whatever a title holds, the file can be read."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.features.archive.citations import balanced, bibtex
from paperboy.mail.page import coins
from paperboy.tex import printing
from tests.builders import paper
from tests.mail.real_days import SHARED
from tests.test_tex import to_text


def read(bib: str) -> dict[str, dict[str, str]]:
    """The entries by their keys, read as BibTeX does it: a field ends with the brace that closes it."""
    found: dict[str, dict[str, str]] = {}
    rest = bib
    while rest:
        start = re.match(r"@misc\{([a-z0-9-]+),\n", rest)
        assert start, rest[:80]
        rest = rest[start.end() :]
        fields = {}
        while field := re.match(r"  (\w+) = \{", rest):
            depth = 1
            end = field.end()
            while depth:
                depth += {"{": 1, "}": -1}.get(rest[end], 0)
                end += 1
            fields[field[1]] = rest[field.end() : end - 1]
            assert rest[end : end + 2] == ",\n", rest[end - 20 : end + 20]
            rest = rest[end + 2 :]
        assert rest.startswith("}\n"), rest[:80]
        assert start[1] not in found
        found[start[1]] = fields
        rest = rest[2:].removeprefix("\n")
    return found


def title(written: str) -> str:
    (fields,) = read(bibtex([paper(title=written)])).values()
    return fields.get("title", "")


def test_entry_is_as_arxivs_own() -> None:
    of = paper(
        "2611.00001",
        title="The Edge of $\\ell_1$ Stability",
        doi="10.1000/xyz_1",
        published=datetime(2026, 11, 18, tzinfo=UTC),
    )
    assert bibtex([of]) == (
        "@misc{lovelace2026edge,\n"
        "  title = {The Edge of $\\ell_1$ Stability},\n"
        "  author = {Ada Lovelace and Grace Hopper},\n"
        "  year = {2026},\n"
        "  eprint = {2611.00001},\n"
        "  archivePrefix = {arXiv},\n"
        "  primaryClass = {cs.LG},\n"
        "  doi = {10.1000/xyz\\_1},\n"
        "  url = {https://arxiv.org/abs/2611.00001},\n"
        "}\n"
    )


def test_keys_differ() -> None:
    same = [
        paper(f"2611.{number:05}", title="A Title", authors=("Łukasz Kaiser",))
        for number in range(40)
    ]
    keys = list(read(bibtex(same)))
    assert (len(keys), keys[:3]) == (
        40,
        ["kaiser2026title", "kaiser2026titleb", "kaiser2026titlec"],
    )


@pytest.mark.parametrize(
    ("written", "safe"),
    [
        (r"Schr{\"o}dinger's {LLM}", r"Schr{\"o}dinger's {LLM}"),
        ("An open { brace", "An open brace"),
        ("A closed } brace", "A closed brace"),
        (r"The set \{1", r"The set 1"),
        (r"The set \{1\}", r"The set \{1\}"),
        ("}{", ""),
        ("Ends in a backslash\\", "Ends in a backslash"),
        ("Ends in \\ \\", "Ends in"),
        ("{Braces and a backslash\\\\\\", "Braces and a backslash"),
        ("{\\", ""),
        ("100% of R&D", r"100\% of R\&D"),
        (r"100\% of R\&D", r"100\% of R\&D"),
        (r"A \\% of it", r"A \\\% of it"),
        ("Two\nlines\x00\u202e", "Two lines"),
        ('@misc{a, title="', '@misc a, title="'),
    ],
)
def test_title_keeps_its_tex_and_what_breaks_the_file_is_made_safe(written: str, safe: str) -> None:
    assert title(written) == safe


@pytest.mark.parametrize(
    ("written", "safe"),
    [
        (r"\input{/etc/passwd}", "input /etc/passwd"),
        (r"On \immediate\write18{ls}", "On immediatewrite18 ls"),
        (r"\csname input\endcsname x", "csname inputendcsname x"),
        (r"\begin{input}{x}\end{input}", "x"),
        (r"In $x + \input{x}$", "In x + input x"),
        (r"In \(\def\x{y}\)", "In defx y"),
        (r"A \vspace{-50cm} b", "A b"),
        (r"\@input{x}", "input x"),
        (r"^^5cinput{x}", "5cinput x"),
        (r"$^^5cinput{x}$", "5cinputx"),
        (r"\^^69nput{x}", "69nput x"),
        (r"\i^^6eput{x}", "ı 6eput x"),
        (r"{\in{put x", "∈ put x"),
        (r"\\\input{x}", "input x"),
        (r"Our \ourmacro", "Our ourmacro"),
    ],
)
def test_title_with_a_command_is_given_as_text(written: str, safe: str) -> None:
    assert title(written) == safe


@pytest.mark.parametrize(
    "written",
    [
        r"Lema\^itre, F\'elix, {\L}ukasz and \c{C}a\u{g}r{\i}",
        r"CO$_2$ at $z\sim 5$, $10^{5}\,{\rm M}_{\odot}$ and \(\alpha\)-divergence",
        r"$\mathcal{O}(\sqrt{T})$ and $\frac{1}{2}\left(\hat{x} \leq \mathbb{E}[x]\right)$",
        r"Fig.~2 of \emph{GRB~160821B}: 50\% of R\&D in $\text{if $x$}$",
    ],
)
def test_accents_and_formulas_of_a_title_stay(written: str) -> None:
    assert title(written) == written


PIECES = st.sampled_from(
    [
        *"\\\\\\^^^$${}()_@ ",
        "input",
        "write18",
        "in",
        "put",
        "i",
        "6e",
        "5c",
        "69",
        "alpha",
        "begin",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_command_that_does_more_than_print_is_left(text: str) -> None:
    """Read as TeX does: ^^6e and ^^. are characters, also within a command's name."""
    safe = title(text)
    before = ""
    while safe != before:
        before = safe
        safe = re.sub(r"\^\^([0-9a-f]{2})", lambda code: chr(int(code[1], 16)), safe, count=1)
        safe = re.sub(r"\^\^([\x00-\x7f])", lambda sign: chr(ord(sign[1]) ^ 64), safe, count=1)
    names = re.findall(r"\\([A-Za-z]+|.)", safe)  # in a document, @ is no letter
    assert {*names} <= printing() | {*"()"}
    assert not {"input", "write", "begin", "csname", "def"} & printing()


@pytest.mark.data
@pytest.mark.long("thousands of titles")
def test_real_titles_read_in_the_file_as_they_do_in_a_mail() -> None:
    """But where authors wrote macros of their own, or a formula without its dollars."""
    data = SHARED / "data"
    lines = [
        line
        for path in (data / "astro_scored.jsonl", *(data / "days").glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    titles = {json.loads(line)["title"] for line in lines}
    other = [written for written in titles if to_text(title(written)) != to_text(written)]
    assert len(titles) > 1_000
    assert len(other) <= len(titles) / 1_000


@given(st.text(alphabet='{}\\%&#$^_a @,\n"', max_size=40))
def test_no_title_and_no_name_breaks_the_file(text: str) -> None:
    of = paper(title=text, authors=(text, "Ada Lovelace"), doi=text)
    (fields,) = read(bibtex([of, paper("2611.00002")][:1])).values()
    assert balanced(fields.get("title", ""))
    assert not fields.get("title", "").endswith("\\")
    assert len(read(bibtex([of, paper("2611.00002")]))) == 2


def test_name_that_bibtex_would_take_apart_is_braced_and_many_names_end_in_others() -> None:
    (fields,) = read(bibtex([paper(authors=("The LIGO and Virgo Team", "Ada Lovelace"))])).values()
    assert fields["author"] == "{The LIGO and Virgo Team} and Ada Lovelace"
    (fields,) = read(bibtex([paper(authors=tuple(f"Ada L{n}" for n in range(3_000)))])).values()
    assert fields["author"].endswith("Ada L199 and others")
    (fields,) = read(bibtex([paper(authors=("Ada Lovelace", "et al."))])).values()
    assert fields["author"] == "Ada Lovelace and others"


def test_coins_have_no_author_et_al() -> None:
    span = parse_qsl(coins(paper(authors=("Ada Lovelace", "et al."))))
    assert [value for name, value in span if name == "rft.au"] == ["Ada Lovelace"]


def test_coins_are_ascii_and_say_who_wrote_what() -> None:
    span = coins(paper("astro-ph/0601001", title='<b> & "$\\alpha$"', authors=("Émile Ø",)))
    assert span.isascii()
    assert not set(span) & set("<>\" '")
    assert {*parse_qsl(span)} >= {
        ("rft_val_fmt", "info:ofi/fmt:kev:mtx:dc"),
        ("rft.title", '<b> & "α"'),
        ("rft.au", "Émile Ø"),
        ("rft.identifier", "https://arxiv.org/abs/astro-ph/0601001"),
    }
