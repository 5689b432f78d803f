"""What each list has learned, and what it learns from: an LLM's scores, and its readers' votes."""

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from paperboy.store.database import Database, iso
from paperboy.store.seen import LIST_KEY, instant_of

LEAST_VOTES, MOST_VOTES = 10, 1_000  # papers with a vote: before anything is learned from votes, and of the newest
BACKGROUND = 10  # papers without a vote, for each with one
_REST = timedelta(hours=1)  # between two looks at new votes


class Kind(StrEnum):
    """What a state was learned from."""

    SCORES = "scores"
    VOTES = "votes"


@dataclass(frozen=True, slots=True)
class State:
    """What a list has learned. What it depends on beside its examples is its `key`."""

    key: str
    oldest: datetime  # of the examples
    until: datetime  # the last one: its instant, and its paper
    until_id: str
    examples: int
    weights: bytes = field(repr=False)  # see scoring/learned.py


class Progress(NamedTuple):
    """How much a list has learned from scores."""

    examples: int
    oldest: datetime


@dataclass(frozen=True, slots=True)
class Judged:
    """A paper that an LLM scored for a list."""

    arxiv_id: str
    title: str
    abstract: str
    relevance: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Voted:
    """A paper that readers of a list voted on; or one on which none did."""

    arxiv_id: str
    title: str
    abstract: str
    share: float | None  # of the votes, those for it; None: there are none


class Learned:
    """A state by list and kind."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def state(self, list_name: str, kind: Kind, key: str) -> State | None:
        """Return what the list has learned with that key."""
        query = f"select {_STATE} from learned where list = ? and kind = ? and key = ? and weights is not null"
        return self._database.first(query, [list_name, kind, key], State)

    def progress(self, list_names: Collection[str]) -> dict[str, Progress]:
        """Return how much those lists have learned from scores that have learned anything."""
        query = """
            select list, examples, oldest from learned
            where kind = 'scores' and examples > 0 and list in (select value from json_each(?))
        """
        rows = self._database.rows(query, [json.dumps(list(list_names))])
        return {row["list"]: Progress(row["examples"], row["oldest"]) for row in rows}

    def keep(self, list_name: str, kind: Kind, state: State | None, at: datetime) -> None:
        """Keep a state instead of the one before; None: there is nothing to learn from."""
        values: list[object] = ["", *[None] * 5]
        if state:
            instants = map(iso, (state.oldest, state.until))
            values = [state.key, *instants, state.until_id, state.examples, state.weights]
        self._database.commit(
            f"insert or replace into learned (list, kind, at, {_STATE}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [list_name, kind, iso(at), *values],
        )

    def due(self, list_names: Collection[str], now: datetime, *, scores: bool) -> dict[str, frozenset[Kind]]:
        """Of these lists, those that may have something to learn: from scores of the past, since another day of
        theirs was frozen, and from votes. Without `scores`, from votes alone.
        """
        values = {"names": json.dumps(list(list_names)), "scores": scores, "rested": iso(now - _REST)}
        found: dict[str, set[Kind]] = {}
        for row in self._database.rows(_DUE, values):
            found.setdefault(row["list"], set()).add(Kind(row["kind"]))
        return {name: frozenset(kinds) for name, kinds in found.items()}

    def judged(self, list_name: str, criteria: str, since: datetime, after: State | None = None) -> tuple[Judged, ...]:
        """Return the papers that LLMs have scored since then for the list on these criteria, in the order of that;
        `after` the last that a state has learned. Those of the newest morning come with the next: until that is over,
        more of them may come.
        """
        at, arxiv_id = (after.until, after.until_id) if after else (since, "")
        values = {"list": list_name, "criteria": criteria, "at": at.timestamp(), "arxiv_id": arxiv_id}
        return tuple(self._database.rows(_JUDGED, values, Judged))

    def voted(self, list_name: str) -> tuple[Voted, ...]:
        """The newest papers with a vote whose text is kept; and some that the list has had and nobody voted on, drawn
        by their ids. Empty if too few have a vote.
        """
        voted: list[Voted] = self._database.rows(_VOTED, {"list": list_name, "most": MOST_VOTES}, Voted)
        if len(voted) < LEAST_VOTES:
            return ()
        return *voted, *self._database.rows(_UNVOTED, {"list": list_name, "most": BACKGROUND * len(voted)}, Voted)


_STATE = "key, oldest, until, until_id, examples, weights"

_NEWEST_DAY = "(select at from days where list = name.value order by date desc limit 1)"
_DUE = f"""
select name.value as list, 'scores' as kind
from json_each(:names) as name left join learned on learned.list = name.value and kind = 'scores'
where :scores and {_NEWEST_DAY} > coalesce(learned.at, '')
and exists (select 1 from spending)
union all select name.value, 'votes'
from json_each(:names) as name left join learned on learned.list = name.value and kind = 'votes'
where {_NEWEST_DAY} > learned.at or (coalesce(learned.at, '') < :rested and exists (
    select 1 from votes where votes.list = name.value and votes.at >= coalesce(learned.at, '')
))
"""

# The list's own newest morning is not over before its day is frozen; and that is dated to its beginning. By whole
# numbers: the view `scores` would write out the instant of each row.
_SCORES = f"""score_rows join paper_keys on paper_keys.id = paper_id join papers using (arxiv_id)
where judge_id in (select id from judges where criteria = :criteria) and list_id = {LIST_KEY}
and novelty is not null and abstract != '' and given < (
    select cast(strftime('%s', at) as integer) from days where days.list = :list order by date desc limit 1
)"""
_JUDGED = f"""
select arxiv_id, title, abstract, relevance, {instant_of("given")} as at from {_SCORES}
and (given, arxiv_id) > (:at, :arxiv_id) order by given, arxiv_id
"""

_VOTED = """
select arxiv_id, title, abstract, avg(vote > 0) as share from votes join papers using (arxiv_id)
where votes.list = :list and abstract != '' group by arxiv_id order by max(votes.at) desc, arxiv_id limit :most
"""
_UNVOTED = """
select arxiv_id, title, abstract, null as share from seen join papers using (arxiv_id)
where seen.list = :list and became in ('below', 'not called', 'over the cap', 'selected') and abstract != ''
and not exists (select 1 from votes where votes.list = :list and votes.arxiv_id = papers.arxiv_id)
order by substr(arxiv_id, -2) || substr(arxiv_id, -4, 2), arxiv_id limit :most
"""
