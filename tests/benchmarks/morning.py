"""What a whole morning costs: `python -m tests.benchmarks.morning [--rounds 7] [--beside PYTHON]`.

`paperboy once` on a new home with three lists of forty readers each: the 423 papers of 2025-02-18 from the test arXiv
server, scores from the test LLM server, mail to the test SMTP server, all on loopback and in this process. A child's
processor time is its own. With `--beside`, the interpreter of another checkout's environment takes
turns with this one, over the same servers. The day lies beside the checkout, in `../shared/data`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from paperboy.announcements import newest_batch
from tests.servers.arxiv_api import ArxivServer, papers_from_day
from tests.servers.llm import LlmServer, invented_score
from tests.servers.smtp import SmtpServer

DAY = Path(__file__).parents[3] / "shared" / "data" / "days" / "2025-02-18.jsonl"
LISTS, READERS = 3, 40


def subscribers() -> Iterator[str]:
    """Three lists on the same categories, each with topics and readers of its own."""
    yield "lists:\n"
    for number in range(LISTS):
        yield f"  - name: list-{number}\n    categories: [cs.LG, cs.AI]\n    topics: Foundations of {number}.\n"
        yield "    subscribers:\n" + "".join(f"      - reader{n}@list{number}.example.org\n" for n in range(READERS))


def morning(python: str, settings: str) -> tuple[float, float]:
    """Wall seconds and processor seconds of one morning on a new home."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "subscribers.yaml").write_text("".join(subscribers()))
        (home / ".env").write_text(settings)
        began = time.perf_counter()
        command = [python, "-m", "paperboy", "--home", folder, "once"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, f"the morning ended with {process.returncode}"
        return time.perf_counter() - began, usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--beside", metavar="PYTHON", help="the interpreter of another checkout's environment")
    options = parser.parse_args()
    pythons = {"here": sys.executable} | ({"beside": options.beside} if options.beside else {})
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in pythons}
    papers = papers_from_day(DAY, newest_batch(datetime.now(UTC)))
    with ArxivServer(papers) as arxiv, LlmServer(invented_score) as llm, SmtpServer() as smtp:
        settings = (
            f"ARXIV_API_URL={arxiv.url}\nARXIV_DELAY_SECONDS=0\nOPENAI_BASE_URL={llm.base_url}\nLOG_LEVEL=WARNING\n"
            f"SMTP_HOST=127.0.0.1\nSMTP_PORT={smtp.port}\nSMTP_SECURITY=none\nMAIL_FROM=papers@example.org\n"
        )
        for _ in range(options.rounds):
            for name, python in pythons.items():
                found[name].append(morning(python, settings))
        assert len(smtp.messages) == LISTS * READERS * options.rounds * len(pythons)
    for name, rounds in found.items():
        wall, processor = (median(figures) for figures in zip(*rounds, strict=True))
        print(f"{name:>7}: {wall:.2f} s, {processor:.2f} s of processor time; medians")


if __name__ == "__main__":
    main()
