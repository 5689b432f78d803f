"""Log lines for journald and terminals, bars, and results as sentences."""

import io
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import paperboy
from paperboy.cli.main import invoke
from paperboy.console import log, words
from paperboy.console.lines import show_page, table
from paperboy.console.progress import Bars
from paperboy.console.words import a_morning
from paperboy.features import FEATURES
from paperboy.home.home import Home
from paperboy.home.settings import Settings
from paperboy.models import Counts, DeliveryState, ListReport, Outcome, Spending, Usage
from paperboy.models import MorningReport as Report
from paperboy.sending import delivery
from paperboy.service.app import App
from tests.cli.conftest import FRIDAY
from tests.fakes import NoProgress

logger = logging.getLogger("paperboy.test")


def journal() -> dict[str, str]:
    """Return the variable by which systemd names the journal's file."""
    stderr = os.fstat(2)
    return {"JOURNAL_STREAM": f"{stderr.st_dev}:{stderr.st_ino}"}


def set_up(level: str, environ: Mapping[str, str]) -> None:
    """As a command begins in a home with that LOG_LEVEL."""
    home = Home(Path(), Settings(log_level=level), (), Path())
    app = App(
        home.path,
        environ,
        lambda: FRIDAY,
        lambda _: None,
        lambda: 0.0,
        NoProgress(),
        features=FEATURES,
    )
    app.home = home
    log.set_up(app.settings.log_level, app.environ)


STAGES = re.findall(  # of every long work
    r"""\.stage\("([^"]+)"\)""",
    "".join(file.read_text("utf-8") for file in Path(paperboy.__file__).parent.rglob("*.py")),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Lead stderr to a terminal from now on."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stderr", found := Terminal())
    return found


def test_journald_gets_a_priority_on_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("INFO", journal())
    logger.info("all is well")
    logger.warning("one\ntwo")
    assert capsys.readouterr().err == "<6>all is well\n<4>one\n<4>  two\n"


def test_journald_gets_a_priority_on_the_error_that_ends_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["--home", str(tmp_path / "none"), "once"], journal()) == 78
    assert capsys.readouterr().err.startswith(f"<3>{tmp_path}/none: there is no such folder")


def test_process_that_only_inherits_the_variable_writes_no_priorities(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As whatever is started from a service, with its stderr elsewhere."""
    set_up("INFO", {"JOURNAL_STREAM": "8:1"})
    logger.info("all is well")
    assert capsys.readouterr().err.endswith(" INFO all is well\n")


def test_plain_log_line_has_its_time_with_its_zone_and_its_level(
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_up("INFO", {})
    logger.info("all is well")
    logger.debug("not asked for")
    err = capsys.readouterr().err
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4} INFO all is well\n", err)


def test_bars_of_all_stages_begin_in_the_same_column(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = terminal(monkeypatch)
    for stage in STAGES:
        with Bars().stage(stage) as progress:
            progress(1, 1)
    drawn = {
        line.index("━")
        for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stderr.getvalue()).splitlines()
        if "1/1" in line
    }
    assert len(drawn) == 1


@pytest.mark.parametrize(
    ("level", "shown"),
    [("INFO", "[red]not markup[/red]\n"), ("DEBUG", "details\n[red]not markup[/red]\n")],
)
def test_terminal_shows_only_warnings_beside_the_bars_and_everything_at_debug(
    monkeypatch: pytest.MonkeyPatch, level: str, shown: str
) -> None:
    stderr = terminal(monkeypatch)
    set_up(level, {})
    logger.debug("details")
    logger.warning("[red]not markup[/red]")
    assert stderr.getvalue() == shown


def test_bar_on_a_terminal_is_not_torn_by_log_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = terminal(monkeypatch)
    set_up("INFO", {})
    with Bars().stage("Fetching papers") as progress:
        progress(1, 2)
        logger.warning("[red]not markup[/red] :warning:")
        progress(2, 2)
    lines = [line.rpartition("\x1b[2K")[2] for line in stderr.getvalue().splitlines()]
    assert "[red]not markup[/red] :warning:" in lines
    assert "Fetching papers" in stderr.getvalue()
    assert "2/2" in stderr.getvalue()


def test_bar_is_not_drawn_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars().stage("Fetching papers") as progress:
        progress(1, 2)
    assert capsys.readouterr() == ("", "")


DEAD = "the LLM at api.openai.com answers 503: Overloaded"
UNSCORED = ListReport("foundations", None, Counts(considered=8, carried_over=8), problem=DEAD)


def said(*entries: ListReport) -> list[str]:
    return a_morning(Report(entries), delivery.Report({DeliveryState.SENT: 3}))


def test_result_says_why_a_list_has_no_mail_and_leaves_failures_to_the_log() -> None:
    skipped = ListReport("quarks", Outcome.SKIPPED, problem="it does not send on Fridays")
    quiet = ListReport("stars", Outcome.QUIET, problem="arXiv announced nothing (weekend)")
    assert said(UNSCORED, skipped, quiet) == [
        "foundations: still due, scored 0 of 8 papers",
        "quarks: skipped; it does not send on Fridays",
        "stars: quiet; arXiv announced nothing (weekend)",
        "Deliveries: 3 sent",
    ]


def test_cost_without_a_price_says_so() -> None:
    counts = Counts(considered=2, selected=2)
    unpriced = Spending(Usage(1, 900, completion_tokens=100), None)
    report = ListReport("foundations", Outcome.DIGEST, counts, unpriced)
    assert said(report)[0] == "foundations: digest, 2 of 2 papers, price unknown"


def test_counts_in_a_sentence_name_all_that_was_left_out() -> None:
    """As `once` and `preview` say them."""
    counts = Counts(
        considered=20, author_matches=1, selected=2, over_cap=3, below=4, carried_over=5, let_go=5
    )
    assert (
        words.papers(counts)
        == "3 of 20 papers (1 author match), 3 over the cap, 5 carried over, 5 let go"
    )
    assert (
        words.papers(Counts(considered=9, below=4, not_called=5)) == "0 of 9 papers, 5 not called"
    )
    assert words.papers(Counts(considered=9, below=9)) == "0 of 9 papers"


# ---- tables


@pytest.mark.parametrize("columns", [70, 80])
def test_table_on_a_terminal_fits_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    reason = "asked to leave the list by the link of a mail"
    url = "https://support.example.com/mail/answer/81126#authentication-and-more-words-of-an-anchor"
    rows = [
        ("ada@example.org", "galaxies", "Fri 20 Nov", reason),
        ("emmy@example.org", "all", "Fri 20 Nov", url),
    ]
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout", stdout := Terminal())
    show_page([table(("Address", "List", "Since", "Why"), rows)])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", stdout.getvalue()).splitlines()
    assert max(map(len, lines)) <= columns
    assert {word for line in lines for word in line.split()} >= {
        "ada@example.org",
        "emmy@example.org",
        *reason.split(),
    }
    assert url in "".join(line[lines[0].index("Why") :].strip() for line in lines)


def test_columns_are_as_wide_as_a_terminal_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("数学", "2", ""), ("physics", "none yet"), ("e\u0301t", "1\x1b", "x")]
    show_page([table(("List", "Papers", "Cost"), rows)])
    assert capsys.readouterr().out.splitlines() == [
        "List     Papers    Cost",
        "数学     2",
        "physics  none yet",
        "e\u0301t       1\\x1b     x",
    ]
