"""One Paperboy per home: a lock that dies with the process, however that ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from paperboy.errors import HomeBusyError, StoreError

INHERITED = "PAPERBOY_LOCK_FD"


@contextmanager
def held(database: Path, environ: Mapping[str, str]) -> Iterator[int]:
    """Holds the home that the database belongs to; yields the lock's file descriptor.

    A child of the daemon is handed the daemon's lock by its number in the environment. Raises HomeBusyError.
    """
    path = database.with_name(database.name + ".lock")
    inherited = environ.get(INHERITED, "")
    if inherited.isdigit() and _is(int(inherited), path):
        yield int(inherited)
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise StoreError(f"{path}: the lock cannot be made ({error.strerror}); let this user write there") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "unknown"
            raise HomeBusyError(
                f"another Paperboy (process {holder}) holds this home; wait for it, or stop it. Lock: {path}"
            ) from error
        with suppress(OSError):  # the number is for people, and a full disk holds none
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
