"""Postfix's `smtp-sink` on loopback: a mail server that takes or refuses everything as fast as it can."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

PROGRAM = shutil.which("smtp-sink") or shutil.which("smtp-sink", path="/usr/sbin:/usr/local/sbin")
MISSING = "smtp-sink is not installed; .ci/run does, Debian has it in the package postfix"


@contextmanager
def smtp_sink(*flags: str) -> Iterator[int]:
    """Runs it with these flags; gives the port."""
    assert PROGRAM is not None, MISSING
    port = free_port()
    user = ["-u", "nobody"] if os.geteuid() == 0 else []  # it refuses to be root
    sink = subprocess.Popen(
        [PROGRAM, *user, *flags, f"127.0.0.1:{port}", "200"], stdout=subprocess.DEVNULL
    )
    try:
        until_it_listens(port, sink)
        yield port
    finally:
        sink.kill()
        sink.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def until_it_listens(port: int, program: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        assert program.poll() is None, f"{program.args} ended with {program.returncode}"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=60).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise TimeoutError(f"{program.args} does not listen")
