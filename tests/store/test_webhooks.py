"""The ledger of webhooks: each call is written down before it is made and after it, and goes with its digest."""

from __future__ import annotations

from datetime import timedelta

import pytest

from paperboy.models import Composed, Day, DeliveryState, Outcome
from paperboy.store import Store
from paperboy.store.webhooks import Call
from tests.store.ledger import NOW, TODAY, addressed

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def frozen(store: Store, days_ago: int = 0, list_name: str = "foundations", *, webhook: bool = True) -> int:
    """The digest of a day, of a list that has a webhook; gives its id."""
    day = TODAY - days_ago * DAY
    mail = Composed("3 new papers", "papers@example.org", b"mail", shown=b"{}")
    to = (addressed("ada", list_name, day),)
    made = Day(list_name, day, Outcome.DIGEST, composed=mail, addressed=to, webhook=webhook)
    store.days.freeze(made, NOW - days_ago * DAY)
    return next(digest.id for digest in store.deliveries.digests(list_name) if digest.date == day)


def call_of(store: Store, digest_id: int) -> Call:
    call = store.webhooks.get(digest_id)
    assert call
    return call


def test_call_is_frozen_with_its_digest_and_waits_at_once(store: Store) -> None:
    frozen(store, list_name="galaxies", webhook=False)
    assert not store.webhooks.waiting(NOW)
    digest_id = frozen(store)
    assert store.webhooks.waiting(NOW)
    assert store.webhooks.waiting(NOW) == (digest_id,)
    call = call_of(store, digest_id)
    assert (call.list_name, call.date, call.subject, call.shown) == ("foundations", TODAY, "3 new papers", b"{}")
    assert (call.state, call.attempts, call.frozen_at) == (DeliveryState.PENDING, 0, NOW)


def test_call_is_reserved_once(store: Store) -> None:
    call = call_of(store, frozen(store))
    assert store.webhooks.reserve(call, NOW, NOW + MINUTE)
    assert not store.webhooks.reserve(call, NOW, NOW + MINUTE)


def test_call_that_a_crash_left_behind_waits_for_its_next_try(store: Store) -> None:
    digest_id = frozen(store)
    store.webhooks.reserve(call_of(store, digest_id), NOW, NOW + MINUTE)
    assert not store.webhooks.waiting(NOW)
    assert store.webhooks.waiting(NOW + MINUTE) == (digest_id,)
    assert store.webhooks.reserve(call_of(store, digest_id), NOW + MINUTE, NOW + 2 * MINUTE)
    assert call_of(store, digest_id).attempts == 2


@pytest.mark.parametrize("state", [DeliveryState.SENT, DeliveryState.FAILED])
def test_settled_call_never_changes(store: Store, state: DeliveryState) -> None:
    call = call_of(store, frozen(store))
    store.webhooks.reserve(call, NOW, NOW + MINUTE)
    assert store.webhooks.settle(call, state, "HTTP 200", NOW)
    assert not store.webhooks.settle(call, DeliveryState.PENDING, "HTTP 500", NOW)
    assert not store.webhooks.reserve(call_of(store, call.digest_id), NOW + DAY, NOW + DAY)
    assert store.webhooks.waiting(NOW + DAY) == ()


def test_edit_of_the_files_ends_the_retry_backoff(store: Store) -> None:
    call = call_of(store, frozen(store))
    store.webhooks.settle(call, DeliveryState.PENDING, "HTTP 500", NOW, NOW + DAY)
    assert not store.webhooks.waiting(NOW)
    store.retry_now(NOW)
    assert store.webhooks.waiting(NOW)


def test_newest_call_of_each_list_is_known(store: Store) -> None:
    frozen(store, 1)
    newest, other = frozen(store), frozen(store, 1, "galaxies")
    found = store.webhooks.newest(["foundations", "galaxies", "unknown"])
    assert {name: call.digest_id for name, call in found.items()} == {"foundations": newest, "galaxies": other}
    assert store.webhooks.newest(["unknown"]) == {}


def test_nobody_is_told_of_a_digest_that_reached_nobody_and_is_superseded(store: Store) -> None:
    digest_id = frozen(store, 1)
    assert store.days.supersede("foundations", TODAY, NOW) == TODAY - DAY
    assert not store.webhooks.waiting(NOW)
    assert store.webhooks.get(digest_id) is None


def test_call_goes_with_its_digest(store: Store) -> None:
    digest_id = frozen(store, 40)
    for delivery in store.deliveries.waiting(NOW):
        store.deliveries.end(store.deliveries.get(delivery), DeliveryState.SUPPRESSED, "left", NOW)
    frozen(store)
    store.retention.thin(timedelta(days=31), ["foundations"], NOW)
    assert store.webhooks.get(digest_id) is None
    assert store.webhooks.newest(["foundations"])["foundations"].date == TODAY


def test_digest_without_a_link_is_not_in_the_archive_though_its_webhook_is_told_of_it(store: Store) -> None:
    frozen(store)
    assert store.archive.of("foundations", TODAY) is None
    assert store.archive.newest("foundations", 9) == ()


def test_wait_of_a_clock_that_was_ahead_ends(store: Store) -> None:
    ahead = NOW + 400 * DAY
    digest_id = frozen(store)
    store.webhooks.reserve(call_of(store, digest_id), ahead, ahead + MINUTE)
    assert store.settle_clock(NOW)
    assert store.webhooks.waiting(NOW) == (digest_id,)
