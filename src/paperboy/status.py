"""Did everyone get their mail today, and if not, why? `paperboy status` shows it; the daemon tells systemd in one line.

    read      gathers one `ListStatus` per list, and whom digests did not reach
    answer    says it in one line, the worst thing first

Light to import, for the daemon does.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

from paperboy import announcements, due
from paperboy.due import Standing, State
from paperboy.mail.text import counted, one_line, together
from paperboy.models import Attempt, DeliveryState, MailingList, Outcome
from paperboy.privacy import without_addresses
from paperboy.store import Store
from paperboy.store.history import WAITING, DaySummary, Mailed, Undelivered

MOST = 120  # characters of the answer
RESENT_FOR = timedelta(days=14)  # so long after its digest, `resend --failed` takes up what was given up
NONE_SCORED = re.compile(r"^scored 0 of \d+: ")  # how a reason begins where nothing could be scored

_LATELY = timedelta(days=7)  # what went wrong before that is no news any more
_A_MOMENT = timedelta(seconds=1)
_NAMES = 40  # characters of lists' names; with more, lists are counted
_WHERE = re.compile(r"(?<=the LLM) at \S+|(?<=mail server) \S+:\d+")  # `status` says it below the answer


@dataclass(frozen=True, slots=True)
class ListStatus:
    """One list at an instant."""

    mailing_list: MailingList
    standing: Standing
    now: datetime
    holidays: Collection[date] = ()  # evenings without an announcement, beyond those that the calendar knows
    attempt: Attempt | None = None  # the last one that came to nothing
    days: tuple[DaySummary, ...] = ()  # newest first
    mailed: Mailed | None = None  # its newest digest, unless that was superseded

    @property
    def name(self) -> str:
        return self.mailing_list.name

    @property
    def newest(self) -> DaySummary | None:
        return self.days[0] if self.days else None

    @property
    def today(self) -> State | Outcome:
        """What today came to; where it came to nothing yet, how it stands."""
        if self.standing.state is not State.DONE or self.newest is None:
            return self.standing.state
        noted = self.newest.outcome is Outcome.NOTE and self.mailed_today
        return Outcome.DIGEST if noted else self.newest.outcome

    @property
    def mailed_today(self) -> bool:
        return self.mailed is not None and self.mailed.date >= self.standing.day

    @property
    def next(self) -> datetime | None:
        """When its next digest may come, in its zone; in the past: it is due. None: nobody would get it."""
        comes = self.standing.next_digest
        return comes.astimezone(self.mailing_list.timezone) if comes else None

    @property
    def no_batch(self) -> str:
        """Why its next morning has no papers, as "weekend"; empty: it has some."""
        newest = self.newest
        if self.next is None or newest is None or newest.outcome is Outcome.GAVE_UP or newest.counts.carried_over:
            return ""
        if newest.deliveries and not newest.deliveries.keys() & {DeliveryState.SENT, DeliveryState.AMBIGUOUS}:
            return ""  # that digest reached nobody, so it will be superseded
        return self._no_batch(self.next)

    @property
    def next_batch(self) -> datetime | None:
        """When a morning of the list comes that has a batch of arXiv's, in its zone. None: nobody would get it."""
        if self.next is None:
            return None
        visible = announcements.next_batch(self._last_look(self.now), self.holidays).visible
        return due.next_morning(self.mailing_list, visible - _A_MOMENT).astimezone(self.mailing_list.timezone)

    @property
    def quiet(self) -> str:
        """Why its newest day was quiet; empty: it was not."""
        if self.newest is None or self.newest.outcome is not Outcome.QUIET:
            return ""
        if self.newest.reason:
            return one_line(self.newest.reason)
        why = self._no_batch(due.begins(self.mailing_list, self.newest.date))
        return f"arXiv announced nothing ({why})" if why else "arXiv had nothing new in its categories"

    def _no_batch(self, start: datetime) -> str:
        return announcements.why_none(self._last_look(start - _A_MOMENT), start, self.holidays)

    def _last_look(self, at: datetime) -> datetime:
        """The newest of the list's mornings that has begun."""
        days = (due.local_date(self.mailing_list, at) - timedelta(days=ago) for ago in range(9))
        starts = (due.begins(self.mailing_list, day) for day in days if due.sends_on(self.mailing_list, day))
        return next(start for start in starts if start <= at)


@dataclass(frozen=True, slots=True)
class Reach:
    """How the digests of several lists fared together. Each person counts once, the suppressed do not."""

    subscribers: int = 0
    missed: tuple[Undelivered, ...] = ()
    in_outbox: bool = False  # all that was sent lies there

    def people(self, *states: DeliveryState) -> int:
        """How many people missed one of the digests, and in one of these states."""
        return len({each.address.casefold() for each in self.missed if each.state in (states or DeliveryState)})


@dataclass(frozen=True, slots=True)
class Status:
    """All lists at an instant."""

    now: datetime
    lists: tuple[ListStatus, ...]
    undelivered: tuple[Undelivered, ...] = ()  # of those who are on the lists now
    today: Reach = Reach()  # of today's digests
    before: Reach = Reach()  # of the last digests of lists that have none today


def read(
    store: Store,
    lists: Sequence[MailingList],
    now: datetime,
    patience: timedelta,
    holidays: Collection[date] = (),
    mornings: int = 1,
) -> Status:
    """Where the lists stand, with the last `mornings` of each."""
    names, attempts = [each.name for each in lists], store.days.attempts()
    standings = due.standings(lists, store.days.outcomes(lists, now), attempts, now, patience)
    days, mailed = store.history.days(names, mornings), store.history.mailed(names)
    found = []
    for each, name in zip(lists, names, strict=True):
        attempt = attempts.get(name) if each.subscribers else None
        found.append(ListStatus(each, standings[name], now, holidays, attempt, days.get(name, ()), mailed.get(name)))
    on = {(each.name, who.address.casefold()) for each in lists for who in each.subscribers}
    rows = store.history.undelivered({each.digest_id for each in mailed.values()}, now - _LATELY)
    rows = tuple(row for row in rows if (row.list_name, row.address.casefold()) in on)
    lately = [each for each in found if each.mailed and each.standing.day - each.mailed.date <= _LATELY]
    today, before = (
        _reach(store, {each.mailed.digest_id for each in lately if each.mailed and each.mailed_today is of_today}, rows)
        for of_today in (True, False)
    )
    return Status(now, tuple(found), rows, today, before)


def _reach(store: Store, digest_ids: Collection[int], rows: Iterable[Undelivered]) -> Reach:
    mine = (row for row in rows if row.digest_id in digest_ids)
    missed = tuple(row for row in mine if row.state is not DeliveryState.SUPPRESSED)
    people, in_outbox = store.history.reached(digest_ids, {row.address.casefold() for row in missed})
    return Reach(people, missed, in_outbox)


def resendable(row: Undelivered, now: datetime) -> bool:
    """Whether `resend --failed` would take it up."""
    gone = row.state in {DeliveryState.FAILED, DeliveryState.AMBIGUOUS}
    return gone and (row.newest or (row.given_up and row.date >= (now - RESENT_FOR).date()))


def answer(status: Status, *, at_work: bool = False, running: bool = True) -> str:
    """One line of at most 120 characters, without an address. `at_work`: a morning is under way. `running`: somebody
    will try again; otherwise no next try is promised.
    """
    busy = [each for each in status.lists if each.today is not State.EMPTY]
    if not busy:
        return "No list has subscribers, so there is no mail."
    line = _Line(status, busy, at_work, "" if running else "paperboy run is not active")
    return textwrap.shorten(" ".join(line.sentences()), MOST, placeholder=" …")


@dataclass(frozen=True, slots=True)
class _Line:
    """Its sentences. A reason comes last in each, where it may be cut."""

    status: Status
    busy: Sequence[ListStatus]  # lists with subscribers
    at_work: bool
    idle: str  # that nobody is there to try again; empty: somebody is

    def sentences(self) -> Iterator[str]:
        """What is wrong, then what is well, then what is to come."""
        wrong = list(self._wrong())
        yield from wrong
        if (lists := self._on(Outcome.DIGEST)) and not self.status.today.missed:
            who = "Everyone else" if wrong else "Everyone"
            got = "Today's mail is in the outbox" if self.status.today.in_outbox else f"{who} got today's mail"
            yield f"{got}: {counted(len(lists), 'list')}, {counted(self.status.today.subscribers, 'subscriber')}."
        yield from self._missed(self.status.before, "the last digest")
        if lists := self._on(Outcome.NOTE):
            papers = sum(each.days[0].counts.considered for each in lists)
            yield f"No mail {self._for(lists)}: none of {counted(papers, 'paper')} passed."
        if lists := self._on(Outcome.QUIET):
            yield f"No mail {self._for(lists)}: {_commonest(each.quiet for each in lists)}; {_next_batch(lists)}."
        if lists := self._on(State.COMING):
            yield self._coming(lists)
        if len(lists := self._on(State.OFF, Outcome.SKIPPED)) == len(self.busy):
            comes = f"the next comes {_first(each.next for each in lists)}"
            yield f"No mail today, a day on which no list sends; {comes}{self._then()}."

    def _wrong(self) -> Iterator[str]:
        if lists := self._on(Outcome.GAVE_UP):
            then = self._then(f"next try {_first(each.next for each in lists)}")
            yield f"No digest today for {_names(lists)}{then}{_why(each.days[0].reason for each in lists)}"
        if lists := self._on(State.DUE):
            since = min(each.standing.start for each in lists).astimezone(lists[0].mailing_list.timezone)
            head = f"{_names(lists)} {'is' if len(lists) == 1 else 'are'} due since {since:%H:%M %Z}"
            tried = [each.attempt.reason for each in lists if each.attempt and each.attempt.at >= each.standing.start]
            then = self._then(self._again(each.standing.next_try for each in lists))
            yield f"A morning is running: {head}." if self.at_work else f"Not yet: {head}{then}{_why(tried)}"
        yield from self._missed(self.status.today, "today's mail")

    def _on(self, *today: State | Outcome) -> list[ListStatus]:
        return [each for each in self.busy if each.today in today]

    def _for(self, lists: Sequence[ListStatus]) -> str:
        """Which lists; or "today", where no other may have mail today."""
        off = self._on(State.OFF, Outcome.SKIPPED)
        return "today" if len(lists) + len(off) == len(self.busy) else f"for {_names(lists)}"

    def _then(self, again: str = "") -> str:
        said = self.idle or again
        return f"; {said}" if said else ""

    def _again(self, tries: Iterable[datetime | None]) -> str:
        """The first of the next tries; empty: it may come at any moment."""
        first = min((at for at in tries if at), default=self.status.now)
        zone = self.busy[0].mailing_list.timezone
        return f"next try {moment(first, self.status.now, zone)}" if first > self.status.now else ""

    def _missed(self, reach: Reach, what: str) -> Iterator[str]:
        number, missed, wait = counted(reach.subscribers, "subscriber"), reach.people(), reach.people(*WAITING)
        reasons = {one_line(row.reason.replace(row.address, "…")) for row in reach.missed if row.reason}
        if missed and missed == wait and not reasons:
            yield f"{reach.subscribers - missed} of {number} got {what} so far; {missed} to be sent."
        elif missed:
            ambiguous, failed = reach.people(DeliveryState.AMBIGUOUS), reach.people(DeliveryState.FAILED)
            states = {f"{failed} failed": failed, f"{ambiguous} may have it": ambiguous, f"{wait} waiting": wait}
            kinds = [said for said, people in states.items() if people]
            why = reasons if len(reasons) == len(kinds) == 1 else [", ".join(kinds)]
            again = "" if self.idle else self._again(row.next_try(self.status.now) for row in reach.missed)
            yield f"{missed} of {number} did not get {what}{again and f'; {again}'}{_why(why)}"

    def _coming(self, lists: Sequence[ListStatus]) -> str:
        if with_papers := [each for each in lists if not each.no_batch]:
            which = self._for(with_papers)
            head = "Today's mail" if which == "today" else f"Today's mail {which}"
            dates = [each.mailed.date for each in with_papers if each.mailed]
            well = dates and self.status.before.subscribers and not self.status.before.missed
            before = f"everyone got that of {max(dates):%a %d %b}" if well else ""
            return f"{head} is due at {min(e.next for e in with_papers if e.next):%H:%M %Z}{self._then(before)}."
        return f"No mail is expected today ({lists[0].no_batch}); {_next_batch(lists)}{self._then()}."


def moment(instant: datetime, now: datetime, zone: tzinfo) -> str:
    """A time of day, and the day where it is another one."""
    local = instant.astimezone(zone)
    return f"{local:%H:%M %Z}" if local.date() == now.astimezone(zone).date() else f"{local:%a %H:%M %Z}"


def _names(lists: Sequence[ListStatus]) -> str:
    names = together([each.name for each in lists])
    return names if len(lists) == 1 or len(names) <= _NAMES else counted(len(lists), "list")


def _first(instants: Iterable[datetime | None]) -> str:
    return f"{min(filter(None, instants)):%a %d %b %H:%M %Z}"


def _next_batch(lists: Iterable[ListStatus]) -> str:
    return f"the next batch comes {_first(each.next_batch for each in lists)}"


def _commonest(reasons: Iterable[str]) -> str:
    short = (_WHERE.sub("", NONE_SCORED.sub("", one_line(reason))) for reason in reasons)
    plain = (without_addresses(reason).rstrip(".") for reason in short)
    return next((reason for reason, _ in Counter(plain).most_common(1)), "")


def _why(reasons: Iterable[str]) -> str:
    reason = _commonest(reasons)
    return f": {reason}." if reason else "."
