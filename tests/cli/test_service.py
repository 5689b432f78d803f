"""`paperboy service` prints a unit that systemd takes as it is, and says what would keep it from working."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paperboy.cli.service import names_of
from paperboy.errors import ConfigError
from tests.cli.conftest import SRC, World, on_terminal
from tests.service.test_systemd import values


def test_unit_names_this_home_this_interpreter_and_the_owner(world: World) -> None:
    if world.path.stat().st_uid == 0:  # only root can give a folder away
        said = world.run("service").err
        assert "belongs to root, and so would the service" in said
        assert f"tar -c -C {world.path}.root . | sudo -u paperboy tar -x -C {world.path}\n" in said
        shutil.chown(world.path, "daemon", "daemon")
    ran = world.run("service")
    assert (ran.code, ran.err) == (0, "")
    assert values(ran.out, "ExecStart") == [
        f":{sys.executable}",
        "-m",
        "paperboy",
        "--home",
        str(world.path),
        "run",
    ]
    assert values(ran.out, "User") == [world.path.owner()]
    assert values(ran.out, "ReadWritePaths")[0] == str(world.path)


def test_owner_without_a_name_is_refused() -> None:
    with pytest.raises(
        ConfigError,
        match=r"/srv/papers: its owner, user number 64321, has no name or group here; .* --uid 64321",
    ):
        names_of(64_321, Path("/srv/papers"))


@pytest.mark.parametrize("for_web", [False, True])
@pytest.mark.parametrize("as_user", [False, True])
def test_terminal_shows_how_to_install_the_unit(
    world: World, *, as_user: bool, for_web: bool
) -> None:
    """The command shown is the one that was called, whole, so that it can be pasted anywhere."""
    world.env(WEB_URL="https://papers.example.org")
    options = [*["--user"] * as_user, *["--web"] * for_web]
    name = "paperboy-web" if for_web else "paperboy"
    code, shown = on_terminal(world.command("service", *options))
    assert code == 0
    said = shown.partition("To install it")[2]
    again = " ".join(world.command("service", *options))
    place = (
        f"mv {name}.service ~/.config"
        if as_user
        else f"sudo install -m 644 {name}.service /etc/systemd/system/\n"
    )
    assert f"{again} > {name}.service && {place}" in said
    systemctl = "systemctl --user" if as_user else "sudo systemctl"
    assert f"{systemctl} daemon-reload" in said
    assert f"{systemctl} enable --now {name} " in said


def test_broken_settings_are_exit_code_78_and_no_unit(world: World) -> None:
    """They say where the database lies."""
    world.env(SMTP_PORT="abc")
    assert "SMTP_PORT" in world.fails(78, "service")


def test_password_may_be_a_credential_that_only_the_service_sees(world: World) -> None:
    world.env(SMTP_USERNAME="papers", SMTP_SECURITY="tls")
    assert world.run("service").code == 0


def test_broken_lists_do_not_change_the_unit(world: World) -> None:
    whole = world.run("service").out
    world.write("subscribers.yaml", "lists:\n  - nam: x\n")
    assert world.run("service").out == whole
    (world.path / "subscribers.yaml").unlink()
    ran = world.run("service")
    assert (ran.code, ran.out) == (0, whole)


def test_database_and_outbox_outside_the_home_are_writable(world: World, tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    world.env(PAPERBOY_DATABASE="../db/papers.db", PAPERBOY_OUTBOX=tmp_path / "out")
    ran = world.run("service")
    assert values(ran.out, "ReadWritePaths") == [
        str(world.path),
        str(tmp_path / "db"),
        str(tmp_path / "out"),
    ]


@pytest.mark.parametrize("options", [[], ["--web"]])
def test_linked_database_is_writable_at_its_target(
    world: World, tmp_path: Path, options: list[str]
) -> None:
    world.env(WEB_URL="https://papers.example.org")
    (tmp_path / "disk").mkdir()
    (world.path / "data").mkdir()
    (world.database).symlink_to(tmp_path / "disk" / "papers.db")
    own = world.path / "data" if options else world.path
    folders = values(world.run("service", *options).out, "ReadWritePaths")
    assert folders == [str(own), str(tmp_path / "disk")]


def test_linked_home_is_writable_under_both_names(world: World, tmp_path: Path) -> None:
    real = tmp_path / "real"
    world.path.rename(real)
    world.path.symlink_to(real)
    ran = world.run("service")
    out = ran.out
    assert "does not exist" not in ran.err
    assert values(out, "ExecStart")[-2] == str(world.path)
    assert values(out, "ReadWritePaths") == [str(world.path), str(real)]
    world.path = tmp_path / "real" / ".." / "home"
    assert values(world.run("service").out, "ExecStart")[-2] == str(real)


def test_settings_of_the_shell_are_named_and_not_used(world: World) -> None:
    world.environ |= {
        "OPENAI_API_KEY": "sk-secret",
        "PAPERBOY_DATABASE": "/srv/other.db",
        "SMTP_USERNAME": " ",
    }
    ran = world.run("service")
    assert (
        "Your environment, which the service does not have, sets OPENAI_API_KEY and PAPERBOY_DATABASE"
        in ran.err
    )
    assert values(ran.out, "ReadWritePaths") == [str(world.path)]
    assert "sk-secret" not in ran.out + ran.err


def test_virtual_environment_is_called_by_its_link(world: World, tmp_path: Path) -> None:
    """Its target knows nothing of what is installed there."""
    environment = tmp_path / "new" / "home" / ".venv"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", environment],
        check=True,
    )
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


# ── The pages for readers ────────────────────────────────────────────────────────────────────────────────────────────


def test_unit_of_the_pages_serves_this_home(world: World) -> None:
    world.env(WEB_URL="https://papers.example.org")
    (world.path / "data").mkdir(exist_ok=True)
    ran = world.run("service", "--web")
    assert ran.code == 0
    assert values(ran.out, "ExecStart") == [
        f":{sys.executable}",
        "-m",
        "paperboy",
        "--home",
        str(world.path),
        "web",
    ]
    assert values(ran.out, "User") == [world.path.owner()]
    assert values(ran.out, "ReadWritePaths") == [str(world.path / "data")]
    assert values(ran.out, "IPAddressAllow") == ["localhost"]
    assert "does not exist" not in ran.err


def test_unit_of_the_pages_needs_their_address(world: World) -> None:
    assert ".env: WEB_URL is empty; set it to where readers reach this machine" in world.fails(
        78, "service", "--web"
    )


def test_proxy_on_another_machine_may_reach_the_pages(world: World) -> None:
    world.env(WEB_URL="https://papers.example.org", WEB_LISTEN="192.0.2.7:8025")
    assert values(world.run("service", "--web").out, "IPAddressDeny") == []
    world.env(WEB_URL="https://papers.example.org", WEB_LISTEN="[::1]:8025")
    assert values(world.run("service", "--web").out, "IPAddressDeny") == ["any"]
