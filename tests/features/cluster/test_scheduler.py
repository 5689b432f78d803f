"""A morning that a Dask cluster composes, what becomes of it when that dies, and what the check says of it."""

from __future__ import annotations

import gc
import time
from dataclasses import replace
from pathlib import Path

import pytest

from paperboy.features import FEATURES
from paperboy.features.cluster import scheduler
from paperboy.home.settings import Settings
from paperboy.morning.workers import WorkerPool, WorkersError
from paperboy.service.feature import Finding
from paperboy.store.incidents import Kind
from tests.fakes import app_at
from tests.morning.test_workers import NOW, a_morning, home, once_some_are_frozen
from tests.servers.dask import MISSING, dask_cluster
from tests.servers.llm import LlmServer
from tests.service.test_check import about, check, write_env
from tests.service.test_check import home as small_home

__all__ = ["home", "small_home"]  # fixtures, for these tests, too


def impatient_pool(settings: Settings) -> WorkerPool | None:
    """The cluster, whose workers have ten seconds for a digest and not two minutes."""
    pool = scheduler.worker_pool(settings)
    return replace(pool, seconds=10) if pool else None


IMPATIENT = [
    replace(feature, worker_pool=impatient_pool) if feature.name == "cluster" else feature
    for feature in FEATURES
]

needs_dask = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@needs_dask
def test_cluster_gives_the_same_bytes(home: Path, tmp_path: Path) -> None:
    with dask_cluster(tmp_path) as dask, LlmServer(cache="none") as llm:
        on_it = f"CLUSTER={dask.address}"
        with app_at(home, lambda: NOW, {"CLUSTER": dask.address}) as app:
            (found,) = scheduler.check(app)
        assert found.message.startswith("3 workers with 3 threads, which compose")
        assert a_morning(home, on_it) == a_morning(home, "WORKERS=1")
        settings = [f"OPENAI_BASE_URL={llm.base_url}", "LLM_BATCH_SIZE=200", "LLM_CONCURRENCY=16"]
        assert a_morning(home, *settings, on_it) == a_morning(home, *settings, "WORKERS=1")


@needs_dask
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # of sockets that Dask leaves open
def test_cluster_that_loses_workers_and_then_its_scheduler_costs_time_alone(
    home: Path, tmp_path: Path
) -> None:
    with dask_cluster(tmp_path) as dask:

        def kill() -> None:
            dask.workers[0].kill()
            dask.workers[1].kill()
            time.sleep(0.3)
            dask.scheduler.kill()

        killed = a_morning(
            home,
            f"CLUSTER={dask.address}",
            meanwhile=lambda app: once_some_are_frozen(app, kill),
            features=IMPATIENT,
        )
        later = a_morning(home, f"CLUSTER={dask.address}")  # nobody answers there any more
    gc.collect()  # which closes them
    alone = a_morning(home, "WORKERS=1")
    assert killed.pop("incidents") in ([], [(Kind.WORKERS,)])
    assert later.pop("incidents") == [(Kind.WORKERS,)]
    assert alone.pop("incidents") == []
    assert killed == later == alone


@needs_dask
def test_scheduler_over_tls_without_certificates_is_named() -> None:
    with pytest.raises(WorkersError, match=r"^no scheduler answers at tls://127\.0\.0\.1:1 "):
        scheduler.client("tls://127.0.0.1:1").__enter__()


@pytest.mark.long("Dask")
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_cluster_is_looked_at_and_a_morning_does_without_one_that_is_gone(
    small_home: Path, tmp_path: Path
) -> None:
    with dask_cluster(tmp_path, workers=1) as dask:
        write_env(small_home, CLUSTER=dask.address)
        (found,) = about("cluster", check(small_home, offline=False))
        assert found == Finding(
            "cluster",
            "1 worker with 1 thread, which compose mornings of more than 16 lists",
        )
        dask.workers[0].kill()
        dask.workers[0].wait()
        (empty,) = about("cluster", check(small_home, offline=False))
        fix = f"start some: dask worker {dask.address}; without them, mornings take longer"
        assert empty == Finding("cluster", f"the scheduler has no worker; {fix}", note=True)
        dask.scheduler.kill()
        dask.scheduler.wait()
        (gone,) = about("cluster", check(small_home, offline=False))
    assert gone.note
    assert gone.message.startswith(f"no scheduler answers at {dask.address} ")
    assert gone.message.endswith("; without it, mornings take longer")


@pytest.mark.parametrize(
    ("lists", "name"), [(16, ""), (17, "the cluster at tls://scheduler.example.org:8786")]
)
def test_small_morning_pays_for_no_cluster(small_home: Path, lists: int, name: str) -> None:
    environ = {"CLUSTER": "tls://scheduler.example.org:8786"}
    with app_at(small_home, lambda: NOW, environ) as app:
        found = app.worker_pool(lists)
        assert (found.name if found else "") == name
