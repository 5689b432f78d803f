"""The server of the web room: waitress, on loopback behind a proxy that speaks TLS, or on systemd's socket."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from waitress.server import create_server

from paperboy.web.visit import MOST_BYTES

if TYPE_CHECKING:
    from waitress.server import BaseWSGIServer, MultiSocketServer

    from paperboy.web.room import Room

_SYSTEMDS_FIRST = 3  # file descriptor


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
    serving: BaseWSGIServer | MultiSocketServer = create_server(
        room,
        **place,
        threads=4,
        ident="",
        connection_limit=1000,
        channel_timeout=30,
        cleanup_interval=10,
        max_request_header_size=16_384,
        max_request_body_size=MOST_BYTES,
        asyncore_use_poll=True,
    )
    return serving
