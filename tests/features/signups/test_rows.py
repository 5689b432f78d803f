"""Requests to sign up: how many are noted, and when there is room again."""

from __future__ import annotations

from datetime import datetime, timedelta

from paperboy.features.signups.rows import ask as request
from paperboy.store import Store
from tests.store.ledger import NOW


def ask(store: Store, number: int, at: datetime) -> bool:
    """Ask for an address that nobody else has."""
    return request(store.database, f"{number:032}", "foundations", f"reader{number}@wren.edu", at)


def test_flood_that_never_stops_is_held_to_the_rate(store: Store) -> None:
    """In no hour are more than a hundred noted."""
    instants = [NOW + timedelta(seconds=20 * number) for number in range(3 * 180)]
    with store.transaction():
        noted = [at for number, at in enumerate(instants) if ask(store, number, at)]
    assert all(
        later - first >= timedelta(hours=1)
        for first, later in zip(noted, noted[100:], strict=False)
    )
    assert len(noted) == 300


def test_many_sign_ups_that_are_spread_over_a_day_are_no_flood(store: Store) -> None:
    for number in range(120):
        assert ask(store, number, NOW + timedelta(minutes=10 * number))
