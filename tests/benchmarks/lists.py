"""What many lists cost in one morning: `python -m tests.benchmarks.lists [--lists N] [--python OTHER]`.

`paperboy once` over one day of 196 papers (the demo's, under new ids) from the local arXiv, with the embedded scorer
and two subscribers a list, to the outbox. Peak memory, and processor time for each list. `--python` is the interpreter
of another version's virtual environment, to compare with: OTHER/.venv/bin/python.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from paperboy import announcements, sample
from paperboy.models import Paper
from tests.servers.arxiv_api import ArxivServer

AIM_MEGABYTES = 250
PAPERS = 196
_LIST = """\
  - name: list-{number}
    categories: [cs.LG]
    topics: {topics}
    subscribers: [ada-{number}@example.org, grace-{number}@example.org]
"""


def day(now: datetime) -> list[Paper]:
    """The newest batch: the demo's papers again and again, all on cs.LG."""
    batch = announcements.newest_batch(now)
    papers = sample.papers(batch.submitted_from, batch.submitted_until)
    return [
        replace(
            papers[number % len(papers)],
            arxiv_id=f"{now:%y%m}.{number + 1:05}",
            primary_category="cs.LG",
            categories=("cs.LG",),
        )
        for number in range(PAPERS)
    ]


def home(folder: Path, lists: int, papers: Sequence[Paper], url: str) -> None:
    """Lists whose topics are words of the papers, so that no two ask for the same."""
    chance = random.Random(20261120)  # noqa: S311  # no secret
    words = sorted({word for paper in papers for word in paper.abstract.split() if word.isalpha()})
    items = [_LIST.format(number=number, topics=" ".join(chance.sample(words, 30))) for number in range(lists)]
    (folder / "subscribers.yaml").write_text("lists:\n" + "".join(items), "utf-8")
    (folder / ".env").write_text(f"ARXIV_API_URL={url}\nARXIV_DELAY_SECONDS=0\nLOG_LEVEL=WARNING\n", "utf-8")


def measure(lists: int, python: str) -> tuple[float, float]:
    """Peak memory in MB, and milliseconds of the processor for each list."""
    papers = day(datetime.now(UTC))
    with tempfile.TemporaryDirectory() as folder, ArxivServer() as arxiv:
        arxiv.papers.extend(papers)
        home(Path(folder), lists, papers, arxiv.url)
        command = [python, "-m", "paperboy", "--home", folder, "once"]
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=environ, check=True, stdout=subprocess.DEVNULL)  # ours
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return used.ru_maxrss / 1024, seconds / lists * 1000


def main() -> None:
    """Prints one line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--lists", type=int, default=2000)
    arguments.add_argument("--python", default=sys.executable)
    given = arguments.parse_args()
    megabytes, milliseconds = measure(given.lists, given.python)
    aim = f" (aim: {AIM_MEGABYTES})" if megabytes > AIM_MEGABYTES else ""
    print(f"{given.lists:,} lists, {PAPERS} papers: peak {megabytes:,.0f} MB{aim}, {milliseconds:.1f} ms of CPU a list")


if __name__ == "__main__":
    main()
