"""The web room as a WSGI application: routes, what every answer carries, and the home in force.

No cookies, no scripts, and no change by GET: a token in the path is the only authority. Each
request opens the database anew, so that a restored backup is what the next one sees.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from datetime import date
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from werkzeug.exceptions import HTTPException, InternalServerError, ServiceUnavailable
from werkzeug.routing import BaseConverter, Map, Rule, ValidationError
from werkzeug.wrappers import Response

from paperboy.errors import ConfigError, PaperboyError
from paperboy.home.versions import Files, Fingerprint, Home
from paperboy.mail.templates import Templates
from paperboy.service.app import App
from paperboy.web import leaving
from paperboy.web.visit import BoundedRequest, Visit

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

logger = logging.getLogger(__name__)

_TOKEN = "<string(length=32):token>"  # noqa: S105

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer, Chromium would send `Origin: null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex, nofollow",
}
"""What every answer has, unless its page says something else."""


class _Day(BaseConverter):
    """A day, as 2026-11-20."""

    regex = r"\d{4}-\d{2}-\d{2}"

    def to_python(self, value: str) -> date:
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise ValidationError from error


class _Version(NamedTuple):
    """The home's files as they were read last."""

    seen: Fingerprint
    app: App  # of that home
    templates: Templates


class Room:
    """The application, for the home of `app`. It never makes a database. Raises ConfigError."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._lock = Lock()
        rules = [
            *(rule for feature in app.features if feature.pages for rule in feature.pages()),
            Rule("/robots.txt", endpoint=_robots),
            Rule(f"/leave/{_TOKEN}", endpoint=leaving.show, methods=["GET", "POST"]),
            Rule(f"/leave/{_TOKEN}/now", endpoint=leaving.now, methods=["POST"]),
            Rule(f"/leave/{_TOKEN}/undo", endpoint=leaving.undo, methods=["POST"]),
        ]
        self._map = Map(rules, converters={"day": _Day}, strict_slashes=False, merge_slashes=False)
        seen = Files(app.path).fingerprint()
        home, _ = Home.own_or_in_force(app.path, app.environ)  # at the start, that will do
        self._version = _Version(seen, app.at(home), Templates.load(home.folders("emails")))

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = BoundedRequest(environ)
        what = (
            "no page"  # the name of the page for the log, which shows no path: tokens are in paths
        )
        try:
            version = self.version()
            base = urlsplit(version.app.settings.web_url).path
            path = request.path
            if path.startswith(f"{base}/"):
                path = path.removeprefix(base)
            adapter = self._map.bind(
                "localhost", path_info=path or "/", default_method=request.method
            )
            handler, values = adapter.match()
            what = f"{handler.__module__.rpartition('.')[2]}.{handler.__name__.lstrip('_')}"

            store = version.app.open_store()
            if store is None and request.method == "POST":
                raise ServiceUnavailable(retry_after=3600)
            # Before the first morning the pages are there, and nothing can be kept.
            with store or self.app.store_in_memory() as store:
                visit = Visit(request, version.app.home, version.templates, store, self.app.clock())
                response: Response = handler(visit, **values)
        except HTTPException as error:
            response = self._failed(error)
        except PaperboyError as error:
            logger.error("%s: %s", what, error)
            response = self._failed(ServiceUnavailable(retry_after=60))
        except Exception:
            logger.exception("%s: this is a bug in Paperboy", what)
            response = self._failed(InternalServerError())

        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        method = (
            request.method if request.method in {"GET", "HEAD", "POST"} else "?"
        )  # a client may send any word
        logger.info("%s %s: %d", method, what, response.status_code)
        return response(environ, start_response)

    def _failed(self, error: HTTPException) -> Response:
        """Return a page for what went wrong; werkzeug's own where not even that can be made."""
        response = error.get_response()
        with suppress(PaperboyError):
            version = self.version()
            page = version.templates.web(
                "error", web_url=version.app.settings.web_url, code=response.status_code
            )
            response.set_data(page)
        return response

    def version(self) -> _Version:
        """Return the home, read again when a file has changed. The version before stays while
        another thread reads, and while a file is broken.
        """
        seen = Files(self.app.path).fingerprint()
        if self._version.seen == seen or not self._lock.acquire(blocking=False):
            return self._version
        try:
            home = Home.load(self.app.path, self.app.environ)
            self._version = _Version(
                seen, self.app.at(home), Templates.load(home.folders("emails"))
            )
        except ConfigError as error:
            logger.error("%s\nthe version before stays until that is fixed", error)
            self._version = self._version._replace(seen=seen)
        finally:
            self._lock.release()
        return self._version


def _robots(visit: Visit) -> Response:
    """Keep crawlers off pages with tokens. Those of public lists say themselves whether they are
    indexed.
    """
    base = urlsplit(visit.web_url).path
    lines = [
        "User-agent: *",
        *(f"Disallow: {base}/{page}/" for page in ("leave", "vote", "confirm", "digest")),
    ]
    headers = {"Cache-Control": "public, max-age=86400"}
    return Response("\n".join([*lines, ""]), headers=headers, mimetype="text/plain")
