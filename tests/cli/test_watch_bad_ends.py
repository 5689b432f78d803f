"""Mornings that come to a bad end: who is told of what, how often, and when it is over."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from paperboy.alerts import Kind
from paperboy.cli.turn import LETS_OTHERS_IN
from paperboy.cli.watch import MORNING
from paperboy.due import RETRY
from paperboy.models import Attempt
from tests.cli.conftest import World
from tests.cli.test_watch import LISTS, OPERATOR, Office, office
from tests.servers.smtp import Fault

__all__ = ["office"]  # a fixture

QUARTER = timedelta(minutes=15)
TWO = LISTS + "  - {name: sky, categories: [cs.LG], topics: x, send_at: '07:10', subscribers: [v@example.org]}\n"
BAD, WELL = "Paperboy: A morning came to a bad end", "Paperboy: Well again: a morning came to its end"


def sending_dies(world: World, *, always: bool) -> None:
    """By a trigger in the database, as no fault of ours that anybody knows."""
    path: Path = world.path / "data" / "paperboy.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("drop trigger if exists dies")
        if always:
            database.execute(
                "create trigger dies before update on deliveries when new.state = 'sending' "
                "begin select raise(abort, 'no'); end"
            )


def test_a_sending_that_always_dies_is_told_once_a_day_and_once_when_it_is_over(office: Office) -> None:
    office.world.announce(1)
    sending_dies(office.world, always=True)
    for _ in range(4 * 12):
        office.tick(after=QUARTER)
    assert [subject.startswith(BAD) for subject in office.subjects()] == [True]
    assert "this is a bug in Paperboy" in str(office.alerts()[0].get_body(("plain",)))
    sending_dies(office.world, always=False)
    for _ in range(3):
        office.tick(after=QUARTER)
    assert office.subjects()[1:] == [WELL]
    assert "ada@example.org" in office.world.mails()


def test_that_mornings_are_killed_for_an_hour_is_told_before_the_next_one_sends(office: Office) -> None:
    """It may be killed, too."""
    office.world.announce(1)
    office.codes += [-9] * 12
    while office.codes:
        office.tick(after=QUARTER)
    office.tick(after=QUARTER)
    assert office.world.mails()[:2] == [OPERATOR, "ada@example.org"]
    assert [subject.startswith(BAD) for subject in office.subjects()] == [True, False]


def test_a_list_that_failed_before_a_long_sending_is_tried_again_in_time(office: Office) -> None:
    """The sending lets it in when its quarter of an hour is over; it does not rest anew from then on."""
    office.world.announce(1)
    job = office.watch.next(office.world.clock(), [])
    assert job is not None
    tried = office.world.clock()
    office.store.days.note_attempt(Attempt("foundations", "the LLM does not answer", tried, tried, tried + RETRY))
    office.world.clock.now += timedelta(minutes=16)
    job.ended(LETS_OTHERS_IN, office.world.clock())
    assert MORNING in office.tick()
    assert office.world.mails() == ["ada@example.org"]


def test_nobody_blames_a_morning_for_a_list_that_became_due_meanwhile(office: Office) -> None:
    """One address of the other list has to wait, so the morning's exit code is 1."""
    office.world.write("subscribers.yaml", TWO)
    office.settle()
    office.world.clock.now += timedelta(days=3) - timedelta(minutes=20)
    while office.world.clock.now.hour < 7:
        office.world.clock.now += timedelta(seconds=20)
    office.world.announce(1)
    office.world.smtp.faults.append(Fault("RCPT", "450 later", times=1))
    job = office.watch.next(office.world.clock(), [])
    assert job is not None
    assert job.name == MORNING
    code = job.start().wait()
    assert code == 1
    office.world.clock.now += timedelta(minutes=12)  # the other list's hour
    job.ended(code, office.world.clock())
    assert office.store.alerts.standing() == ()


def test_the_reason_that_a_morning_gave_itself_is_not_overwritten(office: Office) -> None:
    office.world.announce(1)
    sending_dies(office.world, always=True)
    job = office.watch.next(office.world.clock(), [])
    assert job is not None
    job.ended(job.start().wait(), office.world.clock())
    (standing,) = office.store.alerts.standing()
    assert standing.cause == Kind.PROCESS
    assert "this is a bug in Paperboy" in str(office.alerts()[0].get_body(("plain",)))
