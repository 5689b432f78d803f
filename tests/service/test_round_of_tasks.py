"""One round of tasks: what fails, and that nothing keeps the others from their turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paperboy.errors import StoreError, StoreWriteError
from paperboy.service import tasks
from paperboy.service.app import App
from paperboy.service.feature import Feature, Stopped, Work
from paperboy.store.incidents import THE_TASKS, Incident, Kind
from paperboy.store.tasks import Task
from tests.cli.conftest import world
from tests.service.test_daemon import MINUTE, Office, home, office

__all__ = ["home", "office", "world"]  # fixtures

Do = Callable[[Task], str]


def owed(office: Office, **kinds: Do) -> list[str]:
    """Add two tasks of each of these kinds, which are those of the only feature; gives what is begun from now on."""
    begun = list[str]()

    def noting(do: Do) -> Work:
        def one(_app: App, task: Task, _stopped: Stopped) -> str:
            begun.append(f"{task.kind} {task.subject}")
            return do(task)

        return one

    office.app.features = [
        Feature(name="only", tasks={kind: noting(do) for kind, do in kinds.items()})
    ]
    for kind in kinds:
        for subject in "ab":
            office.store.tasks.add(kind, subject, office.world.clock())
    return begun


def left(office: Office) -> dict[str, str]:
    """Return the replies of the tasks that are still to be done."""
    rows = office.store.database.rows("select * from tasks", make=Task)
    return {f"{task.kind} {task.subject}": task.reply for task in rows}


def well(_: Task) -> str:
    return ""


def broken(task: Task) -> str:
    raise StoreError(f"the row of {task.subject} is spoilt")


def test_task_that_fails_stays_with_its_reply(office: Office) -> None:
    owed(office, one=lambda task: "not yet" if task.subject == "a" else "")
    tasks.work(office.app, lambda: False)
    assert left(office) == {"one a": "not yet"}
    assert office.store.tasks.next_try("one") == office.world.clock() + 5 * MINUTE


def test_task_that_meets_an_error_keeps_no_other_from_its_turn(office: Office) -> None:
    """The first error is raised at the end, so that it is reported; the tasks are tried again later."""
    begun = owed(office, one=broken, two=well)
    office.store.incidents.note(
        [Incident(kind=Kind.TASKS, subject=THE_TASKS)], office.world.clock()
    )
    with pytest.raises(StoreError, match="the row of a is spoilt"):
        tasks.work(office.app, lambda: False)
    assert begun == ["one a", "one b", "two a", "two b"]
    assert left(office) == {"one a": "", "one b": ""}
    assert [incident.ended for incident in office.store.incidents.all()] == [None]
    assert office.store.tasks.next_try("one") == office.world.clock() + 5 * MINUTE


def test_disk_that_fails_ends_the_round(office: Office) -> None:
    """No other task could be recorded either."""

    def full(_: Task) -> str:
        raise StoreWriteError("the disk is full")

    begun = owed(office, one=full, two=well)
    with pytest.raises(StoreWriteError):
        tasks.work(office.app, lambda: False)
    assert begun == ["one a"]


def test_round_that_is_stopped_begins_no_other_task(office: Office) -> None:
    owed(office, one=well)
    stops = iter([False])
    tasks.work(office.app, lambda: next(stops, True))
    assert left(office) == {"one b": ""}


def test_task_of_a_feature_that_is_left_out_waits_and_starts_nothing(office: Office) -> None:
    owed(office, one=well)
    office.app.features = []
    assert "tasks" not in office.app.due(office.world.clock())
    tasks.work(office.app, lambda: False)
    assert left(office) == {"one a": "", "one b": ""}
