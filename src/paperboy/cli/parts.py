"""The home at work, alone where both halves of a morning are run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext

import click

from paperboy import drafting, fetching
from paperboy.app import App
from paperboy.cli.main import Surroundings
from paperboy.config.home import Home


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
    with App.of(home, around.environ, around.clock, around.wait, around.timer, feed) as app, ExitStack() as stack:
        app.progress, app.say = progress, _say
        app.scoring_alone = nullcontext if alone else lambda: app.alone("morning", "preview")
        app.prepare()
        if alone:
            stack.enter_context(app.alone("sending"))
        yield app


def _say(text: str) -> None:
    click.echo(text, err=True)
