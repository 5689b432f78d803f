"""`paperboy demo`: the first thing that anybody sees."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> "tuple[subprocess.CompletedProcess[str], Path]":
    folder = tmp_path_factory.mktemp("empty")
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SRC), "TMPDIR": str(tmp_path_factory.mktemp("tmp"))}
    # What a person has set for the real service must not reach the demo.
    environ |= {"OPENAI_API_KEY": "sk-not-for-the-demo", "SMTP_HOST": "127.0.0.1", "MAIL_FROM": "x@example.org"}
    done = subprocess.run(
        [sys.executable, "-m", "paperboy", "demo"], capture_output=True, text=True, check=False, cwd=folder, env=environ
    )
    return done, folder


def test_it_runs_and_says_where_the_mail_lies(ran: "tuple[subprocess.CompletedProcess[str], Path]") -> None:
    done, _ = ran
    assert done.returncode == 0, done.stderr
    pages = [Path(page) for page in re.findall(r"^  (\S+\.html)", done.stdout, flags=re.MULTILINE)]
    assert [page.name for page in pages] == ["foundations.html", "galaxies.html"]
    for page in pages:
        for ending in (".html", ".txt", ".eml"):
            assert page.with_suffix(ending).stat().st_size > 1000


def test_the_two_digests_differ(ran: "tuple[subprocess.CompletedProcess[str], Path]") -> None:
    done, _ = ran
    one, other = re.findall(r"^  (\S+)\.html", done.stdout, flags=re.MULTILINE)
    ids = [set(re.findall(r"2611\.9\d{4}", Path(page + ".txt").read_text("utf-8"))) for page in (one, other)]
    assert ids[0]
    assert ids[1]
    assert ids[0].isdisjoint(ids[1])


def test_it_leaves_the_home_alone(ran: "tuple[subprocess.CompletedProcess[str], Path]") -> None:
    assert list(ran[1].iterdir()) == []


def test_it_says_plainly_that_no_llm_judged(ran: "tuple[subprocess.CompletedProcess[str], Path]") -> None:
    done, _ = ran
    assert "no LLM judged" in done.stdout
    page = re.findall(r"^  (\S+)\.html", done.stdout, flags=re.MULTILINE)[0]
    assert "No LLM judged these papers" in Path(page + ".txt").read_text("utf-8")


def test_it_needs_no_network(tmp_path: Path) -> None:
    """A process that may open no socket runs it all the same."""
    program = (
        "import socket, sys\n"
        "def refuse(*_): raise AssertionError('the demo opened a socket')\n"
        "socket.socket.connect = refuse\n"
        "from paperboy.cli.main import invoke\n"
        "sys.exit(invoke(['demo']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SRC), "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr


def test_it_shows_the_templates_of_the_home(tmp_path: Path) -> None:
    """So that somebody who restyles a mail sees it on whole digests."""
    (tmp_path / "emails").mkdir()
    (tmp_path / "emails" / "_masthead.txt.j2").write_text("The paper round\n")
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SRC), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "paperboy", "--home", str(tmp_path), "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 0, done.stderr
    page = re.findall(r"^  (\S+)\.html", done.stdout, flags=re.MULTILINE)[0]
    assert Path(page + ".txt").read_text("utf-8").startswith("The paper round\n")
