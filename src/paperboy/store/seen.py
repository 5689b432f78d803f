"""What lists have seen, for ever, and the short keys that make it small.

Most rows of a home say what became of a paper for a list, and its score. Such a row names list, paper, model and day by
whole numbers; the views `seen` and `scores` show them in words. Rows are written here and in `scores.py`, by key.
"""

from collections.abc import Mapping
from datetime import date

from paperboy.models import Became
from paperboy.store.database import Database

CODES = {  # those of the schema's view; 0 and 1 take no room
    Became.BELOW: 0,
    Became.FILTERED: 1,
    Became.NOT_CALLED: 2,
    Became.SELECTED: 3,
    Became.AUTHOR_MATCH: 4,
    Became.OVER_CAP: 5,
    Became.LET_GO: 6,
    Became.BEFORE_START: 7,
}
LIST_KEY = "(select key from list_keys where list = :list)"
PAPER_KEYS = "insert into paper_keys (id) select value from json_each(:ids) where true on conflict do nothing"
KNOW_LIST = "insert into list_keys (list) values (:list) on conflict do nothing"


def day_number(day: date) -> int:
    """Days since 1970, as `seen_rows` has them."""
    return (day - date(1970, 1, 1)).days


def instant_of(column: str) -> str:
    """The SQL of an instant, as `iso` writes it, of a column that has it as Unix time."""
    return f"strftime('%Y-%m-%dT%H:%M:%S+00:00', {column}, 'unixepoch')"


def see(database: Database, list_name: str, became: Mapping[str, Became], day: date, *, if_new: bool = False) -> None:
    """Note what became of papers for a list; `if_new` leaves those alone that it has seen. Joins the transaction of the
    caller.

    Raises sqlite3.IntegrityError where the list has seen one of them.
    """
    insert = "insert or ignore" if if_new else "insert"
    codes = {paper_id: CODES[fate] for paper_id, fate in became.items()}
    saw = f"""{insert} into seen_rows select {LIST_KEY}, paper_keys.key, codes.value, :day
        from json_each(:codes) as codes join paper_keys on paper_keys.id = codes.key"""
    values = {"list": list_name, "ids": list(became), "codes": codes, "day": day_number(day)}
    database.execute_each((KNOW_LIST, PAPER_KEYS, saw), values)
