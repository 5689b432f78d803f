"""The client of a Dask scheduler, and what `check` finds there."""

import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, cast

from paperboy.home.settings import Settings
from paperboy.mail.text import counted, together
from paperboy.morning.workers import (
    WORTH_SHARING,
    WorkerPool,
    WorkersError,
    done,
    first_line,
    versions,
)
from paperboy.service.app import App
from paperboy.service.check import Finding, note

_CONNECT_SECONDS = 10


def worker_pool(settings: Settings) -> WorkerPool | None:
    """Return the workers of CLUSTER, as a morning uses them."""
    address = settings.cluster
    return WorkerPool(partial(workers, address), f"the cluster at {address}") if address else None


def look(app: App) -> list[Finding]:
    """Return whether the cluster would help; a morning goes on without it."""
    address = app.settings.cluster
    if not address:
        return []
    try:
        with client(address) as there:
            found = there.scheduler_info(n_workers=-1)["workers"].values()
            unlike = differences(there)
    except WorkersError as error:
        return [note("cluster", f"{error}; without it, mornings take longer")]
    if not found:
        fix = f"start some: dask worker {address}; without them, mornings take longer"
        return [note("cluster", f"the scheduler has no worker; {fix}")]
    size = f"{counted(len(found), 'worker')} with {counted(sum(one['nthreads'] for one in found), 'thread')}"
    if unlike:
        return [
            note(
                "cluster",
                f"{size}; not used, since all must run the same versions: {together(unlike, 3)}",
            )
        ]
    return [
        Finding(
            "cluster", f"{size}, which compose where a morning has more than {WORTH_SHARING} lists"
        )
    ]


@contextmanager
def workers(address: str) -> Iterator[Executor]:
    """Yield the workers of a Dask scheduler. Raises WorkersError."""
    with client(address) as there:
        yield there.get_executor(pure=False)  # pure would be: the same task is done once


@contextmanager
def client(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler. Raises WorkersError."""
    try:
        import distributed  # one second, and an extra
    except ImportError as error:
        raise WorkersError(
            "CLUSTER needs the extra [cluster], in this environment: it brings distributed"
        ) from error
    make = cast("Any", distributed.Client)  # it has no types
    for name in [
        each for each in logging.root.manager.loggerDict if each.startswith("distributed")
    ]:
        logging.getLogger(name).setLevel(
            logging.CRITICAL
        )  # what matters is told by the one who asks
    try:
        made = make(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except Exception as error:
        raise WorkersError(f"no scheduler answers at {address} ({first_line(error)})") from error
    try:
        yield made
    finally:
        with suppress(
            Exception
        ):  # where the scheduler died, closing raises whatever its loop was at
            made.close(timeout=_CONNECT_SECONDS)


def differences(client: Any) -> list[str]:
    """Return what a client's workers have that is not the same here."""
    try:
        found: Mapping[str, object] = client.run(done, str, "", versions(), on_error="return")
    except Exception as error:  # noqa: BLE001  # it has another Paperboy, or none
        return [
            f"a worker cannot run Paperboy ({first_line(error)}); install the version that runs here"
        ]
    return [
        f"{worker}: {first_line(error)}"
        for worker, error in found.items()
        if isinstance(error, Exception)
    ]
