"""The Atom feed (RFC 4287) of a public list: its newest digests, without their papers' abstracts.

GET /list/NAME/feed.atom
"""

import hashlib
from datetime import UTC, datetime
from urllib.parse import urlsplit

from lxml import etree
from werkzeug.http import is_resource_modified
from werkzeug.wrappers import Response

from paperboy.edges.text import one_line
from paperboy.features.archive.past import newest, past
from paperboy.features.archive.reading import indexable, list_url, public
from paperboy.mail.page import online
from paperboy.models import MailingList
from paperboy.web.visit import Visit

_MOST = 30  # digests
_ATOM = "http://www.w3.org/2005/Atom"
_NEVER = datetime(2026, 1, 1, tzinfo=UTC)  # of a list that has had no digest


def atom(visit: Visit, name: str) -> Response:
    """Return the feed; to those who have it only that, before anything is read or rendered."""
    mailing_list = public(visit, name)
    stamps = [(digest.id, digest.at) for digest in past(visit.store.database, name, _MOST)]
    updated = max((at for _, at in stamps), default=_NEVER)
    made_of = repr((stamps, mailing_list.title, visit.web_url, visit.templates.texts))
    etag = hashlib.sha256(made_of.encode(errors="replace")).hexdigest()[:32]
    environ = visit.request.environ
    if is_resource_modified(environ, etag, last_modified=updated):
        digests = _feed(visit, mailing_list, updated).encode(errors="replace")
        response = Response(digests, content_type="application/atom+xml; charset=utf-8")
    else:
        response = Response(status=304)
    response.set_etag(etag)
    response.last_modified = updated
    response.headers["Cache-Control"] = "public, max-age=600"
    return indexable(response, mailing_list)


def _feed(visit: Visit, mailing_list: MailingList, updated: datetime) -> str:
    url, where = list_url(visit, mailing_list), urlsplit(visit.web_url)
    tag = f"tag:{where.hostname},2026:{where.path.lstrip('/')}{'/' if where.path else ''}{mailing_list.name}"
    feed = etree.Element(f"{{{_ATOM}}}feed", nsmap={None: _ATOM})
    _add(feed, "id", tag)
    _add(feed, "title", one_line(mailing_list.title))
    _add(feed, "updated", updated.isoformat())
    _add(feed, "link", rel="self", type="application/atom+xml", href=f"{url}/feed.atom")
    _add(feed, "link", rel="alternate", type="text/html", href=url)
    _add(_add(feed, "author"), "name", "Paperboy")
    for archived in newest(visit.store.database, mailing_list.name, _MOST):
        own = f"{url}/{archived.date}"
        entry = _add(feed, "entry")
        _add(entry, "id", f"{tag}/{archived.date}")
        _add(entry, "title", one_line(archived.subject))
        _add(entry, "updated", archived.at.isoformat())
        _add(entry, "link", rel="alternate", type="text/html", href=own)
        page = online(visit.thaw(archived), url=own)
        _add(entry, "content", visit.templates.web("feed", mailing_list.language, page=page), type="html")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{etree.tostring(feed, encoding="unicode")}'


def _add(parent: etree._Element, name: str, text: str = "", **attributes: str) -> etree._Element:
    child = etree.SubElement(parent, f"{{{_ATOM}}}{name}", attributes)
    child.text = text or None
    return child
