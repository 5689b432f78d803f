"""Whom digests reached, and whom they did not."""

from collections.abc import Iterable
from datetime import date, timedelta
from zoneinfo import ZoneInfo

import pytest

from paperboy.models import MailingList, Subscriber
from paperboy.store import Store
from paperboy.store.reach import Reach
from tests.store.ledger import NOW, TODAY, WAITS, at, delivery, morning, move

YESTERDAY = TODAY - timedelta(days=1)
SINCE = NOW - timedelta(days=7)


def on(name: str, *who: str) -> MailingList:
    readers = tuple(Subscriber(f"{each}@example.org") for each in who)
    return MailingList(name, name, ("cs.LG",), "x", ZoneInfo("UTC"), subscribers=readers)


# --- in numbers


def test_of_no_digest(store: Store) -> None:
    assert store.deliveries.reach([]) == store.deliveries.reach([(on("foundations", "ada"), TODAY)]) == Reach()


@pytest.mark.parametrize(
    ("how", "reach"),
    [
        ("sent", Reach(2)),
        ("in the outbox", Reach(2)),
        ("refused", Reach(2, 1, failed=1, replies=("550 5.7.1 not today",))),
        ("expired", Reach(2, 1, failed=1, replies=("given up after three days",))),
        ("ambiguous", Reach(2, 1, ambiguous=1, replies=("connection lost",))),
        (WAITS, Reach(2, 1, wait=1)),
        ("a crash", Reach(2, 1, wait=1)),
        ("deferred", Reach(2, 1, wait=1, replies=("450 later",), try_at=NOW + timedelta(days=400))),
        (
            "the server refused us",
            Reach(2, 1, wait=1, replies=("530 log in first",), tried=NOW + timedelta(minutes=1)),
        ),
        ("suppressed", Reach(1)),
    ],
)
def test_how_one_of_two_fared(store: Store, how: str, reach: Reach) -> None:
    morning(store, {"ada": "sent", "grace": how})
    assert store.deliveries.reach([(on("foundations", "ada", "grace"), TODAY)]) == reach


def test_who_reads_several_lists_is_one_subscriber(store: Store) -> None:
    morning(store, {"ada": "refused", "grace": "sent"})
    morning(store, {"Ada": "deferred", "Grace": "refused", "vera": "sent"}, list_name="galaxies")
    both = [(on("foundations", "ada", "grace"), TODAY), (on("galaxies", "ADA", "grace", "vera"), TODAY)]
    found = store.deliveries.reach(both)
    assert (found.subscribers, found.missed, found.failed, found.wait) == (3, 2, 2, 1)
    assert store.deliveries.reach(both[:1]).subscribers == 2


def test_who_left_the_list_or_joined_it_since_is_not_counted(store: Store) -> None:
    """But for who had got it by then."""
    morning(store, {"ada": "sent", "grace": "refused", "hedy": "sent"})
    assert store.deliveries.reach([(on("foundations", "ada", "emmy"), TODAY)]) == Reach(2)


def test_only_of_the_days_that_are_asked_for(store: Store) -> None:
    morning(store, {"ada": "refused"}, YESTERDAY)
    morning(store, {"ada": "sent"})
    assert store.deliveries.reach([(on("foundations", "ada"), TODAY)]) == Reach(1)
    assert store.deliveries.reach([(on("foundations", "ada"), YESTERDAY)]).missed == 1


def test_of_a_superseded_digest_nobody_was_to_get_anything(store: Store) -> None:
    morning(store, {"ada": "refused"})
    store.days.supersede("foundations", TODAY + timedelta(days=1), NOW)
    assert store.deliveries.reach([(on("foundations", "ada"), TODAY)]) == Reach()


def test_the_outbox_is_told_from_mail(store: Store) -> None:
    morning(store, {"ada": "in the outbox", "grace": "in the outbox"})
    assert store.deliveries.reach([(on("foundations", "ada", "grace"), TODAY)]).in_outbox
    morning(store, {"ada": "in the outbox", "grace": "sent"}, TODAY + timedelta(days=1))
    assert not store.deliveries.reach([(on("foundations", "ada", "grace"), TODAY + timedelta(days=1))]).in_outbox


def test_replies_that_differ_only_in_the_address_are_one(store: Store) -> None:
    digest = morning(store, {"ada": WAITS, "grace": WAITS})
    for name in ("ada", "grace"):
        waiting = delivery(store, name, digest)
        assert store.deliveries.reserve(waiting, NOW)
        store.deliveries.settle(waiting, waiting.state.FAILED, f"550 <{name}@example.org> unknown", NOW, via="smtp")
    assert store.deliveries.reach([(on("foundations", "ada", "grace"), TODAY)]).replies == ("550 <…> unknown",)


# --- by name


def who(store: Store, since: date | None = None) -> list[tuple[str, str, str]]:
    rows = store.deliveries.undelivered(at(since) if since else SINCE)
    return [(row.list_name, row.address.partition("@")[0], row.state.value) for row in rows]


def test_who_lacks_the_newest_digest(store: Store) -> None:
    morning(
        store,
        {
            "ada": "sent",
            "boris": "refused",
            "carl": "ambiguous",
            "dora": "suppressed",
            "emmy": WAITS,
            "fay": "deferred",
        },
    )
    assert who(store) == [
        ("foundations", "boris", "failed"),
        ("foundations", "carl", "ambiguous"),
        ("foundations", "dora", "suppressed"),
        ("foundations", "emmy", "pending"),
        ("foundations", "fay", "deferred"),
    ]
    assert who(store, TODAY + timedelta(days=60)) == who(store)  # whenever that was


def test_of_earlier_digests_what_waits_and_what_failed_lately(store: Store) -> None:
    old, lately = TODAY - timedelta(days=9), TODAY - timedelta(days=3)
    for day in (old, lately):
        morning(store, {"ada": "refused", "boris": "expired", "carl": "deferred", "dora": "suppressed"}, day)
    morning(store, {"ada": "sent"})
    rows = store.deliveries.undelivered(SINCE)
    assert [(row.date, row.address[:1], row.given_up, row.newest) for row in rows] == [
        (lately, "a", False, False),
        (lately, "b", True, False),
        (lately, "c", False, False),
        (old, "c", False, False),
    ]


def test_when_it_was_given_up_counts_and_not_when_it_was_frozen(store: Store) -> None:
    digest = morning(store, {"ada": WAITS, "grace": "sent"}, TODAY - timedelta(days=9))
    morning(store, {"grace": "sent"})
    move(store, delivery(store, "ada", digest), "expired", at(TODAY - timedelta(days=6)))
    assert who(store) == [("foundations", "ada", "failed")]


def test_nothing_of_a_superseded_digest(store: Store) -> None:
    morning(store, {"ada": "refused", "grace": WAITS})
    store.days.supersede("foundations", TODAY + timedelta(days=1), NOW)
    assert who(store) == []


def test_the_newest_digests_come_first(store: Store) -> None:
    morning(store, {"vera": "refused"}, list_name="galaxies")
    morning(store, {"ada": "refused"}, YESTERDAY)
    morning(store, {"ada": "refused", "Ben": "refused"})
    dates_and_names: Iterable[tuple[date, str]] = (
        (row.date, row.address) for row in store.deliveries.undelivered(SINCE)
    )
    assert [(day, address[:1]) for day, address in dates_and_names] == [
        (TODAY, "B"),
        (TODAY, "a"),
        (TODAY, "v"),
        (YESTERDAY, "a"),
    ]


def test_only_what_is_deferred_has_an_hour_of_its_own(store: Store) -> None:
    digest = morning(store, {"ada": "deferred"})
    assert store.deliveries.undelivered(SINCE)[0].try_at == NOW + timedelta(days=400)
    assert store.deliveries.suppress(delivery(store, "ada", digest), "by hand", NOW)
    assert store.deliveries.undelivered(SINCE)[0].try_at is None
