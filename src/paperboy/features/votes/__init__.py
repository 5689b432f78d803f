"""Votes: thumbs in the mail, a page behind them, and what status and why tell of them."""

from paperboy.features.votes.tables import BALLOTS, TABLES
from paperboy.service.feature import Feature, lazily

FEATURE = Feature(
    name="votes",
    tables=TABLES,
    pages=lazily("votes.voting", "rules"),
    links=frozenset({"vote"}),
    ballots=BALLOTS,
    status=lazily("votes.shown", "status"),
    why=lazily("votes.shown", "why"),
)
