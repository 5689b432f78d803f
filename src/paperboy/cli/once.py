"""`paperboy once`: this morning's work now."""

from __future__ import annotations

import logging
import os
import signal
from datetime import timedelta
from types import FrameType

import click
from rich.console import Console

from paperboy import delivery, drafting, due
from paperboy.app import App
from paperboy.cli import logs, operator, parts, words
from paperboy.cli.audience import Audience
from paperboy.cli.main import Surroundings
from paperboy.cli.progress import PROGRESS, Bars, Beats
from paperboy.cli.turn import LETS_OTHERS_IN, Turn
from paperboy.config.home import Home
from paperboy.errors import PaperboyError

logger = logging.getLogger(__name__)


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
            return _dry_run(work, home, chosen)
        if not scheduled:
            return _morning(work, home, chosen, None, around)
        patience, mine = timedelta(hours=home.settings.give_up_after_hours), frozenset(names)
        problem = ""
        try:
            return _morning(work, home, _due(work, home, around) & mine, patience, around)
        except PaperboyError as error:
            problem = str(error)
            raise
        except Exception as error:
            problem = f"this is a bug in Paperboy: {error!r}; see the log"
            raise
        finally:
            if problem:
                operator.failed(work, home, problem, mine, around.clock())


def _due(work: App, home: Home, around: Surroundings) -> frozenset[str]:
    now = around.clock()
    outcomes, patience = work.store.days.outcomes(home.lists, now), timedelta(hours=home.settings.give_up_after_hours)
    standings = due.standings(home.lists, outcomes, {}, now, patience)
    return frozenset(name for name, each in standings.items() if each.ready(now))


def _morning(work: App, home: Home, chosen: frozenset[str], patience: timedelta | None, around: Surroundings) -> int:
    if not home.settings.uses_outbox and (names := work.store.deliveries.only_in_outbox()):
        click.echo(words.went_to_outbox(names), err=True)
    with Stop() as stop:
        report = work.morning(chosen, patience)
        operator.note(work, home, report, around.clock())
        stop.gently = True
        if patience is None:
            on_list = Audience(home, around.clock).has
            sent, turn_is_over = work.deliver(on_list, stopped=lambda: stop.asked, by_hand=True), False
        else:
            sent, turn_is_over = _sent_by_turns(work, home, stop, around)
    unfinished = work.store.deliveries.unfinished()
    if patience is None:  # else the log has it
        click.echo(words.a_morning(report, sent, [entry for entry in home.lists if entry.name in chosen]))
        if unfinished:
            click.echo(words.unfinished(unfinished, sent), err=True)
    elif unfinished:
        logger.info("%s", words.waiting(unfinished))
    operator.tell(work, home, report, sent, around.clock())
    if unfinished and turn_is_over and not stop.asked:
        return LETS_OTHERS_IN
    return 1 if report.due or unfinished else 0


def _sent_by_turns(work: App, home: Home, stop: Stop, around: Surroundings) -> tuple[delivery.Report, bool]:
    """Whether others were let in before all was sent comes with the report."""
    with Turn(home.settings.paperboy_database, home.lists, around.clock, around.timer) as turn:
        sent = work.deliver(Audience(home, around.clock).has, stopped=lambda: stop.asked or turn.over())
        return sent, turn.was_over


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


def _dry_run(work: App, home: Home, chosen: frozenset[str]) -> int:
    now = work.clock()
    lists = [entry for entry in home.lists if entry.subscribers]
    missing = work.look(lists, now).missing
    code = 0
    scorings = []
    for mailing_list in lists:
        if mailing_list.name not in chosen:
            continue
        day = due.local_date(mailing_list, now)
        if not due.is_open(mailing_list, day, work.store.days.outcome(mailing_list.name, day), by_hand=True):
            click.echo(f"{mailing_list.name}: done earlier today")
            continue
        try:
            papers, _ = work.drafter.candidates(mailing_list, now)
            scorings.append(work.drafter.gather(mailing_list, papers, now))
        except PaperboyError as error:
            click.echo(f"{mailing_list.name}: would stay due. {error}")
            code = 1
    work.drafter.score(scorings, now)
    for scoring in scorings:
        made = drafting.draft(work.drafter.material(scoring, now))
        click.echo(words.dry_run(scoring.mailing_list, made, missing))
        code = max(code, int(made.stays_due(missing)))
    return code
