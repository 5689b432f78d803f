"""What all tests share."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import hypothesis
import pytest

# How fast a test is says nothing on a busy machine.
hypothesis.settings.register_profile("patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long tests come first, so that one worker runs all tests of the same year; the other steals from the end."""
    items.sort(key=lambda item: item.path.name not in {"test_year.py", "test_crash.py"})


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # pluggy's generator
    """Where everything is installed, as in `.ci/run`, a test that skips has failed."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("PAPERBOY_NO_SKIPS") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, though nothing may be missing here: {report.longrepr}"


@pytest.fixture(autouse=True)
def _untouched_log() -> Iterator[None]:
    """Commands set up the log of their process, which all tests share; a fixture may have run some before."""
    log = logging.getLogger("paperboy")
    log.handlers, log.level, log.propagate = [], logging.NOTSET, True
    yield
    log.handlers, log.level, log.propagate = [], logging.NOTSET, True
