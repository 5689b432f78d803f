"""What a list and morning leave in the database: `python -m tests.benchmarks.rows [--llm]`.

Whole mornings of a home of twenty lists on one category, 196 papers a day, a subscriber a list, to the outbox; by the
embedded scorer, or by the test LLM server. The papers are those of the real days that lie beside the checkout, or
else the demo's, which repeat. Bytes by table: what each morning but the first adds, and what is left of all of them
after a month.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path

from paperboy import announcements, sample
from paperboy.cli.main import invoke
from paperboy.models import Paper
from paperboy.store import Store
from tests.benchmarks.scale import home
from tests.benchmarks.scoring import DATA, papers_of
from tests.fakes import Clock
from tests.servers.arxiv_api import ArxivServer
from tests.servers.llm import LlmServer

LISTS, PAPERS = 20, 196
FIRST = datetime(2026, 11, 9, 8, tzinfo=UTC)  # a Monday
MORNINGS = 5
SHARED = {"papers", "paper_categories", "paper_keys"}  # whose rows no list adds to


def texts() -> Iterator[Paper]:
    """Papers without end."""
    days = sorted((DATA / "days").glob("*.jsonl"))
    now = datetime.now(UTC)
    return cycle([paper for day in days for paper in papers_of(day)] or sample.papers(now - timedelta(days=1), now))


def batch(papers: Iterator[Paper], now: datetime) -> list[Paper]:
    """The newest batch, all on cs.LG."""
    at = announcements.newest_batch(now).submitted_from
    return [
        replace(
            paper,
            arxiv_id=f"{now:%y%m}.{now.day:02}{number:03}",
            primary_category="cs.LG",
            categories=("cs.LG",),
            published=at,
            updated=at,
        )
        for number, paper in enumerate(islice(papers, PAPERS))
    ]


def by_table(path: Path) -> dict[str, float]:
    """Megabytes of each table with its indices, the largest first."""
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "select tbl_name, sum(pgsize) / 1e6 from dbstat join sqlite_schema using (name) group by 1 order by 2 desc"
    ).fetchall()
    connection.close()
    return dict(rows)


def measure(lists: int, mornings: int, *, llm: bool) -> tuple[dict[str, float], dict[str, float]]:
    """Kilobytes by table of a list and a morning: what it adds, and what is left of that after a month."""
    papers, first = texts(), {}
    with tempfile.TemporaryDirectory() as folder, ArxivServer() as arxiv, LlmServer() as server:
        database = Path(folder) / "data" / "paperboy.db"
        arxiv.papers.extend(batch(papers, FIRST))
        settings = f"ARXIV_API_URL={arxiv.url}\nARXIV_DELAY_SECONDS=0\nLOG_LEVEL=WARNING\nWORKERS=1\n"
        home(Path(folder), lists, arxiv.papers, settings + f"OPENAI_BASE_URL={server.base_url}\n" * llm)
        for number in range(mornings + 1):
            now = FIRST + timedelta(days=number + 2 * (number // 5))
            if number:
                arxiv.papers.extend(batch(papers, now))
            if code := invoke(["--home", folder, "once"], {}, Clock(now)):
                raise SystemExit(code)
            first = first or by_table(database)
        last = by_table(database)
        with Store.open(database) as store:
            names = [f"list-{number}" for number in range(lists)]
            for days in range(30, 40):
                store.retention.thin(timedelta(days=365), names, now + timedelta(days=days))
        kept = by_table(database)
        Store.open(Path(folder) / "empty.db").close()
        empty = by_table(Path(folder) / "empty.db")
    added = {name: 1e3 * (size - first.get(name, 0)) / lists / mornings for name, size in last.items()}
    return added, {name: 1e3 * (size - empty.get(name, 0)) / lists / (mornings + 1) for name, size in kept.items()}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--lists", type=int, default=LISTS)
    arguments.add_argument("--mornings", type=int, default=MORNINGS)
    arguments.add_argument("--llm", action="store_true")
    given = arguments.parse_args()
    added, kept = measure(given.lists, given.mornings, llm=given.llm)
    print(f"  {'kB a list and morning':<22}{'added':>8}{'after a month':>15}")
    for name, size in sorted(added.items(), key=lambda each: -each[1]):
        if size >= 0.05:
            print(f"  {name:<22}{size:>8.1f}{kept[name]:>15.1f}{'  of all lists together' * (name in SHARED)}")
    own, own_kept = (sum(size for name, size in of.items() if name not in SHARED) for of in (added, kept))
    print(f"  {'all':<22}{own:>8.1f}{own_kept:>15.1f}")


if __name__ == "__main__":
    main()
