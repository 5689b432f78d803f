"""Incidents of one list's morning, which no other row shows: those to note and those that are over.
Pure, but for `record`.
"""

from collections.abc import Iterator
from datetime import datetime

from paperboy.edges.text import counted
from paperboy.models import ListReport, MailingList, Outcome, Shortfall, Subscribers
from paperboy.morning.fetching import FetchResult
from paperboy.sources import title_of
from paperboy.store import Store
from paperboy.store.incidents import Incident, Kind


def record(
    store: Store,
    report: ListReport,
    fetched: FetchResult,
    now: datetime,
    *,
    overdue: bool,
) -> None:
    """Note the incidents of one list's morning, and end those that it shows to be over, in the
    transaction of its day or attempt. `overdue`: GIVE_UP_AFTER_HOURS have passed since its hour. An
    incident that is both ended and noted stays open.
    """
    over: list[Kind] = []
    if not report.bug and report.outcome not in {None, Outcome.GAVE_UP}:
        over.append(Kind.PROCESS)
        if report.is_served:  # on a quiet day nobody asked the LLM
            over += [Kind.SCORING, Kind.BUDGET]
        if report.outcome is not Outcome.SKIPPED:
            if not fetched.blocks and (fetched.news or report.is_served):
                over.append(Kind.LATE)
            if not fetched.lasting:
                over.append(Kind.SOURCE)

    for kind in over:
        store.incidents.end(kind, report.list_name, now)
    store.incidents.note(incidents_of(report, fetched, overdue=overdue), now)


def incidents_of(report: ListReport, fetched: FetchResult, *, overdue: bool) -> Iterator[Incident]:
    """Yield the incidents. Before `overdue` a late source is none; a dead LLM is one at the first
    try, since the scorer has retried by then.
    """
    name = report.list_name
    counts = report.counts
    if kind := _kind(report, fetched, overdue=overdue):
        scored = counts.scored if report.is_served else 0
        line = f"{name}: {report.outcome or 'still due'}"
        if counts.to_score:
            line += f", {scored:,} of {counted(counts.to_score, 'paper')} scored"
        if counts.carried_over:
            line += f", {counts.carried_over:,} carried over"
        yield Incident(
            kind=kind,
            subject=name,
            reason=report.problem,
            facts={
                "list": name,
                "lines": [line],
                "considered": counts.to_score,
                "scored": scored,
                "served": report.is_served,
            },
        )

    reason = report.problem if report.shortfall is None else ""
    for paper in report.let_go:
        line = f"{name}: {paper.id} {title_of(paper)}"
        yield Incident(
            kind=Kind.LET_GO,
            subject=f"{name} {paper.id}",
            reason=reason,
            facts={"list": name, "lines": [line]},
            event=True,
        )


def inactive(mailing_list: MailingList) -> Iterator[Incident]:
    """Yield the event that rows of the list's file are no subscribers, if there are any."""
    people = mailing_list.subscribers
    if isinstance(people, Subscribers) and (found := people.inactive()):
        words = " or ".join(sorted({status for _, status in found}))
        rows = counted(len(found), "row")
        yield Incident(
            kind=Kind.INACTIVE,
            subject=mailing_list.name,
            reason=f"no mail goes to {rows} of {mailing_list.subscribers_file} marked {words}",
            facts={"rows": len(found)},
            event=True,
        )


def _kind(report: ListReport, fetched: FetchResult, *, overdue: bool) -> Kind | None:
    if report.bug:
        return Kind.PROCESS
    if report.shortfall is Shortfall.BUDGET:
        return Kind.BUDGET

    is_due = report.outcome in {None, Outcome.GAVE_UP}
    if report.shortfall is Shortfall.SERVER or (is_due and report.counts.considered):
        return Kind.SCORING

    is_late = is_due or (fetched.blocks and report.is_served)
    if report.outcome is Outcome.GAVE_UP or (overdue and is_late):
        return Kind.LATE
    is_over = report.is_served or report.outcome is Outcome.QUIET
    if is_over and fetched.lasting and not fetched.blocks:
        return Kind.SOURCE
    return None
