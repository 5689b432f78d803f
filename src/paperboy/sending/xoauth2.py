"""Access tokens (OAuth) for the login, printed by a command of the operator.

Such a command refreshes the token itself. Its output, on either stream, is never logged: it may
hold the token, or the secret that buys a new one.
"""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from paperboy.errors import MailServerError

_FRESH = 50 * 60.0  # seconds; tokens live an hour
_TOKEN = re.compile(rb"[!-~]{1,9000}")  # RFC 4954 limits a line to 12,288 bytes, in base64


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

    def token(self) -> str:
        """Return the token; run the command unless it is fresh. Raises MailServerError if the
        command fails.
        """
        with self._lock:
            now = self.timer()
            if now >= self._until:
                self._token = self._printed()
                self._until = now + _FRESH
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
                output, _ = process.communicate(timeout=self.timeout)
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
        line = output.partition(b"\n")[0].strip()
        if not _TOKEN.fullmatch(line):
            raise MailServerError(
                f"SMTP_TOKEN_COMMAND printed no token in its first line. {by_hand}"
            )
        return line.decode("ascii")
