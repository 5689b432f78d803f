"""`paperboy status`: the last mornings, list by list."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from paperboy import due
from paperboy.cli import words
from paperboy.cli.home import Home
from paperboy.cli.main import Surroundings
from paperboy.models import Cost, Counts, DaySummary, MailingList
from paperboy.store import Store


@click.command(name="status", short_help="The last mornings, list by list.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--mornings", default=3, show_default=True, type=click.IntRange(1), help="How many of each list.")
@click.pass_obj
def command(around: Surroundings, *, as_json: bool, mornings: int) -> int:
    """The last mornings, list by list: outcome, counts, cost, deliveries, and what happens next and when."""
    home = Home.load(around.home, around.environ)
    now = around.clock()
    names = [entry.name for entry in home.lists]
    days: tuple[DaySummary, ...] = ()
    month: Cost | None = Cost()
    troubles: dict[str, str] = {}
    if home.settings.paperboy_database.exists():
        with Store.open(home.settings.paperboy_database) as store:
            days = store.days.newest(names, 1 if as_json else mornings)
            month = store.scores.spent_since(_month_start(home, now)).cost
            troubles = {
                name: f"{reason} (last tried {at.astimezone(home.settings.timezone):%a %d %b %H:%M %Z})"
                for name, (reason, at) in store.days.troubles().items()
            }
    by_list = {name: [day for day in days if day.list_name == name] for name in names}
    if as_json:
        lists = [_as_json(entry, by_list[entry.name], now) for entry in home.lists]
        click.echo(json.dumps({"lists": lists, "month": {"cost": _dollars(month)}}, indent=2))
    else:
        terminal = Console()
        console = terminal if terminal.is_terminal else Console(width=200)
        with console.capture() as printed:
            console.print(_table(home, by_list))
        for line in printed.get().splitlines():
            click.echo(line.rstrip())
        click.echo()
        for line in _remarks(home, by_list, troubles, now):
            click.echo(line)
        click.echo(f"Spent this month: {words.money(month)}")
    return 0


def _month_start(home: Home, now: datetime) -> datetime:
    local = now.astimezone(home.settings.timezone)
    return local.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _next(mailing_list: MailingList, newest: DaySummary | None, now: datetime) -> datetime | None:
    """When the list's next digest may come; in the past: it is due. None: it has nobody to send to."""
    if not mailing_list.subscribers:
        return None
    today = due.local_date(mailing_list, now)
    if (newest is None or newest.date < today) and today.weekday() in mailing_list.weekdays:
        return due.begins(mailing_list, today).astimezone(mailing_list.timezone)
    return due.next_morning(mailing_list, max(now, due.begins(mailing_list, today))).astimezone(mailing_list.timezone)


def _as_json(mailing_list: MailingList, days: list[DaySummary], now: datetime) -> dict[str, Any]:
    newest = days[0] if days else None
    following = _next(mailing_list, newest, now)
    return {
        "name": mailing_list.name,
        "outcome": newest.outcome.value if newest else None,
        "date": newest.date.isoformat() if newest else None,
        "counts": _counts(newest.counts) if newest else None,
        "deliveries": {state.value: number for state, number in newest.deliveries.items()} if newest else {},
        "cost": _dollars(newest.spending.cost) if newest else None,
        "next": following.isoformat() if following else None,
    }


def _counts(counts: Counts) -> dict[str, int]:
    return {
        "considered": counts.considered,
        "scored": counts.scored,
        "carried_over": counts.carried_over,
        "let_go": counts.let_go,
        "author_matches": counts.author_matches,
        "selected": counts.selected,
        "over_cap": counts.over_cap,
        "below": counts.below,
    }


def _dollars(cost: Cost | None) -> float | None:
    """None: the price of some of it is unknown."""
    return None if cost is None else round(cost.total, 6)


def _table(home: Home, by_list: dict[str, list[DaySummary]]) -> Table:
    """Fits 80 columns with names of up to a dozen letters."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("List", "Date", "Outcome", "Papers", "Cost"):
        table.add_column(column, no_wrap=True)
    table.add_column("Deliveries", overflow="fold")
    for mailing_list in home.lists:
        days = by_list[mailing_list.name]
        if not days:
            table.add_row(mailing_list.name, "–", "none yet", "", "", "")
        for number, day in enumerate(days):
            counts = day.counts
            table.add_row(
                "" if number else mailing_list.name,
                f"{day.date:%a %d %b}",
                day.outcome.value,
                f"{counts.relevant} of {counts.considered}" if counts.considered else "",
                words.money(day.spending.cost, unknown="unknown") if day.spending.usage.calls else "",
                words.in_words(day.deliveries),
            )
    return table


def _remarks(home: Home, by_list: dict[str, list[DaySummary]], troubles: dict[str, str], now: datetime) -> list[str]:
    """Why a list is still due, what was odd about its newest day, and what comes next."""
    lines = []
    for mailing_list in home.lists:
        name, days = mailing_list.name, by_list[mailing_list.name]
        if name in troubles and mailing_list.subscribers:
            lines.append(f"{name}: {troubles[name]}")
        if days and days[0].reason:
            lines.append(f"{name}, {days[0].date:%a %d %b}: {days[0].reason}")
    for mailing_list in home.lists:
        following = _next(mailing_list, next(iter(by_list[mailing_list.name]), None), now)
        lines.append(f"Next for {mailing_list.name}: {_when(following, now)}")
    return lines


def _when(following: datetime | None, now: datetime) -> str:
    if following is None:
        return "never, it has no subscribers"
    return "due now" if following <= now else f"{following:%a %d %b %H:%M %Z}"
