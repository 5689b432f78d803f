"""A home with two journals, Tea and Rain, whose feeds need a key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from paperboy.models import Score
from tests.cli.conftest import FRIDAY, World
from tests.cli.mornings import ByHand
from tests.servers.journals import JournalServer, item, rss

KEY = "S3cretKey"
ABSTRACT = (
    "A simple model explains most of the difference between one cup of tea and the next. "
    "It has three parameters, and all of them can be measured in a kitchen."
)
TEA = """\
  - name: tea
    title: Tea
    categories: [journal/Tea]
    topics: what tea does
    subscribers: [grace@example.org]
"""
BOTH = """\
  - name: both
    title: Tea and rain
    categories: [journal/rain, journal/tea]
    topics: weather
    archive: public
    subscribers: [ada@example.org]
"""
MIXED = BOTH.replace("[journal", "[cs.LG, journal")
ARXIV = """\
  - name: networks
    categories: [cs.LG]
    topics: what networks learn
    subscribers: [emmy@example.org]
"""


def path_of(journal: str) -> str:
    """Return the path of a journal's feed, with its key."""
    return f"/feeds/{journal.lower()}.rss?token={KEY}"


@dataclass
class Journals(ByHand):
    """A home that is served by hand, and what the feeds of its journals have, newest first."""

    server: JournalServer
    items: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def write(self, *lists: str, journals: tuple[str, ...] = ("Tea", "Rain")) -> None:
        """Write the lists' file, and serve a feed for each of these journals."""
        feeds = (f"  {name}: {self.server.url}{path_of(name)}\n" for name in journals)
        self.world.write("subscribers.yaml", "".join(["journals:\n", *feeds, "lists:\n", *lists]))
        for name in journals:
            self.serve(name)

    def serve(self, journal: str) -> None:
        self.server.feeds[path_of(journal)] = rss(*self.items[journal], name=journal)

    def publish(
        self, journal: str, number: int, *, ago: float = 1, text: str = ABSTRACT, **elements: str
    ) -> str:
        """Publish a paper, dated so many days before the clock, and return its id."""
        doi = f"10.5555/{number}"
        at = self.world.clock().timestamp() - ago * 86_400
        entry = {
            "title": f"On cup {number}",
            "guid": doi,
            "dc_date": f"{self.world.clock().fromtimestamp(at, FRIDAY.tzinfo).isoformat()}",
            "link": f"https://journal.example/{number}",
        }
        if text:
            entry["description"] = text
        self.items[journal].insert(0, item(**entry | elements))
        self.serve(journal)
        return f"journal:{doi}"


@pytest.fixture
def home(world: World) -> Iterator[Journals]:
    world.llm.scores = lambda _: Score(9, 8, "It matters.")
    with JournalServer() as server:
        made = Journals(world, server)
        made.write(TEA, BOTH)
        yield made
