"""A client of a Dask scheduler, for mornings and for `check`."""

import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, cast

from paperboy.edges.text import counted
from paperboy.home.settings import Settings
from paperboy.morning.workers import WORTH_SHARING, WorkerPool, WorkersError, first_line
from paperboy.service.app import App
from paperboy.service.feature import Finding, note

_CONNECT_SECONDS = 10


def worker_pool(settings: Settings) -> WorkerPool | None:
    """Return the workers of CLUSTER for a morning, or None if it is not set."""
    address = settings.cluster
    return WorkerPool(partial(workers, address), f"the cluster at {address}") if address else None


def check(app: App) -> list[Finding]:
    """Check whether the cluster would help; a morning goes on without it."""
    address = app.settings.cluster
    if not address:
        return []
    try:
        with client(address) as dask:
            found = dask.scheduler_info(n_workers=-1)["workers"].values()
    except WorkersError as error:
        return [note("cluster", f"{error}; without it, mornings take longer")]
    if not found:
        fix = f"start some: dask worker {address}; without them, mornings take longer"
        return [note("cluster", f"the scheduler has no worker; {fix}")]

    threads = sum(worker["nthreads"] for worker in found)
    size = f"{counted(len(found), 'worker')} with {counted(threads, 'thread')}"
    use = f"which compose mornings of more than {WORTH_SHARING} lists"
    return [Finding("cluster", f"{size}, {use}")]


@contextmanager
def workers(address: str) -> Iterator[Executor]:
    """Yield the workers of a Dask scheduler. Raises WorkersError."""
    with client(address) as dask:
        yield dask.get_executor(pure=False)  # if pure, equal tasks would run only once


@contextmanager
def client(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler. Raises WorkersError."""
    try:
        import distributed  # it takes a second, and is an extra
    except ImportError as error:
        raise WorkersError(
            "CLUSTER needs the extra [cluster], in this environment: it installs distributed"
        ) from error
    # The caller reports what matters.
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("distributed"):
            logging.getLogger(name).setLevel(logging.CRITICAL)

    connect = cast("Any", distributed.Client)  # it has no types
    try:
        dask = connect(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except Exception as error:
        raise WorkersError(f"no scheduler answers at {address} ({first_line(error)})") from error
    try:
        yield dask
    finally:
        # If the scheduler died, closing raises whatever the client's loop was doing.
        with suppress(Exception):
            dask.close(timeout=_CONNECT_SECONDS)
