"""The test LLM server does what tests believe it does."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from paperboy.models import Score
from tests.servers.llm import LlmServer, invented_score, read_scores

PROMPT = '<paper id="2611.00001">Title\nAs in arXiv:2401.00001.</paper>\n<paper id="astro-ph/0601001">T</paper>'


def ask(server: LlmServer, content: str = PROMPT, key: str = "", **more: Any) -> tuple[int, Any]:
    body = {"model": "m", "messages": [{"role": "user", "content": content}], **more}
    request = urllib.request.Request(  # noqa: S310 - our own server
        f"{server.base_url}/chat/completions",
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


def test_it_scores_the_papers_of_the_prompt_and_those_only() -> None:
    with LlmServer({"2611.00001": Score(9, 8, "Why.")}) as server:
        status, answer = ask(server)
    assert status == 200
    assert scores(answer) == [
        {"arxiv_id": "2611.00001", "relevance": 9, "novelty": 8, "comment": "Why."},
        {"arxiv_id": "astro-ph/0601001", "relevance": 3, "novelty": 3, "comment": ""},
    ]
    assert server.asked == [["2611.00001", "astro-ph/0601001"]]


def test_it_finds_ids_in_prompts_of_another_layout() -> None:
    with LlmServer() as server:
        _, answer = ask(server, "Papers: [2611.00001v2] One. hep-th/9901001: two. Version 1.2345 is none.")
    assert [entry["arxiv_id"] for entry in scores(answer)] == ["2611.00001", "hep-th/9901001"]


def test_it_counts_a_token_per_4_6_bytes_and_a_shared_prefix_as_cached() -> None:
    with LlmServer() as server:
        long = "x" * 9200
        first, second = (ask(server, f"{long} {number}")[1]["usage"] for number in range(2))
    assert first["prompt_tokens"] == 2000
    assert first["prompt_tokens_details"]["cached_tokens"] == 0
    assert second["prompt_tokens_details"]["cached_tokens"] == 1920


def test_it_counts_nothing_when_told_so() -> None:
    with LlmServer(counts_tokens=False) as server:
        assert "usage" not in ask(server)[1]


def test_it_refuses_keys_models_and_parameters() -> None:
    with LlmServer(api_key="right", models=["known"], rejected=["json_schema", "reasoning_effort"]) as server:
        assert ask(server, key="wrong")[0] == 401
        assert ask(server, key="right")[0] == 404
        assert ask(server, key="right", model="known")[0] == 200
        status, answer = ask(server, key="right", model="known", reasoning_effort="low")
        assert (status, answer["error"]["param"]) == (400, "reasoning_effort")
        status, answer = ask(server, key="right", model="known", response_format={"type": "json_schema"})
        assert (status, answer["error"]["param"]) == (400, "response_format")


def test_faults_are_taken_in_order_and_then_it_behaves_again() -> None:
    with LlmServer() as server:
        server.fail("rate limited", "error 500")
        assert [ask(server)[0] for _ in range(3)] == [429, 500, 200]


def test_it_counts_how_many_requests_are_under_way_at_once() -> None:
    with LlmServer(latency=0.1) as server, ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda _: ask(server), range(3)))
    assert server.most_at_once == 3


def test_a_file_of_scores_is_read(tmp_path: Path) -> None:
    file = tmp_path / "scores.jsonl"
    file.write_text('{"arxiv_id": "a", "relevance": 9, "novelty": 7}\n{"arxiv_id": "b", "relevance": null}\n')
    assert read_scores(file) == {"a": Score(9, 7, "It scored 9 and 7."), "b": Score(3, 3)}


@pytest.mark.parametrize("arxiv_id", ["2611.00001", "astro-ph/0601001"])
def test_invented_scores_are_the_same_every_time(arxiv_id: str) -> None:
    assert invented_score(arxiv_id) == invented_score(arxiv_id)
