"""What is in a prompt, how many tokens that is, and what a provider's cache knows of it."""

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

BYTES_PER_TOKEN = 4.6
LEAST_CACHED = 1024  # tokens of a prefix
STEP = 128  # tokens
MOST_MATCHED = 80  # breakpoints of a request, the latest
MOST_WRITTEN = {"implicit": 3, "explicit": 4}  # explicit breakpoints of a request, the latest


# ---- what is in a prompt


@dataclass(frozen=True)
class Part:
    """A piece of a prompt. Where a message begins, `boundary` tells its role; it is no text and counts no token."""

    boundary: bytes
    text: bytes
    marked: bool = False  # a cache breakpoint stands at its end


def parts_of(body: Mapping[str, Any]) -> list[Part]:
    """The messages' texts in order, each from the second on with a line break before it; contents may be in parts."""
    found: list[Part] = []
    for message in body.get("messages", []):
        content = message.get("content") or ""
        boundary = b"\0" + str(message.get("role")).encode() + b"\0"
        for part in content if isinstance(content, list) else [{"text": content}]:
            text = ("\n" if found else "") + (part.get("text") or "")
            found.append(Part(boundary, text.encode(), bool(part.get("prompt_cache_breakpoint"))))
            boundary = b""
    return found


def text_of(body: Mapping[str, Any]) -> str:
    """All that the messages say."""
    return b"".join(part.text for part in parts_of(body)).decode()


def tokens(size: int) -> int:
    """A token per 4.6 bytes, at least one."""
    return max(1, round(size / BYTES_PER_TOKEN))


# ---- what is cached

CacheMode = Literal["breakpoints", "steps", "none"]


@dataclass(frozen=True)
class Lookup:
    """What a cache knew of a prompt, in tokens, and the prefixes that it knows once the call is answered."""

    cached: int = 0
    written: int = 0
    prefixes: frozenset[bytes] = frozenset()


class PrefixCache:
    """A provider's prompt cache: a prefix of at least 1,024 tokens is known once a call that brought it is answered.

    "breakpoints", as OpenAI's from gpt-5.6 on: prefixes up to a request's breakpoints alone, writing counts, and calls
    with another `prompt_cache_key` share nothing. "steps", as before that and on many servers: any prefix, in steps of
    128 tokens, and writing is free. "none" knows nothing.
    """

    def __init__(self, mode: CacheMode) -> None:
        self.mode = mode
        self._known: set[bytes] = set()
        self._lock = threading.Lock()

    def objection(self, body: Mapping[str, Any]) -> tuple[str, str] | None:
        """What is said to options that do not exist, by servers that know the field, and the field's name."""
        if self.mode != "breakpoints":
            return None
        options = body.get("prompt_cache_options") or {}
        for name, values in {"mode": list(MOST_WRITTEN), "ttl": ["30m"]}.items():
            if options.get(name, values[0]) not in values:
                place = f"prompt_cache_options.{name}"
                return f"Invalid value: {options[name]!r}. Supported are {values}", place
        return None

    def arrive(self, body: Mapping[str, Any]) -> Lookup:
        """What is known of the prompt at this moment."""
        if self.mode == "none":
            return Lookup()
        by_steps = self.mode == "steps"
        prefixes, written = _steps(body) if by_steps else _breakpoints(body)
        with self._lock:
            cached = max(
                (size for size, prefix in prefixes.items() if prefix in self._known), default=0
            )
        last = 0 if by_steps else max(written, default=0)
        return Lookup(cached, max(0, last - cached), frozenset(prefixes[size] for size in written))

    @contextmanager
    def answer(self, call: Lookup) -> Iterator[None]:
        """Sends the answer within: only calls that begin after it find the prefixes."""
        with self._lock:
            yield
            self._known |= call.prefixes


_Prefixes = dict[int, bytes]  # a fingerprint by the prefix's tokens


def _steps(body: Mapping[str, Any]) -> tuple[_Prefixes, Sequence[int]]:
    """Every prefix that can be known, and which of them will be: all."""
    hashed = blake2b(str(body.get("model")).encode())
    at = 0
    steps = 1
    found: _Prefixes = {}
    for part in parts_of(body):
        hashed.update(part.boundary)
        rest = part.text
        while at + len(rest) >= (end := math.ceil(steps * STEP * BYTES_PER_TOKEN)):
            hashed.update(rest[: end - at])
            at, rest = end, rest[end - at :]
            if steps * STEP >= LEAST_CACHED:
                found[steps * STEP] = hashed.digest()
            steps += 1
        hashed.update(rest)
        at += len(rest)
    return found, list(found)


def _breakpoints(body: Mapping[str, Any]) -> tuple[_Prefixes, Sequence[int]]:
    """The prefixes up to the request's breakpoints, and which of them will be known: up to the latest ones."""
    mode = (body.get("prompt_cache_options") or {}).get("mode", "implicit")
    hashed = blake2b(f"{body.get('model')}\0{body.get('prompt_cache_key') or ''}".encode())
    size = 0
    parts = parts_of(body)
    explicit: _Prefixes = {}
    for part in parts:
        hashed.update(part.boundary + part.text)
        size += len(part.text)
        if part.marked:
            explicit[tokens(size)] = hashed.digest()
    matched = dict(list(explicit.items())[-MOST_MATCHED:])
    written = list(explicit)[-MOST_WRITTEN.get(mode, 4) :]
    if mode == "implicit" and parts:
        matched[tokens(size)] = hashed.digest()
        written.append(tokens(size))
    long = {end: prefix for end, prefix in matched.items() if end >= LEAST_CACHED}
    return long, [end for end in written if end in long]
