"""Who is on each list, as `subscribers.yaml` has it now: sending may take hours, and people leave meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from pathlib import Path

from paperboy.cli.files import Files, Stamps
from paperboy.config.home import LISTS_FILE, Home, load_lists
from paperboy.errors import ConfigError
from paperboy.models import MailingList

logger = logging.getLogger(__name__)


class Membership(Enum):
    """How an address stands to a list."""

    ON = auto()
    LEAVING = auto()  # it is not on it, and that may be half an edit
    GONE = auto()


_HALF_AN_EDIT = timedelta(minutes=1)  # cut, saved, and not pasted yet; or saved in pieces
_AGES_AGO = datetime.min.replace(tzinfo=UTC)


class Audience:
    """Asked before each message. Whoever is not in the file gets no mail; as gone they count once it has said so for a
    minute. While the file is broken, its last good version holds, and nobody is gone; what it needs beside it, as the
    files of its topics, is read again until it is whole.
    """

    def __init__(self, home: Home, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._home, self._clock = home, clock
        self._on = addresses(home.lists)
        self._since = _changed((home.source or home.path) / LISTS_FILE, _AGES_AGO)  # nobody else was on the lists
        self._left: dict[tuple[str, str], datetime] = {}  # and who was, by list and address, is not since
        self._stamp: object = self  # the file may be newer than what was read: a first look is taken
        self._files = Files(home.path)
        self._beside: Stamps = ()  # what a broken file needs beside it may be whole by now
        self._complaint = ""

    def has(self, list_name: str, address: str) -> bool:
        """Whether mail of the list still goes to the address; who is gone for less than a minute counts as there."""
        return self(list_name, address, self._clock()) is not Membership.GONE

    def __call__(self, list_name: str, address: str, now: datetime) -> Membership:
        stamp = self._stamped()
        if stamp != self._stamp or (self._complaint and self._files.stamps() != self._beside):
            self._stamp, self._beside = stamp, self._files.stamps()
            self._read(now)
        folded = address.casefold()
        if folded in self._on.get(list_name, frozenset()):
            return Membership.ON
        since = self._left.get((list_name, folded), self._since)
        # a clock that was put back, and leaves them in the future, holds nothing up
        return Membership.LEAVING if self._complaint or abs(now - since) < _HALF_AN_EDIT else Membership.GONE

    def _read(self, now: datetime) -> None:
        try:
            on = addresses(load_lists(self._home.path, self._home.settings))
        except ConfigError as error:
            if str(error) != self._complaint:
                logger.warning("%s\nuntil that is mended, mail goes to those who were on the lists before", error)
            self._complaint = str(error)
            return
        since = _changed(self._home.path / LISTS_FILE, now)  # looked at last: what was read is not younger
        if self._complaint:  # what it said before does not count
            self._complaint, self._since = "", since
            self._left.clear()
        for name, people in self._on.items():
            self._left |= {(name, address): since for address in people - on.get(name, frozenset())}
        self._on = on

    def _stamped(self) -> object:
        """What tells whether the file has changed; not only time and size, which `cp -p` and `rsync -t` may keep."""
        try:
            stat = (self._home.path / LISTS_FILE).stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ctime_ns, stat.st_ino, stat.st_mode


def _changed(file: Path, otherwise: datetime) -> datetime:
    """Since when the file has been as it is, or another one in its place."""
    try:
        return datetime.fromtimestamp(max(file.stat().st_ctime, file.lstat().st_ctime), UTC)
    except OSError:
        return otherwise


def addresses(lists: Iterable[MailingList]) -> dict[str, frozenset[str]]:
    """The addresses on each list, casefolded."""
    return {entry.name: frozenset(who.address.casefold() for who in entry.subscribers) for entry in lists}
