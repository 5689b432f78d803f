"""`paperboy init` and `backup`: a new home, asked for or not, and a copy of its database."""

from __future__ import annotations

import re
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from paperboy import sample
from paperboy.cli.home import machine_timezone
from paperboy.home.home import Home
from paperboy.home.lists import KEYS
from paperboy.models import MailingList
from tests.cli.conftest import ENVIRON, World, on_terminal

FILES = {".env", ".gitignore", "subscribers.yaml", "prompts/topics/foundations.md"}


def written(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}


def the_list(home: Path) -> MailingList:
    (found,) = Home.load(home, {}).lists
    return found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def new(world: World) -> World:
    """A world whose home is not there yet."""
    shutil.rmtree(world.path)
    return world


def test_new_home_is_sound_and_its_owners_alone(new: World) -> None:
    ran = new.run("init")
    assert (ran.code, ran.err) == (0, "")
    assert written(new.path) == FILES
    assert {mode(new.path / name) for name in FILES} == {0o600}
    checked = new.run("check", "--offline")
    assert checked.code == 0
    assert "lists: foundations: cs.LG, stat.ML; 1 subscriber" in checked.out


def test_init_ends_with_the_next_two_commands(new: World) -> None:
    check, preview = new.run("init").out.splitlines()[-2:]
    assert check.endswith(f" --home {new.path} check")
    assert preview.endswith(f" --home {new.path} preview foundations")


def test_init_takes_a_folder(new: World, tmp_path: Path) -> None:
    assert new.run("init", str(tmp_path / "a" / "b")).code == 0
    assert written(tmp_path / "a" / "b") == FILES
    assert not new.path.exists()


def test_new_home_has_the_machines_timezone(new: World) -> None:
    new.environ["TZ"] = "Asia/Kolkata"
    new.run("init")
    assert the_list(new.path).timezone.key == "Asia/Kolkata"
    assert "# timezone: Asia/Kolkata\n" in (new.path / "subscribers.yaml").read_text("utf-8")


@pytest.mark.parametrize(
    ("tz", "target", "name"),
    [
        (":Europe/Berlin", "/usr/share/zoneinfo/Asia/Kolkata", "Europe/Berlin"),
        ("/usr/share/zoneinfo/Europe/Berlin", "", "Europe/Berlin"),
        ("", "/usr/share/zoneinfo/Asia/Kolkata", "Asia/Kolkata"),
        ("", "/var/db/timezone/zoneinfo/America/Argentina/Salta", "America/Argentina/Salta"),
        ("CET-1CEST", "/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
        ("", "/usr/share/zoneinfo/Etc/UTC", "UTC"),
        ("", "/usr/share/zoneinfo/Mars/Olympus", "UTC"),
        ("", "", "UTC"),
    ],
)
def test_machines_timezone_is_that_of_tz_or_of_the_link_if_it_has_a_name(
    tmp_path: Path, tz: str, target: str, name: str
) -> None:
    localtime = tmp_path / "localtime"
    if target:
        localtime.symlink_to(target)
    assert machine_timezone(tz, str(localtime)) == name


@pytest.mark.parametrize("name", sorted(FILES))
def test_init_overwrites_nothing(new: World, name: str) -> None:
    new.write(name, "mine")
    assert f"{new.path} has {name} already. Nothing was done" in new.fails(2, "init")
    assert written(new.path) == {name}
    assert (new.path / name).read_text() == "mine"


@pytest.mark.parametrize("place", ["file", "file/home", "link"])
def test_folder_that_cannot_be_made_is_one_line(new: World, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "home")
    ran = new.run("init", str(tmp_path / place))
    assert ran.code == 78
    assert re.fullmatch(r".*: cannot be made: .*; name another folder\n", ran.err)


def test_home_that_cannot_be_written_whole_is_left_as_it_was(new: World) -> None:
    new.write("prompts", "a file in the folder's place")
    assert new.run("init").code == 78
    assert written(new.path) == {"prompts"}


def test_git_never_sees_addresses_or_secrets(new: World) -> None:
    new.run("init")
    new.run("backup", str(new.path / "copy.db"))
    for name in ("data/paperboy.db", "outbox/foundations.html", ".has-database", "copy.db"):
        new.write(name, "private")
    subprocess.run(["git", "init", "-q", str(new.path)], check=True)
    told = subprocess.run(
        ["git", "-C", str(new.path), "ls-files", "-o", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == [".gitignore", "prompts/topics/foundations.md"]


def test_each_key_of_a_list_is_there_and_sound_once_uncommented(new: World) -> None:
    new.run("init")
    lists = new.path / "subscribers.yaml"
    every = re.sub(r"(?m)^( *)# (?=[a-z_]+: |- )", r"\1", lists.read_text("utf-8"))
    named = set(re.findall(r"(?m)^[ -]{4}([a-z_]+):", every))
    assert named == set(KEYS), "sample/home/subscribers.yaml: a comment for each key"
    assert "\njournals: {Nature: https://www.nature.com/nature.rss} " in every
    lists.write_text(every, "utf-8")
    new.write("readers.txt", "Vera Rubin <vera@example.org>")
    assert [who.name for who in the_list(new.path).subscribers] == [
        "",
        "Grace Hopper",
        "Vera Rubin",
    ]


# ── On a terminal ────────────────────────────────────────────────────────────────────────────────────────────────────


def asked(home: Path, *answers: str) -> tuple[int, str]:
    return on_terminal([sys.executable, "-m", "paperboy", "init", str(home)], *answers)


def test_placeholders_that_were_left_in_the_topics_are_noted_until_they_are_replaced(
    new: World,
) -> None:
    """The second topic would be a section of the digest, by its name."""
    assert asked(new.path, "Bees", "cs.LG", "ada@uni.test", "")[0] == 0
    topics = new.path / "prompts" / "topics" / "bees.md"
    text = topics.read_text("utf-8")
    assert all(words in text for words in sample.PLACEHOLDERS)
    new.env(smtp=False)
    new.announce(1)
    told = "bees: the topics still say "
    fix = ", as in a new home; readers see that, so write what the list wants to read\n"
    both = f"""{told}"a topic's name" and 'what should stay out'{fix}"""
    assert f"note   lists: {both}" in new.run("check", "--offline").out
    assert both in new.run("preview", "bees").err

    topics.write_text(text.replace("a topic's name", "waggle dances"), "utf-8")
    assert f"note   lists: {told}'what should stay out'{fix}" in new.run("check", "--offline").out

    topics.write_text("- Relevant: waggle dances", "utf-8")
    for command in (("check", "--offline"), ("preview", "bees")):
        ran = new.run(*command)
        assert told not in ran.out + ran.err


def test_empty_answers_make_the_same_files_as_no_questions(new: World, tmp_path: Path) -> None:
    code, _ = asked(tmp_path / "asked", "", "", "", "")
    assert code == 0
    new.environ["TZ"] = ENVIRON.get("TZ", "")  # as the process on the terminal has it
    new.run("init")
    for name in FILES:
        assert (tmp_path / "asked" / name).read_text() == (new.path / name).read_text()


def test_answers_are_written_into_the_files(tmp_path: Path) -> None:
    code, shown = asked(
        tmp_path,
        'Øre: Größe & "Quanten" #1 {x}',
        "quant-ph,cond-mat",
        "Ada <ada@uni.test>; grace@uni.test,",
        "smtp.uni.test",
    )
    assert code == 0, shown
    home = Home.load(tmp_path, {})
    (made,) = home.lists
    assert (made.name, made.title) == ("re-groe-quanten-1-x", 'Øre: Größe & "Quanten" #1 {x}')
    assert "    categories: [quant-ph, cond-mat]  #" in (tmp_path / "subscribers.yaml").read_text(
        "utf-8"
    )
    assert made.topics.startswith(f"# {made.title}\n")
    assert [str(who) for who in made.subscribers] == ["Ada <ada@uni.test>", "grace@uni.test"]
    settings = home.settings
    assert (settings.smtp_host, settings.smtp_port, settings.smtp_security) == (
        "smtp.uni.test",
        587,
        "starttls",
    )
    assert [str(settings.mail_from), str(settings.alert_to)] == ["ada@uni.test"] * 2
    assert f"paperboy --home {tmp_path} preview {made.name}" in shown.replace(
        f"{sys.executable} -m ", ""
    )


@pytest.mark.parametrize(
    ("answer", "categories"),
    [
        ("biorxiv/cell biology, q-bio.GN", ("biorxiv/cell biology", "q-bio.GN")),
        ("biorxiv/cell biology", ("biorxiv/cell biology",)),
        ("biorxiv/cell biology; q-bio.GN;", ("biorxiv/cell biology", "q-bio.GN")),
        ("cs.LG stat.ML, biorxiv/zoology", ("cs.LG", "stat.ML", "biorxiv/zoology")),
    ],
)
def test_categories_of_several_words_stand_between_commas(
    tmp_path: Path, answer: str, categories: tuple[str, ...]
) -> None:
    assert asked(tmp_path, "", answer, "", "")[0] == 0
    (made,) = Home.load(tmp_path, {}).lists
    assert made.categories == categories


def test_mail_server_on_this_machine_is_used_without_tls(tmp_path: Path) -> None:
    assert asked(tmp_path, "", "", "ada@localhost", "localhost")[0] == 0
    settings = Home.load(tmp_path, {}).settings
    assert (settings.smtp_host, settings.smtp_port, settings.smtp_security) == (
        "localhost",
        25,
        "none",
    )


def test_wrong_answer_is_reported_as_in_a_file_and_asked_again(tmp_path: Path) -> None:
    wrong = (
        "b" * 2001,
        "Bees",
        "cs.XX",
        "cs.LG",
        "ada@uni.test, ada",
        "ada@uni.test",
        "https://x",
        "",
    )
    code, shown = asked(tmp_path, *wrong)
    assert code == 0, shown
    for told in (
        "at most 2000 char",
        "unknown category 'cs.XX'",
        "'ada' is not an address",
        "must be the server's name alone",
    ):
        assert told in shown
    assert the_list(tmp_path).name == "bees"


def test_end_of_input_leaves_no_folder(tmp_path: Path) -> None:
    code, _ = asked(tmp_path / "home", "Bees", "\x04")
    assert code == 130
    assert not (tmp_path / "home").exists()


# ── Backup ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_backup_is_whole_private_and_dated(world: World) -> None:
    world.run("suppress", "ada@example.org")
    ran = world.run("backup")
    copy = world.path / "data" / "backup-2026-11-20-070000.db"
    assert (ran.code, ran.err) == (0, "")
    assert f"is copied to {copy}. Keep it private." in ran.out
    assert mode(copy) == 0o600
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert database.execute("select address from suppressions").fetchall() == [
            ("ada@example.org",)
        ]
    (world.path / "data" / "paperboy.db-wal").unlink(missing_ok=True)
    shutil.copy(copy, world.database)
    assert "suppressed for all lists" in world.run("subscribers").out


def test_backup_takes_a_file_or_a_folder(world: World, tmp_path: Path) -> None:
    world.run("suppress", "ada@example.org")
    assert world.run("backup", str(tmp_path / "x.db")).code == 0
    assert world.run("backup", str(tmp_path)).code == 0
    assert {path.name for path in tmp_path.glob("*.db")} == {"x.db", "backup-2026-11-20-070000.db"}


def test_backup_during_a_write_is_consistent(world: World, tmp_path: Path) -> None:
    world.run("suppress", "ada@example.org")
    with closing(sqlite3.connect(world.database, isolation_level=None)) as writer:
        writer.execute("begin immediate")
        writer.execute("delete from suppressions")
        assert world.run("backup", str(tmp_path / "x.db")).code == 0
        writer.execute("rollback")
    with closing(sqlite3.connect(tmp_path / "x.db")) as copy:
        assert copy.execute("select count(*) from suppressions").fetchone() == (1,)


@pytest.mark.parametrize(
    ("place", "code", "told"),
    [
        ("there", 2, "exists already. Nothing was done; name a new file."),
        (
            "there/x.db",
            78,
            "the copy cannot be made (Not a directory); name a file in a folder in which this user may",
        ),
        ("nowhere/x.db", 78, "the copy cannot be made (No such file or directory)"),
    ],
)
def test_backup_that_cannot_be_made_is_one_line(
    world: World, tmp_path: Path, place: str, code: int, told: str
) -> None:
    world.run("suppress", "ada@example.org")
    (tmp_path / "there").write_text("mine")
    ran = world.run("backup", str(tmp_path / place))
    assert ran.code == code
    assert f"{tmp_path / place}{' ' if code == 2 else ': '}{told}" in ran.err
    assert (tmp_path / "there").read_text() == "mine"


def test_backup_is_not_written_through_an_existing_link(world: World, tmp_path: Path) -> None:
    world.run("suppress", "ada@example.org")
    precious = tmp_path / "precious.txt"
    folder = tmp_path / "copies"
    precious.write_text("mine")
    folder.mkdir()
    for name in (".x.db.part", "x.db.part"):
        (folder / name).symlink_to(precious)
    assert world.run("backup", str(folder / "x.db")).code == 0
    assert precious.read_text() == "mine"
    assert sorted(path.name for path in folder.iterdir()) == [".x.db.part", "x.db", "x.db.part"]
    assert mode(folder / "x.db") == 0o600


def test_backup_to_stdout_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run("suppress", "ada@example.org")
    monkeypatch.chdir(world.path)
    ran = world.run("backup", "-")
    assert ran.code == 2
    assert "A copy of the database cannot go to stdout (-); name a new file." in ran.err
    assert not (world.path / "-").exists()


def test_home_without_a_database_has_nothing_to_back_up(world: World) -> None:
    ran = world.run("backup")
    assert ran.code == 1
    assert "there is no database yet; the first morning makes it" in ran.err
    assert not (world.path / "data").exists()


def test_damaged_database_leaves_no_backup(world: World, tmp_path: Path) -> None:
    world.write("data/paperboy.db", "no database, but long enough to be one" * 100)
    world.write(".has-database", "")
    ran = world.run("backup", str(tmp_path / "x.db"))
    assert ran.code == 78
    assert "the file is damaged or not a Paperboy database" in ran.err
    assert not list(tmp_path.glob("*x.db*"))
