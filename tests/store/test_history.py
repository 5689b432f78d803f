"""Read models: what days came to, whom digests reached, and what became of one paper."""

from datetime import date, datetime, timedelta

import pytest

from paperboy.models import (
    Cost,
    Counts,
    Day,
    DeliveryState,
    Outcome,
    PaperOutcome,
    Score,
    Spending,
    Usage,
)
from paperboy.store import Store
from paperboy.store.history import NewestDigest, PaperHistory
from tests.builders import added, paper
from tests.store.ledger import NOW, TODAY, WAITS, at, delivery, keep_scores, morning, move

YESTERDAY = TODAY - timedelta(days=1)
SINCE = NOW - timedelta(days=7)


# --- days


def test_list_has_its_last_days_newest_first(store: Store) -> None:
    """With what they cost and how their digests were delivered."""
    for number in (3, 2, 1):
        day = TODAY - timedelta(days=number)
        store.days.freeze(Day("foundations", day, Outcome.QUIET, f"{number}"), at(day))
    spent = Spending(Usage(1, 100, 20, 0, 30, 5), Cost(0.1, 0.2))
    keep_scores(store, spending=spent)
    keep_scores(store, spending=spent)
    morning(store, {"ada": "sent", "grace": "sent", "vera": "refused"})
    newest, before = store.history.days(["foundations", "unheard-of"], 2)["foundations"]
    assert (newest.date, newest.outcome) == (TODAY, Outcome.DIGEST)
    assert newest.deliveries == {DeliveryState.SENT: 2, DeliveryState.FAILED: 1}
    assert newest.spending == Spending(Usage(2, 200, 40, 0, 60, 10), Cost(0.2, 0.4))
    assert (before.outcome, before.reason, before.spending, before.deliveries) == (
        Outcome.QUIET,
        "1",
        Spending(),
        {},
    )
    assert list(store.history.days(["foundations"])) == ["foundations"]


def test_day_that_cost_something_unknown_has_no_cost(store: Store) -> None:
    for cost in (Cost(0.1), None):
        keep_scores(store, spending=Spending(Usage(1, 100), cost))
    store.days.freeze(Day("foundations", TODAY, Outcome.NOTE, counts=Counts(9, below=9)), NOW)
    (day,) = store.history.days(["foundations"])["foundations"]
    assert (day.spending, day.counts.below) == (Spending(Usage(2, 200), None), 9)


# --- whom digests reached


def who(store: Store, since: datetime = SINCE) -> list[tuple[str, str, str]]:
    rows = store.history.undelivered(newest(store), since)
    return [(row.list_name, row.address.partition("@")[0], row.state.value) for row in rows]


def newest(store: Store) -> set[int]:
    return {
        digest.digest_id for digest in store.history.mailed(["foundations", "galaxies"]).values()
    }


def test_newest_digest_of_a_list_is_the_last_unless_it_was_superseded(store: Store) -> None:
    assert store.history.mailed(["foundations"]) == {}
    morning(store, {"ada": "sent"}, YESTERDAY)
    digest = morning(store, {"ada": "refused"})
    assert store.history.mailed(["foundations", "galaxies"]) == {
        "foundations": NewestDigest("foundations", digest, TODAY, {DeliveryState.FAILED: 1}, 0)
    }
    store.days.supersede("foundations", TODAY + timedelta(days=1), NOW)
    assert store.history.mailed(["foundations"]) == {}


def test_undelivered_lists_everybody_without_the_newest_digest(store: Store) -> None:
    came = {
        "boris": "refused",
        "carl": "ambiguous",
        "dora": "suppressed",
        "emmy": WAITS,
        "fay": "deferred",
    }
    morning(store, {"ada": "sent", **came})
    states = ("failed", "ambiguous", "suppressed", "pending", "deferred")
    assert who(store) == [
        ("foundations", name, state) for name, state in zip(came, states, strict=True)
    ]
    assert who(store, NOW + timedelta(days=60)) == who(store)  # whenever that was


def test_undelivered_lists_waiting_and_recently_failed_mail_of_earlier_digests(
    store: Store,
) -> None:
    old = TODAY - timedelta(days=9)
    lately = TODAY - timedelta(days=3)
    for day in (old, lately):
        morning(
            store,
            {"ada": "refused", "boris": "expired", "carl": "deferred", "dora": "suppressed"},
            day,
        )
    morning(store, {"ada": "sent"})
    rows = store.history.undelivered(newest(store), SINCE)
    assert [(row.date, row.address[:1], row.given_up, row.newest) for row in rows] == [
        (lately, "a", False, False),
        (lately, "b", True, False),
        (lately, "c", False, False),
        (old, "c", False, False),
    ]


def test_failure_is_as_old_as_its_last_try_and_not_as_its_digest(store: Store) -> None:
    digest = morning(store, {"ada": WAITS, "grace": "sent"}, TODAY - timedelta(days=9))
    morning(store, {"grace": "sent"})
    move(store, delivery(store, "ada", digest), "expired", at(TODAY - timedelta(days=6)))
    assert who(store) == [("foundations", "ada", "failed")]


def test_superseded_digest_lacks_nobody(store: Store) -> None:
    morning(store, {"ada": "refused", "grace": WAITS})
    store.days.supersede("foundations", TODAY + timedelta(days=1), NOW)
    assert who(store) == []


def test_untried_delivery_has_the_servers_last_refusal(store: Store) -> None:
    morning(store, {"ada": "the server refused us", "boris": WAITS, "carl": "refused"})
    rows = store.history.undelivered(newest(store), SINCE)
    assert [(row.reply, row.reason) for row in rows] == [
        ("530 log in first", "530 log in first"),
        ("", "530 log in first"),
        ("550 5.7.1 not today", "550 5.7.1 not today"),
    ]


@pytest.mark.parametrize(("how", "later"), [("deferred", True), (WAITS, False), ("a crash", False)])
def test_waiting_delivery_has_a_next_try(store: Store, how: str, *, later: bool) -> None:
    digest = morning(store, {"ada": how, "boris": "refused"})
    waits, failed = store.history.undelivered({digest}, SINCE)
    assert waits.next_try(NOW) == (NOW + timedelta(days=400) if later else NOW)
    assert failed.next_try(NOW) is None


# --- one paper


def test_paper_is_remembered_with_its_scores_and_what_became_of_it(store: Store) -> None:
    assert store.history.paper("2611.00001") is None
    store.papers.add([paper()], ["cs.LG"], NOW)
    assert store.history.paper("2611.00001") == (paper(), NOW)
    assert store.history.of_paper("foundations", "2611.00001") == PaperHistory()
    for days, relevance in ((0, 5), (1, 9)):
        scores = {"2611.00001": Score(relevance, 7, "Why.")}
        store.scores.keep(
            "foundations",
            f"criteria {days}",
            "luna",
            scores,
            Spending(),
            NOW + timedelta(days=days),
        )
    life = store.history.of_paper("foundations", "2611.00001")
    assert [(kept.score.relevance, kept.at) for kept in life.scores] == [
        (9, NOW + timedelta(days=1)),
        (5, NOW),
    ]
    assert (life.scores[1].score, life.scores[1].model, life.became) == (
        Score(5, 7, "Why."),
        "luna",
        None,
    )
    morning(
        store, {"ada": "sent", "grace": "refused"}, became={"2611.00001": PaperOutcome.SELECTED}
    )
    life = store.history.of_paper("foundations", "2611.00001")
    assert (life.became, life.day) == (PaperOutcome.SELECTED, TODAY)
    assert life.deliveries == {DeliveryState.SENT: 1, DeliveryState.FAILED: 1}
    assert store.history.of_paper("galaxies", "2611.00001") == PaperHistory()


def test_failed_scorings_of_a_paper_are_counted_until_the_list_has_seen_it(store: Store) -> None:
    refused = frozenset({"2611.00001"})
    for day in (20, 21):
        store.days.freeze(Day("foundations", date(2026, 11, day), Outcome.NOTE, tried=refused), NOW)
    assert store.history.of_paper("foundations", "2611.00001").failures == 2
    assert store.history.of_paper("galaxies", "2611.00001").failures == 0
    gone = {"2611.00001": PaperOutcome.LET_GO}
    store.days.freeze(
        Day("foundations", date(2026, 11, 22), Outcome.NOTE, outcomes=gone, tried=refused), NOW
    )
    assert store.history.of_paper("foundations", "2611.00001") == PaperHistory(
        (), 0, PaperOutcome.LET_GO, date(2026, 11, 22), None
    )


# --- months

SPENT = Spending(Usage(1, 1000, 100, 10, 50, 20), Cost(0.01, 0.002))


def spend(
    store: Store, at: str, spending: Spending = SPENT, list_name: str = "foundations"
) -> None:
    keep_scores(store, {}, datetime.fromisoformat(at), spending=spending, list_name=list_name)


def test_months_count_all_lists_newest_first_and_leave_out_those_without_spending(
    store: Store,
) -> None:
    spend(store, "2026-11-20T07:00Z")
    spend(store, "2026-11-20T07:00Z", list_name="galaxies")
    spend(store, "2026-09-30T07:00Z")
    spend(store, "2025-12-01T00:00Z")
    assert list(store.history.months(NOW).items()) == [
        (date(2026, 11, 1), added(SPENT, SPENT)),
        (date(2026, 9, 1), SPENT),
        (date(2025, 12, 1), SPENT),
    ]


def test_oldest_month_is_whole_and_the_one_a_year_ago(store: Store) -> None:
    for when in ("2025-10-31T23:59:59Z", "2025-11-01T00:00:00Z", "2025-11-30T23:59:59Z"):
        spend(store, when)
    assert store.history.months(NOW) == {
        date(2026, 11, 1): Spending(),
        date(2025, 11, 1): added(SPENT, SPENT),
    }


def test_month_begins_at_midnight_in_utc(store: Store) -> None:
    spend(store, "2026-10-31T23:59:59Z", Spending(Usage(calls=1)))
    spend(store, "2026-11-01T00:00:00Z", Spending(Usage(calls=10)))
    assert [spent.usage.calls for spent in store.history.months(NOW).values()] == [10, 1]


def test_every_outcome_of_a_paper_is_read_back_as_it_was_frozen(store: Store) -> None:
    """It is kept as a number."""
    became = {f"2611.{number:05}": outcome for number, outcome in enumerate(PaperOutcome)}
    store.days.freeze(Day("foundations", NOW.date(), Outcome.NOTE, outcomes=became), NOW)
    lives = {arxiv_id: store.history.of_paper("foundations", arxiv_id) for arxiv_id in became}
    assert {arxiv_id: life.became for arxiv_id, life in lives.items()} == became
    assert {life.day for life in lives.values()} == {NOW.date()}
