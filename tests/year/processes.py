"""What the daemon of a simulated year has around it: children that work at once, and a systemd that only listens."""

from dataclasses import dataclass


@dataclass
class Child:
    """A process that has ended when it is looked at for the second time."""

    code: int
    pid: int = 1
    looked_at: bool = False

    def poll(self) -> int | None:
        looked_at, self.looked_at = self.looked_at, True
        return self.code if looked_at else None

    def progressed(self) -> bool:
        return True

    def terminate(self) -> None:
        raise AssertionError("a child that gets on is not told to stop")

    def kill(self) -> None:
        raise AssertionError("a child that gets on is not killed")

    def wait(self, timeout: float | None = None) -> int:
        return self.code


class Systemd:
    """Hears what the day came to."""

    def ready(self) -> None:
        pass

    def reloading(self, monotonic: float) -> None:
        pass

    def status(self, text: str) -> None:
        assert "bug in Paperboy" not in text

    def watchdog(self) -> None:
        pass

    def stopping(self) -> None:
        pass
