"""Votes: one for each list, paper and person, counted without names."""

from __future__ import annotations

from datetime import timedelta

from paperboy.features.votes.votes import Tally, Votes
from paperboy.store import Store
from paperboy.store.readers import Reader
from tests.store.ledger import NOW

ADA, GRACE = Reader("foundations", "ada@example.org"), Reader("foundations", "grace@example.org")
VERA = Reader("galaxies", "vera@example.org")
ONE, OLD = "2611.00001", "astro-ph/0601001"


def test_votes_are_the_readers_own(store: Store) -> None:
    Votes(store.database).cast(ADA, {ONE: 1, OLD: -1}, NOW)
    Votes(store.database).cast(GRACE, {ONE: -1}, NOW)
    assert Votes(store.database).of(ADA, [ONE, OLD]) == {ONE: 1, OLD: -1}
    assert Votes(store.database).of(ADA, [OLD, "2611.00002"]) == {OLD: -1}
    assert Votes(store.database).of(Reader("foundations", "GRACE@Example.org"), [ONE, OLD]) == {
        ONE: -1
    }
    assert Votes(store.database).of(Reader("galaxies", "ada@example.org"), [ONE, OLD]) == {}


def test_later_vote_replaces_the_earlier_and_zero_takes_it_back(store: Store) -> None:
    Votes(store.database).cast(ADA, {ONE: 1, OLD: 1}, NOW)
    Votes(store.database).cast(ADA, {ONE: -1, OLD: 0, "2611.00009": 0}, NOW)
    assert Votes(store.database).of(ADA, [ONE, OLD, "2611.00009"]) == {ONE: -1}


def test_paper_is_counted_by_list(store: Store) -> None:
    Votes(store.database).cast(ADA, {ONE: 1}, NOW)
    Votes(store.database).cast(GRACE, {ONE: 1, OLD: -1}, NOW)
    Votes(store.database).cast(VERA, {ONE: -1}, NOW)
    assert Votes(store.database).on(ONE) == {"foundations": Tally(up=2), "galaxies": Tally(down=1)}
    assert Votes(store.database).on("2611.00002") == {}


def test_equal_vote_keeps_its_date(store: Store) -> None:
    later = NOW + timedelta(days=1)
    Votes(store.database).cast(ADA, {ONE: 1, OLD: 1}, NOW)
    Votes(store.database).cast(ADA, {ONE: 1, OLD: -1}, later)
    assert Votes(store.database).since(NOW) == {"foundations": Tally(1, 1)}
    assert Votes(store.database).since(later) == {"foundations": Tally(0, 1)}
    assert Votes(store.database).since(later + timedelta(seconds=1)) == {}


def test_vote_outlives_its_paper(store: Store) -> None:
    Votes(store.database).cast(ADA, {ONE: 1}, NOW)
    store.retention.thin(timedelta(0), [], NOW + timedelta(days=900))
    assert Votes(store.database).on(ONE) == {"foundations": Tally(up=1)}
