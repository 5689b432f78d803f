"""The digests that a list has had."""

from datetime import date, datetime
from typing import NamedTuple

from paperboy.models import Archived
from paperboy.store.database import Database, is_token
from paperboy.store.history import ARCHIVED, HAS_PAGE

_PAST = f"""
select digests.id, date, subject, digests.at, author_matches + selected as papers
from digests join days using (list, date)
where list = ? and {HAS_PAGE} order by date desc limit ? offset ?
"""


class Past(NamedTuple):
    """A digest in a list of them."""

    id: int
    date: date  # local to the list
    subject: str
    at: datetime  # when it was frozen
    papers: int  # 0: it is a note


def linked(database: Database, link: str) -> Archived | None:
    """Return the digest of an unguessable link."""
    return database.first(f"{ARCHIVED} and {is_token('link')}", {"token": link}, Archived)


def past(database: Database, list_name: str, most: int, offset: int = 0) -> list[Past]:
    """Return the list's digests, newest first, without what they show."""
    return database.rows(_PAST, [list_name, most, offset], Past)


def newest(database: Database, list_name: str, most: int) -> list[Archived]:
    """Return the list's digests, newest first."""
    return database.rows(f"{ARCHIVED} and list = ? order by date desc limit ?", [list_name, most], Archived)
