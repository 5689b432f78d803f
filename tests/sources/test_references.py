"""Ids and DOIs in what reference managers write."""

import pytest

from paperboy.sources.references import doi_in, id_in


@pytest.mark.parametrize(
    ("text", "paper_id"),
    [
        (" arXiv:2502.06786v3 ", "2502.06786"),
        ("https://arxiv.org/pdf/2502.06786v1.pdf", "2502.06786"),
        ("https://ar5iv.labs.arxiv.org/html/2502.06786", "2502.06786"),
        ("abs/2502.06786", "2502.06786"),
        ("https://arxiv.org/abs/2502.06786?context=cs", "2502.06786"),
        ("math.GT/0309136", "math/0309136"),
        ("10.48550/ARXIV.2502.06786", "2502.06786"),
        ("https://doi.org/10.1101/2026.07.31.741992", "biorxiv:10.1101/2026.07.31.741992"),
        ("2502", ""),
        ("2513.06786", ""),
        ("S0370-2693", ""),
        ("any words", ""),
        ("10.1103/PhysRevD.1.2", ""),
        ("https://example.org/" + "a" * 500 + "/abs/2502.06786", ""),
        ("٢٥٠٢.٠٦٧٨٦", ""),
        ("", ""),
    ],
)
def test_id_has_the_shape_of_one(text: str, paper_id: str) -> None:
    assert id_in(text) == paper_id


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("10.1103/PhysRevD.1.2", "10.1103/physrevd.1.2"),
        ("see https://doi.org/10.1103/A(1)2.", "10.1103/a(1)2"),
        ("doi:10.1103/A, and 10.1103/B", "10.1103/a"),
        ("pending", ""),
        ("10.1/short", ""),
    ],
)
def test_doi_is_in_small_letters(text: str, doi: str) -> None:
    assert doi_in(text) == doi
