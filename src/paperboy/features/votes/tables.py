"""The table of votes."""

from paperboy.models import Tables

BALLOTS = "select list, arxiv_id, vote, at from votes"

TABLES = Tables(
    name="votes",
    schema="""
create table votes (
    list text not null,
    arxiv_id text not null,
    address text not null,
    vote integer not null,      -- 1 or -1
    at text not null,
    primary key (list, arxiv_id, address)
) strict, without rowid;

-- Whoever is forgotten while this folder is missing leaves no vote either.
create trigger vote_forgotten after delete on readers
begin delete from votes where list = old.list and address = lower(old.address); end
""",
    erase=["delete from votes where redacted(address) = '…'"],
)
