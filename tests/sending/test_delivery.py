"""Sending: from frozen digests to receipts, on a real ledger, with a transport that says what it is told to say."""

import itertools
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from paperboy.edges.text import one_line
from paperboy.errors import MailServerError, StoreError
from paperboy.models import (
    Composed,
    Day,
    Delivery,
    DeliveryState,
    Envelope,
    MessageCopy,
    Outcome,
    Receipt,
    Subscriber,
)
from paperboy.sending import delivery
from paperboy.sending.delivery import Report, Transport, record, what_follows
from paperboy.sending.smtp import SmtpTransport
from paperboy.store import Store
from paperboy.store.incidents import Kind
from tests.fakes import Clock, FakeTransport, NoProgress
from tests.servers.smtp import Fault, SmtpServer
from tests.store.ledger import waiting

FRIDAY = date(2026, 11, 20)
NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
NAMES = ("ada", "grace", "hedy")
ALL = {"foundations": frozenset(f"{name}@example.org" for name in NAMES)}
SENT = DeliveryState.SENT
PENDING = DeliveryState.PENDING
DEFERRED = DeliveryState.DEFERRED
FAILED = DeliveryState.FAILED
AMBIGUOUS = DeliveryState.AMBIGUOUS
SUPPRESSED = DeliveryState.SUPPRESSED
TOO_MANY = Receipt(DEFERRED, "421 too many messages", slow_down=True)
REFUSED = Receipt(FAILED, "RCPT: 554 5.7.1 no")


def copy_for(name: str) -> MessageCopy:
    return MessageCopy(Subscriber(f"{name}@example.org"), f"<{name}@example.org>", name)


class Copies:
    """A copy is the Message-ID and the shared bytes."""

    def envelope(self, composed: Composed, one: Delivery) -> Envelope:
        message = one.copy.message_id.encode() + composed.message
        return Envelope(composed.sender, one.copy.subscriber.address, message, one.list_name)


@dataclass
class World:
    store: Store
    transport: FakeTransport = field(default_factory=FakeTransport)
    transports: Sequence[Transport] = ()
    clock: Clock = field(default_factory=lambda: Clock(NOW))
    waits: list[float] = field(default_factory=list)
    most_per_minute: int = 0
    grows: bool = False
    composer: Any = field(default_factory=Copies)

    def deliver(
        self,
        lists: dict[str, frozenset[str]] = ALL,
        stop: Callable[[], bool] = lambda: False,
        timer: Callable[[], float] | None = None,
        *,
        look: Callable[[], None] = lambda: None,
        by_hand: bool = True,
        rest: bool = False,
    ) -> delivery.Report:
        sending = delivery.Round(
            store=self.store,
            transports=self.transports or [self.transport],
            composer=self.composer,
            on_list=lambda list_name, address: address in lists.get(list_name, ()),
            clock=self.clock,
            timer=timer or (lambda: sum(self.waits)),
            wait=self.waits.append,
            jitter=lambda: 0.5,
            progress=NoProgress(),
            stopped=stop,
            most_per_minute=self.most_per_minute,
            grows=self.grows,
            reload_lists=look,
        )
        return sending.deliver(by_hand=by_hand, rest=rest)

    def crowd(self, number: int) -> dict[str, frozenset[str]]:
        """Freezes a second digest, for so many; gives who is on the lists now."""
        self.freeze("crowd", FRIDAY, [f"reader{n:03}" for n in range(number)])
        return {**ALL, "crowd": frozenset(f"reader{n:03}@example.org" for n in range(number))}

    def freeze(self, list_name: str, day: date, names: list[str]) -> None:
        composed = Composed("subject", "papers@example.org", b"shared bytes")
        people = tuple(copy_for(name) for name in names)
        self.store.days.freeze(
            Day(list_name, day, Outcome.DIGEST, composed=composed, copies=people), self.clock()
        )

    def recipients(self) -> list[str]:
        return [envelope.recipient.partition("@")[0] for envelope in self.transport.sent]

    def waiting(self) -> list[DeliveryState]:
        """Of those that no backoff of their address holds back."""
        self.store.retry_now(self.clock())
        return [left.state for left in waiting(self.store, self.clock())]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "paperboy.db"


@pytest.fixture
def world(path: Path) -> Iterator[World]:
    with Store.open(path) as store:
        made = World(store)
        made.freeze("foundations", FRIDAY, [*NAMES])
        yield made


def test_every_subscriber_gets_one_copy_once(world: World) -> None:
    assert world.deliver().states == {SENT: 3}
    assert world.recipients() == ["ada", "grace", "hedy"]
    assert world.transport.sent[0].message == b"<ada@example.org>shared bytes"
    assert world.deliver().states == {}
    assert (len(world.transport.sent), world.transport.closed) == (3, 1)


def test_lists_are_looked_at_while_connections_go_on_sending(world: World) -> None:
    """A list of a hundred thousand takes a second to read, and servers close idle connections."""
    began = threading.Event()
    all_sent = threading.Event()

    class Watched(FakeTransport):
        def send(self, envelope: Envelope) -> Receipt:
            assert began.wait(10)
            receipt = super().send(envelope)
            if len(self.sent) == len(NAMES):
                all_sent.set()
            return receipt

    def look() -> None:
        began.set()
        assert all_sent.wait(10), "the connection waits for the look to end"

    world.transport = Watched()
    assert world.deliver(look=look).states == {SENT: 3}


def test_subscriber_who_leaves_during_the_round_gets_nothing(world: World) -> None:
    world.most_per_minute = 60
    here = {"ada@example.org", "grace@example.org"}

    class Leaves(FakeTransport):
        def send(self, envelope: Envelope) -> Receipt:
            here.discard("grace@example.org")
            return super().send(envelope)

    world.transports = [Leaves()]
    assert world.deliver({"foundations": here}).states == {SENT: 1, SUPPRESSED: 2}  # type: ignore[dict-item]


def test_refused_address_stops_nobody_else(world: World) -> None:
    world.transport.replies["ada@example.org"] = [FAILED]
    assert world.deliver().states == {FAILED: 1, SENT: 2}
    world.clock.now += timedelta(days=1)
    assert world.deliver().states == {}


def test_deferred_address_is_tried_again_after_its_backoff(world: World) -> None:
    world.transport.replies["ada@example.org"] = [DEFERRED, DEFERRED]
    world.deliver()
    world.clock.now += timedelta(minutes=4)
    assert world.deliver(by_hand=False).states == {}
    world.clock.now += timedelta(minutes=1)
    assert world.deliver(by_hand=False).states == {DEFERRED: 1}
    assert world.deliver(by_hand=False).states == {}
    assert world.deliver().states == {SENT: 1}, "by hand, at once"


def test_bug_at_one_address_stops_nobody_else(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.transport.breaks_at = "ada@example.org"
    assert world.deliver().states == {DEFERRED: 1, SENT: 2}
    assert "ZeroDivisionError" in caplog.text
    world.transport.breaks_at = ""
    world.clock.now += timedelta(minutes=5)
    assert world.deliver().states == {SENT: 1}


def test_connection_lost_after_the_dot_is_tried_once_more_and_then_ambiguous(world: World) -> None:
    world.transport.replies["ada@example.org"] = [AMBIGUOUS, AMBIGUOUS]
    assert world.deliver().states[DEFERRED] == 1
    world.clock.now += timedelta(hours=1)
    assert world.deliver().states == {AMBIGUOUS: 1}
    world.clock.now += timedelta(days=1)
    assert world.deliver().states == {}
    first, second = (
        envelope.message
        for envelope in world.transport.sent
        if envelope.recipient == "ada@example.org"
    )
    assert first == second


@pytest.mark.parametrize(
    ("attempts", "minutes"), [(0, 5), (1, 10), (2, 20), (5, 160), (6, 240), (20, 240)]
)
def test_backoff_of_an_address_doubles_up_to_four_hours(attempts: int, minutes: int) -> None:
    one = Delivery("foundations", copy_for("ada"), DEFERRED, attempts=attempts)
    assert what_follows(one, Receipt(DEFERRED, "450 busy"), jitter=0.5) == (
        DEFERRED,
        timedelta(minutes=minutes),
    )
    assert what_follows(one, Receipt(PENDING, "lost"), jitter=0.5) == (
        DEFERRED,
        timedelta(minutes=minutes),
    )


# ---- a server that refuses us


def test_refusal_of_the_sender_ends_the_round_and_everything_stays_pending(world: World) -> None:
    world.transport.down = 1
    report = world.deliver()
    assert report.problem == "mail.example.org:587 refuses the login; check SMTP_PASSWORD"
    assert (report.states, report.transient, world.waits) == ({SENT: 1}, False, [])
    assert world.waiting() == [PENDING] * 2
    assert world.transport.closed == 1
    world.transport.down = None
    assert world.deliver().states == {SENT: 2}


def test_unreachable_server_is_reported_at_once_and_no_attempt_counts(world: World) -> None:
    """It may be the wrong port. Attempts would make an address wait for hours when the server is well again."""
    world.transports = [FakeTransport(down=0, temporary=True)]
    for _ in range(5):
        report = world.deliver()
        assert "refuses the login" in report.problem
        assert (report.transient, report.since, world.waits) == (True, NOW, [])
    assert {left.attempts for left in waiting(world.store, NOW, by_hand=True)} == {0}


def test_after_a_refusal_nothing_is_tried_for_a_quarter_of_an_hour_except_by_hand(
    world: World,
) -> None:
    world.transport.replies["ada@example.org"] = [DEFERRED]
    world.deliver()
    world.clock.now += timedelta(minutes=6)
    world.freeze("crowd", FRIDAY, ["reader"])
    world.transport.down = 0
    world.deliver(by_hand=False)
    world.transport.down = None
    assert world.store.ledger.next_try(world.clock()) == world.clock() + timedelta(minutes=15)
    assert world.deliver(by_hand=False).states == {}
    world.clock.now += timedelta(minutes=14)
    assert world.deliver(by_hand=False).states == {}
    assert len(world.store.ledger.waiting(world.clock(), by_hand=True)) == 2
    world.clock.now += timedelta(minutes=1)
    everybody = {**ALL, "crowd": frozenset({"reader@example.org"})}
    assert world.deliver(everybody, by_hand=False).states == {SENT: 2}


# ---- a server that refuses us only at RCPT


OURS = Receipt(FAILED, "RCPT: 554 5.7.1 access denied", unclear=True)


@pytest.mark.parametrize(
    ("others", "states", "problem"),
    [
        ([OURS, OURS], [PENDING] * 3, True),
        ([SENT, OURS], [FAILED, SENT, FAILED], False),
        (
            [AMBIGUOUS, OURS],
            [FAILED, DEFERRED, FAILED],
            False,
        ),  # it was accepted, at least as a recipient
        ([DEFERRED, DEFERRED], [PENDING, DEFERRED, DEFERRED], True),
        ([FAILED, OURS], [PENDING, FAILED, PENDING], True),
    ],
)
def test_refusal_that_may_be_about_us_is_held_back_until_somebody_is_accepted(
    world: World, others: list[DeliveryState | Receipt], states: list[DeliveryState], problem: bool
) -> None:
    replies = zip(NAMES, [OURS, *others], strict=True)
    world.transports = [FakeTransport({f"{name}@example.org": [reply] for name, reply in replies})]
    report = world.deliver()
    assert (bool(report.problem), report.turned_away, report.transient) == (problem, problem, False)
    assert [copy.state for copy in copies(world)] == states
    assert {copy.attempts for copy in copies(world) if copy.state is PENDING} <= {0}, (
        "no attempt counts"
    )


def copies(world: World) -> list[Delivery]:
    found = (world.store.ledger.find(1, f"{name}@example.org") for name in NAMES)
    return [copy for copy in found if copy]


def test_stop_leaves_held_refusals_pending_and_without_a_problem(world: World) -> None:
    world.transport.replies = {f"{name}@example.org": [OURS] for name in NAMES}
    report = world.deliver(stop=lambda: len(world.transport.sent) == 2)
    assert (report.problem, report.states, world.waiting()) == ("", {}, [PENDING] * 3)


def test_next_round_begins_with_other_recipients_also_of_other_digests(world: World) -> None:
    lists = world.crowd(3)
    world.transport.replies = {
        address: [OURS] * 9 for addresses in lists.values() for address in addresses
    }
    for _ in range(3):
        assert "refused all 3 recipients tried: RCPT: 554 5.7.1" in world.deliver(lists).problem
    first, second, third = (world.recipients()[n : n + 3] for n in (0, 3, 6))
    assert (first, second, third) == ([*NAMES], ["reader000", "reader001", "reader002"], [*NAMES])


def test_only_the_first_connection_meets_a_server_that_refuses_us(world: World) -> None:
    lists = world.crowd(50)
    replies = {address: [OURS] for addresses in lists.values() for address in addresses}
    world.transports = [FakeTransport(dict(replies)) for _ in range(5)]
    assert world.deliver(lists).turned_away
    assert [len(transport.sent) for transport in world.transports] == [3, 0, 0, 0, 0]  # type: ignore[attr-defined]


# ---- several connections


def test_connections_share_the_work_and_nobody_gets_two_copies(world: World) -> None:
    lists = world.crowd(450)
    later = Receipt(DEFERRED, "450 later")
    world.transports = [
        FakeTransport({f"{name}@example.org": [later] for name in NAMES}) for _ in range(4)
    ]
    assert world.deliver(lists).states == {SENT: 450, DEFERRED: 3}
    sent = [envelope.recipient for transport in world.transports for envelope in transport.sent]
    assert len(sent) == len(set(sent)) == 453
    assert all(transport.closed for transport in world.transports)


def test_refused_connection_leaves_the_work_to_the_others(world: World) -> None:
    lists = world.crowd(50)
    world.transports = [
        FakeTransport(),
        FakeTransport(down=0, temporary=True),
        FakeTransport(down=3, temporary=True),
    ]
    report = world.deliver(lists)
    assert (report.states, report.problem) == ({SENT: 53}, "")


def test_idle_connection_stays_for_the_last_message_of_one_that_is_refused(world: World) -> None:
    begun = threading.Event()
    left = threading.Semaphore(0)

    class Working(FakeTransport):
        def send(self, envelope: Envelope) -> Receipt:
            assert not self.sent or begun.wait(10)
            left.release()
            return super().send(envelope)

    class Refused(FakeTransport):
        def send(self, envelope: Envelope) -> Receipt:
            begun.set()
            assert all(
                left.acquire(timeout=10) for _ in range(12)
            )  # the other has nothing left to do
            raise MailServerError("too many connections", temporary=True)

    working = Working()
    world.transports = [working, Refused()]
    report = world.deliver(world.crowd(10))
    assert (report.states, report.problem, len(working.sent)) == ({SENT: 13}, "", 13)


def test_error_that_no_connection_can_handle_is_raised(world: World) -> None:
    class Broken(FakeTransport):
        def send(self, envelope: Envelope) -> Receipt:
            raise KeyboardInterrupt

    world.transports = [Broken(), Broken()]
    with pytest.raises(KeyboardInterrupt):
        world.deliver()
    assert [transport.closed for transport in world.transports] == [1, 0], (
        "the other was not opened"
    )


# ---- a number of connections that grows while the server answers well


@dataclass
class Office:
    """A server's side of seven connections: how many were at work at once, and what it does about one too many."""

    most: int
    open: set[int] = field(default_factory=set)
    after: list[int] = field(default_factory=list)  # how many at each message since it complained
    complained: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def comes(self, desk: int) -> None:
        with self.lock:
            self.open.add(desk)
            if len(self.open) > self.most:
                self.open.discard(desk)
                self.complained = True
                raise MailServerError("421 too many connections", temporary=True, busy=True)
            self.after += [len(self.open)] if self.complained else []


@dataclass
class Desk(FakeTransport):
    """One connection, whose messages take a moment each, so that others come between."""

    office: Office = field(default_factory=lambda: Office(most=6))

    def send(self, envelope: Envelope) -> Receipt:
        self.office.comes(id(self))
        time.sleep(0.002)  # the server's work
        return super().send(envelope)

    def close(self) -> None:
        super().close()
        self.office.open.discard(id(self))


def test_connections_grow_until_the_server_complains_and_then_are_half_as_many(
    world: World,
) -> None:
    office = Office(most=6)
    # With an eighth, the half would depend on who is first.
    world.grows = True
    world.transports = [Desk(office=office) for _ in range(7)]
    report = world.deliver(world.crowd(600))
    assert (report.states, report.problem, world.waits) == ({SENT: 603}, "", [])
    assert max(office.after[12:]) == 3


# ---- stopping


def test_stop_ends_a_pause(world: World) -> None:
    world.transports = [FakeTransport(refusals=99, busy=True)]
    report = world.deliver(stop=lambda: len(world.waits) >= 3)
    assert (report.problem, len(world.waits)) == ("", 3)
    assert world.waiting() == [PENDING] * 3


class Stuck(FakeTransport):
    """Waits for an answer that does not come, until it is aborted."""

    released: threading.Event

    def send(self, envelope: Envelope) -> Receipt:
        self.sent.append(envelope)
        self.released.wait(300)
        return Receipt(AMBIGUOUS, "connection lost after the message")

    def abort(self) -> None:
        super().abort()
        self.released.set()


def test_stuck_message_is_aborted_twenty_seconds_after_a_stop(world: World) -> None:
    stuck = Stuck()
    seconds = itertools.count(step=5)
    stuck.released = threading.Event()
    world.transports = [stuck]
    report = world.deliver(stop=lambda: bool(stuck.sent), timer=lambda: float(next(seconds)))
    assert report.states == {DEFERRED: 1}
    assert stuck.aborted
    assert len(world.store.ledger.waiting(NOW + timedelta(days=1))) == 3


def test_message_aborted_before_it_was_handed_over_stays_pending(world: World) -> None:
    """Not deferred, and no sign of a bad server: it was we who hung up."""
    lost = Receipt(PENDING, "connection lost before the message was handed over")
    world.transports = [
        FakeTransport({f"{name}@example.org": [lost] for name in NAMES}) for _ in range(3)
    ]
    report = world.deliver(stop=lambda: any(transport.sent for transport in world.transports))
    assert report.problem == ""
    assert {(left.state, left.attempts) for left in waiting(world.store, NOW)} == {(PENDING, 0)}


# ---- rate limit and pauses


def test_rate_limit_is_kept_smoothly(world: World) -> None:
    lists = world.crowd(27)
    world.most_per_minute = 60
    world.deliver(lists)
    assert sum(world.waits) == pytest.approx(29.0)  # 30 mails, a second between two


def test_busy_server_is_called_again_after_pauses_that_grow(world: World) -> None:
    world.transports = [FakeTransport(refusals=2, busy=True), FakeTransport()]
    report = world.deliver()
    assert (report.states, report.problem) == ({SENT: 3}, "")
    assert sum(world.waits) == pytest.approx(5.0 + 10.0)


def test_pause_holds_back_every_connection(world: World) -> None:
    lists = world.crowd(5)

    class Timed(FakeTransport):
        def send(self, envelope: Envelope) -> Receipt:
            times.append(sum(world.waits))
            return super().send(envelope)

    times: list[float] = []
    world.transports = [Timed({"ada@example.org": [TOO_MANY]}), Timed()]
    assert world.deliver(lists).states == {SENT: 7, DEFERRED: 1}
    assert all(time >= 5.0 - 1e-6 for time in times[1:])


def test_incident_that_meets_several_connections_counts_once(world: World) -> None:
    """A server that restarts cuts all of them at once."""
    lists = world.crowd(50)
    together = threading.Barrier(6)

    class Cut(FakeTransport):
        def send(self, envelope: Envelope) -> Receipt:
            if len(self.sent) == 1:  # the others begin when the first one was let in
                together.wait(300)
                self.sent.append(envelope)
                return Receipt(PENDING, "connection lost")
            return super().send(envelope)

    world.transports = [Cut() for _ in range(6)]
    ticks = itertools.count(1)
    report = world.deliver(lists, timer=lambda: float(next(ticks)))
    assert report.problem == ""
    assert report.states == {SENT: 47, DEFERRED: 6}


# ---- what expires, bounces or reaches nobody


def test_delivery_expires_after_three_days_and_has_failed_for_the_operator(world: World) -> None:
    tried = []
    world.transport.replies["ada@example.org"] = [DEFERRED] * 99
    for hour in range(100):
        before = len(world.transport.sent)
        world.deliver()
        tried += [hour] if len(world.transport.sent) > before else []
        world.clock.now += timedelta(hours=1)
    assert len(tried) > 20
    assert max(tried) < 72
    (failed,) = world.store.history.failed(NOW)
    assert failed.kind == Kind.EXPIRED
    assert failed.lines[0].startswith("foundations: ada@example.org: given up after three days")
    (day,) = world.store.history.days(["foundations"])["foundations"]
    assert day.deliveries == {SENT: 2, FAILED: 1}


def test_digest_that_a_crash_left_on_its_way_is_sent_to_everybody_after_five_days(
    world: World,
) -> None:
    """One may have it, so the digest stands."""
    world.store.ledger.reserve(waiting(world.store, NOW)[0], NOW)
    world.clock.now += timedelta(days=5)
    assert world.deliver().states == {SENT: 3}


def test_digest_refused_for_every_recipient_is_reported(world: World) -> None:
    lists = world.crowd(2)
    world.transport.replies = {f"{name}@example.org": [REFUSED] for name in (*NAMES, "reader000")}
    report = world.deliver(lists)
    assert report.refused == ("foundations",)
    assert world.deliver(lists).refused == ()


@pytest.mark.parametrize(("hedy", "refused"), [("suppressed", ["foundations"]), ("deferred", [])])
def test_digest_counts_as_refused_once_nobody_waits_for_it(
    world: World, hedy: str, refused: list[str]
) -> None:
    if hedy == "suppressed":
        world.store.suppressions.add("hedy@example.org", "", "asked to leave", NOW)
    world.transport.replies = {f"{name}@example.org": [REFUSED] for name in ("ada", "grace")}
    world.transport.replies["hedy@example.org"] = [DEFERRED]
    assert [*world.deliver().refused] == refused


@pytest.mark.parametrize("left_by_a_crash", [False, True])
def test_address_suppressed_during_the_round_gets_nothing(
    world: World, path: Path, left_by_a_crash: bool
) -> None:
    """Those that follow were read from the database before."""
    lists = world.crowd(9)
    for left in waiting(world.store, NOW) if left_by_a_crash else ():
        world.store.ledger.reserve(left, NOW)

    class Watched(FakeTransport):
        def send(self, envelope: Envelope) -> Receipt:
            if envelope.recipient == "reader002@example.org":
                with closing(Store.open(path)) as store:
                    store.suppressions.add("Reader004@example.org", "crowd", "asked to leave", NOW)
            return super().send(envelope)

    world.transport = Watched()
    world.deliver(lists)
    assert world.recipients() == [*NAMES, *(f"reader{n:03}" for n in range(9) if n != 4)]


def test_spoilt_message_stops_no_other(world: World, path: Path) -> None:
    lists = world.crowd(9)
    with closing(sqlite3.connect(path)) as database:
        database.execute("update messages set expires = 'never' where list = 'crowd'")
        database.commit()
    with pytest.raises(StoreError, match="corrupt"):
        world.deliver(lists)
    assert world.recipients() == [*NAMES]


def test_address_that_bounced_in_three_digests_running_is_suppressed_and_noted_once(
    world: World,
) -> None:
    noted = []
    for day in range(5):
        world.transport.replies["ada@example.org"] = [
            Receipt(FAILED, "RCPT: 550 5.1.1 no such user", bounce=True)
        ]
        world.deliver()
        noted.append(
            [held.address for held in world.store.history.suppressed("bounces", world.clock.now)]
        )
        world.clock.now += timedelta(days=1)
        world.freeze("foundations", FRIDAY + timedelta(days=day + 1), [*NAMES])
    assert noted == [[], [], ["ada@example.org"], [], []]
    assert world.recipients().count("ada") == 3
    (suppression,) = world.store.suppressions.all()
    assert "5.1.1" in suppression.reason


@pytest.mark.parametrize(("unknown", "gone"), [(1, 1), (2, 0)])
def test_domain_that_knows_few_of_its_addresses_costs_none_of_them_the_mail(
    world: World, unknown: int, gone: int
) -> None:
    """Its server may be set up wrong, where the reply does not name the address."""
    reply = Receipt(
        FAILED, "RCPT: 550 5.4.1 Access denied", bounce=True, unclear=True, doubtful=True
    )
    for day in range(3):
        world.transport.replies = {f"{name}@example.org": [reply] for name in NAMES[:unknown]}
        world.deliver()
        world.clock.now += timedelta(days=1)
        world.freeze("foundations", FRIDAY + timedelta(days=day + 1), [*NAMES])
    assert len(world.store.suppressions.all()) == gone


# ---- a server that says anything


@pytest.fixture
def smtp() -> Iterator[SmtpServer]:
    with SmtpServer() as server:
        yield server


def connected(server: SmtpServer, **changes: Any) -> SmtpTransport:
    settings = {
        "security": "none",
        "username": "",
        "password": "",
        "timeout": 5,
        "dot_timeout": 5,
        **changes,
    }
    return SmtpTransport(host="localhost", port=server.port, local_hostname="localhost", **settings)


def nonsense(chance: random.Random) -> bytes:
    code = chance.randrange(1000)
    text = chance.randbytes(chance.randrange(300))
    return chance.choice(
        [
            text + b"\r\n",
            b"%d %b\r\n" % (code, text),
            b"%d-%b\r\n" % (code, text.replace(b"\n", b"")) * chance.randrange(200)
            + b"%d\r\n" % code,
            b"%d ok\r\n%03d 5.7.1 no\r\n" % (chance.choice([250, 354, 550]), code),
            b"%d " % code + text * 300 + b"\r\n",
            f"{code} {chr(chance.randrange(0x3000))}\u202e\x1b[2J\r\n".encode(),
        ]
    )


@pytest.mark.parametrize("connections", [1, 3])
def test_a_hundred_random_replies_cost_nobody_else_the_mail(
    world: World, smtp: SmtpServer, path: Path, connections: int
) -> None:
    lists = world.crowd(300)
    chance = random.Random(14)  # noqa: S311
    threads = threading.active_count()
    for number in range(0, 300, 3):
        phase = chance.choice(["RCPT", "DATA", "dot"])
        smtp.faults.append(
            Fault(phase, nonsense(chance), address=f"reader{number:03}@example.org", times=1)
        )
    world.transports = [connected(smtp) for _ in range(connections)]
    report = world.deliver(lists)
    assert report.problem == ""
    taken = {message.recipient for message in smtp.messages}
    assert (
        taken
        >= {address for address in lists["crowd"] if int(address[6:9]) % 3} | lists["foundations"]
    )
    with closing(sqlite3.connect(path)) as database:
        replies = [reply for (reply,) in database.execute("select reply from deliveries")]
    assert max(map(len, replies)) <= 400
    assert [one_line(reply) for reply in replies] == replies
    assert threading.active_count() <= threads, "no connection's thread is left"


def test_message_costs_two_commits_and_no_statement_besides(world: World, path: Path) -> None:
    """One before it leaves, and one after the server's reply; deliveries are read by the hundred."""
    lists = world.crowd(197)
    before = commits(path)
    statements = list[str]()
    world.store.database._connection.set_trace_callback(statements.append)  # no port counts them
    assert world.deliver(lists).states == {SENT: 200}
    assert 400 <= commits(path) - before <= 404
    assert len(statements) < 420


def commits(path: Path) -> int:
    """In the write-ahead log, whose frames that end a commit say how large the database is then."""
    log = Path(f"{path}-wal").read_bytes()
    page = int.from_bytes(log[8:12])
    return sum(log[at + 4 : at + 8] != bytes(4) for at in range(32, len(log), 24 + page))


def test_ledger_is_ahead_of_the_server_by_one_message(world: World, path: Path) -> None:
    """When it gets a message, that one is reserved, and all others are settled: only that one a kill would repeat."""
    lists = world.crowd(20)

    class Watched(FakeTransport):
        def send(self, envelope: Envelope) -> Receipt:
            with closing(sqlite3.connect(path)) as database:
                query = "select state, count(*), max(address) from deliveries group by state"
                found.append(
                    {state: (number, address) for state, number, address in database.execute(query)}
                )
            return super().send(envelope)

    found: list[dict[str, tuple[int, str]]] = []
    world.transports = [watched := Watched()]
    world.deliver(lists)
    assert [seen["sending"] for seen in found] == [
        (1, envelope.recipient) for envelope in watched.sent
    ]
    assert [seen.get("sent", (0, ""))[0] for seen in found] == [*range(23)]


def test_stop_finishes_what_is_under_way_and_then_quits(world: World, smtp: SmtpServer) -> None:
    lists = world.crowd(50)
    world.transports = [connected(smtp) for _ in range(3)]
    stop = threading.Event()
    smtp.on_message = lambda _: stop.set() if len(smtp.messages) == 20 else None
    report = world.deliver(lists, stop=stop.is_set)
    assert 20 <= report.states[SENT] == len(smtp.messages) <= 20 + 3
    assert len(waiting(world.store, NOW)) == 53 - len(smtp.messages)
    assert {left.state for left in waiting(world.store, NOW)} == {PENDING}
    ends = time.monotonic() + 60
    while len(smtp.ended) < 3 and time.monotonic() < ends:
        time.sleep(0.001)
    assert smtp.ended == dict.fromkeys((1, 2, 3), True), "each by QUIT"


# --- whether mail can be sent


def test_server_that_is_down_is_an_incident_after_patience_and_over_new_digests(
    tmp_path: Path,
) -> None:
    patience = timedelta(hours=3)

    def met(store: Store, waited: timedelta, now: datetime) -> list[datetime]:
        report = Report({}, "connection refused", transient=True, since=now - waited)
        record(store, report, now, patience)
        return [incident.last for incident in store.incidents.all()]

    with Store.open(tmp_path / "paperboy.db") as store:
        assert met(store, timedelta(hours=2), NOW) == []
        assert met(store, patience, NOW) == [NOW]
        tomorrow = NOW + timedelta(days=1)
        assert met(store, timedelta(), tomorrow) == [tomorrow]
