"""`paperboy run`: the daemon."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console

from paperboy import due
from paperboy.cli import lock, logs, words
from paperboy.cli.home import LISTS_FILE, Home
from paperboy.cli.main import Surroundings
from paperboy.daemon import Daemon
from paperboy.errors import ConfigError
from paperboy.models import Problem
from paperboy.store import Store

logger = logging.getLogger(__name__)


@click.command(name="run", short_help="The daemon.")
@click.pass_obj
def command(around: Surroundings) -> int:
    """The daemon: this morning's work, every morning, until SIGTERM.

    Each list's work starts at its own hour. A morning that was missed is made up for at once. An edit of
    subscribers.yaml is picked up without a restart; while a broken one stands, no morning begins.
    """
    home = Home.load(around.home, around.environ)
    console = Console(stderr=True)
    logs.set_up(home.settings.log_level, around.environ, console)
    database = home.settings.paperboy_database
    with lock.held(database, around.environ, "run") as descriptor, Store.open(database) as store:
        if not home.settings.uses_outbox and (names := store.deliveries.only_in_outbox()):
            logger.info("%s", words.went_to_outbox(names))
        daemon = Daemon(
            has_work=Watch(around, home, store).has_work,
            start=lambda: _child(around, descriptor),
            clock=around.clock,
        )
        signal.signal(signal.SIGTERM, daemon.stop)
        signal.signal(signal.SIGINT, daemon.stop)
        logger.info("Paperboy watches %d lists in %s", len(home.lists), home.path)
        if console.is_terminal:
            click.echo(f"Watching {len(home.lists)} lists in {home.path}. Ctrl-C ends.", err=True)
        daemon.run()
    return 0


class Watch:
    """Knows the lists as they are now, and whether any of them, or a delivery, waits."""

    def __init__(self, around: Surroundings, home: Home, store: Store) -> None:
        self._around, self._home, self._store = around, home, store
        self._files: object = None
        self._complaint = ""

    def has_work(self, now: datetime) -> bool:
        """Whether a morning should begin now. Never while a file is broken: the morning could not read it either."""
        self._reload()
        if self._complaint:
            return False
        next_try = self._store.deliveries.next_try()
        return bool(due.due(self._home.lists, self._store.days.outcome, now)) or (
            next_try is not None and next_try <= now
        )

    def _reload(self) -> None:
        files = _stamps(self._around.home)
        if files == self._files and not self._complaint:  # what was broken may be mended without a new time stamp
            return
        self._files = files
        try:
            home = Home.load(self._around.home, self._around.environ)
            if home.settings.paperboy_database != self._home.settings.paperboy_database:
                raise ConfigError([Problem(".env", "PAPERBOY_DATABASE has changed; restart Paperboy to use it")])
        except ConfigError as error:
            if str(error) != self._complaint:
                logger.error("%s\nno morning begins until that is mended", error)
            self._complaint = str(error)
            return
        if self._complaint:
            logger.info("the home's files are in order again")
        self._home, self._complaint = home, ""


def _stamps(home: Path) -> list[tuple[str, int, int]]:
    """When each of the files that decide about lists and settings was last written, and its size."""
    files = [home / ".env", home / LISTS_FILE, *sorted((home / "prompts").rglob("*.md"))]
    found = [(str(file), file.stat()) for file in files if file.is_file()]
    return [(name, stat.st_mtime_ns, stat.st_size) for name, stat in found]


def _child(around: Surroundings, descriptor: int) -> subprocess.Popen[bytes]:
    """The morning's process. It holds the home by the daemon's own lock, also if the daemon dies."""
    return subprocess.Popen(
        [sys.executable, "-m", "paperboy", "--home", str(around.home), "once", "--scheduled"],
        pass_fds=[descriptor],
        env={**os.environ, **around.environ, lock.INHERITED: str(descriptor)},
    )
