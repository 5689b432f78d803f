"""Progress: bars on a terminal, dots for the daemon."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from paperboy.edges.text import visible
from paperboy.models import Advance

_LONGEST_STAGE = 15  # characters of its name: the bars of all stages begin in the same column


class Bars:
    """Progress bars on a terminal, one per stage; elsewhere the log has a line per stage."""

    @contextmanager
    def stage(self, what: str) -> Iterator[Advance]:
        """Draw a bar for one stage, and yield a function of (done, total)."""
        if not sys.stderr.isatty():
            yield lambda _done, _total: None
            return

        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress

        with Progress(
            *Progress.get_default_columns(), MofNCompleteColumn(), console=Console(stderr=True)
        ) as progress:
            task = progress.add_task(visible(what).ljust(_LONGEST_STAGE), total=None)
            yield lambda done, total: progress.update(task, completed=done, total=total)


class Dots:
    """Progress of the daemon's children: a dot on stdout."""

    @contextmanager
    def stage(self, what: str) -> Iterator[Advance]:
        """Print a dot for the start of a stage, and for each progress."""

        def progress(_done: int, _total: int) -> None:
            with suppress(OSError):  # the daemon may be gone; the work continues
                click.echo(".", nl=False)

        progress(0, 0)
        yield progress
