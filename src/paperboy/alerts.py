"""Alerts: what the operator is told when a morning needs a hand, by the log and by mail to ALERT_TO.

    of_list     what went wrong with one list, noted in the transaction that freezes its day or its attempt
    morning     ends what a whole morning proves to be well again
    sending     does both for the mail; the store itself notes what expired, was suppressed or superseded
    report      one mail for each cause and operator's day, and one when it is well again

One dead LLM is one cause, for ten lists as for one. It is over when each list that it affects has come through a later
run in which it could have shown: a run where nothing was due, a quiet day and a morning of other lists prove nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from paperboy import due
from paperboy.errors import MailServerError, PaperboyError
from paperboy.mail.text import counted, together
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
    Subscriber,
)
from paperboy.store import Store
from paperboy.store.alerts import Cause, Kept, Note
from paperboy.tex import to_text

if TYPE_CHECKING:
    from paperboy.delivery import Report as Sent
    from paperboy.delivery import Transport
    from paperboy.mail.message import Composer

logger = logging.getLogger(__name__)

MAIL_SERVER, HOME_FILES, THE_MORNING = "the mail server", "the home's files", "the morning"  # subjects beside lists
_SERVED = frozenset({Outcome.DIGEST, Outcome.NOTE})
_LONGEST_BACKOFF = timedelta(hours=4)
_MOST = 3  # names, or reasons, in a mail; the log has the others


# --- what is wrong


def is_overdue(mailing_list: MailingList, attempt: Attempt | None, now: datetime, patience: timedelta) -> bool:
    """Whether `patience` has passed for a list of which a morning has made that attempt, or none."""
    standing = due.standing(mailing_list, None, attempt, now, patience)
    return now >= standing.gives_up or (attempt is None and now >= standing.start + patience)


def of_list(report: ListReport, missing: str, *, overdue: bool) -> Iterator[Note]:
    """What one list's morning has to report; `missing`: why arXiv's papers are. Waiting for arXiv is no cause before
    the list is overdue. A dead LLM is one at the first try: the scorer has retried by then.
    """
    counts, name = report.counts, report.list_name
    if cause := _cause(report, overdue=overdue, missing=missing):
        facts = {"considered": counts.considered, "scored": counts.scored, "served": report.outcome in _SERVED}
        line = f"{name}: {report.outcome or 'still due'}"
        line += f", {_scored([facts])} scored" if counts.considered else ""
        line += f", {counts.carried_over:,} carried over" if counts.carried_over else ""
        line += f", {counts.let_go:,} let go" if counts.let_go else ""
        yield Note(cause, name, report.problem, line, facts)
    reason = report.problem if report.shortfall is None else ""
    for paper in report.let_go:
        detail = f"{name}: {paper.arxiv_id} {to_text(paper.title)}"
        yield Note(Cause.LET_GO, f"{name} {paper.arxiv_id}", reason, detail, {"list": name})


def _cause(each: ListReport, *, overdue: bool, missing: str) -> Cause | None:
    if each.bug:
        return Cause.BUG
    if each.shortfall is Shortfall.BUDGET:
        return Cause.BUDGET
    if each.counts.considered and not each.counts.scored and each.outcome in {None, Outcome.GAVE_UP}:
        return Cause.SCORING
    if each.shortfall is Shortfall.SERVER:
        return Cause.PART_SCORED
    went_without = bool(each.problem) if each.outcome is Outcome.QUIET else each.outcome in _SERVED and overdue
    if each.outcome is Outcome.GAVE_UP or (missing and went_without):
        return Cause.LATE
    return Cause.STUCK if each.outcome is None and overdue else None


def sending(store: Store, lists: Sequence[MailingList], sent: Sent, now: datetime, patience: timedelta) -> None:
    """Note what a round of sending met, and end what it proves to be over. A mail server that is away or busy is no
    cause before `patience` has passed.
    """
    well = {(Cause.PROCESS, THE_MORNING), *((Cause.NOBODY, name) for name in sent.reached - {*dict(sent.refused)})}
    passing = sent.passing and sent.since is not None and now - sent.since < patience
    if sent.problem:
        notes = [] if passing else [Note(Cause.MAIL, MAIL_SERVER, sent.problem)]
    else:
        notes = [Note(Cause.NOBODY, name, reply, f"{name}: {reply}") for name, reply in sent.refused]
        well |= {(Cause.MAIL, MAIL_SERVER)} if sent.states.get(DeliveryState.SENT) else set()
    with store.transaction():
        store.alerts.note(notes, now)
        for each in store.alerts.all() if sent.problem else ():
            if each.cause is Cause.NOBODY and each.reported is None:
                store.alerts.forget(each.cause, each.subject)  # the mail server's failure says it already
        _end(store, lists, well, now)


def broken_files(problems: Sequence[Problem]) -> Note:
    """An edit that cannot be used."""
    first, lines = problems[0], "\n".join(map(str, problems))
    return Note(Cause.FILES, HOME_FILES, first.message, lines, {"place": first.place})


def bad_end(problem: str, lists: Collection[str] = ()) -> list[Note]:
    """A process that could not report by itself what it came to; those lists are still due."""
    return [Note(Cause.PROCESS, name, problem) for name in sorted(lists) or [THE_MORNING]]


# --- what is well again


def morning(store: Store, lists: Sequence[MailingList], report: MorningReport, now: datetime) -> None:
    """End what a morning proves to be over."""
    well = {(cause, each.list_name) for each in report.lists for cause in proved(each, report)}
    with store.transaction():
        _end(store, lists, well, now)


def proved(each: ListReport, report: MorningReport) -> set[Cause]:
    """What did not affect this list of the morning, though it could have."""
    well = {Cause.PROCESS}
    if each.earlier or each.bug:
        return well
    served = each.outcome in _SERVED
    if served or each.outcome is Outcome.QUIET:
        well |= {Cause.STUCK, Cause.BUG}
        if not report.missing and (served or report.news):  # a weekend after a gap proves nothing of arXiv
            well.add(Cause.LATE)
    if each.counts.scored and each.shortfall is not Shortfall.SERVER:
        well |= {Cause.SCORING, Cause.PART_SCORED}
        well |= {Cause.BUDGET} if each.shortfall is None else set()
    return well


def _end(store: Store, lists: Sequence[MailingList], well: Collection[tuple[Cause, str]], now: datetime) -> None:
    """A list that is gone, or has no subscribers any more, holds nothing up."""
    there = {each.name for each in lists if each.subscribers} | {MAIL_SERVER, HOME_FILES, THE_MORNING}
    for each in store.alerts.all():
        if (each.cause, each.subject) in well:
            store.alerts.end(each.cause, each.subject, now)
        elif each.over is None and each.subject not in there and _WORDS[each.cause].well:
            store.alerts.forget(each.cause, each.subject)


# --- the words


class _Words(NamedTuple):
    """What a cause is in words."""

    headline: str
    means: str  # for the lists
    fix: str  # what to do
    well: str = ""  # what is well when it is over; empty: it is reported once, and never over


_WORDS: Mapping[Cause, _Words] = {
    Cause.SCORING: _Words(
        "Scored {none}: {fate}",
        "The LLM scored no paper of {unserved}. That is not a morning on which none passed: nobody has judged these "
        "papers, so there is no digest and no note. No paper is lost: the next attempt takes them all up.",
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
        "The morning waited for arXiv as long as GIVE_UP_AFTER_HOURS allows, at most until the day was over, and then "
        "went on with what was there. No paper is lost: what arXiv gives later is in the next morning's digest.",
        "If arXiv itself is late (status.arxiv.org), there is nothing to do. If it has a holiday that Paperboy does "
        "not know, put that evening into ARXIV_HOLIDAYS. If neither, paperboy check tries the connection to arXiv.",
        "arXiv gives its papers",
    ),
    Cause.STUCK: _Words(
        "Still due, long after the hour: {names}",
        "Every attempt of today has failed for {names}. No paper is lost: each attempt takes them up again.",
        "Fix what the reason names; paperboy once makes what is still due.",
        "no list is stuck",
    ),
    Cause.BUG: _Words(
        "A bug in Paperboy affects {names}",
        "Other lists go on, and no paper is lost: the next attempt takes up what was not served.",
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
        "What waits is kept and retried, and nothing is sent twice.",
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
        "The digest reached others on {names}, and not these addresses. Only the next digest tries them again.",
        "When the cause is fixed, paperboy resend {first} --failed sends it to those whom it did not reach.",
    ),
    Cause.SUPPRESSED: _Words(
        "{addresses} suppressed: not there in three digests running",
        "No list sends there any more. The mail server said that there is no such address, while others got theirs.",
        "Take it out of subscribers.yaml; or, if it exists again, bring it back with paperboy unsuppress {first}",
    ),
    Cause.FILES: _Words(
        "Broken: {place}",
        "The last good version stays in force: digests go out as they did.",
        "Once it is fixed, it is used within a minute; there is nothing to restart.",
        "the home's files are in order",
    ),
    Cause.PROCESS: _Words(
        "A morning crashed or got stuck{why}",
        "What it had done stands. It is retried within a quarter of an hour, and nothing is sent twice.",
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
    reasons = [_reason(reason) for reason in dict.fromkeys(row.reason for row in rows) if reason]
    paragraphs = (*reasons[:_MOST], words.means.format_map(fields), words.fix.format_map(fields))
    details = (line for row in rows for line in row.detail.splitlines())
    return Alert(headline(rows), tuple(filter(None, paragraphs)), tuple(details))


def _fields(rows: Sequence[Kept]) -> dict[str, str]:
    """What the words may say of the rows of one cause. An address or a list's name is its row's subject."""
    unserved = [row for row in rows if not row.facts.get("served")]
    lists = [str(row.facts.get("list", row.subject)) for row in rows]
    back = [row.subject for row in rows if row.facts.get("back")]
    without, reason, number = _names(row.subject for row in unserved or rows), rows[0].reason, len(rows)
    return {
        "names": _names(lists),
        "first": min(lists),
        "unserved": without,
        "fate": f"no digest for {without}" if unserved else f"{_names(lists)} got what was there",
        "none": _scored(row.facts for row in unserved or rows),
        "scored": _scored(row.facts for row in rows),
        "papers": counted(number, "paper"),
        "mails": counted(number, "mail"),
        "addresses": counted(number, "address", "addresses"),
        "back": f"The papers are not lost: they come with the next digest of {_names(back)}." if back else "",
        "place": str(rows[0].facts.get("place", HOME_FILES)),
        "why": f": {reason}" if 0 < len(reason) < 60 else "",
    }


def _well_again(rows: Sequence[Kept], zone: tzinfo) -> Alert:
    """One mail for all that is over."""
    by_cause = _by_cause(rows)
    what = "; ".join(dict.fromkeys(_WORDS[cause].well for cause in by_cause))
    bug = " A bug that does not show need not be gone: the log still has its traceback." * (Cause.BUG in by_cause)
    details = (
        f"{cause}, since {min(row.since for row in of).astimezone(zone):%a %d %b %H:%M %Z}: {headline(of)}"
        for cause, of in by_cause.items()
    )
    said = f"What was wrong is over: {what}.{bug} Nothing is left to do."
    return Alert(f"Well again: {what}", (said,), tuple(details))


def no_start(problem: str) -> Alert:
    """Nothing can be done, and nothing be written down."""
    advice = "It is retried without your help; paperboy check says what else is wrong. This is reported once a day."
    return Alert("Paperboy cannot work", (_reason(problem), f"No digest goes out until that is fixed. {advice}"))


def _names(of: Iterable[str]) -> str:
    return together(sorted(set(of)), _MOST)


def _reason(problem: str) -> str:
    return f"The reason: {' '.join(problem.split()).removesuffix('.')}."


def _scored(facts: Iterable[Mapping[str, int]]) -> str:
    known = list(facts)
    scored, considered = (sum(each.get(name, 0) for each in known) for name in ("scored", "considered"))
    return f"{scored:,} of {counted(considered, 'paper')}"


# --- reporting


@contextmanager
def never_raising(*but: type[PaperboyError]) -> Iterator[None]:
    """Log what keeps the operator from being alerted; only errors of the types `but` are raised."""
    try:
        yield
    except but:
        raise
    except PaperboyError as error:
        logger.error("ALERT_TO could not be alerted: %s", error)
    except Exception:
        logger.exception("ALERT_TO could not be alerted: this is a bug in Paperboy")


class Waiting(NamedTuple):
    """A mail to the operator that is to be sent."""

    rows: Sequence[Kept]
    alert: Alert
    at: datetime  # when it was found, which dates it: so every try is the same message

    @property
    def causes(self) -> set[Cause]:
        return {row.cause for row in self.rows}

    @property
    def over(self) -> bool:
        """Whether it is good news."""
        return self.rows[0].over is not None

    @property
    def next_try(self) -> datetime:
        """Retry backoff: not before."""
        return max((row.next_try for row in self.rows if row.next_try), default=self.at)


def lasting(rows: Iterable[Kept]) -> dict[Cause, list[Kept]]:
    """What is not over, by cause. While some lists have no score at all, the same dead LLM is why others have few."""
    found = _by_cause(row for row in rows if row.over is None)
    if Cause.SCORING in found:
        found[Cause.SCORING] += found.pop(Cause.PART_SCORED, [])
    return found


def waiting(store: Store, zone: tzinfo) -> list[Waiting]:
    """What is to be reported, oldest first: each cause that was met since the last mail's day in the operator's `zone`;
    and what is over, when nothing of its kind lasts.
    """
    rows = store.alerts.all()
    found, lasts = [], lasting(rows)
    for cause, of in lasts.items():
        at = max(row.noted for row in of)
        last = max((row.reported for row in rows if row.cause is cause and row.reported), default=None)
        if last is None or (_WORDS[cause].well and at.astimezone(zone).date() > last):
            found.append(Waiting(of, _alert(of), at))
    bad = {_WORDS[cause].well for cause in lasts}
    if over := [row for row in rows if row.over and _WORDS[row.cause].well not in bad]:
        found.append(Waiting(over, _well_again(over, zone), max(row.over for row in over if row.over)))
    return sorted(found, key=lambda each: each.at)


def next_try(store: Store, zone: tzinfo) -> datetime | None:
    """When the first alert that waits may be sent; None if none waits."""
    return min((each.next_try for each in waiting(store, zone)), default=None)


def report(
    store: Store, transport: Transport | None, composer: Composer, to: Subscriber | None, zone: tzinfo, now: datetime
) -> None:
    """Log what waits, send it, and mark what was accepted. Without an address the log is enough; without a transport it
    goes on waiting. Raises StoreWriteError before a mail that could not be marked, and MailServerError, as no other
    mail would leave.
    """
    for each in waiting(store, zone):
        logger.log(logging.INFO if each.over else logging.WARNING, "%s", each.alert.headline)
        backoff = min(max(now - each.at, due.RETRY), _LONGEST_BACKOFF)  # so it doubles with each try
        for cause in each.causes if to else ():
            store.alerts.postpone(cause, now + backoff)
        accepted = False
        with never_raising(MailServerError):
            accepted = to is None or (transport is not None and _accepted(transport, composer, each, to))
        with store.transaction():
            for cause in each.causes if accepted else ():
                if each.over or not _WORDS[cause].well:
                    store.alerts.forget(cause)
                else:
                    store.alerts.reported(cause, now.astimezone(zone).date())


def _accepted(transport: Transport, composer: Composer, waiting: Waiting, to: Subscriber) -> bool:
    receipt = transport.send(composer.alert(waiting.alert, to, waiting.at))
    if receipt.state is not DeliveryState.SENT:
        logger.error("ALERT_TO could not be alerted: %s (%s)", receipt.state, receipt.reply)
    return receipt.state is DeliveryState.SENT


def _by_cause(rows: Iterable[Kept]) -> dict[Cause, list[Kept]]:
    found: dict[Cause, list[Kept]] = {}
    for row in rows:
        found.setdefault(row.cause, []).append(row)
    return found
