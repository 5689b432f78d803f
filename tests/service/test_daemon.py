"""The daemon's decisions: which child starts when, what is reported, which files are in force.

Children work in this process, at once, but for those that a test gives an end of its own.
"""

from __future__ import annotations

import io
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

import pytest

from paperboy.edges import lock
from paperboy.errors import StoreError, StoreWriteError
from paperboy.features import FEATURES
from paperboy.home.home import Home
from paperboy.models import Attempt
from paperboy.service.app import App
from paperboy.service.daemon import STOPS_WITHIN, Daemon, Process
from paperboy.service.systemd import Notifier
from paperboy.store import Store
from tests.cli.conftest import World, text_of, world
from tests.fakes import NoProgress
from tests.servers.smtp import Fault

__all__ = ["world"]  # a fixture

LISTS = """\
lists:
  - name: foundations
    categories: [cs.LG]
    topics: learning
    subscribers: [ada@example.org]
"""
SKY = "  - {{name: sky, categories: [cs.LG], topics: x, send_at: '{}', subscribers: [v@example.org]}}\n"
JOINED = LISTS + SKY.format("07:00")
BROKEN = LISTS + "    titel: Sky\n"
BROKEN_THERE = "subscribers.yaml:6:5: unknown key 'titel', did you mean 'title'?"
OPERATOR = "ops@example.org"
TICK = timedelta(seconds=5)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@dataclass
class Child:
    """A process that has ended with `code`, or is at work as long as there is none."""

    code: int | None
    stdout: io.BytesIO = field(default_factory=io.BytesIO)
    pid: int = 1
    signals: list[str] = field(default_factory=list)

    def poll(self) -> int | None:
        return self.code

    def terminate(self) -> None:
        self.signals.append("TERM")

    def kill(self) -> None:
        self.signals.append("KILL")
        self.code = -9

    def wait(self, timeout: float | None = None) -> int:
        if self.code is None:
            raise subprocess.TimeoutExpired("paperboy", timeout or 0)
        return self.code


class Recorder(Notifier):
    """A systemd's end that remembers what it hears."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def send(self, message: str) -> None:
        self.heard.append(message.partition("\n")[0])


@dataclass
class Office:
    """A daemon over a world."""

    world: World
    app: App
    notifier: Recorder = field(default_factory=Recorder)
    did: list[str] = field(default_factory=list)  # which work
    instead: dict[str, list[Child]] = field(default_factory=dict)  # children that do no work

    def __post_init__(self) -> None:
        self.daemon = Daemon(self.app, self.notifier, self.spawn)

    def spawn(self, arguments: Sequence[str]) -> Process:
        what = arguments[1]
        self.did.append(what)
        if self.instead.get(what):
            return cast("Process", self.instead[what].pop(0))
        ran = self.world.run(*arguments)
        return cast("Process", Child(ran.code, io.BytesIO(ran.out.encode())))

    def announce(self, *numbers: int) -> None:
        self.world.announce(*numbers)

    def lists(self, text: str) -> None:
        """Save other lists."""
        self.world.write("subscribers.yaml", text)

    def tick(self, after: timedelta = TICK) -> list[str]:
        """Return what is started at this look, and at those that follow at once."""
        self.did.clear()
        self.world.clock.now += after
        for _ in range(9):
            self.daemon.tick(self.world.clock())
        return list(self.did)

    def settle(self) -> list[str]:
        """Return what is started within half a minute."""
        return [name for _ in range(6) for name in self.tick()]

    @property
    def status(self) -> str:
        return next(
            (text for text in reversed(self.notifier.heard) if text.startswith("STATUS=")), ""
        )

    @property
    def store(self) -> Store:
        return self.app.store

    def readers(self) -> list[str]:
        return [address for address in self.world.mails() if address != OPERATOR]

    def alerts(self) -> list[str]:
        return alerts(self.world)

    def last_alert(self) -> str:
        return " ".join(text_of(self.world.messages(OPERATOR)[-1]).split())


def alerts(world: World) -> list[str]:
    """Subjects of the operator's mails."""
    return [str(mail["Subject"]) for mail in world.messages(OPERATOR)]


def opened(world: World) -> Office:
    home, _ = Home.own_or_in_force(world.path, world.environ)
    app = App(
        world.path,
        world.environ,
        world.clock,
        wait=lambda _: None,
        timer=lambda: world.clock().timestamp(),
        progress=NoProgress(),
        features=FEATURES,
    )
    return Office(world, app.at(home))


@pytest.fixture
def home(world: World) -> World:
    world.write("subscribers.yaml", LISTS)
    world.env(ALERT_TO=OPERATOR)
    return world


@pytest.fixture
def office(home: World) -> Iterator[Office]:
    made = opened(home)
    with made.app, lock.held(made.app.settings.paperboy_database, "run", "run"):
        made.store.days.first_seen(
            ["foundations", "sky"], home.clock() - DAY
        )  # as if it had run for a while
        yield made


# ---- mornings and sendings


def test_problem_that_cannot_be_read_costs_no_mail(office: Office) -> None:
    office.store.database.commit(
        "insert into suppressions values ('x', '', '', 'z', 1, null, 'bounces')"
    )
    office.announce(1)
    assert office.tick() == ["trial", "morning", "sending"]
    assert office.readers() == ["ada@example.org"]
    with pytest.raises(StoreError):
        office.app.problems()


def test_alert_that_cannot_be_written_is_tried_once_a_day(office: Office) -> None:
    """Its template is wrong for what the trial's sample does not have."""
    text = "{{ alert.headline }}{% if 'attention' not in alert.headline %}{{ alert.no }}{% endif %}"
    office.world.write("emails/alert.txt.j2", text)
    office.announce(1)
    office.world.smtp.faults.append(
        Fault("RCPT", "550 5.1.1 no such user", address="ada@example.org")
    )
    assert office.tick() == ["trial", "morning", "sending"]
    assert office.settle() == []


@pytest.mark.quick
def test_due_list_gets_its_morning_and_its_mail_and_the_rest_of_the_day_is_quiet(
    office: Office,
) -> None:
    office.announce(1)
    assert office.tick() == ["trial", "morning", "sending"]
    assert office.readers() == ["ada@example.org"]
    assert office.tick(12 * HOUR) == []
    assert office.tick(11 * HOUR) == []
    assert office.tick(2 * HOUR) == ["morning"]  # a Saturday is quiet


def test_list_that_is_new_sends_at_its_next_hour_and_not_when_it_is_saved(office: Office) -> None:
    """Nor does the first one on the service's first day."""
    office.announce(1)
    early = SKY.replace("sky", "early").replace("v@", "e@")
    late = SKY.replace("sky", "late").replace("v@", "l@")
    office.lists(LISTS + early.format("07:00") + late.format("12:00"))
    assert office.tick() == ["trial", "morning", "sending"]
    assert office.readers() == ["ada@example.org"]
    assert office.tick(HOUR) == []
    assert office.tick(4 * HOUR) == ["morning", "sending"]
    assert office.readers() == ["ada@example.org", "l@example.org"]
    assert office.tick(18 * HOUR) == []
    assert office.tick(HOUR) == ["morning", "sending"]
    assert office.readers() == ["ada@example.org", "l@example.org", "e@example.org"]


def test_paused_list_sends_nothing_and_begins_anew_at_the_hour_after_its_pause(
    office: Office,
) -> None:
    """Each of its days is written down; the papers of the pause do not come, but for those of the newest batch."""

    def save(text: str) -> None:
        office.lists(text)
        office.settle()

    office.announce(1)
    office.tick()
    paused = LISTS.replace("    topics", "    paused: true\n    topics")
    save(paused)
    for number in range(2, 6):  # Saturday to Tuesday
        assert office.tick(DAY).count("morning") == 1
        office.announce(number)
    assert "foundations" not in office.status or "paused" in office.status
    asked = len(office.world.llm.requests)
    save(LISTS)  # just after its hour
    assert office.tick(23 * HOUR) == []
    office.announce(6)
    assert office.tick(HOUR) == ["morning", "sending"]
    assert office.readers() == ["ada@example.org"] * 2
    assert len(office.world.llm.requests) == asked + 1
    days = office.store.history.days(["foundations"], 9)["foundations"]
    assert [(f"{day.date:%a}", day.outcome.value, day.reason) for day in reversed(days)] == [
        ("Fri", "digest", ""),
        *((name, "skipped", "paused") for name in ("Sat", "Sun", "Mon", "Tue")),
        ("Wed", "digest", ""),
    ]
    assert days[0].counts.considered == 1


def test_mail_of_one_list_does_not_wait_for_the_morning_of_another(office: Office) -> None:
    office.announce(1)
    office.lists(LISTS + SKY.format("07:10"))
    office.world.smtp.faults.append(Fault("RCPT", "450 later", times=1))
    office.tick()
    office.instead["morning"] = [Child(None)]
    assert office.tick(11 * MINUTE) == ["morning", "sending"]
    assert office.readers() == ["ada@example.org"]


def test_morning_does_not_start_while_another_process_holds_its_lock(office: Office) -> None:
    office.announce(1)
    with lock.held(office.app.settings.paperboy_database, "morning", "once"):
        assert office.tick() == ["trial"]
    assert office.tick(MINUTE) == ["morning", "sending"]


def test_late_arxiv_is_tried_every_quarter_of_an_hour_and_delays_no_other_list(
    office: Office,
) -> None:
    office.lists(LISTS + SKY.format("07:20"))
    assert "morning" in office.tick()
    assert "morning" not in office.tick(14 * MINUTE)
    assert "morning" in office.tick(MINUTE)
    assert "morning" not in office.tick(4 * MINUTE)
    assert office.tick(MINUTE) == ["morning"]  # the other list's own hour
    assert office.store.days.attempts()["sky"].at == office.world.clock()
    assert office.store.days.attempts()["foundations"].at < office.world.clock()


@pytest.mark.parametrize(
    ("fault", "rests", "again"),
    [
        (Fault("connect", "554 go away", times=1), 14 * MINUTE, 2 * MINUTE),
        (Fault("RCPT", "450 later", times=1), MINUTE, 6 * MINUTE),
    ],
)
def test_mail_that_could_not_be_sent_waits_and_is_sent(
    office: Office, fault: Fault, rests: timedelta, again: timedelta
) -> None:
    office.announce(1)
    office.world.smtp.faults.append(fault)
    assert "sending" in office.tick()
    assert office.tick(rests) == []
    assert office.tick(again) == ["sending"]
    assert "ada@example.org" in office.world.mails()


# ---- children that cannot report themselves


@pytest.mark.parametrize(
    ("code", "said", "how"),
    [
        (-9, b"...", "signal 9 ended it"),
        (78, b"", "its exit code was 78"),
        (1, b'..\n{"place": "", "message": "the disk is full"}\n', "the disk is full"),
        (1, b'..\n{"place": "", "mess', "its exit code was 1"),
        (0, b"....", "it left foundations without a result"),
    ],
)
def test_abnormal_exit_is_reported_and_the_list_retried_later(
    office: Office, code: int, said: bytes, how: str
) -> None:
    office.announce(1)
    office.instead["morning"] = [Child(code, io.BytesIO(said))]
    assert office.tick() == ["trial", "morning", "sending"]
    (subject,) = office.alerts()
    assert subject.startswith("Paperboy: A morning crashed or got stuck")
    assert how in office.last_alert()
    assert how in office.store.days.attempts()["foundations"].reason
    assert "morning" not in office.tick(14 * MINUTE)
    assert office.tick(2 * MINUTE) == ["morning", "sending"]
    assert office.readers() == ["ada@example.org"]
    assert office.alerts()[1:] == ["Paperboy: Resolved: a morning finished"]


def test_list_that_became_due_while_a_morning_worked_is_not_blamed_on_it(office: Office) -> None:
    office.announce(1)
    office.lists(LISTS + SKY.format("07:10"))
    child = Child(None)
    office.instead["morning"] = [child]
    office.tick()
    now = office.world.clock()
    office.store.days.note_attempt(Attempt("foundations", "the LLM is down", now, now, now + HOUR))
    child.code = 0
    assert "morning" in office.tick(12 * MINUTE)
    assert office.alerts() == []


def test_child_that_makes_progress_may_take_any_time(office: Office) -> None:
    child = Child(None)
    office.instead["morning"] = [child]
    office.tick()
    for _ in range(5):
        office.tick(29 * MINUTE)
        child.stdout.write(b".")
        child.stdout.seek(-1, io.SEEK_CUR)
    assert child.signals == []
    assert "WATCHDOG=1" in office.notifier.heard[-3:]


def test_stuck_child_is_stopped_then_killed_and_reported(office: Office) -> None:
    child = Child(None)
    office.instead["morning"] = [child]
    office.tick()
    office.tick(30 * MINUTE)
    assert set(child.signals) == {"TERM"}
    office.tick(STOPS_WITHIN * SECOND)
    assert child.signals[-1] == "KILL"
    assert "it made no progress for 30 minutes and was stopped" in office.last_alert()


# ---- the files


def test_edit_is_in_force_within_25_seconds_of_its_last_save(office: Office) -> None:
    office.announce(1)
    office.settle()
    office.lists(JOINED)
    did = [office.tick() for _ in range(5)]
    assert did == [[], [], ["trial", "morning", "sending"], [], []]
    assert office.readers() == ["ada@example.org", "v@example.org"]


def test_files_that_never_rest_starve_no_morning(office: Office) -> None:
    office.settle()
    office.world.clock.now += 3 * DAY
    office.announce(1)
    did = []
    for number in range(12):
        office.world.write("prompts/notes.txt", str(number))
        did += office.tick()
    assert did == ["morning", "sending"]


def test_each_broken_file_has_a_mail_of_its_own_and_is_resolved_by_itself(office: Office) -> None:
    """Also where an earlier fault could hide a later one: a file is in order only if it was tried.

    Meanwhile the last good version stays in force.
    """
    office.settle()
    sound = (office.world.path / ".env").read_text("utf-8")
    env = ".env"
    lists = "subscribers.yaml"
    mail = "emails/digest.txt.j2"
    steps: list[tuple[str, str | None, list[str]]] = [
        (mail, "{{ nothing", [f"Broken: {mail}:1"]),
        (lists, BROKEN, [f"Broken: {lists}:6:5"]),
        (env, f"{sound}SEND_AT=x\nSMTP_PORT=none\n", [f"Broken: {env}:9"]),
        (lists, LISTS.replace("foundations", "Base!"), []),  # broken elsewhere, on the same day
        (env, None, []),
        (lists, LISTS, [f"Resolved: {lists} can be used again"]),
        (env, sound, [f"Resolved: {env} can be used again"]),
        (mail, None, [f"Resolved: {mail} can be used again"]),
    ]
    for name, text, told in steps:
        before = len(office.alerts())
        if text is None:
            (office.world.path / name).unlink()
        else:
            office.world.write(name, text)
        office.settle()
        mails = office.alerts()[before:]
        assert len(mails) == len(told), (name, text)
        assert all(
            mail.startswith(f"Paperboy: {beginning}")
            for mail, beginning in zip(mails, told, strict=True)
        ), (name, text)
        if told == [f"Broken: {env}:9"]:
            assert ".env:10: SMTP_PORT" in office.last_alert()
            shown = office.world.run("status").out
            places = (f"{mail}:1", f"{lists}:6:5", f"{env}:9")
            assert all(f"\nBroken: {place}: " in shown for place in places), shown
            assert "the last good version stays in force" in office.status
            office.announce(1)
            assert office.tick(15 * MINUTE)[-2:] == ["morning", "sending"]
            assert office.readers() == ["ada@example.org"]
    assert "Broken" not in office.world.run("status").out


def test_new_service_reports_broken_files_on_a_later_day_and_a_crashed_trial_none(
    office: Office,
) -> None:
    office.settle()
    office.lists(BROKEN)
    office.settle()
    office.instead["trial"] = [Child(-9)]
    office.daemon.signalled(signal.SIGHUP)
    office.settle()
    broken = [
        f"Paperboy: Broken: {BROKEN_THERE}",
        "Paperboy: Broken: the home: its files could not be tried: signal 9 ended it",
    ]
    assert office.alerts() == broken
    office.daemon.signalled(signal.SIGHUP)
    office.settle()
    assert office.alerts()[2:] == ["Paperboy: Resolved: the home can be used again"]
    for days in (0, 1):
        office.world.clock.now += days * DAY
        again = opened(office.world)
        with again.app:
            again.settle()
        assert office.alerts()[3:] == broken[:1] * days


def test_failures_of_a_child_are_lines_of_json_among_whatever_it_prints(office: Office) -> None:
    office.settle()
    printed = b'..\n{"place": ".env:1", "message": "x"}\n5\n{"a": 1}\n{"place": "", "message": "y"}\n.{"pl'
    office.instead["trial"] = [Child(78, io.BytesIO(printed))]
    office.daemon.signalled(signal.SIGHUP)
    office.settle()
    assert [str(problem) for problem in office.daemon.problems] == [".env:1: x", "the home: y"]
    assert office.alerts() == ["Paperboy: Broken: .env:1: x", "Paperboy: Broken: the home: y"]


def test_new_service_sends_mail_though_a_page_is_broken_and_says_so(office: Office) -> None:
    office.world.env(ALERT_TO=OPERATOR, WEB_URL="https://papers.wren.edu")
    office.world.write("emails/leave.html.j2", "{% if %}")
    office.announce(1)
    office.settle()
    assert office.readers() == ["ada@example.org"]
    (alert,) = office.alerts()
    assert alert.startswith("Paperboy: Broken: emails/leave.html.j2:1")


def test_edit_that_names_another_database_does_not_come_into_force(office: Office) -> None:
    office.settle()
    office.world.write(".env", "PAPERBOY_DATABASE=elsewhere.db\n")
    office.settle()
    assert office.status.startswith("STATUS=.env")
    assert office.alerts()[0].startswith("Paperboy: Broken: .env")


def test_trial_without_an_end_is_stopped_and_reported(office: Office) -> None:
    office.settle()
    office.instead["trial"] = [Child(None)]
    office.lists(JOINED)
    office.settle()
    office.tick(30 * MINUTE)
    office.tick(STOPS_WITHIN * SECOND)
    assert "its files could not be tried: it made no progress for 30 minutes" in office.last_alert()
    assert len(office.daemon.home.lists) == 1


def test_broken_version_is_tried_again_because_its_cause_may_lie_elsewhere(office: Office) -> None:
    credentials = office.world.path / "credentials"
    (credentials / "SMTP_PORT").mkdir(parents=True)
    office.settle()
    office.world.environ["CREDENTIALS_DIRECTORY"] = str(credentials)
    office.daemon.signalled(signal.SIGHUP)
    office.settle()
    assert "SMTP_PORT" in office.status
    (credentials / "SMTP_PORT").rmdir()
    assert "trial" in office.tick(15 * MINUTE)
    assert "SMTP_PORT" not in office.status


def test_edit_retries_at_once_what_failed(office: Office) -> None:
    """The operator has fixed a password."""
    office.announce(1)
    office.world.smtp.faults.append(Fault("connect", "554 go away"))
    office.settle()
    office.world.smtp.faults.clear()
    office.world.env(ALERT_TO=OPERATOR, SMTP_CONNECTIONS=2)
    assert office.settle() == ["trial", "sending"]
    assert "ada@example.org" in office.world.mails()


# ---- what cannot be written


def test_error_while_looking_is_logged_and_the_daemon_goes_on(office: Office) -> None:
    office.settle()
    for error, said in [
        (ZeroDivisionError("oops"), "a bug in Paperboy; see the log"),
        (StoreWriteError("no room on ada@example.org's disk"), "no room on a…@example.org's disk"),
    ]:
        office.daemon.say_status = lambda error=error: (_ for _ in ()).throw(error)  # type: ignore[method-assign]
        office.daemon.signalled(signal.SIGHUP)
        office.daemon._tick()
        office.daemon._tick()
        assert f"STATUS={said}" in office.notifier.heard
    assert office.alerts() == ["Paperboy: Paperboy cannot work"]


def test_systemd_gets_the_status_of_its_children_and_each_minute(office: Office) -> None:
    office.announce(1)
    office.settle()
    assert "Everyone got" in office.status
    before = len(office.notifier.heard)
    office.daemon.housekeeping.run_all()
    assert len(office.notifier.heard) == before + 1
    (job,) = office.daemon.housekeeping.jobs
    assert (job.interval, job.unit) == (1, "minutes")


def test_next_status_follows_a_clock_that_went_back(office: Office) -> None:
    """A clock that was ahead and went back would leave the next line to the hour that it once showed."""
    office.settle()
    ahead = office.world.clock() + 9 * DAY
    office.store.days.note_attempt(Attempt("sky", "the LLM is down", ahead, ahead, ahead))
    before = list(office.daemon.housekeeping.jobs)
    office.tick(MINUTE)
    assert before != office.daemon.housekeeping.jobs


def test_daemon_that_cannot_open_its_database_mails_the_operator_once_a_day(home: World) -> None:
    """A mail that failed is tried again."""
    home.write("data/paperboy.db", "this is no database " * 99)
    home.env(ALERT_TO=OPERATOR, SMTP_PORT=9)
    assert "ALERT_TO could not be alerted" in home.fails(78, "run")
    home.env(ALERT_TO=OPERATOR)
    for mails in (1, 1, 2):
        assert "paperboy.db" in home.fails(78, "run")
        assert alerts(home) == ["Paperboy: Paperboy cannot work"] * mails
        home.later(hours=12)


def test_daemon_ends_when_its_database_is_gone(office: Office) -> None:
    office.settle()
    (office.world.database).unlink()
    with pytest.raises(
        StoreError,
        match=r"the database is gone; .* To start afresh anyway: rm .*/\.has-database",
    ):
        office.daemon.run()


# ---- the loop itself, in a thread


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


@pytest.fixture
def loop(office: Office) -> Iterator[Callable[[], threading.Thread]]:
    """Starts the loop; its end ends the thread."""
    threads: list[threading.Thread] = []
    office.daemon.tick = lambda _now: office.did.append("tick")  # type: ignore[method-assign, assignment]

    def start() -> threading.Thread:
        threads.append(threading.Thread(target=office.daemon.run))
        threads[0].start()
        return threads[0]

    yield start
    office.daemon.signalled(signal.SIGTERM)
    for thread in threads:
        thread.join(300)
        assert not thread.is_alive()


def test_signal_is_answered_at_once(office: Office, loop: Callable[[], threading.Thread]) -> None:
    office.daemon.tick_seconds = 600
    loop()
    until(lambda: office.did)
    office.did.clear()
    office.daemon.signalled(signal.SIGCHLD)
    until(lambda: office.did)


def test_loop_goes_on_when_local_time_goes_back(
    office: Office, loop: Callable[[], threading.Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`schedule` counts in local time, in which an autumn hour comes twice."""
    office.daemon.tick_seconds = 1
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    loop()
    until(lambda: len(office.did) >= 2)
    monkeypatch.setenv("TZ", "Etc/GMT+5")
    time.tzset()
    seen = len(office.did)
    until(lambda: len(office.did) >= seen + 2)
    office.daemon.signalled(signal.SIGTERM)
    monkeypatch.undo()
    time.tzset()
