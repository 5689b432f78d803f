"""One question to a Chat Completions server, with all that servers are known to do wrong.

`ChatServer.ask` repeats, and leaves out what the server refuses, until there is an answer or none to be had. What was
learnt about the server is remembered for the run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from paperboy.scoring import caching
from paperboy.scoring.caching import Message
from paperboy.scoring.costs import OPENAI_URL
from paperboy.scoring.verdicts import (
    MENTIONS_CONTENT,
    MENTIONS_FORMAT,
    NO_SUCH_MODEL,
    Answer,
    Exchange,
    Verdict,
    all_said,
    judge,
    refusal_of,
)

TRIES = 4
FIRST_WAIT_SECONDS = 1.0  # doubles with every try
LONGEST_WAIT_SECONDS = 120.0  # a server that asks for more is not asked again
FORMATS = ("json_schema", "json_object", "words")
_ALIASES = {"reasoning_effort": "thinking"}  # what some servers call an option when they refuse it


@dataclass(frozen=True, slots=True)
class Manners:
    """What a server is known to accept: a rung of `FORMATS`, and the options it refused."""

    rung: int = 0
    left_out: frozenset[str] = frozenset()

    @property
    def response_format(self) -> str:
        return FORMATS[self.rung]

    def __or__(self, other: Manners) -> Manners:
        return Manners(max(self.rung, other.rung), self.left_out | other.left_out)

    def after(self, refusal: Mapping[str, Any], sent: Sequence[str], *, proven: bool) -> Manners | None:
        """What to try after a 400 with this error object, or None when our manners are not at fault.

        A refusal that names nothing is put down to the manners only while nothing was ever answered.
        """
        said = all_said(refusal)
        if NO_SUCH_MODEL.search(said):
            return None
        if named := [option for option in sent if option in said or (option in _ALIASES and _ALIASES[option] in said)]:
            together = caching.OPTIONS if set(named) & set(caching.OPTIONS) else ()
            return replace(self, left_out=self.left_out | {*named, *together})
        formats_left = self.rung + 1 < len(FORMATS)
        if formats_left and MENTIONS_FORMAT.search(said):
            return replace(self, rung=self.rung + 1)
        if proven or MENTIONS_CONTENT.search(said):
            return None
        if formats_left:
            return replace(self, rung=self.rung + 1)
        return replace(self, left_out=self.left_out | set(sent)) if sent else None


@dataclass(slots=True)
class ChatServer:
    """A model on a server. Safe to use from several threads.

    `options` are sent with every question until the server refuses them; `schema` is the JSON schema of the replies.
    """

    post: Callable[[Mapping[str, Any]], Exchange]
    base_url: str
    model: str
    schema: Mapping[str, Any]
    options: Mapping[str, Any]
    secret: str = field(default="", repr=False)  # never to be quoted, also where the server does
    wait: Callable[[float], None] = time.sleep
    manners: Manners = Manners()
    _proven: bool = False  # the server has answered once
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def proven(self) -> bool:
        """Whether it has answered once."""
        return self._proven

    @property
    def place(self) -> str:
        """The server's address without what could be secret in it."""
        parts = urlsplit(self.base_url or OPENAI_URL)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"

    def ask(
        self,
        messages: Sequence[Message],
        extras: Mapping[str, Any] | None = None,
        *,
        tries: int = TRIES,
        goes_on: Callable[[Answer], bool] = lambda _answer: True,
    ) -> list[Answer]:
        """Every answer on the way to the last one, which counts; earlier ones may have cost tokens too.

        `extras` are options of this question alone. There are no further tries once `goes_on` is false.
        """
        answers: list[Answer] = []
        pause = FIRST_WAIT_SECONDS
        while True:
            answer = self._one_answer(messages, extras or {})
            answers.append(answer)
            self._doubt(answer)
            tries -= 2 if answer.timed_out else 1  # a time limit is long enough to be met twice at most
            seconds = pause if answer.retry_after is None else answer.retry_after
            over = answer.verdict is not Verdict.FAILED or tries <= 0 or seconds > LONGEST_WAIT_SECONDS
            if over or not goes_on(answer):
                return answers
            self.wait(seconds)
            if not goes_on(answer):
                return answers
            pause *= 2

    def _doubt(self, answer: Answer) -> None:
        """An answer without a word, from a server that never gave any, may be for want of the format we asked for."""
        with self._lock:
            if answer.paid and answer.verdict is Verdict.FAILED and not self._proven:
                self.manners |= Manners(min(self.manners.rung + 1, len(FORMATS) - 1))

    def _one_answer(self, messages: Sequence[Message], extras: Mapping[str, Any]) -> Answer:
        """Asks until the server accepts the way we ask; each round leaves something out, so the rounds end."""
        manners = self.manners
        while True:
            request, options = self._request(messages, extras, manners)
            exchange = self.post(request)
            refusal = refusal_of(exchange)
            better = None if refusal is None else manners.after(refusal, options, proven=self._proven)
            if better is None:
                answer = judge(exchange, secret=self.secret, model=self.model)
                if answer.verdict is Verdict.ANSWERED:
                    with self._lock:
                        self.manners, self._proven = self.manners | manners, True
                return answer
            manners = better

    def _request(
        self, messages: Sequence[Message], extras: Mapping[str, Any], manners: Manners
    ) -> tuple[dict[str, Any], list[str]]:
        """The request, and which of the options that a server may refuse are in it."""
        wanted = {**self.options, **extras}
        options = {name: value for name, value in wanted.items() if value != "" and name not in manners.left_out}
        sent = list(options)
        if "prompt_cache_breakpoint" in manners.left_out:
            messages = [caching.plain(message) for message in messages]
        elif any(not isinstance(message["content"], str) for message in messages):
            sent.append("prompt_cache_breakpoint")
        request: dict[str, Any] = {"model": self.model, "messages": list(messages), **options}
        if manners.response_format == "json_schema":
            schema = {"name": "scores", "strict": True, "schema": self.schema}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif manners.response_format == "json_object":
            request["response_format"] = {"type": "json_object"}
        return request, sent
