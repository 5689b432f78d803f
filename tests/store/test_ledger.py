"""The ledger: each move is made once, by one, and says so."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from paperboy.models import Composed, Day, Delivery, DeliveryState, MessageCopy, Outcome, Subscriber
from paperboy.store import Store
from tests.builders import TABLES
from tests.store.ledger import waiting

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "paperboy.db", tables=TABLES)
    opened.days.freeze(
        Day(
            "foundations",
            date(2026, 11, 20),
            Outcome.DIGEST,
            composed=Composed("s", "papers@example.org", b"m"),
            copies=tuple(
                MessageCopy(Subscriber(f"{name}@example.org"), f"<{name}@example.org>", name)
                for name in ("ada", "grace")
            ),
        ),
        NOW,
    )
    yield opened
    opened.close()


def first(store: Store) -> Delivery:
    return waiting(store)[0]


def test_reservation_is_made_once(store: Store) -> None:
    delivery = first(store)
    assert store.ledger.reserve(delivery, NOW)
    assert not store.ledger.reserve(delivery, NOW)
    assert first(store).state is DeliveryState.SENDING
    assert first(store).attempts == 1


def test_delivery_left_in_sending_waits_and_keeps_its_message_id(store: Store) -> None:
    delivery = first(store)
    store.ledger.reserve(delivery, NOW)
    left = first(store)
    assert left.copy == delivery.copy
    assert store.ledger.reserve(left, NOW)
    assert first(store).attempts == 2


def test_only_a_reserved_delivery_can_be_settled(store: Store) -> None:
    assert not store.ledger.settle(first(store), DeliveryState.SENT, "250", NOW)
    assert store.ledger.unfinished() == 2


def test_settling_and_reserving_share_a_commit(store: Store) -> None:
    ada, grace = waiting(store)
    store.ledger.reserve(ada, NOW)
    with store.transaction(durable=False):
        assert store.ledger.settle(ada, DeliveryState.DEFERRED, "450 lost", NOW, uncertain=True)
        assert store.ledger.reserve(grace, NOW)
    settled, reserved = (store.ledger.get(delivery.id) for delivery in (ada, grace))
    assert settled == replace(
        ada, state=DeliveryState.DEFERRED, attempts=1, uncertain=1, reply="450 lost"
    )
    assert reserved == replace(grace, state=DeliveryState.SENDING, attempts=1)


def test_undone_attempt_does_not_count(store: Store) -> None:
    delivery = first(store)
    store.ledger.reserve(delivery, NOW)
    store.ledger.settle(delivery, DeliveryState.PENDING, "lost", NOW, undone=True)
    assert store.ledger.get(delivery.id).attempts == 0


def test_delivery_that_another_process_moved_is_neither_reserved_nor_settled(store: Store) -> None:
    ada, grace = waiting(store)
    store.suppressions.add("grace@example.org", "", "by hand", NOW)
    assert not store.ledger.reserve(grace, NOW)
    assert not store.ledger.reserve(store.ledger.get(grace.id), NOW)
    store.ledger.reserve(ada, NOW)
    store.erasure.erase("ada@example.org", NOW)
    assert not store.ledger.settle(ada, DeliveryState.SENT, "250", NOW)
    assert store.ledger.get(ada.id).state is DeliveryState.AMBIGUOUS


def test_held_deliveries_wait_behind_the_others(store: Store) -> None:
    """So that the next round begins with other recipients."""
    ada, grace = waiting(store)
    store.ledger.reserve(ada, NOW)
    store.ledger.settle(
        ada, DeliveryState.PENDING, "RCPT: 554 5.7.1 denied", NOW, undone=True, held=True
    )
    assert store.ledger.waiting(NOW) == [grace.id, ada.id]
    store.ledger.reserve(ada, NOW)
    store.ledger.settle(ada, DeliveryState.PENDING, "told to stop", NOW, undone=True)
    assert store.ledger.waiting(NOW) == [ada.id, grace.id]


def test_sent_delivery_never_waits_again(store: Store) -> None:
    delivery = first(store)
    store.ledger.reserve(delivery, NOW)
    assert store.ledger.settle(delivery, DeliveryState.SENT, "250 ok", NOW, via="smtp")
    assert not store.ledger.reserve(delivery, NOW)
    assert [left.copy.token for left in waiting(store)] == ["grace"]
    assert store.ledger.unfinished() == 1


def test_deferred_delivery_waits_for_its_retry_time(store: Store) -> None:
    delivery, later = first(store), NOW + timedelta(minutes=5)
    store.ledger.reserve(delivery, NOW)
    store.ledger.settle(delivery, DeliveryState.DEFERRED, "450", NOW, try_at=later, uncertain=True)
    assert [left.copy.token for left in waiting(store)] == ["grace"]
    back = waiting(store, later)[0]
    assert (back.state, back.uncertain) == (DeliveryState.DEFERRED, 1)
    assert store.ledger.unfinished() == 2


def test_next_try_is_the_earliest_of_all(store: Store) -> None:
    one, other = waiting(store)
    for delivery, minutes in ((one, 10), (other, 5)):
        store.ledger.reserve(delivery, NOW)
        store.ledger.settle(
            delivery, DeliveryState.DEFERRED, "450", NOW, try_at=NOW + timedelta(minutes=minutes)
        )
    assert store.ledger.next_try(NOW) == NOW + timedelta(minutes=5)


@pytest.mark.parametrize("state", [DeliveryState.FAILED, DeliveryState.AMBIGUOUS])
def test_settled_delivery_cannot_change_state(store: Store, state: DeliveryState) -> None:
    delivery = first(store)
    store.ledger.reserve(delivery, NOW)
    store.ledger.settle(delivery, state, "550", NOW)
    assert len(store.ledger.waiting(NOW + timedelta(days=9))) == 1


def test_suppressed_delivery_does_not_wait(store: Store) -> None:
    assert store.ledger.end(first(store), DeliveryState.SUPPRESSED, "no longer on the list", NOW)
    assert store.ledger.unfinished() == 1


def test_delivery_has_its_freezing_time_and_last_reply(store: Store) -> None:
    """By the one it is given up after three days, by the other the operator hears why."""
    delivery = first(store)
    assert (delivery.frozen_at, delivery.reply) == (NOW, "")
    store.ledger.reserve(delivery, NOW)
    store.ledger.settle(
        delivery, DeliveryState.DEFERRED, "450 later", NOW, try_at=NOW + timedelta(hours=1)
    )
    back = waiting(store, NOW + timedelta(hours=1))[0]
    assert (back.frozen_at, back.reply) == (NOW, "450 later")


@pytest.mark.parametrize("state", [None, DeliveryState.DEFERRED, DeliveryState.PENDING])
def test_waiting_delivery_can_expire(store: Store, state: DeliveryState | None) -> None:
    delivery = first(store)
    if state:
        store.ledger.reserve(delivery, NOW)
        store.ledger.settle(delivery, state, "450 later", NOW)
        delivery = store.ledger.get(delivery.id)
    assert store.ledger.end(
        delivery, DeliveryState.FAILED, "given up after three days; 450 later", NOW
    )
    ended = store.ledger.find(delivery.frozen_id, "ada@example.org")
    assert ended is not None
    assert (ended.state, ended.reply) == (
        DeliveryState.FAILED,
        "given up after three days; 450 later",
    )
    assert not store.ledger.end(delivery, DeliveryState.FAILED, "again", NOW)
    assert store.ledger.unfinished() == 1


def test_settled_delivery_cannot_expire(store: Store) -> None:
    delivery = first(store)
    store.ledger.reserve(delivery, NOW)
    store.ledger.settle(delivery, DeliveryState.SENT, "250 ok", NOW, via="smtp")
    assert not store.ledger.end(delivery, DeliveryState.FAILED, "given up", NOW)
    sent = store.ledger.find(delivery.frozen_id, "ADA@example.org")
    assert sent is not None
    assert sent.state is DeliveryState.SENT
    assert store.ledger.find(delivery.frozen_id, "nobody@example.org") is None


def test_server_backoff_holds_back_all_that_waits_except_by_hand(store: Store) -> None:
    ada, grace = waiting(store)
    store.ledger.reserve(ada, NOW)
    store.ledger.settle(ada, DeliveryState.DEFERRED, "450", NOW, try_at=NOW + timedelta(minutes=5))
    until = NOW + timedelta(minutes=15)
    store.ledger.postpone(until, NOW)
    assert store.ledger.waiting(until - timedelta(seconds=1)) == []
    assert store.ledger.waiting(NOW, by_hand=True) == [grace.id, ada.id], (
        "her backoff is ignored, too"
    )
    assert store.ledger.waiting(NOW - timedelta(days=9)) == [grace.id], "the clock was ahead"
    assert len(store.ledger.waiting(until)) == 2
    assert store.ledger.next_try(NOW) == until
    store.retry_now(NOW)
    assert store.ledger.waiting(NOW) == [grace.id]
