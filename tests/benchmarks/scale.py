"""What many lists cost: `python -m tests.benchmarks.scale [--lists 10 100 1000 10000] [--llm] [--settings WORKERS=1]
[--python OTHER]`.

A home that has had 30 days of 196 papers gets today's from the local arXiv. Its lists want different things of one
category and have one subscriber each. The daemon's two children are run and measured: the morning, from arXiv to
frozen digests, and the sending, to Postfix's `smtp-sink`. Printed are seconds by the clock, processor time (with that
of worker processes) for each list, the largest process, and mails a second.

`--llm`: scored by a test LLM whose answers take two seconds, 64 calls at once. `--python`: the interpreter of another
version's virtual environment, to compare with.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from paperboy import curate, sample
from paperboy.edges import lock
from paperboy.features import FEATURES
from paperboy.models import Paper, PaperOutcome
from paperboy.service.app import App
from paperboy.sources.arxiv import calendar as announcements
from paperboy.store.seen import CODES, day_number
from tests.fakes import NoProgress
from tests.servers.arxiv_api import ArxivServer
from tests.servers.llm import LlmServer
from tests.servers.smtp_sink import smtp_sink

PAPERS = 196  # a day
DAYS = 30
_LIST = """\
  - name: list-{number:05}
    categories: [cs.LG]
    topics: {topics}
    subscribers: [ada-{number}@example.org]
"""


def month(now: datetime) -> list[Paper]:
    """30 days of papers on cs.LG up to the newest batch: titles and sentences of the demo's, shuffled."""
    batch = announcements.newest_batch(now)
    chance = random.Random(20261123)  # noqa: S311  # no secret
    of = sample.papers(batch.submitted_until)
    sentences = [each for paper in of for each in paper.abstract.split(". ")]
    found = []
    for number in range(DAYS * PAPERS):
        days, place = divmod(number, PAPERS)
        published = batch.submitted_until - timedelta(days=days, minutes=place + 1)
        found.append(
            replace(
                of[number % len(of)],
                id=f"{published:%y%m}.{90_000 - number:05}",
                abstract=". ".join(chance.sample(sentences, 7)),
                primary_category="cs.LG",
                categories=("cs.LG",),
                published=published,
                updated=published,
            )
        )
    return found


def home(folder: Path, lists: int, papers: Sequence[Paper], settings: str) -> None:
    """Lists whose topics are words of the papers, so that no two ask for the same."""
    chance = random.Random(20261120)  # noqa: S311  # no secret
    words = sorted({word for paper in papers for word in paper.abstract.split() if word.isalpha()})
    items = [
        _LIST.format(number=number, topics=" ".join(chance.sample(words, 30)))
        for number in range(lists)
    ]
    (folder / "subscribers.yaml").write_text("lists:\n" + "".join(items), "utf-8")
    (folder / ".env").write_text(settings, "utf-8")


def live(app: App, papers: Sequence[Paper], now: datetime) -> None:
    """All lists have begun, and have seen each paper but today's."""
    first = app.home.lists[0]
    store = app.store
    yesterday = now.date() - timedelta(days=1)
    today = announcements.newest_batch(now).submitted_from
    store.papers.add(papers, ["cs.LG"], now - timedelta(hours=20))
    database = store.papers._database
    with database.transaction():
        store.days.begin(first.name, curate.ways_in(first), (), yesterday, now)
        database.execute("create temp table wanted (list text primary key)")
        database.execute_all(
            "insert into wanted values (?)", [[each.name] for each in app.home.lists]
        )
        database.execute(
            "insert or ignore into started select wanted.list, way, at from wanted, started"
        )
        database.execute("insert or ignore into list_keys (list) select list from wanted")
        database.execute(
            "insert into seen_rows select list_keys.key, paper_keys.key, ?, ? from wanted join list_keys using (list), "
            "papers join paper_keys using (id) where published < ?",
            [CODES[PaperOutcome.BELOW], day_number(yesterday), today.isoformat()],
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a process with its children."""

    seconds: float
    busy: float  # seconds of processor time
    megabytes: float  # of the largest process


def child(python: str, folder: Path, *command: str) -> Cost:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    began = time.perf_counter()
    arguments = [python, "-m", "paperboy", "--home", str(folder), "work", *command]
    process = subprocess.Popen(arguments, env=environ, stdout=sys.stderr)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, f"{command[0]} failed"
    return Cost(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


@contextmanager
def scorer(*, llm: bool) -> Iterator[str]:
    """The settings of a scorer."""
    if not llm:
        yield ""
        return
    with LlmServer(latency=2) as server:
        yield f"OPENAI_BASE_URL={server.base_url}\nLLM_CONCURRENCY=64\n"


def measure(lists: int, given: argparse.Namespace) -> tuple[Cost, Cost]:
    """The costs of a morning and of a sending."""
    now = datetime.now(UTC)
    papers = month(now)
    week = [paper for paper in papers if paper.published > now - timedelta(days=8)]
    with (
        tempfile.TemporaryDirectory() as name,
        ArxivServer(week) as arxiv,
        scorer(llm=given.llm) as scores,
        smtp_sink() as port,
    ):
        folder = Path(name)
        settings = (
            f"ARXIV_API_URL={arxiv.url}\nARXIV_DELAY_SECONDS=0\nLOG_LEVEL=WARNING\n{scores}{given.settings}\n"
            f"SMTP_HOST=127.0.0.1\nSMTP_PORT={port}\nSMTP_SECURITY=none\nMAIL_FROM=papers@example.org\n"
        )
        home(folder, lists, papers, settings.replace("\\n", "\n"))
        with App(
            folder, {}, lambda: now, time.sleep, time.monotonic, NoProgress(), features=FEATURES
        ) as app:
            live(app, papers, now)
            names = [each.name for each in app.home.lists]
            database = app.settings.paperboy_database
        with lock.held(database, "run", "run"):  # as the daemon does
            child(given.python, folder, "trial")
            return child(given.python, folder, "morning", *names), child(
                given.python, folder, "sending"
            )


def main() -> None:
    """Prints a line for each number of lists."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lists", type=int, nargs="+", default=[10, 100, 1_000, 10_000])
    parser.add_argument("--llm", action="store_true")
    parser.add_argument("--settings", default="", help="more of them, such as WORKERS=1")
    parser.add_argument("--python", default=sys.executable)
    given = parser.parse_args()
    print(f"{DAYS} days of {PAPERS} papers; {given.settings or 'settings as they are'}")
    print("   lists |  seconds | ms of CPU a list | largest process, MB | mails/s")
    before = None
    for lists in given.lists:
        morning, sending = measure(lists, given)
        more = ""
        if before:
            more = f"   each further list: {(morning.busy - before[1]) / (lists - before[0]) * 1000:.1f} ms of CPU"
        before = lists, morning.busy
        print(
            f"{lists:8,} | {morning.seconds:8.1f} | {morning.busy / lists * 1000:16.1f} | {morning.megabytes:19.0f} | "
            f"{lists / sending.seconds:7.0f}{more}",
            flush=True,
        )


if __name__ == "__main__":
    main()
