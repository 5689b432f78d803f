"""Where log lines go: above the progress bars on a terminal, with a priority for journald, plain elsewhere."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from paperboy.privacy import without_addresses

if TYPE_CHECKING:
    from rich.console import Console

_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


class _Private(logging.Formatter):
    """Whose addresses are in a message is nobody's business, whoever wrote it: a mail server, a file, a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        return without_addresses(super().format(record))


class _Journal(logging.Formatter):
    """Every line begins with `<N>`, the priority that journald reads; a traceback's lines too."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        priority = _PRIORITIES.get(record.levelno, 6)
        return _with_priority(priority, self._inner.format(record))


class _Terminal(logging.Handler):
    """Prints through the console that draws the bars, so that neither tears the other."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.print(self.format(record), markup=False, highlight=False, soft_wrap=True)


def set_up(level: str, environ: Mapping[str, str], console: Console | None) -> None:
    """Sends Paperboy's log to stderr; on a terminal through its console. At INFO a terminal shows warnings only: its
    bars tell the rest. Only DEBUG shows whole addresses.
    """
    threshold = logging.getLevelNamesMapping()[level]
    formatter: type[logging.Formatter] = logging.Formatter if threshold == logging.DEBUG else _Private
    handler: logging.Handler
    if console is not None and console.is_terminal:
        handler = _Terminal(console)
        handler.setFormatter(formatter())
        threshold = max(threshold, logging.WARNING) if threshold != logging.DEBUG else threshold
    else:
        handler = logging.StreamHandler(sys.stderr)
        if _is_journal(environ):
            handler.setFormatter(_Journal(formatter()))
        else:
            handler.setFormatter(formatter("%(asctime)s %(levelname)s %(message)s"))
    root = logging.getLogger("paperboy")
    root.handlers = [handler]
    root.setLevel(threshold)
    root.propagate = False


def complaint(text: str, environ: Mapping[str, str]) -> str:
    """A command's last words, for stderr."""
    return _with_priority(_PRIORITIES[logging.ERROR], text) if _is_journal(environ) else text


def _with_priority(priority: int, text: str) -> str:
    return "\n".join(f"<{priority}>{line}" for line in text.splitlines())


def _is_journal(environ: Mapping[str, str]) -> bool:
    """Whether stderr is the journal: whatever a service starts inherits the variable, wherever its stderr leads."""
    try:
        stderr = os.fstat(2)
    except OSError:
        return False
    return environ.get("JOURNAL_STREAM") == f"{stderr.st_dev}:{stderr.st_ino}"
