"""Pages that were rendered lately, so that a hundred readers who open one mail at once cost one render."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import NamedTuple

_MOST = 32  # of some 100 kB each


class Whole(NamedTuple):
    """A page as it is sent."""

    body: bytes
    etag: str


class Kept:
    """The pages of one process, by all that they are made of."""

    def __init__(self) -> None:
        self._pages: OrderedDict[Hashable, Whole] = OrderedDict()
        self._lock, self._turn = Lock(), Lock()

    def page(self, key: Hashable, render: Callable[[], str]) -> Whole:
        """The page, rendered if nobody has lately. One is rendered at a time, and nobody who asks for another that is
        kept waits for that.
        """
        if whole := self._known(key):
            return whole
        with self._turn:
            if whole := self._known(key):
                return whole
            body = render().encode(errors="replace")
            whole = Whole(body, hashlib.sha256(body).hexdigest()[:32])
            with self._lock:
                self._pages[key] = whole
                while len(self._pages) > _MOST:
                    self._pages.popitem(last=False)
            return whole

    def _known(self, key: Hashable) -> Whole | None:
        with self._lock:
            if key not in self._pages:
                return None
            self._pages.move_to_end(key)
            return self._pages[key]
