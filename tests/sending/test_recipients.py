"""Who is on the lists while mail is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from paperboy.edges import lock
from paperboy.home.home import Home
from paperboy.home.versions import Files
from paperboy.home.watcher import Watcher
from paperboy.sending.recipients import Recipients

LISTS = """\
lists:
  - name: foundations
    categories: [cs.LG]
    topics: learning
    subscribers: [ada@example.org, grace@example.org]
    subscribers_file: readers.txt
"""


@dataclass
class Sending:
    """A sending that has read the files, and its timer."""

    path: Path
    elapsed: float = 0
    recipients: Recipients = field(init=False)

    def __post_init__(self) -> None:
        self.write("subscribers.yaml", LISTS)
        self.write("readers.txt", "emmy@example.org\n")
        watcher = Watcher(self.path, lambda: self.elapsed)
        self.recipients = Recipients(Home.load(self.path, {}), watcher)

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, "utf-8")

    def later(self, seconds: float) -> None:
        self.recipients.reload()
        self.elapsed += seconds
        self.recipients.reload()

    def on_list(self) -> list[str]:
        names = ("Ada", "grace", "emmy")
        return [name for name in names if self.recipients("foundations", f"{name}@example.org")]


@pytest.fixture
def sending(tmp_path: Path) -> Sending:
    return Sending(tmp_path)


@pytest.mark.parametrize("name", ["subscribers.yaml", "readers.txt"])
def test_person_who_leaves_a_file_is_off_the_list_when_it_has_rested(
    sending: Sending, name: str
) -> None:
    sending.write("subscribers.yaml", LISTS.replace("ada@example.org, ", ""))
    sending.write("readers.txt", "")
    sending.later(seconds=9)
    assert sending.on_list() == ["Ada", "grace", "emmy"]  # may be half an edit
    sending.write(name, (sending.path / name).read_text() + "\n# more")
    sending.later(seconds=9)
    assert sending.on_list() == ["Ada", "grace", "emmy"]
    sending.elapsed += 1
    assert sending.on_list() == ["Ada", "grace", "emmy"]  # asking reads nothing
    sending.recipients.reload()
    assert sending.on_list() == ["grace"]
    assert not sending.recipients("galaxies", "grace@example.org")


@pytest.mark.parametrize("name", ["subscribers.yaml", "readers.txt"])
def test_broken_file_keeps_the_recipients_it_had(sending: Sending, name: str) -> None:
    sending.write(name, "lists: broken")
    sending.later(seconds=10)
    assert sending.on_list() == ["Ada", "grace", "emmy"]
    (sending.path / name).unlink()
    sending.later(seconds=10)
    assert sending.on_list() == ["Ada", "grace", "emmy"]
    sending.write("subscribers.yaml", LISTS.replace("ada@example.org, ", ""))
    sending.write("readers.txt", "")
    sending.later(seconds=10)
    assert sending.on_list() == ["grace"]


def test_beside_a_daemon_an_edit_counts_when_it_is_in_force(sending: Sending) -> None:
    database = Home.load(sending.path, {}).settings.paperboy_database
    with lock.held(database, "run", "run"):
        sending.write("subscribers.yaml", LISTS.replace("ada@example.org, ", ""))
        sending.later(seconds=3600)
        assert sending.on_list() == ["Ada", "grace", "emmy"]
        files = Files(sending.path)
        files.put_in_force(files.copy())
        sending.recipients.reload()
        assert sending.on_list() == ["grace", "emmy"]
