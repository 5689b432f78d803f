"""What is too old goes, and takes with it nothing that prevents repeats or is still needed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from paperboy.models import (
    Attempt,
    Composed,
    Cost,
    Day,
    DeliveryState,
    Outcome,
    PaperOutcome,
    Score,
    Spending,
    Usage,
)
from paperboy.store import Store
from paperboy.store.incidents import Incident, Kind
from paperboy.store.retention import SETTLED
from tests.builders import mailing_list, paper
from tests.store import ledger
from tests.store.ledger import NOW, TODAY, keep_scores, outcome

KEEP = timedelta(days=100)
LONG_AGO = NOW - timedelta(days=101)
LIST = mailing_list()
WAYS = ("cs.LG", "stat.ML", "cross-list cs.LG", "cross-list stat.ML")


def fetched(store: Store, *ids: str, at: datetime = LONG_AGO, **changes: object) -> None:
    """Papers that were submitted two days before they came."""
    papers = [
        paper(paper_id, published=at - timedelta(days=2), comment="12 pages", **changes)
        for paper_id in ids
    ]
    store.papers.add(papers, LIST.categories, at)


def scored(store: Store, *ids: str, list_name: str = LIST.name) -> None:
    scores = {paper_id: Score(9, 8, "Why.") for paper_id in ids}
    keep_scores(store, scores, LONG_AGO, list_name=list_name)


def froze(store: Store, became: Mapping[str, PaperOutcome], list_name: str = LIST.name) -> None:
    """A day of the list without a mail."""
    store.days.freeze(Day(list_name, LONG_AGO.date(), Outcome.NOTE, outcomes=became), LONG_AGO)


def thin(store: Store, *, keep: timedelta = KEEP) -> None:
    store.retention.thin(keep, [LIST.name], NOW)


def whole(store: Store, arxiv_id: str) -> bool | None:
    """Whether the paper has its abstract; None: it is gone."""
    found = store.history.paper(arxiv_id)
    return bool(found[0].abstract) if found else None


# --- papers


def test_old_paper_goes_with_its_scores_and_is_never_sent_again(store: Store) -> None:
    """Not even if arXiv gave it once more: what the list has seen stays for ever."""
    old = "2608.00001"
    young = "2608.00002"
    fetched(store, old)
    fetched(store, young, at=LONG_AGO + timedelta(days=2))
    scored(store, old, young)
    scored(store, old, list_name="galaxies")
    froze(store, {old: PaperOutcome.SELECTED, young: PaperOutcome.BELOW})
    thin(store)
    assert (whole(store, old), whole(store, young)) == (None, False)
    assert store.scores.kept("galaxies", "abc", "luna", [old], NOW) == {}
    assert list(store.scores.kept(LIST.name, "abc", "luna", [old, young], NOW)) == [young]
    fetched(store, old, at=NOW)
    assert whole(store, old)
    assert store.papers.unseen(LIST) == ()


@pytest.mark.parametrize(
    ("became", "days", "novelty", "keeps_scores", "stays"),
    [
        (PaperOutcome.BELOW, 32, 8, False, False),
        (PaperOutcome.BELOW, 32, None, True, False),
        (PaperOutcome.BELOW, 30, 8, False, True),
        (PaperOutcome.BELOW, 32, 8, True, True),
        (PaperOutcome.SELECTED, 32, 8, False, True),
        (PaperOutcome.AUTHOR_MATCH, 32, 8, False, True),
        (PaperOutcome.OVER_CAP, 32, 8, False, True),
    ],
    ids=[
        "below",
        "below, embedded",
        "young",
        "learned from",
        "selected",
        "by a followed author",
        "over the cap",
    ],
)
def test_score_below_the_thresholds_goes_a_month_after_the_list_saw_the_paper(
    store: Store,
    became: PaperOutcome,
    days: int,
    novelty: int | None,
    *,
    keeps_scores: bool,
    stays: bool,
) -> None:
    """What became of the paper stays, as does the score that another list may still need."""
    one = "2608.00001"
    at = NOW - timedelta(days=days)
    fetched(store, one, at=at)
    for name in (LIST.name, "galaxies"):
        keep_scores(store, {one: Score(9, novelty, "Why.")}, at, list_name=name)
    store.days.freeze(Day(LIST.name, at.date(), Outcome.NOTE, outcomes={one: became}), at)
    store.retention.thin(KEEP, [LIST.name, "galaxies"], NOW, keeps_scores=keeps_scores)
    assert bool(store.history.of_paper(LIST.name, one).scores) is stays
    assert store.history.of_paper(LIST.name, one).became is became
    assert store.history.of_paper("galaxies", one).scores


def test_scores_of_a_weekly_list_go_like_all_others(store: Store) -> None:
    """Papers came up to a week before the list saw them, and retention may run as seldom as its mornings."""
    ids = [f"2608.{number:05}" for number in range(21)]
    for number, one in enumerate(ids):
        fetched(store, one, at=NOW + timedelta(days=number))
    for number in (6, 13, 20):
        at = NOW + timedelta(days=number)
        came = ids[number - 6 : number + 1]
        keep_scores(store, dict.fromkeys(came, Score(3, 8, "")), at)
        became = dict.fromkeys(came, PaperOutcome.BELOW)
        store.days.freeze(Day(LIST.name, at.date(), Outcome.NOTE, outcomes=became), at)
    for days in range(6, 80, 7):
        store.retention.thin(KEEP, [LIST.name], NOW + timedelta(days=days))
    assert not any(store.history.of_paper(LIST.name, one).scores for one in ids)


def test_paper_keeps_its_abstract_as_long_as_a_fetch_could_bring_it_again(store: Store) -> None:
    settled = "2608.00001"
    fresh = "2608.00002"
    store.papers.add(
        [paper(settled, published=NOW - SETTLED - timedelta(seconds=1))],
        LIST.categories,
        NOW - SETTLED,
    )
    store.papers.add([paper(fresh, published=NOW - SETTLED)], LIST.categories, NOW - SETTLED)
    froze(store, {settled: PaperOutcome.BELOW, fresh: PaperOutcome.BELOW})
    thin(store, keep=timedelta())
    assert (whole(store, settled), whole(store, fresh)) == (False, True)
    assert [kept.id for kept in store.papers.recent(LIST, LONG_AGO)] == [fresh]


def test_paper_without_an_abstract_leaves_its_categories_once(store: Store) -> None:
    """A journal's feed may have titles alone."""
    at = NOW - SETTLED - timedelta(seconds=1)
    settled = paper("journal:10.5555/1", published=at, abstract="")
    store.papers.add([settled], LIST.categories, at)
    froze(store, {settled.id: PaperOutcome.BELOW})
    assert [kept.id for kept in store.papers.recent(LIST, LONG_AGO)] == [settled.id]
    thin(store, keep=timedelta())
    assert store.papers.recent(LIST, LONG_AGO) == []
    assert [
        row["n"] for row in store.database.rows("select count(*) as n from paper_categories")
    ] == [0]


@pytest.mark.parametrize("link", ["l1nk", ""])
def test_abstract_stays_while_a_page_of_the_web_room_shows_it(store: Store, link: str) -> None:
    """A digest of which only a webhook was told has no page. What is below the thresholds is only named there."""
    shown = dict(
        zip(
            "123",
            (PaperOutcome.AUTHOR_MATCH, PaperOutcome.SELECTED, PaperOutcome.OVER_CAP),
            strict=True,
        )
    )
    for month, day in ((8, LONG_AGO), (9, NOW)):
        became = {
            f"260{month}.0000{number}": what
            for number, what in (shown | {"4": PaperOutcome.BELOW}).items()
        }
        fetched(store, *became, at=day)
        mail = Composed("3 papers", "papers@example.org", b"mail", link, b"{}")
        store.days.freeze(
            Day(LIST.name, day.date(), Outcome.DIGEST, outcomes=became, composed=mail), day
        )
    thin(store, keep=timedelta(days=400))
    assert [whole(store, f"2608.0000{number}") for number in shown] == [bool(link)] * 3
    assert whole(store, "2608.00004") is False


@pytest.mark.parametrize("keeps_scores", [True, False])
def test_abstract_of_a_paper_that_an_llm_scored_stays_for_93_days_where_lists_learn(
    store: Store, *, keeps_scores: bool
) -> None:
    """By the newest score of its list, and not by the clock: the LLM may be gone."""
    newest, young, old, ranked = ids = [f"2608.0000{number}" for number in range(4)]
    fetched(store, *ids)
    froze(store, dict.fromkeys(ids, PaperOutcome.BELOW))
    for arxiv_id, days in ((newest, 0), (young, 92), (old, 94)):
        at = LONG_AGO - timedelta(days=days)
        keep_scores(store, {arxiv_id: Score(3, 3)}, at)
    keep_scores(store, {ranked: Score(3, None)}, model="embedded ranker")
    ledger.morning(store, {}, TODAY)  # the newest digest keeps its papers
    store.retention.thin(timedelta(days=400), [LIST.name], NOW, keeps_scores=keeps_scores)
    assert [whole(store, paper_id) for paper_id in ids] == [
        keeps_scores,
        keeps_scores,
        False,
        False,
    ]


def test_paper_that_a_list_waits_for_stays_whole_whatever_its_age(store: Store) -> None:
    """Its LLM may have been dead for months. A list that the file has no more waits for nothing."""
    waits, cross, other, gone = (f"2608.0000{number}" for number in range(4))
    fetched(store, waits)
    fetched(store, cross, primary_category="cs.CV", categories=("cs.CV", "stat.ML"))
    fetched(store, other, primary_category="cs.CV", categories=("cs.CV",))
    fetched(store, gone, primary_category="cs.CL", categories=("cs.CL",))
    scored(store, waits)
    store.days.begin(LIST.name, WAYS, [], LONG_AGO.date(), LONG_AGO)
    store.days.begin("a list that is no more", ["cs.CL"], [], LONG_AGO.date(), LONG_AGO)
    thin(store)
    assert [whole(store, paper_id) for paper_id in (waits, cross, other, gone)] == [
        True,
        True,
        None,
        None,
    ]
    assert len(store.papers.unseen(LIST)) == 2
    assert len(store.scores.kept(LIST.name, "abc", "luna", [waits], NOW)) == 1
    store.days.begin(
        LIST.name, ["cs.LG", "stat.ML"], [], TODAY, NOW
    )  # from now on without cross-lists
    thin(store)
    assert whole(store, cross) is None


def test_old_paper_stays_whole_while_its_list_may_supersede_the_digest_that_has_it(
    store: Store,
) -> None:
    """It was carried over for a month, and its digest may reach nobody."""
    fetched(store, "2608.00001")
    became = {"2608.00001": PaperOutcome.SELECTED}
    ledger.morning(store, {"ada": "refused"}, TODAY, became=became)
    thin(store)
    assert whole(store, "2608.00001")
    ledger.morning(store, {"ada": "sent"}, TODAY + timedelta(days=1))
    thin(store)
    assert not whole(store, "2608.00001")


# --- digests and deliveries


def test_old_digest_goes_with_its_deliveries_and_its_day_stays(store: Store) -> None:
    day = LONG_AGO.date()
    first = ledger.morning(store, {"ada": "sent", "grace": "refused"}, day)
    second = ledger.morning(store, {"ada": "sent"}, TODAY)
    thin(store)
    with pytest.raises(IndexError):
        store.ledger.message(first)
    assert store.ledger.message(second).message == b"m"
    assert outcome(store, LIST.name, day) is Outcome.DIGEST


def test_readers_of_old_mails_and_what_each_month_cost_stay(store: Store) -> None:
    token = ledger.copy_for("ada").token
    ledger.morning(store, {"ada": "sent"}, LONG_AGO.date())
    keep_scores(store, {}, LONG_AGO, spending=Spending(Usage(calls=1), Cost(0.5)))
    thin(store)
    reader = store.readers.by_leave_token(token)
    assert reader is not None
    assert reader.list_name == LIST.name
    assert [spent.cost for spent in store.history.months(NOW).values() if spent.usage.calls] == [
        Cost(0.5)
    ]


def test_newest_digest_of_each_list_stays_whatever_its_age(store: Store) -> None:
    """It can be sent again."""
    ids = [
        ledger.morning(store, {"ada": "refused"}, TODAY - timedelta(days=days), name)
        for days, name in ((300, "foundations"), (250, "galaxies"), (200, "foundations"))
    ]
    thin(store)
    with pytest.raises(IndexError):
        store.ledger.message(ids[0])
    assert all(store.ledger.message(digest).message == b"m" for digest in ids[1:])


@pytest.mark.parametrize("how", ["waits", "deferred", "a crash"])
def test_digest_stays_while_one_of_its_deliveries_waits(store: Store, how: str) -> None:
    digest = ledger.morning(store, {"ada": how, "grace": "sent"}, LONG_AGO.date())
    ledger.morning(store, {"ada": "sent"}, TODAY)
    thin(store)
    assert store.ledger.message(digest).message == b"m"
    of = ledger.delivery(store, "ada", digest)
    if how == "a crash":
        store.ledger.settle(of, of.state.SENT, "250 ok", NOW, via="smtp")
    else:
        store.ledger.end(of, of.state.SUPPRESSED, "no longer on the list", NOW)
    thin(store)
    with pytest.raises(IndexError):
        store.ledger.message(digest)


# --- what is left behind, and the disk


def test_good_news_that_waits_for_the_mail_server_stays(store: Store) -> None:
    """Else nobody would know that it is to be replaced when the problem comes back."""
    told = [Incident(kind=Kind.SCORING, subject=LIST.name, since=LONG_AGO, last=LONG_AGO)]
    to = ledger.copy_for("olga")
    mail = store.ledger.freeze(Composed("subject", "papers@example.org", b"bytes"), [to], LONG_AGO)
    store.alerts.add(told, LONG_AGO.date(), mail, over=True)
    thin(store)
    assert [row.mail for row in store.alerts.all()] == [mail]
    (waits,) = store.ledger.beside(NOW)
    store.ledger.end(store.ledger.get(waits), DeliveryState.FAILED, "given up", NOW)
    thin(store)
    assert (
        store.database.rows("select * from alerts union all select id, 0, 0, 0, 0, 0 from messages")
        == []
    )


def test_attempts_of_lists_that_are_no_more_go(store: Store) -> None:
    for at, name in ((LONG_AGO, "old"), (NOW, "new")):
        store.days.note_attempt(Attempt(name, "arXiv is late", at, at, at))
    thin(store)
    assert set(store.days.attempts()) == {"new"}


def test_retention_is_due_with_the_first_morning_of_a_day(store: Store) -> None:
    assert store.retention.is_due(NOW)
    store.days.freeze(Day(LIST.name, TODAY, Outcome.QUIET), NOW)
    assert not store.retention.is_due(NOW + timedelta(hours=3))
    assert store.retention.is_due(NOW + timedelta(days=1))


def test_retention_that_fails_costs_no_morning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What was not thinned today is thinned tomorrow."""
    store = Store.open(tmp_path / "paperboy.db")
    fetched(store, "2608.00001")
    store.database.rows("pragma query_only = on")
    with caplog.at_level(logging.WARNING):
        thin(store)
    store.database.rows("pragma query_only = off")
    assert "retention is retried tomorrow" in caplog.text
    assert whole(store, "2608.00001")
    store.close()
