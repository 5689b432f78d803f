"""A polite client of journals' feeds: one request for each, four hosts at a time, over one
connection a host, with a second between its requests.

A URL may hold a key, so only its host is ever named.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import KW_ONLY, dataclass
from itertools import groupby
from typing import ClassVar
from urllib.parse import urljoin, urlsplit

from paperboy.edges.text import without_url
from paperboy.sources.journals.entries import JournalFeed, read_feed
from paperboy.sources.polite import FaultError, PoliteClient, quoted

HOSTS = 4  # at a time
_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REFUSES = "The publisher refuses programs: see whether another address serves the feed (paperboy manual journals)."
_SETTING = "the feed's address in subscribers.yaml"


@dataclass(eq=False)
class FeedClient(PoliteClient):
    """Client of the feeds of one host, which `url` names."""

    _: KW_ONLY
    delay_seconds: float = 1.0
    seconds: float = 60.0
    tries: int = 2

    purpose = "journal e-mail digests"
    largest_reply = 10_000_000  # bytes
    longest_wait = 30.0
    hints: ClassVar[Mapping[int, str]] = {
        401: _REFUSES,
        403: _REFUSES,
        404: "Look for the feed's new address on the journal's page.",
        410: "Look for the feed's new address on the journal's page.",
    }

    def read(self, url: str) -> JournalFeed:
        """Return the feed at a URL of the host, or where that redirects to. Raises FaultError."""
        return self._retried(lambda: read_feed(self._follow(url), url))

    def _follow(self, url: str) -> bytes:
        self._urls = [url]
        for _ in range(_MOST_REDIRECTS):
            reply = self._reply(self._http, self._urls[-1], _SETTING)
            location = reply.headers.get("Location", "")
            if location:
                self._urls.append(_target(self._urls[-1], location))
            if reply.status not in _REDIRECTS or not location:
                return self._body(reply, _SETTING)
        raise FaultError("redirects without an end", f"Check {_SETTING}.", backoff=0)

    def _quoted(self, foreign: str | bytes) -> str:
        """Quote without the URLs that were asked for, which a server may repeat."""
        text = foreign if isinstance(foreign, str) else foreign[:5_000].decode(errors="replace")
        for url in self._urls:
            text = without_url(text, url)
        return quoted(text)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


def _target(url: str, location: str) -> str:
    """Return where a redirect leads. Raises FaultError."""
    with suppress(ValueError):
        target = urljoin(url, location)
        if urlsplit(target).scheme in {"http", "https"} and urlsplit(target).hostname:
            return target
    what = "redirects to an address that cannot be read"
    raise FaultError(what, f"Check {_SETTING}.", backoff=0)


Reading = JournalFeed | FaultError


def read_all(
    urls: Iterable[str],
    client: Callable[[str], FeedClient],
    progress: Callable[[int, int], object],
) -> dict[str, Reading]:
    """Return what each URL gave, with a `client` of each of its hosts. `progress` is called with
    the number of feeds so far and in all.
    """
    ordered = sorted(set(urls), key=host_of)
    readings = dict[str, Reading]()

    def of_host(of_one: list[str]) -> None:
        with closing(client(of_one[0])) as connection:
            for url in of_one:
                try:
                    readings[url] = connection.read(url)
                except FaultError as fault:
                    readings[url] = fault
                progress(len(readings), len(ordered))

    by_host = [list(of_one) for _, of_one in groupby(ordered, key=host_of)]
    with ThreadPoolExecutor(HOSTS, thread_name_prefix="feeds") as executor:
        for done in [executor.submit(of_host, of_one) for of_one in by_host]:
            done.result()
    return readings


def host_of(url: str) -> str:
    """Return the host, which alone may be named."""
    return urlsplit(url).hostname or ""
