"""Worker processes for work that needs neither the database nor a server; any executor will do.

A task is a value, and so is its result, so a task may be done twice. If an executor fails, its
tasks are left to the caller, who does them here: slower, and never lost.
"""

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import metadata
from typing import TypeVar

from paperboy.errors import PaperboyError

logger = logging.getLogger(__name__)

WORTH_SHARING = 16  # more lists than these take half a second to compose
_AHEAD = 128  # tasks under way, so that no worker waits for the caller; they take memory
_WORTH_IT = 250  # lists for each process: then it saves more time than its start takes
_MOST = 4  # processes that the first one keeps busy
SECONDS = 120.0  # that a task may take; an executor that takes longer is not used any more

_T = TypeVar("_T")
_R = TypeVar("_R")


class WorkersError(PaperboyError):
    """Workers that cannot be used."""


@dataclass(slots=True)
class WorkerPool:
    """Executor, created by `hire` when the first task comes."""

    hire: Callable[[], AbstractContextManager[Executor]]
    name: str  # for people
    seconds: float = SECONDS
    problem: str = ""  # why it is not used any more

    def map(self, work: Callable[[_T], _R], tasks: Iterable[_T]) -> Generator[tuple[_T, _R | None]]:
        """Yield each task with its result, in their order; None: the caller has to do it. `tasks`
        is read some tasks ahead of the results.
        """
        with ExitStack() as stack:
            executor: Executor | None = None
            under_way: deque[tuple[_T, Future[_R] | None]] = deque()
            for task in tasks:
                executor = executor or self._tried(lambda: stack.enter_context(self.hire()))
                future = None
                if executor:
                    future = self._tried(partial(executor.submit, done, work, task, versions()))
                under_way.append((task, future))

                while under_way:
                    first, future = under_way[0]
                    is_waited_for = future is not None and not self.problem and not future.done()
                    if is_waited_for and len(under_way) <= _AHEAD:
                        break
                    under_way.popleft()
                    yield first, self._result(future)

            for first, future in under_way:
                yield first, self._result(future)

    def _result(self, future: Future[_R] | None) -> _R | None:
        return self._tried(lambda: future.result(self.seconds)) if future else None

    def _tried(self, call: Callable[[], _R]) -> _R | None:
        """Return what a call to the executor returns; None: it failed and is not used any more."""
        if self.problem:
            return None
        try:
            return call()
        except Exception as error:  # of any executor
            why = f"{type(error).__name__}: {first_line(error)}"
            if isinstance(error, PaperboyError):
                why = str(error)
            elif isinstance(error, TimeoutError):
                why = f"no answer within {self.seconds:g} seconds"

            self.problem = f"{self.name} cannot be used: {why}"
            logger.warning(
                "%s; one process does the work instead, which takes longer", self.problem
            )
            logger.debug("the workers' failure", exc_info=error)
            return None


@lru_cache
def versions() -> Mapping[str, str]:
    """Return the installed versions that have to be the same on a worker as here."""
    installed = {"python": ".".join(map(str, sys.version_info[:2]))}
    for name in ("paperboy", "distributed", "msgpack", "jinja2", "mjml-python"):
        with suppress(metadata.PackageNotFoundError):
            installed[name] = metadata.version(name)
    return installed


def done(work: Callable[[_T], _R], task: _T, expected: Mapping[str, str]) -> _R:
    """Return the task's result, if this worker is like its caller. Raises WorkersError."""
    installed = versions()
    differences = [
        f"{name} {installed.get(name, '')}, but this machine has {version}"
        for name, version in expected.items()
        if installed.get(name) != version
    ]
    if differences:
        raise WorkersError(f"a worker has {'; '.join(differences)}")
    return work(task)


def helpful(lists: int) -> int:
    """Return how many local worker processes pay off for this number of lists."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # macOS has none
        cores = len(os.sched_getaffinity(0))
    return min(_MOST, cores, lists // _WORTH_IT)


@contextmanager
def processes(number: int) -> Iterator[Executor]:
    """Start worker processes that die with their parent."""
    context = multiprocessing.get_context("spawn")  # a fork would take the threads' locks with it
    executor = ProcessPoolExecutor(number, context, _begin)
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.kill()  # one that hangs would keep this program from ending


def _begin() -> None:
    """Leave Ctrl-C to the parent, and end when it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
