"""The pages of public lists where they are read: in Chromium, from a small phone to a desk, light and dark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from paperboy.store import Store
from tests.builders import TABLES
from tests.features.archive.test_reading import configure
from tests.mail import browser
from tests.mail.browser import Browser
from tests.mail.test_look import AXE, SCHEMES, STANDARDS, VIOLATIONS, needs_axe, too_wide
from tests.web.conftest import Web

pytestmark = pytest.mark.skipif(
    bool(browser.missing()), reason=f"{browser.missing()}; .ci/run installs it"
)

PATHS = (
    "/",
    "/list/foundations",
    "/list/foundations/search?q=paper",
    "/list/foundations/2026-11-20",
    "/list/foundations/search?q=quarks",
    "/list/foundations/join",
    f"/confirm/{'0' * 32}/foundations",  # a link that is too old
    "/no-such-page",
)
WIDTHS = (320, 390, 1_200)


@pytest.fixture
def pages(web: Web, request: pytest.FixtureRequest) -> dict[str, str]:
    configure(web, archive="public", open="true", language=request.param)
    with Store.open(
        web.world.path / "data" / "paperboy.db", tables=TABLES
    ) as store:  # else with the next digest
        store.tasks.add("index", "foundations", web.world.clock())
    assert web.run("once", "--list", "foundations").code == 0  # ends with the tasks
    found = {path: web.get(path).text for path in PATHS}
    assert found[PATHS[2]].count("<li ") == 3
    return found


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser.browser() as opened:
        yield opened


@needs_axe
@pytest.mark.parametrize("pages", ["en", "de"], indirect=True)
def test_pages_fit_every_screen_and_axe_finds_no_violation(
    pages: dict[str, str], window: Browser
) -> None:
    for path, page in pages.items():
        for scheme in SCHEMES:
            window.show(page, WIDTHS[0], scheme)
            window.run(AXE.read_text("utf-8") + "; window.axe = axe")
            for width in WIDTHS:
                window.resize(width, scheme)
                assert too_wide(window, width) == [], f"{path} at {width} px"
                found = window.run(VIOLATIONS, STANDARDS, [])
                assert found == [], f"{path} at {width} px: {found}"
