"""The bundled sample is what `paperboy demo` and its pictures show: it must be sound, and as varied as real papers."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from importlib.resources import as_file

import pytest
import yaml

from paperboy import curate, sample
from paperboy.home import lists as mailing_lists
from paperboy.home.settings import Settings
from paperboy.models import Digest, Paper, ToScore
from paperboy.scoring.local import LocalScorer
from paperboy.sources import categories, source_of
from paperboy.sources.arxiv.categories import CATEGORIES
from tests.builders import EMBEDDED

UNTIL = datetime(2026, 11, 17, 19, 0, tzinfo=UTC)
FROM = UNTIL - timedelta(hours=24)
PAPERS = sample.papers(UNTIL)
OF_ARXIV = [paper for paper in PAPERS if ":" not in paper.id]
OF_SERVERS = [paper for paper in PAPERS if "rxiv:" in paper.id]
OF_A_JOURNAL = [paper for paper in PAPERS if paper.id.startswith("journal:")]
LISTS = {
    entry["name"]: entry
    for entry in yaml.safe_load(sample.LISTS.read_text(encoding="utf-8"))["lists"]
}


def of_list(name: str) -> list[Paper]:
    return [paper for paper in PAPERS if set(paper.categories) & set(LISTS[name]["categories"])]


def test_ids_are_unique_and_beyond_arxivs_range() -> None:
    ids = [paper.id for paper in OF_ARXIV]
    assert ids == [f"2611.{number}" for number in range(90001, 90001 + len(ids))]
    assert 60 <= len(ids) <= 70


@pytest.mark.parametrize("paper", OF_SERVERS, ids=lambda paper: paper.id)
def test_each_paper_of_biorxiv_and_medrxiv_is_what_their_feed_would_give(paper: Paper) -> None:
    assert (
        source_of(paper.id).read_id(paper.id)
        == paper.id
        == f"{source_of(paper.id).key}:{paper.doi}"
    )
    assert paper.categories == (paper.primary_category,) == categories(paper.primary_category)
    assert paper.corresponding == paper.authors[-1]
    assert paper.institution
    assert paper.license.startswith("cc")


@pytest.mark.parametrize("paper", OF_A_JOURNAL, ids=lambda paper: paper.id)
def test_each_paper_of_the_journal_is_what_its_feed_would_give(paper: Paper) -> None:
    assert source_of(paper.id).read_id(paper.id) == paper.id == f"journal:{paper.doi}"
    assert paper.doi.startswith("10.5555/")
    assert paper.categories == (paper.primary_category,)
    assert paper.primary_category in LISTS["cells"]["categories"]
    assert paper.corresponding is None
    assert (paper.institution, paper.license) == ("", "publisher")
    assert paper.link.startswith("https://journals.example.org/")


def test_one_of_the_journals_two_papers_has_no_abstract() -> None:
    assert sorted(bool(paper.abstract) for paper in OF_A_JOURNAL) == [False, True]


def test_some_preprints_have_mark_up_a_consortium_and_no_free_license() -> None:
    texts = " ".join(paper.abstract for paper in OF_SERVERS)
    assert all(piece in texts for piece in ("O_ST_ABS", "{+/-}", "<sup>", "<i>", "BackgroundF"))
    assert any("Consortium" in name for paper in OF_SERVERS for name in paper.authors)
    assert {"cc_by", "cc0", "cc_no"} < {paper.license for paper in OF_SERVERS}


@pytest.mark.parametrize("paper", OF_ARXIV, ids=lambda paper: paper.id)
def test_each_paper_is_what_the_feed_would_give(paper: Paper) -> None:
    assert paper.title
    assert paper.authors
    assert len(set(paper.authors)) == len(paper.authors)
    assert 80 <= len(paper.abstract) <= 1_920, "arXiv takes no longer abstract"
    for text in (paper.title, paper.abstract, paper.comment, *paper.authors):
        assert text == " ".join(text.split())
        assert text.count("$") % 2 == 0
        assert text.count("{") == text.count("}")
    assert paper.categories[0] == paper.primary_category
    assert len(set(paper.categories)) == len(paper.categories)
    assert set(paper.categories) <= CATEGORIES
    assert paper.doi == "" or paper.doi.startswith("10.5555/"), (
        "10.5555 is the prefix that is set aside for examples"
    )
    assert paper.version in {1, 2}


def test_lengths_are_those_of_real_papers() -> None:
    lengths = sorted(len(paper.abstract) for paper in PAPERS if paper.abstract)
    assert lengths[0] < 120
    assert lengths[-3] > 1_800
    assert 900 <= lengths[len(lengths) // 2] <= 1_400
    authors = sorted(len(paper.authors) for paper in PAPERS)
    assert authors[0] == 1
    assert authors[-1] > 40
    assert [paper for paper in PAPERS if paper.authors[-1].endswith("Collaboration")]


@pytest.mark.parametrize(
    "piece",
    [
        r"$\alpha$",
        r"CO$_2$",
        r"$10^{-",
        r"\emph{",
        r"5\%",
        r"\mathcal{O}(n \log n)",
        r"F\'elix",
        "a < b",
        "R&D",
        '"',
        "'s ",
    ],
)
def test_sample_has_tex_and_markup_that_break_careless_mail(piece: str) -> None:
    assert [paper for paper in PAPERS if piece in f"{paper.title} {paper.abstract}"]


def test_some_papers_have_comments_second_versions_a_doi_and_one_an_emoji() -> None:
    assert len([paper for paper in PAPERS if paper.comment]) > len(PAPERS) / 2
    assert [paper for paper in PAPERS if not paper.comment]
    assert len([paper for paper in PAPERS if paper.version == 2]) >= 3
    assert [paper for paper in PAPERS if paper.doi]
    assert [paper for paper in PAPERS if "🦔" in paper.comment]


def test_every_version_lies_in_the_window() -> None:
    for paper in PAPERS:
        assert FROM <= paper.published <= paper.updated < UNTIL
        assert (paper.updated > paper.published) == (paper.version > 1)


def test_lists_share_few_papers_and_have_enough() -> None:
    assert list(LISTS) == ["foundations", "galaxies", "cells"]
    shared = {paper.id for paper in of_list("foundations")} & {
        paper.id for paper in of_list("galaxies")
    }
    assert len(shared) <= 2, "their digests would look alike"
    for name, entry in LISTS.items():
        assert len(of_list(name)) >= (8 if name == "cells" else 15)
        assert all(
            [paper for paper in PAPERS if paper.primary_category == wanted]
            for wanted in entry["categories"]
        )
        assert {
            "name",
            "title",
            "description",
            "categories",
            "topics",
            "authors",
            "min_relevance",
            "subscribers",
        } == set(entry)
        assert "Relevant:" in entry["topics"]
        assert "Irrelevant:" in entry["topics"]
    assert len(PAPERS) > len({paper.id for name in LISTS for paper in of_list(name)}), (
        "some belong to no list"
    )


def test_followed_authors_have_papers_in_their_list() -> None:
    assert len(written_by("Noémie Okonkwo-Lindahl", "foundations")) == 2
    assert len(written_by("Itziar Vandermolen", "galaxies")) == 1
    assert len(written_by("Clara Whitlock-Ibe", "cells")) == 1
    assert len(written_by("W. X. Zhang", "cells")) == 1, "who may be followed"
    assert [LISTS[name]["authors"] for name in LISTS] == [
        ["Noémie Okonkwo-Lindahl"],
        ["Itziar Vandermolen"],
        ["Clara Whitlock-Ibe", "Wei Zhang"],
    ]


def written_by(name: str, list_name: str) -> list[Paper]:
    return [paper for paper in of_list(list_name) if name in paper.authors]


def test_each_list_gets_a_rich_digest_from_the_embedded_scorer() -> None:
    """The file loads as any `subscribers.yaml`; six to twelve papers pass, and followed authors would not."""
    with as_file(sample.LISTS) as path:
        lists = mailing_lists.load(path, [path.parent], Settings())
    for mailing_list in lists:
        papers = [
            paper
            for paper in PAPERS
            if not set(mailing_list.categories).isdisjoint(paper.categories)
        ]
        (answer,) = LocalScorer().score([ToScore(mailing_list, tuple(papers), tuple(papers))])
        chosen = curate.curate(
            Digest(mailing_list, date(2026, 11, 20), EMBEDDED), papers, answer.scores, {}
        )
        assert 6 <= chosen.counts.selected <= 12
        assert chosen.counts.below >= chosen.counts.author_matches > 0
        followed = [entry for entry in chosen.entries if entry.matched_authors]
        assert all(entry.score.relevance < mailing_list.min_relevance for entry in followed)
