"""`paperboy web` as a process on a loopback port, and a client that says what no HTTP library would."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.servers.smtp_sink import until_it_listens

SRC = Path(__file__).parents[2] / "src"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: str


@dataclass
class Served:
    """The site of a home whose `.env` has WEB_URL, from `with` to its end."""

    home: Path
    port: int  # that of WEB_LISTEN
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    @property
    def _log(self) -> Path:
        return self.home.with_name("web.log")

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            command = [sys.executable, "-m", "paperboy", "--home", str(self.home), "web"]
            environ = {**os.environ, "PYTHONPATH": str(SRC)}
            self.process = subprocess.Popen(command, stderr=log, stdout=log, env=environ)
        until_it_listens(self.port, self.process)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def connect(self, seconds: float = 20) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=seconds)

    def say(self, request: bytes, seconds: float = 20) -> list[Answer]:
        """Everything that is answered until the server hangs up, or is silent for so long."""
        heard = b""
        with self.connect(seconds) as sock:
            try:
                sock.sendall(request)
                while piece := sock.recv(65_536):
                    heard += piece
            except OSError:  # it hung up on a client that was still talking, or it waits for more
                pass
        return answers(heard)

    def ask(
        self, path: str, method: str = "GET", headers: Sequence[str] = (), body: bytes = b""
    ) -> Answer:
        """One request as a proxy sends it, and its answer."""
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: papers.example.org",
            "Connection: close",
            *headers,
        ]
        if body or method == "POST":
            lines.append(f"Content-Length: {len(body)}")
        (answer,) = self.say("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        return answer


def answers(heard: bytes) -> list[Answer]:
    """The answers in what a server has said; the last one goes to the end where it gives no length."""
    found = []
    while heard:
        head, _, rest = heard.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        length = int(headers.get("content-length", len(rest)))
        number = re.match(r"HTTP/1\.[01] ([0-9]{3}) ", status)
        assert number, status
        if number[1] != "100":
            found.append(Answer(int(number[1]), headers, rest[:length].decode("utf-8")))
        heard = rest[length:] if number[1] != "100" else rest
    return found
