"""The lists of a version in force, as they were read: when the cache counts, and when the YAML does."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from paperboy.config import cache, edits
from paperboy.config import lists as mailing_lists
from paperboy.config.home import LISTS_FILE, Files, Home, load_lists
from paperboy.config.settings import Settings
from paperboy.errors import ConfigError
from paperboy.models import MailingList

LISTS = """\
lists:
  - name: foundations
    categories: [cs.LG]
    topics: topics/foundations.md
    subscribers: [ada@example.org, Grace Hopper <grace@example.org>]
  - name: galaxies
    title: Galäxies
    categories: [astro-ph.GA]
    topics: Dust, and what it hides
    authors: [Vera Rubin]
    language: de
    min_relevance: 5
    send_at: 6:30
    timezone: Europe/Berlin
    weekdays: [mon, sat]
    cross_lists: false
    exclude: [astro-ph.EP]
    keywords: {must: [dust], never: [survey]}
    paused: true
    webhook: https://hooks.example.org/secret
    subscribers_file: readers.txt
    subscribers: [emmy@example.org]
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = {".env": "", LISTS_FILE: LISTS, "prompts/topics/foundations.md": "learning", "readers.txt": "bo@b.org\n"}
    for name, text in made.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def in_force(home: Path) -> Path:
    """As a trial brings the files into force."""
    files = Files(home)
    copy = files.copy()
    Home.load(home, {}, copy).cache_lists()
    files.put_in_force(copy)
    return copy


def cached(copy: Path, home: Path, settings: Settings | None = None) -> tuple[MailingList, ...] | None:
    return cache.read(copy, home / LISTS_FILE, [home / "prompts"], settings or Settings())


def from_yaml(home: Path) -> tuple[MailingList, ...]:
    return mailing_lists.load(home / LISTS_FILE, [home / "prompts"], Settings())


def test_cache_has_the_lists_as_the_yaml_has_them(home: Path) -> None:
    copy = in_force(home)
    assert cached(copy, copy) == cached(copy, home) == from_yaml(home) == Home.in_force(home, {}).lists


def test_lists_are_read_from_the_cache_in_a_fraction_of_the_time(home: Path) -> None:
    many = "".join(LISTS.partition("\n")[2].replace("name: ", f"name: n{number}-") for number in range(200))
    (home / LISTS_FILE).write_text(f"lists:\n{many}", "utf-8")
    in_force(home)
    took = dict[bool, float]()
    for tried in (False, True, True):  # the second of these knows how to read it
        began = time.process_time()
        assert len(load_lists(home, Settings(), tried=tried)) == 400
        took[tried] = time.process_time() - began
    assert took[True] < took[False] / 5


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (LISTS_FILE, "ada@", "ava@"),
        (LISTS_FILE, "paused: true", "paused: yes"),
        ("prompts/topics/foundations.md", "learning", "unlearning"),
    ],
)
def test_edited_files_have_no_cache_until_they_are_in_force(home: Path, name: str, old: str, new: str) -> None:
    copy = in_force(home)
    (home / name).write_text((home / name).read_text("utf-8").replace(old, new), "utf-8")
    assert cached(copy, home) is None
    assert cached(copy, copy) is not None
    if "yes" in new:
        with pytest.raises(ConfigError):
            Home.load(home, {}, tried=True)
    else:
        assert Home.load(home, {}, tried=True).lists == from_yaml(home) != Home.in_force(home, {}).lists


def test_people_of_a_file_are_those_that_it_has_now(home: Path) -> None:
    copy = in_force(home)
    (home / "readers.txt").write_text("cy@c.org\n")
    assert cached(copy, home) == from_yaml(home)
    (home / "readers.txt").unlink()
    assert cached(copy, home) is None


def test_another_default_of_the_settings_has_no_cache(home: Path) -> None:
    copy = in_force(home)
    (foundations, _) = Home.in_force(home, {"TIMEZONE": "Asia/Tokyo"}).lists
    assert foundations.timezone.key == "Asia/Tokyo"
    (copy / ".env").write_text("SEND_AT=9:45\n")
    (foundations, _) = Home.in_force(home, {}).lists
    assert str(foundations.send_at) == "09:45:00"


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: b"",
        lambda kept: kept[:-10],
        lambda kept: kept.replace(b"ada@", b"ava@"),
        lambda kept: kept.partition(b"\n")[2],
        lambda kept: kept.replace(b"\n", b"\n\xff", 1),
    ],
)
def test_damaged_cache_is_none(home: Path, damage: Callable[[bytes], bytes]) -> None:
    copy = in_force(home)
    place = copy / cache.NAME
    place.write_bytes(damage(place.read_bytes()))
    assert cached(copy, copy) is None
    assert Home.in_force(home, {}).lists == from_yaml(home)


def test_cache_that_was_copied_into_a_home_is_none(home: Path) -> None:
    """Its topics may be others there, and nobody would look."""
    copy = in_force(home)
    (home / cache.NAME).write_bytes((copy / cache.NAME).read_bytes())
    assert cached(home, home) is None


def test_lists_that_share_subscribers_are_not_cached(home: Path) -> None:
    shared = LISTS.replace("subscribers: [ada", "subscribers: &all [ada").replace("[emmy@example.org]", "*all")
    (home / LISTS_FILE).write_text(shared, "utf-8")
    copy = in_force(home)
    assert not (copy / cache.NAME).exists()
    assert Home.in_force(home, {}).lists == from_yaml(home)


def test_edit_of_one_list_keeps_the_others_as_they_are(home: Path) -> None:
    in_force(home)
    foundations, galaxies = Home.in_force(home, {}).lists
    (home / LISTS_FILE).write_text(LISTS.replace("min_relevance: 5", "min_relevance: 6"), "utf-8")
    in_force(home)
    same, other = Home.in_force(home, {}).lists
    assert same is foundations
    assert (galaxies.min_relevance, other.min_relevance) == (5, 6)


def test_forgotten_address_is_in_no_cache(home: Path) -> None:
    copy = in_force(home)
    assert b"grace@example.org" in (copy / cache.NAME).read_bytes()
    edits.forget([Home.load(home, {}), Home.in_force(home, {})], "grace@example.org")
    assert [path for path in home.rglob("*") if path.is_file() and b"grace@" in path.read_bytes()] == []
    assert Home.in_force(home, {}).lists == from_yaml(home)


def test_forgetting_leaves_a_file_of_that_name_in_the_home(home: Path) -> None:
    (home / cache.NAME).write_text("the operator's own")
    edits.forget([Home.load(home, {})], "grace@example.org")
    assert (home / cache.NAME).exists()
