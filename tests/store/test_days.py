"""A list's day is frozen in one transaction: all of it stands, or nothing."""

import sqlite3
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from paperboy.edges.tokens import vote_token
from paperboy.models import (
    Attempt,
    Composed,
    Counts,
    Day,
    MessageCopy,
    Outcome,
    PaperOutcome,
    Subscriber,
)
from paperboy.store import Store
from paperboy.store.days import Days
from paperboy.store.readers import Reader
from tests.builders import mailing_list, paper
from tests.store import ledger
from tests.store.ledger import outcome, waiting

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
TODAY = date(2026, 11, 20)
LATER = NOW + timedelta(days=99)
COMPOSED = Composed(
    "Foundations · 2 papers", "papers@example.org", b"Subject: x\r\n\r\n" + b"body \r\n" * 1000
)
DAY = Day(
    "foundations",
    TODAY,
    Outcome.DIGEST,
    reason="",
    model="luna",
    counts=Counts(considered=3, selected=1, below=1, carried_over=1),
    outcomes={"2611.00001": PaperOutcome.SELECTED, "2611.00002": PaperOutcome.BELOW},
    composed=COMPOSED,
    copies=(
        MessageCopy(Subscriber("ada@example.org", "Ada"), "<1@example.org>", "token1"),
        MessageCopy(Subscriber("grace@example.org"), "<2@example.org>", "token2"),
    ),
)


def test_frozen_day_is_read_back_whole(store: Store) -> None:
    store.papers.add(
        [paper("2611.00001"), paper("2611.00002"), paper("2611.00003")], ["cs.LG"], NOW
    )
    assert outcome(store, "foundations", TODAY) is None
    store.days.freeze(DAY, NOW)
    assert outcome(store, "foundations", TODAY) is Outcome.DIGEST
    assert [entry.id for entry in store.papers.unseen(mailing_list())] == ["2611.00003"]
    found = waiting(store)
    assert [delivery.copy for delivery in found] == list(DAY.copies)
    assert store.ledger.message(found[0].frozen_id) == COMPOSED


def test_frozen_day_survives_a_power_cut(tmp_path: Path) -> None:
    """SQLite waits for the disk (FULL is 2), also where it did not before."""
    database = Store.open(tmp_path / "paperboy.db").database
    seen = list[int]()
    with database.transaction(durable=False):
        database.execute("delete from attempts")
    Days(database).freeze(
        DAY, NOW, lambda _: seen.append(database.rows("pragma synchronous")[0]["synchronous"])
    )
    database.close()
    assert seen == [2]


def test_tokens_lead_to_their_readers_from_the_first_digest_on(store: Store) -> None:
    """Those of an earlier digest are kept, and those who have come since are added."""
    ada, grace = DAY.copies
    for day, copies in enumerate(((ada,), (ada, grace))):
        found = replace(DAY, date=TODAY + timedelta(days=day), outcomes={}, copies=copies)
        store.days.freeze(replace(found, counts=Counts()), NOW)
        known = [store.readers.by_leave_token(copy.token) for copy in DAY.copies]
        assert known == [Reader("foundations", copy.subscriber.address) for copy in copies] + [
            None
        ] * (1 - day)
        votes = [store.readers.by_vote_token(vote_token(copy.token)) for copy in DAY.copies]
        assert votes == known


def test_failure_in_the_middle_leaves_nothing(store: Store) -> None:
    """Two deliveries to one address break a constraint after outcome and digest were written."""
    twice = replace(DAY, copies=(DAY.copies[0], DAY.copies[0]))
    with pytest.raises(sqlite3.IntegrityError):
        store.days.freeze(twice, NOW)
    assert outcome(store, "foundations", TODAY) is None
    assert store.ledger.digests("foundations") == []
    assert store.ledger.waiting(NOW) == []


def test_day_without_a_mail_has_no_digest(store: Store) -> None:
    store.days.freeze(Day("foundations", TODAY, Outcome.QUIET, reason="weekend"), NOW)
    assert store.ledger.digests("foundations") == []
    with pytest.raises(IndexError):
        store.ledger.message(7)
    (summary,) = store.history.days(["foundations"])["foundations"]
    assert (summary.outcome, summary.reason, summary.deliveries) == (Outcome.QUIET, "weekend", {})


def test_list_begins_once_and_with_what_it_has_now(store: Store) -> None:
    month = timedelta(days=30)
    assert store.days.started("foundations", month) == frozenset()
    store.days.begin("foundations", {"cs.LG", "stat.ML"}, ["2611.00001"], TODAY, NOW)
    assert store.days.started("foundations", month) == {"cs.LG", "stat.ML"}
    store.days.begin("foundations", {"cs.LG"}, ["2611.00001"], TODAY, NOW)
    assert store.days.started("foundations", month) == {"cs.LG"}
    store.papers.add([paper("2611.00001"), paper("2611.00002")], ["cs.LG"], NOW)
    assert [entry.id for entry in store.papers.unseen(mailing_list())] == ["2611.00002"]


def test_list_not_served_for_a_month_begins_anew(store: Store) -> None:
    store.days.begin("foundations", {"cs.LG"}, [], TODAY, NOW)
    store.days.begin("galaxies", {"astro-ph.GA"}, [], date(2026, 12, 19), NOW + timedelta(days=29))
    assert store.days.started("foundations", timedelta(days=30)) == {"cs.LG"}
    store.days.begin("galaxies", {"astro-ph.GA"}, [], date(2026, 12, 21), NOW + timedelta(days=31))
    assert store.days.started("foundations", timedelta(days=30)) == frozenset()


def test_records_of_a_clock_that_was_ahead_are_settled(store: Store) -> None:
    """Days without a digest never happened; digests stay, and what waits is tried at once."""
    ahead = NOW + timedelta(days=40)
    store.days.freeze(Day("foundations", TODAY, Outcome.NOTE), NOW)
    store.days.begin("foundations", {"cs.LG"}, [], TODAY, NOW)
    for name in ("foundations", "galaxies"):
        store.days.freeze(Day(name, date(2026, 11, 21), Outcome.GAVE_UP, "no network"), ahead)
    store.days.note_attempt(Attempt("foundations", "no network", ahead, ahead, ahead))
    store.papers.add([paper()], ["cs.LG"], ahead)
    day = Day(
        "sky", date(2026, 12, 30), Outcome.DIGEST, composed=Composed("s", "a@example.org", b"m")
    )
    store.days.freeze(day, ahead)
    later = NOW + timedelta(days=1)
    assert store.settle_clock(later)
    assert not store.settle_clock(later)
    assert outcome(store, "sky", date(2026, 12, 30)) is Outcome.DIGEST
    assert store.days.attempts() == {
        "foundations": Attempt("foundations", "no network", later, later, later)
    }
    assert store.papers.fetched("") == {"cs.LG": later}
    assert outcome(store, "foundations", date(2026, 11, 21)) is None
    assert store.days.last("foundations", date.max) == TODAY
    assert store.days.started("foundations", timedelta(days=30)) == {"cs.LG"}


def test_list_that_was_first_known_while_the_clock_was_ahead_is_not_news_until_then(
    store: Store,
) -> None:
    """Nothing else may have been written: on the service's first day no morning was due yet."""
    store.days.first_seen(["foundations"], NOW + timedelta(days=40))
    assert store.settle_clock(NOW)
    assert store.days.first_seen([], NOW) == {"foundations": NOW}


def test_clock_that_is_behind_changes_nothing(store: Store) -> None:
    """No paper of arXiv is younger than now: so a look at the database before the clock is set does no harm."""
    store.papers.add([paper()], ["cs.LG"], NOW)
    store.days.freeze(Day("foundations", TODAY, Outcome.NOTE), NOW)
    assert not store.settle_clock(datetime(2020, 1, 1, tzinfo=UTC))
    assert store.days.last("foundations", date.max) == TODAY
    assert store.papers.fetched("") == {"cs.LG": NOW}


def test_digest_of_a_clock_that_was_ahead_is_not_todays(store: Store) -> None:
    ledger.morning(store, {"ada": "sent"}, TODAY)
    ledger.morning(store, {"ada": "sent"}, TODAY + timedelta(days=1))
    assert store.days.last("foundations", TODAY) == TODAY
    assert [day.date for day in store.history.days(["foundations"], 3, TODAY)["foundations"]] == [
        TODAY
    ]
    assert store.history.mailed(["foundations"], TODAY)["foundations"].date == TODAY


@pytest.mark.parametrize(
    ("before", "replaced"),
    [(Outcome.SKIPPED, True), (Outcome.GAVE_UP, True), (Outcome.NOTE, False)],
)
def test_skipped_or_given_up_day_can_still_be_frozen(
    store: Store, before: Outcome, replaced: bool
) -> None:
    store.days.freeze(Day("galaxies", TODAY, before), NOW)
    if not replaced:
        with pytest.raises(sqlite3.IntegrityError):
            store.days.freeze(Day("galaxies", TODAY, Outcome.QUIET), NOW)
    else:
        store.days.freeze(Day("galaxies", TODAY, Outcome.QUIET), NOW)
        assert outcome(store, "galaxies", TODAY) is Outcome.QUIET


def test_attempt_is_kept_until_it_is_forgotten(store: Store) -> None:
    attempt = Attempt(
        "foundations", "arXiv is late", NOW + timedelta(hours=1), NOW, NOW + timedelta(hours=2)
    )
    store.days.note_attempt(attempt)
    assert store.days.attempts() == {"foundations": attempt}
    store.days.freeze(DAY, NOW)
    assert store.days.attempts() == {}


def test_outcomes_are_those_of_each_lists_local_date(store: Store) -> None:
    berlin = mailing_list()
    kiritimati = mailing_list(name="early", timezone=ZoneInfo("Pacific/Kiritimati"))
    store.days.freeze(Day("foundations", TODAY, Outcome.QUIET), NOW)
    store.days.freeze(Day("early", TODAY, Outcome.QUIET), NOW)
    evening = NOW.replace(hour=20)
    assert store.days.outcomes([berlin, kiritimati], evening) == {
        "foundations": Outcome.QUIET,
        "early": None,
    }


def test_rows_that_lists_share_are_returned_for_each_list(store: Store) -> None:
    """It is read once for all of them."""
    lists = [mailing_list(name=name) for name in ("foundations", "galaxies", "quarks", "sky")]
    for noted in lists[:2]:
        store.days.freeze(Day(noted.name, TODAY, Outcome.NOTE), NOW)
    store.days.freeze(
        Day("quarks", TODAY, Outcome.QUIET), NOW - timedelta(hours=5)
    )  # before the day's batch
    store.days.freeze(Day("sky", TODAY, Outcome.QUIET), NOW)
    came = [Outcome.NOTE, Outcome.NOTE, None, Outcome.QUIET]
    assert list(store.days.outcomes(lists, NOW).values()) == came
    attempts = [
        Attempt(name, why, NOW, NOW, LATER)
        for name, why in (("a", "late"), ("b", "late"), ("c", "dead"))
    ]
    for attempt in attempts:
        store.days.note_attempt(attempt)
    assert store.days.attempts() == {attempt.list_name: attempt for attempt in attempts}
    store.days.first_seen(["a", "b"], NOW)
    assert store.days.first_seen(["b", "c"], LATER) == {"a": NOW, "b": NOW, "c": LATER}
