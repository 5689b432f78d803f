"""Commands that send no mail: they need no login, and while the files are broken they use what is in force."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from paperboy.edges import lock
from tests.cli.conftest import LISTS, World

ASKING = [  # and correcting: they work while the files are broken
    ["status"],
    ["why", "2611.00001"],
    ["why", "grace@example.org"],
    ["subscribers"],
    ["backup"],
    ["suppress", "grace@example.org"],
    ["unsuppress", "ada@example.org"],
]
READING = [
    ["subscribe", "galaxies", "ada@example.org"],
    ["unsubscribe", "galaxies", "ada@example.org"],
]
MAILING = [
    ["once"],
    ["resend", "foundations"],
    ["preview", "foundations", "--to", "ada@example.org"],
]


@pytest.fixture
def used(world: World) -> Iterator[World]:
    """A home that a service works for, and a paper that it sent."""
    world.announce(1)
    world.once()
    world.run("suppress", "ada@example.org")
    assert world.run("work", "trial").code == 78  # no service is running
    with world.held():
        assert world.run("work", "trial").code == 0
        yield world


@pytest.mark.quick
def test_half_a_login_does_where_no_mail_is_sent(used: World) -> None:
    """The password is a credential, which only the service can see."""
    used.env(SMTP_USERNAME="ada", SMTP_SECURITY="starttls")
    for command in [*ASKING, *READING, ["preview", "foundations"]]:
        ran = used.run(*command)
        assert (ran.code, "SMTP_PASSWORD" in ran.err) == (0, False), (command, ran)
    needs = (
        ".env: SMTP_USERNAME needs SMTP_PASSWORD or SMTP_TOKEN_COMMAND to be set, too; or leave out both. "
        "With systemd credentials, use the wrapper in paperboy manual service"
    )
    for command in MAILING:
        ran = used.run(*command)
        assert (ran.code, ran.err.endswith(f"{needs}\n")) == (78, True), command
    for command in (["check"], ["check", "--offline"]):
        assert used.run(*command).out.count(f"fault  mail: {needs}\n") == 1, command
    assert needs.removeprefix(".env: ") in used.run("work", "trial").out


@pytest.mark.parametrize(
    ("file", "text", "stops_mornings"),
    [
        ("prompts/score.md.j2", "{% if %}", True),
        ("prompts/brief.md.j2", "{% if %}", True),
        ("emails/digest.mjml.j2", "{% if %}", True),
        ("emails/alert.txt.j2", "{{ no_such_name }}", True),
        ("emails/confirm.mjml.j2", "{{ no_such_name }}", False),
        ("emails/leave.html.j2", "{% if %}", False),
        ("emails/leave.html.j2", "{{ no_such_name }}", False),
        ("emails/vote.html.j2", "{{ items[0].no_such_name }}", False),
    ],
)
def test_fault_is_the_same_to_check_to_an_edit_and_to_the_morning(
    used: World, file: str, text: str, *, stops_mornings: bool
) -> None:
    """What breaks on pages alone stops no mail."""
    used.env(WEB_URL="https://papers.wren.edu")
    assert used.run("work", "trial").code == 0
    before = (used.path / "data" / "last-good").resolve()
    used.write(file, text)
    assert f" {file}" in used.run("check", "--offline").out
    tried = used.run("work", "trial")
    assert (tried.code, file in tried.out) == (78, True)
    assert (used.path / "data" / "last-good").resolve() == before
    ran = used.once()
    assert (ran.code, file in ran.err) == ((78, True) if stops_mornings else (0, False))


def test_first_version_comes_into_force_with_faults_that_stop_no_mail(world: World) -> None:
    world.env(WEB_URL="https://papers.wren.edu")
    world.write("emails/leave.html.j2", "{% if %}")
    last_good = world.path / "data" / "last-good"
    with world.held():
        world.write("emails/digest.mjml.j2", "{% if %}")
        tried = world.run("work", "trial")
        assert (tried.code, "digest.mjml.j2" in tried.out) == (78, True)
        assert not last_good.exists()
        (world.path / "emails" / "digest.mjml.j2").unlink()
        tried = world.run("work", "trial")
        assert (tried.code, "emails/leave.html.j2:1" in tried.out) == (78, True)
        first = last_good.resolve(strict=True)
        world.write("subscribers.yaml", f"{LISTS}# an edit\n")
        assert world.run("work", "trial").code == 78
        assert last_good.resolve() == first


def test_pages_of_features_are_not_tried_where_none_can_be_served(
    used: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    used.env(WEB_URL="https://papers.wren.edu")
    monkeypatch.setitem(sys.modules, "werkzeug", None)  # as if it were not installed
    used.write("emails/vote.html.j2", "{% if %}")
    assert used.run("check", "--offline").code == 0
    assert used.run("work", "trial").code == 0
    used.write("emails/confirm.txt.j2", "{% if %}")
    assert "fault  emails: emails/confirm.txt.j2:1: " in used.run("check", "--offline").out


def test_prompt_of_the_brief_stops_no_morning_without_an_llm(used: World) -> None:
    used.env(llm=False)
    used.write("prompts/brief.md.j2", "{% if %}")
    assert used.run("work", "trial").code == 78
    assert used.once().code == 0


@pytest.mark.quick
def test_digest_that_was_sent_is_mailed_whatever_is_broken(used: World) -> None:
    used.write("prompts/score.md.j2", "{% if %}")
    used.write("emails/digest.mjml.j2", "{% if %}")
    assert used.run("preview", "foundations", "--to", "grace@example.org").code == 78
    assert used.run("preview", "foundations", "--sent", "--to", "grace@example.org").code == 0


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        (".env", "SEND_AT=seven\n", ".env:1: SEND_AT: "),
        ("subscribers.yaml", LISTS.replace("categories", "categoriez"), "subscribers.yaml:"),
        ("subscribers.yaml", "", "subscribers.yaml:"),
    ],
)
def test_broken_files_leave_what_is_in_force_to_those_who_ask(
    used: World, file: str, text: str, told: str
) -> None:
    used.write(file, text)
    for command in ASKING:
        ran = used.run(*command)
        assert (ran.code, ran.err.startswith(told)) == (0, True), (command, ran)
        assert ran.err.endswith("\nThe last good version stays in force until that is fixed.\n")
    assert (used.path / file).read_text() == text
    for command in [*READING, *MAILING[:2], ["preview", "foundations"]]:
        ran = used.run(*command)
        assert (ran.code, told in ran.err, "in force" in ran.err) == (78, True, False), command


def test_only_the_databases_place_is_wanted_from_the_version_in_force(used: World) -> None:
    """The service's settings may be sound in its own environment alone."""
    copy = used.path / "data" / "last-good" / ".env"
    copy.write_text(copy.read_text() + "SMTP_USERNAME=ada\nLLM_PRICE_INPUT=1\nwhatever\n")
    for command in ("once", "resend --failed foundations"):
        ran = used.run(*command.split())
        assert (ran.code, ran.err) == (0, ""), command
    copy.write_text(copy.read_text() + "PAPERBOY_DATABASE=data/other.db\n")
    with lock.held(Path(used.path, "data", "other.db"), "run", "run"):
        assert ".env: PAPERBOY_DATABASE has changed, and paperboy run" in used.once().err
