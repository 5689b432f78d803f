"""The site as a WSGI application: routes, headers, and the version of the home in force.

No cookies, no scripts, and GET changes nothing: the only authorisation is a token in the path.
Each request opens the database anew, so that a restored backup takes effect at once.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import date
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from werkzeug.exceptions import HTTPException, InternalServerError, ServiceUnavailable
from werkzeug.routing import BaseConverter, Map, Rule, ValidationError
from werkzeug.wrappers import Request, Response

from paperboy import __version__
from paperboy.edges import lock
from paperboy.errors import ConfigError, PaperboyError
from paperboy.home.home import Home
from paperboy.home.watcher import Watcher
from paperboy.mail.templates import Templates
from paperboy.service.app import App
from paperboy.web import leaving
from paperboy.web.visit import Visit, common_language, rendered

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
"""Headers of every answer, unless its page sets its own."""


class _Day(BaseConverter):
    """Day in a path, as 2026-11-20."""

    regex = r"\d{4}-\d{2}-\d{2}"

    def to_python(self, value: str) -> date:
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise ValidationError from error


class _Version(NamedTuple):
    """Version of the home's files, as last read."""

    app: App
    name: str


class Site:
    """WSGI application for the home of `app`. It never creates a database. Raises ConfigError."""

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
        self._watcher = Watcher(app.path, app.timer)
        home, _ = Home.own_or_in_force(app.path, app.environ)
        if lock.holder(home.settings.paperboy_database, "run"):
            home = Home.in_force(app.path, app.environ)
        self._version = self._of(home)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        page = "no page"  # for the log, which omits paths since they hold tokens
        try:
            app, version = self.version()
            base = urlsplit(app.settings.web_url).path
            path = request.path
            if path.startswith(f"{base}/"):
                path = path.removeprefix(base)

            adapter = self._map.bind(
                "localhost", path_info=path or "/", default_method=request.method
            )
            handler, values = adapter.match()
            page = f"{handler.__module__.rpartition('.')[2]}.{handler.__name__.lstrip('_')}"

            store = app.open_store()
            if store is None and request.method == "POST":
                raise ServiceUnavailable(retry_after=3600)
            # Before the first morning there is no database: pages are shown, nothing is kept.
            with store or self.app.store_in_memory() as store:
                visit = Visit(
                    request=request,
                    home=app.home,
                    templates=app.templates,
                    store=store,
                    now=self.app.clock(),
                    version=version,
                )
                response: Response = handler(visit, **values)
        except HTTPException as error:
            response = self._error_page(error)
        except PaperboyError as error:
            logger.error("%s: %s", page, error)
            response = self._error_page(ServiceUnavailable(retry_after=60))
        except Exception:
            logger.exception("%s: this is a bug in Paperboy", page)
            response = self._error_page(InternalServerError())

        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        is_usual = request.method in {"GET", "HEAD", "POST"}  # a client may send any word
        method = request.method if is_usual else "?"
        logger.info("%s %s: %d", method, page, response.status_code)
        return response(environ, start_response)

    def _error_page(self, error: HTTPException) -> Response:
        """Return an error page; werkzeug's own if ours cannot be rendered."""
        response = error.get_response()
        app, _ = self.version()
        web_url = app.settings.web_url
        code = response.status_code

        def render(templates: Templates) -> str:
            language = common_language(app.home.lists)
            return templates.web("error", language, web_url=web_url, code=code)

        with suppress(PaperboyError):
            response.set_data(rendered(app.home, app.templates, render))
        return response

    def version(self) -> _Version:
        """Return the current version, reloaded if the files have changed; the previous one while
        another thread reloads, and while a file is broken.
        """
        if not self._lock.acquire(blocking=False):
            return self._version
        try:
            if source := self._watcher.newer(self._version.app.home):
                home = Home.load(self.app.path, self.app.environ, source)
                self._version = self._of(home)
        except ConfigError as error:
            logger.error("%s\nthe previous version stays in force until that is fixed", error)
        finally:
            self._lock.release()
        return self._version

    def _of(self, home: Home) -> _Version:
        app = self.app.at(home)
        # The hash of a date differs between processes, and so does the order of a set of them.
        lists = [
            replace(mailing_list, subscribers=(), holidays=frozenset())
            for mailing_list in home.lists
        ]
        shown = (
            __version__,
            app.templates.texts,
            app.templates.brand,
            home.settings.web_url,
            lists,
        )
        return _Version(app, hashlib.sha256(repr(shown).encode()).hexdigest())


def _robots(visit: Visit) -> Response:
    """Keep crawlers off pages with tokens. Pages of public lists say themselves whether they may be
    indexed.
    """
    base = urlsplit(visit.web_url).path
    lines = ["User-agent: *"]
    lines += [f"Disallow: {base}/{page}/" for page in ("leave", "vote", "confirm", "digest")]
    headers = {"Cache-Control": "public, max-age=86400"}
    return Response("\n".join([*lines, ""]), headers=headers, mimetype="text/plain")
