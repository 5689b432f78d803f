"""Each feature can be left out: the package without its folder and its line does all the rest, byte for byte."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paperboy.features import FEATURES
from paperboy.models import Paper
from paperboy.sources.arxiv.calendar import newest_batch
from tests.builders import paper
from tests.cli.conftest import world
from tests.cli.test_run import Service, service
from tests.servers.arxiv_api import ArxivServer

__all__ = ["service", "world"]  # fixtures, for these tests, too

ROOT = Path(__file__).parents[2]
NAMES = [feature.name for feature in FEATURES]
ALL_AT_ONCE = "all at once"
FRIDAY, MONDAY = datetime(2026, 11, 20, 7, tzinfo=UTC), datetime(2026, 11, 23, 7, tzinfo=UTC)

ROWS = {  # beside those that a morning writes
    "votes": "insert into votes values ('foundations', '2611.00001', 'ada@example.org', 1, '2026-11-20T08:00:00+00:00')"
}

LISTS = """\
lists:
  - name: foundations
    categories: [cs.LG]
    topics: how papers are learned
    min_relevance: 1
    subscribers: [ada@example.org, Grace Hopper <grace@example.org>]
    {}
"""

DRIVER = """
import sys
from datetime import datetime
from pathlib import Path

import paperboy
from paperboy.cli.main import invoke

source, home, now, *words = sys.argv[1:]
assert Path(paperboy.__file__).is_relative_to(source), paperboy.__file__
sys.exit(invoke(["--home", home, *words], {}, lambda: datetime.fromisoformat(now)))
"""


def errors(log: str) -> list[str]:
    """The lines about what went wrong."""
    words = ("ERROR", "Traceback", "no such ", "a bug in Paperboy")
    return [line for line in log.splitlines() if any(word in line for word in words)]


@dataclass(frozen=True)
class Package:
    """A copy of the package, and a folder for homes."""

    source: Path
    homes: Path

    def run(self, home: str, now: datetime, *words: str, code: int = 0) -> str:
        """Run a command at that time in a home; return what it printed."""
        command = [
            sys.executable,
            "-c",
            DRIVER,
            str(self.source),
            str(self.homes / home),
            now.isoformat(),
            *words,
        ]
        environ = {**os.environ, "PYTHONPATH": str(self.source), "TMPDIR": str(self.homes)}
        ran = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=self.homes, env=environ
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        assert errors(ran.stderr) == []
        return ran.stdout

    def database(self, home: str) -> closing[sqlite3.Connection]:
        path = self.homes / home / "data" / "paperboy.db"
        return closing(sqlite3.connect(path, isolation_level=None))


def package(folder: Path, left_out: Sequence[str]) -> Package:
    """The package without these features."""
    for name in ("emails", "prompts"):
        (folder / name).symlink_to(ROOT / name)
    for name in (".env.example", "subscribers.yaml"):
        shutil.copy(ROOT / name, folder)
    source = folder / "src"
    shutil.copytree(
        ROOT / "src" / "paperboy", source / "paperboy", ignore=shutil.ignore_patterns("__pycache__")
    )
    features = source / "paperboy" / "features"
    lines = (features / "__init__.py").read_text("utf-8")
    for name in left_out:
        shutil.rmtree(features / name)
        lines, number = re.subn(rf'^    "{name}",\n', "", lines, flags=re.MULTILINE)
        assert number == 1, "its line is not found"
    (features / "__init__.py").write_text(lines, "utf-8")
    (folder / "homes").mkdir()
    return Package(source, folder / "homes")


@pytest.fixture(scope="module")
def arxiv() -> Iterator[ArxivServer]:
    """Three papers for each of two mornings."""
    papers = list[Paper]()
    for first, now in ((1, FRIDAY), (11, MONDAY)):
        at = newest_batch(now).submitted_until - timedelta(hours=1)  # after the morning before
        papers += [paper(f"2611.{number:05}", published=at) for number in range(first, first + 3)]
    with ArxivServer(papers) as serving:
        yield serving


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return package(tmp_path_factory.mktemp("whole"), ())


@pytest.fixture(params=[*NAMES, ALL_AT_ONCE])
def left_out(request: pytest.FixtureRequest) -> Sequence[str]:
    return NAMES if request.param == ALL_AT_ONCE else [request.param]


@pytest.fixture
def rest(tmp_path: Path, left_out: Sequence[str]) -> Package:
    """The package without what is left out."""
    folder = tmp_path / "rest"
    folder.mkdir()
    return package(folder, left_out)


def make(by: Package, name: str, arxiv: ArxivServer, *settings: str, key: str = "") -> None:
    """A home with a new database, whose secret is known, so that its mails are always the same."""
    home = by.homes / name
    home.mkdir()
    lines = [f"ARXIV_API_URL={arxiv.url}", "ARXIV_DELAY_SECONDS=0", *settings]
    (home / ".env").write_text("\n".join(lines) + "\n", "utf-8")
    (home / "subscribers.yaml").write_text(LISTS.format(key), "utf-8")
    by.run(name, FRIDAY, "suppress", "nobody@example.org")
    with by.database(name) as database:
        database.execute("update secrets set value = zeroblob(32)")


def mails(by: Package, home: str) -> list[bytes]:
    outbox = by.homes / home / "outbox"
    return sorted(path.read_bytes() for path in outbox.rglob("*") if path.is_file())


def newest(by: Package, home: str) -> tuple[str, str]:
    """The newest day of the list, as status has it for programs."""
    (found,) = json.loads(by.run(home, MONDAY, "status", "--json"))["lists"]
    return found["date"], found["outcome"]


def test_demo_and_a_new_home_do_without_it(rest: Package) -> None:
    assert "invented" in rest.run("none", FRIDAY, "demo")
    rest.run("new", FRIDAY, "init", str(rest.homes / "new"))
    rest.run("new", FRIDAY, "check", "--offline")


def test_mails_of_a_home_that_does_not_use_it_are_the_same(
    rest: Package, whole: Package, arxiv: ArxivServer
) -> None:
    home = f"plain {rest.source.parents[1].name}"
    found = []
    for by in (rest, whole):
        make(by, home, arxiv)
        by.run(home, FRIDAY, "once")
        first = mails(by, home)
        by.run(home, FRIDAY, "once")
        assert mails(by, home) == first
        by.run(home, MONDAY, "once")
        assert newest(by, home) == ("2026-11-23", "digest")
        found.append(mails(by, home))
    assert len(found[0]) > 4
    assert found[0] == found[1]


def test_database_that_had_it_goes_on_without_it(
    rest: Package, whole: Package, arxiv: ArxivServer, left_out: Sequence[str]
) -> None:
    home = f"had it {rest.source.parents[1].name}"
    make(whole, home, arxiv, "WEB_URL=https://papers.example.org", key="archive: public")
    whole.run(home, FRIDAY, "once")
    with whole.database(home) as database:
        for name in left_out:
            database.execute(ROWS.get(name, "select 1"))
    shutil.copytree(whole.homes / home, rest.homes / home)
    plain = (
        (rest.homes / home / "subscribers.yaml")
        .read_text("utf-8")
        .replace("    archive: public\n", "")
    )
    (rest.homes / home / "subscribers.yaml").write_text(plain, "utf-8")
    for _ in range(2):
        rest.run(home, MONDAY, "once")
    assert newest(rest, home) == ("2026-11-23", "digest")
    rest.run(home, MONDAY, "why", "2611.00001")
    rest.run(home, MONDAY, "forget", "ada@example.org")
    with rest.database(home) as database:
        assert database.execute("select count(*) from votes").fetchone() == (0,)
    rest.run(home, MONDAY, "check", "--offline")


def test_daemon_serves_a_list_without_it(service: Service, rest: Package) -> None:
    service.source = rest.source
    service.begin()
    service.until(service.readers)
    service.idle()
    assert service.readers() == ["ada@example.org"]
    service.terminate()
    assert errors(service.said) == []
