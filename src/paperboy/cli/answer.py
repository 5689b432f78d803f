"""Did everyone get their mail today, and if not, why? As one line for people who glance. Light to import."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo

from paperboy import due
from paperboy.cli.batches import leaves_papers, next_batch, no_batch, why_quiet
from paperboy.cli.sentences import Clause, fitted
from paperboy.cli.stand import Facts, Stand, facts, stand
from paperboy.cli.words import counted, together
from paperboy.mail.text import clipped, one_line
from paperboy.models import Day, MailingList, Outcome
from paperboy.privacy import without_addresses
from paperboy.store import Store
from paperboy.store.reach import Reach

_NAMES = 40  # characters; longer than that, and the lists are only counted
_WHY = 50  # characters
_NONE_SCORED = re.compile(r"^scored 0 of \d+: ")  # of one list, and the answer is about several
# What `status` has below the answer, and what would leave no room for the reason here.
_WHERE = re.compile(r"\b(?:(the LLM) at \S+|(mail server) \S+:\d+|(refuses the sender) \S+(?=:)|(MAIL FROM):<\S*>)")
_NOBODY_AT_WORK = "no paperboy run is at work"
_LATE = re.compile(r"(arXiv's batch of \w{3})\w*( \d+ \w{3})\w* was due at \S+ \w+ and (is not there yet)")


def answer_of(
    store: Store,
    lists: Sequence[MailingList],
    now: datetime,
    *,
    holidays: Collection[date] = (),
    at_work: bool = False,
    running: bool = True,
) -> str:
    """The answer, from the ledger. Further arguments as for `answer`."""
    found = facts(store, [entry for entry in lists if entry.subscribers], now)
    return answer(lists, found, now, holidays=holidays, at_work=at_work, running=running)


def answer(
    lists: Sequence[MailingList],
    known: Facts,
    now: datetime,
    *,
    holidays: Collection[date] = (),
    at_work: bool = False,
    running: bool = True,
) -> str:
    """At most 120 characters, without an address. What is wrong comes first, and what fits beside it.

    `at_work`: a morning is under way. `running`: somebody will try again; otherwise no next try is promised.
    """
    by_stand: dict[Stand, list[MailingList]] = {}
    for entry in lists:
        if entry.subscribers:
            by_stand.setdefault(stand(entry, known, now), []).append(entry)
    if not by_stand:
        return "No list has subscribers, so there is no mail."
    sentences = _Sentences(by_stand, known, now, holidays, at_work=at_work, running=running)
    return fitted(list(sentences.all()))


@dataclass(frozen=True, slots=True)
class _Sentences:
    by_stand: Mapping[Stand, list[MailingList]]
    known: Facts
    now: datetime
    holidays: Collection[date]
    at_work: bool
    running: bool

    def all(self) -> Iterator[Clause]:
        """What is wrong, then what is well, then what is to come."""
        bad = [*self._gave_up(), *self._due(), *self._missed(self.known.today, "today's mail")]
        yield from bad
        yield from self._got(first=not bad)
        late = [*self._missed(self.known.before, "the last digest")]
        yield from late
        yield from self._none_passed()
        yield from self._quiet()
        yield from self._coming(all_well=not late)
        if self.by_stand.keys() == {Stand.OFF}:
            entries = self.by_stand[Stand.OFF]
            first = min(due.next_morning(entry, self.now).astimezone(entry.timezone) for entry in entries)
            head = f"No mail today, a day on which no list sends; the next comes {first:%a %d %b %H:%M %Z}"
            yield Clause(head, tail=self._idle())

    def _of(self, what: Stand) -> list[MailingList]:
        return self.by_stand.get(what, [])

    def _days(self, entries: Iterable[MailingList]) -> list[Day]:
        return [self.known.days[entry.name] for entry in entries]

    def _gave_up(self) -> Iterator[Clause]:
        if entries := self._of(Stand.GAVE_UP):
            reason = _commonest(day.reason for day in self._days(entries))
            first = min(due.next_morning(entry, self.now).astimezone(entry.timezone) for entry in entries)
            then = f"; next try {first:%a %H:%M %Z}" if self.running else self._idle()
            yield Clause(f"No digest today for {_names(entries)}", reason, then)

    def _due(self) -> Iterator[Clause]:
        if not (entries := self._of(Stand.DUE)):
            return
        zone = entries[0].timezone
        since = min(due.begins(entry, due.local_date(entry, self.now)) for entry in entries).astimezone(zone)
        attempts = [self.known.attempts[entry.name] for entry in entries if entry.name in self.known.attempts]
        tried = [attempt for attempt in attempts if attempt.at >= since]
        again = min((attempt.next_try for attempt in tried), default=self.now)
        head = f"{_names(entries)} {'is' if len(entries) == 1 else 'are'} due since {since:%H:%M}"
        if self.at_work:
            yield Clause(f"A morning is at work: {head} {since:%Z}")
        elif not self.running and not tried:
            yield Clause(f"Not yet: {head} {since:%Z}, and {_NOBODY_AT_WORK}")
        elif self.running and again > self.now:
            tail = f"; next try about {moment(again, self.now, zone)}"
            yield Clause(f"Not yet: {head}", _commonest(attempt.reason for attempt in tried), tail)
        else:
            yield Clause(f"Not yet: {head} {since:%Z}", _commonest(attempt.reason for attempt in tried), self._idle())

    def _idle(self) -> str:
        """What is to be added where something is due, or comes, and nobody is there to do it."""
        return "" if self.running else f"; {_NOBODY_AT_WORK}"

    def _missed(self, reach: Reach, what: str) -> Iterator[Clause]:
        number, missed = reach.subscribers, reach.missed
        if not missed:
            return
        if reach.wait == missed and not reach.replies:
            so_far = f"{number - missed} of {counted(number, 'subscriber', 'subscribers')} got {what} so far"
            yield Clause(f"{so_far}; {missed} wait{_s(missed)} to be sent")
            return
        did_not = "may not have got" if reach.ambiguous == missed else "did not get"
        who = "The only subscriber" if number == 1 else f"{missed} of {number} subscribers"
        head = f"{who} {did_not} {what}"
        if 1 < number == missed != reach.ambiguous:
            head = f"None of {number} subscribers got {what}"
        states = [
            f"{reach.failed} failed" if reach.failed else "",
            f"{reach.ambiguous} may have it" if reach.ambiguous else "",
            f"{reach.wait} wait{_s(reach.wait)}" if reach.wait else "",
        ]
        kinds = list(filter(None, states))
        one = len(kinds) == len(reach.replies) == 1
        yield Clause(head, _plain(reach.replies[0]) if one else ", ".join(kinds), self._then(reach))

    def _then(self, reach: Reach) -> str:
        """When it is tried again, if it is."""
        tries = [reach.try_at, reach.tried and reach.tried + due.RETRY]
        again = min((at for at in tries if at), default=self.now)
        if not self.running or not reach.wait or again <= self.now:
            return ""
        zone = next(iter(self.by_stand.values()))[0].timezone
        return f"; next try about {moment(again, self.now, zone)}"

    def _got(self, *, first: bool) -> Iterator[Clause]:
        reach, entries = self.known.today, self._of(Stand.MAILED)
        if not entries or reach.missed:
            return
        if not reach.subscribers:
            yield Clause(f"Today's mail of {_names(entries)} was for nobody who is on the list now")
            return
        how_many = (
            f"{counted(len(entries), 'list', 'lists')}, {counted(reach.subscribers, 'subscriber', 'subscribers')}"
        )
        if reach.in_outbox:
            yield Clause(f"Today's mail lies in the outbox: {how_many}")
        else:
            yield Clause(f"{'Everyone' if first else 'Everyone else'} got today's mail: {how_many}")

    def _none_passed(self) -> Iterator[Clause]:
        if entries := self._of(Stand.NONE_PASSED):
            considered = sum(day.counts.considered for day in self._days(entries))
            papers = counted(considered, "paper", "papers")
            yield Clause(f"No mail {self._for(entries)}: none of {papers} passed")

    def _quiet(self) -> Iterator[Clause]:
        if not (entries := self._of(Stand.QUIET)):
            return
        why = [why_quiet(entry, day, self.holidays) for entry, day in zip(entries, self._days(entries), strict=True)]
        first = min(next_batch(entry, self.now, self.holidays) for entry in entries)
        what = f"No mail {self._for(entries)}: {clipped(_commonest(why), _WHY)}"
        yield Clause(what, tail=f"; the next batch comes {first:%a %d %b %H:%M %Z}")

    def _coming(self, *, all_well: bool) -> Iterator[Clause]:
        entries = self._of(Stand.COMING)
        starts = {entry.name: due.begins(entry, due.local_date(entry, self.now)) for entry in entries}
        before = self.known.before
        back = 0 < before.missed == before.subscribers  # the papers of what reached nobody come again
        why = {
            entry.name: ""
            if back or leaves_papers(self.known.days.get(entry.name))
            else no_batch(entry, starts[entry.name], self.holidays)
            for entry in entries
        }
        if with_news := [entry for entry in entries if not why[entry.name]]:
            first = min(starts[entry.name].astimezone(entry.timezone) for entry in with_news)
            dates = [self.known.mailed[entry.name] for entry in with_news if entry.name in self.known.mailed]
            well = dates and all_well and before.subscribers
            tail = f"; everyone got that of {max(dates):%a %d %b}" if well and self.running else self._idle()
            yield Clause(f"Today's mail {self._for(with_news, '')}is due at {first:%H:%M %Z}", tail=tail)
        elif entries:
            first = min(next_batch(entry, self.now, self.holidays) for entry in entries)
            reason = why[entries[0].name]
            head = f"No mail is expected today ({reason}); the next batch comes {first:%a %d %b %H:%M %Z}"
            yield Clause(head, tail=self._idle())
        known = [self.known.days[entry.name] for entry in entries if entry.name in self.known.days]
        if gave_up := [day for day in known if day.outcome is Outcome.GAVE_UP]:
            what = f"There was no digest on {max(day.date for day in gave_up):%a %d %b}"
            yield Clause(what, _commonest(day.reason for day in gave_up))

    def _for(self, entries: Sequence[MailingList], all_of_them: str = "today") -> str:
        """Which lists, unless it is all that may have mail today."""
        others = [entry for what, of in self.by_stand.items() if what is not Stand.OFF for entry in of]
        if len(entries) == len(others):
            return all_of_them
        return f"for {_names(entries)}" + ("" if all_of_them else " ")


# --- words


def _names(entries: Sequence[MailingList]) -> str:
    names = together([entry.name for entry in entries])
    return names if len(entries) == 1 or len(names) <= _NAMES else f"{len(entries)} lists"


def _commonest(reasons: Iterable[str]) -> str:
    found = Counter(map(_plain, reasons)).most_common(1)
    return found[0][0] if found else ""


def _plain(reason: str) -> str:
    """In one line of plain characters, without addresses and without a full stop."""
    plain = without_addresses(one_line(reason)).rstrip(".")
    plain = _WHERE.sub(lambda found: "the mail server" if found[2] else found[found.lastindex or 0], plain)
    plain = _NONE_SCORED.sub("", plain)
    return _LATE.sub(r"\1\2 \3", plain)


def moment(instant: datetime, now: datetime, zone: tzinfo) -> str:
    """A time of day, and the day where it is another one."""
    local = instant.astimezone(zone)
    return f"{local:%H:%M %Z}" if local.date() == now.astimezone(zone).date() else f"{local:%a %H:%M %Z}"


def _s(number: int) -> str:
    return "s" if number == 1 else ""
