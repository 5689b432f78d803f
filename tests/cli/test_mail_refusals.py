"""Mail servers that refuse recipients, or us, over several runs: the papers of each reader and the operator's alerts.

Verdicts on single replies are in `tests/sending/test_smtp_replies.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from tests.cli.conftest import FRIDAY, LISTS, World
from tests.cli.mail_world import (
    ADA,
    GRACE,
    LIST,
    MONDAY,
    OPERATOR,
    TUESDAY,
    WEDNESDAY,
    While,
    alerts,
    at_home,
    crowd,
    digests,
    once_on,
    read,
    refuse,
    states,
    told,
)
from tests.servers.smtp import Fault, Phase
from tests.store.ledger import waiting

CANNOT = "Mail cannot be sent"
WELL = "Resolved: mail is sent again"
NOBODY = "Nobody got the digest of foundations"
REACHED = "Resolved: digests reach their lists"
NO_SUCH = "550 5.1.1 no such user"
DENIED = "554 5.7.1 relay access denied"
MUELLER = "müller@example.org"
QUARTER = timedelta(minutes=15)


@dataclass(frozen=True)
class Run:
    """A command and its results."""

    at: datetime | None = None  # a morning with a new paper; None: `minutes` after the run before
    faults: tuple[Fault, ...] = ()  # of the server, from now on
    code: int = 0
    states: str = "sent"  # of the readers' copies; one word: all; empty: any
    alerts: str = ""  # subjects of the new ones
    log: str = ""  # part of stderr
    text: str = ""  # part of the newest alert
    readers: tuple[str, ...] = ()  # of the list, from now on; empty: as before
    command: str = "once"
    minutes: int = 15
    crashes: bool = False  # afterwards, while it sends a copy


@dataclass(frozen=True)
class Case:
    """A list and the papers in each mail to its readers."""

    name: str
    readers: tuple[str, ...]
    runs: tuple[Run, ...]
    digests: dict[str, list[str]]


def refused(reply: str, *addresses: str) -> tuple[Fault, ...]:
    return tuple(Fault("RCPT", reply, address=address) for address in addresses)


def all_get(*papers: str, readers: tuple[str, ...]) -> dict[str, list[str]]:
    return {reader: list(papers) for reader in readers}


BOTH = (ADA, GRACE)
SIX = tuple(crowd(6))
NEW = ("ada@new.example", "grace@new.example")
LOST = tuple(Fault("dot", address=reader) for reader in SIX)
AWAY = Fault("connect", "554 5.7.1 go away")
LATER = "454 4.7.1 relay access denied"  # as Postfix answers

CASES = [
    # refusals that may be about us
    Case(
        "relay denied",
        SIX,
        (
            Run(
                FRIDAY,
                refused(DENIED, *SIX),
                code=1,
                states="pending",
                alerts=CANNOT,
                log="6 deliveries wait for the next try\n",
                text="It seems to refuse this machine, its name or the sender",
            ),
            Run(alerts=WELL),
        ),
        all_get("1", readers=SIX),
    ),
    *(
        Case(
            f"relay denied for {tried}",
            readers,
            (
                Run(
                    FRIDAY,
                    refused(DENIED, *readers),
                    code=1,
                    states="pending",
                    alerts=CANNOT,
                    log=f"the mail server refused {tried} tried: RCPT: ",
                ),
                Run(alerts=WELL),
            ),
            all_get("1", readers=readers),
        )
        for tried, readers in {"the only recipient": (ADA,), "all 2 recipients": BOTH}.items()
    ),
    *(
        Case(
            f"{reply[:9]} after the message",
            SIX,
            (
                Run(FRIDAY, (Fault("dot", reply),), code=1, states="pending", log=reply),
                Run(alerts=news),
            ),
            all_get("1", readers=SIX),
        )
        for reply, news in {
            "550 5.1.90 You have reached your daily limit for recipients": "",
            "550 5.7.60 SMTP; Client does not have permissions to send as this sender": WELL,
            "554 5.7.1 refused by policy": WELL,
        }.items()
    ),
    # refusals of recipients
    Case(
        "others are accepted",
        SIX,
        (
            Run(
                FRIDAY,
                refused("550 5.7.1 we do not want you", *SIX[:2]),
                states="failed failed sent sent sent sent",
                alerts="2 mails refused for good",
                text=f"foundations: {SIX[0]}: RCPT: 550 5.7.1 we do not",
            ),
        ),
        {SIX[0]: [], SIX[5]: ["1"]},
    ),
    Case(
        "message refused for one",  # Amazon SES, too, says in its sandbox that a recipient is not verified
        BOTH,
        (
            Run(
                FRIDAY,
                (Fault("dot", f"554 Email address is not verified: {ADA}", address=ADA),),
                states="failed sent",
                alerts="1 mail refused for good",
                text="paperboy resend foundations --failed",
            ),
        ),
        {ADA: [], GRACE: ["1"]},
    ),
    Case(
        "unknown recipients are never held back",
        SIX,
        (
            Run(
                FRIDAY,
                refused(NO_SUCH, *SIX[:5]) + refused(DENIED, SIX[5]),
                code=1,
                states="failed failed failed failed failed pending",
                alerts=f"5 mails refused for good; {CANNOT}",
            ),
        ),
        all_get(readers=SIX),
    ),
    Case(
        "late, where others got it; reported once a day",
        BOTH,
        (
            Run(FRIDAY, refused("450 4.7.1 later", ADA), code=1, states="deferred sent"),
            Run(
                faults=refused("550 5.7.1 not you", ADA),
                states="failed sent",
                alerts="1 mail refused for good",
            ),
            Run(
                faults=refused("550 5.7.1 not you", ADA),
                states="failed sent",
                command="resend foundations --failed",
            ),
            Run(
                MONDAY,
                refused("550 5.7.1 not you", ADA),
                states="failed sent",
                alerts="2 mails refused for good",
            ),
        ),
        {ADA: [], GRACE: ["1", "2"]},
    ),
    Case(
        "once tries deferred mail at once, and the daemon waits",
        BOTH,
        (
            Run(FRIDAY, refused("450 4.7.1 later", ADA), code=1, states="deferred sent"),
            Run(command="work sending", states="deferred sent", minutes=0),
            Run(minutes=0),
        ),
        all_get("1", readers=BOTH),
    ),
    # digests that reach nobody
    Case(
        "deferred for all",
        BOTH,
        (
            Run(FRIDAY, refused(LATER, *BOTH), code=1, states="deferred"),
            Run(faults=refused(LATER, *BOTH), code=1, states="deferred", minutes=600),
            Run(
                MONDAY,
                refused(LATER, *BOTH),
                code=1,
                states="deferred",
                alerts=NOBODY,
                log="the digest of 2026-11-20 reached nobody; its papers come with today's",
                text="The papers are not lost: they come with the next digest of foundations.",
            ),
            Run(TUESDAY, alerts=REACHED),
        ),
        all_get("1 2 3", readers=BOTH),
    ),
    Case(
        "bounced for all",
        BOTH,
        (
            Run(FRIDAY, refused(NO_SUCH, *BOTH), code=1, states="failed", alerts=NOBODY),
            Run(MONDAY, refused(NO_SUCH, *BOTH), code=1, states="failed", alerts=NOBODY),
            Run(TUESDAY, readers=NEW, alerts=REACHED),
        ),
        all_get("1 2 3", readers=NEW),
    ),
    Case(
        "bounced for the only address, so papers do not return for ever",
        (ADA,),
        (
            Run(FRIDAY, refused(NO_SUCH, ADA), code=1, states="failed", alerts=NOBODY),
            Run(MONDAY, refused(NO_SUCH, ADA), code=1, states="failed", alerts=NOBODY),
            Run(readers=(GRACE,), command="resend foundations", alerts=REACHED),
        ),
        {ADA: [], GRACE: ["2"]},
    ),
    Case(
        "addresses change before anybody had it",
        BOTH,
        (
            Run(FRIDAY, refused(LATER, *BOTH), code=1, states="deferred"),
            Run(readers=NEW, states=""),
            Run(MONDAY),
        ),
        all_get("1 2", readers=NEW),
    ),
    Case(
        "nobody, and the alert is refused: reported by the next mail, and by resend",
        BOTH,
        (
            Run(
                FRIDAY,
                (*refused(NO_SUCH, *BOTH), Fault("dot", "554 5.7.1 no", address=OPERATOR)),
                code=1,
                states="failed",
                log="foundations: nobody got the digest\n",
            ),
            Run(states="failed", alerts=NOBODY),
            Run(
                faults=refused(NO_SUCH, *BOTH),
                code=1,
                states="failed",
                log="foundations: nobody got the digest\n",
                command="resend --failed",
            ),
        ),
        all_get(readers=BOTH),
    ),
    Case(
        "each day after a refused sender",  # whose alert lasts, since no mail has left yet
        BOTH,
        (
            Run(FRIDAY, (Fault("MAIL", "550 5.7.1 no"),), code=1, states="pending"),
            Run(
                faults=refused(NO_SUCH, *BOTH),
                code=1,
                states="failed",
                alerts=f"{CANNOT}; {NOBODY}",
            ),
            Run(MONDAY, refused(NO_SUCH, *BOTH), code=1, states="failed", alerts=NOBODY),
        ),
        all_get(readers=BOTH),
    ),
    Case(
        "ambiguous for all",  # every connection is lost after the dot
        SIX,
        (
            Run(FRIDAY, LOST, code=1, states=""),
            *[Run(faults=LOST, code=1, states="")] * 2,
            Run(faults=LOST, code=1, states="ambiguous", alerts=NOBODY),
        ),
        all_get(readers=SIX),
    ),
    # a crash
    Case(
        "a crash while the server is away costs the others nothing",
        BOTH,
        (
            Run(FRIDAY, (AWAY,), code=1, states="pending", crashes=True),
            Run(MONDAY, (AWAY,), code=1, states="pending"),
            Run(TUESDAY, (AWAY,), code=1, states="pending"),
            Run(WEDNESDAY, alerts=WELL),
        ),
        all_get("1", "2 3 4", readers=BOTH),
    ),
    Case(
        "a crash still counts after a deferral",
        (ADA,),
        (
            Run(FRIDAY, (AWAY,), code=1, states="pending", crashes=True),
            Run(
                faults=refused("450 4.2.0 greylisted", ADA),
                code=1,
                states="deferred",
                alerts=CANNOT,
            ),
            Run(MONDAY, alerts=WELL),
        ),
        {ADA: ["1", "2"]},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refusals_cost_nobody_else_a_paper_and_are_reported(case: Case, world: World) -> None:
    readers = case.readers
    papers = 0
    heard = 0
    at_home(world, *readers)
    for run in case.runs:
        world.later(minutes=run.minutes)
        if run.at:
            papers += 1
            world.clock.now = run.at
            world.announce(papers)
        if run.readers:
            readers = run.readers
            at_home(world, *readers)
        world.smtp.faults[:] = [replace(fault) for fault in run.faults]

        ran = world.run(*run.command.split())

        came = states(world, *readers)
        news = alerts(world)
        if " " not in run.states:
            came = sorted(set(came)) if run.states else []
        assert (ran.code, " ".join(came), "; ".join(news[heard:])) == (
            run.code,
            run.states,
            run.alerts,
        )
        assert run.log in ran.err
        assert not run.text or run.text in told(world)
        assert not [reader for reader in readers if reader in ran.err]
        heard = len(news)
        if run.crashes:
            with world.store() as store:
                first, *_ = waiting(store, world.clock(), by_hand=True)
                assert store.ledger.reserve(first, world.clock())
    assert {reader: digests(world, reader) for reader in case.digests} == case.digests


def test_list_refused_as_a_whole_is_reported_while_another_is_served(world: World) -> None:
    world.write("subscribers.yaml", LISTS)
    world.env(ALERT_TO=OPERATOR)
    refuse(world, DENIED, ADA, GRACE)
    world.announce_both(1, 4)
    ran = world.once()
    assert ran.code == 1  # although nothing waits
    assert "Deliveries: 1 sent, 2 failed" in ran.out
    assert read(world, "vera@example.org") == ["4"]
    assert alerts(world) == [NOBODY]
    assert f"foundations: RCPT: {DENIED}" in told(world)
    assert "paperboy resend foundations" in told(world)

    world.smtp.faults.clear()
    once_on(world, MONDAY, 2)
    assert (read(world, ADA), read(world, "vera@example.org")) == (["1", "2"], ["4"])
    assert alerts(world) == [NOBODY, REACHED]


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


def test_suppressed_address_is_reported_to_the_operator_alone(world: World) -> None:
    """After three bounces. The log never shows a whole address, not even one that the server quotes."""
    reply = "550 5.1.1 LOVELACE@EXAMPLE.ORG: see <a.lovelace@mx.example.net>"
    at_home(world, "lovelace@example.org", GRACE)
    refuse(world, reply, "lovelace@example.org")
    unknown = "550 5.1.1 <op@example.org>: unknown"
    world.smtp.faults.append(Fault("RCPT", unknown, address=OPERATOR, times=1))
    err = ""
    for number, day in enumerate((FRIDAY, MONDAY, TUESDAY, WEDNESDAY), start=1):
        ran = once_on(world, day, number)
        assert ran.code == 0
        err += ran.err
    why = "it did not exist for three digests in a row"
    assert f"l…@example.org is suppressed: {why}" in err
    assert f"foundations to l…@example.org: suppressed ({why}: RCPT: 550 5.1.1" in err
    assert "alert to o…@example.org: deferred (RCPT: 550 5.1.1 <o…@example.org>: unknown)" in err
    for private in ("lovelace", "op@", "grace"):
        assert private not in err.casefold()
    assert alerts(world)[-1] == "1 address suppressed after three bounces in a row"
    assert f"lovelace@example.org: {why}: RCPT: {reply}" in told(world)
    assert "paperboy unsuppress lovelace@example.org" in told(world)


def test_recipient_greylisted_after_days_without_a_server_is_tried_again(world: World) -> None:
    """The digest reached nobody until now, so Grace was tried once, and not for three days."""
    at_home(world, ADA, GRACE, SMTP_PORT=9)
    fridays = LIST.format(f"{ADA}, {GRACE}").replace(
        "    topics", "    weekdays: [fri]\n    topics"
    )
    world.write("subscribers.yaml", fridays)
    world.announce(1)
    world.run("work", "morning", "foundations")
    world.run("work", "sending")
    world.env(ALERT_TO=OPERATOR)
    world.smtp.faults.append(Fault("RCPT", "450 4.2.0 greylisted", address=GRACE, times=1))
    for at in (TUESDAY, TUESDAY + QUARTER):
        world.clock.now = at
        world.run("work", "sending")
    assert sorted(world.mails()) == [ADA, GRACE]


# --- servers that change their mind in the midst of a list


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


LIMIT = "550 5.4.5 Daily user sending limit exceeded"


@pytest.mark.parametrize(
    ("phase", "reply", "state"),
    [
        ("RCPT", DENIED, "failed"),  # others were accepted, so it is the recipients' own
        ("RCPT", LIMIT, "pending"),
        ("DATA", LIMIT, "pending"),
        ("dot", LIMIT, "pending"),
    ],
)
def test_refusals_in_the_midst_of_a_list_lose_no_mail(
    phase: Phase, reply: str, state: str, world: World
) -> None:
    at_home(world, *SIX)
    world.announce(1)
    faults = [Fault(phase, reply, address=reader) for reader in SIX]
    world.smtp.faults = While(lambda: len(set(world.mails()) - {OPERATOR}) >= 3, *faults)
    assert world.once().code == int(state == "pending")
    assert states(world, *SIX) == ["sent"] * 3 + [state] * 3
    world.smtp.faults = []
    assert world.run("resend", "foundations", "--failed").code == 0
    assert states(world, *SIX) == ["sent"] * 6


# --- addresses beyond ASCII (RFC 6531)


@pytest.mark.parametrize(("offered", "came"), [(True, "sent"), (False, "failed")])
@pytest.mark.parametrize("pipelining", [True, False])
def test_address_beyond_ascii_needs_smtputf8(
    offered: bool, came: str, pipelining: bool, world: World
) -> None:
    """Where the server does not offer it, that address alone goes without."""
    world.smtp.smtputf8 = offered
    world.smtp.pipelining = pipelining
    at_home(world, MUELLER, ADA)
    world.announce(1)
    assert world.once().code == 0
    assert states(world, MUELLER, ADA) == [came, "sent"]
    if offered:
        (sent,) = (sent for sent in world.smtp.messages if sent.recipient == MUELLER)
        assert f"\r\nTo: {MUELLER}\r\n".encode() in b"\r\n" + sent.content
        assert "Sent to müller@example.org." in told(world, MUELLER)
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

REFUSES = "the mail server refuses {} ({}): RCPT: {}"
OURS = (OPERATOR, "ALERT_TO")
FROM = ("papers@example.org", "MAIL_FROM")
POSTFIX = "454 4.7.1 <op@example.org>: Relay access denied"


@pytest.mark.parametrize(
    ("reply", "alert_to", "line"),
    [
        (DENIED, OPERATOR, f"fault  mail: {REFUSES.format(*OURS, DENIED)}"),
        (POSTFIX, OPERATOR, f"fault  mail: {REFUSES.format(*OURS, POSTFIX)}"),
        (NO_SUCH, OPERATOR, f"fault  mail: {REFUSES.format(*OURS, NO_SUCH)}"),
        ("450 later", OPERATOR, f"note   mail: {REFUSES.format(*OURS, '450 later')}"),
        (NO_SUCH, "", f"note   mail: {REFUSES.format(*FROM, NO_SUCH)}"),
    ],
)
def test_check_names_a_recipient_to_the_server(
    reply: str, alert_to: str, line: str, world: World
) -> None:
    at_home(world, ADA)
    world.env(ALERT_TO=alert_to)
    world.announce(1)
    world.smtp.faults.append(Fault("RCPT", reply))
    ran = world.run("check")
    assert line in ran.out
    assert ran.code == int("note " not in line)
    assert world.smtp.messages == []
