"""Mornings on which mail leaves, and yet somebody gets nothing: what becomes of their papers, and who hears of it."""

from __future__ import annotations

import pytest

from tests.cli.conftest import FRIDAY, LISTS, World
from tests.cli.mail_world import (
    ADA,
    GRACE,
    MONDAY,
    OPERATOR,
    TUESDAY,
    WEDNESDAY,
    alerts,
    at_home,
    once_on,
    read,
    refuse,
    states,
    told,
)
from tests.servers.smtp import Fault
from tests.store.ledger import waiting

NOBODY, REACHED = "Nobody got the digest of foundations", "Resolved: digests reach their lists"
NO_SUCH, DENIED = "550 5.1.1 no such user", "554 5.7.1 relay access denied"


# --- digests that reach nobody


def test_papers_of_a_digest_deferred_for_everybody_come_next_morning(world: World) -> None:
    """Postfix answers 454 to a relay that it does not allow. The next morning reports it and brings all papers."""
    at_home(world, ADA, GRACE)
    refuse(world, "454 4.7.1 relay access denied", ADA, GRACE)
    world.announce(1)
    for _ in range(4):
        assert world.once().code == 1
        world.later(hours=3)
    assert alerts(world) == []

    world.clock.now = MONDAY
    world.announce(2)
    assert (
        "the digest of 2026-11-20 reached nobody; its papers come with today's" in world.once().err
    )
    assert alerts(world) == [NOBODY]
    assert "The reason: RCPT: 454 4.7.1 relay access denied." in told(world)
    assert "The papers are not lost: they come with the next digest of foundations." in told(world)

    world.smtp.faults.clear()
    assert once_on(world, TUESDAY, 3).code == 0
    assert (read(world, ADA), read(world, GRACE)) == (["1", "2", "3"], ["1", "2", "3"])
    assert len(world.messages(ADA)) == 1
    assert world.once().code == 0
    assert alerts(world) == [NOBODY, REACHED]


def test_list_refused_as_a_whole_is_reported_while_another_is_served(world: World) -> None:
    world.write("subscribers.yaml", LISTS)
    world.env(ALERT_TO=OPERATOR)
    refuse(world, DENIED, ADA, GRACE)
    world.announce_both(1, 4)
    ran = world.once()
    assert ran.code == 1  # nothing waits, and it is told
    assert "Deliveries: 1 sent, 2 failed" in ran.out
    assert read(world, "vera@example.org") == ["4"]
    assert alerts(world) == [NOBODY]
    assert f"foundations: RCPT: {DENIED}" in told(world)
    assert "paperboy resend foundations" in told(world)

    world.smtp.faults.clear()
    once_on(world, MONDAY, 2)
    assert (read(world, ADA), read(world, "vera@example.org")) == (["1", "2"], ["4"])
    assert alerts(world) == [NOBODY, REACHED]


def test_digest_that_bounced_for_everybody_is_reported_each_morning(world: World) -> None:
    """It is reported each morning until it is fixed, and the papers wait."""
    at_home(world, ADA, GRACE)
    refuse(world, NO_SUCH, ADA, GRACE)
    for number, day in ((1, FRIDAY), (2, MONDAY)):
        assert once_on(world, day, number).code == 1
        assert states(world) == ["failed", "failed"]
    assert alerts(world) == [NOBODY, NOBODY]
    at_home(world, "ada@new.example", "grace@new.example")
    world.clock.now = TUESDAY
    assert world.once().code == 0
    assert read(world, "ada@new.example") == read(world, "grace@new.example") == ["1", "2"]
    assert alerts(world) == [NOBODY, NOBODY, REACHED]


def test_papers_do_not_return_for_a_single_address_that_bounced(world: World) -> None:
    """Otherwise the list would get the same papers for ever. `resend` sends the digest to the right address."""
    at_home(world, ADA)
    refuse(world, NO_SUCH, ADA)
    for number, day in ((1, FRIDAY), (2, MONDAY)):
        assert once_on(world, day, number).code == 1
    assert alerts(world) == [NOBODY, NOBODY]
    assert "not lost" not in told(world)
    at_home(world, GRACE)
    assert world.run("resend", "foundations").code == 0
    assert read(world, GRACE) == ["2"]
    assert alerts(world) == [NOBODY, NOBODY, REACHED]


def test_waiting_alert_stays_the_same_message(world: World) -> None:
    """A second run finds the same; whatever the server kept of the first tries is known by its Message-ID."""
    at_home(world, ADA, GRACE)
    world.announce(1)
    refuse(world, NO_SUCH, ADA, GRACE)
    world.smtp.faults.append(Fault("dot", address=OPERATOR, keeps=True, times=2))
    world.once()
    for _ in range(3):
        world.later(minutes=15)
        world.run("resend", "foundations")
    assert alerts(world) == [NOBODY] * 2, "a connection lost after the dot is retried once"
    assert len({sent.content for sent in world.smtp.messages if sent.recipient == OPERATOR}) == 1
    assert world.messages(OPERATOR)[0]["Date"].datetime == FRIDAY


def test_delivery_left_by_a_crash_does_not_cost_the_others_theirs(world: World) -> None:
    """Ada may have Friday's digest, so it stands; Grace still gets hers after days without a server."""
    at_home(world, ADA, GRACE)
    world.announce(1)
    world.smtp.faults.append(Fault("connect", "554 5.7.1 go away"))
    world.once()
    with world.store() as store:
        assert store.ledger.reserve(waiting(store, FRIDAY, by_hand=True)[0], FRIDAY)
    for number, day in ((2, MONDAY), (3, TUESDAY)):
        assert once_on(world, day, number).code == 1
    world.smtp.faults.clear()
    world.clock.now = WEDNESDAY
    assert world.once().code == 0
    assert (read(world, ADA), read(world, GRACE)) == (["1", "2", "3"], ["1", "2", "3"])
    assert len(world.messages(GRACE)) == 2  # Friday's, as it was frozen, and today's


# --- what the log shows of them

REPLIES = {
    "the address": "550 5.1.1 <lovelace@example.org>: no such user",
    "another one": "550 5.1.1 LOVELACE@EXAMPLE.ORG: see <a.lovelace@mx.example.net>",
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_suppressed_address_is_reported_to_the_operator_alone(reply: str, world: World) -> None:
    """After three bounces. The log never shows a whole address, not even one that the server quotes."""
    at_home(world, "lovelace@example.org", GRACE)
    refuse(world, reply, "lovelace@example.org")
    world.smtp.faults.append(
        Fault("RCPT", "550 5.1.1 <op@example.org>: unknown", address=OPERATOR, times=1)
    )
    err = ""
    for number, day in enumerate((FRIDAY, MONDAY, TUESDAY, WEDNESDAY), start=1):
        ran = once_on(world, day, number)
        assert ran.code == 0
        err += ran.err
    assert "l…@example.org is suppressed: it did not exist for three digests in a row" in err
    assert (
        "foundations to l…@example.org: suppressed (it did not exist for three digests in a row: RCPT: 550 5.1.1"
        in err
    )
    assert "alert to o…@example.org: deferred (RCPT: 550 5.1.1 <o…@example.org>: unknown)" in err
    for private in ("lovelace", "op@", "grace"):
        assert private not in err.casefold()
    assert alerts(world)[-1] == "1 address suppressed after three bounces in a row"
    assert (
        f"lovelace@example.org: it did not exist for three digests in a row: RCPT: {reply}"
        in told(world)
    )
    assert "paperboy unsuppress lovelace@example.org" in told(world)
