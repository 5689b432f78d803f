"""Heartbeat: a URL of the operator's monitoring, which raises an alarm if it is not fetched."""

import logging
from urllib.parse import urlsplit

from paperboy.edges.text import without_url
from paperboy.edges.wire import Http, NoReplyError
from paperboy.errors import PaperboyError
from paperboy.service.app import App

logger = logging.getLogger(__name__)

_SECONDS = 10.0
_MOST = 1_000_000  # bytes


def beat(app: App) -> None:
    """Fetch HEARTBEAT_URL unless a list is late or has failed.

    Errors are only logged, without the path, which is often a secret.
    """
    url = app.settings.heartbeat_url.value
    try:
        if not url or not app.status(app.home.lists).health.well:
            return
        http = Http(most=_MOST, proxy=app.proxy(url))
        code = http.request("GET", url, {}, seconds=_SECONDS).status
        problem = "" if 200 <= code < 300 else f"it answers {code}"
    except PaperboyError as error:
        logger.warning("no heartbeat: %s", error)
        return
    except NoReplyError as error:
        problem = without_url(str(error), url)

    if problem:
        host = urlsplit(url).hostname
        logger.warning("HEARTBEAT_URL at %s could not be fetched: %s", host, problem)
