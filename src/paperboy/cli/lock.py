"""One Paperboy per home: a lock that dies with the process, however that ends."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from paperboy.errors import HomeBusyError, StoreError

logger = logging.getLogger(__name__)

INHERITED = "PAPERBOY_LOCK_FD"


@contextmanager
def held(database: Path, environ: Mapping[str, str], what: str = "once") -> Iterator[int]:
    """Holds the home that the database belongs to, for the command `what`; yields the lock's file descriptor.

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
            raise HomeBusyError(_busy(os.pread(descriptor, 60, 0).decode(errors="replace"), path)) from error
        with suppress(OSError):  # the number is for people, and a full disk holds none
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()} {what}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def scoring(database: Path) -> Iterator[None]:
    """Waits until no other Paperboy of this home pays for scores, and lets none begin meanwhile."""
    path = database.with_name(database.name + ".scoring.lock")
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            logger.info("another Paperboy is scoring for this home; this one waits, and uses its scores")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _busy(holder: str, path: Path) -> str:
    number, _, what = holder.strip().partition(" ")
    advice = "stop that one first; all but once and resend work beside it" if what == "run" else "wait for it"
    return (
        f"another Paperboy (process {number or 'unknown'}, paperboy {what or 'once'}) holds this home: {advice}. "
        f"Lock: {path}"
    )


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
