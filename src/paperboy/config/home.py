"""A home: the folder with an operator's files, and what is read from it."""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from paperboy.config import lists as mailing_lists
from paperboy.config import settings
from paperboy.config.settings import Settings
from paperboy.config.values import did_you_mean
from paperboy.errors import ConfigError, UnknownNameError
from paperboy.models import MailingList, Problem

LISTS_FILE = "subscribers.yaml"
FILES = "PAPERBOY_FILES"  # in the environment of the daemon's children: where the home's last good files are


@dataclass(frozen=True, slots=True)
class Home:
    """The settings and lists of one folder, read and checked together. `source` is where they were read: the folder
    itself, or else the daemon's copy of its last good version.
    """

    path: Path
    settings: Settings
    lists: tuple[MailingList, ...]
    source: Path | None = None

    @classmethod
    def load(cls, path: Path, environ: Mapping[str, str]) -> Home:
        """Reads everything. Raises ConfigError with all that is wrong, in all files."""
        problems: list[Problem] = []
        if not path.is_dir():
            raise ConfigError([Problem(str(path), "there is no such folder; name it with --home or PAPERBOY_HOME")])
        files = Path(environ.get(FILES) or path)
        found = Settings()
        try:
            found = settings.load(path, environ, files)
        except ConfigError as error:
            problems += error.problems
        lists: tuple[MailingList, ...] = ()
        try:
            lists = load_lists(files, found)
        except ConfigError as error:
            problems += error.problems
        if problems:
            raise ConfigError(problems)
        return cls(path, found, lists, files)

    def folders(self, kind: str) -> list[Path]:
        """Where templates ("emails") or prompts ("prompts") are looked for, the operator's first."""
        return folders(self.source or self.path, kind)

    def named(self, names: tuple[str, ...]) -> frozenset[str]:
        """The names, checked; all lists' where none is given. Raises UnknownNameError."""
        known = {entry.name for entry in self.lists}
        for name in names:
            if name not in known:
                meant = did_you_mean(name, known) or "."
                raise UnknownNameError(f"{LISTS_FILE}: there is no list {name!r}{meant} It has {_in_words(known)}.")
        return frozenset(names or known)

    def list(self, name: str) -> MailingList:
        """The list of that name. Raises UnknownNameError."""
        self.named((name,))
        return next(entry for entry in self.lists if entry.name == name)


def load_lists(home: Path, settings: Settings) -> tuple[MailingList, ...]:
    """The lists as the file has them now. Raises ConfigError."""
    return mailing_lists.load(
        home / LISTS_FILE, prompts=folders(home, "prompts"), send_at=settings.send_at, timezone=settings.timezone
    )


def folders(home: Path, kind: str) -> list[Path]:
    """The operator's folder, then the installed package's, then the checkout's, as far as they exist.

    In a checkout the package has no copy of its own; in an installed wheel there is no checkout.
    """
    package = Path(str(importlib.resources.files("paperboy")))
    checkout = package.parents[1]
    places = [home / kind, package / "defaults" / kind]
    if package.parent == checkout / "src":
        places.append(checkout / kind)
    return [folder for folder in places if folder.is_dir()]


def _in_words(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
