"""The voting page: thumbs for the papers of a digest, behind the links in its mail.

GET  /vote/TOKEN/DATE         the page, with the reader's votes
GET  /vote/TOKEN/DATE/up/ID   the same, with that vote chosen and its paper first; changes nothing
POST /vote/TOKEN/DATE         saves: `ID=up`, `down` or `none` for each paper whose vote changed

The form sends no value for a vote that was saved before, so that an old page in another tab cannot
undo a later vote.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from werkzeug.exceptions import NotFound
from werkzeug.routing import Rule
from werkzeug.wrappers import Response

from paperboy.edges.text import without_addresses
from paperboy.features.votes import rows
from paperboy.mail.page import Copy, Page, page_of
from paperboy.mail.templates import PageSample
from paperboy.web.visit import Visit, found

_VOTES = {"up": 1, "down": -1, "none": 0}
_MOST = 500  # papers; the form of more would be too long to take


def rules() -> list[Rule]:
    """Return the routes of these pages."""
    path = "/vote/<string(length=32):token>/<day:day>"
    return [
        Rule(path, endpoint=show, methods=["GET", "POST"]),
        Rule(f"{path}/<any(up, down):way>/<path:paper_id>", endpoint=show, methods=["GET"]),
    ]


def samples(page: Page) -> Iterator[PageSample]:
    """Yield samples of this page."""
    values = {"title": page.title, "date": page.date, "items": page.items, "kept": {}}
    values |= {"address": "ada@example.org", "url": page.join_url, "list_url": page.list_url}
    for item in page.items[:2]:
        yield (
            "vote",
            values | {"votes": {item.arxiv_id: 1}, "chosen": item.arxiv_id, "saved": False},
        )


def show(visit: Visit, token: str, day: date, way: str = "", paper_id: str = "") -> Response:
    """Show the page, with a vote chosen if the path has one; or save the votes of its form.

    Votes for papers that the digest lacks are ignored.
    """
    store = visit.store
    reader = found(store.readers.by_vote_token(token))
    archived = found(store.history.digest(reader.list_name, day))
    found(store.ledger.find(archived.id, reader.address))  # a token opens only digests it came with

    digest = visit.thaw(archived)
    entries = (digest.entries + digest.over_cap)[:_MOST]
    shown = page_of(replace(digest, entries=entries), copy=Copy(), unsubscribe_address="")
    if not shown.items:
        raise NotFound

    is_posted = visit.request.method == "POST"
    fields = visit.request.form.items() if is_posted else [(paper_id, way)]
    ids = {item.arxiv_id for item in shown.items}
    changed = {field: _VOTES[vote] for field, vote in fields if field in ids and vote in _VOTES}

    is_saved = is_posted and visit.from_a_click
    if is_saved:
        with store.transaction():
            found(store.readers.by_vote_token(token))  # a reader erased meanwhile has no vote
            rows.cast(store.database, reader, changed, visit.now)

    kept = rows.of_reader(store.database, reader, ids)
    mailing_list = visit.home.find(reader.list_name)
    list_url = visit.list_url(mailing_list) if mailing_list else ""
    return visit.page(
        "vote",
        shown.mailing_list.language,
        title=shown.title,
        date=shown.date,
        items=sorted(shown.items, key=lambda item: item.arxiv_id != paper_id),
        kept=kept,
        votes=kept | changed,
        chosen=paper_id if paper_id in ids else "",
        saved=is_saved,
        address=without_addresses(reader.address),
        url=f"{visit.web_url}/vote/{token}/{day}",
        list_url=list_url,
    )
