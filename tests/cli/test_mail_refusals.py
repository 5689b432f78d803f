"""Refusals at RCPT: a recipient's own, or of us as a client, HELO, sender or relay. What each command makes of them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.cli.conftest import FRIDAY, World
from tests.cli.mail_world import (
    ADA,
    GRACE,
    MONDAY,
    OPERATOR,
    While,
    alerts,
    at_home,
    crowd,
    once_on,
    read,
    refuse,
    states,
    told,
)
from tests.servers.smtp import Fault

WELL = "Resolved: mail is sent again"
MUELLER = "müller@example.org"
NO_SUCH, DENIED = "550 5.1.1 no such user", "554 5.7.1 relay access denied"
RELAY = "454 4.7.1 <op@example.org>: Relay access denied"
QUARTER = timedelta(minutes=15)
OF_US = [  # as Postfix, Exim and Exchange word them
    "554 5.7.1 <localhost[127.0.0.1]>: Client host rejected: Access denied",
    "504 5.5.2 <mail>: Helo command rejected: need fully-qualified hostname",
    "550 5.1.8 <papers@example.org>: Sender address rejected: Domain not found",
    "550 5.1.0 <papers@example.org>: Sender address rejected: User unknown",
    "550 relay not permitted",
    "550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain",
]


@pytest.mark.parametrize("reply", OF_US)
def test_server_that_refuses_us_at_rcpt_costs_no_reader_the_digest(
    reply: str, world: World
) -> None:
    at_home(world, *crowd(60), SMTP_CONNECTIONS=5)
    world.announce(1)
    met: list[Fault] = []
    world.smtp.on_fault = met.append
    refuse(world, reply, *crowd(60))

    for rounds in (1, 2):
        ran = world.once()
        assert (ran.code, len(met), set(states(world, *crowd(60)))) == (1, 3 * rounds, {"pending"})
        assert len({fault.address for fault in met}) == len(met), (
            "each round begins with other recipients"
        )
        assert "60 deliveries wait for the next try\n" in ran.err
        assert ran.err.count("the mail server refused all 3 recipients tried: RCPT: ") == 1
        assert world.smtp.connections == 1 + rounds, (
            "the first one goes ahead alone; another is the alert's"
        )
    assert alerts(world) == ["Mail cannot be sent"], "the server takes the alert"
    assert "It seems to refuse this machine, its name or the sender" in told(world)

    world.smtp.faults.clear()
    assert world.once().code == 0
    assert sorted(set(world.mails()) - {OPERATOR}) == crowd(60)
    assert alerts(world) == ["Mail cannot be sent", WELL]


OF_US_AT_THE_DOT = [  # as Exchange and Amazon SES word them, and any other
    "554 5.2.0 STOREDRV.Submission; SubmissionQuotaExceeded; message rejected",
    "550 5.1.90 You have reached your daily limit for recipients",
    "554 5.2.252 SendAsDenied; papers@example.org not allowed to send",
    "550 5.7.60 SMTP; Client does not have permissions to send as this sender",
    "554 Message rejected: Email address is not verified: papers@example.org",
    "554 5.7.1 refused by policy",
]


@pytest.mark.parametrize("reply", OF_US_AT_THE_DOT)
def test_server_that_refuses_us_after_the_message_costs_no_reader_the_digest(
    reply: str, world: World
) -> None:
    at_home(world, *crowd(8))
    world.announce(1)
    world.smtp.faults.append(Fault("dot", reply))
    ran = world.once()
    assert (ran.code, set(states(world, *crowd(8)))) == (1, {"pending"})
    assert reply[:12] in ran.err

    world.smtp.faults.clear()
    assert world.once().code == 0
    assert sorted(set(world.mails()) - {OPERATOR}) == crowd(8)


def test_message_refused_for_one_recipient_has_failed_for_that_one_alone(world: World) -> None:
    """Amazon SES, too, says in its sandbox that a recipient is not verified."""
    at_home(world, *crowd(4))
    world.announce(1)
    replies = [
        "554 5.7.1 looks like spam",
        "554 Email address is not verified: reader01@example.org",
    ]
    for number, reply in enumerate(replies):
        world.smtp.faults.append(Fault("dot", reply, address=crowd(4)[number]))
    assert world.once().code == 0
    assert states(world, *crowd(4)) == ["failed"] * 2 + ["sent"] * 2


@pytest.mark.parametrize(("number", "tried"), [(1, "the only recipient"), (2, "all 2 recipients")])
def test_few_recipients_are_all_tried_before_the_server_is_blamed(
    number: int, tried: str, world: World
) -> None:
    at_home(world, *crowd(number))
    world.announce(1)
    refuse(world, DENIED, *crowd(number))
    ran = world.once()
    assert (ran.code, set(states(world, *crowd(number)))) == (1, {"pending"})
    assert f"refused {tried} tried" in ran.err


def test_alert_waits_where_the_server_refuses_it_too(world: World) -> None:
    at_home(world, ADA, GRACE)
    world.announce(1)
    world.smtp.faults.append(Fault("RCPT", DENIED))
    assert "the mail server refused all 2 recipients tried" in world.once().err
    assert alerts(world) == []
    world.smtp.faults.clear()
    world.clock.now += QUARTER
    assert world.once().code == 0
    assert alerts(world) == [WELL]


@pytest.mark.parametrize("first", [1, 2])
def test_one_recipient_who_is_accepted_shows_that_the_refusals_were_the_others_own(
    first: int, world: World
) -> None:
    at_home(world, *crowd(6))
    world.announce(1)
    refuse(world, "550 5.7.1 we do not want you", *crowd(first))
    ran = world.once()
    assert (ran.code, states(world, *crowd(6))) == (0, ["failed"] * first + ["sent"] * (6 - first))
    assert alerts(world) == [f"{first} mail{'s' * (first > 1)} refused for good"]
    for words in (
        f"foundations: {crowd(1)[0]}: RCPT: 550 5.7.1 we do not",
        "paperboy resend foundations --failed",
    ):
        assert words in told(world)


def test_unknown_recipients_are_never_held_back(world: World) -> None:
    at_home(world, *crowd(5))
    world.announce(1)
    refuse(world, NO_SUCH, *crowd(4))
    world.smtp.faults.append(Fault("RCPT", DENIED, address=crowd(5)[4]))
    assert world.once().code == 1
    assert states(world, *crowd(5)) == ["failed"] * 4 + ["pending"]
    assert alerts(world) == ["4 mails refused for good", "Mail cannot be sent"]


def test_late_refusal_is_the_recipients_own_where_others_got_the_digest(world: World) -> None:
    at_home(world, ADA, GRACE)
    world.announce(1)
    refuse(world, "450 4.7.1 greylisted", ADA)
    world.once()
    refuse(world, "550 5.7.1 not you", ADA)
    assert world.once().code == 0
    assert (states(world), alerts(world)) == (["failed", "sent"], ["1 mail refused for good"])


def test_server_that_turns_against_us_in_the_midst_of_a_list_settles_who_was_asked(
    world: World,
) -> None:
    """Somebody was accepted in this round, so refusals are the recipients'; `resend --failed` brings all back."""
    at_home(world, *crowd(6))
    world.announce(1)
    faults = [Fault("RCPT", DENIED, address=who) for who in crowd(6)]
    world.smtp.faults = While(lambda: len(world.mails()) >= 3, *faults)
    assert world.once().code == 0
    assert states(world, *crowd(6)) == ["sent"] * 3 + ["failed"] * 3
    world.smtp.faults = []
    assert world.run("resend", "foundations", "--failed").code == 0
    assert states(world, *crowd(6)) == ["sent"] * 6


# --- what the operator hears


def test_refused_mail_is_reported_once_a_day(world: World) -> None:
    """Mail refused after the day's alert is in the next one."""
    at_home(world, ADA, GRACE)
    refuse(world, "550 5.7.1 not you", ADA)
    for number, day in enumerate((FRIDAY, MONDAY), start=1):
        assert once_on(world, day, number).code == 0
        for _ in range(2):
            world.clock.now += QUARTER
            world.run("resend", "foundations", "--failed")
        assert alerts(world) == ["1 mail refused for good", "2 mails refused for good"][:number]
    assert told(world).count("foundations: ada@example.org: RCPT: 550 5.7.1 not you") == 2


def test_digest_that_nobody_got_is_a_failure_of_once_and_of_resend(world: World) -> None:
    at_home(world, ADA, GRACE)
    world.announce(1)
    refuse(world, NO_SUCH, ADA, GRACE)
    world.smtp.faults.append(Fault("dot", "554 5.7.1 no", address=OPERATOR, times=1))
    ran = world.once()
    assert ran.code == 1
    assert "foundations: nobody got the digest\n" in ran.err
    assert ran.err.count(f"failed (RCPT: {NO_SUCH})") == 2
    assert alerts(world) == []
    world.once()
    assert alerts(world) == ["Nobody got the digest of foundations"], (
        "by the next mail that gets through"
    )
    ran = world.run("resend", "--failed")
    assert (ran.code, "foundations: nobody got the digest\n" in ran.err) == (1, True)


def test_once_tries_deferred_mail_at_once_and_the_daemon_waits(world: World) -> None:
    at_home(world, ADA, GRACE)
    world.announce(1)
    refuse(world, "450 4.7.1 later", ADA)
    assert world.once().code == 1
    world.smtp.faults.clear()
    world.run("work", "sending")
    assert states(world) == ["deferred", "sent"]
    assert (world.once().code, states(world)) == (0, ["sent", "sent"])


# --- addresses beyond ASCII (RFC 6531)


@pytest.mark.parametrize(("offered", "came"), [(True, "sent"), (False, "failed")])
@pytest.mark.parametrize("pipelining", [True, False])
def test_address_beyond_ascii_needs_smtputf8(
    offered: bool, came: str, pipelining: bool, world: World
) -> None:
    """Where the server does not offer it, that address alone goes without."""
    world.smtp.smtputf8, world.smtp.pipelining = offered, pipelining
    at_home(world, MUELLER, ADA)
    world.announce(1)
    assert world.once().code == 0
    assert states(world, MUELLER, ADA) == [came, "sent"]
    if offered:
        (sent,) = (sent for sent in world.smtp.messages if sent.recipient == MUELLER)
        assert f"\r\nTo: {MUELLER}\r\n".encode() in b"\r\n" + sent.content
        assert "Your address müller@example.org is on this list." in told(world, MUELLER)
        assert alerts(world) == []
    else:
        assert (
            "müller@example.org: SMTPUTF8: the server does not offer it, and this address needs it"
            in told(world)
        )


def test_address_beyond_ascii_is_treated_like_others(world: World) -> None:
    at_home(world, ADA, GRACE, SMTP_HOST="")
    assert world.run("subscribe", "foundations", "Jürgen <MÜLLER@example.org>").code == 0
    world.announce(1)
    assert world.once().code == 0
    assert "  müller@example.org  Jürgen\n" in world.run("subscribers").out
    copies = [copy.read_bytes() for copy in (world.path / "outbox" / "Maildir" / "new").iterdir()]
    assert sum(f"<{MUELLER}>".encode() in copy for copy in copies) == 1
    assert world.run("suppress", MUELLER).code == 0
    assert world.run("unsubscribe", "foundations", MUELLER).code == 0


# --- the check


@pytest.mark.parametrize(
    ("reply", "settings", "line"),
    [
        (
            DENIED,
            {},
            "fault  mail: the mail server refuses op@example.org (ALERT_TO): RCPT: 554 5.7.1 relay access",
        ),
        (
            RELAY,
            {},
            "fault  mail: the mail server refuses op@example.org (ALERT_TO): RCPT: 454 4.7.1 <op@example.org>",
        ),
        (
            NO_SUCH,
            {},
            "fault  mail: the mail server refuses op@example.org (ALERT_TO): RCPT: 550 5.1.1 no such user.",
        ),
        (
            "450 4.7.1 later",
            {},
            "note   mail: the mail server refuses op@example.org (ALERT_TO): RCPT: 450 4.7.1",
        ),
        (
            NO_SUCH,
            {"ALERT_TO": ""},
            "note   mail: the mail server refuses papers@example.org (MAIL_FROM): RCPT: 550",
        ),
        (
            "530 5.7.0 log in",
            {},
            "fault  mail: mail server 127.0.0.1:{port} wants a login: 530 5.7.0 log in. Set SMTP",
        ),
        (
            "530 5.7.0 Must issue a STARTTLS command first",
            {},
            "wants encryption: 530 5.7.0 Must issue a STARTTLS",
        ),
    ],
)
def test_check_names_a_recipient_to_the_server(
    reply: str, settings: dict[str, object], line: str, world: World
) -> None:
    at_home(world, ADA)
    world.env(**{"ALERT_TO": OPERATOR} | settings)
    world.announce(1)
    world.smtp.faults.append(Fault("RCPT", reply))
    ran = world.run("check")
    assert line.format(port=world.smtp.port) in ran.out
    assert ran.code == int("note " not in line)
    assert world.smtp.messages == []
    assert world.messages(OPERATOR) == []
    assert read(world, ADA) == []
