"""Notifications to systemd over real sockets; and the unit, as systemd itself reads and rates it."""

from __future__ import annotations

import logging
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.errors import ConfigError
from paperboy.service.systemd import Notifier, unit

# ── What systemd is told ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """Give the address of a systemd, and its end of the socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as inbox:
        inbox.settimeout(120)
        if request.param == "path":
            inbox.bind(str(tmp_path / "notify"))
            yield str(tmp_path / "notify"), inbox
        else:
            inbox.bind("")  # the kernel chooses an abstract name
            yield f"@{inbox.getsockname()[1:].decode()}", inbox


def test_status_is_one_short_line(manager: tuple[str, socket.socket]) -> None:
    """A line more would be another message to systemd, and what is longer than 4096 bytes is none."""
    address, inbox = manager
    to = Notifier(address)
    to.status("foundations: <ada@example.org> broken\nREADY=1\x1b[31m\t\u2028ü \udcff ")
    assert (
        inbox.recv(4096).decode()
        == r"STATUS=foundations: <a…@example.org> broken\nREADY=1\x1b[31m\t\u2028ü \udcff "
    )
    to.status("😀" * 5000)
    line = inbox.recv(8192).decode()
    assert line == "STATUS=" + "😀" * 399 + "…"
    assert len(line.encode()) < 4096


def test_nothing_is_sent_without_a_socket(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    Notifier().send("READY=1")
    assert not caplog.records


@pytest.mark.parametrize(
    "address", ["/nowhere/notify", "/" + "x" * 200, "@" + "x" * 200, "/a\0b", "vsock:2:1"]
)
def test_failed_notification_is_logged_and_never_raised(
    address: str, caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    Notifier(address).send("READY=1")
    assert [record.levelname for record in caplog.records] == ["DEBUG"]
    assert "systemd could not be notified of READY=1" in caplog.text


# ── The unit ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def made_for(*, writable: Sequence[Path] = (), **changes: object) -> str:
    """Return the unit of a daemon, which can write its home and these folders."""
    given_ = {
        "home": Path("/srv/papers"),
        "python": Path(sys.executable),
        "user": "daemon",
        "group": "daemon",
    } | changes
    written = writable if "web" in changes else [given_["home"], *writable]
    return unit(**given_, written=written)  # type: ignore[arg-type, list-item]


def made_for_web(**changes: object) -> str:
    """Return the unit of the pages, which can write the database's folder alone."""
    return made_for(
        **{"web": True, "local": True, "writable": [Path("/srv/papers/data")]} | changes
    )  # type: ignore[arg-type]


BOTH = pytest.mark.parametrize("made", [made_for, made_for_web])


def values(text: str, directive: str) -> list[str]:
    """As systemd reads them: what follows is read by shlex, whose double quotes are systemd's, and %% is a %."""
    lines = [
        line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{directive}=")
    ]
    return [word.replace("%%", "%") for line in lines for word in shlex.split(line)]


def analyze(*arguments: object) -> subprocess.CompletedProcess[str]:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed (Debian's package systemd)")
    version = subprocess.run(
        ["systemd-analyze", "--version"], capture_output=True, text=True, check=True
    ).stdout
    if int(re.findall(r"[0-9]+", version)[0]) < 250:
        pytest.skip("this systemd-analyze cannot rate a file: it needs systemd 250")
    return subprocess.run(
        ["systemd-analyze", "--no-pager", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def complaints(text: str, folder: Path) -> tuple[int, str]:
    (folder / "paperboy.service").write_text(text, "utf-8")
    ran = analyze("verify", folder / "paperboy.service")
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.long("systemd")
@BOTH
def test_systemd_verifies_the_unit_of_a_user_without_complaint(
    made: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds nothing that a user's manager has no right to do, and no reason without its directive."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    text = made(user="", group="")
    (tmp_path / "paperboy.service").write_text(text, "utf-8")
    ran = analyze("--user", "verify", tmp_path / "paperboy.service")
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")
    for directive in (
        "User",
        "Group",
        "After",
        "ProtectSystem",
        "PrivateTmp",
        "ReadWritePaths",
        "IPAddressDeny",
    ):
        assert values(text, directive) == []
    assert values(text, "WantedBy") == ["default.target"]
    assert values(text, "NoNewPrivileges") == ["yes"]
    assert values(text, "UMask") == ["0077"]
    assert "Secrets" not in text
    assert "`systemctl edit" not in text


@BOTH
def test_systemd_verifies_the_unit_without_complaint(
    made: Callable[..., str], tmp_path: Path
) -> None:
    assert complaints(made(), tmp_path) == (0, "")


@pytest.mark.long("systemd")
@BOTH
@pytest.mark.parametrize("user", ["daemon", "root"])
def test_systemd_rates_exposure_at_most_one_and_a_half(
    user: str, made: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "paperboy.service").write_text(made(user=user, group=user), "utf-8")
    said = analyze("security", "--offline=true", tmp_path / "paperboy.service").stdout
    figure = re.findall(r"Overall exposure level for paperboy.service: ([0-9.]+)", said)
    assert float(figure[0]) <= 1.5


@BOTH
@pytest.mark.parametrize("user", ["ada", ""])
def test_each_directive_has_a_reason_above_it(user: str, made: Callable[..., str]) -> None:
    text = made(home=Path("/home/ada/papers"), writable=[Path("/srv/db")], user=user)
    before = ""
    for line in text.splitlines():
        if re.match(r"[A-Z]", line):
            same = before.partition("=")[0] == line.partition("=")[0]
            assert before.startswith("# ") or same or line.startswith("Description="), line
        before = line


def test_pages_are_served_whether_or_not_the_daemon_runs() -> None:
    """Neither unit names the other, so each starts, fails and stops by itself."""
    text = made_for_web()
    assert values(text, "ExecStart")[1:] == ["-m", "paperboy", "--home", "/srv/papers", "web"]
    assert values(text, "SyslogIdentifier") == ["paperboy-web"]
    assert values(text, "Restart") == ["always"]
    for directive in (
        "Requires",
        "Wants",
        "BindsTo",
        "PartOf",
        "Requisite",
        "Upholds",
        "Conflicts",
    ):
        assert values(text, directive) == []
    assert "paperboy.service" not in text


def test_pages_can_write_the_database_alone_and_read_the_home() -> None:
    text = made_for_web(home=Path("/home/ada/papers"), writable=[Path("/home/ada/papers/data")])
    assert values(text, "ReadWritePaths") == ["/home/ada/papers/data"]
    assert values(text, "ProtectHome") == ["read-only"]
    assert values(text, "RequiresMountsFor") == ["/home/ada/papers"]


def test_pages_reach_this_machine_alone_unless_their_proxy_is_elsewhere() -> None:
    text = made_for_web()
    assert (values(text, "IPAddressDeny"), values(text, "IPAddressAllow")) == (
        ["any"],
        ["localhost"],
    )
    text = made_for_web(local=False)
    assert (values(text, "IPAddressDeny"), values(text, "IPAddressAllow")) == ([], [])
    assert values(text, "RestrictAddressFamilies") == ["AF_INET", "AF_INET6"]


def test_only_the_home_and_named_folders_are_writable() -> None:
    text = made_for(
        writable=[Path("/srv/papers/data"), Path("/var/lib/papers"), Path("/srv/papers-old")]
    )
    folders = ["/srv/papers", "/var/lib/papers", "/srv/papers-old"]
    assert values(text, "ReadWritePaths") == folders
    assert values(text, "RequiresMountsFor") == folders
    assert values(text, "ProtectSystem") == ["strict"]
    assert values(text, "ProtectHome") == ["read-only"]


def test_unit_points_to_a_drop_in_for_what_is_not_its_own() -> None:
    """The next printed unit replaces whatever was written into this one; a user's disk is not read-only."""
    secrets = (
        made_for()
        .partition("# Secrets may")[2]
        .partition("#LoadCredential")[0]
        .replace("\n# ", " ")
    )
    assert "under [Service] in `systemctl edit paperboy`" in secrets
    token = (
        made_for()
        .partition("# SMTP_TOKEN_COMMAND runs")[2]
        .partition("\n\n")[0]
        .replace("\n# ", " ")
    )
    assert token.endswith(
        "in `systemctl edit paperboy`.\n#ReadWritePaths=/home/ada/.local/state/oama"
    )
    for other in (made_for(user="", group=""), made_for_web()):
        assert "SMTP_TOKEN_COMMAND" not in other


ODD = "we ird%n %% $HOME ${X} a:b;#'é"


def test_systemd_reads_odd_paths_unchanged(tmp_path: Path) -> None:
    """Had it read the interpreter's path otherwise, it would miss the program."""
    folder = tmp_path / ODD
    folder.mkdir()
    python = folder.with_name(ODD.replace("'", "")) / "python"
    python.parent.mkdir(exist_ok=True)
    python.symlink_to(sys.executable)
    home = folder / 'a "quoted" \\x41 home\\'
    text = made_for(home=home, python=python, writable=[folder / "data"])
    assert complaints(text, tmp_path) == (0, "")
    python.unlink()
    code, said = complaints(text, tmp_path)
    assert code != 0
    assert f"Command {python} is not executable" in said


@given(
    st.text(st.characters(categories=["L", "M", "N", "P", "S"], exclude_characters="/"), min_size=1)
)
def test_printable_path_is_quoted_and_read_back_unchanged(name: str) -> None:
    home = Path("/srv/x") / name
    text = made_for(home=home)
    assert values(text, "ReadWritePaths") == [str(home)]
    assert values(text, "ExecStart")[-2] == str(home)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"home": Path("/srv/a\nExecStartPre=/bin/rm")},
            r"'/srv/a\\nExecStartPre=/bin/rm': .*line end or another control .*; rename it",
        ),
        ({"writable": [Path("/srv/a\x1b")]}, "holds a line end or another control character"),
        ({"writable": [Path("/srv/a\udcff")]}, "holds a line end or another control character"),
    ],
)
def test_path_that_no_unit_can_hold_is_refused(changes: dict[str, object], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        made_for(**changes)
