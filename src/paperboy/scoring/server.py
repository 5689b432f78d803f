"""One question to a Chat Completions server: the request, its fallbacks, and what a reply means.

Servers differ in what they accept. The first question carries all that we would like; `fallbacks` leaves out what the
server refuses, and what it accepts is remembered. The only module that imports `openai`, which takes 0.4 s.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from paperboy.models import Usage
from paperboy.scoring.prices import OPENAI_URL, read_usage
from paperboy.scoring.reply import SCHEMA

TRIES = 4  # a timeout counts as two
FIRST_BACKOFF = 1.0  # seconds; doubles with every try
LONGEST_WAIT = 120.0  # seconds; a server that asks for more is not asked again
MAX_BYTES = 8_000_000  # of one reply
FORMATS: Mapping[str, Mapping[str, Any]] = {  # from the first to the plainest: the name, and what goes into the request
    "json_schema": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "scores", "strict": True, "schema": SCHEMA},
        }
    },
    "json_object": {"response_format": {"type": "json_object"}},
    "words": {},
}
CACHE_OPTIONS = ("prompt_cache_options", "prompt_cache_key", "prompt_cache_breakpoint")  # one refused, all left out
_ALIASES = {"reasoning_effort": "thinking"}  # what some servers call an option that they refuse
_FORMAT = re.compile(r"response_?format|json_?schema|json_?object|structured.?output|grammar|guided", re.IGNORECASE)
_CONTENT = re.compile(
    r"content.?(?:filter|policy|management|inspection)|moderation|flagged|safety|inappropriate"
    r"|context.?(?:length|window|size)|too (?:long|large|many tokens)|maximum.{0,20}(?:tokens|length)|above_max_length",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model_not_found|(?:invalid|unknown|not a valid).?model|model\b.{0,80}(?:not found|not exist|not a valid|unknown)",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"insufficient|billing|(?:exceeded your current|_)quota", re.IGNORECASE)

Message = Mapping[str, Any]  # {"role": "system" | "user", "content": text, or parts of which some carry a breakpoint}


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one HTTP request came to."""

    status: int  # 0: no reply at all
    body: Any = None  # decoded JSON; None where the reply was none
    retry_after: float | None = None  # seconds
    problem: str = ""  # why there was no reply
    timed_out: bool = False


class Verdict(Enum):
    """What an answer is good for."""

    ANSWERED = auto()  # there is text to read
    REFUSED = auto()  # the server will not answer this content; parts of it may pass
    FAILED = auto()  # not now, perhaps later
    DOUBTFUL = auto()  # refused in words that may hold for every question
    HOPELESS = auto()  # nothing will be answered until somebody fixes the key or the credit


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question. `reason` completes the sentence "the LLM at … "."""

    verdict: Verdict
    reason: str = ""
    text: str = ""
    usage: Usage | None = None  # None: nothing was counted
    tier: str = ""  # the service tier it was served at, if the server says so
    paid: bool = False  # a model worked on it, so an absent usage is unknown, not zero
    retry_after: float | None = None
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server accepts: one of FORMATS by its place, and not the options that it refused."""

    rung: int = 0
    left_out: frozenset[str] = frozenset()

    @property
    def format(self) -> str:
        return list(FORMATS)[self.rung]

    def plainer(self) -> Dialect:
        return replace(self, rung=min(self.rung + 1, len(FORMATS) - 1))

    def without(self, options: Collection[str]) -> Dialect:
        together = CACHE_OPTIONS if {*options} & {*CACHE_OPTIONS} else ()
        return replace(self, left_out=self.left_out | {*options, *together})

    def __or__(self, other: Dialect) -> Dialect:
        return Dialect(max(self.rung, other.rung), self.left_out | other.left_out)


def fallbacks(
    dialect: Dialect, options: Collection[str], proven: Callable[[], bool]
) -> Generator[Dialect, Exchange, tuple[Dialect, Exchange]]:
    """Yield how to ask, and be sent what came of it, until no other way to ask would help.

    `options` are those that may be left out. A refusal that names nothing is about the content once the server is
    `proven`, having answered before; until then it may be about the way we ask.
    """
    while True:
        exchange = yield dialect
        said = _objection(exchange)
        if said is None:
            return dialect, exchange
        sent = [option for option in options if option not in dialect.left_out]
        named = [option for option in sent if option in said or _ALIASES.get(option, option) in said]
        vague = not (proven() or _CONTENT.search(said) or _FORMAT.search(said))
        if named:
            dialect = dialect.without(named)
        elif (vague or _FORMAT.search(said)) and dialect.rung + 1 < len(FORMATS):
            dialect = dialect.plainer()
        elif vague and sent:
            dialect = dialect.without(sent)
        else:
            return dialect, exchange


class Server:
    """A model on a server; safe to use from several threads.

    An empty `base_url` is OpenAI's. `options` go with every question until the server refuses them. `timeout_seconds`
    holds for a whole exchange, so that a server that trickles its reply cannot keep us. `wait` sleeps between tries.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        *,
        options: Mapping[str, Any] | None = None,
        timeout_seconds: float = 120,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self.dialect = Dialect()
        self.options = {name: value for name, value in (options or {}).items() if value != ""}
        self._url, self._key, self._model, self._wait = base_url or OPENAI_URL, api_key, model, wait
        self._proven = False  # it has answered once
        self._lock = threading.Lock()
        limits = httpx2.Timeout(timeout_seconds, connect=min(10, timeout_seconds))
        self._client = openai.OpenAI(
            base_url=self._url,
            api_key=api_key or "none",  # servers without keys ignore it, the client insists on one
            max_retries=0,
            timeout=limits,
            http_client=_BoundedClient(timeout_seconds, timeout=limits, follow_redirects=True),
        )

    @property
    def place(self) -> str:
        """The server's address without what could be secret in it."""
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"

    def close(self) -> None:
        self._client.close()

    def ask(
        self,
        messages: Sequence[Message],
        extras: Mapping[str, Any] | None = None,
        *,
        tries: int = TRIES,
        stopped: Callable[[], bool] = lambda: False,
    ) -> list[Answer]:
        """Return every answer up to the last one, which counts; earlier ones may have cost tokens too.

        `extras` are options of this question alone. There are no further tries once `stopped` is true.
        """
        answers: list[Answer] = []
        backoff = FIRST_BACKOFF
        while True:
            answer = self._converse(messages, {**self.options, **(extras or {})})
            answers.append(answer)
            tries -= 2 if answer.timed_out else 1
            seconds = backoff if answer.retry_after is None else answer.retry_after
            if answer.verdict is not Verdict.FAILED or tries <= 0 or seconds > LONGEST_WAIT or stopped():
                return answers
            self._wait(seconds)
            if stopped():
                return answers
            backoff *= 2

    def _converse(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Answer:
        marked = any(not isinstance(message["content"], str) for message in messages)
        walk = fallbacks(self.dialect, [*options, *CACHE_OPTIONS[-1:]] if marked else [*options], lambda: self._proven)
        dialect = next(walk)
        while True:
            try:
                dialect = walk.send(self._post(self._request(messages, options, dialect)))
            except StopIteration as end:
                dialect, exchange = end.value
                break
        answer = judge(exchange, model=self._model, secret=self._key)
        with self._lock:
            if answer.verdict is Verdict.ANSWERED:
                self.dialect, self._proven = self.dialect | dialect, True
            elif answer.paid and answer.verdict is Verdict.FAILED and not self._proven:
                self.dialect = self.dialect.plainer()  # not a word: perhaps for want of the format we asked for
        return answer

    def _request(self, messages: Sequence[Message], options: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
        if "prompt_cache_breakpoint" in dialect.left_out:
            messages = [_unmarked(message) for message in messages]
        chosen = {name: value for name, value in options.items() if name not in dialect.left_out}
        return {"model": self._model, "messages": list(messages), **chosen, **FORMATS[dialect.format]}

    def _post(self, request: Mapping[str, Any]) -> Exchange:
        try:
            response = self._client.chat.completions.with_raw_response.create(**request).http_response
        except openai.APIStatusError as error:
            response = error.response
        except openai.APITimeoutError:
            return Exchange(0, problem="does not answer in time", timed_out=True)
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            cause: BaseException = error
            while (deeper := cause.__cause__ or cause.__context__) is not None:
                cause = deeper
            return Exchange(0, problem=f"cannot be reached ({str(cause) or type(cause).__name__})")
        try:
            body = json.loads(response.content)
        except (ValueError, RecursionError):  # a plain sentence with an error status will do for an error object
            text = response.text.strip()[:500]
            plain = response.status_code >= 400 and text and not text.startswith("<")
            body = {"error": {"message": text}} if plain else None
        seconds = re.fullmatch(r"-?\d+(?:\.\d+)?", response.headers.get("retry-after", "").strip())
        return Exchange(response.status_code, body, max(0.0, float(seconds[0])) if seconds else None)


class _BoundedClient(httpx2.Client):
    """Reads a reply piece by piece, so that its time and size can be limited; openai's timeout is for each read."""

    def __init__(self, seconds: float, **options: Any) -> None:
        super().__init__(**options)
        self._seconds = seconds

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        end = time.monotonic() + self._seconds
        response = super().send(request, **{**options, "stream": True})
        body = bytearray()
        try:
            for piece in response.iter_bytes():
                body += piece
                if time.monotonic() > end:
                    raise httpx2.ReadTimeout("the answer took too long", request=request)
                if len(body) > MAX_BYTES:
                    raise httpx2.ReadError("the answer is too large", request=request)
        finally:
            response.close()
        coded = {"content-encoding", "content-length", "transfer-encoding"}
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in coded]
        return httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=request)


def judge(exchange: Exchange, *, model: str, secret: str = "") -> Answer:
    """Say what an exchange means, if the way we asked is not at fault."""
    status, error = _status_and_error(exchange)
    if status == 0:
        return Answer(Verdict.FAILED, one_line(exchange.problem, secret), timed_out=exchange.timed_out)
    if status == 200 and isinstance(exchange.body, dict):
        return _judge_completion(exchange.body)
    message, said = one_line(error.get("message"), secret), _all_said(error)
    coded = f"{error.get('code') or ''} {error.get('type') or ''}"
    # An ordinary rate limit may speak of billing, too: then its code tells.
    broke = _NO_CREDIT.search(coded) or ("rate_limit" not in coded and _NO_CREDIT.search(message))
    verdict, reason = Verdict.REFUSED, message
    if status == 200:
        return Answer(Verdict.FAILED, "answers with something that is not JSON; check OPENAI_BASE_URL")
    if status == 402 or (status in {403, 429} and broke):
        verdict, reason = Verdict.HOPELESS, "the account has no credit left; add some there"
    elif status == 401:
        verdict, reason = Verdict.HOPELESS, "the key is refused; check OPENAI_API_KEY in .env"
    elif status == 403 and not _CONTENT.search(said):
        verdict, reason = Verdict.DOUBTFUL, "the key may not use this model; check both in .env"
    elif status in {404, 405} or (status in {400, 422} and _NO_MODEL.search(said)):
        hint = "check OPENAI_MODEL and OPENAI_BASE_URL in .env"
        verdict, reason = Verdict.DOUBTFUL, f"it knows no model {model!r} at this address; {hint}"
    elif status in {408, 409, 425, 429} or status >= 500:
        verdict = Verdict.FAILED
    return Answer(verdict, f"answers {status}" + (f": {reason}" if reason else ""), retry_after=exchange.retry_after)


def _judge_completion(body: Mapping[str, Any]) -> Answer:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice["message"] if isinstance(choice.get("message"), dict) else {}
    text, tier = message.get("content"), body.get("service_tier")
    if isinstance(text, list):  # in parts, as for pictures
        text = "".join(str(part.get("text") or "") for part in text if isinstance(part, dict))
    text, tier = (value if isinstance(value, str) else "" for value in (text, tier))
    verdict, reason = Verdict.ANSWERED, ""  # also where it was cut off: its whole entries count
    if not text.strip():
        verdict = Verdict.REFUSED
        if message.get("refusal"):
            reason = "refuses to answer"
        elif choice.get("finish_reason") == "content_filter":
            reason = "filters the content"
        elif choice.get("finish_reason") == "length":
            reason = "runs out of tokens before it answers"
        else:
            verdict, reason = Verdict.FAILED, "answers with no text"
    return Answer(verdict, reason, text, read_usage(body.get("usage")), tier, paid=True)


def _objection(exchange: Exchange) -> str | None:
    """What a server says that may object to the way we ask; None if it does not."""
    status, error = _status_and_error(exchange)
    said = _all_said(error)
    # Some servers have another status for a format that they do not know; then only their words tell.
    odd = status >= 400 and status not in {401, 402, 403, 408, 409, 425, 429, 502, 503, 504} and _FORMAT.search(said)
    return said if (status in {400, 422} or odd) and not _NO_MODEL.search(said) else None


def _status_and_error(exchange: Exchange) -> tuple[int, Mapping[str, Any]]:
    """The status and the error object, in the forms {"error": {…}}, {"error": "…"}, {"message": …} and {"detail": …}.
    Gateways wrap the error of the server that they ask into a 200: then the status within counts, else 500.
    """
    body = exchange.body if isinstance(exchange.body, dict) else {}
    error = body.get("error") or (
        "choices" not in body and body and {**body, "message": body.get("message") or body.get("detail")}
    )
    if not error:
        return exchange.status, {}
    error = error if isinstance(error, dict) else {"message": error}
    within = (str(error.get(key)) for key in ("code", "status"))
    status = next((int(value) for value in within if re.fullmatch(r"[45]\d\d", value)), 500)
    return (status if exchange.status == 200 else exchange.status), error


def _all_said(error: Mapping[str, Any]) -> str:
    return " ".join(str(error.get(key) or "") for key in ("param", "code", "type", "message"))


def _unmarked(message: Message) -> Message:
    content = message["content"]
    return message if isinstance(content, str) else {**message, "content": "".join(part["text"] for part in content)}


def one_line(value: object, secret: str, most: int = 200) -> str:
    """A server's words for a message: short, printable, without our key."""
    text = "".join(char for char in " ".join(str(value or "").split()) if char.isprintable())
    text = text.replace(secret, "…") if secret else text
    return text if len(text) <= most else text[: most - 1] + "…"
