"""The last good version of a home's files: what the daemon and its mornings go by.

An operator edits files while the daemon runs. Each version is copied and tried as a whole, in a process of its own,
and takes the place of the last good one only if it is sound. So a morning never meets half an edit, and a broken one
changes nothing, whatever is restarted meanwhile.

    new     the copy that is tried
    good    the last that was sound
    faults  what was wrong with the last one that was not, as JSON
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

from paperboy.cli.home import LISTS_FILE
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

    def stamps(self) -> Stamps:
        """When each of the files was last written, and its size."""
        places = [self._home / name for name in _FILES]
        for name in _FOLDERS:
            places += sorted((self._home / name).rglob("*"))
        found = [(str(file), file.stat()) for file in places if file.is_file()]
        return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in found)

    def copy(self) -> None:
        """Makes the copy that is to be tried, of whatever there is. Raises OSError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.rmtree(self.new, ignore_errors=True)
        self.new.mkdir(mode=0o700)
        for name in _FILES:
            if (self._home / name).is_file():
                shutil.copyfile(self._home / name, self.new / name)
        for name in _FOLDERS:
            if (self._home / name).is_dir():
                shutil.copytree(self._home / name, self.new / name, ignore_dangling_symlinks=True)

    def adopt(self) -> bool:
        """Puts a copy that was found sound in the place of the last good one. False: there is none. Nobody may be
        reading the old one.
        """
        if self.faults() or not self.new.is_dir():
            return False
        old = self.folder / "old"
        shutil.rmtree(old, ignore_errors=True)
        if self.good.exists():
            self.good.rename(old)
        self.new.rename(self.good)
        shutil.rmtree(old, ignore_errors=True)
        return True

    def blame(self, problems: tuple[Problem, ...]) -> None:
        """Keeps what is wrong with the copy; nothing, and it is sound."""
        draft = self.folder / "faults.new"
        draft.write_text(json.dumps([asdict(problem) for problem in problems]), "utf-8")
        draft.replace(self.folder / "faults")

    def faults(self) -> tuple[Problem, ...]:
        """What was wrong with the version that was tried last."""
        try:
            kept = json.loads((self.folder / "faults").read_text("utf-8"))
        except (OSError, ValueError):
            return ()
        return tuple(Problem(each["place"], each["message"]) for each in kept)
