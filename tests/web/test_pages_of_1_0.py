"""Templates of pages that an operator copied from 1.0 and restyled still make every page."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from paperboy.mail.templates import Templates
from tests.features.archive.test_reading import configure, words
from tests.mail.reading import EMAILS, SAMPLES
from tests.web.conftest import Web

OF_1_0 = Path(__file__).parent / "1.0"
FILES = sorted(file.name for file in OF_1_0.iterdir())


@pytest.mark.parametrize("names", [*([name] for name in FILES), FILES], ids=[*FILES, "all"])
def test_pages_of_1_0_pass_the_check(names: Sequence[str], tmp_path: Path) -> None:
    for name in names:
        shutil.copy(OF_1_0 / name, tmp_path)
    Templates.load([tmp_path, EMAILS]).check_pages({"en", "de"}, SAMPLES)


def test_page_of_a_list_by_a_template_of_1_0_has_its_digests(
    web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    configure(web, archive="public")
    for name in ("list.html.j2", "_room.j2"):
        web.world.write(f"emails/{name}", (OF_1_0 / name).read_text("utf-8"))
    page = words(web.get("/list/foundations"))
    assert "Friday, 20 NovemberOn the Learning of Paper 2611.00001" in page
    assert "shipped template" not in caplog.text
