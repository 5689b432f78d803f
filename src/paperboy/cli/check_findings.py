"""What a line of `paperboy check` says, and looks that may take long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

from paperboy.errors import ConfigError, PaperboyError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the check. `exit_code` 0: all is well, though a `note` is something to know."""

    what: str
    message: str
    exit_code: int = 0
    note: bool = False


def tried(what: str, look: Callable[[], str]) -> list[Finding]:
    """What `look` says, or each fault that it meets."""
    try:
        return [Finding(what, look())]
    except ConfigError as error:
        return [Finding(what, str(problem), error.exit_code) for problem in error.problems]
    except PaperboyError as error:
        return [Finding(what, str(error), error.exit_code)]


def later(look: Callable[[], T]) -> Future[T]:
    """Begins to look, on a thread of its own. No executor's: those are waited for at the program's end, however long a
    server is silent.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(look())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)

    threading.Thread(target=run, name="check", daemon=True).start()
    return future
