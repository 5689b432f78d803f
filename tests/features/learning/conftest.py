"""A database of its own for every test, with the tables of features."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from paperboy.features.learning.lessons import Lessons
from paperboy.store import Store
from tests.builders import TABLES

VOTES = "select list, paper_id, vote, at from votes"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "paperboy.db", tables=TABLES) as opened:
        yield opened


@pytest.fixture
def lessons(store: Store) -> Lessons:
    return Lessons(store.database, VOTES)
