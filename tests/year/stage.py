"""Where incidents are put together: instants, servers that go and come, people who do.

The instants are drawn by the seed, and then moved out of the way of those that decide: a list's hour, the end of its
patience, the end of its day. So how many mails a cause is worth can be said beforehand.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial
from typing import Any

from tests.servers import arxiv_faults
from tests.servers.llm_faults import FAULTS
from tests.servers.smtp import Fault
from tests.year.arxiv import Batch, announces
from tests.year.home import LISTS, Reading
from tests.year.records import Doom
from tests.year.told import Told
from tests.year.truth import DAY, HOUR, MINUTE, PATIENCE, Blocks, Span, Truth
from tests.year.world import World

EVERY = 6 * DAY  # there is an incident
# The distance that edits and outages keep from list hours and deadlines.
BEFORE = 20 * MINUTE
AFTER = 40 * MINUTE
UNREACHABLE = Fault("connect")


@dataclass
class Incident:
    """A disturbance from one instant to another; `told` counts the alerts that it must cause."""

    what: str
    begins: datetime
    ends: datetime
    told: Callable[[Truth], Told] | None = lambda _truth: Counter()  # None: unpredictable

    def __str__(self) -> str:
        return f"{self.what}, {self.begins:%a %d %b %H:%M} to {self.ends:%a %d %b %H:%M}"


@dataclass
class Stage:
    """A world, and the script that is written for it."""

    world: World
    blocks: Blocks = field(default_factory=Blocks)
    gaps: list[date] = field(default_factory=list)  # evenings
    # Of batches, by their evenings.
    changes: list[tuple[date, dict[str, Any]]] = field(default_factory=list)
    # Among papers, once there are some.
    choices: list[Callable[[], None]] = field(default_factory=list)
    unspeakable: set[str] = field(default_factory=set)  # papers

    def __post_init__(self) -> None:
        self.dice = self.world.dice

    def change(self, batches: Sequence[Batch]) -> None:
        """Apply the changes to the batches."""
        for evening, values in self.changes:
            for batch in batches:
                for name, value in values.items() if batch.evening == evening else ():
                    setattr(batch, name, value)

    # --- instants

    def within(self, slot: datetime, hours: float = 40) -> datetime:
        """Draw an instant in the first hours of the slot."""
        return self.clear(slot + self.dice.uniform(0, hours) * HOUR)

    def after(self, begins: datetime) -> datetime:
        """Draw an end half an hour to two days later."""
        (hours,) = self.dice.choices([(0.4, 2), (2, 9), (9, 24), (24, 48)], [3, 3, 2, 1])
        return self.clear(begins + self.dice.uniform(*hours) * HOUR)

    def clear(self, instant: datetime, *more: Reading) -> datetime:
        """Move an instant away from list hours and deadlines, for the lists as they are and as they will be."""
        deciding = [
            each
            for reading in (*LISTS, *more)
            for number in (-1, 0, 1, 2)
            for day in [reading.local(instant) + number * DAY]
            for each in (reading.starts(day), reading.starts(day) + PATIENCE, reading.midnight(day))
        ]
        while any(each - BEFORE < instant < each + AFTER for each in deciding):
            instant += 10 * MINUTE
        return instant

    def evening(self, slot: datetime) -> date:
        """The first evening of the slot with an announcement."""
        return next(
            evening for number in range(9) if announces(evening := slot.date() + number * DAY)
        )

    def hour(self, reading: Reading, slot: datetime) -> datetime:
        """The list's first hour on a day with news for it."""
        day = self.evening(slot) + DAY
        while not reading.sends_on(day):
            day += DAY
        return reading.starts(day)

    # --- what happens

    def between(self, span: Span, begin: Callable[[], None], end: Callable[[], None]) -> None:
        """Put the beginning and the end of something on the agenda."""
        self.world.at(span[0], begin)
        self.world.at(span[1], end)

    def llm_down(self, *spans: Span, how: str = "drop") -> None:
        llm = self.world.llm
        self._down(
            self.blocks.llm,
            spans,
            lambda well: setattr(llm, "lasting_fault", None if well else FAULTS[how]),
        )

    def arxiv_down(self, *spans: Span, how: str = "dropped") -> None:
        arxiv = self.world.arxiv
        fault = arxiv_faults.BY_NAME[how]
        self._down(
            self.blocks.arxiv,
            spans,
            lambda well: setattr(arxiv, "lasting_fault", None if well else fault),
        )

    def mail_down(self, *spans: Span, how: Fault = UNREACHABLE) -> None:
        def turn(well: bool) -> None:
            self.world.smtp.faults[:] = [each for each in self.world.smtp.faults if each is not how]
            self.world.smtp.faults += [] if well else [how]

        self._down(self.blocks.smtp, spans, turn)

    def _down(
        self, blocks: list[Span], spans: Sequence[Span], turn: Callable[[bool], None]
    ) -> None:
        blocks += spans
        for span in spans:
            self.between(span, partial(turn, False), partial(turn, True))

    def mailbox(self, address: str, span: Span, reply: str) -> None:
        """The mail server gives this reply to an address for a while."""
        fault = Fault("RCPT", reply, address=address)
        faults = self.world.smtp.faults
        self.between(span, lambda: faults.append(fault), lambda: faults.remove(fault))

    def guest(self, name: str, address: str, span: Span) -> None:
        """Put an address on a list for a while."""

        def edit(*, there: bool) -> None:
            others = [each for each in self.world.lists[name].subscribers if each != address]
            self.world.edit(name, subscribers=(*others, *([address] if there else [])))

        self.between(span, partial(edit, there=True), partial(edit, there=False))

    def doom(self, at: datetime, until: datetime, off: datetime | None = None) -> None:
        """Kill the first child that looks at the clock often enough."""
        results = self.dice.randrange(45)
        self.between(
            (at, until),
            lambda: setattr(self.world, "doom", Doom(results, off)),
            lambda: setattr(self.world, "doom", None),
        )
