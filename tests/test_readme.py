"""The README names every command, setting and key, and no others; and its commands for the operator do what it says."""

import os
import re
import sqlite3
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from paperboy.cli.main import cli
from paperboy.config.home import RESTED
from paperboy.config.lists import KEYS
from paperboy.config.settings import SETTINGS
from paperboy.daemon import TICK_SECONDS
from paperboy.due import RETRY
from paperboy.errors import ConfigError, HomeBusyError, StoreError
from paperboy.store import Store

FRIDAY = datetime(2026, 11, 20, 7, tzinfo=UTC)
SRC = Path(__file__).parents[1] / "src"
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
        *("demo", "init", "once", "run", "check", "preview", "status", "why", "resend", "suppress", "unsuppress"),
        *("subscribers", "subscribe", "unsubscribe", "backup", "service"),
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


# ── Commands for the operator ────────────────────────────────────────────────────────────────────────────────────────

SERVICE = section("As a service")


def command(begins: str, holds: str) -> str:
    """The only one that begins and goes on like that."""
    (found,) = {
        each
        for each in [*SERVICE.splitlines(), *re.findall(r"(?<!`)`([^`\n]+)`(?!`)", SERVICE)]
        if each.startswith(begins) and holds in each
    }
    return found


def shell(text: str, home: Path, system: Path) -> subprocess.CompletedProcess[str]:
    """Runs it as this user, for another home and another place of units, in a folder of nobody's interest."""
    text = text.replace("sudo -u paperboy ", "").replace("sudo ", "")
    text = text.replace("/opt/paperboy", str(home)).replace("/etc/systemd/system", str(system))
    environ = {**os.environ, "PYTHONPATH": str(SRC)}
    return subprocess.run(
        ["sh", "-c", text], cwd=system.parent, env=environ, capture_output=True, text=True, check=False
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    (made / ".venv").symlink_to(sys.prefix)
    (made / "subscribers.yaml").write_text("lists: []\n")
    return made


@pytest.fixture
def system(tmp_path: Path) -> Path:
    (tmp_path / "system").mkdir()
    return tmp_path / "system"


def test_from_clone_to_service_takes_fewer_than_ten_commands() -> None:
    (block,) = re.findall(r"from clone to running service:\n\n```sh\n(.*?)```", SERVICE, flags=re.DOTALL)
    assert len(block.splitlines()) < 10


def test_a_unit_that_cannot_be_printed_leaves_the_old_one_as_it_was(home: Path, system: Path) -> None:
    """`python -m paperboy` stands for the console script, which a checkout under test may not have."""
    install = command("sudo -u paperboy", " service > ").replace("bin/paperboy ", "bin/python -m paperboy ")
    assert shell(install, home, system).returncode == 0
    unit = system / "paperboy.service"
    before = unit.read_text()
    assert "ExecStart=" in before
    (home / ".env").write_text("SMTP_PORT=abc\n")
    assert shell(install, home, system).returncode == 78
    assert unit.read_text() == before


def test_a_database_is_copied_again_and_again_for_its_owner_alone_and_put_back(home: Path, system: Path) -> None:
    database = home / "data" / "paperboy.db"
    backup = command("sudo -u paperboy", "vacuum into").replace("%F-%H%M%S", "%F-%H%M%S%N")  # no test waits a second
    with Store.open(database) as store:
        store.suppressions.add("ada@example.org", "", "by hand", FRIDAY)
        for _ in range(2):
            ran = shell(backup, home, system)
            assert ran.returncode == 0, ran.stderr
    copies = sorted(database.parent.glob("backup-*.db"))
    assert len(copies) == 2
    assert {stat.S_IMODE(copy.stat().st_mode) for copy in copies} == {0o600}
    killed = (
        "import os, sqlite3; database = sqlite3.connect('data/paperboy.db');"
        "database.execute('create table later(x)'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", killed], cwd=home, check=False)
    assert database.with_name("paperboy.db-wal").exists()
    restore = command("sudo -u paperboy", "-wal").replace("BACKUP", copies[0].name)
    assert shell(restore, home, system).returncode == 0
    with sqlite3.connect(database) as raw:
        assert raw.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert not raw.execute("select * from sqlite_master where name = 'later'").fetchall()
    with Store.open(database) as store:
        assert [each.address for each in store.suppressions.all()] == ["ada@example.org"]


def git(*arguments: str, at: Path) -> str:
    who = ("-c", "user.name=dev", "-c", "user.email=dev@example.org")
    return subprocess.run(["git", *who, *arguments], cwd=at, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def checkout(home: Path, tmp_path: Path) -> Path:
    """Makes the home a clone, with an edit of its own. The origin's working copy."""
    origin = tmp_path / "origin"
    origin.mkdir()
    git("init", "-q", "-b", "main", at=origin)
    (origin / "subscribers.yaml").write_text("lists:\n  - ours\n")
    (origin / "code").write_text("1\n")
    git("add", ".", at=origin)
    git("commit", "-qm", "1", at=origin)
    git("init", "-q", "-b", "main", at=home)
    git("remote", "add", "origin", str(origin), at=home)
    (home / "subscribers.yaml").unlink()
    git("pull", "-q", "origin", "main", at=home)
    git("fetch", "-q", at=home)
    git("branch", "-q", "--set-upstream-to=origin/main", at=home)
    (home / "subscribers.yaml").write_text("lists:\n  - theirs\n")
    return origin


UPGRADE = command("sudo -u paperboy", "git pull").replace(".venv/bin/pip install -q -e .", "cat code")


@pytest.mark.parametrize("edited", [True, False])
def test_an_upgrade_keeps_the_operators_edits(home: Path, system: Path, checkout: Path, *, edited: bool) -> None:
    if not edited:
        git("checkout", "-q", "subscribers.yaml", at=home)
    (checkout / "code").write_text("2\n")
    git("commit", "-qam", "2", at=checkout)
    ran = shell(UPGRADE, home, system)
    assert ran.returncode == 0
    assert ran.stdout.endswith("2\n")
    assert (home / "subscribers.yaml").read_text() == f"lists:\n  - {'theirs' if edited else 'ours'}\n"


def test_an_upgrade_that_fails_changes_nothing(home: Path, system: Path, checkout: Path) -> None:
    checkout.rename(checkout.with_name("gone"))
    assert shell(UPGRADE, home, system).returncode != 0
    assert (home / "subscribers.yaml").read_text() == "lists:\n  - theirs\n"
    assert git("stash", "list", at=home) == ""


def test_an_upgrade_that_conflicts_has_both_versions_in_the_file(home: Path, system: Path, checkout: Path) -> None:
    (checkout / "subscribers.yaml").write_text("lists:\n  - upstream\n")
    git("commit", "-qam", "2", at=checkout)
    shell(UPGRADE, home, system)
    text = (home / "subscribers.yaml").read_text()
    assert re.search(r"<<<<<<<.*\n  - upstream\n(?:.*\n)*  - theirs\n>>>>>>>", text)
    (home / "subscribers.yaml").write_text("lists:\n  - theirs\n")
    git("add", "subscribers.yaml", at=home)
    assert shell(UPGRADE, home, system).returncode == 0
    assert (home / "subscribers.yaml").read_text() == "lists:\n  - theirs\n"


def test_removal_names_all_that_was_put_into_the_system() -> None:
    removal = SERVICE.split("**Removal**")[1].split("\n\n")[0]
    for place in ("/etc/systemd/system/paperboy.service", "/etc/systemd/system/paperboy.service.d", "/etc/paperboy"):
        assert f"{place} " in removal


def test_example_and_readme_name_the_same_causes_of_a_mail_to_the_operator() -> None:
    example = (Path(__file__).parents[1] / ".env.example").read_text("utf-8").replace("\n# ", " ")
    told = re.findall(
        r"mailed when something needs attention: (.*?) You get one mail per cause", " ".join(README.split())
    )
    assert told == re.findall(r"mailed when something needs attention: (.*?) You get one mail per cause", example)
    assert len(told) == 1


@pytest.mark.parametrize(
    ("true", "sentence"),
    [
        (timedelta(seconds=10) == RESTED, "until no file has changed for ten seconds"),
        (RESTED.total_seconds() + 2 * TICK_SECONDS <= 20, "They are in force within 25 seconds of the last save"),
        (timedelta(minutes=15) == RETRY, "**Retries** come every quarter of an hour"),
        (HomeBusyError.exit_code == 75, "75 another `run` holds this home"),
        (ConfigError.exit_code == StoreError.exit_code == 78, "78 settings, lists, templates or database are unusable"),
    ],
)
def test_readme_states_the_figures_that_the_code_goes_by(*, true: bool, sentence: str) -> None:
    assert true
    assert sentence in " ".join(README.split())
