"""arXiv's ids, as people and LLMs write them, and where their papers stand."""

import pytest

from paperboy.sources import links_of, read_id
from paperboy.sources.source import Links
from tests.builders import paper


@pytest.mark.parametrize(
    ("written", "paper_id"),
    [
        ("2502.06786", "2502.06786"),
        ("2502.06786v2", "2502.06786"),
        ("arXiv:2502.06786", "2502.06786"),
        ("arxiv: 2502.06786v1 ", "2502.06786"),
        ("https://arxiv.org/abs/2502.06786v2", "2502.06786"),
        ("www.arxiv.org/pdf/astro-ph/0601001v1.pdf", "astro-ph/0601001"),
        ("https://arxiv.org/html/2502.06786/", "2502.06786"),
        ("another\nline", "another\nline"),
        ("", ""),
    ],
)
def test_id_is_read_from_what_people_paste_and_llms_write(written: str, paper_id: str) -> None:
    assert read_id(written) == paper_id


@pytest.mark.parametrize("paper_id", ["2312.00001", "2502.06786"])
def test_paper_has_a_page_a_pdf_and_since_december_2023_html(paper_id: str) -> None:
    pages = (f"https://arxiv.org/{form}/{paper_id}" for form in ("abs", "pdf", "html"))
    assert links_of(paper(paper_id)) == Links(*pages)


@pytest.mark.parametrize("paper_id", ["2311.99999", "astro-ph/0601001"])
def test_older_paper_has_no_html(paper_id: str) -> None:
    pages = (f"https://arxiv.org/{form}/{paper_id}" for form in ("abs", "pdf"))
    assert links_of(paper(paper_id)) == Links(*pages)
