"""HTTP on loopback with faults on order, for the servers that are read by GET: arXiv's, bioRxiv's and
Zotero's."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Self

from tests.servers.arxiv_faults import Answer, Fault


@contextmanager
def until_interrupted() -> Iterator[None]:
    """Wait for Ctrl-C after the block, also where a script has started this in the background, whose jobs ignore it."""
    pressed = SimpleQueue[None]()  # which a signal's handler may fill at any time
    signal.signal(signal.SIGINT, lambda *_: pressed.put(None))
    yield
    pressed.get()


class LoopbackServer:
    """Answers GET requests from threads while its `with` block lasts. A subclass says what the right answer is, and
    which fault it meets.
    """

    faults: list[Fault]
    lasting_fault: Fault | None

    def listen(self, port: int) -> int:
        """Bind the port, or a free one for 0, and return it."""
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.serving = 0
        self._http = _Listener(("127.0.0.1", port), _Handler)
        self._http.owner = self
        return self._http.server_port

    def answer(self, target: str, user_agent: str, concurrent: int) -> Answer:
        """Return what goes over the wire; `concurrent` requests are being served, this one included."""
        raise NotImplementedError

    def answer_to(self, target: str, headers: Message, concurrent: int) -> Answer:
        """Return the answer, for a server that asks for more than a User-Agent."""
        return self.answer(target, headers.get("User-Agent", ""), concurrent)

    def next_fault(self) -> Fault | None:
        """Return the fault that this request meets, if any."""
        with self.lock:
            return self.faults.pop(0) if self.faults else self.lasting_fault

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()  # nobody who is kept waiting keeps us
        self._http.shutdown()
        self._http.server_close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    owner: LoopbackServer

    def handle_error(self, *_: object) -> None:
        """A client that was killed is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else each body waits 40 ms for the client to acknowledge the head.
    disable_nagle_algorithm = True
    server: _Listener

    def do_GET(self) -> None:  # http.server's name
        answer = self._answer()
        self.close_connection = answer.dropped or answer.declared is not None
        if answer.dropped:
            return
        try:
            if answer.raw is not None:
                self.close_connection = True
                for piece in answer.raw():
                    self.wfile.write(piece)
                return
            self.send_response_only(answer.status)
            if "Date" not in dict(answer.headers):
                self.send_header("Date", self.date_time_string())
            for name, value in answer.headers:
                self.send_header(name, value)
            self.send_header(
                "Content-Length",
                str(len(answer.body) if answer.declared is None else answer.declared),
            )
            self.end_headers()
            self.wfile.write(answer.body)
        except ConnectionError:
            self.close_connection = True  # the client had waited long enough

    def _answer(self) -> Answer:
        owner = self.server.owner
        with owner.lock:
            owner.serving += 1
            concurrent = owner.serving
        try:
            answer = owner.answer_to(self.path, self.headers, concurrent)
            owner.closing.wait(answer.delay)
        finally:
            with owner.lock:
                owner.serving -= 1
        return answer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # http.server's name
        pass
