"""What the daemon finds to do: edits of the files, mornings, tidying up. Its children work in this process, at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest

from paperboy.cli.files import Files
from paperboy.cli.main import Surroundings
from paperboy.cli.watch import MAIL, MORNING, TRYING, Watch, _is_alert
from paperboy.config.home import Home
from paperboy.daemon import STUCK
from paperboy.store import Store
from tests.cli.conftest import World
from tests.servers.smtp import Fault

LISTS = """\
lists:
  - name: foundations
    categories: [cs.LG]
    topics: learning
    subscribers: [ada@example.org]
"""
JOINED = LISTS + "  - {name: sky, categories: [astro-ph.GA], topics: x, subscribers: [v@example.org]}\n"
BROKEN = LISTS + "    oops: 1\n"
OPERATOR = "ops@example.org"


@dataclass
class Ended:
    """A child that is through before anybody looks."""

    code: int
    pid: int = 1

    def poll(self) -> int:
        return self.code

    def progressed(self) -> bool:
        return True

    def terminate(self) -> None:
        pass

    def kill(self) -> None:
        pass

    def wait(self, timeout: float | None = None) -> int:
        assert timeout is None or timeout > 0
        return self.code


@dataclass
class Office:
    """A daemon's watch over a world."""

    world: World
    watch: Watch
    store: Store
    did: list[str]
    codes: list[int]  # what the next children end with, without any work; without any they work

    def tick(self, *, after: timedelta = timedelta(seconds=20)) -> list[str]:
        """What is done at this look."""
        self.did.clear()
        self.world.clock.now += after
        while job := self.watch.next(self.world.clock(), []):
            self.did.append(job.name)
            job.ended(job.start().poll() or 0, self.world.clock())
        return list(self.did)

    def settle(self) -> list[str]:
        """What is done until nothing is left to do now, but for tidying up."""
        did, idle = [], 0
        while idle < 2:  # an edit is tried when two looks have seen the same
            found = self.tick()
            did += found
            idle = 0 if found else idle + 1
        return did

    def tried_just_now(self, name: str) -> bool:
        return self.store.days.attempts()[name].at == self.world.clock.now

    def subjects(self) -> list[str]:
        """Of the operator's mails."""
        return [str(mail["Subject"]) for mail in self.alerts()]

    def alerts(self) -> list[EmailMessage]:
        return [
            message_from_bytes(message.content, policy=policy.default)
            for message in self.world.smtp.messages
            if message.recipient == OPERATOR
        ]


def opened(world: World, codes: list[int], store: Store, home: Home) -> Watch:
    def spawn(arguments: Sequence[str], more: Mapping[str, str]) -> Ended:
        if codes:
            return Ended(codes.pop(0))
        before, world.environ = world.environ, {**world.environ, **more}
        try:
            return Ended(world.run(*arguments).code)
        finally:
            world.environ = before

    around = Surroundings(world.path, world.environ, world.clock)
    files = Files(world.path)
    return Watch(around, home, store, files, spawn)


@pytest.fixture
def office(world: World) -> Iterator[Office]:
    world.write("subscribers.yaml", LISTS)
    world.env(ALERT_TO=OPERATOR)
    did: list[str] = []
    codes: list[int] = []
    with Store.open(world.path / "data" / "paperboy.db") as store:
        watch = opened(world, codes, store, Home.load(world.path, world.environ))
        assert watch.try_at_once(world.clock()) == ()
        yield Office(world, watch, store, did, codes)


def test_a_morning_that_is_due_is_done_and_the_rest_of_the_day_is_quiet(office: Office) -> None:
    office.world.announce(1)
    assert office.tick() == [MORNING]
    assert office.world.mails() == ["ada@example.org"]
    assert office.tick(after=timedelta(hours=12)) == []
    assert office.tick(after=timedelta(hours=11, minutes=30)) == []  # another day, and its morning is near
    assert office.tick(after=timedelta(minutes=30)) == [MORNING]


# ---- what comes to nothing


def test_a_late_arxiv_is_looked_for_every_quarter_of_an_hour_and_holds_up_nothing_else(office: Office) -> None:
    office.world.arxiv.papers.clear()
    assert MORNING in office.tick()
    looks = len(office.world.arxiv.requests)
    assert MORNING not in office.tick(after=timedelta(minutes=14))
    assert len(office.world.arxiv.requests) == looks
    later = LISTS + "  - {name: sky, categories: [cs.LG], topics: x, send_at: '07:20', subscribers: [v@example.org]}\n"
    office.world.write("subscribers.yaml", later)
    assert MORNING not in office.tick(after=timedelta(minutes=1))  # a quarter of an hour is over; the edit comes first
    assert office.tick()[:2] == [TRYING, MORNING]
    assert MORNING not in office.tick(after=timedelta(minutes=4))
    looks = len(office.world.arxiv.requests)
    assert MORNING in office.tick(after=timedelta(minutes=1))  # the other list's own hour
    assert {name for name in office.store.days.attempts() if office.tried_just_now(name)} == {"sky"}
    assert len(office.world.arxiv.requests) > looks


def test_a_mail_server_that_is_down_rests_too(office: Office) -> None:
    office.world.announce(1)
    office.world.smtp.faults.append(Fault("connect", "554 go away"))
    assert MORNING in office.tick()
    assert MAIL not in office.watch.waiting(office.world.clock())
    assert MORNING not in office.tick(after=timedelta(minutes=14))
    office.world.smtp.faults.clear()
    assert MORNING in office.tick(after=timedelta(minutes=1))
    assert office.world.mails()[0] == "ada@example.org"


def test_a_deferred_delivery_is_work_when_its_wait_is_over(office: Office) -> None:
    office.world.announce(1)
    office.world.smtp.faults.append(Fault("RCPT", "450 later", times=1))
    assert MORNING in office.tick()
    assert MORNING not in office.tick()
    assert MORNING in office.tick(after=timedelta(minutes=7))
    assert office.world.mails() == ["ada@example.org"]


@pytest.mark.parametrize(
    ("code", "how"),
    [
        (-9, "signal 9 ended it"),
        (78, "its exit code was 78"),
        (STUCK, "it made no progress for 30 minutes, and was ended"),
        (1, "nothing became of foundations, and it did not say why"),
    ],
)
def test_a_morning_that_comes_to_a_bad_end_is_told_and_tried_again(office: Office, code: int, how: str) -> None:
    office.world.announce(1)
    office.codes.append(code)
    assert office.tick()[:2] == [MORNING, MORNING]  # the second one tells
    assert office.subjects() == ["Paperboy: Well again: a morning came to its end"]
    (alert,) = office.alerts()
    plain = alert.get_body(("plain",))
    assert plain is not None
    assert f"A morning came to a bad end: {how}" in " ".join(plain.get_content().split())


def test_what_has_no_end_is_never_a_hot_loop(office: Office) -> None:
    office.world.announce(1)
    office.codes += [1] * 99
    mornings = [office.tick(after=timedelta(minutes=1)).count(MORNING) for _ in range(60)]
    assert sum(mornings) <= 8  # for the list, and for telling the operator


# ---- edits


def test_an_edit_is_tried_when_it_is_over_and_used_from_the_next_digest(office: Office) -> None:
    office.world.announce(1)
    office.world.announce(2, categories=("astro-ph.GA",))
    office.settle()
    office.world.write("subscribers.yaml", JOINED)
    assert office.tick() == []  # somebody may still be writing
    assert office.tick()[0] == TRYING
    assert "v@example.org" in office.world.mails() or MORNING in office.settle()
    assert office.world.mails() == ["ada@example.org", "v@example.org"]


def test_a_reload_tries_at_once(office: Office) -> None:
    office.settle()
    office.watch.reload()
    assert office.tick()[0] == TRYING


def test_while_a_broken_edit_stands_the_version_before_is_in_force(office: Office) -> None:
    office.world.announce(1)
    office.world.write("subscribers.yaml", BROKEN)
    assert set(office.settle()) == {TRYING, MORNING}
    assert office.world.mails()[0] == "ada@example.org"
    assert "subscribers.yaml:6:5" in office.watch.status(office.world.clock())
    assert office.subjects() == ["Paperboy: Broken: subscribers.yaml:6:5"]
    office.world.write("subscribers.yaml", LISTS)
    office.settle()
    assert office.subjects()[1:] == ["Paperboy: Well again: the home's files are in order"]
    assert "subscribers.yaml" not in office.watch.status(office.world.clock())


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        (".env", "SMTP_PORT=none\n", ".env:1"),
        ("emails/digest.txt.j2", "{{ nothing", "emails/digest.txt.j2"),
        ("prompts/score.md.j2", "{% if %}", "prompts/score.md.j2"),
        (".env", "PAPERBOY_DATABASE=elsewhere.db\n", ".env"),
    ],
)
def test_all_files_are_tried(office: Office, name: str, text: str, place: str) -> None:
    office.world.write(name, text)
    office.settle()
    assert place in office.watch.status(office.world.clock())
    assert office.subjects()[0].startswith(f"Paperboy: Broken: {place}")


def test_a_broken_edit_is_told_once_and_another_one_again(office: Office) -> None:
    office.world.write("subscribers.yaml", BROKEN)
    office.settle()
    for _ in range(3):
        office.tick(after=timedelta(minutes=2))
    assert len(office.subjects()) == 1


def test_what_is_mended_without_a_new_time_stamp_is_noticed(office: Office) -> None:
    """As a file that was unreadable for a moment."""
    credentials = office.world.path / "credentials"
    (credentials / "SMTP_PORT").mkdir(parents=True)
    office.world.environ["CREDENTIALS_DIRECTORY"] = str(credentials)
    office.watch.reload()
    office.settle()
    assert "SMTP_PORT" in office.watch.status(office.world.clock())
    (credentials / "SMTP_PORT").rmdir()
    assert TRYING in office.tick(after=timedelta(minutes=15))
    assert "SMTP_PORT" not in office.watch.status(office.world.clock())


def test_after_a_restart_the_last_good_version_is_still_in_force(office: Office) -> None:
    office.world.announce(1)
    office.settle()
    office.world.write("subscribers.yaml", BROKEN)
    office.watch = opened(office.world, office.codes, office.store, office.watch.home)
    assert [problem.place for problem in office.watch.try_at_once(office.world.clock())] == ["subscribers.yaml:6:5"]
    office.world.clock.now += timedelta(days=1)
    office.world.announce(2)
    assert MORNING in office.settle()
    assert office.world.mails().count("ada@example.org") == 2


def test_the_copies_are_their_owners_alone(office: Office) -> None:
    """They hold the secrets of `.env`."""
    folder = Files(office.world.path).folder
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "good" / ".env").is_file()


def test_a_folder_that_links_to_itself_is_read_once(office: Office) -> None:
    (office.world.path / "prompts").mkdir()
    (office.world.path / "prompts" / "loop").symlink_to(office.world.path / "prompts")
    office.watch.reload()
    assert TRYING in office.settle()
    assert "prompts" not in office.watch.status(office.world.clock())


def test_an_edit_behind_a_link_is_seen_and_an_editors_own_files_are_not(office: Office) -> None:
    (office.world.path / "elsewhere").mkdir()
    (office.world.path / "prompts").mkdir()
    (office.world.path / "prompts" / "topics").symlink_to(office.world.path / "elsewhere")
    office.settle()
    office.world.write("elsewhere/foundations.md", "learning")
    assert TRYING in office.settle()
    office.world.write("prompts/.foundations.md.swp", "x")
    office.world.write("emails/digest.txt.j2~", "{{ nothing")
    assert TRYING not in office.settle()


@pytest.mark.parametrize("how", ["deleted", "dangling"])
def test_settings_that_are_gone_stay_in_force(office: Office, how: str) -> None:
    """Mail would go to the outbox, without a word."""
    (office.world.path / ".env").unlink()
    if how == "dangling":
        (office.world.path / ".env").symlink_to("/nowhere/at/all")
    office.world.announce(1)
    office.settle()
    assert ".env" in office.watch.status(office.world.clock())
    assert office.world.mails()[0] == "ada@example.org"
    assert office.subjects()[0] == "Paperboy: Broken: .env"


def test_a_sound_edit_outlives_a_broken_one_after_it(office: Office) -> None:
    """While a morning is at work nothing comes into force, and both are tried."""
    office.world.write("subscribers.yaml", JOINED)
    for text in (JOINED, BROKEN):
        office.world.write("subscribers.yaml", text)
        office.watch.reload()
        job = office.watch.next(office.world.clock(), [MORNING])
        assert job is not None
        job.ended(job.start().poll() or 0, office.world.clock())
    office.tick()
    assert [entry.name for entry in office.watch.home.lists] == ["foundations", "sky"]


def test_a_file_that_may_not_be_looked_at_stops_no_morning(office: Office) -> None:
    office.world.announce(1)
    (office.world.path / "prompts").symlink_to("prompts")  # whoever follows it comes to no end
    assert MORNING in office.settle()


# ---- alerts and tidying up


def test_what_the_operator_is_to_be_told_is_work(office: Office) -> None:
    office.world.announce(1)
    office.settle()
    office.codes.append(-6)
    office.tick(after=timedelta(days=1))
    assert any(map(_is_alert, office.watch.waiting(office.world.clock()))) or office.subjects()
