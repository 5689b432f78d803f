"""What the check says of a library: what it has, what cannot be read, and whether titles are old."""

from collections.abc import Iterator
from datetime import timedelta

from paperboy.edges.text import counted, money
from paperboy.home.library import Library, newest_titles
from paperboy.models import MailingList
from paperboy.service.app import App
from paperboy.service.feature import Finding, note

_OUTDATED = 1 / 3  # of the newest titles
_MOST_UNREAD = 5  # entries that are named
_WEEK = timedelta(days=7)


def of_library(app: App, mailing_list: MailingList, read: Library) -> Iterator[Finding]:
    """Yield what there is to say of a list's library, once it has been read."""
    name = mailing_list.name
    library = mailing_list.library
    abstracts = sum(bool(item.abstract) for item in read.items)
    papers = counted(len(read.items), "paper")
    if read.items:
        yield Finding("library", f"{name}: {library} has {papers}, {abstracts} with an abstract")
    else:
        kept = "the list keeps its titles and what it has learned"
        yield note("library", f"{name}: {library} has no paper that can be read; {kept}")
    bare = sum(not (item.title or item.paper_id) for item in read.items)
    if bare:
        what = counted(bare, "DOI without a title", "DOIs without titles")
        yield note("library", f"{name}: {library} has {what}, which say nothing; use a .bib file")
    for problem in read.unread[:_MOST_UNREAD]:
        yield note("library", str(problem))
    if len(read.unread) > _MOST_UNREAD:
        more = counted(len(read.unread) - _MOST_UNREAD, "more entry", "more entries")
        yield note("library", f"{library}: {more} cannot be read")

    titles = newest_titles(read.items)
    new = sum(title not in mailing_list.titles for title in titles)
    if titles and mailing_list.titles and new >= _OUTDATED * len(titles):
        what = f"its titles in prompts/ lack {new} of the newest {len(titles)} in {library}"
        fix = f"paperboy learn --library {name} replaces them"
        yield note("library", f"{name}: {what}; {fix}{_cost(app, mailing_list)}")


def _cost(app: App, mailing_list: MailingList) -> str:
    """Say what it costs to score by other titles; empty where nobody is paid, or no price is known."""
    store = app.open_store() if app.settings.has_llm else None
    if store is None:
        return ""
    with store:
        papers = store.papers.recent(mailing_list, app.clock() - _WEEK)
    cost = app.scorer.estimate(papers)
    if not cost or not papers:
        return ""
    scored = f"scoring last week's {counted(len(papers), 'paper')} anew would cost about {money(cost.total)}"
    return f". A shortlist then begins to learn anew; {scored}"
