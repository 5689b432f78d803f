"""What all tests share: which of them are long, how failures are reported, and a log as it was."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

LONG_FILES = {  # in the order in which they run
    "test_year.py": "a simulated quarter of a year",
    "test_crash.py": "kills a service at any instant",
    "test_hostile.py": "whole mornings with hostile peers",
    "test_bounds.py": "hostile replies of many megabytes",
    "test_hostile_web.py": "hostile clients, by the hundred",
    "test_workers.py": "processes that compose",
    "test_scheduler.py": "Dask",
    "test_left_out.py": "copies of the package, in processes of their own",
    "test_trial.py": "a copy of the package, in a process of its own",
    "test_run.py": "services in processes of their own",
    "test_beside.py": "services in processes of their own",
    "test_check_web.py": "services in processes of their own",
    "test_streams.py": "commands in processes of their own",
    "test_unusable_home.py": "every command, in homes of all kinds",
    "test_wrong_settings.py": "every command, with settings of all kinds",
    "test_in_force.py": "every command, with faults of all kinds",
    "cli/test_biorxiv.py": "mornings of two sources",
    "cli/test_journals.py": "mornings of journals",
    "morning/test_journals.py": "mornings of journals",
    "test_journal_weeks.py": "mornings of many days",
    "test_languages.py": "mornings in two languages",
    "test_homes.py": "mornings in homes of released versions",
    "test_llm_sizes.py": "hundreds of calls",
    "test_llm_faults.py": "LLMs with every trouble",
    "test_smtp_hostile.py": "mail servers with every trouble",
    "test_templates_of_1_0.py": "templates of all kinds",
    "test_once_days.py": "mornings of many days",
    "test_weeks.py": "mornings of many days",
    "test_daemon.py": "mornings of many days",
    "test_llm_mornings.py": "mornings with every trouble of an LLM",
    "test_mail_*.py": "mornings with every trouble of a mail server",
    "test_heartbeat.py": "mornings with every trouble",
    "test_resend_given_up.py": "mornings of many days",
    "service/test_tasks.py": "children in processes of their own",
    "test_spoilt.py": "mornings with every trouble of a database",
    "test_pages.py": "sign-ups with every trouble",
    "test_templates.py": "templates with every fault",
    "*postfix.py": "Postfix",
    "test_smtp_sink.py": "Postfix's smtp-sink",
    "test_spam.py": "SpamAssassin",
    "test_clients.py": "Node",
    "test_look.py": "Chromium",
    "test_look_of_lists.py": "Chromium",
    "test_browser.py": "Chromium and nginx",
}
"""Files whose tests are long, by a pattern of their name: what takes so long, or what they need."""

DATA = Path(__file__).parents[2] / "shared" / "data"  # real days of arXiv, beside the checkout
LEFT_OUT = pytest.StashKey[dict[str, int]]()  # numbers of tests, by what the summary says of them
LONG = "long tests were left out; --all runs them"
NO_DATA = "tests need data that this repository does not hold"

# How fast a test is says nothing on a busy machine.
PATIENT = hypothesis.settings(
    deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile("all", PATIENT)
hypothesis.settings.register_profile("quick", PATIENT, max_examples=25)


# No test trusts the system's authorities, and reading them takes 40 ms a client.
os.environ["SSL_CERT_FILE"] = os.devnull


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all", action="store_true", help="run the long tests too (see tests/README.md)"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "long(reason): runs only with --all, or where its file is named"
    )
    hypothesis.settings.load_profile("all" if config.getoption("--all") else "quick")
    config.addinivalue_line("markers", "data: needs real days of arXiv, beside the checkout")
    config.addinivalue_line(
        "markers", "quick: runs always, though its file is long: the one test of its flow"
    )


def place_in_table(item: pytest.Item) -> int:
    """Return the place of the first pattern in LONG_FILES that fits; their number if none does."""
    places = (place for place, pattern in enumerate(LONG_FILES) if item.path.match(pattern))
    return next(places, len(LONG_FILES))


def is_long(item: pytest.Item) -> bool:
    if item.get_closest_marker("quick") is not None:
        return False
    return place_in_table(item) < len(LONG_FILES) or item.get_closest_marker("long") is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the long tests without `--all`, but for those of files that the command line names, and those whose
    data is not there.

    Long ones come first, in the table's order, so that one worker runs all tests of the same year; the other steals
    from the end.
    """
    left_out = {NO_DATA: [item for item in items if item.get_closest_marker("data")], LONG: []}
    if DATA.is_dir():
        left_out[NO_DATA] = []
    items[:] = [item for item in items if item not in left_out[NO_DATA]]

    long = sorted((item for item in items if is_long(item)), key=place_in_table)
    quick = [item for item in items if not is_long(item)]
    if not config.getoption("--all"):
        named = {Path(argument.partition("::")[0]).resolve() for argument in config.args}
        left_out[LONG] = [item for item in long if item.path not in named]
        long = [item for item in long if item.path in named]
    items[:] = [*long, *quick]

    numbers = {why: len(tests) for why, tests in left_out.items()}
    config.hook.pytest_deselected(items=[*left_out[NO_DATA], *left_out[LONG]])
    config.stash[LEFT_OUT] = numbers
    if hasattr(
        config, "workeroutput"
    ):  # a process of pytest-xdist; the one with the terminal collects nothing
        config.workeroutput["left out"] = numbers


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over from a process of pytest-xdist how many tests it left out."""
    output = getattr(node, "workeroutput", {})
    node.config.stash[LEFT_OUT] = output.get("left out", {})


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for why, number in config.stash.get(LEFT_OUT, {}).items():
        if number:
            terminalreporter.write_line(f"{number} {why}")


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, str] | None:
    """Name a failure when it happens, not only in the summary."""
    if not report.failed:
        return None
    category, word = ("failed", "FAILED") if report.when == "call" else ("error", "ERROR")
    return category, f"\n{word} {report.nodeid}\n", word


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Where everything is installed, as in `.ci/run`, a test that skips has failed."""
    report = yield
    if report.skipped and os.environ.get("PAPERBOY_NO_SKIPS") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, though nothing may be missing here: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def _untouched_log() -> Iterator[None]:
    """Commands set up the log of their process, which all tests share; a fixture may have run some before."""
    log = logging.getLogger("paperboy")
    log.handlers = []
    log.level = logging.NOTSET
    log.propagate = True
    yield
    log.handlers = []
    log.level = logging.NOTSET
    log.propagate = True
