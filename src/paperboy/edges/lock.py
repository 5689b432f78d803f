"""Locks of a home: four files beside the database. The kernel releases them however their process
ends.

`run` belongs to the daemon, `morning` to the process that fetches and scores, `sending` to the one
that sends mail, `tasks` to the one that does the small work beside them.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from paperboy.edges import files
from paperboy.errors import HomeBusyError, StoreError

Name = Literal["run", "morning", "sending", "tasks"]

FILES: dict[Name, str] = {
    "run": ".lock",
    "morning": ".morning.lock",
    "sending": ".sending.lock",
    "tasks": ".tasks.lock",
}
_PAUSES = (
    0.0,
    *[0.01] * 20,
)  # seconds before each attempt, since `holder` takes a lock for an instant


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a lock."""

    process: int  # 0: unknown
    command: str  # "run", "once", …


@contextmanager
def held(
    database: Path, name: Name, command: str, say: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold a lock while `command` runs; where another process has it, `say` so and wait.

    Raises HomeBusyError without `say`, and StoreError where the file cannot be made.
    """
    path = Path(f"{database}{FILES[name]}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), "r+b", buffering=0)
    except OSError as error:
        fix = files.denied(path) or files.denied(path.parent) or "let this user write there"
        raise StoreError(f"{path}: the lock cannot be created ({error.strerror}); {fix}") from error
    with file:
        if not any(_taken(file.fileno(), fcntl.LOCK_EX, pause) for pause in _PAUSES):
            other = holder(database, name) or Holder(0, name)
            who = (
                f"another Paperboy (process {other.process or 'unknown'}, paperboy {other.command})"
            )
            if say is None:
                raise HomeBusyError(f"{who} holds this home: stop that one first. Lock: {path}")
            say(
                f"{who} is active; waiting until its {name} {'are' if name == 'tasks' else 'is'} done"
            )
            fcntl.flock(file, fcntl.LOCK_EX)
        with suppress(OSError):  # the number is only for people, and a full disk cannot hold it
            file.truncate(0)
            file.write(f"{os.getpid()} {command}\n".encode())
        yield


def holder(database: Path, *names: Name) -> Holder | None:
    """Return the first holder of these locks, by default of any."""
    for name in names or FILES:
        path = Path(f"{database}{FILES[name]}")
        with (
            suppress(OSError),
            (path if path.is_file() else Path(os.devnull)).open(encoding="utf-8") as file,
        ):
            if not _taken(file.fileno(), fcntl.LOCK_SH):
                process, _, command = file.read(60).strip().partition(" ")
                return Holder(int(process) if process.isdecimal() else 0, command or name)
    return None


def _taken(descriptor: int, how: int, pause: float = 0.0) -> bool:
    time.sleep(pause)
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        return True
    return False
