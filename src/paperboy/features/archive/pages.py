"""The archive's pages: lists and digests, rendered anew from what was frozen, whole, and for nobody
in particular.

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
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup
from werkzeug.exceptions import NotFound
from werkzeug.routing import Rule
from werkzeug.wrappers import Response

from paperboy.edges.text import one_line
from paperboy.features.archive.citations import bibtex
from paperboy.features.archive.search import find
from paperboy.mail.page import online
from paperboy.models import Archived, MailingList
from paperboy.store.database import is_token
from paperboy.store.history import ARCHIVED, HAS_PAGE
from paperboy.web.visit import Visit, found

_A_PAGE = 60  # digests
_MOST_FOUND = 50  # papers
_QUERY = 200  # characters
_FRESH = "public, max-age=600"  # until the next digest, or the next edit of the lists
_IN_FEED = 30  # digests
_NEVER = datetime(2026, 1, 1, tzinfo=UTC)  # of a list that has had no digest


def rules() -> list[Rule]:
    """Return new ones, each for one map."""
    of_link = "/digest/<string(length=32):link>"
    of_list = "/list/<string(maxlength=64):name>"
    pages = {
        "/": front,
        of_list: past,
        f"{of_list}/search": search,
        f"{of_list}/feed.atom": atom,
        f"{of_list}/<day:day>": digest,
        f"{of_list}/<day:day>.bib": bib,
        of_link: digest,
        f"{of_link}.bib": bib,
    }
    return [Rule(path, endpoint=page) for path, page in pages.items()]


# Lists


def front(visit: Visit) -> Response:
    """Show all lists that everybody may read or join, or that there are none: the room is up."""
    lists = [
        {
            "title": one_line(each.title),
            "url": list_url(visit, each),
            "join_url": join_url(visit, each),
        }
        for each in visit.home.lists
        if each.is_public or each.open
    ]
    return cached(visit, visit.page("lists", lists=lists), _FRESH)


def past(visit: Visit, name: str) -> Response:
    """Show a page of a list's digests, newest first."""
    mailing_list = public(visit, name)
    url = list_url(visit, mailing_list)

    number = visit.request.args.get("page", "1")[:4]
    page = int(number) if number.isascii() and number.isdigit() else 1
    digests = visit.store.database.rows(_PAST, [name, _A_PAGE + 1, (page - 1) * _A_PAGE])
    if page < 1 or (page > 1 and not digests):
        raise NotFound
    shown = [
        {**sent, "month": f"{sent['date']:%Y-%m}", "url": f"{url}/{sent['date']}"}
        for sent in digests[:_A_PAGE]
    ]

    response = visit.page(
        "list",
        mailing_list.language,
        title=one_line(mailing_list.title),
        url=url,
        join_url=join_url(visit, mailing_list),
        looks_for=visit.looks_for(mailing_list),
        categories=mailing_list.categories,
        past=shown,
        newer=f"{url}?page={page - 1}" if page > 2 else url if page == 2 else "",
        older=f"{url}?page={page + 1}" if len(digests) > _A_PAGE else "",
    )
    return cached(visit, indexable(response, mailing_list), _FRESH)


def search(visit: Visit, name: str) -> Response:
    """Show a list's papers that have the words of the visitor."""
    mailing_list = public(visit, name)
    url = list_url(visit, mailing_list)
    query = one_line(visit.request.args.get("q", "")[:_QUERY])
    papers = find(visit.store.database, name, query, _MOST_FOUND + 1)
    return visit.page(
        "search",
        mailing_list.language,
        title=one_line(mailing_list.title),
        query=query,
        url=url,
        papers=[
            {**paper, "authors": paper["names"], "url": f"{url}/{paper['date']}#p{paper['place']}"}
            for paper in papers[:_MOST_FOUND]
        ],
        most=len(papers) > _MOST_FOUND,
    )


# Digests


def digest(visit: Visit, **where: Any) -> Response:
    """Return the digest of a link, or of a public list's day."""
    archived, mailing_list = _archived(visit, **where)
    list_page = list_url(visit, mailing_list)
    url = (
        f"{visit.web_url}/digest/{archived.link}"
        if "link" in where
        else f"{list_page}/{archived.date}"
    )
    whole = online(
        visit.thaw(archived), url=url, list_url=list_page, join_url=join_url(visit, mailing_list)
    )
    html = visit.templates.online(whole)

    # The mail's HTML becomes a page here: restyled templates need not know what is added.
    if list_page:
        link = Markup(
            '<link rel="alternate" type="application/atom+xml" title="{}" href="{}/feed.atom">'
        )
        html = html.replace("</head>", f"{link.format(mailing_list.title, list_page)}\n</head>", 1)
    html = re.sub(r"<body\b[^>]*>", lambda body: f"{body[0]}<main>", html, count=1)
    html = "</main></body>".join(html.rsplit("</body>", 1))

    response = _answer(visit, html, "text/html", mailing_list)
    return response if "link" in where else indexable(response, mailing_list)


def bib(visit: Visit, **where: Any) -> Response:
    """Return its papers for reference managers."""
    archived, mailing_list = _archived(visit, **where)
    shown = visit.thaw(archived)
    papers = bibtex(entry.paper for entry in shown.entries + shown.over_cap)
    response = _answer(visit, papers, "application/x-bibtex", mailing_list)
    file = f"{mailing_list.name}-{archived.date}.bib"
    response.headers.set("Content-Disposition", "attachment", filename=file)
    return response


def public(visit: Visit, name: str) -> MailingList:
    """Return the list, if everybody may see its digests; else raise NotFound."""
    mailing_list = visit.home.find(name)
    if mailing_list is None or not mailing_list.is_public:
        raise NotFound
    return mailing_list


def indexable(response: Response, mailing_list: MailingList) -> Response:
    """Let search engines show the page, if the list does."""
    if mailing_list.archive == "indexed":
        response.headers["X-Robots-Tag"] = "all"
    return response


def join_url(visit: Visit, mailing_list: MailingList) -> str:
    """Return where to sign up; empty: it is not open."""
    return f"{visit.web_url}/list/{mailing_list.name}/join" if mailing_list.open else ""


def list_url(visit: Visit, mailing_list: MailingList) -> str:
    """Return the page of the list; empty: it has none."""
    return f"{visit.web_url}/list/{mailing_list.name}" if mailing_list.is_public else ""


def _archived(
    visit: Visit, link: str = "", name: str = "", day: date = date.min
) -> tuple[Archived, MailingList]:
    if name:
        mailing_list: MailingList | None = public(visit, name)
        archived = found(visit.store.history.digest(name, day))
    else:
        linked = visit.store.database.first(
            f"{ARCHIVED} and {is_token('link')}", {"token": link}, Archived
        )
        archived = found(linked)
        mailing_list = visit.home.find(archived.list_name)  # as the file has it today
    if mailing_list is None or mailing_list.archive == "none":
        raise NotFound
    return archived, mailing_list


def _answer(visit: Visit, text: str, mimetype: str, mailing_list: MailingList) -> Response:
    """Return the response; without its body for those who have it."""
    response = Response(text.encode(errors="replace"), content_type=f"{mimetype}; charset=utf-8")
    return cached(
        visit, response, "public, max-age=3600" if mailing_list.is_public else "private, no-cache"
    )


def cached(visit: Visit, response: Response, control: str) -> Response:
    """Let browsers keep the response, by an ETag."""
    response.add_etag()
    response.headers["Cache-Control"] = control
    return response.make_conditional(visit.request.environ)


# The feed


def atom(visit: Visit, name: str) -> Response:
    """Return the feed; to those who have it only that."""
    mailing_list = public(visit, name)
    digests = visit.store.database.rows(_NEWEST, [name, _IN_FEED], Archived)
    updated = max((sent.at for sent in digests), default=_NEVER)

    url = list_url(visit, mailing_list)
    where = urlsplit(visit.web_url)
    tag = f"tag:{where.hostname},2026:{where.path.lstrip('/')}{'/' if where.path else ''}{name}"
    entries = [
        _ENTRY.format(
            id=f"{tag}/{sent.date}",
            title=one_line(sent.subject),
            updated=sent.at.isoformat(),
            url=f"{url}/{sent.date}",
            content=visit.templates.web(
                "feed",
                mailing_list.language,
                page=online(visit.thaw(sent), url=f"{url}/{sent.date}"),
            ),
        )
        for sent in digests
    ]
    text = _FEED.format(
        id=tag,
        title=one_line(mailing_list.title),
        updated=updated.isoformat(),
        url=url,
        entries=Markup().join(entries),
    )

    response = Response(
        text.encode(errors="replace"), content_type="application/atom+xml; charset=utf-8"
    )
    response.last_modified = updated
    return indexable(cached(visit, response, _FRESH), mailing_list)


_FEED = Markup(
    """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><id>{id}</id><title>{title}</title><updated>{updated}</updated>
<link rel="self" type="application/atom+xml" href="{url}/feed.atom"/>
<link rel="alternate" type="text/html" href="{url}"/>
<author><name>Paperboy</name></author>
{entries}</feed>"""
)
_ENTRY = Markup(
    """<entry><id>{id}</id><title>{title}</title><updated>{updated}</updated>
<link rel="alternate" type="text/html" href="{url}"/><content type="html">{content}</content></entry>
"""
)


# Their rows

_PAST = f"""
select date, subject, author_matches + selected as papers -- none: it is a note
from digests join days using (list, date)
where list = ? and {HAS_PAGE} order by date desc limit ? offset ?
"""

_NEWEST = f"{ARCHIVED} and list = ? order by date desc limit ?"
