"""Incidents of batches, papers, files and addresses."""

from collections import Counter
from dataclasses import replace
from datetime import date, datetime
from functools import partial

from tests.year import told
from tests.year.arxiv import due
from tests.year.home import LISTS
from tests.year.stage import EVERY, Incident, Stage
from tests.year.told import Told
from tests.year.truth import DAY, HOUR, MINUTE, Truth, operators_day

PIECES = "a batch comes in pieces"
BROKEN = "a broken edit"


def late(stage: Stage, slot: datetime) -> Incident:
    """A batch is late by up to ten hours."""
    evening = stage.evening(slot)
    there = stage.clear(due(evening) + stage.dice.uniform(0.1, 10) * HOUR)
    stage.changes.append((evening, {"late": there - due(evening)}))
    told_of = partial(told.of_arxiv, begins=due(evening), ends=there)
    return Incident("a batch is late", due(evening), there, told_of)


def in_pieces(stage: Stage, slot: datetime) -> Incident:
    """A batch comes in two pieces around the hour of a list that waits for it."""
    evening = stage.evening(slot)
    there = LISTS[0].starts(evening + DAY) - stage.dice.uniform(0, 10) * MINUTE
    second = stage.dice.uniform(3, 20) * MINUTE
    stage.changes.append((evening, {"late": there - due(evening), "second_piece": second}))
    return Incident(PIECES, there, there + second)


def elsewhere(stage: Stage, slot: datetime) -> Incident:
    """A batch has nothing for any of the lists."""
    evening = stage.evening(slot)
    stage.changes.append((evening, {"elsewhere": True}))
    return Incident("a batch has nothing for the lists", due(evening), due(evening))


def gap(stage: Stage, slot: datetime) -> Incident:
    """An evening without an announcement that no calendar has: reported once, then quiet."""
    evening = stage.evening(slot)
    stage.gaps.append(evening)
    return Incident(
        "a gap", due(evening), due(evening), lambda _: Counter({told.LATE: 1, told.LATE_WELL: 1})
    )


def unspeakable(stage: Stage, slot: datetime) -> Incident:
    """A paper that the LLM's content filter refuses: on the third morning on which others got scores it is let go."""
    begins = due(stage.evening(slot))
    refused = stage.world.llm.unspeakable

    def choose() -> None:
        found = (
            each.paper for each in stage.world.announced if begins <= each.there < begins + HOUR
        )
        paper = next(paper.id for paper in found if paper.categories == ("stat.ML",))
        stage.unspeakable.add(paper)
        stage.between(
            (slot, slot + EVERY), partial(refused.add, paper), partial(refused.discard, paper)
        )

    stage.choices.append(choose)

    def told_of(truth: Truth) -> Told:
        others = [day for day in truth.frozen(begins, slot + EVERY) if day.name == LISTS[0].name]
        return Counter({told.LET_GO: len(others) >= 3})

    return Incident("a paper is refused", slot, slot + EVERY, told_of)


def broken_edit(stage: Stage, slot: datetime) -> Incident:
    """An edit stays broken for hours; a daemon that is restarted meanwhile reports it again."""
    begins = stage.within(slot)
    ends = stage.clear(begins + stage.dice.uniform(0.2, 20) * HOUR)

    def save(*, broken: bool) -> None:
        stage.world.broken = broken
        stage.world.save()

    stage.between((begins, ends), partial(save, broken=True), partial(save, broken=False))

    def told_of(truth: Truth) -> Told:
        met = [begins, *(start for start in truth.world.starts if begins <= start < ends)]
        return Counter({told.FILES: len(set(map(operators_day, met))), told.FILES_WELL: 1})

    return Incident(BROKEN, begins, ends, told_of)


def another_hour(stage: Stage, slot: datetime) -> Incident:
    """A list has another hour for some days. The edit comes before both hours, between them or after."""
    reading = stage.dice.choice(LISTS)
    local = (
        datetime.combine(date(2028, 1, 1), reading.send_at)
        + stage.dice.choice([-150, -45, 75]) * MINUTE
    )
    other = replace(reading, send_at=local.time())
    begins = stage.clear(slot + stage.dice.uniform(0, 24) * HOUR, other)
    ends = stage.clear(begins + stage.dice.uniform(24, 72) * HOUR, other)
    edits = (
        partial(stage.world.edit, reading.name, send_at=each.send_at) for each in (other, reading)
    )
    stage.between((begins, ends), *edits)
    return Incident(f"{reading.name} at {other.send_at:%H:%M}", begins, ends)


def gone_address(stage: Stage, slot: datetime) -> Incident:
    """An address does not exist: after three digests that others got it is suppressed."""
    # Its own, as a suppression stays.
    reading = LISTS[0]
    address = f"gone{slot:%m%d}@example.org"
    span = slot, slot + EVERY - HOUR
    stage.guest(reading.name, address, span)
    stage.mailbox(address, span, "550 5.1.1 no such user")
    stage.blocks.mailboxes.append((address, slot, slot + 99 * DAY))

    def told_of(truth: Truth) -> Told:
        tried = [day for day in truth.frozen(slot + HOUR, span[1]) if day.name == reading.name]
        return Counter({told.SUPPRESSED: len(tried) >= 3, told.REFUSED: min(len(tried), 3)})

    return Incident("an address does not exist", *span, told_of)


def busy_address(stage: Stage, slot: datetime) -> Incident:
    """An address is busy for some hours, or for more than three days, when its mail is given up."""
    reading = LISTS[0]
    address = f"busy{slot:%m%d}@example.org"
    hour = stage.hour(reading, slot)
    long = hour + 85 * HOUR < slot + EVERY and stage.dice.random() < 0.6
    begins = hour - HOUR
    ends = hour + (80 if long else stage.dice.uniform(0.5, 30)) * HOUR
    stage.guest(reading.name, address, (begins, ends + 8 * HOUR))
    stage.mailbox(address, (begins, ends), "450 4.2.1 mailbox busy")
    stage.blocks.mailboxes.append((address, begins, ends))
    return Incident("an address is busy", begins, ends, lambda _: Counter({told.EXPIRED: long}))
