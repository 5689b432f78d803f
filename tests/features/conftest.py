"""A database with the tables of all features, and a home with its site."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from paperboy.home.home import Home
from paperboy.home.settings import Settings
from paperboy.models import MailingList
from paperboy.service.app import App
from paperboy.store import Store
from tests.builders import TABLES
from tests.cli.conftest import biorxiv, world
from tests.fakes import NoProgress
from tests.web.conftest import web

__all__ = ["biorxiv", "web", "world"]  # fixtures, for these tests, too

WEB = "https://papers.example.org/web"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "paperboy.db", tables=TABLES) as opened:
        yield opened


def app_of(store: Store, clock: Callable[[], datetime], *lists: MailingList, **environ: str) -> App:
    """What Paperboy can do with that database and these lists."""
    database = store.database.path
    folder = database.parent
    app = App(folder, environ, clock, lambda _: None, lambda: 0.0, NoProgress())
    app.home = Home(folder, Settings(web_url=WEB, paperboy_database=database), lists, folder)
    app.store = store
    return app
