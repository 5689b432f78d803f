"""Locks of a home: one holder at a time, and looking disturbs nobody."""

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import get_args

import pytest

from paperboy.edges import lock
from paperboy.edges.lock import Holder
from paperboy.errors import HomeBusyError, StoreError


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "paperboy.db"


def test_holder_is_known_by_process_and_command(database: Path) -> None:
    assert lock.holder(database) is None
    with lock.held(database, "sending", "resend"):
        assert (
            lock.holder(database)
            == lock.holder(database, "sending")
            == Holder(os.getpid(), "resend")
        )
        assert lock.holder(database, "run", "morning") is None
    assert lock.holder(database) is None


def test_all_locks_may_be_held_at_once_and_the_daemon_is_named_first(database: Path) -> None:
    with (
        lock.held(database, "tasks", "once"),
        lock.held(database, "sending", "once"),
        lock.held(database, "morning", "once"),
        lock.held(database, "run", "run"),
    ):
        assert [lock.holder(database, name) is not None for name in get_args(lock.Name)] == [
            True
        ] * 4
        assert lock.holder(database) == Holder(os.getpid(), "run")


def test_second_daemon_is_refused_and_told_which_process_holds_the_home(database: Path) -> None:
    expected = rf"process {os.getpid()}, paperboy run\) holds this home: stop it first"
    with lock.held(database, "run", "run"), pytest.raises(HomeBusyError, match=expected):
        lock.held(database, "run", "run").__enter__()


def test_waiting_command_says_so_once_and_goes_on_when_the_lock_is_free(database: Path) -> None:
    said: list[str] = []
    waits = threading.Event()
    done = threading.Event()

    def say(text: str) -> None:
        said.append(text)
        waits.set()

    def wait_and_work() -> None:
        with lock.held(database, "morning", "once", say):
            done.set()

    thread = threading.Thread(target=wait_and_work)
    with lock.held(database, "morning", "preview"):
        thread.start()
        assert waits.wait(300)
        assert not done.is_set()
    thread.join(300)
    assert done.is_set()
    assert said == [
        f"another Paperboy (process {os.getpid()}, paperboy preview) is active; waiting for its morning to end"
    ]


def test_looking_at_a_lock_keeps_nobody_out(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`status` may look at the very moment a daemon starts."""
    with lock.held(database, "run", "run"):
        pass
    looker = os.open(f"{database}.lock", os.O_RDONLY)
    fcntl.flock(looker, fcntl.LOCK_SH)
    pauses = iter([bool, lambda: os.close(looker)])  # it is closed between two tries
    monkeypatch.setattr("time.sleep", lambda _: next(pauses, bool)())
    with lock.held(database, "run", "run"):
        assert lock.holder(database) == Holder(os.getpid(), "run")


def test_lock_is_free_when_its_process_was_killed(database: Path) -> None:
    code = (
        "import sys, pathlib; from paperboy.edges import lock\n"
        "with lock.held(pathlib.Path(sys.argv[1]), 'run', 'run'): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(database)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert lock.holder(database) == Holder(process.pid, "run")
        process.kill()
    assert lock.holder(database) is None
    with lock.held(database, "run", "run"):
        pass


def test_lock_that_cannot_be_made_names_the_file_and_the_fix(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(
        StoreError,
        match=r"paperboy\.db\.lock: the lock cannot be created .* let this user write there",
    ):
        lock.held(tmp_path / "data" / "paperboy.db", "run", "run").__enter__()
