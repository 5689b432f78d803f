"""A polite and dependable client of arXiv's API: a complete list of papers, or a FeedError.

    for each window of seven days (the last one may have almost fourteen):
        for each page, until arXiv's own count is reached:
            ask; retry a page that is broken, empty or refused, up to `tries` times

A paper that moves between pages while they are read may be missed. The next fetch finds it, since
its window begins days before this one ends.

The announcement feed is asked once, without a retry: see announced.py.

`arxiv.Search` describes a query. The pages are fetched here: `arxiv.Client` 4.0 takes an empty or
broken first page for an empty list, keeps the papers of a page that was cut off, retries refusals,
ignores Retry-After, and takes neither a timeout nor a session.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from urllib.parse import urlencode, urlsplit

import arxiv

from paperboy.edges.wire import Http
from paperboy.errors import FeedError
from paperboy.models import Advance, Paper
from paperboy.sources.arxiv.announced import cross_listed
from paperboy.sources.arxiv.atom import EmptyError, FeedPage, Window, read_page, summary
from paperboy.sources.polite import FaultError, PoliteClient
from paperboy.sources.source import MissingIds

WEEK = timedelta(days=7)  # about 7,000 papers; the API pages through at most 30,000
MINUTE = timedelta(minutes=1)
AT_ONCE = 100  # papers requested by their ids
HINTS = {
    400: "Check the categories in subscribers.yaml.",
    403: "arXiv may have blocked us: wait some hours.",
}

_NEXT_RUN = "The next run fetches the same days again, so no paper is lost."

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class ArxivClient(PoliteClient):
    """Client of the arXiv API at `url`."""

    _: KW_ONLY
    clock: Callable[[], datetime]  # to refuse dates in the future
    delay_seconds: float = 3.0
    seconds: float = 180.0  # arXiv's front end answers within 60; a slow line needs the rest
    page_size: int = 2_000  # arXiv gives no more
    feed_url: str = ""  # of the announcement feed, without categories; empty: there is none
    feed_proxy: str = ""

    purpose = "arXiv e-mail digests"
    largest_reply = 64_000_000  # bytes; 2,000 papers take 5,000,000
    longest_wait = 600.0
    busy_backoff = 10
    hints = HINTS

    def fetch(
        self,
        categories: Sequence[str],
        since: datetime,
        until: datetime,
        progress: Advance = lambda *_: None,
    ) -> list[Paper]:
        """Return all papers submitted to any of `categories` between two aware instants, oldest
        first.

        The window is widened to whole minutes. Raises FeedError if arXiv does not give the whole
        list, or if it gives an empty one, as it sometimes does by mistake.
        """
        papers: dict[str, Paper] = {}
        empty: FeedError | None = None
        with closing(self._http):  # closes the connection; the next request reopens it
            for window in _weeks(since, until):
                try:
                    papers |= self._week(categories, window, progress, len(papers))
                except FeedError as error:
                    if not isinstance(error.__cause__, EmptyError):
                        raise
                    empty = error  # a small category may have no paper in one of several weeks
        if empty and not papers:
            raise empty
        return sorted(papers.values(), key=lambda paper: (paper.published, paper.id))

    def has_news(self, since: datetime, until: datetime) -> bool:
        """Check by one request whether arXiv has any paper submitted between two instants. Also
        returns False if arXiv does not answer.
        """
        window = _whole_minutes(since, until)
        try:
            with closing(self._http):
                return bool(self._ask(_search((), window, most=1), window=window).papers)
        except FaultError:
            return False

    def cross_lists(self, categories: Collection[str], missing_ids: MissingIds) -> list[Paper]:
        """Return the papers that today's announcement cross-lists in any of these categories and
        `missing_ids` picks, at most AT_ONCE; empty on weekends, and without a feed. Raises
        FeedError.
        """
        if not self.feed_url:
            return []
        url = f"{self.feed_url.rstrip('/')}/{'+'.join(sorted(categories))}"
        try:
            with closing(Http(most=self.largest_reply, proxy=self.feed_proxy)) as http:
                announced = cross_listed(self._get(http, url, "ARXIV_FEED_URL"))
        except FaultError as fault:
            raise FeedError(f"{urlsplit(self.feed_url).hostname} {fault}") from fault

        crossed = {paper_id: found & {*categories} for paper_id, found in announced.items()}
        ids = sorted(missing_ids(crossed))[:AT_ONCE]
        if not ids:
            return []

        cross_lists = []
        for paper in self.by_ids(ids):
            # The feed may know of a new category before the API does.
            both = dict.fromkeys([*paper.categories, *sorted(crossed[paper.id])])
            cross_lists.append(replace(paper, categories=tuple(both)))
        return cross_lists

    def by_ids(self, ids: Sequence[str]) -> list[Paper]:
        """Return the papers with these ids, at most AT_ONCE, without those that arXiv does not
        have. Raises FeedError.
        """
        search = arxiv.Search(id_list=list(ids), max_results=len(ids))
        try:
            with closing(self._http):
                papers = self._ask(search).papers
        except EmptyError:
            return []
        except FaultError as fault:
            raise FeedError(f"{self._host} {fault}") from fault
        return [paper for paper in papers if paper.id in ids]

    def probe(self, category: str) -> int:
        """Count arXiv's papers in a category by one small request without a retry. Raises
        FeedError.
        """
        by_date = arxiv.SortCriterion.SubmittedDate
        newest = arxiv.Search(f"cat:{category}", max_results=1, sort_by=by_date)
        try:
            with closing(self._http):
                return self._ask(newest).total
        except FaultError as fault:
            fix = fault.hint or f"A morning would ask up to {self.tries} times, with growing waits."
            raise FeedError(f"{self._host} {fault}. {fix}") from fault

    def _week(
        self, categories: Sequence[str], window: Window, progress: Advance, already_read: int
    ) -> dict[str, Paper]:
        search = _search(categories, window, self.page_size)
        papers: dict[str, Paper] = {}
        start = 0  # of the next page
        total = 1
        while start < total:
            page = self._page(search, start, window)
            papers |= {paper.id: paper for paper in page.papers}
            start += len(page.papers) + len(page.bad)
            total = page.total
            progress(already_read + len(papers), already_read + total)
        return papers

    def _page(self, search: arxiv.Search, start: int, window: Window) -> FeedPage:
        """Ask for a page until it is whole. Raises FeedError."""
        try:
            return self._retried(partial(self._ask, search, start, window))
        except FaultError as fault:
            attempts = f", after {fault.attempts} attempts" if fault.attempts > 1 else ""
            advice = f"{fault.hint} {_NEXT_RUN if fault.backoff else ''}".strip()
            raise FeedError(f"{self._host} {fault}{attempts}. {advice}") from fault

    def _ask(self, search: arxiv.Search, start: int = 0, window: Window | None = None) -> FeedPage:
        """Ask once for a page of `search.max_results` papers. Raises FaultError."""
        parameters = {
            "search_query": search.query,
            "id_list": ",".join(search.id_list),
            "sortBy": search.sort_by.value,
            "sortOrder": search.sort_order.value,
            "start": start,
            "max_results": search.max_results,
        }
        url = f"{self.url}?{urlencode(parameters)}"
        body = self._get(self._http, url, "ARXIV_API_URL")
        page = read_page(body, self.clock(), window)
        if page.bad:
            logger.warning(
                "invalid entries left out: %s; every morning requests them again",
                ", ".join(page.bad),
            )
        return page

    def _words(self, body: bytes) -> str:
        return summary(body)


def _whole_minutes(since: datetime, until: datetime) -> Window:
    """Widen a span to whole minutes, the unit of arXiv's queries."""
    start = since.astimezone(UTC)
    end = until.astimezone(UTC) + MINUTE - timedelta(microseconds=1)
    return start.replace(second=0, microsecond=0), end.replace(second=0, microsecond=0)


def _weeks(since: datetime, until: datetime) -> Iterator[Window]:
    """Split a span into windows; a short last week may hold no paper and joins the one before.

    Neighbours share a minute, since arXiv does not say to which side its seconds belong.
    """
    start, end = _whole_minutes(since, until)
    while end - start >= 2 * WEEK:
        yield start, start + WEEK
        start += WEEK
    yield start, end


def _search(categories: Sequence[str], window: Window, most: int) -> arxiv.Search:
    """Return a query, oldest first, with minutes in GMT in exactly the form that arXiv accepts."""
    start, end = window
    query = f"submittedDate:[{start:%Y%m%d%H%M} TO {end:%Y%m%d%H%M}]"
    union = " OR ".join(f"cat:{category}" for category in categories)
    if union:
        query = f"({union}) AND {query}"
    by_date = arxiv.SortCriterion.SubmittedDate
    return arxiv.Search(
        query, max_results=most, sort_by=by_date, sort_order=arxiv.SortOrder.Ascending
    )
