"""Papers for reference managers: whatever a title holds, the file can be read."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.mail.citations import balanced, bibtex, coins, highwire
from tests.builders import paper


def read(bib: str) -> dict[str, dict[str, str]]:
    """The entries by their keys, read as BibTeX does it: a field ends with the brace that closes it."""
    found: dict[str, dict[str, str]] = {}
    rest = bib
    while rest:
        start = re.match(r"@misc\{([a-z0-9-]+),\n", rest)
        assert start, rest[:80]
        rest, fields = rest[start.end() :], {}
        while field := re.match(r"  (\w+) = \{", rest):
            depth, end = 1, field.end()
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
    same = [paper(f"2611.{number:05}", title="A Title", authors=("Łukasz Kaiser",)) for number in range(40)]
    keys = list(read(bibtex(same)))
    assert (len(keys), keys[:3]) == (40, ["kaiser2026title", "kaiser2026titleb", "kaiser2026titlec"])


@pytest.mark.parametrize(
    ("written", "safe"),
    [
        (r"Schr{\"o}dinger's {LLM}", r"Schr{\"o}dinger's {LLM}"),
        ("An open { brace", "An open  brace"),
        ("A closed } brace", "A closed  brace"),
        (r"The set \{1", r"The set \lbrace 1"),
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
        ('@misc{a, title="', '@misca, title="'),
    ],
)
def test_title_keeps_its_tex_and_what_breaks_the_file_is_made_safe(written: str, safe: str) -> None:
    assert title(written) == safe


@given(st.text(alphabet='{}\\%&#$a @,\n"', max_size=40))
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


def test_meta_tags_begin_with_the_title_as_text() -> None:
    tags = highwire(paper("2611.00001", title="On $\\alpha$-stability", doi="10.1/x"))
    assert tags == (
        ("citation_title", "On α-stability"),
        ("citation_author", "Ada Lovelace"),
        ("citation_author", "Grace Hopper"),
        ("citation_publication_date", "2026/11/18"),
        ("citation_arxiv_id", "2611.00001"),
        ("citation_abstract_html_url", "https://arxiv.org/abs/2611.00001"),
        ("citation_pdf_url", "https://arxiv.org/pdf/2611.00001"),
        ("citation_doi", "10.1/x"),
    )


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
