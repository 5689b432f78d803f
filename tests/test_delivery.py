"""Sending: from frozen digests to receipts, on a real ledger, with a transport that says what it is told to say."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from paperboy import delivery
from paperboy.delivery import masked, what_follows
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

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
NAMES = ("ada", "grace", "hedy")
ALL = {"foundations": frozenset(f"{name}@example.org" for name in NAMES)}


def addressed(name: str) -> Addressed:
    return Addressed(Subscriber(f"{name}@example.org"), f"<{name}@example.org>", name)


@dataclass
class World:
    store: Store
    transport: FakeTransport = field(default_factory=FakeTransport)
    clock: Clock = field(default_factory=lambda: Clock(NOW))

    def deliver(self, audience: dict[str, frozenset[str]] = ALL, stop_after: int = 99) -> delivery.Report:
        parts = delivery.Parts(
            transport=self.transport,
            ledger=self.store.deliveries,
            digests=self.store.days,
            address=lambda composed, one: Envelope(
                composed.sender,
                one.addressed.subscriber.address,
                one.addressed.message_id.encode() + composed.message,
                one.list_name,
            ),
            progress=NoProgress(),
            clock=self.clock,
        )
        return delivery.deliver(parts, audience, stopped=lambda: len(self.transport.sent) >= stop_after)

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
    world.deliver(stop_after=1)
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
    state, wait = what_follows(one, Receipt(DeliveryState.DEFERRED, "450 busy"))
    assert (state, wait) == (DeliveryState.DEFERRED, timedelta(minutes=minutes))


def test_what_was_never_handed_over_waits_like_what_was_deferred() -> None:
    one = Delivery(1, 1, "foundations", addressed("ada"), DeliveryState.PENDING)
    assert what_follows(one, Receipt(DeliveryState.PENDING, "lost"))[0] is DeliveryState.DEFERRED


def test_an_address_in_a_log_is_masked(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.transport.replies["ada@example.org"] = [DeliveryState.FAILED]
    world.deliver()
    assert "a…@example.org" in caplog.text
    assert "ada@example.org" not in caplog.text
    assert masked("x@example.org") == "x…@example.org"
