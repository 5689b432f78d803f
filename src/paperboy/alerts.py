"""What a morning means for its operator, and when it is well again. Pure: from both halves' reports to words.

A cause is told by its kind, not by its lists: one dead LLM is one cause, for ten lists as for one. It is over when each
list that it troubled has come through a later run in which it could have shown. So a run where nothing was due, a quiet
day and a morning of other lists prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from paperboy import delivery, due, morning
from paperboy.curate import MOST_MORNINGS
from paperboy.models import Alert, DeliveryState, MailingList, Outcome, Shortfall
from paperboy.tex import to_text

MAIL_SERVER = "the mail server"  # what `Kind.MAIL` troubles; no list can be called that
WELL_AGAIN = "well again"
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


# --- what is wrong


def causes(
    report: morning.Report, sent: delivery.Report, lists: Sequence[MailingList], now: datetime, patience: timedelta
) -> tuple[Cause, ...]:
    """What this run met. A list that waits for arXiv is no cause before `patience` has passed since its hour; one that
    could not be scored is, at its first try: the scorer has tried again by then.
    """
    tried = [entry for entry in report.lists if not entry.earlier]
    overdue = {entry.name for entry in lists if now >= due.begins(entry, due.local_date(entry, now)) + patience}
    by_kind: dict[Kind, list[morning.ListReport]] = {}
    for entry in tried:
        if kind := _kind(entry, overdue):
            by_kind.setdefault(kind, []).append(entry)
    if Kind.SCORING in by_kind:  # the same dead LLM
        by_kind[Kind.SCORING] += by_kind.pop(Kind.PART_SCORED, [])
    found = [Cause(kind, frozenset(entry.list_name for entry in of), _ALERTS[kind](of)) for kind, of in by_kind.items()]
    if letting := [entry for entry in tried if entry.let_go]:
        first = letting[0]  # a list lets go of a paper once, so this key comes once
        found.append(Cause(f"let go {first.list_name} {first.let_go[0].arxiv_id}", frozenset(), _let_go(letting)))
    if sent.problem:
        found.append(Cause(Kind.MAIL, frozenset({MAIL_SERVER}), _mail(sent.problem)))
    return tuple(found)


def _kind(entry: morning.ListReport, overdue: Collection[str]) -> Kind | None:
    if entry.bug:
        return Kind.BUG
    if entry.shortfall is Shortfall.BUDGET:
        return Kind.BUDGET
    if entry.counts.considered and not entry.counts.scored and entry.outcome in {None, Outcome.GAVE_UP}:
        return Kind.SCORING
    if entry.shortfall is Shortfall.SERVER:
        return Kind.PART_SCORED
    if entry.outcome is Outcome.GAVE_UP:
        return Kind.LATE
    return Kind.STUCK if entry.outcome is None and entry.list_name in overdue else None


# --- what is well


def well(report: morning.Report, sent: delivery.Report) -> dict[str, frozenset[str]]:
    """For each kind, whom it did not trouble in this run, though it could have."""
    sound = [entry for entry in report.lists if not entry.earlier and not entry.bug]
    proven = {
        str(kind): frozenset(entry.list_name for entry in sound if proves(entry)) for kind, proves in _PROOFS.items()
    }
    if report.missing:  # a list may have been sent what is there, but arXiv is not well
        proven[Kind.LATE] = frozenset()
    took = not sent.problem and sent.states.get(DeliveryState.SENT)
    return proven | {Kind.MAIL: frozenset({MAIL_SERVER} if took else ())}


def _answered(entry: morning.ListReport) -> bool:
    return bool(entry.counts.scored) and entry.shortfall is not Shortfall.SERVER


def _came_through(entry: morning.ListReport) -> bool:
    return entry.outcome in _CAME


_PROOFS: Mapping[Kind, Callable[[morning.ListReport], bool]] = {
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
}


def well_again(ended: Sequence[Ended]) -> Alert:
    """One mail for all that is over."""
    what = "; ".join(dict.fromkeys(_WELL[each.key] for each in ended))
    paragraphs = [f"What was told before is over: {what}."]
    if any(each.key == Kind.BUG for each in ended):
        paragraphs.append("A bug that does not show need not be gone: the log still has its traceback.")
    details = (f"{each.key}, since {each.since:%a %d %b %H:%M %Z}: {names(each.about)}" for each in ended)
    return Alert(f"Well again: {what}", (*paragraphs, "Nothing is left to do."), tuple(details))


# --- the words


def _scoring(entries: Sequence[morning.ListReport]) -> Alert:
    none = [entry for entry in entries if not entry.counts.scored]
    part = [entry for entry in entries if entry.counts.scored]
    before = f"For {_names_of(part)} it gave some scores first; the rest of those papers comes back next morning."
    return _alert(
        f"Scored {_of_all(none)}: no digest for {_names_of(none)}",
        f"""The LLM gave no score for any paper of {_names_of(none)}. That is not a morning on which none passed: nobody
        has judged these papers, so there is no digest and no note.

        {_reasons(entries)}

        No paper is lost. All stay unseen, and the next attempt takes them up, today's or tomorrow morning's.
        {before if part else ""}

        Mend what the reason names; paperboy check tries the LLM, paperboy once makes what is still due.""",
        map(_line, entries),
    )


def _part_scored(entries: Sequence[morning.ListReport]) -> Alert:
    return _alert(
        f"Scored only {_of_all(entries)} for {_names_of(entries)}",
        f"""The LLM failed before all papers had a score. What was scored is served, and the digest says how many are
        missing; they come back next morning.

        {_reasons(entries)}

        Mend what the reason names; paperboy check tries the LLM.""",
        map(_line, entries),
    )


def _budget(entries: Sequence[morning.ListReport]) -> Alert:
    none = [entry for entry in entries if not entry.counts.scored]
    without = f"Nothing could be scored for {_names_of(none)}, so there is no digest."
    return _alert(
        f"LLM_BUDGET_USD is used up: scored {_of_all(entries)}",
        f"""Today's budget does not cover all papers of {_names_of(entries)}. What was scored is served; the rest is
        carried over and comes back next morning. {without if none else ""}

        {_reasons(entries)}

        To have more scored, raise LLM_BUDGET_USD in .env (0 is no limit). OPENAI_SERVICE_TIER=flex, where the server
        has it, or a cheaper OPENAI_MODEL make it last longer.""",
        map(_line, entries),
    )


def _late(entries: Sequence[morning.ListReport]) -> Alert:
    return _alert(
        f"arXiv gave no papers in time: no digest for {_names_of(entries)}",
        f"""The morning waited for arXiv as long as GIVE_UP_AFTER_HOURS allows, and then gave up for today.

        {_reasons(entries)}

        No paper is lost: what arXiv gives later is in the next morning's digest.

        If arXiv itself is late (status.arxiv.org), there is nothing to do. If not, paperboy check says whether this
        machine reaches it.""",
        map(_line, entries),
    )


def _stuck(entries: Sequence[morning.ListReport]) -> Alert:
    return _alert(
        f"Still due, long after the hour: {_names_of(entries)}",
        f"""No attempt of today has come to anything for {_names_of(entries)}. No paper is lost, and each attempt takes
        them up again.

        {_reasons(entries)}

        Mend what the reason names; paperboy once makes what is still due.""",
        map(_line, entries),
    )


def _bug(entries: Sequence[morning.ListReport]) -> Alert:
    return _alert(
        f"A bug in Paperboy troubles {_names_of(entries)}",
        f"""Paperboy met something that it was not written for. Other lists go on, and no paper is lost: what was not
        served stays unseen, and the next attempt takes it up.

        {_reasons(entries)}

        Please report it with the traceback that the log holds; until it is mended it may well come again.""",
        map(_line, entries),
    )


def _let_go(entries: Sequence[morning.ListReport]) -> Alert:
    number = sum(len(entry.let_go) for entry in entries)
    return _alert(
        f"{_papers(number)} could not be scored and will not come back",
        f"""On {MOST_MORNINGS} mornings the LLM gave no score for {"it" if number == 1 else "them"}, though it
        scored others. The digest of {_names_of(entries)} names what it lets go of, so that readers can look for
        themselves.

        {_reasons(entry for entry in entries if entry.shortfall is None)}""",
        (f"{entry.list_name}: {paper.arxiv_id} {to_text(paper.title)}" for entry in entries for paper in entry.let_go),
    )


def _mail(problem: str) -> Alert:
    return _alert(
        "Mail does not leave",
        f"""{_reason(problem)}

        What waits is kept and tried again, and nothing is sent twice.

        paperboy check logs in as a morning does, and paperboy status shows what waits.""",
        (),
    )


_ALERTS: Mapping[Kind, Callable[[Sequence[morning.ListReport]], Alert]] = {
    Kind.SCORING: _scoring,
    Kind.PART_SCORED: _part_scored,
    Kind.BUDGET: _budget,
    Kind.LATE: _late,
    Kind.STUCK: _stuck,
    Kind.BUG: _bug,
}


def _alert(headline: str, text: str, details: Iterable[str]) -> Alert:
    """With a paragraph for every stretch of text between empty lines."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    return Alert(headline, tuple(filter(None, paragraphs)), tuple(details))


def _reasons(entries: Iterable[morning.ListReport]) -> str:
    """Each reason once, as a paragraph; most often there is one. The log has those beyond the third."""
    problems = dict.fromkeys(entry.problem for entry in entries if entry.problem)
    return "\n\n".join(_reason(problem) for problem in list(problems)[:3])


def _reason(problem: str) -> str:
    words = " ".join(problem.split())
    return f"The reason: {words}{'' if words.endswith(('.', '!', '?', '…')) else '.'}"


def _line(entry: morning.ListReport) -> str:
    """What the list's morning came to, by its counts."""
    counts = entry.counts
    came = entry.outcome or "still due"
    scored = f", {_of_all([entry])} scored" if counts.considered else ""
    carried = f", {counts.carried_over:,} carried over" if counts.carried_over else ""
    let_go = f", {counts.let_go:,} let go" if counts.let_go else ""
    return f"{entry.list_name}: {came}{scored}{carried}{let_go}"


def _papers(number: int) -> str:
    return f"{number:,} paper{'' if number == 1 else 's'}"


def _of_all(entries: Iterable[morning.ListReport]) -> str:
    """As "20 of 40 papers"."""
    counts = [entry.counts for entry in entries]
    return f"{sum(each.scored for each in counts):,} of {_papers(sum(each.considered for each in counts))}"


def _names_of(entries: Iterable[morning.ListReport]) -> str:
    return names([entry.list_name for entry in entries])


def names(of: Collection[str]) -> str:
    """Three names at most, as "a, b, c and 7 more"."""
    some = sorted(of)
    if len(some) > 3:
        some = [", ".join(some[:3]), f"{len(some) - 3} more"]
    return " and ".join([", ".join(some[:-1]), some[-1]] if len(some) > 1 else some)
