"""`paperboy run` as systemd runs it: a real process, real servers, and a real socket to which it says how it is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from itertools import pairwise
from pathlib import Path

import pytest

from paperboy import daemon
from paperboy.models import Score
from paperboy.systemd import ENVIRONMENT
from tests.cli.conftest import World
from tests.servers.smtp import Fault
from tests.servers.systemd import Notice, Systemd, children, environ_of, is_there

SRC = Path(__file__).parents[2] / "src"
SECONDS = 120.0  # for what takes a second or two on an idle machine
SOON = 10.0  # for what takes no time, and yet less than the daemon's own tick
WATCHDOG_SECONDS = 6.0

LISTS = """\
lists:
  - name: foundations
    categories: [cs.LG]
    topics: learning
    send_at: "00:00"
    subscribers: [ada@example.org]
"""
JOINED = (
    LISTS
    + "  - {name: theory, categories: [cs.LG], topics: proofs, send_at: '00:00', subscribers: [vera@example.org]}\n"
)
BROKEN = LISTS + "    oops: 1\n"
CROWD = [f"reader{number}@example.org" for number in range(4)]
OPERATOR = "ops@example.org"


@dataclass
class Service:
    """A home whose daemon is started and ended, and what it says to systemd."""

    world: World
    systemd: Systemd
    folder: Path  # for logs
    answers: threading.Event  # set, and the LLM gives the scores that it is asked for; until then it lets people wait
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> int:
        """A daemon of which nothing is known yet but its process."""
        command = [sys.executable, "-m", "paperboy", "--home", str(self.world.path), "run"]
        environ = {**os.environ, **self.systemd.environ, "PYTHONPATH": str(SRC)}
        with self.log(len(self.processes)).open("wb") as log:
            made = subprocess.Popen(command, stdout=log, stderr=log, env=environ, start_new_session=True)
        self.processes.append(made)
        return made.pid

    def begin(self) -> int:
        """A daemon that is ready."""
        pid = self.start()
        self.until(lambda: self.heard("READY"))
        return pid

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self.processes[-1]

    def log(self, number: int) -> Path:
        return self.folder / f"log-{number}"

    @property
    def said(self) -> str:
        """The newest daemon's log."""
        return self.log(len(self.processes) - 1).read_text("utf-8")

    def heard(self, name: str) -> list[str]:
        """What systemd heard from the newest daemon."""
        return self.systemd.heard(name, self.process.pid)

    @property
    def status(self) -> str:
        return next(reversed(self.heard("STATUS")), "")

    def until(self, condition: Callable[[], object], within: float = SECONDS) -> None:
        end = time.monotonic() + within
        while not condition():
            assert time.monotonic() < end, f"it never happened; {self.systemd.notices}\n{self.said}"
            time.sleep(0.02)

    def idle(self) -> None:
        """Waits until the daemon has nothing to do."""
        self.until(lambda: self.status and not children(self.process.pid))

    def ended(self) -> int:
        """The exit code, once there is one."""
        code = self.process.wait(SECONDS)
        assert "Traceback" not in self.said, self.said
        return code

    def terminate(self) -> float:
        """Ends the daemon as systemd does; the seconds that it took."""
        begun = time.monotonic()
        self.process.terminate()
        assert self.ended() == 0, self.said
        assert self.heard("STOPPING") == ["1"]
        return time.monotonic() - begun

    def alerts(self) -> list[str]:
        """The subjects of the operator's mails."""
        mails = [message for message in self.world.smtp.messages if message.recipient == OPERATOR]
        return [str(message_from_bytes(mail.content, policy=policy.default)["Subject"]) for mail in mails]

    def readers(self) -> list[str]:
        """Who got a digest, in order."""
        return [recipient for recipient in self.world.mails() if recipient != OPERATOR]


@pytest.fixture
def service(world: World, tmp_path: Path) -> Iterator[Service]:
    """One list is due. It is about noon where all live, so that no day ends while a test runs; and arXiv's last batch
    came days ago, since a morning takes its time with one that has only just come.
    """
    now = datetime.now(UTC)
    days = [(now + timedelta(days=number)).date().isoformat() for number in (-3, -2, -1, 0, 1)]
    world.clock.now = now
    world.write("subscribers.yaml", LISTS)
    world.env(TIMEZONE=f"Etc/GMT{now.hour - 12:+d}", ALERT_TO=OPERATOR, ARXIV_HOLIDAYS=" ".join(days))
    world.announce(1)
    answers = threading.Event()
    answers.set()

    def score(_arxiv_id: str) -> Score:
        answers.wait(SECONDS)
        return Score(9, 8, "It matters.")

    world.llm.scores = score
    with Systemd(watchdog_seconds=WATCHDOG_SECONDS) as systemd:
        made = Service(world, systemd, tmp_path, answers)
        yield made
        answers.set()
        for process in made.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # its children are in its group, also when it is gone
            except ProcessLookupError:
                continue
            finally:
                process.wait()


def caught(pid: int) -> set[signal.Signals]:
    """The signals that a process handles."""
    found = re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text("ascii"), re.MULTILINE)
    assert found is not None
    return {number for number in signal.Signals if int(found[1], 16) >> (number - 1) & 1}


# ---- what systemd hears


def test_it_is_ready_when_the_files_were_tried_and_signals_are_handled(service: Service) -> None:
    good = service.world.path / "data" / "last-good" / "subscribers.yaml"
    tried: list[bool] = []
    handled: list[set[signal.Signals]] = []

    def look(notice: Notice) -> None:
        if "READY" in notice.fields:
            tried.append(good.is_file())
            handled.append(caught(notice.pid))

    service.systemd.on_notice = look
    service.begin()
    assert tried == [True]
    assert handled[0] >= {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}


def test_it_says_how_the_day_is_and_feeds_the_watchdog_and_its_children_are_silent(service: Service) -> None:
    service.answers.clear()
    pid = service.begin()
    service.until(lambda: service.world.llm.requests)
    (morning,) = children(pid)
    assert not ENVIRONMENT & environ_of(morning).keys()
    assert "is running" in service.status
    service.answers.set()
    service.until(lambda: "got today's mail" in service.status)
    service.until(lambda: len(service.heard("WATCHDOG")) >= 5)
    fed = [notice.at for notice in service.systemd.notices if "WATCHDOG" in notice.fields]
    assert max(later - earlier for earlier, later in pairwise(fed)) < WATCHDOG_SECONDS
    assert {notice.pid for notice in service.systemd.notices} == {pid}


def test_a_list_that_joins_gets_its_morning_after_a_reload(service: Service) -> None:
    """At once, and not at some later look: without a watchdog there is one every twenty seconds."""
    service.systemd.watchdog_seconds = None
    service.begin()
    service.until(lambda: "got today's mail: 1 list" in service.status)
    service.idle()
    service.world.write("subscribers.yaml", JOINED)
    before = time.monotonic()
    service.process.send_signal(signal.SIGHUP)
    service.until(lambda: len(service.heard("READY")) == 2, SOON)
    (reloading,) = service.heard("MONOTONIC_USEC")
    assert before <= int(reloading) / 1e6 <= time.monotonic()
    assert service.heard("RELOADING") == ["1"]
    service.until(lambda: "vera@example.org" in service.world.mails())
    service.until(lambda: "got today's mail: 2 lists" in service.status, SOON)
    assert service.readers() == ["ada@example.org", "vera@example.org"]
    assert service.alerts() == []


def test_a_new_log_level_is_the_daemons_own_at_once(service: Service) -> None:
    service.begin()
    service.until(lambda: "got today's mail" in service.status)
    assert "DEBUG" not in service.said
    before = (service.world.path / ".env").read_text("utf-8")
    service.world.write(".env", f"{before}LOG_LEVEL=DEBUG\n")
    service.process.send_signal(signal.SIGHUP)
    service.until(lambda: "is in force" in service.said)
    service.process.send_signal(signal.SIGHUP)
    service.until(lambda: re.search(r"DEBUG trial: process \d+ begins", service.said))


def test_a_broken_edit_is_told_once_and_the_version_before_stays_in_force(service: Service) -> None:
    service.answers.clear()
    service.begin()
    service.until(lambda: service.world.llm.requests)
    service.world.write("subscribers.yaml", BROKEN)
    service.process.send_signal(signal.SIGHUP)  # it is tried beside the morning
    service.until(lambda: service.status.startswith("subscribers.yaml:7:5"))
    assert "last good version stays in force" in service.status
    service.terminate()
    service.answers.set()

    service.begin()  # although the files are broken
    assert "subscribers.yaml:7:5" in service.said
    service.until(service.readers)
    service.until(lambda: "Everyone got today's mail" in service.status)
    assert service.status.startswith("subscribers.yaml:7:5")
    service.process.send_signal(signal.SIGHUP)
    service.until(lambda: len(service.heard("READY")) == 2)
    service.idle()
    assert service.alerts() == ["Paperboy: Broken: subscribers.yaml:7:5"]

    service.world.write("subscribers.yaml", LISTS)  # and nobody asks: it is noticed
    service.until(lambda: service.alerts()[1:])
    service.until(lambda: service.status.startswith("Everyone got today's mail"))
    assert service.alerts()[1:] == ["Paperboy: Well again: the home's files are in order"]
    assert service.readers() == ["ada@example.org"]


def test_broken_files_at_the_first_start_are_exit_code_78(service: Service) -> None:
    service.world.write("subscribers.yaml", BROKEN)
    service.start()
    assert service.ended() == 78
    assert "subscribers.yaml:7:5" in service.said
    assert service.systemd.notices == []


# ---- how it ends


def test_sigterm_while_the_llm_hangs_ends_the_morning_too(service: Service) -> None:
    service.answers.clear()
    pid = service.begin()
    service.until(lambda: service.world.llm.requests)
    (morning,) = children(pid)
    assert service.terminate() < SOON
    assert not is_there(morning)
    assert service.world.mails() == []


def test_sigterm_while_sending_finishes_what_is_in_flight_and_nobody_gets_it_twice(service: Service) -> None:
    """The mail server is slow to take a message, and the signal comes before its word."""
    service.world.write("subscribers.yaml", LISTS.replace("ada@example.org", ", ".join(CROWD)))
    slow = Fault("dot", "250 2.0.0 taken", keeps=True, delay=2)
    service.world.smtp.faults.append(slow)
    service.world.smtp.on_fault = lambda _: service.process.terminate()
    service.begin()
    assert service.ended() == 0
    assert service.heard("STOPPING") == ["1"]
    assert "Stopping after the message in hand." in service.said
    assert 1 <= len(service.world.mails()) < len(CROWD)
    service.world.smtp.faults.clear()
    service.begin()
    service.until(lambda: "Everyone got today's mail" in service.status)
    assert sorted(service.world.mails()) == CROWD


def test_sigterm_when_idle_ends_it_and_a_restart_has_nothing_to_do(service: Service) -> None:
    service.systemd.watchdog_seconds = None
    service.begin()
    service.until(lambda: "Everyone got today's mail" in service.status)
    service.idle()
    assert service.terminate() < SOON / 2
    assert "STOPPING" in service.systemd.notices[-1].fields
    service.begin()
    service.until(lambda: "Everyone got today's mail" in service.status)
    service.terminate()
    assert "morning" not in service.said
    assert service.world.mails() == ["ada@example.org"]


def test_a_hail_of_signals_makes_it_neither_deaf_nor_ill(service: Service) -> None:
    service.begin()
    service.until(lambda: "Everyone got today's mail" in service.status)
    service.idle()
    for number in range(3000):
        service.process.send_signal((signal.SIGCHLD, signal.SIGHUP)[number % 2])
        time.sleep(0.0003)
    service.until(lambda: service.heard("RELOADING"))
    service.terminate()


# ---- one home, one daemon


def test_while_it_runs_the_home_is_held_and_status_answers(service: Service) -> None:
    service.answers.clear()
    pid = service.begin()
    service.until(lambda: service.world.llm.requests)
    told = service.world.run("status")
    assert (told.code, told.out.count("foundations") > 0) == (0, True)
    service.start()
    assert service.ended() == 75
    assert f"process {pid}, paperboy run) holds this home" in service.said
    assert service.systemd.heard("READY") == ["1"]


def test_next_daemon_waits_for_the_morning_of_one_that_was_killed(service: Service) -> None:
    service.answers.clear()
    pid = service.begin()
    service.until(lambda: service.world.llm.requests)
    (morning,) = children(pid)
    service.process.kill()
    service.process.wait()
    service.begin()
    assert is_there(morning)
    service.answers.set()
    service.until(lambda: not is_there(morning))
    service.until(lambda: "Everyone got today's mail" in service.status)
    service.idle()
    assert service.world.mails() == ["ada@example.org"]


# ---- what the daemon sees of its children


def test_morning_and_sending_show_progress_while_they_work(service: Service) -> None:
    world = service.world
    world.announce(2, 3)
    world.write("subscribers.yaml", LISTS.replace("ada@example.org", ", ".join(CROWD)))
    with (world.path / ".env").open("a", encoding="utf-8") as env:
        env.write("LLM_BATCH_SIZE=1\nLLM_CONCURRENCY=1\n")
    world.llm.latency = 1.1  # seconds: a dot is written at most once in one
    world.smtp.faults.append(Fault("dot", "250 2.0.0 taken", keeps=True, delay=0.6))
    dots = {}
    for half in (["morning", "--list", "foundations"], ["sending"]):
        process = daemon.spawn({"PYTHONPATH": str(SRC)}, world.path, ["once", "--scheduled", *half], {})
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), True)
        with process:
            dots[half[0]] = process.stdout.read()
        assert process.returncode == 0
    assert world.mails() == CROWD
    assert {half: set(said.decode()) for half, said in dots.items()} == {"morning": {"."}, "sending": {"."}}
    assert len(dots["morning"]) >= 3
    assert len(dots["sending"]) >= 2
