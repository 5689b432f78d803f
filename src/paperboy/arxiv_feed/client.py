"""The arXiv API made polite and dependable: a whole list of papers, or a FeedError.

    for each window of seven days (the last one takes what remains of a week):
        for each page, until arXiv's own count is reached:
            ask; retry a page that is broken, empty or refused, up to `tries` times
        if arXiv counts more papers than it listed: read the window a second time

Two internals of the `arxiv` package are used, since its own loop takes a broken page for the end of the list:
`Client._format_url` here, and its reader of one entry in `atom`.
"""

import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import arxiv
import requests

from paperboy import __version__
from paperboy.arxiv_feed.atom import EmptyError, FaultError, Page, error_text, plain_text, read_page
from paperboy.errors import FeedError
from paperboy.models import Paper

WINDOW = timedelta(days=7)  # some 7,000 papers in all of arXiv, which pages through 30,000
LONGEST_WAIT = 600.0  # seconds; no retry if a Retry-After asks for more
HINTS = {400: "Check the categories in subscribers.yaml.", 403: "arXiv may have blocked us: wait some hours."}

Progress = Callable[[int, int], None]  # papers so far, papers in total

logger = logging.getLogger(__name__)


class ArxivFeed:
    """Asks the arXiv API at `url`, over one connection and under our own User-Agent.

    `delay_seconds` separate any two requests, and the backoff is a multiple of it; the settings refuse less than 3
    against arxiv.org. `contact` is an address for arXiv's staff. `timeout` (seconds) is for connecting and for each
    read. `tries` includes the first one.
    """

    def __init__(
        self,
        url: str,
        *,
        delay_seconds: float = 3.0,
        contact: str = "",
        page_size: int = 2_000,  # arXiv gives no more
        tries: int = 5,
        timeout: tuple[float, float] = (10, 60),
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._host, self._page_size, self._tries = urlsplit(url).hostname, page_size, tries
        self._timeout, self._delay, self._wait = timeout, delay_seconds, wait
        self._pause = 0.0  # before the next request
        safe = re.sub(r"[^ -~]", "", contact)  # a header is printable ASCII
        self._session, self._addresses = requests.Session(), arxiv.Client()
        self._session.headers["User-Agent"] = f"paperboy/{__version__} (arXiv e-mail digests{'; ' * bool(safe)}{safe})"
        self._addresses.query_url_format = url + "?{}"

    def fetch(
        self, categories: Sequence[str], since: datetime, until: datetime, progress: Progress | None = None
    ) -> list[Paper]:
        """Return all papers submitted to any of `categories` between two aware instants, oldest first.

        The window is widened to whole minutes. Raises FeedError if arXiv does not give the whole list, and if it gives
        an empty one, which is one of its faults.
        """
        papers: dict[str, Paper] = {}
        empty: FeedError | None = None
        with self._session:  # closes its connection, and can be used again
            for start, end in _weeks(since.astimezone(UTC), until.astimezone(UTC)):
                try:
                    papers |= self._week(_query(categories, start, end), progress or (lambda *_: None), len(papers))
                except FeedError as error:
                    if not isinstance(error.__cause__, EmptyError):
                        raise
                    empty = error  # one week of several, of a small category
        if empty and not papers:
            raise empty
        return sorted(papers.values(), key=lambda paper: (paper.published, paper.arxiv_id))

    def has_news(self, since: datetime, until: datetime) -> bool:
        """Check by one request whether arXiv has any paper submitted in between. False also if it does not answer."""
        try:
            with self._session:
                return any(paper.published >= since for paper in self._ask(_query((), since, until), 0, 1).papers)
        except FaultError:
            return False

    def probe(self, category: str = "cs.LG") -> int:
        """Count arXiv's papers in a category by one small request without a retry. Raises FeedError."""
        try:
            with self._session:
                return self._ask(f"cat:{category}", 0, page_size=1).total
        except FaultError as fault:
            then = fault.hint or f"A morning would ask up to {self._tries} times, with growing waits."
            raise FeedError(f"{self._host} {fault}. {then}") from fault

    def _week(self, query: str, progress: Progress, before: int) -> dict[str, Paper]:
        """Read a window, and once more if its pages changed while we read them: together two passes skip no paper."""
        papers: dict[str, Paper] = {}
        for _ in range(2):
            start, bad, most, total = 0, 0, 0, 1
            while start < total:
                page = self._retried(query, start)
                papers |= {paper.arxiv_id: paper for paper in page.papers}
                start, bad = start + len(page.papers) + len(page.bad), bad + len(page.bad)
                total, most = page.total, max(most, page.total)
                progress(before + len(papers), before + total)
            if len(papers) + bad >= most:
                return papers
        logger.warning("%s counts %d papers and listed only %d, twice", self._host, most, len(papers))
        return papers

    def _retried(self, query: str, start: int, attempt: int = 1) -> Page:
        """Ask for a page until it is whole. Raises FeedError after the last try, and if a retry would not help."""
        try:
            return self._ask(query, start, self._page_size)
        except FaultError as fault:
            if not fault.backoff or attempt == self._tries or fault.retry_after > LONGEST_WAIT:
                tries = f", after {attempt} attempts" if attempt > 1 else ""
                then = "The next run fetches the same days again, so no paper is lost." if fault.backoff else ""
                raise FeedError(f"{self._host} {fault}{tries}. {f'{fault.hint} {then}'.strip()}") from fault
            self._pause = min(LONGEST_WAIT, max(self._delay * fault.backoff * 2 ** (attempt - 1), fault.retry_after))
            logger.warning("%s %s; retrying in %.0f s", self._host, fault, self._pause)
        return self._retried(query, start, attempt + 1)

    def _ask(self, query: str, start: int, page_size: int) -> Page:
        """Make exactly one request. Raises FaultError."""
        search = arxiv.Search(query, sort_by=arxiv.SortCriterion.SubmittedDate, sort_order=arxiv.SortOrder.Ascending)
        url = self._addresses._format_url(search, start, page_size)
        if self._pause:
            self._wait(self._pause)
        self._pause = self._delay
        try:
            response = self._session.get(url, timeout=self._timeout)
        except requests.RequestException as error:
            cause: BaseException = error  # the innermost says most; requests and urllib3 wrap it
            while cause.__context__ is not None:
                cause = cause.__context__
            said = plain_text(str(cause).encode()) or type(cause).__name__
            raise FaultError(f"could not be reached ({said})", "Check the network and ARXIV_API_URL.") from error
        status, body = response.status_code, response.content
        if status == 200:
            page = read_page(body)
            if page.bad:
                logger.warning("Left out: %s. Every morning asks for it again.", ", ".join(page.bad))
            return page
        what = f"answered HTTP {status} ({error_text(body) or plain_text(body)})".removesuffix(" ()")
        if status in {408, 425, 429} or status >= 500:
            rest = response.headers.get("Retry-After", "").strip()
            raise FaultError(what, "", 10 if status in {429, 503} else 2, float(rest) if rest.isdecimal() else 0)
        raise FaultError(what, HINTS.get(status, "Check ARXIV_API_URL."), backoff=0)


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
