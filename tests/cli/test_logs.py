"""Log lines: with a priority for journald, plain elsewhere, above the bars on a terminal."""

import io
import logging

import pytest
from rich.console import Console

from paperboy.cli import logs
from paperboy.cli.progress import Bars

logger = logging.getLogger("paperboy.test")


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80)


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_journald_gets_a_priority_on_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("INFO", {"JOURNAL_STREAM": "8:1"}, Console(file=io.StringIO()))
    logger.info("all is well")
    logger.warning("one\ntwo")
    assert capsys.readouterr().err == "<6>all is well\n<4>one\n<4>two\n"


def test_elsewhere_a_line_has_its_time_and_level(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("INFO", {}, Console(file=io.StringIO()))
    logger.info("all is well")
    logger.debug("not asked for")
    err = capsys.readouterr().err
    assert err.endswith(" INFO all is well\n")
    assert err.count("\n") == 1


def test_a_terminal_shows_warnings_and_leaves_the_rest_to_the_bars() -> None:
    console = terminal()
    logs.set_up("INFO", {}, console)
    logger.info("all is well")
    logger.warning("[red]not markup[/red]")
    assert written(console) == "[red]not markup[/red]\n"


def test_a_terminal_shows_everything_when_asked() -> None:
    console = terminal()
    logs.set_up("DEBUG", {}, console)
    logger.debug("details")
    assert written(console) == "details\n"


def test_a_bar_on_a_terminal_and_nothing_elsewhere() -> None:
    console, plain = terminal(), Console(file=io.StringIO())
    for where in (console, plain):
        with Bars(where).stage("Fetching papers") as progress:
            progress(1, 2)
            progress(2, 2)
    assert "Fetching papers" in written(console)
    assert "2/2" in written(console)
    assert written(plain) == ""
