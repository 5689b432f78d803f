"""An address that does not exist, in three digests running: what counts, and what does not."""

from datetime import timedelta

import pytest

from paperboy.store import Store
from paperboy.store.ledger import Missed
from tests.store.ledger import NOW, TODAY, WAITS, at, delivery, morning, move

ADA = {"ada@example.org": "550 5.1.1 no such user"}


def mornings(store: Store, *came: str, others: str = "sent") -> None:
    """What came of Ada's copy on the days up to today; and of Grace's."""
    for number, how in enumerate(came):
        morning(store, {"ada": how, "grace": others}, TODAY + timedelta(days=number - len(came)))


def test_three_bounces_running_are_reported_with_the_last_reply(store: Store) -> None:
    mornings(store, "bounced", "bounced")
    assert store.suppressions.bounced_thrice() == {}
    digest = morning(store, {"ada": WAITS, "grace": "sent"})
    ada = delivery(store, "ada", digest)
    reply = "550 5.1.1 gone since 1852"
    store.ledger.reserve(ada, NOW)
    store.ledger.settle(ada, ada.state.FAILED, reply, NOW, via="smtp", bounce=True)
    assert store.suppressions.bounced_thrice() == {"ada@example.org": reply}


@pytest.mark.parametrize(
    "came",
    [
        ("bounced", "bounced", "sent", "bounced"),
        ("bounced", "bounced", "bounced", "sent"),
        ("bounced", "bounced", "refused", "bounced"),
        ("bounced", "bounced", "ambiguous", "bounced"),
        ("bounced", "bounced", "expired", "bounced"),
        ("bounced", "bounced", "in the outbox", "bounced"),
    ],
)
def test_any_other_outcome_ends_a_run_of_bounces(store: Store, came: tuple[str, ...]) -> None:
    mornings(store, *came)
    assert store.suppressions.bounced_thrice() == {}


@pytest.mark.parametrize(
    "how",
    [WAITS, "a crash", "deferred", "lost after the dot", "the server refused us", "suppressed"],
)
def test_waiting_or_suppressed_delivery_counts_neither_way(store: Store, how: str) -> None:
    mornings(store, "bounced", how, "bounced")
    assert store.suppressions.bounced_thrice() == {}
    morning(store, {"ada": "bounced", "grace": "sent"})
    assert store.suppressions.bounced_thrice() == ADA


@pytest.mark.parametrize("others", ["bounced", "refused", "deferred", "ambiguous", "in the outbox"])
def test_bounce_counts_only_if_the_digest_reached_somebody_else_by_mail(
    store: Store, others: str
) -> None:
    """Else it may be the server that knows nobody; and it is no sign of life either."""
    mornings(store, "bounced", "bounced", "bounced", others=others)
    assert store.suppressions.bounced_thrice() == {}


def test_bounce_of_a_digest_that_reached_nobody_does_not_end_the_run(store: Store) -> None:
    mornings(store, "bounced", "bounced")
    morning(store, {"ada": "bounced", "grace": "refused"})
    assert store.suppressions.bounced_thrice() == {}
    morning(store, {"ada": "bounced", "grace": "sent"}, TODAY + timedelta(days=1))
    assert store.suppressions.bounced_thrice() == ADA


@pytest.mark.parametrize("came", ["bounced", "refused", WAITS])
def test_superseded_digest_counts_neither_way(store: Store, came: str) -> None:
    mornings(store, "bounced", "bounced")
    morning(store, {"ada": came, "grace": WAITS})
    assert (
        store.days.supersede("foundations", TODAY + timedelta(days=1), NOW + timedelta(days=1))
        == TODAY
    )
    assert store.suppressions.bounced_thrice() == {}
    morning(store, {"ada": "bounced", "grace": "sent"}, TODAY + timedelta(days=1))
    assert store.suppressions.bounced_thrice() == ADA


def test_bounces_count_over_all_lists_and_spellings(store: Store) -> None:
    morning(store, {"ada": "bounced", "grace": "sent"}, TODAY - timedelta(days=1))
    morning(store, {"Ada": "bounced", "vera": "sent"}, TODAY - timedelta(days=1), "galaxies")
    morning(store, {"ADA": "bounced", "grace": "sent"})
    assert (
        store.suppressions.bounced_thrice() == {}
    )  # three digests, and two days: it may have been one bad hour
    morning(store, {"ada": "bounced", "vera": "sent"}, TODAY + timedelta(days=1), "galaxies")
    assert store.suppressions.bounced_thrice() == ADA
    morning(store, {"ada": "sent", "vera": "sent"}, TODAY + timedelta(days=2), "galaxies")
    assert store.suppressions.bounced_thrice() == {}


def test_address_suppressed_for_all_lists_is_not_reported_again(store: Store) -> None:
    mornings(store, "bounced", "bounced", "bounced")
    store.suppressions.add("ada@example.org", "galaxies", "by hand", NOW)
    assert store.suppressions.bounced_thrice() == ADA
    store.suppressions.add("Ada@example.org", "", "no such user", NOW)
    assert store.suppressions.bounced_thrice() == {}


@pytest.mark.parametrize("list_name", ["", "foundations"])
def test_bounces_before_a_lifted_suppression_do_not_count(store: Store, list_name: str) -> None:
    mornings(store, "bounced", "bounced", "bounced")
    store.suppressions.add("ada@example.org", list_name, "no such user", NOW)
    store.suppressions.lift("ada@example.org", list_name, NOW)
    assert store.suppressions.bounced_thrice() == {}
    for days in range(1, 4):
        assert store.suppressions.bounced_thrice() == {}
        morning(store, {"ada": "bounced", "grace": "sent"}, TODAY + timedelta(days=days))
    assert store.suppressions.bounced_thrice() == ADA


def test_bounce_in_the_second_of_the_lift_does_not_count(store: Store) -> None:
    mornings(store, "bounced", "bounced")
    morning(store, {"ada": "bounced", "grace": "sent"})
    last = at(TODAY) + timedelta(minutes=1)
    store.suppressions.add("ada@example.org", "", "no such user", last)
    store.suppressions.lift("ada@example.org", "", last)
    for days in (1, 2):
        morning(store, {"ada": "bounced", "grace": "sent"}, TODAY + timedelta(days=days))
    assert store.suppressions.bounced_thrice() == {}


def test_old_bounces_do_not_count_after_another_suppression(store: Store) -> None:
    mornings(store, "bounced", "bounced", "bounced")
    store.suppressions.add("ada@example.org", "galaxies", "by hand", NOW)
    store.suppressions.lift("ada@example.org", "galaxies", NOW)
    store.suppressions.add("ada@example.org", "galaxies", "by hand", NOW + timedelta(days=1))
    assert store.suppressions.bounced_thrice() == {}


@pytest.mark.parametrize("how", ["sent", "refused", "expired"])
def test_resend_forgets_the_bounce(store: Store, how: str) -> None:
    """Which `resend` makes: what counts is what came of that."""
    mornings(store, "bounced", "bounced", "bounced")
    digest = store.ledger.newest("foundations")
    assert digest is not None
    ada = delivery(store, "ada", digest.id).copy
    assert store.ledger.reset(digest, [ada], Missed.FAILED, NOW, by_mail=True) == 1
    assert store.suppressions.bounced_thrice() == {}
    move(store, delivery(store, "ada", digest.id), how, at(TODAY))
    assert store.suppressions.bounced_thrice() == {}
