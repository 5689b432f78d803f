"""Mail beside digests: alerts and confirmations go first, and say nothing of the server or of an address."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from paperboy.models import Composed, DeliveryState, Envelope, MessageCopy, Receipt, Subscriber
from paperboy.sending.delivery import record
from paperboy.store import Store
from tests.fakes import FakeTransport
from tests.sending.test_delivery import FAILED, NOW, PENDING, SENT, World

UNKNOWN = Receipt(FAILED, "RCPT: 550 5.1.1 no such user", bounce=True, unclear=True)
DAY = timedelta(days=1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Store.open(tmp_path / "paperboy.db") as store:
        yield World(store)


def add(world: World, name: str, *, expires: bool = False, priority: int = 1) -> int:
    mail = Composed("subject", "papers@example.org", b"own bytes")
    to = MessageCopy(Subscriber(f"{name}@example.org"), f"<20261120.alert.{name}@example.org>", "")
    end = world.clock() + DAY if expires else None
    return world.store.ledger.freeze(mail, [to], world.clock(), expires=end, priority=priority)


def state(world: World, frozen_id: int, name: str) -> DeliveryState:
    found = world.store.ledger.find(frozen_id, f"{name}@example.org")
    assert found
    return found.state


def test_mail_beside_digests_goes_first_by_its_priority(world: World) -> None:
    lists = world.crowd(2)
    add(world, "emmy")
    add(world, "olga", priority=2)
    assert world.deliver(lists).states == {SENT: 2}, "counts digests alone"
    assert world.recipients() == ["olga", "emmy", "reader000", "reader001"]


def test_confirmation_does_not_wait_for_the_end_of_a_long_round(world: World) -> None:
    """One that is frozen during the first delivery is among the next hundred."""
    lists = world.crowd(350)

    class Asked(FakeTransport):
        def send(self, envelope: Envelope) -> Receipt:
            if not self.sent:
                add(world, "emmy")
            return super().send(envelope)

    world.transport = Asked()
    world.deliver(lists)
    assert world.recipients().index("emmy") < 101
    assert len(world.recipients()) == 351


def test_invented_addresses_in_a_form_stop_no_morning(world: World) -> None:
    """Three refusals before any recipient was accepted would be the server's refusal of us."""
    lists = world.crowd(2)
    asked = [add(world, f"invented{number}", expires=True) for number in range(4)]
    world.transport.replies = {f"invented{number}@example.org": [UNKNOWN] for number in range(4)}
    report = world.deliver(lists)
    assert (report.problem, report.states) == ("", {SENT: 2})
    assert state(world, asked[0], "invented0") is FAILED


def test_alert_that_is_accepted_proves_nothing_about_subscribers(world: World) -> None:
    """A server takes mail to its own domain, and relays for nobody."""
    lists = world.crowd(4)
    add(world, "olga", priority=2)
    relay = Receipt(FAILED, "RCPT: 554 5.7.1 relay access denied", unclear=True)
    world.transport.replies = {f"reader00{number}@example.org": [relay] for number in range(4)}
    report = world.deliver(lists)
    assert report.turned_away
    assert world.waiting() == [PENDING] * 4


def test_bounces_of_alerts_suppress_nobody(world: World) -> None:
    for _ in range(4):
        add(world, "olga")
        world.transport.replies["olga@example.org"] = [UNKNOWN] * 5
        world.deliver()
        world.clock.now += DAY
    assert world.store.suppressions.all() == []


def test_alert_that_is_refused_waits_until_it_is_replaced(world: World) -> None:
    alert = add(world, "olga")
    world.transport.replies["olga@example.org"] = [UNKNOWN]
    world.deliver(by_hand=False)
    assert state(world, alert, "olga") is DeliveryState.DEFERRED
    world.clock.now += timedelta(minutes=5)
    world.store.ledger.withdraw(alert)
    assert world.deliver(by_hand=False).states == {}
    assert world.recipients() == ["olga"]


def test_connection_that_is_lost_after_an_alert_is_no_problem_of_the_server(world: World) -> None:
    """Such as one that hangs up before its last reply, on a morning without digests."""
    alert = add(world, "olga")
    world.transport.replies["olga@example.org"] = [
        Receipt(DeliveryState.AMBIGUOUS, "the connection was lost")
    ]
    assert world.deliver().problem == ""
    assert state(world, alert, "olga") is DeliveryState.DEFERRED


def test_server_that_refuses_alerts_alone_is_no_incident(world: World) -> None:
    """Nothing would end it before the next digest."""
    add(world, "olga")
    world.transport = FakeTransport(down=0)
    report = world.deliver()
    assert "refuses the login" in report.problem
    record(world.store, report, NOW, timedelta())
    assert world.store.incidents.all() == []


def test_confirmation_is_given_up_after_a_day(world: World) -> None:
    asked = add(world, "emmy", expires=True)
    world.clock.now += DAY
    world.deliver()
    assert (world.recipients(), state(world, asked, "emmy")) == ([], FAILED)


@pytest.mark.parametrize(("expires", "kind"), [(False, "alert"), (True, "confirmation")])
def test_log_names_the_kind_of_mail_whatever_its_message_id(
    world: World, caplog: pytest.LogCaptureFixture, kind: str, *, expires: bool
) -> None:
    caplog.set_level("INFO")
    add(world, "olga", expires=expires)
    world.deliver()
    assert caplog.messages == [f"{kind} to olga@example.org: sent"]


def test_alert_about_the_sending_itself_waits_for_the_end_of_the_round(world: World) -> None:
    add(world, "olga", priority=-1)
    lists = world.crowd(1)
    world.deliver(lists)
    assert world.recipients() == ["reader000"]
    world.deliver(lists, rest=True)
    assert world.recipients() == ["reader000", "olga"]


def test_rest_of_a_round_is_tried_though_the_server_refused_all_subscribers(world: World) -> None:
    add(world, "olga")
    world.store.ledger.postpone(NOW + timedelta(minutes=15), NOW)
    world.deliver(by_hand=False)
    assert world.recipients() == []
    world.deliver(by_hand=False, rest=True)
    assert world.recipients() == ["olga"]


def test_mail_beside_digests_is_no_matter_of_exit_codes_history_and_suppressions(
    world: World,
) -> None:
    alert = add(world, "olga")
    assert world.store.ledger.unfinished() == 0
    world.store.suppressions.add("olga@example.org", "", "by hand", NOW)
    assert state(world, alert, "olga") is PENDING
    world.deliver()
    assert world.recipients() == ["olga"]
    assert world.store.ledger.last_sent() is None
    assert world.store.history.deliveries_to("olga@example.org", NOW - DAY) == []
    assert world.store.history.undelivered([], NOW - DAY) == ()


def test_mail_beside_digests_does_not_say_since_when_no_digest_was_sent(world: World) -> None:
    """An alert may be a week old, and a confirmation a minute."""
    add(world, "olga", priority=2)
    world.clock.now += 7 * DAY
    lists = world.crowd(1)
    world.transport = FakeTransport(down=0, temporary=True)
    report = world.deliver(lists)
    assert report.transient
    assert report.since == world.clock()
