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
from contextlib import closing, contextmanager
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
FRIDAY = datetime(2026, 11, 20, 7, tzinfo=UTC)
MONDAY = datetime(2026, 11, 23, 7, tzinfo=UTC)

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
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from datetime import datetime
from io import StringIO
from pathlib import Path

import paperboy
from paperboy.cli.main import invoke

assert Path(paperboy.__file__).is_relative_to(sys.argv[1]), paperboy.__file__
for line in sys.stdin:
    home, now, *words = json.loads(line)
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = invoke(["--home", home, *words], {}, lambda: datetime.fromisoformat(now))
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""  # one process for all commands: importing the package takes longer than they do


def errors(log: str) -> list[str]:
    """The lines about what went wrong."""
    words = ("ERROR", "Traceback", "no such ", "a bug in Paperboy")
    return [line for line in log.splitlines() if any(word in line for word in words)]


@dataclass(frozen=True)
class Package:
    """A copy of the package, a process that runs its commands, and a folder for homes."""

    source: Path
    homes: Path
    process: subprocess.Popen[str]

    def run(self, home: str, now: datetime, *words: str) -> str:
        """Run a command at that time in a home; return what it printed."""
        assert self.process.stdin
        assert self.process.stdout
        command = [str(self.homes / home), now.isoformat(), *words]
        print(json.dumps(command), file=self.process.stdin, flush=True)
        code, out, err = json.loads(self.process.stdout.readline())
        assert code == 0, out + err
        assert errors(err) == []
        return str(out)

    def database(self, home: str) -> closing[sqlite3.Connection]:
        path = self.homes / home / "data" / "paperboy.db"
        return closing(sqlite3.connect(path, isolation_level=None))


@contextmanager
def package(folder: Path, left_out: Sequence[str]) -> Iterator[Package]:
    """The package without these features."""
    for name in ("emails", "prompts"):
        (folder / name).symlink_to(ROOT / name)
    for name in (".env.example", "subscribers.yaml"):
        shutil.copy(ROOT / name, folder)
    source = folder / "src"
    homes = folder / "homes"
    half_written = shutil.ignore_patterns("*.pyc.*")  # by the other worker of pytest
    shutil.copytree(ROOT / "src" / "paperboy", source / "paperboy", ignore=half_written)
    features = source / "paperboy" / "features"
    lines = (features / "__init__.py").read_text("utf-8")
    for name in left_out:
        shutil.rmtree(features / name)
        lines, number = re.subn(rf'^    "{name}",\n', "", lines, flags=re.MULTILINE)
        assert number == 1, "its line is not found"
    (features / "__init__.py").write_text(lines, "utf-8")
    homes.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, source],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=homes,
        env={**os.environ, "PYTHONPATH": str(source), "TMPDIR": str(homes)},
    ) as process:
        yield Package(source, homes, process)


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
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Package]:
    with package(tmp_path_factory.mktemp("whole"), ()) as made:
        yield made


@pytest.fixture(scope="module", params=[*NAMES, ALL_AT_ONCE])
def left_out(request: pytest.FixtureRequest) -> Sequence[str]:
    return NAMES if request.param == ALL_AT_ONCE else [request.param]


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory, left_out: Sequence[str]) -> Iterator[Package]:
    """The package without what is left out."""
    with package(tmp_path_factory.mktemp("rest"), left_out) as made:
        yield made


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


def newest(by: Package, home: str) -> tuple[str, str]:
    """The newest day of the list, as status has it for programs."""
    (found,) = json.loads(by.run(home, MONDAY, "status", "--json"))["lists"]
    return found["date"], found["outcome"]


def plain_mails(by: Package, arxiv: ArxivServer) -> list[bytes]:
    """The mails of two mornings in a home that uses no feature."""
    make(by, "plain", arxiv)

    def mails() -> list[bytes]:
        outbox = by.homes / "plain" / "outbox"
        return sorted(path.read_bytes() for path in outbox.rglob("*") if path.is_file())

    by.run("plain", FRIDAY, "once")
    first = mails()
    by.run("plain", FRIDAY, "once")
    assert mails() == first
    by.run("plain", MONDAY, "once")
    assert newest(by, "plain") == ("2026-11-23", "digest")
    return mails()


@pytest.fixture(scope="module")
def mails_of_the_whole(whole: Package, arxiv: ArxivServer) -> list[bytes]:
    return plain_mails(whole, arxiv)


@pytest.fixture(scope="module")
def home_that_had_it(whole: Package, arxiv: ArxivServer) -> Path:
    """A home whose list has used the features for a morning."""
    make(whole, "had it", arxiv, "WEB_URL=https://papers.example.org", key="archive: public")
    whole.run("had it", FRIDAY, "once")
    return whole.homes / "had it"


def test_demo_and_a_new_home_do_without_it(rest: Package) -> None:
    assert "invented" in rest.run("none", FRIDAY, "demo")
    rest.run("new", FRIDAY, "init", str(rest.homes / "new"))
    rest.run("new", FRIDAY, "check", "--offline")


def test_mails_of_a_home_that_does_not_use_it_are_the_same(
    rest: Package, arxiv: ArxivServer, mails_of_the_whole: list[bytes]
) -> None:
    assert len(mails_of_the_whole) > 4
    assert plain_mails(rest, arxiv) == mails_of_the_whole


def test_database_that_had_it_goes_on_without_it(
    rest: Package, home_that_had_it: Path, left_out: Sequence[str]
) -> None:
    home = "had it"
    shutil.copytree(home_that_had_it, rest.homes / home)
    (rest.homes / home / "subscribers.yaml").write_text(LISTS.format(""), "utf-8")
    with rest.database(home) as database:
        for name in left_out:
            database.execute(ROWS.get(name, "select 1"))
    for _ in range(2):
        rest.run(home, MONDAY, "once")
    assert newest(rest, home) == ("2026-11-23", "digest")
    rest.run(home, MONDAY, "why", "2611.00001")
    rest.run(home, MONDAY, "forget", "ada@example.org")
    with rest.database(home) as database:
        assert database.execute("select count(*) from votes").fetchone() == (0,)
    rest.run(home, MONDAY, "check", "--offline")


@pytest.mark.parametrize("left_out", [ALL_AT_ONCE], indirect=True)
def test_daemon_serves_a_list_without_them(service: Service, rest: Package) -> None:
    service.source = rest.source
    service.begin()
    service.until(service.readers)
    service.idle()
    assert service.readers() == ["ada@example.org"]
    service.terminate()
    assert errors(service.said) == []
