"""The home at work, alone where both halves of a morning are run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

import click

from paperboy import drafting, fetching, lock
from paperboy.app import App
from paperboy.cli.files import Files
from paperboy.cli.main import Surroundings
from paperboy.config.home import Home
from paperboy.errors import ConfigError
from paperboy.models import Problem


@contextmanager
def working(
    home: Home,
    around: Surroundings,
    progress: drafting.Progress,
    feed: fetching.Feed | None = None,
    *,
    alone: bool = True,
) -> Iterator[App]:
    """The home at work; `feed` stands in for arXiv. `alone`: no other Paperboy may hold it.

    Raises ConfigError where prompts, templates or prices are unusable, before anything is touched.
    """
    database = home.settings.paperboy_database
    with App.of(home, around.environ, around.clock, around.wait, around.timer, feed) as app, ExitStack() as stack:
        app.progress = progress
        app.scoring_alone = nullcontext if alone else lambda: _one_by_one(database)
        app.prepare()
        if alone:
            _refuse_two_databases(home, around)
            stack.enter_context(_both_halves(database))
        yield app


@contextmanager
def _both_halves(database: Path) -> Iterator[None]:
    with lock.held(database, "morning", "once", _say), lock.held(database, "sending", "once", _say):
        yield


def _one_by_one(database: Path) -> AbstractContextManager[None]:
    return lock.held(database, "morning", "preview", _say)


def _say(text: str) -> None:
    click.echo(text, err=True)


def _refuse_two_databases(home: Home, around: Surroundings) -> None:
    """The daemon of this home may still work with the database that `.env` had before: it would send all twice."""
    files = Files(around.home)
    if home.source == files.good or not files.good.is_dir():
        return
    in_force = files.last_good(around.environ).settings.paperboy_database
    if in_force != home.settings.paperboy_database and (holder := lock.holder(in_force)):
        who = f"paperboy {holder.command} (process {holder.process or 'unknown'})"
        message = f"PAPERBOY_DATABASE has changed, and {who} still works with {in_force}; restart that one first"
        raise ConfigError([Problem(".env", message)])
