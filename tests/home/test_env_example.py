"""`.env.example` says what the code does: every setting, its default, and nothing else; and its recipes are sound."""

import itertools
import re
import shutil
from pathlib import Path

from paperboy.home.settings import SETTINGS, load

EXAMPLE = Path(__file__).parents[2] / ".env.example"


def assignments() -> dict[str, str]:
    lines = EXAMPLE.read_text("utf-8").splitlines()
    pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
    assert len(pairs) == len({name for name, _, _ in pairs}), "a setting stands twice"
    return {name: value for name, _, value in pairs}


def test_example_lists_every_setting_with_its_default_and_nothing_else():
    assert assignments() == dict(SETTINGS), ".env.example: each setting with its default"


def test_each_setting_has_a_comment_above_it():
    lines = EXAMPLE.read_text("utf-8").splitlines()
    for above, line in itertools.pairwise(lines):
        if line and not line.startswith("#"):
            assert above.startswith("# "), line


def test_unchanged_copy_gives_the_defaults(tmp_path):
    without_any = load(tmp_path, {})
    shutil.copy(EXAMPLE, tmp_path / ".env")
    assert load(tmp_path, {}) == without_any


def test_each_recipe_is_sound_as_it_stands(tmp_path):
    """Four lines under a line that says what for; Ollama's has more, about the model."""
    recipes = re.findall(r"(?m)^# (?!    )(.*):\n((?:#     .*\n)+)", EXAMPLE.read_text("utf-8"))
    assert [what.split(",")[0].split()[0] for what, _ in recipes] == [
        "Ollama",
        "Gmail",
        "Microsoft",
        "A",
        "Postfix",
    ]
    for what, lines in recipes:
        assert lines.count("\n") == (7 if what.startswith("Ollama") else 4)
        (tmp_path / ".env").write_text(
            re.sub(r"(?m)^#     (?:([A-Z]\S+=.*?)(?:   .*)?|.*)$", r"\1", lines)
        )
        found = load(tmp_path, {})
        assert found.has_llm or (found.smtp_host and found.mail_from)
