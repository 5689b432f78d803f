"""What is too old goes, and takes with it nothing that prevents repeats or is still needed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paperboy.models import Alert, Attempt, Became, Composed, Cost, Day, Outcome, Score, Spending, Usage
from paperboy.store import Store
from paperboy.store.database import Database
from paperboy.store.deliveries import Missed
from paperboy.store.growth import SETTLED, Growth, Thinned
from tests.builders import mailing_list, paper
from tests.store import ledger
from tests.store.ledger import NOW, TODAY

ROOT = Path(__file__).parents[2]
KEEP = timedelta(days=100)
LONG_AGO = NOW - timedelta(days=101)
LIST = mailing_list()
WAYS = ("cs.LG", "stat.ML", "cross-list cs.LG", "cross-list stat.ML")


def fetched(store: Store, *ids: str, at: datetime, **changes: object) -> None:
    """Papers that were submitted two days before they came."""
    papers = [paper(each, published=at - timedelta(days=2), comment="12 pages", **changes) for each in ids]
    store.papers.add(papers, LIST.categories, at)


def scored(store: Store, *ids: str, list_name: str = LIST.name, at: datetime = LONG_AGO) -> None:
    store.scores.keep(list_name, "criteria", "luna", {each: Score(9, 8, "Why.") for each in ids}, Spending(), at)


def froze(store: Store, became: Mapping[str, Became], *, at: datetime, list_name: str = LIST.name) -> None:
    """A day of the list without a mail."""
    store.days.freeze(Day(list_name, at.date(), Outcome.NOTE, became=became), at)


def thin(store: Store, now: datetime = NOW, *, keep: timedelta = KEEP) -> Thinned:
    """As on a day with a fetch."""
    store.papers.add([], LIST.categories, now)
    return store.growth.thin(keep, now, lambda: None)


def whole(store: Store, arxiv_id: str) -> bool:
    """Whether the paper, which has to be there, has its abstract."""
    found = store.history.paper(arxiv_id)
    assert found is not None
    return bool(found[0].abstract)


def gone(store: Store, arxiv_id: str) -> bool:
    return store.history.paper(arxiv_id) is None


# --- papers


def test_an_old_paper_goes_with_its_scores_and_is_never_sent_again(store: Store) -> None:
    """Not even if arXiv gave it once more: what the list has seen stays for ever."""
    old, young = "2608.00001", "2608.00002"
    fetched(store, old, at=LONG_AGO)
    fetched(store, young, at=LONG_AGO + timedelta(days=2))
    scored(store, old, young)
    scored(store, old, list_name="galaxies")
    froze(store, {old: Became.SELECTED, young: Became.BELOW}, at=LONG_AGO + timedelta(days=2))
    assert thin(store) == Thinned(papers=1, scores=2, abstracts=1)
    assert gone(store, old)
    assert store.history.life(LIST.name, old).scores == store.history.life("galaxies", old).scores == ()
    assert len(store.history.life(LIST.name, young).scores) == 1
    assert store.papers.newest(["stat.ML"]) == LONG_AGO
    fetched(store, old, at=NOW)
    assert not gone(store, old)
    assert store.papers.unseen(LIST) == ()
    assert store.history.life(LIST.name, old).became is Became.SELECTED


def test_a_paper_keeps_its_abstract_as_long_as_a_fetch_could_bring_it_again(store: Store) -> None:
    settled, fresh = "2608.00001", "2608.00002"
    store.papers.add([paper(settled, published=NOW - SETTLED - timedelta(seconds=1))], LIST.categories, NOW - SETTLED)
    store.papers.add([paper(fresh, published=NOW - SETTLED)], LIST.categories, NOW - SETTLED)
    froze(store, {settled: Became.BELOW, fresh: Became.BELOW}, at=NOW - timedelta(days=30))
    assert thin(store, keep=timedelta()) == Thinned(abstracts=1)
    assert (whole(store, settled), whole(store, fresh)) == (False, True)
    kept = store.history.paper(settled)
    assert kept is not None
    assert (kept[0].title, kept[0].authors) == (paper(settled).title, paper(settled).authors)
    assert thin(store, keep=timedelta()) == Thinned()


def test_what_a_list_still_waits_for_stays_whole_whatever_its_age(store: Store) -> None:
    """Its LLM may have been dead for months."""
    waits, cross, other = "2608.00001", "2608.00002", "2608.00003"
    fetched(store, waits, at=LONG_AGO)
    fetched(store, cross, at=LONG_AGO, primary_category="cs.CV", categories=("cs.CV", "stat.ML"))
    fetched(store, other, at=LONG_AGO, primary_category="cs.CV", categories=("cs.CV",))
    scored(store, waits)
    store.days.begin(LIST.name, WAYS, [], LONG_AGO.date(), LONG_AGO)
    store.days.freeze(Day(LIST.name, TODAY, Outcome.GAVE_UP), NOW)
    assert thin(store) == Thinned(papers=1)
    assert gone(store, other)
    assert [each.abstract != "" for each in store.papers.unseen(LIST)] == [True, True]
    assert len(store.history.life(LIST.name, waits).scores) == 1
    store.days.begin(LIST.name, ["cs.LG", "stat.ML"], [], TODAY, NOW)  # from now on without cross-lists
    assert thin(store) == Thinned(papers=1)
    assert gone(store, cross)


def test_a_list_that_sleeps_waits_for_nothing(store: Store) -> None:
    """When it wakes up after thirty days of others, it begins anew, with the newest batch."""
    fetched(store, "2608.00001", at=LONG_AGO)
    slept = NOW - timedelta(days=31)
    store.days.begin(LIST.name, WAYS, [], slept.date(), slept)
    store.days.freeze(Day(LIST.name, slept.date(), Outcome.GAVE_UP), slept)
    assert thin(store) == Thinned()
    froze(store, {}, at=NOW, list_name="galaxies")
    assert store.days.started(LIST.name, timedelta(days=30)) == frozenset()
    assert thin(store) == Thinned(papers=1)


def test_the_papers_of_the_newest_digest_can_come_back_when_it_reached_nobody(store: Store) -> None:
    """However long the list has had no morning since."""
    fetched(store, "2608.00001", "2608.00002", at=LONG_AGO)
    scored(store, "2608.00001")
    became = {"2608.00001": Became.SELECTED, "2608.00002": Became.BELOW}
    ledger.morning(store, {"ada": "expired"}, LONG_AGO.date(), became=became)
    store.deliveries.told()
    thin(store)
    assert store.days.supersede(LIST.name, TODAY, NOW) == LONG_AGO.date()
    assert [each.abstract != "" for each in store.papers.unseen(LIST)] == [True, True]
    assert len(store.history.life(LIST.name, "2608.00001").scores) == 1


def test_nothing_grows_old_while_no_papers_come(store: Store) -> None:
    """After a year without power a morning first catches up; and a clock that leaps ahead thins nothing."""
    at = NOW - timedelta(days=1)
    fetched(store, "2608.00001", at=at)
    froze(store, {"2608.00001": Became.BELOW}, at=at)
    later = NOW + timedelta(days=1000)
    assert store.growth.thin(KEEP, later, lambda: None) == Thinned()
    store.papers.add([], LIST.categories, later)
    assert store.growth.thin(KEEP, NOW, lambda: None) == Thinned()  # the clock was mended
    assert store.growth.thin(KEEP, later, lambda: None) == Thinned(papers=1)


def test_an_empty_database_is_thin(store: Store) -> None:
    assert store.growth.thin(KEEP, NOW, lambda: None) == Thinned()


# --- digests and deliveries


def test_an_old_digest_goes_with_its_deliveries_and_its_day_stays(store: Store) -> None:
    day = LONG_AGO.date()
    first = ledger.morning(store, {"ada": "sent", "grace": "refused"}, day)
    second = ledger.morning(store, {"ada": "sent"}, TODAY)
    assert thin(store) == Thinned(digests=1, deliveries=2)
    with pytest.raises(KeyError):
        store.days.composed_by_id(first)
    assert store.days.composed_by_id(second).message == b"m"
    assert store.days.outcome(LIST.name, day) is Outcome.DIGEST
    newest, oldest = store.days.newest([LIST.name], NOW, 2)
    assert (newest.date, oldest.date, oldest.deliveries) == (TODAY, day, {})


def test_the_newest_digest_of_each_list_stays_whatever_its_age(store: Store) -> None:
    """It can be sent again."""
    for days, name in ((300, "foundations"), (200, "foundations"), (250, "galaxies")):
        ledger.morning(store, {"ada": "refused"}, TODAY - timedelta(days=days), name)
    assert thin(store) == Thinned(digests=1, deliveries=1)
    for name in ("foundations", "galaxies"):
        digest = store.deliveries.newest(name, NOW)
        assert digest is not None
        assert store.days.composed_by_id(digest.id).message == b"m"
        again = [ledger.addressed("ada", name, digest.date)]
        assert store.deliveries.again(digest, again, Missed.ANY, NOW, by_mail=True) == 1


@pytest.mark.parametrize("how", ["waits", "deferred", "a crash", "expired"])
def test_a_digest_stays_while_one_of_its_deliveries_waits_or_is_to_be_told(store: Store, how: str) -> None:
    digest = ledger.morning(store, {"ada": how, "grace": "sent"}, LONG_AGO.date())
    ledger.morning(store, {"ada": "sent"}, TODAY)
    assert thin(store) == Thinned()
    assert store.days.composed_by_id(digest).message == b"m"
    of = ledger.delivery(store, "ada", digest)
    if how == "expired":
        store.deliveries.told()
    elif how == "a crash":
        store.deliveries.settle(of, of.state.SENT, "250 ok", NOW, via="smtp")
    else:
        store.deliveries.suppress(of, "no longer on the list", NOW)
    assert thin(store) == Thinned(digests=1, deliveries=2)


def test_the_newest_by_date_and_the_last_that_was_made_both_stay(store: Store) -> None:
    """They differ where a clock was put back; commands ask for the one or for the other."""
    for days in (400, 200, 300):
        day = TODAY - timedelta(days=days)
        store.days.freeze(
            Day(LIST.name, day, Outcome.DIGEST, composed=Composed(str(days), "papers@example.org", b"m")),
            ledger.at(day),
        )
    assert thin(store) == Thinned(digests=1)
    assert [store.days.composed_by_id(number).subject for number in (2, 3)] == ["200", "300"]


def test_a_superseded_digest_stays_until_the_operator_knows(store: Store) -> None:
    ledger.morning(store, {"ada": "refused"}, LONG_AGO.date())
    store.days.supersede(LIST.name, TODAY, LONG_AGO)
    ledger.morning(store, {"ada": "sent"}, TODAY)
    assert thin(store) == Thinned()
    assert len(store.days.untold()) == 1
    store.days.told()
    assert thin(store) == Thinned(digests=1, deliveries=1)


def test_bounces_count_over_a_longer_time_than_digests_are_kept(store: Store) -> None:
    """A list that sends twice a year still finds out which addresses do not exist."""
    for days in (500, 300):
        ledger.morning(store, {"ada": "bounced", "grace": "sent", "vera": "sent"}, TODAY - timedelta(days=days))
    ledger.morning(store, {"ada": "sent"}, TODAY - timedelta(days=1), "galaxies-of-others")
    assert thin(store) == Thinned(digests=1, deliveries=3)  # the newest stays; it was sent something since
    for days in (3, 2):
        ledger.morning(store, {"grace": "bounced", "vera": "sent"}, TODAY - timedelta(days=days))
    assert store.deliveries.bounced_thrice() == ()


def test_what_is_left_of_a_digest_for_its_bounces_is_small_and_never_sent(store: Store) -> None:
    first = ledger.morning(store, {"ada": "bounced", "grace": "sent", "vera": "sent"}, TODAY - timedelta(days=500))
    for days in (300, 1):
        ledger.morning(store, {"ada": "bounced", "grace": "sent"}, TODAY - timedelta(days=days))
    assert len(store.deliveries.bounced_thrice()) == 1
    assert thin(store) == Thinned(deliveries=1)
    assert thin(store) == Thinned()
    assert [address for address, _ in store.deliveries.bounced_thrice()] == ["ada@example.org"]
    assert store.days.composed_by_id(first).message == b""
    store.suppressions.add("ada@example.org", "", "550 no such user", NOW)
    assert thin(store) == Thinned(digests=2, deliveries=4)


def test_what_counts_neither_way_does_not_end_a_row_of_bounces(store: Store) -> None:
    """A digest that was superseded; and an address may be written with other capitals."""
    for days in (500, 450):
        ledger.morning(store, {"Ada": "bounced", "grace": "sent"}, TODAY - timedelta(days=days))
    ledger.morning(store, {"ada": "refused"}, TODAY - timedelta(days=400))
    store.days.supersede(LIST.name, TODAY - timedelta(days=300), NOW)
    store.days.told()
    ledger.morning(store, {"grace": "sent"}, TODAY - timedelta(days=300))
    thin(store)
    ledger.morning(store, {"ada": "bounced", "grace": "sent"}, TODAY)
    assert [address for address, _ in store.deliveries.bounced_thrice()] == ["ada@example.org"]
    ledger.morning(store, {"ADA": "sent", "grace": "sent"}, TODAY + timedelta(days=1))
    assert thin(store, NOW + timedelta(days=200)) == Thinned(digests=4, deliveries=7)


def test_what_was_given_up_long_ago_is_not_sent_again_without_its_bytes(store: Store) -> None:
    ledger.morning(store, {"ada": "bounced", "grace": "sent"}, TODAY - timedelta(days=500), "galaxies")
    emptied = ledger.morning(store, {"ada": "expired", "grace": "sent"}, TODAY - timedelta(days=400))
    store.deliveries.told()
    ledger.morning(store, {"grace": "sent"}, TODAY)
    thin(store)
    assert ledger.states(store, emptied, "ada") == ["failed"]
    since = TODAY - timedelta(days=1000)
    again = [ledger.addressed("ada")]
    assert not any(
        store.deliveries.again(digest, again, Missed.EXPIRED, NOW, by_mail=True)
        for digest in store.deliveries.digests_since(LIST.name, since)
    )


WHO = ("ada", "grace", "vera")
HOW = st.sampled_from(["sent", "in the outbox", "bounced", "bounced", "refused", "ambiguous", "suppressed"])


# A bounce in a list's newest digest stays, and so has to stay what was sent to that address since.
GONE_LIST = [("galaxies", "bounced"), ("foundations", "sent"), ("foundations", "bounced"), ("foundations", "bounced")]


@settings(max_examples=25, deadline=None)
@given(
    history=st.lists(
        st.tuples(st.sampled_from(["foundations", "galaxies"]), st.dictionaries(st.sampled_from(WHO), HOW, min_size=1)),
        min_size=3,
        max_size=9,
    ),
    kept=st.integers(1, 6),
)
@example(history=[(name, {"ada": how, "grace": "sent"}) for name, how in GONE_LIST], kept=2)
def test_who_does_not_exist_is_found_out_whatever_was_thinned(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, dict[str, str]]], kept: int
) -> None:
    """The same after each morning, whether all before the last few digests was thinned or nothing ever."""
    folder = tmp_path_factory.mktemp("histories")
    with Store.open(folder / "thinned.db") as thinned, Store.open(folder / "whole.db") as untouched:
        for number, (name, came) in enumerate(history):
            day = TODAY + timedelta(days=40 * number)
            for store in (thinned, untouched):
                ledger.morning(store, came, day, name)
            thin(thinned, ledger.at(day), keep=timedelta(days=40 * kept - 1))
            assert thinned.deliveries.bounced_thrice() == untouched.deliveries.bounced_thrice()


def test_digests_from_before_lzma_are_still_read(store: Store, tmp_path: Path) -> None:
    digest = ledger.morning(store, {"ada": "waits"})
    with sqlite3.connect(tmp_path / "paperboy.db") as connection:
        connection.execute("update digests set message = ?", [zlib.compress(b"as it was")])
    connection.close()
    assert store.days.composed_by_id(digest).message == b"as it was"


# --- spending, and what is left behind

SPENT = Spending(Usage(1, 9_000, 4_000, 10, 700, 200), Cost(0.25, 0.125))
ZONES = ("UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Chatham")


def test_what_was_spent_is_added_up_and_every_sum_stays_the_same(store: Store, tmp_path: Path) -> None:
    """By day, and by month in any zone, though a month begins in the midst of the calls."""
    began = datetime(2026, 7, 31, 9, tzinfo=UTC)
    for minute in range(0, 16 * 60, 4):
        spending = SPENT if minute % 3 else Spending(Usage(1, 5), None)
        name = "foundations" if minute % 8 else "galaxies"
        store.scores.keep(name, "criteria", "luna", {}, spending, began + timedelta(minutes=minute))
    store.days.freeze(Day("foundations", date(2026, 7, 31), Outcome.QUIET), began)
    store.scores.keep("foundations", "criteria", "luna", {}, SPENT, began + timedelta(minutes=4))
    zones = [NOW.astimezone(ZoneInfo(zone)) for zone in ZONES]
    before = [store.scores.months(now) for now in zones]
    assert len({months[-1].spending for months in before}) == len(ZONES)
    entries = len(rows(tmp_path, "select * from spending"))
    open_, of_day = store.scores.spending("foundations"), store.scores.spending_on("foundations", "2026-07-31")
    thin(store)
    assert [store.scores.months(now) for now in zones] == before
    assert store.scores.spending("foundations") == open_ == SPENT
    assert store.scores.spending_on("foundations", "2026-07-31") == of_day
    added_up = len(rows(tmp_path, "select * from spending"))
    assert added_up < entries
    thin(store)
    assert len(rows(tmp_path, "select * from spending")) == added_up


def test_what_was_spent_lately_is_left_as_it_is(store: Store, tmp_path: Path) -> None:
    for _ in range(3):
        store.scores.keep("foundations", "criteria", "luna", {}, SPENT, NOW - timedelta(days=30))
    thin(store)
    assert len(rows(tmp_path, "select * from spending")) == 3


def test_what_crashes_and_vanished_lists_left_behind_goes(store: Store, tmp_path: Path) -> None:
    alert = Alert("The LLM is dead", ("It answers nothing.",))
    for at, name in ((LONG_AGO, "old"), (NOW, "new")):
        store.days.note_attempt(Attempt(name, "arXiv is late", at, at, at))
        store.alerts.note(f"told {name}", ["x"], alert, at.date(), at)
        store.alerts.told(f"told {name}", at.date())
        store.alerts.note(f"waits {name}", ["x"], alert, at.date(), at)
        store.days.freeze(Day(name, at.date(), Outcome.NOTE, tried=frozenset({f"{name} paper"})), at)
    fetched(store, "old paper", at=LONG_AGO)
    thin(store)
    assert set(store.days.attempts()) == {"new"}
    assert {each.cause for each in store.alerts.standing()} == {"told new", "waits old", "waits new"}
    assert (store.days.tries("old"), store.days.tries("new")) == ({}, {"new paper": 1})


# --- how it is done


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(folder / "paperboy.db")
    found = connection.execute(sql).fetchall()
    connection.close()
    return found


def plenty(store: Store, papers: int = 250, digests: int = 25) -> None:
    """More than one transaction of each kind."""
    ids = [f"2608.{number:05}" for number in range(papers)]
    fetched(store, *ids, at=LONG_AGO)
    scored(store, *ids)
    froze(store, dict.fromkeys(ids, Became.BELOW), at=LONG_AGO)
    settled = [f"2609.{number:05}" for number in range(papers)]
    fetched(store, *settled, at=NOW - timedelta(days=40))
    for number in range(digests):
        ledger.morning(store, {"ada": "sent"}, LONG_AGO.date() - timedelta(days=digests - number))
    ledger.morning(store, {"ada": "sent"}, TODAY)


def test_others_may_write_between_two_transactions(store: Store, tmp_path: Path) -> None:
    """Nobody has to wait: this one would fail at once."""
    plenty(store)
    store.papers.add([], LIST.categories, NOW)
    other = sqlite3.connect(tmp_path / "paperboy.db", timeout=0)
    pauses = 0

    def pause() -> None:
        nonlocal pauses
        pauses += 1
        with other:
            other.execute("insert into holds (at, dollars) values (?, 1.0)", [NOW.isoformat()])

    assert store.growth.thin(KEEP, NOW, pause) == Thinned(250, 250, 250, 25, 25)
    assert pauses >= 9
    assert other.execute("select count(*) from holds").fetchone() == (pauses,)
    other.close()


KILLED = """
import os, signal, sys
from datetime import datetime, timedelta
from pathlib import Path
from paperboy.store import Store

def kill():
    os.kill(os.getpid(), signal.SIGKILL)

left = int(sys.argv[3])
def pause():
    global left
    left -= 1
    if not left:
        kill()

with Store.open(Path(sys.argv[1])) as store:
    if sys.argv[2] == "thin":
        store.growth.thin(timedelta(days=100), datetime.fromisoformat(sys.argv[4]), pause)
    else:
        store.growth._database.utils.conn.set_progress_handler(kill, left)
        getattr(store.growth, sys.argv[2])()
print("lived to the end")
"""


def killed(folder: Path, doing: str, after: int) -> None:
    """A child of its own, gone without a word in the midst of it."""
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder / "paperboy.db"), doing, str(after), NOW.isoformat()],
        capture_output=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert (ran.returncode, ran.stdout) == (-9, b""), ran.stderr


@pytest.mark.parametrize("after", [1, 3, 5, 8])
def test_a_kill_in_the_midst_of_it_costs_nothing_but_the_rest(tmp_path: Path, after: int) -> None:
    with Store.open(tmp_path / "paperboy.db") as store:
        plenty(store)
        store.papers.add([], LIST.categories, NOW)
    killed(tmp_path, "thin", after)
    with Store.open(tmp_path / "paperboy.db") as store:  # checks the pages
        thin(store)
        assert rows(tmp_path, "pragma foreign_key_check") == []
        assert rows(tmp_path, "select count(*), sum(abstract = '') from papers") == [(250, 250)]
        assert rows(tmp_path, "select count(*) from scores") == [(0,)]
        assert rows(tmp_path, "select count(*) from paper_categories") == [(500,)]
        assert rows(tmp_path, "select count(*) from seen") == [(250,)]
        assert rows(tmp_path, "select count(*) from digests") == [(1,)]


def test_a_kill_in_the_midst_of_writing_it_anew_leaves_it_as_it_was(tmp_path: Path) -> None:
    with Store.open(tmp_path / "paperboy.db") as store:
        plenty(store, papers=1000)
        thin(store)
        before = store.growth.size()
        assert before.free > 0
    killed(tmp_path, "compact", 2_000)
    with Store.open(tmp_path / "paperboy.db") as store:
        assert store.growth.size() == before
        store.growth.compact()
        assert store.growth.size().free == 0
        assert len(rows(tmp_path, "select * from papers")) == 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["paperboy.db"]


def test_writing_it_anew_gives_the_disk_back_what_is_free(store: Store, tmp_path: Path) -> None:
    plenty(store, papers=1000)
    thin(store)
    before = store.growth.size()
    store.growth.compact()
    after = store.growth.size()
    assert after.free == 0
    assert after.whole <= before.whole - before.free
    assert (tmp_path / "paperboy.db-wal").stat().st_size > after.whole
    store.growth.checkpoint()
    assert (tmp_path / "paperboy.db-wal").stat().st_size == 0
    assert (tmp_path / "paperboy.db").stat().st_size == after.whole


def test_a_reader_holds_up_neither_the_checkpoint_nor_what_comes_after_it(store: Store, tmp_path: Path) -> None:
    plenty(store)
    reader = sqlite3.connect(tmp_path / "paperboy.db", isolation_level=None)
    reader.execute("begin")
    reader.execute("select count(*) from papers").fetchone()
    thin(store)
    store.growth.checkpoint()
    assert (tmp_path / "paperboy.db-wal").stat().st_size > 0
    reader.execute("commit")
    store.growth.checkpoint()
    assert (tmp_path / "paperboy.db-wal").stat().st_size == 0
    reader.close()


def test_a_year_of_rows_that_became_short_leaves_no_holes(store: Store) -> None:
    """A row that shrinks where it lies would leave its page half empty for ever."""
    text = "A long abstract that says what everybody says. " * 28
    for number in range(10):
        ids = [f"26{number:02}.{each:05}" for each in range(100)]
        fetched(store, *ids, at=NOW - timedelta(days=60 - number), abstract=text)
    full = store.growth.size()
    thin(store)
    thinned = store.growth.size()
    assert thinned.whole - thinned.free < 0.4 * full.whole


def test_looking_at_the_tables_changes_nothing_in_them(tmp_path: Path) -> None:
    with Store.open(tmp_path / "paperboy.db") as store:
        plenty(store)
        Growth(Database.open(tmp_path / "paperboy.db")).optimize()
        assert len(store.papers.unseen(LIST)) == 250
