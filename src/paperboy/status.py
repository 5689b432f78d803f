"""Did everyone get their mail today, and if not, why? `paperboy status` shows it; the daemon tells systemd in one line.

    read      gathers one `ListStatus` per list, and whom digests did not reach
    brief     gathers only what the answer needs: of lists that are alike, one is read
    health    says it in one word, of a list and of all: ok, waiting, late, failed or paused
    answer    says it in one line: the worst thing, then what is well

Light to import, for the daemon does.
"""

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta, tzinfo
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeVar

from paperboy import due
from paperboy.due import Standing, State
from paperboy.foreign import one_line, shortened, without_addresses
from paperboy.mail.text import counted, together
from paperboy.models import Attempt, DeliveryState, MailingList, Outcome
from paperboy.store import Store
from paperboy.store.history import DaySummary, Mailed, Undelivered

MOST = 120  # characters of the answer
NONE_SCORED = re.compile(r"^scored 0 of \d+: ")  # how a reason begins where nothing could be scored
IDLE = "paperboy run is not active"
NOTHING_IS_SENT = f"{IDLE}: nothing is sent until you start it, or paperboy once"

_PATIENCE = timedelta(hours=1)  # after which what nobody works at is late
_WITH_MAIL = {State.COMING, State.DUE, *Outcome} - {Outcome.SKIPPED}  # of lists that send today
_GONE = {DeliveryState.FAILED, DeliveryState.AMBIGUOUS}
_LATELY = timedelta(days=7)  # older failures are no longer news
_WHERE = re.compile(r"(?<=the LLM) at \S+|(?<=mail server) \S+:\d+")  # `status` says it below the answer


_Of = TypeVar("_Of", bound="ListStatus")


class Health(StrEnum):
    """How a list fares, or all of them; of those that are not paused the first here is the worst."""

    FAILED = "failed"  # today was given up, or the newest digest reached nobody
    LATE = "late"  # a try failed, an hour has passed, or the mail server takes nothing
    WAITING = "waiting"  # its hour comes, or it is being worked at
    OK = "ok"
    PAUSED = "paused"

    @property
    def well(self) -> bool:
        return self not in {Health.FAILED, Health.LATE}


@dataclass(frozen=True, slots=True)
class ListStatus:
    """One list at an instant."""

    mailing_list: MailingList
    standing: Standing
    now: datetime
    holidays: Collection[date] = ()  # evenings without an announcement, beyond those that the calendar knows
    attempt: Attempt | None = None  # the last failed one
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
        """Today's outcome, or the list's state if there is none yet."""
        if self.standing.state is not State.DONE or self.newest is None:
            return self.standing.state
        noted = self.newest.outcome is Outcome.NOTE and self.mailed_today
        return Outcome.DIGEST if noted else self.newest.outcome

    @property
    def mailed_today(self) -> bool:
        return self.mailed is not None and self.mailed.date >= self.standing.day

    @property
    def only_in_outbox(self) -> bool:
        """Whether its newest digest went to the outbox, and to nobody by mail."""
        return self.mailed is not None and 0 < self.mailed.in_outbox == self.mailed.deliveries.get(DeliveryState.SENT)

    @property
    def next(self) -> datetime | None:
        """When its next digest may come, in its zone; in the past: it is due. None: nobody would get it, or it is
        paused.
        """
        comes = self.standing.next_digest
        return comes.astimezone(self.mailing_list.timezone) if comes else None

    @property
    def no_batch(self) -> str:
        """Why its next morning has no batch, for example "weekend"; empty if it has one."""
        newest = self.newest
        if self.next is None or newest is None or newest.outcome is Outcome.GAVE_UP or newest.counts.carried_over:
            return ""
        if newest.deliveries and not newest.deliveries.keys() & {DeliveryState.SENT, DeliveryState.AMBIGUOUS}:
            return ""  # that digest reached nobody, so it will be superseded
        return self._no_batch(self.next)

    @property
    def next_batch(self) -> datetime | None:
        """The start of its next morning with an arXiv batch, in its zone. None: there is none to come."""
        if self.next is None:
            return None
        start = due.next_morning(self.mailing_list, self.now)
        while self._no_batch(start):
            start = due.next_morning(self.mailing_list, start)
        return start.astimezone(self.mailing_list.timezone)

    @property
    def quiet(self) -> str:
        """Why its newest day was quiet; empty if it was not."""
        if self.newest is None or self.newest.outcome is not Outcome.QUIET:
            return ""
        if self.newest.reason:
            return self.newest.reason
        why = self._no_batch(due.begins(self.mailing_list, self.newest.date))
        return f"arXiv announced nothing ({why})" if why else "arXiv had nothing new in its categories"

    def _no_batch(self, start: datetime) -> str:
        """Why no batch became visible between the list's morning that begins then and the one before."""
        return due.no_batch(self.mailing_list, start, self.holidays)


@dataclass(frozen=True, slots=True)
class Alike(ListStatus):
    """The first of some lists that the answer says the same of, and what it says of all."""

    names: tuple[tuple[int, str], ...] = ()  # of all, after their place in the file
    papers: int = 0  # considered on their newest days
    in_outbox: int = 0  # mails of their newest digests

    @property
    def number(self) -> int:
        return len(self.names)


class Missed(NamedTuple):
    """How many subscribers did not get a digest for one reason."""

    number: int
    reason: str  # empty: none is known. "…" stands for an address
    next_try: datetime | None  # None: it is not retried


@dataclass(frozen=True)
class Brief:
    """What the answer is made of. Lists that are alike are one, since there may be thousands."""

    now: datetime
    lists: tuple[Alike, ...]
    missed: tuple[Missed, ...] = ()
    subscribers: int = 0  # of the digests, as in `Status`

    def on(self, *today: State | Outcome) -> list[Alike]:
        """Those that are in one of these states today."""
        return [each for each, its in zip(self.lists, self._today, strict=True) if its in today]

    @cached_property
    def _today(self) -> list[State | Outcome]:
        return [each.today for each in self.lists]


@dataclass(frozen=True)
class Status:
    """All lists at an instant, with today's digests, or the last ones if there are none today."""

    now: datetime
    lists: tuple[ListStatus, ...]
    undelivered: tuple[Undelivered, ...] = ()  # of those who are on the lists now
    missed: tuple[Undelivered, ...] = ()  # of those digests, without suppressed addresses
    subscribers: int = 0  # of those digests; a subscriber of two lists counts twice
    at_work: bool = False  # a morning or a sending is under way

    @property
    def brief(self) -> Brief:
        """What the answer says, each list for itself."""
        missed = (Missed(1, row.reason.replace(row.address, "…"), row.next_try(self.now)) for row in self.missed)
        papers = [each.newest.counts.considered if each.newest else 0 for each in self.lists]
        boxed = [each.mailed.in_outbox if each.mailed else 0 for each in self.lists]
        alike = (_alike(each, [(n, each.name)], papers[n], boxed[n]) for n, each in enumerate(self.lists))
        return Brief(self.now, tuple(alike), tuple(missed), self.subscribers)

    @property
    def health(self) -> Health:
        """The worst of all lists; paused if all are."""
        found, worst = {self.of(each) for each in self.lists}, list(Health)
        return min(found, key=worst.index, default=Health.OK)

    def of(self, each: ListStatus) -> Health:
        """How one of the lists fares."""
        came = each.mailed.deliveries.keys() - {DeliveryState.SUPPRESSED} if each.mailed else set()
        waits = self._waiting.get(each.mailed.digest_id, []) if each.mailed else []
        since = [row.at for row in waits] + ([each.standing.start] if each.today is State.DUE else [])
        tried = each.today is State.DUE and each.attempt and each.attempt.at >= each.standing.start
        if each.today is State.PAUSED:
            return Health.PAUSED
        if each.today is State.EMPTY:  # nobody is left of those whom its last digest did not reach
            return Health.OK
        if each.today is Outcome.GAVE_UP or (came and came <= _GONE):
            return Health.FAILED
        overdue = not self.at_work and min(since, default=self.now) < self.now - _PATIENCE
        none = came and came <= _GONE | {DeliveryState.DEFERRED}
        if tried or overdue or none or any(row.reason for row in waits):
            return Health.LATE
        is_new = each.newest is None and each.next is not None
        return Health.WAITING if since or is_new or each.today is State.COMING else Health.OK

    @cached_property
    def _waiting(self) -> dict[int, list[Undelivered]]:
        """What may be sent at once, by digest: there may be thousands of lists, and all their readers."""
        found: dict[int, list[Undelivered]] = {}
        for row in self.undelivered:
            if row.state in {DeliveryState.PENDING, DeliveryState.SENDING}:
                found.setdefault(row.digest_id, []).append(row)
        return found


def read(
    store: Store,
    lists: Sequence[MailingList],
    now: datetime,
    patience: timedelta,
    holidays: Collection[date] = (),
    mornings: int = 1,
    *,
    at_work: bool = False,
) -> Status:
    """Where the lists stand, with the last `mornings` of each. `at_work`: a morning or a sending is under way."""
    known = store.days.attempts(), store.days.know((), now)
    found = _look(store, lists, now, patience, holidays, mornings, *known)
    mailed = [each.mailed for each in found if each.mailed]
    rows = store.history.undelivered({each.digest_id for each in mailed}, now - _LATELY)
    on = _subscribed(lists, {row.list_name for row in rows})
    rows = tuple(row for row in rows if (row.list_name, row.address.lower()) in on)
    newest = [each.mailed for each in _newest(found) if each.mailed]
    digests = {each.digest_id for each in newest}
    missed = tuple(row for row in rows if row.digest_id in digests and row.state is not DeliveryState.SUPPRESSED)
    got = sum(each.deliveries.get(DeliveryState.SENT, 0) for each in newest)
    return Status(now, tuple(found), rows, missed, got + len(missed), at_work)


def brief(
    store: Store, lists: Sequence[MailingList], now: datetime, patience: timedelta, holidays: Collection[date] = ()
) -> Brief:
    """What the answer says of the lists: of those that are alike, one is read."""
    with store.snapshot():  # or what is read of one might have come after what is counted of all
        attempts, since = store.days.attempts(), store.days.know((), now)
        rows = store.history.alike(*_kinds(lists, now, attempts, since))
        place = {each.name: number for number, each in enumerate(lists)}
        groups = sorted((sorted((place[name], name) for name in row.names), row) for row in rows)
        firsts = [lists[names[0][0]] for names, _ in groups]
        read = _look(store, firsts, now, patience, holidays, 1, attempts, since)
        found = [
            _alike(each, names, of.considered, of.in_outbox) for each, (names, of) in zip(read, groups, strict=True)
        ]
        rows_of = {each.name: row for each, (_, row) in zip(found, groups, strict=True)}
        newest = [rows_of[each.name] for each in _newest(found)]
        missed = _missed(store, lists, [digest for row in newest if row.lacking for digest in row.digests], now)
    got = sum(row.sent for row in newest)
    return Brief(now, tuple(found), tuple(missed), got + sum(each.number for each in missed))


def _kinds(
    lists: Iterable[MailingList], now: datetime, attempts: Mapping[str, Attempt], since: Mapping[str, datetime]
) -> tuple[dict[str, str], date]:
    """What `History.alike` asks of the lists: those of one kind are alike before anything is known of their days."""
    kinds, known, days = dict[str, str](), dict[Hashable, str](), dict[tzinfo, date]()
    for each in lists:
        attempt, first = attempts.get(each.name) if each.subscribers else None, since.get(each.name)
        day = days.get(each.timezone) or days.setdefault(each.timezone, due.local_date(each, now))
        key = due.alike(each, attempt, now, first), first is None
        kinds[each.name] = known.get(key) or known.setdefault(key, f"{day} {len(known)}")
    return kinds, max(days.values(), default=now.date())


def _look(
    store: Store,
    lists: Sequence[MailingList],
    now: datetime,
    patience: timedelta,
    holidays: Collection[date],
    mornings: int,
    attempts: Mapping[str, Attempt],
    since: Mapping[str, datetime],
) -> list[ListStatus]:
    """Where each list stands, with its last `mornings`."""
    names, today = [each.name for each in lists], max((due.local_date(each, now) for each in lists), default=now.date())
    days, mailed = store.history.days(names, mornings, today), store.history.mailed(names, today)
    tried = {each.name: attempts[each.name] for each in lists if each.subscribers and each.name in attempts}
    fresh = [name for name in names if not (name in days or name in tried)]  # what nobody has served owes nothing
    first = {**dict.fromkeys(fresh, now), **since}
    standings = due.standings(lists, store.days.outcomes(lists, now), tried, now, patience, first)
    return [
        ListStatus(each, standings[name], now, holidays, tried.get(name), days.get(name, ()), mailed.get(name))
        for each, name in zip(lists, names, strict=True)
    ]


def _newest(lists: Sequence[_Of]) -> list[_Of]:
    """Those with a digest of today, or else with one of the last days."""
    lately = [each for each in lists if each.mailed and each.standing.day - each.mailed.date <= _LATELY]
    return [each for each in lately if each.mailed_today] or lately


def _subscribed(lists: Sequence[MailingList], names: Collection[str]) -> set[tuple[str, str]]:
    """Who is on these lists now, in lower case."""
    return {(each.name, address) for each in lists if each.name in names for address in each.addresses()}


def _missed(store: Store, lists: Sequence[MailingList], digests: Collection[int], now: datetime) -> list[Missed]:
    """Who did not get these digests, of those who are on the lists now, in the order of `History.undelivered`."""
    rows = store.history.lacking(digests) if digests else []
    on = _subscribed(lists, {name for row in rows for name, _ in row.people})
    found = [(row, [who for who in row.people if (who[0], who[1].lower()) in on]) for row in rows]
    found = sorted((each for each in found if each[1]), key=lambda each: (-each[0].date.toordinal(), min(each[1])))
    return [Missed(len(people), row.reason, row.next_try(now)) for row, people in found]


def _alike(first: ListStatus, names: Iterable[tuple[int, str]], papers: int, in_outbox: int) -> Alike:
    own = {each.name: getattr(first, each.name) for each in fields(first)}
    return Alike(**own, names=tuple(names), papers=papers, in_outbox=in_outbox)


def answer(status: Status | Brief, *, at_work: bool = False, running: bool = True, reasons_follow: bool = False) -> str:
    """One line of at most 120 characters, without an address. `at_work`: a morning is under way. `running`: the
    daemon is active, so a next try can be promised. `reasons_follow`: nothing is cut, however long the line; a reason
    that does not fit is left out, since it follows in full.
    """
    status = status.brief if isinstance(status, Status) else status
    if len(status.on(State.EMPTY)) == len(status.lists):
        return "No list has subscribers, so there is no mail."
    if not any(each.next for each in status.lists):
        return "All lists are paused, so there is no mail."
    wrong = list(_wrong(status, at_work=at_work, running=running))
    well = list(_well(status, "Everyone else" if wrong else "Everyone", running=running))
    line = one_line(" ".join([*(what + why for what, why in wrong[:1]), *well][:2]))
    if not reasons_follow:
        return shortened(line, MOST)
    if len(line) > MOST:
        line = one_line(" ".join([*(f"{what}." for what, _ in wrong[:1]), *well][:2]))
    return line


def _wrong(status: Brief, *, at_work: bool, running: bool) -> Iterator[tuple[str, str]]:
    """Problems, worst first: each with the end of its sentence, a reason, which may be cut."""
    if lists := status.on(Outcome.GAVE_UP):
        then = f"next try {_first(each.next for each in lists)}" if running else IDLE
        why = _why((each.days[0].reason, each.number) for each in lists)
        yield f"No digest today for {_names(lists)}; {then}", why
    if lists := status.on(State.DUE):
        since = min(each.standing.start for each in lists).astimezone(lists[0].mailing_list.timezone)
        head = f"{_names(lists)}, due since {since:%H:%M %Z}"
        last = ((each, each.attempt) for each in lists)
        tried = ((of.reason, each.number) for each, of in last if of and of.at >= each.standing.start)
        then = _again(status, (each.standing.next_try for each in lists)) if running else f"; {IDLE}"
        yield (f"A morning is running: {head}", ".") if at_work else (f"Not yet: {head}{then}", _why(tried))
    if number := sum(each.number for each in status.missed):
        of, tries = counted(status.subscribers, "subscriber"), [each.next_try for each in status.missed]
        what = "today's mail" if any(each.mailed_today for each in status.lists) else "the last digest"
        reasons = [(each.reason, each.number) for each in status.missed if each.reason]
        if reasons or None in tries:
            yield f"{number} of {of} did not get {what}{_again(status, tries) if running else ''}", _why(reasons)
        else:
            yield f"{status.subscribers - number} of {of} got {what} so far; {number} to be sent", "."


def _well(status: Brief, everyone: str, *, running: bool) -> Iterator[str]:
    """What is well, then what is to come."""
    lists = [] if status.missed else status.on(Outcome.DIGEST)
    kept = [each for each in lists if each.only_in_outbox]
    number = sum(each.in_outbox for each in kept)
    if kept:
        which, people = _for(status, kept), counted(number, "subscriber")
        what = people if which else f"{counted(_number(kept), 'list')}, {people}"
        yield f"Today's mail{which} is in the outbox: {what}."
    if others := _number(lists) - _number(kept):
        what = f"{counted(others, 'list')}, {counted(status.subscribers - number, 'subscriber')}"
        yield f"{'Everyone else' if kept else everyone} got today's mail: {what}."
    if lists := status.on(Outcome.NOTE):
        papers = sum(each.papers for each in lists)
        yield f"No mail today{_for(status, lists)}: none of {counted(papers, 'paper')} passed."
    if lists := status.on(Outcome.QUIET):
        why = _commonest((each.quiet, each.number) for each in lists)
        yield f"No mail today{_for(status, lists)}: {why}; {_next_batch(lists)}."
    coming = status.on(State.COMING)
    if lists := [each for each in coming if not each.no_batch]:
        at = min(each.next for each in lists if each.next)
        yield f"Today's mail{_for(status, lists)} is due at {at:%H:%M %Z}{'' if running else f'; {IDLE}'}."
    elif coming:
        yield f"No mail is expected today{_for(status, coming)} ({coming[0].no_batch}); {_next_batch(coming)}."
    if not status.on(*_WITH_MAIL):
        off = status.on(State.OFF)
        if new := [each for each in off if due.sends_on(each.mailing_list, each.standing.day)]:
            which = "" if len(new) == len(status.lists) else f" for {_names(new)}"
            comes = f"the first comes {_first(each.next for each in new)}, or now with paperboy once"
            yield f"No mail today{which}: set up after today's hour; {comes}."
        else:
            days = together(list(dict.fromkeys(f"{each.standing.day:%A}s" for each in off)))
            yield f"No list sends on {days}; the next mail comes {_first(each.next for each in status.lists)}."


def _number(lists: Iterable[Alike]) -> int:
    return sum(each.number for each in lists)


def _names(lists: Iterable[Alike]) -> str:
    return together([name for _, name in sorted(chain.from_iterable(each.names for each in lists))], 2)


def _for(status: Brief, lists: Sequence[Alike]) -> str:
    """Which lists; empty if no other list can have mail today."""
    return "" if len(lists) == len(status.on(*_WITH_MAIL)) else f" for {_names(lists)}"


def _again(status: Brief, tries: Iterable[datetime | None]) -> str:
    """The earliest next try; empty if it can start at any moment."""
    first = min((at for at in tries if at), default=status.now)
    local = first.astimezone(status.lists[0].mailing_list.timezone)
    return f"; next try {local:%H:%M %Z}" if first > status.now else ""


def _first(instants: Iterable[datetime | None]) -> str:
    return f"{min(filter(None, instants)):%a %d %b %H:%M %Z}"


def _next_batch(lists: Iterable[ListStatus]) -> str:
    hours = {(of.send_at, of.timezone, of.weekdays): each for each in lists for of in [each.mailing_list]}
    return f"the next batch comes {_first(each.next_batch for each in hours.values())}"


def _commonest(reasons: Iterable[tuple[str, int]]) -> str:
    found = Counter[str]()
    for reason, number in reasons:
        found[without_addresses(_WHERE.sub("", NONE_SCORED.sub("", reason))).rstrip(".")] += number
    return next((reason for reason, _ in found.most_common(1)), "")


def _why(reasons: Iterable[tuple[str, int]]) -> str:
    reason = _commonest(reasons)
    return f": {reason}." if reason else "."
