"""The README names every command, setting and key, and no others."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from paperboy.cli.main import cli
from paperboy.mailing_lists import KEYS
from paperboy.settings import SETTINGS

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def section(title: str) -> str:
    return re.split(r"^## ", README.split(f"## {title}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


def test_every_command_is_in_the_table_and_no_other() -> None:
    context = cli.make_context("paperboy", ["demo"], resilient_parsing=True)
    table = re.findall(r"^\| `paperboy ([a-z]+)", section("Commands"), flags=re.MULTILINE)
    assert table == cli.list_commands(context)


@pytest.mark.parametrize(
    "name",
    [
        *("demo", "once", "run", "check", "preview", "status", "why", "resend", "suppress", "unsuppress"),
        *("subscribers", "subscribe", "unsubscribe", "service"),
    ],
)
def test_every_option_of_a_command_is_in_its_row(name: str) -> None:
    context = cli.make_context("paperboy", [name], resilient_parsing=True)
    command = cli.get_command(context, name)
    assert command is not None
    row = next(line for line in section("Commands").splitlines() if re.match(rf"\| `paperboy {name}[ `]", line))
    options = {
        option
        for parameter in command.params
        if not getattr(parameter, "hidden", False)
        for option in parameter.opts
        if option.startswith("--") and option != "--home"  # which every command takes
    }
    assert set(re.findall(r"--[a-z-]+", row)) == options


def test_every_setting_is_in_the_table_and_no_other() -> None:
    assert set(re.findall(r"`([A-Z][A-Z_]+)`", section("Settings").split("Any server")[0])) == set(SETTINGS)


def test_every_key_of_a_list_is_in_the_table_and_no_other() -> None:
    rows = [line for line in section("Lists").splitlines() if line.startswith("| `")]
    assert {key for row in rows for key in re.findall(r"`([a-z_]+)`", row.split("|")[1])} == set(KEYS)


def test_the_example_list_loads_as_yaml() -> None:
    example = re.findall(r"```yaml\n(.*?)```", section("Lists"), flags=re.DOTALL)[0]
    assert YAML(typ="safe").load(example)["lists"][0]["name"] == "foundations"
