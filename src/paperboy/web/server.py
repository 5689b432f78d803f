"""The server of the web room: waitress, on loopback behind a proxy that speaks TLS, or on systemd's socket."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import BaseWSGIServer, create_server
from waitress.task import ErrorTask

from paperboy.web.room import HEADERS
from paperboy.web.visit import MOST_BYTES

if TYPE_CHECKING:
    from waitress.server import MultiSocketServer

    from paperboy.web.room import Room

_SYSTEMDS_FIRST = 3  # file descriptor
_PATIENCE = 30.0  # seconds; the proxy, which waits for slow readers, sends a request and takes its answer at once


class _Refusal(ErrorTask):
    """The answer to what is not even HTTP, or too large."""

    def execute(self) -> None:
        self.response_headers = [*self.response_headers, *HEADERS.items()]
        super().execute()


class _Parser(HTTPRequestParser):
    """It also refuses what it would stumble over, and requests whose end a proxy may see elsewhere (smuggling)."""

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # half an IPv6 address, or a length of 5,000 digits
            raise ParsingError("Malformed request") from error
        if "TRANSFER_ENCODING" in self.headers or (self.chunked and "CONTENT_LENGTH" in self.headers):
            raise ParsingError("Two ways to tell the length")


class _Channel(HTTPChannel):
    """A connection that ends when a request and its answer have taken too long, even if a byte comes now and then."""

    parser_class = _Parser
    error_task_class = _Refusal

    def __init__(self, *args: Any, **options: Any) -> None:
        self._since, self._served = time.monotonic(), False
        super().__init__(*args, **options)

    def service(self) -> None:
        super().service()
        self._served = True

    def readable(self) -> bool:
        """Asked before each wait of the main loop, which lasts a second at most."""
        if self.total_outbufs_len == 0 and (self.requests or (self._served and self.request is None)):
            self._since, self._served = time.monotonic(), False  # it waits for us, or has all that it asked for
        elif time.monotonic() - self._since > _PATIENCE:
            self.will_close = True
        return bool(super().readable())


def server(
    room: Room, listen: tuple[str, int], environ: Mapping[str, str], pid: int
) -> BaseWSGIServer | MultiSocketServer:
    """A server that listens: on the socket that systemd holds for this process, if it does, else on the address. Raises
    OSError.

    Its main loop reads requests and writes answers, so that a slow client costs a connection and no thread.
    """
    if environ.get("LISTEN_PID") == str(pid) and environ.get("LISTEN_FDS") == "1":
        place: dict[str, Any] = {"sockets": [socket.socket(fileno=_SYSTEMDS_FIRST)]}
    else:
        host, port = listen
        place = {"listen": f"[{host}]:{port}" if ":" in host else f"{host}:{port}"}
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it has a line for each request that has to wait
    sockets: dict[int, Any] = {}
    serving: BaseWSGIServer | MultiSocketServer = create_server(
        room,
        sockets,
        **place,
        threads=4,
        ident="",
        connection_limit=800,  # with its files, below the usual 1024 descriptors of a process
        channel_timeout=30,
        cleanup_interval=10,
        max_request_header_size=16_384,
        max_request_body_size=MOST_BYTES,
        asyncore_use_poll=True,
    )
    for each in sockets.values():
        if isinstance(each, BaseWSGIServer):
            each.channel_class = _Channel
    return serving
