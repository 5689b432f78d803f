"""Putting deliveries back, for `resend`: those that did not reach whom they were for, and no others."""

from collections.abc import Iterable
from datetime import date, timedelta

import pytest

from paperboy.models import Addressed, DeliveryState
from paperboy.store import Store
from paperboy.store.deliveries import Missed
from tests.store.ledger import FOREVER, NOW, TODAY, WAITS, addressed, delivery, morning, states

LATER = NOW + timedelta(days=5)


def again(
    store: Store, to: Iterable[str], *, failed_only: bool = False, by_mail: bool = True, day: date = TODAY
) -> int:
    people: list[Addressed] = [addressed(name, day=day) for name in to]
    digest = store.deliveries.newest("foundations", FOREVER)
    assert digest is not None
    return store.deliveries.again(digest, people, Missed.FAILED if failed_only else Missed.ANY, LATER, by_mail=by_mail)


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
def test_what_is_put_back(store: Store, how: str, *, put_back: bool, with_failed_only: bool) -> None:
    digest = morning(store, {"ada": how, "grace": "sent"})
    before = delivery(store, "ada", digest)
    assert again(store, ["ada", "grace"], failed_only=True) == with_failed_only
    assert again(store, ["ada", "grace"]) == put_back - with_failed_only
    after = delivery(store, "ada", digest)
    assert (after.state is DeliveryState.PENDING) == (put_back or how == WAITS)
    assert after.addressed == before.addressed
    assert states(store, digest, "grace") == ["sent"]


def test_it_is_as_if_it_had_never_been_tried_and_has_its_three_days_anew(store: Store) -> None:
    digest = morning(store, {"ada": "lost after the dot"})
    again(store, ["ada"])
    (ada,) = store.deliveries.waiting(LATER)
    assert (ada.digest_id, ada.attempts, ada.uncertain, ada.frozen_at) == (digest, 0, 0, LATER)


def test_what_reached_the_outbox_reached_them_while_mail_goes_there(store: Store) -> None:
    morning(store, {"ada": "in the outbox"})
    assert again(store, ["ada"], by_mail=False) == 0
    assert again(store, ["ada"], by_mail=True) == 1


def test_who_left_the_list_gets_nothing(store: Store) -> None:
    digest = morning(store, {"ada": "refused", "grace": "refused"})
    assert again(store, ["grace"]) == 1
    assert states(store, digest, "ada", "grace") == ["failed", "pending"]


def test_who_joined_since_gets_it_too(store: Store) -> None:
    digest = morning(store, {"ada": "sent"})
    assert again(store, ["ada", "grace"], failed_only=True) == 0
    assert again(store, ["ada", "grace"]) == 1
    grace = delivery(store, "grace", digest)
    assert (grace.state, grace.addressed, grace.frozen_at) == (DeliveryState.PENDING, addressed("grace"), LATER)
    assert again(store, ["ada", "grace"]) == 0


def test_an_address_that_is_spelt_otherwise_now_is_the_same(store: Store) -> None:
    digest = morning(store, {"ada": "refused", "grace": "sent"})
    assert again(store, ["Ada", "GRACE"]) == 1
    assert states(store, digest, "ada", "grace") == ["pending", "sent"]
    assert len(store.deliveries.waiting(LATER)) == 1


def test_only_the_newest_digest_of_the_list_is_meant(store: Store) -> None:
    yesterday = morning(store, {"ada": "refused"}, TODAY - timedelta(days=1))
    today = morning(store, {"ada": "refused"})
    theirs = morning(store, {"ada": "refused"}, TODAY + timedelta(days=1), "galaxies")
    assert again(store, ["ada"]) == 1
    assert [states(store, digest, "ada") for digest in (yesterday, today, theirs)] == [
        ["failed"],
        ["pending"],
        ["failed"],
    ]


def test_a_superseded_digest_is_over(store: Store) -> None:
    """Its papers come with the next one, and would come twice."""
    morning(store, {"ada": "expired"})
    store.days.supersede("foundations", TODAY + timedelta(days=1), LATER)
    assert again(store, ["ada", "grace"]) == 0
    digest = store.deliveries.newest("foundations", FOREVER)
    assert digest is not None
    assert digest.superseded


# --- what was given up of earlier digests


def given_up_again(store: Store, *names: str, since: date = TODAY - timedelta(days=14)) -> dict[date, int]:
    people = [addressed(name) for name in names]
    numbers = {
        digest.date: store.deliveries.again(digest, people, Missed.EXPIRED, LATER, by_mail=True)
        for digest in store.deliveries.digests_since("foundations", since)
    }
    return {day: number for day, number in numbers.items() if number}


def test_what_was_given_up_lately_is_put_back_whatever_came_since(store: Store) -> None:
    before, yesterday = TODAY - timedelta(days=2), TODAY - timedelta(days=1)
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
    assert {each.frozen_at for each in store.deliveries.waiting(LATER)} == {LATER}  # three days anew


def test_what_was_given_up_and_told_is_put_back_too(store: Store) -> None:
    morning(store, {"ada": "expired", "grace": "sent"})
    store.deliveries.told()
    assert given_up_again(store, "ada") == {TODAY: 1}
    assert store.deliveries.untold() == ()


def test_what_was_given_up_long_ago_stays_so(store: Store) -> None:
    morning(store, {"ada": "expired", "grace": "sent"})
    assert given_up_again(store, "ada", since=TODAY + timedelta(days=1)) == {}
    assert given_up_again(store, "ada", since=TODAY) == {TODAY: 1}


def test_what_was_given_up_for_who_left_stays_so(store: Store) -> None:
    morning(store, {"grace": "expired", "hedy": "sent"})
    assert given_up_again(store, "ada", "hedy") == {}


def test_what_was_given_up_of_a_superseded_digest_stays_so(store: Store) -> None:
    morning(store, {"ada": "expired"})
    store.days.supersede("foundations", TODAY + timedelta(days=1), LATER)
    assert given_up_again(store, "ada") == {}


def test_one_delivery_can_be_sent_by_itself(store: Store) -> None:
    digest = morning(store, {"ada": WAITS, "grace": WAITS})
    grace = delivery(store, "grace", digest)
    assert store.deliveries.waiting(NOW, only=grace) == (grace,)
    assert store.deliveries.queue(NOW, only=grace)[0] == 1
