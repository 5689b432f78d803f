"""Did everyone get their mail today, and if not, why? `paperboy status` shows it, and systemd one
line of it.

    read      gathers one `ListStatus` per list, and whom digests did not reach
    health    is one word, for a list and for all: ok, waiting, late, failed or paused
    answer    is one line: the worst problem, then what is well

Light to import, for the daemon does.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property

from paperboy import due
from paperboy.due import ListState, Standing
from paperboy.edges.text import one_line, shortened, without_addresses
from paperboy.mail.text import counted, together
from paperboy.models import Attempt, DeliveryState, MailingList, Outcome
from paperboy.store import Store
from paperboy.store.history import DaySummary, DeliveryRecord, NewestDigest

MOST = 120  # characters of the answer
IDLE = "paperboy run is not active"
NOTHING_IS_SENT = f"{IDLE}: nothing is sent until you start it, or paperboy once"

_PATIENCE = timedelta(hours=1)  # after which what nobody works at is late
_WITH_MAIL = {ListState.COMING, ListState.DUE, *Outcome} - {
    Outcome.SKIPPED
}  # of lists that send today
_LATELY = timedelta(days=7)  # older failures are no longer news
_WHERE = re.compile(
    r"(?<=the LLM) at \S+|(?<=mail server) \S+:\d+"
)  # `status` says it below the answer


class Health(StrEnum):
    """How a list fares, or all of them; of those that are not paused the first here is the
    worst.
    """

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
    attempt: Attempt | None = None  # the last failed one
    days: tuple[DaySummary, ...] = ()  # newest first
    mailed: NewestDigest | None = None  # its newest digest, unless that was superseded

    @property
    def name(self) -> str:
        return self.mailing_list.name

    @property
    def newest(self) -> DaySummary | None:
        return self.days[0] if self.days else None

    @property
    def today(self) -> ListState | Outcome:
        """Today's outcome, or the list's state if there is none yet."""
        if self.standing.state is not ListState.DONE or self.newest is None:
            return self.standing.state
        noted = self.newest.outcome is Outcome.NOTE and self.mailed_today
        return Outcome.DIGEST if noted else self.newest.outcome

    @property
    def mailed_today(self) -> bool:
        return self.mailed is not None and self.mailed.date >= self.standing.day

    @property
    def only_in_outbox(self) -> bool:
        """Whether its newest digest went to the outbox, and to nobody by mail."""
        return self.mailed is not None and 0 < self.mailed.in_outbox == self.mailed.deliveries.get(
            DeliveryState.SENT
        )

    @property
    def next(self) -> datetime | None:
        """When its next digest may come, in its zone; in the past: it is due. None: nobody would
        get it, or it is paused.
        """
        comes = self.standing.next_digest
        return comes.astimezone(self.mailing_list.timezone) if comes else None

    @property
    def no_batch(self) -> str:
        """Why its next morning has no batch, for example "weekend"; empty if it has one."""
        newest = self.newest
        if (
            self.next is None
            or newest is None
            or newest.outcome is Outcome.GAVE_UP
            or newest.counts.carried_over
        ):
            return ""
        if newest.deliveries and not newest.deliveries.keys() & {
            DeliveryState.SENT,
            DeliveryState.AMBIGUOUS,
        }:
            return ""  # that digest reached nobody, so it will be superseded
        return due.no_batch(self.mailing_list, self.next)

    @property
    def next_batch(self) -> datetime | None:
        """The start of its next morning with a batch, in its zone. None: there is none to come."""
        if self.next is None:
            return None
        start = due.next_morning(self.mailing_list, self.now)
        while due.no_batch(self.mailing_list, start):
            start = due.next_morning(self.mailing_list, start)
        return start.astimezone(self.mailing_list.timezone)

    @property
    def quiet(self) -> str:
        """Why its newest day was quiet; empty if it was not."""
        newest = self.newest
        return newest.reason if newest and newest.outcome is Outcome.QUIET else ""


@dataclass(frozen=True)
class Status:
    """All lists at an instant, with today's digests, or the last ones if there are none today."""

    now: datetime
    lists: tuple[ListStatus, ...]
    undelivered: tuple[DeliveryRecord, ...] = ()  # of those who are on the lists now
    missed: tuple[DeliveryRecord, ...] = ()  # of those digests, without suppressed addresses
    subscribers: int = 0  # of those digests; a subscriber of two lists counts twice
    at_work: bool = False  # a morning or a sending is under way

    def on(self, *today: ListState | Outcome) -> list[ListStatus]:
        """Return the lists that are in one of these states today."""
        return [found for found in self.lists if found.today in today]

    @property
    def health(self) -> Health:
        """The worst of all lists; paused if all are."""
        worst = list(Health)
        return min({self.of(found) for found in self.lists}, key=worst.index, default=Health.OK)

    def of(self, found: ListStatus) -> Health:
        """Return how one of the lists fares."""
        today = found.today
        mailed = found.mailed
        if today is ListState.PAUSED:
            return Health.PAUSED
        if today is ListState.EMPTY:  # nobody is left of those whom its last digest did not reach
            return Health.OK

        came = mailed.deliveries.keys() - {DeliveryState.SUPPRESSED} if mailed else set()
        if today is Outcome.GAVE_UP or (came and all(state.is_lost for state in came)):
            return Health.FAILED

        waiting = self._waiting.get(mailed.digest_id, []) if mailed else []
        since = [row.at for row in waiting]
        if today is ListState.DUE:
            since.append(found.standing.start)
        failed = (
            today is ListState.DUE and found.attempt and found.attempt.at >= found.standing.start
        )
        overdue = not self.at_work and min(since, default=self.now) < self.now - _PATIENCE
        nobody = came and all(state.is_lost or state is DeliveryState.DEFERRED for state in came)
        if failed or overdue or nobody or any(row.reason for row in waiting):
            return Health.LATE

        is_new = found.newest is None and found.next is not None
        return Health.WAITING if since or is_new or today is ListState.COMING else Health.OK

    @cached_property
    def _waiting(self) -> dict[int, list[DeliveryRecord]]:
        """What may be sent at once, by digest."""
        found = defaultdict[int, list[DeliveryRecord]](list)
        for row in self.undelivered:
            if row.state in {DeliveryState.PENDING, DeliveryState.SENDING}:
                found[row.digest_id].append(row)
        return found


def read(
    store: Store,
    lists: Sequence[MailingList],
    now: datetime,
    patience: timedelta,
    mornings: int = 1,
    *,
    at_work: bool = False,
) -> Status:
    """Return where the lists stand, with the last `mornings` of each. `at_work`: a morning or
    sending is under way.
    """
    with (
        store.snapshot()
    ):  # or mails that are sent meanwhile would be counted by one query and not by the next
        names = [of.name for of in lists]
        today = max((due.local_date(of, now) for of in lists), default=now.date())
        days = store.history.days(names, mornings, today)
        mailed = store.history.mailed(names, today)
        rows = store.history.undelivered(
            {digest.digest_id for digest in mailed.values()}, now - _LATELY
        )
        attempts = store.days.attempts()
        unserved = {*names} - {*days, *attempts}  # they owe nothing
        since = dict.fromkeys(unserved, now) | store.days.know((), now)
        standings = store.days.standings(lists, now, patience, since)

    found = tuple(
        ListStatus(
            of,
            standings[of.name],
            now,
            attempt=attempts.get(of.name) if of.subscribers else None,
            days=days.get(of.name, ()),
            mailed=mailed.get(of.name),
        )
        for of in lists
    )
    missing_ids = {row.list_name for row in rows}
    on = {
        (of.name, address) for of in lists if of.name in missing_ids for address in of.addresses()
    }
    rows = tuple(row for row in rows if (row.list_name, row.address.lower()) in on)

    lately = [of for of in found if of.mailed and of.standing.day - of.mailed.date <= _LATELY]
    shown = [of for of in lately if of.mailed_today] or lately
    newest = {of.mailed.digest_id: of.mailed for of in shown if of.mailed}
    missed = tuple(
        row for row in rows if row.digest_id in newest and row.state is not DeliveryState.SUPPRESSED
    )
    sent = sum(digest.deliveries.get(DeliveryState.SENT, 0) for digest in newest.values())
    return Status(now, found, rows, missed, sent + len(missed), at_work)


def answer(
    status: Status, *, at_work: bool = False, running: bool = True, reasons_follow: bool = False
) -> str:
    """Return one line of at most 120 characters, without an address. `at_work`: a morning is under
    way. `running`: the daemon is active, so a next try can be promised. `reasons_follow`: nothing
    is cut, however long the line; a reason that does not fit is left out, since it follows in full.
    """
    if len(status.on(ListState.EMPTY)) == len(status.lists):
        return "No list has subscribers, so there is no mail."
    if not any(found.next for found in status.lists):
        return "All lists are paused, so there is no mail."
    what, why = _wrong(status, at_work=at_work, running=running)
    said = list(_well(status, "Everyone else" if what else "Everyone", running=running))
    if what:
        said.insert(0, what + why)
    line = one_line(" ".join(said[:2]))
    if not reasons_follow:
        return shortened(line, MOST)
    if what and len(line) > MOST:
        said[0] = f"{what}."
    return one_line(" ".join(said[:2]))


def moved_from_outbox(names: Iterable[str]) -> str:
    """Say how lists whose newest digest went to the outbox have it sent, now that there is a mail
    server.
    """
    commands = "; ".join(f"paperboy resend {name}" for name in names)
    return f"Until now mail went to the outbox. To send the newest digests by mail: {commands}"


def _wrong(status: Status, *, at_work: bool, running: bool) -> tuple[str, str]:
    """Return the worst problem, empty if there is none, and the end of its sentence, a reason,
    which may be cut.
    """
    if lists := status.on(Outcome.GAVE_UP):
        then = f"next try {_first(of.next for of in lists)}" if running else IDLE
        return f"No digest today for {_names(lists)}; {then}", _why(
            of.days[0].reason for of in lists
        )

    if lists := status.on(ListState.DUE):
        since = min(of.standing.start for of in lists).astimezone(lists[0].mailing_list.timezone)
        head = f"{_names(lists)}, due since {since:%H:%M %Z}"
        if at_work:
            return f"A morning is running: {head}", "."
        then = _again(status, (of.standing.next_try for of in lists)) if running else f"; {IDLE}"
        attempts = [of.attempt for of in lists if of.attempt and of.attempt.at >= of.standing.start]
        return f"Not yet: {head}{then}", _why(attempt.reason for attempt in attempts)

    if number := len(status.missed):
        people = counted(status.subscribers, "subscriber")
        what = "today's mail" if any(of.mailed_today for of in status.lists) else "the last digest"
        tries = [row.next_try(status.now) for row in status.missed]
        reasons = [row.reason.replace(row.address, "…") for row in status.missed if row.reason]
        if reasons or None in tries:
            again = _again(status, tries) if running else ""
            return f"{number} of {people} did not get {what}{again}", _why(reasons)
        return (
            f"{status.subscribers - number} of {people} got {what} so far; {number} to be sent",
            ".",
        )
    return "", ""


def _well(status: Status, everyone: str, *, running: bool) -> Iterator[str]:
    """Yield what is well, then what is to come."""
    lists = [] if status.missed else status.on(Outcome.DIGEST)
    boxed = [of for of in lists if of.only_in_outbox]
    number = sum(of.mailed.in_outbox for of in boxed if of.mailed)
    if boxed:
        which = _for(status, boxed)
        people = counted(number, "subscriber")
        what = people if which else f"{counted(len(boxed), 'list')}, {people}"
        yield f"Today's mail{which} is in the outbox: {what}."
    if others := len(lists) - len(boxed):
        what = f"{counted(others, 'list')}, {counted(status.subscribers - number, 'subscriber')}"
        yield f"{'Everyone else' if boxed else everyone} got today's mail: {what}."

    if lists := status.on(Outcome.NOTE):
        papers = sum(of.days[0].counts.considered for of in lists)
        yield f"No mail today{_for(status, lists)}: none of {counted(papers, 'paper')} passed."
    if lists := status.on(Outcome.QUIET):
        why = _commonest(of.quiet for of in lists)
        yield f"No mail today{_for(status, lists)}: {why}; {_next_batch(lists)}."

    coming = status.on(ListState.COMING)
    if lists := [of for of in coming if not of.no_batch]:
        at = min(of.next for of in lists if of.next)
        yield f"Today's mail{_for(status, lists)} is due at {at:%H:%M %Z}{'' if running else f'; {IDLE}'}."
    elif coming:
        yield f"No mail is expected today{_for(status, coming)} ({coming[0].no_batch}); {_next_batch(coming)}."

    if not status.on(*_WITH_MAIL):
        off = status.on(ListState.OFF)
        if new := [of for of in off if due.sends_on(of.mailing_list, of.standing.day)]:
            which = "" if len(new) == len(status.lists) else f" for {_names(new)}"
            comes = f"the first comes {_first(of.next for of in new)}, or now with paperboy once"
            yield f"No mail today{which}: set up after today's hour; {comes}."
        else:
            days = together(list(dict.fromkeys(f"{of.standing.day:%A}s" for of in off)))
            yield f"No list sends on {days}; the next mail comes {_first(of.next for of in status.lists)}."


def _names(lists: Iterable[ListStatus]) -> str:
    return together([found.name for found in lists], 2)


def _for(status: Status, lists: Sequence[ListStatus]) -> str:
    """Name the lists; empty if no other list can have mail today."""
    return "" if len(lists) == len(status.on(*_WITH_MAIL)) else f" for {_names(lists)}"


def _again(status: Status, tries: Iterable[datetime | None]) -> str:
    """Name the earliest next try; empty if it can start at any moment."""
    first = min((at for at in tries if at), default=status.now)
    local = first.astimezone(status.lists[0].mailing_list.timezone)
    return f"; next try {local:%H:%M %Z}" if first > status.now else ""


def _first(instants: Iterable[datetime | None]) -> str:
    return f"{min(filter(None, instants)):%a %d %b %H:%M %Z}"


def _next_batch(lists: Iterable[ListStatus]) -> str:
    return f"the next batch comes {_first(found.next_batch for found in lists)}"


def _commonest(reasons: Iterable[str]) -> str:
    found = Counter(without_addresses(_WHERE.sub("", reason)).rstrip(".") for reason in reasons)
    return next((reason for reason, _ in found.most_common(1)), "")


def _why(reasons: Iterable[str]) -> str:
    reason = _commonest(reasons)
    return f": {reason}." if reason else "."
