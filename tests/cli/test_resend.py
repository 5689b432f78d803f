"""`paperboy resend`: the newest digest again, to those whom it did not reach, and to nobody twice."""

import logging
import signal
import threading
from datetime import timedelta

import pytest

from tests.cli.conftest import LISTS, World, text_of
from tests.servers.smtp import Fault, Message

ADA = "ada@example.org"
GRACE = "grace@example.org"


def a_morning(world: World, *faults: Fault) -> None:
    """Foundations' Friday, with those faults, which are over when it is."""
    world.announce(1)
    world.smtp.faults.extend(faults)
    world.once("foundations")
    world.smtp.faults.clear()


def refused(address: str) -> Fault:
    return Fault("RCPT", "550 5.7.1 not today", address=address)


def test_recipient_who_has_the_digest_does_not_get_it_again(world: World) -> None:
    a_morning(world)
    ran = world.run("resend", "foundations")
    assert (ran.code, ran.out) == (
        0,
        "foundations, the digest of Fri 20 Nov: there is nobody to send it to\n",
    )
    assert world.mails() == [ADA, GRACE]


@pytest.mark.parametrize("only", [[], ["--failed"]])
def test_refused_recipient_gets_the_same_mail(world: World, only: list[str]) -> None:
    a_morning(world, refused(ADA))
    assert world.mails() == [GRACE]
    world.announce(2)
    ran = world.run("resend", "foundations", *only)
    assert ran.code == 0
    assert (
        ran.out == "foundations, the digest of Fri 20 Nov: to be sent to 1 subscriber\n"
        "Deliveries of all that waited: 1 sent\n"
    )
    assert world.mails() == [GRACE, ADA]
    graces, adas = world.messages()
    assert adas["Subject"] == graces["Subject"]
    assert "2611.00001" in text_of(adas)


def test_expired_delivery_gets_three_more_days(world: World) -> None:
    """Three days are over, and so was the delivery; who asks for it again gives it another three."""
    a_morning(world, Fault("RCPT", "450 later", address=ADA))
    world.smtp.faults.append(Fault("RCPT", "450 later", address=ADA))
    world.later(days=4)
    world.once("galaxies")
    assert "1 failed" in world.run("status").out
    ran = world.run("resend", "foundations", "--failed")
    assert (ran.code, "Deliveries of all that waited: 1 deferred" in ran.out) == (1, True)
    assert "1 delivery waits for the next try" in ran.err
    world.smtp.faults.clear()
    world.later(hours=1)
    world.once("galaxies")
    assert world.mails() == [GRACE, ADA]


def test_ambiguous_delivery_is_sent_with_the_same_message_id(world: World) -> None:
    """A mailbox that has it already drops the second one."""
    lost = Fault("dot", address=ADA, keeps=True, times=2)
    a_morning(world, lost)
    world.smtp.faults.append(lost)
    world.later(hours=1)
    world.once("foundations")
    world.smtp.faults.clear()
    assert "1 ambiguous" in world.run("status").out
    assert world.run("resend", "foundations", "--failed").code == 0
    adas = [mail["Message-ID"] for mail in world.messages() if mail["To"] == ADA]
    assert len(adas) == 3
    assert len(set(adas)) == 1


@pytest.mark.parametrize(
    ("only", "said"),
    [([], "to be sent to 1 subscriber"), (["--failed"], "there is nobody to send it to")],
)
def test_deferred_delivery_goes_at_once(world: World, only: list[str], said: str) -> None:
    """By hand no retry backoff holds it back."""
    a_morning(world, Fault("RCPT", "450 later", address=ADA))
    assert said in world.run("resend", "foundations", *only).out
    assert world.mails() == [GRACE, ADA]


def test_waiting_deliveries_of_other_lists_go_with_those_put_back(world: World) -> None:
    a_morning(world, refused(ADA))
    world.announce(4, categories=("astro-ph.GA",))
    world.smtp.faults.append(Fault("MAIL", "550 5.7.1 you may not send"))
    world.once("galaxies")
    world.smtp.faults.clear()
    assert world.run("resend", "foundations").out.splitlines() == [
        "foundations, the digest of Fri 20 Nov: to be sent to 1 subscriber",
        "Deliveries of all that waited: 2 sent",
    ]


def test_subscriber_who_left_gets_nothing_until_they_are_back(world: World) -> None:
    a_morning(world, Fault("MAIL", "550 5.7.1 you may not send"))
    world.write("subscribers.yaml", LISTS.replace("      - ada@example.org\n", ""))
    world.run("resend", "foundations")
    assert world.mails() == [GRACE]
    world.write("subscribers.yaml", LISTS)
    world.run("resend", "foundations")
    assert world.mails() == [GRACE, ADA]


def test_suppressed_address_gets_nothing(world: World) -> None:
    a_morning(world, refused(ADA))
    world.run("suppress", ADA)
    assert "nobody" in world.run("resend", "foundations").out
    assert world.mails() == [GRACE]


def test_digest_in_the_outbox_is_mailed_once_there_is_a_server(world: World) -> None:
    world.env(smtp=False, MAIL_FROM="papers@example.org")
    a_morning(world)
    assert "nobody" in world.run("resend", "foundations").out
    world.env()
    assert "nobody" in world.run("resend", "foundations", "--failed").out
    assert world.run("resend", "foundations").code == 0
    assert sorted(world.mails()) == [ADA, GRACE]


def test_digest_from_localhost_is_not_sent_to_a_server(world: World) -> None:
    """It would refuse paperboy@localhost, and everything else would wait behind that."""
    world.env(smtp=False)
    a_morning(world)
    world.env()
    assert (
        "was composed for the outbox, from paperboy@localhost, before MAIL_FROM was set"
        in world.fails(1, "resend", "foundations")
    )
    assert world.smtp.connections == 0


def test_server_that_refuses_the_sender_leaves_the_delivery_waiting(world: World) -> None:
    a_morning(world, refused(ADA))
    world.smtp.faults.append(Fault("MAIL", "550 5.7.1 you may not send"))
    ran = world.run("resend", "foundations")
    assert ran.code == 1
    assert "1 delivery waits for the next try\n" in ran.err
    assert ran.err.count("mail server 127.0.0.1") == 1
    world.smtp.faults.clear()
    world.once("foundations")
    assert world.mails() == [GRACE, ADA]


@pytest.mark.long("a process of its own")
def test_signal_ends_resend_after_the_message_in_hand(world: World) -> None:
    """As it ends a morning: nothing is lost, and nothing comes twice."""
    a_morning(world, refused(ADA), refused(GRACE))
    stopping = threading.Event()
    world.smtp.faults.append(Fault("dot", "250 taken", until=stopping.is_set, keeps=True, times=1))
    # While the server thinks about the final dot.
    world.smtp.on_fault = lambda _: process.send_signal(signal.SIGTERM)
    process = world.start("resend", "foundations")
    assert process.stderr is not None
    assert "Stopping after the current message.\n" in process.stderr
    stopping.set()
    process.communicate(timeout=300)
    world.smtp.on_fault = None
    assert process.returncode == 1
    assert world.mails() == [ADA]
    world.run("resend", "foundations")
    assert world.mails() == [ADA, GRACE]


# --- to one address


def test_resend_to_an_address_that_missed_the_digest_settles_its_delivery(world: World) -> None:
    a_morning(world, refused(ADA), refused(GRACE))
    ran = world.run("resend", "foundations", "--to", "Ada@Example.org")
    assert (ran.code, ran.out) == (0, "ada@example.org: sent, 250 2.0.0 taken as 1\n")
    assert world.mails() == [ADA]
    world.run("resend", "foundations")
    assert world.mails() == [ADA, GRACE]


def test_resend_to_one_address_sends_nothing_else(world: World) -> None:
    a_morning(world, Fault("MAIL", "550 5.7.1 you may not send"))
    assert world.run("resend", "foundations", "--to", ADA).code == 0
    assert world.mails() == [ADA]
    world.once("foundations")
    assert world.mails() == [ADA, GRACE]


def test_resend_to_an_address_that_has_the_digest_takes_another_message_id(world: World) -> None:
    """A mailbox that deduplicates would drop the second one, and they asked for it."""
    a_morning(world)
    world.later(minutes=1)
    before = world.run("status", "--json").out
    for _ in range(2):
        world.later(minutes=1)
        assert world.run("resend", "foundations", "--to", GRACE).code == 0
    assert world.mails() == [ADA, GRACE, GRACE, GRACE]
    _, first, *more = world.messages()
    assert len({mail["Message-ID"] for mail in world.messages()}) == 4
    for mail in more:
        assert (mail["To"], mail["Subject"]) == (
            "Grace Hopper <grace@example.org>",
            first["Subject"],
        )
        assert mail["List-Unsubscribe"] == first["List-Unsubscribe"]
        assert mail.get_content_type() == first.get_content_type()
        assert "Sent to grace@example.org." in text_of(mail)
    assert world.run("status", "--json").out == before


def test_resend_to_a_stranger_sends_a_test_mail(world: World) -> None:
    a_morning(world)
    ran = world.run("resend", "foundations", "--to", "Emmy <emmy@example.org>")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "emmy@example.org: sent, 250 2.0.0 taken as 3\nemmy@example.org is not on foundations: that was a test mail.\n"
    )
    assert world.mails()[2:] == ["emmy@example.org"]
    emmys = world.messages()[-1]
    assert emmys["Subject"].startswith("[Test] On the Learning")
    text = text_of(emmys)
    assert "Test mail to emmy@example.org alone, nothing was marked as sent" in text
    assert "ada@example.org" not in text


def test_resend_to_somebody_who_joined_since_is_in_the_ledger(world: World) -> None:
    """So that it is not sent to them again with the others."""
    a_morning(world)
    world.write(
        "subscribers.yaml",
        LISTS.replace("- ada@example.org", "- ada@example.org\n      - emmy@example.org"),
    )
    assert world.run("resend", "foundations", "--to", "emmy@example.org").code == 0
    world.run("resend", "foundations")
    assert world.mails() == [ADA, GRACE, "emmy@example.org"]


def test_resend_to_a_suppressed_address_is_refused_with_the_fix(world: World) -> None:
    a_morning(world)
    world.run("suppress", ADA, "--list", "foundations")
    err = world.fails(1, "resend", "foundations", "--to", ADA)
    assert err.endswith(
        "ada@example.org is suppressed for the list foundations (since Fri 20 Nov 2026: by hand). "
        "To undo this: paperboy unsuppress ada@example.org --list foundations\n"
    )
    assert world.mails() == [ADA, GRACE]


@pytest.mark.parametrize(
    ("reply", "told", "waits"),
    [
        ("550 5.1.1 no such user", "ada@example.org: failed, RCPT: 550", False),
        ("450 later", "ada@example.org: deferred, RCPT: 450", True),
    ],
)
def test_refusal_of_one_address_is_reported(
    world: World, reply: str, told: str, *, waits: bool
) -> None:
    a_morning(world, refused(ADA))
    world.smtp.faults.append(Fault("RCPT", reply, address=ADA))
    ran = world.run("resend", "foundations", "--to", ADA)
    assert ran.code == 1
    assert ran.out.startswith(told)
    assert ("1 delivery waits" in ran.err) == waits


def test_unreachable_server_is_reported(world: World) -> None:
    a_morning(world)
    world.env(SMTP_PORT=9)
    assert "127.0.0.1:9" in world.fails(1, "resend", "foundations", "--to", ADA)


# --- nothing to send


@pytest.mark.parametrize("earlier", [False, True])
def test_list_without_a_digest_is_reported(world: World, *, earlier: bool) -> None:
    if earlier:
        a_morning(world)
    assert "galaxies has had no digest yet; paperboy once --list galaxies makes it" in world.fails(
        1, "resend", "galaxies"
    )
    assert (world.path / "data").exists() == earlier


def test_superseded_digest_is_not_sent(world: World) -> None:
    """Its papers come with the next one, and would come twice."""
    a_morning(world, refused(ADA), refused(GRACE))
    with world.store() as store:
        assert store.days.supersede(
            "foundations", world.clock().date() + timedelta(days=1), world.clock()
        )
    for more in ([], ["--failed"], ["--to", ADA], ["--to", "emmy@example.org"]):
        assert "the digest of Fri 20 Nov reached nobody and was superseded" in world.fails(
            1, "resend", "foundations", *more
        )
    assert world.mails() == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["galaxy"], "did you mean 'galaxies'?"),
        (["foundations", "--to", "nope"], "--to"),
        (["foundations", "--failed", "--to", ADA], "exclude each other"),
    ],
)
def test_wrong_usage_exits_2(world: World, arguments: list[str], told: str) -> None:
    assert told in world.fails(2, "resend", *arguments)


def test_subscriber_who_leaves_during_sending_gets_nothing(world: World) -> None:
    """Also from a digest that was composed before, and in a round that has begun."""
    world.write("subscribers.yaml", LISTS.replace("- ada@example.org", "- zoe@example.org"))
    world.announce(1)

    seen = threading.Event()
    log = logging.Handler()
    logger = logging.getLogger("paperboy.sending.recipients")
    log.emit = lambda record: seen.set() if "the edited lists apply" in record.msg else None  # type: ignore[method-assign]

    def leave(_: Message) -> None:
        (world.path / "subscribers.yaml").write_text(
            LISTS.replace("      - Grace Hopper <grace@example.org>\n", "")
        )
        while not seen.wait(0.1):
            world.waits.append(5)  # the edit rests

    world.smtp.on_message = leave
    logger.addHandler(log)
    world.once("foundations")
    logger.removeHandler(log)
    assert world.mails() == ["zoe@example.org"]


def test_without_a_list_what_failed_on_any_list_goes_again(world: World) -> None:
    world.announce(2, categories=("astro-ph.GA",))
    world.smtp.faults.extend([refused(ADA), refused("vera@example.org")])
    world.once("galaxies")
    a_morning(world)
    assert world.mails() == [GRACE]
    ran = world.run("resend", "--failed")
    assert ran.code == 0
    assert sorted(world.mails()) == sorted([GRACE, ADA, "vera@example.org"])
    again = world.run("resend", "--failed")
    assert (again.code, again.out.count("there is nobody to send it to")) == (0, 2)
    for wrong in ([], ["--to", ADA]):
        ran = world.run("resend", *wrong)
        assert (ran.code, "Name a LIST; only with --failed it may be left out" in ran.err) == (
            2,
            True,
        )


def test_a_list_that_has_had_no_digest_stops_no_other(world: World) -> None:
    a_morning(world, refused(ADA))
    ran = world.run("resend", "--failed")
    assert ran.code == 0
    assert "galaxies has had no digest yet" in ran.err
    assert world.mails() == [GRACE, ADA]
