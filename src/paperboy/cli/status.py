"""`paperboy status`: did everyone get their mail today, and if not, why?"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, astuple, dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from paperboy import alerts, lock
from paperboy import status as picture
from paperboy.app import App
from paperboy.cli import output
from paperboy.config.home import Home
from paperboy.config.settings import Settings
from paperboy.mail.text import one_line
from paperboy.models import Cost, DeliveryState, Outcome, Spending, Suppression
from paperboy.status import NONE_SCORED, RESENT_FOR, ListStatus, Status, moment, together
from paperboy.store import Store
from paperboy.store.alerts import Kept
from paperboy.store.history import DaySummary, Month, Undelivered

_PIPED = 200  # columns of a table that nobody looks at
_SOME = 5  # groups of those who lack a digest, and addresses of each, unless all are asked for
_NOT_TRIED = {
    DeliveryState.PENDING: "not tried yet",
    DeliveryState.SENDING: "being sent; or a crash cut it off, and the next run sends it again",
    DeliveryState.AMBIGUOUS: "the connection was lost after the whole mail was handed over",
}


@click.command(name="status", short_help="Did everyone get their mail, and if not, why?")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--undelivered", "only_undelivered", is_flag=True, help="Everyone who lacks a digest, and why; no more.")
@click.option("--suppressed", is_flag=True, help="Who must not get mail, whatever the file says; no more.")
@click.option("--mornings", default=3, show_default=True, type=click.IntRange(1), help="How many of each list.")
@click.pass_obj
def status(app: App, *, as_json: bool, only_undelivered: bool, suppressed: bool, mornings: int) -> int:
    """Did everyone get their mail today, and if not, why? In one line, and then in detail: what is wrong, whom a digest
    did not reach, the last mornings with their counts, cost and deliveries, what happens next and when, and what each
    month cost. This works while the daemon runs.
    """
    if suppressed and only_undelivered:
        raise click.UsageError("--suppressed and --undelivered exclude each other.")
    home = _home(app)
    if suppressed:
        _suppressed(home, as_json=as_json)
        return 0
    seen = _look(home, app.clock(), 1 if as_json else mornings)
    if as_json:
        undelivered = {"undelivered": [_lack(row, seen.now) for row in seen.status.undelivered]}
        click.echo(json.dumps(undelivered if only_undelivered else _as_json(seen) | undelivered, indent=2))
    elif only_undelivered:
        _say(_not_delivered(seen, most=None) or ["Nobody lacks a digest."])
    else:
        _print(seen)
    return 0


def _home(app: App) -> Home:
    """The home as it is in force: while its files are broken, the daemon goes by the last good version of them."""
    home, broken = Home.own_or_in_force(app.path, app.environ)
    if broken:
        if lock.holder(home.settings.paperboy_database) is None:
            raise broken
        click.echo(f"{broken}\nThe last good version stays in force until that is fixed.\n", err=True)
    return home


@dataclass(frozen=True, slots=True)
class _Picture:
    """All that is shown."""

    now: datetime
    settings: Settings
    holder: lock.Holder | None
    at_work: bool  # a morning is
    status: Status
    months: Sequence[Month]  # this one first
    alerts: Sequence[Sequence[Kept]]  # by cause

    @property
    def zone(self) -> tzinfo:
        return self.settings.timezone

    @property
    def answer(self) -> str:
        return picture.answer(self.status, at_work=self.at_work, running=self.holder is not None)

    def when(self, at: datetime) -> str:
        return f"{at.astimezone(self.zone):%a %d %b %H:%M %Z}"

    def again(self, at: datetime) -> str:
        return f"next try about {moment(at, self.now, self.zone)}" if at > self.now else "to be tried now"


def _look(home: Home, now: datetime, mornings: int) -> _Picture:
    """Reads it. Makes no database where there is none."""
    settings, database, local = home.settings, home.settings.paperboy_database, now.astimezone(home.settings.timezone)
    holder, at_work = lock.holder(database), lock.holder(database, "morning") is not None
    with Store.open(database) if database.exists() else nullcontext() as store:
        patience, holidays = timedelta(hours=settings.give_up_after_hours), settings.arxiv_holidays
        read = picture.read(store, home.lists, now, patience, holidays, mornings)
        months = store.history.months(local) if store else [Month(local.date().replace(day=1))]
        standing = list(alerts.lasting(store.alerts.all()).values()) if store else []
    return _Picture(now, settings, holder, at_work, read, months, standing)


def _print(seen: _Picture) -> None:
    """What is asked most comes first."""
    _say([click.style(seen.answer, bold=True), ""])
    for lines in (list(_why(seen)), _not_delivered(seen)):
        if lines:
            _say([*lines, ""])
    for table in filter(lambda table: table.row_count, (_mornings(seen), _tokens(seen))):
        _show(table)
        click.echo()
    _say([*_following(seen), ""])
    _show(_spent(seen.months))


def _why(seen: _Picture) -> Iterator[str]:
    """What stands in the way: alerts, why lists are still due, what was odd about their newest days. What is the same
    for several lists is said once.
    """
    for rows in seen.alerts:
        unmailed = "; not mailed to you yet" if seen.settings.alert_to and not any(row.reported for row in rows) else ""
        since = min(row.since for row in rows)
        yield f"{one_line(alerts.headline(rows))} (since {seen.when(since)}{unmailed})"
    tries, odd = {}, {}
    for each in seen.status.lists:
        if each.attempt:
            again = f", {seen.again(each.attempt.next_try)}" if seen.holder else ""
            reason = NONE_SCORED.sub("nothing could be scored: ", one_line(each.attempt.reason))
            tries[each.name] = f"{reason} (last tried {seen.when(each.attempt.at)}{again})"
        said = f"no mail, {each.quiet}" if each.quiet else one_line(each.newest.reason) if each.newest else ""
        if each.newest and said and not (each.quiet and each.quiet in seen.answer):
            odd[each.name] = f"{each.newest.date:%a %d %b}: {said}"
    yield from (f"{names}: {said}" for said, names in _alike(tries))
    yield from (f"{names}, {said}" for said, names in _alike(odd))


def _alike(said: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What is said of lists, each once, with their names."""
    for what in dict.fromkeys(said.values()):
        yield what, together([name for name, each in said.items() if each == what])


def _following(seen: _Picture) -> Iterator[str]:
    """What happens next and when, for each list."""
    for said, names in _alike({each.name: _next(seen, each) for each in seen.status.lists}):
        yield f"Next for {names}: {said}"
    if seen.holder is None and any(each.next for each in seen.status.lists):
        yield "Paperboy is not running here: nothing is sent until you start paperboy run or paperboy once"


def _next(seen: _Picture, each: ListStatus) -> str:
    if each.next is None:
        return "never, it has no subscribers"
    if each.next <= seen.now:
        again = each.standing.next_try or seen.now
        return f"due, {seen.again(again)}" if seen.holder and again > seen.now else "due now"
    why = f" ({each.no_batch}, no batch); the next batch {each.next_batch:%a %d %b %H:%M %Z}" if each.no_batch else ""
    return f"{each.next:%a %d %b %H:%M %Z}{why}"


def _not_delivered(seen: _Picture, most: int | None = _SOME) -> list[str]:
    """Who lacks a digest, by what became of it and why, most of one kind first and the suppressed last."""
    groups: dict[tuple[DeliveryState, str], list[Undelivered]] = {}
    for row in seen.status.undelivered:
        reason = one_line(row.reason.replace(row.address, "…")) or _NOT_TRIED.get(row.state, "no reply is known")
        groups.setdefault((row.state, reason), []).append(row)
    ordered = sorted(groups.items(), key=lambda group: (group[0][0] is DeliveryState.SUPPRESSED, -len(group[1])))
    shown = [row for _, rows in ordered[:most] for row in rows[:most]]
    width = max((len(row.address) for row in shown), default=0)
    lines = [click.style("Not delivered", bold=True)] if groups else []
    for (state, reason), rows in ordered[:most]:
        again = min(filter(None, (row.next_try(seen.now) for row in rows)), default=None)
        lines.append(f"{len(rows):,} {state}{f', {seen.again(again)}' if again else ''}: {reason}")
        lines += [f"    {one_line(row.address):{width}}  {row.list_name}  {row.date:%a %d %b}" for row in rows[:most]]
    if more := len(seen.status.undelivered) - len(shown):
        lines.append(f"{more:,} more; all of them: paperboy status --undelivered")
    if names := dict.fromkeys(row.list_name for row in seen.status.undelivered if _may_be_resent(row, seen.now)):
        commands = "; ".join(f"paperboy resend {name} --failed" for name in names)
        lines.append(f"Once the cause, or the address, is fixed: {commands}")
    return lines


def _may_be_resent(row: Undelivered, now: datetime) -> bool:
    """Whether `resend --failed` would take it up."""
    gone = row.state in {DeliveryState.FAILED, DeliveryState.AMBIGUOUS}
    return gone and (row.newest or (row.given_up and row.date >= (now - RESENT_FOR).date()))


def _suppressed(home: Home, *, as_json: bool) -> None:
    found: tuple[Suppression, ...] = ()
    if home.settings.paperboy_database.exists():
        with Store.open(home.settings.paperboy_database) as store:
            found = store.suppressions.all()
    if as_json:
        told = [
            {"address": one.address, "list": one.list_name or None, "since": one.at.isoformat(), "reason": one.reason}
            for one in found
        ]
        click.echo(json.dumps({"suppressed": told}, indent=2))
        return
    table = _table("Address", "List", "Since", "Why")
    for one in found:
        since = f"{one.at.astimezone(home.settings.timezone):%a %d %b %Y}"
        table.add_row(escape(one_line(one.address)), one.list_name or "all", since, escape(one_line(one.reason)))
    if found:
        _show(table)
    else:
        click.echo("Nobody is suppressed.")


# --- tables


def _table(first: str, *others: str, right: Collection[str] = ()) -> Table:
    """Where there is no room, its first and last columns go on below."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(
            name, no_wrap=name != others[-1], overflow="fold", justify="right" if name in right else "left"
        )
    return table


def _mornings(seen: _Picture) -> Table:
    """The last days of each list."""
    table = _table("List", "Date", "Outcome", "Papers", "Cost", "Deliveries")
    for each in seen.status.lists:
        for number, day in enumerate(each.days):
            cost = output.money(day.spending.cost, unknown="unknown") if day.spending.usage.calls else ""
            name, date = "" if number else each.name, f"{day.date:%a %d %b}"
            table.add_row(name, date, day.outcome, _papers(day), cost, output.in_words(day.deliveries))
        if not each.days:
            table.add_row(each.name, "–", "none yet")
    return table


def _papers(day: DaySummary) -> str:
    """How many were relevant; and what tells a morning on which none was from one that could not be scored."""
    counts = day.counts
    if day.outcome is Outcome.GAVE_UP:
        return f"{counts.scored} of {counts.considered} scored" if counts.considered else ""
    unscored = counts.considered - counts.scored
    relevant = f"{counts.relevant} of {counts.considered}" if counts.considered else ""
    return f"{relevant}, {unscored} unscored" if unscored else relevant


def _tokens(seen: _Picture) -> Table:
    """What the LLM was sent and what it sent back on each list's newest day. Lower case: a part of the one before."""
    numbers = ("Calls", "Prompt", "cached", "written", "Completion", "reasoning")
    table = _table("Tokens", *numbers, "Model", right=numbers)
    for day in (each.newest for each in seen.status.lists if each.newest):
        if day.spending.usage.calls:
            calls, *tokens = astuple(day.spending.usage)
            shown = ["not counted", *[""] * 4] if output.uncounted(day.spending.usage) else [f"{n:,}" for n in tokens]
            table.add_row(day.list_name, f"{calls:,}", *shown, escape(one_line(day.model)))
    return table


def _spent(months: Sequence[Month]) -> Table:
    """What each month cost."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for justify in ("left", "right", "right", "left"):
        table.add_column(justify=justify)
    for month in months:
        usage, cost = month.spending.usage, month.spending.cost
        uncounted = output.uncounted(usage)
        known = output.money(cost, "not known" if uncounted else output.UNPRICED)
        dollars, note = (f"at least {output.money(Cost(month.dollars))}", "some calls of unknown price")
        some = cost is None and month.dollars
        table.add_row(
            f"Spent in {month.first:%B %Y}",
            dollars if some else known,
            "tokens not counted" if uncounted else f"{usage.total_tokens:,} tokens",
            note if some else "",
        )
    return table


def _say(lines: Iterable[str]) -> None:
    """On a terminal, a line that is too long goes on below itself; elsewhere each stays whole, and easy to search."""
    terminal = Console()
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        wrapped = textwrap.wrap(line, terminal.width, subsequent_indent=indent, break_on_hyphens=False)
        click.echo("\n".join(wrapped) if terminal.is_terminal else line)


def _show(table: Table) -> None:
    terminal = Console()
    console = terminal if terminal.is_terminal else Console(width=_PIPED)
    with console.capture() as printed:
        console.print(table)
    click.echo("\n".join(line.rstrip() for line in printed.get().splitlines()))


# --- JSON, whose keys are only ever added


def _as_json(seen: _Picture) -> dict[str, Any]:
    months = [{"month": f"{each.first:%Y-%m}", **_spending(each.spending)} for each in seen.months]
    return {
        "answer": seen.answer,
        "running": {"process": seen.holder.process, "command": seen.holder.command} if seen.holder else None,
        "alerts": [_alert(rows) for rows in seen.alerts],
        "lists": [_list(each, seen.now) for each in seen.status.lists],
        "month": {key: value for key, value in months[0].items() if key != "month"},
        "months": months,
    }


def _alert(rows: Sequence[Kept]) -> dict[str, Any]:
    """`told`: the operator's day on which a mail, or the log where ALERT_TO is empty, last said so."""
    told = max((row.reported for row in rows if row.reported), default=None)
    return {
        "cause": rows[0].cause,
        "headline": one_line(alerts.headline(rows)),
        "since": min(row.since for row in rows).isoformat(),
        "about": sorted(row.subject for row in rows),
        "told": told.isoformat() if told else None,
    }


def _list(each: ListStatus, now: datetime) -> dict[str, Any]:
    newest, attempt, comes, batch = each.newest, each.attempt, each.next, each.next_batch
    trouble = attempt and {
        "reason": attempt.reason,
        "at": attempt.at.isoformat(),
        "next_try": max(attempt.next_try, now).isoformat(),
    }
    return {
        "name": each.name,
        "outcome": newest.outcome if newest else None,
        "date": newest.date.isoformat() if newest else None,
        "reason": newest.reason if newest else "",
        "quiet": each.quiet or None,
        "trouble": trouble,
        "counts": {**asdict(newest.counts), "scored": newest.counts.scored} if newest else None,
        "deliveries": newest.deliveries if newest else {},
        **(_spending(newest.spending) if newest else {"cost": None, "usage": None}),
        "next": comes.isoformat() if comes else None,
        "next_batch": batch.isoformat() if batch else None,
    }


def _spending(spending: Spending) -> dict[str, Any]:
    """A cost is null where the price of some of it is unknown; tokens are null where the server counts none."""
    usage, cost = asdict(spending.usage), spending.cost
    if output.uncounted(spending.usage):
        usage = {**dict.fromkeys(usage), "calls": spending.usage.calls}
    return {"cost": cost and round(cost.total, 6), "usage": usage}


def _lack(row: Undelivered, now: datetime) -> dict[str, Any]:
    """`reply` is the last one to this address, `reason` what is in its way."""
    again = row.next_try(now)
    return {
        "list": row.list_name,
        "date": row.date.isoformat(),
        "address": row.address,
        "state": row.state,
        "reply": row.reply,
        "reason": one_line(row.reason),
        "at": row.at.isoformat(),
        "next_try": again.isoformat() if again else None,
        "given_up": row.given_up,
    }
