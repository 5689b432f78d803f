"""Integer keys for the papers that lists have seen, and for scores.

Most rows of a home are of these two kinds, so they name list, paper, model and day by whole
numbers; the views `seen` and `scores` show them in words. `days.py` and `scores.py` write them.
"""

from datetime import date

from paperboy.models import PaperOutcome

CODES = {  # of the schema's view; 0 and 1 take no room
    PaperOutcome.BELOW: 0,
    PaperOutcome.FILTERED: 1,
    PaperOutcome.NOT_CALLED: 2,
    PaperOutcome.SELECTED: 3,
    PaperOutcome.AUTHOR_MATCH: 4,
    PaperOutcome.OVER_CAP: 5,
    PaperOutcome.LET_GO: 6,
    PaperOutcome.BEFORE_START: 7,
}
LIST_KEY = "(select key from list_keys where list = :list)"
PAPER_KEYS = "insert into paper_keys (id) select value from json_each(:ids) where true on conflict do nothing"
KNOW_LIST = "insert into list_keys (list) values (:list) on conflict do nothing"


def day_number(day: date) -> int:
    """Return the days since 1970, as `seen_rows` has them."""
    return (day - date(1970, 1, 1)).days
