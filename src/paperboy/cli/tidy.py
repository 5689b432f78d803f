"""The daemon's child that keeps the database small, when no morning is near."""

from __future__ import annotations

import logging
import shutil
from datetime import timedelta
from functools import partial
from pathlib import Path

import click
from rich.console import Console

from paperboy import lock
from paperboy.cli import logs, words
from paperboy.cli.main import Surroundings
from paperboy.config.home import Home
from paperboy.errors import StoreWriteError
from paperboy.store import Store
from paperboy.store.growth import Growth, Size, Thinned

logger = logging.getLogger(__name__)

_PAUSE = 0.02  # seconds between two small transactions: long enough for a command that waits to notice
_WORTH_IT = 0.2  # of the database, and
_AT_LEAST = 10_000_000  # bytes: so much has to be free in it before it is written anew


@click.command(name="tidy", hidden=True, short_help="Keeps the database small; the daemon asks.")
@click.pass_obj
def command(around: Surroundings) -> int:
    """Takes out of the database what is older than KEEP_DAYS, and gives the disk back what that leaves free.

    What lists have seen stays for ever, so nothing is sent twice. Safe to stop at any moment.
    """
    home = Home.load(around.home, around.environ)
    console = Console(stderr=True)
    logs.set_up(home.settings.log_level, around.environ, console)
    database = home.settings.paperboy_database
    if not database.exists():
        click.echo(f"{database}: there is no database yet; the first morning makes it", err=True)
        return 0
    begun = around.timer()
    with lock.held(database, "morning", "tidy", logger.info), Store.open(database) as store:
        growth = store.growth
        before = growth.size()
        thinned = growth.thin(timedelta(days=home.settings.keep_days), around.clock(), partial(around.wait, _PAUSE))
        growth.optimize()
        compacted = compact(growth, database, shutil.disk_usage(database.parent).free)
        growth.checkpoint()
        done = _in_words(thinned, before, growth.size(), compacted=compacted, seconds=around.timer() - begun)
    logger.info("%s", done)
    if console.is_terminal:
        click.echo(done, err=True)
    return 0


def compact(growth: Growth, database: Path, room: int) -> bool:
    """Writes the database anew where that pays and the disk has room, in bytes, for two more of it, as SQLite may
    need. Says whether it did.
    """
    size = growth.size()
    if size.free <= max(_AT_LEAST, _WORTH_IT * size.whole):
        return False
    needed = 2 * (size.whole - size.free)
    if needed > room:
        logger.warning(
            "%s: of its %s, %s are empty; writing it anew would give them back, but needs %s of disk, and %s are free",
            *(database, *map(_megabytes, (size.whole, size.free, needed, room))),
        )
        return False
    try:
        growth.compact()
    except StoreWriteError as error:
        logger.warning("the database could not be written anew, and stays as it is: %s", error)
        return False
    return True


def _in_words(thinned: Thinned, before: Size, after: Size, *, compacted: bool, seconds: float) -> str:
    gone = [
        words.counted(number, *nouns)
        for number, nouns in (
            (thinned.papers, ("paper", "papers")),
            (thinned.scores, ("score", "scores")),
            (thinned.digests, ("digest", "digests")),
            (thinned.deliveries, ("delivery", "deliveries")),
            (thinned.abstracts, ("abstract", "abstracts")),
        )
        if number
    ]
    anew = ", written anew" if compacted else ""
    return (
        f"the database is tidy: {', '.join(gone) or 'nothing'} taken out; {_megabytes(before.whole)} before, "
        f"{_megabytes(after.whole)} now{anew}, {_megabytes(after.free)} of them free; {seconds:.1f} s"
    )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
