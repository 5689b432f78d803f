"""A list's language, by the command line: `emails/LANGUAGE/` is for its lists alone, and faults in it are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from paperboy.home.versions import Files
from tests.cli.conftest import LISTS, World

EMAILS = Path(__file__).parents[2] / "emails"
MASTHEAD = "emails/de/_masthead.txt.j2"
GERMAN = LISTS.replace(
    "    categories: [cs.LG, stat.ML]\n", "    categories: [cs.LG, stat.ML]\n    language: de-AT\n"
)


@pytest.fixture
def german(world: World) -> World:
    """Two lists, the first in German, and papers for both."""
    world.env(smtp=False)
    world.write("subscribers.yaml", GERMAN)
    world.write(MASTHEAD, "Guten Morgen!\n" + (EMAILS / "_masthead.txt.j2").read_text("utf-8"))
    world.announce_both(1, 2)
    return world


@pytest.mark.quick
def test_translation_is_for_lists_of_its_language_alone(german: World) -> None:
    ran = german.once()
    assert ran.code == 0, ran.err
    foundations, galaxies = (
        (german.path / "outbox" / f"{name}.txt").read_text("utf-8")
        for name in ("foundations", "galaxies")
    )
    assert foundations.startswith("Guten Morgen!\n")
    assert "Guten Morgen" not in galaxies
    asked = {request["messages"][1]["content"].count('"de-AT"') for request in german.llm.requests}
    assert asked == {0, 1}


def test_changed_language_asks_for_new_comments_and_shows_in_a_preview(german: World) -> None:
    assert german.run("preview", "galaxies").code == 0
    asked = len(german.llm.requests)
    german.write(
        "subscribers.yaml", GERMAN.replace("[astro-ph.GA]", "[astro-ph.GA]\n    language: de")
    )
    assert german.run("preview", "galaxies").code == 0
    assert len(german.llm.requests) == asked + 1
    assert (
        (german.path / "outbox/preview/galaxies.txt")
        .read_text("utf-8")
        .startswith("Guten Morgen!\n")
    )


@pytest.mark.parametrize("command", [["once"], ["preview", "galaxies"], ["check", "--offline"]])
def test_broken_translation_stops_each_command_with_file_and_line(
    german: World, command: list[str]
) -> None:
    """Also those for lists in English, since an operator hears of it before the list's own morning."""
    german.write("emails/de/_words.j2", "{# Wörter #}\n\n{% if %}\n")
    ran = german.run(*command)
    assert ran.code == 78
    assert "emails/de/_words.j2:3: " in ran.out + ran.err
    assert not list((german.path / "outbox").glob("*.txt"))


def test_folder_that_is_no_lists_language_stops_nothing(german: World) -> None:
    """It may be a copy that the operator keeps, or a translation that nobody wants yet."""
    german.write("emails/old/_words.j2", '{% set lang = "en" %}')
    german.announce(1)
    assert german.once().code == 0


def test_check_names_misspelt_files_of_a_language(german: World) -> None:
    german.write("emails/de/_mashead.txt.j2", "")
    ran = german.run("check", "--offline")
    said = "the templates render; no shipped template uses de/_mashead.txt.j2"
    assert f"ok     emails: {said}\n" in ran.out


def test_check_names_own_words_that_hide_a_translation(german: World) -> None:
    """Lists in German would have a mail in two languages."""
    hides = "emails/_words.j2 goes before the shipped de/_words.j2; copy it to emails/de/_words.j2"
    words = (EMAILS / "_words.j2").read_text("utf-8")
    german.write("emails/_words.j2", words)
    assert hides in german.run("check", "--offline").out
    german.write("emails/de/_words.j2", words)
    assert hides not in german.run("check", "--offline").out


def test_check_names_what_a_translation_of_ones_own_lacks(world: World) -> None:
    world.env(smtp=False)
    world.write("subscribers.yaml", GERMAN.replace("de-AT", "eo"))
    for name in ("_words.j2", "_brief.j2", "_room.j2"):
        world.write(f"emails/eo/{name}", (EMAILS / name).read_text("utf-8"))
    lacks = "emails/eo has no _site.j2, whose words are in English"
    assert lacks in world.run("check", "--offline").out
    world.write("emails/eo/_site.j2", (EMAILS / "_site.j2").read_text("utf-8"))
    assert "whose words are in English" not in world.run("check", "--offline").out


def test_copy_in_force_has_the_folders_of_languages(german: World) -> None:
    files = Files(german.path)
    before = files.fingerprint()
    assert (files.copy() / MASTHEAD).read_text("utf-8").startswith("Guten")
    german.write(MASTHEAD, "Servus!\n")
    assert files.fingerprint() != before
