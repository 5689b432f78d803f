"""One HTTP exchange with a Chat Completions server through the `openai` package: no retries, no judgement.

The only file that imports `openai`, which takes 0.4 s: import this one when a scorer is made, not before.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import openai

from paperboy.scoring.costs import OPENAI_URL
from paperboy.scoring.verdicts import Exchange

CONNECT_SECONDS = 10.0
MAX_BYTES = 8_000_000  # of one answer; a day of papers at once would not come near


class Wire:
    """A connection pool to one server, safe to use from several threads.

    `timeout_seconds` holds for a whole exchange: openai's own limit holds for each read alone, so that a server that
    trickles its answer would keep us for ever. One that falls silent while it does is given up after twice that time.
    """

    def __init__(self, base_url: str, api_key: str, timeout_seconds: float) -> None:
        limits = httpx2.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds))
        self._client = openai.OpenAI(
            base_url=base_url or OPENAI_URL,  # else the client looks into the environment
            api_key=api_key or "none",  # servers without keys ignore it, the client insists on one
            max_retries=0,
            timeout=limits,
            http_client=_TimedClient(timeout_seconds, timeout=limits, follow_redirects=True),
        )

    def post(self, request: Mapping[str, Any]) -> Exchange:
        """The server's answer to one Chat Completions request, whatever it is."""
        try:
            answer = self._client.chat.completions.with_raw_response.create(**request)
        except openai.APIStatusError as error:
            return _exchange(error.response)
        except openai.APITimeoutError as error:
            unsent = isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.PoolTimeout)
            return Exchange(status=0, problem="does not answer in time", timed_out=True, unsent=unsent)
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            return Exchange(status=0, problem=f"cannot be reached ({_innermost(error)})")
        return _exchange(answer.http_response)

    def close(self) -> None:
        self._client.close()


class _TimedClient(httpx2.Client):
    """Reads an answer piece by piece, so that its time and size can be limited."""

    def __init__(self, seconds: float, **options: Any) -> None:
        super().__init__(**options)
        self._seconds = seconds

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        end = time.monotonic() + self._seconds
        response = super().send(request, **{**options, "stream": True})
        pieces, size = [], 0
        try:
            for piece in response.iter_bytes():
                pieces.append(piece)
                size += len(piece)
                if time.monotonic() > end:
                    raise httpx2.ReadTimeout("the answer took too long", request=request)
                if size > MAX_BYTES:
                    raise httpx2.ReadError("the answer is too large", request=request)
        finally:
            response.close()
        coded = {"content-encoding", "content-length", "transfer-encoding"}
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in coded]
        return httpx2.Response(response.status_code, headers=headers, content=b"".join(pieces), request=request)


def _exchange(response: httpx2.Response) -> Exchange:
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        body = _as_error(response)
    wait, date = response.headers.get("retry-after", ""), response.headers.get("date", "")
    return Exchange(status=response.status_code, body=body, retry_after=_seconds(wait, date))


def _as_error(response: httpx2.Response) -> object:
    """A plain sentence with an error status, in the form of an error object. None for a page or anything else."""
    text = response.text.strip()
    plain = response.status_code >= 400 and text and not text.startswith("<")
    return {"error": {"message": text[:500]}} if plain else None


def _seconds(retry_after: str, date: str) -> float | None:
    """Retry-After as seconds; a date is taken relative to the server's own `Date`."""
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - parsedate_to_datetime(date)).total_seconds())
    except (ValueError, TypeError):
        return None


def _innermost(error: BaseException) -> str:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return str(error) or type(error).__name__
