"""Database rows of learning: each list's states, their examples (an LLM's scores, readers' votes,
papers to compare likes with), and the random sample.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from paperboy.features.learning.ranking import Example
from paperboy.features.learning.shortlist import MISS_WINDOW, Recall
from paperboy.models import Day, Spending
from paperboy.store.database import Database
from paperboy.store.retention import TEXT_KEPT
from paperboy.store.scores import SUMS, summed
from paperboy.store.seen import LIST_KEY

LEAST_VOTES = 10  # papers with a vote, before anything is learned from votes
MOST_VOTES = 1_000  # papers with a vote that are learned from: the newest
BACKGROUND = 10  # papers without a vote for each paper with one, or of the library
_REST = timedelta(hours=1)  # between two trainings on votes

NO_VOTES = "select '' as list, '' as paper_id, 0 as vote, '' as at where false"


class ExampleKind(StrEnum):
    """Source of a state's examples."""

    SCORES = "scores"
    VOTES = "votes"
    LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class LearnedState:
    """Weights that a list has learned from one kind of example."""

    key: str  # everything that the weights depend on, except the examples
    oldest: datetime  # of the examples
    until: datetime  # of the last example
    until_id: str  # its paper
    examples: int
    weights: bytes = field(repr=False)  # see ranking.py


class TrainingProgress(NamedTuple):
    """Amount that a list has learned from scores."""

    examples: int
    oldest: datetime


class ScoredPaper(NamedTuple):
    """Paper that an LLM scored for a list."""

    paper_id: str
    title: str
    abstract: str
    relevance: int
    at: datetime


class Lessons:
    """States by list and kind, and the papers of the sample. `votes` is a query of readers' votes,
    with the columns of NO_VOTES.
    """

    def __init__(self, database: Database, votes: str = NO_VOTES) -> None:
        self._database = database
        self._ballots = f"with ballots as not materialized ({votes})"

    def state(self, list_name: str, kind: ExampleKind, key: str) -> LearnedState | None:
        """Return the list's state of that kind and key."""
        query = """select key, oldest, until, until_id, examples, weights from learned
            where list = ? and kind = ? and key = ? and weights is not null"""
        return self._database.first(query, [list_name, kind, key], LearnedState)

    def progress(self, list_names: Collection[str]) -> dict[str, TrainingProgress]:
        """Return the progress of those lists that have learned anything from scores."""
        query = """
            select list, examples, oldest from learned
            where kind = 'scores' and examples > 0 and list in (select value from json_each(?))
        """
        rows = self._database.rows(query, [list(list_names)])
        return {row.pop("list"): TrainingProgress(**row) for row in rows}

    def keep(
        self, list_name: str, kind: ExampleKind, state: LearnedState | None, at: datetime
    ) -> None:
        """Replace a state; None: there was nothing to learn from."""
        learned = asdict(state) if state else {"key": ""}
        row = {"list": list_name, "kind": kind, "at": at} | learned
        with self._database.transaction():
            self._database.insert("learned", row, replace=True)

    def due(
        self, list_name: str, now: datetime, *, scores: bool, library: bool
    ) -> list[ExampleKind]:
        """Return the kinds that may have something new to learn from: all three (scores and library
        if wanted) once another day of the list was frozen, and votes also after new votes.
        """
        values = {
            "list": list_name,
            "scores": scores,
            "library": library,
            "rested": now - _REST,
        }
        return [ExampleKind(kind) for kind in self._database.column(self._ballots + _DUE, values)]

    def judged(
        self, list_name: str, criteria: str, since: datetime, after: LearnedState | None = None
    ) -> list[ScoredPaper]:
        """Return the papers that LLMs scored for the list by these criteria, oldest score first:
        those after the last example of a state, else all since an instant. The newest morning's
        scores are left out, since it may still add some.
        """
        values = {
            "list": list_name,
            "criteria": criteria,
            "at": (after.until if after else since).timestamp(),
            "paper_id": after.until_id if after else "",
        }
        return self._database.rows(_JUDGED, values, ScoredPaper)

    def voted(self, list_name: str) -> list[Example]:
        """Return the newest papers with a vote and a stored text, and papers of the list without a
        vote to compare with; empty if too few have a vote.
        """
        values = {"list": list_name, "most": MOST_VOTES}
        voted: list[Example] = self._database.rows(self._ballots + _VOTED, values, Example)
        if len(voted) < LEAST_VOTES:
            return []
        return voted + self.others(list_name, len(voted))

    def others(self, list_name: str, likes: int) -> list[Example]:
        """Return papers of the list without a vote, drawn by their ids, to compare with this number
        of likes.
        """
        values = {"list": list_name, "most": BACKGROUND * likes}
        return self._database.rows(self._ballots + _UNVOTED, values, Example)

    # The sample

    def add_sample(self, day: Day) -> None:
        """Add the day's sample. Joins the transaction of the caller."""
        rows = [(day.list_name, day.date, paper_id) for paper_id in day.sampled]
        self._database.execute_all(
            "insert into samples values (?, ?, ?) on conflict do nothing", rows
        )

    def misses(self, list_name: str, day: date) -> list[date]:
        """Return the sorted dates of the shortlist's misses, sampled papers that passed, in the 120
        days up to that day.
        """
        return self._database.column(_MISSES, [list_name, day - 2 * MISS_WINDOW])

    def recalls(self, list_names: Collection[str], day: date) -> dict[str, tuple[Recall, Spending]]:
        """Return each list's recall and spending in the 60 days up to that day, only of days on
        which its shortlist left papers out.
        """
        values = {"names": list(list_names), "since": day - MISS_WINDOW}
        spent = {row["list"]: summed(row) for row in self._database.rows(_SPENT, values)}
        recalls = {}
        for row in self._database.rows(_RECALLS, values):
            name = row.pop("list")
            recalls[name] = Recall(**row), spent.get(name, Spending())
        return recalls


_NEWEST_DAY = "(select at from days where list = :list order by date desc limit 1)"
_LOOKED = "(select (select at from learned where list = :list and kind = '{}') as at) as looked"
_DUE = f"""
select 'scores' as kind from {_LOOKED.format("scores")}
where :scores and {_NEWEST_DAY} > coalesce(looked.at, '')
and exists (select 1 from spending)
union all select 'votes' from {_LOOKED.format("votes")}
where {_NEWEST_DAY} > looked.at or (coalesce(looked.at, '') < :rested and exists (
    select 1 from ballots where ballots.list = :list and ballots.at >= coalesce(looked.at, '')
))
union all select 'library' from {_LOOKED.format("library")}
where :library and {_NEWEST_DAY} > coalesce(looked.at, '')
order by kind
"""

# A day's `at` is when its morning began, so scores of the newest morning are left out. Instants are
# compared as numbers, since the view `scores` would format each one.
_SCORES = f"""score_rows join paper_keys on paper_keys.key = paper_key join papers using (id)
where judge_key in (select key from judges where criteria = :criteria) and list_key = {LIST_KEY}
and novelty is not null and {TEXT_KEPT} and given < (
    select cast(strftime('%s', at) as integer) from days where days.list = :list order by date desc limit 1
)"""
_JUDGED = f"""
select papers.id as paper_id, title, abstract, relevance,
    strftime('%Y-%m-%dT%H:%M:%S+00:00', given, 'unixepoch') as at -- as `iso` writes it
from {_SCORES}
and (given, papers.id) > (:at, :paper_id) order by given, papers.id
"""

_VOTED = f"""
select title, abstract, avg(vote > 0) as target from ballots join papers on papers.id = paper_id
where ballots.list = :list and {TEXT_KEPT} group by paper_id order by max(ballots.at) desc, paper_id limit :most
"""
_UNVOTED = f"""
select title, abstract, null as target from seen join papers on papers.id = paper_id
where seen.list = :list and became in ('below', 'not called', 'over the cap', 'selected') and {TEXT_KEPT}
and not exists (select 1 from ballots where ballots.list = :list and ballots.paper_id = papers.id)
order by substr(paper_id, -2) || substr(paper_id, -4, 2), paper_id limit :most
"""

_PASSED = "became in ('selected', 'over the cap')"
_MISSES = f"""
select samples.date from samples join seen using (list, paper_id)
where samples.list = ? and samples.date >= ? and {_PASSED} order by samples.date, paper_id
"""
_SHORTLISTED = """
select * from days where list in (select value from json_each(:names)) and date >= :since and not_called > 0
and outcome != 'gave up'  -- its papers come again, as do those of a digest that reached nobody
and not exists (select 1 from digests where digests.id = days.digest_id and superseded is not null)
"""
_RECALLS = f"""
select list, sum(considered - filtered - not_called) as called, sum(not_called) as not_called,
    sum(selected + over_cap) as passed,
    coalesce((select count(*) from samples where samples.list = some.list and samples.date >= :since), 0) as sampled,
    coalesce((
        select count(*) from samples join seen using (list, paper_id)
        where samples.list = some.list and samples.date >= :since and {_PASSED}
    ), 0) as found
from ({_SHORTLISTED}) as some group by list
"""
_SPENT = f"""
select list, {SUMS} from spending where (list, date) in (select list, date from ({_SHORTLISTED})) group by list
"""
