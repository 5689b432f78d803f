"""One question to a server: what a reply means, how fallbacks are walked, and limits of time and size."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from paperboy.models import Usage
from paperboy.scoring.server import Answer, Dialect, Exchange, Server, Verdict, fallbacks, judge
from tests.servers.llm import LlmServer
from tests.servers.llm_faults import Fault

USAGE = {"prompt_tokens": 10, "completion_tokens": 2}
QUESTION = [{"role": "user", "content": "Papers: 2611.00001"}]


def said(content: object = "Text", finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content, **message}, "finish_reason": finish}], "usage": USAGE}


@pytest.mark.parametrize(
    ("status", "body", "verdict"),
    [
        (200, said(), Verdict.ANSWERED),
        (200, said(finish="length"), Verdict.ANSWERED),
        (200, said(finish="content_filter"), Verdict.ANSWERED),
        (200, said(finish=None), Verdict.ANSWERED),
        (200, said([{"text": "Te"}, {"text": "xt"}]), Verdict.ANSWERED),
        (200, {"choices": [{"message": {"content": "Text"}}]}, Verdict.ANSWERED),
        (200, said(None, refusal="No."), Verdict.REFUSED),
        (200, said("", "content_filter"), Verdict.REFUSED),
        (200, said("", "length"), Verdict.REFUSED),
        (200, said("", None), Verdict.FAILED),
        (200, said(["Text"]), Verdict.FAILED),
        (200, {"choices": []}, Verdict.FAILED),
        (200, {"choices": None, "usage": 3}, Verdict.FAILED),
        (200, {"choices": [None]}, Verdict.FAILED),
        (200, {"choices": [{"message": "Text"}]}, Verdict.FAILED),
        (200, {"error": {"code": 429, "message": "Slow down"}}, Verdict.FAILED),
        (200, {"error": {"code": "401", "message": "Who are you?"}}, Verdict.HOPELESS),
        (200, {"error": "Model not loaded"}, Verdict.FAILED),
        (200, {}, Verdict.FAILED),
        (200, None, Verdict.FAILED),
        (200, [1], Verdict.FAILED),
        (400, {"error": {"code": "content_filter"}}, Verdict.REFUSED),
        (400, {"message": "Model does not exist. Please check it."}, Verdict.DOUBTFUL),
        (400, {"error": {"message": "openai/gpt-9 is not a valid model ID"}}, Verdict.DOUBTFUL),
        (402, {"error": {"message": "Insufficient Balance"}}, Verdict.HOPELESS),
        (403, {"error": {"message": "Your input was flagged by moderation"}}, Verdict.REFUSED),
        (403, None, Verdict.DOUBTFUL),
        (404, None, Verdict.DOUBTFUL),
        (404, {"error": {"message": "model 'x' not found"}}, Verdict.DOUBTFUL),
        (408, None, Verdict.FAILED),
        (413, None, Verdict.REFUSED),
        (422, {"detail": [{"msg": "Input should be shorter"}]}, Verdict.REFUSED),
        (429, {"error": {"message": "Rate limit"}}, Verdict.FAILED),
        (429, {"error": {"code": "insufficient_quota"}}, Verdict.HOPELESS),
        (429, {"error": {"code": "rate_limit_exceeded", "message": "See /account/billing"}}, Verdict.FAILED),
        (529, {"type": "error", "error": {"type": "overloaded_error"}}, Verdict.FAILED),
    ],
)
def test_each_reply_has_its_meaning(status: int, body: object, verdict: Verdict) -> None:
    answer = judge(Exchange(status, body), model="m")
    assert answer.verdict is verdict
    assert bool(answer.reason) == (verdict is not Verdict.ANSWERED)


def test_completion_is_paid_for_whatever_it_holds() -> None:
    for body in (said(), said(""), said(None, refusal="No.")):
        answer = judge(Exchange(200, body), model="m")
        assert (answer.paid, answer.usage) == (True, Usage(calls=1, prompt_tokens=10, completion_tokens=2))
    assert not judge(Exchange(503), model="m").paid


def test_server_words_become_one_short_line_without_the_key() -> None:
    body = {"error": {"message": "Bad\n\x1b[31m key sk-\x00secret! " + "long " * 100}}
    reason = judge(Exchange(500, body), model="m", secret="sk-secret").reason
    assert reason.startswith("answers 500: Bad [31m key …! long")
    assert len(reason) < 230


# ---- fallbacks: what is refused, and the dialects that are tried one after another

OPTIONS = ["reasoning_effort", "service_tier"]
BAD = {"message": "Bad request"}
FORMAT = {"message": "Structured outputs are not supported"}
REFUSALS: dict[str, tuple[bool, Mapping[str, Any], list[Dialect]]] = {
    "an option by name": (True, {"param": "reasoning_effort"}, [Dialect(0, frozenset({"reasoning_effort"}))]),
    "an option by alias": (True, {"message": "no thinking"}, [Dialect(0, frozenset({"reasoning_effort"}))]),
    "two options": (True, {"message": "No service_tier, reasoning_effort"}, [Dialect(0, frozenset(OPTIONS))]),
    "a format": (True, FORMAT, [Dialect(1), Dialect(2)]),
    "a grammar": (True, {"message": "This grammar cannot be compiled"}, [Dialect(1), Dialect(2)]),
    "the length": (False, {"message": "The prompt is too long"}, []),
    "the content": (False, {"code": "content_filter", "message": "Rejected"}, []),
    "the model": (False, {"message": "unknown model, no json_schema"}, []),
    "nothing by name": (False, BAD, [Dialect(1), Dialect(2), Dialect(2, frozenset(OPTIONS))]),
    "nothing by name, after answers": (True, BAD, []),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_fallbacks_leave_out_what_is_refused_until_nothing_else_would_help(name: str) -> None:
    proven, error, expected = REFUSALS[name]
    walk = fallbacks(Dialect(), OPTIONS, lambda: proven)
    dialect, refusal = next(walk), Exchange(400, {"error": error})
    for better in expected:
        dialect = walk.send(refusal)
        assert dialect == better
    with pytest.raises(StopIteration) as end:
        walk.send(refusal)
    assert end.value.value == (dialect, refusal)


def test_fallbacks_end_with_an_answer() -> None:
    walk = fallbacks(Dialect(), OPTIONS, lambda: False)
    next(walk)
    assert walk.send(Exchange(400, {"error": FORMAT})) == Dialect(1)
    with pytest.raises(StopIteration) as end:
        walk.send(Exchange(200, said()))
    assert end.value.value == (Dialect(1), Exchange(200, said()))


# ---- over HTTP


@contextmanager
def asking(server: LlmServer, waits: list[float] | None = None, seconds: float = 30) -> Iterator[Server]:
    wait = (waits if waits is not None else []).append
    asked = Server(server.base_url, "", "m", timeout_seconds=seconds, wait=wait)
    try:
        yield asked
    finally:
        asked.close()


def answers_to(fault: Fault, *, seconds: float = 30) -> Answer:
    with LlmServer() as server, asking(server, seconds=seconds) as asked:
        server.faults.append(fault)
        (answer,) = asked.ask(QUESTION, tries=1)
        return answer


@pytest.mark.parametrize(
    ("value", "seconds"), [("7", 7.0), ("0.5", 0.5), ("-1", 0.0), ("soon", None), ("1e9999", None), (None, None)]
)
def test_retry_after_is_read_in_seconds(value: str | None, seconds: float | None) -> None:
    headers = {} if value is None else {"Retry-After": value}
    assert answers_to(Fault(429, {"message": "Slow"}, headers)).retry_after == seconds


def test_backoff_doubles_and_ends() -> None:
    waits: list[float] = []
    with LlmServer() as server, asking(server, waits) as asked:
        server.fail_always("error 503")
        assert len(asked.ask(QUESTION)) == 4
    assert waits == [1.0, 2.0, 4.0]


def test_no_further_try_begins_once_scoring_has_stopped() -> None:
    waits: list[float] = []
    with LlmServer() as server, asking(server, waits) as asked:
        server.fail_always("error 503")
        assert len(asked.ask(QUESTION, stopped=lambda: bool(waits))) == 1
    assert waits == [1.0]


def test_compressed_reply_is_read() -> None:
    body = b'{"choices": [{"message": {"content": "Text"}}]}'
    assert answers_to(Fault(headers={"Content-Encoding": "gzip"}, body=gzip.compress(body))).text == "Text"


def test_reply_that_would_fill_the_memory_is_not_read_to_its_end() -> None:
    bomb = gzip.compress(b" " * 300_000_000, compresslevel=1)
    assert "too large" in answers_to(Fault(headers={"Content-Encoding": "gzip"}, body=bomb)).reason


@pytest.mark.parametrize("stall", ["hang", "trickle"])
def test_stalling_server_meets_the_limit_of_the_whole_exchange(stall: str) -> None:
    answer = answers_to(Fault(stall=stall), seconds=0.2)
    assert (answer.timed_out, answer.reason) == (True, "does not answer in time")


def test_timeout_counts_as_two_tries() -> None:
    with LlmServer() as server, asking(server, seconds=0.2) as asked:
        server.fail_always("hang")
        assert len(asked.ask(QUESTION)) == 2


def test_the_clients_own_environment_variables_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings come from Paperboy's reader alone; the client would look for these itself."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "of somebody else")
    with LlmServer(api_key="none") as server, asking(server) as asked:
        assert asked.ask(QUESTION, tries=1)[-1].verdict is Verdict.ANSWERED
