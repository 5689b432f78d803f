"""`paperboy subscribers` says who gets what; `subscribe` and `unsubscribe` edit one place of `subscribers.yaml`."""

import fcntl
import os
import resource
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from paperboy.errors import PaperboyError
from paperboy.home import edits
from paperboy.home.home import Home
from paperboy.models import Subscriber
from tests.cli.conftest import LISTS, World
from tests.servers.smtp import Fault

ADA = "ada@example.org"
SHARED = """\
lists:
  - &one
    name: one
    categories: [cs.LG]
    topics: learning
    subscribers: &us
      - &ada ada@example.org
      - bo@example.org
  - name: two
    categories: [cs.CL]
    topics: language
    subscribers: *us
  - name: three
    categories: [cs.CL]
    topics: language
    subscribers: [*ada, cy@example.org]
  - <<: *one
    name: four
    categories: [cs.CV]
"""


def text(world: World) -> str:
    return (world.path / "subscribers.yaml").read_bytes().decode()


def files(world: World) -> list[str]:
    return sorted(path.name for path in world.path.iterdir())


# --- who gets what


def test_subscribers_shows_schedule_and_people_of_each_list(world: World) -> None:
    world.write(
        "subscribers.yaml",
        LISTS.replace(
            "topics: dwarf",
            "weekdays: [wed, mon]\n    send_at: 8:30\n    paused: true\n    topics: dwarf",
        ),
    )
    ran = world.run("subscribers")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "foundations: Foundations\n"
        "every day at 07:00 UTC, to 2 addresses\n"
        "  ada@example.org\n"
        "  grace@example.org  Grace Hopper\n"
        "\n"
        "galaxies\n"
        "paused, otherwise mon, wed at 08:30 UTC, to 1 address\n"
        "  vera@example.org\n"
        "\n"
        "3 addresses on 2 lists\n"
    )
    assert not (world.path / "data").exists()


def test_subscribers_shows_who_is_suppressed_and_why(world: World) -> None:
    """A server's last word is shown as it is, and whatever a list is, the suppression for all of them counts first."""
    with world.store() as store:
        store.suppressions.add(
            "GRACE@example.org", "", "550 5.1.1 [red]no[/red] such [user]", world.clock()
        )
        store.suppressions.add(ADA, "galaxies", "by hand", world.clock())
    world.run("subscribe", "galaxies", ADA)
    assert world.run("subscribers").out == (
        "foundations: Foundations\n"
        "every day at 07:00 UTC, to 2 addresses\n"
        "  ada@example.org\n"
        "  grace@example.org  Grace Hopper\n"
        "    suppressed for all lists (since Fri 20 Nov 2026: 550 5.1.1 [red]no[/red] such [user])\n"
        "\n"
        "galaxies\n"
        "every day at 07:00 UTC, to 2 addresses\n"
        "  vera@example.org\n"
        "  ada@example.org\n"
        "    suppressed for the list galaxies (since Fri 20 Nov 2026: by hand)\n"
        "\n"
        "3 addresses on 2 lists\n"
    )


def test_subscribers_can_show_one_list_alone(world: World) -> None:
    world.write("subscribers.yaml", LISTS.replace("[vera@example.org]", "[]"))
    assert world.run("subscribers", "--list", "galaxies").out == (
        "galaxies\nno subscribers, so it is never due\n\n0 addresses on 1 list\n"
    )
    assert "there is no list 'galaxy', did you mean 'galaxies'?" in world.fails(
        2, "subscribers", "--list", "galaxy"
    )


def test_subscribers_json_lists_people_and_suppressions(world: World) -> None:
    world.write(
        "subscribers.yaml", LISTS.replace("topics: dwarf", "paused: true\n    topics: dwarf")
    )
    world.run("suppress", "vera@example.org", "--list", "galaxies")
    world.run("suppress", ADA)
    told = world.json("subscribers")
    since = {"since": "2026-11-20T07:00:00+00:00", "reason": "by hand"}
    assert told == {
        "lists": [
            {
                "name": "foundations",
                "title": "Foundations",
                "send_at": "07:00",
                "timezone": "UTC",
                "weekdays": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
                "paused": False,
                "subscribers": [
                    {"address": ADA, "name": "", "suppressed": {"list": None, **since}},
                    {"address": "grace@example.org", "name": "Grace Hopper", "suppressed": None},
                ],
                "addresses": 2,
            },
            {
                "name": "galaxies",
                "title": "galaxies",
                "send_at": "07:00",
                "timezone": "UTC",
                "weekdays": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
                "paused": True,
                "subscribers": [
                    {
                        "address": "vera@example.org",
                        "name": "",
                        "suppressed": {"list": "galaxies", **since},
                    },
                ],
                "addresses": 1,
            },
        ],
        "addresses": 3,
    }


# --- somebody comes


def test_new_subscriber_gets_the_next_digest(world: World) -> None:
    ran = world.run("subscribe", "foundations", "Zoë <zoe@example.org>")
    assert (ran.code, ran.err) == (0, "")
    assert (
        ran.out
        == "Zoë <zoe@example.org> is now on foundations (subscribers.yaml:11) and gets its next digest.\n"
    )
    assert text(world) == LISTS.replace(
        "  - name: galaxies", "      - Zoë <zoe@example.org>\n  - name: galaxies"
    )
    world.announce(1)
    world.once("foundations")
    assert sorted(world.mails()) == [ADA, "grace@example.org", "zoe@example.org"]


def test_subscribing_twice_leaves_the_file_untouched(world: World) -> None:
    before = (world.path / "subscribers.yaml").stat()
    ran = world.run("subscribe", "foundations", "GRACE@Example.ORG")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "Nothing to do: Grace Hopper <grace@example.org> is already on foundations.\n"
    after = (world.path / "subscribers.yaml").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_subscribing_a_suppressed_address_says_that_it_gets_nothing(world: World) -> None:
    world.run("suppress", "zoe@example.org")
    told = (
        "But zoe@example.org is suppressed for all lists (since Fri 20 Nov 2026: by hand). "
        "To undo this: paperboy unsuppress zoe@example.org"
    )
    for first in (
        "zoe@example.org is now on galaxies",
        "Nothing to do: zoe@example.org is already on galaxies.",
    ):
        ran = world.run("subscribe", "galaxies", "zoe@example.org")
        assert ran.code == 0
        lines = ran.out.splitlines()
        assert lines[0].startswith(first)
        assert lines[1:] == [told]
    assert "[vera@example.org, zoe@example.org]" in text(world)
    world.run("suppress", "bo@example.org", "--list", "foundations")
    assert len(world.run("subscribe", "galaxies", "bo@example.org").out.splitlines()) == 1


# --- somebody leaves


def test_unsubscribed_address_gets_nothing_more_not_even_waiting_mail(world: World) -> None:
    world.smtp.faults.append(Fault("RCPT", "450 later", address=ADA))
    world.announce(1)
    assert world.once("foundations").code == 1
    ran = world.run("unsubscribe", "foundations", "Ada Lovelace <ADA@example.org>")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "ada@example.org is no longer on foundations (removed from subscribers.yaml:9).\n"
    )
    assert text(world) == LISTS.replace("      - ada@example.org\n", "")
    world.later(hours=2)
    assert world.once("foundations").code == 0
    assert world.mails() == ["grace@example.org"]


def test_unsubscribe_does_not_count_mail_of_other_lists(world: World) -> None:
    world.run("subscribe", "galaxies", ADA)
    world.smtp.faults.append(Fault("RCPT", "450 later"))
    world.announce(1)
    world.once("foundations")
    ran = world.run("unsubscribe", "galaxies", ADA)
    assert ran.out.splitlines()[1:] == ["ada@example.org is still on foundations."]


def test_last_address_of_a_list_can_be_unsubscribed(world: World) -> None:
    assert world.run("unsubscribe", "galaxies", "vera@example.org").code == 0
    assert "subscribers: []" in text(world)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        (
            "adda@example.org",
            "adda@example.org is not on foundations, did you mean 'ada@example.org'?",
        ),
        ("nobody@elsewhere.net", "nobody@elsewhere.net is not on foundations"),
    ],
)
def test_unsubscribing_a_stranger_is_wrong_usage_with_a_suggestion(
    world: World, address: str, told: str
) -> None:
    ran = world.run("unsubscribe", "foundations", address)
    assert (ran.code, ran.out, ran.err) == (2, "", f"subscribers.yaml: {told}\n")
    assert text(world) == LISTS


# --- what a person gets wrong


@pytest.mark.parametrize("command", ["subscribe", "unsubscribe"])
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["galaxy", ADA], "there is no list 'galaxy', did you mean 'galaxies'?"),
        (["galaxies", "ada@"], "Invalid value for ADDRESS: 'ada@' is not an address"),
        (["galaxies", "a@example.org, b@example.org"], "has more than one address"),
        (["galaxies", "A\x1b[31m <a@example.org>"], "contains a control character (U+001B)"),
        (["galaxies"], "Missing argument 'ADDRESS'"),
        (["galaxies", "Ada", ADA], "unexpected extra argument (ada@example.org)"),
    ],
)
def test_wrong_arguments_are_reported_and_change_nothing(
    world: World, command: str, arguments: list[str], told: str
) -> None:
    assert told in world.fails(2, command, *arguments)
    assert text(world) == LISTS


def test_nobody_is_removed_while_the_file_is_broken(world: World) -> None:
    broken = LISTS.replace("categories: [cs.LG", "categories: [cs.XY")
    world.write("subscribers.yaml", broken)
    err = world.fails(78, "unsubscribe", "galaxies", ADA)
    assert err.startswith("subscribers.yaml:4:18: categories: unknown category")
    assert text(world) == broken


def test_broken_database_is_reported_before_the_file_changes(world: World) -> None:
    world.write("data/paperboy.db", "no database" * 1000)
    assert "paperboy.db" in world.fails(78, "subscribe", "galaxies", ADA)
    assert text(world) == LISTS


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("subscribe one zoe@example.org", 3),
        ("unsubscribe one ada@example.org", 3),
        ("unsubscribe four bo@example.org", 18),
        ("unsubscribe three ada@example.org", 13),
    ],
)
def test_shared_subscribers_are_left_to_a_person(world: World, command: str, line: int) -> None:
    world.write("subscribers.yaml", SHARED)
    told = world.fails(78, *command.split())
    assert told.startswith(
        f"subscribers.yaml:{line}: Paperboy cannot edit the subscribers of {command.split()[1]}: they span"
    )
    assert told.endswith("; edit the file by hand, then run paperboy check\n")
    assert text(world) == SHARED
    assert files(world) == [".env", "subscribers.yaml"]


# --- the file


def test_edit_keeps_mode_owner_link_and_encoding_of_the_file(world: World) -> None:
    """Its mode and owner, a link that leads to it, a byte order mark, Windows line ends, no line end at the end."""
    real = world.path / "elsewhere" / "lists.yaml"
    path = world.path / "subscribers.yaml"
    path.unlink()
    world.write("elsewhere/lists.yaml", "")
    real.write_bytes(LISTS.rstrip("\n").replace("\n", "\r\n").encode("utf-8-sig"))
    path.symlink_to("elsewhere/lists.yaml")
    real.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(real, 12345, 23456)
    os.utime(real, (1, 1))
    before = real.stat()
    assert world.run("subscribe", "foundations", "zoe@example.org").code == 0
    assert world.run("subscribe", "galaxies", "zoe@example.org").code == 0
    assert path.readlink() == Path("elsewhere/lists.yaml")
    expected = LISTS.replace("  - name: galaxies", "      - zoe@example.org\n  - name: galaxies")
    expected = expected.replace("[vera@example.org]", "[vera@example.org, zoe@example.org]")
    assert real.read_bytes() == expected.rstrip("\n").replace("\n", "\r\n").encode("utf-8-sig")
    after = real.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert after.st_mtime > 1, "whoever looks at its time sees that it changed"
    assert list(real.parent.iterdir()) == [real]


def test_file_saved_meanwhile_is_not_overwritten(world: World) -> None:
    home = Home.load(world.path, {})
    for saved in (LISTS.replace("cs.LG", "cs.CV").encode(), b"# caf\xe9"):
        (world.path / "subscribers.yaml").write_bytes(saved)
        with pytest.raises(PaperboyError, match="was just changed by somebody else; try again"):
            edits.subscribe(home, home.list("galaxies"), Subscriber(ADA))
        assert (world.path / "subscribers.yaml").read_bytes() == saved
    assert files(world) == [".env", "subscribers.yaml"]


@pytest.mark.parametrize("round_", range(5))
def test_edits_at_once_are_all_in_the_file_or_refused(world: World, round_: int) -> None:
    home = Home.load(world.path, {})
    start = Barrier(8)

    def subscribe(number: int) -> str:
        new = Subscriber(f"reader{number}@example.org")
        start.wait()
        try:
            edits.subscribe(home, home.list("galaxies"), new)
        except PaperboyError as error:
            return "refused" if "was just changed by somebody else" in str(error) else str(error)
        return new.address

    with ThreadPoolExecutor(8) as threads:
        added = {*threads.map(subscribe, range(8))} - {"refused"}
    assert added
    now = Home.load(world.path, {}).list("galaxies").addresses()
    assert {*now} == {"vera@example.org", *added}


def test_file_that_another_program_has_locked_is_left_alone(world: World) -> None:
    """As by `flock subscribers.yaml paperboy subscribe …`, which would wait for itself for ever."""
    with (world.path / "subscribers.yaml").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        ran = world.run("subscribe", "galaxies", ADA)
    assert (ran.code, ran.out) == (1, "")
    assert "was just changed by somebody else; try again" in ran.err
    assert text(world) == LISTS


def test_full_disk_leaves_the_file_whole(world: World) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        ran = world.run("subscribe", "galaxies", ADA)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (ran.code, ran.out) == (78, "")
    assert f"{world.path}/subscribers.yaml: cannot be replaced: File too large; run" in ran.err
    assert text(world) == LISTS
    assert files(world) == [".env", "subscribers.yaml"]


def test_read_only_file_is_reported_with_who_may_edit_it(world: World) -> None:
    """Root may write whatever the rights, so the command runs as somebody else, who needs the imports of the first."""
    assert world.run("subscribe", "foundations", ADA).code == 0
    mine = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:  # others cannot look into pytest's
        theirs = replace(world, path=Path(folder))
        theirs.path.chmod(0o755)
        theirs.write("subscribers.yaml", LISTS)
        (theirs.path / "subscribers.yaml").chmod(0o444)
        if mine == 0:
            os.seteuid(65534)
        try:
            ran = theirs.run("subscribe", "galaxies", ADA)
        finally:
            os.seteuid(mine)
        assert (ran.code, ran.out) == (78, "")
        assert ran.err == (
            f"{folder}/subscribers.yaml: cannot be replaced: Permission denied; "
            "run this as a user who can write to it and its folder\n"
        )
        assert text(theirs) == LISTS


# --- a list whose people are in a file of their own


@pytest.fixture
def big(world: World) -> World:
    """Galaxies has a file, beside one address in subscribers.yaml."""
    world.write("readers.txt", "# ours\nAda <ada@example.org>\nbo@example.org\n")
    world.write("subscribers.yaml", f"{LISTS}    subscribers_file: readers.txt\n")
    return world


def test_people_of_a_file_are_shown_and_get_the_digest(big: World) -> None:
    assert big.run("subscribers", "--list", "galaxies").out == (
        "galaxies\nevery day at 07:00 UTC, to 3 addresses\n  vera@example.org\n  ada@example.org   Ada\n"
        "  bo@example.org\n\n3 addresses on 1 list\n"
    )
    assert "galaxies: astro-ph.GA; 3 subscribers, 07:00 UTC" in big.run("check", "--offline").out
    big.announce(1, categories=("astro-ph.GA",))
    assert big.once("galaxies").code == 0
    assert big.mails() == ["vera@example.org", ADA, "bo@example.org"]


def test_subscribe_and_unsubscribe_edit_the_file(big: World) -> None:
    before = text(big)
    ran = big.run("subscribe", "galaxies", "Zoë <zoe@example.org>")
    assert (
        ran.out
        == "Zoë <zoe@example.org> is now on galaxies (readers.txt:4) and gets its next digest.\n"
    )
    ran = big.run("subscribe", "galaxies", "ADA@example.org")
    assert ran.out == "Nothing to do: Ada <ada@example.org> is already on galaxies.\n"
    ran = big.run("unsubscribe", "galaxies", ADA)
    assert ran.out.startswith(
        "Ada <ada@example.org> is no longer on galaxies (removed from readers.txt:2).\n"
    )
    assert (
        big.path / "readers.txt"
    ).read_text() == "# ours\nbo@example.org\nZoë <zoe@example.org>\n"
    ran = big.run("unsubscribe", "galaxies", "boo@example.org")
    told = "readers.txt: boo@example.org is not on galaxies, did you mean 'bo@example.org'?\n"
    assert (ran.code, ran.err) == (2, told)
    assert text(big) == before
    assert big.run("unsubscribe", "galaxies", "vera@example.org").code == 0
    assert text(big) == before.replace("[vera@example.org]", "[]")


def test_unsubscribe_leaves_the_row_that_says_who_has_left_before(world: World) -> None:
    """The person is in subscribers.yaml, too, and is a subscriber there alone."""
    world.write("readers.csv", "address,status\nbo@example.org,\nada@example.org,unsubscribed\n")
    world.write(
        "subscribers.yaml",
        f"{LISTS}    subscribers_file: readers.csv\n".replace(
            "[vera@example.org]", "[ada@example.org]"
        ),
    )
    ran = world.run("unsubscribe", "galaxies", "ada@example.org")
    assert "removed from subscribers.yaml:" in ran.out
    assert "ada@example.org,unsubscribed" in (world.path / "readers.csv").read_text()


def test_mistake_in_the_file_is_reported_by_every_command(big: World) -> None:
    big.write("readers.txt", "ada@example.org\nbo@\nada@example.org\n")
    for command in (
        ["once"],
        ["check", "--offline"],
        ["subscribers"],
        ["status"],
        ["suppress", ADA],
    ):
        ran = big.run(*command)
        assert (ran.code, "readers.txt:2: 'bo@' is not an address: " in ran.out + ran.err) == (
            78,
            True,
        )
        assert (
            "readers.txt:3: ada@example.org is already on this list, in line 1" in ran.out + ran.err
        )
