"""Alerts: problems reported to the operator, in the log and by mail to ALERT_TO.

    of_list    in the transaction of a list's day or attempt: ends the causes that the day disproves, notes new ones
    sending    does the same for mail; the store itself notes what expired, was suppressed or superseded
    report     one mail per cause, or broken file, and day of the operator, and one when it is resolved

One dead LLM is one cause, for ten lists as for one. It is over when each list that it affects has had a day without it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple

from paperboy import due
from paperboy.edges.text import one_line, shortened
from paperboy.errors import MailServerError, PaperboyError
from paperboy.mail.text import counted, together
from paperboy.models import Alert, DeliveryState, ListReport, MailingList, Outcome, Problem, Shortfall, Subscriber
from paperboy.store import Store
from paperboy.store.alerts import Cause, Kept, Note
from paperboy.tex import to_text

if TYPE_CHECKING:
    from paperboy.mail.message import Composer
    from paperboy.sending.delivery import Report as Sent
    from paperboy.sending.delivery import Transport

logger = logging.getLogger(__name__)

# Subjects beside lists:
MAIL_SERVER, THE_MORNING, THE_ERRANDS, THE_WORKERS = "the mail server", "the morning", "the errands", "the workers"
_LONGEST_BACKOFF = timedelta(hours=4)
_LONGEST_FAULT = 100  # characters of it in a headline
_MOST = 3  # names, or reasons, in a mail; the log has the others


# --- what is wrong


def of_list(store: Store, report: ListReport, missing: str, now: datetime, *, news: bool, overdue: bool) -> None:
    """Note what one list's morning has to report. `missing`: why arXiv's papers are missing; `news`: its newest batch
    is there; `overdue`: GIVE_UP_AFTER_HOURS have passed since its hour. Before that a late arXiv is no cause. A dead
    LLM is one at the first try, since the scorer has retried by then. A cause that is ended and noted again lasts.
    """
    outcome, is_due = report.outcome, report.outcome in {None, Outcome.GAVE_UP}
    over = [] if report.bug or is_due else [Cause.PROCESS]
    if over and report.is_served:  # on a quiet day nobody asked the LLM
        over += [Cause.SCORING, Cause.BUDGET]
    if over and outcome is not Outcome.SKIPPED and not missing and (news or report.is_served):
        over.append(Cause.LATE)
    for ended in over:
        store.alerts.end(ended, report.list_name, now)

    late = outcome is Outcome.GAVE_UP or (is_due and overdue)
    if missing and (outcome is Outcome.QUIET or (report.is_served and overdue)):
        late = True
    cause: Cause | None = None
    if report.bug:
        cause = Cause.PROCESS
    elif report.shortfall is Shortfall.BUDGET:
        cause = Cause.BUDGET
    elif report.shortfall is Shortfall.SERVER or (is_due and report.counts.considered):
        cause = Cause.SCORING
    elif late:
        cause = Cause.LATE
    store.alerts.note(_notes(report, cause), now)


def _notes(report: ListReport, cause: Cause | None) -> Iterator[Note]:
    counts, name = report.counts, report.list_name
    if cause:
        papers, number = counts.to_score, counts.scored if report.is_served else 0
        facts = {"considered": papers, "scored": number, "served": report.is_served}
        scored = f", {number:,} of {counted(papers, 'paper')} scored" if papers else ""
        left = f", {counts.carried_over:,} carried over" if counts.carried_over else ""
        yield Note(cause, name, report.problem, f"{name}: {report.outcome or 'still due'}{scored}{left}", facts)
    reason = report.problem if report.shortfall is None else ""
    for paper in report.let_go:
        detail = f"{name}: {paper.arxiv_id} {to_text(paper.title)}"
        yield Note(Cause.LET_GO, f"{name} {paper.arxiv_id}", reason, detail, {"list": name})
    if report.shortlist_off:
        yield Note(Cause.SHORTLIST, name)


def sending(store: Store, lists: Sequence[MailingList], sent: Sent, now: datetime, patience: timedelta) -> None:
    """Note the problems of a round of sending, and end those that it disproves. A mail server that is down or busy is
    no cause before `patience` has passed. Causes of lists that are gone, paused, or without subscribers, are forgotten.
    """
    passing = sent.passing and sent.since is not None and now - sent.since < patience
    if sent.problem:
        notes = [] if passing else [Note(Cause.MAIL, MAIL_SERVER, sent.problem)]
    else:
        notes = [Note(Cause.NOBODY, name, reply, f"{name}: {reply}") for name, reply in sent.refused]
    reported = {note.subject for note in notes}
    for delivery in sent.failed:
        name, address = delivery.list_name, delivery.addressed.subscriber.address
        if name not in reported:
            detail = f"{name}: {address}: {delivery.reply}"
            notes.append(Note(Cause.REFUSED, str(delivery.id), detail=detail, facts={"list": name}))

    well = {(Cause.PROCESS, THE_MORNING), *((Cause.NOBODY, name) for name in sent.reached - {*dict(sent.refused)})}
    if sent.states.get(DeliveryState.SENT) and not sent.problem:
        well.add((Cause.MAIL, MAIL_SERVER))
    active = {mailing_list.name for mailing_list in lists if mailing_list.is_active}
    active |= {MAIL_SERVER, THE_MORNING, THE_ERRANDS, THE_WORKERS}
    called = {mailing_list.name for mailing_list in lists if mailing_list.webhook}
    signups = {signup.list_name for signup in store.signups.waiting()}
    with store.transaction():
        store.alerts.note(notes, now)
        for row in store.alerts.all():
            if row.cause is Cause.SIGNUP and row.subject not in signups:
                store.alerts.end(row.cause, row.subject, now)
                continue
            of_list = _WORDS[row.cause].well and row.cause is not Cause.FILES
            there = called if row.cause is Cause.WEBHOOK else active
            gone = of_list and row.over is None and row.subject not in there
            if gone or (sent.problem and row.cause is Cause.NOBODY and not row.reported):  # the problem is why
                store.alerts.forget(row.cause, row.subject)
            elif (row.cause, row.subject) in well:
                store.alerts.end(row.cause, row.subject, now)


def broken_files(problems: Sequence[Problem]) -> list[Note]:
    """An edit that cannot be used, by file."""
    files: dict[str, list[Problem]] = {}
    for each in problems:
        files.setdefault(each.place.partition(":")[0], []).append(each)
    return [
        Note(Cause.FILES, file, found[0].message, "\n".join(map(str, found)), {"place": found[0].place})
        for file, found in files.items()
    ]


def bad_end(problem: str, lists: Collection[str] = ()) -> list[Note]:
    """A process that could not report its own failure; those lists are still due."""
    return [Note(Cause.PROCESS, name, problem) for name in sorted(lists) or [THE_MORNING]]


def of_work(store: Store, cause: Literal[Cause.ERRANDS, Cause.WORKERS], problem: str, now: datetime) -> None:
    """Note why work beside a morning failed, or without a problem that it went well."""
    subject = THE_ERRANDS if cause is Cause.ERRANDS else THE_WORKERS
    if problem:
        store.alerts.note([Note(cause, subject, problem)], now)
    else:
        store.alerts.end(cause, subject, now)


# --- the words


class _Words(NamedTuple):
    headline: str
    means: str  # for the lists
    fix: str = ""  # what to do
    well: str = ""  # the good news when it is over; empty: it is reported once, and never ends


_WORDS: Mapping[Cause, _Words] = {
    Cause.SCORING: _Words(
        "{score}",
        "Nobody judged these papers, which is not the same as none passing. No paper is lost; all are retried.",
        "Fix the cause. paperboy check tries the LLM; {once} makes the digests that are still due.",
        "the LLM scores",
    ),
    Cause.BUDGET: _Words(
        "LLM_BUDGET_USD is used up: scored {scored}",
        "Papers without a score come back next morning. A list without any score has no digest.",
        "To have more scored, raise LLM_BUDGET_USD in .env (0 is no limit), or choose a cheaper OPENAI_MODEL.",
        "the LLM budget is enough",
    ),
    Cause.LATE: _Words(
        "No {what} in time for {unserved}",
        "GIVE_UP_AFTER_HOURS have passed since the list's hour, or its day is over. No paper is lost: all come later.",
        "Fix the cause; {once} makes the digests still due. If arXiv itself is late (status.arxiv.org), "
        "wait. If Paperboy does not know one of its holidays, add that evening to ARXIV_HOLIDAYS.",
        "digests are in time",
    ),
    Cause.LET_GO: _Words(
        "{papers} could not be scored and will not come back",
        "The LLM scored other papers on three mornings, but not these. The digest of {names} names them.",
    ),
    Cause.SHORTLIST: _Words(
        "The shortlist of {names} misses too much, and is off",
        "Six papers that it had left out, and that the LLM scored by chance, passed within 60 days. For 60 days the "
        "LLM scores all papers again, and costs rise.",
        "Nothing has to be done. To do without a shortlist from now on, set LLM_SHORTLIST=1 in .env; to fix its share, "
        "for example LLM_SHORTLIST=0.7.",
    ),
    Cause.MAIL: _Words(
        "Mail cannot be sent",
        "The waiting mail is kept and retried; nothing is sent twice.",
        "paperboy check tries the login; paperboy status shows the waiting mail.",
        "mail is sent again",
    ),
    Cause.NOBODY: _Words(
        "Nobody got the digest of {names}",
        "{back}",
        "paperboy check tries the login; paperboy status shows the waiting mail. If the addresses are wrong, "
        "fix them in the list's file, and paperboy resend {first} sends today's.",
        "digests reach their lists",
    ),
    Cause.EXPIRED: _Words(
        "{mails} could not be delivered in three days",
        "Others on {names} got the digest; these addresses did not. The next digest is sent to them again.",
        "Once the cause is fixed, paperboy resend {first} --failed sends them the digest they missed.",
    ),
    Cause.REFUSED: _Words(
        "{mails} refused for good",
        "The mail server takes no mail for these addresses of {names}. Their next digest is sent to them again.",
        "Correct or remove the addresses in the lists' files, or fix what the server complains about; then paperboy "
        "resend {first} --failed sends them the digest they missed.",
    ),
    Cause.SUPPRESSED: _Words(
        "{addresses} suppressed after three bounces in a row",
        "No list sends to them any more: the mail server says they do not exist, while others got their mail.",
        "Remove them from the lists' files. If one exists again, lift its suppression with paperboy unsuppress {first}",
    ),
    Cause.COMPLAINT: _Words(
        "{addresses} suppressed after a complaint",
        "Somebody called a digest spam, as their mail provider reports. What they no longer get is said below.",
        "Remove them from the lists' files. Many complaints make providers sort the mail of all readers into spam.",
    ),
    Cause.SIGNUP: _Words(
        "Somebody who signed up for {names} cannot be added",
        "They confirmed their address, and Paperboy cannot edit the list's file. They wait; nobody is lost.",
        "Fix what is said below, or add the address that paperboy status shows by hand: within a quarter of an hour, "
        "Paperboy sees it.",
        "sign-ups for {names} are added again",
    ),
    Cause.FILES: _Words(
        "Broken: {fault}",
        "The last good version stays in force: digests go out as before.",
        "Once it is fixed and saved, it is in force within 25 seconds, without a restart.",
        "{names} can be used again",
    ),
    Cause.PROCESS: _Words(
        "A morning crashed or got stuck",
        "Finished work is kept, and the next try does the rest: no paper is lost, and nothing is sent twice.",
        "The log has more (journalctl -u paperboy). If it is a bug in Paperboy, please report it with the traceback.",
        "a morning finished",
    ),
    Cause.WEBHOOK: _Words(
        "The webhook of {names} was not told of a digest",
        "Mail is not concerned. That digest is not tried again; the next one is.",
        "Correct the list's webhook in subscribers.yaml, or remove it. paperboy status shows the last reply.",
        "the webhook of {names} works",
    ),
    Cause.WORKERS: _Words(
        "A morning had to do without its workers",
        "The digests are made all the same, by one process alone, which takes longer. Nothing is lost or sent twice.",
        "paperboy check tries CLUSTER. To do without, leave CLUSTER empty and set WORKERS=1 in .env.",
        "mornings do without workers, or have them again",
    ),
    Cause.ERRANDS: _Words(
        "Work beside the mail crashed or got stuck",
        "Mail is not concerned. What waits, such as the calls of webhooks, is kept and retried.",
        "The log has more (journalctl -u paperboy). If it is a bug in Paperboy, please report it with the traceback.",
        "work beside the mail is done",
    ),
}


def headline(rows: Sequence[Kept]) -> str:
    """What happened, of rows of one cause."""
    return _WORDS[rows[0].cause].headline.format_map(_fields(rows))


def _alert(rows: Sequence[Kept]) -> Alert:
    """The mail about one cause: what happened, why, what it means, what to do."""
    words, fields = _WORDS[rows[0].cause], _fields(rows)
    reasons = [_reason(reason) for reason in dict.fromkeys(row.reason for row in rows) if reason not in headline(rows)]
    paragraphs = (*reasons[:_MOST], words.means.format_map(fields), words.fix.format_map(fields))
    details = (line for row in rows for line in row.detail.splitlines())
    return Alert(headline(rows), tuple(filter(None, paragraphs)), tuple(details))


def _fields(rows: Sequence[Kept]) -> dict[str, str]:
    """The values of the words' placeholders, from rows of one cause. A row's subject is a list's name or an address."""
    rows = sorted(rows, key=lambda row: row.subject)
    unserved, number = [row for row in rows if not row.facts.get("served")], len(rows)
    lists = list(dict.fromkeys(str(row.facts.get("list", row.subject)) for row in rows))
    names, without = together(lists, _MOST), together([row.subject for row in unserved], _MOST)
    scored, nothing = _scored(rows), _scored(unserved)
    back = together([row.subject for row in rows if row.facts.get("back")], _MOST)
    return {
        "names": names,
        "first": lists[0],
        "unserved": without or names,
        "once": " --list ".join(["paperboy once", *(row.subject for row in unserved if len(unserved) <= _MOST)]),
        "score": f"Scored {nothing}: no digest for {without}" if unserved else f"Scored only {scored} for {names}",
        "scored": scored,
        "what": "digest" if unserved else "new papers",
        "papers": counted(number, "paper"),
        "mails": counted(number, "mail"),
        "addresses": counted(number, "address", "addresses"),
        "back": f"The papers are not lost: they come with the next digest of {back}." if back else "",
        "fault": shortened(one_line(f"{rows[0].facts.get('place', lists[0])}: {rows[0].reason}"), _LONGEST_FAULT),
    }


def _well_again(rows: Sequence[Kept], zone: tzinfo) -> Alert:
    """The mail about one cause that is over."""
    cause, since = rows[0].cause, min(row.since for row in rows).astimezone(zone)
    what = f"Resolved: {_WORDS[cause].well.format_map(_fields(rows))}"
    detail = f"{cause}, since {since:%a %d %b %H:%M %Z}: {headline(rows)}"
    return Alert(what, ("The problem is over. You need not do anything.",), (detail,))


def no_start(problem: str) -> Alert:
    """Nothing works, and nothing can be recorded."""
    advice = "Paperboy keeps retrying; paperboy check shows what else is wrong. This is reported once a day."
    return Alert("Paperboy cannot work", (_reason(problem), f"No digest goes out until that is fixed. {advice}"))


def _reason(problem: str) -> str:
    return f"The reason: {' '.join(problem.split()).removesuffix('.')}."


def _scored(rows: Sequence[Note]) -> str:
    scored, considered = (sum(row.facts.get(name, 0) for row in rows) for name in ("scored", "considered"))
    return f"{scored:,} of {counted(considered, 'paper')}"


# --- reporting


@contextmanager
def never_raising(*but: type[PaperboyError]) -> Iterator[None]:
    """Log why the operator could not be alerted; raise only errors of the types `but`."""
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

    cause: Cause
    subject: str | None  # of one broken file; None: all of the cause
    alert: Alert
    over: bool  # it is good news
    at: datetime  # when it was found. It dates the mail, so every try is the same message
    next_try: datetime  # retry backoff: not before
    last: date | None  # the day of the last mail about a cause that never ends


def _shared(row: Kept) -> tuple[Cause, str | None]:
    """What shares a mail: one cause, or one broken file."""
    return row.cause, row.subject if row.cause is Cause.FILES else None


def lasting(rows: Iterable[Kept]) -> dict[tuple[Cause, str | None], list[Kept]]:
    """What is not over, by cause, or by broken file."""
    return {shared: [*of] for shared, of in groupby((row for row in rows if row.over is None), _shared)}


def waiting(store: Store, zone: tzinfo) -> list[Waiting]:
    """What is to be reported, oldest first: each cause that is over, or was noted on a later day than the last mail, in
    the operator's `zone`. What never ends is reported once; what comes after the day's mail waits for the next day's.
    """
    found = []
    for (cause, subject), of in groupby(store.alerts.all(), _shared):
        rows, ends = list(of), bool(_WORDS[cause].well)
        lasts = [row for row in rows if row.over is None]
        at = max(row.over or row.noted for row in lasts or rows)
        last = max((row.reported for row in rows if row.reported), default=None)
        if lasts and (not ends or last is None or at.astimezone(zone).date() > last):
            alert = _alert(lasts)
        elif ends and not lasts:
            alert = _well_again(rows, zone)
        else:
            continue
        next_try = max((row.next_try for row in lasts or rows if row.next_try), default=at)
        if last and not ends:  # with the mail of the next morning, or without one at noon
            next_try = max(next_try, datetime.combine(last + timedelta(days=1), time(12), zone).astimezone(UTC))
        found.append(Waiting(cause, subject, alert, not lasts, at, next_try, None if ends else last))
    return sorted(found, key=lambda mail: mail.at)


def report(
    store: Store, transport: Transport | None, composer: Composer, to: Subscriber | None, zone: tzinfo, now: datetime
) -> None:
    """Log what waits, send it, and mark what was accepted. Without an address the log is enough; without a transport it
    keeps waiting. Raises StoreWriteError before a mail that could not be marked, and MailServerError, after which no
    other mail could be sent.
    """
    today = now.astimezone(zone).date()
    for each in waiting(store, zone):
        if each.last == today:
            continue
        logger.log(logging.INFO if each.over else logging.WARNING, "%s", each.alert.headline)
        backoff = min(max(now - each.at, due.RETRY), _LONGEST_BACKOFF)  # so it doubles with each try
        if to:
            store.alerts.postpone(each.cause, now + backoff, each.subject)
        accepted = to is None
        if to and transport:
            with never_raising(MailServerError):
                receipt = transport.send(composer.alert(each.alert, to, each.at))
                accepted = receipt.state is DeliveryState.SENT
                if not accepted:
                    logger.error("ALERT_TO could not be alerted: %s (%s)", receipt.state, receipt.reply)
        if accepted and each.over:
            store.alerts.forget(each.cause, each.subject)
        elif accepted and _WORDS[each.cause].well:
            store.alerts.reported(each.cause, today, each.subject)
        elif accepted:
            store.alerts.settle(each.cause, today, now)
