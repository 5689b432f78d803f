"""Trial of an edit: a copy of the home's files comes into force if nothing in it is broken. A first
version comes into force with faults that stop no mail, too, since there is no better one.
"""

import shutil
from pathlib import Path

from paperboy.edges import lock
from paperboy.errors import ConfigError, Problem, noted
from paperboy.home.home import Home, as_known
from paperboy.home.settings import Settings
from paperboy.home.versions import Files
from paperboy.service import soundness
from paperboy.service.app import App
from paperboy.service.soundness import Fault, Stops


def adopt(app: App) -> None:
    """Bring the home's files into force if a copy of them is sound; once more if they change
    meanwhile, since `forget` may have taken somebody out.

    Raises ConfigError with every problem, also with those of a first version that is in force now.
    """
    files = Files(app.path)
    before = files.fingerprint()
    try:
        copy = files.copy()
    except ConfigError as error:
        problems = [*error.problems, *(fault.problem for fault in _faults(app, app.path))]
        raise ConfigError(as_known(problems, app.path)) from error

    faults = _faults(app, copy)
    least = Stops.EDITS if files.in_force() else Stops.SENDING
    has_changed = files.fingerprint() != before
    if has_changed or any(fault.stops >= least for fault in faults):
        shutil.rmtree(copy, ignore_errors=True)
    else:
        files.put_in_force(copy)

    if has_changed:
        adopt(app)
    elif faults:
        raise ConfigError(as_known([fault.problem for fault in faults], copy, app.path))


def _faults(app: App, source: Path) -> list[Fault]:
    problems = list[Problem]()
    with app.at(Home(app.path, Settings(), (), source)) as tried:
        with noted(problems):
            tried.home = Home.load(app.path, app.environ, source)
            if lock.holder(tried.settings.paperboy_database, "run") is None:
                message = "PAPERBOY_DATABASE has changed; restart the daemon to use it"
                raise ConfigError.at(".env", message)
        unread = [Fault("home", problem, Stops.MORNINGS) for problem in problems]
        return unread + soundness.faults(tried)
