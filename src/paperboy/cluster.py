"""Where work that needs neither the database nor a server is done: here, in other processes, or on a Dask cluster.

A task is a value, and so is its result, so a task may be done twice. Whatever goes wrong with an executor, its tasks
are left to the caller, who does them here: slower, and never lost.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import Any, TypeVar

from paperboy.errors import PaperboyError

logger = logging.getLogger(__name__)

BATCH = 16  # lists in a task: half a second of work
_AHEAD = 4  # tasks under way for each thread, so that none waits for the caller, and no more than memory bears
_WORTH_IT = 250  # lists, for which starting a process takes less time than it saves
_MOST = 4  # processes that the first one keeps busy
SECONDS = 120.0  # that a task may take; an executor that takes longer is not used any more
_CONNECT_SECONDS = 10
_WORKER_SECONDS = 60  # until an adaptive cluster has its first worker

_T = TypeVar("_T")
_R = TypeVar("_R")


class ClusterError(PaperboyError):
    """The cluster cannot be used."""


@dataclass(slots=True)
class Crew:
    """Those who do the tasks. `hire` gives the executor when the first task comes, and how many threads it has."""

    hire: Callable[[], AbstractContextManager[tuple[Executor, int]]]
    name: str  # for people
    seconds: float = SECONDS
    problem: str = ""  # why it is not used any more

    def map(self, work: Callable[[_T], _R], tasks: Iterable[_T]) -> Generator[tuple[_T, _R | None]]:
        """Each task with its result, in their order; None: the caller has to do it. `tasks` is read some tasks ahead of
        the results.
        """
        with ExitStack() as stack:
            executor, threads = self._hired(stack)
            under_way: deque[tuple[_T, Future[_R] | None]] = deque()
            for task in tasks:
                under_way.append((task, self._submitted(executor, work, task)))
                if len(under_way) > _AHEAD * threads:
                    first, future = under_way.popleft()
                    yield first, self._result(future)
            for first, future in under_way:
                yield first, self._result(future)

    def _hired(self, stack: ExitStack) -> tuple[Executor | None, int]:
        try:
            return stack.enter_context(self.hire())
        except Exception as error:  # noqa: BLE001  # of any executor
            self._dismiss(error)
            return None, 0

    def _submitted(self, executor: Executor | None, work: Callable[[_T], _R], task: _T) -> Future[_R] | None:
        if executor is None or self.problem:
            return None
        try:
            return executor.submit(work, task)
        except Exception as error:  # noqa: BLE001  # as above
            self._dismiss(error)
            return None

    def _result(self, future: Future[_R] | None) -> _R | None:
        if future is None or (self.problem and not future.done()):
            return None
        try:
            return future.result(self.seconds)
        except Exception as error:  # noqa: BLE001  # as above
            self._dismiss(error)
            return None

    def _dismiss(self, error: Exception) -> None:
        if not self.problem:
            why = f"no answer within {self.seconds:g} seconds" if isinstance(error, TimeoutError) else str(error)
            why = "the connection is gone" if isinstance(error, CancelledError) else why or type(error).__name__
            self.problem = f"{self.name} cannot be used: {why}"
            logger.warning("%s; the work is done here, which takes longer", self.problem)


# Processes


def helpful(lists: int) -> int:
    """How many processes of this machine so many lists are worth."""
    return min(_MOST, len(os.sched_getaffinity(0)), lists // _WORTH_IT)


@contextmanager
def processes(number: int) -> Iterator[tuple[Executor, int]]:
    """So many processes of this machine, which end with this one, whatever ends it."""
    context = multiprocessing.get_context("spawn")  # a fork would take the threads' locks with it
    executor = ProcessPoolExecutor(number, context, _begin)
    try:
        yield executor, number
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _begin() -> None:
    """Leave Ctrl-C to the parent, and end when it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


# A cluster


@contextmanager
def dask(address: str) -> Iterator[tuple[Executor, int]]:
    """The workers of a Dask scheduler, if they run this version of Paperboy. Raises ClusterError."""
    with _client(address) as client:
        try:
            client.wait_for_workers(1, timeout=_WORKER_SECONDS)
        except TimeoutError as error:
            raise ClusterError(f"it has no worker, and got none within {_WORKER_SECONDS} seconds") from error
        if problems := differences(client):
            raise ClusterError("; ".join(problems[:3]))
        yield client.get_executor(pure=False), _threads(client)[1]  # pure would be: the same task is done once


def look(address: str) -> tuple[int, int, list[str]]:
    """The cluster's workers, their threads, and what is wrong with them. Raises ClusterError."""
    with _client(address) as client:
        return *_threads(client), differences(client)


def _threads(client: Any) -> tuple[int, int]:
    """How many workers there are, and how many threads they have."""
    workers: Mapping[str, Mapping[str, Any]] = client.scheduler_info(n_workers=-1)["workers"]
    return len(workers), sum(each["nthreads"] for each in workers.values())


@contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        import distributed  # noqa: PLC0415  # one second, and an extra
    except ImportError as error:
        raise ClusterError("CLUSTER needs the extra: pip install 'paperboy[cluster]'") from error
    for name in [each for each in logging.root.manager.loggerDict if each.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is told by the one who asks
    try:
        make: Any = distributed.Client  # it has no types
        client = make(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except Exception as error:
        raise ClusterError(f"no scheduler answers at {address} ({_first_line(error)})") from error
    try:
        yield client
    finally:
        client.close(timeout=_CONNECT_SECONDS)


def versions() -> dict[str, str]:
    """What has to be the same on a worker as here."""
    names = ("paperboy", "distributed", "msgpack", "jinja2", "mjml-python")
    return {"python": ".".join(map(str, sys.version_info[:2])), **{name: metadata.version(name) for name in names}}


def differences(client: Any) -> list[str]:
    ours = versions()
    try:
        found: Mapping[str, dict[str, str]] = client.run(versions)
    except Exception as error:  # noqa: BLE001  # it has another Paperboy, or none
        return [f"a worker cannot run Paperboy ({_first_line(error)}); install the version that runs here"]
    return [
        f"{worker} has {name} {theirs.get(name, '')}, and here is {version}"
        for worker, theirs in found.items()
        for name, version in ours.items()
        if theirs.get(name) != version
    ]


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
