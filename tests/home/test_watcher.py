"""When an edit of the files is complete, and where its newer version is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from paperboy.edges import lock
from paperboy.home.home import Home
from paperboy.home.versions import Files
from paperboy.home.watcher import Watcher

LISTS = """\
lists:
  - {name: foundations, categories: [cs.LG], topics: learning}
"""


@dataclass
class Timer:
    elapsed: float = 0

    def __call__(self) -> float:
        return self.elapsed


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "subscribers.yaml").write_text(LISTS, "utf-8")
    return Home.load(tmp_path, {})


def save(home: Home, text: str = LISTS, name: str = "subscribers.yaml") -> None:
    (home.path / name).parent.mkdir(exist_ok=True)
    (home.path / name).write_text(text, "utf-8")


@pytest.mark.parametrize("name", ["subscribers.yaml", ".env", "emails/digest.mjml.j2"])
def test_edit_is_complete_once_when_nothing_has_changed_for_ten_seconds(
    home: Home, name: str
) -> None:
    watcher = Watcher(home.path, timer := Timer())
    assert not watcher.rested()
    save(home, "# half", name)
    assert not watcher.rested()
    timer.elapsed = 9
    save(home, "# all of it", name)
    assert not watcher.rested()
    timer.elapsed = 18.9
    assert not watcher.rested()
    timer.elapsed = 19
    assert watcher.rested()
    assert not watcher.rested()


def test_edit_that_is_taken_at_once_is_not_taken_again(home: Home) -> None:
    watcher = Watcher(home.path, timer := Timer())
    save(home, "# an edit")
    assert not watcher.rested()
    assert watcher.rested(at_once=True)
    timer.elapsed = 100
    assert not watcher.rested()


def test_files_are_tried_again_unless_an_edit_is_resting(home: Home) -> None:
    watcher = Watcher(home.path, timer := Timer())
    assert watcher.rested(again=True)
    assert watcher.rested(again=True)
    save(home, "# half")
    assert not watcher.rested(again=True)
    timer.elapsed = 10
    assert watcher.rested(again=True)


def test_newer_version_is_the_home_itself_or_what_a_daemon_has_in_force(home: Home) -> None:
    files = Files(home.path)
    watcher = Watcher(home.path, timer := Timer())
    with lock.held(home.settings.paperboy_database, "run", "run"):
        save(home, f"{LISTS}# an edit")
        assert watcher.newer(home) is None
        timer.elapsed = 100
        assert watcher.newer(home) is None
        files.put_in_force(files.copy())
        assert watcher.newer(home) == files.in_force()
        assert watcher.newer(home) is None
        save(home, LISTS, "data/last-good/subscribers.yaml")  # as `forget` does
        assert watcher.newer(home) == files.in_force()
        assert watcher.newer(home) is None
    assert watcher.newer(home) is None  # the edit is seen only now
    timer.elapsed = 110
    assert watcher.newer(home) == home.path
