"""Votes: thumbs in the mail, the page behind them, and their counts in status and why."""

from paperboy.models import Tables
from paperboy.service.feature import Feature, lazily

_TABLES = Tables(
    name="votes",
    migrations=(
        """
create table votes (
    list text not null,
    paper_id text not null,
    address text not null,
    vote integer not null,      -- 1 or -1
    at text not null,
    primary key (list, paper_id, address)
) strict, without rowid;

-- A trigger, so that erasing a reader deletes their votes even while this folder is left out.
create trigger vote_forgotten after delete on readers
begin delete from votes where list = old.list and address = lower(old.address); end
""",
    ),
    erase=["delete from votes where redacted(address) = '…'"],
)

FEATURE = Feature(
    name="votes",
    tables=_TABLES,
    pages=lazily("votes.pages", "rules"),
    samples=lazily("votes.pages", "samples"),
    links=frozenset({"vote"}),
    ballots="select list, paper_id, vote, at from votes",
    status=lazily("votes.reports", "status"),
    why=lazily("votes.reports", "why"),
)
