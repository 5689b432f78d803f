"""Every way in which mail servers are known to fail, over whole mornings: what subscribers and the operator get."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from paperboy.store.incidents import Kind
from tests.cli.conftest import World
from tests.cli.mail_world import (
    ADA,
    GRACE,
    MONDAY,
    OPERATOR,
    alerts,
    at_home,
    attempts,
    crowd,
    once_on,
    read,
    states,
    told,
)
from tests.servers.smtp import Fault, Phase, certificates

SOON = timedelta(minutes=30)  # the wait of an address after its first try is over by then
PATIENCE = timedelta(hours=6)
WELL = "Resolved: mail is sent again"


# --- one recipient


@dataclass(frozen=True)
class Own:
    """The fault that one subscriber's copy meets while the server is faulty, and the state it ends in."""

    fault: Fault | None
    state: str  # when the first run is over
    in_the_end: str = "sent"
    copies: int = 1


OWN = {
    "ada": Own(None, "sent"),
    "busy": Own(Fault("RCPT", "450 4.2.1 mailbox busy"), "deferred"),
    "nobody": Own(Fault("RCPT", "550 5.1.1 no such user"), "failed", "failed", 0),
    "what": Own(Fault("RCPT", "500 what?"), "failed", "failed", 0),
    "closing": Own(Fault("RCPT", "421 4.3.2 closing"), "deferred"),
    "gone": Own(Fault("RCPT"), "deferred"),
    "grace": Own(None, "sent"),
    "later": Own(Fault("DATA", "451 4.3.0 later"), "deferred"),
    "not-this": Own(Fault("DATA", "554 5.6.0 not this"), "failed", "failed", 0),
    "gone-at-data": Own(Fault("DATA"), "deferred"),
    "later-still": Own(Fault("dot", "451 4.7.1 later"), "deferred"),
    "spam": Own(Fault("dot", "554 5.7.1 spam"), "failed", "failed", 0),
    "closing-late": Own(Fault("dot", "421 4.3.2 closing"), "deferred"),
    "hedy": Own(None, "sent"),
    "untaken": Own(Fault("dot"), "deferred"),
    "too-big": Own(Fault("dot", "552 5.2.3 too big"), "failed", "failed", 0),
    "taken": Own(
        Fault("dot", keeps=True), "deferred", copies=2
    ),  # the one that may come twice, as the same message
    "emmy": Own(None, "sent"),
}


@pytest.mark.quick
@pytest.mark.parametrize("pipelining", [True, False])
def test_each_recipient_meets_a_fault_of_their_own_and_nobody_else_suffers(
    pipelining: bool, world: World
) -> None:
    """The operator gets one alert about those refused for good; the others are tried again."""
    people = {f"{name}@example.org": own for name, own in OWN.items()}
    world.smtp.pipelining = pipelining
    at_home(world, *people)
    world.announce(1)
    for address, own in people.items():
        if own.fault:
            world.smtp.faults.append(replace(own.fault, address=address))

    assert world.once().code == 1
    assert dict(zip(OWN, states(world, *people), strict=True)) == {
        name: own.state for name, own in OWN.items()
    }

    recover(world)
    world.clock.now += SOON
    assert world.once().code == 0
    assert dict(zip(OWN, states(world, *people), strict=True)) == {
        name: own.in_the_end for name, own in OWN.items()
    }
    assert len({mail["Message-ID"] for mail in world.messages("taken@example.org")}) == 1

    assert once_on(world, MONDAY, 2).code == 0
    assert {name: read(world, f"{name}@example.org") for name in OWN} == {
        name: ["1"] * own.copies + ["2"] for name, own in OWN.items()
    }
    assert alerts(world) == ["5 mails refused for good"]


# --- faults that hold back all mail


@dataclass(frozen=True)
class Case:
    """How the server behaves, and when the operator is alerted that mail does not leave."""

    name: str
    server: Callable[[World], object]
    state: str  # of both copies, when the first run is over
    told: str = "never"
    settings: tuple[tuple[str, object], ...] = ()


def answers(
    at: Phase, reply: str, state: str, told: str = "never", times: int | None = None
) -> Case:
    name = f"{reply[:3] or 'nothing'} at {at}" + (", once" if times else "")
    return Case(
        name, lambda world: world.smtp.faults.append(Fault(at, reply, times=times)), state, told
    )


def secured(world: World, context: ssl.SSLContext, login: str = "", password: str = "") -> None:
    world.smtp.security = "starttls"
    world.smtp.ssl_context = context
    world.smtp.username = login
    world.smtp.password = password


def as_it_is(world: World) -> None:
    """The settings are wrong, not the server."""


STARTTLS = (("SMTP_SECURITY", "starttls"),)
CASES = [
    Case("well", as_it_is, "sent"),
    # for a while
    answers("connect", "421 4.7.0 too many connections", "sent", times=1),
    answers("connect", "421 4.7.0 too many connections", "pending", "after six hours"),
    answers("connect", "", "pending", "after six hours"),
    answers("EHLO", "451 4.3.0 later", "pending", "after six hours"),
    Case("away", as_it_is, "pending", "after six hours", (("SMTP_PORT", 9),)),
    answers("MAIL", "421 4.7.0 too many", "deferred", "after six hours"),
    answers("MAIL", "450 4.7.1 later", "deferred", "after six hours"),
    answers("MAIL", "", "deferred"),
    # until somebody fixes it
    answers("connect", "554 5.7.1 go away", "pending", "at once"),
    answers("EHLO", "550 5.7.1 not you", "pending", "at once"),
    answers("MAIL", "550 5.7.1 you may not send", "pending", "at once"),
    answers("RCPT", "530 5.7.0 authentication required", "pending", "at once"),
    Case("no STARTTLS", as_it_is, "pending", "at once", STARTTLS),
    Case("no TLS", as_it_is, "pending", "at once", (("SMTP_SECURITY", "tls"),)),
    Case(
        "strange certificate",
        lambda world: secured(world, certificates()[0]),
        "pending",
        "at once",
        STARTTLS,
    ),
]


def is_noted(world: World) -> bool:
    """Return whether an alert says that no mail can be sent."""
    with world.store() as store:
        return any(met.kind == Kind.MAIL and met.ended is None for met in store.incidents.all())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_server_fault_holds_mail_back_until_it_is_over(case: Case, world: World) -> None:
    at_home(world, ADA, GRACE, **dict(case.settings))
    world.announce(1)
    case.server(world)

    ran = world.once()

    tried = int(case.told == "never")  # what never came to it is no address's fault
    assert (states(world), attempts(world)) == ([case.state] * 2, [tried] * 2)
    waits = case.state != "sent"
    assert ran.code == (1 if waits else 0), ran.err
    assert ("2 deliveries wait for the next try" in ran.err) is waits
    assert is_noted(world) is (case.told == "at once")
    if case.told == "after six hours":
        world.clock.now += PATIENCE
        world.once()
        assert is_noted(world)
        assert (states(world), attempts(world)) == ([case.state] * 2, [tried] * 2)
    assert alerts(world) == []  # through that server, nothing goes

    recover(world)
    world.clock.now += SOON
    assert world.once().code == 0
    news = [] if case.told == "never" else [WELL]
    assert alerts(world) == news
    if news:
        for words in ("mail, since Fri 20 Nov", "Mail cannot be sent"):
            assert words in told(world)

    assert once_on(world, MONDAY, 2).code == 0
    assert (read(world, ADA), read(world, GRACE)) == (["1", "2"], ["1", "2"])
    assert alerts(world) == news


def recover(world: World) -> None:
    """Fix the server and the settings."""
    world.smtp.faults.clear()
    world.smtp.security = "none"
    world.smtp.ssl_context = None
    world.env(ALERT_TO=OPERATOR)


# --- a login that is refused

LOGIN: dict[str, object] = {
    "SMTP_SECURITY": "starttls",
    "SMTP_HOST": "localhost",
    "SMTP_USERNAME": "paperboy",
    "SMTP_PASSWORD": "SECRET",
}


def test_login_refused_for_now_is_retried(world: World, trusted: ssl.SSLContext) -> None:
    at_home(world, ADA, GRACE, **LOGIN)
    world.announce(1)
    secured(world, trusted, "paperboy", "SECRET")
    world.smtp.faults.append(Fault("AUTH", "454 4.7.0 not now", times=1))
    assert world.once().code == 0
    assert 3.75 <= sum(world.waits) <= 6.25
    assert sorted(world.mails()) == [ADA, GRACE]


# --- a login with an access token

TOKENS: dict[str, object] = {
    "SMTP_SECURITY": "starttls",
    "SMTP_HOST": "localhost",
    "SMTP_USERNAME": "paperboy",
    "SMTP_TOKEN_COMMAND": "sh tool.sh",
}
TOKEN = "access-token.0123456789"


def with_tool(command: str) -> dict[str, object]:
    """The settings for tokens that this command prints."""
    return TOKENS | {"SMTP_TOKEN_COMMAND": f'"{command}"'}


@pytest.fixture
def tokens(world: World, trusted: ssl.SSLContext) -> World:
    """A server that takes passwords and the token, and the settings for the token."""
    at_home(world, ADA, GRACE, *crowd(58), SMTP_CONNECTIONS=4, **TOKENS)
    world.announce(1)
    secured(world, trusted, "paperboy", "s3cret")
    world.smtp.token = TOKEN
    world.write("tool.sh", f"echo >> runs; echo {TOKEN}")
    return world


def test_all_mail_of_a_command_goes_with_one_token(tokens: World) -> None:
    for command in (
        ["once"],
        ["resend", "foundations", "--to", ADA],
        ["preview", "foundations", "--to", OPERATOR],
    ):
        (tokens.path / "runs").unlink(missing_ok=True)
        assert tokens.run(*command).code == 0, command
        assert (tokens.path / "runs").read_text() == "\n", command
    assert len(tokens.mails()) == 62
    assert set(tokens.smtp.tokens) == {TOKEN}
    assert {message.login for message in tokens.smtp.messages} == {"paperboy"}


BROKEN_LOGINS: dict[str, tuple[dict[str, object], str]] = {
    "a wrong password": (LOGIN, "refuses the login of paperboy: 535 5.7.8 "),
    "a command that is gone": (with_tool("sh gone.sh"), "failed with exit status"),
    "a command that fails": (
        with_tool("sh -c 'echo SECRET >&2; echo SECRET; exit 1'"),
        "failed with exit status 1",
    ),
    "no token": (with_tool("true"), "printed no token in its first line"),
    "no program": (with_tool("no-such-tool"), "cannot be started: No such file or directory"),
    "an old token": (
        with_tool("echo SECRET"),
        "refuses the access token for paperboy: 535 5.7.3 Authentication unsuccessful",
    ),
}


@pytest.mark.parametrize("case", BROKEN_LOGINS)
def test_failing_login_is_tried_once_per_round_and_keeps_all_mail_pending(
    tokens: World, case: str
) -> None:
    """Not once for each connection, nor for the alert: so many refusals may lock the account."""
    broken, said = BROKEN_LOGINS[case]
    many: dict[str, object] = {"SMTP_CONNECTIONS": 4, "LOG_LEVEL": "DEBUG"}
    at_home(tokens, ADA, GRACE, *crowd(58), **many | broken)
    for connections in (1, 2):
        ran = tokens.once()
        assert ran.code == 1
        assert ran.err.count(said) == 1
        assert tokens.smtp.connections == connections
        assert "SECRET" not in ran.out + ran.err + tokens.run("status").out
        assert is_noted(tokens)
        assert (states(tokens), attempts(tokens)) == (["pending"] * 2, [0, 0])
        tokens.later(minutes=15)
    assert tokens.smtp.messages == []
    at_home(tokens, ADA, GRACE, *crowd(58), **many | TOKENS)
    assert tokens.once().code == 0
    assert len(tokens.mails()) == len(set(tokens.mails())) == 61
    assert alerts(tokens) == [WELL]


def test_token_command_sees_the_environment_without_our_settings(tokens: World) -> None:
    tokens.environ |= {"OPENAI_API_KEY": "sk-secret", "XDG_STATE_HOME": "/srv/state"}
    tokens.write("tool.sh", f"env > seen; echo {TOKEN}")
    assert tokens.once().code == 0
    seen = (tokens.path / "seen").read_text()
    assert "XDG_STATE_HOME=/srv/state\n" in seen
    assert "sk-secret" not in seen


# --- a server that is busy


@pytest.mark.parametrize("phase", ["MAIL", "dot"])
def test_overloaded_server_gets_growing_pauses_until_the_fifth_error(
    world: World, phase: Phase
) -> None:
    at_home(world, *crowd(60))
    world.announce(1)
    world.smtp.faults.append(Fault(phase, "452 4.3.1 Insufficient system storage"))
    ran = world.once()
    assert ran.code == 1
    pauses = [int(seconds) for seconds in re.findall(r"pausing for (\d+) s", ran.err)]
    assert len(pauses) == 4
    assert all(
        3 <= pause / 2**n <= 7 for n, pause in enumerate(pauses)
    )  # 5, 10, 20 and 40, a little more or less
    assert sorted(states(world, *crowd(60))) == ["deferred"] * 5 + ["pending"] * 55
    assert "the mail server failed 5 times in a row" in ran.err
    recover(world)
    world.clock.now += SOON
    assert world.once().code == 0
    assert sorted(world.mails()) == sorted(crowd(60))
