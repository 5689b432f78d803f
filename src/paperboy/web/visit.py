"""A request to the site, what it needs, and the answers that all pages share."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Request, Response

from paperboy import topics
from paperboy.errors import ConfigError, StoreError
from paperboy.home.home import Home
from paperboy.mail import archive
from paperboy.mail.templates import Templates
from paperboy.models import Archived, Digest, MailingList
from paperboy.store import Store

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Visit:
    """One request. Its store is open until the answer."""

    request: Request
    home: Home
    templates: Templates
    store: Store
    now: datetime
    version: str  # changes with the templates, the lists and the address of the site

    @property
    def web_url(self) -> str:
        """Return WEB_URL, the base of every link; the Host header is ignored."""
        return self.home.settings.web_url

    def list_url(self, mailing_list: MailingList) -> str:
        """Return the list's page, or an empty string if it is not public."""
        return f"{self.web_url}/list/{mailing_list.name}" if mailing_list.is_public else ""

    def join_url(self, mailing_list: MailingList) -> str:
        """Return the list's sign-up page, or an empty string if it takes no sign-ups."""
        takes = mailing_list.open and not mailing_list.paused
        return f"{self.web_url}/list/{mailing_list.name}/join" if takes else ""

    @staticmethod
    def looks_for(mailing_list: MailingList) -> str:
        """Return the list's topics in one line: their names if there are several, else their
        text; empty if a library replaces them, or if the list only follows authors.
        """
        wanted = topics.read(mailing_list.topics)
        texts = (block.text for block in wanted.blocks if block.kind != "heading")
        return " · ".join(wanted.names if len(wanted.names) > 1 else texts)

    def thaw(self, archived: Archived) -> Digest:
        """Return a frozen digest, loaded. Raises StoreError if it is damaged."""
        try:
            return archive.load(archived.shown, self.store.papers.by_id)
        except (ValueError, KeyError, TypeError) as error:
            name = f"{archived.list_name} of {archived.date}"
            raise StoreError(
                f"the page of the digest {name} is damaged; its mail is not: {error!r}"
            ) from error

    @property
    def from_a_click(self) -> bool:
        """Check whether a person may have pressed the button.

        Browsers send Sec-Fetch-User only with a real click; if a script submits the form, they
        send the other Fetch Metadata without it. Old clients send none.
        """
        headers = self.request.headers
        site = headers.get("Sec-Fetch-Site")
        if site is None:
            return True
        return site in {"same-origin", "none"} and headers.get("Sec-Fetch-User") == "?1"

    def unless_known(
        self, state: Sequence[object], make: Callable[[], Response], cache: str
    ) -> Response:
        """Return what `make` renders, with an ETag; or 304, without rendering, if the visitor has
        it. `state` is everything in the database that the page depends on; titles of papers may be
        missing if the page changes with the next digest anyway. `cache` is the Cache-Control.
        """
        shown = repr((self.version, self.request.full_path, state))
        etag = hashlib.sha256(shown.encode()).hexdigest()[:32]
        is_known = self.request.if_none_match.contains_weak(etag)
        response = Response(status=304) if is_known else make()
        response.set_etag(etag)
        response.headers["Cache-Control"] = cache
        return response

    def page(self, name: str, language: str = "", *, status: int = 200, **values: Any) -> Response:
        """Return a page, rendered from the templates of a language."""
        text = self.text(name, language, **values)
        return Response(text, status, mimetype="text/html")

    def text(self, name: str, language: str, **values: Any) -> str:
        """Render a page."""
        values["web_url"] = self.web_url

        def render(templates: Templates) -> str:
            return templates.web(name, language, **values)

        return rendered(self.home, self.templates, render)


def common_language(lists: Iterable[MailingList]) -> str:
    """Return the language that all these lists share, for pages that belong to no list; empty
    (English) if they differ.
    """
    languages = {mailing_list.language for mailing_list in lists}
    return languages.pop() if len(languages) == 1 else ""


def rendered(home: Home, templates: Templates, render: Callable[[Templates], str]) -> str:
    """Render a page from the operator's templates or, if they are broken, from the shipped ones:
    readers can always leave. Raises ConfigError if those are broken, too, as in a checkout.
    """
    try:
        return render(templates)
    except ConfigError as error:
        logger.error("%s\nthe shipped template is shown until that is fixed", error)
        return render(Templates.load(home.folders("emails")[-1:], templates.brand))


def found(value: _T | None) -> _T:
    """Return the value, or raise NotFound: a wrong token and a missing digest look the same."""
    if value is None:
        raise NotFound
    return value
