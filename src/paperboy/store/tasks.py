"""Tasks: work that is owed beside mail, stored in the transaction that it follows from."""

from datetime import datetime
from typing import NamedTuple

from paperboy.store.database import Noun


class Task(NamedTuple):
    """Work that is owed."""

    kind: str
    subject: str  # a digest's id, a token, a list, depending on its kind
    due: datetime  # not before
    tries: int  # that were begun
    reply: str  # why the last one failed; empty if none has


class Tasks(Noun):
    """Tasks by kind and subject. One process does them at a time; after a crash a task is due
    again later.
    """

    def add(self, kind: str, subject: str, due: datetime) -> None:
        """Add a task, or make it due by then as if never tried. Joins the caller's transaction."""
        self._commit(
            """insert into tasks (kind, subject, due) values (:kind, :subject, :due)
            on conflict do update set due = min(due, excluded.due), tries = 0, reply = ''""",
            {"kind": kind, "subject": subject, "due": due},
        )

    def due(self, kind: str, now: datetime) -> list[Task]:
        """Return the tasks of a kind that may be tried now, the oldest first."""
        query = "select * from tasks where kind = ? and due <= ? order by due, subject"
        return self._rows(query, [kind, now], Task)

    def next_try(self, kind: str) -> datetime | None:
        """Return when the first task of a kind is due; None if there is none."""
        return self._value("select min(due) as due from tasks where kind = ?", [kind])

    def begin(self, task: Task, again: datetime) -> None:
        """Record a try before it begins, and when the task is due again unless it succeeds."""
        values = [again, task.kind, task.subject]
        self._commit(
            "update tasks set tries = tries + 1, due = ? where kind = ? and subject = ?", values
        )

    def fail(self, task: Task, reply: str) -> None:
        """Record why a try failed."""
        values = [reply, task.kind, task.subject]
        self._commit("update tasks set reply = ? where kind = ? and subject = ?", values)

    def end(self, task: Task) -> None:
        """Delete a task that succeeded, unless it was added again meanwhile."""
        values = [task.kind, task.subject, task.tries + 1]
        self._commit("delete from tasks where kind = ? and subject = ? and tries = ?", values)
