"""`paperboy forget` erases a person and keeps what has to be kept: that a digest went out, and who is suppressed."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import datetime, timedelta
from pathlib import Path

import click
import pytest

from paperboy.cli.digests import preview, resend
from paperboy.cli.main import ENTER
from paperboy.cli.mornings import once, work
from paperboy.cli.people import suppress
from paperboy.edges import lock
from paperboy.errors import ConfigError
from paperboy.home import edits
from paperboy.home.home import Home
from paperboy.home.versions import Files
from paperboy.models import Subscriber
from paperboy.service import trial
from paperboy.service.app import App
from paperboy.store.incidents import MAIL_SERVER, Incident, Kind
from tests.cli.conftest import LISTS, World
from tests.cli.test_suppress import token_of
from tests.servers.smtp import Fault
from tests.service.test_app import app_of

ADA = "ada@example.org"
LEFT = LISTS.replace("      - ada@example.org\n", "")


def everything(world: World) -> bytes:
    """Return all bytes that the home has."""
    return b"".join(path.read_bytes() for path in world.path.rglob("*") if path.is_file())


def counts(world: World) -> dict[str, int]:
    found: dict[str, int] = world.json("status")["lists"][0]["deliveries"]
    return found


def test_forgotten_person_is_in_no_file_of_the_home(world: World) -> None:
    """Neither address nor name, token or reply; a longer address that ends like it is somebody else."""
    lists = LISTS.replace(ADA, f"Augusta King <{ADA}>  # {ADA} asked\n      - xada@example.org")
    world.write(
        "subscribers.yaml",
        lists.replace("[vera@example.org]", "[vera@example.org, Ada@Example.org]"),
    )
    world.announce(1)
    world.smtp.faults.append(
        Fault("RCPT", f"550 5.1.1 <{ADA}> unknown", address="vera@example.org")
    )
    world.once()
    token = token_of(world, ADA)
    with world.store() as store:
        met = Incident(
            kind=Kind.MAIL,
            subject=MAIL_SERVER,
            reason=f"it said {ADA}",
            facts={"lines": [f"<{ADA}>: no"]},
        )
        store.incidents.note([met], world.clock())
    before = counts(world)
    ran = world.run("forget", "ADA@example.org")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "Removed ADA@example.org from subscribers.yaml (lines 9 and 15).",
        "Erased ADA@example.org from 3 rows of the database.",
        "Backups, logs and mail in the outbox are left alone: delete the address there.",
    ]
    assert (world.path / "subscribers.yaml").read_text() == lists.replace(
        f"      - Augusta King <{ADA}>  # {ADA} asked\n", ""
    )
    left = everything(world).lower().replace(b"xada@", b"")
    assert [word for word in (ADA, "augusta king", token) if word.encode() in left] == []
    assert b"xada@" in everything(world)
    assert counts(world) == before
    assert world.run("suppress", token).code == 2
    err = world.fails(2, "forget", ADA)
    assert err == "ada@example.org is in neither the lists' files nor the database\n"


def test_forgotten_person_leaves_a_file_of_subscribers_too(world: World) -> None:
    world.write("readers.txt", f"bo@example.org\n# {ADA} asked\nAugusta King <Ada@Example.org>\n")
    world.write("subscribers.yaml", f"{LISTS}    subscribers_file: readers.txt\n")
    assert world.run("forget", ADA).out.splitlines()[:2] == [
        "Removed ada@example.org from subscribers.yaml (line 9).",
        "Removed ada@example.org from readers.txt (lines 2 and 3).",
    ]
    assert (world.path / "readers.txt").read_text() == "bo@example.org\n# … asked\n"
    assert ADA.encode() not in everything(world).lower()


@pytest.mark.parametrize(
    ("who", "asked"),
    [
        ("Älva@example.org", "ÄLVA@example.org"),
        ("γιάννης@example.org", "γιάννης@example.org"),
        ("straße@example.org", "straße@example.org"),
    ],
)
def test_address_beyond_ascii_is_forgotten_in_any_case_and_in_problems(
    world: World, who: str, asked: str
) -> None:
    world.write("subscribers.yaml", LISTS.replace(ADA, who))
    world.announce(1)
    world.once()
    world.run("suppress", who.lower())
    with world.store() as store:
        facts = {"lines": [f"foundations: {who}: 550 no"]}
        met = Incident(kind=Kind.MAIL, subject=MAIL_SERVER, facts=facts)
        store.incidents.note([met], world.clock())
    assert (
        f"Removed {asked.lower()} from subscribers.yaml (line 9" in world.run("forget", asked).out
    )
    for form in (who, who.lower(), json.dumps(who)[1:-1]):
        assert form.encode() not in everything(world)


@pytest.mark.parametrize("only", [(), ("--list", "foundations")])
def test_suppressed_address_stays_suppressed_if_somebody_adds_it_again(
    world: World, only: tuple[str, ...]
) -> None:
    world.run("suppress", ADA, *only)
    assert "A keyed hash of it stays, so that it gets no mail" in world.run("forget", ADA).out
    assert ADA.encode() not in everything(world)
    (kept,) = world.json("status", "--suppressed")["suppressed"]
    assert (kept["address"][:10], len(kept["address"])) == ("forgotten-", 42)
    assert (
        "But ada@example.org is suppressed for"
        in world.run("subscribe", "foundations", "Ada@example.org").out
    )
    world.announce(1)
    assert "1 sent, 1 suppressed" in world.once().out
    assert "Nothing to do" in world.run("suppress", ADA, *only).out
    assert "is suppressed for" in world.run("why", ADA).out
    assert world.run("unsuppress", ADA, *only).out.startswith("ada@example.org may get mail from ")
    assert world.run("resend", "foundations", "--to", ADA).code == 0
    world.run("forget", ADA)
    assert world.json("status", "--suppressed") == {"suppressed": []}
    with closing(sqlite3.connect(world.database)) as database:
        assert database.execute("select * from suppressions").fetchall() == []


@pytest.mark.parametrize("fault", [Fault("MAIL", "451 not now"), Fault("RCPT", "450 not now")])
def test_mail_that_waits_for_a_forgotten_person_is_not_sent(world: World, fault: Fault) -> None:
    world.announce(1)
    world.smtp.faults.append(fault)
    world.once("foundations")
    world.smtp.faults.clear()
    world.run("forget", ADA)
    world.clock.now = world.clock.now.replace(hour=12)
    world.once("foundations")
    assert world.mails() == ["grace@example.org"]
    assert counts(world) == {"sent": 1, "suppressed": 1}


@pytest.mark.parametrize(
    "shape",
    [
        "subscribers:\n    - >-\n      ada@example.org",
        "subscribers: [grace@example.org]\n\n    title: ask ada@example.org",
    ],
)
def test_where_only_a_person_can_edit_the_file_nothing_is_erased(world: World, shape: str) -> None:
    """It says where the address stands; the other list could have been edited."""
    world.announce(1)
    world.once()
    world.write(
        "subscribers.yaml",
        f"{LISTS}  - name: quarks\n    categories: [hep-ph]\n    topics: x\n    {shape}\n",
    )
    before = everything(world)
    err = world.fails(78, "forget", ADA)
    assert [line.partition(": ")[0] for line in err.splitlines()] == [
        "subscribers.yaml:9",
        "subscribers.yaml:20",
    ]
    assert "here; remove it by hand, then run paperboy forget again" in err
    assert everything(world) == before


def test_broken_file_says_where_the_address_stands(world: World) -> None:
    """Where it does not, the database forgets, so that the person need not wait for the repair."""
    world.announce(1)
    world.once()
    in_force(world)
    world.write("subscribers.yaml", f"{LEFT}  broken: [\n")
    with world.held():
        err = world.fails(78, "forget", "grace@example.org")
        assert err.splitlines()[-1].startswith(
            "subscribers.yaml:9: Paperboy cannot remove grace@example.org here"
        )
        assert world.run("forget", ADA).out.startswith(f"Erased {ADA} from 1 row of")
    assert ADA.encode() not in everything(world)


def test_broken_header_of_a_csv_is_an_error_before_anything_is_erased(world: World) -> None:
    """Its rows could not be told apart, and a name would be left."""
    world.write("subscribers.yaml", f"{LISTS}    subscribers_file: readers.csv\n")
    world.write("readers.csv", f"address,name\n{ADA},Ada Lovelace\n")
    world.announce(1)
    world.once()
    good = in_force(world)
    world.write("readers.csv", f"mail,name\n{ADA},Ada Lovelace\n")
    with world.held():
        ran = world.run("forget", ADA)
    assert (ran.code, ran.out) == (78, "")
    assert "readers.csv:1: the first line must name the columns" in ran.err
    assert (good / "readers.csv").read_text() == f"address,name\n{ADA},Ada Lovelace\n"


def in_force(world: World, name: str = "files-now") -> Path:
    """Copy the files as the daemon does, and put the copy in force."""
    copy = world.path / "data" / name
    copy.mkdir(parents=True)
    for file in (path for path in world.path.iterdir() if path.is_file()):
        (copy / file.name).write_text(file.read_text())
    link = world.path / "data" / "last-good"
    link.unlink(missing_ok=True)
    link.symlink_to(copy.name)
    return copy


@pytest.mark.parametrize("broken", ["gone", "damaged"])
def test_while_the_database_cannot_be_used_no_file_is_edited(world: World, broken: str) -> None:
    world.announce(1)
    world.once()
    database = world.database
    away = database.rename(database.with_name("away"))
    if broken == "damaged":
        database.write_bytes(b"not a database" * 400)
    world.fails(78, "forget", ADA)
    assert (world.path / "subscribers.yaml").read_text() == LISTS
    away.rename(database)
    assert world.run("forget", ADA).out.startswith(
        f"Removed ada@example.org from subscribers.yaml (line 9).\nErased {ADA}"
    )


def test_beside_a_daemon_the_version_in_force_forgets_too(world: World) -> None:
    """Its next child must not write the address down again. The copy before that is deleted."""
    world.announce(1)
    world.once()
    before = in_force(world, "files-before")
    now = in_force(world)
    database = world.database
    with lock.held(database, "run", "run"):
        assert world.run("forget", ADA).code == 0
    assert (now / "subscribers.yaml").read_text() == LEFT
    assert not before.exists()
    assert ADA.encode() not in everything(world)


def test_forget_waits_for_the_sending_under_way(world: World) -> None:
    """Which could write its address down again; the file is edited before, so that no other begins with it."""
    world.announce(1)
    world.once()
    said = []
    with app_of(world) as app, ExitStack() as other:
        other.enter_context(lock.held(app.settings.paperboy_database, "sending", "run"))

        def say(text: str) -> None:
            said.append((text, (world.path / "subscribers.yaml").read_text()))
            other.close()

        app.say = say
        assert app.forget(ADA) == ({"subscribers.yaml": (9,)}, 1)
    ((text, lists),) = said
    assert text.endswith("paperboy run) is active; waiting for its sending to end")
    assert lists == LEFT


def joined_since(world: World) -> None:
    """Let Ada join after the day's digest."""
    world.write("subscribers.yaml", LEFT)
    world.once()
    world.write("subscribers.yaml", LISTS)


def frozen(world: World) -> None:
    """Freeze the day's digest, which the server does not take yet."""
    world.smtp.faults.append(Fault("connect", "421 later"))
    world.once()
    world.smtp.faults.clear()
    world.clock.now += timedelta(hours=1)


RACES: list[tuple[lock.Name, click.Command, str, Callable[[World], object]]] = [
    ("morning", once, "", in_force),
    ("sending", once, "", in_force),
    ("morning", work, "morning foundations", in_force),
    ("sending", work, "sending", frozen),
    ("sending", resend, "foundations", joined_since),
    ("sending", resend, f"foundations --to {ADA}", joined_since),
    ("tasks", preview, f"foundations --to {ADA}", joined_since),
]


@pytest.mark.parametrize(("name", "command", "words", "before"), RACES)
def test_person_forgotten_while_a_command_waits_is_neither_mailed_nor_written_back(
    world: World,
    name: lock.Name,
    command: click.Command,
    words: str,
    before: Callable[[World], object],
) -> None:
    """It reads the lists again once the lock is its own."""
    world.announce(1)
    before(world)
    forgotten = []
    with app_of(world) as app, ExitStack() as other:
        other.enter_context(world.held(name))

        def say(text: str) -> None:
            if "is active" in text:
                other.close()
                forgotten.append(world.run("forget", ADA).code)

        app.say = say
        with click.Context(command, obj=app) as context:
            context.meta[ENTER] = lambda _: None
            command.parse_args(context, words.split())
            command.invoke(context)
    assert forgotten == [0]
    assert ADA.encode() not in everything(world)
    if command is not preview and f"--to {ADA}" not in words:
        assert ADA not in world.mails()


@pytest.mark.parametrize("name", ["morning", "sending"])
def test_broken_lists_end_a_command_that_waited(world: World, name: lock.Name) -> None:
    """They may have lost somebody. A digest that it has composed goes out once they are sound."""
    world.announce(1)
    with app_of(world) as app, ExitStack() as other:
        other.enter_context(world.held(name))

        def say(text: str) -> None:
            if "is active" in text:
                other.close()
                world.write("subscribers.yaml", LEFT + "half an edi")

        app.say = say
        with click.Context(once, obj=app) as context:
            context.meta[ENTER] = lambda _: None
            once.parse_args(context, [])
            with pytest.raises(ConfigError, match=r"subscribers\.yaml:"):
                once.invoke(context)
    assert world.mails() == []
    world.write("subscribers.yaml", LEFT)
    world.once()
    assert world.mails() == ["grace@example.org"]


def test_nobody_is_forgotten_between_a_token_and_its_suppression(world: World) -> None:
    """Else the address would be written back."""
    world.announce(1)
    world.once()
    moments = []

    def clock() -> datetime:
        with closing(sqlite3.connect(world.database, timeout=0)) as other:
            try:
                other.execute("begin immediate")
                moments.append("free")
            except sqlite3.OperationalError as error:
                moments.append(str(error))
        return world.clock.now

    with app_of(world) as app:
        app.clock = clock
        with click.Context(suppress, obj=app) as context:
            context.meta[ENTER] = lambda _: None
            suppress.parse_args(context, [token_of(world, ADA)])
            suppress.invoke(context)
    assert moments[-1] == "database is locked"


def test_sign_up_that_is_confirmed_while_forget_waits_is_forgotten_too(world: World) -> None:
    """It has edited the files by then, for a sending that is under way."""
    with app_of(world) as app, ExitStack() as other:
        other.enter_context(world.held("tasks"))

        def say(_: str) -> None:
            home = Home.load(world.path, {})
            edits.subscribe(home, home.list("galaxies"), Subscriber(ADA))
            other.close()

        app.say = say
        lines, _ = app.forget(ADA)
    assert lines == {"subscribers.yaml": (9,)}
    assert ADA not in (world.path / "subscribers.yaml").read_text()


def test_copy_of_a_trial_that_was_under_way_does_not_come_into_force(world: World) -> None:
    class Forgets(App):
        def at(self, home: Home) -> App:
            world.run("forget", ADA)
            return super().at(home)

    with world.held():
        in_force(world)
        with app_of(world) as app:
            trial.adopt(
                Forgets(app.path, app.environ, app.clock, app.wait, app.timer, app.progress)
            )
    now = Files(world.path).in_force()
    assert now
    assert (now / "subscribers.yaml").read_text() == LEFT


def test_copy_that_forget_has_deleted_does_not_come_into_force(world: World) -> None:
    files = Files(world.path)
    world.announce(1)
    world.once()
    files.put_in_force(files.copy())
    tried = files.copy()
    before = files.in_force()
    world.run("forget", ADA)
    files.put_in_force(tried)
    assert files.in_force() == before


@pytest.mark.parametrize(
    "command",
    [("forget", ADA), ("subscribe", "galaxies", "bo@example.org")],
)
def test_draft_that_a_killed_command_has_left_is_removed_by_the_next_one(
    world: World, command: tuple[str, ...]
) -> None:
    draft = ".subscribers.yaml.draft"
    world.write(draft, LISTS)
    assert world.run(*command).code == 0
    assert not (world.path / draft).exists()


def test_first_morning_that_ends_meanwhile_is_forgotten_too(world: World) -> None:
    """There was no database when the command began."""
    world.announce(1)
    with app_of(world) as app, ExitStack() as other:
        other.enter_context(world.held("morning"))

        def say(text: str) -> None:
            world.write("subscribers.yaml", LISTS)
            other.close()
            world.once()

        app.say = say
        app.forget(ADA)
    assert ADA.encode() not in (world.database.read_bytes())
