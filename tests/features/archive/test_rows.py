"""The search index: it has what the digests show, and hears words alone."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from paperboy.features.archive import rows
from paperboy.features.archive.rows import expression
from paperboy.models import Composed, Day, Outcome
from paperboy.store import Store
from tests.builders import TABLES
from tests.store.ledger import NOW, TODAY


def frozen(store: Store, list_name: str = "foundations", days: int = 0) -> int:
    """A digest with a page."""
    composed = Composed("1 paper: It", "papers@example.org", b"m", "", b"{}")
    day = TODAY - timedelta(days=days)
    store.days.freeze(Day(list_name, day, Outcome.DIGEST, composed=composed), NOW)
    return next(digest.id for digest in store.ledger.digests(list_name) if digest.date == day)


def find(store: Store, words: str, list_name: str = "foundations") -> list[tuple[str, int]]:
    return [
        (paper["title"], paper["place"])
        for paper in rows.find(store.database, list_name, words, 50)
    ]


def test_title_weighs_more_than_authors_and_these_more_than_the_abstract(store: Store) -> None:
    texts = [(1, "a b", "c d", "halo e"), (2, "a b", "halo d", "f e"), (3, "halo b", "c d", "f e")]
    rows.add(store.database, frozen(store), texts)
    assert [place for _, place in find(store, "halo")] == [3, 2, 1]


def test_words_are_found_without_case_and_accents(store: Store) -> None:
    rows.add(store.database, frozen(store), [(1, "Schrödinger's ℓ₁-norm", "Łukasz É", "10⁹ years")])
    for words in ("SCHRODINGER", "schrödinger e", "ℓ₁ norm"):
        assert find(store, words) == [("Schrödinger's ℓ₁-norm", 1)], words


def test_digest_is_found_in_its_own_list_alone(store: Store) -> None:
    rows.add(store.database, frozen(store), [(1, "halo", "", "")])
    assert len(find(store, "halo")) == 1
    assert find(store, "halo", "galaxies") == []


def test_papers_of_a_digest_that_goes_are_forgotten(store: Store) -> None:
    old = frozen(store, days=1)
    new = frozen(store)
    for digest in (old, new):
        rows.add(store.database, digest, [(1, f"halo {digest}", "", ""), (65_535, "halo", "", "")])
    with store.transaction():
        store.database.execute("delete from days where digest_id = ?", [old])
        store.database.execute("delete from messages where id = ?", [old])
    assert sorted(find(store, "halo")) == [("halo", 65_535), (f"halo {new}", 1)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("dark matter", '"dark" AND "matter"*'),
        ('"dark* OR NEAR(x y) title:', '"dark" AND "OR" AND "NEAR" AND "x" AND "y" AND "title"*'),
        ("a", '"a"'),
        ("x_y \0z\ud800", '"x" AND "y" AND "z"'),
        (" *\"'()-_^:\n", ""),
    ],
)
def test_words_are_quoted_and_the_last_may_go_on(words: str, said: str) -> None:
    assert expression(words) == said


def test_search_that_is_put_back_knows_what_was_frozen_and_superseded_without_it(
    tmp_path: Path,
) -> None:
    with Store.open(tmp_path / "paperboy.db") as before:
        old = frozen(before, days=1)
    with Store.open(tmp_path / "paperboy.db", tables=TABLES) as whole:
        rows.add(whole.database, old, [(1, "halo", "", "")])
    with Store.open(tmp_path / "paperboy.db") as without:
        frozen(without, days=2)
        new = frozen(without)
        with without.transaction():
            two_days_ago = TODAY - timedelta(days=2)
            without.database.execute(
                "update messages set superseded = at where date = ?", [str(two_days_ago)]
            )
    with Store.open(tmp_path / "paperboy.db", tables=TABLES) as again:
        assert find(again, "halo") == [("halo", 1)]
        waiting = rows.waiting(again.database, "foundations")
        assert waiting is not None
        assert waiting.id == new
        rows.add(again.database, new, [])
        assert not rows.waiting(again.database, "foundations")
