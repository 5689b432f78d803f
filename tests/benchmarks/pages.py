"""How fast pages come while a morning sends: `python -m tests.benchmarks.pages [--rate 50] [--readers 3000]`.

`paperboy web` serves a home of two lists with that many readers each and the 423 papers of 2025-02-18. The first list
has had its mail. While `paperboy once` fetches, scores, composes and sends the second one's to Postfix's `smtp-sink`,
requests come at their times whether or not the one before was answered (an open loop), each on a connection of its own,
as nginx makes them; latency counts from the time when a request was due. Beside it, in the same run: a bare Werkzeug
page behind the same server, in a process of its own. The client, the morning and both servers share the cores.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count, cycle
from pathlib import Path
from statistics import quantiles

from paperboy.announcements import newest_batch
from tests.benchmarks.morning import DAY
from tests.servers.arxiv_api import ArxivServer, papers_from_day
from tests.servers.llm import LlmServer, invented_score
from tests.servers.smtp_sink import free_port, smtp_sink, until_it_listens
from tests.web.served import Served

AIM = 250  # ms, the 99th percentile of a page
BARE = """
import sys
from waitress import serve
from werkzeug.wrappers import Request, Response
page = "<!doctype html><title>x</title>" + "x" * 2500
@Request.application
def room(request):
    return Response(page, mimetype="text/html")
serve(room, listen=f"127.0.0.1:{sys.argv[1]}", threads=4)
"""

Ask = Callable[[], None]


def asker(port: int, path: str) -> Ask:
    def ask() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"Connection": "close"})
            response = connection.getresponse()
            response.read()
            assert response.status == 200, (path, response.status)

    return ask


def open_loop(asks: Mapping[str, Ask], rate: float, ended: threading.Event) -> dict[str, list[float]]:
    """Milliseconds of each request, by page, until the event and for 500 requests at least."""
    took: dict[str, list[float]] = defaultdict(list)
    begun = time.monotonic()

    def one(name: str, due: float) -> None:
        asks[name]()
        took[name].append((time.monotonic() - due) * 1_000)

    with ThreadPoolExecutor(100) as pool:
        pending = []
        for number, name in zip(count(), cycle(asks), strict=False):
            due = begun + number / rate
            if ended.is_set() and number >= 500:
                break
            time.sleep(max(0.0, due - time.monotonic()))
            pending.append(pool.submit(one, name, due))
        for each in pending:
            each.result()
    return took


def per_second(ask: Ask, seconds: float = 3) -> float:
    """Pages a second, for four clients that wait for each answer."""
    ends, done = time.monotonic() + seconds, count()

    def client() -> None:
        while time.monotonic() < ends:
            ask()
            next(done)

    with ThreadPoolExecutor(4) as pool:
        for each in [pool.submit(client) for _ in range(4)]:
            each.result()
    return next(done) / seconds


def subscribers(readers: int) -> Iterator[str]:
    yield "lists:\n"
    for name in ("first", "second"):
        yield f"  - name: {name}\n    categories: [cs.LG, cs.AI]\n    topics: Foundations.\n    subscribers:\n"
        yield "".join(f"      - reader{n}@{name}.example.org\n" for n in range(readers))


def once(home: Path, name: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "paperboy", "--home", str(home), "once", "--list", name]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=home)


def paths(home: Path) -> dict[str, str]:
    with contextlib.closing(sqlite3.connect(home / "data" / "paperboy.db")) as database:
        leave, vote = database.execute("select leave, vote from readers where list = 'first' limit 1").fetchone()
        link, date = database.execute("select link, date from digests where list = 'first'").fetchone()
    return {"leave": f"/leave/{leave}", "digest": f"/digest/{link}", "vote": f"/vote/{vote}/{date}"}


@contextlib.contextmanager
def bare() -> Iterator[int]:
    port = free_port()
    program = subprocess.Popen([sys.executable, "-c", BARE, str(port)], stderr=subprocess.DEVNULL)
    try:
        until_it_listens(port, program)
        yield port
    finally:
        program.kill()
        program.wait()


def show(title: str, took: Mapping[str, list[float]]) -> None:
    print(f"\n{title:<34}{'50th':>8}{'99th':>8}{'most':>8}  ms")
    for name, figures in took.items():
        hundredths = quantiles(figures, n=100)
        print(f"{name:<18}{len(figures):>10} times {hundredths[49]:>8.1f}{hundredths[98]:>8.1f}{max(figures):>8.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=50, help="requests a second; default: 50")
    parser.add_argument("--readers", type=int, default=3_000, help="mails of the morning; default: 3000")
    options = parser.parse_args()
    papers, port = papers_from_day(DAY, newest_batch(datetime.now(UTC))), free_port()
    with (
        ArxivServer(papers) as arxiv,
        LlmServer(invented_score) as llm,
        smtp_sink() as smtp,
        bare() as other,
        tempfile.TemporaryDirectory() as folder,
    ):
        home = Path(folder) / "home"
        home.mkdir()
        (home / "subscribers.yaml").write_text("".join(subscribers(options.readers)))
        (home / ".env").write_text(
            f"ARXIV_API_URL={arxiv.url}\nARXIV_DELAY_SECONDS=0\nOPENAI_BASE_URL={llm.base_url}\nLOG_LEVEL=WARNING\n"
            f"SMTP_HOST=127.0.0.1\nSMTP_PORT={smtp}\nSMTP_SECURITY=none\nMAIL_FROM=papers@example.org\n"
            f"WEB_URL=https://papers.example.org\nWEB_LISTEN=127.0.0.1:{port}\n"
        )
        assert once(home, "first").wait() == 0
        with Served(home, port):
            asks = {name: asker(port, path) for name, path in paths(home).items()} | {"bare": asker(other, "/")}
            print(f"{os.cpu_count()} cores, which others used before we began: load {os.getloadavg()[0]:.1f}")
            print("\npages a second:", ", ".join(f"{name} {per_second(ask):,.0f}" for name, ask in asks.items()))
            ended = threading.Event()
            ended.set()
            show("nothing else runs", open_loop(asks, options.rate * 4 / 3, ended))
            ended.clear()
            began, morning = time.monotonic(), once(home, "second")
            threading.Thread(target=lambda: (morning.wait(), ended.set())).start()
            took = open_loop(asks, options.rate * 4 / 3, ended)  # the bare page comes on top
            assert morning.wait() == 0
            show(f"while {options.readers:,} mails go out", took)
            print(f"\nthe morning and what came after it: {time.monotonic() - began:.1f} s (aim: 99th below {AIM} ms)")


if __name__ == "__main__":
    main()
