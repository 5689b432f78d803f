"""The files of a home: its fingerprint, and the copy in force."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from paperboy.errors import ConfigError, StoreWriteError
from paperboy.home.home import Home
from paperboy.home.versions import Files

LISTS = """\
lists:
  - name: foundations
    categories: [cs.LG]
    topics: topics/foundations.md
    subscribers: [ada@example.org, grace@example.org]
"""
WITHOUT_ADA = LISTS.replace("ada@example.org, ", "")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, text in {
        ".env": "",
        "subscribers.yaml": LISTS,
        "prompts/topics/foundations.md": "learning",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def save(home: Path, text: str, name: str = "subscribers.yaml") -> None:
    (home / name).write_text(text, "utf-8")


def in_force(home: Path) -> Path:
    files = Files(home)
    files.put_in_force(files.copy())
    return files.last_good


# ---- fingerprint


def test_library_is_a_file_of_the_version_in_force(home: Path) -> None:
    save(home, LISTS + '    library: "My Library.bib"\n')
    save(home, "@misc{a, title = {Rain}}", "My Library.bib")
    files = Files(home)
    before = files.fingerprint()
    copy = in_force(home)
    save(home, "@misc{a, title = {Snow}}", "My Library.bib")
    assert files.fingerprint() != before
    assert "Rain" in (copy / "My Library.bib").read_text("utf-8")


def test_fingerprint_changes_with_every_file_and_not_with_what_editors_leave(home: Path) -> None:
    files = Files(home)
    before = files.fingerprint()
    for name in ("prompts/.foundations.md.swp", "prompts/notes.md~", "prompts/.git"):
        save(home, "x", name)
    assert files.fingerprint() == before
    for name in (".env", "subscribers.yaml", "prompts/topics/foundations.md", "prompts/new.md"):
        save(home, "# changed", name)
        assert files.fingerprint() != before
        before = files.fingerprint()
    (home / ".env").chmod(0o600 if (home / ".env").stat().st_mode & 0o077 else 0o644)
    assert files.fingerprint() != before


def test_fingerprint_changes_though_time_and_size_stay(home: Path) -> None:
    """`cp -p` and `rsync -t` keep both."""
    before = Files(home).fingerprint()
    stat = (home / "subscribers.yaml").stat()
    save(home, LISTS.replace("ada", "eve"), "other.yaml")
    os.utime(home / "other.yaml", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (home / "other.yaml").rename(home / "subscribers.yaml")
    assert Files(home).fingerprint() != before


def test_fingerprint_follows_links_and_ends_where_they_loop(home: Path, tmp_path: Path) -> None:
    (home / "prompts" / "loop").symlink_to(home / "prompts")
    (home / "emails").symlink_to("emails")
    (home / "shared").mkdir()
    (home / "prompts" / "shared").symlink_to(home / "shared")
    before = Files(home).fingerprint()
    save(home, "x", "shared/more.md")
    assert Files(home).fingerprint() != before


def test_first_two_hundred_problems_are_reported(home: Path) -> None:
    save(home, "hunter2\n" * 10_000, ".env")
    with pytest.raises(ConfigError) as caught:
        Home.load(home, {})
    assert len(caught.value.problems) == 201
    assert str(caught.value.problems[-1]).startswith(
        ".env:201: reporting stops here, after 200 problems; fix those"
    )


# ---- the copy in force


def test_version_in_force_is_its_owners_alone_and_does_not_follow_edits(home: Path) -> None:
    good = in_force(home)
    save(home, "lists: broken")
    save(home, "other", "prompts/topics/foundations.md")
    assert good.resolve().stat().st_mode & 0o777 == 0o700
    (mailing_list,) = Home.in_force(home, {}).lists
    assert (mailing_list.name, mailing_list.topics) == ("foundations", "learning")


def test_version_before_stays_for_its_readers_and_older_ones_go(home: Path) -> None:
    first = in_force(home).resolve()
    second = in_force(home).resolve()
    assert first.is_dir()
    third = in_force(home).resolve()
    assert not first.exists()
    assert (second / "subscribers.yaml").exists()
    assert (third / "subscribers.yaml").exists()


def test_broken_files_fall_back_to_the_version_in_force(home: Path) -> None:
    save(home, "lists: broken")
    with pytest.raises(ConfigError):
        Home.own_or_in_force(home, {})
    save(home, LISTS)
    in_force(home)
    save(home, "lists: broken")
    found, broken = Home.own_or_in_force(home, {})
    assert [mailing_list.name for mailing_list in found.lists] == ["foundations"]
    assert broken is not None
    assert "subscribers.yaml" in str(broken)


def test_version_that_is_no_longer_sound_is_reported_by_the_names_of_the_home(home: Path) -> None:
    """As after an upgrade that is stricter."""
    good = in_force(home)
    (good / "subscribers.yaml").write_text(LISTS + "    oops: 1\n")
    with pytest.raises(ConfigError) as caught:
        Home.in_force(home, {})
    assert [problem.place for problem in caught.value.problems] == ["subscribers.yaml:6:5"]


def two_loops(prompts: Path) -> None:
    (prompts / "a").symlink_to(".")
    (prompts / "b").symlink_to(".")


def many_files(prompts: Path) -> None:
    for n in range(30_001):
        (prompts / str(n)).touch()


def large_files(prompts: Path) -> None:
    for n in range(2):
        (prompts / str(n)).write_bytes(b" " * 33_000_000)


TOO_MUCH = "prompts, emails, libraries and files of subscribers: hold more than 64 MB or 30,000 files; move other "


@pytest.mark.long("thousands of files")
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            two_loops,
            f"prompts{'/a' * 41}: cannot be read: Too many levels of symbolic links; it must be a file that ",
        ),
        (many_files, TOO_MUCH),
        (large_files, TOO_MUCH),
    ],
)
def test_folder_of_too_much_is_watched_and_not_copied(
    home: Path, make: Callable[[Path], None], told: str
) -> None:
    make(home / "prompts")
    assert Files(home).fingerprint() == Files(home).fingerprint()
    with pytest.raises(ConfigError) as caught:
        Files(home).copy()
    assert str(caught.value).startswith(told)
    assert not (home / "data").exists()


def test_env_that_is_gone_is_a_problem_once_there_was_one(home: Path) -> None:
    """Without it, mail would go to the outbox."""
    (home / ".env").unlink()
    in_force(home)
    save(home, "", ".env")
    in_force(home)
    (home / ".env").unlink()
    with pytest.raises(ConfigError, match=r"\.env: is missing; restore it"):
        Files(home).copy()


def test_folder_that_cannot_be_written_is_named_with_the_fix(home: Path) -> None:
    (home / "data").write_text("a file")
    with pytest.raises(
        StoreWriteError, match=r"data: cannot be written .* let Paperboy's user write there"
    ):
        Files(home).copy()
