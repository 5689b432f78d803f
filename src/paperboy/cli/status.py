"""`paperboy status`: did everyone get their mail today, and if not, why?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from paperboy.cli.people import AS_JSON, LISTS, suppression_json
from paperboy.console import words
from paperboy.console.lines import heading, show_page, table
from paperboy.console.words import in_words
from paperboy.edges import lock
from paperboy.models import Spending
from paperboy.reports import alerts
from paperboy.reports import status as reports
from paperboy.reports.status import ListStatus
from paperboy.service.app import App
from paperboy.store.history import DaySummary, DeliveryRecord

if TYPE_CHECKING:
    from paperboy.console.lines import Page, Part

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
    "--exit-code",
    is_flag=True,
    help="Exit with 1 if a list is late or has failed, for monitoring.",
)
@click.option(
    "--mornings",
    default=3,
    show_default=True,
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="Show the last N mornings of each list.",
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
    """Show whether everyone got their mail today, and if not, why.

    The first line is the answer. Below it are the details: what is wrong, who lacks a digest, the
    last mornings with their counts, cost and deliveries, what comes next and when, and the cost of
    each month. The JSON is described by `paperboy manual service`. You can use this while the
    daemon runs.
    """
    if suppressed and only_undelivered:
        raise click.UsageError("--suppressed and --undelivered exclude each other.")

    app.take_own_or_in_force()
    if suppressed:
        show_page(_suppressed(app, as_json=as_json))
        return 0

    report = _Report(app, names, mornings, as_page=not as_json)
    if as_json:
        page = {} if only_undelivered else _as_json(report)
        page["undelivered"] = [
            _undelivered(record, report.now) for record in report.status.undelivered
        ]
        show_page(page)
    elif only_undelivered:
        show_page([_not_delivered(report) or ["Nobody lacks a digest."]])
    else:
        show_page(_sections(report))

    return int(exit_code and not report.status.health.well)


class _Report:
    """Everything that the page and the JSON show."""

    def __init__(self, app: App, names: tuple[str, ...], mornings: int, *, as_page: bool) -> None:
        settings = app.settings
        store = app.store_to_ask
        wanted = app.home.named(names)
        lists = [mailing_list for mailing_list in app.home.lists if mailing_list.name in wanted]
        others = {mailing_list.name for mailing_list in app.home.lists} - wanted
        self.now = app.clock()
        self.zone = settings.timezone

        database = settings.paperboy_database
        self.holder = lock.holder(database)
        composes = lock.holder(database, "morning") is not None
        sends = lock.holder(database, "sending") is not None
        known = app.status(lists, mornings, at_work=composes or sends)
        self.status = replace(known, running=self.holder is not None)
        self.answer = reports.answer(
            self.status,
            at_work=composes,
            reasons_follow=as_page,
        )

        self.months = store.history.months(self.now, names)  # this one first
        alerted = {(alert.kind, alert.subject): alert.date for alert in store.alerts.all()}
        self.alerts = list[dict[str, Any]]()  # lasting problems, each of one or more lists
        shown = (problem for problem in app.problems() if problem.subject not in others)
        for problems in alerts.lasting(shown):
            days = [alerted.get((problem.kind, problem.subject)) for problem in problems]
            self.alerts.append(
                {
                    "cause": problems[0].kind,
                    "headline": alerts.headline(problems, app.alerts.words),
                    "since": min(problem.since for problem in problems),
                    "about": sorted(problem.subject for problem in problems),
                    "told": max(filter(None, days), default=None),  # the day of its last mail
                }
            )

        self.features = [
            feature.status(app, lists, self.now) for feature in app.features if feature.status
        ]


def _suppressed(app: App, *, as_json: bool) -> Page:
    suppressions = app.store_to_ask.suppressions.all()
    if as_json:
        found = [
            {"address": suppression.address, **suppression_json(suppression)}
            for suppression in suppressions
        ]
        return {"suppressed": found}

    zone = app.settings.timezone
    rows = [
        (
            suppression.address,
            suppression.list_name or "all",
            f"{suppression.at.astimezone(zone):%a %d %b %Y}",
            suppression.reason,
        )
        for suppression in suppressions
    ]
    return [table(("Address", "List", "Since", "Why"), rows) or ["Nobody is suppressed."]]


# ── The page ─────────────────────────────────────────────────────────────────────────────────────


def _sections(report: _Report) -> Iterator[Sequence[Part]]:
    """Yield the sections, the most important first."""
    yield [heading(report.answer)]

    lines = reports.reasons(
        report.status,
        report.answer,
        report.zone,
        report.alerts,
        [line for feature in report.features for line in feature.wrong],
    )
    yield list(lines)
    yield _not_delivered(report, _SOME)

    heads = ("List", "Date", "Outcome", "Papers", "Cost", "Deliveries")
    yield table(heads, _mornings(report.status.lists))

    yield list(reports.plans(report.status, report.answer))
    for feature in report.features:
        yield feature.lines

    costs = []
    for first, spending in report.months.items():
        tokens = f"{spending.usage.total_tokens:,} tokens"
        costs.append((f"Spent in {first:%B %Y}", words.cost(spending), tokens))

    yield table([""] * 3, costs)


def _not_delivered(report: _Report, most: int | None = None) -> list[Part]:
    lines = list(reports.not_delivered(report.status, report.zone, most))
    return [heading("Not delivered"), *lines] if lines else []


def _mornings(lists: Iterable[ListStatus]) -> Iterator[Sequence[str]]:
    for list_status in lists:
        if not list_status.days:
            yield list_status.name, "–", "none yet"
        name = list_status.name
        for day in list_status.days:
            counts = day.counts
            papers = f"{counts.relevant} of {counts.considered}" if counts.considered else ""
            if unscored := counts.to_score - counts.scored:
                papers += f", {unscored} unscored"
            cost = words.cost(day.spending) if day.spending.usage.calls else ""
            deliveries = in_words(day.deliveries)
            yield name, f"{day.date:%a %d %b}", day.outcome, papers, cost, deliveries
            name = ""  # only the first row of a list names it


# ── The JSON ─────────────────────────────────────────────────────────────────────────────────────


def _as_json(report: _Report) -> dict[str, Any]:
    this_month, *_ = report.months.values()
    return {
        "state": report.status.health,
        "answer": report.answer,
        "running": report.holder and asdict(report.holder),
        "alerts": report.alerts,
        "lists": [_list(list_status, report) for list_status in report.status.lists],
        "month": _spending(this_month),
        "months": [
            {"month": f"{first:%Y-%m}", **_spending(spending)}
            for first, spending in report.months.items()
        ],
    }


def _list(list_status: ListStatus, report: _Report) -> dict[str, Any]:
    attempt = list_status.attempt
    trouble = attempt and {
        "reason": attempt.why,
        "at": attempt.at,
        "next_try": max(attempt.next_try, report.now),
    }
    return {
        "name": list_status.name,
        "state": report.status.health_of(list_status),
        **(_day(list_status.newest) if list_status.newest else _NO_DAY),
        "quiet": list_status.quiet or None,
        "trouble": trouble,
        "next": list_status.next,
        "next_batch": list_status.next_batch,
        "days": [_day(day) for day in list_status.days],
        **{feature.key: feature.of_lists.get(list_status.name) for feature in report.features},
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
    """Return cost and tokens: null where a price is unknown, or the server counts no tokens."""
    usage = asdict(spending.usage)
    if spending.usage.calls and not spending.usage.total_tokens:
        usage = {**dict.fromkeys(usage), "calls": spending.usage.calls}

    cost = spending.cost
    return {"cost": cost and round(cost.total, 6), "usage": usage}


def _undelivered(record: DeliveryRecord, now: datetime) -> dict[str, Any]:
    return {
        "list": record.list_name,
        "date": record.date,
        "address": record.address,
        "state": record.state,
        "reply": record.reply,  # the last one for this address
        "reason": record.reason,  # why it has no digest
        "at": record.at,
        "given_up": record.given_up,
        "next_try": record.next_try(now),
    }
