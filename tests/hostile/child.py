"""The process that meets the hostile replies: it calls what it is sent, and counts what it used."""

from __future__ import annotations

import gc
import logging
import resource
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

ADDRESS_SPACE = 4_000_000_000  # bytes: a bomb that goes off ends in a MemoryError and not in the machine's
PATIENCE = 300.0  # seconds for one case; only one that hangs takes so long


class BugError(AssertionError):
    """The client never came back, or ended."""


@dataclass(frozen=True)
class Used:
    """What the process used in all, and has left behind."""

    peak: int  # bytes
    threads: list[str]
    children: list[str]
    files: int  # open descriptors


class Client:
    """A process of its own for the client, while the `with` block lasts."""

    def __enter__(self) -> Self:
        spawn = get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_live, args=[theirs], daemon=True)
        self._process.start()
        theirs.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def call(self, function: Callable[..., Any], *arguments: object) -> Any:
        """What the function gives there. Raises AssertionError for an error there, and BugError."""
        self._pipe.send((function, arguments))
        if not self._pipe.poll(PATIENCE):
            raise BugError(f"no end within {PATIENCE:.0f} s")
        try:
            went_well, came = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise BugError("the process ended") from error
        assert went_well, came
        return came


def _live(pipe: Connection) -> None:
    logging.getLogger("paperboy").addHandler(logging.NullHandler())
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, function(*arguments)))
        except Exception:  # noqa: BLE001  # the test shows it
            pipe.send((False, traceback.format_exc(limit=-12)))


def used() -> Used:
    """What this process has used since it began, by Linux's count: `getrusage` would count our parent's memory, too."""
    gc.collect()
    own = threading.current_thread()
    threads = [each.name for each in threading.enumerate() if each is not own]
    children = Path("/proc/thread-self/children").read_text("ascii").split()
    return Used(peak(), threads, children, len(list(Path("/proc/self/fd").iterdir())))


def peak() -> int:
    """The most memory that was resident at once, in bytes."""
    status = Path("/proc/self/status").read_text("ascii")
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
