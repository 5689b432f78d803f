"""Who must not get mail: looked up by list and address, told once, and lifted one by one."""

from dataclasses import replace
from datetime import timedelta

import pytest

from paperboy.models import Suppression
from paperboy.store import Store
from tests.store.ledger import NOW, TODAY, WAITS, delivery, morning, states


def reason(store: Store, list_name: str, address: str) -> str:
    found = store.suppressions.find(list_name, address)
    return found.reason if found else ""


def test_first_suppression_for_all_lists_holds_for_every_list_and_spelling(store: Store) -> None:
    assert store.suppressions.add("Ada@Example.org", "", "no such user", NOW)
    assert not store.suppressions.add("ada@example.org", "", "by hand", NOW + timedelta(days=1))
    assert reason(store, "foundations", "ADA@example.ORG") == "no such user"
    assert store.suppressions.all() == [Suppression("ada@example.org", "", "no such user", NOW)]


def test_lifted_suppression_can_be_made_again(store: Store) -> None:
    store.suppressions.add("ada@example.org", "", "no such user", NOW)
    assert store.suppressions.lift("ADA@example.org", "", NOW)
    assert not store.suppressions.lift("ada@example.org", "", NOW)
    assert store.suppressions.all() == []
    assert reason(store, "foundations", "ada@example.org") == ""
    assert store.suppressions.add("ada@example.org", "", "by hand", NOW + timedelta(days=1))
    assert store.suppressions.all() == [
        Suppression("ada@example.org", "", "by hand", NOW + timedelta(days=1))
    ]


def test_suppression_for_a_list_outlives_the_one_for_all(store: Store) -> None:
    """Who asked to leave a list stays away from it when a bounce is forgiven."""
    store.suppressions.add("ada@example.org", "foundations", "asked to leave", NOW)
    store.suppressions.add("ada@example.org", "", "no such user", NOW)
    assert reason(store, "foundations", "ada@example.org") == "no such user"
    store.suppressions.lift("ada@example.org", "", NOW)
    assert reason(store, "foundations", "ada@example.org") == "asked to leave"
    assert reason(store, "galaxies", "ada@example.org") == ""


def test_suppression_takes_out_waiting_deliveries_only(store: Store) -> None:
    yesterday = morning(store, {"ada": "deferred", "grace": "deferred"}, TODAY - timedelta(days=1))
    today = morning(store, {"Ada": WAITS, "grace": WAITS})
    store.suppressions.add("ada@example.org", "", "no such user", NOW)
    assert states(store, yesterday, "ada", "grace") == ["suppressed", "deferred"]
    assert states(store, today, "ada", "grace") == ["suppressed", "pending"]
    assert delivery(store, "ada", today).reply == "no such user"


@pytest.mark.parametrize("how", ["sent", "bounced", "ambiguous", "expired"])
def test_suppression_leaves_settled_deliveries_alone(store: Store, how: str) -> None:
    digest = morning(store, {"ada": how})
    before = delivery(store, "ada", digest)
    store.suppressions.add("ada@example.org", "", "by hand", NOW)
    assert replace(delivery(store, "ada", digest), suppressed=None) == before


def test_suppression_leaves_a_delivery_under_way_alone(store: Store) -> None:
    """Another process is sending it just now, and will say what became of it."""
    digest = morning(store, {"ada": "a crash"})
    ada = delivery(store, "ada", digest)
    store.suppressions.add("ada@example.org", "", "by hand", NOW)
    assert store.ledger.settle(ada, ada.state.SENT, "250 ok", NOW, via="smtp")


def test_suppression_for_a_list_takes_out_that_lists_deliveries_alone(store: Store) -> None:
    ours = morning(store, {"ada": WAITS})
    theirs = morning(store, {"ada": WAITS}, list_name="galaxies")
    store.suppressions.add("ada@example.org", "galaxies", "by hand", NOW)
    assert states(store, ours, "ada") == ["pending"]
    assert states(store, theirs, "ada") == ["suppressed"]
