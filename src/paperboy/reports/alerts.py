"""Alerts: problems reported to the operator, in the log and by mail to ALERT_TO.

    plan      the mails that are to be written: one per kind of problem, or broken file, and day of the operator, and
              one when it is over. Pure
    report    logs them and freezes them, each in place of an unsent one about the same

One dead LLM is one problem, for ten lists as for one. It is over when each list that it affects has
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

from paperboy.edges.text import one_line, shortened
from paperboy.errors import PaperboyError, StoreError
from paperboy.mail.text import counted, together
from paperboy.models import Alert, MailingList, Subscriber
from paperboy.reports.problems import NEWS, Words
from paperboy.store import Store
from paperboy.store.alerts import Reported
from paperboy.store.incidents import NO_LISTS, Incident, Kind

if TYPE_CHECKING:
    from paperboy.mail.message import Composer

logger = logging.getLogger(__name__)

_LONGEST_FAULT = 100  # characters of it in a headline
_MOST = 3  # names, or reasons, in a mail; the log has the others
_AFTER_THE_ROUND = frozenset(
    {Kind.MAIL, Kind.NOBODY}
)  # are sent then: a round of sending may end these
_OF_SENDING = _AFTER_THE_ROUND | {
    Kind.REFUSED,
    Kind.EXPIRED,
    Kind.SUPPRESSED,
}  # a round may bring more of these


# --- the words


def headline(problems: Sequence[Incident], words: Mapping[str, Words]) -> str:
    """What happened, of problems of one kind."""
    return words[problems[0].kind].headline.format_map(_fields(problems))


def _alert(problems: Sequence[Incident], own: Words) -> Alert:
    """The mail about one kind: what happened, why, what it means, what to do."""
    fields = _fields(problems)
    what = own.headline.format_map(fields)
    reasons = dict.fromkeys(problem.reason for problem in problems)
    said = [_reason(reason) for reason in reasons if reason not in what]
    paragraphs = (*said[:_MOST], own.means.format_map(fields), own.fix.format_map(fields))
    details = tuple(line for problem in problems for line in problem.lines)
    return Alert(what, tuple(filter(None, paragraphs)), details)


def _fields(problems: Sequence[Incident]) -> dict[str, str]:
    """The values of the words' placeholders, from problems of one kind. A subject is a list's name
    or an address.
    """
    rows = sorted(problems, key=lambda problem: problem.subject)
    number = len(rows)
    unserved = [row for row in rows if not row.facts.get("served")]
    lists = list(dict.fromkeys(str(row.facts.get("list", row.subject)) for row in rows))
    names = together(lists, _MOST)
    without = together([row.subject for row in unserved], _MOST)
    scored = _scored(rows)
    back = together([row.subject for row in rows if row.facts.get("back")], _MOST)
    return {
        "names": names,
        "first": lists[0],
        "unserved": without or names,
        "once": " --list ".join(
            ["paperboy once", *(row.subject for row in unserved if len(unserved) <= _MOST)]
        ),
        "score": f"Scored {_scored(unserved)}: no digest for {without}"
        if unserved
        else f"Scored only {scored} for {names}",
        "scored": scored,
        "what": "digest" if unserved else "new papers",
        "papers": counted(number, "paper"),
        "mails": counted(number, "mail"),
        "addresses": counted(number, "address", "addresses"),
        "back": f"The papers are not lost: they come with the next digest of {back}."
        if back
        else "",
        "fault": shortened(
            one_line(f"{rows[0].facts.get('place', lists[0])}: {rows[0].reason}"), _LONGEST_FAULT
        ),
    }


def _well_again(problems: Sequence[Incident], own: Words, zone: tzinfo) -> Alert:
    """The mail about one kind that is over."""
    fields = _fields(problems)
    since = min(problem.since for problem in problems).astimezone(zone)
    what = f"Resolved: {own.well.format_map(fields)}"
    detail = (
        f"{problems[0].kind}, since {since:%a %d %b %H:%M %Z}: {own.headline.format_map(fields)}"
    )
    return Alert(what, ("The problem is over. You need not do anything.",), (detail,))


def no_start(problem: str) -> Alert:
    """Nothing works, and nothing can be recorded."""
    advice = "Paperboy keeps retrying; paperboy check shows what else is wrong. This is reported once a day."
    return Alert(
        "Paperboy cannot work",
        (_reason(problem), f"No digest goes out until that is fixed. {advice}"),
    )


def _reason(problem: str) -> str:
    return f"The reason: {' '.join(problem.split()).removesuffix('.')}."


def _scored(problems: Sequence[Incident]) -> str:
    scored, considered = (
        sum(problem.facts.get(name, 0) for problem in problems) for name in ("scored", "considered")
    )
    return f"{scored:,} of {counted(considered, 'paper')}"


# --- the mails


class Mail(NamedTuple):
    """A mail to the operator that is to be written."""

    kind: str
    about: Sequence[Incident]
    alert: Alert
    over: bool  # it is good news
    at: datetime  # when it was found: its date
    due: datetime  # not before
    instead: frozenset[int]  # unsent messages that it replaces


def _shared(row: Incident | Reported) -> tuple[str, str]:
    """Return what shares a mail: one kind, or one broken file."""
    return row.kind, row.subject if row.kind == Kind.FILES else ""


def lasting(problems: Iterable[Incident]) -> list[list[Incident]]:
    """Return what lasts, by kind, or by broken file."""
    return [
        [*alike]
        for _, alike in groupby((problem for problem in problems if not problem.event), _shared)
    ]


def plan(
    problems: Sequence[Incident],
    ended: Sequence[Incident],
    reported: Sequence[Reported],
    words: Mapping[str, Words],
    zone: tzinfo,
    now: datetime,
) -> list[Mail]:
    """Return the mails that are to be written, oldest first, in the operator's `zone`: about each
    kind that is over, or was met on a later day than its last mail. Events are reported once: the
    first at once, and what comes after the day's mail with the next day's. `ended` are incidents
    that are over.
    """
    found = list[Mail]()
    today = now.astimezone(zone).date()
    rows: list[Incident | Reported] = [*problems, *reported, *ended]
    for key in dict.fromkeys(map(_shared, rows)):
        kind, _ = key
        own = words.get(kind)
        if own is None:
            continue
        its = [row for row in problems if _shared(row) == key]
        before = [row for row in reported if _shared(row) == key]
        is_event = not own.well
        last = max((row.day(zone) for row in before), default=date.min)
        is_over = not its and not is_event
        if is_event:
            its = _news(its, before) if last < today else []
        elif its:
            met = max(row.last for row in its).astimezone(zone).date()
            its = its if met > last or any(row.over for row in before) else []
        else:  # what is over: incidents, and what was reported and is no problem any more
            its = [row for row in ended if _shared(row) == key]
            known = {incident.subject for incident in its}
            for row in before:
                if row.can_be_over and not row.over and row.subject not in known:
                    its.append(Incident(kind=kind, subject=row.subject, since=row.since, last=now))
        if not its:
            continue
        at = due = max(row.ended or row.last for row in its)
        if before and is_event:  # with the mail of the next morning, or without one at noon
            due = max(
                due, datetime.combine(last + timedelta(days=1), time(12), zone).astimezone(UTC)
            )
        alert = _well_again(its, own, zone) if is_over else _alert(its, own)
        instead = frozenset(row.mail for row in before if row.unsent and row.mail)
        found.append(Mail(kind, its, alert, over=is_over, at=at, due=due, instead=instead))
    return sorted(found, key=lambda mail: mail.at)


def _news(events: Sequence[Incident], before: Sequence[Reported]) -> list[Incident]:
    """Return the events that no mail has brought yet, if there are new ones."""
    known = {row.subject: row for row in before}
    new = {
        event.subject
        for event in events
        if event.subject not in known or known[event.subject].since < event.since
    }
    return (
        [event for event in events if event.subject in new or known[event.subject].unsent]
        if new
        else []
    )


@contextmanager
def never_raising() -> Iterator[None]:
    """Log why the operator could not be alerted."""
    try:
        yield
    except PaperboyError as error:
        logger.error("ALERT_TO could not be alerted: %s", error)
    except Exception:
        logger.exception("ALERT_TO could not be alerted: this is a bug in Paperboy")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertReporter:
    """Reports the problems of one home."""

    store: Store
    lists: Sequence[MailingList]
    words: Mapping[str, Words]
    zone: tzinfo  # the operator's

    def plan(self, problems: Sequence[Incident], now: datetime) -> list[Mail]:
        """Return the mails that are to be written now or later."""
        ended = [
            incident
            for incident in self.store.incidents.all()
            if incident.ended and not self._is_moot(incident)
        ]
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
        `sends`: a round of sending follows, so what is about mail waits for its end.
        """
        with self.store.transaction():
            self._clear(problems, to, now)
        today = now.astimezone(self.zone).date()
        for mail in self.plan(problems, now):
            if sends and mail.kind in _OF_SENDING:
                continue
            logger.log(logging.INFO if mail.over else logging.WARNING, "%s", mail.alert.headline)
            frozen_id = None
            try:
                with self.store.transaction():
                    for unsent in mail.instead:
                        self.store.ledger.withdraw(unsent)
                    if to:
                        composed, copy = composer.alert(mail.alert, to, mail.at)
                        priority = -1 if mail.kind in _AFTER_THE_ROUND and not mail.over else 2
                        frozen_id = self.store.ledger.freeze(
                            composed, [copy], now, priority=priority
                        )
                    if mail.over:
                        for incident in mail.about:
                            self.store.incidents.forget(mail.kind, incident.subject)
                    self.store.alerts.add(mail.about, today, frozen_id, over=mail.over)
            except StoreError:
                raise
            except Exception:
                # It counts as reported, in the log, or the daemon would try without end: what lasts
                # is due tomorrow.
                self.store.alerts.add(mail.about, today, None, over=mail.over)
                with never_raising():
                    raise

    def _clear(self, problems: Sequence[Incident], to: Subscriber | None, now: datetime) -> None:
        """Forget what is moot, events that are no news any more, and mails to another address than
        the operator's.
        """
        there = {(problem.kind, problem.subject) for problem in problems}
        events = {kind for kind, words in self.words.items() if not words.well}
        reported = self.store.alerts.all()
        wanted = {
            row.mail for row in reported if not self._is_moot(row)
        }  # mails that are not moot as a whole
        for row in reported:
            elsewhere = row.unsent and (to is None or row.address != to.address)
            if row.unsent and row.mail and (elsewhere or row.mail not in wanted):
                self.store.ledger.withdraw(row.mail)
            is_old = (
                row.kind in events
                and (row.kind, row.subject) not in there
                and row.since < now - NEWS
            )
            if elsewhere or is_old or self._is_moot(row):
                self.store.alerts.forget(row.kind, row.subject)
        for incident in self.store.incidents.all():
            if self._is_moot(incident):
                self.store.incidents.forget(incident.kind, incident.subject)

    def _is_moot(self, row: Incident | Reported) -> bool:
        """Return whether a lasting problem is of a list that is gone, or that cannot have it any
        more.
        """
        words = self.words.get(row.kind)
        if words is None or not words.well or row.kind == Kind.FILES or row.subject in NO_LISTS:
            return False
        return not any(of.name == row.subject and words.concerns(of) for of in self.lists)
