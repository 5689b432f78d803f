"""What `status` shows a person: tables, and the lines around them. Fits 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import TypeVar

from rich.markup import escape
from rich.table import Table

from paperboy import alerts
from paperboy.alerts.words import names as names_of
from paperboy.cli import words
from paperboy.cli.answer import moment
from paperboy.cli.batches import leaves_papers, next_batch, no_batch, why_quiet
from paperboy.cli.picture import Picture, Trouble
from paperboy.config.home import Home
from paperboy.mail.text import one_line
from paperboy.models import Cost, DaySummary, DeliveryState, MailingList, Outcome, Suppression
from paperboy.store.alerts import Standing
from paperboy.store.scores import Month

_T = TypeVar("_T")
_NAME = 12  # letters of a list's name for which there is room
_NONE_SCORED = re.compile(r"scored 0 of (\d+): (.*)", re.DOTALL)  # as `morning.py` notes a trouble

# What stands after its alert was told, which is kept no longer than that.
_STANDS: Mapping[str, str] = {
    alerts.Kind.SCORING: "The LLM scores nothing for {}",
    alerts.Kind.PART_SCORED: "The LLM scores only a part for {}",
    alerts.Kind.BUDGET: "LLM_BUDGET_USD is not enough for {}",
    alerts.Kind.LATE: "arXiv gave no papers in time for {}",
    alerts.Kind.STUCK: "Still due, long after the hour: {}",
    alerts.Kind.BUG: "A bug in Paperboy troubles {}",
    alerts.Kind.MAIL: "Mail does not leave",
    alerts.Kind.NOBODY: "Nobody got the digest of {}",
    alerts.Kind.FILES: "The home's files are broken",
    alerts.Kind.PROCESS: "A morning came to a bad end",
}


# --- why


def why(of: Picture) -> Iterator[str]:
    """What stands in the way: alerts, why lists are still due, and what was odd about their newest days. What is the
    same for several lists is said once.
    """
    zone = of.home.settings.timezone
    for standing in of.alerts:
        yield f"{headline(standing)} (since {_when(standing.since, zone)}{_untold(standing, of.home)})"
    troubles = {entry.name: trouble for entry in of.home.lists if (trouble := of.trouble(entry))}
    yield from _troubles(troubles, of, zone)
    odd = {
        entry.name: (newest[0].date, reason)
        for entry in of.home.lists
        if (newest := of.days_of(entry.name)) and (reason := _odd(of, entry, newest[0]))
    }
    for (date, reason), named in _alike(odd):
        yield f"{words.together(named)}, {date:%a %d %b}: {reason}"


def headline(standing: Standing) -> str:
    """An alert in a few words."""
    if standing.waiting:
        return one_line(standing.waiting.headline)
    said = _STANDS.get(standing.cause, f"{standing.cause}: {{}}")
    return one_line(said.format(names_of(standing.about)))


def _untold(standing: Standing, home: Home) -> str:
    return "; no mail has told you yet" if home.settings.alert_to and standing.told is None else ""


def _odd(of: Picture, entry: MailingList, day: DaySummary) -> str:
    if day.outcome is Outcome.QUIET:
        said = one_line(why_quiet(entry, of.facts.days[entry.name], of.home.settings.arxiv_holidays))
        return "" if said in of.answer else f"no mail, {said}"
    return one_line(day.reason)


def _troubles(troubles: Mapping[str, Trouble], seen: Picture, zone: tzinfo) -> Iterator[str]:
    """Lists that one trouble left without a score are one line, with the papers of all. No next try is promised where
    nobody is there to make it.
    """
    unscored: dict[str, int] = {}
    said = {}
    for name, trouble in troubles.items():
        if of := _NONE_SCORED.fullmatch(trouble.reason):
            unscored[name] = int(of[1])
        again = f", {_again(trouble, seen.now, zone)}" if seen.holder else ""
        tried = f"(last tried {_when(trouble.at, zone)}{again})"
        said[name] = (name in unscored, one_line(of[2] if of else trouble.reason), tried)
    for (none_scored, reason, tried), named in _alike(said):
        zero = f"scored 0 of {sum(unscored[name] for name in named)}: " if none_scored else ""
        yield f"{words.together(named)}: {zero}{reason} {tried}"


def _again(trouble: Trouble, now: datetime, zone: tzinfo) -> str:
    return f"next try about {moment(trouble.next_try, now, zone)}" if trouble.next_try > now else "to be tried now"


def _when(at: datetime, zone: tzinfo) -> str:
    return f"{at.astimezone(zone):%a %d %b %H:%M %Z}"


def _alike(said: Mapping[str, _T]) -> Iterable[tuple[_T, list[str]]]:
    """What is said of lists, each once, with their names."""
    groups: dict[_T, list[str]] = {}
    for name, what in said.items():
        groups.setdefault(what, []).append(name)
    return groups.items()


# --- what comes


def following(of: Picture) -> Iterator[str]:
    """What happens next and when, for each list."""
    for when, named in _alike({entry.name: _next(of, entry) for entry in of.home.lists}):
        yield f"Next for {words.together(named)}: {when}"
    if of.holder is None and any(entry.subscribers for entry in of.home.lists):
        yield "No Paperboy is at work in this home: nothing comes before paperboy run, or once"


def _next(of: Picture, entry: MailingList) -> str:
    start, holidays = of.next(entry), of.home.settings.arxiv_holidays
    if start is None:
        return "never, it has no subscribers"
    if start <= of.now:
        trouble = of.trouble(entry)
        rests = of.holder and trouble and trouble.next_try > of.now
        return f"due, {_again(trouble, of.now, entry.timezone)}" if rests and trouble else "due now"
    said = f"{start:%a %d %b %H:%M %Z}"
    if not _papers_are_left(of, entry) and (why_not := no_batch(entry, start, holidays)):
        coming = next_batch(entry, of.now, holidays)
        said += f" ({why_not}, no batch); the next batch {coming:%a %d %b %H:%M %Z}"
    return said


def _papers_are_left(of: Picture, entry: MailingList) -> object:
    """Of a day that could not serve them, or of a digest that has reached nobody, and will be superseded."""
    newest = next(iter(of.days_of(entry.name)), None)
    reached = {DeliveryState.SENT, DeliveryState.AMBIGUOUS}
    return leaves_papers(newest) or (newest and newest.deliveries and not newest.deliveries.keys() & reached)


# --- tables


def mornings(of: Picture) -> Table:
    """The last days of each list."""
    table = _table_of_lists("List", of.home.lists, "Date", "Outcome", "Papers", "Cost")
    table.add_column("Deliveries", overflow="fold")
    for entry in of.home.lists:
        days = of.days_of(entry.name)
        if not days:
            table.add_row(entry.name, "–", "none yet", "", "", "")
        for number, day in enumerate(days):
            table.add_row(
                "" if number else entry.name,
                f"{day.date:%a %d %b}",
                day.outcome.value,
                _papers(day),
                words.money(day.spending.cost, unknown="unknown") if day.spending.usage.calls else "",
                words.in_words(day.deliveries),
            )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


def _table_of_lists(heading: str, lists: Sequence[MailingList], *columns: str) -> Table:
    """The first column has their names. Where there is no room, long ones go on below, and numbers stay whole."""
    table = _table(heading, *columns)
    table.columns[0].no_wrap = all(len(entry.name) <= _NAME for entry in lists)
    table.columns[0].overflow = "fold"
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


def tokens(of: Picture) -> Table:
    """What the LLM was sent and what it sent back on each list's newest day. What is in lower case is a part of what
    stands before it. Of a long name of a model only the beginning is seen at 80 columns.
    """
    table = _table_of_lists("Tokens", of.home.lists)
    for column in ("Calls", "Prompt", "cached", "written", "Completion", "reasoning"):
        table.add_column(column, no_wrap=True, justify="right")
    table.add_column("Model", overflow="ellipsis")
    newest = [days[0] for entry in of.home.lists if (days := of.days_of(entry.name))]
    for day in newest:
        usage = day.spending.usage
        if not usage.calls:
            continue
        numbers = (
            usage.prompt_tokens,
            usage.cached_tokens,
            usage.cache_write_tokens,
            usage.completion_tokens,
            usage.reasoning_tokens,
        )
        shown = ["not counted", "", "", "", ""] if words.uncounted(usage) else [f"{number:,}" for number in numbers]
        table.add_row(day.list_name, f"{usage.calls:,}", *shown, escape(one_line(day.model)))
    return table


def suppressed(found: Sequence[Suppression], zone: tzinfo) -> Table:
    """Who must not get mail, and why."""
    table = _table("Address")
    table.add_column("List", overflow="fold")
    table.add_column("Since", no_wrap=True)
    table.add_column("Why", overflow="fold")
    for one in found:
        since = f"{one.at.astimezone(zone):%a %d %b %Y}"
        table.add_row(escape(one_line(one.address)), one.list_name or "all", since, escape(one_line(one.reason)))
    return table


# --- what was spent


def spent(months: Sequence[Month]) -> list[str]:
    """A line for each month, its dollars and tokens below those of the others."""
    rows = [(f"Spent in {month.first:%B %Y}", *_dollars_and_tokens(month)) for month in months]
    label, dollars, used = (max(len(row[column]) for row in rows) for column in range(3))
    return [
        f"{row[0]:{label}}  {row[1]:>{dollars}}  {row[2]:>{used}}"
        + (", and some calls of unknown price" if month.spending.cost is None and month.dollars else "")
        for month, row in zip(months, rows, strict=True)
    ]


def _dollars_and_tokens(month: Month) -> tuple[str, str]:
    usage, cost = month.spending.usage, month.spending.cost
    uncounted = words.uncounted(usage)
    used = "tokens not counted" if uncounted else f"{usage.total_tokens:,} tokens"
    if cost is None and month.dollars:
        return f"at least {words.money(Cost(month.dollars))}", used
    return words.money(cost, "not known" if uncounted else words.UNPRICED), used
