"""What stands in a file's place never blocks, never fills memory, and is named in one sentence."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from paperboy.edges import files
from paperboy.errors import ConfigError
from paperboy.home.home import Home
from paperboy.home.versions import Files
from paperboy.mail.templates import Templates
from paperboy.scoring.prompt import Prompt

NO_FILE = "is not a regular file; put one in its place"
READABLE = "it must be a file that Paperboy's user may read"
CONFLICT = "<<<<<<< Updated upstream\na: 1\n=======\na: 2\n>>>>>>> Stashed changes\n"
CONFLICTING = "has a merge conflict (line 1); keep one of the two versions, and remove git's marks"


def a_socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(place))


def of_10_gb(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(10_000_000_000)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkfifo, NO_FILE),
        (lambda place: place.symlink_to("/dev/zero"), NO_FILE),
        (a_socket, f"cannot be read: No such device or address; {READABLE}"),
        (Path.mkdir, f"cannot be read: Is a directory; {READABLE}"),
        (
            lambda place: place.symlink_to("/nowhere"),
            "is a link to a file that does not exist; fix or remove it",
        ),
        (
            lambda place: place.symlink_to(place.name),
            f"cannot be read: Too many levels of symbolic links; {READABLE}",
        ),
        (
            lambda place: place.symlink_to("/proc/self/mem"),
            f"cannot be read: Input/output error; {READABLE}",
        ),
        (of_10_gb, "is larger than 64 MB; is it the right file?"),
        (
            lambda place: place.write_bytes(b"one\ntw\xf6\n"),
            "is not UTF-8 text (line 2); save it as UTF-8",
        ),
        (lambda place: place.write_bytes(CONFLICT.encode()), CONFLICTING),
    ],
)
def test_unreadable_file_is_reported_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "file")
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole message is compared
        files.read_text(tmp_path / "file")
    assert str(caught.value) == message


def test_text_has_no_byte_order_mark_and_one_kind_of_line_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert files.read_text(tmp_path / "file") == "a\nb\nc\n"
    assert files.read(tmp_path / "file") == b"\xef\xbb\xbfa\r\nb\rc\n"


def test_file_whose_size_the_system_does_not_know_is_read_whole() -> None:
    """As those in /proc; a file that grows while it is read takes the same way."""
    version = Path("/proc/version")
    assert version.stat().st_size == 0
    assert files.read(version) == version.read_bytes() != b""
    with pytest.raises(ValueError, match="is larger than"):
        files.read(version, most=20)


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("", 1),
        ("a\n", 2),
        ("<<<<<<<\n>>>>>>> b\n", 3),
        (" <<<<<<< a\n", 2),
        ("\n\n<<<<<<< a\nb\n", 3),
    ],
)
def test_merge_conflict_begins_at_the_first_line_with_gits_mark(before: str, line: int) -> None:
    with pytest.raises(ValueError, match=rf"has a merge conflict \(line {line}\)"):
        files.text(f"{before}{CONFLICT}".encode())


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        "subscribers.yaml",
        "prompts/topics/physics.md",
        "prompts/score.md.j2",
        "emails/digest.txt.j2",
    ],
)
def test_pipe_in_place_of_an_operators_file_is_reported_at_once(tmp_path: Path, name: str) -> None:
    """By `check` and the like, and by the copy that the daemon makes."""
    for folder in ("emails", "prompts/topics"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "subscribers.yaml").write_text(
        "lists: [{name: a, categories: [cs.LG], topics: topics/physics.md}]"
    )
    (tmp_path / "prompts/topics/physics.md").write_text("Everything that moves.")
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(ConfigError) as loaded:
        (
            Home.load(tmp_path, {}),
            Templates.load([tmp_path / "emails"]),
            Prompt([tmp_path / "prompts"]),
        )
    (problem,) = map(str, loaded.value.problems)
    assert NO_FILE in problem
    assert Path(name).name in problem
    with pytest.raises(ConfigError) as copied:
        Files(tmp_path).copy()
    assert str(copied.value) == f"{name}: {NO_FILE}"
