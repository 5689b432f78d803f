"""A home in an empty folder, with real servers on loopback for arXiv, the LLM and mail."""

from __future__ import annotations

import email
import email.policy
import json
import os
import pty
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
import trustme

from paperboy.cli.main import invoke
from paperboy.edges import lock
from paperboy.models import Paper, Score
from paperboy.sending import smtp
from paperboy.sources.arxiv import calendar as announcements
from paperboy.store import Store
from tests.builders import paper
from tests.fakes import Clock
from tests.servers.arxiv_api import ArxivServer
from tests.servers.biorxiv_api import BiorxivServer
from tests.servers.llm import LlmServer
from tests.servers.smtp import SmtpServer

FRIDAY = datetime(2026, 11, 20, 7, tzinfo=UTC)
SRC = Path(__file__).parents[2] / "src"
ENVIRON = {**os.environ, "PYTHONPATH": str(SRC)}  # of processes

LISTS = """\
lists:
  - name: foundations
    title: Foundations
    categories: [cs.LG, stat.ML]
    topics: |
      Relevant: why networks generalise, and how they are learned.
    authors: [Yoshua Bengio]
    subscribers:
      - ada@example.org
      - Grace Hopper <grace@example.org>
  - name: galaxies
    categories: [astro-ph.GA]
    topics: dwarf galaxies
    subscribers: [vera@example.org]
"""


@dataclass(frozen=True)
class Ran:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


@dataclass
class World:
    """One home, its clock, and the servers that its `.env` names."""

    path: Path
    capture: pytest.CaptureFixture[str]
    arxiv: ArxivServer
    llm: LlmServer
    smtp: SmtpServer
    clock: Clock = field(default_factory=lambda: Clock(FRIDAY))
    environ: dict[str, str] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)  # seconds between tries that nobody waited
    biorxiv_url: str = ""  # of a server on loopback; empty: no test may ask bioRxiv

    @property
    def database(self) -> Path:
        return self.path / "data" / "paperboy.db"

    def store(self) -> Store:
        return Store.open(self.database)

    def held(self, name: lock.Name = "run", command: str = "run") -> AbstractContextManager[object]:
        """Hold a lock of the home, as another process with that command would; the daemon's unless named."""
        return lock.held(self.database, name, command)

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text, "utf-8")

    def env(self, *, llm: bool = True, smtp: bool = True, **more: object) -> None:
        """Write `.env`: the servers, and more settings."""
        settings: dict[str, object] = {"ARXIV_API_URL": self.arxiv.url, "ARXIV_DELAY_SECONDS": 0}
        if self.biorxiv_url:
            settings |= {"BIORXIV_API_URL": self.biorxiv_url}
        if llm:
            settings |= {"OPENAI_BASE_URL": self.llm.base_url}
        if smtp:
            settings |= {
                "SMTP_HOST": "127.0.0.1",
                "SMTP_PORT": self.smtp.port,
                "SMTP_SECURITY": "none",
                "MAIL_FROM": "Paperboy <papers@example.org>",
            }
        self.write(
            ".env", "".join(f"{name}={value}\n" for name, value in (settings | more).items())
        )

    def run(self, *arguments: str) -> Ran:
        self.capture.readouterr()
        code = invoke(
            ["--home", str(self.path), *arguments],
            self.environ,
            self.clock,
            self.waits.append,
            lambda: sum(self.waits),
        )
        out, err = self.capture.readouterr()
        return Ran(code, out, err)

    def fails(self, code: int, *arguments: str) -> str:
        """Run a command that must print nothing but its complaint, and return that."""
        ran = self.run(*arguments)
        assert (ran.code, ran.out) == (code, "")
        return ran.err

    def later(self, **elapsed: float) -> None:
        """Move the clock."""
        self.clock.now += timedelta(**elapsed)

    def command(self, *arguments: str) -> list[str]:
        """Return the command line for a process of its own."""
        return [sys.executable, "-m", "paperboy", "--home", str(self.path), *arguments]

    def start(self, *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """Start a command in a process of its own."""
        command = [*prefix, *self.command(*arguments)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=ENVIRON)

    def once(self, *lists: str) -> Ran:
        """Run `once`, for these lists alone if any are named."""
        return self.run("once", *(word for name in lists for word in ("--list", name)))

    def json(self, *arguments: str) -> Any:
        """Return the JSON that a command prints."""
        return json.loads(self.run(*arguments, "--json").out)

    def messages(self, recipient: str = "") -> list[EmailMessage]:
        """Return all mails, or those to one recipient, in order."""
        return [
            email.message_from_bytes(sent.content, _class=EmailMessage, policy=email.policy.default)
            for sent in self.smtp.messages
            if recipient in {"", sent.recipient}
        ]

    def mails(self) -> list[str]:
        """Return the recipients of all mails, in order."""
        return [message.recipient for message in self.smtp.messages]

    def announce(self, *numbers: int, categories: tuple[str, ...] = ("cs.LG",)) -> list[Paper]:
        """Puts papers into the newest batch."""
        batch = announcements.newest_batch(self.clock())
        papers = [
            paper(
                f"2611.{number:05}",
                categories=categories,
                primary_category=categories[0],
                published=batch.submitted_from,
                updated=batch.submitted_from,
            )
            for number in numbers
        ]
        self.arxiv.papers.extend(papers)
        return papers

    def announce_both(self, number: int, of_galaxies: int) -> None:
        """Announce a paper for each of the two lists."""
        self.announce(number)
        self.announce(of_galaxies, categories=("astro-ph.GA",))


def text_of(mail: EmailMessage, kind: str = "plain") -> str:
    """Return the text of a mail's part of that kind."""
    part = mail.get_body((kind,))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


def on_terminal(command: list[str], *answers: str) -> tuple[int, str]:
    """Run a command on a terminal, type the answers, and return its exit code and what the terminal shows."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=ENVIRON)
    os.close(theirs)
    os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
    shown = b""
    try:
        while piece := os.read(ours, 65_536):
            shown += piece
    except OSError:  # Linux's end of a terminal
        pass
    os.close(ours)
    return process.wait(300), shown.decode().replace("\r\n", "\n")


@pytest.fixture
def world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[World]:
    scores = {f"2611.{number:05}": Score(9, 8, "It matters.") for number in range(1, 100)}
    with ArxivServer() as arxiv, LlmServer(scores) as llm, SmtpServer() as smtp:
        made = World(tmp_path / "home", capsys, arxiv, llm, smtp)
        made.write("subscribers.yaml", LISTS)
        made.env()
        yield made


@pytest.fixture
def biorxiv(world: World) -> Iterator[BiorxivServer]:
    """The API of bioRxiv and medRxiv, which the home asks from now on."""
    with BiorxivServer() as server:
        world.biorxiv_url = server.url
        world.env()
        yield server


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[trustme.CA]:
    """An authority whose certificates this process trusts."""
    made = trustme.CA()
    made.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    smtp._usual_context.cache_clear()
    yield made
    smtp._usual_context.cache_clear()


@pytest.fixture
def trusted(authority: trustme.CA) -> ssl.SSLContext:
    """The TLS context of a server on localhost that this process trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    return context
