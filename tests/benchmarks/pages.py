"""What the pages of a public list cost: `python -m tests.benchmarks.pages [--digests 40 200 2000]`.

A home with one list that has had that many digests of twelve papers, each day's chosen at random from the demo's.
Printed are milliseconds of processor time for a request, the least of five: the list's page, its last page, a digest,
the feed and a search, and each again by a visitor who has it (304).
"""

import argparse
import random
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from werkzeug.test import Client
from werkzeug.wrappers import Response

from paperboy import sample
from paperboy.features import FEATURES
from paperboy.features.archive.work import work
from paperboy.mail.message import Composer
from paperboy.models import Day, Outcome, Score, Subscriber
from paperboy.service.app import App
from paperboy.sources.arxiv import calendar as announcements
from paperboy.web.site import Site
from tests.fakes import NoProgress
from tests.mail.mails import LUNA, TEMPLATES, curated

_URL = "https://papers.example.org"
_NOW = datetime(2026, 11, 20, 8, tzinfo=UTC)
_LIST = """\
lists:
  - name: graphs
    title: Graphs that learn
    description: New papers on graphs, and on what they learn.
    categories: [cs.LG]
    topics: |
      1. Graphs
      2. Learning
    archive: public
    open: true
    subscribers: [ada@example.org]
"""


def app_with(home: Path, digests: int) -> App:
    """An app for a home whose list has had that many digests, one a day."""
    home.mkdir()
    (home / ".env").write_text(f"WEB_URL={_URL}\n")
    (home / "subscribers.yaml").write_text(_LIST)
    app = App(home, {}, lambda: _NOW, time.sleep, time.monotonic, NoProgress(), features=FEATURES)
    mailing_list = app.home.lists[0]
    batch = announcements.newest_batch(_NOW)
    papers = [paper for paper in sample.papers(batch.submitted_until) if ":" not in paper.id]
    chance = random.Random(20261120)  # noqa: S311  # no secret
    composer = Composer(
        TEMPLATES,
        sender=Subscriber("papers@example.org"),
        reply_to=None,
        secret=b"the secret of a benchmark",
        web_url=_URL,
        links=frozenset({"view"}),
    )
    with app.store as store:
        store.papers.add(papers, (), _NOW)
        for ago in range(digests):
            day = _NOW.date() - timedelta(days=ago)
            chosen = chance.sample(papers, 12)
            scores = {
                paper.id: Score(chance.randint(7, 10), 7, "It is worth the time.", 1 + n % 2)
                for n, paper in enumerate(chosen)
            }
            of = curated(mailing_list, chosen, scores, model=LUNA, day=day)
            composed = composer.for_list(mailing_list, day).digest(of, _NOW)
            frozen = Day(
                list_name=mailing_list.name,
                date=day,
                outcome=Outcome.DIGEST,
                counts=of.counts,
                composed=composed,
            )
            store.days.freeze(frozen, _NOW)
        store.tasks.add("index", mailing_list.name, _NOW)
        [task] = store.tasks.due("index", _NOW)
        work(app, task, lambda: False)
    return app


def requests(digests: int) -> Mapping[str, str]:
    """The paths by what they are."""
    at_home = "/list/graphs"
    return {
        "front": "/",
        "list": at_home,
        "last page": f"{at_home}?page={(digests - 1) // 30 + 1}",
        "digest": f"{at_home}/{_NOW:%Y-%m-%d}",
        "feed": f"{at_home}/feed.atom",
        "search": f"{at_home}/search?q=learning",
    }


def least(site: Site, path: str, etag: str = "") -> tuple[float, int, str]:
    """Milliseconds of processor time, the status and the ETag."""
    client = Client(site, Response)
    headers = {"If-None-Match": etag} if etag else {}
    times = []
    for _ in range(5):
        began = time.process_time()
        answer = client.get(path, headers=headers)
        times.append(1000 * (time.process_time() - began))
    return min(times), answer.status_code, answer.headers.get("ETag", "")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--digests", type=int, nargs="+", default=[40, 200, 2000])
    for digests in parser.parse_args().digests:
        with tempfile.TemporaryDirectory() as folder:
            site = Site(app_with(Path(folder) / "home", digests))
            print(f"{digests:,} digests")
            for what, path in requests(digests).items():
                first, status, etag = least(site, path)
                line = f"  {what:<10} {status} {first:7.1f} ms"
                if etag:
                    again, status, _ = least(site, path, etag)
                    line += f"   {status} {again:5.1f} ms"
                print(line)


if __name__ == "__main__":
    main()
