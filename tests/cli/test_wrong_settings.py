"""Mistakes of operators: each is one line with its place and the fix, exit code 78, and nothing is touched.

The mistakes themselves are in `tests/home/`; these tests have the places and exit codes that only commands show.
"""

from __future__ import annotations

import pytest

from tests.cli.conftest import World

DOTENV = """\
OPENAI_API_KEY=sk-wren
SMTP_HOST=smtp.wren.edu
MAIL_FROM=Paperboy <papers@wren.edu>
ALERT_TO=operator@wren.edu
"""
LISTS = """\
lists:
  - name: strings
    categories: [hep-th]
    topics: topics/strings.md
"""
REST = "the rest: not checked, because the settings are broken"
PORT = ".env:5: SMTP_PORT: must be a whole number from 1 to 65535"
TITLE = "subscribers.yaml:5:12: title: must be text; put it in quotes"


@pytest.fixture
def operator(world: World) -> World:
    """A world with a sound home."""
    world.write(".env", DOTENV)
    (world.path / ".env").chmod(0o600)
    world.write("subscribers.yaml", LISTS + "    subscribers: [ada@wren.edu]\n")
    world.write("prompts/topics/strings.md", "Relevant: strings and black holes.\n")
    return world


def run(operator: World, *arguments: str) -> tuple[int, list[str]]:
    """Return the exit code, and all lines that do not say that something is well."""
    ran = operator.run(*arguments)
    lines = (ran.out + ran.err).replace(str(operator.path), "HOME").splitlines()
    return ran.code, [line for line in lines if not line.startswith("ok ")]


def check(operator: World) -> tuple[int, list[str]]:
    """Return what `check --offline` finds, but for the line that the rest was not checked."""
    code, lines = run(operator, "check", "--offline")
    return code, [line.removeprefix("fault  ") for line in lines if REST not in line]


def test_sound_home_has_no_fault_and_no_note(operator: World) -> None:
    assert check(operator) == (0, [])


@pytest.mark.parametrize(
    ("name", "text", "commands", "told"),
    [
        (".env", f"{DOTENV}SMTP_PORT=smtp\n", ["once", "run"], f"settings: {PORT}"),
        (
            "subscribers.yaml",
            f"{LISTS}    title: [5]\n",
            ["once", "preview strings", "run", "subscribers", "subscribe strings bob@wren.edu"],
            f"lists: {TITLE}",
        ),
    ],
)
def test_mistake_is_one_line_from_every_command(
    operator: World, name: str, text: str, commands: list[str], told: str
) -> None:
    operator.write(name, text)
    assert check(operator) == (78, [told])
    for command in commands:
        assert run(operator, *command.split()) == (78, [told.partition(": ")[2]])
    files = {path.name for path in operator.path.iterdir()}
    assert files == {".env", "subscribers.yaml", "prompts"}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "prompts/topics/strings.md",
            " ",
            "lists: subscribers.yaml:4:13: topics: HOME/prompts/topics/strings.md is empty; ",
        ),
        ("prompts/score.md.j2", "\n{% block %}", "prompts: prompts/score.md.j2:2: "),
        ("emails/digest.txt.j2", "a\n{% if %}", "emails: emails/digest.txt.j2:2: "),
    ],
)
def test_unusable_file_is_one_line_with_its_name(
    operator: World, name: str, text: str, told: str
) -> None:
    operator.write(name, text)
    code, (line,) = check(operator)
    assert (code, line[: len(told)]) == (78, told)


def test_budget_for_a_model_of_unknown_price_is_one_line(operator: World) -> None:
    operator.environ |= {"LLM_BUDGET_USD": "1", "OPENAI_MODEL": "wren"}
    told = (
        "scoring: settings: LLM_BUDGET_USD: the price of wren is unknown, so a budget cannot be kept; "
        "set LLM_PRICE_INPUT and LLM_PRICE_OUTPUT, or LLM_BUDGET_USD to 0"
    )
    assert check(operator) == (78, [told])


def test_unknown_setting_and_missing_alert_address_are_notes(operator: World) -> None:
    operator.write(".env", DOTENV.replace("ALERT_TO=operator@wren.edu", "LLM_MODEL=wren"))
    assert check(operator) == (
        0,
        [
            "note   settings: .env:4: Paperboy has no setting of this name, and ignores it",
            "note   alerts: nobody is alerted when a morning fails; set ALERT_TO",
        ],
    )


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "preview Strings",
            "subscribers.yaml: there is no list 'Strings', did you mean 'strings'?",
        ),
        ("resend news", "subscribers.yaml: there is no list 'news'; it has strings"),
        ("once strings", "Error: Got unexpected extra argument (strings)"),
        ("once --dryrun", "Error: No such option '--dryrun'. Did you mean '--dry-run'?"),
        (
            "subscribe strings ada",
            "Error: Invalid value for ADDRESS: 'ada' is not an address: An email address must have an @-sign.",
        ),
    ],
)
def test_wrong_usage_exits_2_with_the_fix(operator: World, command: str, told: str) -> None:
    code, lines = run(operator, *command.split())
    assert (code, lines[-1]) == (2, told)


@pytest.mark.quick
def test_settings_and_lists_are_reported_together(operator: World) -> None:
    operator.write(".env", f"{DOTENV}SMTP_PORT=smtp\n")
    operator.write("subscribers.yaml", f"{LISTS}    title: [5]\n")
    assert run(operator, "once") == (78, [PORT, TITLE])
    assert check(operator) == (78, [f"settings: {PORT}", f"lists: {TITLE}"])
