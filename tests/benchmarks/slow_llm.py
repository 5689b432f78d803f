"""What the learned shortlist saves where an LLM is slow: `python -m tests.benchmarks.slow_llm [--seconds 5]`.

A home that has had 92 days of astro-ph, each paper scored by an LLM, gets the 93rd by `paperboy once`, from a test LLM
that answers one call at a time, as a local model does: with all of its papers, and with LLM_SHORTLIST=0.5. Both send
the digest through the test SMTP server. The days lie beside the checkout, in `../shared/data`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from paperboy.announcements import newest_batch
from paperboy.app import App
from paperboy.curate import ways_in
from paperboy.models import Became, Day, Outcome, Paper, Score, Spending, Usage
from tests.fakes import NoProgress
from tests.servers.arxiv_api import ArxivServer
from tests.servers.llm import LlmServer
from tests.servers.smtp import SmtpServer

DATA = Path(__file__).parents[3] / "shared" / "data"
TOPICS = DATA / "topics" / "near-field-cosmology.md"
LIST = """lists:
  - name: galaxies
    categories: [astro-ph.GA]
    topics: topics/galaxies.md
    subscribers: [vera@example.org]
"""


def paper(row: dict[str, Any], published: datetime) -> Paper:
    text = (row["arxiv_id"], 1, row["title"], tuple(row["authors"]), row["abstract"])
    return Paper(*text, "astro-ph.GA", ("astro-ph.GA",), published, published)


def live(app: App, rows: list[dict[str, Any]], now: datetime) -> None:
    """All days but the last, ending yesterday: their papers, scores and frozen days, and what the list has learned."""
    (galaxies,), store = app.home.lists, app.store
    last = date.fromisoformat(rows[-1]["date"])
    store.days.begin(galaxies.name, ways_in(galaxies), (), now.date() - timedelta(days=140), now)
    for day in sorted({row["date"] for row in rows} - {rows[-1]["date"]}):
        at, today = now - (last - date.fromisoformat(day)), [row for row in rows if row["date"] == day]
        scores = {row["arxiv_id"]: Score(row["relevance"], row["novelty"]) for row in today}
        store.papers.add([paper(row, at - timedelta(days=1)) for row in today], galaxies.categories, at)
        spending = Spending(Usage(len(today) // 16 + 1))
        store.scores.keep(galaxies.name, app.learning.criteria(galaxies), app.scorer.model.name, scores, spending, at)
        became = dict.fromkeys(scores, Became.BELOW)
        store.days.freeze(Day(galaxies.name, at.date(), Outcome.NOTE, became=became), at)
    app.learning.learn(app.home.lists, now)


def morning(rows: list[dict[str, Any]], settings: str, share: str, llm: LlmServer) -> str:
    """One morning on a home of its own, in words."""
    with tempfile.TemporaryDirectory() as folder:
        home, now = Path(folder), datetime.now(UTC)
        (home / "prompts" / "topics").mkdir(parents=True)
        (home / "prompts" / "topics" / "galaxies.md").write_text(TOPICS.read_text("utf-8"), "utf-8")
        (home / "subscribers.yaml").write_text(LIST)
        (home / ".env").write_text(settings + f"LLM_SHORTLIST={share}\n")
        with App(home, {}, lambda: now - timedelta(days=1), time.sleep, time.monotonic, NoProgress()) as app:
            live(app, rows, now - timedelta(days=1))
        calls, began = len(llm.asked), time.perf_counter()
        run = subprocess.run(
            [sys.executable, "-m", "paperboy", "--home", folder, "once"], check=False, capture_output=True, text=True
        )
        took = time.perf_counter() - began
        assert run.returncode == 0, run.stderr
        asked = [arxiv_id for call in llm.asked[calls:] for arxiv_id in call]
        wanted = [row["arxiv_id"] for row in rows if row["date"] == rows[-1]["date"] and row["relevance"] >= 7]
        return (
            f"LLM_SHORTLIST={share:<4} {took:6.1f} s, {len(llm.asked) - calls} calls for {len(asked)} papers; "
            f"{len(set(wanted) & set(asked))} of {len(wanted)} with relevance 7 or more among them"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5, help="that each call takes")
    parser.add_argument("--batch", type=int, default=16, help="papers in a call")
    options = parser.parse_args()
    rows = [json.loads(line) for line in (DATA / "astro_scored.jsonl").read_text("utf-8").splitlines()]
    rows = sorted({row["arxiv_id"]: row for row in reversed(rows)}.values(), key=lambda row: str(row["date"]))
    today = [row for row in rows if row["date"] == rows[-1]["date"]]
    batch = newest_batch(datetime.now(UTC))
    papers = [paper(row, batch.submitted_until - timedelta(minutes=1 + n)) for n, row in enumerate(today)]
    scores = {row["arxiv_id"]: Score(row["relevance"], row["novelty"], "Why.") for row in today}
    with ArxivServer(papers) as arxiv, LlmServer(scores, latency=options.seconds) as llm, SmtpServer() as smtp:
        settings = (
            f"ARXIV_API_URL={arxiv.url}\nARXIV_DELAY_SECONDS=0\nOPENAI_BASE_URL={llm.base_url}\nLLM_CONCURRENCY=1\n"
            f"LLM_BATCH_SIZE={options.batch}\nSMTP_HOST=127.0.0.1\nSMTP_PORT={smtp.port}\nSMTP_SECURITY=none\n"
            "MAIL_FROM=papers@example.org\nLOG_LEVEL=WARNING\n"
        )
        for share in ("1", "auto", "0.5"):
            print(morning(rows, settings, share, llm), flush=True)
        assert len(smtp.messages) == 3


if __name__ == "__main__":
    main()
