"""A digest that reached nobody by the list's next morning: its papers come back, and its mail does not."""

from datetime import date, timedelta

import pytest

from paperboy.models import DeliveryState, PaperOutcome
from paperboy.store import Store
from tests.builders import mailing_list, paper
from tests.store.ledger import NOW, TODAY, WAITS, at, delivery, morning, move, states

LATER = NOW + timedelta(days=99)

TOMORROW = TODAY + timedelta(days=1)
SAW = {
    "2611.00001": PaperOutcome.AUTHOR_MATCH,
    "2611.00002": PaperOutcome.SELECTED,
    "2611.00003": PaperOutcome.OVER_CAP,
    "2611.00004": PaperOutcome.BELOW,
    "2611.00005": PaperOutcome.LET_GO,
}


def supersede(store: Store, before: date = TOMORROW) -> date | None:
    return store.days.supersede("foundations", before, at(before))


def unseen(store: Store) -> list[str]:
    return [entry.id for entry in store.papers.unseen(mailing_list())]


def test_superseded_papers_return_to_the_pool_except_let_go_and_before_start(store: Store) -> None:
    store.papers.add([paper(f"2611.{number:05}") for number in range(1, 8)], ["cs.LG"], NOW)
    store.days.begin("foundations", {"cs.LG"}, ["2611.00006"], TODAY, NOW)
    morning(store, {"ada": WAITS}, became=SAW)
    assert unseen(store) == ["2611.00007"]
    assert supersede(store) == TODAY
    assert unseen(store) == ["2611.00001", "2611.00002", "2611.00003", "2611.00004", "2611.00007"]


def test_papers_seen_on_another_day_or_list_stay_seen(store: Store) -> None:
    store.papers.add([paper("2611.00001"), paper("2611.00002")], ["cs.LG"], NOW)
    morning(
        store,
        {"ada": "sent"},
        TODAY - timedelta(days=1),
        became={"2611.00001": PaperOutcome.SELECTED},
    )
    morning(store, {"ada": WAITS}, became={"2611.00002": PaperOutcome.SELECTED})
    morning(store, {"vera": WAITS}, TODAY, "galaxies", became={"2611.00002": PaperOutcome.SELECTED})
    supersede(store)
    assert unseen(store) == ["2611.00002"]
    galaxies = [entry.id for entry in store.papers.unseen(mailing_list(name="galaxies"))]
    assert galaxies == ["2611.00001"]


def test_superseded_deliveries_fail_and_failed_ones_keep_their_reply(store: Store) -> None:
    digest = morning(
        store, {"ada": WAITS, "grace": "deferred", "vera": "refused", "emmy": "suppressed"}
    )
    supersede(store)
    assert states(store, digest, "ada", "grace", "vera", "emmy") == [
        "failed",
        "failed",
        "failed",
        "suppressed",
    ]
    reasons = [
        store.history.deliveries_to(f"{name}@example.org", NOW)[0].reason
        for name in ("ada", "vera")
    ]
    assert reasons == [
        "superseded: its papers come with the list's next digest",
        "550 5.7.1 not today",
    ]
    assert store.ledger.unfinished() == 0


@pytest.mark.parametrize(
    ("reason", "then"),
    [
        ("", "reached nobody; superseded"),
        ("the LLM does not answer.", "the LLM does not answer; reached nobody; superseded"),
    ],
)
def test_superseded_day_says_so_and_keeps_its_counts(store: Store, reason: str, then: str) -> None:
    morning(store, {"ada": WAITS}, became=SAW, reason=reason)
    (before,) = store.history.days(["foundations"])["foundations"]
    supersede(store)
    (after,) = store.history.days(["foundations"])["foundations"]
    assert after.reason == then
    assert store.database.column("select reason from days") == [reason], "as it was recorded"
    assert (after.outcome, after.counts, after.spending) == (
        before.outcome,
        before.counts,
        before.spending,
    )
    assert after.deliveries == {DeliveryState.FAILED: 1}


@pytest.mark.parametrize(
    "how", ["sent", "in the outbox", "ambiguous", "lost after the dot", "a crash"]
)
def test_digest_that_reached_somebody_or_may_have_is_not_superseded(store: Store, how: str) -> None:
    """Whose connection was lost after the dot, or whose process died, may have it."""
    digest = morning(store, {"ada": how, "grace": "deferred"}, became=SAW)
    assert supersede(store) is None
    assert states(store, digest, "grace") == ["deferred"]


@pytest.mark.parametrize(
    "came",
    [
        *(
            {"ada": how, "grace": "bounced", "vera": "suppressed"}
            for how in (WAITS, "deferred", "refused", "expired")
        ),
        {"ada": "the server refused us", "grace": "bounced", "vera": "suppressed"},
        {
            "ada": "bounced",
            "grace": "bounced",
        },  # a server that has lost its directory says so of everybody
        {
            "ada": "suppressed",
            "grace": "suppressed",
        },  # they left: those who are there now get its papers
    ],
)
def test_digest_that_could_have_reached_somebody_is_superseded(
    store: Store, came: dict[str, str]
) -> None:
    morning(store, came)
    assert supersede(store) == TODAY


@pytest.mark.parametrize(
    "came", [{"ada": "bounced"}, {"ada": "suppressed"}, {"ada": "bounced", "grace": "suppressed"}]
)
def test_digest_whose_addresses_are_all_dead_or_suppressed_is_not_superseded(
    store: Store, came: dict[str, str]
) -> None:
    """Else a list with a single dead address would have the same papers forever."""
    morning(store, came)
    for name in (name for name, how in came.items() if how == "suppressed"):
        store.suppressions.add(f"{name}@example.org", "", "by hand", NOW)
    assert supersede(store) is None


def test_digest_is_superseded_once_and_not_on_its_own_day(store: Store) -> None:
    assert supersede(store) is None  # there is none
    morning(store, {"ada": WAITS})
    assert supersede(store, TODAY) is None
    assert supersede(store) == TODAY
    assert supersede(store) is None


def test_all_digests_since_the_last_that_reached_somebody_are_superseded(store: Store) -> None:
    monday = TODAY - timedelta(days=4)
    long_ago = morning(store, {"ada": "expired"}, monday - timedelta(days=2))
    morning(store, {"ada": "sent", "grace": "refused"}, monday - timedelta(days=1))
    week = [
        morning(store, {"ada": WAITS, "grace": WAITS}, monday + timedelta(days=days))
        for days in range(5)
    ]
    assert supersede(store) == TODAY
    assert {state for digest in week for state in states(store, digest, "ada", "grace")} == {
        "failed"
    }
    assert store.ledger.unfinished() == 0
    assert "superseded" not in delivery(store, "ada", long_ago).reply
    reasons = [day.reason for day in store.history.days(["foundations"], 7)["foundations"]]
    assert reasons == ["reached nobody; superseded"] * 5 + ["", ""]


def test_later_digest_with_nobody_to_reach_keeps_its_papers(store: Store) -> None:
    store.papers.add([paper("2611.00001"), paper("2611.00002")], ["cs.LG"], NOW)
    yesterday = TODAY - timedelta(days=1)
    morning(store, {"ada": "refused"}, yesterday, became={"2611.00001": PaperOutcome.SELECTED})
    morning(store, {"ada": "bounced"}, became={"2611.00002": PaperOutcome.SELECTED})
    assert supersede(store) == yesterday
    assert unseen(store) == ["2611.00001"]


def test_uncertain_digest_is_superseded_once_it_certainly_failed(store: Store) -> None:
    digest = morning(store, {"ada": "a crash"})
    assert supersede(store) is None
    ada = delivery(store, "ada", digest)
    store.ledger.settle(ada, ada.state.PENDING, "connection refused", NOW)
    morning(store, {"ada": WAITS}, TOMORROW)
    assert supersede(store, TOMORROW + timedelta(days=1)) == TOMORROW
    assert states(store, digest, "ada") == ["failed"]


def test_superseded_digest_has_reached_nobody_for_the_last_reason(store: Store) -> None:
    """The last word of a server; of a try that was not made, that it was not."""
    yesterday = morning(
        store, {"ada": "refused", "vera": WAITS, "emmy": "suppressed"}, TODAY - timedelta(days=1)
    )
    move(store, delivery(store, "vera", yesterday), "deferred", NOW)
    morning(store, {"ada": WAITS})
    supersede(store)
    (unreached,) = store.history.unreached(["foundations"])
    assert (unreached.subject, unreached.facts["back"], unreached.reason) == (
        "foundations",
        True,
        "450 later",
    )
    assert unreached.last == at(TOMORROW)
