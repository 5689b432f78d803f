"""What the operator is told when a morning needs a hand: by the log, and by mail to ALERT_TO.

    morning     notes what went wrong with each list, and ends what this morning proves to be well again
    sending     does the same for the mail; what expired, was suppressed or superseded is noted with the move itself
    report      one mail for each cause and operator's day, and one when it is well again

A cause goes by its kind, not by its lists: one dead LLM is one cause, for ten lists as for one. It is over when each
list that it troubles has come through a later run in which it could have shown. So a run where nothing was due, a quiet
day and a morning of other lists prove nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, NamedTuple, Protocol

from paperboy import due
from paperboy.errors import MailServerError, PaperboyError
from paperboy.models import (
    Alert,
    DeliveryState,
    Envelope,
    ListReport,
    MailingList,
    MorningReport,
    Outcome,
    Problem,
    Receipt,
    Shortfall,
    Subscriber,
)
from paperboy.store import Store
from paperboy.store.alerts import Cause, Kept, Note
from paperboy.tex import to_text

if TYPE_CHECKING:
    from paperboy.delivery import Report as Sent

logger = logging.getLogger(__name__)

MAIL_SERVER, HOME_FILES, THE_MORNING = "the mail server", "the home's files", "the morning"  # subjects beside lists
_BESIDE_LISTS = frozenset({MAIL_SERVER, HOME_FILES, THE_MORNING})
_ONCE = frozenset({Cause.LET_GO, Cause.EXPIRED, Cause.SUPPRESSED})  # reported once, and never over
_SERVED = frozenset({Outcome.DIGEST, Outcome.NOTE})
_LONGEST_BACKOFF = timedelta(hours=4)
_MOST_REASONS = 3  # the log has the others


# --- what is wrong


def morning(
    store: Store, lists: Sequence[MailingList], report: MorningReport, now: datetime, patience: timedelta
) -> None:
    """Note what a morning came to, and end what it proves to be over. A list that waits for arXiv is no cause before
    `patience` has passed; one that could not be scored is, at its first try: the scorer has tried again by then.
    """
    notes = list(_of_morning(store, lists, report, now, patience))
    with store.transaction():
        store.alerts.note(notes, now)
        _end(store, lists, proved(report), {(each.cause, each.subject) for each in notes}, now)


def sending(store: Store, lists: Sequence[MailingList], sent: Sent, now: datetime, patience: timedelta) -> None:
    """Note what a round of sending met, and end what it proves to be over. A mail server that is away or busy is no
    cause before `patience` has passed.
    """
    passing = sent.passing and sent.since is not None and now - sent.since < patience
    notes = [Note(Cause.MAIL, MAIL_SERVER, sent.problem)] if sent.problem and not passing else []
    took = not sent.problem and sent.states.get(DeliveryState.SENT)
    well = {
        Cause.MAIL: frozenset({MAIL_SERVER} if took else ()),
        Cause.NOBODY: sent.reached,
        Cause.PROCESS: frozenset({THE_MORNING}),
    }
    if not sent.problem:
        notes += [Note(Cause.NOBODY, name, reply, f"{name}: {reply}") for name, reply in sent.refused]
    with store.transaction():
        store.alerts.note(notes, now)
        for each in store.alerts.all() if sent.problem else ():
            if each.cause is Cause.NOBODY and each.reported is None:
                store.alerts.forget(each.cause, each.subject)  # the mail server's trouble says it already
        _end(store, lists, well, {(each.cause, each.subject) for each in notes}, now)


def _of_morning(
    store: Store, lists: Sequence[MailingList], report: MorningReport, now: datetime, patience: timedelta
) -> Iterator[Note]:
    attempts = store.days.attempts()
    standings = due.standings(lists, {}, attempts, now, patience)
    overdue = {  # a list that was served has no attempt any more
        name
        for name, standing in standings.items()
        if now >= standing.gives_up or (name not in attempts and now >= standing.start + patience)
    }
    tried = [each for each in report.lists if not each.earlier]
    causes = {each.list_name: _cause(each, overdue, report.missing) for each in tried}
    dead = Cause.SCORING in causes.values()
    for each in tried:
        cause = causes[each.list_name]
        if cause is Cause.PART_SCORED and dead:
            cause = Cause.SCORING  # the same dead LLM
        if cause:
            yield _note(cause, each)
        for paper in each.let_go:
            reason = each.problem if each.shortfall is None else ""
            detail = f"{each.list_name}: {paper.arxiv_id} {to_text(paper.title)}"
            facts = {"list": each.list_name}
            yield Note(Cause.LET_GO, f"{each.list_name} {paper.arxiv_id}", reason, detail, facts)


def _note(cause: Cause, each: ListReport) -> Note:
    counts = each.counts
    line = f"{each.list_name}: {each.outcome or 'still due'}"
    if counts.considered:
        line += f", {counts.scored:,} of {_papers(counts.considered)} scored"
    line += f", {counts.carried_over:,} carried over" if counts.carried_over else ""
    line += f", {counts.let_go:,} let go" if counts.let_go else ""
    served = each.outcome in _SERVED
    facts = {"considered": counts.considered, "scored": counts.scored, "served": served}
    return Note(cause, each.list_name, each.problem, line, facts)


def _cause(each: ListReport, overdue: Collection[str], missing: str) -> Cause | None:
    if each.bug:
        return Cause.BUG
    if each.shortfall is Shortfall.BUDGET:
        return Cause.BUDGET
    if each.counts.considered and not each.counts.scored and each.outcome in {None, Outcome.GAVE_UP}:
        return Cause.SCORING
    if each.shortfall is Shortfall.SERVER:
        return Cause.PART_SCORED
    late = each.list_name in overdue
    went_without = bool(each.problem) if each.outcome is Outcome.QUIET else each.outcome in _SERVED and late
    if each.outcome is Outcome.GAVE_UP or (missing and went_without):
        return Cause.LATE
    return Cause.STUCK if each.outcome is None and late else None


def broken_files(problems: Sequence[Problem]) -> Note:
    """An edit that cannot be used."""
    first, lines = problems[0], "\n".join(map(str, problems))
    return Note(Cause.FILES, HOME_FILES, first.message, lines, {"place": first.place})


def bad_end(problem: str, lists: Collection[str] = ()) -> list[Note]:
    """A process that could not report by itself what it came to; those lists are still due."""
    return [Note(Cause.PROCESS, name, problem) for name in sorted(lists) or [THE_MORNING]]


# --- what is well again

_PROOFS: Mapping[Cause, Callable[[ListReport], bool]] = {
    Cause.SCORING: lambda each: bool(each.counts.scored) and each.shortfall is not Shortfall.SERVER,
    Cause.PART_SCORED: lambda each: bool(each.counts.scored) and each.shortfall is not Shortfall.SERVER,
    Cause.BUDGET: lambda each: bool(each.counts.scored) and each.shortfall is None,
    Cause.LATE: lambda each: each.outcome in {*_SERVED, Outcome.QUIET},
    Cause.STUCK: lambda each: each.outcome in {*_SERVED, Outcome.QUIET},
    Cause.BUG: lambda each: each.outcome in {*_SERVED, Outcome.QUIET},
}


def proved(report: MorningReport) -> dict[Cause, frozenset[str]]:
    """For each cause, whom it did not trouble in this morning, though it could have."""
    sound = [each for each in report.lists if not each.earlier and not each.bug]
    well = {cause: frozenset(each.list_name for each in sound if proves(each)) for cause, proves in _PROOFS.items()}
    if report.missing:  # a list may have been sent what is there, but arXiv is not well
        well[Cause.LATE] = frozenset()
    elif not report.news:  # a weekend after a gap proves nothing
        well[Cause.LATE] &= {each.list_name for each in sound if each.outcome in _SERVED}
    return well | {Cause.PROCESS: frozenset(each.list_name for each in report.lists)}


def end(store: Store, cause: Cause, now: datetime) -> None:
    """The cause is over, if it was there."""
    for each in store.alerts.all():
        if each.cause is cause and each.over is None:
            store.alerts.end(cause, each.subject, now)


def _end(
    store: Store,
    lists: Sequence[MailingList],
    well: Mapping[Cause, frozenset[str]],
    just_noted: Collection[tuple[Cause, str]],
    now: datetime,
) -> None:
    """A list that is gone, or has no subscribers any more, holds nothing up."""
    there = {each.name for each in lists if each.subscribers} | _BESIDE_LISTS
    for each in store.alerts.all():
        if each.cause in _ONCE or each.over or (each.cause, each.subject) in just_noted:
            continue
        if each.subject in well.get(each.cause, frozenset()):
            store.alerts.end(each.cause, each.subject, now)
        elif each.subject not in there:
            store.alerts.forget(each.cause, each.subject)


# --- the words


class _Words(NamedTuple):
    """Of a cause: what happened, what it means for the lists, what to do; and how it is called when it is well."""

    headline: str
    means: str
    fix: str
    well: str = ""


_WORDS: Mapping[Cause, _Words] = {
    Cause.SCORING: _Words(
        "Scored {none}: {fate}",
        "The LLM gave no score for any paper of {unserved}. That is not a morning on which none passed: nobody has "
        "judged these papers, so there is no digest and no note. No paper is lost: all stay unseen, and the next "
        "attempt takes them up, today's or tomorrow morning's.",
        "Fix what the reason names; paperboy check tries the LLM, paperboy once makes what is still due.",
        "the LLM scores",
    ),
    Cause.PART_SCORED: _Words(
        "Scored only {scored} for {names}",
        "The LLM failed before all papers had a score. What was scored is in the digests, which say how many papers "
        "are missing; those come back next morning.",
        "Fix what the reason names; paperboy check tries the LLM.",
        "the LLM scores",
    ),
    Cause.BUDGET: _Words(
        "LLM_BUDGET_USD is used up: scored {scored}",
        "Today's budget does not cover all papers of {names}. What was scored is in the digests; the rest comes back "
        "next morning. A list of which nothing was scored has no digest.",
        "To have more scored, raise LLM_BUDGET_USD in .env (0 is no limit). OPENAI_SERVICE_TIER=flex, where the server "
        "has it, or a cheaper OPENAI_MODEL make it last longer.",
        "the LLM budget is enough",
    ),
    Cause.LATE: _Words(
        "arXiv gave no papers in time: {fate}",
        "The morning waited for arXiv as long as GIVE_UP_AFTER_HOURS allows, at most until the day is over, and then "
        "went on with what was there. No paper is lost: what arXiv gives later is in the next morning's digest.",
        "If arXiv itself is late (status.arxiv.org), there is nothing to do. If it has a holiday that Paperboy does "
        "not know, put that evening into ARXIV_HOLIDAYS. If neither, paperboy check tries this machine's way there.",
        "arXiv gives its papers",
    ),
    Cause.STUCK: _Words(
        "Still due, long after the hour: {names}",
        "No attempt of today has come to anything for {names}. No paper is lost: each attempt takes them up again.",
        "Fix what the reason names; paperboy once makes what is still due.",
        "no list is stuck",
    ),
    Cause.BUG: _Words(
        "A bug in Paperboy affects {names}",
        "Paperboy met something that it was not written for. Other lists go on, and no paper is lost: what was not "
        "served stays unseen, and the next attempt takes it up.",
        "Please report it with the traceback in the log; until it is fixed it may come again.",
        "the bug did not show",
    ),
    Cause.LET_GO: _Words(
        "{papers} could not be scored and will not come back",
        "On three mornings the LLM scored others and not these. The digest of {names} names what it lets go of, so "
        "that readers can look for themselves.",
        "",
    ),
    Cause.MAIL: _Words(
        "Mail does not leave",
        "What waits is kept and tried again, and nothing is sent twice.",
        "paperboy check logs in as a morning does, and paperboy status shows what waits.",
        "mail leaves",
    ),
    Cause.NOBODY: _Words(
        "Nobody got the digest of {names}",
        "{back}",
        "paperboy check logs in as a morning does, and paperboy status shows what waits. If the addresses are wrong, "
        "fix them in subscribers.yaml, and paperboy resend {first} sends today's.",
        "digests reach their lists",
    ),
    Cause.EXPIRED: _Words(
        "{mails} could not be delivered in three days",
        "The digest reached others on {names}, and not these addresses. They are tried no more for it; the next digest "
        "tries them again.",
        "When the cause is fixed, paperboy resend {first} --failed sends it to those whom it did not reach.",
    ),
    Cause.SUPPRESSED: _Words(
        "{addresses} suppressed: not there in three digests running",
        "The mail server said three digests in a row that there is no such address, while others got theirs. No list "
        "sends there any more.",
        "Take it out of subscribers.yaml; or, if it is right and there again, bring it back with "
        "paperboy unsuppress {first}",
    ),
    Cause.FILES: _Words(
        "Broken: {place}",
        "The last good version stays in force: digests go out as they did.",
        "Once it is fixed, it is used within a minute; there is nothing to restart.",
        "the home's files are in order",
    ),
    Cause.PROCESS: _Words(
        "A morning crashed or got stuck{why}",
        "What it had done stands. It is tried again within a quarter of an hour, and nothing is sent twice.",
        "The log has more: journalctl -u paperboy, where systemd runs it.",
        "a morning finished",
    ),
}


def headline(rows: Sequence[Kept]) -> str:
    """What happened, of rows of one cause."""
    return _WORDS[rows[0].cause].headline.format_map(_fields(rows))


def _alert(rows: Sequence[Kept]) -> Alert:
    """The mail about one cause: what happened, why, what it means, what to do."""
    words, fields = _WORDS[rows[0].cause], _fields(rows)
    reasons = [_reason(each) for each in dict.fromkeys(row.reason for row in rows if row.reason)]
    paragraphs = (*reasons[:_MOST_REASONS], words.means.format_map(fields), words.fix.format_map(fields))
    details = (line for row in rows for line in row.detail.splitlines())
    return Alert(headline(rows), tuple(filter(None, paragraphs)), tuple(details))


def _fields(rows: Sequence[Kept]) -> dict[str, str]:
    """What the words may say of the rows of one cause. An address or a list's name is its rows' subject."""
    unserved = [row for row in rows if not row.facts.get("served")]
    lists = [str(row.facts.get("list", row.subject)) for row in rows]
    back = [row.subject for row in rows if row.facts.get("back")]
    without, reason, number = names(row.subject for row in unserved or rows), rows[0].reason, len(rows)
    return {
        "names": names(lists),
        "unserved": without,
        "fate": f"no digest for {without}" if unserved else f"{names(lists)} got what was there",
        "none": _scored(unserved or rows),
        "scored": _scored(rows),
        "papers": _papers(number),
        "mails": f"{number:,} mail" + ("" if number == 1 else "s"),
        "addresses": f"{number:,} address" + ("" if number == 1 else "es"),
        "first": min(lists),
        "back": f"The papers are not lost: they come with the next digest of {names(back)}." if back else "",
        "place": str(rows[0].facts.get("place", HOME_FILES)),
        "why": f": {reason}" if 0 < len(reason) < 60 else "",
    }


def _well_again(rows: Sequence[Kept], zone: tzinfo) -> Alert:
    """One mail for all that is over."""
    by_cause = _by_cause(rows)
    what = "; ".join(dict.fromkeys(_WORDS[cause].well for cause in by_cause))
    unreported = [cause for cause, of in by_cause.items() if all(row.reported is None for row in of)]
    paragraphs = [f"What was wrong is over: {what}."]
    if unreported:
        paragraphs.append("Not all of it was reported while it lasted.")
    if Cause.BUG in by_cause:
        paragraphs.append("A bug that does not show need not be gone: the log still has its traceback.")
    details = (
        f"{cause}, since {min(row.since for row in of).astimezone(zone):%a %d %b %H:%M %Z}: "
        + (headline(of) if cause in unreported else names(row.subject for row in of))
        for cause, of in by_cause.items()
    )
    return Alert(f"Well again: {what}", (*paragraphs, "Nothing is left to do."), tuple(details))


def no_start(problem: str) -> Alert:
    """Nothing can be done, and nothing be written down."""
    advice = "It is tried again by itself; paperboy check says what else is wrong. This is reported once a day."
    return Alert("Paperboy cannot work", (_reason(problem), f"No digest goes out until that is fixed. {advice}"))


def names(of: Iterable[str]) -> str:
    """Three names at most, as "a, b, c and 7 more"."""
    some = sorted(set(of))
    if len(some) > 3:
        some = [", ".join(some[:3]), f"{len(some) - 3} more"]
    return " and ".join([", ".join(some[:-1]), some[-1]] if len(some) > 1 else some)


def _reason(problem: str) -> str:
    words = " ".join(problem.split())
    ended = words.rstrip("\"')]}”’»").endswith((".", "!", "?", "…"))  # also within what it quotes
    return f"The reason: {words}{'' if ended else '.'}"


def _papers(number: int) -> str:
    return f"{number:,} paper" + ("" if number == 1 else "s")


def _scored(rows: Iterable[Kept]) -> str:
    """As "20 of 40 papers"."""
    facts = [row.facts for row in rows]
    scored, considered = (sum(each.get(name, 0) for each in facts) for name in ("scored", "considered"))
    return f"{scored:,} of {_papers(considered)}"


# --- reporting


@contextmanager
def never_raising() -> Iterator[None]:
    """Log what keeps the operator from hearing of something."""
    try:
        yield
    except PaperboyError as error:
        logger.error("ALERT_TO could not be alerted: %s", error)
    except Exception:
        logger.exception("ALERT_TO could not be alerted: this is a bug in Paperboy")


@dataclass(frozen=True, slots=True)
class Waiting:
    """A mail to the operator that is to be sent."""

    causes: tuple[Cause, ...]
    alert: Alert
    at: datetime  # when it was found, which dates it: so every try is the same message
    next_try: datetime | None  # retry backoff: not before
    over: bool = False  # good news


def lasting(rows: Iterable[Kept]) -> dict[Cause, list[Kept]]:
    """What is not over, by cause."""
    return _by_cause(row for row in rows if row.over is None)


def waiting(store: Store, zone: tzinfo) -> list[Waiting]:
    """What is to be reported: each cause that was met since the last mail's day in the operator's `zone`; and what is
    over, when nothing of its cause lasts.
    """
    rows = store.alerts.all()
    found, lasts = [], lasting(rows)
    for cause, of in lasts.items():
        at, last = max(row.noted for row in of), max((row.reported for row in of if row.reported), default=None)
        if last is None or (cause not in _ONCE and at.astimezone(zone).date() > last):
            found.append(Waiting((cause,), _alert(of), at, _next_try(of)))
    if over := [row for row in rows if row.over and row.cause not in lasts]:
        at = max(row.over for row in over if row.over)
        found.append(Waiting(tuple(_by_cause(over)), _well_again(over, zone), at, _next_try(over), over=True))
    return sorted(found, key=lambda each: each.at)


def next_try(store: Store, zone: tzinfo) -> datetime | None:
    """When the first alert that waits may be sent; None if none waits."""
    return min((each.next_try or each.at for each in waiting(store, zone)), default=None)


class Composer(Protocol):
    """Makes a mail to the operator."""

    def alert(self, alert: Alert, to: Subscriber, now: datetime) -> Envelope: ...


class Transport(Protocol):
    """Sends it. Raises MailServerError if the server takes nothing."""

    def send(self, envelope: Envelope) -> Receipt: ...


def report(
    store: Store, transport: Transport | None, composer: Composer, to: Subscriber | None, zone: tzinfo, now: datetime
) -> None:
    """Log what waits, oldest first, send it, and mark what somebody took. Without an address the log is enough; without
    a transport it goes on waiting. Raises StoreWriteError before a mail that could not be marked, and MailServerError,
    as no other mail would leave.
    """
    for each in waiting(store, zone):
        logger.log(logging.INFO if each.over else logging.WARNING, "%s", each.alert.headline)
        backoff = min(max(now - each.at, due.RETRY), _LONGEST_BACKOFF)  # so it doubles with each try
        for cause in each.causes if to else ():
            store.alerts.postpone(cause, now + backoff)
        if to is None or (transport and _mailed(transport, composer, each, to)):
            _mark(store, each, now.astimezone(zone).date())


def _mark(store: Store, reported: Waiting, day: date) -> None:
    with store.transaction():
        for cause in reported.causes:
            if reported.over or cause in _ONCE:
                store.alerts.forget(cause)
            else:
                store.alerts.reported(cause, day)


def _mailed(transport: Transport, composer: Composer, each: Waiting, to: Subscriber) -> bool:
    try:
        receipt = transport.send(composer.alert(each.alert, to, each.at))
    except MailServerError:
        raise
    except PaperboyError as error:
        logger.error("%s: ALERT_TO could not be alerted: %s", each.alert.headline, error)
        return False
    except Exception:  # those after it go all the same
        logger.exception("%s: ALERT_TO could not be alerted: this is a bug in Paperboy", each.alert.headline)
        return False
    if receipt.state is not DeliveryState.SENT:
        logger.error("%s: ALERT_TO could not be alerted: %s (%s)", each.alert.headline, receipt.state, receipt.reply)
    return receipt.state is DeliveryState.SENT


def _next_try(rows: Iterable[Kept]) -> datetime | None:
    return max((row.next_try for row in rows if row.next_try), default=None)


def _by_cause(rows: Iterable[Kept]) -> dict[Cause, list[Kept]]:
    found: dict[Cause, list[Kept]] = {}
    for row in rows:
        found.setdefault(row.cause, []).append(row)
    return found
