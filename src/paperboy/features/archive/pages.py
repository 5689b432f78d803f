"""The archive's pages: lists and digests, rendered in full from the frozen digest, without personal
data.

GET /                      public and open lists
GET /list/NAME?page=2      the digests of a public list, thirty on a page
GET /list/NAME/search?q=…  its papers
GET /list/NAME/feed.atom   its newest digests as Atom (RFC 4287), without their papers' abstracts
GET /list/NAME/DATE        one of them
GET /list/NAME/DATE.bib    its papers as BibTeX
GET /digest/LINK           the same for whoever has the link
GET /digest/LINK.bib
"""

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
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
from paperboy.mail import archive
from paperboy.mail.page import Page, comment_of, online, title_of
from paperboy.mail.templates import PageSample
from paperboy.mail.text import Prose
from paperboy.models import Archived, MailingList
from paperboy.sources import named, read_id
from paperboy.store.database import is_token
from paperboy.store.history import ARCHIVED, HAS_PAGE
from paperboy.web.visit import Visit, common_language, found, rendered

_MOST_RESULTS = 30  # papers
_LONGEST_QUERY = 200  # characters
_LENGTH = 30  # digests on a page of a list, and in its feed
_MOST_PAGES = 10_000
_BEST = 3  # titles of a digest
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
    url = page.list_url
    of_list = {
        "title": page.title,
        "url": url,
        "join_url": page.join_url,
        "description": "",
        "looks_for": "" if page.library_size else "Samples",
        "library_size": page.library_size,
        "categories": ["cs.LG"],
        "send_at": "07:00",
    }
    day = {"date": page.date, "month": "", "papers": 2, "considered": 9, "url": url}
    day |= {"subject": page.title}
    days = [day | {"best": [page.title] * 3}, day | {"papers": 0, "best": []}]
    paper = {"date": page.date, "title": page.title, "authors": "Ada Lovelace", "url": url}
    paper |= {"relevance": 9, "novelty": 8, "comment": "It matters."}
    yield "feed", {"page": page}
    yield "meta", {"title": page.title, "of": "", "description": "", "url": url, "feed": url}
    for number in (0, 1):
        best = {"best": page.title * number, "newest_url": url}
        yield "lists", {"lists": [of_list | best] * number}
        beside = {"older": url * number, "newer": url * number, "page_url": url}
        yield "list", of_list | {"days": days * number, "past": days[:1] * number} | beside
        found = {"query": "words" * number, "papers": [paper] * number, "most": True}
        yield "search", of_list | found


# Lists


def front(visit: Visit) -> Response:
    """Show every list that is public or open; without any, the page says that the service is up."""
    shown = [
        mailing_list
        for mailing_list in visit.home.lists
        if mailing_list.is_public or visit.join_url(mailing_list)
    ]
    names = [mailing_list.name for mailing_list in shown if mailing_list.is_public]
    newest = {row["list"]: row for row in visit.store.database.rows(_NEWEST_OF_EACH, [names])}

    def page() -> Response:
        titles = _titles(visit, [row["id"] for row in newest.values()])
        lists = list[dict[str, Any]]()
        for mailing_list in shown:
            about = _about(visit, mailing_list) | {"best": "", "newest_url": ""}
            if row := newest.get(mailing_list.name):
                about["best"] = next(iter(titles.get(row["id"], [])), "")
                about["newest_url"] = f"{about['url']}/{row['date']}"
            lists.append(about)
        return visit.page("lists", common_language(shown), lists=lists)

    return visit.unless_known(list(newest.values()), page, _PUBLIC)


def past(visit: Visit, name: str) -> Response:
    """Show the digests of a list, newest first, and the days on which none of its papers passed."""
    mailing_list = public(visit, name)
    about = _about(visit, mailing_list)
    number = max(1, visit.request.args.get("page", 1, int))
    first = min(number - 1, _MOST_PAGES) * _LENGTH
    rows = visit.store.database.rows(_PAST, [name, name, name, _LENGTH + 1, first])
    if number > 1 and not rows:
        raise NotFound

    def page() -> Response:
        url = about["url"]
        titles = _titles(visit, [row["id"] for row in rows[:_LENGTH] if row["papers"]])
        days = [
            {
                **row,
                "month": f"{row['date']:%Y-%m}",
                "best": (titles.get(row["id"]) or [row["subject"]]) if row["papers"] else [],
                "url": f"{url}/{row['date']}" if row["id"] else "",
            }
            for row in rows[:_LENGTH]
        ]
        return visit.page(
            "list",
            mailing_list.language,
            **about,
            days=days,
            past=[day for day in days if day["url"]],  # as templates of 1.0 know them
            page_url=f"{url}?page={number}" if number > 1 else url,
            older=f"{url}?page={number + 1}" if len(rows) > _LENGTH else "",
            newer=f"{url}?page={number - 1}" if number > 1 else "",
        )

    return indexable(visit.unless_known(rows, page, _PUBLIC), mailing_list)


def search(visit: Visit, name: str) -> Response:
    """Show a list's papers that match the visitor's words, or the one whose id these are."""
    mailing_list = public(visit, name)
    about = _about(visit, mailing_list)
    query = one_line(visit.request.args.get("q", "")[:_LONGEST_QUERY])
    papers = _by_id(visit, name, read_id(query))
    papers = papers or find(visit.store.database, name, query, _MOST_RESULTS + 1)
    shown = papers[:_MOST_RESULTS]

    judged = {
        (digest.id, paper.rank): paper
        for digest in _digests(visit, {paper["digest_id"] for paper in shown})
        for paper in _shown_papers(digest)
    }
    results = list[dict[str, Any]]()
    for paper in shown:
        in_digest = judged.get((paper["digest_id"], paper["place"]))
        score = in_digest.score if in_digest else None
        result = {
            "date": paper["date"],
            "title": paper["title"],
            "authors": paper["names"],
            "url": f"{about['url']}/{paper['date']}#p{paper['place']}",
            "relevance": score.relevance if score else None,
            "novelty": score.novelty if score else None,
            "comment": comment_of(score),
        }
        results.append(result)
    return visit.page(
        "search",
        mailing_list.language,
        **about,
        query=query,
        papers=results,
        most=len(papers) > _MOST_RESULTS,
    )


def _by_id(visit: Visit, name: str, paper_id: str) -> list[dict[str, Any]]:
    """Return the paper as `find` would, if a digest of the list has it."""
    day = visit.store.history.of_paper(name, paper_id).day
    digest = visit.store.history.digest(name, day) if day else None
    paper = visit.store.papers.by_id([paper_id]).get(paper_id)
    if digest is None or paper is None:
        return []

    found_paper = {
        "digest_id": digest.id,
        "date": digest.date,
        "title": title_of(paper),
        "names": one_line(", ".join(paper.authors)),
    }
    return [
        found_paper | {"place": shown.rank}
        for shown in _shown_papers(digest)
        if shown.paper_id == paper_id
    ]


def _about(visit: Visit, mailing_list: MailingList) -> dict[str, Any]:
    return {
        "title": one_line(mailing_list.title),
        "url": visit.list_url(mailing_list),
        "join_url": visit.join_url(mailing_list),
        "description": mailing_list.description,
        "looks_for": visit.looks_for(mailing_list),
        "library_size": mailing_list.library_size,
        "categories": list(named(mailing_list.categories)),
        "send_at": f"{mailing_list.send_at:%H:%M}",
    }


def _digests(visit: Visit, ids: Collection[int]) -> list[Archived]:
    """Return these digests, newest first, without damaged ones."""
    query = f"{ARCHIVED} and id in (select value from json_each(?)) order by date desc"
    return visit.store.database.rows(query, [list(ids)], Archived, skip_corrupt=True)


def _shown_papers(digest: Archived) -> list[archive.ShownPaper]:
    """Return the papers of a digest by their scores; none if it is damaged."""
    with suppress(ValueError, KeyError, TypeError):
        return archive.shown_papers(digest.shown)
    return []


def _titles(visit: Visit, ids: Collection[int]) -> dict[int, list[Prose]]:
    """Return the best titles of each of these digests, by its id."""
    best = {
        digest.id: [paper.paper_id for paper in _shown_papers(digest)[:_BEST]]
        for digest in _digests(visit, ids)
    }
    papers = visit.store.papers.by_id([paper_id for three in best.values() for paper_id in three])
    return {
        digest_id: [title_of(papers[paper_id]) for paper_id in three if paper_id in papers]
        for digest_id, three in best.items()
    }


# Digests


def digest(visit: Visit, **where: Any) -> Response:
    """Return the page of a digest, by its link or by a public list's name and day."""
    archived, mailing_list = _archived(visit, **where)
    list_page = visit.list_url(mailing_list)
    day = [archived.list_name, archived.date]
    beside = ["", ""]
    if list_page:
        [row] = visit.store.database.rows(_BESIDE, day + day)
        beside = [*row.values()]

    def page() -> Response:
        older, newer = (f"{list_page}/{day}" if day else "" for day in beside)
        url = f"{list_page}/{archived.date}"
        if "link" in where:
            url = f"{visit.web_url}/digest/{archived.link}"
        shown = online(
            visit.thaw(archived),
            url=url,
            list_url=list_page,
            join_url=visit.join_url(mailing_list),
            older=older,
            newer=newer,
            indexed=mailing_list.archive == "indexed",
        )
        html = rendered(visit.home, visit.templates, lambda templates: templates.online(shown))

        # The mail's HTML becomes a page here, so that restyled templates need no changes for it.
        head = visit.text(
            "meta",
            mailing_list.language,
            title=shown.best[0] if shown.best else shown.title,
            of=shown.title,
            description=shown.best_why or mailing_list.description,
            url=f"{list_page}/{archived.date}" if list_page else "",
            feed=f"{list_page}/feed.atom" if list_page else "",
        )
        html = html.replace("</head>", f"{head}\n</head>", 1)
        html = re.sub(r"<body\b[^>]*>", lambda body: f"{body[0]}<main>", html, count=1)
        html = "</main></body>".join(html.rsplit("</body>", 1))
        return _response(html, "text/html")

    state = [archived.id, archived.at, beside, _versions(visit, archived)]
    response = visit.unless_known(state, page, _control(mailing_list))
    return response if "link" in where else indexable(response, mailing_list)


def bib(visit: Visit, **where: Any) -> Response:
    """Return a digest's papers as a BibTeX file."""
    archived, mailing_list = _archived(visit, **where)

    def file() -> Response:
        thawed = visit.thaw(archived)
        papers = bibtex(entry.paper for entry in thawed.entries + thawed.over_cap)
        response = _response(papers, "application/x-bibtex")
        filename = f"{mailing_list.name}-{archived.date}.bib"
        response.headers.set("Content-Disposition", "attachment", filename=filename)
        return response

    state = [archived.id, archived.at, _versions(visit, archived)]
    return visit.unless_known(state, file, _control(mailing_list))


def _versions(visit: Visit, archived: Archived) -> list[dict[str, Any]]:
    """Return the versions of a digest's papers; a newer version replaces a paper's text."""
    ids = [paper.paper_id for paper in _shown_papers(archived)]
    return visit.store.database.rows(_VERSIONS, [ids])


def public(visit: Visit, name: str) -> MailingList:
    """Return a list whose digests everybody may see. Raises NotFound."""
    mailing_list = visit.home.find(name)
    if mailing_list is None or not mailing_list.is_public:
        raise NotFound
    return mailing_list


def indexable(response: Response, mailing_list: MailingList) -> Response:
    """Let search engines index the page, if the list allows it."""
    if mailing_list.archive == "indexed":
        response.headers["X-Robots-Tag"] = "all"
    return response


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


def _response(text: str, mimetype: str) -> Response:
    return Response(text.encode(errors="replace"), content_type=f"{mimetype}; charset=utf-8")


def _control(mailing_list: MailingList) -> str:
    return "public, max-age=3600" if mailing_list.is_public else "private, no-cache"


# The feed


def atom(visit: Visit, name: str) -> Response:
    """Return the list's newest digests as an Atom feed."""
    mailing_list = public(visit, name)
    rows = visit.store.database.rows(_NEWEST, [name, _LENGTH])

    def feed() -> Response:
        url = visit.list_url(mailing_list)
        web_url = urlsplit(visit.web_url)
        path = f"{web_url.path}/".lstrip("/")
        tag = f"tag:{web_url.hostname},2026:{path}{name}"
        digests = _digests(visit, [row["id"] for row in rows])
        entries = [_entry(visit, archived, tag, url) for archived in digests]
        text = _FEED.format(
            id=tag,
            title=one_line(mailing_list.title),
            updated=max((archived.at for archived in digests), default=_NEVER).isoformat(),
            url=url,
            brand=one_line(visit.templates.brand),
            entries=Markup().join(entries),
        )
        return _response(text, "application/atom+xml")

    return indexable(visit.unless_known(rows, feed, _PUBLIC), mailing_list)


def _entry(visit: Visit, archived: Archived, tag: str, url: str) -> Markup:
    digest_url = f"{url}/{archived.date}"
    page = online(visit.thaw(archived), url=digest_url, indexed=True)
    return _ENTRY.format(
        id=f"{tag}/{archived.date}",
        title=rendered(visit.home, visit.templates, lambda templates: templates.heading(page)),
        updated=archived.at.isoformat(),
        url=digest_url,
        content=visit.text("feed", page.language, page=page),
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

# Also days on which no paper passed, but none before the oldest digest that is kept: a list would
# seem to have had only such days.
_PAST = f"""
select date, id, frozen, subject, author_matches + selected as papers, considered
from days left join (select list, date, id, at as frozen, subject from digests where list = ? and {HAS_PAGE})
using (list, date)
where list = ? and (id is not null or (outcome = 'note' and date >= (
    select min(date) from digests where {HAS_PAGE} and list = ?
)))
order by date desc limit ? offset ?
"""

_VERSIONS = """
select id, version from papers where id in (select value from json_each(?)) order by id
"""

_NEWEST = (
    f"select id, date, at from digests where {HAS_PAGE} and list = ? order by date desc limit ?"
)

_NEWEST_OF_EACH = f"""
select list, digests.id, date, at from json_each(?) as name join digests on digests.id = (
    select id from digests where {HAS_PAGE} and list = name.value order by date desc limit 1
)
"""

_BESIDE = f"""
select (select max(date) from digests where {HAS_PAGE} and list = ? and date < ?) as older,
    (select min(date) from digests where {HAS_PAGE} and list = ? and date > ?) as newer
"""
