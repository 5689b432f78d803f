"""Make a home of this version, as text, for the tests of all later ones.

    python -m tests.homes.make 1.0

Run it by hand before each release, while the version still has that number; once that is released, its home stays as it
is. Everybody and everything in it is invented. What it lived through is in `_live`, and `test_homes.py` expects it of
every home. Another run makes the same, but for the jitter in one `try_at`.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from paperboy.models import Score
from tests.cli.conftest import FRIDAY, World
from tests.servers.arxiv_api import ArxivServer
from tests.servers.hook import PATH, Hook
from tests.servers.llm import LlmServer
from tests.servers.smtp import Fault, SmtpServer
from tests.web.conftest import WEB_URL, Web

HOMES = Path(__file__).parent
HOOK = f"https://hooks.example.org{PATH}"
TUESDAY = FRIDAY + timedelta(days=4)
"""The morning after the last one that it lived through."""

LISTS = f"""\
lists:
  - name: foundations
    title: Foundations
    categories: [cs.LG, stat.ML]
    topics: topics/foundations.md
    authors: [Emmy Noether]
    keywords: {{never: [survey]}}
    max_papers: 2
    archive: public
    open: true
    webhook: {HOOK}
    subscribers:
      - ada@example.org
      - Grace Hopper <grace@example.org>
      - bo@example.org
  - name: galaxies
    categories: [astro-ph.GA]
    topics: topics/galaxies.md
    subscribers: [vera@example.org]
  - name: robots
    categories: [cs.RO]
    topics: robots that read
    subscribers: [vera@example.org]
"""
TOPICS = {
    "foundations": "We study how networks learn.\n\nRelevant: why networks generalise.\nNot relevant: applications.\n",
    "galaxies": "Relevant: dwarf galaxies.\n",
}
SETTINGS = {
    "SMTP_CONNECTIONS": 1,
    "LLM_CONCURRENCY": 1,
    "ALERT_TO": "ops@example.org",
    "WEB_URL": WEB_URL,
    "LLM_SHORTLIST": 0.5,
    "LLM_PRICE_INPUT": 2,
    "LLM_PRICE_OUTPUT": 8,
}
OWN_LINE = "Printed on recycled bits."
"""It ends the text of each digest: the operator has a template of their own."""


class _Terminal:
    """Lets through what commands print."""

    def readouterr(self) -> tuple[str, str]:
        return "", ""


def _live(world: World, hook: Hook) -> None:
    """Live through a Friday, and a Monday on which the mail server goes away.

    Bo is suppressed, Emmy signs up, Lise does not confirm. On Monday, Ada gets her digest, Grace's is deferred, Emmy's
    is pending, and that of galaxies reaches nobody; robots gets none, since the LLM has died; the webhook is busy. One
    paper is refused by the LLM each time.
    """
    world.write("subscribers.yaml", LISTS.replace(HOOK, hook.url))
    world.env(**SETTINGS)
    for name, topics in TOPICS.items():
        world.write(f"prompts/topics/{name}.md", topics)
    template = (HOMES.parents[1] / "emails" / "digest.txt.j2").read_text("utf-8")
    world.write("emails/digest.txt.j2", f"{template}\n{OWN_LINE}\n")
    world.run("suppress", "bo@example.org")  # makes the database
    with closing(sqlite3.connect(_database(world))) as database, database:
        database.execute(
            "update secrets set value = zeroblob(32)"
        )  # so that tokens are always the same

    by_noether, _, _, _, _, _, survey = world.announce(1, 2, 3, 4, 5, 6, 7)
    world.arxiv.papers[0] = replace(by_noether, authors=("Emmy Noether",))
    world.arxiv.papers[6] = replace(survey, title="A survey of surveys")
    world.announce(11, 12, categories=("astro-ph.GA",))
    world.once()
    web = Web(world)
    web.post(web.link("vote/"), data={"2611.00002": "up", "2611.00003": "down"})
    web.post(web.link("vote/", "grace@example.org"), data={"2611.00002": "up"})
    for name in ("emmy", "lise"):
        web.post("/list/foundations/join", data={"address": f"{name}@example.org"})
    world.once()
    web.post(web.link("confirm/", "emmy@example.org"))
    world.once()
    with closing(sqlite3.connect(_database(world))) as database, database:
        # A shortlist takes hundreds of papers, and only a daemon knows since when there is a list.
        database.execute(
            "insert into samples (list, paper_id, date)"
            " select list, paper_id, date from seen where became = 'below' limit 1"
        )
        database.execute("insert into lists select distinct list, at from started")

    world.clock.now += timedelta(days=3)
    world.announce(21, 22)
    world.announce(23, categories=("astro-ph.GA",))
    world.announce(24, categories=("cs.RO",))
    world.llm.fault_for = lambda body: "" if "robots that read" not in str(body) else "error 503"
    world.smtp.faults += [
        Fault("RCPT", "450 4.2.1 mailbox busy", address="grace@example.org"),
        Fault("MAIL", spared=3, times=1),
        Fault("connect", "554 5.3.2 closed", spared=1),
    ]
    world.once()


def _database(world: World) -> Path:
    return world.database


def _dump(database: sqlite3.Connection) -> Iterator[str]:
    """Give the statements that make it again, triggers last. `iterdump` does not know virtual tables."""
    yield f"pragma user_version = {database.execute('pragma user_version').fetchone()[0]};\n"
    entities = database.execute(
        """select listed.type, name, sql from sqlite_master left join pragma_table_list as listed using (name)
        where sql is not null and name not glob 'sqlite_*' and coalesce(listed.type, '') != 'shadow'
        order by sqlite_master.rowid"""
    ).fetchall()
    tables = {name: sql for kind, name, sql in entities if kind in {"table", "virtual"}}
    for name, sql in tables.items():
        yield f"{sql};\n"
        columns = [
            column
            for (column,) in database.execute("select name from pragma_table_info(?)", [name])
        ]
        if sql.startswith("CREATE VIRTUAL"):
            columns.insert(0, "rowid")
        listed = ", ".join(columns)
        for row in database.execute(f"select {listed} from {name}"):  # noqa: S608  # the schema's own words
            yield f"insert into {name} ({listed}) values ({', '.join(map(_literal, row))});\n"  # noqa: S608
    yield from (f"{sql};\n" for _, name, sql in entities if name not in tables)


def _literal(value: object) -> str:
    if isinstance(value, bytes):
        packed = zlib.compress(value, 9)
        return f"x'{value.hex()}'" if len(packed) > len(value) else f"inflated(x'{packed.hex()}')"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "null" if value is None else repr(value)


def main(arguments: Sequence[str]) -> int:
    """Write `tests/homes/VERSION` anew."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.homes.make", description="Keep a home of this version."
    )
    parser.add_argument("version", help="its folder's name, such as 1.0")
    kept = HOMES / parser.parse_args(arguments).version
    scores = {
        f"2611.{number:05}": Score(9, 8, "It matters.") for number in (1, 2, 3, 4, 11, 21, 22, 23)
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        ArxivServer(port=8001) as arxiv,
        LlmServer(scores, port=8002, unspeakable=["2611.00005"]) as llm,
        SmtpServer(port=8026) as smtp,
        Hook(statuses=[200, 503]) as hook,
    ):
        world = World(Path(folder, "home"), _Terminal(), arxiv, llm, smtp)  # type: ignore[arg-type]
        _live(world, hook)
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(
            world.path, kept, ignore=shutil.ignore_patterns("data", "outbox", ".has-database")
        )
        lists = (kept / "subscribers.yaml").read_text("utf-8").replace(hook.url, HOOK)
        (kept / "subscribers.yaml").write_text(lists, "utf-8")
        with closing(sqlite3.connect(_database(world))) as database:
            (kept / "database.sql").write_text("".join(_dump(database)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
