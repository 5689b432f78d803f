"""A morning, from papers to frozen digests: every flow of it, on a real database, with fakes for the world outside."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from paperboy.due import RETRY
from paperboy.errors import BudgetUsedUpError, ConfigError, Problem, ScoringError, StoreWriteError
from paperboy.models import (
    Attempt,
    Cost,
    Day,
    DeliveryState,
    ListReport,
    MailingList,
    Model,
    MorningReport,
    Outcome,
    Paper,
    PaperOutcome,
    Score,
    Shortfall,
    Spending,
    Subscriber,
    Usage,
)
from paperboy.morning import morning
from paperboy.morning.drafter import Drafter
from paperboy.morning.drafting import Learned
from paperboy.morning.fetching import FetchResult
from paperboy.morning.preview import Previews
from paperboy.sources.arxiv import calendar as announcements
from paperboy.sources.arxiv.client import ArxivClient
from paperboy.sources.arxiv.feed import ArxivFeed
from paperboy.sources.source import Source
from paperboy.store import Store
from paperboy.store.incidents import Kind
from tests.builders import EMBEDDED, LLM, mailing_list, paper
from tests.fakes import Clock, FakeArxiv, FakeComposer, FakeScorer, NoProgress
from tests.servers.arxiv_api import ArxivServer
from tests.servers.arxiv_faults import dated
from tests.store.ledger import outcome, waiting

# The batch of Thursday evening is there since 05:15 UTC.
FRIDAY = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)
THURSDAYS = datetime(2026, 11, 19, 12, tzinfo=UTC)  # in that batch
EARLIER = datetime(2026, 11, 16, 12, tzinfo=UTC)
NOT_THERE = "was due at 05:15 UTC and has not arrived yet"
UTC_ZONE = ZoneInfo("UTC")


@dataclass
class World:
    store: Store
    clock: Clock = field(default_factory=lambda: Clock(FRIDAY))
    feed: Any = field(default_factory=FakeArxiv)
    scorer: FakeScorer = field(default_factory=FakeScorer)
    composer: FakeComposer = field(default_factory=FakeComposer)
    budget: float = 0
    frozen: Sequence[morning.DayWriter] = ()
    mail_is_down: bool = False

    def run(
        self,
        *lists: MailingList,
        patience: timedelta | None = None,
        any_day: bool = False,
        since: date | None = None,
        holidays: Collection[date] = (),
        group: int = morning.GROUP,
        **changes: Any,
    ) -> MorningReport:
        """Run a morning of these lists, or else of `foundations`.

        The mail of earlier ones was delivered before, unless the mail server is down.
        """
        lists = lists or (foundations(),)
        ledger = self.store.ledger
        for delivery in [] if self.mail_is_down else waiting(self.store, self.clock()):
            ledger.reserve(delivery, self.clock())
            ledger.settle(delivery, DeliveryState.SENT, "250 ok", self.clock(), via="smtp")
        self.store.settle_clock(self.clock())
        names = {mailing_list.name for mailing_list in lists}
        return morning.Morning(
            drafter=self.drafter(**changes),
            connect=partial(self.connect, holidays=holidays),
            lists=[replace(mailing_list, holidays=frozenset(holidays)) for mailing_list in lists],
            patience=patience,
            any_day=any_day,
            since=since,
            overdue_after=timedelta(hours=6),
            lookback=timedelta(days=7),
            keep=timedelta(days=365),
            keeps_scores=False,
            frozen=self.frozen,
            worker_pool=lambda _: None,
            group=group,
        ).run(names)

    def connect(self, _: Source, holidays: Collection[date] = ()) -> ArxivFeed:
        return ArxivFeed(self.feed, timedelta(days=7), holidays)

    def drafter(self, **changes: Any) -> Drafter:
        parts = {
            "store": self.store,
            "scorer": self.scorer,
            "composer": self.composer,
            "clock": self.clock,
        }
        parts |= {
            "brief_writer": None,
            "progress": NoProgress(),
            "budget": self.budget,
            "budget_zone": UTC,
            "learn": None,
        }
        return Drafter(**(parts | changes))

    def announce(self, *papers: Paper) -> None:
        """Let arXiv have these papers alone, and the scorer like them."""
        self.feed.papers = list(papers)
        self.scorer.known = good(*papers)

    def digests(self) -> list[list[str]]:
        return [[entry.paper.id for entry in digest.entries] for digest in self.composer.made]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Store.open(tmp_path / "paperboy.db") as store:
        yield World(store)


def foundations(**changes: object) -> MailingList:
    return mailing_list(timezone=UTC_ZONE, **changes)


def new(number: int, **changes: object) -> Paper:
    return paper(f"2611.{number:05}", **{"published": THURSDAYS, **changes})


def good(*papers: Paper) -> dict[str, Score]:
    return {entry.id: Score(9, 8, "good") for entry in papers}


def test_morning_freezes_a_digest_and_its_deliveries(world: World) -> None:
    one = new(1)
    other = new(2)
    world.feed.papers = [one, other]
    world.scorer.known = good(one)
    report = world.run(
        foundations(subscribers=(Subscriber("ada@example.org"), Subscriber("grace@example.org")))
    )
    assert [(entry.list_name, entry.outcome) for entry in report.lists] == [
        ("foundations", Outcome.DIGEST)
    ]
    assert world.digests() == [["2611.00001"]]
    assert len(world.store.ledger.waiting(FRIDAY)) == 2
    assert report.lists[0].spending.usage.calls == 2
    assert world.composer.made[0].spending == report.lists[0].spending


def test_paper_that_surfaces_late_is_picked_up_on_that_day(world: World) -> None:
    """Moderation holds papers for days: their submission is old when they are announced."""
    world.feed.papers = [new(1)]
    world.run()
    held = new(3, published=EARLIER)
    fresh = new(4, published=THURSDAYS + timedelta(days=1))
    world.clock.now += timedelta(days=3)
    world.feed.papers += [held, fresh]
    world.scorer.known = good(held)
    world.run()
    assert world.digests()[-1] == ["2611.00003"]


def test_new_list_starts_with_the_newest_batch(world: World) -> None:
    world.feed.papers = [new(1), new(2, published=EARLIER)]
    report = world.run()
    assert report.lists[0].counts.considered == 1
    assert world.scorer.asked == ["2611.00001"]


def test_list_that_was_away_for_long_starts_anew(world: World) -> None:
    """While others were served. After an outage of all, nothing that the fetch brings is left out."""
    away = foundations()
    other = foundations(name="other")
    world.feed.papers = [new(1)]
    world.run(away, other)
    for day in range(1, 40):
        world.clock.now += timedelta(days=1)
        world.feed.papers.append(new(100 + day, published=THURSDAYS + timedelta(days=day)))
        world.run(other)
    considered = world.run(away, other).lists[0].counts.considered
    assert 0 < considered < 5


def test_new_list_whose_first_morning_fails_keeps_its_papers(world: World) -> None:
    """Its start is settled on its first day, and not on the day of its first digest."""
    world.feed.papers = [new(1), new(2, published=EARLIER)]
    world.scorer.dies_after = 0
    assert world.run().due == ("foundations",)
    world.clock.now += timedelta(days=3)
    world.scorer.dies_after = None
    world.feed.papers.append(new(3, published=THURSDAYS + timedelta(days=1)))
    world.scorer.known = good(new(1), new(2), new(3))
    world.run()
    assert world.digests() == [["2611.00001", "2611.00003"]]


def test_home_of_small_categories_is_not_late_when_arxiv_is_not(world: World) -> None:
    """Its categories have no part in today's batch: one question to arXiv tells that from a late one."""
    world.feed.papers = [
        new(1, published=EARLIER),
        new(2, categories=("cs.CV",), primary_category="cs.CV"),
    ]
    world.run()
    world.clock.now += timedelta(days=3)
    world.feed.papers.append(
        new(
            3,
            categories=("cs.CV",),
            primary_category="cs.CV",
            published=THURSDAYS + timedelta(days=1),
        )
    )
    report = world.run()
    assert (report.lists[0].outcome, report.due) == (Outcome.QUIET, ())


@pytest.mark.parametrize(
    ("day", "why"),
    [
        (20, "arXiv had nothing new in its categories"),
        (21, "arXiv announced nothing (weekend)"),
        (27, "arXiv announced nothing (holiday)"),
    ],
)
def test_quiet_day_sends_nothing_and_says_why(world: World, day: int, why: str) -> None:
    world.clock.now = datetime(2026, 11, day, 7, tzinfo=UTC)
    world.feed.papers = [
        new(1, published=announcements.newest_batch(world.clock.now).submitted_from)
    ]
    world.store.days.begin(
        "foundations", ["cs.LG"], ["2611.00001"], date(2026, 11, day - 1), world.clock.now
    )
    report = world.run()
    assert (report.lists[0].outcome, report.lists[0].problem) == (Outcome.QUIET, why)
    assert (report.due, world.store.ledger.waiting(world.clock.now)) == ((), [])
    (kept,) = world.store.history.days(["foundations"])["foundations"]
    assert kept.reason == why


def test_quiet_look_by_hand_before_the_days_batch_leaves_the_day_open(world: World) -> None:
    """It is written down all the same: there may be no other."""
    world.feed.papers = [new(1)]
    monday = date(2026, 11, 23)
    world.run()
    world.clock.now = datetime(2026, 11, 23, 1, tzinfo=UTC)
    assert world.run().lists[0].outcome is Outcome.QUIET
    assert outcome(world.store, "foundations", monday) is Outcome.QUIET
    world.feed.papers.append(new(2, published=THURSDAYS + timedelta(days=1)))
    world.clock.now = datetime(2026, 11, 23, 7, tzinfo=UTC)
    world.run()
    assert outcome(world.store, "foundations", monday) is Outcome.NOTE


def test_bug_in_the_feed_is_reported_and_ends_nothing(world: World) -> None:
    class Broken(FakeArxiv):
        def fetch(self, *_: object, **__: object) -> list[Paper]:
            raise ZeroDivisionError("oops")

    world.feed = Broken()
    report = world.run()
    assert "fetching hit a bug in Paperboy: ZeroDivisionError" in report.lists[0].problem


def test_one_fetch_serves_all_lists_and_leaves_out_those_without_subscribers(world: World) -> None:
    world.feed.papers = [new(1)]
    empty = foundations(name="nobody", categories=("hep-th",), subscribers=())
    report = world.run(foundations(), foundations(name="other", categories=("stat.ML",)), empty)
    assert [asked[0] for asked in world.feed.asked] == [("cs.LG", "stat.ML")]
    assert [entry.list_name for entry in report.lists] == ["foundations", "other"]


def test_outage_widens_the_window(world: World) -> None:
    """The least recent fetch counts; a category that was never fetched has nothing to catch up on."""
    world.feed.papers = [new(1)]
    world.run()
    world.clock.now += timedelta(days=12)
    world.store.papers.add([], ["cs.LG"], world.clock.now - timedelta(days=1))
    world.run(foundations(), foundations(name="strings", categories=("hep-th",)))
    _, since, until = world.feed.asked[-1]
    assert until - since == timedelta(days=18)
    world.clock.now += timedelta(days=300)
    world.run()
    _, since, until = world.feed.asked[-1]
    assert until - since == timedelta(days=30), "at most"


def test_arxiv_that_forgets_its_newest_papers_for_a_while_is_not_late(world: World) -> None:
    """As a stale mirror does: they are stored, and come to a list that has not seen them."""
    patience = timedelta(hours=6)
    world.feed.papers = [new(1, published=EARLIER), new(2)]
    world.run(patience=patience)
    del world.feed.papers[1]
    report = world.run(foundations(), foundations(name="other"), patience=patience)
    assert report.due == ()
    assert world.store.history.of_paper("other", "2611.00002").became is not None


def test_window_of_since_reaches_over_evenings_without_an_announcement(world: World) -> None:
    """The first batch since Friday the 13th has waited since Tuesday."""
    evenings = {date(2026, 11, 11), date(2026, 11, 12)}
    world.run(any_day=True, since=date(2026, 11, 13), holidays=evenings)
    _, since, _ = world.feed.asked[-1]
    assert since == datetime(2026, 11, 10, 19, tzinfo=UTC)  # 14:00 in New York


@pytest.mark.parametrize("send_empty", [True, False])
def test_morning_on_which_no_paper_passed_is_a_note(world: World, *, send_empty: bool) -> None:
    """A mail says so, unless the list does without."""
    world.feed.papers = [new(1)]
    report = world.run(foundations(send_empty=send_empty))
    assert report.lists[0].outcome is Outcome.NOTE
    assert len(world.store.ledger.waiting(FRIDAY)) == send_empty


def test_quiet_day_forbids_no_paper_that_the_list_has_not_seen(world: World) -> None:
    world.clock.now += timedelta(days=1)  # Saturday
    world.announce(new(1))
    assert world.run().lists[0].outcome is Outcome.DIGEST


def test_paper_dated_in_the_future_hides_no_late_batch(world: World) -> None:
    one = new(1)
    other = new(2)
    with ArxivServer([one, other], lasting_fault=dated("2126-11-20T00:00:00Z")) as server:
        world.feed = ArxivClient(server.url, delay_seconds=0, clock=world.clock)
        world.run()
        assert world.scorer.asked == [other.id]
        world.clock.now += timedelta(days=3)
        report = world.run()
    assert report.due == ("foundations",)
    assert "was due at 05:15 UTC and has not arrived yet" in report.lists[0].problem


def test_unreachable_arxiv_leaves_the_list_due_with_the_reason(world: World) -> None:
    world.feed.broken = "arXiv does not answer"
    report = world.run()
    assert (report.due, report.lists[0].problem) == (("foundations",), "arXiv does not answer")
    attempt = Attempt("foundations", "arXiv does not answer", FRIDAY, FRIDAY, FRIDAY + RETRY)
    assert world.store.days.attempts() == {"foundations": attempt}
    world.feed.broken = ""
    world.feed.papers = [new(1)]
    assert world.run().due == ()
    assert world.store.days.attempts() == {}


def test_dead_llm_sends_no_digest_and_loses_no_paper(world: World) -> None:
    """Scored 0 of N is not the same as none passed."""
    world.announce(new(1), new(2))
    world.scorer.dies_after = 0
    report = world.run()
    assert report.due == ("foundations",)
    assert report.lists[0].problem == "the LLM at nowhere does not answer"
    assert world.store.ledger.waiting(FRIDAY) == []
    world.scorer.dies_after = None
    assert world.run().lists[0].outcome is Outcome.DIGEST
    assert world.digests() == [["2611.00001", "2611.00002"]]


def test_scores_are_paid_for_once(world: World) -> None:
    """A morning that broke off after scoring is resumed with its scores, and counts what they cost."""
    world.announce(new(1), new(2))
    world.composer.broken = ConfigError([Problem("emails/digest.mjml.j2:3", "broken")])
    report = world.run()
    assert report.lists[0].problem == "emails/digest.mjml.j2:3: broken"
    world.composer.broken = None
    report = world.run()
    assert world.scorer.asked == ["2611.00001", "2611.00002"]
    assert report.lists[0].spending.usage.calls == 2


def test_one_lists_failure_stops_no_other(world: World) -> None:
    world.announce(new(1))
    world.composer.broken = ZeroDivisionError("oops")
    noted = foundations(name="strict", min_relevance=10)
    report = world.run(foundations(), noted)
    assert report.due == ("foundations",)
    assert "this is a bug in Paperboy: ZeroDivisionError('oops')" in report.lists[0].problem
    assert report.lists[1].outcome is Outcome.NOTE


def test_full_disk_ends_the_morning(tmp_path: Path) -> None:
    """Without a disk no other list could be frozen either. `max_page_count` makes SQLite meet the same error."""
    store = Store.open(tmp_path / "paperboy.db")
    world = World(store)
    database = store.database
    world.feed.papers = [new(number) for number in range(1, 60)]
    world.store.papers.add(world.feed.papers, ["cs.LG", "stat.ML"], FRIDAY)
    database.rows(f"pragma max_page_count = {database.rows('pragma page_count')[0]['page_count']}")
    with pytest.raises(StoreWriteError):
        world.run()
    database.close()


def test_incidents_are_noted_in_the_transaction_that_freezes_the_day(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "paperboy.db")
    world = World(store)
    database = store.database
    fails = "create trigger fails before insert on incidents begin select raise(abort, 'no'); end"
    database.execute(fails)
    world.feed.papers = [new(1), new(2)]
    world.scorer.known = good(new(1))
    world.scorer.dies_after = 1
    report = world.run(
        foundations(),
        foundations(name="galaxies", categories=("cs.CV",)),
    )
    assert [entry.outcome for entry in report.lists] == [None, Outcome.QUIET], (
        "a bug in incidents stops no other list"
    )
    assert outcome(world.store, "foundations", FRIDAY.date()) is None
    database.execute("drop trigger fails")
    world.scorer.dies_after = 0
    assert world.run().lists[0].outcome is Outcome.DIGEST
    assert [(incident.kind, incident.subject) for incident in world.store.incidents.all()] == [
        (Kind.SCORING, "foundations")
    ]
    database.close()


def test_scorer_may_spend_until_all_lists_together_have_used_the_days_budget(world: World) -> None:
    """Two papers of each list cost 0.003."""
    world.budget = 0.005
    world.feed.papers = [new(1), new(2)]
    world.run()
    (may_spend,) = world.scorer.may_spend
    assert may_spend is not None
    assert may_spend()
    world.run(foundations(name="other", topics="Another topic"))
    assert not may_spend()


@pytest.mark.parametrize(("hour", "is_left"), [(14, False), (15, True)])
def test_budget_is_whole_again_from_midnight_in_its_zone(
    world: World, hour: int, is_left: bool
) -> None:
    world.budget = 0.005
    criteria = world.scorer.criteria(foundations())
    spent = Spending(cost=Cost(0.005))
    world.store.scores.keep(
        "foundations", criteria, "luna", {}, replace(spent, usage=Usage(calls=1)), FRIDAY
    )
    world.clock.now = FRIDAY.replace(hour=hour)  # in Tokyo, Saturday begins at 15:00 UTC
    world.feed.papers = [new(1)]
    world.run(budget_zone=ZoneInfo("Asia/Tokyo"))
    (may_spend,) = world.scorer.may_spend
    assert may_spend is not None
    assert may_spend() is is_left


def test_lists_that_are_judged_alike_are_judged_once(world: World) -> None:
    """In one morning, and where one list's morning is later than the other's. The first one pays."""
    world.feed.papers = [new(1), new(2)]
    world.scorer.known = good(new(1))
    one = foundations()
    twin = foundations(name="twin")
    third = foundations(name="third", min_relevance=1)
    report = world.run(one, twin)
    assert [entry.counts.selected for entry in report.lists] == [1, 1]
    assert [entry.spending.usage.calls for entry in report.lists] == [2, 0]
    later = world.run(one, twin, third)
    assert later.lists[-1].counts.scored == 2
    assert world.scorer.asked == ["2611.00001", "2611.00002"]
    assert world.store.history.of_paper("third", "2611.00001").scores[0].score == Score(
        9, 8, "good"
    )


def test_papers_of_a_digest_that_reached_nobody_come_with_the_next(world: World) -> None:
    """A mail server that was dead from Wednesday to Friday brings one mail with all papers, and none is paid twice."""
    world.mail_is_down = True
    for day in range(3):
        world.feed.papers.append(new(day + 1, published=THURSDAYS + timedelta(days=day)))
        world.scorer.known = good(*world.feed.papers)
        world.run()
        world.clock.now += timedelta(days=1)
    assert world.digests()[-1] == ["2611.00001", "2611.00002", "2611.00003"]
    assert world.scorer.asked == ["2611.00001", "2611.00002", "2611.00003"]
    (delivery,) = waiting(world.store, world.clock.now)
    assert (
        world.store.ledger.message(delivery.frozen_id).message
        == b"2611.00001 2611.00002 2611.00003"
    )


class TestWhatCannotBeScored:
    """It comes back, and after three mornings on which others were scored it is let go."""

    def mornings(self, world: World, number: int) -> list[ListReport]:
        """So many mornings, each with a new paper beside the one that is always refused."""
        world.scorer.refuses = {"2611.00001"}
        world.feed.papers = [new(1)]
        reports = []
        for day in range(number):
            world.feed.papers.append(new(10 + day, published=THURSDAYS + timedelta(days=day)))
            world.scorer.known = good(*world.feed.papers)
            reports.append(world.run().lists[0])
            world.clock.now += timedelta(days=1)
        return reports

    def test_refused_paper_is_carried_over_twice_and_then_let_go(self, world: World) -> None:
        reports = self.mornings(world, 4)
        assert [(entry.counts.carried_over, entry.counts.let_go) for entry in reports] == [
            (1, 0),
            (1, 0),
            (0, 1),
            (0, 0),
        ]
        assert [paper.id for paper in reports[2].let_go] == ["2611.00001"]
        assert [paper.id for paper in world.composer.made[2].let_go] == ["2611.00001"]
        assert world.store.days.tries("foundations") == {}

    @pytest.mark.parametrize("death", [ScoringError("dead"), BudgetUsedUpError("used up")])
    def test_paper_left_over_by_a_dead_llm_or_the_budget_has_no_failed_morning(
        self, world: World, death: ScoringError
    ) -> None:
        world.scorer.death = death
        world.scorer.dies_after = 1
        for day in range(5):
            world.feed.papers.insert(0, new(50 - day, published=THURSDAYS + timedelta(days=day)))
            report = world.run().lists[0]
            world.clock.now += timedelta(days=1)
        assert report.counts.let_go == 0
        assert report.counts.carried_over == world.composer.made[-1].counts.carried_over
        assert world.store.days.tries("foundations") == {}

    def test_leftovers_alone_are_no_reason_to_stay_due(self, world: World) -> None:
        """A weekend with nothing but a paper that could not be scored on Friday is quiet, and no try."""
        self.mornings(world, 1)
        report = world.run().lists[0]
        assert (report.outcome, report.counts.carried_over) == (Outcome.QUIET, 1)
        assert world.store.days.tries("foundations") == {"2611.00001": 1}


@pytest.mark.parametrize(
    ("death", "shortfall"),
    [(ScoringError("dead"), Shortfall.SERVER), (BudgetUsedUpError("used up"), Shortfall.BUDGET)],
)
def test_digest_of_what_was_scored_says_why_the_rest_was_not(
    world: World, death: ScoringError, shortfall: Shortfall
) -> None:
    world.announce(new(1), new(2))
    world.scorer.death = death
    world.scorer.dies_after = 1
    report = world.run().lists[0]
    assert (report.outcome, report.shortfall, report.problem) == (
        Outcome.DIGEST,
        shortfall,
        str(death),
    )
    assert world.composer.made[0].shortfall is shortfall
    assert (report.counts.scored, report.counts.carried_over) == (1, 1)


def test_bug_in_scoring_is_reported_and_leaves_every_list_due(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.feed.papers = [new(1)]
    world.scorer.death = ZeroDivisionError()
    world.scorer.dies_after = 0
    report = world.run(foundations(), foundations(name="other", topics="Another topic"))
    assert report.due == ("foundations", "other")
    assert all(entry.bug and "bug in Paperboy" in entry.problem for entry in report.lists)
    assert "Traceback" in caplog.text


def test_scores_that_another_process_paid_for_meanwhile_are_not_asked_for_again(
    world: World,
) -> None:
    """A preview gathers, and then waits until the morning under way is done."""
    world.feed.papers = [new(1), new(2)]
    world.scorer.known = good(new(1))
    drafter = world.drafter()
    mailing_list = foundations()

    @contextmanager
    def after_a_morning() -> Iterator[None]:
        world.run(mailing_list)
        yield

    previews = Previews(drafter, world.connect, [mailing_list], after_a_morning, FRIDAY)
    draft, missing = previews.all({"foundations"})["foundations"]
    assert not missing
    assert draft
    assert draft.digest.counts.scored == 2
    assert world.scorer.asked == ["2611.00001", "2611.00002"]


class TestScheduled:
    """The daemon's mornings wait for a late arXiv and a dead LLM, and give up after a while."""

    patience = timedelta(hours=6)

    def test_list_that_does_not_send_today_is_skipped_after_the_fetch(self, world: World) -> None:
        world.feed.papers = [new(1)]
        report = world.run(foundations(weekdays=frozenset({0})), patience=self.patience)
        assert report.lists[0].outcome is Outcome.SKIPPED
        assert world.feed.asked
        assert len(world.store.papers.unseen(foundations())) == 1

    def test_holiday_that_only_the_operator_knows_of_is_not_waited_for(self, world: World) -> None:
        world.feed.papers = [new(1, published=THURSDAYS - timedelta(days=1))]
        world.run(patience=self.patience, holidays=frozenset({date(2026, 11, 19)}))
        assert outcome(world.store, "foundations", date(2026, 11, 20)) is not None

    def test_every_missed_day_gets_an_outcome_with_a_reason(self, world: World) -> None:
        """An evening list whose day ended while the LLM was dead, and two days on which nothing ran."""
        world.feed.papers = [new(1)]
        evening = foundations(send_at=time(22), weekdays=frozenset({0, 1, 2, 3, 4, 5}))
        world.clock.now = datetime(2026, 11, 19, 22, tzinfo=UTC)
        world.run(evening, patience=self.patience)
        world.clock.now += timedelta(days=1)
        world.feed.papers.append(new(2))
        world.scorer.dies_after = 0
        world.run(evening, patience=self.patience)
        world.scorer.dies_after = None
        world.clock.now = datetime(2026, 11, 23, 22, tzinfo=UTC)
        world.run(evening, patience=self.patience)
        friday, saturday, sunday = (
            day
            for day in reversed(world.store.history.days(["foundations"], 9)["foundations"])
            if 20 <= day.date.day <= 22
        )
        assert (friday.outcome, friday.reason) == (
            Outcome.GAVE_UP,
            "scored 0 of 1: the LLM at nowhere does not answer",
        )
        assert (saturday.outcome, saturday.reason) == (Outcome.GAVE_UP, morning.NOTHING_WAS_DONE)
        assert sunday.outcome is Outcome.SKIPPED

    def test_papers_that_are_there_are_sent_when_patience_ends(self, world: World) -> None:
        world.announce(new(1, published=EARLIER))
        report = self.beyond_patience(world, foundations())
        assert report.lists[0].outcome is Outcome.DIGEST
        (day,) = world.store.history.days(["foundations"])["foundations"]
        assert (
            day.reason
            == report.lists[0].problem
            == f"arXiv's batch of Thursday 19 November {NOT_THERE}"
        )

    def test_unreachable_arxiv_is_given_up_with_its_reason_when_patience_ends(
        self, world: World
    ) -> None:
        world.feed.broken = "arXiv does not answer"
        report = self.beyond_patience(world, foundations())
        assert (report.lists[0].outcome, report.lists[0].problem) == (
            Outcome.GAVE_UP,
            "arXiv does not answer",
        )
        (day,) = world.store.history.days(["foundations"])["foundations"]
        assert day.reason == "arXiv does not answer"

    def test_late_batch_is_given_up_with_its_reason_when_patience_ends(self, world: World) -> None:
        """No day is quiet while arXiv is late: it may be a holiday that is on no list, and it may not."""
        world.feed.papers = [new(1, published=EARLIER)]
        world.run()
        world.clock.now += timedelta(hours=24)
        # Tuesday, and Monday's batch is not there.
        world.clock.now = world.clock.now.replace(day=24)
        assert world.run(patience=self.patience).due == ("foundations",)
        world.clock.now += timedelta(hours=7)
        report = world.run(patience=self.patience)
        assert report.lists[0].outcome is Outcome.GAVE_UP
        assert report.lists[0].problem == f"arXiv's batch of Monday 23 November {NOT_THERE}"

    def test_dead_llm_is_given_up_without_losing_a_paper(self, world: World) -> None:
        world.feed.papers = [new(1)]
        world.scorer.dies_after = 0
        report = self.beyond_patience(world, foundations())
        assert report.lists[0].outcome is Outcome.GAVE_UP
        assert report.lists[0].counts.carried_over == 1
        assert len(world.store.papers.unseen(foundations())) == 1

    def test_patience_lasts_from_the_first_try(self, world: World) -> None:
        """A laptop wakes up long after the hour, and its network only later."""
        world.feed.papers = [new(1)]
        world.feed.broken = "no network"
        world.clock.now += timedelta(hours=8)
        assert world.run(patience=self.patience).due == ("foundations",)
        world.clock.now += timedelta(minutes=15)
        world.feed.broken = None
        assert world.run(patience=self.patience).lists[0].outcome is not None

    def test_skipped_or_given_up_day_is_made_when_a_person_asks_or_its_weekday_is_added(
        self, world: World
    ) -> None:
        world.announce(new(1))
        ways = [({0, 4}, self.patience, False), ({0, 4}, None, False), ({0}, None, True)]
        for number, (days, patience, any_day) in enumerate(ways):
            one = foundations(name=f"list-{number}", weekdays=frozenset({0}))
            for by in (self.patience, None):
                assert world.run(one, patience=by).lists[0].outcome is Outcome.SKIPPED
            again = world.run(
                replace(one, weekdays=frozenset(days)), patience=patience, any_day=any_day
            )
            assert again.lists[0].outcome is Outcome.DIGEST
        world.feed.broken = "arXiv does not answer"
        self.beyond_patience(world, foundations(name="other"))
        world.feed.broken = None
        assert world.run(foundations(name="other")).lists[0].outcome is Outcome.DIGEST

    def beyond_patience(self, world: World, entry: MailingList) -> MorningReport:
        """The last try of several."""
        assert world.run(entry, patience=self.patience).due == (entry.name,)
        world.clock.now += self.patience + timedelta(hours=1)
        return world.run(entry, patience=self.patience)


LATE = FetchResult(missing="arXiv is late", late=frozenset({""}), blocks=True)
LATE_BIORXIV = FetchResult(missing="bioRxiv is late", late=frozenset({"biorxiv"}))
FROM_ARXIV = paper("2611.00001")
FROM_BIORXIV = paper("biorxiv:10.64898/2026.11.19.000001")
NOT_ON_FRIDAYS = "it does not send on Fridays; paperboy once --list foundations sends it today"


@pytest.mark.parametrize(
    ("fetched", "papers", "flags", "expected"),
    [
        (FetchResult(), None, "waits", None),
        (FetchResult(), [], "waits", None),
        (LATE, None, "waits", "arXiv is late"),
        (LATE, [FROM_BIORXIV], "waits", "arXiv is late"),
        (LATE, None, "", None),
        (LATE_BIORXIV, None, "waits", None),
        (LATE_BIORXIV, [], "waits", "bioRxiv is late"),
        (LATE_BIORXIV, [FROM_BIORXIV], "waits", "bioRxiv is late"),
        (LATE_BIORXIV, [FROM_BIORXIV, FROM_ARXIV], "waits", None),
        (LATE_BIORXIV, [], "", None),
        (FetchResult(), [FROM_ARXIV], "off", NOT_ON_FRIDAYS),
        (LATE, None, "off waits", NOT_ON_FRIDAYS),
        (LATE, None, "off any_day", None),
        (LATE, None, "off any_day waits", "arXiv is late"),
    ],
)
def test_list_is_held_back_on_its_days_off_and_while_it_waits_for_a_late_source(
    fetched: FetchResult, papers: Sequence[Paper] | None, flags: str, expected: str | None
) -> None:
    weekdays = frozenset({5} if "off" in flags else {4, 5})
    report = morning.held_back(
        foundations(weekdays=weekdays),
        FRIDAY.date(),
        fetched,
        papers,
        waits="waits" in flags,
        any_day="any_day" in flags,
    )
    assert (report and report.problem) == expected
    skipped = expected == NOT_ON_FRIDAYS
    assert (report and report.outcome) == (Outcome.SKIPPED if skipped else None)


def test_paper_left_out_by_the_shortlist_is_not_scored(world: World) -> None:
    one = new(1)
    other = new(2)
    third = new(3)
    world.announce(one, other, third)
    out = Learned(not_called=frozenset({other.id}), sampled=frozenset({third.id}))
    (report,) = world.run(learn=lambda *_: out).lists
    assert (report.counts.not_called, report.counts.selected) == (1, 2)
    assert other.id not in world.scorer.asked
    assert world.store.history.of_paper("foundations", other.id).became is PaperOutcome.NOT_CALLED


def test_likes_order_papers_with_equal_scores_and_hide_none(world: World) -> None:
    world.feed.papers = [new(number) for number in range(1, 5)]
    world.scorer.known = good(*world.feed.papers) | {"2611.00003": Score(10, 8)}
    likes = Learned(
        liked={"2611.00002": 2.0, "2611.00004": 1.0, "2611.00001": -1.0, "2611.00003": -2.0}
    )
    world.run(learn=lambda *_: likes)
    assert world.digests() == [["2611.00003", "2611.00002", "2611.00004", "2611.00001"]]


@pytest.mark.parametrize("model", [LLM, EMBEDDED])
def test_closeness_to_the_topics_orders_equal_scores(world: World, model: Model) -> None:
    world.announce(new(1), new(2, abstract="We find a dwarf galaxy."))
    world.scorer.model = model
    world.run(foundations(topics="Dwarf galaxies."))
    assert world.digests()[0][0] == "2611.00002"


def test_rows_of_features_are_part_of_the_days_transaction(world: World) -> None:
    """What fails undoes the day."""
    world.announce(new(1))
    seen = list[tuple[str, Outcome, int | None]]()

    def fail(mailing_list: MailingList, day: Day, digest_id: int | None, _: datetime) -> None:
        seen.append((mailing_list.name, day.outcome, digest_id))
        if len(seen) == 1:
            raise ConfigError([Problem("features", "broken")])

    world.frozen = [fail]
    assert world.run().due == ("foundations",)
    world.run()
    assert seen == [("foundations", Outcome.DIGEST, 1)] * 2
