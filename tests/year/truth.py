"""What must come of a simulated year, worked out from its script alone, without any rule of Paperboy's."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from paperboy.models import Paper
from tests.year.arxiv import Announced, Batch
from tests.year.home import LISTS, OPERATORS_ZONE, Reading
from tests.year.ledger import Day, Ledger
from tests.year.world import World

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
PATIENCE = 6 * HOUR  # GIVE_UP_AFTER_HOURS
RETRY = 16 * MINUTE  # a quarter of an hour, and a look of the daemon
LASTING = 35 * MINUTE  # two tries, or one that looks until a batch is whole
NAMES = tuple(each.name for each in LISTS)
_NEVER = datetime.max.replace(tzinfo=UTC)

Span = tuple[datetime, datetime]


@dataclass
class Blocks:
    """The spans in which something was down or missing."""

    # It was down, or a batch that was due was not there.
    arxiv: list[Span] = field(default_factory=list)
    llm: list[Span] = field(default_factory=list)
    smtp: list[Span] = field(default_factory=list)
    mailboxes: list[tuple[str, datetime, datetime]] = field(default_factory=list)  # by address


def operators_day(instant: datetime) -> date:
    """The operator's local date: a cause is reported once on each."""
    return instant.astimezone(OPERATORS_ZONE).date()


@dataclass
class Truth:
    """What a world that has lived must have done."""

    world: World
    blocks: Blocks
    batches: list[Batch]

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.world.database)  # what it says is looked at when the year is over

    # --- the lists

    def version(self, name: str, at: datetime) -> Reading:
        """The list as the file had it at that instant."""
        return next(lists[name] for since, lists in reversed(self.world.versions) if since <= at)

    def members(self, name: str, at: datetime) -> frozenset[str]:
        """The list's subscribers in the file at that instant."""
        return frozenset(self.version(name, at).subscribers)

    def hour(self, name: str, day: date) -> datetime:
        """The list's hour on that day; if it was edited that day, the hour that came first."""
        ends = [since for since, _ in self.world.versions[1:]] + [_NEVER]
        starts = (
            (max(since, lists[name].starts(day)), end)
            for (since, lists), end in zip(self.world.versions, ends, strict=True)
        )
        return min(start for start, end in starts if start < end)

    def midnight(self, name: str, day: date) -> datetime:
        """When a list's local date ends."""
        return self.version(name, self.world.began).midnight(day + DAY)

    def mornings(self, since: datetime, until: datetime) -> Iterator[tuple[str, date, datetime]]:
        """The hours of all lists that lie in a span, on days on which they send."""
        for name in NAMES:
            day = self.version(name, self.world.began).local(since) - DAY
            while (hour := self.hour(name, day)) < until:
                if hour >= since and self.version(name, hour).sends_on(day):
                    yield name, day, hour
                day += DAY

    def frozen(self, since: datetime, until: datetime) -> list[Day]:
        """The days whose digest or note was frozen in a span."""
        sent = {(copy.list_name, copy.day) for copy in self.world.copies}
        return [
            day
            for day in self.ledger.days
            if since <= day.at < until and (day.name, day.date) in sent
        ]

    # --- the papers

    def start(self, name: str, first_fetch: datetime) -> datetime:
        """Where a list starts that first looks then: with the newest batch."""
        return max(batch.since for batch in self.batches if batch.there <= first_fetch)

    def wanted(self, name: str, there: datetime) -> list[Announced]:
        """The papers in the list's categories that arXiv had by then."""
        reading = self.version(name, self.world.began)
        return [
            each
            for each in self.world.announced
            if each.there <= there and reading.wants(each.paper)
        ]

    def arrived(self, since: datetime, until: datetime) -> list[Paper]:
        """The papers that arXiv got in a span."""
        return [each.paper for each in self.world.announced if since <= each.there <= until]

    def pending(self, name: str, day: date, there: datetime) -> set[str]:
        """The papers that arXiv had by then and that the list had not seen before that day."""
        ids = (each.paper.id for each in self.wanted(name, there))
        before = {
            paper
            for (of, paper), seen in self.ledger.seen.items()
            if of == name and seen.is_before(day)
        }
        return set(ids) - before

    # --- what was in the way

    def free(self, instant: datetime, *spans: Iterable[Span]) -> datetime:
        """The first instant from then on at which nothing is down for long enough to be met by a try."""
        covered = True
        while covered:
            ends = [
                end for each in spans for begin, end in each if begin - LASTING <= instant < end
            ]
            instant = max([instant, *ends])
            covered = bool(ends)
        return instant
