"""Progress of long work: a bar per stage on a terminal, nothing elsewhere, where the log has a line per stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


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
