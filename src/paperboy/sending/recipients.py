"""Current recipients of each list: sending may take hours, and people leave meanwhile."""

import logging
from collections.abc import Iterable

from paperboy.errors import ConfigError
from paperboy.home.home import Home, load_lists
from paperboy.home.watcher import Watcher
from paperboy.models import MailingList

logger = logging.getLogger(__name__)


class Recipients:
    """Subscribers of each list that is not paused, according to the watched files. While a file is
    broken, the previous version counts.
    """

    def __init__(self, home: Home, watcher: Watcher) -> None:
        self._home = home
        self._watcher = watcher
        self._use(home.lists)

    def reload(self) -> None:
        """Read a newer version, if there is one. Other threads use the previous one meanwhile."""
        source = self._watcher.newer(self._home)
        if source is None:
            return
        try:
            lists = load_lists(source, self._home.settings)
        except ConfigError as error:
            logger.warning("%s\nuntil this is fixed, mail goes to the previous subscribers", error)
            return

        before = self._lists
        self._use(lists)
        if self._lists != before:
            logger.info("the edited lists apply from the next message on")

    def _use(self, lists: Iterable[MailingList]) -> None:
        """Replace the lists. The addresses of each are read on demand."""
        self._lists = {mailing_list.name: mailing_list for mailing_list in lists}
        # Assigned last: a thread that sees the new addresses then also sees the new lists.
        self._addresses = dict[str, frozenset[str]]()

    def __call__(self, list_name: str, address: str) -> bool:
        """Check whether the address is on the list, and the list is not paused."""
        known = self._addresses
        if list_name not in known:
            mailing_list = self._lists.get(list_name)
            if mailing_list is None or mailing_list.paused:
                return False
            known[list_name] = frozenset(mailing_list.addresses())
        return address.lower() in known[list_name]
