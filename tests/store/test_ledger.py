"""The ledger: each move is made once, by one, and says so."""

import lzma
from dataclasses import replace
from datetime import timedelta

import pytest

from paperboy.models import Composed, Delivery, DeliveryState
from paperboy.store import Store
from paperboy.store.ledger import pack
from tests.mail.mails import MAILS
from tests.store.ledger import NOW, WAITS, morning, move, waiting

LATER = NOW + timedelta(minutes=5)


@pytest.fixture
def ada(store: Store) -> Delivery:
    """The first of two deliveries that wait; the other is Grace's."""
    morning(store, {"ada": WAITS, "grace": WAITS})
    return waiting(store)[0]


def names(store: Store) -> list[str]:
    """Of those who wait, in their order."""
    return [left.copy.subscriber.address.partition("@")[0] for left in waiting(store)]


def test_reservation_is_made_once_and_again_after_a_crash(store: Store, ada: Delivery) -> None:
    assert store.ledger.reserve(ada, NOW)
    assert not store.ledger.reserve(ada, NOW)
    left = waiting(store)[0]
    assert left == replace(ada, state=DeliveryState.SENDING, attempts=1)
    assert store.ledger.reserve(left, NOW)
    assert waiting(store)[0].attempts == 2


def test_only_a_reserved_delivery_can_be_settled(store: Store, ada: Delivery) -> None:
    assert not store.ledger.settle(ada, DeliveryState.SENT, "250", NOW)
    assert store.ledger.unfinished() == 2


def test_settling_and_reserving_share_a_commit(store: Store, ada: Delivery) -> None:
    grace = waiting(store)[1]
    store.ledger.reserve(ada, NOW)
    with store.transaction(durable=False):
        assert store.ledger.settle(ada, DeliveryState.DEFERRED, "450 lost", NOW, uncertain=True)
        assert store.ledger.reserve(grace, NOW)
    settled, reserved = (store.ledger.get(delivery.id) for delivery in (ada, grace))
    assert settled == replace(
        ada, state=DeliveryState.DEFERRED, attempts=1, uncertain=1, reply="450 lost"
    )
    assert reserved == replace(grace, state=DeliveryState.SENDING, attempts=1)


def test_delivery_that_another_process_moved_is_neither_reserved_nor_settled(
    store: Store, ada: Delivery
) -> None:
    grace = waiting(store)[1]
    store.suppressions.add("grace@example.org", "", "by hand", NOW)
    assert not store.ledger.reserve(grace, NOW)
    assert not store.ledger.reserve(store.ledger.get(grace.id), NOW)
    store.ledger.reserve(ada, NOW)
    store.erasure.erase("ada@example.org", NOW)
    assert not store.ledger.settle(ada, DeliveryState.SENT, "250", NOW)
    assert store.ledger.get(ada.id).state is DeliveryState.AMBIGUOUS


def test_held_deliveries_wait_behind_the_others_and_their_attempt_does_not_count(
    store: Store, ada: Delivery
) -> None:
    """So that the next round begins with other recipients."""
    for reply, held, order in (
        ("RCPT: 554 5.7.1 denied", True, ["grace", "ada"]),
        ("told to stop", False, ["ada", "grace"]),
    ):
        store.ledger.reserve(ada, NOW)
        store.ledger.settle(ada, DeliveryState.PENDING, reply, NOW, undone=True, held=held)
        assert names(store) == order
        assert store.ledger.get(ada.id).attempts == 0


@pytest.mark.parametrize("how", ["sent", "bounced", "ambiguous", "suppressed"])
def test_settled_delivery_never_waits_again(store: Store, ada: Delivery, how: str) -> None:
    move(store, ada, how, NOW)
    assert not store.ledger.reserve(ada, NOW)
    assert not store.ledger.end(ada, DeliveryState.FAILED, "given up", NOW)
    assert len(store.ledger.waiting(NOW + timedelta(days=9))) == 1
    assert store.ledger.unfinished() == 1


def test_deferred_delivery_waits_for_its_retry_time(store: Store, ada: Delivery) -> None:
    assert (ada.frozen_at, ada.reply) == (NOW, "")
    store.ledger.reserve(ada, NOW)
    store.ledger.settle(ada, DeliveryState.DEFERRED, "450", NOW, try_at=LATER, uncertain=True)
    assert names(store) == ["grace"]
    assert waiting(store, LATER)[0] == replace(
        ada, state=DeliveryState.DEFERRED, attempts=1, uncertain=1, reply="450"
    )
    assert store.ledger.unfinished() == 2


def test_next_try_is_the_earliest_of_all(store: Store, ada: Delivery) -> None:
    for delivery, minutes in zip(waiting(store), (10, 5), strict=True):
        store.ledger.reserve(delivery, NOW)
        store.ledger.settle(
            delivery, DeliveryState.DEFERRED, "450", NOW, try_at=NOW + timedelta(minutes=minutes)
        )
    assert store.ledger.next_try(NOW) == LATER


@pytest.mark.parametrize("how", [WAITS, "deferred", "the server refused us"])
def test_waiting_delivery_can_expire_once(store: Store, ada: Delivery, how: str) -> None:
    move(store, ada, how, NOW)
    reply = "given up after three days; 450 later"
    assert store.ledger.end(store.ledger.get(ada.id), DeliveryState.FAILED, reply, NOW)
    ended = store.ledger.find(ada.frozen_id, "ADA@example.org")
    assert ended is not None
    assert (ended.state, ended.reply) == (DeliveryState.FAILED, reply)
    assert not store.ledger.end(ada, DeliveryState.FAILED, "again", NOW)
    assert store.ledger.unfinished() == 1
    assert store.ledger.find(ada.frozen_id, "nobody@example.org") is None


def test_server_backoff_holds_back_all_that_waits_except_by_hand(
    store: Store, ada: Delivery
) -> None:
    store.ledger.reserve(ada, NOW)
    store.ledger.settle(ada, DeliveryState.DEFERRED, "450", NOW, try_at=LATER)
    until = NOW + timedelta(minutes=15)
    grace = ada.id + 1
    store.ledger.postpone(until, NOW)
    assert store.ledger.waiting(until - timedelta(seconds=1)) == []
    assert store.ledger.waiting(NOW, by_hand=True) == [grace, ada.id], "her backoff is ignored, too"
    assert store.ledger.waiting(NOW - timedelta(days=9)) == [grace], "the clock was ahead"
    assert len(store.ledger.waiting(until)) == 2
    assert store.ledger.next_try(NOW) == until
    store.retry_now(NOW)
    assert store.ledger.waiting(NOW) == [grace]


def test_message_is_packed_once_to_less_than_a_third() -> None:
    composed = Composed("", "", next(iter(MAILS.values()))().message)
    packed = pack(composed)
    assert lzma.decompress(packed.message) == composed.message
    assert len(packed.message) < len(composed.message) / 3
    assert pack(packed) is packed
