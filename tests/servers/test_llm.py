"""The test LLM server does what tests believe it does."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest

from paperboy.models import Score
from tests.scoring.asking import meeting
from tests.servers.llm import LlmServer, invented_score, read_scores
from tests.servers.llm_cache import CacheMode

HERE = Path(__file__).parent
PROMPT = '<paper id="2611.00001">Title\nAs in arXiv:2401.00001.</paper>\n<paper id="astro-ph/0601001">T</paper>'


def ask(server: LlmServer | str, content: Any = PROMPT, key: str = "", **more: Any) -> tuple[int, Any]:
    body = {"model": "m", "messages": [{"role": "user", "content": content}], **more}
    request = urllib.request.Request(  # noqa: S310 - our own server
        f"{server if isinstance(server, str) else server.base_url}/chat/completions",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, json.load(refusal)


def scores(answer: Any) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(answer["choices"][0]["message"]["content"])["scores"]
    return entries


def test_server_scores_only_the_papers_of_the_prompt() -> None:
    with LlmServer({"2611.00001": Score(9, 8, "Why.")}) as server:
        status, answer = ask(server)
    assert status == 200
    assert scores(answer) == [
        {"arxiv_id": "2611.00001", "relevance": 9, "novelty": 8, "comment": "Why."},
        {"arxiv_id": "astro-ph/0601001", "relevance": 3, "novelty": 3, "comment": ""},
    ]
    assert server.asked == [["2611.00001", "astro-ph/0601001"]]


def test_server_finds_ids_in_other_layouts() -> None:
    with LlmServer() as server:
        _, answer = ask(server, "Papers: [2611.00001v2] One. hep-th/9901001: two. Version 1.2345 is none.")
    assert [entry["arxiv_id"] for entry in scores(answer)] == ["2611.00001", "hep-th/9901001"]


def test_server_counts_a_token_per_4_6_bytes() -> None:
    with LlmServer() as server:
        assert [ask(server, text)[1]["usage"]["prompt_tokens"] for text in ("x" * 9200, "Ω" * 4600, "x")] == [
            2000,
            2000,
            1,
        ]


COMPACT = """Score these.
[2611.00001] A title
Its abstract, which builds on [2502.06786] and on arXiv:2401.00001.
[hep-th/9901001v2] Another
[Note] The third stands in a sentence: [2502.00003] is none."""


def test_server_ignores_ids_that_papers_mention() -> None:
    with LlmServer() as server:
        parts = [{"type": "text", "text": COMPACT}, {"type": "text", "text": "[2611.00004] In a part of its own"}]
        ask(server, parts)
        ask(server, f'{COMPACT}\n<paper id="of another layout">T</paper>')
    assert server.asked == [
        ["2611.00001", "hep-th/9901001", "2611.00004"],
        ["2611.00001", "hep-th/9901001", "of another layout"],
    ]


def test_server_can_omit_the_usage() -> None:
    with LlmServer(counts_tokens=False) as server:
        assert "usage" not in ask(server)[1]
    assert server.counted == [{}]


def test_server_keeps_the_usage_of_each_request() -> None:
    with LlmServer() as server:
        server.fail("error 500")
        ask(server)
        _, answer = ask(server)
        with urllib.request.urlopen(f"{server.base_url.removesuffix('/v1')}/counted") as counted:  # noqa: S310
            assert json.load(counted) == server.counted == [{}, answer["usage"]]


def test_llm_server_runs_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "scores.jsonl"
    file.write_text('{"arxiv_id": "2611.00001", "relevance": 9, "novelty": 7, "comment": "Why."}\n')
    command = [sys.executable, "-m", "tests.servers.llm", "--port", "0", "--scores", str(file)]
    options = ["--cache", "breakpoints", "--reasoning", "7"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, cwd=HERE.parents[1]) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip().removeprefix("OPENAI_BASE_URL=")
            _, answer = ask(url)
        finally:
            process.terminate()
    assert scores(answer)[0]["comment"] == "Why."
    assert answer["usage"]["prompt_tokens_details"] == {"cached_tokens": 0, "cache_write_tokens": 0}
    assert answer["usage"]["completion_tokens_details"] == {"reasoning_tokens": 14}


def test_server_refuses_wrong_keys_models_and_parameters() -> None:
    with LlmServer(api_key="right", models=["known"], rejected=["json_schema", "reasoning_effort"]) as server:
        assert ask(server, key="wrong")[0] == 401
        assert ask(server, key="right")[0] == 404
        assert ask(server, key="right", model="known")[0] == 200
        status, answer = ask(server, key="right", model="known", reasoning_effort="low")
        assert (status, answer["error"]["param"]) == (400, "reasoning_effort")
        status, answer = ask(server, key="right", model="known", response_format={"type": "json_schema"})
        assert (status, answer["error"]["param"]) == (400, "response_format")


def test_faults_come_in_order_and_then_end() -> None:
    with LlmServer() as server:
        server.fail("rate limited", "error 500")
        assert [ask(server)[0] for _ in range(3)] == [429, 500, 200]


@pytest.mark.parametrize("name", ["temperature", "max_tokens", "prompt_cache_options", "prompt_cache_key"])
def test_server_refuses_a_parameter_by_name(name: str) -> None:
    with LlmServer(rejected=[name]) as server:
        status, answer = ask(server, **{name: "x"})
        assert (status, answer["error"]["param"]) == (400, name)
        assert ask(server)[0] == 200


def test_server_refuses_a_field_of_a_text_part_by_name() -> None:
    with LlmServer(rejected=["prompt_cache_breakpoint"]) as server:
        status, answer = ask(server, [text("A"), text("B", marked=True)])
        assert (status, answer["error"]["param"]) == (400, "messages[0].content[1].prompt_cache_breakpoint")
        assert ask(server, [text("A"), text("B")])[0] == 200


def test_file_of_scores_is_read(tmp_path: Path) -> None:
    file = tmp_path / "scores.jsonl"
    file.write_text('{"arxiv_id": "a", "relevance": 9, "novelty": 7}\n{"arxiv_id": "b", "relevance": null}\n')
    assert read_scores(file) == {"a": Score(9, 7, "It scored 9 and 7."), "b": Score(3, 3)}


@pytest.mark.parametrize("arxiv_id", ["2611.00001", "astro-ph/0601001"])
def test_invented_scores_are_stable(arxiv_id: str) -> None:
    assert invented_score(arxiv_id) == invented_score(arxiv_id)


# ---- the prompt cache

LONG = "x" * 4600  # 1,000 tokens


def text(content: str, *, marked: bool = False) -> dict[str, Any]:
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}} if marked else {}
    return {"type": "text", "text": content, **mark}


def counted(server: LlmServer, content: Any, **more: Any) -> tuple[int, int, int]:
    """Prompt, cached and written tokens of a call."""
    usage = ask(server, content, **more)[1]["usage"]
    details = usage["prompt_tokens_details"]
    return usage["prompt_tokens"], details["cached_tokens"], details.get("cache_write_tokens", 0)


EXPLICIT: dict[str, Any] = {"prompt_cache_options": {"mode": "explicit", "ttl": "30m"}}


def test_step_cache_knows_any_prefix_and_writes_for_free() -> None:
    with LlmServer(cache="steps") as server:
        _, answer = ask(server, f"{LONG * 2} 0")
        assert answer["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}
        assert counted(server, f"{LONG * 2} 1") == (2000, 1920, 0)
        assert counted(server, LONG + "y" * 4600) == (2000, 0, 0), "1,000 tokens are too few"
        assert counted(server, LONG + "x" * 111 + "y") == (1024, 1024, 0)


@pytest.mark.parametrize(("cache", "known"), [("steps", [0, 0, 1920, 3968]), ("breakpoints", [0, 0, 0, 4000])])
def test_cache_distinguishes_roles(cache: CacheMode, known: list[int]) -> None:
    system, user = ({"role": role, "content": LONG * 2} for role in ("system", "user"))
    with LlmServer(cache=cache) as server:
        for messages in ([system, user], [user, user], [system, system], [system, user]):
            ask(server, messages=messages)
    assert [usage["prompt_tokens_details"]["cached_tokens"] for usage in server.counted] == known


def test_step_cache_ignores_breakpoints() -> None:
    with LlmServer(cache="steps") as server:
        ask(server, LONG * 2)
        again = counted(server, [text(LONG * 2)], **EXPLICIT, prompt_cache_key="other")
    assert again == (2000, 1920, 0)


def test_server_without_a_cache_knows_no_prefix() -> None:
    with LlmServer(cache="none") as server:
        assert [counted(server, [text(LONG * 2, marked=True)]) for _ in range(2)] == [(2000, 0, 0)] * 2


def test_whole_prompt_is_written_without_a_breakpoint() -> None:
    with LlmServer(cache="breakpoints") as server:
        assert counted(server, LONG * 2) == (2000, 0, 2000)
        assert counted(server, LONG * 2) == (2000, 2000, 0)
        assert counted(server, LONG * 3) == (3000, 0, 3000), "its own breakpoint lies behind what is known"
        assert counted(server, [text(LONG * 2, marked=True), text(LONG)]) == (3000, 2000, 1000)


def test_text_after_the_known_breakpoint_is_written() -> None:
    def rising(*last: str) -> list[dict[str, Any]]:
        return [text(LONG * 2, marked=True), *(text(each, marked=True) for each in last[:-1]), text(last[-1])]

    with LlmServer(cache="breakpoints") as server:
        assert counted(server, rising("a"), **EXPLICIT) == (2000, 0, 2000)
        assert counted(server, rising("b"), **EXPLICIT) == (2000, 2000, 0)
        assert counted(server, rising(LONG, "c"), **EXPLICIT) == (3001, 2000, 1000)
        assert counted(server, rising(LONG, "d"), **EXPLICIT) == (3001, 3000, 0)


def test_prefix_is_known_up_to_a_breakpoint_of_the_request() -> None:
    with LlmServer(cache="breakpoints") as server:
        ask(server, [text(LONG * 2, marked=True), text(LONG, marked=True)], **EXPLICIT)
        assert counted(server, [text(LONG * 2), text(LONG + "y", marked=True)], **EXPLICIT) == (3000, 0, 3000)


def test_prefix_below_1024_tokens_is_never_written() -> None:
    with LlmServer(cache="breakpoints") as server:
        short = [text("x" * 4708, marked=True), text("y")]  # 1,023 tokens
        assert [counted(server, short, **EXPLICIT)[1:] for _ in range(2)] == [(0, 0)] * 2
        enough = [text("x" * 4711, marked=True), text("y")]
        assert [counted(server, enough, **EXPLICIT)[1:] for _ in range(2)] == [(0, 1024), (1024, 0)]


def test_explicit_mode_without_a_breakpoint_caches_nothing() -> None:
    with LlmServer(cache="breakpoints") as server:
        assert [counted(server, LONG * 2, **EXPLICIT) for _ in range(2)] == [(2000, 0, 0)] * 2
        assert counted(server, LONG * 2) == (2000, 0, 2000)


@pytest.mark.parametrize(("options", "known"), [(EXPLICIT, [3, 4, 5, 6]), ({}, [4, 5, 6, 7])])
def test_latest_four_breakpoints_are_written(options: dict[str, Any], known: list[int]) -> None:
    """Of six after 2,000 tokens each; the implicit one at the end of the seventh part is one of the four."""
    texts = [LONG * 2] * 7
    with LlmServer(cache="breakpoints") as server:
        ask(server, [*(text(each, marked=True) for each in texts[:6]), text(texts[6])], **options)
        prompts = [[*map(text, texts[:number]), text(texts[number], marked=True)] for number in range(7)]
        cached = [counted(server, prompt, **EXPLICIT)[1] // 2000 for prompt in prompts]
    assert [number for number in cached if number] == known


def test_keys_and_models_share_no_cache() -> None:
    with LlmServer(cache="breakpoints") as server:
        ask(server, LONG * 2)
        others = [{"prompt_cache_key": "a"}, {"model": "another"}]
        assert [counted(server, LONG * 2, **other)[1] for other in others] == [0, 0]
        assert [counted(server, LONG * 2, **other)[1] for other in others] == [2000, 2000]


@pytest.mark.parametrize("cache", [mode for mode in get_args(CacheMode) if mode != "none"])
def test_prefix_is_known_once_its_first_call_is_answered(cache: CacheMode) -> None:
    with LlmServer(cache=cache) as server, ThreadPoolExecutor(3) as threads:
        server.fault_for = meeting(3)
        together = list(threads.map(lambda _: counted(server, LONG * 2)[1], range(3)))
        assert (together, server.most_at_once) == ([0, 0, 0], 3)
        assert counted(server, LONG * 2)[1] >= 1920


@pytest.mark.parametrize("cache", [mode for mode in get_args(CacheMode) if mode != "none"])
def test_failed_call_writes_nothing(cache: CacheMode) -> None:
    with LlmServer(cache=cache) as server:
        server.fail("error 500")
        ask(server, LONG * 2)
        assert counted(server, LONG * 2)[1] == 0


@pytest.mark.parametrize("options", [{"mode": "automatic"}, {"mode": "explicit", "ttl": "5m"}])
def test_breakpoint_cache_refuses_unknown_options(options: dict[str, str]) -> None:
    with LlmServer(cache="breakpoints") as server:
        assert ask(server, prompt_cache_options=options)[0] == 400
    with LlmServer(cache="steps") as server:
        assert ask(server, prompt_cache_options=options)[0] == 200
