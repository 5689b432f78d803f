"""The room beside commands that write: what was answered is kept, and the database stays whole."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from werkzeug.test import Client
from werkzeug.wrappers import Response

from paperboy.models import MessageCopy, Subscriber
from tests.web.conftest import Web
from tests.web.served import SRC

THREADS = 8  # of the room
COMMANDS = 3  # at a time
SECONDS = 5.0


def test_no_answered_commit_is_lost_beside_commands(
    web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = {f"reader-{number}@example.org": f"{number:032x}" for number in range(10_000)}
    with web.store() as store:
        readers = [MessageCopy(Subscriber(address), "", token) for address, token in tokens.items()]
        store.readers.add("foundations", readers)
    waiting = iter(tokens.items())
    end = time.monotonic() + SECONDS

    def leave(_thread: int) -> list[tuple[str, int]]:
        """Let one reader after the other look at the page and leave by one click; return their answers."""
        client = Client(web.site, Response)
        answers = []
        while time.monotonic() < end:
            address, token = next(waiting)
            for _ in range(3):
                client.get(f"/leave/{token}")
            answers.append((address, client.post(f"/leave/{token}").status_code))
        return answers

    def suppress(process: int) -> list[tuple[str, int]]:
        """Suppress one address after the other, by a command each; return their exit codes."""
        command = [sys.executable, "-m", "paperboy", "--home", str(web.world.path), "suppress"]
        environ = os.environ | {"PYTHONPATH": str(SRC)}
        codes = []
        while time.monotonic() < end:
            address = f"bounced-{process}-{len(codes)}@example.org"
            ran = subprocess.run([*command, address], env=environ, capture_output=True, check=False)
            codes.append((address, ran.returncode))
        return codes

    with ThreadPoolExecutor(THREADS + COMMANDS) as pool:
        leaving = [pool.submit(leave, thread) for thread in range(THREADS)]
        suppressing = [pool.submit(suppress, process) for process in range(COMMANDS)]
        left = [answer for future in leaving for answer in future.result()]
        suppressed = [code for future in suppressing for code in future.result()]

    statuses = {status for _, status in left}
    assert 200 in statuses
    assert statuses <= {200, 503}  # 503: it waited too long for the others
    assert {code for _, code in suppressed} == {0}
    assert "damaged" not in caplog.text
    with closing(sqlite3.connect(web.world.path / "data" / "paperboy.db")) as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        kept = {address for (address,) in connection.execute("select address from suppressions")}
    answered = {address for address, status in left if status == 200} | {
        address for address, _ in suppressed
    }
    assert answered - kept == set()
