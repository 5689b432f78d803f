"""Whole mornings that once lost a subscriber, mailed one twice or alerted nobody."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.cli.conftest import FRIDAY, World
from tests.cli.conftest import world as world  # noqa: PLC0414
from tests.cli.mail_world import (
    ADA,
    GRACE,
    LIST,
    MONDAY,
    OPERATOR,
    TUESDAY,
    While,
    alerts,
    at_home,
    crowd,
    once_on,
    read,
    refuse,
    states,
)
from tests.servers.smtp import Fault, Phase
from tests.store.ledger import waiting

NOBODY = "Nobody got the digest of foundations"
QUARTER = timedelta(minutes=15)


def test_digest_refused_for_everybody_is_reported_each_day_after_a_refused_sender(
    world: World,
) -> None:
    """The alert of the refused sender lasts, since no mail has left yet; today's fault is another one."""
    at_home(world, ADA, GRACE)
    world.announce(1)
    world.smtp.faults.append(Fault("MAIL", "550 5.7.1 you may not send"))
    world.once()
    for number, day in ((0, FRIDAY + QUARTER), (2, MONDAY), (3, TUESDAY)):
        world.clock.now = day
        world.announce(*filter(None, [number]))
        refuse(world, "550 5.1.1 no such user", ADA, GRACE)
        world.once()
    assert alerts(world).count(NOBODY) == 3


@pytest.mark.parametrize("number", [2, 8])
def test_digest_ambiguous_for_everybody_is_reported(number: int, world: World) -> None:
    """Every connection is lost after the dot, and nothing is taken: all stay ambiguous."""
    at_home(world, *crowd(number))
    world.announce(1)
    world.smtp.faults += [Fault("dot", address=address) for address in crowd(number)]
    for _ in range(5):
        world.once()
        world.clock.now += QUARTER
    assert set(states(world, *crowd(number))) == {"ambiguous"}
    assert len(alerts(world)) == 1


def scheduled(world: World) -> None:
    """Both halves, as the daemon asks for them."""
    world.run("work", "morning", "foundations")
    world.run("work", "sending")


def test_recipient_greylisted_after_days_without_a_server_is_tried_again(
    world: World,
) -> None:
    """The digest reached nobody until now, so Grace was tried once, and not for three days."""
    at_home(world, ADA, GRACE, SMTP_PORT=9)
    world.write(
        "subscribers.yaml",
        LIST.format(f"{ADA}, {GRACE}").replace("    topics", "    weekdays: [fri]\n    topics"),
    )
    world.announce(1)
    scheduled(world)
    world.clock.now = TUESDAY
    at = world.clock.now
    world.env(ALERT_TO=OPERATOR)
    world.smtp.faults.append(Fault("RCPT", "450 4.2.0 greylisted", address=GRACE, times=1))
    scheduled(world)
    world.clock.now = at + QUARTER
    scheduled(world)
    assert sorted(world.mails()) == [ADA, GRACE]


def test_server_error_that_names_an_address_is_masked_on_stderr(world: World) -> None:
    at_home(world, ADA, GRACE)
    world.announce(1)
    world.smtp.faults.append(Fault("RCPT", "530 5.7.0 <ada@example.org>: authentication required"))
    assert "ada@" not in world.once().err


@pytest.mark.parametrize("phase", ["RCPT", "dot"])
def test_connection_limit_reported_at_any_command_loses_no_mail(phase: Phase, world: World) -> None:
    """A new connection after the pause is all it takes."""
    at_home(world, *crowd(10))
    world.announce(1)

    def full() -> bool:
        """Whether the newest connection has carried three messages."""
        return sum(sent.connection == world.smtp.connections for sent in world.smtp.messages) >= 3

    world.smtp.faults = While(full, Fault(phase, "452 4.5.3 too many messages in this session"))
    for _ in range(2):
        world.once()
        world.later(minutes=10)
    assert sorted(world.mails()) == crowd(10)


def test_delivery_left_by_a_crash_still_counts_after_a_deferral(world: World) -> None:
    """Ada may have it: then its papers must not come again with the next digest."""
    at_home(world, ADA)
    world.announce(1)
    world.smtp.faults.append(Fault("connect", "554 5.7.1 go away"))
    world.once()
    with world.store() as store:
        assert store.ledger.reserve(waiting(store, FRIDAY, by_hand=True)[0], FRIDAY)
    world.smtp.faults[:] = [Fault("RCPT", "450 4.2.0 greylisted")]
    world.clock.now += QUARTER
    world.once()
    world.smtp.faults.clear()
    once_on(world, MONDAY, 2)
    assert read(world, ADA) == ["1", "2"]
    assert (
        len(world.messages(ADA)) == 2
    )  # Friday's, again or for the first time; and Monday's without it


def test_papers_come_back_when_all_addresses_change_before_anybody_had_them(world: World) -> None:
    at_home(world, ADA, GRACE)
    world.announce(1)
    refuse(world, "454 4.7.1 relay access denied", ADA, GRACE)
    world.once()
    at_home(world, "ada@new.example", "grace@new.example")
    world.clock.now += QUARTER
    world.once()
    once_on(world, MONDAY, 2)
    assert read(world, "ada@new.example") == ["1", "2"]


@pytest.mark.parametrize("phase", ["RCPT", "DATA", "dot"])
def test_daily_limit_in_the_middle_of_a_list_is_reported_or_waited_for(
    phase: Phase, world: World
) -> None:
    at_home(world, *crowd(6))
    world.announce(1)
    faults = [
        Fault(phase, "550 5.4.5 Daily user sending limit exceeded", address=who) for who in crowd(6)
    ]
    world.smtp.faults = While(
        lambda: sum(sent.recipient != OPERATOR for sent in world.smtp.messages) >= 3, *faults
    )
    ran = world.once()
    left = [state for state in states(world, *crowd(6)) if state in {"pending", "deferred"}]
    assert alerts(world) or (len(left) == 3 and ran.code == 1)
