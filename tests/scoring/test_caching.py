"""What a provider's prompt cache is told."""

from __future__ import annotations

import pytest

from paperboy.scoring.caching import PromptCache, cache_of, messages, options, plain, worth_caching
from paperboy.scoring.prompt import Question

QUESTION = Question("Judge.", "Shared words.", "Own words.")


@pytest.mark.parametrize(
    ("model", "base_url", "cache"),
    [
        ("gpt-6-luna", "", PromptCache.BREAKPOINTS),
        ("gpt-6-luna", "https://api.openai.com/v1", PromptCache.BREAKPOINTS),
        ("gpt-6-luna", "https://eu.api.openai.com/v1/", PromptCache.BREAKPOINTS),
        ("gpt-5.6", "", PromptCache.BREAKPOINTS),
        ("gpt-5.10-mini", "", PromptCache.BREAKPOINTS),
        ("ft:gpt-6-luna:us:9", "", PromptCache.BREAKPOINTS),
        ("gpt-5.5", "", PromptCache.AUTOMATIC),
        ("gpt-5", "", PromptCache.AUTOMATIC),
        ("gpt-4.1-mini", "", PromptCache.AUTOMATIC),
        ("o4-mini", "", PromptCache.AUTOMATIC),
        ("gpt-6-luna", "https://gateway.example.org/v1", PromptCache.NONE),
        ("gpt-6-luna", "https://api.openai.com.example.org/v1", PromptCache.NONE),
        ("qwen3", "http://localhost:11434/v1", PromptCache.NONE),
    ],
)
def test_breakpoints_are_for_openais_own_servers_and_newer_models(
    model: str, base_url: str, cache: PromptCache
) -> None:
    assert cache_of(model, base_url) is cache


def test_a_mark_stands_behind_what_is_shared_and_changes_no_word() -> None:
    unmarked, marked = messages(QUESTION), messages(QUESTION, mark=True)
    assert unmarked[1]["content"] == "Shared words.\n\nOwn words."
    shared, own = marked[1]["content"]
    assert shared["prompt_cache_breakpoint"] == {"mode": "explicit"}
    assert "prompt_cache_breakpoint" not in own
    assert [plain(message) for message in marked] == unmarked


def test_a_prompt_that_nobody_reads_again_is_kept_out_of_a_cache_that_costs() -> None:
    assert options(QUESTION, PromptCache.BREAKPOINTS, shares=False) == {"prompt_cache_options": {"mode": "explicit"}}
    assert options(QUESTION, PromptCache.AUTOMATIC, shares=False) == {}
    assert options(QUESTION, PromptCache.NONE, shares=True) == {}


def test_requests_that_begin_alike_have_one_key() -> None:
    other = Question("Judge.", "Shared words.", "Others.")
    apart = Question("Judge.", "Other words.", "Own words.")
    keys = [
        options(each, PromptCache.BREAKPOINTS, shares=True)["prompt_cache_key"] for each in (QUESTION, other, apart)
    ]
    assert keys[0] == keys[1] != keys[2]


def test_a_few_words_are_too_short_for_any_cache() -> None:
    assert not worth_caching(QUESTION)
    assert worth_caching(Question("Judge.", "word " * 1000, ""))
