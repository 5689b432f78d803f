"""The arXiv API made polite and dependable: a whole list of papers, or a FeedError.

    for each window of seven days (the last one takes what remains of a week):
        for each page, until arXiv's own count is reached:
            ask; a page that is broken, empty or refused is asked for again, up to `tries` times
        fewer different papers than arXiv counts: read the window again

Two internals of the `arxiv` package are touched: `Client.query_url_format` leads it to another address, and
`Client._session` is ours, which lets only whole pages reach its lenient parser.
"""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import urlsplit

import arxiv
import requests
from requests.structures import CaseInsensitiveDict

from paperboy import __version__
from paperboy.arxiv_feed.atom import FaultError, Head, check_page, paper_from, plain_text, refusal
from paperboy.errors import FeedError
from paperboy.models import Paper

LARGEST_PAGE = 2_000
WINDOW = timedelta(days=7)  # some 7,000 papers in all of arXiv, which pages through 30,000
POLITE_DELAY = 3.0  # seconds; arXiv's terms of use
LONGEST_WAIT = 600.0  # seconds, also where a Retry-After asks for more

T = TypeVar("T")
Progress = Callable[[int, int], None]  # papers so far, papers in total

logger = logging.getLogger(__name__)


class ArxivFeed:
    """Asks the arXiv API at `url`, over one connection and under our own User-Agent.

    `delay_seconds` lie between any two requests, never under 3 against arxiv.org; longer waits are multiples of it.
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
        self._url = url
        self._host = host or "the feed's address"
        self._delay = max(delay_seconds, POLITE_DELAY) if at_arxiv else delay_seconds
        self._page_size = min(page_size, LARGEST_PAGE)
        self._tries = tries
        self._wait = wait
        self._pause = 0.0  # before the next request
        self._session = _Session(contact, timeout)

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
        False also where it does not say.
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
        """Read a window, and again while pages have changed under us, until a pass brings nothing new."""
        papers: dict[str, Paper] = {}

        def one_pass() -> dict[str, Paper]:
            known, start, total, left_out, changed = len(papers), 0, 0, 0, False
            while start < total or not start:
                head, page = self._retried(lambda start=start: self._ask(query, start, self._page_size))  # type: ignore[misc]
                changed |= start > 0 and head.total != total
                total, left_out = head.total, left_out + len(head.bad)
                start += len(page) + len(head.bad)
                papers.update({paper.arxiv_id: paper for paper in page})
                progress(before + len(papers), before + total)
            if changed or len(papers) + left_out < total:
                if len(papers) > known:
                    raise FaultError(f"counts {total} papers and lists only {len(papers)} different ones")
                logger.warning("%s counts %d papers, and lists %d even so", self._host, total, len(papers))
            return papers

        return self._retried(one_pass)

    def _retried(self, ask: Callable[[], T]) -> T:
        """Call `ask` until it succeeds. Raises FeedError after the last try, and where a retry would not help."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return ask()
            except FaultError as fault:
                if fault.final or attempt >= self._tries or fault.retry_after > LONGEST_WAIT:
                    tries = f", at the last of {attempt} tries" if attempt > 1 else ""
                    then = "" if fault.final else " The next run asks for the same days again, so no paper is lost."
                    raise FeedError(f"{self._host} {fault}{tries}. {fault.hint}{then}".replace("  ", " ")) from fault
                backoff = self._delay * (10 if fault.busy else 2) * 2.0 ** (attempt - 1)
                self._pause = max(self._delay, min(LONGEST_WAIT, max(backoff, fault.retry_after)))
                logger.warning("%s %s; asking again in %.0f s", self._host, fault, self._pause)

    def _ask(self, query: str, start: int, page_size: int) -> tuple[Head, list[Paper]]:
        """Make exactly one request. Raises FaultError."""
        client = arxiv.Client(page_size=page_size, delay_seconds=0, num_retries=0)
        client.query_url_format = self._url + "?{}"
        client._session = self._session
        by, order = arxiv.SortCriterion.SubmittedDate, arxiv.SortOrder.Ascending
        results = client.results(arxiv.Search(query, max_results=None, sort_by=by, sort_order=order), offset=start)
        if self._pause:
            self._wait(self._pause)
        self._pause = self._delay
        try:
            first = next(results)  # here the package asks; reading past the page's last entry would ask once more
            head = self._session.head_of_page
            papers = [paper_from(result) for result in (first, *islice(results, head.readable - 1))]
        except (arxiv.ArxivError, ValueError, OverflowError, StopIteration) as error:
            raise FaultError(f"sent a page that the arxiv package cannot read ({error})") from error
        if head.bad:
            logger.warning("Left out: %s from %s. Every morning asks for it again.", ", ".join(head.bad), self._host)
        return head, papers


class _Session(requests.Session):
    """The connection that the package asks through. Raises FaultError for anything but a whole page of papers."""

    def __init__(self, contact: str, timeout: tuple[float, float]) -> None:
        super().__init__()
        safe = "".join(character for character in contact if character.isascii() and character.isprintable())
        self._user_agent = f"paperboy/{__version__} (arXiv e-mail digests{'; ' if safe else ''}{safe})"
        self._timeout = timeout
        self.head_of_page = Head(0, 0)

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **options: Any) -> requests.Response:
        """Make one request. The response holds a checked page, and `head_of_page` what is on it."""
        headers = CaseInsensitiveDict(options.pop("headers", None) or {})  # the package names itself here
        headers["User-Agent"] = self._user_agent
        options |= {"headers": headers, "timeout": self._timeout}
        try:
            response = super().request(method, url, *args, **options)
        except requests.RequestException as error:
            cause: BaseException = error  # the innermost says most; requests and urllib3 wrap it in pools
            while cause.__context__ is not None:
                cause = cause.__context__
            said = plain_text(str(cause).encode()) or type(cause).__name__
            raise FaultError(f"could not be reached ({said})", "Check the network and ARXIV_API_URL.") from error
        if response.status_code != 200:
            raise _http_error(response)
        self.head_of_page, body = check_page(response.content)
        checked = requests.Response()
        checked.status_code, checked.url, checked.raw = 200, response.url, io.BytesIO(body)
        return checked


def _http_error(response: requests.Response) -> FaultError:
    status, says = response.status_code, refusal(response.content) or plain_text(response.content)
    what = f"answered HTTP {status}" + (f" ({says})" if says else "")
    if status in {408, 425, 429} or status >= 500:
        value = response.headers.get("Retry-After", "").strip()
        return FaultError(what, busy=status in {429, 503}, retry_after=float(value) if value.isdecimal() else 0.0)
    hints = {400: "Check the categories in subscribers.yaml.", 403: "arXiv may have blocked us: wait some hours."}
    return FaultError(what, hints.get(status, "Check ARXIV_API_URL."), final=True)


def _weeks(since: datetime, until: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Windows in whole minutes; a short last one may well be empty, so it is joined to the one before. Neighbours share
    a minute, since arXiv does not say to which side its seconds belong.
    """
    start = since.replace(second=0, microsecond=0)
    end = (until + timedelta(seconds=59, microseconds=999_999)).replace(second=0, microsecond=0)
    while end - start >= 2 * WINDOW:
        yield start, start + WINDOW
        start += WINDOW
    yield start, end


def _query(categories: Sequence[str], since: datetime, until: datetime) -> str:
    """Minutes in GMT, exactly in this form: arXiv refuses any other."""
    window = f"submittedDate:[{since:%Y%m%d%H%M} TO {until:%Y%m%d%H%M}]"
    union = " OR ".join(f"cat:{category}" for category in categories)
    return f"({union}) AND {window}" if union else window
