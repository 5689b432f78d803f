"""Stored papers, and which of them a list has not seen."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from paperboy.models import Day, Outcome, PaperOutcome
from paperboy.store import Store
from tests.builders import mailing_list, paper

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)


def test_paper_comes_back_as_it_was(store: Store) -> None:
    odd = paper(
        "astro-ph/0601001",
        title=r"On $\alpha$ “quotes” and 'apostrophes'",
        authors=("Zoë Ångström", 'O\'Brien, "Bob"'),
        comment="12 pages",
        doi="10.1/x",
        version=3,
    )
    with_initials = paper(
        "biorxiv:10.64898/2026.11.17.700001",
        authors=("Zoë Ångström", "B. O'Brien"),
        corresponding="Zoë Ångström",
        institution="Nordhaven University",
        license="cc_by",
    )
    without_a_whole_name = paper("medrxiv:10.1101/000001", corresponding="")
    papers = (odd, with_initials, without_a_whole_name)
    store.papers.add(papers, ["cs.LG"], NOW)
    assert store.papers.unseen(mailing_list()) == papers


def test_spoilt_paper_is_skipped_and_logged(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.papers.add([paper("2611.00001"), paper("2611.00002")], ["cs.LG"], NOW)
    store.papers._database.execute("update papers set authors = '[1' where id = '2611.00001'")
    assert [found.id for found in store.papers.unseen(mailing_list())] == ["2611.00002"]
    assert "a row is corrupt (id 2611.00001: " in caplog.text


def test_second_fetch_adds_nothing_new_and_takes_the_newer_text(store: Store) -> None:
    store.papers.add([paper(version=2, title="Second")], ["cs.LG"], NOW)
    store.papers.add([paper(version=3, title="Third")], ["cs.LG"], NOW)
    store.papers.add([paper(version=1, title="First")], ["cs.LG"], NOW)
    assert [entry.title for entry in store.papers.unseen(mailing_list())] == ["Third"]


def test_categories_of_all_versions_count(store: Store) -> None:
    versions = [paper(categories=("cs.LG", "stat.ML")), paper(version=2, categories=("cs.LG",))]
    store.papers.add(versions, ["cs.LG"], NOW)
    assert store.papers.unseen(mailing_list(categories=("stat.ML",)))


def test_each_list_sees_its_own_categories_and_its_own_memory(store: Store) -> None:
    learning = paper("2611.00001")
    physics = paper("2611.00002", primary_category="hep-th", categories=("hep-th",))
    store.papers.add([learning, physics], ["cs.LG", "hep-th"], NOW)
    other = mailing_list(name="strings", categories=("hep-th", "cs.LG"))
    store.days.freeze(
        Day(
            "foundations",
            date(2026, 11, 20),
            Outcome.DIGEST,
            outcomes={"2611.00001": PaperOutcome.SELECTED},
        ),
        NOW,
    )
    assert store.papers.unseen(mailing_list()) == ()
    assert store.papers.unseen(other) == (learning, physics)


def test_cross_lists_are_found_unless_the_list_does_not_want_them(store: Store) -> None:
    crossed = paper(primary_category="cs.CV", categories=("cs.CV", "cs.LG"))
    store.papers.add([crossed], ["cs.LG"], NOW)
    assert store.papers.unseen(mailing_list()) == (crossed,)
    assert store.papers.unseen(mailing_list(cross_lists=False)) == ()
    assert store.papers.unseen(mailing_list(cross_lists=False, categories=("cs.CV",))) == (crossed,)


def test_authors_of_recent_papers_are_those_of_the_categories(store: Store) -> None:
    recent = paper(
        "2611.00001", authors=("Vera Rubin", "Kent Ford"), published=NOW - timedelta(days=2)
    )
    others = (
        replace(recent, id="2610.00001", published=NOW - timedelta(days=40)),
        replace(recent, id="2611.00002", primary_category="hep-th", categories=("hep-th",)),
    )
    store.papers.add([recent, *others], ["cs.LG", "hep-th"], NOW)
    assert store.papers.authors(["cs.LG"], NOW - timedelta(days=31)) == [recent.authors]


def test_texts_of_recent_papers_are_there_seen_or_not(store: Store) -> None:
    new = paper("2611.00001", published=NOW - timedelta(days=2))
    old = paper("2611.00002", published=NOW - timedelta(40))
    store.papers.add([new, old], ["cs.LG"], NOW)
    store.days.freeze(
        Day(
            "foundations",
            date(2026, 11, 20),
            Outcome.NOTE,
            outcomes={"2611.00001": PaperOutcome.BELOW},
        ),
        NOW,
    )
    assert store.papers.recent(mailing_list(), NOW - timedelta(days=30)) == [
        (new.id, new.title, new.abstract)
    ]


def test_newest_submission_is_that_of_the_asked_categories(store: Store) -> None:
    assert store.papers.newest(["cs.LG"]) is None
    store.papers.add(
        [paper("2611.00001", published=NOW), paper("2611.00002", published=NOW - timedelta(1))],
        ["cs.LG"],
        NOW,
    )
    assert store.papers.newest(["cs.LG", "hep-th"]) == NOW
    assert store.papers.newest(["hep-th"]) is None


def test_last_complete_fetch_of_each_category_is_kept(store: Store) -> None:
    store.papers.add([paper()], ["cs.LG", "stat.ML"], NOW - timedelta(days=3))
    store.papers.add([paper()], ["cs.LG"], NOW)
    store.papers.add([], ["biorxiv/genomics"], NOW, "biorxiv")
    assert store.papers.fetched("") == {"cs.LG": NOW, "stat.ML": NOW - timedelta(days=3)}
    assert store.papers.fetched("biorxiv") == {"biorxiv/genomics": NOW}
