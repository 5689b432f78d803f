"""What LLM servers are known to do wrong, by name: a request takes one of these instead of a good answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


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


def error(status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any) -> Fault:
    """An answer with an error object like OpenAI's."""
    return Fault(status, {"message": message, "type": "invalid_request_error", "param": None, "code": None, **more},
                 headers or {})  # fmt: skip


def _changed(**values: Any) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    """Other values in the first entry."""
    return lambda entries: [{**entry, **(values if number == 0 else {})} for number, entry in enumerate(entries)]


FAULTS: Mapping[str, Fault] = {
    "rate limited": error(429, "Rate limit reached", code="rate_limit_exceeded"),
    "rate limited for 7 s": error(429, "Rate limit reached", {"Retry-After": "7"}, code="rate_limit_exceeded"),
    "rate limited for an hour": error(429, "Rate limit reached", {"Retry-After": "3600"}),
    "out of credit": error(429, "You exceeded your current quota", code="insufficient_quota"),
    "error 500": error(500, "The server had an error"),
    "error 503": error(503, "Overloaded"),
    "bad request": error(400, "Something about this request is wrong"),
    "content refused": error(400, "The prompt was flagged by our content filter", code="content_filter"),
    "too long": error(400, "Your messages are too long", code="context_length_exceeded"),
    "no such model": error(404, "The model does not exist", code="model_not_found"),
    "forbidden": error(403, "Not in your country"),
    "hang": Fault(stall="hang"),
    "trickle": Fault(stall="trickle"),
    "drop": Fault(stall="drop"),
    "web page": Fault(headers={"Content-Type": "text/html"}, body=b"<html><body>Please log in</body></html>"),
    "error with 200": Fault(error={"message": "Provider returned error", "code": 502}),
    "empty": Fault(retell=lambda text: ""),
    "refusal": Fault(refusal="I cannot help with that.", retell=lambda text: ""),
    "content filter": Fault(finish_reason="content_filter", retell=lambda text: ""),
    "cut off": Fault(finish_reason="length", retell=lambda text: text[: len(text) * 2 // 3]),
    "nonsense": Fault(retell=lambda text: "I have read the papers with great interest."),
    "fenced": Fault(retell=lambda text: f"Here are the scores:\n\n```json\n{text}\n```\nAnything else?"),
    "JSON lines": Fault(retell=lambda text: "\n".join(json.dumps(entry) for entry in json.loads(text)["scores"])),
    "unknown id": Fault(rewrite=lambda entries: [*entries, {**entries[0], "arxiv_id": "9912.99999"}]),
    "first missing": Fault(rewrite=lambda entries: entries[1:]),
    "out of range": Fault(rewrite=_changed(relevance=11)),
    "wrong type": Fault(rewrite=_changed(novelty="very")),
    "numbers as strings": Fault(rewrite=_changed(relevance="9", novelty="8")),
    "duplicate": Fault(rewrite=lambda entries: [*entries, {**entries[0], "relevance": 1}]),
    "with a link": Fault(rewrite=_changed(relevance=9, comment="See [this](https://evil.example.org/x).")),
}
