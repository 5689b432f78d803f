"""`paperboy demo`: the first thing that anybody sees."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
MASTHEAD = "emails/_masthead.txt.j2"
NO_SOCKETS = """\
import socket, sys
def refuse(*_): raise AssertionError("the demo opened a socket")
socket.socket.connect = refuse
from paperboy.cli.main import invoke
sys.exit(invoke(["demo"]))
"""


@dataclass(frozen=True)
class Demo:
    """A demo in a home with a template of its own, which may open no socket."""

    home: Path
    code: int
    out: str
    err: str

    @property
    def pages(self) -> list[Path]:
        return [Path(page) for page in re.findall(r"^  (\S+\.html)", self.out, flags=re.MULTILINE)]

    @property
    def texts(self) -> list[str]:
        return [page.with_suffix(".txt").read_text("utf-8") for page in self.pages]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    home = tmp_path_factory.mktemp("home")
    (home / MASTHEAD).parent.mkdir()
    (home / MASTHEAD).write_text("The paper round\n")
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(SRC),
        "TMPDIR": str(tmp_path_factory.mktemp("tmp")),
    }
    # What a person has set for the real service must not reach the demo.
    environ |= {
        "OPENAI_API_KEY": "sk-not-for-the-demo",
        "SMTP_HOST": "127.0.0.1",
        "MAIL_FROM": "x@example.org",
    }
    command = [sys.executable, "-c", NO_SOCKETS]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=home, env=environ
    )
    return Demo(home, done.returncode, done.stdout, done.stderr)


def test_demo_prints_where_its_mail_lies_and_opens_no_socket(demo: Demo) -> None:
    assert demo.code == 0, demo.err
    assert [page.name for page in demo.pages] == ["foundations.html", "galaxies.html", "cells.html"]
    for page in demo.pages:
        for ending in (".html", ".txt", ".eml"):
            assert page.with_suffix(ending).stat().st_size > 1000


def test_digests_of_the_demo_share_no_paper(demo: Demo) -> None:
    ids = r"2611\.9\d{4}|10\.64898/[\d.]+|10\.5555/tbl[\d.]+"
    named = [set(re.findall(ids, text)) for text in demo.texts]
    assert all(named)
    assert {"10.5555/tbl.2026.0117", "10.5555/tbl.2026.0119"} < named[-1]
    assert sum(map(len, named)) == len(set().union(*named))


def test_demo_leaves_the_home_alone(demo: Demo) -> None:
    assert [
        str(path.relative_to(demo.home)) for path in demo.home.rglob("*") if path.is_file()
    ] == [MASTHEAD]


def test_demo_says_that_no_llm_judged(demo: Demo) -> None:
    assert "no LLM judged" in demo.out
    assert "No LLM judged these papers" in demo.texts[0]


def test_demo_ends_with_the_command_that_comes_next(demo: Demo) -> None:
    assert demo.out.splitlines()[-1].endswith(" init FOLDER")


def test_demo_uses_the_templates_of_the_home(demo: Demo) -> None:
    """So that somebody who restyles a mail sees it on whole digests."""
    assert demo.texts[0].startswith("The paper round\n")
