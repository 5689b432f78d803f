"""A simulated year that is over: what its servers saw beside what Paperboy wrote down."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property

from tests.year.home import OPERATOR
from tests.year.ledger import Day
from tests.year.records import KILLED, Mail, Run
from tests.year.script import Script
from tests.year.truth import DAY, HOUR, MINUTE, PATIENCE, RETRY, Truth
from tests.year.world import World

ADOPTED = 3 * MINUTE  # an edit is, by then
_LONGEST_WAIT = 5 * HOUR  # of an address that is busy


@dataclass
class Year:
    """The world, the truth about it, and the script."""

    world: World
    truth: Truth
    script: Script
    seconds: float

    def days(self, name: str) -> list[Day]:
        """The days of a list, in order."""
        return [day for day in self.truth.ledger.days if day.name == name]

    def run_of(self, day: Day) -> Run:
        """The child that froze a day."""
        return next(
            run
            for run in self.world.runs
            if run.command == "morning" and run.began.replace(microsecond=0) <= day.at <= run.ended
        )

    def look(self, day: Day) -> datetime:
        """The last successful fetch before a day was frozen."""
        ended = self.run_of(day).ended
        return max(fetch.at for fetch in self.world.fetches if fetch.well and fetch.at <= ended)

    def latest(self, day: Day) -> datetime:
        """The latest instant at which a day may be frozen."""
        hour = self.truth.hour(day.name, day.date)
        blocks = self.truth.blocks
        there = self.truth.free(hour, self.world.away)
        free = self.truth.free(there, blocks.arxiv, blocks.llm, self.world.away)
        free = min(free, there + PATIENCE)  # when that is over, what is there is sent
        latest = free + (RETRY if free > hour else MINUTE)
        latest += ADOPTED if hour in {since for since, _ in self.world.versions} else timedelta()
        under_way = [run.ended for run in self.world.runs if run.began <= latest <= run.ended]
        killed = [
            run.ended
            for run in self.world.runs
            if run.code == KILLED and run.began <= latest <= run.ended + RETRY
        ]
        return max(
            [
                latest,
                *(ended + MINUTE for ended in under_way),
                *(ended + RETRY + MINUTE for ended in killed),
            ]
        )

    @cached_property
    def told(self) -> list[Mail]:
        """The operator's mails."""
        return [mail for mail in self.world.mails if mail.to == OPERATOR]

    @cached_property
    def message_ids(self) -> dict[tuple[str, date, str], str]:
        return {
            (copy.list_name, copy.day, copy.address): copy.message_id for copy in self.world.copies
        }

    @cached_property
    def digest_of(self) -> dict[tuple[str, str], tuple[str, date]]:
        """By Message-ID and recipient."""
        return {
            (copy.message_id, copy.address): (copy.list_name, copy.day)
            for copy in self.world.copies
        }

    def owed(self, day: Day) -> Iterator[str]:
        """The addresses that must have a day's digest."""
        if day.superseded:
            return
        ended = self.run_of(day).ended
        sent = self.truth.free(ended, self.truth.blocks.smtp, self.world.away) + RETRY
        joined = self.truth.members(day.name, max(self.world.began, day.at - ADOPTED))
        for address in joined & self.truth.members(day.name, sent):
            ends = self.truth.free(
                sent, [(a, b) for each, a, b in self.truth.blocks.mailboxes if each == address]
            )
            waits = _LONGEST_WAIT if ends > sent else timedelta()
            if ends + waits < min(
                day.at + 3 * DAY, self.world.now
            ) and address in self.truth.members(day.name, ends + waits):
                yield address
