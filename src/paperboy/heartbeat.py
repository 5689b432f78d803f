"""The heartbeat: a URL of the operator's monitoring, which raises the alarm when nobody fetches it any more."""

import logging
from urllib.parse import urlsplit

from paperboy.foreign import without_url
from paperboy.wire import Http, NoReplyError

logger = logging.getLogger(__name__)

_SECONDS = 10.0
_MOST = 1_000_000  # bytes


def beat(url: str, proxy: str = "") -> None:
    """Fetch it. A failure is only logged, without the path, which is often a secret."""
    try:
        status = Http(most=_MOST, proxy=proxy).request("GET", url, {}, seconds=_SECONDS).status
        problem = "" if 200 <= status < 300 else f"it answers {status}"
    except NoReplyError as error:
        problem = without_url(str(error), url)
    if problem:
        logger.warning("HEARTBEAT_URL at %s could not be fetched: %s", urlsplit(url).hostname, problem)
