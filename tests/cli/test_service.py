"""`paperboy service` prints a unit that systemd takes as it is, and says what would keep it from working."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paperboy.cli.service import names_of
from paperboy.errors import ConfigError
from tests.cli.conftest import LISTS, World
from tests.test_systemd import analyze, complaints, values

SRC = Path(__file__).parents[2] / "src"


def test_the_unit_is_for_this_home_this_interpreter_and_the_homes_owner(world: World) -> None:
    ran = world.run("service")
    assert ran.code == 0
    assert values(ran.out, "ExecStart") == [f":{sys.executable}", "-m", "paperboy", "--home", str(world.path), "run"]
    assert values(ran.out, "User") == [world.path.owner()]
    assert values(ran.out, "ReadWritePaths")[0] == str(world.path)


def test_systemd_takes_it_and_rates_it(world: World, tmp_path: Path) -> None:
    text = world.run("service").out
    assert complaints(text, tmp_path) == (0, "")
    said = analyze("security", "--offline=true", "--threshold=15", tmp_path / "paperboy.service")
    assert said.returncode == 0, said.stdout


def test_where_it_is_piped_to_a_file_only_what_matters_is_said(world: World) -> None:
    ran = world.run("service")
    root = "belongs to root, and so would the service" in ran.err
    assert root == (world.path.stat().st_uid == 0)
    assert len(ran.err.splitlines()) == int(root)


def test_a_home_with_an_owner_of_its_own_needs_no_word(world: World) -> None:
    if world.path.stat().st_uid == 0:  # only root can give a folder away
        shutil.chown(world.path, "daemon", "daemon")
    ran = world.run("service")
    assert ran.err == ""
    assert values(ran.out, "User") == [world.path.owner()]


def test_an_owner_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="/srv/papers: its owner, user number 64321, has no name or group here"):
        names_of(64_321, Path("/srv/papers"))


def test_a_terminal_is_shown_how_to_install_it(world: World) -> None:
    """The command shown is the one that was called, whole, so that it can be pasted anywhere."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "paperboy", "service", "--home", str(world.path)],
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(SRC)},
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65_536):
            shown += piece
    except OSError:  # Linux's end of a terminal
        pass
    os.close(ours)
    assert process.wait(20) == 0
    said = shown.decode().replace("\r\n", "\n").partition("To install it")[2]
    again = f"{sys.executable} -m paperboy --home {world.path} service"
    assert f"{again} > paperboy.service && sudo install -m 644 paperboy.service /etc/systemd/system/" in said
    assert "sudo systemctl daemon-reload" in said
    assert "sudo systemctl enable --now paperboy" in said


def test_broken_settings_are_exit_code_78_and_no_unit(world: World) -> None:
    """They say where the database lies."""
    world.env(SMTP_PORT="abc")
    ran = world.run("service")
    assert (ran.code, ran.out) == (78, "")
    assert "SMTP_PORT" in ran.err


def test_a_home_that_is_not_there_is_exit_code_78_and_no_unit(world: World) -> None:
    world.path = world.path / "nowhere"
    ran = world.run("service")
    assert (ran.code, ran.out) == (78, "")
    assert "there is no such folder" in ran.err


def test_lists_have_no_part_in_it(world: World) -> None:
    whole = world.run("service").out
    world.write("subscribers.yaml", "lists:\n  - nam: x\n")
    assert world.run("service").out == whole
    (world.path / "subscribers.yaml").unlink()
    ran = world.run("service")
    assert (ran.code, ran.out) == (0, whole)


def test_database_and_outbox_outside_the_home_can_be_written_to(world: World, tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    world.env(PAPERBOY_DATABASE="../db/papers.db", PAPERBOY_OUTBOX=tmp_path / "out")
    ran = world.run("service")
    assert values(ran.out, "ReadWritePaths") == [str(world.path), str(tmp_path / "db"), str(tmp_path / "out")]
    assert f"{tmp_path / 'out'} does not exist, and the service could not make it: sudo install -d -o " in ran.err
    assert f"{tmp_path / 'db'} does" not in ran.err


def test_a_database_that_is_a_link_can_be_written_to_where_it_lies(world: World, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (world.path / "data").mkdir()
    (world.path / "data" / "paperboy.db").symlink_to(tmp_path / "disk" / "papers.db")
    assert values(world.run("service").out, "ReadWritePaths") == [str(world.path), str(tmp_path / "disk")]


def test_a_home_that_is_a_link_is_called_as_it_is_and_put_back_where_it_lies(world: World, tmp_path: Path) -> None:
    real = tmp_path / "real"
    world.path.rename(real)
    world.path.symlink_to(real)
    ran = world.run("service")
    out = ran.out
    assert "does not exist" not in ran.err
    assert values(out, "ExecStart")[-2] == str(world.path)
    assert values(out, "BindPaths") == [str(world.path), str(real)]
    world.path = tmp_path / "real" / ".." / "home"
    assert values(world.run("service").out, "ExecStart")[-2] == str(real)


def test_linked_files_can_be_read_and_an_edit_that_replaces_them_is_seen(world: World, tmp_path: Path) -> None:
    """So it is the folder that is put back."""
    (world.path / "subscribers.yaml").unlink()
    (tmp_path / "team" / "prompts").mkdir(parents=True)
    (tmp_path / "team" / "subscribers.yaml").write_text(LISTS, "utf-8")
    (world.path / "subscribers.yaml").symlink_to(tmp_path / "team" / "subscribers.yaml")
    (world.path / "prompts").symlink_to(tmp_path / "team" / "prompts")
    (world.path / "emails").symlink_to(tmp_path / "nowhere")
    shown = values(world.run("service").out, "BindReadOnlyPaths")
    assert str(tmp_path / "team") in shown
    assert str(tmp_path / "nowhere") not in shown


def test_an_editable_install_sees_its_templates_and_prompts(world: World, tmp_path: Path) -> None:
    """They lie beside the program, in a checkout that may be hidden; the home has none of its own."""
    checkout = tmp_path / "checkout"
    shutil.copytree(SRC / "paperboy", checkout / "src" / "paperboy", ignore=shutil.ignore_patterns("__pycache__"))
    for kind in ("emails", "prompts"):
        shutil.copytree(SRC.parent / kind, checkout / kind)
    look = (
        "import pathlib, sys; from paperboy.config.home import folders; home = pathlib.Path(sys.argv[1]);"
        "print(*folders(home, 'emails'), *folders(home, 'prompts'), sep='\\n')"
    )
    site = ":".join(path for path in sys.path if path.endswith("-packages"))
    unit, read = (
        subprocess.run(
            [sys.executable, *command],
            env={"PYTHONPATH": f"{checkout / 'src'}:{site}"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for command in (["-m", "paperboy", "--home", world.path, "service"], ["-c", look, world.path])
    )
    assert read.splitlines() == [str(checkout / "emails"), str(checkout / "prompts")]
    shown = [Path(path) for path in values(unit, "BindReadOnlyPaths")]
    for place in [*read.splitlines(), str(checkout / "src" / "paperboy")]:
        assert any(Path(place).is_relative_to(path) for path in shown), place


def test_what_only_the_shell_knows_is_named_and_not_used(world: World) -> None:
    world.environ |= {"OPENAI_API_KEY": "sk-secret", "PAPERBOY_DATABASE": "/srv/other.db", "SMTP_USERNAME": " "}
    ran = world.run("service")
    assert "Your environment, which the service does not have, sets OPENAI_API_KEY and PAPERBOY_DATABASE" in ran.err
    assert values(ran.out, "ReadWritePaths") == [str(world.path)]
    assert "sk-secret" not in ran.out + ran.err


def test_the_interpreter_of_a_virtual_environment_is_called_by_its_link(world: World, tmp_path: Path) -> None:
    """Its target knows nothing of what is installed there."""
    environment = tmp_path / "new" / "home" / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", environment], check=True)
    site = next(path for path in map(Path, sys.path) if (path / "click").is_dir())
    home = environment.parent
    shutil.copytree(world.path, home, dirs_exist_ok=True)
    ran = subprocess.run(
        [environment / "bin" / "python", "-m", "paperboy", "--home", home, "service"],
        env={"PYTHONPATH": f"{SRC}:{site}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert values(ran.stdout, "ExecStart")[0] == f":{environment}/bin/python"
    assert values(ran.stdout, "ReadOnlyPaths") == [str(environment)]
