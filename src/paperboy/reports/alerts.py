"""Alerts: problems reported to the operator, in the log and by mail to ALERT_TO.

    plan      choose the mails: one per kind of problem, or broken file, and day of the operator, and one when it is
              over. Pure
    report    log and freeze them, each in place of an unsent one about the same

A dead LLM is one problem, for ten lists as for one. It is over when each list that it affects has
had a day without it. The ledger sends the mails, and retries them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from paperboy.edges.text import counted, one_line, shortened, together
from paperboy.errors import PaperboyError
from paperboy.models import Alert, MailingList, Subscriber
from paperboy.reports.problems import NEWS, Words
from paperboy.store import Store
from paperboy.store.alerts import Reported
from paperboy.store.incidents import NO_LISTS, Incident, Kind

if TYPE_CHECKING:
    from paperboy.mail.message import Composer

logger = logging.getLogger(__name__)

_LONGEST_FAULT = 100  # characters in a mail's subject
_LONGEST_REASON = 1_000  # which may quote a file
_MOST = 3  # names, or reasons, in a mail; the log has the others
# Alerts of these kinds are sent after the round of sending, which may end them.
_AFTER_THE_ROUND = frozenset({Kind.MAIL, Kind.NOBODY})
# Kinds of which the round may bring more.
_OF_SENDING = _AFTER_THE_ROUND | {Kind.REFUSED, Kind.EXPIRED, Kind.SUPPRESSED}


# --- the words


def headline(problems: Sequence[Incident], words: Mapping[str, Words]) -> str:
    """Return what happened, of problems of one kind, with the whole fix."""
    return words[problems[0].kind].headline.format_map(_fields(problems))


def _alert(problems: Sequence[Incident], wording: Words) -> Alert:
    """Say what happened, why, what it means, and what to do."""
    fields = _fields(problems)
    what = _subject(wording, fields)
    reasons = dict.fromkeys(problem.reason for problem in problems)
    paragraphs = [_reason(reason) for reason in reasons if reason not in what][:_MOST]
    paragraphs.append(wording.means.format_map(fields))
    paragraphs.append(wording.fix.format_map(fields))
    details = tuple(line for problem in problems for line in problem.lines)
    return Alert(what, tuple(filter(None, paragraphs)), details)


def _subject(wording: Words, fields: Mapping[str, str]) -> str:
    fault = shortened(fields["fault"], _LONGEST_FAULT)
    return wording.headline.format_map({**fields, "fault": fault})


def _fields(problems: Sequence[Incident]) -> dict[str, str]:
    """Return the values of the words' placeholders, from problems of one kind. Their subjects are
    lists or addresses.
    """
    rows = sorted(problems, key=lambda problem: problem.subject)
    number = len(rows)
    lists = list(dict.fromkeys(str(row.facts.get("list", row.subject)) for row in rows))
    names = together(lists, _MOST)
    scored = _scored(rows)
    place = rows[0].facts.get("place", lists[0])
    fields = {
        "names": names,
        "first": lists[0],
        "unserved": names,
        "score": f"Scored only {scored} for {names}",
        "scored": scored,
        "what": "new papers",
        "rows": counted(sum(row.facts.get("rows", 0) for row in rows), "row"),
        "papers": counted(number, "paper"),
        "mails": counted(number, "mail"),
        "addresses": counted(number, "address", "addresses"),
        "back": "",
        "fault": shortened(one_line(f"{place}: {rows[0].reason}"), _LONGEST_REASON),
    }

    unserved = [row for row in rows if not row.facts.get("served")]
    if unserved:
        without = together([row.subject for row in unserved], _MOST)
        fields["unserved"] = without
        fields["score"] = f"Scored {_scored(unserved)}: no digest for {without}"
        fields["what"] = "digest"

    back = together([row.subject for row in rows if row.facts.get("back")], _MOST)
    if back:
        fields["back"] = f"The papers are not lost: they come with the next digest of {back}."
    return fields


def _resolved(problems: Sequence[Incident], wording: Words, zone: tzinfo) -> Alert:
    fields = _fields(problems)
    since = min(problem.since for problem in problems).astimezone(zone)
    what = _subject(wording, fields)
    detail = f"{problems[0].kind}, since {since:%a %d %b %H:%M %Z}: {what}"
    return Alert(
        f"Resolved: {wording.well.format_map(fields)}",
        ("The problem is over. You need not do anything.",),
        (detail,),
    )


def emergency_alert(problem: str) -> Alert:
    """Compose the mail for when nothing works, and nothing can be recorded."""
    advice = (
        "No digest goes out until that is fixed. Paperboy keeps retrying; paperboy check shows what else is wrong. "
        "This is reported once a day."
    )
    return Alert("Paperboy cannot work", (_reason(problem), advice))


def _reason(problem: str) -> str:
    return f"The reason: {' '.join(problem.split()).removesuffix('.')}."


def _scored(problems: Sequence[Incident]) -> str:
    scored = sum(problem.facts.get("scored", 0) for problem in problems)
    considered = sum(problem.facts.get("considered", 0) for problem in problems)
    return f"{scored:,} of {counted(considered, 'paper')}"


# --- the mails


class Mail(NamedTuple):
    """Mail to the operator that is to be frozen."""

    kind: str
    about: Sequence[Incident]
    alert: Alert
    over: bool  # it reports the end of the problem
    at: datetime  # its date
    due: datetime  # not before
    replaces: frozenset[int]  # unsent messages that it replaces


def _topic(row: Incident | Reported) -> tuple[str, str]:
    """Return the grouping key: rows with the same key share a mail, by kind or by broken file."""
    return row.kind, row.subject if row.kind == Kind.FILES else ""


def lasting(problems: Iterable[Incident]) -> list[list[Incident]]:
    """Return the lasting problems, grouped by kind, or by broken file."""
    rows = [problem for problem in problems if not problem.event]
    return [list(group) for _, group in groupby(rows, _topic)]


def plan(
    problems: Sequence[Incident],
    ended: Sequence[Incident],
    reported: Sequence[Reported],
    words: Mapping[str, Words],
    zone: tzinfo,
    now: datetime,
) -> list[Mail]:
    """Return the mails to write, oldest first. A lasting kind is mailed at most once a day in the
    operator's `zone`, and once when it is over. Events are reported once: the first at once, and
    those after the day's mail with the next day's. `ended` are incidents that are over.
    """
    mails = list[Mail]()
    today = now.astimezone(zone).date()
    rows: list[Incident | Reported] = [*problems, *reported, *ended]
    for topic in dict.fromkeys(map(_topic, rows)):
        kind, _ = topic
        wording = words.get(kind)
        if wording is None:
            continue

        about = [row for row in problems if _topic(row) == topic]
        before = [row for row in reported if _topic(row) == topic]
        last = max((row.date for row in before), default=date.min)
        is_event = wording.is_event
        is_over = not about and not is_event
        if is_event:
            about = _news(about, before) if last < today else []
        elif is_over:  # incidents, and what was reported and is no longer a problem
            about = [row for row in ended if _topic(row) == topic]
            known = {incident.subject for incident in about}
            for row in before:
                if row.can_be_over and not row.over and row.subject not in known:
                    over = Incident(kind=kind, subject=row.subject, since=row.since, last=now)
                    about.append(over)
        else:
            met = max(row.last for row in about).astimezone(zone).date()
            if met <= last and not any(row.over for row in before):
                about = []
        if not about:
            continue

        at = max(row.ended or row.last for row in about)
        due = at
        if before and is_event:  # with the next morning's mail, or at noon if there is none
            noon = datetime.combine(last + timedelta(days=1), time(12), zone)
            due = max(at, noon.astimezone(UTC))
        mail = Mail(
            kind=kind,
            about=about,
            alert=_resolved(about, wording, zone) if is_over else _alert(about, wording),
            over=is_over,
            at=at,
            due=due,
            replaces=frozenset(row.mail for row in before if row.unsent and row.mail),
        )
        mails.append(mail)
    return sorted(mails, key=lambda mail: mail.at)


def _news(events: Sequence[Incident], before: Sequence[Reported]) -> list[Incident]:
    """Return the events not mailed yet; none unless at least one is new."""
    known = {row.subject: row for row in before}
    news = list[Incident]()
    has_new = False
    for event in events:
        row = known.get(event.subject)
        is_new = row is None or row.since < event.since
        has_new |= is_new
        if is_new or (row and row.unsent):
            news.append(event)
    return news if has_new else []


@contextmanager
def never_raising() -> Iterator[None]:
    """Log any error raised inside, so that alerting never stops the caller."""
    try:
        yield
    except PaperboyError as error:
        logger.error("ALERT_TO could not be alerted: %s", error)
    except Exception:
        logger.exception("ALERT_TO could not be alerted: this is a bug in Paperboy")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertReporter:
    """Reporter of the problems of one home."""

    store: Store
    lists: Sequence[MailingList]
    words: Mapping[str, Words]
    zone: tzinfo  # the operator's

    def plan(self, problems: Sequence[Incident], now: datetime) -> list[Mail]:
        """Return the mails that are to be written now or later."""
        incidents = self.store.incidents.all()
        ended = [row for row in incidents if row.ended and not self._is_moot(row)]
        reported = [row for row in self.store.alerts.all() if not self._is_moot(row)]
        return plan(problems, ended, reported, self.words, self.zone, now)

    def report(
        self,
        problems: Sequence[Incident],
        composer: Composer,
        to: Subscriber | None,
        now: datetime,
        *,
        sends: bool,
    ) -> None:
        """Log what is to be reported, and freeze the mails about it, if there is an address.
        `sends`: a round of sending follows, so alerts about mail wait for its end.
        """
        with self.store.transaction():
            self._clear(problems, to, now)

        today = now.astimezone(self.zone).date()
        for mail in self.plan(problems, now):
            if sends and mail.kind in _OF_SENDING:
                continue
            logger.log(logging.INFO if mail.over else logging.WARNING, "%s", mail.alert.headline)
            composed = None
            if to:
                # Otherwise it is in the log alone; a lasting problem is reported again tomorrow.
                with never_raising():
                    composed = composer.alert(mail.alert, to, mail.at)

            with self.store.transaction():
                for unsent in mail.replaces:
                    self.store.ledger.withdraw(unsent)
                frozen_id = None
                if composed:
                    message, copy = composed
                    priority = -1 if mail.kind in _AFTER_THE_ROUND and not mail.over else 2
                    frozen_id = self.store.ledger.freeze(message, [copy], now, priority=priority)
                if mail.over:
                    for incident in mail.about:
                        self.store.incidents.forget(mail.kind, incident.subject)
                self.store.alerts.add(mail.about, today, frozen_id, over=mail.over)

    def _clear(self, problems: Sequence[Incident], to: Subscriber | None, now: datetime) -> None:
        """Forget moot problems, events that are no longer news, and mails to another address than
        the operator's.
        """
        reported = self.store.alerts.all()
        current = {(problem.kind, problem.subject) for problem in problems}
        events = {kind for kind, words in self.words.items() if words.is_event}
        wanted = {row.mail for row in reported if not self._is_moot(row)}
        for row in reported:
            is_elsewhere = row.unsent and (to is None or row.address != to.address)
            if row.unsent and row.mail and (is_elsewhere or row.mail not in wanted):
                self.store.ledger.withdraw(row.mail)

            is_gone = row.kind in events and (row.kind, row.subject) not in current
            is_old = is_gone and row.since < now - NEWS
            if is_elsewhere or is_old or self._is_moot(row):
                self.store.alerts.forget(row.kind, row.subject)

        for incident in self.store.incidents.all():
            if self._is_moot(incident):
                self.store.incidents.forget(incident.kind, incident.subject)

    def _is_moot(self, row: Incident | Reported) -> bool:
        """Check whether a lasting problem is of a list that is gone, or can no longer have it."""
        words = self.words.get(row.kind)
        if words is None or words.is_event or row.kind == Kind.FILES or row.subject in NO_LISTS:
            return False
        return not any(
            mailing_list.name == row.subject and words.concerns(mailing_list)
            for mailing_list in self.lists
        )
