"""What lists learn, in the database of the test."""

from __future__ import annotations

import pytest

from paperboy.features.learning.lessons import Lessons
from paperboy.store import Store

VOTES = "select list, paper_id, vote, at from votes"


@pytest.fixture
def lessons(store: Store) -> Lessons:
    return Lessons(store.database, VOTES)
