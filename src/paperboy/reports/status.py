"""Status: did everyone get their mail today, and if not, why? `paperboy status` shows all of it,
systemd one line.

    read           gather a `ListStatus` per list, and the deliveries that are missing
    health         one word, for a list and for all: ok, waiting, late, failed or paused
    answer         one line: the worst problem, then what went well
    reasons        why lists are due, and why days were odd; one line for all lists with the same reason
    plans          when each list sends next
    not_delivered  who lacks a digest, by state and reason

The daemon imports this, so it has to be light.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from paperboy import due
from paperboy.due import ListState, Standing
from paperboy.edges.text import counted, one_line, shortened, together, without_addresses
from paperboy.models import Attempt, DeliveryState, MailingList, Outcome
from paperboy.store import Store
from paperboy.store.history import DaySummary, DeliveryRecord, NewestDigest

MOST = 120  # characters of the answer
_IDLE = "paperboy run is not active"
_MOMENT = "%a %d %b %H:%M %Z"
_PATIENCE = timedelta(hours=1)  # work that has waited this long, with nothing running, is late
# A list in one of these states has mail today.
_WITH_MAIL = {ListState.COMING, ListState.DUE, *Outcome} - {Outcome.SKIPPED}
_REACHED = {DeliveryState.SENT, DeliveryState.AMBIGUOUS}
_LATELY = timedelta(days=7)  # older failures are no longer news
# Left out of the answer, since it is shown below.
_WHERE = re.compile(r"(?<=the LLM) at \S+|(?<=mail server) \S+:\d+")


class Health(StrEnum):
    """Health of a list, or of all, the worst first."""

    FAILED = "failed"  # today was given up, or the newest digest reached nobody
    LATE = "late"  # a try failed, an hour has passed, or the mail server accepts nothing
    WAITING = "waiting"  # for its hour, or for a morning under way
    OK = "ok"
    PAUSED = "paused"

    @property
    def well(self) -> bool:
        return self not in {Health.FAILED, Health.LATE}


class ListStatus(NamedTuple):
    """Status of one list at an instant."""

    mailing_list: MailingList
    standing: Standing
    now: datetime
    attempt: Attempt | None  # the last failed one
    days: tuple[DaySummary, ...]  # newest first
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
        if self.newest.outcome is Outcome.NOTE and self.mailed_today:
            return Outcome.DIGEST
        return self.newest.outcome

    @property
    def mailed_today(self) -> bool:
        return self.mailed is not None and self.mailed.date >= self.standing.day

    @property
    def only_in_outbox(self) -> bool:
        """Check whether its newest digest went to the outbox, and to nobody by mail."""
        if self.mailed is None or not self.mailed.in_outbox:
            return False
        return self.mailed.in_outbox == self.mailed.deliveries.get(DeliveryState.SENT)

    @property
    def next(self) -> datetime | None:
        """Return when the list's next digest may come, in the list's zone; in the past if it is due
        already. None: the list has no subscribers, or is paused.
        """
        comes = self.standing.next_digest
        return comes.astimezone(self.mailing_list.timezone) if comes else None

    @property
    def no_batch(self) -> str:
        """Return why its next morning has no batch, such as "weekend"; empty if it has one."""
        newest = self.newest
        if self.next is None or newest is None:
            return ""
        if newest.outcome is Outcome.GAVE_UP or newest.counts.carried_over:
            return ""
        if newest.deliveries and not newest.deliveries.keys() & _REACHED:
            return ""  # that digest will be superseded
        return due.no_batch(self.mailing_list, self.next)

    @property
    def next_batch(self) -> datetime | None:
        """Return the start of its next morning with a batch, in its zone; None if none comes."""
        if self.next is None:
            return None
        start = due.next_morning(self.mailing_list, self.now)
        start = max(start, self.next)  # `once` may close a day before its hour
        while due.no_batch(self.mailing_list, start):
            start = due.next_morning(self.mailing_list, start)
        return start.astimezone(self.mailing_list.timezone)

    @property
    def quiet(self) -> str:
        """Return why its newest day was quiet; empty if it was not."""
        newest = self.newest
        return newest.reason if newest and newest.outcome is Outcome.QUIET else ""


@dataclass(frozen=True)
class Status:
    """Status of all lists at an instant, and of today's digests, else of the last ones."""

    now: datetime
    lists: tuple[ListStatus, ...]
    undelivered: tuple[DeliveryRecord, ...]  # to addresses that are on the lists now
    missed: tuple[DeliveryRecord, ...]  # of those digests, without suppressed addresses
    subscribers: int  # people who get those digests, each once
    at_work: bool  # a morning or a sending is under way
    running: bool = True  # the daemon is active, so a next try can be promised

    def on(self, *today: ListState | Outcome) -> list[ListStatus]:
        """Return the lists that are in one of these states today."""
        return [list_status for list_status in self.lists if list_status.today in today]

    @property
    def health(self) -> Health:
        """Return the worst health of all lists; paused if all are."""
        healths = {self.health_of(list_status) for list_status in self.lists}
        return next((health for health in Health if health in healths), Health.OK)

    def health_of(self, list_status: ListStatus) -> Health:
        """Return the health of one of the lists."""
        today = list_status.today
        mailed = list_status.mailed
        if today is ListState.PAUSED:
            return Health.PAUSED
        if today is ListState.EMPTY:  # whoever missed the last digest has left
            return Health.OK

        states = mailed.deliveries.keys() - {DeliveryState.SUPPRESSED} if mailed else set()
        if today is Outcome.GAVE_UP or (states and all(state.is_lost for state in states)):
            return Health.FAILED

        waiting = self._waiting.get(mailed.digest_id, []) if mailed else []
        since = [row.at for row in waiting]
        has_failed = any(row.reason for row in waiting)
        if today is ListState.DUE:
            start = list_status.standing.start
            since.append(start)
            has_failed |= list_status.attempt is not None and list_status.attempt.at >= start
        if states and all(state.is_lost or state is DeliveryState.DEFERRED for state in states):
            has_failed = True
        is_overdue = not self.at_work and min(since, default=self.now) < self.now - _PATIENCE
        if has_failed or is_overdue:
            return Health.LATE

        is_new = list_status.newest is None and list_status.next is not None
        if since or is_new or today is ListState.COMING:
            return Health.WAITING
        return Health.OK

    @cached_property
    def _waiting(self) -> dict[int, list[DeliveryRecord]]:
        """Return the deliveries that may be sent at once, by digest."""
        waiting = defaultdict[int, list[DeliveryRecord]](list)
        for row in self.undelivered:
            if row.state in {DeliveryState.PENDING, DeliveryState.SENDING}:
                waiting[row.digest_id].append(row)
        return waiting


def read(
    store: Store,
    lists: Sequence[MailingList],
    now: datetime,
    patience: timedelta,
    mornings: int = 1,
    *,
    at_work: bool = False,
) -> Status:
    """Return the status of the lists, with the last `mornings` of each. `at_work`: a morning or
    sending is under way.
    """
    names = [mailing_list.name for mailing_list in lists]
    dates = [due.local_date(mailing_list, now) for mailing_list in lists]
    today = max(dates, default=now.date())
    with store.snapshot():  # so that all queries count the same mails
        days = store.history.days(names, mornings, today)
        mailed = store.history.mailed(names, today)
        newest = {digest.digest_id for digest in mailed.values()}
        rows = store.history.undelivered(newest, now - _LATELY)
        attempts = store.days.attempts()
        # No morning has tried these, so they are not behind.
        unserved = {*names} - {*days, *attempts}
        since = dict.fromkeys(unserved, now) | store.days.first_seen((), now)
        standings = store.days.standings(lists, now, patience, since)

    statuses = tuple(
        ListStatus(
            mailing_list=mailing_list,
            standing=standings[mailing_list.name],
            now=now,
            attempt=attempts.get(mailing_list.name) if mailing_list.subscribers else None,
            days=days.get(mailing_list.name, ()),
            mailed=mailed.get(mailing_list.name),
        )
        for mailing_list in lists
    )
    named = {row.list_name for row in rows}
    subscribed = {
        (mailing_list.name, address)
        for mailing_list in lists
        if mailing_list.name in named
        for address in mailing_list.addresses()
    }
    rows = tuple(row for row in rows if (row.list_name, row.address.lower()) in subscribed)

    mailed_today = any(list_status.mailed_today for list_status in statuses)
    shown = {
        digest.digest_id
        for list_status in statuses
        if (digest := list_status.mailed)
        and list_status.standing.day - digest.date <= _LATELY
        and (list_status.mailed_today or not mailed_today)
    }
    missed = tuple(
        row for row in rows if row.digest_id in shown and row.state is not DeliveryState.SUPPRESSED
    )
    return Status(
        now=now,
        lists=statuses,
        undelivered=rows,
        missed=missed,
        subscribers=store.history.people(shown, (row.address for row in missed)),
        at_work=at_work,
    )


def answer(status: Status, *, at_work: bool = False, reasons_follow: bool = False) -> str:
    """Return one line of at most 120 characters, without an address. `at_work`: a morning is under
    way. `reasons_follow`: the line may be longer. A reason that does not fit is then left out
    rather than cut, since it follows in full.
    """
    if len(status.on(ListState.EMPTY)) == len(status.lists):
        return "No list has subscribers, so there is no mail."
    if not any(list_status.next for list_status in status.lists):
        return "All lists are paused, so there is no mail."

    what, why = _wrong(status, at_work=at_work)
    sentences = list(_well(status, "Everyone else" if what else "Everyone"))
    if what:
        sentences.insert(0, what + why)
    line = one_line(" ".join(sentences[:2]))
    if not reasons_follow:
        return shortened(line, MOST)
    if what and len(line) > MOST:
        sentences[0] = f"{what}."
    return one_line(" ".join(sentences[:2]))


def moved_from_outbox(names: Iterable[str]) -> str:
    """Return how to mail the digests that went to the outbox while there was no mail server."""
    commands = "; ".join(f"paperboy resend {name}" for name in names)
    return f"Until now mail went to the outbox. To send the newest digests by mail: {commands}"


def _wrong(status: Status, *, at_work: bool) -> tuple[str, str]:
    """Return the worst problem, empty if there is none, and the end of its sentence: a reason,
    which may be cut.
    """
    lists = status.on(Outcome.GAVE_UP)
    if lists:
        then = f"next try {_first(lists)}" if status.running else _IDLE
        why = _why(list_status.days[0].reason for list_status in lists)
        return f"No digest today for {_names(lists)}; {then}", why

    lists = status.on(ListState.DUE)
    if lists:
        standings = [list_status.standing for list_status in lists]
        since = min(standing.start for standing in standings)
        local = since.astimezone(lists[0].mailing_list.timezone)
        head = f"{_names(lists)}, due since {local:%H:%M %Z}"
        if at_work:
            return f"A morning is running: {head}", "."
        then = f"; {_IDLE}"
        if status.running:
            then = _next_try(status, (standing.next_try for standing in standings))
        why = _why(
            list_status.attempt.reason
            for list_status in lists
            if list_status.attempt and list_status.attempt.at >= list_status.standing.start
        )
        return f"Not yet: {head}{then}", why

    number = len({row.address.lower() for row in status.missed})
    if not number:
        return "", ""
    people = counted(status.subscribers, "subscriber")
    mailed_today = any(list_status.mailed_today for list_status in status.lists)
    what = "today's mail" if mailed_today else "the last digest"
    tries = [row.next_try(status.now) for row in status.missed]
    reasons = [row.reason.replace(row.address, "…") for row in status.missed if row.reason]
    if reasons or None in tries:
        then = _next_try(status, tries) if status.running else ""
        return f"{number} of {people} did not get {what}{then}", _why(reasons)
    got = status.subscribers - number
    return f"{got} of {people} got {what} so far; {number} to be sent", "."


def _well(status: Status, everyone: str) -> Iterator[str]:
    """Yield what is well, then what is to come."""
    lists = [] if status.missed else status.on(Outcome.DIGEST)
    boxed = [list_status for list_status in lists if list_status.only_in_outbox]
    others = len(lists) - len(boxed)
    # If some lists were mailed and others went to the outbox, one number of people fits neither.
    people = "" if boxed and others else f", {counted(status.subscribers, 'subscriber')}"
    if boxed:
        which = _for(status, boxed)
        yield f"Today's mail{which} is in the outbox: {counted(len(boxed), 'list')}{people}."
        everyone = "Everyone else"
    if others:
        yield f"{everyone} got today's mail: {counted(others, 'list')}{people}."

    lists = status.on(Outcome.NOTE)
    if lists:
        papers = sum(list_status.days[0].counts.considered for list_status in lists)
        yield f"No mail today{_for(status, lists)}: none of {counted(papers, 'paper')} passed."

    lists = status.on(Outcome.QUIET)
    if lists:
        why = _commonest(list_status.quiet for list_status in lists)
        yield f"No mail today{_for(status, lists)}: {why}; {_next_batch(lists)}."

    coming = status.on(ListState.COMING)
    lists = [list_status for list_status in coming if not list_status.no_batch]
    if lists:
        at = min(list_status.next for list_status in lists if list_status.next)
        then = "" if status.running else f"; {_IDLE}"
        yield f"Today's mail{_for(status, lists)} is due at {at:%H:%M %Z}{then}."
    elif coming:
        why = coming[0].no_batch
        yield f"No mail is expected today{_for(status, coming)} ({why}); {_next_batch(coming)}."

    if status.on(*_WITH_MAIL):
        return
    off = status.on(ListState.OFF)
    new = [
        list_status
        for list_status in off
        if due.sends_on(list_status.mailing_list, list_status.standing.day)
    ]
    if new:
        which = "" if len(new) == len(status.lists) else f" for {_names(new)}"
        comes = f"the first comes {_first(new)}, or now with paperboy once"
        yield f"No mail today{which}: set up after today's hour; {comes}."
    else:
        days = dict.fromkeys(f"{list_status.standing.day:%A}s" for list_status in off)
        comes = f"the next mail comes {_first(status.lists)}"
        yield f"No list sends on {together(list(days))}; {comes}."


def _names(lists: Iterable[ListStatus]) -> str:
    return together([list_status.name for list_status in lists], 2)


def _for(status: Status, lists: Sequence[ListStatus]) -> str:
    """Name the lists; empty if no other list can have mail today."""
    return "" if len(lists) == len(status.on(*_WITH_MAIL)) else f" for {_names(lists)}"


def _next_try(status: Status, tries: Iterable[datetime | None]) -> str:
    """Name the earliest next try; empty if it can start at any moment."""
    first = min((at for at in tries if at), default=status.now)
    local = first.astimezone(status.lists[0].mailing_list.timezone)
    return f"; next try {local:%H:%M %Z}" if first > status.now else ""


def _first(lists: Iterable[ListStatus]) -> str:
    return f"{min(filter(None, (list_status.next for list_status in lists))):{_MOMENT}}"


def _next_batch(lists: Iterable[ListStatus]) -> str:
    at = min(filter(None, (list_status.next_batch for list_status in lists)))
    return f"the next batch comes {at:{_MOMENT}}"


def _commonest(reasons: Iterable[str]) -> str:
    counts = Counter(without_addresses(_WHERE.sub("", reason)).rstrip(".") for reason in reasons)
    return max(counts, key=counts.__getitem__, default="")


def _why(reasons: Iterable[str]) -> str:
    reason = _commonest(reasons)
    return f": {reason}." if reason else "."


# ---- below the answer


_NO_REPLY = {
    DeliveryState.PENDING: "not tried yet",
    DeliveryState.SENDING: "being sent, or cut off by a crash",
}


def reply(record: DeliveryRecord) -> str:
    """Return the reason for a delivery's state: the mail server's reply, or ours."""
    return record.reason or _NO_REPLY.get(record.state, "no reply is known")


def again(at: datetime | None, now: datetime, zone: tzinfo, mark: str = "; ") -> str:
    """Return when something is retried, as the end of a sentence; empty if it is not."""
    if at is None:
        return ""
    when = f"next try about {at.astimezone(zone):%H:%M %Z}" if at > now else "to be tried now"
    return mark + when


def reasons(
    status: Status,
    said: str,
    zone: tzinfo,
    alerts: Iterable[Mapping[str, Any]],
    more: Iterable[tuple[str, str]],
) -> Iterator[str]:
    """Yield lasting problems, why lists are still due, and how their last days were odd, unless the
    answer `said` that. Then yield `more`: names of lists, each with the rest of its line.
    """
    for alert in alerts:
        yield f"{alert['headline']} (since {alert['since'].astimezone(zone):{_MOMENT}})"

    found = list[tuple[str, str]]()
    for list_status in status.lists:
        if attempt := list_status.attempt:
            unscored = "nothing could be scored: " if attempt.unscored else ""
            tried = f"last tried {attempt.at.astimezone(zone):{_MOMENT}}"
            if status.running:
                tried += again(attempt.next_try, status.now, zone, ", ")
            found.append((list_status.name, f": {unscored}{attempt.reason} ({tried})"))

        odd_days = defaultdict[str, list[str]](list)
        for day in list_status.days:
            is_said = day.outcome is Outcome.QUIET and day.reason in said
            is_odd = day is list_status.newest and not is_said
            if is_odd or day.outcome is Outcome.GAVE_UP:
                odd_days[day.reason].append(f"{day.date:%a %d %b}")
        for reason, days in odd_days.items():
            if reason:
                found.append((list_status.name, f", {together(days)}: {reason}"))

    yield from _grouped(status, [*found, *more])


def plans(status: Status, said: str) -> Iterator[str]:
    """Yield when each list sends next; then, unless `said` has it, that the daemon is down."""
    found = list[tuple[str, str]]()
    for list_status in status.lists:
        at = list_status.next
        if at is None:
            paused = list_status.mailing_list.paused
            plan = "nothing while it is paused" if paused else "never, since it has no subscribers"
        elif at <= status.now:
            plan = f"due since {at:{_MOMENT}}"
        elif why := list_status.no_batch:
            batch = f"{list_status.next_batch:{_MOMENT}}"
            plan = f"{at:{_MOMENT}} ({why}, no batch); the next batch {batch}"
        else:
            plan = f"{at:{_MOMENT}}"
        found.append((list_status.name, f": {plan}"))

    for line in _grouped(status, found):
        yield f"Next for {line}"

    is_active = any(list_status.next for list_status in status.lists)
    if is_active and not status.running and _IDLE not in said:
        yield f"{_IDLE}: nothing is sent until you start it or run paperboy once"


def _grouped(status: Status, sentences: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield one line for all lists with the same sentence: their names, then the sentence."""
    names_by_sentence = defaultdict[str, list[str]](list)
    for name, sentence in sentences:
        names_by_sentence[sentence].append(name)

    number = len(status.lists)
    for sentence, names in names_by_sentence.items():
        is_all = len(names) == number > 3
        yield (f"all {number} lists" if is_all else together(names)) + sentence


def not_delivered(status: Status, zone: tzinfo, most: int | None) -> Iterator[str]:
    """Yield who lacks a digest, grouped by state and reason: the largest group first, suppressed
    addresses last. At most `most` groups are shown, and `most` addresses in each.
    """
    groups = defaultdict[tuple[DeliveryState, str], list[DeliveryRecord]](list)
    for record in status.undelivered:
        groups[record.state, reply(record).replace(record.address, "…")].append(record)

    ordered = sorted(
        groups.items(),
        key=lambda group: (group[0][0] is DeliveryState.SUPPRESSED, -len(group[1])),
    )

    shown = [record for _, records in ordered[:most] for record in records[:most]]
    width = max((len(record.address) for record in shown), default=0)
    for (state, reason), records in ordered[:most]:
        tries = [at for record in records if (at := record.next_try(status.now))]
        then = again(min(tries, default=None), status.now, zone, ", ")
        yield f"{len(records):,} {state}{then}: {reason}"
        for record in records[:most]:
            yield f"    {record.address:{width}}  {record.list_name}  {record.date:%a %d %b}"

    if more := len(status.undelivered) - len(shown):
        yield f"{more:,} more; all of them: paperboy status --undelivered"

    commands = dict.fromkeys(
        f"paperboy resend {record.list_name} --failed"
        for record in status.undelivered
        if record.state.is_lost and (record.newest or record.given_up)
    )
    if commands:
        yield f"Once the cause, or the address, is fixed: {'; '.join(commands)}"
