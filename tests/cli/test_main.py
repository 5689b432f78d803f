"""The command line itself: help, version, usage, and what stands outside a single command."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from paperboy import __version__
from paperboy.cli.main import cli, invoke
from tests.cli.conftest import ENVIRON

NAMES = sorted(cli.list_commands(click.Context(cli)))
NEEDED = {
    "preview": ["foundations"],
    "why": ["2611.00001"],
    "resend": ["foundations"],
    "suppress": ["ada@example.org"],
    "unsuppress": ["ada@example.org"],
    "subscribe": ["foundations", "ada@example.org"],
    "unsubscribe": ["foundations", "ada@example.org"],
    "forget": ["ada@example.org"],
    "learn": ["--library", "foundations"],
}
OTHERS = {"bounce", "demo", "init", "manual"}  # they need no home, or speak to a mail server


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["--help"]) == 0
    out = capsys.readouterr().out
    for name in NAMES:
        assert f"\n  {name} " in out


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: paperboy {name}")


def test_help_of_check_explains_its_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", "--help"]) == 0
    told = (
        "0 without a fault, 78 where settings, lists, templates or database are unusable, else 1."
    )
    assert told in " ".join(capsys.readouterr().out.split())


def test_version_option_prints_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["once", "--nonsense"], ["preview"], ["suppress"]]
)
def test_wrong_usage_is_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Usage" in captured.err


def test_no_command_prints_the_help_and_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke([]) == 2
    captured = capsys.readouterr()
    assert invoke(["--help"]) == 0
    assert (captured.out, captured.err) == ("", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["statsu"], "No such command 'statsu', did you mean 'status'?\n"),
        (["Susbcribe"], "No such command 'Susbcribe', did you mean 'subscribe'?\n"),
        (["nonsense"], "No such command 'nonsense'.\n"),
    ],
)
def test_misspelt_command_gets_a_suggestion(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(arguments) == 2
    assert capsys.readouterr().err.endswith(f"\nError: {meant}")


@pytest.mark.parametrize(
    ("program", "spared"),
    [
        (
            "from paperboy.cli.main import invoke; invoke(['--help'])",
            "email paperboy.tex sqlite_utils",
        ),
        ("import paperboy.service.app", "genai_prices lxml requests"),
        ("import paperboy.reports.status", ""),
        (
            "import paperboy.cli.main, paperboy.cli.mornings",
            "lxml requests",
        ),  # the daemon's, which lies idle
    ],
)
def test_heavy_packages_are_imported_only_where_they_are_used(program: str, spared: str) -> None:
    """`openai` alone takes longer than the whole help may."""
    program += "; import sys; print('imported:', *sys.modules)"
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRON)
    imported = set(ran.stdout.partition("imported:")[2].split())
    assert not {"arxiv", "jinja2", "mjml", "openai", "pydantic", "rich", *spared.split()} & imported


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OTHERS])
def test_home_may_stand_after_the_command_too(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke([name, *NEEDED.get(name, []), "--home", str(tmp_path / "nowhere")]) == 78
    captured = capsys.readouterr()
    assert str(tmp_path / "nowhere") in captured.out + captured.err


def test_shell_completes_the_commands() -> None:
    """As bash asks, after `eval "$(_PAPERBOY_COMPLETE=bash_source paperboy)"`."""
    asked = {"_PAPERBOY_COMPLETE": "bash_complete", "COMP_WORDS": "paperboy un", "COMP_CWORD": "1"}
    command = [sys.executable, "-m", "paperboy"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRON | asked)
    assert ran.stdout.split() == ["plain,unsuppress", "plain,unsubscribe"]
