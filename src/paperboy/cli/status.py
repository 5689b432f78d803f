"""`paperboy status`: did everyone get their mail today, and if not, why?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import click

from paperboy.cli.people import AS_JSON, LISTS
from paperboy.edges import lock
from paperboy.mail.text import together
from paperboy.models import DeliveryState, Outcome, Spending
from paperboy.reports import alerts
from paperboy.reports import status as picture
from paperboy.reports.status import ListStatus
from paperboy.service import output
from paperboy.service.app import App
from paperboy.store.history import DaySummary, DeliveryRecord

_MOMENT = "%a %d %b %H:%M %Z"
_SOME = 5  # groups of undelivered mail, and addresses per group, unless all are asked for


@click.command()
@LISTS
@AS_JSON
@click.option(
    "--undelivered", "only_undelivered", is_flag=True, help="Show only who lacks a digest, and why."
)
@click.option(
    "--suppressed", is_flag=True, help="Show only which addresses are suppressed, and why."
)
@click.option(
    "--exit-code", is_flag=True, help="Exit with 1 if a list is late or has failed, for monitoring."
)
@click.option(
    "--mornings",
    default=3,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="Mornings to show of each list.",
)
@click.pass_obj
def status(
    app: App,
    names: tuple[str, ...],
    *,
    as_json: bool,
    only_undelivered: bool,
    suppressed: bool,
    exit_code: bool,
    mornings: int,
) -> int:
    """Did everyone get their mail today, and if not, why? In one line, and then in detail: what is
    wrong, whom a digest did not reach, the last mornings with their counts, cost and deliveries,
    what happens next and when, and what each month cost. This works while the daemon runs.

    The state of a list, and of all, is in the JSON: failed (today was given up, or the newest
    digest reached nobody), late (a try failed, an hour has passed, or the mail server takes
    nothing), waiting, ok or paused. So is a list's shortlist of the last 60 days, null without one:
    its share of a day's papers; off_until, if auto is off; what it learns before it begins; papers
    called, not_called, passed, sampled (called by chance) and found (those of them that passed);
    recall and recall_interval, as estimated from these; and the US dollars saved. null is unknown.
    """
    if suppressed and only_undelivered:
        raise click.UsageError("--suppressed and --undelivered exclude each other.")
    app.take_own_or_in_force()
    if suppressed:
        output.show_page(_suppressed(app, as_json=as_json))
        return 0
    seen = _Picture(app, names, mornings, as_page=not as_json)
    if as_json:
        undelivered = {
            "undelivered": [_lack(row, seen.status.now) for row in seen.status.undelivered]
        }
        output.show_page(undelivered if only_undelivered else _as_json(seen) | undelivered)
    elif only_undelivered:
        output.show_page([_not_delivered(seen, most=None) or ["Nobody lacks a digest."]])
    else:
        output.show_page(_sections(seen))
    return int(exit_code and not seen.status.health.well)


class _Picture:
    """All that is shown."""

    def __init__(self, app: App, names: tuple[str, ...], mornings: int, *, as_page: bool) -> None:
        settings = app.settings
        store = app.store_to_ask
        now = app.clock()
        wanted = app.home.named(names)
        database = settings.paperboy_database
        lists = [mailing_list for mailing_list in app.home.lists if mailing_list.name in wanted]
        others = {mailing_list.name for mailing_list in app.home.lists} - wanted
        self.zone = settings.timezone
        self.holder = lock.holder(database)
        morning = lock.holder(database, "morning") is not None
        at_work = morning or lock.holder(database, "sending") is not None
        self.status = app.standing(lists, mornings, at_work=at_work)
        self.answer = picture.answer(
            self.status, at_work=morning, running=self.holder is not None, reasons_follow=as_page
        )
        self.months = store.history.months(now, names)  # this one first
        self.problems = alerts.lasting(
            problem for problem in app.problems() if problem.subject not in others
        )
        self.words = app.alerts.words
        self.told = {
            (row.kind, row.subject): row.date for row in store.alerts.all()
        }  # the day of the last mail
        in_outbox = () if settings.uses_outbox else store.ledger.only_in_outbox()
        self.in_outbox = [
            name for name in in_outbox if name in wanted
        ]  # though a mail server is set up
        self.features = [
            feature.status(app, lists, now) for feature in app.features if feature.status
        ]

    def when(self, at: datetime) -> str:
        return f"{at.astimezone(self.zone):{_MOMENT}}"


def _suppressed(app: App, *, as_json: bool) -> output.Page:
    """Return who must not get mail."""
    found = app.store_to_ask.suppressions.all()
    if as_json:
        return {
            "suppressed": [
                {
                    "address": held.address,
                    "list": held.list_name or None,
                    "since": held.at,
                    "reason": held.reason,
                }
                for held in found
            ]
        }
    zone = app.settings.timezone
    rows = [
        (
            held.address,
            held.list_name or "all",
            f"{held.at.astimezone(zone):%a %d %b %Y}",
            held.reason,
        )
        for held in found
    ]
    return [output.table(("Address", "List", "Since", "Why"), rows) or ["Nobody is suppressed."]]


def _sections(seen: _Picture) -> Iterator[Sequence[output.Part]]:
    """Yield the sections, the most important first."""
    yield [output.heading(seen.answer)]
    yield list(_why(seen))
    yield _not_delivered(seen)
    yield output.table(
        ("List", "Date", "Outcome", "Papers", "Cost", "Deliveries"), _mornings(seen.status.lists)
    )
    yield list(_following(seen))
    for feature in seen.features:
        yield feature.lines

    costs = []
    for first, spent in seen.months.items():
        tokens = (
            "tokens not counted"
            if output.uncounted(spent.usage)
            else f"{spent.usage.total_tokens:,} tokens"
        )
        costs.append((f"Spent in {first:%B %Y}", output.cost(spent), tokens))
    yield output.table([""] * 3, costs)


def _why(seen: _Picture) -> Iterator[str]:
    """Yield alerts, why lists are still due, what was odd about their newest days, and why others
    were given up.
    """
    for rows in seen.problems:
        yield f"{alerts.headline(rows, seen.words)} (since {seen.when(min(row.since for row in rows))})"
    said = []
    for each in seen.status.lists:
        if tried := each.attempt:
            again = (
                f", {output.next_try(tried.next_try, seen.status.now, seen.zone)}"
                if seen.holder
                else ""
            )
            unscored = "nothing could be scored: " if tried.unscored else ""
            said.append(
                (each.name, f": {unscored}{tried.reason} (last tried {seen.when(tried.at)}{again})")
            )

        odd_days = defaultdict[str, list[str]](list)  # by what was odd, newest first
        for day in each.days:
            odd = day.reason if day is each.newest or day.outcome is Outcome.GAVE_UP else ""
            if day is each.newest and each.quiet:
                odd = "" if each.quiet in seen.answer else each.quiet
            if odd:
                odd_days[odd].append(f"{day.date:%a %d %b}")
        said += [(each.name, f", {together(days)}: {odd}") for odd, days in odd_days.items()]

    said += [line for feature in seen.features for line in feature.wrong]
    yield from _together(said, seen.status.lists)
    if seen.in_outbox:
        yield picture.moved_from_outbox(seen.in_outbox)


def _following(seen: _Picture) -> Iterator[str]:
    """Yield what happens next and when, for each list."""
    said = []
    for each in seen.status.lists:
        never = (
            "nothing while it is paused"
            if each.mailing_list.paused
            else "never, it has no subscribers"
        )
        what = f"{each.next:{_MOMENT}}" if each.next else never
        if each.next and each.next <= seen.status.now:
            what = f"due since {what}"
        elif why := each.no_batch:
            what += f" ({why}, no batch); the next batch {each.next_batch:{_MOMENT}}"
        said.append((each.name, f": {what}"))
    yield from (f"Next for {line}" for line in _together(said, seen.status.lists))
    if (
        seen.holder is None
        and picture.IDLE not in seen.answer
        and any(each.next for each in seen.status.lists)
    ):
        yield picture.NOTHING_IS_SENT


def _together(said: Iterable[tuple[str, str]], lists: Sequence[ListStatus]) -> Iterator[str]:
    """Yield one line for all lists of which the same is said: their names, then that."""
    found = defaultdict[str, list[str]](list)
    for name, what in said:
        found[what].append(name)
    for what, names in found.items():
        if len(names) > 3 and len(lists) - len(names) <= len(names) / 4:
            others = [each.name for each in lists if each.name not in names]
            yield f"all {len(lists)} lists{f' but {together(others)}' if others else ''}{what}"
        else:
            yield f"{together(names)}{what}"


def _not_delivered(seen: _Picture, most: int | None = _SOME) -> list[output.Part]:
    """List who lacks a digest, grouped by state and reason: the largest group first, the suppressed
    last.
    """
    now = seen.status.now
    groups = defaultdict[tuple[DeliveryState, str], list[DeliveryRecord]](list)
    for row in seen.status.undelivered:
        reason = row.reason.replace(row.address, "…") or output.NO_REPLY.get(
            row.state, "no reply is known"
        )
        groups[row.state, reason].append(row)
    ordered = sorted(
        groups.items(), key=lambda group: (group[0][0] is DeliveryState.SUPPRESSED, -len(group[1]))
    )
    shown = [row for _, rows in ordered[:most] for row in rows[:most]]
    width = max((len(row.address) for row in shown), default=0)
    lines: list[output.Part] = [output.heading("Not delivered")] if groups else []
    for (state, reason), rows in ordered[:most]:
        first = min(filter(None, (row.next_try(now) for row in rows)), default=None)
        again = f", {output.next_try(first, now, seen.zone)}" if first else ""
        lines.append(f"{len(rows):,} {state}{again}: {reason}")
        lines += [
            f"    {row.address:{width}}  {row.list_name}  {row.date:%a %d %b}"
            for row in rows[:most]
        ]
    if more := len(seen.status.undelivered) - len(shown):
        lines.append(f"{more:,} more; all of them: paperboy status --undelivered")
    gone = [
        row for row in seen.status.undelivered if row.state.is_lost and (row.newest or row.given_up)
    ]
    if commands := "; ".join(
        dict.fromkeys(f"paperboy resend {row.list_name} --failed" for row in gone)
    ):
        lines.append(f"Once the cause, or the address, is fixed: {commands}")
    return lines


def _mornings(lists: Iterable[ListStatus]) -> Iterator[Sequence[str]]:
    """Yield the last days of each list."""
    for each in lists:
        for number, day in enumerate(each.days):
            cost = output.cost(day.spending) if day.spending.usage.calls else ""
            counts = day.counts
            papers = f"{counts.relevant} of {counts.considered}" if counts.considered else ""
            unscored = counts.to_score - counts.scored
            left_out = {
                "unscored": unscored,
                "filtered": counts.filtered,
                "not called": counts.not_called,
            }
            papers += output.also(left_out)
            name = "" if number else each.name
            yield (
                name,
                f"{day.date:%a %d %b}",
                day.outcome,
                papers,
                cost,
                output.in_words(day.deliveries),
            )
        if not each.days:
            yield each.name, "–", "none yet"


def _as_json(seen: _Picture) -> dict[str, Any]:
    this_month, *_ = seen.months.values()
    return {
        "state": seen.status.health,
        "answer": seen.answer,
        "running": seen.holder and asdict(seen.holder),
        "alerts": [
            {
                "cause": rows[0].kind,
                "headline": alerts.headline(rows, seen.words),
                "since": min(row.since for row in rows),
                "about": sorted(row.subject for row in rows),
                "told": max(
                    filter(None, (seen.told.get((row.kind, row.subject)) for row in rows)),
                    default=None,
                ),
            }
            for rows in seen.problems
        ],
        "lists": [_list(each, seen) for each in seen.status.lists],
        "month": _spending(this_month),
        "months": [
            {"month": f"{first:%Y-%m}", **_spending(spent)} for first, spent in seen.months.items()
        ],
    }


def _list(each: ListStatus, seen: _Picture) -> dict[str, Any]:
    tried = each.attempt
    return {
        "name": each.name,
        "state": seen.status.of(each),
        **(_day(each.newest) if each.newest else _NO_DAY),
        "quiet": each.quiet or None,
        "trouble": tried
        and {"reason": tried.why, "at": tried.at, "next_try": max(tried.next_try, seen.status.now)},
        "next": each.next,
        "next_batch": each.next_batch,
        "days": [_day(day) for day in each.days],
        **{feature.key: feature.of_lists.get(each.name) for feature in seen.features},
    }


def _day(day: DaySummary) -> dict[str, Any]:
    return {
        "date": day.date,
        "outcome": day.outcome,
        "reason": day.reason,
        "counts": {**asdict(day.counts), "scored": day.counts.scored},
        "deliveries": day.deliveries,
        **_spending(day.spending),
    }


_NO_DAY: Mapping[str, object] = {
    "date": None,
    "outcome": None,
    "reason": "",
    "counts": None,
    "deliveries": {},
    "cost": None,
    "usage": None,
}


def _spending(spending: Spending) -> dict[str, Any]:
    """A cost is null where the price of some of it is unknown; tokens are null where the server
    counts none.
    """
    usage = asdict(spending.usage)
    cost = spending.cost
    if output.uncounted(spending.usage):
        usage = {**dict.fromkeys(usage), "calls": spending.usage.calls}
    return {"cost": cost and round(cost.total, 6), "usage": usage}


def _lack(row: DeliveryRecord, now: datetime) -> dict[str, Any]:
    """`reply` is the last one for this address, `reason` why it has no digest."""
    kept = {
        name: getattr(row, name)
        for name in ("date", "address", "state", "reply", "reason", "at", "given_up")
    }
    return {"list": row.list_name, **kept, "next_try": row.next_try(now)}
