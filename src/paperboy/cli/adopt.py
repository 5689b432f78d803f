"""The daemon's child that tries a new version of the home's files, as a morning would use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from paperboy.app import App
from paperboy.cli.files import Files
from paperboy.cli.main import Surroundings
from paperboy.config.home import FILES, Home
from paperboy.errors import ConfigError, PaperboyError, StoreWriteError
from paperboy.models import Problem


@click.command(name="adopt", hidden=True, short_help="Tries the home's files; the daemon asks.")
@click.argument("database", type=click.Path(path_type=Path))
@click.pass_obj
def command(around: Surroundings, database: Path) -> int:
    """Copies the files and tries the copy, for a daemon on DATABASE. What is wrong is left there for the daemon."""
    files = Files(around.home)
    try:
        files.prepare()
        files.blame([Problem("the home", "its files were not tried to the end")])  # also where this process is killed
        problems = _tried_copy(around, files, database)
        if not problems:
            files.found_sound()
        files.blame(problems)
    except OSError as error:
        reason = f"cannot be written ({error.strerror}); let Paperboy's user write there, and see that there is room"
        raise StoreWriteError(f"{files.folder}: {reason}") from error
    return 78 if problems else 0


def _tried_copy(around: Surroundings, files: Files, database: Path) -> list[Problem]:
    """What is wrong with the files, as the operator knows them. Raises OSError where it is the copy's folder."""
    try:
        files.copy_whole(around.wait)
    except OSError as error:
        place = str(error.filename or files.folder)
        if Path(place).is_relative_to(files.folder):
            raise
        return [files.at_home(Problem(place, f"cannot be copied: {error.strerror}"))]
    return [files.at_home(problem) for problem in _problems(around, files, database)]


def _problems(around: Surroundings, files: Files, database: Path) -> Iterator[Problem]:
    try:
        home = Home.load(around.home, {**around.environ, FILES: str(files.new)})
    except ConfigError as error:
        yield from error.problems
        return
    if home.settings.paperboy_database != database:
        yield Problem(".env", "PAPERBOY_DATABASE has changed; the daemon has to be restarted for that")
    app = App.of(home, around.environ, around.clock, around.wait, around.timer)
    yield from _tried("emails", app.templates.check)
    yield from _tried("prompts", lambda: app.prompt)
    if home.settings.has_llm:
        yield from _tried("settings", lambda: app.llm().close())


def _tried(place: str, look: Callable[[], object]) -> Iterator[Problem]:
    try:
        look()
    except ConfigError as error:
        yield from error.problems
    except (PaperboyError, OSError) as error:
        yield Problem(place, str(error))
