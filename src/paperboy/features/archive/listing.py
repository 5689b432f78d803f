"""The lists that everybody may read, their past digests, and the search over their papers.

GET /                      public and open lists
GET /list/NAME             the digests of a public list
GET /list/NAME/search?q=…  its papers
"""

from typing import Any

from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from paperboy.edges.text import one_line
from paperboy.features.archive import past as digests
from paperboy.features.archive.reading import cached, indexable, join_url, list_url, public
from paperboy.features.archive.search import Search
from paperboy.web.visit import Visit

_A_PAGE = 60  # digests
_MOST_FOUND = 50  # papers
_QUERY = 200  # characters
_FRESH = "public, max-age=600"  # until the next digest, or the next edit of the lists


def front(visit: Visit) -> Response:
    """All lists that everybody may read or join, or that there are none: the room is up."""
    lists = [
        {"title": one_line(each.title), "url": list_url(visit, each), "join_url": join_url(visit, each)}
        for each in visit.home.lists
        if each.is_public or each.open
    ]
    return cached(visit, visit.page("lists", lists=lists), _FRESH)


def past(visit: Visit, name: str) -> Response:
    """A page of a list's digests, newest first."""
    mailing_list = public(visit, name)
    url, number = list_url(visit, mailing_list), visit.request.args.get("page", "1")[:4]
    page = int(number) if number.isascii() and number.isdigit() else 1
    found = digests.past(visit.store.database, name, _A_PAGE + 1, max(page - 1, 0) * _A_PAGE)
    if page < 1 or (page > 1 and not found):
        raise NotFound
    shown: list[dict[str, Any]] = [
        {
            "date": each.date,
            "month": f"{each.date:%Y-%m}",
            "subject": each.subject,
            "papers": each.papers,
            "url": f"{url}/{each.date}",
        }
        for each in found[:_A_PAGE]
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
        older=f"{url}?page={page + 1}" if len(found) > _A_PAGE else "",
    )
    return cached(visit, indexable(response, mailing_list), _FRESH)


def search(visit: Visit, name: str) -> Response:
    """A list's papers that have the words of the visitor."""
    mailing_list = public(visit, name)
    url, query = list_url(visit, mailing_list), one_line(visit.request.args.get("q", "")[:_QUERY])
    found = Search(visit.store.database).find(name, query, _MOST_FOUND + 1)
    papers = [
        {"date": each.date, "title": each.title, "authors": each.names, "url": f"{url}/{each.date}#p{each.place}"}
        for each in found[:_MOST_FOUND]
    ]
    values: dict[str, Any] = {"title": one_line(mailing_list.title), "query": query, "url": url, "papers": papers}
    return visit.page("search", mailing_list.language, most=len(found) > _MOST_FOUND, **values)
