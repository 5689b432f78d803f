"""Categories of bioRxiv and medRxiv, and how a list's entries are read by them."""

import pytest

from paperboy.edges.text import together
from paperboy.sources import SOURCES, categories, category_name, named
from paperboy.sources.biorxiv.categories import of_record

KEYS = [source.key for source in SOURCES if source.key]


def test_each_server_has_its_own_categories() -> None:
    biology = categories("bioRxiv")
    medicine = categories("medrxiv")
    assert (len(biology), len(medicine)) == (1 + 27, 1 + 51), "all of it has its key, too"
    assert {"biorxiv", "biorxiv/cell biology", "biorxiv/neuroscience"} < set(biology)
    assert {"medrxiv", "medrxiv/hiv aids", "medrxiv/oncology"} < set(medicine)


@pytest.mark.parametrize(
    ("written", "category"),
    [
        ("biorxiv/cell biology", "biorxiv/cell biology"),
        ("bioRxiv/Cell Biology", "biorxiv/cell biology"),
        ("BIORXIV/cell_biology", "biorxiv/cell biology"),
        ("biorxiv/ cell-biology ", "biorxiv/cell biology"),
        ("medRxiv/HIV/AIDS", "medrxiv/hiv aids"),
        ("medrxiv/epidemiology", "medrxiv/epidemiology"),
    ],
)
def test_category_is_read_in_any_case_with_spaces_hyphens_or_underscores(
    written: str, category: str
) -> None:
    assert categories(written) == (category,)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (
            "bioRxiv/Cell Biolgy",
            "unknown category 'Cell Biolgy' of biorxiv, did you mean 'cell biology'?",
        ),
        ("biorxiv/Oncology", "unknown category 'Oncology' of biorxiv; medrxiv has it"),
        (
            "medrxiv/",
            "unknown category '' of medrxiv; write one such as medrxiv/addiction medicine, or medrxiv for all of it",
        ),
        (
            "biorxiv: genomics",
            "unknown category 'biorxiv: genomics', did you mean 'biorxiv/genomics'?",
        ),
        ("biorxv/genomics", "unknown source 'biorxv', did you mean 'biorxiv'?"),
        ("medarxiv", "unknown source 'medarxiv', did you mean 'medrxiv'?"),
        (
            "a/b",
            f"unknown source 'a'; beside arXiv's own categories, there are those of {together(KEYS)}",
        ),
    ],
)
def test_misspelt_category_is_refused_with_a_suggestion(written: str, says: str) -> None:
    with pytest.raises(ValueError, match=r"^unknown") as caught:
        categories(written)
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("Plant Biology", "biorxiv/plant biology"),  # so written some years ago
        ("plant  biology", "biorxiv/plant biology"),
        ("xenobiology", "biorxiv"),  # a new one, which comes to the lists on all of it
        ("NA", "biorxiv"),
    ],
)
def test_record_of_an_unknown_category_is_within_the_whole_server(name: str, category: str) -> None:
    assert of_record("biorxiv", name) == category


def test_readers_see_categories_by_their_source() -> None:
    mixed = ("q-bio.GN", "biorxiv/genomics", *categories("medrxiv"), "biorxiv/zoology")
    assert list(named(mixed)) == ["arXiv (q-bio.GN)", "bioRxiv (genomics, zoology)", "medRxiv"]
    assert [category_name(name) for name in ("q-bio.GN", "biorxiv/genomics", "biorxiv")] == [
        "q-bio.GN",
        "bioRxiv · genomics",
        "bioRxiv",
    ]
