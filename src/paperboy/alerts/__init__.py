"""What a morning means for its operator, and when it is well again. Pure: from both halves' reports to words.

A cause is told by its kind, not by its lists: one dead LLM is one cause, for ten lists as for one. It is over when each
list that it troubled has come through a later run in which it could have shown. So a run where nothing was due, a quiet
day and a morning of other lists prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from types import MappingProxyType

from paperboy import delivery, due
from paperboy.alerts import words
from paperboy.models import (
    Alert,
    Attempt,
    DeliveryState,
    ListReport,
    MailingList,
    MorningReport,
    Outcome,
    Problem,
    Shortfall,
    Superseded,
)
from paperboy.store.alerts import Alerts, Standing

MAIL_SERVER = "the mail server"  # what `Kind.MAIL` troubles; no list can be called that
WELL_AGAIN = "well again"
HOME_FILES = "the home's files"  # what `Kind.FILES` troubles
THE_MORNING = "the morning"  # what `Kind.PROCESS` troubles
BESIDE_LISTS = frozenset({MAIL_SERVER, HOME_FILES, THE_MORNING})
_CAME = frozenset({Outcome.DIGEST, Outcome.NOTE, Outcome.QUIET})


class Kind(StrEnum):
    """What a cause is known by, for as long as it lasts."""

    SCORING = "scoring"  # 0 of N scored, by a dead LLM; on the same mornings it may have scored a part for others
    PART_SCORED = "part scored"  # by a dying LLM, some of every list's papers
    BUDGET = "budget"
    LATE = "late"  # arXiv, beyond patience
    STUCK = "stuck"  # still due long after its hour, for another reason
    BUG = "bug"
    MAIL = "mail"
    NOBODY = "reached nobody"  # a digest
    FILES = "files"  # of the home, and broken
    PROCESS = "process"  # of a morning, which came to a bad end


# What stands after its alert was mailed, which is kept no longer than that.
_STANDS: Mapping[str, str] = {
    Kind.SCORING: "The LLM scores nothing for {}",
    Kind.PART_SCORED: "The LLM scores only a part for {}",
    Kind.BUDGET: "LLM_BUDGET_USD is not enough for {}",
    Kind.LATE: "arXiv gave no papers in time for {}",
    Kind.STUCK: "Still due, long after the hour: {}",
    Kind.BUG: "A bug in Paperboy troubles {}",
    Kind.MAIL: "Mail does not leave",
    Kind.NOBODY: "Nobody got the digest of {}",
    Kind.FILES: "The home's files are broken",
    Kind.PROCESS: "A morning came to a bad end",
}


def headline(standing: Standing) -> str:
    """An alert in a few words."""
    if standing.waiting:
        return standing.waiting.headline
    return _STANDS.get(standing.cause, f"{standing.cause}: {{}}").format(words.names(standing.about))


def is_over(standing: Standing) -> bool:
    """Whether it is good news."""
    return standing.cause.startswith(WELL_AGAIN)


@dataclass(frozen=True, slots=True)
class Cause:
    """Something to tell the operator."""

    key: str  # the same at every run that meets it
    about: frozenset[str]  # the lists it troubles; none: it is told once, and never over
    alert: Alert


@dataclass(frozen=True, slots=True)
class Ended:
    """A cause that was told, and is over."""

    key: str
    since: datetime  # in the operator's zone
    about: frozenset[str]
    untold: str = ""  # its headline, where no mail could tell it while it lasted


# --- what is wrong


def causes(
    report: MorningReport,
    sent: delivery.Report,
    lists: Sequence[MailingList],
    now: datetime,
    patience: timedelta,
    superseded: Sequence[Superseded] = (),
    attempts: Mapping[str, Attempt] = MappingProxyType({}),
) -> tuple[Cause, ...]:
    """What this run met. A list that waits for arXiv, and a mail server that is away or busy, are no cause before
    `patience` has passed; a list that could not be scored is, at its first try: the scorer has tried again by then.
    `attempts` are those of the lists that are still due.
    """
    tried = [entry for entry in report.lists if not entry.earlier]
    outcomes = {entry.list_name: entry.outcome for entry in report.lists}
    overdue = {
        entry.name
        for entry in lists
        if now
        >= due.standing(
            entry, outcomes.get(entry.name) or Outcome.GAVE_UP, attempts.get(entry.name), now, patience
        ).gives_up
    }
    by_kind: dict[Kind, list[ListReport]] = {}
    for entry in tried:
        if kind := _kind(entry, overdue, report.missing):
            by_kind.setdefault(kind, []).append(entry)
    if Kind.SCORING in by_kind:  # the same dead LLM
        by_kind[Kind.SCORING] += by_kind.pop(Kind.PART_SCORED, [])
    found = [Cause(kind, frozenset(entry.list_name for entry in of), _ALERTS[kind](of)) for kind, of in by_kind.items()]
    if letting := [entry for entry in tried if entry.let_go]:
        first = letting[0]  # a list lets go of a paper once, so this key comes once
        found.append(Cause(f"let go {first.list_name} {first.let_go[0].arxiv_id}", frozenset(), words.let_go(letting)))
    if sent.expired:
        found.append(Cause(f"expired {sent.expired[0].id}", frozenset(), words.expired(sent.expired)))
    if sent.suppressed:
        found.append(
            Cause(f"suppressed {sent.suppressed[0][0]} {now:%Y-%m-%d}", frozenset(), words.suppressed(sent.suppressed))
        )
    unreached = {each.list_name: each.reply for each in superseded} | dict(sent.refused)
    if unreached:
        found.append(Cause(Kind.NOBODY, frozenset(unreached), words.nobody(unreached, superseded)))
    if sent.problem and not (sent.passing and sent.since and now - sent.since < patience):
        found.append(Cause(Kind.MAIL, frozenset({MAIL_SERVER}), words.mail(sent.problem)))
    return tuple(found)


def broken_files(problems: Sequence[Problem]) -> Cause:
    """An edit that cannot be used."""
    return Cause(Kind.FILES, frozenset({HOME_FILES}), words.files(problems))


def begun_again() -> Cause:
    """`paperboy run` works, after the operator was told that it could not begin."""
    return Cause(f"{WELL_AGAIN}: begun", frozenset(), words.begun_again())


def broken_morning(problem: str, lists: Collection[str] = ()) -> Cause:
    """A morning whose process could not tell by itself what it came to; those lists are still due."""
    return Cause(Kind.PROCESS, frozenset(lists or {THE_MORNING}), words.process(problem))


def _kind(entry: ListReport, overdue: Collection[str], missing: str) -> Kind | None:
    if entry.bug:
        return Kind.BUG
    if entry.shortfall is Shortfall.BUDGET:
        return Kind.BUDGET
    if entry.counts.considered and not entry.counts.scored and entry.outcome in {None, Outcome.GAVE_UP}:
        return Kind.SCORING
    if entry.shortfall is Shortfall.SERVER:
        return Kind.PART_SCORED
    if entry.outcome is Outcome.GAVE_UP or (missing and _went_without(entry, overdue)):
        return Kind.LATE
    return Kind.STUCK if entry.outcome is None and entry.list_name in overdue else None


def _went_without(entry: ListReport, overdue: Collection[str]) -> bool:
    """Whether the day was closed though arXiv had not given all: as quiet, or with what was there after patience."""
    if entry.outcome is Outcome.QUIET:
        return bool(entry.problem)
    return entry.outcome in {Outcome.DIGEST, Outcome.NOTE} and entry.list_name in overdue


# --- what is well


def well(report: MorningReport, sent: delivery.Report) -> dict[str, frozenset[str]]:
    """For each kind, whom it did not trouble in this run, though it could have."""
    sound = [entry for entry in report.lists if not entry.earlier and not entry.bug]
    proven = {
        str(kind): frozenset(entry.list_name for entry in sound if proves(entry)) for kind, proves in _PROOFS.items()
    }
    if report.missing:  # a list may have been sent what is there, but arXiv is not well
        proven[Kind.LATE] = frozenset()
    elif not report.news:  # a weekend after a gap proves nothing
        proven[Kind.LATE] &= {entry.list_name for entry in sound if entry.outcome in {Outcome.DIGEST, Outcome.NOTE}}
    took = not sent.problem and sent.states.get(DeliveryState.SENT)
    return proven | {
        Kind.MAIL: frozenset({MAIL_SERVER} if took else ()),
        Kind.NOBODY: sent.reached,
        Kind.PROCESS: frozenset({THE_MORNING, *(entry.list_name for entry in report.lists)}),  # that this is asked
    }


def _answered(entry: ListReport) -> bool:
    return bool(entry.counts.scored) and entry.shortfall is not Shortfall.SERVER


def _came_through(entry: ListReport) -> bool:
    return entry.outcome in _CAME


_PROOFS: Mapping[Kind, Callable[[ListReport], bool]] = {
    Kind.SCORING: _answered,
    Kind.PART_SCORED: _answered,
    Kind.BUDGET: lambda entry: _answered(entry) and entry.shortfall is None,
    Kind.LATE: _came_through,
    Kind.STUCK: _came_through,
    Kind.BUG: _came_through,
}
_WELL: Mapping[str, str] = {
    Kind.SCORING: "the LLM scores",
    Kind.PART_SCORED: "the LLM scores",
    Kind.BUDGET: "the LLM budget is enough",
    Kind.LATE: "arXiv gives its papers",
    Kind.STUCK: "no list is stuck",
    Kind.BUG: "the bug did not show",
    Kind.MAIL: "mail leaves",
    Kind.NOBODY: "digests reach their lists",
    Kind.FILES: "the home's files are in order",
    Kind.PROCESS: "a morning came to its end",
}


def well_again(ended: Sequence[Ended]) -> Alert:
    """One mail for all that is over."""
    what = "; ".join(dict.fromkeys(_WELL[each.key] for each in ended))
    paragraphs = [f"What was wrong is over: {what}."]
    if any(each.untold for each in ended):
        paragraphs.append("Not all of it was told while it lasted.")
    if any(each.key == Kind.BUG for each in ended):
        paragraphs.append("A bug that does not show need not be gone: the log still has its traceback.")
    details = (
        f"{each.key}, since {each.since:%a %d %b %H:%M %Z}: {each.untold or words.names(each.about)}" for each in ended
    )
    return Alert(f"Well again: {what}", (*paragraphs, "Nothing is left to do."), tuple(details))


_ALERTS: Mapping[Kind, Callable[[Sequence[ListReport]], Alert]] = {
    Kind.SCORING: words.scoring,
    Kind.PART_SCORED: words.part_scored,
    Kind.BUDGET: words.budget,
    Kind.LATE: words.late,
    Kind.STUCK: words.stuck,
    Kind.BUG: words.bug,
}


# --- keeping it


def note(ledger: Alerts, cause: Cause, zone: tzinfo, now: datetime) -> None:
    """Keep a cause until it can be told; `zone` is the operator's."""
    ledger.note(cause.key, cause.about, cause.alert, now.astimezone(zone).date(), now)


def end(ledger: Alerts, key: str, zone: tzinfo, now: datetime) -> None:
    """The cause is over, if it was there: that waits to be told."""
    for standing in ledger.standing():
        if standing.cause == key and standing.about:
            ended = Ended(key, standing.since.astimezone(zone), standing.about, untold(standing))
            ledger.end([key], f"{WELL_AGAIN} {now.isoformat()}", well_again([ended]), now)


def untold(standing: Standing) -> str:
    """The headline of a cause that no mail could tell while it lasted."""
    return standing.waiting.headline if standing.waiting and not standing.told else ""
