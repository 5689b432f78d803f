"""`paperboy run` as systemd runs it: a real process, real servers, and a real socket to which it says how it is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paperboy.models import Score
from paperboy.service.systemd import ENVIRONMENT
from tests.cli.conftest import ENVIRON, SRC, World
from tests.servers.hook import Hook
from tests.servers.smtp import Fault
from tests.servers.systemd import Notice, Systemd, children, environ_of, is_there

SECONDS = 300.0  # before a test gives up on what takes a second or two on an idle machine

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
    + "  - {name: unknown, categories: [cs.LG], topics: proofs, send_at: '00:00', subscribers: [nora@example.org]}\n"
)
BROKEN = LISTS + "    titel: Sky\n"
CROWD = [f"reader{number}@example.org" for number in range(4)]
OPERATOR = "ops@example.org"


@dataclass
class Service:
    """A home whose daemon is started and ended, and what it says to systemd."""

    world: World
    systemd: Systemd
    folder: Path  # for logs
    # Set, and the LLM gives the scores that it is asked for; until then it lets people wait.
    answers: threading.Event
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    source: Path = SRC  # of the package

    def start(self) -> int:
        """Start a daemon, ready or not; return its process id."""
        environ = {**ENVIRON, **self.systemd.environ, "PYTHONPATH": str(self.source)}
        with self.log(len(self.processes)).open("wb") as log:
            made = subprocess.Popen(
                self.world.command("run"),
                stdout=log,
                stderr=log,
                env=environ,
                start_new_session=True,
            )
        self.processes.append(made)
        return made.pid

    def begin(self) -> int:
        """Start a daemon and wait until it is ready."""
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
        """Return the newest daemon's log."""
        return self.log(len(self.processes) - 1).read_text("utf-8")

    def heard(self, name: str) -> list[str]:
        """Return what the newest daemon notified systemd of."""
        return self.systemd.heard(name, self.process.pid)

    @property
    def status(self) -> str:
        return next(reversed(self.heard("STATUS")), "")

    def until(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < end, f"it never happened; {self.systemd.notices}\n{self.said}"
            time.sleep(0.02)

    def idle(self) -> None:
        """Waits until the daemon has nothing to do."""
        self.until(lambda: self.status and not children(self.process.pid))

    def ended(self) -> int:
        """Wait for the exit code."""
        code = self.process.wait(SECONDS)
        assert "Traceback" not in self.said, self.said
        return code

    def terminate(self) -> None:
        """Ends the daemon as systemd does."""
        self.process.terminate()
        assert self.ended() == 0, self.said
        assert self.heard("STOPPING") == ["1"]
        assert "is killed" not in self.said

    def alerts(self) -> list[str]:
        """Return the subjects of the operator's mails."""
        return [str(mail["Subject"]) for mail in self.world.messages(OPERATOR)]

    def readers(self) -> list[str]:
        """Return who got a digest, in order."""
        return [recipient for recipient in self.world.mails() if recipient != OPERATOR]


@pytest.fixture
def service(world: World, tmp_path: Path) -> Iterator[Service]:
    """One list is due. It is about noon in its time zone, so no day ends while a test runs; and arXiv has announced
    nothing for days, so no morning waits for a batch.
    """
    now = datetime.now(UTC)
    days = [(now + timedelta(days=number)).date().isoformat() for number in (-3, -2, -1, 0, 1)]
    world.clock.now = now
    world.write("subscribers.yaml", LISTS)
    world.env(
        TIMEZONE=f"Etc/GMT{now.hour - 12:+d}", ALERT_TO=OPERATOR, ARXIV_HOLIDAYS=" ".join(days)
    )
    world.announce(1)
    (world.path / "data").mkdir()
    with world.store() as store:  # as if the service had run yesterday
        store.days.first_seen(["foundations", "theory"], now - timedelta(days=1))
    answers = threading.Event()
    answers.set()

    def score(_arxiv_id: str) -> Score:
        answers.wait(SECONDS)
        return Score(9, 8, "It matters.")

    world.llm.scores = score
    with Systemd(watchdog_seconds=3) as systemd:
        made = Service(world, systemd, tmp_path, answers)
        yield made
        answers.set()
        for process in made.processes:
            try:
                os.killpg(
                    process.pid, signal.SIGKILL
                )  # its children are in its group, also when it is gone
            except ProcessLookupError:
                continue
            finally:
                process.wait()


def caught(pid: int) -> set[signal.Signals]:
    """Return the signals that a process handles."""
    found = re.search(
        r"^SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text("ascii"), re.MULTILINE
    )
    assert found is not None
    return {number for number in signal.Signals if int(found[1], 16) >> (number - 1) & 1}


# ---- a day


def test_daemon_reports_its_day_alone_holds_the_home_and_ends_on_sigterm(service: Service) -> None:
    """A restart on the same day has nothing to do."""
    good = service.world.path / "data" / "last-good" / "subscribers.yaml"
    at_ready: list[tuple[bool, set[signal.Signals]]] = []

    def look(notice: Notice) -> None:
        if "READY" in notice.fields:
            at_ready.append((good.is_file(), caught(notice.pid)))

    service.systemd.on_notice = look
    service.answers.clear()
    pid = service.begin()
    ((tried, handled),) = at_ready
    assert tried
    assert handled >= {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}
    service.until(lambda: service.world.llm.requests)
    (morning,) = children(pid)
    assert not ENVIRONMENT & environ_of(morning).keys()
    assert "Paperboy watches 1 list in " in service.said
    assert "is running" in service.status
    assert service.world.run("status").code == 0
    service.start()
    assert service.ended() == 75
    assert f"process {pid}, paperboy run) holds this home" in service.said
    service.processes.pop()

    service.answers.set()
    service.until(lambda: "Everyone got today's mail" in service.status)
    service.idle()
    service.until(lambda: len(service.heard("WATCHDOG")) >= 3)
    assert {notice.pid for notice in service.systemd.notices} == {pid}
    service.terminate()
    assert "STOPPING" in service.systemd.notices[-1].fields
    service.begin()
    service.until(lambda: "Everyone got today's mail" in service.status)
    service.terminate()
    assert "morning" not in service.said
    assert service.world.mails() == ["ada@example.org"]


# ---- the files


def test_reload_serves_lists_applies_the_log_level_and_survives_a_hail_of_signals(
    service: Service,
) -> None:
    service.begin()
    service.until(lambda: "got today's mail: 1 list" in service.status)
    service.idle()
    assert "DEBUG" not in service.said
    service.world.write("subscribers.yaml", JOINED)
    with (service.world.path / ".env").open("a", encoding="utf-8") as env:
        env.write("LOG_LEVEL=DEBUG\n")
    before = time.monotonic()
    service.process.send_signal(signal.SIGHUP)
    service.until(lambda: len(service.heard("READY")) == 2)
    (reloading,) = service.heard("MONOTONIC_USEC")
    assert before <= int(reloading) / 1e6 <= time.monotonic()
    assert service.heard("RELOADING") == ["1"]
    service.until(lambda: "got today's mail: 2 lists" in service.status)
    assert service.readers() == ["ada@example.org", "vera@example.org"]
    assert service.alerts() == []
    assert re.search(r"DEBUG morning: process \d+ begins", service.said)
    for number in range(3000):
        service.process.send_signal((signal.SIGCHLD, signal.SIGHUP)[number % 2])
        time.sleep(0.0003)
    service.until(lambda: len(service.heard("RELOADING")) > 1)
    service.terminate()


def test_broken_edit_is_reported_once_and_the_version_before_survives_a_restart(
    service: Service,
) -> None:
    """SIGTERM ends the morning whose LLM hangs."""
    service.answers.clear()
    pid = service.begin()
    service.until(lambda: service.world.llm.requests)
    (morning,) = children(pid)
    service.world.write("subscribers.yaml", BROKEN)
    service.process.send_signal(signal.SIGHUP)  # it is tried beside the morning
    service.until(lambda: service.status.startswith("subscribers.yaml:7:5"))
    assert "last good version stays in force" in service.status
    service.terminate()
    assert not is_there(morning)
    assert service.readers() == []
    service.answers.set()

    service.begin()  # although the files are broken
    assert service.said.count("ERROR subscribers.yaml:7:5") == 1
    service.until(lambda: "Everyone got today's mail" in service.status)
    assert service.status.startswith("subscribers.yaml:7:5")
    service.idle()
    assert service.alerts() == [
        "Paperboy: Broken: subscribers.yaml:7:5: unknown key 'titel', did you mean 'title'?"
    ]
    service.world.write("subscribers.yaml", LISTS)  # and nobody asks: it is noticed
    service.until(lambda: service.alerts()[1:])
    assert "is in force: 1 list\n" in service.said
    service.until(lambda: service.status.startswith("Everyone got today's mail"))
    assert service.alerts()[1:] == ["Paperboy: Resolved: subscribers.yaml can be used again"]
    assert service.readers() == ["ada@example.org"]


def test_webhook_is_called_by_a_child_of_its_own(service: Service) -> None:
    with Hook() as hook:
        service.world.write("subscribers.yaml", f"{LISTS}    webhook: {hook.url}\n")
        service.begin()
        service.until(lambda: hook.told)
        service.idle()
        service.terminate()
    assert [request.json["list"] for request in hook.told] == ["foundations"]
    assert "the tasks ended\n" in service.said
    assert service.readers() == ["ada@example.org"]


def test_broken_files_at_the_first_start_are_exit_code_78(service: Service) -> None:
    service.world.write("subscribers.yaml", BROKEN)
    service.start()
    assert service.ended() == 78
    assert "subscribers.yaml:7:5" in service.said
    assert service.systemd.notices == []


# ---- kills and stops


def test_work_goes_on_after_sigkill_in_a_morning_and_sigterm_in_a_sending(service: Service) -> None:
    """The next daemon waits for the morning of the killed one, and the next but one sends the rest, nothing twice."""
    service.world.write("subscribers.yaml", LISTS.replace("ada@example.org", ", ".join(CROWD)))
    slow = Fault(
        "dot", "250 2.0.0 taken", keeps=True, until=lambda: "Stopping after" in service.said
    )
    service.world.smtp.faults.append(slow)
    service.world.smtp.on_fault = lambda _: service.process.terminate()
    service.answers.clear()
    pid = service.begin()
    service.until(lambda: service.world.llm.requests)
    (morning,) = children(pid)
    service.process.kill()
    service.process.wait()
    service.begin()
    assert is_there(morning)
    service.answers.set()
    assert service.ended() == 0  # at the mail server's first word
    assert not is_there(morning)
    assert service.heard("STOPPING") == ["1"]
    assert "Stopping after the current message." in service.said
    assert 1 <= len(service.world.mails()) < len(CROWD)
    service.world.smtp.faults.clear()
    service.begin()
    service.until(lambda: "Everyone got today's mail" in service.status)
    assert sorted(service.world.mails()) == CROWD
