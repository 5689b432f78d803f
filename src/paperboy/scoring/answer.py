"""Meaning of a Chat Completions server's reply: a text, or why there is none and what may cure that.

Servers differ in where they put the text, and in how they word and wrap their errors. What is
recognised here was reported of real ones: llama.cpp, vLLM, Ollama, LM Studio, LiteLLM, OpenRouter,
GitHub Models, Groq, xAI, Gemini and OpenAI. Pure functions, from decoded JSON to values.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple

from paperboy.edges.text import one_line, shortened
from paperboy.edges.wire import TRANSIENT
from paperboy.models import Usage
from paperboy.scoring.reply import read_number

MAX_TOKENS = 10**7  # that a call can have; a larger count is an error
MOST_QUOTED = 200  # characters of what a server says
MOST_READ = 20_000  # characters of an error that are searched


class Cause(StrEnum):
    """Cause of a failure: what has to change before the papers can be scored."""

    SIZE = "size"  # fewer papers in a call
    TIMEOUT = "timeout"  # the same, or fewer calls at once
    CONTENT = "content"  # the paper or the topics; others may pass
    SERVER = "server"  # the settings, or the server itself: no question would pass


class Answer(NamedTuple):
    """Meaning of a reply, or of its absence."""

    text: str = ""
    failure: str = ""  # completes the sentence "the LLM at … "; empty if there is a text
    cut_off: str = ""  # the same, of a text that is not whole: it counts if the text holds no score
    cause: Cause = Cause.CONTENT  # of the failure, or of a text that holds no score

    # Seconds before a retry, as far as the server says; None: a retry would not help.
    pause: float | None = None

    objection: str = ""  # the words of a refusal that may concern the request's format and options

    # None: no model worked on it; without tokens: the server counted nothing.
    usage: Usage | None = None

    thinks: bool = False  # the model reasons before it answers

    @property
    def prompt_tokens(self) -> int:
        """Return the prompt's tokens as the server counted them, 0 if it did not."""
        return self.usage.prompt_tokens if self.usage else 0


_OBJECTIONS = {400, 415, 422, 501}  # the status of a reply that may object to the request's options
_TRANSIENT = TRANSIENT | {409}  # 409: a lock timeout, which OpenAI's client retries, too

_CUT_OFF = (
    "answers, but the reply was cut off at the server's limit of tokens; "
    "lower LLM_BATCH_SIZE, or raise that limit"
)
_RAN_ON = (
    "answers, but the reply had no end within {cap:,} tokens, where Paperboy stops it; "
    "the model may repeat itself, or think too long"
)

# The context is too small: in the words of llama.cpp, vLLM, Ollama, LM Studio, LiteLLM and OpenAI.
_CONTEXT = re.compile(
    r"exceed_context_size|context_length_exceeded|context.?window.?exceeded|maximum context (?:length|size|window) is"
    r"|longer than the maximum model length"
    r"|(?:exceed|longer than|larger than|greater than|overflow).{0,80}\bcontext(?! (?:deadline|cancel))"
    r"|\bcontext (?:length|size|window).{0,60}(?:exceeded|not enough|too small)",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(
    r"context.?(?:length|window|size)|too (?:long|large|many tokens)"
    r"|maximum.{0,20}(?:tokens|length)|above_max_length|tokens_limit|max_new_tokens|must have less than \d+ tokens",
    re.IGNORECASE,
)
# With 429.
_TOO_LARGE_FOR_A_MINUTE = re.compile(r"request too large|must be reduced", re.IGNORECASE)
_CONTENT = re.compile(
    r"content.?(?:filter|policy|management|inspection)|moderation|flagged|safety|inappropriate",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model_not_found|(?:invalid|unknown|not a valid).?model|model\b.{0,80}(?:not found|not exist|not a valid|unknown)",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(
    r"api.?key.{0,20}(?:not valid|invalid|expired|incorrect)|(?:invalid|incorrect|expired).{0,10}api.?key",
    re.IGNORECASE,
)
_WRONG_PLACE = re.compile(
    r"(?:location|country|region|territory).{0,40}(?:not |un)supported",
    re.IGNORECASE,
)
# A chat template without a system role, as Gemma's; some say which roles they do know.
_NO_SYSTEM = re.compile(
    r"system.{0,3}(?:role|message|prompt|instruction).{0,40}(?:not|unsupported)"
    r"|(?:not support|unsupported|unknown|unexpected|invalid|only).{0,40}system.{0,3}(?:role|message|prompt)"
    r"|(?:not support|unsupported|unknown|unexpected|invalid|only).{0,40}role.{0,5}system"
    r"|developer instruction|roles must alternate|only user and assistant roles",
    re.IGNORECASE,
)

# In the code; the words may mention billing anyway.
_NO_CREDIT = re.compile(
    r"^[^|]*(?:insufficient_(?:quota|balance|funds|credit)|billing|_quota)", re.IGNORECASE
)
_ANY_WORDS = re.compile("")

# Statuses with which servers refuse, their words, the status that would have been right, and the
# cause. The first row that fits counts.
_MEANINGS = (
    ({413}, _ANY_WORDS, 413, Cause.SIZE),
    ({*range(400, 500)} - _TRANSIENT | {*range(500, 600)}, _CONTEXT, 413, Cause.SIZE),
    ({429}, _TOO_LARGE_FOR_A_MINUTE, 413, Cause.SIZE),
    ({408, 504, 524}, _ANY_WORDS, 504, Cause.TIMEOUT),  # a proxy's; 524 is Cloudflare's
    ({403, 429}, _NO_CREDIT, 402, Cause.SERVER),
    ({403}, _CONTENT, 400, Cause.CONTENT),
    ({405}, _ANY_WORDS, 404, Cause.SERVER),
    (_OBJECTIONS, _BAD_KEY, 401, Cause.SERVER),
    (_OBJECTIONS, _WRONG_PLACE, 403, Cause.SERVER),
    (_OBJECTIONS, _NO_MODEL, 404, Cause.SERVER),
    (_OBJECTIONS, _TOO_LARGE, 413, Cause.SIZE),
)

_WAIT = re.compile(
    r"(?:retry|again|wait)[^\d.]{0,20}?((?:\d+(?:\.\d+)?\s?(?:ms|h|m|s)[a-z]*,?\s?)+)",
    re.IGNORECASE,
)
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

_CONTEXT_FIX = "its context is too small for the prompt; lower LLM_BATCH_SIZE, or give the server a larger context"
_REDIRECTS = "it redirects; set OPENAI_BASE_URL in .env to the new address"
_FIXES = {  # by status: what an operator can do
    **dict.fromkeys((301, 302, 303, 307, 308), _REDIRECTS),
    401: "the key is refused; check OPENAI_API_KEY in .env",
    402: "the account has no credit left; add some there",
    403: "the key may not use this model; check both in .env",
    404: "it knows no model {model!r} at this address; check OPENAI_MODEL and OPENAI_BASE_URL in .env",
    413: "it takes fewer papers in a call; lower LLM_BATCH_SIZE",
    504: "a proxy did not wait for it; raise the proxy's time limit, or lower LLM_BATCH_SIZE",
}

Quote = Callable[[str, int], str]


def interpret(
    status: int,
    body: object,
    model: str,
    *,
    cap: int = 0,
    quote: Quote = shortened,
) -> Answer:
    """Return the meaning of a reply; `body` is its decoded JSON, None if it held none.

    `cap` is the limit of tokens that the request had, 0 for none. `quote` shortens the server's
    words and hides secrets in them.
    """
    if isinstance(body, list) and len(body) == 1:  # as Gemini wraps its errors
        (body,) = body

    error = at(body, "error")
    parts = error if isinstance(error, dict) else {"message": error}
    around = body if isinstance(body, dict) and body.get("choices") is None else {}
    said = (
        parts.get("message"),
        parts.get("detail"),
        at(parts, "metadata", "raw"),  # what the server behind OpenRouter said
        around.get("message"),
        around.get("detail"),
    )
    words = ": ".join(dict.fromkeys(one_line(str(part)) for part in said if part))
    names = ("code", "status", "type")
    code = " ".join(str(place.get(name) or "") for place in (parts, around) for name in names)

    if status == 200:
        answer = _completion(body, cap)
        if answer.text or not (words or code.strip()):  # a text counts, whatever stands beside it
            return answer

        # A gateway wraps the error of the server behind it.
        within = re.search(r"\b[45]\d\d\b", code)
        status = int(within[0]) if within else 500

    param = str(parts.get("param") or "")
    refusal = f"{code} | {param} | {words}"[:MOST_READ]
    meaning, cause = _meaning(status, refusal)

    advice = _FIXES.get(meaning, "").format(model=model)
    if cause is Cause.SIZE and _CONTEXT.search(refusal):
        advice = _CONTEXT_FIX
    failure = f"answers {status}"
    if advice:
        failure += f": {advice}"
    if words:
        failure += f"{'. It says' if advice else ''}: {quote(words, MOST_QUOTED)}"

    may_object = meaning in _OBJECTIONS or cause is Cause.SIZE or _NO_SYSTEM.search(refusal)
    is_transient = cause in {Cause.SERVER, Cause.TIMEOUT} and meaning in _TRANSIENT
    return Answer(
        failure=failure,
        cause=cause,
        pause=_wait(f"{refusal} {parts.get('details', '')}"[:MOST_READ]) if is_transient else None,
        objection=refusal if may_object and refusal.strip(" |") else "",
    )


def _meaning(status: int, refusal: str) -> tuple[int, Cause]:
    """Return the status that a refusal should have had, and its cause."""
    for statuses, words, meaning, cause in _MEANINGS:
        if status in statuses and words.search(refusal):
            return meaning, cause
    return status, Cause.CONTENT if status in {400, 415, 422} else Cause.SERVER


def _wait(words: str) -> float:
    """Return the seconds that an error asks to wait, as in "retryDelay: 34s" and "try again in
    1m2.5s"; 0 if it does not say.
    """
    found = _WAIT.search(words)
    if found is None:
        return 0.0
    parts = re.findall(r"(\d+(?:\.\d+)?)\s?(ms|h|m|s)", found[1], re.IGNORECASE)
    return sum(float(number) * _UNIT_SECONDS[unit.lower()] for number, unit in parts)


def lacks_system_role(refusal: str) -> bool:
    """Check whether a server refuses the role of the system message."""
    return bool(_NO_SYSTEM.search(refusal))


def is_too_large(refusal: str) -> bool:
    """Check whether a refusal concerns the size of a request."""
    return bool(_CONTEXT.search(refusal) or _TOO_LARGE.search(refusal))


def concerns_content(refusal: str) -> bool:
    """Check whether a refusal concerns what the papers or the topics say."""
    return bool(_CONTENT.search(refusal))


def _completion(body: object, cap: int) -> Answer:
    if not isinstance(body, dict):
        failure = "answers with something that is not JSON; check OPENAI_BASE_URL"
        return Answer(failure=failure, cause=Cause.SERVER, pause=0)

    choice = at(body, "choices", 0)
    message = at(choice, "message")
    finish = str(at(choice, "finish_reason"))
    usage = read_usage(at(body, "usage"))
    thoughts = at(message, "reasoning_content") or at(message, "reasoning")
    text = _text(message)
    thinks = bool(thoughts or usage.reasoning_tokens) or text.lstrip().startswith("<think>")
    if not text.strip() and finish == "stop" and "{" in str(thoughts):
        text = str(thoughts)  # some servers take all that a thinking model says for its thoughts
    answer = Answer(text=text, usage=usage, thinks=thinks)

    if finish == "length":
        ran_on = 0 < cap <= usage.completion_tokens
        answer = answer._replace(
            cut_off=_RAN_ON.format(cap=cap) if ran_on else _CUT_OFF,
            cause=Cause.CONTENT if ran_on else Cause.SIZE,
        )
    if text.strip():  # also if it was cut off: whole entries count
        return answer

    if at(message, "refusal"):
        failure = "refuses to answer"
    elif finish == "content_filter":
        failure = "filters the content"
    else:
        failure = answer.cut_off
    if not failure:
        return answer._replace(failure="answers with no text", pause=0)
    return answer._replace(failure=failure)


def _text(message: object) -> str:
    """Return what a message says: its content as text, in parts or as an object, else the arguments
    of a tool's call.
    """
    content = at(message, "content") or at(message, "tool_calls", 0, "function", "arguments")
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # in parts, as messages with pictures are
        parts = [str(at(part, "text") or "") for part in content]
        if any(parts):
            return "".join(parts)
    return json.dumps(content, ensure_ascii=False) if content else ""


def joined(stream: str) -> object:
    """Join the events of a streamed reply into the body that it would have had unstreamed. Raises
    ValueError for what is no such stream.

    Some gateways stream whether asked or not.
    """
    said = defaultdict[str, str](str)
    finish = None
    usage = None
    events = 0
    for line in stream.split("\n"):
        data = line.strip().removeprefix("data:").strip()
        if not line.startswith("data:") or data == "[DONE]":
            continue

        event = json.loads(data, parse_int=read_number)
        events += 1
        if at(event, "error"):
            return event
        choice = at(event, "choices", 0)
        delta = at(choice, "delta") or at(choice, "message")
        for name in ("content", "reasoning_content", "reasoning", "refusal"):
            said[name] += str(at(delta, name) or "")
        said["arguments"] += str(at(delta, "tool_calls", 0, "function", "arguments") or "")
        finish = at(choice, "finish_reason") or finish
        usage = at(event, "usage") or usage

    if not events:
        raise ValueError("no event")
    call = {"function": {"arguments": said.pop("arguments")}}
    message = {**said, "tool_calls": [call]}
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


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
    if cached > prompt:  # some servers count cached tokens apart
        prompt += cached
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
