"""Votes of readers on the papers they got: one for each list, paper and reader.

A vote outlives its paper; it is deleted when the reader is erased.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from paperboy.store.database import Database
from paperboy.store.readers import Reader
from paperboy.store.tasks import Tasks

_LEARNING = "learning"  # the kind of task that learns from votes, if there is one
_DELAY = timedelta(hours=1)  # before that task, so that it learns an hour's votes together


class Tally(NamedTuple):
    """Counts of votes, without names."""

    up: int = 0
    down: int = 0

    def __str__(self) -> str:
        return f"{self.up} up, {self.down} down"


def cast(database: Database, reader: Reader, votes: Mapping[str, int], at: datetime) -> None:
    """Keep a reader's votes by paper id, 1 for thumbs up and -1 for thumbs down, replacing earlier
    ones; 0 takes a vote back. A vote that is cast again keeps its date.
    """
    with database.transaction():
        if votes:
            Tasks(database).add(_LEARNING, reader.list_name, at + _DELAY)

        for paper_id, vote in votes.items():
            values = [reader.list_name, paper_id, reader.address.lower()]
            if vote:
                database.execute(_CAST, [*values, vote, at])
            else:
                database.execute(_TAKE_BACK, values)


def of_reader(database: Database, reader: Reader, paper_ids: Collection[str]) -> dict[str, int]:
    """Return the reader's votes on these papers, by id."""
    return database.pairs(_OF_READER, [reader.list_name, reader.address.lower(), list(paper_ids)])


def on_paper(database: Database, paper_id: str) -> dict[str, Tally]:
    """Count the votes on a paper, by list."""
    return _tallies(database, "paper_id = ?", paper_id)


def since(database: Database, at: datetime) -> dict[str, Tally]:
    """Count the votes cast or changed since an instant, by list."""
    return _tallies(database, "at >= ?", at)


def _tallies(database: Database, condition: str, value: object) -> dict[str, Tally]:
    query = f"select list, sum(vote > 0) as up, sum(vote < 0) as down from votes where {condition} group by list"
    return {row.pop("list"): Tally(**row) for row in database.rows(query, [value])}


_CAST = """
insert into votes (list, paper_id, address, vote, at) values (?, ?, ?, ?, ?)
on conflict do update set vote = excluded.vote, at = excluded.at where vote != excluded.vote
"""
_TAKE_BACK = "delete from votes where list = ? and paper_id = ? and address = ?"
_OF_READER = """
select paper_id, vote from votes
where list = ? and address = ? and paper_id in (select value from json_each(?))
"""
