"""One Paperboy per home: a lock that dies with the process, however that ends."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from paperboy.errors import HomeBusyError, StoreError

logger = logging.getLogger(__name__)

INHERITED = "PAPERBOY_LOCK_FD"
_LOOKS, _BETWEEN = 100, 0.01  # seconds; for as long as others only look who holds the home


@dataclass(frozen=True, slots=True)
class Holder:
    """The Paperboy that holds a home."""

    process: int  # 0: unknown
    command: str  # "run", "once", …


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
        if not _taken(descriptor):
            raise HomeBusyError(_busy(_read(descriptor), path))
        with suppress(OSError):  # the number is for people, and a full disk holds none
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()} {what}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def holder(database: Path) -> Holder | None:
    """Who holds the home that the database belongs to, if anybody does: told by the lock, which is held for no longer
    than it takes to see that.
    """
    try:
        descriptor = os.open(database.with_name(database.name + ".lock"), os.O_RDONLY)
    except OSError:
        return None
    try:
        return None if _only_looked_at(descriptor) else _read(descriptor)
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    """Takes the lock, also where somebody is just looking at it."""
    for _ in range(_LOOKS):
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if not _only_looked_at(descriptor):
            return False
        time.sleep(_BETWEEN)
    return False


def _only_looked_at(descriptor: int) -> bool:
    """Whether nobody holds the lock for himself."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True


def _read(descriptor: int) -> Holder:
    number, _, command = os.pread(descriptor, 60, 0).decode(errors="replace").strip().partition(" ")
    process = int(number) if number.isdecimal() else 0
    if command == "run" and not _lives(process):  # its morning does, and goes on with its lock
        return Holder(0, "once")
    return Holder(process, command or "once")


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:  # somebody else's
        return True
    except OSError:
        return False
    return process > 0


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


def _busy(who: Holder, path: Path) -> str:
    advice = "stop that one first; all but once and resend work beside it" if who.command == "run" else "wait for it"
    return (
        f"another Paperboy (process {who.process or 'unknown'}, paperboy {who.command}) holds this home: {advice}. "
        f"Lock: {path}"
    )


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
