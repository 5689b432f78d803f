"""The digests that the web room shows, as long as their papers are kept."""

from datetime import date, datetime
from typing import NamedTuple

from paperboy.models import Archived
from paperboy.store.database import Database, is_token

_KEPT = "link != '' and shown is not null and superseded is null"
_SELECT = f"select id, list as list_name, date, subject, at, link, shown from digests where {_KEPT}"

_PAST = f"""
select digests.id, date, subject, digests.at, author_matches + selected as papers
from digests join days using (list, date)
where list = ? and {_KEPT} order by date desc limit ? offset ?
"""


class Past(NamedTuple):
    """A digest in a list of them."""

    id: int
    date: date  # local to the list
    subject: str
    at: datetime  # when it was frozen
    papers: int  # 0: it is a note


class Archive:
    """By link, or by list and day."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def linked(self, link: str) -> Archived | None:
        """The digest of an unguessable link."""
        return self._database.first(f"{_SELECT} and {is_token('link')}", {"token": link}, Archived)

    def of(self, list_name: str, day: date) -> Archived | None:
        """The digest of a list's day."""
        values = [list_name, day.isoformat()]
        return self._database.first(f"{_SELECT} and list = ? and date = ?", values, Archived)

    def past(self, list_name: str, most: int, offset: int = 0) -> tuple[Past, ...]:
        """The list's digests, newest first, without what they show."""
        return tuple(self._database.rows(_PAST, [list_name, most, offset], Past))

    def newest(self, list_name: str, most: int) -> tuple[Archived, ...]:
        """The list's digests, newest first."""
        query = f"{_SELECT} and list = ? order by date desc limit ?"
        return tuple(self._database.rows(query, [list_name, most], Archived))
