"""Tasks: small work beside the mail. It never holds up a morning or a sending, which run at the
same time.

    for each feature, and each of its kinds of task:
        for each task that is due, the longest overdue first, for half a minute:
            begin   ← its own commit: when it is tried again, whatever ends this process
            do      ← the feature's work, which returns why it has to be tried again
            end, or fail

The daemon starts that when a task is due, in a child of its own kind; `once` ends with it.
"""

import logging

from paperboy.due import backoff
from paperboy.errors import StoreWriteError
from paperboy.service.app import App
from paperboy.service.feature import Stopped, Work
from paperboy.store.incidents import THE_TASKS, Kind
from paperboy.store.tasks import Task

logger = logging.getLogger(__name__)

SECONDS = 30.0  # for each kind in one round; what is left waits for the next, so that the other kinds have their turn


def work(app: App, stopped: Stopped, *, by_hand: bool = False) -> None:
    """Do the tasks that are due. What failed is logged. A task that hits an error does not keep the
    others from their turn: the first such error is raised at the end. `by_hand` takes its time.
    """

    def turn() -> Stopped:
        until = app.timer() + SECONDS
        return lambda: stopped() or (not by_hand and app.timer() >= until)

    broken: Exception | None = None
    for feature in app.features:
        for kind, do in feature.tasks.items():
            is_over = turn()
            for task in app.store.tasks.due(kind, app.clock()):
                if is_over():
                    break
                try:
                    attempt(app, task, do, is_over)
                except StoreWriteError:
                    raise
                except Exception as error:  # noqa: BLE001  # raised below
                    broken = broken or error
    if broken:
        raise broken
    app.store.incidents.end(Kind.TASKS, THE_TASKS, app.clock())


def attempt(app: App, task: Task, do: Work, stopped: Stopped) -> None:
    """Try one task."""
    app.store.tasks.begin(task, app.clock() + backoff(task.tries))
    if reply := do(app, task, stopped):
        app.store.tasks.fail(task, reply)
    else:
        app.store.tasks.end(task)
