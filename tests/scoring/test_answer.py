"""What a reply means: where servers put the text, how they word their errors, and what would cure them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from paperboy.models import Usage
from paperboy.scoring.answer import Answer, Cause, interpret, joined, read_usage

USAGE = {"prompt_tokens": 10, "completion_tokens": 2}


def said(content: object = "Text", finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {
        "choices": [{"message": {"content": content, **message}, "finish_reason": finish}],
        "usage": USAGE,
    }


@pytest.mark.parametrize(
    ("status", "body", "meaning"),
    [
        (200, said(), "text"),
        (200, said(finish="length"), "text"),
        (200, said([{"text": "Te"}, {"text": "xt"}]), "text"),
        (200, {"choices": [{"message": {"content": "Text"}}]}, "text"),
        (200, said(None, refusal="No."), "refused"),
        (200, said("", "length"), "refused"),
        (200, said("", None), "transient"),
        (200, {"choices": []}, "transient"),
        (200, {"choices": [{"message": "Text"}]}, "transient"),
        (200, {"error": {"code": 429, "message": "Slow down"}}, "transient"),
        (200, {}, "transient"),
        (200, None, "transient"),
        (400, {"error": {"code": "content_filter"}}, "refused"),
        (400, {"message": "Model does not exist. Please check it."}, "no model"),
        (400, {"error": {"message": "openai/gpt-9 is not a valid model ID"}}, "no model"),
        (402, {"error": {"message": "Insufficient Balance"}}, "no credit"),
        (403, {"error": {"message": "Your input was flagged by moderation"}}, "refused"),
        (404, None, "no model"),
        (422, {"detail": [{"msg": "Input should be shorter"}]}, "refused"),
        (429, {"error": {"message": "Rate limit"}}, "transient"),
        (429, {"error": {"code": "insufficient_quota"}}, "no credit"),
        (
            429,
            {"error": {"code": "rate_limit_exceeded", "message": "See /account/billing"}},
            "transient",
        ),
        (529, {"type": "error", "error": {"type": "overloaded_error"}}, "transient"),
    ],
)
def test_reply_is_a_text_or_a_refusal_or_worth_a_retry(
    status: int, body: object, meaning: str
) -> None:
    answer = interpret(status, body, "m")
    assert (answer.text if meaning == "text" else answer.failure) != ""
    assert (not answer.failure, answer.pause) == (
        meaning == "text",
        0 if meaning == "transient" else None,
    )
    if " " in meaning:
        assert meaning in answer.failure


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": 400, "message": "the request exceeds the available context size. try increasing it",
               "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}),  # llama.cpp
        (500, "the request exceeds the available context size, try increasing it"),  # llama.cpp, before
        (400, "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens"),  # vLLM
        (400, "The decoder prompt (length 9000) is longer than the maximum model length of 4096."),  # vLLM
        (400, "the input length exceeds the context length"),  # Ollama
        (400, {"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}),
        (400, "litellm.ContextWindowExceededError: prompt is too long"),
        (400, "The number of tokens to keep from the initial prompt is greater than the context length."),  # LM Studio
    ],
)  # fmt: skip
def test_context_that_is_too_small_is_named_with_the_fix_and_not_retried(
    status: int, error: object
) -> None:
    answer = interpret(status, {"error": error}, "m")
    assert re.match(
        rf"answers {status}: its context is too small for the prompt; lower LLM_BATCH_SIZE, or ",
        answer.failure,
    )
    assert (answer.pause, answer.cause) == (None, Cause.SIZE)


def test_completion_is_paid_for_whatever_it_holds() -> None:
    for body in (said(), said(""), said(None, refusal="No.")):
        assert interpret(200, body, "m").usage == Usage(
            calls=1, prompt_tokens=10, completion_tokens=2
        )
    assert interpret(503, None, "m").usage is None


# ── Where the text is ────────────────────────────────────────────────────────────────────────────

SCORES = '{"scores": []}'
CALL = {"function": {"name": "score", "arguments": SCORES}}


@pytest.mark.parametrize(
    "body",
    [
        said(None, reasoning_content=SCORES),
        said("", reasoning=SCORES),
        said(None, "tool_calls", tool_calls=[CALL]),
        said({"scores": []}),
        {**said(SCORES), "error": {"message": "", "type": "", "code": None}},
        {**said(SCORES), "error": {"message": "Upstream closed the stream", "code": 502}},
        [said(SCORES)],
    ],
    ids=["thoughts", "reasoning", "tool", "object", "empty error", "late error", "list"],
)
def test_text_is_found_where_servers_put_it(body: object) -> None:
    answer = interpret(200, body, "m")
    assert (answer.text, answer.failure) == (SCORES, "")


@pytest.mark.parametrize(
    "body",
    [
        said(None, "length", reasoning_content=f"Perhaps {SCORES}? No"),
        said(None, reasoning_content="I am still thinking."),
        {**said(None), "error": {"message": "Overloaded", "code": 503}},
    ],
    ids=["cut off", "no JSON", "error"],
)
def test_thoughts_that_are_no_answer_are_none(body: object) -> None:
    answer = interpret(200, body, "m")
    assert (answer.text, bool(answer.failure)) == ("", True)


def test_model_that_thinks_is_known_by_its_reply() -> None:
    counted = {**USAGE, "completion_tokens_details": {"reasoning_tokens": 1}}
    for body in (
        said(reasoning_content="Hm."),
        said("<think>Hm.</think>Text"),
        {**said(), "usage": counted},
    ):
        assert interpret(200, body, "m").thinks
    assert not interpret(200, said(), "m").thinks


def stream(*events: object, end: str = "data: [DONE]\n\n") -> str:
    lines = [": working\n\n", "event: message\n"]
    lines += [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join(lines) + end


def delta(finish: str | None = None, **fields: object) -> dict[str, Any]:
    return {"choices": [{"delta": fields, "finish_reason": finish}]}


def test_events_of_a_stream_are_joined() -> None:
    text = stream(
        delta(role="assistant", content=None),
        delta(reasoning_content="Hm."),
        delta(content='{"sco'),
        delta(content='res": []}\u2028'),
        delta("stop"),
        {"choices": [], "usage": USAGE},
    )
    answer = interpret(200, joined(text), "m")
    assert (answer.text, answer.thinks) == (SCORES + "\u2028", True)
    assert answer.usage == Usage(calls=1, prompt_tokens=10, completion_tokens=2)


def test_tools_arguments_in_a_stream_are_joined() -> None:
    parts = [
        delta(tool_calls=[{"function": {"arguments": part}}]) for part in (SCORES[:5], SCORES[5:])
    ]
    assert interpret(200, joined(stream(*parts, delta("tool_calls"))), "m").text == SCORES


def test_stream_that_is_cut_off_has_what_came_and_an_error_in_it_is_one() -> None:
    assert interpret(200, joined(stream(delta(content="Te"), end="")), "m").text == "Te"
    failed = joined(stream(delta(content="Te"), {"error": {"message": "Lost", "code": 502}}))
    assert interpret(200, failed, "m").failure == "answers 502: Lost"


@pytest.mark.parametrize("text", ["", ": working\n\n", "data: [DONE]\n\n", "data: {\n\n"])
def test_text_that_is_no_stream_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whichever, the caller takes it for no JSON
        joined(text)


# ── What a refusal means ─────────────────────────────────────────────────────────────────────────

KEY = "answers {}: the key is refused; check OPENAI_API_KEY in .env. It says: {}"
FORBIDDEN = "answers {}: the key may not use this model; check both in .env. It says: {}"
MODEL = "it knows no model 'm' at this address; check OPENAI_MODEL and OPENAI_BASE_URL in .env. It says: {}"
SIZE = "answers {}: it takes fewer papers in a call; lower LLM_BATCH_SIZE. It says: {}"


def gemini(message: str, status: str, *details: object) -> object:
    """An error of Gemini's compatible API."""
    return [{"error": {"code": 400, "message": message, "status": status, "details": [*details]}}]


@pytest.mark.parametrize(
    ("status", "body", "failure", "cause"),
    [
        (413, {"error": {"message": "Max size: 8000 tokens.", "code": "tokens_limit_reached"}},
         SIZE.format(413, "Max size: 8000 tokens."), Cause.SIZE),
        (413, None, SIZE.partition(". It")[0].format(413), Cause.SIZE),
        (429, {"error": {"message": "Request too large for this model. Limit 6000, Requested 9000."}},
         SIZE.format(429, "Request too large for this model. Limit 6000, Requested 9000."), Cause.SIZE),
        (400, {"error": {"message": "Prompt is too long"}}, SIZE.format(400, "Prompt is too long"), Cause.SIZE),
        (504, None, "answers 504: a proxy did not wait for it; raise the proxy's time limit, or lower LLM_BATCH_SIZE",
         Cause.TIMEOUT),
        (400, gemini("API key not valid. Please pass one.", "INVALID_ARGUMENT"),
         KEY.format(400, "API key not valid. Please pass one."), Cause.SERVER),
        (400, gemini("User location is not supported for the API use.", "FAILED_PRECONDITION"),
         FORBIDDEN.format(400, "User location is not supported for the API use."), Cause.SERVER),
        (401, {"error": "Unauthorized", "message": "The `models` permission is required."},
         KEY.format(401, "Unauthorized: The `models` permission is required."), Cause.SERVER),
        (403, {"error": {"message": "Country, region, or territory not supported"}},
         FORBIDDEN.format(403, "Country, region, or territory not supported"), Cause.SERVER),
        (404, {"error": {"message": "No endpoints found matching your data policy (Free models).", "code": 404}},
         f"answers 404: {MODEL.format('No endpoints found matching your data policy (Free models).')}", Cause.SERVER),
        (400, {"error": {"message": "Provider returned error", "metadata": {"raw": "no temperature here"}}},
         "answers 400: Provider returned error: no temperature here", Cause.CONTENT),
        (403, {"error": {"message": "Your input was flagged"}}, "answers 403: Your input was flagged", Cause.CONTENT),
        (500, {"error": {"message": "context deadline exceeded (Client.Timeout or context cancellation)"}},
         "answers 500: context deadline exceeded (Client.Timeout or context cancellation)", Cause.SERVER),
        (403, {"error": {"code": "insufficient_permissions", "message": "Missing scopes"}},
         FORBIDDEN.format(403, "Missing scopes"), Cause.SERVER),
        (422, {"error": "`inputs` must have less than 4095 tokens. Given: 5000", "error_type": "validation"},
         SIZE.format(422, "`inputs` must have less than 4095 tokens. Given: 5000"), Cause.SIZE),
        (503, {"error": {"message": "Loading model"}}, "answers 503: Loading model", Cause.SERVER),
    ],
)  # fmt: skip
def test_servers_words_stand_beside_our_advice(
    status: int, body: object, failure: str, cause: Cause
) -> None:
    answer = interpret(status, body, "m")
    assert (answer.failure, answer.cause) == (failure, cause)


@pytest.mark.parametrize("status", [402, 404, 413, 501, 503])
def test_gateways_error_counts_as_that_of_the_server_behind_it(status: int) -> None:
    error = {"message": "Provider returned error", "code": status}
    wrapped = interpret(200, {"error": error}, "m")
    assert wrapped == interpret(status, {"error": error}, "m")


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        ({"message": "Slow down", "details": [{"@type": "RetryInfo", "retryDelay": "34s"}]}, 34),
        ({"message": "Please retry in 34.5s."}, 34.5),
        ({"message": "Rate limit reached. Please try again in 1m2.5s. Visit the site"}, 62.5),
        ({"message": "Rate limit reached. Please try again in 20ms."}, 0.02),
        ({"message": "Please wait 34 seconds before retrying."}, 34),
        ({"message": "Try again later. 60s is the window."}, 0),
        ({"message": "Rate limit of 10 per 60s exceeded"}, 0),
    ],
)
def test_wait_that_stands_in_the_body_alone_is_read(error: object, seconds: float) -> None:
    assert interpret(429, {"error": error}, "m").pause == seconds


@pytest.mark.parametrize(
    ("tokens", "cap", "cause", "words"),
    [
        (8_300, 8_300, Cause.CONTENT, "the reply had no end within 8,300 tokens"),
        (512, 8_300, Cause.SIZE, "the reply was cut off at the server's limit of tokens"),
        (8_300, 0, Cause.SIZE, "the reply was cut off at the server's limit of tokens"),
    ],
)
def test_reply_that_ran_on_to_our_limit_is_not_cured_by_fewer_papers(
    tokens: int, cap: int, cause: Cause, words: str
) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": tokens}
    for text in ("", "Text"):
        answer = interpret(200, {**said(text, "length"), "usage": usage}, "m", cap=cap)
        assert (answer.cause, bool(answer.failure)) == (cause, not text)
        assert words in answer.cut_off


def test_tokens_that_were_cached_may_be_counted_apart() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    apart = {**usage, "prompt_tokens_details": {"cached_tokens": 90}}
    within = {**usage, "prompt_tokens_details": {"cached_tokens": 8}}
    assert (read_usage(apart).prompt_tokens, read_usage(apart).cached_tokens) == (100, 90)
    assert (read_usage(within).prompt_tokens, read_usage(within).cached_tokens) == (10, 8)


def test_hostile_error_is_one_answer() -> None:
    for error in (["a"] * 9, {"message": {"a": [1]}}, 7, "x" * 2_000_000, {"details": "9" * 10**6}):
        assert isinstance(interpret(429, {"error": error}, "m"), Answer)
