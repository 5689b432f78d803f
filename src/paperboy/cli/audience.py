"""Who is on each list, as `subscribers.yaml` has it now: sending may take hours, and people leave meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from paperboy.cli.home import LISTS_FILE, Home, load_lists
from paperboy.errors import ConfigError
from paperboy.models import MailingList

logger = logging.getLogger(__name__)


class Audience:
    """Asked before each message. While the file is broken, its last good version holds; what it needs beside it, as the
    files of its topics, is read again until it is whole.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._addresses = addresses(home.lists)
        # a copy may be older than the file: then that is read at the first look
        self._stamp = self._stamped() if home.source in {None, home.path} else self
        self._complaint = ""

    def __call__(self) -> Mapping[str, frozenset[str]]:
        stamp = self._stamped()
        if stamp != self._stamp or self._complaint:
            self._stamp = stamp
            self._read()
        return self._addresses

    def _read(self) -> None:
        try:
            self._addresses = addresses(load_lists(self._home.path, self._home.settings))
        except ConfigError as error:
            if str(error) != self._complaint:
                logger.warning("%s\nuntil that is mended, mail goes to those who were on the lists before", error)
            self._complaint = str(error)
        else:
            self._complaint = ""

    def _stamped(self) -> object:
        try:
            stat = (self._home.path / LISTS_FILE).stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size


def addresses(lists: Iterable[MailingList]) -> dict[str, frozenset[str]]:
    """The addresses on each list, casefolded."""
    return {entry.name: frozenset(who.address.casefold() for who in entry.subscribers) for entry in lists}
