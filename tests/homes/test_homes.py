"""A home of each released version goes on with this one, as if nothing had happened."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from paperboy import __version__
from paperboy.features.votes.rows import Tally, on_paper
from paperboy.models import DeliveryState
from paperboy.scoring.prompt import Prompt
from paperboy.store import Store
from tests.builders import TABLES
from tests.cli.conftest import World, world
from tests.features.votes.test_pages import thumbs
from tests.homes.make import HOMES, HOOK, OWN_LINE, TUESDAY
from tests.servers.hook import Hook
from tests.web.conftest import Web

__all__ = ["world"]  # a fixture

NEW = {
    "2611.00031",
    "2611.00032",
    "2611.00033",
}  # on Tuesday: two on machine learning, one on galaxies
UNSCORED = {"2611.00005", "2611.00024"}  # before: refused by the LLM, and lost with it

# Papers in the digests that somebody got, by list.
SENT = """
select distinct list, paper_id from seen join days using (list, date)
where became in ('selected', 'author match')
and exists (select 1 from deliveries where frozen_id = digest_id and state = 'sent')
"""


@dataclass
class KeptScore:
    """A home, on the morning after."""

    world: World
    hook: Hook

    @property
    def database(self) -> Path:
        return self.world.database

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        with Store.open(self.database, tables=TABLES) as store:
            return store.database.rows(query, values)

    def live(self) -> None:
        """Live through that morning."""
        self.world.announce(31, 32)
        self.world.announce(33, categories=("astro-ph.GA",))
        assert self.world.once().code == 0

    def digests(self, list_name: str) -> dict[str, bytes]:
        """Return the digests of Tuesday, by recipient."""
        of_today = f"Message-ID: <20261124.{list_name}.".encode()
        return {
            mail.recipient: mail.content
            for mail in self.world.smtp.messages
            if of_today in mail.content
        }


@pytest.fixture(params=sorted(path.parent.name for path in HOMES.glob("*/database.sql")))
def kept(request: pytest.FixtureRequest, world: World) -> Iterator[KeptScore]:
    """Each of them, whose database this version has not opened yet. Its servers have moved."""
    shutil.rmtree(world.path)
    shutil.copytree(HOMES / request.param, world.path)
    world.clock.now = TUESDAY
    world.environ |= {
        "ARXIV_API_URL": world.arxiv.url,
        "OPENAI_BASE_URL": world.llm.base_url,
        "SMTP_PORT": str(world.smtp.port),
    }
    with Hook() as hook:
        world.write(
            "subscribers.yaml",
            (world.path / "subscribers.yaml").read_text("utf-8").replace(HOOK, hook.url),
        )
        found = KeptScore(world, hook)
        found.database.parent.mkdir()
        with closing(sqlite3.connect(found.database)) as database:
            database.create_function("inflated", 1, zlib.decompress)
            database.executescript(
                f"begin;\n{(world.path / 'database.sql').read_text('utf-8')}\ncommit"
            )
        yield found


@pytest.mark.quick
def test_this_version_has_a_home() -> None:
    assert (HOMES / __version__.rpartition(".")[0] / "database.sql").is_file()


@pytest.mark.quick
def test_schema_is_that_of_a_new_home(kept: KeptScore, tmp_path: Path) -> None:
    query = """select type, name, tbl_name, rtrim(sql, char(10)) as sql from sqlite_master
        where name not glob 'sqlite_stat*' order by type, name"""
    with Store.open(tmp_path / "new.db", tables=TABLES) as new:
        assert kept.rows(query) == new.database.rows(query)
        assert kept.rows("pragma user_version") == new.database.rows("pragma user_version")
        versions = "select name, version from features order by name"
        assert kept.rows(versions) == new.database.rows(versions)
    assert kept.rows("pragma foreign_key_check") == []
    assert kept.rows("pragma integrity_check") == [{"integrity_check": "ok"}]


def test_its_papers_have_whole_names_and_may_be_published(kept: KeptScore) -> None:
    """As all of arXiv's: no home of 1.0 has others."""
    query = "select distinct corresponding, institution, license from papers"
    assert kept.rows(query) == [{"corresponding": None, "institution": "", "license": ""}]


@pytest.mark.quick
def test_no_paper_is_sent_again(kept: KeptScore) -> None:
    """Those that reached nobody are sent."""
    before = kept.rows(SENT)
    assert len(before) == 6
    kept.live()
    for list_name, new in (("foundations", 31), ("galaxies", 33), ("robots", 24)):
        sent = {row["paper_id"] for row in before if row["list"] == list_name}
        assert kept.digests(list_name)
        for mail in kept.digests(list_name).values():
            found = set(re.findall(r"2611\.\d{5}", mail.decode()))
            assert f"2611.{new:05}" in found
            assert found.isdisjoint(sent)
    assert b"2611.00023" in kept.digests("galaxies")["vera@example.org"]


def test_kept_scores_are_not_paid_for_again(kept: KeptScore) -> None:
    known = {row["paper_id"] for row in kept.rows("select paper_id from scores")}
    kept.live()
    asked = {paper_id for call in kept.world.llm.asked for paper_id in call}
    assert asked == NEW | UNSCORED
    assert "2611.00023" in known
    assert asked.isdisjoint(known)


def test_criteria_are_those_of_its_kept_scores(kept: KeptScore) -> None:
    folders = [kept.world.path / "prompts", HOMES.parents[1] / "prompts"]
    topics = {path.stem: path.read_text("utf-8") for path in folders[0].glob("topics/*.md")} | {
        "robots": "robots that read"
    }
    assert {name: Prompt(folders).criteria(text) for name, text in topics.items()} == {
        "foundations": "b26307fbf86b4c37",
        "galaxies": "8bddfdcf8762ce84",
        "robots": "d6729e6b9ed7c902",
    }
    known = {row["criteria"] for row in kept.rows("select criteria from judges")}
    assert known == {"b26307fbf86b4c37", "8bddfdcf8762ce84"}  # robots never got a score


def test_everybody_but_the_suppressed_gets_the_digest(kept: KeptScore) -> None:
    kept.live()
    assert set(kept.digests("foundations")) == {
        f"{name}@example.org" for name in ("ada", "grace", "emmy")
    }
    assert set(kept.digests("galaxies")) == set(kept.digests("robots")) == {"vera@example.org"}
    assert "bo@example.org" not in kept.world.mails()
    assert all(
        OWN_LINE.encode() in mail for mail in kept.digests("foundations").values()
    )  # in the home's own template


def test_waiting_mail_leaves_as_it_was_frozen(kept: KeptScore) -> None:
    """But for the digest that had reached nobody: its papers come with today's."""
    query = """
        select address, state, message_id, message from deliveries join messages on frozen_id = messages.id
        where state in ('pending', 'deferred') and list = 'foundations' order by address
    """
    waiting = kept.rows(query)
    kept.live()
    assert [row["address"] for row in waiting] == ["emmy@example.org", "grace@example.org"]
    assert {row["state"] for row in waiting} == {DeliveryState.PENDING, DeliveryState.DEFERRED}
    for row in waiting:
        (mail,) = [
            mail.content
            for mail in kept.world.smtp.messages
            if row["message_id"].encode() in mail.content
        ]
        place = 0
        for piece in re.split(rb"[0-9]{32}", row["message"]):  # between placeholders
            place = mail.index(piece, place) + len(piece)
        assert len(row["message"]) > 10_000
    assert kept.rows(query) == []
    assert [told.json["date"] for told in kept.hook.told] == ["2026-11-23", "2026-11-24"]


def test_readers_find_past_digests_and_their_votes(kept: KeptScore) -> None:
    web = Web(kept.world)
    for day, title in (
        ("20", "On the Learning of Paper 2611.00002"),
        ("23", "On the Learning of Paper 2611.00021"),
    ):
        page = web.get(f"/list/foundations/2026-11-{day}")
        assert page.status_code == 200
        assert title in page.text
        assert title in web.get(f"/list/foundations/search?q={title[-10:]}").text
    with Store.open(kept.database, tables=TABLES) as store:
        assert on_paper(store.database, "2611.00002") == {"foundations": Tally(up=2)}
        assert on_paper(store.database, "2611.00003") == {"foundations": Tally(down=1)}


def test_database_of_every_version_is_whole(kept: KeptScore) -> None:
    """SQLite itself says so, once this version has opened it."""
    assert f"ok     database: {kept.database}\n" in kept.world.run("check", "--offline").out


def test_frozen_digests_open_as_pages(kept: KeptScore) -> None:
    """Those of 1.0 have neither topics nor a brief, and one followed author of a paper, or null."""
    web = Web(kept.world)
    for row in kept.rows("select link, shown from messages where link != ''"):
        frozen = json.loads(row["shown"])
        page = web.get(f"/digest/{row['link']}").text.replace("\xa0", " ")
        assert frozen["list"]["title"] in page
        for text, *_ in frozen.get("brief", ()):
            assert text in page
        for _, paper_id, score, matched in frozen["entries"]:
            assert f"On the Learning of Paper {paper_id}" in page
            assert not score or score[2] in page
            names = [matched] if isinstance(matched, str) else matched or ()
            assert all(f"{name}</" in page for name in names)


def test_links_of_old_mails_work(kept: KeptScore) -> None:
    web = Web(kept.world)
    (grace,) = kept.rows("select leave, vote from readers where address = 'grace@example.org'")
    chosen = thumbs(web.get(f"/vote/{grace['vote']}/2026-11-20").text)
    assert (chosen["2611.00002"], chosen["2611.00003"]) == ("up", "none")
    links = [row["link"] for row in kept.rows("select link from messages where link != ''")]
    assert [web.get(f"/digest/{link}").status_code for link in links] == [200] * 4
    (lise,) = kept.rows("select token from signups where address = 'lise@example.org'")
    assert "Subscribed" in web.post(f"/confirm/{lise['token']}").text
    assert "Unsubscribed" in web.post(f"/leave/{grace['leave']}/now").text
    kept.live()
    assert set(kept.digests("foundations")) == {f"{name}@example.org" for name in ("ada", "emmy")}
    assert "lise@example.org" in (kept.world.path / "subscribers.yaml").read_text("utf-8")
