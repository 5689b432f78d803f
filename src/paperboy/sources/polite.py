"""Politeness towards a source's servers: one request at a time, a delay apart, under our own
User-Agent; retries with backoff, no sooner than the server asks.
"""

import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, TypeVar
from urllib.parse import urlsplit

from paperboy import __version__
from paperboy.edges.text import shortened, visible
from paperboy.edges.wire import TRANSIENT, Http, HttpReply, NoReplyError, retry_after

_Page = TypeVar("_Page")

logger = logging.getLogger(__name__)


class FaultError(Exception):
    """No usable answer. The message continues a sentence after the host's name; `hint` is the fix.

    `backoff`: a number of delays; 0: a retry would not help. `retry_after`: the seconds that the
    server asked for. `attempts` includes the first one.
    """

    def __init__(
        self, what: str, hint: str = "", backoff: int = 2, retry_after: float = 0.0
    ) -> None:
        super().__init__(what)
        self.hint = hint
        self.backoff = backoff
        self.retry_after = retry_after
        self.attempts = 1


@dataclass(eq=False)
class PoliteClient:
    """Client of the server at `url`, over one connection. Each source derives its own."""

    url: str
    _: KW_ONLY
    delay_seconds: float  # between any two requests; the backoff is a multiple of it
    seconds: float  # for a whole reply
    contact: str = ""  # an address for the server's staff
    tries: int = 5  # the first one included
    proxy: str = ""  # a URL, for https
    wait: Callable[[float], None] = time.sleep

    purpose: ClassVar[str]  # in the User-Agent
    largest_reply: ClassVar[int]  # bytes, unpacked
    longest_wait: ClassVar[float]  # seconds; no retry if a Retry-After asks for more
    busy_backoff: ClassVar[int] = 2  # delays, after 429 and 503
    hints: ClassVar[Mapping[int, str]] = {}  # by status; for any other: check the setting

    def __post_init__(self) -> None:
        self._host = urlsplit(self.url).hostname
        self._pause = 0.0  # before the next request
        contact = re.sub(r"[^ -~]", "", self.contact)  # a header is printable ASCII
        purpose = "; ".join(filter(None, [self.purpose, contact]))
        self._headers = {"User-Agent": f"paperboy/{__version__} ({purpose})"}
        self._http = Http(most=self.largest_reply, proxy=self.proxy)

    def _retried(self, ask: Callable[[], _Page]) -> _Page:
        """Call `ask` until it succeeds; return its result. Raises FaultError after the last try, or
        earlier if a retry would not help or would have to wait too long.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                return ask()
            except FaultError as fault:
                fault.attempts = attempt
                is_last = not fault.backoff or attempt >= self.tries
                if is_last or fault.retry_after > self.longest_wait:
                    raise
                backoff = self.delay_seconds * fault.backoff * 2 ** (attempt - 1)
                self._pause = min(self.longest_wait, max(backoff, fault.retry_after))
                when = f" in {self._pause:.0f} s" if self._pause >= 1 else ""
                logger.info("%s %s; retrying%s", self._host, fault, when)

    def _get(self, http: Http, url: str, setting: str) -> bytes:
        """Get a URL after the delay; redirects are refused. Raises FaultError, whose hint may name
        `setting`.
        """
        return self._body(self._reply(http, url, setting), setting)

    def _reply(self, http: Http, url: str, setting: str) -> HttpReply:
        """Request a URL after the delay. Raises FaultError if there is no complete reply."""
        if self._pause:
            self.wait(self._pause)
        self._pause = self.delay_seconds
        try:
            return http.request("GET", url, self._headers, seconds=self.seconds)
        except NoReplyError as error:
            # If the host is unknown, there is probably no network, and a retry would not help.
            backoff = 0 if error.unknown else 2
            what = "cannot be reached" if error.unreachable else "did not send a complete reply"
            hint = f"Check the network and {setting}."
            raise FaultError(f"{what} ({self._quoted(str(error))})", hint, backoff) from error

    def _body(self, reply: HttpReply, setting: str) -> bytes:
        """Return the body of a reply with status 200. Raises FaultError."""
        status = reply.status
        if status == 200:
            return reply.body

        what = f"answered HTTP {status} ({self._words(reply.body)})".removesuffix(" ()")
        if location := reply.headers.get("Location"):
            what = f"redirects to {self._quoted(location)}"
        if status in TRANSIENT:
            backoff = self.busy_backoff if status in {429, 503} else 2
            raise FaultError(what, backoff=backoff, retry_after=retry_after(reply.headers))
        raise FaultError(what, self.hints.get(status, f"Check {setting}."), backoff=0)

    def _words(self, body: bytes) -> str:
        return self._quoted(body)

    def _quoted(self, foreign: str | bytes) -> str:
        return quoted(foreign)


def quoted(foreign: str | bytes) -> str:
    """Return a server's words for a message: one line of at most 120 characters, without mark-up,
    safe for a log.
    """
    start = foreign[:2_000]
    text = start if isinstance(start, str) else start.decode(errors="replace")
    return shortened(visible(" ".join(re.sub(r"<[^<>]*>", " ", text).split())), 120)
