"""The one way in for what servers send: a reply is limited in bytes, and by a deadline for the
whole of it.

`BoundedReader` reads a socket; `Http` makes one request and reads its whole reply, headers and
interim replies too. It follows no redirect and trusts nothing in the environment: no proxy, no
`.netrc`.
"""

import http.client
import io
import socket
import ssl
import time
import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import urllib3

CONNECTS_WITHIN = 10.0  # seconds
MOST = 64_000_000  # bytes of any HTTP reply, headers and interim replies included
_PIECE = 65_536  # bytes; a whole `read` would first allocate what Content-Length claims
_IN_WORDS = 300  # characters of an error


class NoReplyError(Exception):
    """There is no whole reply; the text says why, and may quote the server. `slow`: the time was
    up; `unknown`: DNS did not find the host.
    """

    def __init__(self, text: str, *, slow: bool = False, unknown: bool = False) -> None:
        super().__init__(text[:_IN_WORDS])
        self.slow = slow
        self.unknown = unknown


class TooLargeError(OSError):
    """More bytes came than the limit allows."""

    def __init__(self) -> None:
        super().__init__("the reply is too large")


class BoundedReader(io.RawIOBase):
    """A socket's bytes: at most `most` of them, within `seconds`.

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
    """A whole HTTP reply, unpacked."""

    status: int
    headers: Mapping[str, str]  # by name in any case
    body: bytes


class Http:
    """Makes HTTP requests, also from several threads; keeps up to `connections` open for the next
    one.

    `most` limits the bytes of a body, as they come and once they are unpacked. `proxy`, a URL, is
    for https alone.
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
        timeout = urllib3.Timeout(connect=min(seconds, CONNECTS_WITHIN), total=seconds)
        pool = self._https if url.lower().startswith("https:") else self._http
        packed = {**headers, "Accept-Encoding": "gzip"}
        try:
            response = pool.request(
                method,
                url,
                body=body,
                headers=packed,
                timeout=timeout,
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
            with closing(response):
                return _whole(response, self._most)
        except (
            urllib3.exceptions.HTTPError,
            http.client.HTTPException,
            OSError,
            ValueError,
        ) as error:
            failure = _no_reply(error)
        raise failure  # without `error`, whose traceback holds the socket and what was read

    def close(self) -> None:
        self._http.clear()
        self._https.clear()


def _whole(response: urllib3.BaseHTTPResponse, most: int) -> HttpReply:
    body = bytearray()
    while piece := response.read(_PIECE):
        body += piece
        if len(body) > most:
            raise TooLargeError
    packing = response.headers.get("Content-Encoding", "").strip().lower()
    unpacked = bytes(body)
    if body and packing not in {"", "identity"}:
        unpacker = zlib.decompressobj(wbits=31)  # of gzip alone, which was asked for
        try:
            unpacked = unpacker.decompress(body, most + 1)
        except zlib.error:
            raise ValueError("the reply is packed and cannot be unpacked") from None
        if len(unpacked) > most:
            raise TooLargeError
        if not unpacker.eof:
            raise ValueError("the reply ends too early")
    return HttpReply(response.status, response.headers, unpacked)


def _no_reply(error: Exception) -> NoReplyError:
    """Say what is at the root of it: urllib3 wraps errors in errors."""
    cause: BaseException = error
    while (
        deeper := cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    ) is not None:
        cause = deeper
    if isinstance(cause, TimeoutError | urllib3.exceptions.ReadTimeoutError):
        return NoReplyError("the reply took too long", slow=True)
    words = str(getattr(cause, "strerror", None) or cause) or type(cause).__name__
    return NoReplyError(
        words, unknown=isinstance(cause, socket.gaierror) and cause.errno != socket.EAI_AGAIN
    )


class _Response(http.client.HTTPResponse):
    """The time that is left when a reply is first read, the socket's timeout, is for the whole
    reply.
    """

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


class _TlsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _TlsConnection
