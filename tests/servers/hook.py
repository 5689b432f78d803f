"""What a list's webhook calls: an HTTP server on loopback that records each request and answers what it is told."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Self

PATH = "/services/T0ZEBRA/B0WALRUS/verysecrettoken"


@dataclass(frozen=True)
class Told:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.body))


@dataclass
class Hook:
    """Answers with the next of the statuses, and the last one for ever; with `service`, as that
    answers to the request.
    """

    statuses: list[int] = field(default_factory=lambda: [200])
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"ok"
    silent: bool = False  # takes requests, and answers none before the end of the test
    on_request: Callable[[], object] = lambda: None
    service: Callable[[Told], tuple[int, bytes]] | None = None
    told: list[Told] = field(default_factory=list)
    url: str = ""

    def __enter__(self) -> Self:
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.told.append(Told(self.path, dict(self.headers), body))
                hook.on_request()
                if hook.silent:
                    hook._end.wait()
                    return
                if hook.service:
                    status, answer = hook.service(hook.told[-1])
                else:
                    status = hook.statuses.pop(0) if hook.statuses[1:] else hook.statuses[0]
                    answer = hook.body
                self.send_response(status, "as told")
                for name, value in {"Content-Length": str(len(answer)), **hook.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST  # noqa: N815  # nobody should

            def log_message(self, *_: object) -> None:
                pass

        self._end = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, args=[0.01])
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}{PATH}"
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
