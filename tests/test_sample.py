"""The bundled sample is what `paperboy demo` and its pictures show: it must be sound, and as varied as real papers."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, time, timedelta, timezone
from email.utils import parseaddr
from importlib.resources import as_file
from zoneinfo import ZoneInfo

import pytest
from ruamel.yaml import YAML

from paperboy import curate, sample
from paperboy.config import lists as mailing_lists
from paperboy.config.categories import CATEGORIES
from paperboy.models import Paper, ToScore
from paperboy.scoring.local import LocalScorer

UNTIL = datetime(2026, 11, 17, 19, 0, tzinfo=UTC)
FROM = UNTIL - timedelta(hours=24)
PAPERS = sample.papers(FROM, UNTIL)
LISTS = {entry["name"]: entry for entry in YAML(typ="safe").load(sample.LISTS.read_text(encoding="utf-8"))["lists"]}


def of_list(name: str) -> list[Paper]:
    return [paper for paper in PAPERS if set(paper.categories) & set(LISTS[name]["categories"])]


def test_ids_are_unique_ordered_and_in_a_range_that_arxiv_does_not_reach() -> None:
    ids = [paper.arxiv_id for paper in PAPERS]
    assert ids == [f"2611.{number}" for number in range(90001, 90001 + len(ids))]
    assert 60 <= len(ids) <= 70


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.arxiv_id)
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
    assert paper.doi == "" or paper.doi.startswith("10.5555/"), "10.5555 is the prefix that is set aside for examples"
    assert paper.version in {1, 2}


def test_names_are_unicode_already() -> None:
    names = [name for paper in PAPERS for name in paper.authors]
    assert not [name for name in names if set(name) & set("\\{}$")]
    assert len([name for name in names if not name.isascii()]) >= 40
    assert {"ø", "ł", "ğ", "ễ", "ñ"} <= set("".join(names))
    assert [name for name in names if "O'" in name]
    assert [name for name in names if " de la " in name]


def test_titles_and_abstracts_differ_from_paper_to_paper() -> None:
    assert len({paper.title for paper in PAPERS}) == len(PAPERS)
    assert len({paper.abstract for paper in PAPERS}) == len(PAPERS)


def test_fields_are_mixed_in_the_order_of_ids() -> None:
    fields = Counter(re.split(r"[.-]", paper.primary_category)[0] for paper in PAPERS)
    assert fields["astro"] >= 15
    assert fields["cs"] + fields["stat"] >= 20
    assert fields["math"] >= 6
    assert fields["quant"] + fields["cond"] >= 6
    assert len({paper.primary_category for paper in PAPERS[:10]}) >= 4


def test_lengths_are_those_of_real_papers() -> None:
    lengths = sorted(len(paper.abstract) for paper in PAPERS)
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
def test_tex_and_markup_that_trip_mail_are_there(piece: str) -> None:
    assert [paper for paper in PAPERS if piece in f"{paper.title} {paper.abstract}"]


@pytest.mark.parametrize("piece", ["$", "&", '"', "<", r"\%"])
def test_titles_have_some_too(piece: str) -> None:
    assert [paper for paper in PAPERS if piece in paper.title]


def test_some_papers_have_comments_second_versions_a_doi_and_one_an_emoji() -> None:
    assert len([paper for paper in PAPERS if paper.comment]) > len(PAPERS) / 2
    assert [paper for paper in PAPERS if not paper.comment]
    assert len([paper for paper in PAPERS if paper.version == 2]) >= 3
    assert [paper for paper in PAPERS if paper.doi]
    assert [paper for paper in PAPERS if "🦔" in paper.comment]


def test_papers_lie_in_the_window_and_spread_over_it() -> None:
    assert all(FROM <= paper.published < UNTIL for paper in PAPERS)
    assert PAPERS[0].published < FROM + timedelta(hours=2)
    assert PAPERS[-1].published > UNTIL - timedelta(hours=1)
    assert [paper.published for paper in PAPERS] == sorted(paper.published for paper in PAPERS)


def test_a_second_version_came_later_and_within_the_window() -> None:
    for paper in PAPERS:
        assert paper.updated < UNTIL
        assert (paper.updated > paper.published) == (paper.version > 1)


def test_a_window_shorter_than_the_sample_holds_it_all_the_same() -> None:
    start = UNTIL - timedelta(hours=3)
    squeezed = sample.papers(start, UNTIL)
    assert min(paper.published for paper in squeezed) == start
    assert [paper.arxiv_id for paper in squeezed] == [paper.arxiv_id for paper in PAPERS]


def test_instants_come_out_in_utc_whatever_zone_went_in() -> None:
    eastern = timezone(timedelta(hours=-5))
    moved = sample.papers(FROM.astimezone(eastern), UNTIL.astimezone(eastern))
    assert moved == PAPERS
    assert all(paper.published.tzinfo is UTC and paper.updated.tzinfo is UTC for paper in moved)


def test_the_lists_have_different_fields_readers_and_enough_papers() -> None:
    assert list(LISTS) == ["foundations", "galaxies"]
    shared = {paper.arxiv_id for paper in of_list("foundations")} & {paper.arxiv_id for paper in of_list("galaxies")}
    assert len(shared) <= 2, "their digests would look alike"
    for name, entry in LISTS.items():
        assert len(of_list(name)) >= 15
        assert all([paper for paper in PAPERS if paper.primary_category == wanted] for wanted in entry["categories"])
        assert {"name", "title", "categories", "topics", "authors", "min_relevance", "subscribers"} == set(entry)
        assert "Relevant:" in entry["topics"]
        assert "Irrelevant:" in entry["topics"]
    assert len(PAPERS) > len({paper.arxiv_id for name in LISTS for paper in of_list(name)}), "some belong to no list"


def test_followed_authors_have_papers_in_their_list() -> None:
    assert len(written_by("Noémie Okonkwo-Lindahl", "foundations")) == 2
    assert len(written_by("Itziar Vandermolen", "galaxies")) == 1
    assert [LISTS[name]["authors"] for name in LISTS] == [["Noémie Okonkwo-Lindahl"], ["Itziar Vandermolen"]]


def written_by(name: str, list_name: str) -> list[Paper]:
    return [paper for paper in of_list(list_name) if name in paper.authors]


def test_subscribers_are_on_example_org_with_one_on_both_lists_and_one_accent() -> None:
    people = {name: [parseaddr(line) for line in entry["subscribers"]] for name, entry in LISTS.items()}
    addresses = {name: {address for _, address in pairs} for name, pairs in people.items()}
    assert all(re.fullmatch(r"[a-z]+@example\.org", address) for found in addresses.values() for address in found)
    assert all(2 <= len(found) <= 3 for found in addresses.values())
    assert addresses["foundations"] & addresses["galaxies"] == {"ada@example.org"}
    assert [name for pairs in people.values() for name, _ in pairs if not name.isascii()]


def test_each_list_gets_a_rich_digest_from_the_embedded_scorer() -> None:
    """The file loads as any `subscribers.yaml`; seven to twelve papers pass, and followed authors would not."""
    with as_file(sample.LISTS) as path:
        lists = mailing_lists.load(path, prompts=[path.parent], send_at=time(7), timezone=ZoneInfo("UTC"))
    for mailing_list in lists:
        papers = [paper for paper in PAPERS if not set(mailing_list.categories).isdisjoint(paper.categories)]
        (answer,) = LocalScorer().score([ToScore(mailing_list, tuple(papers), tuple(papers))])
        chosen = curate.curate(mailing_list, papers, answer.scores, {})
        assert 7 <= chosen.counts.selected <= 12
        assert chosen.counts.below > chosen.counts.author_matches > 0
        followed = [entry for entry in chosen.entries if entry.matched_author]
        assert all(entry.score.relevance < mailing_list.min_relevance for entry in followed)
