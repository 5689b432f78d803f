"""A long sending lets in whoever's hour comes meanwhile, and what the operator is to be told."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest

from paperboy.cli.turn import Turn
from paperboy.due import RETRY
from paperboy.models import Alert, Attempt, Day, Outcome
from paperboy.store import Store
from tests.builders import mailing_list
from tests.fakes import Clock

SEVEN = datetime(2026, 11, 20, 7, tzinfo=UTC)
LISTS = [mailing_list(send_at=time(7), timezone=UTC), mailing_list(name="sky", send_at=time(8), timezone=UTC)]


@dataclass
class World:
    """A sending that began at seven."""

    store: Store
    turn: Turn
    clock: Clock = field(default_factory=lambda: Clock(SEVEN))
    seconds: float = 0.0

    def over_at(self, minutes: int) -> bool:
        self.clock.now, self.seconds = SEVEN + timedelta(minutes=minutes), 60.0 * minutes
        return self.turn.over()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    path = tmp_path / "paperboy.db"
    with Store.open(path) as store:
        made = World(store, turn=None)  # type: ignore[arg-type]
        with Turn(path, LISTS, made.clock, lambda: made.seconds) as made.turn:
            yield made


def test_it_lasts_as_long_as_nobody_else_is_due(world: World) -> None:
    """Also where a list is due that was due when it began."""
    assert [world.over_at(minutes) for minutes in (0, 1, 59)] == [False, False, False]


def test_it_is_over_when_another_lists_hour_comes_and_stays_so(world: World) -> None:
    assert world.over_at(60)
    assert world.over_at(0)


def test_it_is_over_when_the_operator_is_to_be_told_of_something(world: World) -> None:
    assert not world.over_at(1)
    world.store.alerts.note("files", {"the home's files"}, Alert("Broken", ("Mend it.",)), SEVEN.date(), SEVEN)
    assert world.over_at(2)


def test_it_is_over_when_a_list_that_failed_may_be_tried_again(world: World) -> None:
    """Nobody's day is lost because another's mail takes hours."""
    world.store.days.note_attempt(Attempt("foundations", "the LLM does not answer", SEVEN, SEVEN, SEVEN + RETRY))
    assert not world.over_at(14)
    assert world.over_at(15)


def test_a_lists_next_day_is_another_turn(world: World) -> None:
    world.store.days.freeze(Day("sky", SEVEN.date(), Outcome.NOTE), SEVEN)
    assert not world.over_at(23 * 60)
    assert world.over_at(24 * 60)


def test_who_asks_afterwards_hears_what_it_was(world: World) -> None:
    """And opens no database for it."""
    assert not world.turn.was_over
    assert world.over_at(60)
    world.turn.__exit__()
    assert world.turn.was_over


def test_it_looks_once_in_a_minute(world: World) -> None:
    """Each connection asks before each message."""
    world.store.alerts.note("files", {"the home's files"}, Alert("Broken", ("Mend it.",)), SEVEN.date(), SEVEN)
    world.seconds = 59.0
    assert not world.turn.over()
