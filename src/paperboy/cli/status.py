"""`paperboy status`: the last mornings, list by list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from paperboy import due
from paperboy.cli import words
from paperboy.cli.home import Home
from paperboy.cli.main import Surroundings
from paperboy.models import Cost, Counts, DaySummary, MailingList, Outcome, Suppression, Usage
from paperboy.store import Store
from paperboy.store.scores import Month

_T = TypeVar("_T")
_NONE_SCORED = re.compile(r"scored 0 of (\d+): (.*)", re.DOTALL)  # as `morning.py` notes a trouble


@click.command(name="status", short_help="The last mornings, list by list.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--suppressed", is_flag=True, help="Who must not get mail, whatever the file says; nothing else.")
@click.option("--mornings", default=3, show_default=True, type=click.IntRange(1), help="How many of each list.")
@click.pass_obj
def command(around: Surroundings, *, as_json: bool, suppressed: bool, mornings: int) -> int:
    """The last mornings, list by list: outcome, counts, cost, deliveries, and what happens next and when; with the
    tokens of the newest ones, and what each month cost.
    """
    home = Home.load(around.home, around.environ)
    if suppressed:
        return _suppressed(home, as_json=as_json)
    now = around.clock()
    names = [entry.name for entry in home.lists]
    local = now.astimezone(home.settings.timezone)
    days: tuple[DaySummary, ...] = ()
    months: tuple[Month, ...] = (Month(local.date().replace(day=1)),)
    troubles: dict[str, tuple[str, datetime]] = {}
    if home.settings.paperboy_database.exists():
        with Store.open(home.settings.paperboy_database) as store:
            days = store.days.newest(names, 1 if as_json else mornings)
            months = store.scores.months(local)
            standing = store.days.troubles()
            troubles = {
                entry.name: standing[entry.name] for entry in home.lists if entry.subscribers and entry.name in standing
            }
    by_list = {name: [day for day in days if day.list_name == name] for name in names}
    if as_json:
        lists = [_as_json(entry, by_list[entry.name], troubles.get(entry.name), now) for entry in home.lists]
        click.echo(json.dumps({"lists": lists, **_months_as_json(months)}, indent=2))
    else:
        newest = [by_list[name][0] for name in names if by_list[name]]
        _print(_table(home, by_list))
        _print(_tokens([day for day in newest if day.spending.usage.calls]))
        click.echo("\n".join([*_remarks(home, by_list, troubles, now), "", *_spent(months)]))
    return 0


def _suppressed(home: Home, *, as_json: bool) -> int:
    """Who must not get mail. In JSON, a list that is null stands for all lists."""
    found: tuple[Suppression, ...] = ()
    if home.settings.paperboy_database.exists():
        with Store.open(home.settings.paperboy_database) as store:
            found = store.suppressions.all()
    if as_json:
        each = [
            {"address": one.address, "list": one.list_name or None, "since": one.at.isoformat(), "reason": one.reason}
            for one in found
        ]
        click.echo(json.dumps({"suppressed": each}, indent=2))
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("Address", "List", "Since"):
        table.add_column(column, no_wrap=True)
    table.add_column("Why", overflow="fold")
    for one in found:
        since = f"{one.at.astimezone(home.settings.timezone):%a %d %b %Y}"
        table.add_row(escape(one.address), one.list_name or "all", since, escape(one.reason))
    _print(table)
    if not found:
        click.echo("Nobody is suppressed.")
    return 0


def _print(table: Table) -> None:
    """The table and an empty line; nothing of a table without rows."""
    if not table.row_count:
        return
    terminal = Console()
    console = terminal if terminal.is_terminal else Console(width=200)
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():
        click.echo(line.rstrip())
    click.echo()


def _next(mailing_list: MailingList, newest: DaySummary | None, now: datetime) -> datetime | None:
    """When the list's next digest may come; in the past: it is due. None: it has nobody to send to."""
    if not mailing_list.subscribers:
        return None
    today = due.local_date(mailing_list, now)
    if (newest is None or newest.date < today) and today.weekday() in mailing_list.weekdays:
        return due.begins(mailing_list, today).astimezone(mailing_list.timezone)
    return due.next_morning(mailing_list, max(now, due.begins(mailing_list, today))).astimezone(mailing_list.timezone)


def _as_json(
    mailing_list: MailingList, days: list[DaySummary], trouble: tuple[str, datetime] | None, now: datetime
) -> dict[str, Any]:
    newest = days[0] if days else None
    following = _next(mailing_list, newest, now)
    return {
        "name": mailing_list.name,
        "outcome": newest.outcome.value if newest else None,
        "date": newest.date.isoformat() if newest else None,
        "reason": newest.reason if newest else "",
        "trouble": {"reason": trouble[0], "at": trouble[1].isoformat()} if trouble else None,
        "counts": _counts(newest.counts) if newest else None,
        "deliveries": {state.value: number for state, number in newest.deliveries.items()} if newest else {},
        "cost": _dollars(newest.spending.cost) if newest else None,
        "usage": _usage(newest.spending.usage) if newest else None,
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


def _usage(usage: Usage) -> dict[str, int | None]:
    """Tokens are None where the server counts none."""
    tokens = {
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "completion_tokens": usage.completion_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }
    return {"calls": usage.calls, **(dict.fromkeys(tokens) if words.uncounted(usage) else tokens)}


def _months_as_json(months: Sequence[Month]) -> dict[str, Any]:
    """`month` is the first of `months`, which is the one of today."""
    each = [
        {"month": f"{month.first:%Y-%m}", "cost": _dollars(month.spending.cost), "usage": _usage(month.spending.usage)}
        for month in months
    ]
    return {"month": {"cost": each[0]["cost"], "usage": each[0]["usage"]}, "months": each}


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
            table.add_row(
                "" if number else mailing_list.name,
                f"{day.date:%a %d %b}",
                day.outcome.value,
                _papers(day),
                words.money(day.spending.cost, unknown="unknown") if day.spending.usage.calls else "",
                words.in_words(day.deliveries),
            )
    return table


def _papers(day: DaySummary) -> str:
    """How many were relevant; and what tells a morning on which none was from one that could not be scored."""
    counts = day.counts
    if not counts.considered:
        return ""
    if day.outcome is Outcome.GAVE_UP:
        return f"{counts.scored} of {counts.considered} scored"
    unscored = counts.considered - counts.scored
    return f"{counts.relevant} of {counts.considered}" + (f", {unscored} unscored" if unscored else "")


def _tokens(days: Sequence[DaySummary]) -> Table:
    """What the LLM was sent and what it sent back, a row for each day. What is in lower case is a part of what stands
    before it. Fits 80 columns, too; there, of a long name of a model only the beginning is seen.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Tokens", no_wrap=True)
    for column in ("Calls", "Prompt", "cached", "written", "Completion", "reasoning"):
        table.add_column(column, no_wrap=True, justify="right")
    table.add_column("Model", overflow="ellipsis")
    for day in days:
        usage = day.spending.usage
        tokens = (
            usage.prompt_tokens,
            usage.cached_tokens,
            usage.cache_write_tokens,
            usage.completion_tokens,
            usage.reasoning_tokens,
        )
        shown = ["not counted", "", "", "", ""] if words.uncounted(usage) else [f"{number:,}" for number in tokens]
        table.add_row(day.list_name, f"{usage.calls:,}", *shown, day.model)
    return table


def _spent(months: Sequence[Month]) -> list[str]:
    """A line for each month, its dollars and tokens below those of the others."""
    rows = [(f"Spent in {month.first:%B %Y}", *_dollars_and_tokens(month)) for month in months]
    label, dollars, tokens = (max(len(row[column]) for row in rows) for column in range(3))
    return [
        f"{row[0]:{label}}  {row[1]:>{dollars}}  {row[2]:>{tokens}}"
        + (", and some calls of unknown price" if month.spending.cost is None and month.dollars else "")
        for month, row in zip(months, rows, strict=True)
    ]


def _dollars_and_tokens(month: Month) -> tuple[str, str]:
    usage, cost = month.spending.usage, month.spending.cost
    uncounted = words.uncounted(usage)
    tokens = "tokens not counted" if uncounted else f"{usage.total_tokens:,} tokens"
    if cost is None and month.dollars:
        return f"at least {words.money(Cost(month.dollars))}", tokens
    return words.money(cost, "not known" if uncounted else words.UNPRICED), tokens


def _remarks(
    home: Home,
    by_list: dict[str, list[DaySummary]],
    troubles: Mapping[str, tuple[str, datetime]],
    now: datetime,
) -> Iterator[str]:
    """Why lists are still due, what was odd about their newest days, and what comes next. What is the same for several
    of them is said once.
    """
    yield from _troubles(troubles, home.settings.timezone)
    newest = {name: days[0] for name, days in by_list.items() if days}
    odd = {name: (day.date, day.reason) for name, day in newest.items() if day.reason}
    for (date, reason), names in _alike(odd):
        yield f"{words.together(names)}, {date:%a %d %b}: {reason}"
    following = {entry.name: _when(_next(entry, newest.get(entry.name), now), now) for entry in home.lists}
    for when, names in _alike(following):
        yield f"Next for {words.together(names)}: {when}"


def _troubles(troubles: Mapping[str, tuple[str, datetime]], zone: tzinfo) -> Iterator[str]:
    """Lists that one trouble left without a score are one line, with the papers of all."""
    unscored: dict[str, int] = {}
    said = {}
    for name, (reason, at) in troubles.items():
        if of := _NONE_SCORED.fullmatch(reason):
            unscored[name] = int(of[1])
        said[name] = (name in unscored, of[2] if of else reason, f"{at.astimezone(zone):%a %d %b %H:%M %Z}")
    for (none_scored, reason, tried), names in _alike(said):
        zero = f"scored 0 of {sum(unscored[name] for name in names)}: " if none_scored else ""
        yield f"{words.together(names)}: {zero}{reason} (last tried {tried})"


def _alike(said: Mapping[str, _T]) -> Iterable[tuple[_T, list[str]]]:
    """What is said of lists, each once, with their names."""
    groups: dict[_T, list[str]] = {}
    for name, what in said.items():
        groups.setdefault(what, []).append(name)
    return groups.items()


def _when(following: datetime | None, now: datetime) -> str:
    if following is None:
        return "never, it has no subscribers"
    return "due now" if following <= now else f"{following:%a %d %b %H:%M %Z}"
