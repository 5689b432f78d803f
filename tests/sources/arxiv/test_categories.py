"""arXiv's taxonomy, and how a list's entries are read by it."""

from paperboy.sources import categories
from paperboy.sources.arxiv.categories import ARCHIVES_ONLY, CATEGORIES


def test_taxonomy_has_todays_categories_and_the_divided_archives() -> None:
    assert {
        "cs.LG",
        "stat.ML",
        "astro-ph.GA",
        "hep-th",
        "math-ph",
        "q-bio.NC",
        "eess.IV",
        "physics.optics",
    } <= CATEGORIES
    assert {"astro-ph", "cond-mat", "nlin", "q-bio"} <= CATEGORIES
    assert {"cs", "math", "physics", "stat"} <= ARCHIVES_ONLY
    assert len(CATEGORIES) == 155 + 4, (
        "155 categories as arXiv lists them, 4 that were divided since"
    )


def test_archive_that_was_divided_later_stands_for_its_present_categories() -> None:
    assert categories("cs.LG") == ("cs.LG",)
    assert categories("nlin") == ("nlin", "nlin.AO", "nlin.CD", "nlin.CG", "nlin.PS", "nlin.SI")
