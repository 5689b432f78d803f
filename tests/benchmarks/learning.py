"""What lists learn from real days that an LLM has judged: `python -m tests.benchmarks.learning`.

First an LLM's list with a shortlist, as in life: it learns only from papers for which the LLM was called, a morning
later, and begins anew with every month. Then a list of the embedded scorer: with an LLM's scores of the past, and with
votes, of which a tenth are mistakes. Ends with 1 where an aim is missed. The days lie beside the checkout, in
`../shared/data`, and are not part of the project.
"""

import json
import math
import random
import sys
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from statistics import fmean, median
from typing import Any

from paperboy.features.learning import ranking
from paperboy.features.learning.lessons import BACKGROUND
from paperboy.features.learning.ranking import LearnedRanker
from paperboy.features.learning.shortlist import Recall, sampled_of, share_of, shortlist
from paperboy.home.settings import Share
from paperboy.models import Paper, ToScore
from paperboy.morning.drafter import RECENT
from paperboy.morning.drafting import Learned
from paperboy.scoring.local import LocalScorer
from tests.builders import mailing_list

DATA = Path(__file__).parents[2].parent / "shared" / "data"
THRESHOLD = 7
YOUNG = 30  # days on which the LLM is called for all papers
SHARES: tuple[Share, ...] = (0.4, 0.5, 0.6, "auto")

NUMBERS = (0, 10, 20, 40, 80, 160, 270)  # of votes
VOTED_ON = 60  # days
SHOWN = 0.1  # of a day's papers, those that a reader sees and may vote on: the best by words
MISTAKEN = 0.1  # of the votes
READERS = 2  # who vote each for themselves; areas are the mean

# The aims: at half of the papers; of auto, which begins at 60 %; with half of the labels.
MOST_CALLED = 0.55
LEAST_RECALL = 0.98
LEAST_RECALL_OF_AUTO = 0.99
LEAST_AREA = 0.92


@dataclass(frozen=True, slots=True)
class JudgedDay:
    """One day's papers, and which of them the LLM chose."""

    date: date
    papers: tuple[Paper, ...]
    chosen: frozenset[str]


def astro_days() -> list[JudgedDay]:
    """Return the days of astro-ph in order."""
    rows_by_date: dict[str, list[dict[str, Any]]] = {}
    for row in _astro_rows():
        rows_by_date.setdefault(row["date"], []).append(row)
    return [judged_day(day, rows_by_date[day]) for day in sorted(rows_by_date)]


def relevances() -> dict[str, int]:
    """Return the relevances of the papers of astro-ph, by arXiv id."""
    return {row["arxiv_id"]: row["relevance"] for row in _astro_rows()}


def area(values: Mapping[str, float], chosen: frozenset[str]) -> float:
    """Return the area under the ROC curve: the share of pairs in which the chosen one has more; equals count half."""
    others = sorted(value for key, value in values.items() if key not in chosen)
    above = (
        sum(bisect_left(others, values[key]) + bisect_right(others, values[key]) for key in chosen)
        / 2
    )
    return above / (len(others) * len(chosen))


def topics(name: str) -> str:
    return (DATA / "topics" / f"{name}.md").read_text("utf-8")


def _astro_rows() -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (DATA / "astro_scored.jsonl").read_text("utf-8").splitlines()
    ]


def judged_day(day: str, rows: Sequence[dict[str, Any]]) -> JudgedDay:
    published = datetime.fromisoformat(day).replace(tzinfo=UTC)
    papers = tuple(
        Paper(
            id=row["arxiv_id"],
            version=1,
            title=row["title"],
            authors=(),
            abstract=row["abstract"],
            primary_category="astro-ph",
            categories=("astro-ph",),
            published=published,
            updated=published,
        )
        for row in rows
    )
    chosen = frozenset(row["arxiv_id"] for row in rows if row["relevance"] >= THRESHOLD)
    return JudgedDay(published.date(), papers, chosen)


@dataclass(slots=True)
class PaperHistory:
    """A list with a shortlist. What was called, and what of it would have passed, counts from the day YOUNG + 1."""

    share: Share
    called: int = 0
    not_called: int = 0
    passed: int = 0
    missed: int = 0  # papers that were not called, and would have passed
    sampled: int = 0
    found: list[date] = field(default_factory=list)  # when papers of the sample passed
    areas: dict[int, float] = field(default_factory=dict)  # by day, from 1
    seconds: list[float] = field(default_factory=list)  # of a processor, by day
    size: int = 0  # bytes

    @property
    def recall(self) -> float:
        return self.passed / (self.passed + self.missed)

    @property
    def estimated(self) -> Recall:
        """As the list itself can know it."""
        return Recall(self.called, self.not_called, self.passed, self.sampled, len(self.found))

    def count(self, day: JudgedDay, choice: Learned) -> None:
        left_out = len(choice.not_called)
        self.called = self.called + len(day.papers) - left_out
        self.not_called = self.not_called + left_out
        self.passed += len(day.chosen - choice.not_called)
        self.missed += len(day.chosen & choice.not_called)
        self.sampled += len(choice.sampled)
        self.found += [day.date] * len(choice.sampled & day.chosen)


def live(days: Sequence[JudgedDay], relevance: Mapping[str, int], share: Share) -> PaperHistory:
    life = PaperHistory(share)
    state = b""
    judged = list[list[ranking.Example]]()
    for number, day in enumerate(days, start=1):
        begun = time.process_time()
        choice = Learned()
        if state:
            found = LearnedRanker(state).strengths(day.papers)
            strengths = dict(zip((paper.id for paper in day.papers), found, strict=True))
            if number > YOUNG:
                choice = shortlist(
                    strengths,
                    share_of(share, life.found, day.date),
                    sampled_of(share),
                    f"astro {day.date}",
                )
        # The task learns what was judged up to the morning before.
        if judged:
            state = ranking.train(state, judged[-1])
        life.seconds.append(time.process_time() - begun)
        life.size = len(state)
        called = [paper for paper in day.papers if paper.id not in choice.not_called]
        judged.append(examples(called, relevance))
        if number > YOUNG:
            life.count(day, choice)
        if number > 2 and day.chosen and len(day.chosen) < len(day.papers):
            life.areas[number] = area(strengths, day.chosen)
    return life


def examples(papers: Sequence[Paper], relevance: Mapping[str, int]) -> list[ranking.Example]:
    return [
        ranking.Example(paper.title, paper.abstract, ranking.target(relevance[paper.id], THRESHOLD))
        for paper in sorted(papers, key=lambda paper: paper.id)
    ]


# ---- the embedded scorer


class Embedded:
    """Lists of the embedded scorer on the same topics, each with what it has learned."""

    def __init__(self, days: Sequence[JudgedDay]) -> None:
        self._days = days
        self._scorer = LocalScorer()
        self._wants = mailing_list(topics=topics("near-field-cosmology"))

    def relevances(
        self, day: JudgedDay, learned: Sequence[tuple[LearnedRanker, ...]]
    ) -> list[dict[str, int]]:
        """Those of a day's papers on each list."""
        since = day.date - RECENT
        recent = tuple(
            paper
            for other in self._days
            if since < other.date <= day.date
            for paper in other.papers
        )
        jobs = [ToScore(self._wants, day.papers, recent, rankers) for rankers in learned]
        return [
            {key: score.relevance for key, score in each.scores.items()}
            for each in self._scorer.score(jobs)
        ]

    def areas(
        self, days: Sequence[JudgedDay], learned: Sequence[tuple[LearnedRanker, ...]]
    ) -> list[float]:
        """The mean over the days, by list."""
        measured = [
            [area(found, day.chosen) for found in self.relevances(day, learned)]
            for day in days
            if day.chosen and len(day.chosen) < len(day.papers)
        ]
        return [fmean(some) for some in zip(*measured, strict=True)]


def voters(days: Sequence[JudgedDay], embedded: Embedded) -> Iterator[list[LearnedRanker]]:
    """What a list learns from each reader's first votes, by NUMBERS. A reader votes on papers that are shown, up for
    what the LLM chose and down for the rest; or by mistake the other way round.
    """
    papers = {paper.id: paper for day in days for paper in day.papers}
    chosen = frozenset(arxiv_id for day in days for arxiv_id in day.chosen)
    shown = [arxiv_id for day in days for arxiv_id in _best(embedded.relevances(day, [()])[0])]
    for reader in range(READERS):
        dice = random.Random(reader)  # noqa: S311  # the same at every run
        votes = {
            arxiv_id: (arxiv_id in chosen) != (dice.random() < MISTAKEN)
            for arxiv_id in dice.sample(shown, max(NUMBERS))
        }
        yield [_learned(papers, dict(list(votes.items())[:number])) for number in NUMBERS if number]


def _best(relevance: Mapping[str, int]) -> list[str]:
    ordered = sorted(relevance, key=lambda arxiv_id: (-relevance[arxiv_id], arxiv_id))
    return ordered[: math.ceil(SHOWN * len(ordered))]


def _learned(papers: Mapping[str, Paper], votes: Mapping[str, bool]) -> LearnedRanker:
    """From votes and some papers without one, drawn by the ends of their ids."""
    others = sorted(papers.keys() - votes.keys(), key=lambda each: (each[-2:] + each[-4:-2], each))
    rows: list[tuple[str, float | None]] = [(each, float(votes[each])) for each in sorted(votes)]
    rows += [(each, None) for each in others[: BACKGROUND * len(votes)]]
    labelled = (ranking.Example(papers[each].title, papers[each].abstract, up) for each, up in rows)
    return LearnedRanker(ranking.train_likes(labelled))


# ---- what is printed


def print_lives(lives: Sequence[PaperHistory], days: int) -> None:
    print(f"A shortlist and a sample of the rest; days {YOUNG + 1} to {days}")
    print("share   called   recall   estimated   passed in the sample   area   s/day")
    for life in lives:
        share = life.share if isinstance(life.share, str) else f"{life.share:.0%}"
        estimate = life.estimated.estimate or 0.0
        sample = f"{len(life.found)} of {life.sampled}"
        mean_area = fmean(life.areas.values())
        print(
            f"{share:<5}{life.estimated.share:>9.1%}{life.recall:>9.3f}{estimate:>12.3f}{sample:>23}{mean_area:>7.3f}"
            f"{median(life.seconds):>8.2f}",
            flush=True,
        )
    print(f"The state has {lives[0].size:,} bytes.\n")


def reached(what: str, value: float, *, least: float = 0.0, most: float = 1.0) -> bool:
    """Print an aim."""
    aim = f"at least {least:.2f}" if least else f"at most {most:.2f}"
    print(
        f"  {what:<44}{value:>7.3f}   {aim}   {'reached' if least <= value <= most else 'MISSED'}"
    )
    return least <= value <= most


def main() -> None:
    if not DATA.is_dir():
        raise SystemExit(
            f"Nothing to measure: {DATA} is absent. The judged days are not part of the project."
        )
    days = astro_days()
    relevance = relevances()
    lives = [live(days, relevance, share) for share in SHARES]
    print_lives(lives, len(days))
    half = next(life for life in lives if life.share == 0.5)
    auto = next(life for life in lives if life.share == "auto")

    embedded = Embedded(days)
    middle = len(days) // 2
    labels = ranking.train(
        b"", (each for day in days[:middle] for each in examples(day.papers, relevance))
    )
    by_words, by_scores = embedded.areas(days[middle:], [(), (LearnedRanker(labels),)])
    print(f"The embedded scorer; area over days {middle + 1} to {len(days)}")
    print(f"  by words                            {by_words:.3f}")
    print(f"  and an LLM's scores of the days before  {by_scores:.3f}\n", flush=True)

    taught = list(voters(days[:VOTED_ON], embedded))
    found = iter(
        embedded.areas(
            days[VOTED_ON:], [(), *((ranker,) for rankers in taught for ranker in rankers)]
        )
    )
    words = next(found)
    measured = list(found)
    print(f"  votes   area over days {VOTED_ON + 1} to {len(days)}, mean of {READERS} readers")
    each = len(NUMBERS) - 1
    for place, number in enumerate(NUMBERS):
        print(f"  {number:>5}   {fmean(measured[place - 1 :: each]) if number else words:.3f}")
    print()

    aims = [
        reached("called, of all papers, at 50 %", half.estimated.share, most=MOST_CALLED),
        reached("recall at 50 %", half.recall, least=LEAST_RECALL),
        reached("recall of auto", auto.recall, least=LEAST_RECALL_OF_AUTO),
        reached("area with half of the labels", by_scores, least=LEAST_AREA),
    ]
    sys.exit(not all(aims))


if __name__ == "__main__":
    main()
