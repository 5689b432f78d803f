"""Ids of bioRxiv and medRxiv, as people and LLMs write them, and where their papers stand."""

import pytest

from paperboy.sources import links_of, read_id, source_of, twins
from paperboy.sources.biorxiv import ids
from paperboy.sources.source import Links
from tests.builders import paper

DOI = "10.64898/2026.07.31.741992"
OF_MEDRXIV = "10.64898/2026.07.31.26350042"


@pytest.mark.parametrize(
    ("written", "paper_id"),
    [
        (f"biorxiv:{DOI}", f"biorxiv:{DOI}"),
        (f"medRxiv: {DOI}v2 ", f"medrxiv:{DOI}"),
        (f"https://www.biorxiv.org/content/{DOI}v1", f"biorxiv:{DOI}"),
        (f"medrxiv.org/content/{DOI}v12.full.pdf", f"medrxiv:{DOI}"),
        (f"https://www.biorxiv.org/content/{DOI}v1.full.pdf+html", f"biorxiv:{DOI}"),
        (f"https://www.medrxiv.org/content/{DOI}v1.full-text#ref-1", f"medrxiv:{DOI}"),
        (f"https://www.biorxiv.org/content/{DOI}v1?rss=1", f"biorxiv:{DOI}"),
        # a DOI alone tells by its last number whose it is
        (DOI, f"biorxiv:{DOI}"),
        (f"https://doi.org/{DOI}", f"biorxiv:{DOI}"),
        (f"DOI: {DOI}", f"biorxiv:{DOI}"),
        # the older prefix, with and without a date
        ("10.1101/2020.02.07.20021386v1", "medrxiv:10.1101/2020.02.07.20021386"),
        (OF_MEDRXIV, f"medrxiv:{OF_MEDRXIV}"),
        ("10.1101/19001834", "medrxiv:10.1101/19001834"),
        ("biorxiv:10.1101/006569", "biorxiv:10.1101/006569"),
        # that of a journal of the same publisher; others' ids are left to arXiv
        ("10.1101/gr.123456.112", "journal:10.1101/gr.123456.112"),
        ("2502.06786", "2502.06786"),
        ("biorxiv:2502.06786", "biorxiv:2502.06786"),
    ],
)
def test_id_is_read_from_what_people_paste_and_llms_write(written: str, paper_id: str) -> None:
    assert read_id(written) == paper_id


def test_server_takes_nothing_that_names_the_other() -> None:
    assert ids.read("medrxiv", f"https://www.biorxiv.org/content/{DOI}v1") == ""
    assert ids.read("biorxiv", f"medrxiv:{DOI}") == ""


@pytest.mark.parametrize("key", ["biorxiv", "medrxiv"])
def test_paper_has_the_page_of_its_version_and_a_pdf(key: str) -> None:
    page = f"https://www.{key}.org/content/{DOI}v3"
    of = paper(f"{key}:{DOI}", version=3)
    assert links_of(of) == Links(page, f"{page}.full.pdf")
    assert source_of(of.id).key == key


@pytest.mark.parametrize(
    ("paper_id", "doi", "expected"),
    [
        ("2611.00001", DOI, (f"biorxiv:{DOI}",)),
        ("2611.00001", f" https://doi.org/{OF_MEDRXIV}v2", (f"medrxiv:{OF_MEDRXIV}",)),
        ("2611.00001", "10.1038/s41586-026-00001-1", ("journal:10.1038/s41586-026-00001-1",)),
        ("2611.00001", "", ()),
        (f"biorxiv:{DOI}", DOI, ()),  # it does not know of arXiv
    ],
)
def test_twin_is_the_id_that_an_arxiv_papers_doi_means(
    paper_id: str, doi: str, expected: tuple[str, ...]
) -> None:
    assert twins(paper(paper_id, doi=doi)) == expected
