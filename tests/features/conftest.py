"""A database with the tables of all features, and a home with its web room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from paperboy.store import Store
from tests.builders import TABLES
from tests.cli.conftest import world
from tests.web.conftest import web

__all__ = ["web", "world"]  # fixtures, for these tests, too


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "paperboy.db", tables=TABLES) as opened:
        yield opened
