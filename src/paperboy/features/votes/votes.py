"""What readers think of the papers they got: one vote for each list, paper and person.

They stay when the papers go, and go when the person does.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from paperboy.models import MailingList
from paperboy.service.app import App
from paperboy.service.feature import Shown
from paperboy.store.database import Noun
from paperboy.store.readers import Reader
from paperboy.store.tasks import Tasks

_LEARNS = "learning"  # the kind of task that learns from votes, if there is one
_REST = timedelta(hours=1)  # so that it learns from those of an hour together
_RECENT = timedelta(days=30)  # for status


class Tally(NamedTuple):
    """How many voted which way; never who."""

    up: int = 0
    down: int = 0

    def __str__(self) -> str:
        return f"{self.up} up, {self.down} down"


class Votes(Noun):
    """1 for thumbs up, -1 for thumbs down."""

    def cast(self, reader: Reader, votes: Mapping[str, int], at: datetime) -> None:
        """Keep a reader's votes by id, instead of earlier ones; 0 takes one back. Equal ones keep
        their date.
        """
        database = self._database
        with database.transaction():
            if votes:
                Tasks(database).add(_LEARNS, reader.list_name, at + _REST)
            for paper_id, vote in votes.items():
                values = [reader.list_name, paper_id, reader.address.lower()]
                if vote:
                    database.execute(_CAST, [*values, vote, at])
                else:
                    database.execute(
                        "delete from votes where list = ? and paper_id = ? and address = ?", values
                    )

    def of(self, reader: Reader, paper_ids: Collection[str]) -> dict[str, int]:
        """Return the reader's votes on these papers."""
        rows = self._database.rows(_OF, [reader.list_name, reader.address.lower(), list(paper_ids)])
        return {row["paper_id"]: row["vote"] for row in rows}

    def on(self, paper_id: str) -> dict[str, Tally]:
        """Count the votes on a paper, by list."""
        return self._tallies("paper_id = ?", paper_id)

    def since(self, at: datetime) -> dict[str, Tally]:
        """Count the votes cast or changed since an instant, by list."""
        return self._tallies("at >= ?", at)

    def _tallies(self, condition: str, value: object) -> dict[str, Tally]:
        query = f"select list, sum(vote > 0) as up, sum(vote < 0) as down from votes where {condition} group by list"
        return {
            row["list"]: Tally(row["up"], row["down"])
            for row in self._database.rows(query, [value])
        }


_CAST = """
insert into votes (list, paper_id, address, vote, at) values (?, ?, ?, ?, ?)
on conflict do update set vote = excluded.vote, at = excluded.at where vote != excluded.vote
"""
_OF = """
select paper_id, vote from votes
where list = ? and address = ? and paper_id in (select value from json_each(?))
"""


def status(app: App, lists: Sequence[MailingList], now: datetime) -> Shown:
    """Count the recent votes of each list."""
    found = Votes(app.store_to_ask.database).since(now - _RECENT)
    names = [mailing_list.name for mailing_list in lists]
    return Shown(
        key="votes",
        of_lists={name: found.get(name, Tally())._asdict() for name in names},
        lines=[
            f"Votes for {name} in {_RECENT.days} days: {found[name]}"
            for name in names
            if name in found
        ],
    )


def why(app: App, paper_id: str) -> Mapping[str, str]:
    """Count the votes on a paper, by list."""
    return {
        name: f"votes: {tally}"
        for name, tally in Votes(app.store_to_ask.database).on(paper_id).items()
    }
