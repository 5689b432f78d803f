"""`paperboy demo`, `once` and `run`: a morning on a sample, now, and every day."""

import json
import logging
import os
import signal
import sys
import tempfile
import webbrowser
from contextlib import ExitStack, suppress
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Self, get_args

import click

from paperboy import sample
from paperboy.console import words
from paperboy.console.lines import program, say
from paperboy.console.progress import Dots
from paperboy.console.words import a_morning, not_sent
from paperboy.edges import lock
from paperboy.edges.text import counted
from paperboy.errors import HomeBusyError, PaperboyError, Problem
from paperboy.home.home import Home
from paperboy.home.lists import LISTS_FILE
from paperboy.service import daemon, heartbeat, soundness, tasks
from paperboy.service.app import App
from paperboy.service.soundness import Stops
from paperboy.service.systemd import Notifier

logger = logging.getLogger(__name__)


@click.command()
@click.option("--open", "open_it", is_flag=True, help="Open the digests in the browser.")
@click.pass_obj
def demo(app: App, *, open_it: bool) -> None:
    """Run a whole morning on a bundled sample of invented papers.

    This needs no key, no server and no network: the embedded scorer ranks the papers, and the mail
    goes to an outbox in a new folder. It does not touch your home, but uses the templates in its
    emails/ if there are any.
    """
    folder = Path(tempfile.mkdtemp(prefix="paperboy-demo-"))
    (folder / LISTS_FILE).write_bytes(sample.LISTS.read_bytes())
    emails = app.path / "emails"
    if emails.is_dir():
        (folder / "emails").symlink_to(emails.resolve())

    home = Home.load(folder, {})
    with app.at(home) as demo:
        demo.connect = lambda _: sample.SampleFeed()
        soundness.require(demo)
        report = demo.morning(home.named(()))
        sent = demo.deliver(lambda: False)

    say(*a_morning(report, sent), "")
    say("The papers are invented, and no LLM judged them. The mail is in")
    outbox = home.settings.paperboy_outbox
    for mailing_list in home.lists:
        page = outbox / f"{mailing_list.name}.html"
        say(f"  {page}   (and .txt, .eml)")
        if open_it:
            webbrowser.open(page.as_uri())

    say(f"  {outbox / 'Maildir'}   (every copy; read it with: mutt -f {outbox / 'Maildir'})")
    say("", "Next, make a home of your own, in a folder that you name:")
    say(f"  {program()} init FOLDER")


@click.command()
@click.option(
    "--list",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this list, on any weekday; may be given more than once.",
)
@click.option("--all", "all_lists", is_flag=True, help="All lists, on any weekday.")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="Begin with the papers announced since this date, at most ARXIV_LOOKBACK_DAYS ago. Needs --list: for a list "
    "that is new, or comes back from a pause. The cost is announced first.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be sent, but send nothing. Scores are kept."
)
@click.pass_obj
def once(
    app: App, names: tuple[str, ...], *, all_lists: bool, since: datetime | None, dry_run: bool
) -> int:
    """Deliver today's digests now, whatever the hour.

    This composes the digests that are missing for this weekday, including those given up earlier today,
    and delivers all waiting mail. A second run on the same day sends nothing twice, so cron may run
    it as often as you like. A list named with --list is served on any weekday, a paused list never.
    A list that could not be served stays due, and the exit code is 1. While the daemon composes or
    sends, this waits until it is done.
    """
    if names and all_lists:
        raise click.UsageError("--list and --all exclude each other.")
    if since and (dry_run or not names):
        raise click.UsageError("--since needs --list, and no --dry-run.")

    app.set_up_log()
    chosen = app.home.named(names)
    any_day = bool(names) or all_lists
    soundness.require(app, Stops.MORNINGS if dry_run else Stops.SENDING)
    if dry_run:
        return _dry_run(app, chosen, any_day=any_day)

    with Stop() as stop:
        with app.alone("morning"):
            chosen = app.home.named(names)
            report = app.morning(chosen, any_day=any_day, since=since.date() if since else None)

        with app.alone("sending"):
            stop.gently = True
            sent = app.deliver(stop, by_hand=True)
            # Counted here, before a `resend` that waits for the lock adds more.
            left = not_sent(app.store.ledger.unfinished(), sent)

        try:
            with app.alone("tasks"):
                tasks.work(app, stop, by_hand=True)
        except PaperboyError as error:  # a failed task is no failure of the morning
            say(*map(str, error.problems), err=True)

        if not sent.problem:
            with app.alone("sending"):
                app.deliver_rest(stop)

    say(*a_morning(report, sent))
    outbox = app.settings.paperboy_outbox
    if app.settings.uses_outbox and (outbox / "Maildir").exists():
        say(f"The mail is in {outbox}")

    say(*left, err=True)
    heartbeat.beat(app)
    return 1 if report.due or left else 0


def _dry_run(app: App, chosen: frozenset[str], *, any_day: bool) -> int:
    code = 0
    drafts = app.previews("once").all(chosen, any_day=any_day)
    for name, (draft, why) in drafts.items():
        if draft is None:
            say(f"{name}: {why}")
            continue
        say(*words.dry_run(app.home.list(name), draft, why))
        if not draft.outcome(why):
            code = 1
    return code


@click.command()
@click.argument("kind", type=click.Choice(get_args(daemon.Kind)))
@click.argument("names", nargs=-1)
@click.pass_obj
def work(app: App, kind: daemon.Kind, names: tuple[str, ...]) -> int:
    """Do one job of the daemon in a child process, with the files in force.

    Failures go to stdout, a line of JSON each, after the dots of progress.
    """
    try:
        if kind == "trial":
            from paperboy.service import trial

            trial.adopt(app)
            return 0

        app.home = Home.in_force(app.path, app.environ)
        app.progress = Dots()
        app.set_up_log(by_hand=False)
        if kind != "tasks":
            soundness.require(app)

        with Stop() as stop, app.alone(kind, "run"):
            stop.gently = kind != "morning"
            if kind == "tasks":
                tasks.work(app, stop)
                return 0
            if kind == "morning":
                app.morning(names, app.patience)
                is_over = "sending" not in app.due(app.clock())  # else a sending follows
            else:
                is_over = bool(app.deliver(stop).states)
        if is_over:
            heartbeat.beat(app)
    except PaperboyError as error:
        say("", *(json.dumps(asdict(problem)) for problem in error.problems))
        return error.exit_code
    except Exception as error:
        problem = Problem("", f"this is a bug in Paperboy: {error!r}; see the log")
        say("", json.dumps(asdict(problem)))
        raise
    return 0


class Stop(ExitStack):
    """Handler of SIGTERM and Ctrl-C: stops at once or, if `gently`, after the current message."""

    asked = False
    gently = False

    def __call__(self) -> bool:
        """Return whether the work has to stop."""
        return self.asked

    def __enter__(self) -> Self:
        for number in (signal.SIGTERM, signal.SIGINT):
            before = signal.signal(number, self._handle)
            self.callback(signal.signal, number, before)
        return self

    def _handle(self, signum: int, _frame: FrameType | None) -> None:
        if self.gently:
            self.asked = True
            with suppress(OSError):  # stderr may be full, or gone
                os.write(2, b"Stopping after the current message.\n")
            return

        with suppress(OSError):
            if os.isatty(2):
                os.write(2, b"\x1b[?25h\n")  # the bars hide the cursor
            os.write(2, b"Stopped before sending began; nothing is lost.\n")

        # All commits stand, and an ordinary exit would wait for the LLM.
        os._exit(130 if signum == signal.SIGINT else 1)


@click.command()
@click.pass_obj
def run(app: App) -> None:
    """Run the daemon, which delivers every list's digest each morning, until SIGTERM.

    Each list's morning starts at its own hour; a missed one is made up for at once. Edits of your
    files are in force within 25 seconds, or at once on SIGHUP, and apply from the next digest. If
    an edit is broken, the last good version stays in force.
    """
    # The first trial reports broken files.
    app.home, _ = Home.own_or_in_force(app.path, app.environ)
    app.set_up_log(by_hand=False)
    notifier = Notifier(app.environ.get("NOTIFY_SOCKET", ""))
    try:
        with lock.held(app.settings.paperboy_database, "run", "run"):
            service = daemon.Daemon(app, notifier, partial(daemon.spawn, app.environ, app.path))
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
                signal.signal(number, service.signalled)

            watches = f"Paperboy watches {counted(len(app.home.lists), 'list')} in {app.path}"
            logger.info("%s", watches)
            if sys.stderr.isatty():
                say(f"{watches}. Ctrl-C stops it.", err=True)
            service.run()
    except HomeBusyError:
        raise
    except PaperboyError as error:
        notifier.status(str(error))
        daemon.emergency(app, str(error))
        raise
