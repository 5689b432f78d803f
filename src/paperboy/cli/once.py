"""`paperboy once`: this morning's work now."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from types import FrameType

import click
from rich.console import Console

from paperboy import delivery, draft, due, fetching, morning
from paperboy.cli import logs, operator, parts, words
from paperboy.cli.audience import Audience
from paperboy.cli.home import Home
from paperboy.cli.main import Surroundings
from paperboy.cli.progress import PROGRESS, Bars, Beats
from paperboy.errors import PaperboyError


@click.command(name="once", short_help="This morning's work now.")
@click.option("--list", "names", multiple=True, metavar="NAME", help="Only this list; may be given several times.")
@click.option("--dry-run", is_flag=True, help="Say what would be sent; freeze and send nothing. Scores are kept.")
@click.option("--scheduled", is_flag=True, hidden=True, help="The daemon asks: only what is due, with its patience.")
@click.pass_obj
def command(around: Surroundings, names: tuple[str, ...], *, dry_run: bool, scheduled: bool) -> int:
    """This morning's work now, whatever the hour and weekday.

    Composes the digests that today does not have yet and delivers what waits. Running it again the same day sends
    nothing again. A list that could not be served stays due, and the exit code is 1.
    """
    home = Home.load(around.home, around.environ)
    chosen = home.named(names)
    console = Console(stderr=True)
    logs.set_up(home.settings.log_level, around.environ, console)
    descriptor = around.environ.get(PROGRESS, "")
    progress = Beats(int(descriptor), around.timer) if scheduled and descriptor.isdigit() else Bars(console)
    with parts.working(home, around, progress) as work:
        if dry_run:
            return _dry_run(work.morning, home, chosen)
        if not scheduled:
            return _morning(work, home, chosen, None, around)
        try:
            chosen = frozenset(entry.name for entry in due.due(home.lists, work.store.days.outcome, around.clock()))
            patience = timedelta(hours=home.settings.give_up_after_hours)
            return _morning(work, home, chosen, patience, around)
        except PaperboyError as error:
            operator.failed(work, home, str(error), around.clock())
            raise
        except Exception as error:
            operator.failed(work, home, f"this is a bug in Paperboy: {error!r}; see the log", around.clock())
            raise


def _morning(
    work: parts.Work, home: Home, chosen: frozenset[str], patience: timedelta | None, around: Surroundings
) -> int:
    if not home.settings.uses_outbox and (names := work.store.deliveries.only_in_outbox()):
        click.echo(words.went_to_outbox(names), err=True)
    with Stop() as stop:
        report = morning.run(work.morning, home.lists, chosen, patience)
        operator.note(work, home, report, around.clock())
        stop.gently = True
        sent = delivery.deliver(work.delivery, Audience(home), stopped=lambda: stop.asked)
    click.echo(words.a_morning(report, sent, [entry for entry in home.lists if entry.name in chosen]))
    unfinished = work.store.deliveries.unfinished()
    if unfinished:
        click.echo(words.unfinished(unfinished, sent), err=True)
    operator.tell(work, home, report, sent, around.clock())
    return 1 if report.due or unfinished else 0


class Stop:
    """SIGTERM and Ctrl-C end the work at once before sending begins, and between two messages from then on."""

    def __init__(self) -> None:
        self.asked = False
        self.gently = False

    def __enter__(self) -> Stop:
        self._before = {number: signal.signal(number, self._handle) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, signum: int, _frame: FrameType | None) -> None:
        if self.gently:
            if not self.asked:
                os.write(2, b"Stopping after the message in hand.\n")
            self.asked = True
            return
        if os.isatty(2):
            os.write(2, b"\x1b[?25h\n")  # the bars hide the cursor
        os.write(2, b"Stopped before sending began; nothing is lost.\n")
        os._exit(130 if signum == signal.SIGINT else 1)  # every commit stands; an ordinary exit would wait for the LLM


def _dry_run(work: morning.Parts, home: Home, chosen: frozenset[str]) -> int:
    now = work.clock()
    lists = [entry for entry in home.lists if entry.subscribers]
    missing = fetching.look(work, lists, now)
    code = 0
    scorings = []
    for mailing_list in lists:
        if mailing_list.name not in chosen:
            continue
        if work.days.outcome(mailing_list.name, due.local_date(mailing_list, now)):
            click.echo(f"{mailing_list.name}: done earlier today")
            continue
        try:
            scorings.append(draft.gather(work, mailing_list, now))
        except PaperboyError as error:
            click.echo(f"{mailing_list.name}: would stay due. {error}")
            code = 1
    draft.score(work, scorings, now)
    for scoring in scorings:
        made = draft.draft(work, scoring, now)
        click.echo(words.dry_run(scoring.mailing_list, made, missing))
        code = max(code, int(made.stays_due(missing)))
    return code
