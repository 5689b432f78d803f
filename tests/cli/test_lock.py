"""Who holds a home: one at a time, and whoever looks is nobody."""

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from paperboy.cli import lock
from paperboy.cli.lock import Holder
from paperboy.errors import HomeBusyError


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "paperboy.db"


def the_file(database: Path) -> Path:
    return database.with_name("paperboy.db.lock")


def test_a_holder_is_known_by_process_and_command(database: Path) -> None:
    assert lock.holder(database) is None
    with lock.held(database, {}, "resend"):
        assert lock.holder(database) == Holder(os.getpid(), "resend")
    assert lock.holder(database) is None


def test_a_second_one_is_told_whom_to_wait_for(database: Path) -> None:
    with lock.held(database, {}, "once"), pytest.raises(HomeBusyError, match=f"process {os.getpid()}, paperboy once"):
        lock.held(database, {}).__enter__()


def test_who_only_looks_keeps_nobody_out(database: Path) -> None:
    """`status` looks, at any moment; a daemon that begins at that very moment begins all the same."""
    with lock.held(database, {}):
        pass
    looker = os.open(the_file(database), os.O_RDONLY)
    fcntl.flock(looker, fcntl.LOCK_SH)
    threading.Timer(0.1, os.close, [looker]).start()
    with lock.held(database, {}, "run"):
        assert lock.holder(database) == Holder(os.getpid(), "run")


def test_the_morning_of_a_daemon_that_died_holds_the_home_itself(database: Path) -> None:
    """By the daemon's lock, on which the number of a process stands that is gone."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(20)
    with lock.held(database, {}, "run"):
        the_file(database).write_text(f"{gone.pid} run\n")
        assert lock.holder(database) == Holder(0, "once")
        with pytest.raises(HomeBusyError, match=r"process unknown, paperboy once\) holds this home: wait for it"):
            lock.held(database, {}).__enter__()


def test_a_child_is_handed_the_lock(database: Path) -> None:
    with lock.held(database, {}, "run") as descriptor:
        environ = {lock.INHERITED: str(descriptor)}
        with lock.held(database, environ) as same:
            assert same == descriptor
        assert lock.holder(database) is not None  # the child's end has not let go of it
        with pytest.raises(HomeBusyError):
            lock.held(database, {lock.INHERITED: "0"}).__enter__()
