"""What one exchange with a Chat Completions server means: its words, its errors, its refusals. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from paperboy.models import Usage
from paperboy.scoring.costs import read_usage


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one HTTP request came to."""

    status: int  # 0: no answer at all
    body: Any = None  # decoded JSON; None where the answer was none
    retry_after: float | None = None  # seconds
    problem: str = ""  # why there was no answer
    timed_out: bool = False
    unsent: bool = False  # the server never heard of it


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
    cut_short: bool = False  # by the limit on its tokens, before the first word
    certain: bool = False  # hopeless whatever is asked: the key, the credit
    unsent: bool = False  # the server never heard of it


MENTIONS_FORMAT = re.compile(
    r"response_?format|json_?schema|json_?object|structured.?output|grammar|guided", re.IGNORECASE
)
MENTIONS_CONTENT = re.compile(
    r"content.?(?:filter|policy|management|inspection)|moderation|flagged|safety|inappropriate"
    r"|context.?(?:length|window|size)|too (?:long|large|many tokens)|maximum.{0,20}(?:tokens|length)|above_max_length",
    re.IGNORECASE,
)
NO_SUCH_MODEL = re.compile(
    r"model_not_found|(?:invalid|unknown|not a valid).?model|model\b.{0,80}(?:not found|not exist|not a valid|unknown)",
    re.IGNORECASE,
)
_OUT_OF_CREDIT = re.compile(
    r"insufficient.?(?:quota|balance|credit|funds)|billing|exceeded your current quota", re.IGNORECASE
)


def judge(exchange: Exchange, *, model: str, secret: str = "") -> Answer:
    """What an exchange means, when the way we asked is not at fault."""
    if exchange.status == 0:
        reason = _one_line(exchange.problem, secret)
        return Answer(Verdict.FAILED, reason=reason, timed_out=exchange.timed_out, unsent=exchange.unsent)
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
        reason = "runs out of tokens before it answers"
        return replace(answer, verdict=Verdict.REFUSED, reason=reason, cut_short=True)
    return replace(answer, verdict=Verdict.FAILED, reason="answers with no text")


def _judge_error(status: int, error: Mapping[str, Any], exchange: Exchange, *, model: str, secret: str) -> Answer:
    message = _one_line(error.get("message"), secret)
    said = all_said(error)
    reason = f"answers {status}" + (f": {message}" if message else "")
    if status == 402 or (status in {403, 429} and _out_of_credit(error)):
        broke = f"answers {status}: the account has no credit left; add some there"
        return Answer(Verdict.HOPELESS, reason=broke, certain=True)
    if status == 401:
        refused = "answers 401: the key is refused; check OPENAI_API_KEY in .env"
        return Answer(Verdict.HOPELESS, reason=refused, certain=True)
    if status == 403 and not MENTIONS_CONTENT.search(said):
        return Answer(Verdict.HOPELESS, reason="answers 403: the key may not use this model; check both in .env")
    if status in {404, 405} or (status in {400, 422} and NO_SUCH_MODEL.search(said)):
        hint = f"it knows no model {model!r} at this address; check OPENAI_MODEL and OPENAI_BASE_URL in .env"
        return Answer(Verdict.HOPELESS, reason=f"answers {status}: {hint}")
    if status in {408, 409, 425, 429} or status >= 500:
        return Answer(Verdict.FAILED, reason=reason, retry_after=exchange.retry_after)
    return Answer(Verdict.REFUSED, reason=reason)


def _out_of_credit(error: Mapping[str, Any]) -> bool:
    """By the error's code where it has one: the words of an ordinary rate limit may speak of billing, too."""
    coded = " ".join(str(error.get(key) or "") for key in ("code", "type"))
    if re.search(r"insufficient|billing|quota", coded, re.IGNORECASE):
        return True
    return "rate_limit" not in coded and bool(_OUT_OF_CREDIT.search(str(error.get("message") or "")))


def refusal_of(exchange: Exchange) -> Mapping[str, Any] | None:
    """The error object of an answer that may object to the way we ask."""
    error = _error(exchange.body)
    status = _status_within(error) if exchange.status == 200 and error is not None else exchange.status
    if status in {400, 422}:
        return error or {}
    # Some servers have another status for a format that they do not know; then only their words tell.
    tells = status >= 400 and status not in {401, 402, 403, 408, 409, 425, 429, 502, 503, 504}
    return error if tells and error and MENTIONS_FORMAT.search(all_said(error)) else None


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


def all_said(error: Mapping[str, Any]) -> str:
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
    text = "".join(char for char in " ".join(str(value or "").split()) if char.isprintable())
    if secret:
        text = text.replace(secret, "…")
    return text if len(text) <= 200 else text[:199] + "…"
