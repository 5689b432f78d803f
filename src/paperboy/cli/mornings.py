"""`paperboy demo`, `once` and `run`: a morning on a sample, now, and every day."""

import logging
import os
import signal
import sys
import tempfile
import webbrowser
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Self, get_args

import click

from paperboy import due, sample
from paperboy.edges import lock
from paperboy.errors import HomeBusyError, PaperboyError
from paperboy.home.versions import LISTS_FILE, Home
from paperboy.mail.text import counted
from paperboy.service import daemon, heartbeat, output, tasks
from paperboy.service.app import App
from paperboy.service.systemd import Notifier

logger = logging.getLogger(__name__)


@click.command()
@click.option("--open", "open_it", is_flag=True, help="Show the digests in the browser.")
@click.pass_obj
def demo(app: App, *, open_it: bool) -> None:
    """Run a whole morning on a bundled sample of invented papers.

    This needs no key, no server and no network: the embedded scorer ranks, and the mail goes to an
    outbox in a new folder. The home is left alone; the mails use the templates in its `emails/`, if
    it has any.
    """
    folder = Path(tempfile.mkdtemp(prefix="paperboy-demo-"))
    emails = app.path / "emails"
    (folder / LISTS_FILE).write_bytes(sample.LISTS.read_bytes())
    if emails.is_dir():
        (folder / "emails").symlink_to(emails.resolve())
    home = Home.load(folder, {})
    with app.at(home) as demo:
        demo.connect = lambda _: sample.SampleFeed()
        demo.prepare()
        report = demo.morning(home.named(()))
        sent = demo.deliver(lambda: False)
    output.say(*output.a_morning(report, sent, home.lists), "")
    output.say("The papers are invented, and no LLM judged them. The mail is in")
    outbox = home.settings.paperboy_outbox
    for mailing_list in home.lists:
        page = outbox / f"{mailing_list.name}.html"
        output.say(f"  {page}   (and .txt, .eml)")
        if open_it and not webbrowser.open(page.as_uri()):
            output.say("No browser could be opened.", err=True)
    output.say(f"  {outbox / 'Maildir'}   (every copy; read it with: mutt -f {outbox / 'Maildir'})")
    output.say("", "Next, make a home of your own, in a folder that you name:")
    output.say(f"  {output.program()} init FOLDER", verbatim=True)


@click.command()
@click.option(
    "--list",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this list, on any weekday; may be given several times.",
)
@click.option("--all", "all_lists", is_flag=True, help="All lists, on any weekday.")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Begin the lists named with the papers that were announced since then, at most ARXIV_LOOKBACK_DAYS ago; the "
    "cost is said first. For a list that is new, or comes back from a pause.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be sent, and send nothing. Scores are kept."
)
@click.pass_obj
def once(
    app: App, names: tuple[str, ...], *, all_lists: bool, since: datetime | None, dry_run: bool
) -> int:
    """Do what today owes, whatever the hour.

    This composes the digests that the lists of this weekday still miss, also those given up today,
    and delivers waiting mail. A second run that day sends nothing again. So cron may run it daily,
    or as often as it likes. A list named with --list is served whatever its weekdays; a paused one
    never is. A list that could not be served stays due, and the exit code is 1. While `run` works
    on a morning or a sending, this waits until it is done.
    """
    if names and all_lists:
        raise click.UsageError("--list and --all exclude each other.")
    if since and (dry_run or not names):
        raise click.UsageError("--since needs --list, and no --dry-run.")
    output.set_up(app)
    chosen = app.home.named(names)
    any_day = bool(names) or all_lists
    app.prepare()
    if dry_run:
        return _dry_run(app, chosen, any_day=any_day)
    _ = app.transports  # before anything is paid for: half a login is an error
    with Stop() as stop:
        with app.alone("morning"):
            report = app.morning(chosen, any_day=any_day, since=since.date() if since else None)
        with app.alone("sending"):
            stop.gently = True
            sent = app.deliver(stop, by_hand=True)
            left = output.not_sent(
                app.store.ledger.unfinished(), sent
            )  # before a resend that waits for this one
        try:
            with app.alone("tasks"):
                tasks.work(app, stop, by_hand=True)
        except PaperboyError as error:  # whether all goes well is not the morning's matter
            output.say(*output.lines_of(error), err=True)
        if not sent.problem:
            with app.alone("sending"):
                app.deliver_rest(stop)
    output.say(
        *output.a_morning(report, sent, [each for each in app.home.lists if each.name in chosen])
    )
    outbox = app.settings.paperboy_outbox
    if app.settings.uses_outbox and (outbox / "Maildir").exists():
        output.say(f"The mail is in {outbox}")
    output.say(*left, err=True)
    heartbeat.beat(app)
    return 1 if report.due or left else 0


def _dry_run(app: App, chosen: frozenset[str], *, any_day: bool) -> int:
    code = 0
    for name, (made, why) in app.previews("once").all(chosen, any_day=any_day).items():
        if made is None:
            output.say(f"{name}: {why}")
        else:
            output.say(*output.dry_run(app.home.list(name), made, why))
            code = code or int(not made.outcome(why))
    return code


@click.command()
@click.argument("kind", type=click.Choice(get_args(daemon.Kind)))
@click.argument("names", nargs=-1)
@click.pass_obj
def work(app: App, kind: daemon.Kind, names: tuple[str, ...]) -> int:
    """Do one piece of the daemon's work, on the version in force: a morning of these lists, a
    sending, or the trial of an edit. What fails goes to stdout, one a line, after the dots of
    progress.
    """
    try:
        if kind == "trial":
            from paperboy.service import trial

            trial.adopt(app)
            return 0
        app.home = Home.in_force(app.path, app.environ)
        app.progress = output.Dots(app.timer)
        output.set_up(app, by_hand=False)
        if kind != "tasks":
            app.prepare()
        with Stop() as stop, app.alone(kind, "run"):
            stop.gently = kind != "morning"
            if kind == "tasks":
                tasks.work(app, stop)
                return 0
            if kind == "morning":
                app.morning(names, app.patience)
                ended = "sending" not in app.due(app.clock())  # else one follows
            else:
                ended = bool(app.deliver(stop).states)
        if ended:
            heartbeat.beat(app)
    except PaperboyError as error:
        output.say("", *output.lines_of(error))
        return error.exit_code
    except Exception as error:
        output.say("", f"this is a bug in Paperboy: {error!r}; see the log")
        raise
    return 0


class Stop(ExitStack):
    """SIGTERM and Ctrl-C stop the work: before sending begins at once, and later after the current
    message.
    """

    asked = gently = False

    def __call__(self) -> bool:
        return self.asked

    def __enter__(self) -> Self:
        for number in (signal.SIGTERM, signal.SIGINT):
            self.callback(signal.signal, number, signal.signal(number, self._handle))
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
        os._exit(
            130 if signum == signal.SIGINT else 1
        )  # every commit stands; an ordinary exit would wait for the LLM


@click.command()
@click.pass_obj
def run(app: App) -> None:
    """Run the daemon: the same work every morning, until SIGTERM.

    Each list's work starts at its own hour. A missed morning is made up for at once. An edit of the
    home's files is in force within 25 seconds, or at once on SIGHUP, and applies from the next
    digest. A broken edit changes nothing: the last good version stays in force.
    """
    app.home, _ = Home.own_or_in_force(
        app.path, app.environ
    )  # the first trial reports broken files
    output.set_up(app, by_hand=False)
    notifier = Notifier(app.environ.get("NOTIFY_SOCKET", ""))
    try:
        with lock.held(app.settings.paperboy_database, "run", "run"):
            service = daemon.Daemon(app, notifier, partial(daemon.spawn, app.environ, app.path))
            service.adopted = partial(output.set_up, app, by_hand=False)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
                signal.signal(number, service.signalled)
            begins = [
                due.next_morning(each, app.clock()) for each in app.home.lists if each.is_active
            ]
            watches = f"Paperboy watches {counted(len(app.home.lists), 'list')} in {app.path}"
            if begins:
                watches += f"; next hour: {min(begins).astimezone(app.settings.timezone):%a %d %b %H:%M %Z}"
            logger.info("%s", watches)
            if sys.stderr.isatty():
                output.say(f"{watches}. Ctrl-C stops it.", err=True)
            service.run()
    except HomeBusyError:
        raise
    except PaperboyError as error:
        notifier.status(str(error))
        daemon.emergency(app, str(error))
        raise
