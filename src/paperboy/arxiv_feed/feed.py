"""The `arxiv` package made polite and dependable.

Polite: one request at a time, arXiv's three seconds between any two of them, our own name, growing waits, Retry-After.
Dependable: the whole list or a `FeedError`, never a silent zero.

    for the window (for its halves, if it holds more than arXiv pages through):
        for each page, until arXiv's own count is reached:
            ask; a page that is broken, empty or unreadable is asked for again, up to `tries` times
        fewer different papers than arXiv counts: the window is read again

The package makes the queries and reads the entries. Two of its internals are touched: `Client.query_url_format` leads
it to another address, and `Client._session` is ours, which lets only whole pages of readable entries reach its lenient
parser.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from math import ceil
from typing import TypeVar
from urllib.parse import urlsplit

import arxiv

from paperboy.arxiv_feed.page import FaultError, named, paper_from
from paperboy.arxiv_feed.session import PoliteSession
from paperboy.errors import FeedError
from paperboy.models import Paper

LARGEST_PAGE = 2_000
LARGEST_WINDOW = 30_000  # results that arXiv pages through
POLITE_DELAY = 3.0  # seconds; arXiv's terms of use
LONGEST_WAIT = 600.0  # seconds, also where a Retry-After asks for more

T = TypeVar("T")
Progress = Callable[[int, int], None]  # papers so far, papers in total

logger = logging.getLogger(__name__)


class ArxivFeed:
    """Asks the arXiv API at `url`.

    `delay_seconds` lie between any two requests of this object, never under 3 against arxiv.org; all longer waits are
    multiples of it. `contact` is an address for arXiv's staff. `timeout` is for connecting and for each read, in
    seconds. `tries` counts the first one too.
    """

    def __init__(
        self,
        url: str,
        *,
        delay_seconds: float = POLITE_DELAY,
        contact: str = "",
        page_size: int = LARGEST_PAGE,
        tries: int = 5,
        timeout: tuple[float, float] = (10, 60),
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        host = urlsplit(url).hostname or ""
        at_arxiv = host == "arxiv.org" or host.endswith(".arxiv.org")
        self._url = url
        self._host = host or "the feed's address"
        self._delay = max(delay_seconds, POLITE_DELAY) if at_arxiv else delay_seconds
        self._page_size = min(page_size, LARGEST_PAGE)
        self._tries = tries
        self._wait = wait
        self._pause = 0.0  # before the next request; nothing lies before the first
        self._session = PoliteSession(contact, timeout)

    def fetch(
        self, categories: Sequence[str], since: datetime, until: datetime, progress: Progress | None = None
    ) -> list[Paper]:
        """All papers submitted to any of `categories` between two aware instants, oldest first.

        The window is widened to whole minutes. Raises `FeedError` where arXiv does not give the whole list; or gives
        none at all, since days without a single paper are one of its faults.
        """
        if not categories:
            raise ValueError("fetch needs at least one category")
        if since.tzinfo is None or until.tzinfo is None or since >= until:
            raise ValueError(f"fetch needs a window between two aware instants, not {since} to {until}")
        start = since.astimezone(UTC).replace(second=0, microsecond=0)
        end = (until.astimezone(UTC) + timedelta(seconds=59, microseconds=999_999)).replace(second=0, microsecond=0)
        with self._session:  # which closes its connection, and can be used again
            papers = self._window(categories, start, end, _Tally(progress))
        return sorted(papers.values(), key=lambda paper: (paper.published, paper.arxiv_id))

    def has_news(self, since: datetime, until: datetime) -> bool:
        """Whether arXiv has a paper of any category submitted between two aware instants, by one small request without
        a second try. False also where it does not say.
        """
        try:
            with self._session:
                page = self._ask(_query((), since, until), 0, page_size=1)
        except FaultError:
            return False
        return any(paper.published >= since for paper in page.papers)

    def probe(self, category: str = "cs.LG") -> int:
        """How many papers arXiv has in that category, by one small request and without a second try. Raises
        `FeedError`.
        """
        try:
            with self._session:
                return self._ask(f"cat:{category}", 0, page_size=1).total
        except FaultError as fault:
            then = fault.hint or f"A morning would ask up to {self._tries} times, with growing waits."
            raise FeedError(f"{self._host} {fault}. {then}") from fault

    def _window(self, categories: Sequence[str], since: datetime, until: datetime, tally: _Tally) -> dict[str, Paper]:
        """The papers of one window, by id."""
        query, earlier = _query(categories, since, until), list[set[str]]()
        try:
            papers = self._insist(lambda: self._all_pages(query, tally, earlier))
        except _TooManyError as error:
            tally.report(0, error.total)
            middle = (since + (until - since) / 2).replace(second=0)
            if middle <= since:
                raise FeedError(
                    f"{self._host} counts {error.total} papers within one minute, which it cannot list."
                ) from error
            # both hold the minute between them: arXiv does not say to which side its seconds belong
            return self._window(categories, since, middle, tally) | self._window(categories, middle, until, tally)
        tally.finished += len(papers)
        return papers

    def _all_pages(self, query: str, tally: _Tally, earlier: list[set[str]]) -> dict[str, Paper]:
        """Every page once. Raises `FaultError` if arXiv's count changes on the way, and if the pages hold fewer papers
        than it counts; unless `earlier` has the very same papers: then it counts or lists them wrongly for good.
        """
        papers: dict[str, Paper] = {}
        start, unreadable, total, changed = 0, 0, 0, False
        while start < total or not start:
            page = self._page(query, start)
            if page.total > LARGEST_WINDOW:
                raise _TooManyError(page.total)
            changed |= bool(start) and page.total != total
            total = page.total
            start += len(page.papers) + len(page.unreadable)
            unreadable += len(page.unreadable)
            papers |= {paper.arxiv_id: paper for paper in page.papers}
            tally.report(len(papers), total)
        if changed or len(papers) + unreadable < total:
            repeated = set(papers) in earlier
            earlier.append(set(papers))
            if not repeated:
                raise FaultError(f"counts {total} papers and lists only {len(papers)} different ones")
            logger.warning("%s counts %d papers, and again lists the same %d", self._host, total, len(papers))
        return papers

    def _page(self, query: str, start: int) -> _Page:
        """One page. Unreadable entries are a reason to ask again; if they stay, they are named in the log and left
        out: while they lie in the window every morning asks for them, and one bad entry must not cost all others.
        """
        incomplete: list[_Page] = []

        def ask() -> _Page:
            page = self._ask(query, start, self._page_size)
            if page.unreadable:
                incomplete.append(page)
                raise FaultError(f"sent {named(page.unreadable)}")
            return page

        try:
            return self._insist(ask)
        except FeedError:
            if not incomplete:
                raise
        page = incomplete[-1]
        logger.warning("Left out: %s from %s. Every morning asks for it again.", named(page.unreadable), self._host)
        return page

    def _insist(self, ask: Callable[[], T]) -> T:
        """What `ask` gives, by the last try at the latest."""
        attempt = 1
        while True:
            try:
                return ask()
            except FaultError as fault:
                if fault.final:
                    raise FeedError(f"{self._host} {fault}; asking again would not help. {fault.hint}") from fault
                if fault.retry_after > LONGEST_WAIT:
                    minutes = ceil(fault.retry_after / 60)
                    raise FeedError(
                        f"{self._host} {fault}, and asks for {minutes} minutes of rest. The next run asks for the same "
                        "days again, so no paper is lost."
                    ) from fault
                if attempt >= self._tries:
                    then = f"{fault.hint} The next run asks for the same days again, so no paper is lost.".lstrip()
                    raise FeedError(f"{self._host} {fault}, at the last of {attempt} tries. {then}") from fault
                self._pause = self._pause_after(fault, attempt)
                logger.warning("%s %s; asking again in %.0f s", self._host, fault, self._pause)
                attempt += 1

    def _pause_after(self, fault: FaultError, attempt: int) -> float:
        growing = self._delay * (10 if fault.busy else 2) * 2.0 ** (attempt - 1)
        return max(self._delay, min(LONGEST_WAIT, max(growing, fault.retry_after)))

    def _ask(self, query: str, start: int, page_size: int) -> _Page:
        """Exactly one request. Raises `FaultError`."""
        client = arxiv.Client(page_size=page_size, delay_seconds=0, num_retries=0)
        client.query_url_format = self._url + "?{}"
        client._session = self._session
        by, order = arxiv.SortCriterion.SubmittedDate, arxiv.SortOrder.Ascending
        results = client.results(arxiv.Search(query, max_results=None, sort_by=by, sort_order=order), offset=start)
        if self._pause:
            self._wait(self._pause)
        self._pause = self._delay
        try:
            first = [next(results)]  # here the package asks; to go on after the page's last would ask once more
            head = self._session.head_of_page
            papers = [paper_from(result) for result in (*first, *islice(results, head.readable - 1))]
        except (arxiv.ArxivError, ValueError, OverflowError, StopIteration) as error:
            raise FaultError(f"sent a page that the arxiv package cannot read ({error})") from error
        return _Page(head.total, tuple(papers), head.unreadable)


@dataclass(frozen=True, slots=True)
class _Page:
    total: int
    papers: tuple[Paper, ...]
    unreadable: tuple[str, ...]


@dataclass
class _Tally:
    """Progress over several windows."""

    progress: Progress | None
    finished: int = 0
    total: int = 0

    def report(self, found: int, total: int) -> None:
        self.total = max(self.total, self.finished + total)
        if self.progress:
            self.progress(self.finished + found, self.total)


class _TooManyError(Exception):
    def __init__(self, total: int) -> None:
        super().__init__(total)
        self.total = total


def _query(categories: Sequence[str], since: datetime, until: datetime) -> str:
    """Minutes in GMT, exactly in this form: arXiv refuses any other."""
    window = f"submittedDate:[{since:%Y%m%d%H%M} TO {until:%Y%m%d%H%M}]"
    union = " OR ".join(f"cat:{category}" for category in categories)
    return f"({union}) AND {window}" if union else window
