"""Bounded replies of servers: every reply has a limit of bytes, and a deadline for all of it.

`BoundedReader` reads a socket; `Http` makes one request and reads its whole reply, including
headers and interim replies. It follows no redirect and ignores the environment: no proxy, no
`.netrc`.
"""

import http.client
import io
import re
import socket
import ssl
import time
import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote

import urllib3

CONNECTS_WITHIN = 10.0  # seconds
TRANSIENT = frozenset({408, 425, 429, *range(500, 1000)})  # statuses after which a retry may help
MOST = 64_000_000  # bytes of any HTTP reply, headers and interim replies included
_PIECE = 65_536  # bytes; a single `read` would first allocate what Content-Length claims
_LONGEST_ERROR = 300  # characters


class NoReplyError(Exception):
    """Request without a complete reply. The text says why, and may quote the server. `slow`: the
    reply timed out; `unreachable`: there was no connection; `unknown`: DNS did not find the host.
    """

    def __init__(
        self, text: str, *, slow: bool = False, unreachable: bool = False, unknown: bool = False
    ) -> None:
        super().__init__(text[:_LONGEST_ERROR])
        self.slow = slow
        self.unreachable = unreachable
        self.unknown = unknown


class TooLargeError(OSError):
    """Reply beyond the limit of bytes."""

    def __init__(self) -> None:
        super().__init__("the reply is too large")


class BoundedReader(io.RawIOBase):
    """Reader of a socket that gives at most `most` bytes, within `seconds`.

    A read raises TimeoutError or TooLargeError, both OSErrors, once a limit is reached.
    """

    def __init__(self, sock: socket.socket, seconds: float, most: int) -> None:
        super().__init__()
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._end = time.monotonic() + seconds
        self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the reply took too long")
        self._sock.settimeout(seconds)
        count = self._raw.readinto(buffer)
        self._left -= count or 0
        if self._left < 0:
            raise TooLargeError
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


@dataclass(frozen=True, slots=True)
class HttpReply:
    """Complete HTTP reply, decompressed."""

    status: int
    headers: Mapping[str, str]  # case-insensitive
    body: bytes


class Http:
    """HTTP client for several threads, which keeps up to `connections` open.

    `most` limits the bytes of a body, compressed and decompressed. `proxy`, a URL, is used for
    https only.
    """

    def __init__(self, *, most: int, proxy: str = "", connections: int = 1) -> None:
        self._most = most
        options: dict[str, Any] = {
            "maxsize": connections,
            "retries": False,
            "ssl_context": ssl.create_default_context(),
        }
        self._http = self._https = urllib3.PoolManager(**options)
        if proxy:
            login = unquote(urllib3.util.parse_url(proxy).auth or "")
            headers = urllib3.make_headers(proxy_basic_auth=login or None)
            self._https = urllib3.ProxyManager(proxy, proxy_headers=headers, **options)

        for pool in (self._http, self._https):
            pool.pool_classes_by_scheme = {"http": _PlainPool, "https": _TlsPool}

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        seconds: float,
    ) -> HttpReply:
        """Make a request and read its whole reply within so many seconds. Raises NoReplyError."""
        pool = self._https if url.lower().startswith("https:") else self._http
        try:
            response = pool.request(
                method,
                url,
                body=body,
                headers={**headers, "Accept-Encoding": "gzip"},
                timeout=urllib3.Timeout(connect=min(seconds, CONNECTS_WITHIN), total=seconds),
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
            with closing(response):
                body = _body(response, self._most)
            return HttpReply(response.status, response.headers, body)
        except _ERRORS as error:
            failure = _no_reply(error)

        raise failure  # without `error`, whose traceback holds the socket and what was read

    def connect(self, url: str, *, seconds: float) -> None:
        """Connect to the URL's host, by TLS for https, and request nothing. Raises NoReplyError."""
        manager = self._https if url.lower().startswith("https:") else self._http
        try:
            pool: Any = manager.connection_from_url(url)
            pool.connect(seconds)
        except _ERRORS as error:
            raise _no_reply(error) from None

    def close(self) -> None:
        self._http.clear()
        self._https.clear()


_ERRORS = (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError, ValueError)
_UNREACHABLE = (
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.ProxyError,
    urllib3.exceptions.SSLError,
)


def retry_after(headers: Mapping[str, str]) -> float:
    """Return how many seconds a reply asks to wait before a retry; 0 if it does not say.

    Retry-After may be seconds or an HTTP date (RFC 9110, 10.2.3), which is compared with the
    server's own clock.
    """
    asked = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", asked):
        return min(float(asked), 1e9)
    try:
        wait = parsedate_to_datetime(asked) - parsedate_to_datetime(headers.get("Date", ""))
    except (ValueError, TypeError, OverflowError):  # no date, no timezone, or an absurd year
        return 0.0
    return max(0.0, wait.total_seconds())


def _body(response: urllib3.BaseHTTPResponse, most: int) -> bytes:
    """Read a body and decompress it. Raises an error of `_ERRORS`."""
    body = bytearray()
    while piece := response.read(_PIECE):
        body += piece
        if len(body) > most:
            raise TooLargeError

    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if not body or encoding in {"", "identity"}:
        return bytes(body)

    gzip = zlib.decompressobj(wbits=31)  # the only encoding that was asked for
    try:
        content = gzip.decompress(body, most + 1)
    except zlib.error:
        raise ValueError("the reply cannot be decompressed") from None

    if len(content) > most:
        raise TooLargeError
    if not gzip.eof:
        raise ValueError("the reply ends too early")
    return content


def _no_reply(error: Exception) -> NoReplyError:
    """Return an error that names the root cause: urllib3 wraps errors in errors."""
    cause: BaseException = error
    while deeper := cause.__cause__ or (not cause.__suppress_context__ and cause.__context__):
        if type(cause) is urllib3.exceptions.ConnectTimeoutError:  # others derive from it
            return NoReplyError("it accepts no connection", unreachable=True)
        cause = deeper
    if isinstance(cause, TimeoutError | urllib3.exceptions.ReadTimeoutError):
        return NoReplyError("the reply took too long", slow=True)
    text = str(getattr(cause, "strerror", None) or cause) or type(cause).__name__
    unknown = isinstance(cause, socket.gaierror) and cause.errno != socket.EAI_AGAIN
    return NoReplyError(text, unreachable=isinstance(error, _UNREACHABLE), unknown=unknown)


class _Response(http.client.HTTPResponse):
    """Reply that is read as a whole within the timeout that the socket had at its first byte."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(BoundedReader(sock, sock.gettimeout() or 0.0, MOST), _PIECE)


class _PlainConnection(urllib3.connection.HTTPConnection):
    response_class = _Response


class _TlsConnection(urllib3.connection.HTTPSConnection):
    response_class = _Response


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _PlainConnection

    def connect(self, seconds: float) -> None:
        """Open and close a connection, through the proxy if there is one."""
        with closing(self._new_conn()) as connection:
            connection.timeout = seconds
            if self.proxy:
                self._prepare_proxy(connection)
            else:
                connection.connect()


class _TlsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _TlsConnection
    connect = _PlainPool.connect
