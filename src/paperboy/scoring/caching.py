"""What a provider's prompt cache wants of a request: the same words first, and marks where they end.

OpenAI's models from 5.6 on charge a quarter more for what they write into the cache, and unless told otherwise they
write the whole prompt. So they are told what will be read again, and nothing else. Its older models, and many servers,
cache by themselves and charge nothing for it. The rules are those of developers.openai.com, "Prompt caching".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any
from urllib.parse import urlsplit

from paperboy.scoring.prompt import Question

FIRST_VERSION = (5, 6)  # of the models that take breakpoints
MIN_BYTES = 4_000  # the cache takes prefixes of 1,024 tokens or more, and fewer bytes of English are fewer tokens
OPTIONS = (
    "prompt_cache_options",
    "prompt_cache_key",
    "prompt_cache_breakpoint",
)  # one refused, all left out

Message = Mapping[str, Any]  # {"role": "system" | "user", "content": text, or parts}


class PromptCache(Enum):
    """What a server does with prompts that begin alike."""

    NONE = auto()  # nothing that we know of
    AUTOMATIC = auto()  # the second one is cheaper, if it comes after the first has been answered
    BREAKPOINTS = auto()  # the same, up to marks in the prompt, and writing costs


def cache_of(model: str, base_url: str) -> PromptCache:
    """The cache of a model on a server (empty: OpenAI's)."""
    if not is_openai(base_url):
        return PromptCache.NONE
    version = re.match(r"(?:ft:)?gpt-(\d+)(?:\.(\d+))?", model)
    if version and (int(version[1]), int(version[2] or 0)) >= FIRST_VERSION:
        return PromptCache.BREAKPOINTS
    return PromptCache.AUTOMATIC


def is_openai(base_url: str) -> bool:
    """Whether a server (empty: the default one) is OpenAI's own."""
    host = urlsplit(base_url).hostname or ""
    return not base_url or host == "api.openai.com" or host.endswith(".api.openai.com")


def worth_caching(question: Question) -> bool:
    """Whether what the question shares with others is long enough for a cache to take it."""
    return len(question.prefix.encode()) >= MIN_BYTES


def messages(question: Question, *, mark: bool = False) -> list[Message]:
    """The system and the user message; `mark` puts a breakpoint behind what is shared."""
    content: object = f"{question.shared}\n\n{question.own}"
    if mark:
        breakpoint_ = {"mode": "explicit"}
        content = [
            {"type": "text", "text": f"{question.shared}\n\n", "prompt_cache_breakpoint": breakpoint_},
            {"type": "text", "text": question.own},
        ]
    return [{"role": "system", "content": question.system}, {"role": "user", "content": content}]


def options(question: Question, cache: PromptCache, *, shares: bool) -> dict[str, Any]:
    """What goes with a question; `shares`: its first words come again.

    The key brings requests that begin alike to the same machine. Without a mark, "explicit" keeps a prompt that nobody
    will read again out of the cache.
    """
    chosen: dict[str, Any] = {}
    if cache is PromptCache.BREAKPOINTS:
        chosen["prompt_cache_options"] = {"mode": "explicit"}
    if shares and cache is not PromptCache.NONE:
        chosen["prompt_cache_key"] = hashlib.sha256(question.prefix.encode()).hexdigest()[:16]
    return chosen


def plain(marked: Message) -> Message:
    """A message without marks, for servers that refuse them."""
    content = marked["content"]
    return marked if isinstance(content, str) else {**marked, "content": "".join(part["text"] for part in content)}
