"""Votes: a page with thumbs for the papers of a digest, behind the links in its mail.

GET  /vote/TOKEN/DATE                  the page, with the person's votes
GET  /vote/TOKEN/DATE/up/ARXIV_ID      the same, with that vote chosen and its paper first; changes nothing
POST /vote/TOKEN/DATE                  save: `ARXIV_ID=up`, `down` or `none` for each paper whose vote changed

A thumb that was chosen before is sent without a value, so that a page in another tab takes back no later vote.
"""

from dataclasses import replace
from datetime import date
from typing import NamedTuple

from werkzeug.exceptions import NotFound
from werkzeug.routing import Rule
from werkzeug.wrappers import Response

from paperboy.edges.text import without_addresses
from paperboy.features.votes.votes import Votes
from paperboy.mail.page import Copy, Page, page
from paperboy.store.readers import Reader
from paperboy.web.visit import Visit, found

_VOTES = {"up": 1, "down": -1, "none": 0}
_MOST = 500  # papers; the form of more would be too long to take


def rules() -> list[Rule]:
    """Return the paths of the pages."""
    path = "/vote/<string(length=32):token>/<day:day>"
    return [
        Rule(path, endpoint=show, methods=["GET", "POST"]),
        Rule(f"{path}/<any(up, down):way>/<path:arxiv_id>", endpoint=choose, methods=["GET"]),
    ]


class _Ballot(NamedTuple):
    """A digest, and who votes on it."""

    reader: Reader
    digest: Page
    url: str
    ids: frozenset[str]
    kept: dict[str, int]  # votes by arXiv id


def show(visit: Visit, token: str, day: date) -> Response:
    """The page, or save what its form says."""
    ballot = _ballot(visit, token, day)
    if visit.request.method != "POST":
        return _page(visit, ballot, {})
    form = visit.request.form.items()
    votes = {each: _VOTES[vote] for each, vote in form if each in ballot.ids and vote in _VOTES}
    if not visit.from_a_click:
        return _page(visit, ballot, votes)
    with visit.store.transaction():
        found(visit.store.readers.voting(token))  # whoever was forgotten meanwhile has no vote
        Votes(visit.store.database).cast(ballot.reader, votes, visit.now)
    return _page(visit, ballot._replace(kept=ballot.kept | votes), {}, saved=True)


def choose(visit: Visit, token: str, day: date, way: str, arxiv_id: str) -> Response:
    """The page with a vote that is not saved yet. A paper that the digest lacks chooses nothing."""
    ballot = _ballot(visit, token, day)
    if arxiv_id not in ballot.ids:
        return _page(visit, ballot, {})
    return _page(visit, ballot, {arxiv_id: _VOTES[way]}, chosen=arxiv_id)


def _ballot(visit: Visit, token: str, day: date) -> _Ballot:
    reader = found(visit.store.readers.voting(token))
    frozen = found(visit.store.history.digest(reader.list_name, day))
    found(visit.store.ledger.find(frozen.id, reader.address))  # it went to them: a token opens no other digest
    digest = visit.thaw(frozen)
    entries = (digest.entries + digest.over_cap)[:_MOST]
    shown = page(replace(digest, entries=entries), copy=Copy(), unsubscribe_address="")
    if not shown.items:
        raise NotFound
    ids = frozenset(item.arxiv_id for item in shown.items)
    kept = Votes(visit.store.database).of(reader, ids)
    return _Ballot(reader, shown, f"{visit.web_url}/vote/{token}/{day}", ids, kept)


def _page(visit: Visit, ballot: _Ballot, votes: dict[str, int], *, chosen: str = "", saved: bool = False) -> Response:
    """The page with votes that are kept, and such as are not yet."""
    digest = ballot.digest
    return visit.page(
        "vote",
        digest.mailing_list.language,
        title=digest.title,
        date=digest.date,
        items=sorted(digest.items, key=lambda item: item.arxiv_id != chosen),
        kept=ballot.kept,
        votes=ballot.kept | votes,
        chosen=chosen,
        saved=saved,
        address=without_addresses(ballot.reader.address),
        url=ballot.url,
    )
