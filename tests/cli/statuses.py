"""Mornings for tests of `status`, and a way to read what it prints."""

from __future__ import annotations

from datetime import UTC, date, datetime

from paperboy.models import Counts, Day, Outcome, Spending
from paperboy.store import Store
from tests.cli.conftest import World

FRIDAY = date(2026, 11, 20)


def spend(world: World, at: str, spending: Spending, list_name: str = "foundations") -> None:
    """As a scorer's request at that instant would."""
    store = Store.open(world.path / "data" / "paperboy.db")
    store.scores.keep(list_name, "criteria", "gpt-6-luna", {}, spending, datetime.fromisoformat(at))
    store.close()


def had(
    world: World,
    outcome: Outcome,
    counts: Counts = Counts(),
    *,
    list_name: str = "foundations",
    reason: str = "",
    day: date = FRIDAY,
    model: str = "gpt-6-luna",
) -> None:
    """Freezes a day of the list, its Friday unless another is named."""
    store = Store.open(world.path / "data" / "paperboy.db")
    store.days.freeze(
        Day(list_name, day, outcome, reason, model=model, counts=counts),
        datetime(day.year, day.month, day.day, 7, tzinfo=UTC),
    )
    store.close()


def under(heading: str, printed: str) -> list[str]:
    """The lines of the table whose first column has that heading."""
    lines = printed.splitlines()
    at = next(number for number, line in enumerate(lines) if line.split()[:1] == [heading])
    return lines[at + 1 : lines.index("", at)]
