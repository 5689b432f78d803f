"""`paperboy run`: the daemon."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import click

from paperboy import alerts, lock
from paperboy.cli import last_words, logs, operator, words
from paperboy.cli.files import Files
from paperboy.cli.main import Surroundings
from paperboy.cli.progress import PROGRESS
from paperboy.cli.watch import Watch
from paperboy.config.home import Home
from paperboy.config.settings import Settings
from paperboy.daemon import TICK_SECONDS, Daemon
from paperboy.errors import ConfigError, HomeBusyError, PaperboyError
from paperboy.mail.text import one_line
from paperboy.privacy import without_addresses
from paperboy.store import Store
from paperboy.systemd import ENVIRONMENT, Notifier

if TYPE_CHECKING:
    from rich.console import Console

logger = logging.getLogger(__name__)


@click.command(name="run", short_help="The daemon.")
@click.pass_obj
def command(around: Surroundings) -> int:
    """The daemon: this morning's work, every morning, until SIGTERM.

    Each list's work starts at its own hour. A morning that was missed is made up for at once. An edit of the home's
    files is tried within a minute, and at once on SIGHUP, and used from the next digest; while a broken one stands, the
    last good version stays in force.
    """
    console = _console()

    def log_by(home: Home) -> None:
        logs.set_up(home.settings.log_level, around.environ, console)

    logs.set_up(Settings().log_level, around.environ, console)
    files = Files(around.home)
    with suppress(OSError):  # it is told by the first trial
        files.prepare()
    home, broken = files.home(around.environ)
    log_by(home)
    if broken:
        logger.error("%s\nthe version before stays in force until that is mended", broken)
    try:
        return _watch(around, home, files, console, log_by)
    except HomeBusyError:
        raise
    except PaperboyError as error:
        Notifier.of(around.environ, os.getpid()).status(without_addresses(one_line(str(error))))
        last_words.tell(home, str(error), around.clock())
        raise


def _watch(
    around: Surroundings, home: Home, files: Files, console: Console | None, log_by: Callable[[Home], None]
) -> int:
    """Until it is told to stop."""
    settings = home.settings
    database = settings.paperboy_database
    with lock.held(database, "run", "run"), Store.open(database, check=True) as store:
        watch = Watch(around, home, store, files, partial(spawn, around), log_by)
        notifier = Notifier.of(around.environ, os.getpid())
        seconds = int(min(TICK_SECONDS, notifier.feed_every or TICK_SECONDS))
        daemon = Daemon(watch, notifier, around.clock, around.timer, tick_seconds=max(1, seconds))
        signal.signal(signal.SIGHUP, daemon.reload)
        problems = watch.try_at_once(around.clock())  # a SIGTERM that comes meanwhile just ends it
        if problems and (not files.good.is_dir() or watch.home.settings.paperboy_database != database):
            raise ConfigError(problems)
        if last_words.forget(home):
            operator.note_one(store.alerts, alerts.begun_again(), settings.timezone, around.clock())
        if not settings.uses_outbox and (names := store.deliveries.only_in_outbox()):
            logger.info("%s", words.went_to_outbox(names))
        signal.signal(signal.SIGTERM, daemon.stop)
        signal.signal(signal.SIGINT, daemon.stop)
        signal.signal(signal.SIGCHLD, daemon.wake)
        number = words.counted(len(watch.home.lists), "list", "lists")
        logger.info("Paperboy watches %s in %s", number, home.path)
        if console is not None:
            click.echo(f"Watching {number} in {home.path}. Ctrl-C ends.", err=True)
        notifier.ready()
        daemon.run()
    return 0


def _console() -> Console | None:
    """For a terminal; None where nobody looks."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console

    return Console(stderr=True)


class _Process:
    """A child with a pipe by which it says that it gets on."""

    def __init__(self, process: subprocess.Popen[bytes], reader: int) -> None:
        self._process, self._reader = process, reader
        os.set_blocking(reader, False)

    def __del__(self) -> None:
        os.close(self._reader)

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.poll()

    def progressed(self) -> bool:
        try:
            return bool(os.read(self._reader, 65_536))
        except BlockingIOError:
            return False

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout: float | None = None) -> int:
        return self._process.wait(timeout)


def spawn(around: Surroundings, arguments: Sequence[str], more: Mapping[str, str]) -> _Process:
    """A child has locks of its own. It is not who systemd watches."""
    reader, writer = os.pipe()
    environ = {name: value for name, value in {**os.environ, **around.environ}.items() if name not in ENVIRONMENT}
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "paperboy", "--home", str(around.home), *arguments],
            pass_fds=[writer],
            env={**environ, **more, PROGRESS: str(writer)},
        )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    return _Process(process, reader)
