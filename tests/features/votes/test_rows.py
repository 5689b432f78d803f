"""Votes: one for each list, paper and person, counted without names."""

from __future__ import annotations

from datetime import timedelta

from paperboy.features.votes import rows
from paperboy.features.votes.rows import Tally
from paperboy.store import Store
from paperboy.store.readers import Reader
from tests.store.ledger import NOW

ADA = Reader("foundations", "ada@example.org")
ONE = "2611.00001"
OLD = "astro-ph/0601001"


def test_equal_vote_keeps_its_date(store: Store) -> None:
    later = NOW + timedelta(days=1)
    rows.cast(store.database, ADA, {ONE: 1, OLD: 1}, NOW)
    rows.cast(store.database, ADA, {ONE: 1, OLD: -1}, later)
    kept = rows.of_reader(store.database, Reader("foundations", "ADA@Example.org"), [ONE, OLD])
    assert kept == {ONE: 1, OLD: -1}
    assert rows.since(store.database, NOW) == {"foundations": Tally(1, 1)}
    assert rows.since(store.database, later) == {"foundations": Tally(0, 1)}
    assert rows.since(store.database, later + timedelta(seconds=1)) == {}


def test_vote_outlives_its_paper(store: Store) -> None:
    rows.cast(store.database, ADA, {ONE: 1}, NOW)
    store.retention.thin(timedelta(0), [], NOW + timedelta(days=900))
    assert rows.on_paper(store.database, ONE) == {"foundations": Tally(up=1)}
