"""A polite and dependable client of the API of bioRxiv and medRxiv: all records of a window, or a
FeedError.

    for each page, until the server's count is reached:
        ask for what follows the records that are read; retry a page that is broken, up to `tries` times
    a page without records, seen twice, is the end, too: the count may be too large

All records are read, whatever their category: the server ignores a category that it does not know.
"""

import logging
import re
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import KW_ONLY, dataclass
from datetime import date
from urllib.parse import urlsplit

from paperboy import __version__
from paperboy.edges.wire import Http, NoReplyError
from paperboy.errors import FeedError
from paperboy.models import Paper
from paperboy.sources.biorxiv.records import AnswerError, RecordsPage, Window, quoted, read_page

SECONDS = 60.0  # for a whole page
LARGEST_REPLY = 16_000_000  # bytes; 30 records have 100,000
LONGEST = 900.0  # seconds for a window, in which a month's 250 pages fit: lists wait meanwhile
LONGEST_WAIT = 60.0  # seconds; no retry if a Retry-After asks for more

_NEXT_RUN = "the next run fetches the same days again, so no paper is lost"

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class BiorxivClient:
    """Client of the API at `url` for one server, by its key, over one connection and under our own
    User-Agent.
    """

    url: str
    key: str
    _: KW_ONLY
    contact: str = ""  # an address for the server's staff
    delay_seconds: float = 1.0  # before any request; the backoff is a multiple of it
    tries: int = 5  # the first one included
    seconds: float = SECONDS  # for a whole reply
    proxy: str = ""  # a URL, for https
    wait: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._host = urlsplit(self.url).hostname
        self._pause = self.delay_seconds  # before the next request
        contact = re.sub(r"[^ -~]", "", self.contact)  # a header is printable ASCII
        purpose = "; ".join(filter(None, ["preprint e-mail digests", contact]))
        self._headers = {"User-Agent": f"paperboy/{__version__} ({purpose})"}
        self._http = Http(most=LARGEST_REPLY, proxy=self.proxy)

    def fetch(
        self, window: Window, progress: Callable[[int, int], None] = lambda *_: None
    ) -> list[Paper]:
        """Return all papers that were posted in a window, on whose last day the server has some.
        Raises FeedError if it does not give all records.
        """
        papers = dict[str, Paper]()
        versions = frozenset[str]()
        cursor = 0
        total = 1
        newest = date.min
        seen_end = False
        end = self.monotonic() + LONGEST
        with closing(self._http):  # its connection; it can be used again
            while cursor < total:
                page = self._retried(window, cursor, end)
                if not page.size and seen_end:
                    message = "%s: %d of %d records that it counts are there"
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
            return self._retried(Window(day, day), 0, self.monotonic() + LONGEST).size > 0

    def count(self, window: Window) -> int:
        """Count a window's records by one request without a retry. Raises FeedError."""
        try:
            with closing(self._http):
                return self._ask(window, 0).total
        except AnswerError as fault:
            fix = f" A morning would ask up to {self.tries} times, with growing waits."
            raise FeedError(f"{self._host} {fault}{fault.fix}.{fix * fault.again}") from fault

    def _retried(self, window: Window, cursor: int, end: float) -> RecordsPage:
        """Ask for a page until it is whole. Raises FeedError after the last try or the end of the
        time, and if a retry would not help.
        """
        attempt = 0
        while True:
            if self.monotonic() > end:
                minutes = f"{LONGEST / 60:.0f} minutes"
                raise FeedError(f"{self._host} took more than {minutes}; {_NEXT_RUN}")
            attempt += 1
            try:
                return self._ask(window, cursor)
            except AnswerError as fault:
                if not fault.again or attempt >= self.tries or fault.retry_after > LONGEST_WAIT:
                    attempts = f" in {attempt} attempts" if attempt > 1 else ""
                    said = f"{self._host} {fault}{attempts}{fault.fix}; {_NEXT_RUN}"
                    raise FeedError(said) from fault
                backoff = self.delay_seconds * 2**attempt
                self._pause = min(LONGEST_WAIT, max(backoff, fault.retry_after))
                logger.info("%s: %s; retrying in %.0f s", self.key, fault, self._pause)

    def _ask(self, window: Window, cursor: int) -> RecordsPage:
        """Ask once for the records from `cursor` on. Raises AnswerError."""
        path = f"details/{self.key}/{window.first}/{window.last}/{cursor}/json"
        page = read_page(self._get(f"{self.url}/{path}"), self.key, window, cursor)
        if page.bad:
            first = ", ".join(page.bad[:5])
            logger.warning("invalid records left out (%d): %s", len(page.bad), first)
        return page

    def _get(self, url: str) -> bytes:
        """Get a URL after the delay; redirects are refused. Raises AnswerError."""
        self.wait(self._pause)
        self._pause = self.delay_seconds
        try:
            reply = self._http.request("GET", url, self._headers, seconds=self.seconds)
        except NoReplyError as error:
            # Where the host is unknown there is probably no network: do not retry.
            what = f"gave no whole reply ({quoted(str(error))})"
            fix = "check the network and BIORXIV_API_URL"
            raise AnswerError(what, fix, again=not error.unknown) from error

        if reply.status == 200:
            return reply.body
        text = quoted(reply.body[:2_000].decode(errors="replace"))
        what = f"answered HTTP {reply.status} ({text})".removesuffix(" ()")
        again = reply.status in {408, 425, 429} or reply.status >= 500
        asked = reply.headers.get("Retry-After", "")
        raise AnswerError(
            what,
            "" if again else "check BIORXIV_API_URL",
            again=again,
            retry_after=float(asked) if asked.isdecimal() else 0.0,
        )
