"""A home: an operator's settings and lists, read and checked together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paperboy.edges import files, lock
from paperboy.edges.text import did_you_mean
from paperboy.errors import ConfigError, Problem, UnknownNameError, noted
from paperboy.home import lists as mailing_lists
from paperboy.home import settings
from paperboy.home.lists import LISTS_FILE
from paperboy.home.settings import Settings
from paperboy.home.versions import Files
from paperboy.models import MailingList


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
        """Read the current files; if they are broken, read the version in force, and return their error."""
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
        return next((found for found in self.lists if found.name == name), None)

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
    """Return a problem for the first file or folder to which this user lacks the access that is needed."""
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


def load_lists(home: Path, settings: Settings, *, titled: bool = True) -> tuple[MailingList, ...]:
    """Return the lists as the files have them now; see `lists.load`. Raises ConfigError."""
    prompts = folders(home, "prompts")
    return mailing_lists.load(home / LISTS_FILE, prompts, settings, titled=titled)


def folders(home: Path, kind: str) -> list[Path]:
    """Return the folders that exist: the operator's, then the installed package's, then the
    checkout's.

    In a checkout the package has no copy of its own; in an installed wheel there is no checkout.
    """
    package = Path(__file__).parents[1]
    checkout = package.parents[1]
    candidates = [home / kind, package / "defaults" / kind]
    if package.parent == checkout / "src":
        candidates.append(checkout / kind)
    return [folder for folder in candidates if folder.is_dir()]


def as_known(problems: Sequence[Problem], *folders: Path) -> tuple[Problem, ...]:
    """Return distinct problems, with paths relative to the home even if a copy of it was read."""
    for folder in folders:
        prefix = f"{folder}/"
        # Only the first path: later ones belong to a command, which has to work from any folder.
        problems = [
            Problem(problem.place.replace(prefix, ""), problem.message.replace(prefix, "", 1))
            for problem in problems
        ]

    return tuple(dict.fromkeys(problems))
