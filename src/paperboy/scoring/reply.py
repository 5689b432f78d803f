"""The text of an LLM's reply → scores by arXiv id, and the ids without one.

The parser is lenient: it finds whole entries within fences, prose, other wrappers, JSON lines and a cut-off reply.
Validation is strict: only ids that were asked for, whole numbers from 1 to 10, comments without links.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paperboy.models import Score

_PROPERTIES: Mapping[str, Any] = {
    "arxiv_id": {"type": "string"},
    "relevance": {"type": "integer", "minimum": 1, "maximum": 10},
    "novelty": {"type": "integer", "minimum": 1, "maximum": 10},
    "comment": {"type": "string"},
}


def _object(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


SCHEMA = _object({"scores": {"type": "array", "items": _object(_PROPERTIES)}})  # JSON schema of a reply
MAX_COMMENT = 400  # characters
MAX_DEPTH = 5  # of wrappers around the entries
MAX_TEXT_PER_PAPER = 4000  # characters of a reply; the rest is not read
_OPENING = re.compile(r"[{\[]")
_ANCHOR = re.compile(r"</a\s*>|<a\s+(?:href|name|target|rel|class|id)\s*=[^<>]{0,300}>", re.IGNORECASE)
_MARKDOWN_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_LINK = re.compile(
    r"<?\b(?:[a-z][a-z0-9+.-]*://|www\.|mailto:)[^\s<>]*[^\s<>.,;:!?)]>?"  # without the sentence's full stop
    r"|\b(?:[a-z0-9-]+\.)+[a-z]{2,}/[^\s<>]*[^\s<>.,;:!?)]",  # example.org/page, which mail programs turn into links
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The usable part of a reply."""

    scores: Mapping[str, Score]  # by arXiv id as it was asked for
    missing: tuple[str, ...]  # ids without a usable score, in the order asked


def read_reply(text: str, asked: Sequence[str]) -> Reply:
    """Read the scores of the ids in `asked`; of several for one id, the first usable one counts."""
    wanted = set(asked)
    scores: dict[str, Score] = {}
    for found in _entries(_without_thoughts(text)[: MAX_TEXT_PER_PAPER * (len(asked) + 5)]):
        arxiv_id = _plain_id(found.get("arxiv_id"))
        if arxiv_id in wanted and arxiv_id not in scores and (score := _score(found)) is not None:
            scores[arxiv_id] = score
    return Reply(scores, tuple(arxiv_id for arxiv_id in asked if arxiv_id not in scores))


def clean_comment(text: str) -> str:
    """Make one line of plain text, of at most 400 characters, without links, control or direction characters."""
    text = " ".join(text[: 10 * MAX_COMMENT].split())
    text = "".join(char for char in text if unicodedata.category(char) not in {"Cc", "Cf", "Cs"})
    text = _ANCHOR.sub("", text)
    while text != (without := _MARKDOWN_LINK.sub(r"\1", text)):  # a link may be nested in a link's text
        text = without
    text = re.sub(r"\(\s*\)", " ", _LINK.sub(" ", text))
    text = re.sub(r"\s+([.,;:!?)])", r"\1", " ".join(text.split()))
    if len(text) <= MAX_COMMENT:
        return text
    return text[: MAX_COMMENT - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def _score(found: Mapping[str, Any]) -> Score | None:
    relevance, novelty = _mark(found.get("relevance")), _mark(found.get("novelty"))
    if relevance is None or novelty is None:
        return None
    comment = found.get("comment")
    return Score(relevance, novelty, clean_comment(comment) if isinstance(comment, str) else "")


def _mark(value: object) -> int | None:
    """Read a whole number from 1 to 10, also from "9" and 9.0; None for anything else."""
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,2}\s*", value, re.ASCII):
        value = int(value)
    known = isinstance(value, int | float) and not isinstance(value, bool) and value in range(1, 11)
    return int(value) if known else None  # type: ignore[call-overload]


def _plain_id(value: object) -> str:
    """Normalise an id: "https://arxiv.org/abs/2502.06786v2" and "[arXiv:2502.06786]" become "2502.06786"."""
    if not isinstance(value, str):
        return ""
    bare = re.sub(r"^(?:https?://arxiv\.org/abs/|arxiv:)\s*", "", value.strip(" []\n"), flags=re.IGNORECASE)
    return re.sub(r"v\d+$", "", bare)


def _without_thoughts(text: str) -> str:
    """Remove the reasoning in front of a reply, which may hold a draft of it."""
    return re.sub(r"^\s*<think>.*?</think>", "", text, count=1, flags=re.DOTALL)


def _entries(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield every JSON object in the text that has an `arxiv_id`, however it is wrapped, in order."""
    decoder = json.JSONDecoder()
    at = 0
    while (start := _OPENING.search(text, at)) is not None:
        try:
            value, at = decoder.raw_decode(text, start.start())
        except RecursionError:
            return  # no reply is nested a thousand deep
        except ValueError:
            at = start.end()  # cut off or no JSON: entries within may still be whole
        else:
            yield from _within(value)


def _within(value: object, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict) and "arxiv_id" in value:
        yield value
    elif isinstance(value, dict | list) and depth < MAX_DEPTH:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _within(inner, depth + 1)
