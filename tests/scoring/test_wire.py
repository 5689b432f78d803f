"""The HTTP exchange itself: time, size, Retry-After, and an environment that must not matter."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from paperboy.scoring.wire import Wire
from tests.servers.llm import LlmServer
from tests.servers.llm_faults import Fault

QUESTION = {"model": "m", "messages": [{"role": "user", "content": "Papers: 2611.00001"}]}


@contextmanager
def wire_to(server: LlmServer, seconds: float = 5) -> Iterator[Wire]:
    wire = Wire(server.base_url, "", seconds)
    try:
        yield wire
    finally:
        wire.close()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "-1"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_seconds(headers: dict[str, str], seconds: float | None) -> None:
    with LlmServer() as server, wire_to(server) as wire:
        server.faults.append(Fault(429, {"message": "Slow"}, headers))
        assert wire.post(QUESTION).retry_after == seconds


def test_retry_after_may_be_a_date() -> None:
    with LlmServer() as server, wire_to(server) as wire:
        server.faults.append(Fault(429, {"message": "Slow"}, {"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"}))
        wait = wire.post(QUESTION).retry_after
    assert wait is not None
    assert wait > 1_000_000


def test_a_compressed_answer_is_read() -> None:
    with LlmServer() as server, wire_to(server) as wire:
        server.faults.append(Fault(headers={"Content-Encoding": "gzip"}, body=gzip.compress(b'{"a": 1}')))
        assert wire.post(QUESTION).body == {"a": 1}


def test_an_answer_that_would_fill_the_memory_is_not_read_to_its_end() -> None:
    with LlmServer() as server, wire_to(server) as wire:
        bomb = gzip.compress(b" " * 300_000_000, compresslevel=1)
        server.faults.append(Fault(headers={"Content-Encoding": "gzip"}, body=bomb))
        exchange = wire.post(QUESTION)
    assert exchange.status == 0
    assert "too large" in exchange.problem


@pytest.mark.parametrize("stall", ["hang", "trickle"])
def test_a_stalling_server_meets_the_time_limit(stall: str) -> None:
    with LlmServer() as server, wire_to(server, seconds=0.2) as wire:
        server.faults.append(Fault(stall=stall))
        start = time.monotonic()
        exchange = wire.post(QUESTION)
        assert time.monotonic() - start < 2
    assert exchange.timed_out


def test_the_clients_own_environment_variables_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings come from Paperboy's reader alone; the client would look for these itself."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "of somebody else")
    with LlmServer(api_key="none") as server, wire_to(server) as wire:
        assert wire.post(QUESTION).status == 200
