"""What the operator sees of votes: their numbers."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from paperboy.features.votes.rows import Tally, on_paper, since
from paperboy.models import MailingList
from paperboy.service.app import App
from paperboy.service.feature import Shown

_RECENT = timedelta(days=30)  # for status


def status(app: App, lists: Sequence[MailingList], now: datetime) -> Shown:
    """Count the recent votes of each list."""
    tallies = since(app.store_to_ask.database, now - _RECENT)
    of_lists = {}
    lines = []
    for mailing_list in lists:
        name = mailing_list.name
        of_lists[name] = tallies.get(name, Tally())._asdict()
        if name in tallies:
            lines.append(f"Votes for {name} in {_RECENT.days} days: {tallies[name]}")
    return Shown(key="votes", of_lists=of_lists, lines=lines)


def why(app: App, paper_id: str) -> Mapping[str, str]:
    """Count the votes on a paper, by list."""
    tallies = on_paper(app.store_to_ask.database, paper_id)
    return {name: f"votes: {tally}" for name, tally in tallies.items()}
