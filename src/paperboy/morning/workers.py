"""Where work that needs neither the database nor a server is done: here, in other processes, or on a Dask cluster.

A task is a value, and so is its result, so a task may be done twice. Whatever goes wrong with an executor, its tasks
are left to the caller, who does them here: slower, and never lost.
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
from typing import Any, TypeVar, cast

from paperboy.errors import PaperboyError

logger = logging.getLogger(__name__)

WORTH_SHARING = 16  # more lists than these: half a second of work
_AHEAD = 128  # tasks under way, so that no worker waits for the caller; they take memory
_WORTH_IT = 250  # lists, for which starting a process takes less time than it saves
_MOST = 4  # processes that the first one keeps busy
SECONDS = 120.0  # that a task may take; an executor that takes longer is not used any more
_CONNECT_SECONDS = 10

_T = TypeVar("_T")
_R = TypeVar("_R")


class ClusterError(PaperboyError):
    """The cluster cannot be used."""


@dataclass(slots=True)
class Crew:
    """Those who do the tasks. `hire` gives the executor when the first task comes."""

    hire: Callable[[], AbstractContextManager[Executor]]
    name: str  # for people
    seconds: float = SECONDS
    problem: str = ""  # why it is not used any more

    def map(self, work: Callable[[_T], _R], tasks: Iterable[_T]) -> Generator[tuple[_T, _R | None]]:
        """Yield each task with its result, in their order; None: the caller has to do it. `tasks` is read some tasks
        ahead of the results.
        """
        with ExitStack() as stack:
            executor: Executor | None = None
            under_way: deque[tuple[_T, Future[_R] | None]] = deque()
            for task in tasks:
                executor = executor or self._tried(lambda: stack.enter_context(self.hire()))
                future = self._tried(partial(executor.submit, _done, work, task, versions())) if executor else None
                under_way.append((task, future))
                while under_way and (len(under_way) > _AHEAD or self._is_over(under_way[0][1])):
                    first, future = under_way.popleft()
                    yield first, self._result(future)
            for first, future in under_way:
                yield first, self._result(future)

    def _is_over(self, future: Future[_R] | None) -> bool:
        """Return whether nothing has to be waited for."""
        return future is None or bool(self.problem) or future.done()

    def _result(self, future: Future[_R] | None) -> _R | None:
        return self._tried(lambda: future.result(self.seconds)) if future else None

    def _tried(self, call: Callable[[], _R]) -> _R | None:
        """Return what an executor gives; None: it is not used any more."""
        if self.problem:
            return None
        try:
            return call()
        except Exception as error:  # of any executor
            why = f"{type(error).__name__}: {_first_line(error)}"
            if isinstance(error, PaperboyError):
                why = str(error)
            elif isinstance(error, TimeoutError):
                why = f"no answer within {self.seconds:g} seconds"
            self.problem = f"{self.name} cannot be used: {why}"
            logger.warning("%s; the work is done here, which takes longer", self.problem)
            logger.debug("the workers' failure", exc_info=error)
            return None


@lru_cache
def versions() -> Mapping[str, str]:
    """What has to be the same on a worker as here, of what is installed."""
    found = {"python": ".".join(map(str, sys.version_info[:2]))}
    for name in ("paperboy", "distributed", "msgpack", "jinja2", "mjml-python"):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _done(work: Callable[[_T], _R], task: _T, wanted: Mapping[str, str]) -> _R:
    """Return the task's result, if this worker is like its caller. Raises ClusterError."""
    theirs = versions()
    unlike = {name: version for name, version in wanted.items() if theirs.get(name) != version}
    if unlike:
        both = [f"{name} {theirs.get(name, '')}, and here is {version}" for name, version in unlike.items()]
        raise ClusterError(f"a worker has {'; '.join(both)}")
    return work(task)


# Processes


def helpful(lists: int) -> int:
    """How many processes of this machine so many lists are worth."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1  # macOS has none
    return min(_MOST, cores, lists // _WORTH_IT)


@contextmanager
def processes(number: int) -> Iterator[Executor]:
    """So many processes of this machine, which end with this one, whatever ends it."""
    context = multiprocessing.get_context("spawn")  # a fork would take the threads' locks with it
    executor = ProcessPoolExecutor(number, context, _begin)
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():  # one that hangs would keep this program from its end
            process.kill()


def _begin() -> None:
    """Leave Ctrl-C to the parent, and end when it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if (parent := multiprocessing.parent_process()) is not None:

        def end_with_parent() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=end_with_parent, daemon=True).start()


# A cluster


@contextmanager
def dask(address: str) -> Iterator[Executor]:
    """The workers of a Dask scheduler. Raises ClusterError."""
    with _client(address) as client:
        yield client.get_executor(pure=False)  # pure would be: the same task is done once


def look(address: str) -> tuple[int, int, list[str]]:
    """The cluster's workers, their threads, and what is wrong with them. Raises ClusterError."""
    with _client(address) as client:
        workers: Mapping[str, Mapping[str, Any]] = client.scheduler_info(n_workers=-1)["workers"]
        return len(workers), sum(worker["nthreads"] for worker in workers.values()), differences(client)


@contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        import distributed  # noqa: PLC0415  # one second, and an extra
    except ImportError as error:
        raise ClusterError("CLUSTER needs the extra [cluster], in this environment: it brings distributed") from error
    make, security = cast("Any", distributed.Client), cast("Any", distributed.Security)  # they have no types
    if address.startswith("tls://"):
        _require_certificates(security())
    for name in [each for each in logging.root.manager.loggerDict if each.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is told by the one who asks
    try:
        client = make(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except Exception as error:
        raise ClusterError(f"no scheduler answers at {address} ({_first_line(error)})") from error
    try:
        yield client
    finally:
        client.close(timeout=_CONNECT_SECONDS)


def _require_certificates(security: Any) -> None:
    """Raises ClusterError if Dask's configuration lacks a certificate: its own error does not name the setting."""
    for variable, file in (("CA_FILE", security.tls_ca_file), ("CLIENT__CERT", security.tls_client_cert)):
        name = f"DASK_DISTRIBUTED__COMM__TLS__{variable}"
        if not file:
            raise ClusterError(f"TLS needs certificates: name a PEM file in the environment variable {name}")
        if not os.access(file, os.R_OK):
            raise ClusterError(f"{file} cannot be read, which {name}, or Dask's own configuration, names")


def differences(client: Any) -> list[str]:
    """Return what a client's workers have that is not the same here."""
    try:
        found: Mapping[str, object] = client.run(_done, str, "", versions(), on_error="return")
    except Exception as error:  # noqa: BLE001  # it has another Paperboy, or none
        return [f"a worker cannot run Paperboy ({_first_line(error)}); install the version that runs here"]
    return [f"{worker}: {_first_line(error)}" for worker, error in found.items() if isinstance(error, Exception)]


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
