"""`paperboy why ADDRESS` says what became of each digest to one person."""

from datetime import timedelta

import pytest

from tests.cli.conftest import LISTS, World
from tests.servers.smtp import Fault
from tests.store.ledger import TODAY, morning

ADA = "ada@example.org"


def rows(printed: str) -> list[list[str]]:
    """Return the table's rows: digest, list, state, then the time and the answer as one text."""
    _, *lines = printed.partition("\n\n")[2].splitlines()
    return [[line[:10], *line[12:].split(maxsplit=2)] for line in lines]


def test_each_digest_has_its_state_its_time_and_the_servers_answer_newest_first(
    world: World,
) -> None:
    world.write("subscribers.yaml", LISTS.replace("[vera@example.org]", f"[{ADA}]"))
    world.announce_both(1, 4)
    world.once()
    world.later(days=4)
    world.announce(2)
    world.once("foundations")
    ran = world.run("why", "Ada@Example.org")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Ada@example.org is on foundations and galaxies\n\nDigest      List")
    newest, first, second = rows(ran.out)
    assert newest[:3] == ["Tue 24 Nov", "foundations", "sent"]
    assert newest[3].startswith("24 Nov 07:00 UTC  250 ")
    assert [first[:3], second[:3]] == [
        ["Fri 20 Nov", "foundations", "sent"],
        ["Fri 20 Nov", "galaxies", "sent"],
    ]
    assert len(rows(world.run("why", ADA, "--list", "galaxies").out)) == 1


def test_mail_that_waits_says_why_and_when_it_is_tried_again(world: World) -> None:
    world.announce(1)
    world.smtp.faults.append(Fault("RCPT", "450 4.2.2 full", address=ADA))
    world.once()
    with world.held():
        ((*_, answer),) = rows(world.run("why", ADA).out)
        assert "RCPT: 450 4.2.2 full; next try about 07:" in answer
        world.later(hours=1)
        assert world.run("why", ADA).out.endswith("RCPT: 450 4.2.2 full; to be tried now\n")


def test_where_no_daemon_runs_no_next_try_is_promised(world: World) -> None:
    world.announce(1)
    world.smtp.faults.append(Fault("RCPT", "450 4.2.2 full", address=ADA, times=1))
    world.once()
    for _ in range(2):
        told = world.run("why", ADA).out
        assert told.endswith("RCPT: 450 4.2.2 full\n")
        world.later(hours=1)
    world.once()
    assert "250" in world.run("why", ADA).out


def test_suppression_is_shown_with_the_command_that_lifts_it(world: World) -> None:
    world.run("suppress", ADA, "--list", "foundations")
    told = world.run("why", ADA).out
    assert told == (
        "ada@example.org is on foundations\n"
        "ada@example.org is suppressed for the list foundations (since Fri 20 Nov 2026: by hand). "
        "To undo this: paperboy unsuppress ada@example.org --list foundations\n"
        "\n"
        "No digest went there in the last 8 weeks.\n"
    )
    assert "suppressed" not in world.run("why", "grace@example.org").out


def test_digests_of_somebody_who_left_are_shown_for_eight_weeks(world: World) -> None:
    with world.store() as store:
        morning(store, {"emmy": "bounced"}, TODAY - timedelta(weeks=8, days=1))
        morning(store, {"emmy": "bounced"}, TODAY - timedelta(weeks=8))
    told = world.run("why", "emmy@example.org").out
    assert told.startswith("emmy@example.org is not on any list\n")
    assert [row[:3] for row in rows(told)] == [["Fri 25 Sep", "foundations", "failed"]]


def test_address_that_is_no_subscriber_because_of_its_row_says_so(world: World) -> None:
    world.write("subscribers.yaml", f"{LISTS}    subscribers_file: readers.csv\n")
    world.write("readers.csv", "address,status\nemmy@example.org,\nbo@example.org,cleaned\n")
    said = "bo@example.org is not on any list (marked cleaned in readers.csv), and no digest"
    assert said in world.fails(2, "why", "bo@example.org")
    with world.store() as store:
        morning(store, {"bo": "bounced"}, TODAY)
    told = world.run("why", "bo@example.org").out
    assert told.startswith("bo@example.org is not on any list (marked cleaned in readers.csv)\n")
    assert "marked" not in world.fails(2, "why", "emmi@example.org")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            ["adda@example.org"],
            "adda@example.org is not on any list, and no digest went there in the last 8 weeks, ",
        ),
        (
            [ADA, "--list", "galaxies"],
            "ada@example.org is not on galaxies, and no digest went there",
        ),
        ([ADA, "--list", "nope"], "subscribers.yaml: there is no list 'nope'"),
        (["ada@"], "Invalid value for ARXIV_ID_OR_ADDRESS"),
    ],
)
def test_an_address_that_nothing_is_known_of_is_wrong_usage(
    world: World, asked: list[str], said: str
) -> None:
    assert said in world.fails(2, "why", *asked)
    assert not (world.path / "data").exists()
