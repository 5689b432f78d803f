"""A home: the folder with an operator's files, what is read from it, and its last good version.

    data/last-good    a symlink, flipped by one rename, to the version in force:
    data/files-*      copies of `.env`, subscribers.yaml with the files that it names, prompts/ and emails/; the one
                      before stays for its readers

The daemon and its children read the version in force, so that no morning meets half an edit, and a
broken one changes nothing, even over a restart.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from paperboy.edges import files, lock
from paperboy.edges.text import did_you_mean, mentions
from paperboy.errors import ConfigError, StoreWriteError, UnknownNameError, noted
from paperboy.home import lists as mailing_lists
from paperboy.home import people, settings
from paperboy.home.settings import Settings
from paperboy.models import MailingList, Problem

logger = logging.getLogger(__name__)

LISTS_FILE = mailing_lists.FILE
RESTED = timedelta(seconds=10)  # without another change: then an edit is complete

MOST_FILES = 30_000  # such as two for each of ten thousand lists

Fingerprint = tuple[
    tuple[str, tuple[int, ...]], ...
]  # each file with what changes whenever the file does


@dataclass(frozen=True, slots=True)
class Home:
    """The settings and lists of one folder, read and checked together."""

    path: Path
    settings: Settings
    lists: tuple[MailingList, ...]
    source: Path  # where they were read: the folder itself, or a copy in force

    @classmethod
    def load(cls, path: Path, environ: Mapping[str, str], copy: Path | None = None) -> Home:
        """Read everything, from a copy if given. Raises ConfigError with all that is wrong, in all
        files.
        """
        require_folder(path)
        source = copy or path
        found = Settings()
        problems = list[Problem]()
        with noted(problems):
            found = settings.load(path, environ, source)
        with noted(problems):
            lists = load_lists(source, found)
        if problems := [*as_known(problems, source), *denied(path, found)]:
            raise ConfigError(problems)
        return cls(path, found, lists, source)

    @classmethod
    def in_force(cls, path: Path, environ: Mapping[str, str]) -> Home:
        """Read the version in force, or the current files if there never was one. Raises
        ConfigError.
        """
        return cls.load(path, environ, Files(path).in_force())

    @classmethod
    def own_or_in_force(
        cls, path: Path, environ: Mapping[str, str]
    ) -> tuple[Home, ConfigError | None]:
        """Return the current files; if they are broken, the version in force and the error."""
        try:
            return cls.load(path, environ), None
        except ConfigError as error:
            return cls.in_force(path, environ), error

    def database_in_force(self, environ: Mapping[str, str]) -> Path:
        """Return the database of the version in force, or of the current files if there never was
        one.
        """
        return settings.database(self.path, environ, Files(self.path).in_force() or self.path)

    def folders(self, kind: str) -> list[Path]:
        """Return where templates ("emails") or prompts ("prompts") are looked for, the operator's
        first.
        """
        return folders(self.source, kind)

    def named(self, names: tuple[str, ...]) -> frozenset[str]:
        """Return the names, checked; those of all lists if none is given. Raises
        UnknownNameError.
        """
        for name in names:
            self.list(name)
        return frozenset(names or (mailing_list.name for mailing_list in self.lists))

    def find(self, name: str) -> MailingList | None:
        """Return the list of that name, if there is one."""
        return next(
            (mailing_list for mailing_list in self.lists if mailing_list.name == name), None
        )

    def list(self, name: str) -> MailingList:
        """Return the list of that name. Raises UnknownNameError."""
        if found := self.find(name):
            return found
        known = sorted(mailing_list.name for mailing_list in self.lists)
        meant = did_you_mean(name, known) or "."
        raise UnknownNameError(
            f"{LISTS_FILE}: there is no list {name!r}{meant} It has {', '.join(known) or 'none'}."
        )


def require_folder(home: Path) -> None:
    """Raises ConfigError where there is no such folder, or this user cannot look into it."""
    reason = files.denied(home, os.R_OK)
    if not reason and not home.is_dir():
        reason = "there is no such folder; name it with --home or PAPERBOY_HOME"
    if reason:
        raise ConfigError.at(home, reason)


def denied(home: Path, settings: Settings) -> list[Problem]:
    """Return the first file or folder of the home that this user cannot use as commands must."""
    database = home / settings.paperboy_database  # of defaults, relative
    outbox = home / settings.paperboy_outbox
    maildir = ("", "Maildir", "Maildir/new", "Maildir/tmp") if settings.uses_outbox else ()
    beside = (f"{database}{suffix}" for suffix in ("", "-wal", "-shm", *lock.FILES.values()))
    read = [home / "prompts", home / "emails", home / "data" / "last-good"]
    write = [
        home / "data",
        database.parent,
        *map(Path, beside),
        *(outbox / name for name in maildir),
    ]
    for path in (*write, *read):
        if reason := files.denied(path, os.R_OK if path in read else os.R_OK | os.W_OK):
            return [Problem(str(path), reason)]
    return []


def load_lists(home: Path, settings: Settings) -> tuple[MailingList, ...]:
    """Return the lists as the files have them now. Raises ConfigError."""
    return mailing_lists.load(home / LISTS_FILE, folders(home, "prompts"), settings)


def of_lists(home: Path) -> list[str]:
    """Return subscribers.yaml, and the files of the home that it may name."""
    try:
        names = people.named(files.read(home / LISTS_FILE).decode(errors="replace"))
    except (ValueError, FileNotFoundError):
        names = []
    root = home.resolve()
    return [
        LISTS_FILE,
        *(name for name in names if Path(os.path.realpath(home / name)).is_relative_to(root)),
    ]


def folders(home: Path, kind: str) -> list[Path]:
    """Return the operator's folder, then the installed package's, then the checkout's, as far as
    they exist.

    In a checkout the package has no copy of its own; in an installed wheel there is no checkout.
    """
    package = Path(__file__).parents[1]
    checkout = package.parents[1]
    places = [home / kind, package / "defaults" / kind]
    if package.parent == checkout / "src":
        places.append(checkout / kind)
    return [folder for folder in places if folder.is_dir()]


def as_known(problems: Sequence[Problem], *folders: Path) -> tuple[Problem, ...]:
    """Return problems, each once, with paths as the operator knows them: relative to the home, not
    to a copy of it.
    """
    for folder in folders:
        place = f"{folder}/"
        # Only the first: others stand in a command, which is run from anywhere.
        problems = [
            Problem(problem.place.replace(place, ""), problem.message.replace(place, "", 1))
            for problem in problems
        ]
    return tuple(dict.fromkeys(problems))


class Files:
    """The files of a home, and the copies of them that are or were in force."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._data = home / "data"
        self.last_good = self._data / "last-good"

    def in_force(self) -> Path | None:
        """Return the copy in force; None where there never was one."""
        there = os.path.exists(self.last_good)  # noqa: PTH110 - which is False where this user cannot look
        return self.last_good.resolve() if there else None

    def fingerprint(self) -> Fingerprint:
        """Return a value that changes whenever a file does."""
        return tuple((name, _stamp(self._home / name)) for name in self._names())

    def _names(self) -> list[str]:
        """Return the files, also through links, without the temporary files of editors. A link that
        leads round in a circle ends at `MOST_FILES`.
        """
        names = [".env", *of_lists(self._home)]
        for kind in ("prompts", "emails"):
            for place, inner, found in islice(
                os.walk(self._home / kind, followlinks=True), MOST_FILES
            ):
                inner[:] = sorted(folder for folder in inner if not folder.startswith("."))
                kept = (
                    file
                    for file in sorted(found)
                    if not file.startswith(".") and not file.endswith("~")
                )
                names += (os.path.relpath(f"{place}/{file}", self._home) for file in kept)
                if len(names) > MOST_FILES:
                    return names
        return names

    def copy(self) -> Path:
        """Copy the files into a folder for their owner alone: `.env` holds secrets.

        Raises ConfigError for a file that cannot be read, and StoreWriteError where the copy cannot
        be written.
        """
        names = self._names()
        texts = dict[str, bytes]()
        size = 0
        for name in names:
            if os.path.lexists(self._home / name):
                try:
                    texts[name] = files.read(self._home / name)
                except (ValueError, FileNotFoundError) as error:
                    raise ConfigError.at(name, str(error)) from error
                size += len(texts[name])
            if size > files.MOST_BYTES or len(names) > MOST_FILES:
                message = (
                    f"hold more than 64 MB or {MOST_FILES:,} files; "
                    "keep others elsewhere, and no link in a circle"
                )
                raise ConfigError.at("prompts, emails and files of subscribers", message)
        if (
            ".env" not in texts and (self.last_good / ".env").exists()
        ):  # without it, mail would go to the outbox
            raise ConfigError.at(
                ".env", "is missing; restore it, or put an empty file in its place"
            )
        try:
            self._data.mkdir(mode=0o700, exist_ok=True)
            copy = Path(tempfile.mkdtemp(prefix="files-", dir=self._data))
            for name, text in texts.items():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                (copy / name).write_bytes(text)
        except OSError as error:
            raise self._unwritable(error) from error
        return copy

    def put_in_force(self, copy: Path) -> None:
        """Flip the symlink to this copy, and delete older ones than the one before. Raises
        StoreWriteError.
        """
        if not (
            copy / LISTS_FILE
        ).exists():  # `forget` has deleted it, and changed the files: they are tried anew
            return
        before = self.last_good.resolve()
        try:
            link = self._data / "last-good.new"
            link.unlink(missing_ok=True)
            link.symlink_to(copy.name)
            link.replace(self.last_good)
        except OSError as error:
            raise self._unwritable(error) from error
        for old in {*self._data.glob("files-*")} - {copy, before}:
            shutil.rmtree(old, ignore_errors=True)

    def naming(self, address: str) -> list[Path]:
        """Return the copies whose lists name an address."""
        copies = self._data.glob("files-*")
        return [
            copy for copy in copies if any(_names(copy / name, address) for name in of_lists(copy))
        ]

    def _unwritable(self, error: OSError) -> StoreWriteError:
        advice = "let Paperboy's user write there, and check that the disk has space"
        return StoreWriteError(f"{self._data}: cannot be written ({error.strerror}); {advice}")


def _names(file: Path, address: str) -> bool:
    """Check whether a file of lists or subscribers has the address; its domain may be in Unicode
    there.
    """
    try:
        content = files.read(file)
        written = mentions(address).search(content.decode(errors="replace"))
        return bool(
            written
            or people.SubscribersFile((), file.name, files.text(content).encode()).lines(address)
        )
    except (ValueError, FileNotFoundError):
        return False


class CurrentSubscribers:
    """Who is on each list now: sending may take hours, and people leave meanwhile.

    A child of the daemon follows the version in force; elsewhere an edit counts when it has rested
    for ten seconds. While a file is broken, the version before it counts.
    """

    def __init__(self, home: Home, clock: Callable[[], datetime]) -> None:
        self._settings = home.settings
        self._clock = clock
        by_daemon = home.source != home.path
        self._source = Files(home.path).last_good if by_daemon else home.path
        self._rest = timedelta() if by_daemon else RESTED
        self._go_by(home.lists)
        self._seen = _stamps(home.source) if by_daemon else ()

    def look(self) -> None:
        """Read the files if they have changed; meanwhile other threads go by the version before."""
        stamps = _stamps(self._source)
        changed = datetime.fromtimestamp(max(stamps)[0] / 1e9, UTC)
        if stamps == self._seen or abs(self._clock() - changed) < self._rest:
            return
        self._seen = stamps
        try:
            lists = load_lists(self._source, self._settings)
        except ConfigError as error:
            logger.warning(
                "%s\nuntil that is fixed, mail goes to those who were on the lists before", error
            )
            return
        before = self._lists
        self._go_by(lists)
        if self._lists != before:
            logger.info("an edit of the lists counts from the next message on")

    def _go_by(self, lists: Iterable[MailingList]) -> None:
        """Go by these lists from now on. The addresses of one are read when it is asked for."""
        self._lists = {mailing_list.name: mailing_list for mailing_list in lists}
        self._on = dict[
            str, frozenset[str]
        ]()  # last: another thread that has it already finds these lists

    def __call__(self, list_name: str, address: str) -> bool:
        """Return whether the address is on the list, which is not paused."""
        known = self._on
        if list_name not in known:
            found = self._lists.get(list_name)
            known[list_name] = frozenset(found.addresses() if found and not found.paused else ())
        return address.lower() in known[list_name]


def _stamps(folder: Path) -> tuple[tuple[int, ...], ...]:
    return tuple(_stamp(folder / name) for name in of_lists(folder))


def _stamp(file: Path) -> tuple[int, ...]:
    """Return the last change in nanoseconds, with more than time and size, which `cp -p` keeps; or
    the errno.
    """
    try:
        stat = file.stat()
    except OSError as error:
        return (error.errno or 0,)
    return stat.st_ctime_ns, stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_mode
