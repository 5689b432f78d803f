"""Who is on each list, as `subscribers.yaml` has it now: sending may take hours, and people leave meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from paperboy.cli.home import LISTS_FILE, Home
from paperboy.cli.main import Surroundings
from paperboy.errors import ConfigError
from paperboy.models import MailingList

logger = logging.getLogger(__name__)


class Audience:
    """Asked before each message. While the file is broken, its last good version holds."""

    def __init__(self, around: Surroundings, lists: Iterable[MailingList]) -> None:
        self._around = around
        self._addresses = addresses(lists)
        self._stamp = self._stamped()

    def __call__(self) -> Mapping[str, frozenset[str]]:
        stamp = self._stamped()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._addresses = addresses(Home.load(self._around.home, self._around.environ).lists)
            except ConfigError as error:
                logger.warning("%s\nuntil that is mended, mail goes to those who were on the lists before", error)
        return self._addresses

    def _stamped(self) -> object:
        try:
            stat = (self._around.home / LISTS_FILE).stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size


def addresses(lists: Iterable[MailingList]) -> dict[str, frozenset[str]]:
    """The addresses on each list, casefolded."""
    return {entry.name: frozenset(who.address.casefold() for who in entry.subscribers) for entry in lists}
