"""A TCP server that says what it is told, piece by piece, with pauses between them."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Self

Step = bytes | float
"""Bytes to send, or seconds to wait."""

Reply = Iterable[Step]


class Talker:
    """Listens from `with` to its end; each connection has a thread that runs `talk(self, sock)`."""

    def __init__(self, talk: Callable[[Talker, socket.socket], None]) -> None:
        self._talk = talk

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[sock], daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError, ValueError):  # the client has gone
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(60)
            self._talk(self, sock)

    def say(self, sock: socket.socket, reply: Reply) -> None:
        """Say it, as far as the client listens. Raises OSError once it has gone."""
        for step in reply:
            if isinstance(step, bytes):
                sock.sendall(step)
                continue
            readable, _, _ = select.select([sock], [], [], step)
            if readable and sock.recv(1, socket.MSG_PEEK) == b"":
                raise ConnectionResetError
