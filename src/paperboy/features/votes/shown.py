"""What the operator sees of votes: how many, and never whose."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from paperboy.features.votes.votes import Tally, Votes
from paperboy.models import MailingList
from paperboy.service.app import App
from paperboy.service.feature import Shown

_RECENT = timedelta(days=30)


def status(app: App, lists: Sequence[MailingList], now: datetime) -> Shown:
    """Count the recent votes of each list."""
    found = Votes(app.store_to_ask.database).since(now - _RECENT)
    shown = [(mailing_list.name, found[mailing_list.name]) for mailing_list in lists if mailing_list.name in found]
    return Shown(
        key="votes",
        of_lists={name: tally._asdict() for name, tally in shown},
        otherwise=Tally()._asdict(),
        lines=[f"Votes for {name} in {_RECENT.days} days: {tally}" for name, tally in shown],
    )


def why(app: App, arxiv_id: str) -> Mapping[str, str]:
    """Count the votes on a paper, by list."""
    return {name: f"votes: {tally}" for name, tally in Votes(app.store_to_ask.database).on(arxiv_id).items()}
