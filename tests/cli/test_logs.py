"""Log lines: with a priority for journald, plain elsewhere, above the bars on a terminal."""

import io
import logging
import os
from pathlib import Path

import pytest
from rich.console import Console

from paperboy.cli import logs
from paperboy.cli.main import invoke
from paperboy.cli.progress import Bars

logger = logging.getLogger("paperboy.test")


def journal() -> dict[str, str]:
    """What systemd says of a stderr that is the journal: which file it is."""
    stderr = os.fstat(2)
    return {"JOURNAL_STREAM": f"{stderr.st_dev}:{stderr.st_ino}"}


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80)


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_journald_gets_a_priority_on_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("INFO", journal(), Console(file=io.StringIO()))
    logger.info("all is well")
    logger.warning("one\ntwo")
    assert capsys.readouterr().err == "<6>all is well\n<4>one\n<4>two\n"


def test_journald_gets_a_priority_on_the_last_words_of_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["--home", str(tmp_path / "none"), "once"], journal()) == 78
    assert capsys.readouterr().err.startswith(f"<3>{tmp_path}/none: there is no such folder")


def test_who_only_inherits_the_variable_writes_no_priorities(capsys: pytest.CaptureFixture[str]) -> None:
    """As whatever is started from a service, with its stderr elsewhere."""
    logs.set_up("INFO", {"JOURNAL_STREAM": "8:1"}, Console(file=io.StringIO()))
    logger.info("all is well")
    assert capsys.readouterr().err.endswith(" INFO all is well\n")


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
