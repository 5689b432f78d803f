"""One question to a Chat Completions server: the request, its fallbacks, and what a reply means.

Servers differ in what they accept. The first request carries every option; `fallback` chooses what to leave out after a
refusal, and the server remembers it. This is the only module that imports `openai`, which takes 0.4 s.
"""

import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from paperboy.errors import ScoringError
from paperboy.foreign import hidden, one_line, shortened
from paperboy.models import Usage
from paperboy.scoring.prices import OPENAI_URL
from paperboy.scoring.prompt import Question
from paperboy.scoring.reply import SCHEMA

TRIES = 4
LONGEST_WAIT = 120.0  # seconds; no retry if a server asks for more
MAX_BYTES = 8_000_000  # of one reply
_SCHEMA = {"name": "scores", "strict": True, "schema": SCHEMA}
FORMATS: Mapping[str, Mapping[str, Any]] = {  # each falls back to the next
    "json_schema": {"response_format": {"type": "json_schema", "json_schema": _SCHEMA}},
    "json_object": {"response_format": {"type": "json_object"}},
    "words": {},
}
CACHE_OPTIONS = {"prompt_cache_options", "prompt_cache_key", "prompt_cache_breakpoint"}  # one refused, all left out
MIN_CACHED_BYTES = 4_000  # prompt caches take 1,024 tokens or more, which no shorter text of English has
_ALIASES = {"reasoning_effort": "thinking"}  # other names of options in refusals
_OBJECTIONS = {400, 415, 422, 501}  # the status of a reply that may object to the request's options
_TRANSIENT = {408, 409, 425, 429}  # and all from 500 up
_NO_TEXT = {"content_filter": "filters the content", "length": "runs out of tokens before it answers"}
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
_NO_CREDIT = re.compile(r"insufficient|billing|_quota", re.IGNORECASE)  # a code; words may mention billing anyway
_FIXES = {  # by status: what an operator can do
    401: "the key is refused; check OPENAI_API_KEY in .env",
    402: "the account has no credit left; add some there",
    403: "the key may not use this model; check both in .env",
    404: "it knows no model {model!r} at this address; check OPENAI_MODEL and OPENAI_BASE_URL in .env",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reply means, or that there was none."""

    text: str = ""
    failure: str = ""  # completes the sentence "the LLM at … "; empty if there is a text
    pause: float | None = None  # seconds before a retry, as far as the server says; None: a retry would not help
    objection: str = ""  # the words of a refusal that may concern the request's format and options
    usage: Usage | None = None  # None: no model worked on it; without tokens: the server counted nothing
    tier: str = ""  # the service tier that it had


def format_of(refused: Collection[str]) -> str:
    """Return the first format that a server did not refuse."""
    return next(name for name in FORMATS if name not in refused)


def fallback(said: str, options: Collection[str], form: str, *, proven: bool) -> Collection[str]:
    """Choose what to leave out after a refusal in these words: some of the `options` that were sent, or the format.

    Nothing, if that would not help. A refusal that names none of them concerns the content once the server is `proven`,
    having answered before; until then it may concern any.
    """
    if named := [option for option in options if option in said or _ALIASES.get(option, option) in said]:
        return named
    if _FORMAT.search(said):
        return {form} - {"words"}
    if proven or _CONTENT.search(said):
        return ()
    return options if form == "words" else [form]


class Server:
    """A model on a server; safe to use from several threads.

    An empty `base_url` is OpenAI's; an empty `api_key` is for servers without keys. `timeout_seconds` limits a whole
    exchange, however slowly the reply trickles in. `breakpoints` say whether the prompt cache works by breakpoints and
    charges for writes, as OpenAI's does from 5.6 on (developers.openai.com, "Prompt caching"), if the model's name does
    not tell. `wait` sleeps between tries. Raises ScoringError for a key that cannot be one.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        *,
        reasoning_effort: str = "",
        service_tier: str = "",
        timeout_seconds: float = 120,
        breakpoints: bool | None = None,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        if not (api_key.isascii() and api_key.isprintable()):
            raise ScoringError("OPENAI_API_KEY holds characters that no key has; copy it into .env again")
        self.model = model
        self.refused: frozenset[str] = frozenset()  # formats and options that this server does not accept
        self._url, self._key, self._wait = base_url or OPENAI_URL, api_key, wait
        host = urlsplit(self._url).hostname or ""
        at_openai, version = f".{host}".endswith(".api.openai.com"), re.match(r"(?:ft:)?gpt-(\d+)(?:\.(\d+))?", model)
        caches = at_openai and version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 6)
        self._breakpoints = caches if breakpoints is None else breakpoints
        options: dict[str, Any] = {"reasoning_effort": reasoning_effort, "service_tier": service_tier}
        self._options = {name: value for name, value in options.items() if value}
        if not at_openai:
            self._options["temperature"] = 0  # the same paper gets the same score; OpenAI's models refuse it
        self._proven = False  # it has answered once
        limits = httpx2.Timeout(timeout_seconds, connect=min(10, timeout_seconds))
        self._client = openai.OpenAI(
            base_url=self._url,
            api_key=api_key or "none",  # the client insists on one
            max_retries=0,
            timeout=limits,
            http_client=_BoundedClient(timeout=limits, follow_redirects=True),
        )

    @property
    def place(self) -> str:
        """The server's address without what could be secret in it."""
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"

    def quote(self, words: str, most: int) -> str:
        """Quote the server in one short printable line, without our key."""
        return shortened(self.hidden(one_line(words)), most)

    def hidden(self, words: str) -> str:
        """The words without our key."""
        return hidden(words, self._key)

    def close(self) -> None:
        self._client.close()

    def ask(
        self, question: Question, *, shared: bool = False, tries: int = TRIES, stopped: Callable[[], object] = bool
    ) -> list[Answer]:
        """Return all answers. The last one counts; earlier ones may have cost tokens, too.

        `shared`: other questions of the same prefix are asked. There are no further tries once `stopped` is true (it
        never is by default: bool() is False). A timeout is not retried: the caller asks for fewer papers.
        """
        answers = [self._converse(question, shared=shared)]
        for number in range(tries - 1):
            pause = answers[-1].pause
            if pause is None or pause > LONGEST_WAIT or stopped():
                break
            self._wait(max(pause, 2.0**number))
            if not stopped():
                answers.append(self._converse(question, shared=shared))
        return answers

    def request(self, question: Question, *, shared: bool, refused: Collection[str] = ()) -> dict[str, Any]:
        """Return the body of a request that leaves out what was `refused`.

        The cache's key routes questions of one prefix to the same machine. "explicit" without a breakpoint keeps a
        prompt that nobody reads again out of a cache that charges for writes.
        """
        content: object = f"{question.shared}\n\n{question.own}"
        options = {name: value for name, value in self._options.items() if name not in refused}
        if self._breakpoints and CACHE_OPTIONS.isdisjoint(refused):
            options["prompt_cache_options"] = explicit = {"mode": "explicit"}
            prefix = f"{question.system}\0{question.shared}".encode()
            if shared and len(prefix) >= MIN_CACHED_BYTES:
                mark = {"type": "text", "text": f"{question.shared}\n\n", "prompt_cache_breakpoint": explicit}
                content = [mark, {"type": "text", "text": question.own}]
                options["prompt_cache_key"] = hashlib.sha256(prefix).hexdigest()[:16]
        messages = [{"role": "system", "content": question.system}, {"role": "user", "content": content}]
        return {"model": self.model, "messages": messages, **options, **FORMATS[format_of(refused)]}

    def _converse(self, question: Question, *, shared: bool) -> Answer:
        """Ask once, with the fallbacks that this server needs."""
        options = {*self._options, *(CACHE_OPTIONS if self._breakpoints else ())}
        refused = self.refused
        while True:
            answer = self._post(self.request(question, shared=shared, refused=refused))
            form = format_of(refused)
            more = fallback(answer.objection, options - refused, form, proven=self._proven) if answer.objection else ()
            if not more:
                break
            refused = refused.union(more)
        if not answer.failure:
            self.refused, self._proven = self.refused | refused, True
        elif answer.usage and answer.pause is not None and not self._proven:
            self.refused |= {form} - {"words"}  # the format may be why it said nothing
        return answer

    def _post(self, request: Mapping[str, Any]) -> Answer:
        try:
            response = self._client.chat.completions.with_raw_response.create(**request).http_response
        except openai.APIStatusError as error:
            response = error.response
        except openai.APITimeoutError:
            return Answer(failure="does not answer in time", pause=math.inf)
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            cause: BaseException = error
            while (deeper := cause.__cause__ or cause.__context__) is not None:
                cause = deeper
            return Answer(failure=self.quote(f"cannot be reached ({str(cause) or type(cause).__name__})", 200), pause=0)
        try:
            body = json.loads(response.content)
        except (ValueError, RecursionError):  # some servers send their errors as plain text
            text = response.text.strip()
            body = {"message": text[:500]} if response.status_code >= 400 and not text.startswith("<") else None
        answer = judge(response.status_code, body, self.model)
        seconds = re.fullmatch(r"\d+(?:\.\d+)?", response.headers.get("retry-after", "").strip())
        pause = float(seconds[0]) if seconds and answer.pause is not None else answer.pause
        tier = answer.tier or request.get("service_tier", "default")
        return replace(answer, failure=self.quote(answer.failure, 220), pause=pause, tier=tier)


class _BoundedClient(httpx2.Client):
    """Limits the time and size of a whole reply by reading it piece by piece; openai's timeout is for each read."""

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        end = time.monotonic() + (self.timeout.read or 0)
        body = bytearray()
        with closing(super().send(request, **{**options, "stream": True})) as response:
            for piece in response.iter_bytes():
                body += piece
                if time.monotonic() > end:
                    raise httpx2.ReadTimeout("the answer took too long", request=request)
                if len(body) > MAX_BYTES:
                    raise httpx2.ReadError("the answer is too large", request=request)
        response.headers.pop("content-encoding", None)  # it is decoded
        return httpx2.Response(response.status_code, headers=response.headers, content=bytes(body), request=request)


def judge(status: int, body: object, model: str) -> Answer:
    """Say what a reply means; `body` is its decoded JSON, None if it held none."""
    found = at(body, "error") or (body if isinstance(body, dict) and "choices" not in body else {})
    if status == 200 and not found:
        return _judge_completion(body)
    error = found if isinstance(found, dict) else {"message": found}
    code = f"{error.get('code')} {error.get('status')} {error.get('type')}"
    if status == 200:  # a gateway wraps the error of the server behind it
        within = re.search(r"\b[45]\d\d\b", code)
        status = int(within[0]) if within else 500
    message = str(error.get("message") or error.get("detail") or "")
    said = f"{error.get('param')} {code} {message}"
    meaning = status
    if status in {403, 429} and _NO_CREDIT.search(code):
        meaning = 402
    elif status == 405 or (status in _OBJECTIONS and _NO_MODEL.search(said)):
        meaning = 404
    elif status == 403 and _CONTENT.search(said):
        meaning = 400
    failure = f"answers {status}: {_FIXES.get(meaning, '').format(model=model) or message}".removesuffix(": ")
    pause = 0 if meaning in _TRANSIENT or meaning >= 500 else None
    return Answer(failure=failure, pause=pause, objection=said if meaning in _OBJECTIONS else "")


def _judge_completion(body: object) -> Answer:
    if not isinstance(body, dict):
        return Answer(failure="answers with something that is not JSON; check OPENAI_BASE_URL", pause=0)
    choice, tier = at(body, "choices", 0), str(at(body, "service_tier") or "")
    text = at(choice, "message", "content")
    if isinstance(text, list):  # in parts, as messages with pictures are
        text = "".join(str(at(part, "text") or "") for part in text)
    answer = Answer(text if isinstance(text, str) else "", usage=read_usage(at(body, "usage")), tier=tier)
    if answer.text.strip():  # also if it was cut off: whole entries count
        return answer
    refused = at(choice, "message", "refusal")
    reason = "refuses to answer" if refused else _NO_TEXT.get(str(at(choice, "finish_reason")))
    return replace(answer, failure=reason or "answers with no text", pause=None if reason else 0)


def read_usage(usage: object) -> Usage:
    """Count the tokens of a call by the `usage` object of its reply; no tokens if the server counts nothing.

    A part of the object that is absent, null or of the wrong type counts as 0.
    """
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    cached = min(prompt, _count(usage, "prompt_tokens_details", "cached_tokens"))
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        cached_tokens=cached,
        cache_write_tokens=min(prompt - cached, _count(usage, "prompt_tokens_details", "cache_write_tokens")),
        completion_tokens=completion,
        reasoning_tokens=min(completion, _count(usage, "completion_tokens_details", "reasoning_tokens")),
    )


def _count(usage: object, *path: str) -> int:
    value = at(usage, *path)
    return value if type(value) is int and 0 < value <= 10**9 else 0  # a larger count is an error


def at(value: Any, *path: str | int) -> Any:
    """Return what stands at a path of decoded JSON; None if nothing does."""
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value
