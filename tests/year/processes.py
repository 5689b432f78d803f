"""Fakes around the daemon of a simulated year: children that finish at once, and systemd."""

import io
from dataclasses import dataclass, field

from paperboy.service.systemd import Notifier


@dataclass
class Child:
    """A process that has ended when it is looked at for the second time."""

    code: int
    stdout: io.BytesIO = field(default_factory=io.BytesIO)
    pid: int = 1
    looked_at: bool = False

    def poll(self) -> int | None:
        looked_at = self.looked_at
        self.looked_at = True
        return self.code if looked_at else None

    def terminate(self) -> None:
        raise AssertionError("a child that makes progress is not told to stop")

    def kill(self) -> None:
        raise AssertionError("a child that makes progress is not killed")

    def wait(self, timeout: float | None = None) -> int:
        return self.code


class Systemd(Notifier):
    """Checks that no notification reports a bug."""

    def send(self, message: str) -> None:
        assert "bug in Paperboy" not in message
