"""A systemd that listens: what a service of Type=notify says, when, and which process said it.

with Systemd(watchdog_seconds=6) as systemd:
    process = subprocess.Popen(..., env={**os.environ, **systemd.environ})
    ...
    assert systemd.heard("READY") == ["1"]
"""

import os
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

_CREDENTIALS = struct.Struct("3i")  # pid, uid and gid, as the kernel vouches for them


@dataclass(frozen=True, slots=True)
class Notice:
    """One datagram."""

    fields: Mapping[str, str]
    pid: int  # of the sender: with NotifyAccess=main, the main process alone is listened to
    at: float  # CLOCK_MONOTONIC, in seconds


@dataclass
class Systemd:
    """Listens from `with` to its end."""

    watchdog_seconds: float | None = None
    on_notice: Callable[[Notice], None] | None = None  # at once, in the thread that listens
    notices: list[Notice] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        """What the service finds in its environment."""
        watchdog = (
            {}
            if self.watchdog_seconds is None
            else {"WATCHDOG_USEC": str(round(self.watchdog_seconds * 1e6))}
        )
        return {"NOTIFY_SOCKET": str(self._address), **watchdog}

    def heard(self, name: str, pid: int | None = None) -> list[str]:
        """All values that were sent under this name, in order; by one process alone, if it is given."""
        found = [
            notice
            for notice in list(self.notices)
            if name in notice.fields and pid in {None, notice.pid}
        ]
        return [notice.fields[name] for notice in found]

    def __enter__(self) -> Self:
        # The path of a socket has to be short.
        self._folder = tempfile.TemporaryDirectory(prefix="systemd-")
        self._address = Path(self._folder.name) / "notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind(str(self._address))
        self._thread = threading.Thread(target=self._listen, name="systemd", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.sendto(b"", str(self._address))  # ends the thread
        self._thread.join(300)
        self._socket.close()
        self._folder.cleanup()

    def _listen(self) -> None:
        while True:
            data, ancillary, _, _ = self._socket.recvmsg(4096, socket.CMSG_SPACE(_CREDENTIALS.size))
            if not data:
                return
            pid = next(
                (
                    _CREDENTIALS.unpack(value)[0]
                    for _, kind, value in ancillary
                    if kind == socket.SCM_CREDENTIALS
                ),
                0,
            )
            fields = dict(line.partition("=")[::2] for line in data.decode().splitlines())
            notice = Notice(fields, pid, time.monotonic())
            if self.on_notice is not None:
                self.on_notice(notice)
            self.notices.append(notice)


def children(pid: int) -> list[int]:
    """The processes that this one has started, and that have not been seen to end."""
    try:
        return [
            int(child)
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        ]
    except OSError:
        return []


def is_there(pid: int) -> bool:
    """Whether the process is at work: one that ended and that nobody has asked about is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def environ_of(pid: int) -> dict[str, str]:
    """What the process was given when it began."""
    text = os.fsdecode(Path(f"/proc/{pid}/environ").read_bytes())
    return dict(pair.partition("=")[::2] for pair in text.split("\0") if pair)
