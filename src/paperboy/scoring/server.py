"""One question to a Chat Completions server: the request, its fallbacks, and the answer.

Servers differ in what they accept. The first request carries every option; `fallback` chooses what
to leave out after a refusal, and the server remembers it for the process, which is one morning.
This is the only module that imports `openai`, which takes 0.4 s.
"""

import hashlib
import json
import logging
import math
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from paperboy.edges import wire
from paperboy.edges.text import SENTENCE_END, hidden, last_end, one_line, shortened
from paperboy.errors import CREDENTIAL
from paperboy.scoring.answer import (
    Answer,
    Cause,
    concerns_content,
    interpret,
    is_too_large,
    joined,
    lacks_system_role,
)
from paperboy.scoring.prices import OPENAI_URL
from paperboy.scoring.prompt import Question
from paperboy.scoring.reply import read_number

TRIES = 4
LONGEST_WAIT = 120.0  # seconds; no retry if a server asks for more
MAX_BYTES = 8_000_000  # of one reply: thoughts may come before the scores, each token in an event

# Off OpenAI, where nothing else may end a model that repeats itself: tokens of a reply, with room
# to think.
CAP = 8_000
CAP_PER_PAPER = 300

# A prompt has fewer characters than this for each token that a server counts, or it was cut: English
# has 4 to 6, TeX 2, Chinese 1.
MOST_PER_TOKEN = 7

_CUT_PROMPT = (
    "answers, but cut the prompt: it counted only {tokens:,} tokens for {characters:,} characters; "
    "give the server a larger context (Ollama's num_ctx), or lower LLM_BATCH_SIZE"
)

FORMATS = ("json_schema", "json_object", "words")  # of a reply, in order of preference

# If one is refused, all are left out.
CACHE_OPTIONS = {
    "prompt_cache_options",
    "prompt_cache_key",
    "prompt_cache_breakpoint",
}

# Prompt caches take 1,024 tokens or more, which no shorter text of English has.
MIN_CACHED_BYTES = 4_000

_BOUNDS = "bounds"  # the option of a schema that says how many scores there are
_SYSTEM = "system"  # the option of a message of its own for the rubric
_OPTIONS = {  # what a request can leave out, and how refusals name it
    # Not in the name of a model, as kimi-k2-thinking is.
    "reasoning_effort": re.compile(
        r"reasoning.?effort|(?<![\w-])think(?:ing)?\b(?!-)", re.IGNORECASE
    ),
    "service_tier": re.compile(r"service.?tier", re.IGNORECASE),
    "temperature": re.compile(r"temperature", re.IGNORECASE),
    "max_tokens": re.compile(
        r"max.?(?:completion.?|output.?|new.?)?tokens|in the (?:completion|output)", re.IGNORECASE
    ),
    _BOUNDS: re.compile(r"m(?:in|ax).?items", re.IGNORECASE),
    **{name: re.compile(name) for name in CACHE_OPTIONS},
}
_FORMAT = re.compile(
    r"response_?format|json_?schema|json_?object|structured.?output|grammar|guided",
    re.IGNORECASE,
)


def format_of(refused: Collection[str]) -> str:
    """Return the first format that a server did not refuse."""
    return next(name for name in FORMATS if name not in refused)


def _format(form: str, question: Question, *, bounds: bool) -> Mapping[str, Any]:
    """Return what a request for that format has; `bounds`: with the number of scores."""
    if form == "words":
        return {}
    if form == "json_object":
        return {"response_format": {"type": form}}

    schema = question.schema
    ((name, array),) = schema["properties"].items()
    if bounds and question.papers:
        array = {**array, "minItems": 1, "maxItems": question.papers}
        schema = {**schema, "properties": {name: array}}
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
    named = [name for name in options if name in _OPTIONS and _OPTIONS[name].search(refusal)]
    if named:
        return named
    if _FORMAT.search(refusal) and "json_validate_failed" not in refusal:  # Groq's, of one reply
        return {form} - {"words"}
    if _SYSTEM in options and lacks_system_role(refusal):
        return [_SYSTEM]
    if is_too_large(refusal):  # some limits count the tokens that a reply may have
        return {"max_tokens"}.intersection(options)
    if not refusal or proven or concerns_content(refusal):
        return ()

    unnamed = [name for name in options if name != _SYSTEM]
    return unnamed or {form} - {"words"}


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
        headers: Mapping[str, str] = MappingProxyType({}),
        proxy: str = "",
        connections: int = 8,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        # At the level of OPENAI_LOG it would log prompts.
        logging.getLogger("openai").setLevel(logging.WARNING)

        self.model = model
        self.refused = frozenset[str]()  # formats and options that this server does not accept
        # A server may repeat a header without its scheme, as in "Bearer …".
        credentials = [
            re.sub(r"^(?:Bearer|Basic|Token) +", "", value) for value in headers.values()
        ]
        secrets = {api_key, *headers.values(), *credentials}
        self._secrets = sorted(secrets, key=len, reverse=True)  # one may contain another
        self._wait = wait
        self._seconds = timeout_seconds
        self._connections = connections
        self._proven = False  # it has answered once
        self._read = set[str]()  # beginnings of prompts that it has read whole

        url = base_url or OPENAI_URL
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        # Without the user, password and query of the URL, which could be secret.
        self.place = f"{parts.scheme}://{parts.hostname}{port}{parts.path}"

        self.at_openai = f".{parts.hostname}".endswith(".api.openai.com")
        if breakpoints is None:
            version = re.match(r"(?:ft:)?gpt-(\d+)(?:\.(\d+))?", model)
            numbers = (int(version[1]), int(version[2] or 0)) if version else (0, 0)
            breakpoints = self.at_openai and numbers >= (5, 6)

        self._breakpoints = breakpoints

        self._options: dict[str, Any] = {}
        if reasoning_effort:
            self._options["reasoning_effort"] = reasoning_effort
        if service_tier:
            self._options["service_tier"] = service_tier
        if not self.at_openai:  # the same paper gets the same score; OpenAI's models refuse it
            self._options["temperature"] = 0

        http = wire.Http(
            most=MAX_BYTES,
            proxy=proxy,
            connections=connections,
        )
        ours = {
            "User-Agent": f"OpenAI/Python {openai.__version__}",
            "Content-Type": "application/json",
        }
        if api_key:
            ours["Authorization"] = f"Bearer {api_key}"
        theirs = {name.lower() for name in headers}
        kept = {name: value for name, value in ours.items() if name.lower() not in theirs}
        self._client = openai.OpenAI(
            base_url=url,
            api_key="none",  # the client insists on one; the transport has ours
            max_retries=0,
            http_client=httpx2.Client(
                transport=_Transport(http, {**kept, **headers}),
                trust_env=False,
            ),
        )

    def quote(self, words: str, most: int) -> str:
        """Quote the server in one short printable line, cut after a sentence if possible, and
        without our secrets.
        """
        text = self.hidden(one_line(words))
        end = last_end(text, most, SENTENCE_END, most // 3) if len(text) > most else 0
        return text[:end] or shortened(text, most)

    def hidden(self, words: str) -> str:
        """Return the words without our key and headers."""
        for secret in self._secrets:
            words = hidden(words, secret)
        return words

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
        """Return all answers, refusals of options among them. The last one counts; earlier ones may
        have cost tokens, too.

        `shared`: other questions of the same prefix are asked. There are no further tries once
        `stopped` is true (it never is by default: bool() is False). A timeout is not retried: the
        caller asks for fewer papers.
        """
        answers = self._converse(question, shared=shared)
        for number in range(tries - 1):
            pause = answers[-1].pause
            is_late = answers[-1].cause is Cause.TIMEOUT and number  # a gateway's, once more
            if pause is None or pause > LONGEST_WAIT or is_late or stopped():
                break
            self._wait(max(pause, 2.0**number))
            if not stopped():
                answers += self._converse(question, shared=shared)

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
        if not self.at_openai and "max_tokens" not in refused:
            options["max_tokens"] = CAP + CAP_PER_PAPER * question.papers
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
        if _SYSTEM in refused:
            text = f"{question.system}\n\n{question.shared}\n\n{question.own}"
            messages = [{"role": "user", "content": text}]

        has_bounds = not self.at_openai and _BOUNDS not in refused
        form = _format(format_of(refused), question, bounds=has_bounds)
        return {"model": self.model, "messages": messages, **options, **form}

    def ask_once(self, question: Question, seconds: float) -> Answer:
        """Return one answer within so many seconds, fallbacks included. Refusals are not remembered
        for later questions.
        """
        answers, _ = self._with_fallbacks(question, shared=False, seconds=seconds)
        return answers[-1]

    def _converse(self, question: Question, *, shared: bool) -> list[Answer]:
        """Ask once, and remember the fallbacks that this server needs."""
        answers, refused = self._with_fallbacks(question, shared=shared)
        answer = answers[-1]
        self.refused |= refused & {"max_tokens"}  # not again for each batch that is too large
        if not answer.failure:
            self.refused |= refused
            self._proven = True
            if answer.thinks:  # always the likeliest token makes such models repeat themselves
                self.refused |= {"temperature"}
            answers[-1] = self._whole(question, answer)
        elif answer.usage and answer.pause is not None and not self._proven:
            # The format may be why it said nothing.
            self.refused |= {format_of(refused)} - {"words"}

        return answers

    def _whole(self, question: Question, answer: Answer) -> Answer:
        """Return the answer, or a failure if the server truncated the prompt silently: it counts too
        few tokens for it.

        Some servers leave cached tokens out of the count, so a shared beginning is expected in the
        count only until a prompt that has it was read whole. A single paper always counts as whole,
        since caching explains any count.
        """
        counted = answer.prompt_tokens
        beginnings = {question.system, f"{question.system}{question.shared}"}
        characters = len(question.own)
        if question.system not in self._read:
            characters += len(question.system)
        if not beginnings <= self._read:
            characters += len(question.shared)

        if question.papers > 1 and 0 < counted * MOST_PER_TOKEN < characters:
            failure = _CUT_PROMPT.format(tokens=counted, characters=characters)
            return answer._replace(text="", failure=failure, cause=Cause.SIZE)

        self._read |= beginnings
        return answer

    def _with_fallbacks(
        self,
        question: Question,
        *,
        shared: bool,
        seconds: float = math.inf,
    ) -> tuple[list[Answer], frozenset[str]]:
        """Ask once, with the fallbacks that this server needs. Return all answers, and what it
        refused. `seconds` are for all of it; each request has the server's time limit.
        """
        end = time.monotonic() + seconds
        late = self._late
        if seconds < self._seconds:
            late = f"does not answer within {seconds:g} s"
        options = {*self._options, _SYSTEM}
        if not self.at_openai:
            options |= {"max_tokens", _BOUNDS}
        if self._breakpoints:
            options |= CACHE_OPTIONS

        answers = list[Answer]()
        refused = self.refused
        while True:
            request = self.request(question, shared=shared, refused=refused)
            left = min(self._seconds, end - time.monotonic())
            answer = self._post(request, left)
            if answer.cause is Cause.TIMEOUT and not answer.failure:
                answer = answer._replace(failure=late)
            answers.append(answer)

            form = format_of(refused)
            more = fallback(answer.objection, options - refused, form, proven=self._proven)
            if not more:
                return answers, refused
            refused = refused.union(more)

    @property
    def _late(self) -> str:
        fix = "raise LLM_TIMEOUT_SECONDS or lower LLM_BATCH_SIZE"
        if self._connections > 1:
            slots = f"set LLM_CONCURRENCY to the server's slots (now {self._connections})"
            fix = f"{slots}, {fix}"
        return f"does not answer within {self._seconds:g} s; {fix}"

    def _post(self, request: Mapping[str, Any], seconds: float) -> Answer:
        """Return the answer to one request. A timeout has no words yet."""
        if seconds <= 0:
            return Answer(cause=Cause.TIMEOUT)

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
            return Answer(cause=Cause.TIMEOUT)
        except openai.APIConnectionError as error:
            failure = self.quote(f"cannot be reached ({error.__cause__})", 200)
            return Answer(failure=failure, cause=Cause.SERVER, pause=0)
        except openai.APIStatusError as error:
            response = error.response

        reply: wire.HttpReply = response.extensions["reply"]
        text = reply.body.decode("utf-8-sig", errors="replace").strip()
        read = partial(
            interpret,
            reply.status,
            model=self.model,
            cap=request.get("max_tokens", 0),
            quote=self.quote,
        )
        try:
            is_stream = text.startswith(("data:", "event:", ":"))
            body = joined(text) if is_stream else json.loads(text, parse_int=read_number)
            answer = read(body)
        except (ValueError, RecursionError):  # some servers send their errors as plain text
            is_plain = reply.status >= 400 and not text.startswith("<")
            answer = read({"message": text} if is_plain else None)

        if reply.status == 401 and not self._secrets[0]:
            answer = answer._replace(failure=f"{answer.failure.rstrip('.')}. {CREDENTIAL}")
        if answer.pause is not None:
            answer = answer._replace(pause=max(answer.pause, wire.retry_after(reply.headers)))
        return answer


@dataclass(frozen=True, slots=True)
class _Transport(httpx2.BaseTransport):
    """HTTP transport of openai's client: bounded, with our headers instead of what the client takes
    from the environment.

    The body is in the extension `reply`, and not where openai looks for it: it would decode the
    JSON of an error of any size, and obey any charset.
    """

    http: wire.Http
    headers: Mapping[str, str] = field(repr=False)  # secrets

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
