"""How LLM servers differ: what they do wrong, by name, what they refuse, and how they cache prompts."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.servers.llm_cache import text_of


@dataclass(frozen=True)
class Fault:
    """One way to misbehave: an HTTP answer instead of scores, or scores that are not as they should be."""

    status: int = 200
    error: Mapping[str, Any] | None = None  # the error object
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None  # sent as it is, as a web page
    rewrite: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] | None = None  # the entries
    retell: Callable[[str], str] | None = None  # the text of the reply
    finish_reason: str = "stop"
    refusal: str | None = None
    stall: str = ""  # "hang", "trickle" or "drop"
    # What is written instead of the right body.
    raw: Callable[[bytes], Iterable[bytes]] | None = None
    say: Callable[[str], Mapping[str, Any]] | None = None  # fields of the message, from its text
    beside: Mapping[str, Any] = field(default_factory=dict)  # fields beside the choices


def error(
    status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any
) -> Fault:
    """An answer with an error object like OpenAI's."""
    return Fault(status, {"message": message, "type": "invalid_request_error", "param": None, "code": None, **more},
                 headers or {})  # fmt: skip


def _changed(**values: Any) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    """Other values in the first entry."""
    return lambda entries: [
        {**entry, **(values if number == 0 else {})} for number, entry in enumerate(entries)
    ]


def _second_thoughts(text: str) -> str:
    """Another list of scores, and then this one, as a reasoning model writes."""
    draft = [
        {**entry, "relevance": entry["relevance"] % 10 + 1} for entry in json.loads(text)["scores"]
    ]
    return f"{json.dumps({'scores': draft})}\n\nOn reflection:\n\n{text}"


def _streamed(body: bytes) -> Iterator[bytes]:
    """The same completion as events, a few characters each, after a comment."""
    completion = json.loads(body)
    (choice,) = completion.pop("choices")
    text = choice["message"]["content"]
    deltas = [{"content": text[at : at + 9]} for at in range(0, len(text), 9)]
    ends = [None] * (len(deltas) - 1) + [choice["finish_reason"]]
    usage = completion.pop("usage", None)
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: working\n\n"
    for delta, end in zip(deltas, ends, strict=True):
        event = {**completion, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
        yield b"data: " + json.dumps(event).encode() + b"\n\n"
    yield b"data: " + json.dumps({**completion, "choices": [], "usage": usage}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


def _by_id(text: str) -> str:
    """The scores as an object, keyed by id."""
    return json.dumps(
        {"scores": {entry.pop("arxiv_id"): entry for entry in json.loads(text)["scores"]}}
    )


def listed(fault: Fault) -> Fault:
    """The same refusal as Gemini words it: in a list."""
    return Fault(
        fault.status, body=json.dumps([{"error": fault.error}]).encode(), headers=fault.headers
    )


FAULTS: Mapping[str, Fault] = {
    "rate limited": error(429, "Rate limit reached", code="rate_limit_exceeded"),
    "rate limited for 7 s": error(
        429, "Rate limit reached", {"Retry-After": "7"}, code="rate_limit_exceeded"
    ),
    "rate limited for an hour": error(429, "Rate limit reached", {"Retry-After": "3600"}),
    "out of credit": error(429, "You exceeded your current quota", code="insufficient_quota"),
    "error 500": error(500, "The server had an error"),
    "error 503": error(503, "Overloaded"),
    "bad request": error(400, "Something about this request is wrong"),
    "content refused": error(
        400, "The prompt was flagged by our content filter", code="content_filter"
    ),
    "too long": error(400, "Your messages are too long", code="context_length_exceeded"),
    "small context": error(
        400,
        "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        type="exceed_context_size_error",
        code=400,
        n_prompt_tokens=9000,
        n_ctx=4096,
    ),
    "request too large": error(
        413,
        "Request body too large for this model. Max size: 8000 tokens.",
        code="tokens_limit_reached",
    ),
    "no such model": error(404, "The model does not exist", code="model_not_found"),
    "forbidden": error(403, "Not in your country"),
    "hang": Fault(stall="hang"),
    "trickle": Fault(stall="trickle"),
    "drop": Fault(stall="drop"),
    "web page": Fault(
        headers={"Content-Type": "text/html"}, body=b"<html><body>Please log in</body></html>"
    ),
    "error with 200": Fault(error={"message": "Provider returned error", "code": 502}),
    "empty": Fault(retell=lambda text: ""),
    "refusal": Fault(refusal="I cannot help with that.", retell=lambda text: ""),
    "content filter": Fault(finish_reason="content_filter", retell=lambda text: ""),
    "cut off before a word": Fault(finish_reason="length", retell=lambda text: ""),
    "cut off": Fault(finish_reason="length", retell=lambda text: text[: len(text) * 2 // 3]),
    "cut off early": Fault(finish_reason="length", retell=lambda text: text[:40]),
    "nonsense": Fault(retell=lambda text: "I have read the papers with great interest."),
    "fenced": Fault(
        retell=lambda text: f"Here are the scores:\n\n```json\n{text}\n```\nAnything else?"
    ),
    "prose around": Fault(
        retell=lambda text: f"As {{asked}}, the [scores]: {text} I hope {{this}} helps [a bit]."
    ),
    "JSON lines": Fault(
        retell=lambda text: "\n".join(json.dumps(entry) for entry in json.loads(text)["scores"])
    ),
    "streamed": Fault(raw=_streamed),
    "in thoughts": Fault(say=lambda text: {"content": None, "reasoning_content": text}),
    "in a tool's call": Fault(
        finish_reason="tool_calls",
        say=lambda text: {
            "content": None,
            "tool_calls": [{"type": "function", "function": {"name": "scores", "arguments": text}}],
        },
    ),
    "as an object": Fault(say=lambda text: {"content": json.loads(text)}),
    "keyed by id": Fault(retell=_by_id),
    "beside an empty error": Fault(beside={"error": {"message": "", "type": "", "code": None}}),
    "unescaped": Fault(
        retell=lambda text: text.replace(
            '"comment": "', r'"comment": "Of $\ell_2$, $\tau \times \nu$: '
        )
    ),
    "unknown id": Fault(
        rewrite=lambda entries: [*entries, {**entries[0], "arxiv_id": "9912.99999"}]
    ),
    "first missing": Fault(rewrite=lambda entries: entries[1:]),
    "out of range": Fault(rewrite=_changed(relevance=11)),
    "wrong type": Fault(rewrite=_changed(novelty="very")),
    "half number": Fault(rewrite=_changed(relevance=8.5)),
    "null": Fault(rewrite=_changed(relevance=None)),
    "boolean": Fault(rewrite=_changed(relevance=True)),
    "numbers as strings": Fault(rewrite=_changed(relevance="9", novelty="8")),
    "duplicate": Fault(rewrite=lambda entries: [*entries, {**entries[0], "relevance": 1}]),
    "all duplicate": Fault(
        rewrite=lambda entries: [{**entry, "novelty": mark} for mark in (8, 9) for entry in entries]
    ),
    "drafted": Fault(retell=_second_thoughts),
    "drafted and cut off": Fault(
        retell=lambda text: _second_thoughts(text)[: -len(text) // 3], finish_reason="length"
    ),
    "with a link": Fault(
        rewrite=_changed(relevance=9, comment="See [this](https://evil.example.org/x).")
    ),
}


# ---- what is refused


def refusal(body: Mapping[str, Any], rejected: Iterable[str]) -> Fault | None:
    """What a server says that does not know one of these: a response format, a parameter, or a field of a text part."""
    form = (body.get("response_format") or {}).get("type", "text")
    for name in sorted(rejected):
        if name == "system" and body["messages"][0]["role"] == "system":
            return error(500, "Jinja Exception: System role not supported", type="server_error")
        if name == form:
            return error(
                400,
                f"response_format {name} is not supported by this model",
                param="response_format",
            )
        if name in body:
            return error(
                400, f"Unsupported parameter: {name!r}", param=name, code="unsupported_parameter"
            )
        if place := next(_places(body, name), ""):
            return error(
                400, f"Unknown parameter: {place!r}", param=place, code="unknown_parameter"
            )
    if form == "json_object" and "json" not in text_of(body).lower():
        return error(
            400, "'messages' must contain the word 'json' to use json_object", param="messages"
        )
    return None


def _places(body: Mapping[str, Any], name: str) -> Iterator[str]:
    for number, message in enumerate(body.get("messages", [])):
        content = message.get("content")
        for position, part in enumerate(content if isinstance(content, list) else []):
            if name in part:
                yield f"messages[{number}].content[{position}].{name}"
