"""Forty days of cron's daily `paperboy once`, by its command line: exactly the mails that were due, and no other.

A list for every day, one for three weekdays, one for Fridays, one in a zone where cron's hour is yesterday evening, and
one that is paused for twelve days. The machine is off for two of them, somebody subscribes, a list is asked for by hand
on another day, arXiv rests at weekends and on Thanksgiving. What was due is worked out here, from the calendar alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from paperboy.models import Score
from tests.builders import paper
from tests.cli.conftest import World
from tests.year.arxiv import Announced, Batch, batches
from tests.year.home import EMAILS, Reading
from tests.year.ledger import Day, Ledger
from tests.year.records import Mail

DAY = timedelta(days=1)
BEGIN, DAYS = date(2028, 11, 6), 40  # a Monday; Thanksgiving is the 23rd
CRON = time(5, 30, tzinfo=UTC)  # a quarter of an hour after a batch, before the hour of every list
OFF = (date(2028, 11, 15), date(2028, 11, 16))  # the machine: a Wednesday and a Thursday
PAUSED, BACK = date(2028, 11, 18), date(2028, 11, 30)  # edits of the file before cron's hour
BY_HAND = date(2028, 12, 5)  # a Tuesday, on which somebody asks for the list of three weekdays
JOINS = date(2028, 12, 2)

_BERLIN, _MORNING = ZoneInfo("Europe/Berlin"), time(7)
LISTS = (
    Reading("daily", ("cs.LG",), _BERLIN, _MORNING, ("ada@example.org", "grace@example.org")),
    Reading(
        "thrice",
        ("stat.ML",),
        _BERLIN,
        _MORNING,
        ("ada@example.org",),
        weekdays=("mon", "wed", "fri"),
    ),
    Reading(
        "fridays",
        ("cs.CV",),
        _BERLIN,
        _MORNING,
        ("vera@example.org",),
        weekdays=("fri",),
        send_empty=False,
    ),
    Reading(
        "pacific",
        ("cs.CL",),
        ZoneInfo("America/Los_Angeles"),
        _MORNING,
        ("noam@example.org",),
        weekdays=("mon", "tue", "wed", "thu", "fri"),
    ),
    Reading("resting", ("cs.LG", "math.AG"), _BERLIN, _MORNING, ("emmy@example.org",)),
)
A_DAY = (
    "cs.LG",
    "cs.LG",
    "cs.LG",
    "stat.ML",
    "cs.CV",
    "cs.CL",
    "cs.CL",
    "math.AG",
)  # the papers of a batch

Due = Counter[
    tuple[str, str, frozenset[str]]
]  # list, address and papers of each mail; a note has none


def passes(arxiv_id: str) -> bool:
    """A third does not; the numbers of a batch and of a third are prime to each other, so that each list meets it."""
    return int(arxiv_id[-5:]) % 3 > 0


def papers(of: Batch, number: int) -> list[Announced]:
    """One batch's, from the number on."""
    made = []
    for place, category in enumerate(A_DAY):
        at = (of.since + (of.until - of.since) * (place + 1) / 10).replace(microsecond=0)
        name = f"{at:%y%m}.{number + place:05}"
        changes = {
            "categories": (category,),
            "primary_category": category,
            "published": at,
            "updated": at,
        }
        made.append(Announced(paper(name, **changes), of.due))
    return made


@dataclass
class Owed:
    """What a list owes its readers, as somebody with a calendar would say."""

    reading: Reading
    seen: set[str] = field(default_factory=set)
    started: bool = False

    def on(
        self,
        now: datetime,
        announced: list[Announced],
        *,
        paused: bool = False,
        any_day: bool = False,
    ) -> Due:
        """Return the mails of a morning. `any_day`: somebody asks for the list itself."""
        if paused:
            self.started = False
            return Counter()
        there = [announcement for announcement in announced if announcement.there <= now]
        if not self.started:  # with the newest batch, also on a day on which it does not send
            newest = max(announcement.there for announcement in there)
            self.seen |= {
                announcement.paper.id for announcement in there if announcement.there < newest
            }
        self.started = True
        if not any_day and not self.reading.sends_on(self.reading.local(now)):
            return Counter()
        wanted = {
            announcement.paper.id
            for announcement in there
            if self.reading.wants(announcement.paper)
        }
        news, self.seen = wanted - self.seen, self.seen | wanted
        chosen = frozenset(filter(passes, news))
        if not chosen and not (news and self.reading.send_empty):
            return Counter()
        return Counter((self.reading.name, address, chosen) for address in self.reading.subscribers)


@dataclass
class Cron:
    """The home, and cron."""

    world: World
    announced: list[Announced]
    read: int = 0

    def save(self, *, paused: bool) -> None:
        lists = "".join(
            f"  - name: {reading.name}\n    categories: [{', '.join(reading.categories)}]\n"
            f"    topics: {reading.topics!r}\n    timezone: {reading.zone.key}\n"
            f"    weekdays: [{', '.join(reading.weekdays)}]\n"
            f"    send_empty: {str(reading.send_empty).lower()}\n"
            f"    paused: {str(paused and reading.name == 'resting').lower()}\n"
            f"    subscribers: [{', '.join(reading.subscribers)}]\n"
            for reading in LISTS
        )
        self.world.write("subscribers.yaml", f"lists:\n{lists}")

    def once(self, now: datetime, *arguments: str) -> Due:
        """Run it, and return the mails that left."""
        self.world.clock.now = now
        self.world.arxiv.papers = [
            announcement.paper for announcement in self.announced if announcement.there <= now
        ]
        ran = self.world.run("once", *arguments)
        assert ran.code == 0, ran
        new, self.read = self.world.smtp.messages[self.read :], len(self.world.smtp.messages)
        mails = [Mail(now, message) for message in new]
        return Counter(
            (
                str(mail.parsed["List-Id"]).partition("<")[2].partition(".")[0],
                mail.to,
                frozenset(mail.papers),
            )
            for mail in mails
        )


@pytest.fixture
def cron(world: World) -> Cron:
    last, number, announced = BEGIN + DAYS * DAY, 1, list[Announced]()
    for batch in batches(BEGIN - 6 * DAY, last):
        announced += papers(batch, number)
        number += len(A_DAY)
    world.llm.scores = lambda name: Score(9, 8, "It matters.") if passes(name) else Score(3, 3, "")
    world.env()
    for name, text in EMAILS.items():
        world.write(f"emails/{name}", text)
    made = Cron(world, announced)
    made.save(paused=False)
    return made


def outcome(day: Day) -> str:
    """Return a day's outcome, as far as the mails do not show it."""
    return (
        "paused"
        if day.reason == "paused"
        else day.outcome
        if day.outcome in {"skipped", "gave up"}
        else "served"
    )


def outcomes(of: Reading) -> Iterator[tuple[date, str]]:
    """Yield an outcome for each of a list's days, also where nothing was running or it was not to send."""
    first, last = (
        of.local(datetime.combine(day, CRON)) for day in (BEGIN, BEGIN + (DAYS - 1) * DAY)
    )
    off = {of.local(datetime.combine(day, CRON)) for day in OFF}
    for day in (first + number * DAY for number in range((last - first).days + 1)):
        if of.name == "resting" and PAUSED <= day < BACK:
            yield day, "paused"
        elif not of.sends_on(day) and (of.name, day) != ("thrice", BY_HAND):
            yield day, "skipped"
        else:
            yield day, "gave up" if day in off else "served"


def test_daily_once_of_forty_days_sends_exactly_the_mails_that_were_due(cron: Cron) -> None:
    owed, met = {reading.name: Owed(reading) for reading in LISTS}, set[str]()
    for day in (BEGIN + number * DAY for number in range(DAYS) if BEGIN + number * DAY not in OFF):
        now, paused, due = datetime.combine(day, CRON), PAUSED <= day < BACK, Due()
        if day in {PAUSED, BACK}:
            cron.save(paused=paused)
        if day == JOINS:
            assert cron.world.run("subscribe", "daily", "joan@example.org").code == 0
        for name, debt in owed.items():
            due += debt.on(now, cron.announced, paused=paused and name == "resting")
        if day >= JOINS:
            due += Counter(
                (name, "joan@example.org", chosen)
                for name, to, chosen in due
                if to == "grace@example.org"
            )
        assert cron.once(now) == due, day
        assert not cron.once(now + timedelta(hours=1)), f"a second run on {day} sent again"
        if day == PAUSED:
            assert not cron.once(now + timedelta(hours=1), "--list", "resting")
        if day == BY_HAND:
            now += timedelta(hours=2)
            due = owed["thrice"].on(now, cron.announced, any_day=True)
            assert due
            assert cron.once(now, "--list", "thrice") == due
        met |= {f"{name}: {'digest' if chosen else 'note'}" for name, _, chosen in due} or {
            "nothing"
        }
    assert met == {"nothing", "thrice: note", *(f"{name}: digest" for name in owed)}
    days = Ledger(cron.world.database).days
    for reading in LISTS:
        assert {day.date: outcome(day) for day in days if day.name == reading.name} == dict(
            outcomes(reading)
        )
