"""Digests on the web: rendered anew from what was frozen, whole, and for nobody in particular.

GET /digest/LINK          for whoever has the link
GET /digest/LINK.bib      its papers as BibTeX
GET /list/NAME/DATE       the same of a public list
GET /list/NAME/DATE.bib
"""

import re
from datetime import date
from typing import Any

from markupsafe import Markup
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from paperboy.features.archive import past
from paperboy.features.archive.citations import bibtex, highwire
from paperboy.mail.page import online
from paperboy.models import Archived, Digest, MailingList
from paperboy.web.visit import Visit, found


def page(visit: Visit, **where: Any) -> Response:
    """Return the digest of a link, or of a public list's day."""
    archived, mailing_list = _archived(visit, **where)
    digest = visit.thaw(archived)
    list_page = list_url(visit, mailing_list)
    url = f"{visit.web_url}/digest/{archived.link}" if "link" in where else f"{list_page}/{archived.date}"
    whole = online(digest, url=url, list_url=list_page, join_url=join_url(visit, mailing_list))
    html = _with_head(visit.templates.online(whole), _head(digest, f"{list_page}/feed.atom" if list_page else ""))
    response = _answer(visit, html, "text/html", mailing_list)
    return response if "link" in where else indexable(response, mailing_list)


def bib(visit: Visit, **where: Any) -> Response:
    """Return its papers for reference managers."""
    archived, mailing_list = _archived(visit, **where)
    digest = visit.thaw(archived)
    papers = bibtex(entry.paper for entry in digest.entries + digest.over_cap)
    response = _answer(visit, papers, "application/x-bibtex", mailing_list)
    file = f"{mailing_list.name}-{archived.date}.bib"
    response.headers.set("Content-Disposition", "attachment", filename=file)
    return response


def public(visit: Visit, name: str) -> MailingList:
    """The list, if everybody may see its digests; else there is no such page."""
    mailing_list = visit.home.find(name)
    if mailing_list is None or not mailing_list.is_public:
        raise NotFound
    return mailing_list


def indexable(response: Response, mailing_list: MailingList) -> Response:
    """The page of a list that search engines may show."""
    if mailing_list.archive == "indexed":
        response.headers["X-Robots-Tag"] = "all"
    return response


def join_url(visit: Visit, mailing_list: MailingList) -> str:
    """Where to sign up; empty: it is not open."""
    return f"{visit.web_url}/list/{mailing_list.name}/join" if mailing_list.open else ""


def list_url(visit: Visit, mailing_list: MailingList) -> str:
    """The page of the list; empty: it has none."""
    return f"{visit.web_url}/list/{mailing_list.name}" if mailing_list.is_public else ""


def _archived(visit: Visit, link: str = "", name: str = "", day: date = date.min) -> tuple[Archived, MailingList]:
    if name:
        mailing_list: MailingList | None = public(visit, name)
        archived = found(visit.store.history.digest(name, day))
    else:
        archived = found(past.linked(visit.store.database, link))
        mailing_list = visit.home.find(archived.list_name)  # as the file has it today
    if mailing_list is None or mailing_list.archive == "none":
        raise NotFound
    return archived, mailing_list


def _answer(visit: Visit, text: str, mimetype: str, mailing_list: MailingList) -> Response:
    """Return the response; without its body for those who have it."""
    response = Response(text.encode(errors="replace"), content_type=f"{mimetype}; charset=utf-8")
    return cached(visit, response, "public, max-age=3600" if mailing_list.is_public else "private, no-cache")


def cached(visit: Visit, response: Response, control: str) -> Response:
    """Let browsers keep the response, by an ETag."""
    response.add_etag()
    response.headers["Cache-Control"] = control
    return response.make_conditional(visit.request.environ)


def _head(digest: Digest, feed: str) -> str:
    """For reference managers and feed readers."""
    tag = Markup('<meta name="{}" content="{}">')
    papers = (entry.paper for entry in digest.entries + digest.over_cap)
    lines = [tag.format(*pair) for paper in papers for pair in highwire(paper)]
    if feed:
        link = Markup('<link rel="alternate" type="application/atom+xml" title="{}" href="{}">')
        lines.append(link.format(digest.mailing_list.title, feed))
    return "\n".join(lines)


def _with_head(html: str, head: str) -> str:
    """The mail's HTML as a page: restyled templates need not know what is added."""
    html = html.replace("</head>", f"{head}\n</head>", 1)
    html = re.sub(r"<body\b[^>]*>", lambda body: f"{body[0]}<main>", html, count=1)
    return "</main></body>".join(html.rsplit("</body>", 1))
