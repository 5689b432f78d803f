"""What `paperboy check` says of servers that are silent, unknown, out of credit or too dear."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trustme

from paperboy.cli.check import report
from paperboy.cli.check_servers import Outside
from paperboy.cli.main import Surroundings
from paperboy.dns import Dns
from tests.cli.conftest import Ran, World
from tests.servers.dns import DnsServer
from tests.servers.smtp import SmtpServer


def check(world: World, **outside: Any) -> Ran:
    """The command, with something else than this machine's DNS and a minute of patience."""
    world.capture.readouterr()
    around = Surroundings(world.path, world.environ, world.clock, world.waits.append)
    code = report(around, Outside(**outside))
    out, err = world.capture.readouterr()
    return Ran(code, out, err)


def about(ran: Ran, what: str) -> str:
    """The only line about it."""
    (line,) = (line for line in ran.out.splitlines() if line[7:].startswith(f"{what}: "))
    return line


def refusing(errno: int) -> Callable[[str], object]:
    def look_up(_: str) -> object:
        raise socket.gaierror(errno, "as the system words it")

    return look_up


# --- silence


@pytest.fixture
def silence() -> Iterator[list[int]]:
    """The ports of three servers that take a connection and never say a word."""
    with ExitStack() as stack:
        listening = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        yield [sock.getsockname()[1] for sock in listening]


def test_silent_servers_cost_their_time_once_and_are_told_one_by_one(world: World, silence: list[int]) -> None:
    mail, llm, arxiv = silence
    world.env(
        SMTP_PORT=mail,
        OPENAI_BASE_URL=f"http://127.0.0.1:{llm}/v1",
        ARXIV_API_URL=f"http://127.0.0.1:{arxiv}/api/query",
        MAIL_FROM="papers@wren.edu",
    )
    begun = time.monotonic()
    with DnsServer(silent={"*"}) as server:
        ran = check(world, dns=Dns([server.host], port=server.port), patience=1)
    assert time.monotonic() - begun < 15, "each of their own limits is longer"
    assert ran.code == 1
    assert about(ran, "mail") == (
        f"fault  mail: mail server 127.0.0.1:{mail} did not come to the end of greeting, TLS and login within 1 s: "
        "check SMTP_HOST and SMTP_PORT, or see to the server"
    )
    assert about(ran, "sender") == (
        "note   sender: DNS does not answer within 1 s; MX, SPF and DMARC of wren.edu not looked at"
    )
    assert about(ran, "scoring") == (
        "fault  scoring: the LLM at 127.0.0.1 did not answer within 1 s, asked for the score of one paper. A model "
        "that is only being loaded will: check again. A morning waits 120 s for each call (LLM_TIMEOUT_SECONDS)"
    )
    assert about(ran, "arXiv") == (
        "fault  arXiv: 127.0.0.1 did not answer within 1 s; a morning is more patient, and asks again. If it stays so, "
        "see status.arxiv.org, and check the network and ARXIV_API_URL"
    )


def test_a_silent_server_does_not_keep_the_program_at_its_end() -> None:
    endless = "import threading; from paperboy.cli.check_findings import later; later(threading.Event().wait)"
    subprocess.run([sys.executable, "-c", endless], timeout=60, check=True)


def test_a_bug_in_a_probe_is_no_finding(world: World) -> None:
    def broken(_: str) -> object:
        raise ZeroDivisionError

    world.env(SMTP_PORT=9)
    with pytest.raises(ZeroDivisionError):
        check(world, look_up=broken)


# --- names


def test_a_name_that_the_dns_does_not_know_is_said_so_and_once(world: World) -> None:
    world.env(SMTP_PORT=9, OPENAI_BASE_URL="http://127.0.0.1:9/v1", ARXIV_API_URL="http://127.0.0.1:9/api/query")
    ran = check(world, look_up=refusing(socket.EAI_NONAME))
    assert ran.code == 1
    for what, setting in (("mail", "SMTP_HOST"), ("scoring", "OPENAI_BASE_URL"), ("arXiv", "ARXIV_API_URL")):
        assert about(ran, what) == (
            f"fault  {what}: DNS does not know 127.0.0.1; check {setting} and this machine's DNS"
        )


def test_a_dns_that_does_not_answer_is_not_blamed_on_the_setting(world: World) -> None:
    world.env(SMTP_PORT=9)
    ran = check(world, look_up=refusing(socket.EAI_AGAIN))
    assert about(ran, "mail") == (
        "fault  mail: DNS does not answer when asked for 127.0.0.1; check this machine's network and its DNS"
    )


def test_a_look_up_that_hangs_is_the_dns_too(world: World, silence: list[int]) -> None:
    world.env(SMTP_PORT=silence[0])
    over = threading.Event()
    ran = check(world, look_up=lambda _: over.wait(60), patience=0.5)
    over.set()
    assert about(ran, "mail") == (
        "fault  mail: DNS does not answer when asked for 127.0.0.1; check this machine's network and its DNS"
    )


def test_a_server_that_was_reached_has_a_name_whatever_the_dns_says(world: World) -> None:
    """As behind a proxy, which asks the DNS itself."""
    world.announce(1)
    world.llm.fail_always("out of credit")
    ran = check(world, look_up=refusing(socket.EAI_NONAME))
    assert about(ran, "mail").startswith("ok ")
    assert about(ran, "arXiv").startswith("ok ")
    assert "no credit" in about(ran, "scoring")


# --- the sender


def test_the_senders_domain_stands_behind_the_mail_server_and_no_note_is_a_fault(world: World) -> None:
    world.announce(1)
    world.env(MAIL_FROM="papers@wren.edu")
    with DnsServer({"wren.edu MX": ["10 mx.wren.edu."], "mx.wren.edu A": ["198.51.100.25"]}) as server:
        ran = check(world, dns=Dns([server.host], port=server.port))
    names = [line[7:].partition(":")[0] for line in ran.out.splitlines()]
    assert names[-6:] == ["mail", "MX", "SPF", "DMARC", "scoring", "arXiv"]
    assert about(ran, "MX") == "ok     MX: mail to wren.edu goes to mx.wren.edu"
    assert about(ran, "SPF").startswith("note   SPF: wren.edu has no SPF record")
    assert ran.code == 0


def test_a_sender_that_takes_no_mail_is_a_fault(world: World) -> None:
    world.announce(1)
    world.env(MAIL_FROM="papers@wren.edu")
    with DnsServer({"wren.edu MX": ["0 ."]}) as server:
        ran = check(world, dns=Dns([server.host], port=server.port))
    assert about(ran, "MX").startswith("fault  MX: ")
    assert ran.code == 1


@pytest.mark.parametrize("arguments", [["check", "--offline"], ["check"]])
def test_the_dns_is_left_alone_offline_and_for_the_outbox(world: World, arguments: list[str]) -> None:
    world.announce(1)
    world.env(smtp=arguments == ["check", "--offline"], MAIL_FROM="papers@wren.edu")
    ran = world.run(*arguments)
    assert not {"MX", "SPF", "DMARC", "sender"} & {line[7:].partition(":")[0] for line in ran.out.splitlines()}


# --- the mail server's certificate


@pytest.mark.parametrize(
    ("left", "told"),
    [
        (timedelta(days=22), ""),
        (timedelta(days=20, hours=23), "in 20 days"),
        (timedelta(days=1, hours=12), "in 1 day;"),
        (timedelta(hours=12), "within a day;"),
    ],
)
def test_a_certificate_that_ends_soon_is_a_note_with_its_date(world: World, left: timedelta, told: str) -> None:
    """In a process of its own, which trusts the authority that the test made."""
    ends = datetime.now(UTC) + left
    authority = trustme.CA()
    of_server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost", not_after=ends).configure_cert(of_server)
    trusted = world.path.parent / "authority.pem"
    authority.cert_pem.write_to_path(str(trusted))
    world.announce(1)
    with SmtpServer(security="starttls", ssl_context=of_server) as server:
        world.env(SMTP_HOST="localhost", SMTP_PORT=server.port, SMTP_SECURITY="starttls")
        command = [sys.executable, "-m", "paperboy", "--home", str(world.path), "check"]
        environ = os.environ | {"SSL_CERT_FILE": str(trusted)}
        ran = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=120, check=True)
    notes = [line for line in ran.stdout.splitlines() if "the certificate of" in line]
    if told:
        (line,) = notes
        assert line.startswith(f"note   mail: the certificate of localhost ends on {ends:%a %d %b %Y}, {told}")
    else:
        assert notes == []


# --- money


def test_an_account_without_credit(world: World) -> None:
    world.announce(1)
    world.llm.fail_always("out of credit")
    ran = world.run("check")
    assert "answers 429: the account has no credit left" in about(ran, "scoring")
    assert ran.code == 1


def test_a_budget_that_covers_no_call(world: World) -> None:
    world.announce(1)
    world.env(LLM_PRICE_INPUT=2, LLM_PRICE_OUTPUT=8, LLM_BUDGET_USD="0.001")
    ran = world.run("check")
    (fault,) = (line for line in ran.out.splitlines() if line.startswith("fault"))
    assert fault.startswith("fault  scoring: LLM_BUDGET_USD=0.001 does not cover one call: for a single paper $0.01")
    assert ran.code == 1
    assert len(world.llm.requests) == 1, "what it would cost is worked out, and not tried"
    world.env(LLM_PRICE_INPUT=2, LLM_PRICE_OUTPUT=8, LLM_BUDGET_USD=1)
    assert world.run("check").code == 0


def test_what_the_budget_is_said_not_to_cover_is_what_a_morning_cannot_do(world: World) -> None:
    world.announce(1)
    world.env(LLM_PRICE_INPUT=2, LLM_PRICE_OUTPUT=8, LLM_BUDGET_USD="0.001")
    world.run("once")
    assert world.llm.requests == []


def test_a_price_that_nobody_knows_is_a_note_where_somebody_pays(world: World) -> None:
    world.announce(1)
    assert "price of" not in world.run("check").out, "no key: a machine in the house"
    world.env(OPENAI_API_KEY="sk-0123456789")
    assert "price of" not in world.run("check").out, "on this machine"
    world.env(OPENAI_API_KEY="sk-0123456789", OPENAI_BASE_URL="https://0.0.0.0:9/v1")  # nobody is there, or need be
    assert (
        "note   scoring: the price of gpt-6-luna is unknown, so digests and status tell tokens and no cost; set "
        "LLM_PRICE_INPUT and LLM_PRICE_OUTPUT\n"
    ) in world.run("check").out
