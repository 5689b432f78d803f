"""The script of a simulated year: an incident every six days, and subscribers and restarts in between."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from tests.year import happenings, outages
from tests.year.arxiv import Batch, batches, due
from tests.year.home import LISTS
from tests.year.stage import EVERY, Incident, Stage
from tests.year.truth import DAY, Blocks
from tests.year.world import World

SETTLED = 2 * DAY  # before the first incident
SETTLING = 8 * DAY  # after the last one

INCIDENTS: Mapping[str, Callable[[Stage, datetime], Incident]] = {
    make.__name__: make
    for make in (
        outages.llm_down,
        outages.arxiv_down,
        outages.mail_down,
        outages.everything_down,
        outages.storm,
        outages.llm_dies_midway,
        outages.power_cut,
        outages.laptop,
        outages.power_cut_at_work,
        outages.kill,
        happenings.late,
        happenings.in_pieces,
        happenings.elsewhere,
        happenings.gap,
        happenings.unspeakable,
        happenings.broken_edit,
        happenings.another_hour,
        happenings.gone_address,
        happenings.busy_address,
    )
}


@dataclass(frozen=True)
class Script:
    """The incidents, and what they made impossible."""

    incidents: list[tuple[datetime, Incident]]  # each with where its six days begin
    batches: list[Batch]
    blocks: Blocks
    unspeakable: set[str]  # papers


def write(world: World, days: int, kinds: list[str]) -> Script:
    """Put the days on the world's agenda, with incidents of those kinds, each about as often."""
    stage = Stage(world)
    incidents = list[tuple[datetime, Incident]]()
    bag = list[str]()
    slot = world.began + SETTLED
    last = world.began + days * DAY - SETTLING
    while kinds and slot + EVERY <= last:
        bag = bag or stage.dice.sample(kinds, len(kinds))
        incidents.append((slot, INCIDENTS[bag.pop()](stage, slot)))
        slot += EVERY
    announced = batches(world.began.date() - 6 * DAY, last.date() + 15 * DAY, stage.gaps)
    stage.change(announced)
    stage.blocks.arxiv += [(batch.due, batch.there) for batch in announced if batch.late]
    for gap in stage.gaps:
        stage.blocks.arxiv.append(
            (due(gap), min(batch.there for batch in announced if batch.due > due(gap)))
        )
    world.announce(announced)
    for choose in stage.choices:
        choose()
    _everyday(stage, last)
    return Script(incidents, announced, stage.blocks, stage.unspeakable)


def _everyday(stage: Stage, last: datetime) -> None:
    """Ordinary changes: people join and leave, some for a while, and the daemon is restarted."""
    instant = stage.world.began + SETTLED
    number = 0
    while (instant := instant + stage.dice.uniform(1, 9) * DAY) < last:
        number += 1
        until = instant + stage.dice.uniform(0.1, 15) * DAY
        reading = stage.dice.choice(LISTS)
        match stage.dice.randrange(3):
            case 0:
                stage.world.at(instant, stage.world.restart)
            case 1:
                stage.guest(reading.name, f"guest{number}@example.org", (instant, until))
            case 2:  # the first one stays, for a list without subscribers is never due
                stage.guest(
                    reading.name, stage.dice.choice(reading.subscribers[1:]), (until, instant)
                )
