"""`paperboy status`: did everyone get their mail today, and if not, why?"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable

import click
from rich.console import Console
from rich.table import Table

from paperboy import lock
from paperboy.cli import picture, status_json, status_tables, undelivered
from paperboy.cli.files import Files
from paperboy.cli.main import Surroundings
from paperboy.config.home import Home
from paperboy.models import Suppression
from paperboy.store import Store

_PIPED = 200  # columns of a table that nobody looks at


@click.command(name="status", short_help="Did everyone get their mail, and if not, why?")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--undelivered", "only_undelivered", is_flag=True, help="Everyone who lacks a digest, and why; no more.")
@click.option("--suppressed", is_flag=True, help="Who must not get mail, whatever the file says; no more.")
@click.option("--mornings", default=3, show_default=True, type=click.IntRange(1), help="How many of each list.")
@click.pass_obj
def command(around: Surroundings, *, as_json: bool, only_undelivered: bool, suppressed: bool, mornings: int) -> int:
    """Did everyone get their mail today, and if not, why? In one line, and then in detail: what is wrong, whom a digest
    did not reach, the last mornings with their counts, cost and deliveries, what happens next and when, and what each
    month cost. This works while the daemon runs.
    """
    if suppressed and only_undelivered:
        raise click.UsageError("--suppressed and --undelivered exclude each other.")
    home = _home(around)
    if suppressed:
        _suppressed(home, as_json=as_json)
        return 0
    seen = picture.look(home, around.clock(), 1 if as_json else mornings)
    if as_json:
        told = status_json.picture(seen)
        click.echo(json.dumps({"undelivered": told["undelivered"]} if only_undelivered else told, indent=2))
    elif only_undelivered:
        _say(_undelivered(seen, most=None) or ["Nobody lacks a digest."])
    else:
        _print(seen)
    return 0


def _home(around: Surroundings) -> Home:
    """The home as it is in force: while its files are broken, the daemon goes by the last good version of them."""
    home, broken = Files(around.home).home(around.environ)
    if broken:
        if lock.holder(home.settings.paperboy_database) is None:
            raise broken
        click.echo(f"{broken}\nThe version before stays in force until that is mended.\n", err=True)
    return home


def _print(seen: picture.Picture) -> None:
    """What is asked most comes first."""
    _say([click.style(seen.answer, bold=True), ""])
    for lines in (list(status_tables.why(seen)), _undelivered(seen)):
        if lines:
            _say([*lines, ""])
    _show(status_tables.mornings(seen))
    _show(status_tables.tokens(seen))
    _say([*status_tables.following(seen), "", *status_tables.spent(seen.months)])


def _undelivered(seen: picture.Picture, most: int | None = undelivered.MOST) -> list[str]:
    if not seen.lacks:
        return []
    zone = seen.home.settings.timezone
    return [click.style("Not delivered", bold=True), *undelivered.lines(seen.lacks, seen.now, zone, most)]


def _suppressed(home: Home, *, as_json: bool) -> None:
    found: tuple[Suppression, ...] = ()
    if home.settings.paperboy_database.exists():
        with Store.open(home.settings.paperboy_database) as store:
            found = store.suppressions.all()
    if as_json:
        click.echo(json.dumps(status_json.suppressed(found), indent=2))
        return
    _show(status_tables.suppressed(found, home.settings.timezone))
    if not found:
        click.echo("Nobody is suppressed.")


def _say(lines: Iterable[str]) -> None:
    """On a terminal, a line that is too long goes on below itself; elsewhere each stays whole, and easy to search."""
    terminal = Console()
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        wrapped = textwrap.wrap(line, terminal.width, subsequent_indent=indent, break_on_hyphens=False)
        click.echo("\n".join(wrapped) if terminal.is_terminal else line)


def _show(table: Table) -> None:
    """The table and an empty line; nothing of a table without rows."""
    if not table.row_count:
        return
    terminal = Console()
    console = terminal if terminal.is_terminal else Console(width=_PIPED)
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():
        click.echo(line.rstrip())
    click.echo()
