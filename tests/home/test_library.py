"""`library:`: liked papers in BibTeX as reference managers export it, or as ids, DOIs and links."""

import json
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.errors import MOST_PROBLEMS, ConfigError
from paperboy.home import library
from paperboy.home.library import (
    MOST_BYTES,
    MOST_ITEMS,
    Collection,
    Library,
    LibraryItem,
    newest_titles,
    parse,
)

SHARED = Path(__file__).parents[3] / "shared" / "data" / "bib"

TITLE = "Tides of Small Lakes"
MARIE = "Marie Curie"
ID = "2305.04321"
REST = "title = {Tides of Small Lakes}, author = {Curie, Marie}"


def read(text: str, name: str = "refs.bib") -> Library:
    return library.read(name, text.encode())


def items(text: str, name: str = "refs.bib") -> tuple[LibraryItem, ...]:
    found = read(text, name)
    assert not found.unread
    return found.items


def item(text: str, name: str = "refs.bib") -> LibraryItem:
    (found,) = items(text, name)
    return found


Expected = tuple[str, tuple[str, ...], str, str]  # title, authors, id and DOI


def facts(of: Library) -> list[Expected]:
    return [(paper.title, paper.authors, paper.paper_id, paper.doi) for paper in of.items]


# --- what exporters write

PLAIN = (TITLE, (MARIE,), ID, "")
SECOND = ("Fog over Fjords", ("Niels Bohr",), "2306.00007", "")
THIRD = ("Dry Wells", ("Emmy Noether",), "2307.00008", "")
FOG = """
@article{bohr,
  author = {Niels Bohr},
  title = {Fog over Fjords},
  eprint = {2306.00007}
}
"""
WELLS = "\n@article{noether, author = {Emmy Noether}, title = {Dry Wells}, eprint = {2307.00008}}\n"

SHAPES: dict[str, tuple[str | bytes, list[Expected]]] = {
    "acl": (
        (
            '@inproceedings{curie-etal-2023-tides,\n    title = "Tides of Small Lakes",\n'
            '    author = "Curie, Marie  and\n      Bohr, Niels",\n    editor = "Noether, Emmy",\n'
            '    month = dec,\n    url = "https://aclanthology.org/2023.x-short.9",\n'
            '    doi = "10.18653/v1/2023.x-short.9"\n}\n'
        ),
        [(TITLE, (MARIE, "Niels Bohr"), "", "10.18653/v1/2023.x-short.9")],
    ),
    "ads": (
        (
            r"@ARTICLE{2023arXiv230504321C,"
            r" author = {{Curie}, Marie and {de la Vall{\'e}e}, P.},"
            r' title = "{Tides of Small Lakes}", journal = {arXiv e-prints}, year = 2023, month = may,'
            r" eid = {arXiv:2305.04321}, doi = {10.48550/arXiv.2305.04321},"
            r" archivePrefix = {arXiv}, eprint = {2305.04321}, primaryClass = {physics.ao-ph}, }"
        ),
        [(TITLE, (MARIE, "P. de la Vallée"), ID, "10.48550/arxiv.2305.04321")],
    ),
    "ads_journal": (
        (
            '@ARTICLE{1999MNRAS.1C, author = {{Curie}, M.}, title = "{Tides at $z>3$}",'
            r" journal = {\mnras}, doi = {10.1093/mnras/abc}, eprint = {hep-th/9901001} }"
        ),
        [("Tides at z>3", ("M. Curie",), "hep-th/9901001", "10.1093/mnras/abc")],
    ),
    "better_bibtex": (
        (
            "@online{curieTides2023,\n  title = {Tides of {{Small Lakes}}},\n"
            "  author = {Curie, Marie and family=Beek, given=Ed, prefix=van, useprefix=true},\n"
            "  date = {2023-05-07},\n  number = {arXiv:2305.04321},\n  eprinttype = {arXiv},\n"
            "  pubstate = {prepublished}\n}\n"
        ),
        [(TITLE, (MARIE, "Ed van Beek"), ID, "")],
    ),
    "bom_crlf": (
        (
            b"\xef\xbb\xbf@article{c,\r\n title = {Tides of\r\n  Small Lakes},\r\n"
            b" author = {Marie Curie},\r\n eprint = {2305.04321}\r\n}\r\n"
        ),
        [PLAIN],
    ),
    "crossref_oneline": (
        (
            " @article{Curie_2023, title={Tides of Small Lakes}, ISSN={1111-2222}, "
            "url={http://dx.doi.org/10.1000/XYZ}, DOI={10.1000/XYZ}, author={Curie, Marie}, month=may }"
        ),
        [(TITLE, (MARIE,), "", "10.1000/xyz")],
    ),
    "dblp_crossref": (
        (
            f"@inproceedings{{DBLP:conf/y/Curie23, {REST}, crossref = {{DBLP:conf/y/2023}}}}\n"
            "@proceedings{DBLP:conf/y/2023, title = {All of Y 2023}, year = {2023}}\n"
        ),
        [(TITLE, (MARIE,), "", "")],
    ),
    "duplicate_fields": (
        (
            f"@article{{c, {REST}, url = {{https://example.org/a}}, year = 2023,\n"
            " url = {http://arxiv.org/abs/2305.04321v2}, year = {2023}}"
        ),
        [PLAIN],
    ),
    "jabref": (
        (
            "% Encoding: UTF-8\n\n@Article{Curie2023,\n  author = {Curie, Marie},\n"
            "  title = {Tides of Small Lakes},\n  file = {:a\\;b.pdf:PDF},\n"
            "  eprint = {arXiv:2305.04321v3},\n}\n\n@Comment{jabref-meta: databaseType:bibtex;}\n"
            "@Comment{jabref-meta: grouping:\n0 AllEntriesGroup:;\n1 StaticGroup:wet\\;0\\;1\\;\\;;\n}\n"
        ),
        [PLAIN],
    ),
    "latin1": (
        "@article{c, title = {Süße Seen}, author = {Åström, André}, eprint = {2305.04321}}".encode(
            "latin-1"
        ),
        [("Süße Seen", ("André Åström",), ID, "")],
    ),
    "missing_comma": (
        "@article{c,\n author = {Marie Curie}\n title = {Tides of Small Lakes}\n year = 2023\n"
        ' month = may\n eprint = "2305.04321"\n}' + FOG,
        [SECOND, PLAIN],  # of which the first has no year
    ),
    "no_key": (
        (
            f"@article{{,\n {REST}, eprint = {{2305.04321}}}}\n"
            "@misc{\n title = {Fog over Fjords}, author = {Bohr, Niels},\n"
            " url = {https://arxiv.org/pdf/2306.00007.pdf}}\n"
            "@misc{author = {Emmy Noether}, title = {Dry Wells}, note = {arXiv: 2307.00008}}\n"
        ),
        [PLAIN, SECOND, THIRD],
    ),
    "openreview": (
        (
            "@inproceedings{\ncurie2023tides,\ntitle={Tides of Small Lakes},\n"
            "author={Marie Curie and Niels Bohr},\nurl={https://openreview.net/forum?id=x_Y-z}\n}\n"
        ),
        [(TITLE, (MARIE, "Niels Bohr"), "", "")],
    ),
    "pmlr": (
        (
            "@InProceedings{pmlr-v9-curie23a,\n  title = \t {Tides of Small Lakes},\n"
            "  author =       {Curie, Marie},\n  month = \t {1--2 Jul},\n"
            "  pdf = \t {https://proceedings.mlr.press/v9/curie23a.pdf}\n}\n"
        ),
        [(TITLE, (MARIE,), "", "")],
    ),
    "strings": (
        (
            '@string{lake = "Lakes"}\n@STRING(small = "Small " # lake)\n@preamble{"\\newcommand{\\x}{}"}\n'
            '@article{c, title = {Tides of } # SMALL, author = "Curie, Marie", year = 2023,\n'
            ' journal = lake # " and Ponds", month = may, eprint = "2305.04321"}'
        ),
        [PLAIN],
    ),
    "tex_names": (
        (
            r"@article{c, author = {Ha{\v{s}}ek, Ji{\v r}{\'\i} and {\O}degaard, Per and "
            r"{\'E}mile de la Tour and King, Jr., Martin~L. and {The LAKE and POND Team} and others},"
            r" title = {``Tides''---of H$_2$O \& {\ss}and in {$\beta$}~Lake}, eprint = {2305.04321}}"
        ),
        [
            (
                "“Tides”—of H₂O & ßand in β Lake",
                (
                    "Jiří Hašek",
                    "Per Ødegaard",
                    "Émile de la Tour",
                    "Martin L. King Jr.",
                    "The LAKE and POND Team",
                ),
                ID,
                "",
            )
        ],
    ),
    "unbalanced": (
        "@article{c,\n title = {Tides of {Small Lakes},\n author = {Marie Curie}\n}\n"
        + FOG
        + WELLS,
        [SECOND, THIRD],
    ),
    "undefined_string": (
        f"@article{{c, {REST}, journal = apjl, eprint = {{2305.04321}}}}",
        [PLAIN],
    ),
    "zotero_plain": (
        (
            "@misc{curie_tides_2023,\n\ttitle = {{Tides} of {Small} {Lakes}},\n"
            "\turl = {http://arxiv.org/abs/2305.04321},\n\tdoi = {10.48550/arXiv.2305.04321},\n"
            "\tauthor = {Curie, Marie},\n\tmonth = may,\n\tnote = {arXiv:2305.04321 [physics]},\n"
            "\tfile = {PDF:/home/marie/Zotero/storage/X/a.pdf:application/pdf},\n}\n"
        ),
        [(TITLE, (MARIE,), ID, "10.48550/arxiv.2305.04321")],
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_exporters_shape_is_read(shape: str) -> None:
    text, expected = SHAPES[shape]
    content = text if isinstance(text, bytes) else text.encode()
    found = library.read("refs.bib", content)
    assert facts(found) == expected
    assert len(found.unread) == (shape == "unbalanced")


@pytest.mark.data
@pytest.mark.parametrize("shape", SHAPES)
def test_shared_file_is_read_as_expected(shape: str) -> None:
    found = library.read(f"{shape}.bib", (SHARED / f"{shape}.bib").read_bytes())
    expected = json.loads((SHARED / "expected.json").read_text("utf-8"))[shape]
    assert facts(found) == [
        (paper["title"], tuple(paper["authors"]), paper["arxiv"], paper["doi"])
        for paper in expected
    ]


@pytest.mark.data
def test_shapes_are_those_of_the_shared_files() -> None:
    assert {path.stem for path in SHARED.glob("*.bib")} == set(SHAPES)


@pytest.mark.parametrize(
    ("fields", "paper_id"),
    [
        ("eprint = {2305.04321}", ID),
        ("eprint = {2305.04321 [physics.ao-ph]}", ID),
        ("arxivId = {2305.04321}", ID),
        ("eprint = {math.GT/0309136}", "math/0309136"),
        ("eprint = {arXiv:astro-ph/0601001v2}", "astro-ph/0601001"),
        ("eprint = {1234567}, eprinttype = {pubmed}", ""),
        ("doi = {https://doi.org/10.48550/ARXIV.2305.04321}", ID),
        ("url = {http://dx.doi.org/10.48550/arXiv.2305.04321}", ID),
        ("url = {https://export.arxiv.org/abs/2305.04321v1?context=cs#x}", ID),
        (r"howpublished = {\url{https://arxiv.org/html/2305.04321}}", ID),
        ("journal = {arXiv preprint arXiv:2305.04321}", ID),
        ("journal = {CoRR}, volume = {abs/2305.04321}", ID),
        ("journal = {CoRR}, volume = {cs.CL/0506001}", "cs/0506001"),
        ("note = {arXiv:2305.04321 [cs]}", ID),
        ("eid = {arXiv:2305.04321}", ID),
        ("eprint = {2305.04321}, doi = {10.48550/arXiv.2306.00001}, number = 7", ID),
        ("volume = {1234}, number = {56789}, pages = {1234.56789}", ""),
        ("doi = {doi:10.1000/abc}", ""),
        (
            (
                "doi = {10.1101/2023.05.01.123456},"
                "eprint = {https://www.biorxiv.org/content/early/2023/05/02/2023.05.01.123456.full.pdf}"
            ),
            "biorxiv:10.1101/2023.05.01.123456",
        ),
        (
            "url = {https://www.medrxiv.org/content/10.1101/2023.05.01.12345678v2}",
            "medrxiv:10.1101/2023.05.01.12345678",
        ),
    ],
)
def test_id_is_found_where_exporters_put_it(fields: str, paper_id: str) -> None:
    assert item(f"@article{{c, {REST}, {fields}}}").paper_id == paper_id


@pytest.mark.parametrize(
    ("fields", "doi"),
    [
        ("doi = {10.1000/ABC.1}", "10.1000/abc.1"),
        ("DOI = {https://doi.org/10.1000/abc}", "10.1000/abc"),
        (r"doi = {10.1007/978-3{\_}12}", "10.1007/978-3_12"),
        ("url = {https://dx.doi.org/10.1000/abc}", "10.1000/abc"),
        ("url = {https://www.biorxiv.org/content/10.1101/2023.05.01.123456v1.full.pdf}", ""),
        ("doi = {}", ""),
    ],
)
def test_doi_is_read(fields: str, doi: str) -> None:
    assert item(f"@article{{c, {REST}, {fields}}}").doi == doi


@pytest.mark.parametrize(
    "entry",
    [
        f"@article(c, {REST}, eprint = {{2305.04321}})",
        f"@article {{c,{REST}, eprint = {{2305.04321}}}}",
        f"% @article{{c, {REST}, eprint = {{2305.04321}}}}",
        f"@article{{c\n {REST}, eprint = {{2305.04321}}}}",
        f"Marie, marie@example.org, likes: x = 3\n\n@misc{{c, {REST}, eprint = {{2305.04321}}}}\n ok",
        f"@article{{c,\n % on lakes\n {REST}, eprint = {{2305.04321}}}}",
        "@misc{c, title = Tides of {S}mall Lakes, author = {Marie Curie}, eprint = 2305.04321}",
        f"@comment{{ {REST} }}\n@misc{{c, {REST}, eprint = {{2305.04321}}}}",
        f"@misc{{d, author = {{Nobody}}}}@misc{{c, {REST}, eprint = {{2305.04321}}}}",
    ],
)
def test_entry_is_read_however_it_is_written(entry: str) -> None:
    assert facts(read(entry)) == [PLAIN]


def test_entries_with_one_key_are_both_read() -> None:
    assert facts(read(FOG + WELLS.replace("noether", "bohr"))) == [SECOND, THIRD]


def test_abstract_is_plain_text_and_empty_where_there_is_none() -> None:
    written = r"abstract = {We {\it draw} 50% of {L}akes,\\" + "\n in H$_2$O.}"
    assert item(f"@misc{{c, {REST}, {written}}}").abstract == "We draw 50% of Lakes, in H₂O."
    assert item(f"@misc{{c, {REST}}}").abstract == ""


def test_line_is_that_of_the_entry_after_lines_that_end_in_a_backslash() -> None:
    first = f"\n@misc{{c,\n {REST},\n note = {{one \\\\\ntwo \\\nthree}}\n}}\n"
    assert [paper.line for paper in items(first + WELLS)] == [2, 9]


# --- which papers


def test_newest_papers_are_kept_and_come_last() -> None:
    years = [1900 + number % 120 for number in range(MOST_ITEMS + 500)]
    entries = (
        f"@misc{{k{number}, title = {{Lake {number}}}, year = {year}}}\n"
        for number, year in enumerate(years)
    )
    found = items("".join(entries))
    newest = sorted(range(len(years)), key=years.__getitem__)[-MOST_ITEMS:]
    assert [paper.title for paper in found] == [f"Lake {number}" for number in newest]


def test_last_papers_of_a_file_without_dates_are_kept() -> None:
    found = items("".join(f"2305.{number:05}\n" for number in range(MOST_ITEMS + 5)), "refs.txt")
    assert len(found) == MOST_ITEMS
    assert [found[0].paper_id, found[-1].paper_id] == ["2305.00005", "2305.02004"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("title = {A}, eprint = {2305.04321}", "title = {B}, url = {arxiv.org/abs/2305.04321v2}"),
        ("title = {A}, doi = {10.1000/a}", "title = {B}, doi = {10.1000/A}"),
        ("title = {Deep {Lakes}: a Map}", "title = {Deep lakes -- a map.}"),
    ],
)
def test_paper_that_the_file_has_twice_is_one(one: str, other: str) -> None:
    assert len(items(f"@misc{{a, {one}}}\n@misc{{b, {other}}}")) == 1


def test_published_paper_is_completed_from_its_preprint() -> None:
    preprint = f"@misc{{a, {REST}, year = 2022, eprint = {{{ID}}}, abstract = {{We swim.}}}}\n"
    published = "@article{b, title = {Tides of small lakes}, year = 2023, doi = {10.1000/a}}\n"
    expected = LibraryItem(
        paper_id=ID,
        doi="10.1000/a",
        title="Tides of small lakes",
        authors=(MARIE,),
        abstract="We swim.",
        line=2,
    )
    assert item(preprint + published) == expected
    assert item(published + preprint).title == expected.title


# --- files of ids


def test_file_of_ids_has_an_id_doi_or_link_on_each_line() -> None:
    text = (
        "# liked in 2023\n\n2305.04321v2\narXiv:2306.00007  # fog\r\n"
        "https://arxiv.org/abs/hep-th/9901001\n\thttps://doi.org/10.1000/ABC\ndoi: 10.1000/d\n"
        "https://www.biorxiv.org/content/10.1101/2023.05.01.123456v1\n10.48550/arXiv.2307.00008\n"
    )
    assert [(paper.line, paper.paper_id, paper.doi) for paper in items(text, "refs.txt")] == [
        (3, "2305.04321", ""),
        (4, "2306.00007", ""),
        (5, "hep-th/9901001", ""),
        (6, "", "10.1000/abc"),
        (7, "", "10.1000/d"),
        (8, "biorxiv:10.1101/2023.05.01.123456", ""),
        (9, "2307.00008", "10.48550/arxiv.2307.00008"),
    ]


def test_other_lines_are_reported_and_cost_nothing_else() -> None:
    found = read("a fine paper\n2305.04321\nhttps://example.org/2305\n", "likes.txt")
    assert [paper.paper_id for paper in found.items] == [ID]
    assert [problem.place for problem in found.unread] == ["likes.txt:1", "likes.txt:3"]
    assert "neither a paper's id nor a DOI" in found.unread[0].message


# --- what cannot be read


def test_broken_entry_is_reported_with_its_line() -> None:
    found = read(FOG + "\n@article{c,\n title = {Tides of {Small Lakes}\n}\n" + WELLS)
    assert facts(found) == [SECOND, THIRD]
    (problem,) = found.unread
    assert problem.place == "refs.bib:8"
    assert "brace or quote that is never closed" in problem.message


def test_broken_comment_or_preamble_costs_no_entry() -> None:
    found = read("@comment{ a {\n" + FOG + "@preamble{ {\n" + WELLS + "@string{x = {\n")
    assert facts(found) == [SECOND, THIRD]
    assert not found.unread


def test_title_that_is_no_title_is_reported() -> None:
    found = read(f"@misc{{c, title = {{{'word ' * 1000}}}}}" + FOG)
    assert facts(found) == [SECOND]
    assert [problem.place for problem in found.unread] == ["refs.bib:1"]
    assert "title of 4,999 characters" in found.unread[0].message


@pytest.mark.parametrize("name", ["refs.ris", "refs", "refs.bib.gz", ".bib"])
def test_other_ending_is_an_error_that_names_both(name: str) -> None:
    with pytest.raises(ConfigError, match=r"ends in \.bib .* or \.txt") as caught:
        library.read(name, b"")
    assert caught.value.problems[0].place == name


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("refs.bib", b" " * (MOST_BYTES + 1)),
        ("refs.bib", b"@a{x}\n" * 50_001),
        ("refs.txt", b"\n" * 50_001),
    ],
)
def test_too_large_file_is_an_error(name: str, content: bytes) -> None:
    with pytest.raises(ConfigError, match="larger than 32 MB, or has more than 50,000 entries"):
        library.read(name, content)


# --- hostile files


@pytest.mark.long("five megabytes of BibTeX")
def test_four_thousand_entries_are_read() -> None:
    abstract = "We {measure} lakes, $x^2$ of them, in 50\\% of 3~days. " * 20
    entries = (
        f"@misc{{k{number}, title = {{Lake {number}}}, abstract = {{{abstract}}}}}\n"
        for number in range(4_000)
    )
    assert len(items("".join(entries))) == MOST_ITEMS


@pytest.mark.parametrize(
    ("hostile", "papers"),
    [
        ("{" * 40_000, 1),
        ("@a{x, title = {" + "{" * 40_000 + "}" * 40_000 + "}}", 1),
        ("@article{x, title = {A\n" * 4_000, 1),
        ("@a{x," + "".join(f"f{number} = {{x}}," for number in range(8_000)) + "title = {A}}", 2),
        ('@a{x, title = {A}, author = "' + "}" * 50_000 + '"}', 2),
        ("@a{x, title = {A}, author = {" + "and , " * 100_000 + "}}", 2),
        ("@a{x, title = {A}, abstract = {" + "\\x{$" * 100_000 + "}}", 1),
        ("@a{x, title = {A}, abstract = {" + "word " * 100_000 + "}}", 2),
        ("@a{x, title = {A}, url = {" + "abs/" * 100_000 + "}}", 2),
        ("@a{x, title = {A}, doi = {" + "10.1000" * 100_000 + "}}", 2),
        ("@a{x" + " " * 100_000 + "title = {A}}", 2),
        ("@a{x, title = {A}" + "\n" * 100_000 + "}", 2),
        ("@a{x, title = {A} " + "x = " * 50_000 + "}", 2),
        ("@" * 100_000, 1),
        ("\0" * 100_000, 1),
        ("@a{x, title = {\0\x1b[31mA\u202e\ufdd0}}", 2),
        ("@string{s0 = {ha}}\n@a{x, title = {A}, abstract = s40}\n", 2),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_hostile_entry_costs_itself_alone(hostile: str, papers: int) -> None:
    found = read(hostile + "\n" + FOG)
    assert len(found.items) == papers
    assert facts(found)[-1] == SECOND
    assert len(found.unread) <= MOST_PROBLEMS
    assert all(paper.title.isprintable() for paper in found.items)


def test_strings_that_double_each_other_stay_small() -> None:
    doubled = (f"@string{{s{n + 1} = s{n} # s{n}}}\n" for n in range(60))
    found = read("@string{s0 = {ha}}\n" + "".join(doubled) + f"@a{{x, {REST}, abstract = s60}}")
    assert 1_000 <= len(found.items[0].abstract) <= 2_000


def test_utf16_is_read_as_far_as_it_is_latin() -> None:
    content = f"@misc{{c, {REST}, eprint = {{{ID}}}}}".encode("utf-16")
    assert facts(library.read("refs.bib", content)) == [PLAIN]


def test_one_line_that_is_not_utf8_does_not_spoil_the_others() -> None:
    content = "@misc{c,\n title = {Süße Seen},\n author = {".encode() + b"Andr\xe9 Curie}\n}"
    assert facts(library.read("refs.bib", content)) == [("Süße Seen", ("André Curie",), "", "")]


def test_parser_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    read("@article{c, title = {Tides\n" + FOG)
    assert not caplog.records


PIECES = st.sampled_from(
    [
        "@",
        "@misc",
        "{",
        "}",
        "(",
        ")",
        '"',
        ",",
        "=",
        "#",
        "\\",
        "\n",
        " ",
        "$",
        "and",
        "a",
        "title",
    ]
)


@given(st.one_of(st.binary(), st.lists(PIECES).map(lambda pieces: "".join(pieces).encode())))
def test_no_bytes_raise(content: bytes) -> None:
    for name in ("refs.bib", "refs.txt"):
        library.read(name, content)


@given(st.lists(PIECES).map("".join))
def test_nothing_before_an_entry_on_a_line_of_its_own_costs_it(junk: str) -> None:
    found = read(f"@misc{{c, title = {{{junk}\n" + FOG)
    assert facts(found)[-1:] == [SECOND]


# ---- what a list's `library` names


@pytest.mark.parametrize("name", ["refs.bib", "My Library.bib", "lab/liked.txt"])
def test_library_names_a_file_of_the_home(name: str) -> None:
    assert parse(name) == name


@pytest.mark.parametrize("library", ["users/1234567", "groups/42"])
def test_library_names_a_collection_of_a_user_or_a_group(library: str) -> None:
    collection = parse(f"zotero:{library}/collections/ABCD2345")
    assert collection == Collection(library, "ABCD2345")
    assert str(collection) == f"zotero:{library}/collections/ABCD2345"


@pytest.mark.parametrize(
    "text",
    [
        "zotero:users/1234567",
        "zotero:users/ada/collections/ABCD2345",
        "zotero:users/1234567/collections/abcd2345",
        "zotero:users/1234567/collections/ABCD2345/items",
        "zotero:users/1234567/collections/ABCD234\n5",
        "zotero:users/١٢/collections/ABCD2345",
        "zotero:friends/1/collections/ABCD2345",
    ],
)
def test_collection_that_is_none_is_an_error_with_an_example(text: str) -> None:
    example = "write it as zotero:users/1234567/collections/ABCD2345 or zotero:groups/…"
    with pytest.raises(ValueError, match=f"is no Zotero collection; {example}"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "refs.pdf",
        "../refs.bib",
        "/etc/refs.bib",
        "https://www.zotero.org/ada/collections/ABCD2345",
    ],
)
def test_any_other_library_is_an_error_that_says_what_may_stand_there(text: str) -> None:
    with pytest.raises(ValueError, match=r"a file in the home that ends in \.bib .* or a Zotero"):
        parse(text)


# ---- titles that stand in for topics


def test_newest_titles_come_first_each_once_and_thirty_at_most() -> None:
    papers = [LibraryItem("", "", f"Paper {number}") for number in range(40)]
    again = LibraryItem("", "", "Paper 39")
    untitled = LibraryItem("2502.06786", "", "")
    titles = newest_titles([*papers, again, untitled])
    assert titles == tuple(f"Paper {number}" for number in range(39, 9, -1))


# ---- categories


@pytest.mark.parametrize(
    ("field", "category"),
    [
        ("primaryClass = {astro-ph.GA}", "astro-ph.GA"),
        ("eprintclass = {hep-th}", "hep-th"),
        ("primaryclass = {astro-ph}", ""),
        ("primaryclass = {cs}", ""),
        ("primaryclass = {rubbish}", ""),
        ("year = {2026}", ""),
    ],
)
def test_category_is_known_where_the_file_names_one(field: str, category: str) -> None:
    assert item(f"@misc{{c, {REST}, {field}}}").category == category
