"""A library in place of topics, from the command line: init, learn, check, and a morning."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from paperboy.home.home import Home
from paperboy.models import MailingList
from tests.builders import paper
from tests.cli.conftest import World
from tests.servers.arxiv_faults import refused

LISTS = """\
lists:
  - name: ml
    categories: [cs.LG]
    library: refs.bib
    subscribers: [ada@example.org]
"""
TITLES = "prompts/library/ml.txt"


def entry(number: int, **fields: str) -> str:
    given = {"title": f"On Caves {number}", "year": str(2000 + number), **fields}
    return (
        f"@misc{{k{number}, {', '.join(f'{name} = {{{text}}}' for name, text in given.items())}}}\n"
    )


def bibtex(*categories: str) -> str:
    return "".join(
        entry(number, primaryclass=category) for number, category in enumerate(categories, 1)
    )


@pytest.fixture
def new(world: World) -> World:
    """A world whose home is not there yet."""
    shutil.rmtree(world.path)
    world.environ |= {"ARXIV_API_URL": world.arxiv.url, "ARXIV_DELAY_SECONDS": "0"}
    return world


@pytest.fixture
def liking(world: World) -> World:
    """A home whose list has a library of three papers, and their titles."""
    world.write("subscribers.yaml", LISTS)
    world.write("refs.bib", "".join(map(entry, (1, 2, 3))))
    world.write(TITLES, "On Caves 3\nOn Caves 2\nOn Caves 1\n")
    return world


def the_list(home: Path) -> MailingList:
    (found,) = Home.load(home, {}).lists
    return found


class TestInit:
    """A home from a library: categories, titles, and nothing else to write."""

    def test_list_is_made_from_a_file(self, new: World, tmp_path: Path) -> None:
        file = tmp_path / "My Library.bib"
        file.write_text(
            bibtex(*["astro-ph.GA"] * 6, *["astro-ph.CO"] * 3, "gr-qc", "cs.LG"), "utf-8"
        )
        ran = new.run("init", "--library", str(file))
        assert (ran.code, ran.err) == (0, "")
        made = the_list(new.path)
        assert made.library == "My Library.bib"
        assert made.categories == ("astro-ph.GA", "astro-ph.CO")
        assert (made.topics, made.titles[0], made.library_size) == ("", "On Caves 11", 11)
        assert "My Library.bib has 11 papers. Add papers to that copy" in ran.out
        assert "papers like them in astro-ph.GA and astro-ph.CO." in ran.out
        assert "11 titles are in prompts/library/papers-like-ours.txt" in ran.out
        assert ran.out.splitlines()[-1].endswith("preview papers-like-ours")
        for name in ("My Library.bib", "prompts/library/papers-like-ours.txt"):
            assert stat.S_IMODE((new.path / name).stat().st_mode) == 0o600
        assert new.run("check", "--offline").code == 0
        assert new.arxiv.requests == []

    def test_at_most_four_categories_and_only_those_of_a_tenth(
        self, new: World, tmp_path: Path
    ) -> None:
        file = tmp_path / "refs.bib"
        names = ["cs.LG", "stat.ML", "cs.CL", "cs.CV", "cs.AI"]
        file.write_text(bibtex(*(name for name in names for _ in range(10)), "gr-qc"), "utf-8")
        assert new.run("init", "--library", str(file)).code == 0
        assert the_list(new.path).categories == tuple(names[:4])

    def test_file_without_categories_or_titles_asks_once_for_its_ids(
        self, new: World, tmp_path: Path
    ) -> None:
        file = tmp_path / "ids.txt"
        ids = [f"2502.{number:05}" for number in range(120)]
        file.write_text("\n".join(ids), "utf-8")
        new.arxiv.papers = [paper(each, title=f"Caves {each}") for each in ids]
        assert new.run("init", "--library", str(file)).code == 0
        made = the_list(new.path)
        assert made.categories == ("cs.LG",)
        assert made.titles[0] == "Caves 2502.00119"
        assert len(made.titles) == 30
        (request,) = new.arxiv.requests
        assert request.ids == ids[-100:]

    def test_categories_may_be_given_and_then_nobody_is_asked(
        self, new: World, tmp_path: Path
    ) -> None:
        file = tmp_path / "refs.bib"
        file.write_text(entry(1, eprint="2502.06786"), "utf-8")
        given = ["--category", "cs.LG", "--category", "biorxiv/genomics"]
        assert new.run("init", "--library", str(file), *given).code == 0
        assert the_list(new.path).categories == ("cs.LG", "biorxiv/genomics")
        assert new.arxiv.requests == []

    def test_library_may_be_in_the_home_already(self, new: World) -> None:
        new.write("refs.bib", bibtex("cs.LG"))
        assert new.run("init", "--library", str(new.path / "refs.bib")).code == 0
        assert the_list(new.path).library == "refs.bib"

    def test_name_that_subscribers_yaml_cannot_have_becomes_another(
        self, new: World, tmp_path: Path
    ) -> None:
        file = tmp_path / "Ada's (liked).bib"
        file.write_text(bibtex("cs.LG"), "utf-8")
        assert new.run("init", "--library", str(file)).code == 0
        assert the_list(new.path).library == "library.bib"

    @pytest.mark.parametrize(
        ("name", "content", "code", "told"),
        [
            ("none.bib", None, 78, "none.bib: there is no such file"),
            ("refs.bib", "", 78, "refs.bib: has no paper that can be read"),
            ("refs.bib", "@misc{a, title = {x", 78, "refs.bib: has no paper that can be read (refs.bib:1: "),
            ("refs.pdf", "%PDF", 78, "refs.pdf: is not a library that can be read; name one that ends in"),
            ("refs.bib", "@misc{a, title = {Rain}}", 2, "and none names its category; name those that the list"),
            ("ids.txt", "10.1103/a", 2, "their source knows none of these ids; use a .bib file with titles"),
        ],
    )  # fmt: skip
    def test_file_that_is_no_library_leaves_no_home(
        self, new: World, tmp_path: Path, name: str, content: str | None, code: int, told: str
    ) -> None:
        file = tmp_path / name
        if content is not None:
            file.write_text(content, "utf-8")
        assert told in new.fails(code, "init", "--library", str(file))
        assert not new.path.exists()

    def test_source_that_does_not_answer_is_said_with_the_way_round(
        self, new: World, tmp_path: Path
    ) -> None:
        file = tmp_path / "refs.bib"
        file.write_text(entry(1, eprint="2502.06786"), "utf-8")
        new.arxiv.faults.append(refused("busy", 503))
        told = new.fails(1, "init", "--library", str(file))
        assert "or name the categories (--category cs.LG) of a .bib file. Nothing was done." in told
        assert not new.path.exists()

    def test_collection_of_zotero_is_no_file(self, new: World) -> None:
        told = new.fails(2, "init", "--library", "zotero:users/1/collections/ABCD2345")
        assert "write that as the list's library in subscribers.yaml. Nothing was done." in told

    def test_category_without_a_library_is_refused(self, new: World) -> None:
        assert "--category needs --library." in new.fails(2, "init", "--category", "cs.LG")

    def test_category_that_is_none_is_refused(self, new: World, tmp_path: Path) -> None:
        file = tmp_path / "refs.bib"
        file.write_text(entry(1), "utf-8")
        told = new.fails(2, "init", "--library", str(file), "--category", "cs.XX")
        assert "--category: unknown category 'cs.XX'" in told
        assert not new.path.exists()


class TestLearn:
    """Titles are taken anew by a command alone."""

    def test_titles_are_written_though_the_home_is_broken_without_them(self, liking: World) -> None:
        (liking.path / TITLES).unlink()
        assert "paperboy learn --library ml writes" in liking.fails(78, "status")
        ran = liking.run("learn", "--library", "ml")
        assert (ran.code, ran.err) == (0, "")
        file = liking.path / TITLES
        assert ran.out == f"The 3 newest titles of 3 papers in refs.bib are in {file}.\n"
        assert file.read_text("utf-8") == "On Caves 3\nOn Caves 2\nOn Caves 1\n"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert liking.run("status").code == 0

    def test_new_titles_are_counted(self, liking: World) -> None:
        liking.write("refs.bib", "".join(map(entry, (1, 2, 3, 4))))
        assert ", 1 of them new; the previous ones" in liking.run("learn", "--library", "ml").out

    def test_own_titles_are_kept_beside_the_new_ones(self, liking: World) -> None:
        liking.write(TITLES, "My own\n")
        ran = liking.run("learn", "--library", "ml")
        assert ran.out.endswith(", 3 of them new; the previous ones are in ml.txt~.\n")
        assert (liking.path / f"{TITLES}~").read_text("utf-8") == "My own\n"

    def test_titles_of_ids_are_those_of_the_source(self, liking: World) -> None:
        liking.write("subscribers.yaml", LISTS.replace("refs.bib", "ids.txt"))
        liking.write("ids.txt", "2502.06786\nnot an id\n")
        liking.arxiv.papers = [paper("2502.06786", title="On $x^2$")]
        ran = liking.run("learn", "--library", "ml")
        assert ran.code == 0, ran.err
        assert (liking.path / TITLES).read_text("utf-8") == "On x²\n"
        assert "1 entry could not be read; paperboy check says which." in ran.out

    def test_list_with_topics_is_told_that_its_titles_are_not_used(self, liking: World) -> None:
        liking.write("subscribers.yaml", LISTS + "    topics: Rain.\n")
        assert (
            "ml has topics, so its titles are not used."
            in liking.run("learn", "--library", "ml").out
        )

    @pytest.mark.parametrize(
        ("lists", "name", "code", "told"),
        [
            (LISTS, "mll", 2, "there is no list 'mll', did you mean 'ml'?"),
            (LISTS.replace("library: refs.bib", "topics: Rain."), "ml", 2, "ml has no library; give it one"),
            (LISTS.replace("refs.bib", "none.bib"), "ml", 78, "there is no 'none.bib' in the home"),
        ],
    )  # fmt: skip
    def test_list_without_a_library_is_one_line(
        self, liking: World, lists: str, name: str, code: int, told: str
    ) -> None:
        liking.write("subscribers.yaml", lists)
        assert told in liking.fails(code, "learn", "--library", name)

    def test_empty_library_leaves_the_titles(self, liking: World) -> None:
        liking.write("refs.bib", "")
        assert "refs.bib: has no paper with a title" in liking.fails(78, "learn", "--library", "ml")
        assert (liking.path / TITLES).read_text("utf-8").startswith("On Caves 3")

    def test_folder_that_cannot_be_written_is_one_line(self, liking: World) -> None:
        shutil.rmtree(liking.path / "prompts" / "library")
        liking.write("prompts/library", "a file in the folder's place")
        assert "cannot be written" in liking.fails(78, "learn", "--library", "ml")


class TestCheck:
    """What a library has, what of it cannot be read, and whether its titles are old."""

    def test_library_is_counted(self, liking: World) -> None:
        ran = liking.run("check", "--offline")
        assert ran.code == 0
        assert "ok     library: ml: refs.bib has 3 papers, 0 with an abstract\n" in ran.out

    def test_what_cannot_be_read_is_named_by_its_line(self, liking: World) -> None:
        liking.write("refs.bib", entry(1) + "@misc{b, title = {x\n" * 8)
        out = liking.run("check", "--offline").out
        assert "note   library: refs.bib:2: cannot be read as BibTeX" in out
        assert "note   library: refs.bib: 3 more entries cannot be read\n" in out

    def test_file_of_ids_has_no_titles_to_be_old(self, liking: World) -> None:
        liking.write("ids.txt", "2502.06786\n")
        liking.write("subscribers.yaml", LISTS.replace("refs.bib", "ids.txt"))
        assert "its titles" not in liking.run("check", "--offline").out

    def test_library_without_a_paper_is_a_note(self, liking: World) -> None:
        liking.write("refs.bib", "")
        assert (
            "note   library: ml: refs.bib has no paper that can be read; the list keeps its titles "
            "and what it has learned\n" in liking.run("check", "--offline").out
        )

    def test_old_titles_are_a_note_with_what_new_ones_cost(self, liking: World) -> None:
        what = "its titles in prompts/ lack 2 of the newest 4 in refs.bib; "
        liking.write("refs.bib", "".join(map(entry, (1, 2, 3, 4))))
        assert "its titles" not in liking.run("check", "--offline").out
        liking.write("refs.bib", "".join(map(entry, (2, 3, 4, 5))))
        out = liking.run("check", "--offline").out
        fix = "paperboy learn --library ml replaces them"
        assert f"note   library: ml: {what}{fix}\n" in out, "no price is known"

        liking.env(LLM_PRICE_INPUT=1, LLM_PRICE_OUTPUT=2)
        liking.announce(1)
        liking.run("once")
        out = liking.run("check", "--offline").out
        assert (
            f"{fix}. A shortlist then begins to learn anew; scoring last week's 1 paper anew" in out
        )
        assert "would cost about $0.00" in out

    def test_file_that_is_too_large_is_a_fault(self, liking: World) -> None:
        with (liking.path / "refs.bib").open("ab") as file:
            file.truncate(40_000_000)
        out = liking.run("check", "--offline").out
        assert "refs.bib is larger than 32 MB; is it the right file?" in out

    def test_paper_that_its_source_does_not_know_is_counted(self, liking: World) -> None:
        liking.write("ids.txt", "2502.06786\n2502.99999\n")
        liking.write("subscribers.yaml", LISTS.replace("refs.bib", "ids.txt"))
        liking.arxiv.papers = [paper("2502.06786")]
        liking.announce(1)
        liking.arxiv.papers.append(paper("2502.06786"))
        assert liking.run("once").code == 0
        told = "ml: no source knows 2502.99999 of ids.txt; correct the id"
        assert f"note   library: {told}" in liking.run("check").out


class TestMorning:
    """Papers are judged by the titles; readers see none."""

    def test_llm_is_given_the_titles_and_readers_are_told_of_the_library(
        self, liking: World
    ) -> None:
        liking.announce(1, 2, 3)
        assert liking.run("once").code == 0
        asked = liking.llm.requests[-1]
        text = str(asked)
        assert "Papers like these:\\n- On Caves 3" in text
        (mail,) = liking.smtp.messages
        assert b"On Caves" not in mail.content

    def test_library_that_is_gone_costs_no_mail(self, liking: World) -> None:
        liking.write(
            "subscribers.yaml", LISTS.replace("refs.bib", "zotero:users/1/collections/ABCD2345")
        )
        liking.environ["HTTPS_PROXY"] = "http://127.0.0.1:9"
        liking.announce(1)
        ran = liking.run("once")
        assert liking.mails() == ["ada@example.org"]
        assert ran.code == 0, ran.err
