"""Sending: from frozen digests to receipts, on a real ledger, with a transport that says what it is told to say."""

import itertools
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from paperboy import delivery
from paperboy.delivery import Membership, masked, what_follows
from paperboy.models import (
    Addressed,
    Composed,
    Day,
    Delivery,
    DeliveryState,
    Envelope,
    Outcome,
    Receipt,
    Subscriber,
)
from paperboy.store import Store
from tests.fakes import Clock, FakeTransport, NoProgress

FRIDAY = date(2026, 11, 20)
NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
NAMES = ("ada", "grace", "hedy")
ALL = {"foundations": frozenset(f"{name}@example.org" for name in NAMES)}


def addressed(name: str) -> Addressed:
    return Addressed(Subscriber(f"{name}@example.org"), f"<{name}@example.org>", name)


@dataclass
class World:
    store: Store
    transport: FakeTransport = field(default_factory=FakeTransport)
    transports: list[FakeTransport] = field(default_factory=list)
    clock: Clock = field(default_factory=lambda: Clock(NOW))
    waits: list[float] = field(default_factory=list)
    most_per_minute: int = 0

    def deliver(
        self,
        audience: dict[str, frozenset[str]] = ALL,
        leaving: Collection[str] = (),
        stop: Callable[[], bool] = lambda: False,
        timer: Callable[[], float] | None = None,
        grace_seconds: float = 20.0,
    ) -> delivery.Report:
        parts = delivery.Parts(
            transports=self.transports or [self.transport],
            ledger=self.store.deliveries,
            suppressions=self.store.suppressions,
            digests=self.store.days,
            address=lambda composed, one: Envelope(
                composed.sender,
                one.addressed.subscriber.address,
                one.addressed.message_id.encode() + composed.message,
                one.list_name,
            ),
            progress=NoProgress(),
            clock=self.clock,
            timer=timer or (lambda: sum(self.waits)),
            grace_seconds=grace_seconds,
            wait=self.waits.append,
            jitter=lambda: 0.5,
            most_per_minute=self.most_per_minute,
        )

        def standing(list_name: str, address: str, _now: datetime) -> Membership:
            if address in leaving:
                return Membership.LEAVING
            return Membership.ON if address in audience.get(list_name, ()) else Membership.GONE

        return delivery.deliver(parts, standing, stopped=stop)

    def recipients(self) -> list[str]:
        return [envelope.recipient.partition("@")[0] for envelope in self.transport.sent]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Store.open(tmp_path / "paperboy.db") as store:
        composed = Composed("subject", "papers@example.org", b"shared bytes")
        people = tuple(addressed(name) for name in NAMES)
        day = Day("foundations", date(2026, 11, 20), Outcome.DIGEST, composed=composed, addressed=people)
        store.days.freeze(day, NOW)
        yield World(store)


def test_everybody_gets_their_own_copy_once(world: World) -> None:
    report = world.deliver()
    assert report.states == {DeliveryState.SENT: 3}
    assert world.recipients() == ["ada", "grace", "hedy"]
    assert world.transport.sent[0].message == b"<ada@example.org>shared bytes"
    assert world.deliver().states == {}
    assert len(world.transport.sent) == 3
    assert world.transport.closed == 1


def test_what_a_crash_left_in_sending_goes_out_with_the_same_bytes(world: World) -> None:
    left = world.store.deliveries.waiting(NOW)[0]
    world.store.deliveries.reserve(left, NOW)
    world.deliver()
    assert world.recipients() == ["ada", "grace", "hedy"]
    assert world.transport.sent[0].message == b"<ada@example.org>shared bytes"


def test_who_left_the_list_gets_nothing_more(world: World) -> None:
    report = world.deliver({"foundations": frozenset({"ada@example.org"})})
    assert report.states == {DeliveryState.SENT: 1, DeliveryState.SUPPRESSED: 2}
    assert world.recipients() == ["ada"]


def test_a_list_that_left_the_file_sends_nothing_more(world: World) -> None:
    assert world.deliver({}).states == {DeliveryState.SUPPRESSED: 3}


@pytest.mark.parametrize("state", [DeliveryState.PENDING, DeliveryState.DEFERRED, DeliveryState.SENDING])
def test_who_may_be_leaving_is_passed_over_and_waits_as_before(
    state: DeliveryState, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = world.store.deliveries
    if state is not DeliveryState.PENDING:
        ledger.reserve(ledger.waiting(NOW)[0], NOW)
    if state is DeliveryState.DEFERRED:
        ledger.settle(ledger.waiting(NOW)[0], state, "450 later", NOW, try_at=NOW)
    before = ledger.waiting(NOW)[0]
    report = world.deliver(leaving=["ada@example.org"])
    assert (report.states, report.passed_over, report.problem) == ({DeliveryState.SENT: 2}, 1, "")
    assert ledger.waiting(NOW) == (before,)
    assert before.state is state
    assert "foundations: 1 passed over: not on the list now, which may be half an edit" in caplog.text
    assert world.deliver().states == {DeliveryState.SENT: 1}


def test_where_all_may_be_leaving_the_round_ends_and_no_server_is_called(world: World) -> None:
    world.transport.down = 0
    report = world.deliver(leaving=ALL["foundations"])
    assert (report.states, report.passed_over, report.problem) == ({}, 3, "")
    assert ledger_states(world) == [DeliveryState.PENDING] * 3
    world.transport.down = None
    assert world.deliver({}).states == {DeliveryState.SUPPRESSED: 3}


def test_who_leaves_while_the_turn_is_waited_for_is_passed_over(world: World) -> None:
    world.most_per_minute = 60
    leaving: list[str] = []
    original = world.transport.send

    class Leaves(FakeTransport):
        def send(self, envelope: Envelope) -> Receipt:
            leaving.append("grace@example.org")
            return original(envelope)

    world.transports = [Leaves()]
    report = world.deliver(leaving=leaving)
    assert (report.states, report.passed_over) == ({DeliveryState.SENT: 2}, 1)


def ledger_states(world: World) -> list[DeliveryState]:
    return [left.state for left in world.store.deliveries.waiting(world.clock())]


def test_one_refused_address_stops_nobody_else(world: World) -> None:
    world.transport.replies["ada@example.org"] = [DeliveryState.FAILED]
    report = world.deliver()
    assert report.states == {DeliveryState.FAILED: 1, DeliveryState.SENT: 2}
    world.clock.now += timedelta(days=1)
    assert world.deliver().states == {}


def test_a_deferred_address_is_tried_again_when_its_wait_is_over(world: World) -> None:
    world.transport.replies["ada@example.org"] = [DeliveryState.DEFERRED, DeliveryState.DEFERRED]
    world.deliver()
    world.clock.now += timedelta(minutes=4)
    assert world.deliver().states == {}
    world.clock.now += timedelta(minutes=1)
    assert world.deliver().states == {DeliveryState.DEFERRED: 1}
    world.clock.now += timedelta(minutes=10)
    assert world.deliver().states == {DeliveryState.SENT: 1}


def test_a_server_that_refuses_us_ends_the_round_and_all_stay_pending(world: World) -> None:
    world.transport.down = 1
    report = world.deliver()
    assert report.problem == "mail.example.org:587 refuses the login; check SMTP_PASSWORD"
    assert report.states == {DeliveryState.SENT: 1}
    assert [left.state for left in world.store.deliveries.waiting(NOW)] == [DeliveryState.PENDING] * 2
    assert world.transport.closed == 1
    world.transport.down = None
    assert world.deliver().states == {DeliveryState.SENT: 2}


def test_a_bug_at_one_address_stops_nobody_else(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.transport.breaks_at = "ada@example.org"
    assert world.deliver().states == {DeliveryState.DEFERRED: 1, DeliveryState.SENT: 2}
    assert "ZeroDivisionError" in caplog.text
    assert "ada@example.org" not in caplog.text
    world.transport.breaks_at = ""
    world.clock.now += timedelta(minutes=5)
    assert world.deliver().states == {DeliveryState.SENT: 1}


def test_being_told_to_stop_ends_between_two_messages(world: World) -> None:
    world.deliver(stop=lambda: bool(world.transport.sent))
    assert world.recipients() == ["ada"]
    assert [left.state for left in world.store.deliveries.waiting(NOW)] == [DeliveryState.PENDING] * 2


def test_a_connection_lost_after_the_dot_is_tried_once_more_and_then_nobody_can_know(world: World) -> None:
    world.transport.replies["ada@example.org"] = [DeliveryState.AMBIGUOUS, DeliveryState.AMBIGUOUS]
    assert world.deliver().states[DeliveryState.DEFERRED] == 1
    world.clock.now += timedelta(hours=1)
    assert world.deliver().states == {DeliveryState.AMBIGUOUS: 1}
    world.clock.now += timedelta(days=1)
    assert world.deliver().states == {}
    first, second = (envelope.message for envelope in world.transport.sent if envelope.recipient == "ada@example.org")
    assert first == second


@pytest.mark.parametrize(("attempts", "minutes"), [(0, 5), (1, 10), (2, 20), (5, 160), (6, 240), (20, 240)])
def test_waits_double_up_to_four_hours(attempts: int, minutes: int) -> None:
    one = Delivery(1, 1, "foundations", addressed("ada"), DeliveryState.DEFERRED, attempts=attempts)
    state, wait = what_follows(one, Receipt(DeliveryState.DEFERRED, "450 busy"), jitter=0.5)
    assert (state, wait) == (DeliveryState.DEFERRED, timedelta(minutes=minutes))


def test_what_was_never_handed_over_waits_like_what_was_deferred() -> None:
    one = Delivery(1, 1, "foundations", addressed("ada"), DeliveryState.PENDING)
    assert what_follows(one, Receipt(DeliveryState.PENDING, "lost"), 0.5)[0] is DeliveryState.DEFERRED


def test_an_address_in_a_log_is_masked(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.transport.replies["ada@example.org"] = [DeliveryState.FAILED]
    world.deliver()
    assert "a…@example.org" in caplog.text
    assert "ada@example.org" not in caplog.text
    assert masked("x@example.org") == "x…@example.org"


# ---- several connections


def crowd(world: World, number: int) -> dict[str, frozenset[str]]:
    """A second digest, for so many."""
    names = [f"reader{n:03}" for n in range(number)]
    composed = Composed("subject", "papers@example.org", b"shared bytes")
    day = Day("crowd", FRIDAY, Outcome.DIGEST, composed=composed, addressed=tuple(addressed(name) for name in names))
    world.store.days.freeze(day, NOW)
    return {**ALL, "crowd": frozenset(f"{name}@example.org" for name in names)}


def test_connections_share_the_work_and_nobody_gets_two(world: World) -> None:
    audience = crowd(world, 200)
    world.transports = [FakeTransport() for _ in range(4)]
    assert world.deliver(audience).states == {DeliveryState.SENT: 203}
    sent = [envelope.recipient for transport in world.transports for envelope in transport.sent]
    assert len(sent) == len(set(sent)) == 203
    assert all(transport.closed for transport in world.transports)


def test_more_than_are_read_together_are_all_served(world: World) -> None:
    audience = crowd(world, 450)
    busy = Receipt(DeliveryState.DEFERRED, "450 later")
    world.transports = [FakeTransport({f"{name}@example.org": [busy] for name in NAMES}) for _ in range(3)]
    report = world.deliver(audience)
    assert report.states == {DeliveryState.SENT: 450, DeliveryState.DEFERRED: 3}
    assert len({envelope.recipient for transport in world.transports for envelope in transport.sent}) == 453


def test_a_connection_that_the_server_will_not_have_leaves_the_work_to_the_others(world: World) -> None:
    audience = crowd(world, 50)
    world.transports = [FakeTransport(), FakeTransport(down=0, temporary=True), FakeTransport(down=3, temporary=True)]
    report = world.deliver(audience)
    assert (report.states, report.problem) == ({DeliveryState.SENT: 53}, "")


def test_when_the_last_connection_is_gone_it_gets_pauses_that_grow_and_the_rest_stays_pending(world: World) -> None:
    world.transports = [FakeTransport(down=1, temporary=True), FakeTransport(down=1, temporary=True)]
    report = world.deliver()
    assert report.states == {DeliveryState.SENT: 2}
    assert "refuses the login" in report.problem
    assert (report.passing, report.since) == (True, NOW)
    assert sum(world.waits) == pytest.approx(5 + 10 + 20 + 40)
    assert [left.state for left in world.store.deliveries.waiting(NOW)] == [DeliveryState.PENDING]


def test_a_server_that_is_busy_when_it_is_called_is_called_again(world: World) -> None:
    world.transports = [FakeTransport(refusals=2, busy=True), FakeTransport(refusals=2, busy=True)]
    report = world.deliver()
    assert (report.states, report.problem) == ({DeliveryState.SENT: 3}, "")
    assert sum(world.waits) == pytest.approx(5.0 + 10.0)  # the first has left the work to the second, which waited


def test_a_server_that_cannot_be_reached_at_all_is_not_waited_for(world: World) -> None:
    """It may be the wrong port: whoever called finds out at once."""
    world.transports = [FakeTransport(down=0, temporary=True)]
    report = world.deliver()
    assert (report.passing, sum(world.waits)) == (True, 0)
    assert "refuses the login" in report.problem


def test_a_server_that_refuses_us_for_good_is_not_waited_for(world: World) -> None:
    world.transports = [FakeTransport(down=1)]
    report = world.deliver()
    assert (report.passing, sum(world.waits)) == (False, 0)


def test_being_told_to_stop_ends_a_pause(world: World) -> None:
    world.transports = [FakeTransport(refusals=99, busy=True)]
    report = world.deliver(stop=lambda: len(world.waits) >= 3)
    assert (report.problem, len(world.waits)) == ("", 3)
    assert {left.state for left in world.store.deliveries.waiting(NOW)} == {DeliveryState.PENDING}


def test_what_no_connection_could_make_sense_of_is_raised(world: World) -> None:
    """A disk that is full, say: nothing more is begun, and all connections are closed."""

    class Broken(FakeTransport):
        def send(self, envelope: Envelope) -> Receipt:
            raise KeyboardInterrupt

    world.transports = [Broken(), Broken()]
    with pytest.raises(KeyboardInterrupt):
        world.deliver()
    assert all(transport.closed for transport in world.transports)


class Stuck(FakeTransport):
    """Waits for an answer that does not come, until it is broken off."""

    broken_off: threading.Event

    def send(self, envelope: Envelope) -> Receipt:
        self.sent.append(envelope)
        self.broken_off.wait(30)
        return Receipt(DeliveryState.AMBIGUOUS, "connection lost after the message")

    def abort(self) -> None:
        super().abort()
        self.broken_off.set()


def test_what_is_stuck_when_the_round_is_stopped_is_broken_off_after_a_while(world: World) -> None:
    stuck = Stuck()
    stuck.broken_off = threading.Event()
    world.transports = [stuck]
    report = world.deliver(stop=lambda: bool(stuck.sent), timer=time.monotonic, grace_seconds=0.1)
    assert report.states == {DeliveryState.DEFERRED: 1}
    assert stuck.aborted
    assert len(world.store.deliveries.waiting(NOW + timedelta(days=1))) == 3


def test_what_was_broken_off_before_it_was_handed_over_stays_pending(world: World) -> None:
    """Not deferred, and no sign of a bad server: it was we who hung up."""
    lost = Receipt(DeliveryState.PENDING, "connection lost before the message was handed over")
    world.transports = [FakeTransport({f"{name}@example.org": [lost] for name in NAMES}) for _ in range(3)]
    report = world.deliver(stop=lambda: any(transport.sent for transport in world.transports))
    assert report.problem == ""
    left = world.store.deliveries.waiting(NOW)
    assert {(each.state, each.attempts) for each in left} == {(DeliveryState.PENDING, 0)}


# ---- the server's pace


def test_a_rate_is_kept_smoothly(world: World) -> None:
    audience = crowd(world, 27)
    world.most_per_minute = 60
    world.deliver(audience)
    assert sum(world.waits) == pytest.approx(29.0)  # 30 mails, a second between two


def test_a_busy_server_gets_pauses_that_grow_and_are_forgotten(world: World) -> None:
    busy = Receipt(DeliveryState.DEFERRED, "421 too many messages", slow_down=True)
    world.transport.replies = {f"{name}@example.org": [busy] for name in ("ada", "grace")}
    report = world.deliver()
    assert report.states == {DeliveryState.DEFERRED: 2, DeliveryState.SENT: 1}
    assert (sum(world.waits), report.problem) == (pytest.approx(5.0 + 10.0), "")


def test_a_server_that_stays_busy_is_left_alone_for_now(world: World) -> None:
    audience = crowd(world, 50)
    busy = Receipt(DeliveryState.DEFERRED, "421 too many messages", slow_down=True)
    world.transport.replies = {address: [busy] for list_ in audience.values() for address in list_}
    report = world.deliver(audience)
    assert report.problem == "the mail server was given 5 pauses, and is not well: 421 too many messages"
    assert report.passing
    assert len(world.transport.sent) == 5
    states = {left.state for left in world.store.deliveries.waiting(NOW)}
    assert states == {DeliveryState.PENDING}


def test_a_pause_holds_a_connection_that_waits_for_its_turn_too(world: World) -> None:
    """At a mail in a second: the first connection meets a busy server while the second waits for its own turn."""
    audience = crowd(world, 5)
    waiting, met, went_on = threading.Event(), threading.Event(), threading.Event()

    class Waits(list[float]):
        """Time passes for the second connection when the first has met it, and then for that one alone for a while."""

        def append(self, seconds: float) -> None:
            if threading.current_thread() is not first.thread:
                waiting.set()
                met.wait(10)
                if sum(self) > 3:
                    went_on.set()
            elif len(first.sent) == 2:
                met.set()
                went_on.wait(10)
            super().append(seconds)

    class Connection(FakeTransport):
        def __init__(self) -> None:
            super().__init__()
            self.thread: threading.Thread | None = None
            self.times: list[float] = []

        def send(self, envelope: Envelope) -> Receipt:
            self.thread = threading.current_thread()
            self.times.append(sum(world.waits))
            receipt = super().send(envelope)
            if self is second:
                went_on.set()
            elif len(self.sent) == 2:
                assert waiting.wait(10)
                return Receipt(DeliveryState.DEFERRED, "421 too many messages", slow_down=True)
            return receipt

    first, second = Connection(), Connection()
    world.transports, world.waits, world.most_per_minute = [first, second], Waits(), 60
    assert world.deliver(audience).states == {DeliveryState.SENT: 7, DeliveryState.DEFERRED: 1}
    assert second.times
    assert min([*second.times, *first.times[2:]]) >= first.times[1] + 5.0


def test_while_a_server_is_down_no_try_counts(world: World) -> None:
    """Or an address would wait for hours when the server is well again."""
    world.transports = [FakeTransport(down=0, temporary=True)]
    for _ in range(5):
        assert "refuses the login" in world.deliver().problem
    assert {left.attempts for left in world.store.deliveries.waiting(NOW)} == {0}


def test_the_first_connection_is_let_in_before_the_others_knock(world: World) -> None:
    """A password that is wrong is refused once."""
    world.transports = [FakeTransport(down=0) for _ in range(10)]
    assert "refuses the login" in world.deliver().problem
    assert [transport.refusals for transport in world.transports] == [-1, *[0] * 9]


@pytest.mark.parametrize("state", [DeliveryState.PENDING, DeliveryState.AMBIGUOUS])
def test_one_incident_that_meets_several_connections_counts_once(world: World, state: DeliveryState) -> None:
    """A server that restarts cuts all of them at once."""
    audience = crowd(world, 50)
    together = threading.Barrier(4)

    class Cut(FakeTransport):
        def send(self, envelope: Envelope) -> Receipt:
            if len(self.sent) == 1:  # the others begin when the first one was let in
                together.wait(10)
                self.sent.append(envelope)
                return Receipt(state, "connection lost")
            return super().send(envelope)

    world.transports = [Cut() for _ in range(4)]
    ticks = itertools.count(1)
    report = world.deliver(audience, timer=lambda: float(next(ticks)))
    assert report.problem == ""
    assert report.states == {DeliveryState.SENT: 49, DeliveryState.DEFERRED: 4}


@pytest.mark.parametrize("state", [DeliveryState.PENDING, DeliveryState.AMBIGUOUS])
def test_a_server_that_goes_away_again_and_again_ends_the_round(world: World, state: DeliveryState) -> None:
    audience = crowd(world, 50)
    lost = Receipt(state, "connection lost")
    world.transport.replies = {address: [lost] for list_ in audience.values() for address in list_}
    report = world.deliver(audience)
    assert report.problem.startswith("the mail server goes away again and again")
    assert (report.passing, sum(world.waits)) == (True, pytest.approx(5.0 + 10.0))
    assert len(world.transport.sent) == 3


# ---- what is given up


def test_after_three_days_nobody_is_tried_any_more(world: World) -> None:
    tried = []
    world.transport.replies["ada@example.org"] = [DeliveryState.DEFERRED] * 99
    for hour in range(100):
        before = len(world.transport.sent)
        world.deliver()
        tried += [hour] if len(world.transport.sent) > before else []
        world.clock.now += timedelta(hours=1)
    assert len(tried) > 20
    assert max(tried) < 72
    (day,) = world.store.days.newest(["foundations"], world.clock())
    assert day.deliveries == {DeliveryState.SENT: 2, DeliveryState.FAILED: 1}


def test_what_expired_is_told(world: World) -> None:
    world.transport.replies["ada@example.org"] = [DeliveryState.DEFERRED]
    world.deliver()
    world.clock.now += timedelta(days=3)
    report = world.deliver()
    assert report.states == {DeliveryState.FAILED: 1}
    for again in (report, world.deliver()):  # a kill may have come before the operator was told
        assert [each.addressed.subscriber.address for each in again.expired] == ["ada@example.org"]
    world.store.deliveries.told()
    assert world.deliver().expired == ()


def test_what_waits_since_a_crash_is_not_too_late_for_the_others(world: World) -> None:
    """One may have it, so the digest stands; after five days it is tried again, for all."""
    world.store.deliveries.reserve(world.store.deliveries.waiting(NOW)[0], NOW)
    world.clock.now += timedelta(days=5)
    assert world.deliver().states == {DeliveryState.SENT: 3}


def test_a_digest_that_was_refused_for_all_is_told_and_one_that_reached_somebody_is_not(world: World) -> None:
    audience = crowd(world, 2)
    no = Receipt(DeliveryState.FAILED, "RCPT: 554 5.7.1 no")
    world.transport.replies = {f"{name}@example.org": [no] for name in (*NAMES, "reader000")}
    report = world.deliver(audience)
    assert (report.refused, report.reached) == ((("foundations", "RCPT: 554 5.7.1 no"),), {"crowd"})
    assert world.deliver(audience).refused == ()


def test_who_is_suppressed_was_not_to_get_it(world: World) -> None:
    world.store.suppressions.add("hedy@example.org", "", "asked to leave", NOW)
    no = Receipt(DeliveryState.FAILED, "RCPT: 554 5.7.1 no")
    world.transport.replies = {f"{name}@example.org": [no] for name in ("ada", "grace")}
    assert [name for name, _ in world.deliver().refused] == ["foundations"]


def test_who_is_still_waited_for_may_get_it(world: World) -> None:
    no = Receipt(DeliveryState.FAILED, "RCPT: 554 5.7.1 no")
    world.transport.replies = {f"{name}@example.org": [no] for name in ("ada", "grace")}
    world.transport.replies["hedy@example.org"] = [DeliveryState.DEFERRED]
    assert world.deliver().refused == ()


def test_a_suppressed_address_gets_nothing(world: World) -> None:
    world.store.suppressions.add("Ada@example.org", "foundations", "asked to leave", NOW)
    world.store.suppressions.add("grace@example.org", "galaxies", "asked to leave another list", NOW)
    world.deliver()
    assert world.recipients() == ["grace", "hedy"]


def test_an_address_that_did_not_exist_in_three_digests_is_suppressed_and_told_once(world: World) -> None:
    gone = Receipt(DeliveryState.FAILED, "RCPT: 550 5.1.1 no such user", bounce=True)
    people = tuple(addressed(name) for name in NAMES)
    told = []
    for day in range(5):
        world.transport.replies["ada@example.org"] = [gone]
        told.append([address for address, _ in world.deliver().suppressed])
        world.store.suppressions.told()
        world.clock.now += timedelta(days=1)
        composed = Composed("subject", "papers@example.org", b"shared bytes")
        frozen = Day(
            "foundations", FRIDAY + timedelta(days=day + 1), Outcome.DIGEST, composed=composed, addressed=people
        )
        world.store.days.freeze(frozen, world.clock.now)
    assert told == [[], [], ["ada@example.org"], [], []]
    assert world.recipients().count("ada") == 3
    (suppression,) = world.store.suppressions.all()
    assert "5.1.1" in suppression.reason
