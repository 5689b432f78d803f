"""Lines that a command prints: results on stdout, messages on stderr.

Each argument of `say` is a line: control characters, bidirectional marks and line ends in it are
escaped.
"""

from __future__ import annotations

import json
import logging
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from paperboy.console.log import is_journal, priority
from paperboy.edges.text import visible
from paperboy.errors import PaperboyError

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    Part: TypeAlias = "str | Text | Table"
    Page = Mapping[str, Any] | Iterable[Sequence[Part]]

_PIPED = 100_000  # columns where there is no terminal: each line stays whole, and easy to search


def say(*lines: str, mark: str = "", err: bool = False, **style: Any) -> None:
    """Print lines, each after the mark. `style` is how `click.style` shows the mark."""
    start = click.style(visible(mark), **style) if mark else ""
    for line in lines:
        click.echo(start + visible(line), err=err)


def program() -> str:
    """Return the command that starts this Paperboy from a shell."""
    if shutil.which("paperboy"):
        return "paperboy"
    script = Path(sys.executable).with_name("paperboy")
    if script.exists():
        return shlex.quote(str(script))
    return f"{shlex.quote(sys.executable)} -m paperboy"


def heading(text: str) -> Text:
    """Return a heading of a page, in bold."""
    from rich.text import Text

    return Text(visible(text), "bold")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[Table]:
    """Return a page's part with one table; without rows, an empty part."""
    from rich.table import Table

    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="bold",
        show_header=any(heads),
    )
    for head in heads:
        table.add_column(head, overflow="fold")  # a narrow terminal folds cells, and cuts none
    for row in rows:
        table.add_row(*map(visible, row))

    return [table] if table.row_count else []


def show_page(page: Page) -> None:
    """Print JSON, or sections of lines and tables. On a terminal long lines and cells wrap."""
    if isinstance(page, Mapping):
        click.echo(json.dumps(page, indent=2, default=lambda at: at.isoformat()))  # only ASCII
        return

    from rich.console import Console

    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = _PIPED

    with console.capture() as printed:
        for number, section in enumerate(filter(None, page)):
            if number:
                console.print()
            for part in section:
                console.print(visible(part) if isinstance(part, str) else part)

    click.echo("\n".join(map(str.rstrip, printed.get().splitlines())))


def complaint(error: PaperboyError, environ: Mapping[str, str]) -> None:
    """Print on stderr the error that ends a command, a line for each problem."""
    mark = priority(logging.ERROR) if is_journal(environ) else ""
    say(*(f"{mark}{problem}" for problem in error.problems), err=True)
