"""`paperboy resend LIST --failed` sends what was given up after three days, too, whatever came since."""

from datetime import timedelta

from tests.cli.conftest import LISTS, World, text_of
from tests.cli.test_resend import ADA, GRACE, a_morning, refused
from tests.servers.smtp import Fault


def given_up_and_another_since(world: World) -> None:
    """Friday's digest is given up for Ada, and Monday's has come to both."""
    a_morning(world, Fault("RCPT", "450 later", address=ADA))
    world.later(days=3)
    world.announce(2)
    world.once("foundations")
    assert world.mails() == [GRACE, ADA, GRACE]


def test_expired_delivery_is_sent_despite_a_newer_digest(world: World) -> None:
    """Which is so whenever something is given up: a list has a digest a day."""
    given_up_and_another_since(world)
    ran = world.run("resend", "foundations")
    assert (ran.code, ran.out) == (
        0,
        "foundations, the digest of Mon 23 Nov: there is nobody to send it to\n",
    )
    ran = world.run("resend", "foundations", "--failed")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "foundations, the digest of Mon 23 Nov: there is nobody to send it to",
        "foundations, the digest of Fri 20 Nov: to be sent to 1 subscriber",
        "Deliveries of all that waited: 1 sent",
    ]
    assert world.mails() == [GRACE, ADA, GRACE, ADA]
    assert "2611.00001" in text_of(world.messages()[-1])


def test_expired_delivery_is_sent_though_the_newest_digest_was_superseded(world: World) -> None:
    given_up_and_another_since(world)
    world.later(days=1)
    world.announce(3)
    world.smtp.faults += [refused(ADA), refused(GRACE)]
    world.once("foundations")
    world.smtp.faults.clear()
    with world.store() as store:
        assert store.days.supersede(
            "foundations", world.clock().date() + timedelta(days=1), world.clock()
        )
    ran = world.run("resend", "foundations", "--failed")
    assert (ran.code, ran.out.splitlines()) == (
        0,
        [
            "foundations, the digest of Fri 20 Nov: to be sent to 1 subscriber",
            "Deliveries of all that waited: 1 sent",
        ],
    )
    assert "the digest of Tue 24 Nov reached nobody and was superseded" in ran.err


def test_expired_delivery_is_forgotten_after_two_weeks(world: World) -> None:
    given_up_and_another_since(world)
    world.later(days=12)
    assert world.run("resend", "foundations", "--failed").out.count("again to") == 0
    assert world.mails() == [GRACE, ADA, GRACE]


def test_expired_delivery_to_someone_gone_or_suppressed_is_not_sent(world: World) -> None:
    given_up_and_another_since(world)
    world.run("suppress", ADA)
    assert "again to" not in world.run("resend", "foundations", "--failed").out
    world.run("unsuppress", ADA)
    world.write("subscribers.yaml", LISTS.replace("      - ada@example.org\n", ""))
    assert "again to" not in world.run("resend", "foundations", "--failed").out
