"""The heartbeat: a URL of the operator's monitoring, which raises the alarm when nobody fetches it any more."""

import logging
from urllib.parse import urlsplit

from paperboy.edges.text import without_url
from paperboy.edges.wire import Http, NoReplyError
from paperboy.errors import PaperboyError
from paperboy.reports import status
from paperboy.service.app import App

logger = logging.getLogger(__name__)

_SECONDS = 10.0
_MOST = 1_000_000  # bytes


def beat(app: App) -> None:
    """Fetch HEARTBEAT_URL unless a list is late or has failed. Errors are only logged."""
    url, lists, holidays = app.settings.heartbeat_url.get_secret_value(), app.home.lists, app.settings.arxiv_holidays
    try:
        if url and status.read(app.store, lists, app.clock(), app.patience, holidays).health.well:
            _fetch(url, app.proxy(url))
    except PaperboyError as error:
        logger.warning("no heartbeat: %s", error)


def _fetch(url: str, proxy: str) -> None:
    """Fetch it. A failure is logged without the path, which is often a secret."""
    try:
        answer = Http(most=_MOST, proxy=proxy).request("GET", url, {}, seconds=_SECONDS).status
        problem = "" if 200 <= answer < 300 else f"it answers {answer}"
    except NoReplyError as error:
        problem = without_url(str(error), url)
    if problem:
        logger.warning("HEARTBEAT_URL at %s could not be fetched: %s", urlsplit(url).hostname, problem)
