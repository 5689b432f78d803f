"""Watcher of a home's files, for all that use them for long: the daemon, a sending, the web room."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from paperboy.edges import lock
from paperboy.home.home import Home
from paperboy.home.versions import Files, Fingerprint

RESTED = timedelta(seconds=10)  # an edit is complete when no file has changed for so long


class Watcher:
    """Watcher that is made before the files are read, so that it misses no edit."""

    def __init__(self, home: Path, timer: Callable[[], float]) -> None:
        self._home = home
        self._files = Files(home)
        self._timer = timer
        self._in_force = self._version_in_force()
        self._fingerprint = self._files.fingerprint()
        self._rests_until = float("inf")

    def newer(self, used: Home) -> Path | None:
        """Return where a newer version can be read: the copy in force if a daemon holds the home,
        else the home itself; None if there is none.
        """
        if not lock.holder(used.settings.paperboy_database, "run"):
            return self._home if self.rested() else None

        before = self._in_force
        self._in_force = self._version_in_force()
        return self._in_force[0] if self._in_force and self._in_force != before else None

    def rested(self, *, at_once: bool = False, again: bool = False) -> bool:
        """Check once for each edit whether it is complete; `at_once`: take it as it is; `again`:
        also take files that have not changed.
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
        """Return the copy in force and its fingerprint: `forget` changes it in place."""
        copy = self._files.in_force()
        return (copy, Files(copy).fingerprint()) if copy else None
