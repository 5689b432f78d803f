"""The part of `paperboy check` that looks at disk and files: is there room, and who can read what is private."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import dotenv

from paperboy.cli.check_findings import Finding
from paperboy.config.settings import Settings

LITTLE = 500_000_000  # bytes; a year of five lists stays under 200 MB
TOO_LITTLE = 50_000_000

_SECRETS = ("OPENAI_API_KEY", "SMTP_PASSWORD")
_OTHERS_READ = 0o077
_OTHERS_WRITE = 0o022
_STICKY = 0o1000  # as of /tmp: others may add files, and not replace ours


def may_be_made(path: Path) -> bool:
    """Whether the nearest folder that exists is one, and may be written."""
    nearest = _nearest(path)
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def free_bytes(folder: Path) -> int:
    """What this user can still write there."""
    return shutil.disk_usage(folder).free


def disk(settings: Settings, free: Callable[[Path], int] = free_bytes) -> Iterator[Finding]:
    """The room on each disk that the home writes to. One that cannot be asked is said by who writes there."""
    places = {"PAPERBOY_DATABASE": settings.paperboy_database}
    if settings.uses_outbox:
        places["PAPERBOY_OUTBOX"] = settings.paperboy_outbox / "Maildir"
    disks: dict[int, tuple[str, Path]] = {}
    for setting, path in places.items():
        folder = _nearest(path)
        disks.setdefault(folder.lstat().st_dev, (setting, folder))
    for setting, folder in disks.values():
        try:
            left = free(folder)
        except OSError:
            continue
        if left >= LITTLE:
            yield Finding("disk", f"{_size(left)} free at {folder}")
            continue
        fix = f"make room, or set {setting} to a place on another disk"
        if left >= TOO_LITTLE:
            yield Finding("disk", f"only {_size(left)} free at {folder}, and digests are kept there; {fix}", note=True)
        else:
            yield Finding("disk", f"only {_size(left)} free at {folder}, too little for a morning; {fix}", exit_code=1)


def privacy(home: Path, settings: Settings) -> Iterator[Finding]:
    """What others than the owner can do with the home's private files."""
    database = settings.paperboy_database
    private = [path for path in (home / ".env", database) if path.is_file()]
    for path in private:
        if _mode(path) & _OTHERS_READ and (path == database or _has_secrets(path)):
            message = f"{path} is open to others than its owner (mode {_mode(path):o}); chmod 600 {_quoted(path)}"
            yield Finding("privacy", message, note=True)
    folder = database.parent
    if folder.is_dir() and _mode(folder) & _OTHERS_WRITE and not _mode(folder) & _STICKY:
        message = (
            f"others than its owner can write to {folder} (mode {_mode(folder):o}), and so replace the database; "
            f"chmod go-w {_quoted(folder)}"
        )
        yield Finding("privacy", message, note=True)


def _nearest(path: Path) -> Path:
    """The nearest of the folders it lies in that is there, whatever it is."""
    return next(parent for parent in path.parents if parent.exists() or parent.is_symlink())


def _has_secrets(path: Path) -> bool:
    values = dotenv.dotenv_values(path, interpolate=False)
    return any(values.get(name) for name in _SECRETS)


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def _size(number: int) -> str:
    return f"{number / 1e9:,.1f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"
