"""Homes: an operator's files as they are, and their version in force.

    data/files-*      copies of `.env`, subscribers.yaml with the files that it names, prompts/ and
                      emails/; the previous copy stays for its readers
    data/last-good    a symlink to the version in force, replaced by one rename

The daemon and its children read the version in force. So no morning reads half an edit, and a
broken edit changes nothing, even after a restart.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from paperboy.edges import files, lock
from paperboy.edges.text import did_you_mean, mentions
from paperboy.errors import ConfigError, Problem, StoreWriteError, UnknownNameError, noted
from paperboy.home import lists as mailing_lists
from paperboy.home import people, settings
from paperboy.home.settings import Settings
from paperboy.models import MailingList

logger = logging.getLogger(__name__)

LISTS_FILE = mailing_lists.FILE

MOST_FILES = 30_000  # such as two for each of ten thousand lists

Fingerprint = tuple[tuple[str, tuple[int, ...]], ...]  # names of files, and their stamps


@dataclass(frozen=True, slots=True)
class Home:
    """Settings and lists of a folder, read and checked together."""

    path: Path
    settings: Settings
    lists: tuple[MailingList, ...]
    source: Path  # where they were read: the folder itself, or a copy in force

    @classmethod
    def load(cls, path: Path, environ: Mapping[str, str], copy: Path | None = None) -> Home:
        """Read all files, from a copy if given. Raises ConfigError with the problems of all."""
        require_folder(path)
        source = copy or path
        loaded = Settings()
        problems = list[Problem]()
        with noted(problems):
            loaded = settings.load(path, environ, source)
        with noted(problems):
            lists = load_lists(source, loaded)

        if problems := [*as_known(problems, source), *denied(path, loaded)]:
            raise ConfigError(problems)
        return cls(path, loaded, lists, source)

    @classmethod
    def in_force(cls, path: Path, environ: Mapping[str, str]) -> Home:
        """Read the version in force; the current files if there is none. Raises ConfigError."""
        return cls.load(path, environ, Files(path).in_force())

    @classmethod
    def own_or_in_force(
        cls, path: Path, environ: Mapping[str, str]
    ) -> tuple[Home, ConfigError | None]:
        """Read the current files; if they are broken, the version in force, and add the error."""
        try:
            return cls.load(path, environ), None
        except ConfigError as error:
            return cls.in_force(path, environ), error

    def again(self) -> Home:
        """Return this home with its lists as they are now, or are in force now. Raises ConfigError."""
        in_force = Files(self.path).in_force() if self.source != self.path else None
        source = in_force or self.path
        return replace(self, lists=load_lists(source, self.settings), source=source)

    def database_in_force(self, environ: Mapping[str, str]) -> Path:
        """Return the database of the version in force, or of the current files."""
        return settings.database(self.path, environ, Files(self.path).in_force() or self.path)

    def folders(self, kind: str) -> list[Path]:
        """Return the folders with "emails" or "prompts", the operator's first."""
        return folders(self.source, kind)

    def named(self, names: tuple[str, ...]) -> frozenset[str]:
        """Return the names, or all lists' if there are none. Raises UnknownNameError."""
        for name in names:
            self.list(name)
        return frozenset(names or (mailing_list.name for mailing_list in self.lists))

    def find(self, name: str) -> MailingList | None:
        """Return the list with that name, if there is one."""
        for mailing_list in self.lists:
            if mailing_list.name == name:
                return mailing_list
        return None

    def list(self, name: str) -> MailingList:
        """Return the list with that name. Raises UnknownNameError."""
        if mailing_list := self.find(name):
            return mailing_list

        known = sorted(mailing_list.name for mailing_list in self.lists)
        hint = did_you_mean(name, known) or f"; it has {', '.join(known)}"
        raise UnknownNameError(f"{LISTS_FILE}: there is no list {name!r}{hint}")


def require_folder(home: Path) -> None:
    """Raise ConfigError if the folder does not exist, or this user cannot read it."""
    reason = files.denied(home, os.R_OK)
    if not reason and not home.is_dir():
        reason = "there is no such folder; name it with --home or PAPERBOY_HOME"
    if reason:
        raise ConfigError.at(home, reason)


def denied(home: Path, settings: Settings) -> list[Problem]:
    """Return the first file or folder of the home that this user cannot use as commands need it."""
    database = home / settings.paperboy_database  # default settings have relative paths
    outbox = home / settings.paperboy_outbox
    suffixes = ("", "-wal", "-shm", *lock.FILES.values())
    maildir = ("", "Maildir", "Maildir/new", "Maildir/tmp") if settings.uses_outbox else ()
    written = [
        home / "data",
        database.parent,
        *(Path(f"{database}{suffix}") for suffix in suffixes),
        *(outbox / name for name in maildir),
    ]
    read = [home / "prompts", home / "emails", home / "data" / "last-good"]
    for path in (*written, *read):
        if reason := files.denied(path, os.R_OK if path in read else os.R_OK | os.W_OK):
            return [Problem(str(path), reason)]

    return []


def load_lists(home: Path, settings: Settings) -> tuple[MailingList, ...]:
    """Return the lists as the files have them now. Raises ConfigError."""
    return mailing_lists.load(home / LISTS_FILE, folders(home, "prompts"), settings)


def list_files(home: Path) -> list[str]:
    """Return subscribers.yaml, and the files of the home that it may name."""
    text = ""
    with suppress(ValueError, FileNotFoundError):
        text = files.read(home / LISTS_FILE).decode(errors="replace")

    root = home.resolve()
    names = [
        name
        for name in people.files_named(text)
        if Path(os.path.realpath(home / name)).is_relative_to(root)
    ]
    return [LISTS_FILE, *names]


def folders(home: Path, kind: str) -> list[Path]:
    """Return the operator's folder, then the installed package's, then the checkout's, as far as
    they exist.

    In a checkout the package has no copy of its own; in an installed wheel there is no checkout.
    """
    package = Path(__file__).parents[1]
    checkout = package.parents[1]
    candidates = [home / kind, package / "defaults" / kind]
    if package.parent == checkout / "src":
        candidates.append(checkout / kind)
    return [folder for folder in candidates if folder.is_dir()]


def as_known(problems: Sequence[Problem], *folders: Path) -> tuple[Problem, ...]:
    """Return distinct problems, with paths relative to the home, and not to a copy of it."""
    for folder in folders:
        prefix = f"{folder}/"
        # Only the first path: others are part of a command, which is run from anywhere.
        problems = [
            Problem(problem.place.replace(prefix, ""), problem.message.replace(prefix, "", 1))
            for problem in problems
        ]

    return tuple(dict.fromkeys(problems))


class Files:
    """Files of a home, and the copies of them that are or were in force."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._data = home / "data"
        self.last_good = self._data / "last-good"

    def in_force(self) -> Path | None:
        """Return the copy in force, if there is one."""
        # Not Path.exists, which raises where this user cannot look.
        exists = os.path.exists(self.last_good)  # noqa: PTH110
        return self.last_good.resolve() if exists else None

    def fingerprint(self) -> Fingerprint:
        """Return a value that changes whenever a file does."""
        return tuple((name, _stamp(self._home / name)) for name in self._names())

    def _names(self) -> list[str]:
        """Return all files, also through links, without the temporary files of editors. A circle of
        links ends at `MOST_FILES`.
        """
        names = [".env", *list_files(self._home)]
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
                    "move others elsewhere, and remove links that form a circle"
                )
                raise ConfigError.at("prompts, emails and files of subscribers", message)

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
        """Return an error of the folder `data`, with the fix."""
        fix = "let Paperboy's user write there, and check that the disk has space"
        return StoreWriteError(f"{self._data}: cannot be written ({error.strerror}); {fix}")


def _contains(file: Path, address: str) -> bool:
    """Check whether a file of lists or subscribers contains the address."""
    try:
        content = files.read(file)
        if mentions(address).search(content.decode(errors="replace")):
            return True
        # A domain may be in Unicode there.
        subscribers = people.SubscribersFile((), file.name, files.text(content).encode())
        return bool(subscribers.all_lines(address))
    except (ValueError, FileNotFoundError):
        return False


def _stamp(file: Path) -> tuple[int, ...]:
    """Return the time of the last change in nanoseconds, then what changes even if `cp -p` keeps
    time and size; or the errno.
    """
    try:
        stat = file.stat()
    except OSError as error:
        return (error.errno or 0,)
    return stat.st_ctime_ns, stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_mode
