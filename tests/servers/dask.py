"""A Dask scheduler with workers as child processes on loopback, with TLS and certificates of its own authority."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import trustme

from tests.servers.smtp_sink import free_port, until_it_listens

MISSING = (
    ""
    if find_spec("distributed")
    else "distributed is not installed; the extra [cluster] brings it"
)
_SECONDS = 60


@dataclass
class Cluster:
    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


@contextmanager
def dask_cluster(folder: Path, workers: int = 3) -> Iterator[Cluster]:
    """Runs it while used as a context manager, and sets Dask's configuration in this process as a client needs it."""
    import dask  # noqa: PLC0415  # of an extra
    import distributed  # noqa: F401, PLC0415  # which adds its defaults to the configuration

    authority = trustme.CA()
    pem = folder / "ca.pem"
    certificate = folder / "own.pem"
    authority.cert_pem.write_to_path(pem)
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
    tls = {
        "distributed.comm.tls.ca-file": str(pem),
        "distributed.comm.tls.client.cert": str(certificate),
    }
    flags = ["--tls-ca-file", pem, "--tls-cert", certificate, "--no-dashboard"]
    port = free_port()
    programs = list[subprocess.Popen[bytes]]()

    def start(program: str, *more: object) -> subprocess.Popen[bytes]:
        log = (folder / f"{program}-{len(programs)}.log").open("wb")
        command = [sys.executable, "-m", f"distributed.cli.{program}", *map(str, (*more, *flags))]
        with log:
            programs.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=folder))
        return programs[-1]

    address = f"tls://127.0.0.1:{port}"
    try:
        scheduler = start("dask_scheduler", "--host", address, "--port", port)
        until_it_listens(port, scheduler)
        alone = (
            "--nthreads",
            "1",
            "--memory-limit",
            "0",
            "--no-nanny",
            "--host",
            "tls://127.0.0.1",
        )
        for _ in range(workers):
            start("dask_worker", address, *alone)
        with dask.config.set(tls):
            _until_it_has(address, workers)
            yield Cluster(address, scheduler, programs[1:])
    finally:
        for program in reversed(programs):
            program.kill()
            program.wait()


def _until_it_has(address: str, workers: int) -> None:
    from paperboy.features.cluster import scheduler  # noqa: PLC0415

    ends = time.monotonic() + _SECONDS
    with scheduler.client(address) as client:
        while len(client.scheduler_info(n_workers=-1)["workers"]) < workers:
            assert time.monotonic() < ends, "the workers do not come"
            time.sleep(0.2)
