"""Locks of a home: four files beside the database, which the kernel releases when a process ends.

The daemon holds `run`; the process that fetches and scores holds `morning`, the one that sends mail
`sending`, and the one for all smaller work `tasks`.
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
_ATTEMPTS = 20  # 10 ms apart, since `holder` takes a lock for an instant


@dataclass(frozen=True, slots=True)
class Holder:
    """Process that holds a lock."""

    process: int  # 0: unknown
    command: str  # "run", "once", …


@contextmanager
def held(
    database: Path, name: Name, command: str, say: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold a lock while `command` runs. If another process has it, `say` so and wait.

    Raises HomeBusyError without `say`, and StoreError if the file cannot be created.
    """
    path = Path(f"{database}{FILES[name]}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), "r+b", buffering=0)
    except OSError as error:
        fix = files.denied(path) or files.denied(path.parent) or "let this user write there"
        raise StoreError(f"{path}: the lock cannot be created ({error.strerror}); {fix}") from error

    with file:
        for _ in range(_ATTEMPTS):
            if _acquired(file.fileno(), fcntl.LOCK_EX):
                break
            time.sleep(0.01)
        else:
            other = holder(database, name) or Holder(0, name)
            process = other.process or "unknown"
            who = f"another Paperboy (process {process}, paperboy {other.command})"
            if say is None:
                raise HomeBusyError(f"{who} holds this home: stop it first. Lock: {path}")
            say(f"{who} is active; waiting for its {name} to end")
            fcntl.flock(file, fcntl.LOCK_EX)

        with suppress(OSError):  # people alone read it, and a full disk cannot hold it
            file.truncate(0)
            file.write(f"{os.getpid()} {command}\n".encode())
        yield


def holder(database: Path, *names: Name) -> Holder | None:
    """Return the first holder of these locks, by default of any."""
    for name in names or FILES:
        path = Path(f"{database}{FILES[name]}")
        if not path.is_file():
            continue
        with suppress(OSError), path.open(encoding="utf-8") as file:
            if not _acquired(file.fileno(), fcntl.LOCK_SH):
                process, _, command = file.read(60).strip().partition(" ")
                return Holder(int(process) if process.isdecimal() else 0, command or name)

    return None


def _acquired(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
