"""Trial of an edit: a copy of the home's files comes into force if nothing in it is broken."""

import logging
import shutil
from pathlib import Path

from paperboy.edges import lock
from paperboy.errors import ConfigError, Problem, noted
from paperboy.home.home import Home, as_known
from paperboy.home.settings import Settings
from paperboy.home.versions import Files
from paperboy.service import soundness
from paperboy.service.app import App
from paperboy.service.soundness import Stops

logger = logging.getLogger(__name__)


def adopt(app: App) -> None:
    """Bring the home's files into force if a copy of them is sound; once more if they change
    meanwhile, since `forget` may have taken somebody out.

    Raises ConfigError with every problem.
    """
    files = Files(app.path)
    before = files.fingerprint()
    try:
        copy = files.copy()
    except ConfigError as error:
        problems = [*error.problems, *_problems(app, app.path)]
        raise ConfigError(as_known(problems, app.path)) from error

    problems = _problems(app, copy)
    if not problems and files.fingerprint() == before:
        files.put_in_force(copy)
        return

    shutil.rmtree(copy, ignore_errors=True)
    if files.fingerprint() != before:
        adopt(app)
    elif problems:
        raise ConfigError(as_known(problems, copy, app.path))


def _problems(app: App, source: Path) -> list[Problem]:
    """Return every problem in the files there that keeps them from coming into force. The first
    version may have faults that stop no mail, since nothing better is in force; they are logged.
    """
    problems = list[Problem]()
    with app.at(Home(app.path, Settings(), (), source)) as tried:
        with noted(problems):
            tried.home = Home.load(app.path, app.environ, source)
            if lock.holder(tried.settings.paperboy_database, "run") is None:
                message = "PAPERBOY_DATABASE has changed; restart the daemon to use it"
                raise ConfigError.at(".env", message)
        is_first = Files(app.path).in_force() is None
        for fault in soundness.faults(tried):
            if is_first and fault.stops < Stops.SENDING:
                logger.error("%s", fault.problem)
            else:
                problems.append(fault.problem)
    return problems
