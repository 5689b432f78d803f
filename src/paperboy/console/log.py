"""The log on stderr.

Each record is a line, and its traceback lines of its own: what came from outside is escaped, as in
`lines.py`.
"""

import logging
import os
import sys
from collections.abc import Mapping

from paperboy.edges.text import visible, without_addresses

_ALERTS = "paperboy.reports.alerts"  # a logger
_PRIORITIES = {
    logging.DEBUG: 7,
    logging.INFO: 6,
    logging.WARNING: 4,
    logging.ERROR: 3,
    logging.CRITICAL: 2,
}


class _Stderr(logging.Handler):
    """Handler that prints to the current stderr: rich replaces it while it draws bars.

    Masks every address above the level DEBUG, even one in a server's reply, a file or a traceback.
    Lines after a record's first are indented, so that none passes for another record.
    """

    def __init__(self, level: int, *, journal: bool) -> None:
        super().__init__(level)
        self._journal = journal
        self.has_warned = False

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        if self.level > logging.DEBUG:
            text = without_addresses(text)
        if record.levelno >= logging.WARNING and record.name != _ALERTS:
            self.has_warned = True

        mark = priority(record.levelno) if self._journal else ""
        first, *others = map(visible, text.split("\n"))
        lines = [mark + first, *(f"{mark}  {line}" for line in others)]
        print("\n".join(lines), file=sys.stderr, flush=True)


def set_up(log_level: str, environ: Mapping[str, str], *, by_hand: bool = True) -> None:
    """Send Paperboy's log to stderr: with priorities for journald, with times for a file or a pipe.

    At INFO a terminal shows only warnings, since the bars show the rest. Only DEBUG shows whole
    addresses. A command `by_hand` has logged its problems, so alerts do not repeat them.
    """
    threshold = logging.getLevelNamesMapping()[log_level]
    journal = is_journal(environ)
    terminal = sys.stderr.isatty()
    handler = _Stderr(threshold, journal=journal)
    if not (journal or terminal):
        timed = logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S %z")
        handler.setFormatter(timed)

    def is_news(record: logging.LogRecord) -> bool:
        is_headline = record.name == _ALERTS and record.levelno == logging.WARNING
        return not (is_headline and handler.has_warned)

    if by_hand:
        handler.addFilter(is_news)

    root = logging.getLogger("paperboy")
    root.handlers = [handler]
    root.propagate = False
    if terminal and threshold > logging.DEBUG:
        threshold = max(threshold, logging.WARNING)

    root.setLevel(threshold)


def catch_all(environ: Mapping[str, str]) -> None:
    """Send other packages' warnings, and all logged before `set_up`, to stderr in the same way."""
    logging.lastResort = _Stderr(logging.WARNING, journal=is_journal(environ))


def priority(level: int) -> str:
    """Return a line's priority, as journald reads it."""
    return f"<{_PRIORITIES.get(level, 6)}>"


def is_journal(environ: Mapping[str, str]) -> bool:
    """Check whether stderr is the journal.

    A service's children inherit the variable even if their stderr is redirected.
    """
    stream = environ.get("JOURNAL_STREAM")
    if not stream:
        return False

    stderr = os.fstat(2)
    return stream == f"{stderr.st_dev}:{stderr.st_ino}"
