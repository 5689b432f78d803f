"""What `paperboy check` says of room on the disk and of private files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paperboy.cli.check_findings import Finding
from paperboy.cli.check_home import disk, free_bytes, may_be_made, privacy
from paperboy.config.settings import Settings


def at(home: Path, **changes: str) -> Settings:
    return replace(
        Settings(**changes), paperboy_database=home / "data" / "paperboy.db", paperboy_outbox=home / "outbox"
    )


@pytest.mark.parametrize(
    ("free", "said", "note", "code"),
    [
        (213_400_000_000, "213.4 GB free at {home}", False, 0),
        (500_000_000, "500 MB free at {home}", False, 0),
        (499_999_999, "only 500 MB free at {home}, and digests are kept there; {fix}", True, 0),
        (50_000_000, "only 50 MB free at {home}, and digests are kept there; {fix}", True, 0),
        (49_000_000, "only 49 MB free at {home}, too little for a morning; {fix}", False, 1),
        (0, "only 0 MB free at {home}, too little for a morning; {fix}", False, 1),
    ],
)
def test_how_much_room_is_enough(tmp_path: Path, free: int, said: str, note: bool, code: int) -> None:
    fix = "make room, or set PAPERBOY_DATABASE to a place on another disk"
    message = said.format(home=tmp_path, fix=fix)
    assert list(disk(at(tmp_path), lambda _: free)) == [Finding("disk", message, exit_code=code, note=note)]


def test_a_disk_is_told_of_once_for_all_that_is_on_it(tmp_path: Path) -> None:
    def places(settings: Settings) -> list[str]:
        return [finding.message.partition(" at ")[2] for finding in disk(settings, lambda _: 10**9)]

    assert places(at(tmp_path)) == [str(tmp_path)]
    elsewhere = replace(at(tmp_path), paperboy_outbox=Path("/proc/outbox"))  # of another kind on every Linux
    assert places(elsewhere) == [str(tmp_path), "/proc"]
    assert places(replace(elsewhere, smtp_host="localhost")) == [str(tmp_path)], "nothing goes to the outbox then"


def test_what_is_free_is_what_the_system_says(tmp_path: Path) -> None:
    before = free_bytes(tmp_path)
    (tmp_path / "large").write_bytes(b"x" * 30_000_000)
    assert before > free_bytes(tmp_path) > 0


def test_a_disk_that_cannot_be_asked_is_not_guessed(tmp_path: Path) -> None:
    def broken(_: Path) -> int:
        raise OSError("stale file handle")

    assert list(disk(at(tmp_path), broken)) == []


def private(home: Path, env: str = "") -> list[str]:
    return [finding.message for finding in privacy(home, at(home)) if finding.note and not finding.exit_code]


def test_nothing_private_yet_is_nothing_to_say(tmp_path: Path) -> None:
    assert private(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("OPENAI_API_KEY=sk-1", True),
        ("export SMTP_PASSWORD='geheim'", True),
        ("OPENAI_API_KEY=\nSMTP_PASSWORD=\nMAIL_FROM=papers@example.org", False),
        ("# OPENAI_API_KEY=sk-1", False),
    ],
)
def test_an_env_that_others_can_read_matters_where_it_holds_a_secret(tmp_path: Path, text: str, told: bool) -> None:
    env = tmp_path / ".env"
    env.write_text(text)
    env.chmod(0o644)
    said = f"{env} is open to others than its owner (mode 644); chmod 600 {env}"
    assert private(tmp_path) == ([said] if told else [])
    env.chmod(0o600)
    assert private(tmp_path) == []


def test_a_database_that_others_can_read_and_a_folder_where_they_can_replace_it(tmp_path: Path) -> None:
    home = tmp_path / "my home"
    folder = home / "data"
    folder.mkdir(parents=True)
    database = folder / "paperboy.db"
    database.touch()
    folder.chmod(0o775)
    database.chmod(0o660)
    assert private(home) == [
        f"{database} is open to others than its owner (mode 660); chmod 600 '{database}'",
        f"others than its owner can write to {folder} (mode 775), and so replace the database; chmod go-w '{folder}'",
    ]
    folder.chmod(0o755)
    database.chmod(0o600)
    assert private(home) == []
    folder.chmod(0o1777)
    assert private(home) == [], "as in /tmp, nobody can replace a file of ours"


def test_a_place_may_be_made_where_the_nearest_folder_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert may_be_made(tmp_path / "a" / "b" / "c")
    assert not may_be_made(tmp_path / "file" / "b")
