"""Watcher of a home's files, for their long-running users: the daemon, a sending, the site."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from paperboy.edges import lock
from paperboy.home.home import Home
from paperboy.home.versions import Files, Fingerprint

RESTED = timedelta(seconds=10)  # an edit is complete when no file has changed for this long


class Watcher:
    """Watcher of a home's files. Make it before you read them, so that it misses no edit."""

    def __init__(self, home: Path, timer: Callable[[], float]) -> None:
        self._home = home
        self._files = Files(home)
        self._timer = timer
        self._in_force = self._version_in_force()
        self._fingerprint = self._files.fingerprint()
        self._rests_until = float("inf")

    def newer(self, used: Home) -> Path | None:
        """Return the folder of a newer version: the copy in force if a daemon holds the home, else
        the home itself. None: nothing is newer.
        """
        if not lock.holder(used.settings.paperboy_database, "run"):
            return self._home if self.rested() else None

        before = self._in_force
        self._in_force = self._version_in_force()
        return self._in_force[0] if self._in_force and self._in_force != before else None

    def rested(self, *, at_once: bool = False, again: bool = False) -> bool:
        """Return True once for each edit, when it is complete. With `at_once`, return True now; with
        `again`, also for files without an edit.
        """
        fingerprint = self._files.fingerprint()
        elapsed = self._timer()
        if fingerprint != self._fingerprint:
            self._fingerprint = fingerprint
            self._rests_until = elapsed + RESTED.total_seconds()
        is_unchanged = self._rests_until == float("inf")
        if not (at_once or elapsed >= self._rests_until or (again and is_unchanged)):
            return False
        self._rests_until = float("inf")
        return True

    def _version_in_force(self) -> tuple[Path, Fingerprint] | None:
        """Return the copy in force and its fingerprint, since `forget` edits the copy in place."""
        copy = self._files.in_force()
        return (copy, Files(copy).fingerprint()) if copy else None
