"""Votes: a page with thumbs for the papers of a digest, behind the links in its mail.

GET  /vote/TOKEN/DATE                  the page, with the person's votes
GET  /vote/TOKEN/DATE/up/ARXIV_ID      the same, with that vote chosen and its paper first; changes nothing
POST /vote/TOKEN/DATE                  save: `ARXIV_ID=up`, `down` or `none` for each paper
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from paperboy.foreign import without_addresses
from paperboy.mail.page import Copy, Page, page
from paperboy.store.readers import Reader
from paperboy.web.reading import thaw
from paperboy.web.visit import Visit, found

_VOTES = {"up": 1, "down": -1, "none": 0}
_MOST = 500  # papers; the form of more would be too long to take


@dataclass(frozen=True, slots=True)
class _Ballot:
    """A digest, and who votes on it."""

    reader: Reader
    digest: Page
    url: str
    votes: dict[str, int]  # by arXiv id; no vote is 0

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(item.arxiv_id for item in self.digest.items)


def show(visit: Visit, token: str, day: date) -> Response:
    """The page, or save what its form says."""
    ballot = _ballot(visit, token, day)
    if visit.request.method != "POST":
        return _page(visit, ballot)
    form = visit.request.form.items()
    votes = {each: _VOTES[vote] for each, vote in form if each in ballot.ids and vote in _VOTES}
    if saved := visit.from_a_click:
        visit.store.votes.cast(ballot.reader, votes, visit.now)
    return _page(visit, replace(ballot, votes=ballot.votes | votes), saved=saved)


def choose(visit: Visit, token: str, day: date, way: str, arxiv_id: str) -> Response:
    """The page with a vote that is not saved yet. A paper that the digest lacks chooses nothing."""
    ballot = _ballot(visit, token, day)
    if arxiv_id not in ballot.ids:
        return _page(visit, ballot)
    return _page(visit, replace(ballot, votes=ballot.votes | {arxiv_id: _VOTES[way]}), chosen=arxiv_id)


def _ballot(visit: Visit, token: str, day: date) -> _Ballot:
    reader: Reader = found(visit.store.readers.voting(token))
    digest = thaw(visit, found(visit.store.archive.frozen(reader.list_name, day)))
    entries = (digest.entries + digest.over_cap)[:_MOST]
    entries = tuple(replace(entry, paper=replace(entry.paper, abstract="")) for entry in entries)
    shown = page(replace(digest, entries=entries), copy=Copy("", "", ""), unsubscribe_address="")
    if not shown.items:
        raise NotFound
    votes = visit.store.votes.of(reader, [item.arxiv_id for item in shown.items])
    return _Ballot(reader, shown, f"{visit.web_url}/vote/{token}/{day}", votes)


def _page(visit: Visit, ballot: _Ballot, *, chosen: str = "", saved: bool = False) -> Response:
    digest = ballot.digest
    return visit.page(
        "vote",
        digest.mailing_list.language,
        title=digest.title,
        date=digest.date,
        items=sorted(digest.items, key=lambda item: item.arxiv_id != chosen),
        votes=ballot.votes,
        chosen=chosen,
        saved=saved,
        address=without_addresses(ballot.reader.address),
        url=ballot.url,
    )
