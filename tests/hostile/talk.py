"""A hostile reply on the wire: its pieces, the pauses between them, how it ends; and a TCP server that gives it."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Self

Step = bytes | float
"""Bytes to send, or seconds to wait."""

Reply = Iterable[Step]
RESET = b""  # as a step: the connection ends in a reset
HUNG_UP = OSError, ValueError  # what happens to a server whose client has gone


def endless(*parts: bytes) -> Iterator[bytes]:
    """Those bytes, again and again, until the client hangs up."""
    block = b"".join(parts)
    block *= max(1, 65_536 // len(block))
    while True:
        yield block


def dripped(dice: Random, content: bytes) -> Iterator[Step]:
    """A few bytes at a time. Each comes in time, and the whole may not."""
    size, pause = dice.choice([1, 1, 3, 20]), dice.choice([0.01, 0.05, 0.15])
    for start in range(0, len(content), size):
        yield content[start : start + size]
        yield pause


def broken(dice: Random, content: bytes) -> bytes:
    """The same bytes, with a few of them changed, repeated or left out."""
    for _ in range(dice.randint(1, 4)):
        start = dice.randrange(len(content) + 1)
        end = min(len(content), start + dice.choice([1, 1, 2, 10, 300]))
        other = dice.choice([b"", content[start:end] * dice.choice([2, 3, 500]), dice.randbytes(end - start), b"\0"])
        content = content[:start] + other + content[end:]
    return content


class Talker:
    """Listens from `with` to its end; each connection has a thread that runs `talk(self, sock)`."""

    def __init__(self, talk: Callable[[Talker, socket.socket], None]) -> None:
        self._talk, self._open, self._closing = talk, set[socket.socket](), threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(sock)
            threading.Thread(target=self._serve, args=[sock], daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(*HUNG_UP):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(60)
            self._talk(self, sock)
        with self._lock:
            self._open.discard(sock)
        with contextlib.suppress(OSError):
            sock.close()

    def say(self, sock: socket.socket, reply: Reply) -> None:
        """Say it, as far as the client listens. Raises OSError once it has gone, or if the reply ends in a reset."""
        for step in reply:
            if step == RESET:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                raise ConnectionResetError
            if isinstance(step, bytes):
                sock.sendall(step)
            else:
                self.pause(sock, step)

    def say_last(self, sock: socket.socket, reply: Reply) -> None:
        """Say it, and hang up in the same packet: no request of the client's can cross that."""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        self.say(sock, reply)
        sock.shutdown(socket.SHUT_WR)

    def pause(self, sock: socket.socket, seconds: float) -> None:
        """Wait, but not for a client that has gone."""
        readable, _, _ = select.select([sock], [], [], seconds)
        if readable and not isinstance(sock, ssl.SSLSocket) and sock.recv(1, socket.MSG_PEEK) == b"":
            raise ConnectionResetError
        if readable and self._closing.wait(seconds):  # it has sent something meanwhile, which is for later
            raise ConnectionResetError
