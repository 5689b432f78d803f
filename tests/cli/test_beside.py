"""Repairs beside the service: which commands end at once while it scores or sends, and which take their turn."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from tests.cli.conftest import Ran, World
from tests.cli.test_run import SECONDS, Service, service
from tests.servers.smtp import Fault
from tests.servers.systemd import children

__all__ = ["service"]  # a fixture

LISTS = """\
lists:
  - name: foundations
    categories: [cs.LG]
    topics: learning
    send_at: "00:00"
    subscribers:
      - ada@example.org
      - grace@example.org
      - vera@example.org
      - joan@example.org
      - max@example.org
      - eve@example.org
  - name: theory
    categories: [cs.LG]
    topics: proofs
    send_at: "00:00"
    subscribers:
      - zoe@example.org
      - yan@example.org
"""
AT_ONCE = [  # in this order
    (["suppress", "grace@example.org"], "grace@example.org gets no more mail from any list."),
    (["suppress", "joan@example.org"], "joan@example.org gets no more mail from any list."),
    (["unsuppress", "joan@example.org"], "joan@example.org may get mail"),
    (["subscribe", "foundations", "late@example.org"], "late@example.org is now on foundations"),
    (
        ["unsubscribe", "foundations", "vera@example.org"],
        "vera@example.org is no longer on foundations",
    ),
    (["subscribers"], "8 addresses on 2 lists"),
    (["status"], "theory"),
    (["why", "2611.00001"], "theory"),
    (["why", "zoe@example.org"], "refused"),
    (["backup"], "backup-"),
]

Start = Callable[..., list[subprocess.Popen[str]]]


@pytest.fixture
def start(service: Service) -> Iterator[Start]:
    """Starts commands that have to wait, and returns once each has said for whom, and for which half."""
    started: list[subprocess.Popen[str]] = []

    def begin(holder: int, half: str, *commands: str) -> list[subprocess.Popen[str]]:
        begun = [service.world.start(*command.split()) for command in commands]
        started.extend(begun)
        for process in begun:
            assert process.stderr is not None
            told = next((line for line in process.stderr if "is active" in line), "it did not wait")
            who = f"another Paperboy (process {holder}, paperboy run) is active"
            assert told == f"{who}; waiting for its {half} to end\n", process.args
        return begun

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def at_once(world: World, held: threading.Event, *command: str) -> Ran:
    """Run a command that must not wait for what ends with the event."""
    world.clock.now = datetime.now(UTC)
    guard = threading.Timer(SECONDS, held.set)
    guard.start()
    ran = world.run(*command)
    guard.cancel()
    assert not held.is_set(), f"{command} waited"
    assert "is active" not in ran.err
    return ran


def correct(service: Service, held: threading.Event) -> None:
    """Do everything that an operator may correct or ask meanwhile, and reload the edits."""
    for command, said in AT_ONCE:
        ran = at_once(service.world, held, *command)
        assert (ran.code, ran.err) == (0, ""), command
        assert said in ran.out, command
    ready = len(service.heard("READY"))
    service.process.send_signal(signal.SIGHUP)
    service.until(lambda: len(service.heard("READY")) > ready)


def ended(process: subprocess.Popen[str]) -> str:
    """Return what the command printed in the end."""
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, out + err
    return out


def readers(service: Service) -> dict[str, int]:
    """Count the mails of each reader."""
    return Counter(address.partition("@")[0] for address in service.readers())


def over(service: Service) -> None:
    """Wait until everything is sent, and Eve forgotten."""
    service.process.send_signal(
        signal.SIGCHLD
    )  # look at once: the last to send may have been a command
    service.until(lambda: "Everyone got today's mail" in service.status)
    service.idle()
    service.terminate()
    assert service.world.run("why", "eve@example.org").code == 2
    assert "eve" not in (service.world.path / "subscribers.yaml").read_text("utf-8")


@pytest.fixture
def served(service: Service) -> Service:
    """A home where theory has today's digest, but Zoe, whose address was refused; foundations is due."""
    world = service.world
    world.write("subscribers.yaml", LISTS)
    with (world.path / ".env").open("a", encoding="utf-8") as env:
        env.write("SMTP_CONNECTIONS=1\n")
    world.smtp.faults.append(Fault("RCPT", "550 5.7.1 refused", address="zoe@example.org", times=1))
    assert world.once("theory").code == 0
    assert readers(service) == {"yan": 1}
    return service


def test_repairs_beside_a_service_that_scores(served: Service, start: Start) -> None:
    """Sending is not under way, so `resend` need not wait."""
    held = served.answers
    world = served.world
    held.clear()
    asked = len(world.llm.requests)
    pid = served.begin()
    served.until(lambda: len(world.llm.requests) > asked)
    (morning,) = children(pid)
    correct(served, held)
    assert "to be sent to 1 subscriber" in at_once(world, held, "resend", "theory").out
    assert "there is nobody to send it to" in at_once(world, held, "resend", "--failed").out
    assert readers(served) == {"yan": 1, "zoe": 1}
    (forget,) = start(morning, "morning", "forget eve@example.org")
    (once,) = start(morning, "morning", "once --list foundations")
    assert morning in children(pid)

    held.set()
    assert "Removed eve@example.org" in ended(forget)
    ended(once)
    over(served)
    assert readers(served) == {"yan": 1, "zoe": 1, "ada": 1, "joan": 1, "max": 1}


def test_repairs_beside_a_service_that_sends(served: Service, start: Start) -> None:
    """Ada's mail is under way; Max is refused once, and Zoe was."""
    held = threading.Event()
    met = threading.Event()
    smtp = served.world.smtp
    smtp.faults += [
        Fault("dot", "250 2.0.0 taken", keeps=True, until=held.is_set),
        Fault("RCPT", "550 5.7.1 not today", address="max@example.org", times=1),
    ]
    smtp.on_fault = lambda _: met.set()
    pid = served.begin()
    served.until(met.is_set)
    (sending,) = children(pid)
    correct(served, held)
    (once,) = start(sending, "sending", "once --list foundations")
    (forget,) = start(sending, "sending", "forget eve@example.org")
    resend, failed = start(sending, "sending", "resend foundations", "resend --failed")
    assert sending in children(pid)
    assert readers(served) == {"yan": 1}

    held.set()
    assert "Removed eve@example.org" in ended(forget)
    ended(once)
    assert "foundations, the digest of" in ended(resend)
    assert "theory, the digest of" in ended(failed)
    over(served)
    assert readers(served) == {"yan": 1, "zoe": 1, "ada": 1, "joan": 1, "max": 1, "late": 1}
