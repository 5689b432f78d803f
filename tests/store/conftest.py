"""A database of its own for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from paperboy.store import Store
from tests.builders import TABLES


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "paperboy.db", tables=TABLES) as opened:
        yield opened
