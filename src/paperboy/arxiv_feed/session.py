"""One request to arXiv: under our name, with a time limit, and every way in which it can fail told apart."""

from __future__ import annotations

import io
import re
from email.utils import parsedate_to_datetime
from typing import Any

import requests
from requests.structures import CaseInsensitiveDict

from paperboy import __version__
from paperboy.arxiv_feed.page import FaultError, Head, check_page, one_line, refusal


class PoliteSession(requests.Session):
    """What the package asks through. Raises `FaultError` for anything but a whole page of papers."""

    def __init__(self, contact: str, timeout: tuple[float, float]) -> None:
        super().__init__()
        self._user_agent = user_agent(contact)
        self._timeout = timeout
        self.head_of_page = Head(0, 0)

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **options: Any) -> requests.Response:
        """One request. The response holds a checked page; `head_of_page` tells what is on it."""
        headers = CaseInsensitiveDict(options.pop("headers", None) or {})  # the package names itself here
        headers["User-Agent"] = self._user_agent
        options |= {"headers": headers, "timeout": self._timeout}
        try:
            response = super().request(method, url, *args, **options)
        except requests.RequestException as error:
            raise _no_answer(error, self._timeout) from error
        _check_status(response)
        self.head_of_page, body = check_page(response.content)
        checked = requests.Response()
        checked.status_code, checked.url, checked.raw = response.status_code, response.url, io.BytesIO(body)
        return checked


def user_agent(contact: str) -> str:
    """Our name, as arXiv wishes, without what a header cannot hold."""
    safe = "".join(character for character in contact if character.isascii() and character.isprintable())
    return f"paperboy/{__version__} (arXiv e-mail digests{'; ' if safe else ''}{safe})"


def _no_answer(error: requests.RequestException, timeout: tuple[float, float]) -> FaultError:
    if isinstance(
        error, requests.exceptions.InvalidURL | requests.exceptions.MissingSchema | requests.exceptions.InvalidSchema
    ):
        return FaultError("cannot be asked", "ARXIV_API_URL is not a web address.", final=True)
    if isinstance(error, requests.exceptions.ReadTimeout):
        return FaultError(f"did not answer within {timeout[1]:g} s")
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return FaultError(f"broke off its answer ({_innermost(error)})")
    return FaultError(f"could not be reached ({_innermost(error)})", "Check the network and ARXIV_API_URL.")


def _innermost(error: BaseException) -> str:
    """The cause that says most: requests and urllib3 wrap it in addresses and pools."""
    while error.__context__ is not None:
        error = error.__context__
    return one_line(str(error)) or type(error).__name__


def _check_status(response: requests.Response) -> None:
    status = response.status_code
    if status == 200:
        return
    says = refusal(response.content) or one_line(re.sub(r"<[^>]*>", " ", response.text[:2_000]))
    what = f"answered HTTP {status}" + (f" ({says})" if says else "")
    if status in {408, 425, 429} or status >= 500:
        raise FaultError(what, busy=status in {429, 503}, retry_after=_retry_after(response))
    hints = {
        400: "Check the categories in subscribers.yaml.",
        403: "arXiv may have blocked this address: let it rest for some hours.",
    }
    raise FaultError(what, hints.get(status, "Check ARXIV_API_URL."), final=True)


def _retry_after(response: requests.Response) -> float:
    """Seconds; a date counts from the server's own clock. 0 if there is none that can be read."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(response.headers["Date"])
    except (KeyError, TypeError, ValueError):
        return 0.0
    return wait.total_seconds()
