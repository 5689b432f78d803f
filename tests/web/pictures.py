"""Pictures for the README: `python -m tests.web.pictures` writes emails/archive.png and emails/status.png.

Both are of invented papers: two weeks of the sample's morning, of which each day has some.
"""

from __future__ import annotations

import html
import io
import random
import shutil
import subprocess
import tempfile
import time
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path

from werkzeug.test import Client

from paperboy import sample
from paperboy.cli.main import invoke
from paperboy.features import FEATURES
from paperboy.models import Cost, Day, Outcome, Score, Spending, Subscriber, Usage
from paperboy.service.app import App
from paperboy.web.site import Site
from tests.fakes import NoProgress
from tests.mail.browser import browser
from tests.mail.mails import LUNA, curated

EMAILS = Path(__file__).parents[2] / "emails"
NOW = datetime(2026, 11, 27, 7, 30, tzinfo=UTC)  # a Friday
DAYS = 12
LISTS = """\
lists:
  - name: foundations
    title: Foundations of machine learning
    description: Why networks learn, and what they cannot learn.
    categories: [cs.LG, stat.ML]
    topics: "Relevant: training dynamics\\n\\nRelevant: generalisation"
    archive: public
    open: true
    subscribers: [ada@example.org, grace@example.org, vera@example.org]
"""
TERMINAL = """<!doctype html><style>
body{{margin:0;background:#1d1f21;color:#c5c8c6;font:15px/1.45 "DejaVu Sans Mono",monospace}}
pre{{margin:0;padding:20px 24px;white-space:pre-wrap}} b{{color:#b5bd68;font-weight:normal}}
</style><pre><b>$</b> paperboy status
{}</pre>"""


def fill(home: Path) -> None:
    """Freeze a digest on each weekday, and send it to the outbox."""
    (home / ".env").write_text("WEB_URL=https://papers.example.org\n", "utf-8")
    (home / "subscribers.yaml").write_text(LISTS, "utf-8")
    for ago in reversed(range(DAYS)):
        at = NOW - timedelta(days=ago)
        if at.weekday() > 4:
            continue
        app = App(
            home, {}, lambda at=at: at, time.sleep, time.monotonic, NoProgress(), features=FEATURES
        )
        with app:
            freeze(app, at)
            app.deliver(lambda: False, by_hand=True)


def freeze(app: App, at: datetime) -> None:
    (mailing_list,) = app.home.lists
    dice = random.Random(at.day)  # noqa: S311  # the same at every run
    papers = dice.sample([of for of in sample.papers(at) if "cs.LG" in of.categories], 14)
    app.store.papers.add(papers, mailing_list.categories, at)
    scores = {of.id: Score(dice.randint(3, 10), dice.randint(5, 8), "", 1) for of in papers}
    tokens = dice.randint(30_000, 60_000)
    cost = Cost(tokens * 1e-7, tokens * 1e-7)
    spending = Spending(Usage(calls=3, prompt_tokens=tokens, completion_tokens=tokens // 9), cost)
    app.store.scores.keep(mailing_list.name, "criteria", LUNA.name, scores, spending, at)
    digest = curated(mailing_list, papers, scores, spending=spending, day=at.date())
    composed = app.composer.for_list(mailing_list, at.date()).digest(digest, at)
    day = Day(
        mailing_list.name,
        at.date(),
        Outcome.DIGEST,
        model=LUNA.name,
        counts=digest.counts,
        composed=composed,
        copies=tuple(
            app.composer.copy_for(mailing_list.name, at.date(), subscriber)
            for subscriber in mailing_list.subscribers
            if isinstance(subscriber, Subscriber)
        ),
    )
    app.store.days.freeze(day, at)


def small(picture: bytes) -> bytes:
    """Return the picture in 256 colours, which are plenty for text, and weigh a third."""
    if not shutil.which("pngquant"):
        return picture
    command = ["pngquant", "--speed=1", "-"]
    return subprocess.run(command, input=picture, capture_output=True, check=True).stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, browser() as window:
        home = Path(folder) / "papers"
        home.mkdir()
        fill(home)
        app = App(
            home, {}, lambda: NOW, time.sleep, time.monotonic, NoProgress(), features=FEATURES
        )
        page = Client(Site(app)).get("/list/foundations").text
        window.show(page, 720, "light", scale=1.25)
        (EMAILS / "archive.png").write_bytes(small(window.picture(height=760)))

        printed = io.StringIO()
        with redirect_stdout(printed):
            invoke(["--home", str(home), "status"], {}, lambda: NOW)
        shown = html.escape(printed.getvalue())
        window.show(TERMINAL.format(shown), 720, "dark", scale=1.25)
        (EMAILS / "status.png").write_bytes(small(window.picture(height=300)))


if __name__ == "__main__":
    main()
