"""`paperboy suppress` and `unsuppress`: who must not get mail, whatever `subscribers.yaml` says."""

import re
import sqlite3
from contextlib import closing

import pytest

from tests.cli.conftest import LISTS, World

ADA = "ada@example.org"


def token_of(world: World, address: str) -> str:
    """Return the token that an unsubscribe mail would carry, from the newest mail to the address."""
    header = str(world.messages(address)[-1]["List-Unsubscribe"])
    return re.search(r"([0-9a-f]{32})>", header)[1]  # type: ignore[index]


def suppressed(world: World) -> list[tuple[str, str | None, str]]:
    told = world.json("status", "--suppressed")["suppressed"]
    return [(one["address"], one["list"], one["reason"]) for one in told]


def test_suppressed_address_gets_no_mail_until_it_is_unsuppressed(
    world: World,
) -> None:
    world.announce(1)
    ran = world.run("suppress", "Ada@Example.org")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "Ada@example.org gets no more mail from any list. To undo this: paperboy unsuppress ada@example.org\n"
    )
    ran = world.once("foundations")
    assert ran.code == 0
    assert "1 sent, 1 suppressed" in ran.out
    assert world.mails() == ["grace@example.org"]
    assert world.run("unsuppress", ADA).out == (
        "ada@example.org may get mail from its lists again, if it is subscribed.\n"
    )
    world.run("resend", "foundations")
    assert world.mails() == ["grace@example.org", ADA]


def test_suppression_can_be_limited_to_one_list(world: World) -> None:
    ran = world.run("suppress", "vera@example.org", "--list", "galaxies")
    assert "gets no more mail from galaxies." in ran.out
    assert ran.out.endswith("paperboy unsuppress vera@example.org --list galaxies\n")
    world.announce(4, categories=("astro-ph.GA",))
    world.once("galaxies")
    assert world.mails() == []
    assert suppressed(world) == [("vera@example.org", "galaxies", "by hand")]


def test_token_suppresses_for_its_list_alone(world: World) -> None:
    world.announce(1)
    world.once("foundations")
    token = token_of(world, ADA)
    ran = world.run("suppress", token)
    assert ran.code == 0
    assert ran.out.startswith("ada@example.org gets no more mail from foundations.")
    assert suppressed(world) == [(ADA, "foundations", "asked to leave the list")]
    assert (
        "Nothing to do" in world.run("suppress", f" {token.upper()}\n", "--list", "foundations").out
    )
    ran = world.run("unsuppress", token)
    assert ran.out == "ada@example.org may get mail from foundations again, if it is subscribed.\n"
    assert suppressed(world) == []


def test_subject_or_link_of_an_unsubscribe_mail_can_be_given_whole(world: World) -> None:
    """Its subject, in one piece or in words, and the link behind it, as it is copied from a mail's headers."""
    world.announce(1)
    world.once("foundations")
    token = token_of(world, ADA)
    link = f"mailto:papers@example.org?subject=unsubscribe%20foundations%20{token}"
    for given in (
        [f"unsubscribe foundations {token}"],
        ["unsubscribe", "foundations", token.upper()],
        [f"Re: Unsubscribe foundations\r\n {token}"],
        [link],
        [f"<{link}>"],
    ):
        ran = world.run("suppress", *given)
        assert (ran.code, ran.err) == (0, ""), given
        assert ran.out.startswith("ada@example.org gets no more mail from foundations.")
        assert world.run("unsuppress", *given).out.startswith(
            "ada@example.org may get mail from foundations again"
        )
    assert world.run("suppress", link, "--list", "foundations").code == 0
    assert suppressed(world) == [(ADA, "foundations", "asked to leave the list")]


def test_token_of_another_list_is_wrong_usage(world: World) -> None:
    world.announce(1)
    world.once("foundations")
    token = token_of(world, ADA)
    for given in ([f"unsubscribe galaxies {token}"], [token, "--list", "galaxies"]):
        err = world.fails(2, "suppress", *given)
        told = "this token belongs to the list 'foundations', not to 'galaxies'; if you mean the first, "
        assert err.startswith(told)
    assert suppressed(world) == []


def test_token_of_a_mail_to_somebody_who_joined_since_suppresses_them(world: World) -> None:
    world.announce(1)
    world.once("foundations")
    emmy = "emmy@example.org"
    world.run("subscribe", "foundations", emmy)
    assert world.run("resend", "foundations", "--to", emmy).code == 0
    ran = world.run("suppress", token_of(world, emmy))
    assert (ran.code, ran.err) == (0, "")
    assert suppressed(world) == [(emmy, "foundations", "asked to leave the list")]


def test_token_of_a_test_mail_works_after_the_secret_has_changed(world: World) -> None:
    """It is in no ledger."""
    world.announce(1)
    tokens = []
    for change in ("insert into secrets values ('mail 2', randomblob(32))", ""):
        assert world.run("preview", "foundations", "--to", ADA).code == 0
        tokens.append(token_of(world, ADA))
        with closing(sqlite3.connect(world.database)) as database, database:
            database.execute(change)
        assert world.run("suppress", tokens[-1]).code == 0
        assert suppressed(world) == [(ADA, "foundations", "asked to leave the list")]
        world.run("unsuppress", ADA, "--list", "foundations")
    assert len(set(tokens)) == 2


def test_suppressing_an_address_leaves_the_one_it_folds_into(world: World) -> None:
    world.write("subscribers.yaml", LISTS.replace(ADA, "strasse@example.org"))
    world.run("suppress", "straße@example.org")
    world.announce(1)
    world.once()
    assert world.mails() == ["strasse@example.org", "grace@example.org"]


def test_token_of_a_test_mail_to_a_stranger_is_explained(world: World) -> None:
    world.announce(1)
    world.run("preview", "foundations", "--to", "emmy@example.org")
    assert (
        "A test mail to an address on no list has a token, too; it gets no other mail."
        in world.fails(2, "suppress", token_of(world, "emmy@example.org"))
    )


def test_second_suppress_or_unsuppress_changes_nothing(world: World) -> None:
    assert world.run("unsuppress", ADA).code == 0
    assert not (world.path / "data").exists()
    world.run("suppress", ADA)
    world.later(days=3)
    ran = world.run("suppress", ADA)
    assert ran.code == 0
    assert ran.out == (
        "Nothing to do: ada@example.org is suppressed for all lists (since Fri 20 Nov 2026: by hand). "
        "To undo this: paperboy unsuppress ada@example.org\n"
    )
    assert world.run("unsuppress", ADA).code == 0
    ran = world.run("unsuppress", ADA)
    assert ran.code == 0
    assert ran.out == "Nothing to do: ada@example.org is not suppressed for all lists.\n"


def test_unsuppress_names_every_suppression_that_remains(world: World) -> None:
    world.run("suppress", ADA)
    world.run("suppress", ADA, "--list", "foundations")
    ran = world.run("unsuppress", ADA, "--list", "galaxies")
    assert ran.out == (
        "Nothing to do: ada@example.org is not suppressed for the list galaxies.\n"
        "But ada@example.org is suppressed for all lists (since Fri 20 Nov 2026: by hand). "
        "To undo this: paperboy unsuppress ada@example.org\n"
    )
    ran = world.run("unsuppress", ADA)
    assert ran.out.splitlines()[1] == (
        "But ada@example.org is suppressed for the list foundations (since Fri 20 Nov 2026: by hand). "
        "To undo this: paperboy unsuppress ada@example.org --list foundations"
    )
    assert "But" not in world.run("unsuppress", ADA, "--list", "foundations").out


def test_suppress_notes_an_address_that_is_on_no_list(world: World) -> None:
    assert "(The address is not on any list.)" in world.run("suppress", "adda@example.org").out
    ran = world.run("suppress", ADA, "--list", "galaxies")
    assert "(The address is not on that list.)" in ran.out
    assert ran.code == 0


@pytest.mark.parametrize("command", ["suppress", "unsuppress"])
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["ada@"], "ADDRESS_OR_TOKEN"),
        (
            ["ada@example.org, vera@example.org"],
            "has more than one address; write one address per line",
        ),
        (["0123456789ABCDEF0123456789abcdef"], "is not a token from any mail to a subscriber"),
        (
            ["unsubscribe", "foundations", "0123456789abcdef0123456789abcdef"],
            "is not a token from any mail to a subscriber",
        ),
        (["unsubscribe foundations"], "is neither an address nor a token"),
        ([""], "'' is neither an address nor a token"),
        ([ADA, "--list", "galaxy"], "did you mean 'galaxies'?"),
    ],
)
def test_anything_but_an_address_or_a_token_is_wrong_usage(
    world: World, command: str, arguments: list[str], told: str
) -> None:
    assert told in world.fails(2, command, *arguments)
    assert not (world.path / "data").exists()


def test_suppression_for_a_list_that_left_the_file_can_be_lifted(world: World) -> None:
    world.run("suppress", ADA, "--list", "galaxies")
    world.write(
        "subscribers.yaml", "lists:\n  - {name: x, categories: [cs.LG], topics: learning}\n"
    )
    assert world.run("unsuppress", ADA, "--list", "galaxies").code == 0
    assert suppressed(world) == []
    assert world.run("unsuppress", ADA, "--list", "galaxies").code == 2
