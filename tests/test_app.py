"""The façade: what it builds, and when."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from paperboy import lock
from paperboy.app import App
from paperboy.errors import ConfigError
from tests.cli.conftest import FRIDAY, World, world
from tests.fakes import Clock, NoProgress

__all__ = ["world"]


def app_of(world: World) -> App:
    return App(world.path, world.environ, world.clock, world.waits.append, lambda: 0.0, NoProgress())


def test_home_is_read_when_it_is_first_asked_for(tmp_path: Path) -> None:
    app = App(tmp_path / "none", {}, Clock(FRIDAY), lambda _: None, lambda: 0.0, NoProgress())
    with pytest.raises(ConfigError, match="there is no such folder"):
        _ = app.home


def test_preview_that_has_to_score_waits_for_the_morning_under_way_and_says_so(world: World) -> None:
    world.announce(1)
    said: list[str] = []
    with app_of(world) as app, ExitStack() as other:
        other.enter_context(lock.held(app.settings.paperboy_database, "morning", "once"))

        def say(text: str) -> None:
            said.append(text)
            other.close()

        app.say = say
        assert app.previews("preview").of(app.home.list("foundations")).composed is not None
        assert len(said) == 1
        assert said[0].endswith("is active; waiting until its morning is done")


def test_preview_of_scored_papers_waits_for_nobody(world: World) -> None:
    world.announce(1)
    with app_of(world) as app:
        app.previews("preview").of(app.home.list("foundations"))
    with app_of(world) as app, lock.held(app.settings.paperboy_database, "morning", "once"):
        assert app.previews("preview").of(app.home.list("foundations")).composed is not None
