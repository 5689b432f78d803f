"""The daemon's child that tries a new version of the home's files, as a morning would use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from paperboy.cli import parts
from paperboy.cli.files import Files
from paperboy.cli.home import FILES, Home
from paperboy.cli.main import Surroundings
from paperboy.errors import ConfigError, PaperboyError
from paperboy.models import Problem


@click.command(name="adopt", hidden=True, short_help="Tries the home's files; the daemon asks.")
@click.argument("database", type=click.Path(path_type=Path))
@click.pass_obj
def command(around: Surroundings, database: Path) -> int:
    """Copies the files and tries the copy, for a daemon on DATABASE. What is wrong is left there for the daemon."""
    files = Files(around.home)
    files.prepare()
    files.blame([Problem("the home", "its files were not tried to the end")])  # also where this process is killed
    try:
        files.copy()
        problems = [_at_home(problem, files, around.home) for problem in _problems(around, files, database)]
        if not problems:
            files.found_sound()
    except OSError as error:
        place = _at_home(Problem(str(error.filename or files.folder), ""), files, around.home).place
        problems = [Problem(place, f"cannot be copied: {error.strerror}")]
    files.blame(problems)
    return 78 if problems else 0


def _at_home(problem: Problem, files: Files, home: Path) -> Problem:
    """As the operator knows the file, not as the copy."""
    place, message = (
        text.replace(f"{files.new}/", "").replace(f"{home}/", "") for text in (problem.place, problem.message)
    )
    return Problem(place, message)


def _problems(around: Surroundings, files: Files, database: Path) -> Iterator[Problem]:
    try:
        home = Home.load(around.home, {**around.environ, FILES: str(files.new)})
    except ConfigError as error:
        yield from error.problems
        return
    if home.settings.paperboy_database != database:
        yield Problem(".env", "PAPERBOY_DATABASE has changed; the daemon has to be restarted for that")
    yield from _tried("emails", lambda: parts.renderer(home).check())
    yield from _tried("prompts", lambda: parts.prompt(home))
    if home.settings.has_llm:
        yield from _tried("settings", lambda: parts.llm(home, around.wait).close())


def _tried(place: str, look: Callable[[], object]) -> Iterator[Problem]:
    try:
        look()
    except ConfigError as error:
        yield from error.problems
    except PaperboyError as error:
        yield Problem(place, str(error))
