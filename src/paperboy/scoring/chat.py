"""One question to a Chat Completions server, with all that servers are known to do wrong.

`judge` says what one exchange means; `ChatServer.ask` repeats, and leaves out what the server refuses, until there is
an answer or none to be had. What was learnt about the server is remembered for the run.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any
from urllib.parse import urlsplit

from paperboy.models import Usage
from paperboy.scoring.costs import OPENAI_URL, read_usage

TRIES = 4
FIRST_WAIT_SECONDS = 1.0  # doubles with every try
LONGEST_WAIT_SECONDS = 120.0  # a server that asks for more is not asked again


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one HTTP request came to."""

    status: int  # 0: no answer at all
    body: Any = None  # decoded JSON; None where the answer was none
    retry_after: float | None = None  # seconds
    problem: str = ""  # why there was no answer
    timed_out: bool = False


class Verdict(Enum):
    """What an answer is good for."""

    ANSWERED = auto()  # there is text to read
    REFUSED = auto()  # the server will not answer this content; parts of it may pass
    FAILED = auto()  # not now, perhaps later
    HOPELESS = auto()  # nothing will be answered until somebody mends it


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question. `reason` completes the sentence "the LLM at … "; `usage` is of the last exchange."""

    verdict: Verdict
    text: str = ""
    reason: str = ""
    usage: Usage | None = None  # None: nothing was counted
    tier: str = ""  # the service tier it was served at, where the server says so
    paid: bool = False  # a model worked on it, so an absent usage is unknown, not zero
    retry_after: float | None = None
    timed_out: bool = False


FORMATS = ("json_schema", "json_object", "words")
_MENTIONS_FORMAT = re.compile(
    r"response_?format|json_?schema|json_?object|structured.?output|grammar|guided", re.IGNORECASE
)
_MENTIONS_CONTENT = re.compile(
    r"content.?(?:filter|policy|management|inspection)|moderation|flagged|safety|inappropriate"
    r"|context.?(?:length|window|size)|too (?:long|large|many tokens)|maximum.{0,20}(?:tokens|length)|above_max_length",
    re.IGNORECASE,
)
_ALIASES = {"reasoning_effort": "thinking"}  # what some servers call an option when they refuse it
_NO_SUCH_MODEL = re.compile(
    r"model_not_found|(?:invalid|unknown|not a valid).?model|model\b.{0,80}(?:not found|not exist|not a valid|unknown)",
    re.IGNORECASE,
)
_OUT_OF_CREDIT = re.compile(
    r"insufficient.?(?:quota|balance|credit|funds)|billing|exceeded your current quota", re.IGNORECASE
)


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
        said = _all_said(refusal)
        if _NO_SUCH_MODEL.search(said):
            return None
        if named := [option for option in sent if option in said or (option in _ALIASES and _ALIASES[option] in said)]:
            return replace(self, left_out=self.left_out | set(named))
        formats_left = self.rung + 1 < len(FORMATS)
        if formats_left and _MENTIONS_FORMAT.search(said):
            return replace(self, rung=self.rung + 1)
        if proven or _MENTIONS_CONTENT.search(said):
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
    options: Mapping[str, str]
    secret: str = field(default="", repr=False)  # never to be quoted, also where the server does
    wait: Callable[[float], None] = time.sleep
    manners: Manners = Manners()
    _proven: bool = False  # the server has answered once
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def place(self) -> str:
        """The server's address without what could be secret in it."""
        parts = urlsplit(self.base_url or OPENAI_URL)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"

    def ask(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        tries: int = TRIES,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> list[Answer]:
        """Every answer on the way to the last one, which counts; earlier ones may have cost tokens too.

        There are no further tries once `goes_on` is false.
        """
        answers: list[Answer] = []
        pause = FIRST_WAIT_SECONDS
        while True:
            answer = self._one_answer(messages)
            answers.append(answer)
            self._doubt(answer)
            tries -= 2 if answer.timed_out else 1  # a time limit is long enough to be met twice at most
            seconds = pause if answer.retry_after is None else answer.retry_after
            if answer.verdict is not Verdict.FAILED or tries <= 0 or seconds > LONGEST_WAIT_SECONDS or not goes_on():
                return answers
            self.wait(seconds)
            if not goes_on():
                return answers
            pause *= 2

    def _doubt(self, answer: Answer) -> None:
        """An answer without a word, from a server that never gave any, may be for want of the format we asked for."""
        with self._lock:
            if answer.paid and answer.verdict is Verdict.FAILED and not self._proven:
                self.manners |= Manners(min(self.manners.rung + 1, len(FORMATS) - 1))

    def _one_answer(self, messages: Sequence[Mapping[str, str]]) -> Answer:
        """Asks until the server accepts the way we ask; each round leaves something out, so the rounds end."""
        manners = self.manners
        while True:
            request = self._request(messages, manners)
            exchange = self.post(request)
            sent = [option for option in self.options if option in request]
            refusal = _refusal(exchange)
            better = None if refusal is None else manners.after(refusal, sent, proven=self._proven)
            if better is None:
                answer = judge(exchange, secret=self.secret, model=self.model)
                if answer.verdict is Verdict.ANSWERED:
                    with self._lock:
                        self.manners, self._proven = self.manners | manners, True
                return answer
            manners = better

    def _request(self, messages: Sequence[Mapping[str, str]], manners: Manners) -> dict[str, Any]:
        options = {name: value for name, value in self.options.items() if value and name not in manners.left_out}
        request: dict[str, Any] = {"model": self.model, "messages": list(messages), **options}
        if manners.response_format == "json_schema":
            schema = {"name": "scores", "strict": True, "schema": self.schema}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif manners.response_format == "json_object":
            request["response_format"] = {"type": "json_object"}
        return request


def judge(exchange: Exchange, *, model: str, secret: str = "") -> Answer:
    """What an exchange means, when the way we asked is not at fault."""
    if exchange.status == 0:
        return Answer(Verdict.FAILED, reason=_one_line(exchange.problem, secret), timed_out=exchange.timed_out)
    error = _error(exchange.body)
    status = exchange.status
    if status == 200 and error is not None:  # gateways wrap the error of the server behind them
        status = _status_within(error)
    if status != 200:
        return _judge_error(status, error or {}, exchange, model=model, secret=secret)
    if not isinstance(exchange.body, dict):
        return Answer(Verdict.FAILED, reason="answers with something that is not JSON; check OPENAI_BASE_URL")
    return _judge_completion(exchange.body)


def _judge_completion(body: Mapping[str, Any]) -> Answer:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    text, tier = message.get("content"), body.get("service_tier")
    if isinstance(text, list):  # in parts, as for pictures
        text = "".join(str(part.get("text") or "") for part in text if isinstance(part, dict))
    text = text if isinstance(text, str) else ""
    answer = Answer(
        Verdict.ANSWERED,
        text=text,
        usage=read_usage(body.get("usage")),
        tier=tier if isinstance(tier, str) else "",
        paid=True,
    )
    if text.strip():
        return answer  # also where it was cut off: its whole entries count, the rest is asked again
    if message.get("refusal"):
        return replace(answer, verdict=Verdict.REFUSED, reason="refuses to answer")
    if choice.get("finish_reason") == "content_filter":
        return replace(answer, verdict=Verdict.REFUSED, reason="filters the content")
    if choice.get("finish_reason") == "length":
        return replace(answer, verdict=Verdict.REFUSED, reason="runs out of tokens before it answers")
    return replace(answer, verdict=Verdict.FAILED, reason="answers with no text")


def _judge_error(status: int, error: Mapping[str, Any], exchange: Exchange, *, model: str, secret: str) -> Answer:
    message = _one_line(error.get("message"), secret)
    said = _all_said(error)
    reason = f"answers {status}" + (f": {message}" if message else "")
    if status == 402 or (status in {403, 429} and _OUT_OF_CREDIT.search(said)):
        return Answer(Verdict.HOPELESS, reason=f"answers {status}: the account has no credit left")
    if status == 401:
        return Answer(Verdict.HOPELESS, reason="answers 401: the key is refused; check OPENAI_API_KEY in .env")
    if status == 403 and not _MENTIONS_CONTENT.search(said):
        return Answer(Verdict.HOPELESS, reason="answers 403: the key may not use this model; check both in .env")
    if status in {404, 405} or (status in {400, 422} and _NO_SUCH_MODEL.search(said)):
        hint = f"it knows no model {model!r} at this address; check OPENAI_MODEL and OPENAI_BASE_URL in .env"
        return Answer(Verdict.HOPELESS, reason=f"answers {status}: {hint}")
    if status in {408, 409, 425, 429} or status >= 500:
        return Answer(Verdict.FAILED, reason=reason, retry_after=exchange.retry_after)
    return Answer(Verdict.REFUSED, reason=reason)


def _refusal(exchange: Exchange) -> Mapping[str, Any] | None:
    """The error object of an answer that may object to the way we ask."""
    error = _error(exchange.body)
    status = _status_within(error) if exchange.status == 200 and error is not None else exchange.status
    if status in {400, 422}:
        return error or {}
    # Some servers have another status for a format that they do not know; then only their words tell.
    tells = status >= 400 and status not in {401, 402, 403, 408, 409, 425, 429, 502, 503, 504}
    return error if tells and error and _MENTIONS_FORMAT.search(_all_said(error)) else None


def _error(body: object) -> Mapping[str, Any] | None:
    """The error object in an answer, in the forms {"error": {…}}, {"error": "…"}, {"message": …} and {"detail": …}."""
    if not isinstance(body, dict):
        return None
    error = body.get("error")
    if not error and "choices" in body:
        return None
    if error is None and "choices" not in body:
        error = {"message": body.get("message") or body.get("detail"), "code": body.get("code")}
    if isinstance(error, dict):
        return error
    return {"message": error} if error else None


def _all_said(error: Mapping[str, Any]) -> str:
    return " ".join(str(error.get(key) or "") for key in ("param", "code", "type", "message"))


def _status_within(error: Mapping[str, Any]) -> int:
    """The HTTP status that an error object names, or 500."""
    for key in ("code", "status"):
        value = error.get(key)
        if isinstance(value, int | str) and re.fullmatch(r"[45]\d\d", str(value)):
            return int(value)
    return 500


def _one_line(value: object, secret: str) -> str:
    """A server's words for a log line: short, printable, without our key."""
    text = " ".join(str(value or "").split())
    if secret:
        text = text.replace(secret, "…")
    text = "".join(char for char in text if char.isprintable())
    return text if len(text) <= 200 else text[:199] + "…"
