"""One question to a Chat Completions server: the request, its fallbacks, and reading the reply.

Servers differ in what they accept. The first request carries every option; `fallback` chooses what
to leave out after a refusal, and the server remembers it. This is the only module that imports
`openai`, which takes 0.4 s.
"""

import hashlib
import json
import logging
import math
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
import openai

from paperboy.edges import wire
from paperboy.edges.text import hidden, one_line, shortened
from paperboy.models import Usage
from paperboy.scoring.prices import OPENAI_URL
from paperboy.scoring.prompt import Question
from paperboy.scoring.reply import read_number

TRIES = 4
LONGEST_WAIT = 120.0  # seconds; no retry if a server asks for more
MAX_BYTES = 2_000_000  # of one reply; thoughts may come before the scores
MAX_TOKENS = 10**7  # that a call can have; a larger count is an error

FORMATS = ("json_schema", "json_object", "words")  # of a reply, in order of preference

# If one is refused, all are left out.
CACHE_OPTIONS = {
    "prompt_cache_options",
    "prompt_cache_key",
    "prompt_cache_breakpoint",
}

# Prompt caches take 1,024 tokens or more, which no shorter text of English has.
MIN_CACHED_BYTES = 4_000

_ALIASES = {"reasoning_effort": "thinking"}  # other names of options in refusals
_OBJECTIONS = {400, 415, 422, 501}  # the status of a reply that may object to the request's options
_TRANSIENT = {408, 409, 425, 429}  # and all from 500 up
_CUT_OFF = (
    "answers, but the reply was cut off at the server's limit of tokens; "
    "lower LLM_BATCH_SIZE, or raise that limit"
)
_NO_TEXT = {"content_filter": "filters the content", "length": _CUT_OFF}
_FORMAT = re.compile(
    r"response_?format|json_?schema|json_?object|structured.?output|grammar|guided",
    re.IGNORECASE,
)
_CONTENT = re.compile(
    r"content.?(?:filter|policy|management|inspection)|moderation|flagged|safety|inappropriate"
    r"|context.?(?:length|window|size)|too (?:long|large|many tokens)|maximum.{0,20}(?:tokens|length)|above_max_length",
    re.IGNORECASE,
)
_CONTEXT = re.compile(  # too small: in the words of llama.cpp, vLLM, Ollama, LM Studio, LiteLLM and OpenAI
    r"exceed_context_size|context_length_exceeded|context.?window.?exceeded|maximum context (?:length|size|window) is"
    r"|longer than the maximum model length"
    r"|(?:exceed|longer than|larger than|greater than|overflow).{0,80}\bcontext"
    r"|\bcontext (?:length|size|window).{0,60}(?:exceeded|not enough|too small)",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model_not_found|(?:invalid|unknown|not a valid).?model|model\b.{0,80}(?:not found|not exist|not a valid|unknown)",
    re.IGNORECASE,
)

# A code; words may mention billing anyway.
_NO_CREDIT = re.compile(r"insufficient|billing|_quota", re.IGNORECASE)

_REDIRECTS = "it redirects; set OPENAI_BASE_URL in .env to the new address"
_FIXES = {  # by status: what an operator can do
    **dict.fromkeys((301, 302, 303, 307, 308), _REDIRECTS),
    401: "the key is refused; check OPENAI_API_KEY in .env",
    402: "the account has no credit left; add some there",
    403: "the key may not use this model; check both in .env",
    404: "it knows no model {model!r} at this address; check OPENAI_MODEL and OPENAI_BASE_URL in .env",
}


class Answer(NamedTuple):
    """Meaning of a reply, or of its absence."""

    text: str = ""
    failure: str = ""  # completes the sentence "the LLM at … "; empty if there is a text
    cut_off: str = ""  # the same, of a text that is not whole: it counts if the text holds no score

    # Seconds before a retry, as far as the server says; None: a retry would not help; infinite: it
    # timed out.
    pause: float | None = None

    objection: str = ""  # the words of a refusal that may concern the request's format and options

    # None: no model worked on it; without tokens: the server counted nothing.
    usage: Usage | None = None


def format_of(refused: Collection[str]) -> str:
    """Return the first format that a server did not refuse."""
    return next(name for name in FORMATS if name not in refused)


def _format(form: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a request for that format has."""
    if form == "words":
        return {}
    if form == "json_object":
        return {"response_format": {"type": form}}
    (name,) = schema["properties"]
    named = {"name": name, "strict": True, "schema": schema}
    return {"response_format": {"type": form, "json_schema": named}}


def fallback(
    refusal: str,
    options: Collection[str],
    form: str,
    *,
    proven: bool,
) -> Collection[str]:
    """Choose what to leave out after a refusal: some of the `options` that were sent, or the format.

    Return nothing if that would not help, or no words were given. A refusal that names no option
    concerns the content once the server is `proven`, having answered before; until then it may
    concern any of them.
    """
    named = [
        option for option in options if option in refusal or _ALIASES.get(option, option) in refusal
    ]
    if named:
        return named
    if _FORMAT.search(refusal):
        return {form} - {"words"}
    if not refusal or proven or _CONTENT.search(refusal):
        return ()
    return options if form == "words" else [form]


class Server:
    """Model on a server; safe to use from several threads.

    An empty `base_url` is OpenAI's; an empty `api_key` is for servers without keys.
    `timeout_seconds` limits a whole exchange, however slowly the reply trickles in. `breakpoints`
    say whether the prompt cache works by breakpoints and charges for writes, as OpenAI's does from
    5.6 on (developers.openai.com, "Prompt caching"), if the model's name does not tell.
    `connections` are kept open between calls; `proxy` is for https. `wait` sleeps between tries.
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
        proxy: str = "",
        connections: int = 8,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        # At the level of OPENAI_LOG it would log prompts.
        logging.getLogger("openai").setLevel(logging.WARNING)

        self.model = model
        self.refused = frozenset[str]()  # formats and options that this server does not accept
        self._key = api_key
        self._wait = wait
        self._seconds = timeout_seconds
        self._proven = False  # it has answered once

        url = base_url or OPENAI_URL
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        # Without the user, password and query of the URL, which could be secret.
        self.place = f"{parts.scheme}://{parts.hostname}{port}{parts.path}"

        at_openai = f".{parts.hostname}".endswith(".api.openai.com")
        if breakpoints is None:
            version = re.match(r"(?:ft:)?gpt-(\d+)(?:\.(\d+))?", model)
            numbers = (int(version[1]), int(version[2] or 0)) if version else (0, 0)
            breakpoints = at_openai and numbers >= (5, 6)

        self._breakpoints = breakpoints

        self._options: dict[str, Any] = {}
        if reasoning_effort:
            self._options["reasoning_effort"] = reasoning_effort
        if service_tier:
            self._options["service_tier"] = service_tier
        if not at_openai:  # the same paper gets the same score; OpenAI's models refuse it
            self._options["temperature"] = 0

        http = wire.Http(
            most=MAX_BYTES,
            proxy=proxy,
            connections=connections,
        )
        headers = {
            "User-Agent": f"OpenAI/Python {openai.__version__}",
            "Content-Type": "application/json",
        }
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._client = openai.OpenAI(
            base_url=url,
            api_key="none",  # the client insists on one; the transport has ours
            max_retries=0,
            http_client=httpx2.Client(
                transport=_Transport(http, headers),
                trust_env=False,
            ),
        )

    def quote(self, words: str, most: int) -> str:
        """Quote the server in one short printable line, without our key."""
        return shortened(self.hidden(one_line(words)), most)

    def hidden(self, words: str) -> str:
        """Return the words without our key."""
        return hidden(words, self._key)

    def close(self) -> None:
        self._client.close()

    def ask(
        self,
        question: Question,
        *,
        shared: bool = False,
        tries: int = TRIES,
        stopped: Callable[[], object] = bool,
    ) -> list[Answer]:
        """Return all answers. The last one counts; earlier ones may have cost tokens, too.

        `shared`: other questions of the same prefix are asked. There are no further tries once
        `stopped` is true (it never is by default: bool() is False). A timeout is not retried: the
        caller asks for fewer papers.
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

    def request(
        self,
        question: Question,
        *,
        shared: bool,
        refused: Collection[str] = (),
    ) -> dict[str, Any]:
        """Return the body of a request that leaves out what was `refused`.

        The cache's key routes questions of one prefix to the same machine. "explicit" without a
        breakpoint keeps a prompt that nobody reads again out of a cache that charges for writes.
        """
        content: object = f"{question.shared}\n\n{question.own}"
        options = {name: value for name, value in self._options.items() if name not in refused}
        if self._breakpoints and CACHE_OPTIONS.isdisjoint(refused):
            explicit = {"mode": "explicit"}
            options["prompt_cache_options"] = explicit
            prefix = f"{question.system}\0{question.shared}".encode()
            if shared and len(prefix) >= MIN_CACHED_BYTES:
                mark = {
                    "type": "text",
                    "text": f"{question.shared}\n\n",
                    "prompt_cache_breakpoint": explicit,
                }
                content = [mark, {"type": "text", "text": question.own}]
                options["prompt_cache_key"] = hashlib.sha256(prefix).hexdigest()[:16]

        messages = [
            {"role": "system", "content": question.system},
            {"role": "user", "content": content},
        ]
        form = _format(format_of(refused), question.schema)
        return {"model": self.model, "messages": messages, **options, **form}

    def ask_once(self, question: Question, seconds: float) -> Answer:
        """Return one answer within so many seconds, fallbacks included. What the server refuses
        here says nothing about other questions.
        """
        answer, _ = self._with_fallbacks(question, shared=False, seconds=seconds)
        return answer

    def _converse(self, question: Question, *, shared: bool) -> Answer:
        """Ask once, and remember the fallbacks that this server needs."""
        answer, refused = self._with_fallbacks(question, shared=shared)
        if not answer.failure:
            self.refused |= refused
            self._proven = True
        elif answer.usage and answer.pause is not None and not self._proven:
            # The format may be why it said nothing.
            self.refused |= {format_of(refused)} - {"words"}

        return answer

    def _with_fallbacks(
        self,
        question: Question,
        *,
        shared: bool,
        seconds: float = math.inf,
    ) -> tuple[Answer, frozenset[str]]:
        """Ask once, with the fallbacks that this server needs, and return what it refused, too.
        `seconds` are for all of it; each request has the server's time limit.
        """
        end = time.monotonic() + seconds
        options = set(self._options)
        if self._breakpoints:
            options |= CACHE_OPTIONS
        refused = self.refused
        while True:
            request = self.request(question, shared=shared, refused=refused)
            answer = self._post(request, min(self._seconds, end - time.monotonic()))
            form = format_of(refused)
            more = fallback(answer.objection, options - refused, form, proven=self._proven)
            if not more:
                break
            refused = refused.union(more)

        return answer, refused

    def _post(self, request: Mapping[str, Any], seconds: float) -> Answer:
        if seconds <= 0:
            return Answer(failure="does not answer in time", pause=math.inf)

        content = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
        try:
            # `chat.completions.create` would walk through the types of every field: half of a
            # call's processor time
            response = self._client.post(
                "/chat/completions",
                content=content,
                cast_to=httpx2.Response,
                options={"timeout": seconds},
            )
        except openai.APITimeoutError:
            return Answer(failure="does not answer in time", pause=math.inf)
        except openai.APIConnectionError as error:
            failure = self.quote(f"cannot be reached ({error.__cause__})", 200)
            return Answer(failure=failure, pause=0)
        except openai.APIStatusError as error:
            response = error.response

        reply: wire.HttpReply = response.extensions["reply"]
        try:
            body = json.loads(reply.body, parse_int=read_number)
            answer = interpret(reply.status, body, self.model)
        except (ValueError, RecursionError):  # some servers send their errors as plain text
            text = reply.body.decode(errors="replace").strip()
            is_plain = reply.status >= 400 and not text.startswith("<")
            body = {"message": text} if is_plain else None
            answer = interpret(reply.status, body, self.model)

        pause = answer.pause
        asked = re.fullmatch(r"\d+(?:\.\d+)?", reply.headers.get("Retry-After", "").strip())
        if asked and pause is not None:
            pause = min(float(asked[0]), 1e9)
        return answer._replace(failure=self.quote(answer.failure, 220), pause=pause)


@dataclass(frozen=True, slots=True)
class _Transport(httpx2.BaseTransport):
    """HTTP transport of openai's client: bounded, with our headers instead of what the client takes
    from the environment.

    The body is in the extension `reply`, and not where openai looks for it: it would decode the
    JSON of an error of any size, and obey any charset.
    """

    http: wire.Http
    headers: Mapping[str, str]

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            reply = self.http.request(
                request.method,
                str(request.url),
                self.headers,
                request.read(),
                seconds=request.extensions["timeout"]["read"],
            )
        except wire.NoReplyError as error:
            kind = httpx2.ReadTimeout if error.slow else httpx2.NetworkError
            raise kind(str(error), request=request) from None

        return httpx2.Response(reply.status, extensions={"reply": reply})

    def close(self) -> None:
        self.http.close()


def interpret(status: int, body: object, model: str) -> Answer:
    """Return the meaning of a reply; `body` is its decoded JSON, None if it held none."""
    error = at(body, "error")
    if not error and isinstance(body, dict) and "choices" not in body:
        error = body
    if status == 200 and not error:
        return _completion(body)

    parts = error if isinstance(error, dict) else {"message": error or ""}
    names = ("message", "detail", "param", "code", "status", "type")
    words = {name: one_line(str(parts.get(name) or "")) for name in names}
    code = f"{words['code']} {words['status']} {words['type']}"
    if status == 200:  # a gateway wraps the error of the server behind it
        within = re.search(r"\b[45]\d\d\b", code)
        status = int(within[0]) if within else 500
    message = words["message"] or words["detail"]
    refusal = f"{words['param']} {code} {message}"

    if status not in _TRANSIENT and _CONTEXT.search(refusal):
        fix = "lower LLM_BATCH_SIZE, or give the server a larger context"
        return Answer(
            failure=f"answers {status}: its context is too small for the prompt; {fix} ({message[:90]})"
        )

    meaning = status
    if status in {403, 429} and _NO_CREDIT.search(code):
        meaning = 402
    elif status == 405 or (status in _OBJECTIONS and _NO_MODEL.search(refusal)):
        meaning = 404
    elif status == 403 and _CONTENT.search(refusal):
        meaning = 400

    failure = f"answers {status}"
    if details := _FIXES.get(meaning, "").format(model=model) or message:
        failure += f": {details}"
    return Answer(
        failure=failure,
        pause=0 if meaning in _TRANSIENT or meaning >= 500 else None,
        objection=refusal if meaning in _OBJECTIONS else "",
    )


def _completion(body: object) -> Answer:
    if not isinstance(body, dict):
        failure = "answers with something that is not JSON; check OPENAI_BASE_URL"
        return Answer(failure=failure, pause=0)

    choice = at(body, "choices", 0)
    text = at(choice, "message", "content")
    if isinstance(text, list):  # in parts, as messages with pictures are
        text = "".join(str(at(part, "text") or "") for part in text)
    answer = Answer(
        text=text if isinstance(text, str) else "",
        usage=read_usage(at(body, "usage")),
    )

    finish = str(at(choice, "finish_reason"))
    if answer.text.strip():  # also if it was cut off: whole entries count
        return answer._replace(cut_off=_CUT_OFF) if finish == "length" else answer
    if at(choice, "message", "refusal"):
        return answer._replace(failure="refuses to answer")
    if reason := _NO_TEXT.get(finish):
        return answer._replace(failure=reason)
    return answer._replace(failure="answers with no text", pause=0)


def read_usage(usage: object) -> Usage:
    """Count the tokens of a call by the `usage` object of its reply; no tokens if the server does
    not count both kinds.

    A detail that is absent, or no number of tokens, counts as 0.
    """
    prompt = _count(usage, "prompt_tokens")
    completion = _count(usage, "completion_tokens")
    if prompt is None or completion is None:
        return Usage(calls=1)

    cached = _count(usage, "prompt_tokens_details", "cached_tokens") or 0
    written = _count(usage, "prompt_tokens_details", "cache_write_tokens") or 0
    reasoning = _count(usage, "completion_tokens_details", "reasoning_tokens") or 0
    cached = min(prompt, cached)
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        cached_tokens=cached,
        cache_write_tokens=min(prompt - cached, written),
        completion_tokens=completion,
        reasoning_tokens=min(completion, reasoning),
    )


def _count(usage: object, *path: str) -> int | None:
    value = at(usage, *path)
    fits = type(value) in {int, float} and 0 <= value <= MAX_TOKENS and value == int(value)
    return int(value) if fits else None


def at(value: Any, *path: str | int) -> Any:
    """Return what stands at a path of decoded JSON; None if nothing does."""
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value
