"""`paperboy check` finds today what would fail tomorrow, and names the fix."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from paperboy.store import Store
from tests.cli.conftest import LISTS, World
from tests.servers.smtp import Fault

EMAILS = Path(__file__).parents[2] / "emails"
PROMPTS = Path(__file__).parents[2] / "prompts"


def test_all_is_well(world: World) -> None:
    world.announce(1)
    world.env(ALERT_TO="operator@example.org")
    world.write("subscribers.yaml", LISTS.replace("@example.org", "@wren.edu"))
    ran = world.run("check")
    assert ran.code == 0, ran.out
    lines = ran.out.splitlines()
    assert all(line.startswith("ok     ") for line in lines), ran.out
    assert [line[7:].partition(":")[0] for line in lines] == [
        *["settings", "lists", "lists", "emails", "prompts", "database", "disk", "alerts", "mail", "scoring", "arXiv"]
    ]


def test_readers_that_are_only_examples_are_a_note_where_mail_leaves(world: World) -> None:
    ran = world.run("check", "--offline")
    assert ran.code == 0
    assert (
        "\nnote   lists: mail to ada@example.org, grace@example.org and 1 more reaches nobody; put your readers into "
        "subscribers.yaml\n"
    ) in ran.out
    world.write("subscribers.yaml", LISTS.replace("@example.org", "@example.org.uk"))
    assert "reaches nobody" not in world.run("check", "--offline").out
    world.write("subscribers.yaml", LISTS)
    world.env(smtp=False)
    assert "reaches nobody" not in world.run("check", "--offline").out


def test_a_line_is_said_while_a_later_one_is_still_being_asked_for(world: World) -> None:
    world.llm.fail_always("hang")
    command = [sys.executable, "-m", "paperboy", "--home", str(world.path), "check"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        said = next(line for line in running.stdout if "mail: " in line)
        assert said.startswith("ok     mail: mail server 127.0.0.1")
        assert running.poll() is None
        running.kill()


def test_on_a_terminal_long_lines_are_folded_between_words(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "80")
    with contextlib.redirect_stdout(Terminal()) as terminal:
        world.run("suppress", "ada@example.org")
        world.run("check", "--offline")
    lines = click.unstyle(terminal.getvalue()).splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("note   suppressed: "))
    assert lines[first : first + 3] == [
        "note   suppressed: ada@example.org is suppressed for all lists (since Fri 20 Nov",
        "       2026: by hand) and gets nothing. To undo it:",
        "       paperboy unsuppress ada@example.org",  # in one piece, to be copied
    ]


def test_it_touches_nothing(world: World) -> None:
    world.announce(1)
    before = sorted(world.path.rglob("*"))
    world.run("check")
    assert sorted(world.path.rglob("*")) == before
    assert world.mails() == []


def test_offline_asks_no_server(world: World) -> None:
    ran = world.run("check", "--offline")
    assert ran.code == 0
    assert (world.arxiv.requests, world.llm.requests, world.smtp.connections) == ([], [], 0)


def test_templates_of_ones_own_are_named_and_so_is_a_misspelt_one(world: World) -> None:
    """A file that no template asks for changes nothing, and says nothing by itself."""
    (world.path / "emails").mkdir()
    for name in ("_head.mjml.j2", "_mashead.mjml.j2"):
        (world.path / "emails" / name).write_bytes((EMAILS / "_head.mjml.j2").read_bytes())
    ran = world.run("check", "--offline")
    assert (
        "ok     emails: the templates render; yours are _head.mjml.j2; "
        "only templates of yours can use _mashead.mjml.j2\n"
    ) in ran.out


def test_a_list_without_subscribers_is_named(world: World) -> None:
    world.write("subscribers.yaml", "lists:\n  - {name: x, categories: [cs.LG], topics: learning}\n")
    ran = world.run("check", "--offline")
    assert "x: cs.LG; no subscribers, so it is never due" in ran.out
    assert ran.code == 0


def test_broken_files_are_told_line_by_line_and_the_rest_is_looked_at(world: World) -> None:
    world.write("subscribers.yaml", "lists:\n  - nam: x\n")
    ran = world.run("check", "--offline")
    assert ran.code == 78
    assert "fault  lists: subscribers.yaml:2:5: unknown key 'nam'" in ran.out
    assert "ok     database" in ran.out


def test_broken_settings_are_told_beside_broken_lists(world: World) -> None:
    world.write(".env", "SMTP_PORT=abc\nLLM_BATCH_SIZE=0\n")
    world.write("subscribers.yaml", "lists: 3\n")
    ran = world.run("check")
    assert ran.code == 78
    assert "fault  settings: .env:1: SMTP_PORT" in ran.out
    assert "fault  settings: .env:2: LLM_BATCH_SIZE" in ran.out
    assert "fault  lists: subscribers.yaml:1:8" in ran.out


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("emails/digest.mjml.j2", "{% if %}", "fault  emails: emails/digest.mjml.j2:1"),
        ("emails/note.txt.j2", "a\n{{ nobody }}\n", "fault  emails: emails/note.txt.j2:2"),
        (
            "prompts/score.md.j2",
            "\n{% block rubric %}{{ nonsense }}{% endblock %}",
            "fault  prompts: prompts/score.md.j2",
        ),
    ],
)
def test_a_broken_template_is_named_with_its_line(world: World, name: str, text: str, told: str) -> None:
    world.write(name, text)
    ran = world.run("check", "--offline")
    assert told in ran.out
    assert ran.code == 78


def test_a_mail_server_that_is_not_there(world: World) -> None:
    world.announce(1)
    world.env(SMTP_PORT=9)
    ran = world.run("check")
    assert ran.code == 1
    assert re.search(r"^fault  mail: .*127\.0\.0\.1:9", ran.out, re.MULTILINE)


def test_a_mail_server_that_fails(world: World) -> None:
    world.announce(1)
    world.smtp.faults.append(Fault("connect", "554 go away"))
    ran = world.run("check")
    assert ran.code == 1
    assert "go away" in ran.out


def test_a_refused_key(world: World) -> None:
    world.announce(1)
    world.llm.api_key = "right"
    world.env(OPENAI_API_KEY="wrong-0123456789")
    ran = world.run("check")
    assert ran.code == 1
    assert "fault  scoring:" in ran.out
    assert "wrong-0123456789" not in ran.out


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (
            "nonsense",
            "answers, but with no usable score: check OPENAI_MODEL; a model that follows instructions is needed",
        ),
        ("empty", "answers with no text"),
    ],
)
def test_a_model_that_never_gives_a_score(world: World, fault: str, told: str) -> None:
    world.announce(1)
    world.llm.fail_always(fault)
    ran = world.run("check")
    assert ran.code == 1
    assert f"fault  scoring: the LLM at {world.llm.base_url} {told}" in ran.out


def test_a_prompt_that_only_a_morning_would_have_found_broken(world: World) -> None:
    shipped = (PROMPTS / "score.md.j2").read_text("utf-8")
    world.write("prompts/score.md.j2", shipped.replace("{% block rubric %}", "{% block rubric %}{{ papers[0].title }}"))
    ran = world.run("check", "--offline")
    line = shipped.splitlines().index("{% block rubric %}") + 1
    assert f"fault  prompts: prompts/score.md.j2:{line}: the block 'rubric' is the same for all lists" in ran.out
    assert ran.code == 78


def test_an_arxiv_that_does_not_answer(world: World) -> None:
    world.env(ARXIV_API_URL="http://127.0.0.1:9/api/query")
    ran = world.run("check")
    assert ran.code == 1
    assert "fault  arXiv:" in ran.out


def test_a_database_of_somebody_else(world: World) -> None:
    world.env(PAPERBOY_DATABASE="subscribers.yaml")
    ran = world.run("check", "--offline")
    assert ran.code == 78
    assert "fault  database:" in ran.out


def test_a_budget_that_cannot_be_kept(world: World) -> None:
    world.announce(1)
    world.env(OPENAI_MODEL="home-grown-7b", LLM_BUDGET_USD=1)
    ran = world.run("check")
    assert ran.code == 78
    assert "fault  scoring: settings: LLM_BUDGET_USD" in ran.out


@pytest.mark.parametrize("place", ["subscribers.yaml", "subscribers.yaml/outbox"])
def test_an_outbox_that_cannot_hold_mail(world: World, place: str) -> None:
    world.env(smtp=False, PAPERBOY_OUTBOX=place)
    ran = world.run("check", "--offline")
    assert ran.code == 1
    assert "PAPERBOY_OUTBOX" in ran.out


def test_an_existing_database_is_opened(world: World) -> None:
    Store.open(world.path / "data" / "paperboy.db").close()
    assert "ok     database" in world.run("check", "--offline").out


def test_who_is_on_a_list_and_suppressed_is_named_and_is_no_fault(world: World) -> None:
    """Nobody is added in vain and without a word. Who is on no list is not looked for."""
    world.run("suppress", "ada@example.org")
    world.run("suppress", "vera@example.org", "--list", "galaxies")
    world.run("suppress", "grace@example.org", "--list", "galaxies")
    world.run("suppress", "emmy@example.org")
    world.write("subscribers.yaml", LISTS.replace("[vera@example.org]", "[vera@example.org, Ada@example.org]"))
    ran = world.run("check", "--offline")
    assert ran.code == 0
    adas, veras = (line for line in ran.out.splitlines() if line.startswith("note   suppressed"))
    assert adas == (
        "note   suppressed: ada@example.org is suppressed for all lists (since Fri 20 Nov 2026: by hand) and gets "
        "nothing. To undo it: paperboy unsuppress ada@example.org"
    )
    assert veras == (
        "note   suppressed: vera@example.org is suppressed for the list galaxies (since Fri 20 Nov 2026: by hand) and "
        "gets nothing. To undo it: paperboy unsuppress vera@example.org --list galaxies"
    )
    world.run("unsuppress", "ada@example.org")
    assert "ada@example.org is suppressed" not in world.run("check", "--offline").out


def test_a_broken_database_is_told_once(world: World) -> None:
    world.env(PAPERBOY_DATABASE="subscribers.yaml")
    assert world.run("check", "--offline").out.count("fault") == 1


def test_nobody_to_hear_of_a_failure_is_a_note(world: World) -> None:
    ran = world.run("check", "--offline")
    assert "note   alerts: nobody hears when a morning fails; set ALERT_TO\n" in ran.out
    assert ran.code == 0
    world.env(smtp=False)
    assert "alerts" not in world.run("check", "--offline").out, "the outbox is looked at by whoever looks at it"


def test_private_files_that_others_can_read_are_notes_with_the_command(world: World) -> None:
    world.env(OPENAI_API_KEY="sk-0123456789")
    (world.path / ".env").chmod(0o640)
    ran = world.run("check", "--offline")
    assert f"note   privacy: {world.path}/.env is open to others than its owner (mode 640); chmod 600 " in ran.out
    assert ran.code == 0
    os.system(ran.out.partition("(mode 640); ")[2].partition("\n")[0])  # noqa: S605 - what the operator would do
    assert "privacy" not in world.run("check", "--offline").out
