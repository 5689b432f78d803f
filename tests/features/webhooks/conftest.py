"""A home whose database a test has filled."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from paperboy.home.settings import Settings
from paperboy.home.versions import Home
from paperboy.models import MailingList
from paperboy.service.app import App
from paperboy.store import Store
from tests.fakes import NoProgress

WEB = "https://papers.example.org/web"


def app_of(store: Store, clock: Callable[[], datetime], *lists: MailingList, **environ: str) -> App:
    """What Paperboy can do with that database and these lists."""
    folder = store.database.path.parent
    app = App(folder, environ, clock, lambda _: None, lambda: 0.0, NoProgress())
    app.home = Home(folder, Settings(web_url=WEB), lists, folder)
    app.store = store
    return app
