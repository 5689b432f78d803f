"""The last good version of a home's files: what the daemon and its mornings go by.

An operator edits files while the daemon runs. Each version is copied and tried as a whole, in a process of its own,
and takes the place of the last good one only if it is sound. So a morning never meets half an edit, and a broken one
changes nothing, whatever is restarted meanwhile.

    new     the copy that is tried
    next    the last that was sound, until nobody reads the one before
    good    the one in force
    faults  what was wrong with the last one that was tried, as JSON
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from paperboy.cli.home import FILES, LISTS_FILE, Home
from paperboy.errors import ConfigError
from paperboy.models import Problem

_FILES = (".env", LISTS_FILE)
_FOLDERS = ("prompts", "emails")

Stamps = tuple[tuple[str, int, int], ...]


class Files:
    """The copies, for their owner alone: they hold the secrets of `.env`."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.folder = home / "data" / "in-force"

    @property
    def good(self) -> Path:
        return self.folder / "good"

    @property
    def new(self) -> Path:
        return self.folder / "new"

    def last_good(self, environ: Mapping[str, str]) -> Home:
        """The home by the version in force. Raises ConfigError."""
        return Home.load(self._home, {**environ, FILES: str(self.good)})

    def home(self, environ: Mapping[str, str]) -> tuple[Home, ConfigError | None]:
        """The home as its files are now; where they are broken, as they were when they last were good, and what is
        wrong now. Raises ConfigError where they never were.
        """
        try:
            return Home.load(self._home, environ), None
        except ConfigError as error:
            if not self.good.is_dir():
                raise
            return self.last_good(environ), error

    def stamps(self) -> Stamps:
        """When each of the files was last written, and its size; of one that cannot be read, why."""
        return tuple(_stamp(self._home / name) for name in [*_FILES, *self._in_folders()])

    def _in_folders(self) -> Iterator[str]:
        """The files of the folders, also behind links; not what editors leave there for a while."""
        for folder in _FOLDERS:
            seen: set[str] = set()
            for place, inner, files in os.walk(self._home / folder, followlinks=True):
                inner[:] = sorted(each for each in inner if not each.startswith("."))
                if (real := os.path.realpath(place)) in seen:
                    inner.clear()
                    continue
                seen.add(real)
                for name in sorted(files):
                    if not name.startswith(".") and not name.endswith("~"):
                        yield os.path.relpath(Path(place) / name, self._home)

    def prepare(self) -> None:
        """Makes the folder, and ends what a kill has left half done. Raises OSError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        if not self.good.exists() and (self.folder / "old").is_dir():
            (self.folder / "old").rename(self.good)

    def copy(self) -> None:
        """Makes the copy that is to be tried, of whatever there is. Raises OSError, with the name of the file."""
        shutil.rmtree(self.new, ignore_errors=True)
        self.new.mkdir(mode=0o700)
        for name in [*_FILES, *self._in_folders()]:
            place = self._home / name
            if not os.path.lexists(place):
                continue
            if not place.is_file():
                reason = "a link to a file that does not exist" if place.is_symlink() else "no file"
                raise OSError(errno.ENOENT, reason, str(place))
            (self.new / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(place, self.new / name)
        if (self.good / ".env").exists() and not (self.new / ".env").exists():
            raise OSError(errno.ENOENT, "gone; put it back, or an empty file in its place", str(self._home / ".env"))

    def found_sound(self) -> None:
        """The copy may come into force. Raises OSError."""
        shutil.rmtree(self.folder / "next", ignore_errors=True)
        self.new.rename(self.folder / "next")

    def adopt(self) -> bool:
        """Puts what was found sound in the place of the last good one. False: there is nothing. Nobody may be reading
        the old one. Raises OSError.
        """
        following, old = self.folder / "next", self.folder / "old"
        if not following.is_dir():
            return False
        shutil.rmtree(old, ignore_errors=True)
        if self.good.exists():
            self.good.rename(old)
        following.rename(self.good)
        shutil.rmtree(old, ignore_errors=True)
        return True

    def blame(self, problems: Sequence[Problem]) -> None:
        """Keeps what is wrong with the copy, each thing once; nothing, and it is sound. Raises OSError."""
        draft = self.folder / "faults.new"
        draft.write_text(json.dumps([asdict(problem) for problem in dict.fromkeys(problems)]), "utf-8")
        draft.replace(self.folder / "faults")

    def faults(self) -> tuple[Problem, ...]:
        """What was wrong with the version that was tried last."""
        try:
            kept = json.loads((self.folder / "faults").read_text("utf-8"))
        except (OSError, ValueError):
            return ()
        return tuple(Problem(each["place"], each["message"]) for each in kept)


def _stamp(file: Path) -> tuple[str, int, int]:
    try:
        stat = file.stat()
    except OSError as error:
        return str(file), -1, error.errno or 0
    return str(file), stat.st_mtime_ns, stat.st_size
