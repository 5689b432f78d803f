"""The arXiv API made polite and dependable: a whole list of papers, or a FeedError.

    for each window of seven days (the last one takes what remains of a week):
        for each page, until arXiv's own count is reached:
            ask; retry a page that is broken, empty or refused, up to `tries` times
        if arXiv counts more papers than it listed: read the window a second time

Two internals of the `arxiv` package are touched: `Client.query_url_format` leads it to another address, and
`Client._session` is ours: it lets only whole pages reach the package's lenient parser.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from types import SimpleNamespace
from urllib.parse import urlsplit

import arxiv
import requests

from paperboy import __version__
from paperboy.arxiv_feed.atom import FaultError, Head, check_page, error_text, paper_from, plain_text
from paperboy.errors import FeedError
from paperboy.models import Paper

LARGEST_PAGE = 2_000
WINDOW = timedelta(days=7)  # some 7,000 papers in all of arXiv, which pages through 30,000
POLITE_DELAY = 3.0  # seconds; arXiv's terms of use
LONGEST_WAIT = 600.0  # seconds; no retry if a Retry-After asks for more
HINTS = {400: "Check the categories in subscribers.yaml.", 403: "arXiv may have blocked us: wait some hours."}

Progress = Callable[[int, int], None]  # papers so far, papers in total

logger = logging.getLogger(__name__)


class ArxivFeed:
    """Asks the arXiv API at `url`, over one connection and under our own User-Agent.

    `delay_seconds` separate any two requests, never under 3 against arxiv.org; the backoff is a multiple of it.
    `contact` is an address for arXiv's staff. `timeout` is for connecting and for each read, in seconds. `tries`
    includes the first one.
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
        self._url, self._host = url, host or "the feed's address"
        self._delay = max(delay_seconds, POLITE_DELAY) if at_arxiv else delay_seconds
        self._page_size, self._tries, self._wait = min(page_size, LARGEST_PAGE), tries, wait
        self._pause = 0.0  # before the next request
        safe = re.sub(r"[^ -~]", "", contact)  # a header is printable ASCII
        self._user_agent = f"paperboy/{__version__} (arXiv e-mail digests{'; ' if safe else ''}{safe})"
        self._timeout = timeout
        self._session = requests.Session()
        self._head = Head(0, 0)  # of the page read last

    def fetch(
        self, categories: Sequence[str], since: datetime, until: datetime, progress: Progress | None = None
    ) -> list[Paper]:
        """Return all papers submitted to any of `categories` between two aware instants, oldest first.

        The window is widened to whole minutes. Raises FeedError if arXiv does not give the whole list, and if it gives
        an empty one: a week without a single paper is one of its faults.
        """
        papers: dict[str, Paper] = {}
        with self._session:  # closes its connection, and can be used again
            for start, end in _weeks(since.astimezone(UTC), until.astimezone(UTC)):
                papers |= self._week(_query(categories, start, end), progress or (lambda *_: None), len(papers))
        return sorted(papers.values(), key=lambda paper: (paper.published, paper.arxiv_id))

    def has_news(self, since: datetime, until: datetime) -> bool:
        """Check whether arXiv has any paper submitted between two aware instants, by one small request without a retry.
        False also if it does not answer.
        """
        try:
            with self._session:
                _, papers = self._ask(_query((), since, until), 0, page_size=1)
        except FaultError:
            return False
        return any(paper.published >= since for paper in papers)

    def probe(self, category: str = "cs.LG") -> int:
        """Count arXiv's papers in a category by one small request without a retry. Raises FeedError."""
        try:
            with self._session:
                return self._ask(f"cat:{category}", 0, page_size=1)[0].total
        except FaultError as fault:
            then = fault.hint or f"A morning would ask up to {self._tries} times, with growing waits."
            raise FeedError(f"{self._host} {fault}. {then}") from fault

    def _week(self, query: str, progress: Progress, before: int) -> dict[str, Paper]:
        """Read a window, and once more if its pages changed while we read them: together two passes skip no paper."""
        papers: dict[str, Paper] = {}
        for _ in range(2):
            start = total = bad = 0
            changed = False
            while start < total or not start:
                head, page = self._retried(query, start)
                changed |= start > 0 and head.total != total
                total, bad = head.total, bad + len(head.bad)
                start += len(page) + len(head.bad)
                papers |= {paper.arxiv_id: paper for paper in page}
                progress(before + len(papers), before + total)
            if not changed and len(papers) + bad >= total:
                return papers
        if len(papers) + bad < total:
            logger.warning("%s counts %d papers and listed only %d, twice", self._host, total, len(papers))
        return papers

    def _retried(self, query: str, start: int) -> tuple[Head, list[Paper]]:
        """Ask for a page until it is whole. Raises FeedError after the last try, and if a retry would not help."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._ask(query, start, self._page_size)
            except FaultError as fault:
                if not fault.backoff or attempt >= self._tries or fault.retry_after > LONGEST_WAIT:
                    tries = f", after {attempt} attempts" if attempt > 1 else ""
                    then = "The next run fetches the same days again, so no paper is lost." if fault.backoff else ""
                    hints = " ".join(filter(None, (fault.hint, then)))
                    raise FeedError(f"{self._host} {fault}{tries}. {hints}") from fault
                backoff = self._delay * fault.backoff * 2.0 ** (attempt - 1)
                self._pause = min(LONGEST_WAIT, max(backoff, fault.retry_after))
                logger.warning("%s %s; asking again in %.0f s", self._host, fault, self._pause)

    def _ask(self, query: str, start: int, page_size: int) -> tuple[Head, list[Paper]]:
        """Make exactly one request. Raises FaultError."""
        client = arxiv.Client(page_size=page_size, delay_seconds=0, num_retries=0)
        client.query_url_format = self._url + "?{}"
        client._session = SimpleNamespace(get=self._get)  # all that the package uses of it
        by, order = arxiv.SortCriterion.SubmittedDate, arxiv.SortOrder.Ascending
        results = client.results(arxiv.Search(query, max_results=None, sort_by=by, sort_order=order), offset=start)
        if self._pause:
            self._wait(self._pause)
        self._pause = self._delay
        try:
            first = next(results)  # the package asks here; reading past the page's last entry would ask once more
            head = self._head
            papers = [paper_from(result) for result in (first, *islice(results, head.readable - 1))]
        except (arxiv.ArxivError, ValueError, OverflowError, StopIteration) as error:
            raise FaultError(f"sent a page that the arxiv package cannot read ({error})") from error
        if head.bad:
            logger.warning("Left out: %s from %s. Every morning asks for it again.", ", ".join(head.bad), self._host)
        return head, papers

    def _get(self, url: str, **_: object) -> SimpleNamespace:
        """Get a checked page for the package. Raises FaultError for anything else."""
        try:
            response = self._session.get(url, headers={"User-Agent": self._user_agent}, timeout=self._timeout)
        except requests.RequestException as error:
            cause: BaseException = error  # the innermost says most; requests and urllib3 wrap it
            while cause.__context__ is not None:
                cause = cause.__context__
            said = plain_text(str(cause).encode()) or type(cause).__name__
            raise FaultError(f"could not be reached ({said})", "Check the network and ARXIV_API_URL.") from error
        status, says = response.status_code, error_text(response.content) or plain_text(response.content)
        what = f"answered HTTP {status}" + (f" ({says})" if says else "")
        if status in {408, 425, 429} or status >= 500:
            rest = response.headers.get("Retry-After", "").strip()
            raise FaultError(what, "", 10 if status in {429, 503} else 2, float(rest) if rest.isdecimal() else 0)
        if status != 200:
            raise FaultError(what, HINTS.get(status, "Check ARXIV_API_URL."), backoff=0)
        self._head, body = check_page(response.content)
        return SimpleNamespace(status_code=status, content=body)


def _weeks(since: datetime, until: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Split a span into windows of whole minutes; a short last week may hold no paper and joins the one before.

    Neighbours share a minute, since arXiv does not say to which side its seconds belong.
    """
    start = since.replace(second=0, microsecond=0)
    end = (until + timedelta(seconds=59, microseconds=999_999)).replace(second=0, microsecond=0)
    while end - start >= 2 * WINDOW:
        yield start, start + WINDOW
        start += WINDOW
    yield start, end


def _query(categories: Sequence[str], since: datetime, until: datetime) -> str:
    """Return the query, with minutes in GMT in exactly the form that arXiv accepts."""
    window = f"submittedDate:[{since:%Y%m%d%H%M} TO {until:%Y%m%d%H%M}]"
    union = " OR ".join(f"cat:{category}" for category in categories)
    return f"({union}) AND {window}" if union else window
