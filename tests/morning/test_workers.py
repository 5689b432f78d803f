"""The same morning, done here, in other processes and on a cluster; and what becomes of it when they die."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from paperboy import sample
from paperboy.features import FEATURES
from paperboy.models import Paper
from paperboy.morning import workers
from paperboy.morning.drafting import compose
from paperboy.morning.workers import WorkerPool, WorkersError
from paperboy.service.app import App
from paperboy.service.feature import Feature
from paperboy.sources.arxiv import calendar as announcements
from paperboy.store.incidents import Kind
from tests.fakes import NoProgress
from tests.servers.arxiv_api import ArxivServer
from tests.servers.llm import LlmServer

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
LISTS = 70  # more than one group

# --- a crew


Hire = Callable[[], AbstractContextManager[Executor]]


@pytest.mark.quick
@pytest.mark.parametrize(("lists", "most"), [(499, 1), (500, 2), (1_000_000, 4)])
def test_processes_help_from_five_hundred_lists_on(lists: int, most: int) -> None:
    assert workers.helpful(lists) == min(most, len(os.sched_getaffinity(0)))


def worker_pool(hire: Hire, seconds: float = 60) -> WorkerPool:
    return WorkerPool(hire, "the threads", seconds=seconds)


@contextmanager
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


def halved(number: int) -> int:
    if number == 5:
        raise ZeroDivisionError("five")
    return number // 2


def test_tasks_are_read_some_ahead_of_the_results() -> None:
    read = list[int]()

    def tasks() -> Iterator[int]:
        for number in range(1000):
            read.append(number)
            yield number

    held = threading.Event()
    threading.Timer(0.5, held.set).start()
    results = worker_pool(threads).map(lambda _: held.wait(60), tasks())
    assert next(results) == (0, True)
    assert len(read) == 129
    results.close()


def test_result_that_is_there_waits_for_no_other_task() -> None:
    """With an LLM, minutes pass before the next task is there."""

    def tasks() -> Iterator[int]:
        yield 2
        ends = time.monotonic() + 60
        while not given.is_set():
            assert time.monotonic() < ends
            yield 4

    given = threading.Event()
    found = list[tuple[int, int | None]]()
    for result in worker_pool(threads).map(halved, tasks()):
        given.set()
        found.append(result)
    assert found[0] == (2, 1)


def test_executor_that_fails_once_is_not_used_any_more() -> None:
    some = worker_pool(threads)
    tasks = [2, 5, *range(6, 46, 2)]
    found = list(some.map(halved, tasks))
    assert [task for task, _ in found] == tasks
    assert found[:2] == [(2, 1), (5, None)]
    assert found[-2:] == [(42, None), (44, None)]
    assert some.problem == "the threads cannot be used: ZeroDivisionError: five"


def test_executor_that_cannot_be_had_leaves_all_tasks_to_the_caller() -> None:
    def hire() -> AbstractContextManager[Executor]:
        raise WorkersError("no scheduler answers")

    some = worker_pool(hire)
    assert list(some.map(halved, (2, 4))) == [(2, None), (4, None)]
    assert some.problem == "the threads cannot be used: no scheduler answers"


def test_executor_that_does_not_answer_in_time_is_given_up() -> None:
    stop = threading.Event()
    some = worker_pool(threads, seconds=0.05)
    results = some.map(lambda _: stop.wait(60), range(6))
    assert [next(results)[1] for _ in range(2)] == [None, None]
    stop.set()
    assert [result for _, result in results] == [None] * 4
    assert some.problem == "the threads cannot be used: no answer within 0.05 seconds"


# --- the same morning


def app_of(path: Path, features: Sequence[Feature] = FEATURES) -> App:
    return App(path, {}, lambda: NOW, time.sleep, time.monotonic, NoProgress(), features=features)


def topics(number: int, papers: list[Paper]) -> str:
    """No two the same."""
    words = papers[number % len(papers)].abstract.split()
    return " ".join(word for word in words[number // len(papers) * 5 :][:12] if word.isalpha())


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Seventy lists on one category, and the papers of a day."""
    batch = announcements.newest_batch(NOW)
    papers = [
        paper for paper in sample.papers(batch.submitted_until) if "cs.LG" in paper.categories
    ]
    base = tmp_path / "base"
    base.mkdir()
    lists = "".join(
        f"  - name: list-{number}\n    categories: [cs.LG]\n    topics: {topics(number, papers)}\n"
        f"    subscribers: [ada-{number}@example.org]\n"
        for number in range(LISTS)
    )
    (base / "subscribers.yaml").write_text(f"lists:\n{lists}", "utf-8")
    with ArxivServer(papers) as arxiv:
        (base / ".env").write_text(f"ARXIV_API_URL={arxiv.url}\nARXIV_DELAY_SECONDS=0\n", "utf-8")
        with app_of(base) as app:
            assert app.store.secret()
        yield base


def a_morning(
    base: Path,
    *settings: str,
    meanwhile: Callable[[App], None] = lambda _: None,
    features: Sequence[Feature] = FEATURES,
) -> dict[str, list[object]]:
    """The rows of a copy of the home, after a morning with more settings."""
    path = base.with_name(f"{len(list(base.parent.iterdir()))}")
    shutil.copytree(base, path)
    with (path / ".env").open("a") as env:
        env.write("".join(f"{setting}\n" for setting in settings))
    with app_of(path, features) as app:
        watcher = threading.Thread(target=meanwhile, args=(app,))
        watcher.start()
        report = app.morning([mailing_list.name for mailing_list in app.home.lists])
        watcher.join()
        assert not report.due
        assert app.store.ledger.unfinished() == LISTS
    with closing(sqlite3.connect(path / "data" / "paperboy.db")) as database:
        return {
            "digests": database.execute(
                "select list, date, subject, message from digests order by list"
            ).fetchall(),
            "seen": database.execute("select * from seen order by list, paper_id").fetchall(),
            "scores": database.execute(
                "select * from scores order by criteria, paper_id, list"
            ).fetchall(),
            "days": database.execute(
                "select list, outcome, reason, considered from days order by list"
            ).fetchall(),
            "deliveries": database.execute(
                "select message_id, token from deliveries order by token"
            ).fetchall(),
            "incidents": database.execute(
                "select kind from incidents where ended is null"
            ).fetchall(),
        }


def frozen(app: App) -> int:
    with closing(sqlite3.connect(app.settings.paperboy_database)) as database:
        return int(database.execute("select count(*) from digests").fetchone()[0])


def once_some_are_frozen(app: App, then: Callable[[], None]) -> None:
    ends = time.monotonic() + 60
    while not frozen(app):
        assert time.monotonic() < ends
        time.sleep(0.01)
    then()


def children() -> list[int]:
    """The worker processes of this process, which `spawn` starts with these words."""
    found = subprocess.run(
        ["pgrep", "-P", str(os.getpid()), "-f", "spawn_main"], check=False, capture_output=True
    )
    return [int(process) for process in found.stdout.split()]


def test_two_processes_give_the_same_bytes_as_one(home: Path) -> None:
    assert a_morning(home, "WORKERS=2") == a_morning(home, "WORKERS=1")
    assert not children()


def test_worker_killed_in_the_middle_costs_time_alone(home: Path) -> None:
    def kill(app: App) -> None:
        once_some_are_frozen(app, lambda: os.kill(children()[0], signal.SIGKILL))

    killed = a_morning(home, "WORKERS=2", meanwhile=kill)
    incidents = killed.pop("incidents")
    alone = a_morning(home, "WORKERS=1")
    assert alone.pop("incidents") == []
    assert killed == alone
    assert incidents in ([], [(Kind.WORKERS,)])  # unless all was done by then


def test_no_score_is_paid_for_twice(home: Path) -> None:
    with LlmServer(cache="none") as llm:
        settings = [f"OPENAI_BASE_URL={llm.base_url}", "LLM_BATCH_SIZE=200", "LLM_CONCURRENCY=16"]
        alone = a_morning(home, *settings, "WORKERS=1")
        asked = len(llm.asked)
        assert a_morning(home, *settings, "WORKERS=2") == alone
        assert len(llm.asked) == 2 * asked
        assert set(Counter(arxiv_id for call in llm.asked for arxiv_id in call).values()) == {
            2 * LISTS
        }


def test_task_for_a_worker_holds_no_address_and_no_secret(tmp_path: Path) -> None:
    lists = "lists: [{name: a, categories: [cs.LG], topics: b, subscribers: [a-reader@example.org], webhook: %s}]\n"
    (tmp_path / "subscribers.yaml").write_text(lists % "https://hooks.example.org/secret", "utf-8")
    with app_of(tmp_path) as app:
        kept = app.drafter.gather(app.home.lists[0], sample.papers(NOW), NOW)
        (scored,) = app.drafter.score([kept])
        sent = pickle.dumps(scored)
        assert b"https://hooks.example.org" not in sent
        assert b"a-reader@example.org" not in sent
        assert app.store.secret() not in sent
        mail = compose(scored).mail
    assert mail
    assert mail.shown  # for the webhook


def test_program_ends_though_one_of_its_workers_hangs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import os, signal
        from paperboy.morning.workers import processes
        if __name__ == "__main__":
            with processes(2) as executor:
                for worker in {executor.submit(os.getpid).result() for _ in range(9)}:
                    os.kill(worker, signal.SIGSTOP)
        """)
    )
    subprocess.run([sys.executable, str(program)], check=True, timeout=60)


def test_workers_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import os, time
        from paperboy.morning.workers import processes
        if __name__ == "__main__":
            with processes(2) as executor:
                print(*{executor.submit(os.getpid).result() for _ in range(9)}, flush=True)
                time.sleep(600)
        """)
    )
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        workers = [int(process) for process in process.stdout.readline().split()]
        process.kill()
    ends = time.monotonic() + 60
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < ends, "they live on"
        time.sleep(0.05)
    assert workers


# --- who is needed


@pytest.mark.parametrize(
    ("setting", "lists", "name"),
    [
        ("", 100, ""),
        ("WORKERS=1", 10_000, ""),
        ("WORKERS=3", 10_000, "3 processes"),
        ("WORKERS=3", 17, "3 processes"),
        ("WORKERS=3", 16, ""),
    ],
)
def test_small_home_pays_for_no_process_that_it_does_not_need(
    tmp_path: Path, setting: str, lists: int, name: str
) -> None:
    (tmp_path / "subscribers.yaml").write_text(
        "lists: [{name: a, categories: [cs.LG], topics: b}]\n"
    )
    (tmp_path / ".env").write_text(setting)
    with app_of(tmp_path) as app:
        found = app.worker_pool(lists)
        assert (found.name if found else "") == name
