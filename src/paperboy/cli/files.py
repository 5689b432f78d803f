"""The last good version of a home's files: what the daemon and its mornings go by.

An operator edits files while the daemon runs. Each version is copied and tried as a whole, in a process of its own,
and takes the place of the last good one only if it is sound. So a morning never meets half an edit, and a broken one
changes nothing, whatever is restarted meanwhile.

    new         the copy that is tried
    next        the last that was sound, until nobody reads the one before
    good        the one in force
    old         the one before, for the moment in which `next` becomes `good`
    faults      what was wrong with the last one that was tried, as JSON
    faults.new  that, until it is written to its end
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from paperboy.config.home import FILES, LISTS_FILE, Home
from paperboy.errors import ConfigError
from paperboy.models import Problem

_FILES = (".env", LISTS_FILE)
_FOLDERS = ("prompts", "emails")

_MOST_COPIES = 5  # of files that change while they are copied
_BETWEEN = 1.0  # seconds, from one of them to the next

Stamp = tuple[str, tuple[int, ...]]  # a file, and what changes with it
Stamps = tuple[Stamp, ...]


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
        try:
            return Home.load(self._home, {**environ, FILES: str(self.good)})
        except ConfigError as error:
            raise ConfigError([self.at_home(problem) for problem in error.problems]) from None

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
        """What tells whether one of the files has changed; of one that cannot be read, why."""
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

    def copy_whole(self, wait: Callable[[float], None]) -> None:
        """As `copy`, and none of it is from before an edit and another part from behind it. Raises OSError, too, where
        the files change however often they are copied.
        """
        changed: set[Stamp] = set()
        for number in range(_MOST_COPIES):
            if number:
                wait(_BETWEEN)
            before, trouble = self.stamps(), None
            try:
                self.copy()
            except OSError as error:  # an editor may have taken the file away for a moment
                trouble = error
            changed = set(before) ^ set(self.stamps())
            if trouble and not changed:
                raise trouble
            if not changed:
                return
        raise OSError(errno.EBUSY, "it changes all the time; let whatever writes it come to an end", min(changed)[0])

    def copy(self) -> None:
        """Makes the copy that is to be tried, of whatever there is. Raises OSError, with the name of the file."""
        shutil.rmtree(self.new, ignore_errors=True)
        self.new.mkdir(mode=0o700)
        for name in [*_FILES, *self._in_folders()]:
            place = self._home / name
            if not os.path.lexists(place):
                continue
            if hindrance := _hindrance(place):
                raise OSError(errno.EINVAL, hindrance, str(place))
            (self.new / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._leads_out(name):  # stays a link, and is judged as the one in the home
                (self.new / name).symlink_to(place.resolve())
            else:
                shutil.copyfile(place, self.new / name)
        if (self.good / ".env").exists() and not (self.new / ".env").exists():
            raise OSError(errno.ENOENT, "gone; put it back, or an empty file in its place", str(self._home / ".env"))

    def _leads_out(self, name: str) -> bool:
        """Whether it is a file with topics that does not lie where such files have to."""
        folder, place = self._home / "prompts", self._home / name
        is_topics = name.endswith(".md") and place.is_relative_to(folder)
        return is_topics and not place.resolve().is_relative_to(folder.resolve())

    def found_sound(self) -> None:
        """The copy may come into force. Raises OSError."""
        shutil.rmtree(self.folder / "next", ignore_errors=True)
        self.new.rename(self.folder / "next")

    def adopt(self) -> bool:
        """Puts what was found sound in the place of the last good one. False: there is nothing. Nobody may be reading
        the old one. Raises OSError, and the last good one stays: as `good`, or else as `old`.
        """
        following, old = self.folder / "next", self.folder / "old"
        if not following.is_dir():
            return False
        self.prepare()
        if self.good.exists():
            shutil.rmtree(old, ignore_errors=True)
            self.good.rename(old)
        try:
            following.rename(self.good)
        except OSError:
            with suppress(OSError):
                old.rename(self.good)
            raise
        shutil.rmtree(old, ignore_errors=True)
        return True

    def at_home(self, problem: Problem) -> Problem:
        """As the operator knows the files: those of the home, and not our copies."""
        return Problem(self._as_known(problem.place), self._as_known(problem.message))

    def _as_known(self, text: str) -> str:
        for copy in (self.new, self.good):
            text = text.replace(f"{copy}/", "").replace(str(copy), str(self._home))
        return text.replace(f"{self._home}/", "")

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


def _stamp(file: Path) -> Stamp:
    """Not only its time and size, which `cp -p` and `rsync -t` may keep."""
    try:
        stat = file.stat()
    except OSError as error:
        return str(file), (error.errno or 0,)
    return str(file), (stat.st_mtime_ns, stat.st_size, stat.st_ctime_ns, stat.st_ino, stat.st_mode)


def _hindrance(place: Path) -> str:
    """Why it cannot be copied, and what to do; empty: it can."""
    if place.is_dir():
        return "it is a folder; put a file in its place"
    if place.is_symlink() and not place.exists():
        return "it is a link to a file that does not exist; mend the link, or put a file in its place"
    if not place.is_file():
        return "it is no ordinary file; put one in its place"
    if not os.access(place, os.R_OK, effective_ids=True):
        return "it may not be read; let Paperboy's user read it"
    return ""
