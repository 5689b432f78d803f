"""`paperboy run`: the daemon."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from datetime import datetime

import click
from rich.console import Console

from paperboy import due
from paperboy.cli import lock, logs
from paperboy.cli.home import Home
from paperboy.cli.main import Surroundings
from paperboy.daemon import Daemon
from paperboy.errors import ConfigError
from paperboy.store import Store

logger = logging.getLogger(__name__)


@click.command(name="run", short_help="The daemon.")
@click.pass_obj
def command(around: Surroundings) -> int:
    """The daemon: this morning's work, every morning, until SIGTERM.

    Each list's work starts at its own hour. A morning that was missed is made up for at once. An edit of
    subscribers.yaml is picked up without a restart; while a broken one stands, the last good one decides who is due.
    """
    home = Home.load(around.home, around.environ)
    logs.set_up(home.settings.log_level, around.environ, Console(stderr=True))
    database = home.settings.paperboy_database
    with lock.held(database, around.environ) as descriptor, Store.open(database) as store:
        daemon = Daemon(
            has_work=Watch(around, home, store).has_work,
            start=lambda: _child(around, descriptor),
            clock=around.clock,
        )
        signal.signal(signal.SIGTERM, daemon.stop)
        signal.signal(signal.SIGINT, daemon.stop)
        logger.info("Paperboy watches %d lists in %s", len(home.lists), home.path)
        daemon.run()
    return 0


class Watch:
    """Knows the lists as they are now, and whether any of them, or a delivery, waits."""

    def __init__(self, around: Surroundings, home: Home, store: Store) -> None:
        self._around, self._home, self._store = around, home, store
        self._complaint = ""

    def has_work(self, now: datetime) -> bool:
        """Whether a morning should begin now."""
        self._reload()
        next_try = self._store.deliveries.next_try()
        return bool(due.due(self._home.lists, self._store.days.outcome, now)) or (
            next_try is not None and next_try <= now
        )

    def _reload(self) -> None:
        try:
            self._home = Home.load(self._around.home, self._around.environ)
        except ConfigError as error:
            if str(error) != self._complaint:
                logger.error("%s\nthe last good version stays in force", error)
            self._complaint = str(error)
            return
        if self._complaint:
            logger.info("the home's files are in order again")
        self._complaint = ""


def _child(around: Surroundings, descriptor: int) -> subprocess.Popen[bytes]:
    """The morning's process. It holds the home by the daemon's own lock, also if the daemon dies."""
    return subprocess.Popen(
        [sys.executable, "-m", "paperboy", "--home", str(around.home), "once", "--scheduled"],
        pass_fds=[descriptor],
        env={**os.environ, **around.environ, lock.INHERITED: str(descriptor)},
    )
