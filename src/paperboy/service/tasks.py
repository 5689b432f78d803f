"""Tasks: small jobs beside the mail, which never delay a morning or a sending.

    for each feature, and each of its kinds of task:
        for each task that is due, the longest overdue first, for half a minute:
            begin   ← its own commit: the time of the next try, whatever ends this process
            do      ← the feature's work, which returns why it has to be tried again
            end, or fail

The daemon starts this in a child of its own kind when a task is due; `once` ends with it.
"""

import logging

from paperboy.due import backoff
from paperboy.errors import StoreWriteError
from paperboy.service.app import App
from paperboy.service.feature import Stopped, Work
from paperboy.store.incidents import THE_TASKS, Kind
from paperboy.store.tasks import Task

logger = logging.getLogger(__name__)

SECONDS = 30.0  # for each kind in one round, so that every kind gets its turn


def work(app: App, stopped: Stopped, *, by_hand: bool = False) -> None:
    """Do the tasks that are due; `by_hand` has no time limit.

    A task that raises an error does not stop the others: the first error is raised at the end.
    """

    def turn() -> Stopped:
        until = app.timer() + SECONDS
        return lambda: stopped() or (not by_hand and app.timer() >= until)

    first_error: Exception | None = None
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
                    first_error = first_error or error

    if first_error:
        raise first_error

    app.store.incidents.end(Kind.TASKS, THE_TASKS, app.clock())


def attempt(app: App, task: Task, do: Work, stopped: Stopped) -> None:
    """Try one task, and record the next try or its end."""
    app.store.tasks.begin(task, app.clock() + backoff(task.tries))
    if reply := do(app, task, stopped):
        app.store.tasks.fail(task, reply)
    else:
        app.store.tasks.end(task)
