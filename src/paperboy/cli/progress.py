"""Progress of long work: a bar per stage on a terminal, nothing elsewhere, where the log has a line per stage."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PROGRESS = "PAPERBOY_PROGRESS_FD"  # in the environment of the daemon's children
_BEAT_SECONDS = 1.0


class Beats:
    """Lets the daemon know that its child gets on: a byte into a pipe, at most one in a second."""

    def __init__(self, descriptor: int, timer: Callable[[], float]) -> None:
        self._descriptor, self._timer = descriptor, timer
        self._last = float("-inf")

    @contextmanager
    def stage(self, what: str) -> Iterator[Callable[[int, int], None]]:  # a stage has a name for people
        """A stage that begins is progress, and so is each change of what is done."""
        self._beat()
        seen: tuple[int, int] | None = None

        def progress(done: int, total: int) -> None:
            nonlocal seen
            if (done, total) != seen:
                seen = done, total
                self._beat()

        yield progress

    def _beat(self) -> None:
        now = self._timer()
        if now - self._last >= _BEAT_SECONDS:
            self._last = now
            with suppress(OSError):  # the daemon may be gone, and the work goes on
                os.write(self._descriptor, b".")


class Bars:
    """Draws on stderr, since results go to stdout."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def stage(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """A bar for one stage; what it yields takes (done, total)."""
        if not self._console.is_terminal:
            yield lambda _done, _total: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
        ) as progress:
            task = progress.add_task(what, total=None)
            yield lambda done, total: progress.update(task, completed=done, total=total)


def bars() -> tuple[Bars, Console]:
    """Bars on stderr, and the console that draws them."""
    from rich.console import Console

    console = Console(stderr=True)
    return Bars(console), console
