"""The LLM scorer for several lists at once, against a server whose prompt cache works as OpenAI's does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paperboy.models import Paper, Spending, ToScore
from paperboy.scoring.prompt import Prompt
from tests.builders import added, mailing_list, paper
from tests.scoring.asking import Outcome, collect, scorer_for
from tests.scoring.test_prompt import template
from tests.servers.llm import LlmServer, invented_score

TOPICS = "\n".join(
    f"- Relevant: question number {n} on how networks learn what they learn." for n in range(30)
)
WORDS = (
    "We study how papers are learned, in words that stand for a real abstract of this length. " * 12
)


def papers(number: int) -> tuple[Paper, ...]:
    return tuple(paper(f"2611.{n:05}", abstract=f"{n}. {WORDS}") for n in range(number))


def job(name: str, wanted: Sequence[Paper]) -> ToScore:
    return ToScore(mailing_list(name=name, topics=f"For {name}:\n{TOPICS}"), tuple(wanted))


def marks(request: dict[str, Any]) -> list[str]:
    """The texts that end with a breakpoint."""
    content = request["messages"][1]["content"]
    parts = [] if isinstance(content, str) else content
    return [part["text"] for part in parts if "prompt_cache_breakpoint" in part]


def score(
    server: LlmServer, *jobs: ToScore, **settings: Any
) -> tuple[Outcome, dict[str, Spending]]:
    spent: dict[str, Spending] = {}
    with scorer_for(server, **{"breakpoints": True, "concurrency": 4, **settings}) as scorer:
        parts = list(scorer.score(jobs))
    for part in parts:
        spent[part.list_name] = added(spent.get(part.list_name, Spending()), part.spending)
        for arxiv_id, given in part.scores.items():
            assert replace(given, topic=None) == invented_score(arxiv_id)
    first = jobs[0].mailing_list.name
    return collect(part for part in parts if part.list_name == first), spent


def test_single_list_writes_its_topics_to_the_cache_once() -> None:
    """The first call answers before the others begin, and they read what it wrote."""
    with LlmServer(cache="breakpoints") as server:
        outcome, spent = score(server, job("one", papers(20)))
    assert len(outcome.scores) == 20
    usage = spent["one"].usage
    assert usage.cache_write_tokens > 1024
    assert usage.cached_tokens == 4 * usage.cache_write_tokens
    assert all(
        mark.startswith("<topics>") for request in server.requests for mark in marks(request)
    )
    assert {request["prompt_cache_options"]["mode"] for request in server.requests} == {"explicit"}
    assert len({request["prompt_cache_key"] for request in server.requests}) == 1


def test_lists_of_the_same_papers_share_the_cached_prefix() -> None:
    shared = papers(16)
    with LlmServer(cache="breakpoints") as server:
        _, spent = score(server, *(job(name, shared) for name in ("one", "two", "three")))
    assert spent["one"].usage.cached_tokens == 0
    assert spent["one"].usage.cache_write_tokens > 0.6 * spent["one"].usage.prompt_tokens
    for name in ("two", "three"):
        assert spent[name].usage.cache_write_tokens == 0
        assert spent[name].usage.cached_tokens == spent["one"].usage.cache_write_tokens
    for request in server.requests:
        (mark,) = marks(request)
        assert "<topics>" not in mark
        assert request["messages"][1]["content"][1]["text"].startswith("<topics>")


@pytest.mark.parametrize(
    "refused", ["prompt_cache_options", "prompt_cache_breakpoint", "prompt_cache_key"]
)
def test_one_refused_cache_option_leaves_out_all(refused: str) -> None:
    with LlmServer(rejected=[refused]) as server:
        outcome, _ = score(server, job("one", papers(20)))
    assert len(outcome.scores) == 20
    assert len(server.requests) == 5 + 1  # the lesson costs one call, once
    for request in server.requests[1:]:
        assert not {"prompt_cache_options", "prompt_cache_key"} & request.keys()
        assert isinstance(request["messages"][1]["content"], str)


def test_other_lists_do_not_wait_for_a_refused_first_batch() -> None:
    """A refused first batch does not block the batches of its prefix."""
    shared = papers(8)
    with LlmServer(cache="breakpoints") as server:
        server.fail("content filter")
        score(server, job("one", shared), job("two", shared), concurrency=1)
    assert sum("2611.00000" in ids for ids in server.asked) == 3
    assert len({tuple(ids) for ids in server.asked}) > 2


def test_prompt_that_fails_for_one_list_stops_no_other(tmp_path: Path) -> None:
    """An operator's template may fail on one list's topics, which the check could not know."""
    prompt = Prompt(
        [template(tmp_path, topics="{% if 'broken' in topics %}{{ 1 / 0 }}{% endif %}{{ topics }}")]
    )
    shared = papers(8)
    with LlmServer() as server, scorer_for(server, prompt=prompt) as scorer:
        parts = list(scorer.score([job(name, shared) for name in ("broken", "one", "two")]))
    ((name, problem),) = [(part.list_name, part.problem) for part in parts if part.problem]
    assert (name, "prompts/score.md.j2:3: ZeroDivisionError" in problem) == ("broken", True)
    for name in ("one", "two"):
        assert sum(len(part.scores) for part in parts if part.list_name == name) == 8
