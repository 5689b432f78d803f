"""Votes: one for each list, paper and person, counted without names."""

from __future__ import annotations

from datetime import timedelta

import pytest

from paperboy.features.votes.rows import Tally, Votes
from paperboy.store import Store
from paperboy.store.readers import Reader
from tests.store.ledger import NOW

ADA = Reader("foundations", "ada@example.org")
ONE = "2611.00001"
OLD = "astro-ph/0601001"


@pytest.fixture
def votes(store: Store) -> Votes:
    return Votes(store.database)


def test_equal_vote_keeps_its_date(votes: Votes) -> None:
    later = NOW + timedelta(days=1)
    votes.cast(ADA, {ONE: 1, OLD: 1}, NOW)
    votes.cast(ADA, {ONE: 1, OLD: -1}, later)
    assert votes.of(Reader("foundations", "ADA@Example.org"), [ONE, OLD]) == {ONE: 1, OLD: -1}
    assert votes.since(NOW) == {"foundations": Tally(1, 1)}
    assert votes.since(later) == {"foundations": Tally(0, 1)}
    assert votes.since(later + timedelta(seconds=1)) == {}


def test_vote_outlives_its_paper(store: Store, votes: Votes) -> None:
    votes.cast(ADA, {ONE: 1}, NOW)
    store.retention.thin(timedelta(0), [], NOW + timedelta(days=900))
    assert votes.on(ONE) == {"foundations": Tally(up=1)}
