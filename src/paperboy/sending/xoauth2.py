"""Access tokens (OAuth) for the login, printed by a command of the operator.

Such a command refreshes the token itself. Its output, on either stream, is never logged: it may
hold the token, or the secret that buys a new one.
"""

import contextlib
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import IO

from paperboy.errors import MailServerError

_FRESH = 50 * 60.0  # seconds; tokens live an hour
_TOKEN = re.compile(rb"[!-~]{1,9000}")  # RFC 4954 limits a line to 12,288 bytes, in base64
_MOST_BYTES = 16_000  # of the output, up to the first line's end


@dataclass(kw_only=True, repr=False, eq=False)
class TokenCommand:
    """Command of SMTP_TOKEN_COMMAND, and the token that the threads of all connections share."""

    words: tuple[str, ...]
    environ: Mapping[str, str]
    folder: Path  # in which it runs
    timer: Callable[[], float] = time.monotonic
    timeout: float = 30  # seconds
    _lock: Lock = field(default_factory=Lock)
    _token: str = ""
    _until: float = 0.0  # on the timer
    _uses: int = 0  # of the token

    def token(self, refused: str = "") -> str:
        """Return the token; run the command unless it is fresh. Raises MailServerError if the
        command fails. `refused`: a token that the server refuses, which is dropped unless it was
        printed for this very login.
        """
        with self._lock:
            now = self.timer()
            if now >= self._until or (refused == self._token and self._uses > 1):
                self._token = self._printed()
                self._until = now + _FRESH
                self._uses = 0
            self._uses += 1
            return self._token

    def _printed(self) -> str:
        by_hand = "Run it by hand in the home, as the same user: the first line it prints must be an access token."
        try:
            process = subprocess.Popen(
                self.words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self.folder,
                env=self.environ,
                start_new_session=True,  # so that its own children can be killed with it
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            fix = "Write the full path of its program: no shell expands ~ or $VARIABLES."
            raise MailServerError(f"SMTP_TOKEN_COMMAND cannot be started: {why}. {fix}") from None

        with process:
            try:
                end = time.monotonic() + self.timeout
                line = self._first_line(process.stdout, end) if process.stdout else b""
                # Not until its output ends: what it leaves running may hold that open.
                process.wait(end - time.monotonic())
            except BaseException as error:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                raise MailServerError(
                    f"SMTP_TOKEN_COMMAND took longer than {self.timeout:g} s and was stopped; it cannot ask for "
                    f"input. {by_hand}"
                ) from None
        if process.returncode:
            raise MailServerError(
                f"SMTP_TOKEN_COMMAND failed with exit status {process.returncode}. {by_hand}"
            )
        if not _TOKEN.fullmatch(line):
            raise MailServerError(
                f"SMTP_TOKEN_COMMAND printed no token in its first line. {by_hand}"
            )
        return line.decode("ascii")

    def _first_line(self, stream: IO[bytes], end: float) -> bytes:
        """Read the first line of the output, or as much as is allowed, until `end`. Raises
        TimeoutExpired.
        """
        output = b""
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while b"\n" not in output and len(output) < _MOST_BYTES:
                if not selector.select(max(0, end - time.monotonic())):
                    raise subprocess.TimeoutExpired(self.words, self.timeout)
                piece = os.read(stream.fileno(), _MOST_BYTES)
                if not piece:
                    break
                output += piece
        return output.partition(b"\n")[0].strip()
