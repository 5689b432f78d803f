"""Versions of a home's files: the files as they are now, and the copy in force.

    data/files-*      copies of `.env`, subscribers.yaml with the files that it names (subscribers,
                      libraries), prompts/ and emails/; the previous copy stays for its readers
    data/last-good    a symlink to the version in force, replaced by one rename

The daemon and its children read the version in force. So no morning reads half an edit, and a
broken edit changes nothing, even after a restart.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path

from paperboy.edges import files
from paperboy.edges.text import mentions
from paperboy.errors import ConfigError, StoreWriteError
from paperboy.home import library, people
from paperboy.home.lists import LISTS_FILE

MOST_FILES = 30_000  # enough for ten thousand lists with two files each

Fingerprint = tuple[tuple[str, tuple[int, ...]], ...]  # names of files, and their stamps


def list_files(home: Path) -> list[str]:
    """Return subscribers.yaml, and the files of subscribers inside the home that it seems to name."""
    return [LISTS_FILE, *_named(home, people.files_named)]


def _named(home: Path, files_named: Callable[[str], list[str]]) -> list[str]:
    text = ""
    with suppress(ValueError, FileNotFoundError):
        text = files.read(home / LISTS_FILE).decode(errors="replace")

    root = home.resolve()
    names = files_named(text)
    return [name for name in names if Path(os.path.realpath(home / name)).is_relative_to(root)]


class Files:
    """Files of a home, and the copies of them that are or were in force."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._data = home / "data"
        self.last_good = self._data / "last-good"

    def in_force(self) -> Path | None:
        """Return the copy in force, if there is one."""
        # os.path, since Path.exists raises in a folder that this user cannot search.
        exists = os.path.exists(self.last_good)  # noqa: PTH110
        return self.last_good.resolve() if exists else None

    def fingerprint(self) -> Fingerprint:
        """Return a value that changes whenever a file does."""
        return tuple((name, _stamp(self._home / name)) for name in self._names())

    def _names(self) -> list[str]:
        """Return the names of all files, following links, but without the temporary files of
        editors. A cycle of links ends at `MOST_FILES`.
        """
        names = [".env", *list_files(self._home), *_named(self._home, library.files_named)]
        for kind in ("prompts", "emails"):
            walk = os.walk(self._home / kind, followlinks=True)
            for folder, subfolders, found in islice(walk, MOST_FILES):
                subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
                names += (
                    os.path.relpath(f"{folder}/{name}", self._home)
                    for name in sorted(found)
                    if not name.startswith(".") and not name.endswith("~")
                )
                if len(names) > MOST_FILES:
                    return names

        return names

    def copy(self) -> Path:
        """Copy the files into a folder that only their owner can read, since `.env` has secrets.

        Raises ConfigError for a file that cannot be read, and StoreWriteError if the copy cannot be
        written.
        """
        names = self._names()
        contents = dict[str, bytes]()
        size = 0

        for name in names:
            if os.path.lexists(self._home / name):
                try:
                    contents[name] = files.read(self._home / name)
                except (ValueError, FileNotFoundError) as error:
                    raise ConfigError.at(name, str(error)) from error
                size += len(contents[name])
            if size > files.MOST_BYTES or len(names) > MOST_FILES:
                message = (
                    f"hold more than 64 MB or {MOST_FILES:,} files; "
                    "move other files elsewhere, and remove links that form a cycle"
                )
                raise ConfigError.at("prompts, emails, libraries and files of subscribers", message)

        if ".env" not in contents and (self.last_good / ".env").exists():
            # Without it, mail would go to the outbox.
            fix = "restore it, or put an empty file in its place"
            raise ConfigError.at(".env", f"is missing; {fix}")

        try:
            self._data.mkdir(mode=0o700, exist_ok=True)
            copy = Path(tempfile.mkdtemp(prefix="files-", dir=self._data))
            for name, content in contents.items():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                (copy / name).write_bytes(content)
        except OSError as error:
            raise self._unwritable(error) from error

        return copy

    def put_in_force(self, copy: Path) -> None:
        """Point the symlink to this copy, and delete all others but the previous one. Raises
        StoreWriteError.
        """
        if not (copy / LISTS_FILE).exists():
            return  # `forget` has deleted the copy and changed the files, which are tried again

        previous = self.last_good.resolve()
        try:
            link = self._data / "last-good.new"
            link.unlink(missing_ok=True)
            link.symlink_to(copy.name)
            link.replace(self.last_good)
        except OSError as error:
            raise self._unwritable(error) from error

        for old in self._data.glob("files-*"):
            if old not in {copy, previous}:
                shutil.rmtree(old, ignore_errors=True)

    def containing(self, address: str) -> list[Path]:
        """Return the copies whose lists contain an address."""
        return [
            copy
            for copy in self._data.glob("files-*")
            if any(_contains(copy / name, address) for name in list_files(copy))
        ]

    def _unwritable(self, error: OSError) -> StoreWriteError:
        fix = "let Paperboy's user write there, and check that the disk has space"
        return StoreWriteError(f"{self._data}: cannot be written ({error.strerror}); {fix}")


def _contains(file: Path, address: str) -> bool:
    try:
        content = files.read(file)
        if mentions(address).search(content.decode(errors="replace")):
            return True
        # A domain may be in Unicode there.
        return bool(people.read(file.name, content).all_lines(address))
    except (ValueError, FileNotFoundError):
        return False


def _stamp(file: Path) -> tuple[int, ...]:
    """Return (ctime, mtime, size, inode, mode), or (errno,) if the file cannot be read."""
    try:
        stat = file.stat()
    except OSError as error:
        return (error.errno or 0,)
    return stat.st_ctime_ns, stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_mode
