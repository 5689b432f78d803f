"""A second source is a folder and a line: whole mornings with the package that has it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.sources import trial

ROOT = Path(__file__).parents[2]
FOLDER = Path(trial.__file__).parent
LINE = "SOURCES: Sequence[Source] = ("


def test_mornings_with_a_second_source(tmp_path: Path) -> None:
    """The only change outside its folder is its line."""
    for name in ("emails", "prompts"):
        (tmp_path / name).symlink_to(ROOT / name)
    package = tmp_path / "src" / "paperboy"
    half_written = shutil.ignore_patterns("*.pyc.*")  # by the other worker of pytest
    shutil.copytree(ROOT / "src" / "paperboy", package, ignore=half_written)
    sources = package / "sources"
    (sources / "trial").mkdir()
    shutil.copy(FOLDER / "source.py", sources / "trial" / "__init__.py")
    text = (sources / "__init__.py").read_text("utf-8")
    assert text.count(LINE) == 1
    line = "from paperboy.sources.trial import TRIAL\n\n" + LINE
    (sources / "__init__.py").write_text(text.replace(LINE, f"{line}TRIAL, "), "utf-8")

    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(FOLDER / "mornings.py"),
    ]
    environ = {
        **os.environ,
        "PYTHONPATH": f"{package.parent}{os.pathsep}{ROOT}",
        "TMPDIR": str(tmp_path),
    }
    ran = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, env=environ
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
