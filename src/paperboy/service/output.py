"""Everything that a command writes: the log and progress bars on stderr, results as sentences on
stdout.

No other module prints. Each argument of `say` is a line, and so is each record of the log but for
its traceback: control characters, marks of the writing direction and line ends that came from
outside are shown as escapes.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import click

from paperboy.edges import lock
from paperboy.edges.text import visible, without_addresses
from paperboy.errors import ConfigError, PaperboyError
from paperboy.mail.text import counted, money
from paperboy.models import (
    Counts,
    DeliveryState,
    Entry,
    MailingList,
    MorningReport,
    Outcome,
    Spending,
    Usage,
)

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from paperboy.morning import drafting
    from paperboy.sending import delivery
    from paperboy.service.app import App

    Part: TypeAlias = "str | Text | Table"
    Page = Mapping[str, Any] | Iterable[Sequence[Part]]

_PIPED = 100_000  # columns where there is no terminal: each line stays whole, and easy to search
_COMMAND = re.compile(r"\b(?:sudo|chmod|chown|rm|mkdir) .*")  # to paste, as errors end with
_GLUE = "\N{NO-BREAK SPACE}"
_LONGEST_STAGE = 15  # characters of its name: the bars of all stages begin in the same column

# ── Streams ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Stream(io.FileIO):
    """A standard stream that keeps the error of a write that failed, instead of raising it: the
    work goes on.
    """

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        """Write what can be written. A reader of the results who has gone, as `head` does, still
        ends the command.
        """
        try:
            return super().write(data)
        except OSError as error:
            if isinstance(error, BrokenPipeError) and self.fileno() == 1:
                raise
            self.failure = error
            return len(data)


def take_streams() -> Stream:
    """Make failed writes to stdout and stderr harmless, and return stdout, which knows whether one
    has failed.

    A closed descriptor is opened: else the next file, the database perhaps, would have its number,
    and get what is written to stderr. In place of stdout it cannot be written, so that lost results
    are noticed.
    """
    for number, how in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, how)  # gets the lowest number that is free, this one
            os.set_inheritable(number, True)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - for as long as the process lives
    stdout = Stream(1, "w", closefd=False)
    sys.stdout = _text(stdout, sys.stdout)
    sys.stderr = _text(Stream(2, "w", closefd=False), sys.stderr)
    return stdout


def _text(stream: Stream, old: TextIO | None) -> TextIO:
    """Return the stream in its old encoding. What that cannot express, as where a locale is ASCII,
    is escaped.
    """
    buffered = io.BufferedWriter(stream)
    encoding = old.encoding if old else None
    return io.TextIOWrapper(buffered, encoding, errors="backslashreplace", line_buffering=True)


# ── Lines ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def say(
    *lines: str, mark: str = "", err: bool = False, verbatim: bool = False, **style: Any
) -> None:
    """Print lines, each after the mark in a style of `click.style`. On a terminal long ones wrap
    between words, unless they are `verbatim`: a file, or commands to paste.
    """
    start = visible(mark)
    stream = sys.stderr if err else sys.stdout
    for line in lines:
        text = start + visible(line)
        if not verbatim:
            text = _wrapped(text, stream)
        marked = (
            len(start) if text.startswith(start) else len(text)
        )  # the mark itself may have wrapped
        styled = click.style(text[:marked], **style) if mark else ""
        click.echo(styled + text[marked:], err=err)


def _wrapped(line: str, stream: TextIO) -> str:
    """Wrap the line for the stream: a terminal would break it within words. What follows its first
    line is indented.

    A word that is longer, as a path may be, stays whole; so does the end of a line from a command
    to paste on.
    """
    if not stream.isatty():
        return line
    asked = os.environ.get("COLUMNS", "")
    columns = int(asked) if asked.isdecimal() else os.get_terminal_size(stream.fileno()).columns
    if not columns or len(line) <= columns:  # 0: the terminal does not say
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    whole = _COMMAND.sub(lambda command: command[0].replace(" ", _GLUE), line)
    lines = textwrap.wrap(
        whole, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines).replace(_GLUE, " ")


def program() -> str:
    """Return how a person calls this Paperboy."""
    script = Path(sys.executable).with_name("paperboy")
    whole = (
        shlex.quote(str(script))
        if script.exists()
        else f"{shlex.quote(sys.executable)} -m paperboy"
    )
    return "paperboy" if shutil.which("paperboy") else whole


def heading(text: str) -> Text:
    """Return a line of a page, in bold."""
    from rich.text import Text

    return Text(visible(text), "bold")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[Table]:
    """Return a table of a page, its columns as wide as what they hold; none without rows."""
    from rich.table import Table

    found = Table(
        box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=any(heads)
    )
    for head in heads:
        found.add_column(head, overflow="fold")  # where a terminal is narrow, nothing is left out
    for row in rows:
        found.add_row(*map(visible, row))
    return [found] if found.row_count else []


def show_page(found: Page) -> None:
    """Print JSON, or sections of lines and tables. On a terminal long lines and cells wrap."""
    if isinstance(found, Mapping):
        click.echo(json.dumps(found, indent=2, default=lambda at: at.isoformat()))  # ASCII alone
        return
    from rich.console import Console

    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = _PIPED
    with console.capture() as printed:
        for number, section in enumerate(filter(None, found)):
            for part in ["", *section] if number else section:
                console.print(visible(part) if isinstance(part, str) else part)
    click.echo("\n".join(map(str.rstrip, printed.get().splitlines())))


def complaint(error: PaperboyError, environ: Mapping[str, str]) -> None:
    """Print the error that ends a command on stderr: a line for each problem."""
    mark = _priority(logging.ERROR) if _is_journal(environ) else ""
    say(*(mark + line for line in lines_of(error)), err=True)


def lines_of(error: PaperboyError) -> list[str]:
    """Return the lines that a person reads of an error."""
    return (
        [str(problem) for problem in error.problems]
        if isinstance(error, ConfigError)
        else [str(error)]
    )


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
    """Prints to the current stderr: while bars are drawn, rich replaces it, so that log lines do
    not break them.

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
        lines = [_wrapped(mark + first, sys.stderr), *(f"{mark}  {line}" for line in others)]
        print("\n".join(lines), file=sys.stderr, flush=True)


def set_up(app: App, *, by_hand: bool = True) -> None:
    """Send Paperboy's log to stderr, with priorities for journald, and with times and levels to a
    file or a pipe.

    At INFO a terminal shows only warnings, since the bars show the rest. Only DEBUG shows whole
    addresses. What a command `by_hand` has met was logged, so the alerts' headlines do not say it
    again.
    """
    threshold = logging.getLevelNamesMapping()[app.settings.log_level]
    journal = _is_journal(app.environ)
    terminal = sys.stderr.isatty()
    handler = _Stderr(threshold, journal=journal)
    timed = logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S %z")
    handler.setFormatter(None if journal or terminal else timed)
    if by_hand:
        handler.addFilter(
            lambda record: (
                record.name != _ALERTS
                or record.levelno != logging.WARNING
                or not handler.has_warned
            )
        )
    root = logging.getLogger("paperboy")
    root.handlers = [handler]
    root.setLevel(
        max(threshold, logging.WARNING) if terminal and threshold > logging.DEBUG else threshold
    )
    root.propagate = False


def catch_all(environ: Mapping[str, str]) -> None:
    """Send warnings of other packages, and all that is logged before `set_up`, to stderr in the
    same way.
    """
    logging.lastResort = _Stderr(logging.WARNING, journal=_is_journal(environ))


def _priority(level: int) -> str:
    """Return how a line begins, as journald reads it."""
    return f"<{_PRIORITIES.get(level, 6)}>"


def _is_journal(environ: Mapping[str, str]) -> bool:
    """Check whether stderr is the journal; a service's children inherit the variable even if stderr
    is redirected.
    """
    if not (stream := environ.get("JOURNAL_STREAM")):
        return False
    stderr = os.fstat(2)
    return stream == f"{stderr.st_dev}:{stderr.st_ino}"


class Bars:
    """Draws a bar per stage on a terminal; draws nothing elsewhere, where the log has a line per
    stage.
    """

    @contextmanager
    def stage(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """Draw a bar for one stage; what this yields takes (done, total)."""
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
    """Progress for the daemon: a dot on stdout, at most one a second."""

    def __init__(self, timer: Callable[[], float]) -> None:
        self._timer = timer
        self._last = float("-inf")

    @contextmanager
    def stage(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """Count the start of a stage as progress, and each change of (done, total)."""
        seen: tuple[int, int] | None = None

        def progress(done: int, total: int) -> None:
            nonlocal seen
            if (done, total) != seen and self._timer() - self._last >= 1.0:
                seen = (done, total)
                self._last = self._timer()
                with suppress(OSError):  # the daemon may be gone; the work continues
                    click.echo(".", nl=False)

        progress(-1, -1)
        yield progress


def a_morning(
    report: MorningReport, sent: delivery.Report, lists: Sequence[MailingList]
) -> list[str]:
    """Return a line per list, then how sending went."""
    lines = []
    for of in report.lists:
        counts = of.counts
        line = f"{of.list_name}: {of.outcome or 'still due'}"
        if of.earlier:
            lines.append(f"{line}, done earlier today")
            continue
        if counts.considered and of.outcome is None:
            line += f", scored 0 of {counted(counts.to_score, 'paper')}"
        elif counts.considered:
            line += f", {papers(counts)}"
        if of.outcome and of.spending.usage.calls:
            line += f", {cost(of.spending)}"
        if of.outcome and of.problem:  # without an outcome, it is in the log as an error
            line += f"; {of.problem}"
        lines.append(line)
    lines += [
        f"{empty.name}: no subscribers, nothing to do" for empty in lists if not empty.subscribers
    ]
    lines = lines or ["Nothing is due."]
    if sent.states:
        lines.append(f"Deliveries: {in_words(sent.states)}")
    return lines


def dry_run(mailing_list: MailingList, made: drafting.Draft, missing: str) -> list[str]:
    """Say what a list would get now; in the next lines its papers with their scores, and the best
    of the others.
    """
    name = mailing_list.name
    counts = made.digest.counts
    if (outcome := made.outcome(missing)) is None:
        return [f"{name}: would stay due; {made.problem or missing}"]
    if outcome is Outcome.QUIET:
        return [f"{name}: quiet, no mail"]
    first = f"{name}: {outcome}, {papers(counts)}, to {counted(len(mailing_list.subscribers), 'subscriber')}"
    if outcome is Outcome.NOTE and not mailing_list.send_empty:
        first = f"{name}: {papers(counts)}; none passed, and send_empty is false, so no mail"
    passing = f"{mailing_list.min_relevance}/{mailing_list.min_novelty}"
    below = [f"  below the thresholds ({passing}), the best:"] if made.digest.nearest else []
    return [first, *_scored(made.digest.entries), *below, *_scored(made.digest.nearest)]


def _scored(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield a line per paper: rank, id, relevance and novelty, title and followed author."""
    from paperboy.sources import title_of

    for entry in entries:
        score = entry.score
        rank = f"{entry.rank}." if entry.rank else ""
        marks = f"{score.relevance}/{score.novelty or '–'}" if score else "–"
        matched = f"  (author match: {entry.matched_author})" if entry.matched_author else ""
        yield f" {rank:>3} {entry.paper.id}  {marks:<5}  {title_of(entry.paper)}{matched}"


def papers(counts: Counts) -> str:
    """Return the counts as readers know them, and the papers left out."""
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
    return words + also(left_out)


def also(numbers: Mapping[str, int]) -> str:
    """Return what else was counted, as the end of a sentence."""
    return "".join(f", {number} {what}" for what, number in numbers.items() if number)


def uncounted(usage: Usage) -> bool:
    """Check whether the server counts no tokens. No call takes none, so the tokens are unknown, not
    the price.
    """
    return usage.calls > 0 and not usage.total_tokens


def cost(spending: Spending) -> str:
    """Return US dollars; or why they are unknown."""
    if spending.cost is not None:
        return money(spending.cost.total)
    return "cost not known" if uncounted(spending.usage) else "price unknown"


def next_try(at: datetime, now: datetime, zone: tzinfo) -> str:
    """Say when something is retried."""
    return f"next try about {at.astimezone(zone):%H:%M %Z}" if at > now else "to be tried now"


def again(app: App, at: datetime | None) -> str:
    """Say when something is retried, as the end of a sentence; empty if never, or where no daemon
    runs to do it.
    """
    if at is None or lock.holder(app.settings.paperboy_database, "run") is None:
        return ""
    return f"; {next_try(at, app.clock(), app.settings.timezone)}"


NO_REPLY = {
    DeliveryState.PENDING: "not tried yet",
    DeliveryState.SENDING: "being sent, or cut off by a crash",
}


def in_words(states: Mapping[DeliveryState, int]) -> str:
    """Return deliveries by state, as "3 sent, 1 deferred"."""
    return ", ".join(f"{states[state]} {state}" for state in DeliveryState if states.get(state))


def not_sent(waiting: int, sent: delivery.Report) -> list[str]:
    """Return why the exit code is 1 even if every list is served."""
    waits = f"{counted(waiting, 'delivery waits', 'deliveries wait')} for the next try"
    return [waits] * (waiting > 0) + [f"{name}: nobody got the digest" for name in sent.refused]
