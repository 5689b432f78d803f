"""Putting deliveries back, for `resend`: those that did not reach whom they were for, and no others."""

from collections.abc import Iterable
from datetime import date, timedelta

import pytest

from paperboy.models import LOCAL_SENDER, DeliveryState, MessageCopy
from paperboy.store import Store
from paperboy.store.ledger import WORTH_SENDING, Missed
from tests.store.ledger import NOW, TODAY, WAITS, copy_for, delivery, morning, states, waiting

LATER = NOW + timedelta(days=5)


def again(
    store: Store,
    to: Iterable[str],
    *,
    failed_only: bool = False,
    by_mail: bool = True,
    day: date = TODAY,
) -> int:
    people: list[MessageCopy] = [copy_for(name, day=day) for name in to]
    digest = store.ledger.newest("foundations")
    assert digest is not None
    return store.ledger.reset(
        digest, people, Missed.FAILED if failed_only else Missed.ANY, LATER, by_mail=by_mail
    )


@pytest.mark.parametrize(
    ("how", "put_back", "with_failed_only"),
    [
        ("sent", False, False),
        ("refused", True, True),
        ("bounced", True, True),
        ("expired", True, True),
        ("ambiguous", True, True),
        ("deferred", True, False),
        ("lost after the dot", True, False),
        ("suppressed", True, False),  # it was off the list, and is back
        ("in the outbox", True, False),
        (WAITS, False, False),  # it waits anyway
        ("a crash", False, False),
    ],
)
def test_resend_puts_back_what_did_not_reach_its_recipient(
    store: Store, how: str, *, put_back: bool, with_failed_only: bool
) -> None:
    digest = morning(store, {"ada": how, "grace": "sent"})
    before = delivery(store, "ada", digest)
    assert again(store, ["ada", "grace"], failed_only=True) == with_failed_only
    assert again(store, ["ada", "grace"]) == put_back - with_failed_only
    after = delivery(store, "ada", digest)
    assert (after.state is DeliveryState.PENDING) == (put_back or how == WAITS)
    assert after.copy == before.copy
    assert states(store, digest, "grace") == ["sent"]


def test_delivery_put_back_counts_as_never_tried_and_has_three_more_days(store: Store) -> None:
    digest = morning(store, {"ada": "lost after the dot"})
    again(store, ["ada"])
    (ada,) = waiting(store, LATER)
    assert (ada.frozen_id, ada.attempts, ada.uncertain, ada.expires) == (
        digest,
        0,
        0,
        LATER + WORTH_SENDING,
    )


def test_subscriber_who_joined_since_gets_a_delivery(store: Store) -> None:
    digest = morning(store, {"ada": "sent"})
    assert again(store, ["ada", "grace"], failed_only=True) == 0
    assert again(store, ["ada", "grace"]) == 1
    grace = delivery(store, "grace", digest)
    assert (grace.state, grace.copy) == (DeliveryState.PENDING, copy_for("grace"))
    assert grace.expires == LATER + WORTH_SENDING
    assert again(store, ["ada", "grace"]) == 0


def test_addresses_compare_whatever_their_case(store: Store) -> None:
    digest = morning(store, {"ada": "refused", "grace": "sent"})
    assert again(store, ["Ada", "GRACE"]) == 1
    assert states(store, digest, "ada", "grace") == ["pending", "sent"]
    assert len(store.ledger.waiting(LATER)) == 1


def test_only_the_newest_digest_of_the_list_is_put_back(store: Store) -> None:
    yesterday = morning(store, {"ada": "refused"}, TODAY - timedelta(days=1))
    today = morning(store, {"ada": "refused"})
    theirs = morning(store, {"ada": "refused"}, TODAY + timedelta(days=1), "galaxies")
    assert again(store, ["ada"]) == 1
    assert [states(store, digest, "ada") for digest in (yesterday, today, theirs)] == [
        ["failed"],
        ["pending"],
        ["failed"],
    ]


# --- what was given up of earlier digests


def given_up_again(store: Store, *names: str) -> dict[date, int]:
    people = [copy_for(name) for name in names]
    numbers = {
        digest.date: store.ledger.reset(digest, people, Missed.EXPIRED, LATER, by_mail=True)
        for digest in store.ledger.digests("foundations")
    }
    return {day: number for day, number in numbers.items() if number}


def test_recently_expired_deliveries_are_put_back_despite_newer_digests(store: Store) -> None:
    before = TODAY - timedelta(days=2)
    yesterday = TODAY - timedelta(days=1)
    first = morning(store, {"ada": "expired", "grace": "expired", "hedy": "sent"}, before)
    second = morning(store, {"ada": "expired", "grace": "refused", "hedy": "ambiguous"}, yesterday)
    today = morning(store, {"ada": "sent", "grace": "deferred", "hedy": "suppressed"})
    theirs = morning(store, {"ada": "expired"}, list_name="galaxies")
    assert given_up_again(store, "ada", "Grace", "hedy") == {before: 2, yesterday: 1}
    assert states(store, first, "ada", "grace", "hedy") == ["pending", "pending", "sent"]
    assert states(store, second, "ada", "grace", "hedy") == ["pending", "failed", "ambiguous"]
    assert states(store, today, "ada", "grace", "hedy") == ["sent", "deferred", "suppressed"]
    assert states(store, theirs, "ada") == ["failed"]
    assert given_up_again(store, "ada", "grace", "hedy") == {}
    anew = {left.expires for left in waiting(store, LATER) if left.frozen_id in {first, second}}
    assert anew == {LATER + WORTH_SENDING}


def test_digest_of_which_nothing_is_put_back_has_no_more_days(store: Store) -> None:
    digest = morning(store, {"ada": "deferred", "grace": "sent"})
    ends = delivery(store, "ada", digest).expires
    assert given_up_again(store, "ada", "grace") == {}
    assert delivery(store, "ada", digest).expires == ends


def test_expired_delivery_of_a_superseded_digest_is_not_put_back(store: Store) -> None:
    morning(store, {"ada": "expired"})
    store.days.supersede("foundations", TODAY + timedelta(days=1), LATER)
    assert given_up_again(store, "ada") == {}


def test_queue_can_be_narrowed_to_one_delivery(store: Store) -> None:
    digest = morning(store, {"ada": WAITS, "grace": WAITS})
    grace = delivery(store, "grace", digest)
    assert store.ledger.waiting(NOW, only=grace.id) == [grace.id]


@pytest.mark.parametrize(
    ("how", "sender", "is_offered"),
    [
        ("in the outbox", "papers@example.org", True),
        ("in the outbox", "papers@localhost", True),  # the operator's MAIL_FROM
        ("in the outbox", LOCAL_SENDER.address, False),  # which `resend` refuses
        ("sent", "papers@example.org", False),
    ],
)
def test_digests_in_the_outbox_are_offered_to_resend_unless_they_have_no_sender(
    store: Store, how: str, sender: str, *, is_offered: bool
) -> None:
    morning(store, {"ada": how}, sender=sender)
    assert store.ledger.only_in_outbox() == ["foundations"] * is_offered
