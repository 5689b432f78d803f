"""The archive's pages: lists and digests, rendered in full from the frozen digest, without personal
data.

GET /                      public and open lists
GET /list/NAME             the digests of a public list
GET /list/NAME/search?q=…  its papers
GET /list/NAME/feed.atom   its newest digests as Atom (RFC 4287), without their papers' abstracts
GET /list/NAME/DATE        one of them
GET /list/NAME/DATE.bib    its papers as BibTeX
GET /digest/LINK           the same for whoever has the link
GET /digest/LINK.bib
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup
from werkzeug.exceptions import NotFound
from werkzeug.routing import Rule
from werkzeug.wrappers import Response

from paperboy.edges.text import one_line
from paperboy.features.archive.citations import bibtex
from paperboy.features.archive.rows import find
from paperboy.mail.page import Page, online
from paperboy.mail.templates import PageSample
from paperboy.models import Archived, MailingList
from paperboy.sources import named
from paperboy.store.database import is_token
from paperboy.store.history import ARCHIVED, HAS_PAGE
from paperboy.web.visit import Visit, found, rendered

_MOST_RESULTS = 50  # papers
_LONGEST_QUERY = 200  # characters
_FEED_LENGTH = 30  # digests
_PUBLIC = "public, max-age=600"  # until the next digest, or the next edit of the lists
_NEVER = datetime(2026, 1, 1, tzinfo=UTC)  # the feed's date while a list has had no digest


def rules() -> list[Rule]:
    """Return the routes of these pages; each rule can be bound to one map only."""
    link = "/digest/<string(length=32):link>"
    name = "/list/<string(maxlength=64):name>"
    pages = {
        "/": front,
        name: past,
        f"{name}/search": search,
        f"{name}/feed.atom": atom,
        f"{name}/<day:day>": digest,
        f"{name}/<day:day>.bib": bib,
        link: digest,
        f"{link}.bib": bib,
    }
    return [Rule(path, endpoint=page) for path, page in pages.items()]


def samples(page: Page) -> Iterator[PageSample]:
    """Yield samples of these pages."""
    url = page.join_url
    of_list = {"title": page.title, "url": url, "join_url": url}
    described = {"description": "", "looks_for": "Samples", "categories": ["cs.LG"]}
    past = {"date": page.date, "month": "", "subject": page.title, "papers": 2, "url": url}
    paper = {"date": page.date, "title": page.title, "authors": "Ada Lovelace", "url": url}
    yield "feed", {"page": page}
    for number in (0, 1):
        yield "lists", {"lists": [of_list] * number}
        yield "list", of_list | described | {"past": [past] * number}
        found = {"query": "words" * number, "papers": [paper] * number, "most": True}
        yield "search", of_list | found


# Lists


def front(visit: Visit) -> Response:
    """Show every list that is public or open; without any, the page says that the service is up."""
    lists = [
        {
            "title": one_line(mailing_list.title),
            "url": list_url(visit, mailing_list),
            "join_url": join_url(visit, mailing_list),
        }
        for mailing_list in visit.home.lists
        if mailing_list.is_public or mailing_list.open
    ]
    return cached(visit, visit.page("lists", lists=lists), _PUBLIC)


def past(visit: Visit, name: str) -> Response:
    """Show all digests of a list, newest first."""
    mailing_list = public(visit, name)
    url = list_url(visit, mailing_list)
    shown = [
        {**row, "month": f"{row['date']:%Y-%m}", "url": f"{url}/{row['date']}"}
        for row in visit.store.database.rows(_PAST, [name])
    ]
    response = visit.page(
        "list",
        mailing_list.language,
        title=one_line(mailing_list.title),
        url=url,
        join_url=join_url(visit, mailing_list),
        description=mailing_list.description,
        looks_for=visit.looks_for(mailing_list),
        categories=list(named(mailing_list.categories)),
        past=shown,
    )
    return cached(visit, indexable(response, mailing_list), _PUBLIC)


def search(visit: Visit, name: str) -> Response:
    """Show a list's papers that match the visitor's words."""
    mailing_list = public(visit, name)
    url = list_url(visit, mailing_list)
    query = one_line(visit.request.args.get("q", "")[:_LONGEST_QUERY])
    papers = find(visit.store.database, name, query, _MOST_RESULTS + 1)
    return visit.page(
        "search",
        mailing_list.language,
        title=one_line(mailing_list.title),
        query=query,
        url=url,
        papers=[
            {**paper, "authors": paper["names"], "url": f"{url}/{paper['date']}#p{paper['place']}"}
            for paper in papers[:_MOST_RESULTS]
        ],
        most=len(papers) > _MOST_RESULTS,
    )


# Digests


def digest(visit: Visit, **where: Any) -> Response:
    """Return the digest behind a link, or of a public list's day."""
    archived, mailing_list = _archived(visit, **where)
    list_page = list_url(visit, mailing_list)
    url = f"{list_page}/{archived.date}"
    if "link" in where:
        url = f"{visit.web_url}/digest/{archived.link}"
    page = online(
        visit.thaw(archived),
        url=url,
        list_url=list_page,
        join_url=join_url(visit, mailing_list),
        indexed=mailing_list.archive == "indexed",
    )

    html = rendered(visit.home, visit.templates, lambda templates: templates.online(page))

    # The mail's HTML becomes a page here, so that restyled templates need not know what is added.
    if list_page:
        feed = _FEED_LINK.format(mailing_list.title, list_page)
        html = html.replace("</head>", f"{feed}\n</head>", 1)
    html = re.sub(r"<body\b[^>]*>", lambda body: f"{body[0]}<main>", html, count=1)
    html = "</main></body>".join(html.rsplit("</body>", 1))

    response = _answer(visit, html, "text/html", mailing_list)
    if "link" in where:
        return response
    return indexable(response, mailing_list)


def bib(visit: Visit, **where: Any) -> Response:
    """Return a digest's papers as a BibTeX file."""
    archived, mailing_list = _archived(visit, **where)
    thawed = visit.thaw(archived)

    papers = bibtex(entry.paper for entry in thawed.entries + thawed.over_cap)
    response = _answer(visit, papers, "application/x-bibtex", mailing_list)
    filename = f"{mailing_list.name}-{archived.date}.bib"
    response.headers.set("Content-Disposition", "attachment", filename=filename)
    return response


def public(visit: Visit, name: str) -> MailingList:
    """Return a list whose digests everybody may see, or raise NotFound."""
    mailing_list = visit.home.find(name)
    if mailing_list is None or not mailing_list.is_public:
        raise NotFound
    return mailing_list


def indexable(response: Response, mailing_list: MailingList) -> Response:
    """Let search engines index the page, if the list allows it."""
    if mailing_list.archive == "indexed":
        response.headers["X-Robots-Tag"] = "all"
    return response


def join_url(visit: Visit, mailing_list: MailingList) -> str:
    """Return where to sign up, or an empty string if the list is not open."""
    return f"{visit.web_url}/list/{mailing_list.name}/join" if mailing_list.open else ""


def list_url(visit: Visit, mailing_list: MailingList) -> str:
    """Return the list's page, or an empty string if it is not public."""
    return f"{visit.web_url}/list/{mailing_list.name}" if mailing_list.is_public else ""


def _archived(
    visit: Visit, link: str = "", name: str = "", day: date = date.min
) -> tuple[Archived, MailingList]:
    if name:
        public(visit, name)
        archived = found(visit.store.history.digest(name, day))
    else:
        query = f"{ARCHIVED} and {is_token('link')}"
        archived = found(visit.store.database.first(query, {"token": link}, Archived))
    mailing_list = visit.home.find(archived.list_name)
    if mailing_list is None or mailing_list.archive == "none":
        raise NotFound
    return archived, mailing_list


def _answer(visit: Visit, text: str, mimetype: str, mailing_list: MailingList) -> Response:
    response = Response(text.encode(errors="replace"), content_type=f"{mimetype}; charset=utf-8")
    control = "public, max-age=3600" if mailing_list.is_public else "private, no-cache"
    return cached(visit, response, control)


def cached(visit: Visit, response: Response, control: str) -> Response:
    """Add an ETag, and leave out the body if the browser already has it."""
    response.add_etag()
    response.headers["Cache-Control"] = control
    return response.make_conditional(visit.request.environ)


# The feed


def atom(visit: Visit, name: str) -> Response:
    """Return the list's newest digests as an Atom feed."""
    mailing_list = public(visit, name)
    digests = visit.store.database.rows(_NEWEST, [name, _FEED_LENGTH], Archived)
    updated = max((archived.at for archived in digests), default=_NEVER)

    url = list_url(visit, mailing_list)
    web_url = urlsplit(visit.web_url)
    path = f"{web_url.path}/".lstrip("/")
    tag = f"tag:{web_url.hostname},2026:{path}{name}"
    entries = []
    for archived in digests:
        digest_url = f"{url}/{archived.date}"
        page = online(visit.thaw(archived), url=digest_url, indexed=True)
        entry = _ENTRY.format(
            id=f"{tag}/{archived.date}",
            title=one_line(archived.subject),
            updated=archived.at.isoformat(),
            url=digest_url,
            content=visit.text("feed", mailing_list.language, page=page),
        )
        entries.append(entry)

    text = _FEED.format(
        id=tag,
        title=one_line(mailing_list.title),
        updated=updated.isoformat(),
        url=url,
        brand=visit.templates.brand,
        entries=Markup().join(entries),
    )

    response = Response(
        text.encode(errors="replace"), content_type="application/atom+xml; charset=utf-8"
    )
    return indexable(cached(visit, response, _PUBLIC), mailing_list)


_FEED_LINK = Markup(
    '<link rel="alternate" type="application/atom+xml" title="{}" href="{}/feed.atom">'
)
_FEED = Markup(
    """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><id>{id}</id><title>{title}</title><updated>{updated}</updated>
<link rel="self" type="application/atom+xml" href="{url}/feed.atom"/>
<link rel="alternate" type="text/html" href="{url}"/>
<author><name>{brand}</name></author>
{entries}</feed>"""
)
_ENTRY = Markup(
    """<entry><id>{id}</id><title>{title}</title><updated>{updated}</updated>
<link rel="alternate" type="text/html" href="{url}"/><content type="html">{content}</content></entry>
"""
)


# Queries

_PAST = f"""
select date, subject, author_matches + selected as papers -- 0 of a note
from digests join days using (list, date)
where list = ? and {HAS_PAGE} order by date desc
"""

_NEWEST = f"{ARCHIVED} and list = ? order by date desc limit ?"
