"""Everything that a command writes: log and progress bars on stderr, results on stdout.

No other module prints. Each argument of `say` is a line, and so is each record of the log but for
its traceback: control characters, marks of the writing direction and line ends that came from
outside are escaped.
"""

from __future__ import annotations

import io
import json
import logging
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import click

from paperboy.edges import lock
from paperboy.edges.text import counted, money, together, visible, without_addresses
from paperboy.errors import ConfigError, PaperboyError
from paperboy.models import (
    Counts,
    DeliveryState,
    Entry,
    MailingList,
    MorningReport,
    Outcome,
    Spending,
)

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from paperboy.morning import drafting
    from paperboy.sending import delivery
    from paperboy.service.app import App
    from paperboy.store.history import DeliveryRecord

    Part: TypeAlias = "str | Text | Table"
    Page = Mapping[str, Any] | Iterable[Sequence[Part]]

_PIPED = 100_000  # columns where there is no terminal: each line stays whole, and easy to search
_LONGEST_STAGE = 15  # characters of its name: the bars of all stages begin in the same column

# ── Streams ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Stream(io.FileIO):
    """Standard stream that keeps the error of a failed write: the work goes on."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        """Write, and keep the error if that fails.

        Raises BrokenPipeError if stdout's reader, such as `head`, has gone: that ends the command.
        """
        try:
            return super().write(data)
        except OSError as error:
            if isinstance(error, BrokenPipeError) and self.fileno() == 1:
                raise
            self.failure = error
            return len(data)


def take_streams() -> Stream:
    """Make failed writes to stdout and stderr harmless, and return stdout with its failure.

    A closed descriptor is opened: else the next file, maybe the database, would get its number and
    what is written to stderr. It is opened for reading, so that lost results are noticed.
    """
    while os.open(os.devnull, os.O_RDONLY) <= 2:  # gets the lowest free number
        pass

    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - for as long as the process lives
    stdout = Stream(1, "w", closefd=False)
    sys.stdout = _text(stdout, sys.stdout)
    sys.stderr = _text(Stream(2, "w", closefd=False), sys.stderr)
    return stdout


def _text(stream: Stream, old: TextIO | None) -> TextIO:
    """Return the stream in its old encoding, which escapes what it cannot express."""
    buffered = io.BufferedWriter(stream)
    encoding = old.encoding if old else None
    return io.TextIOWrapper(buffered, encoding, errors="backslashreplace", line_buffering=True)


# ── Lines ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def say(*lines: str, mark: str = "", err: bool = False, **style: Any) -> None:
    """Print lines, each after the mark in a style of `click.style`."""
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
    """Return a table of a page; none without rows."""
    from rich.table import Table

    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="bold",
        show_header=any(heads),
    )
    for head in heads:
        table.add_column(head, overflow="fold")  # a narrow terminal leaves out nothing
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
    """Print the error that ends a command on stderr, a line for each problem."""
    mark = _priority(logging.ERROR) if _is_journal(environ) else ""
    say(*(mark + line for line in lines_of(error)), err=True)


def lines_of(error: PaperboyError) -> list[str]:
    """Return an error's sentences, a line for each problem."""
    if isinstance(error, ConfigError):
        return [str(problem) for problem in error.problems]
    return [str(error)]


# ── The log ──────────────────────────────────────────────────────────────────────────────────────────────────────────

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

        mark = _priority(record.levelno) if self._journal else ""
        first, *others = map(visible, text.split("\n"))
        lines = [mark + first, *(f"{mark}  {line}" for line in others)]
        print("\n".join(lines), file=sys.stderr, flush=True)


def set_up(app: App, *, by_hand: bool = True) -> None:
    """Send Paperboy's log to stderr: with priorities for journald, with times for a file or a pipe.

    At INFO a terminal shows only warnings, since the bars show the rest. Only DEBUG shows whole
    addresses. A command `by_hand` has logged its problems, so alerts do not repeat them.
    """
    threshold = logging.getLevelNamesMapping()[app.settings.log_level]
    journal = _is_journal(app.environ)
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
    logging.lastResort = _Stderr(logging.WARNING, journal=_is_journal(environ))


def _priority(level: int) -> str:
    """Return a line's priority, as journald reads it."""
    return f"<{_PRIORITIES.get(level, 6)}>"


def _is_journal(environ: Mapping[str, str]) -> bool:
    """Check whether stderr is the journal.

    A service's children inherit the variable even if their stderr is redirected.
    """
    stream = environ.get("JOURNAL_STREAM")
    if not stream:
        return False

    stderr = os.fstat(2)
    return stream == f"{stderr.st_dev}:{stderr.st_ino}"


# ── Progress ─────────────────────────────────────────────────────────────────────────────────────


class Bars:
    """Progress bars on a terminal, one per stage; elsewhere the log has a line per stage."""

    @contextmanager
    def stage(self, what: str) -> Iterator[Callable[[int, int], None]]:
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
    def stage(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """Print a dot for the start of a stage, and for each progress."""

        def progress(_done: int, _total: int) -> None:
            with suppress(OSError):  # the daemon may be gone; the work continues
                click.echo(".", nl=False)

        progress(0, 0)
        yield progress


# ── Sentences ────────────────────────────────────────────────────────────────────────────────────


def a_morning(report: MorningReport, sent: delivery.Report) -> list[str]:
    """Return a line per list, then the deliveries."""
    lines = []
    for of_list in report.lists:
        line = f"{of_list.list_name}: {of_list.outcome or 'still due'}"
        if of_list.earlier:
            lines.append(f"{line}, done earlier today")
            continue

        counts = of_list.counts
        if counts.considered and of_list.outcome is None:
            line += f", scored 0 of {counted(counts.to_score, 'paper')}"
        elif counts.considered:
            line += f", {papers(counts)}"
        if of_list.outcome and of_list.spending.usage.calls:
            line += f", {cost(of_list.spending)}"
        if of_list.outcome and of_list.problem:  # without an outcome, it was logged as an error
            line += f"; {of_list.problem}"
        lines.append(line)

    lines = lines or ["Nothing is due."]
    if sent.states:
        lines.append(f"Deliveries: {in_words(sent.states)}")

    return lines


def dry_run(mailing_list: MailingList, draft: drafting.Draft, missing: str) -> list[str]:
    """Return what a list would get now: a line, its papers with their scores, and the next best."""
    name = mailing_list.name
    outcome = draft.outcome(missing)
    if outcome is None:
        return [f"{name}: would stay due; {draft.problem or missing}"]
    if outcome is Outcome.QUIET:
        return [f"{name}: quiet, no mail"]

    digest = draft.digest
    counts = papers(digest.counts)
    if outcome is Outcome.NOTE and not mailing_list.send_empty:
        first = f"{name}: {counts}; none passed, and send_empty is false, so no mail"
    else:
        recipients = counted(len(mailing_list.subscribers), "subscriber")
        first = f"{name}: {outcome}, {counts}, to {recipients}"

    lines = [first, *_scored(digest.entries)]
    if digest.nearest:
        thresholds = f"{mailing_list.min_relevance}/{mailing_list.min_novelty}"
        lines.append(f"  below the thresholds ({thresholds}), the best:")
        lines += _scored(digest.nearest)

    return lines


def _scored(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield a line per paper: rank, id, relevance and novelty, title and followed author."""
    from paperboy.sources import title_of

    for entry in entries:
        score = entry.score
        rank = f"{entry.rank}." if entry.rank else ""
        marks = f"{score.relevance}/{score.novelty or '–'}" if score else "–"
        line = f" {rank:>3} {entry.paper.id}  {marks:<5}  {title_of(entry.paper)}"
        if entry.matched_authors:
            line += f"  (author match: {together(entry.matched_authors)})"
        yield line


def papers(counts: Counts) -> str:
    """Return the counts in the words of a digest, with the papers left out."""
    words = f"{counts.relevant} of {counts.considered} papers"
    if counts.author_matches:
        words += f" ({counted(counts.author_matches, 'author match', 'author matches')})"

    left_out = {
        "over the cap": counts.over_cap,
        "carried over": counts.carried_over,
        "let go": counts.let_go,
        "filtered": counts.filtered,
        "not called": counts.not_called,
    }
    return words + "".join(f", {number} {what}" for what, number in left_out.items() if number)


def cost(spending: Spending) -> str:
    """Return US dollars, if prices and tokens are known."""
    return "price unknown" if spending.cost is None else money(spending.cost.total)


def next_try(at: datetime, now: datetime, zone: tzinfo) -> str:
    """Return when something is retried."""
    return f"next try about {at.astimezone(zone):%H:%M %Z}" if at > now else "to be tried now"


def again(app: App, at: datetime | None) -> str:
    """Return when something is retried, as the end of a sentence; empty if no daemon runs."""
    if at is None or lock.holder(app.settings.paperboy_database, "run") is None:
        return ""
    return f"; {next_try(at, app.clock(), app.settings.timezone)}"


_NO_REPLY = {
    DeliveryState.PENDING: "not tried yet",
    DeliveryState.SENDING: "being sent, or cut off by a crash",
}


def reply(record: DeliveryRecord) -> str:
    """Return what was said of a delivery: by the mail server, or by us."""
    return record.reason or _NO_REPLY.get(record.state, "no reply is known")


def in_words(states: Mapping[DeliveryState, int]) -> str:
    """Return deliveries by state, as "3 sent, 1 deferred"."""
    return ", ".join(f"{states[state]} {state}" for state in DeliveryState if states.get(state))


def not_sent(waiting: int, sent: delivery.Report) -> list[str]:
    """Return why the exit code is 1 even if every list is served."""
    reasons = []
    if waiting:
        number = counted(waiting, "delivery waits", "deliveries wait")
        reasons.append(f"{number} for the next try")
    return reasons + [f"{name}: nobody got the digest" for name in sent.refused]
