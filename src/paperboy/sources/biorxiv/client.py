"""A polite and dependable client of the API of bioRxiv and medRxiv: all records of a window, or a
FeedError.

    for each page, until the server's count is reached:
        ask for the records after those read so far; retry a page that is broken, up to `tries` times
    a page without records, seen twice, is the end, too: the count may be too large

All records are read, whatever their category: the server ignores a category that it does not know.
"""

import logging
import math
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import KW_ONLY, dataclass
from datetime import date
from functools import partial

from paperboy.errors import FeedError
from paperboy.models import Advance, Paper
from paperboy.sources.biorxiv.records import RecordsPage, Window, read_page
from paperboy.sources.polite import FaultError, PoliteClient

LONGEST = 900.0  # seconds for a window: enough for a month's 250 pages, while lists wait

_NEXT_RUN = "the next run fetches the same days again, so no paper is lost"

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class BiorxivClient(PoliteClient):
    """Client of the API at `url` for one server, by its key."""

    key: str
    _: KW_ONLY
    delay_seconds: float = 1.0
    seconds: float = 60.0
    monotonic: Callable[[], float] = time.monotonic

    purpose = "preprint e-mail digests"
    largest_reply = 16_000_000  # bytes; 30 records take 100,000
    longest_wait = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pause = self.delay_seconds  # the other server's client may have just asked

    def fetch(self, window: Window, progress: Advance = lambda *_: None) -> list[Paper]:
        """Return all papers posted in a window. Raises FeedError if the server does not give all
        records, or has none of the last day.
        """
        papers = dict[str, Paper]()
        versions = frozenset[str]()
        cursor = 0
        total = 1
        newest = date.min
        seen_end = False
        end = self.monotonic() + LONGEST
        with closing(self._http):  # closes the connection; the next request reopens it
            while cursor < total:
                page = self._page(window, cursor, end)
                if not page.size and seen_end:
                    message = "%s: received %d of the %d records that it counts"
                    logger.info(message, self.key, cursor, total)
                    break
                if page.size > 1 and page.versions <= versions:
                    raise FeedError(f"{self._host} sends the same records again; {_NEXT_RUN}")
                seen_end = not page.size
                versions |= page.versions
                newest = max(newest, page.newest)
                papers |= {paper.id: paper for paper in page.papers}
                cursor += page.size
                total = page.total if page.size else total
                progress(cursor, total)
        if newest < window.last:  # the oldest come first
            raise FeedError(f"{self._host} ended before its newest records; {_NEXT_RUN}")
        return list(papers.values())

    def has(self, day: date) -> bool:
        """Check by one request whether there are records of a day. Raises FeedError."""
        with closing(self._http):
            return self._page(Window(day, day), 0, self.monotonic() + LONGEST).size > 0

    def count(self, window: Window) -> int:
        """Count a window's records by one request without a retry. Raises FeedError."""
        try:
            with closing(self._http):
                return self._ask(window, 0).total
        except FaultError as fault:
            fix = f" A morning would ask up to {self.tries} times, with growing waits."
            raise FeedError(
                f"{self._host} {fault}{_fix(fault)}.{fix if fault.backoff else ''}"
            ) from fault

    def _page(self, window: Window, cursor: int, end: float) -> RecordsPage:
        """Ask for a page until it is whole. Raises FeedError, also once the time is up."""
        try:
            return self._retried(partial(self._ask, window, cursor, end))
        except FaultError as fault:
            attempts = f" in {fault.attempts} attempts" if fault.attempts > 1 else ""
            message = f"{self._host} {fault}{attempts}{_fix(fault)}; {_NEXT_RUN}"
            raise FeedError(message) from fault

    def _ask(self, window: Window, cursor: int, end: float = math.inf) -> RecordsPage:
        """Ask once for the records from `cursor` on. Raises FaultError, and FeedError once the time
        is up.
        """
        if self.monotonic() > end:
            minutes = f"{LONGEST / 60:.0f} minutes"
            raise FeedError(f"{self._host} took more than {minutes}; {_NEXT_RUN}")
        url = f"{self.url}/details/{self.key}/{window.first}/{window.last}/{cursor}/json"
        body = self._get(self._http, url, "BIORXIV_API_URL")
        page = read_page(body, self.key, window, cursor)
        if page.bad:
            first = ", ".join(page.bad[:5])
            logger.warning("invalid records left out (%d): %s", len(page.bad), first)
        return page


def _fix(fault: FaultError) -> str:
    """Return the hint as a clause: the reasons of several sources are joined by semicolons."""
    return f"; {fault.hint[0].lower()}{fault.hint[1:-1]}" if fault.hint else ""
