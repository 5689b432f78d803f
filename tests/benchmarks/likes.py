"""What a library does for the embedded scorer, on real days: `python -m tests.benchmarks.likes`.

Likes are drawn from what an LLM chose on days before; areas under the ROC curve are those of later days, the mean of 20
draws. Ends with 1 where a relation does not hold. The days lie beside the checkout, in `../shared/data`, and are not
part of the project.
"""

import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import NamedTuple

from paperboy.features.learning import ranking
from paperboy.features.learning.lessons import BACKGROUND
from paperboy.features.learning.ranking import LearnedRanker
from paperboy.home.library import LibraryItem, newest_titles
from paperboy.models import MailingList, Paper, ToScore
from paperboy.morning.drafter import RECENT
from paperboy.scoring.local import LocalScorer
from tests.benchmarks.learning import DATA, JudgedDay, area, astro_days, judged_day, topics
from tests.builders import mailing_list

DRAWS = 20
EVERY = 6  # of the later days of astro-ph, one is measured
NOISE = 0.02  # of the few days of machine learning


class Row(NamedTuple):
    """Kind of list: how much it likes, and what its words are."""

    likes: int
    mistaken: int = 0  # of them: papers that the LLM did not choose
    by_titles: bool = False  # of the likes, in place of topics
    learns: bool = True

    def __str__(self) -> str:
        if not self.likes:
            return "topics alone"
        mistaken = f", {self.mistaken} of them mistaken" if self.mistaken else ""
        words = f"{self.likes} titles in place of topics" if self.by_titles else "topics"
        if not self.learns:
            return words
        return f"{words}, and {self.likes} likes{mistaken}"


WORDS = Row(0)
TITLES = Row(20, by_titles=True)
ROWS = (
    WORDS,
    Row(5),
    Row(10),
    Row(20),
    Row(40),
    Row(20, mistaken=2),
    Row(20, by_titles=True, learns=False),
    TITLES,
)


@dataclass(frozen=True, slots=True)
class Field:
    """Days of a field, before and after a list began to like."""

    name: str
    before: Sequence[JudgedDay]
    after: Sequence[JudgedDay]
    topics: str


def fields() -> Iterator[Field]:
    astro = astro_days()
    middle = len(astro) // 2
    after = astro[middle::EVERY]
    yield Field("astro-ph", astro[:middle], after, topics("near-field-cosmology"))
    yield Field("cs.LG", [_ml_day("2025-02-18")], [_ml_day("2025-06-06")], topics("foundations"))


def _ml_day(day: str) -> JudgedDay:
    lines = (DATA / "days" / f"{day}.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return judged_day(day, [{**row, "relevance": 7 if row["selected"] else 3} for row in rows])


def likes(field: Field, row: Row, draw: int) -> list[Paper]:
    """Draw liked papers of the days before."""
    papers = {paper.id: paper for day in field.before for paper in day.papers}
    chosen = sorted(paper_id for day in field.before for paper_id in day.chosen)
    others = sorted(papers.keys() - set(chosen))
    dice = random.Random(draw)  # noqa: S311  # the same at every run
    drawn = dice.sample(chosen, row.likes - row.mistaken) + dice.sample(others, row.mistaken)
    return [papers[paper_id] for paper_id in drawn]


def ranker(field: Field, liked: Sequence[Paper]) -> LearnedRanker:
    """Learn from likes, and from some papers of the days before, drawn by the ends of their ids."""
    papers = {paper.id: paper for day in field.before for paper in day.papers}
    others = sorted(
        papers.keys() - {paper.id for paper in liked},
        key=lambda paper_id: (paper_id[-2:] + paper_id[-4:-2], paper_id),
    )
    background = [papers[paper_id] for paper_id in others[: BACKGROUND * len(liked)]]
    rows = [
        ranking.Example(paper.title, paper.abstract, target)
        for some, target in ((liked, 1.0), (background, None))
        for paper in some
    ]
    return LearnedRanker(ranking.train_likes(rows), of_library=True)


def wants(field: Field, row: Row, liked: Sequence[Paper]) -> MailingList:
    wanted = mailing_list(topics=field.topics)
    if not row.by_titles:
        return wanted
    items = [LibraryItem(paper.id, "", paper.title) for paper in liked]
    titles = newest_titles(items)
    return replace(wanted, topics="", titles=titles, library_size=len(titles))


def areas(field: Field) -> dict[Row, list[float]]:
    """Return the mean area over the days after, for each draw."""
    lists = list[tuple[Row, MailingList, tuple[LearnedRanker, ...]]]()
    for row in ROWS:
        for draw in range(DRAWS if row.likes else 1):
            liked = likes(field, row, draw)
            learned = (ranker(field, liked),) if row.likes and row.learns else ()
            lists.append((row, wants(field, row, liked), learned))

    scorer = LocalScorer()
    days = [*field.before, *field.after]
    by_list: list[list[float]] = [[] for _ in lists]
    for day in field.after:
        since = day.date - RECENT
        recent = tuple(
            paper for other in days if since < other.date <= day.date for paper in other.papers
        )
        jobs = [ToScore(wanted, day.papers, recent, learned) for _, wanted, learned in lists]
        for place, scored in enumerate(scorer.score(jobs)):
            relevance = {key: float(score.relevance) for key, score in scored.scores.items()}
            by_list[place].append(area(relevance, day.chosen))

    measured = dict[Row, list[float]]()
    for (row, _, _), found in zip(lists, by_list, strict=True):
        measured.setdefault(row, []).append(fmean(found))
    return measured


def holds(what: str, more: float, less: float, *, least: float = 0.0) -> bool:
    """Print a relation."""
    gain = more - less
    print(f"  {what:<58}{gain:>+7.3f}   {'holds' if gain >= least else 'FAILS'}", flush=True)
    return gain >= least


def main() -> None:
    if not DATA.is_dir():
        raise SystemExit(
            f"Nothing to measure: {DATA} is absent. The judged days are not part of the project."
        )
    relations = list[bool]()
    for field in fields():
        print(f"{field.name}: {len(field.after)} days, {DRAWS} draws of each")
        measured = areas(field)
        for row, found in measured.items():
            spread = f" ± {stdev(found):.3f}" if len(found) > 1 else ""
            print(f"  {row!s:<58}{fmean(found):>7.3f}{spread}")
        mean = {row: fmean(found) for row, found in measured.items()}
        noise = NOISE if field.name == "cs.LG" else 0.0
        gain = -noise if noise else 0.015
        relations += [
            holds("5 likes are not below topics alone", mean[Row(5)], mean[WORDS], least=-noise),
            holds("20 are above 5", mean[Row(20)], mean[Row(5)], least=-noise),
            holds("20 are above topics alone", mean[Row(20)], mean[WORDS], least=gain),
        ]
        print()
    sys.exit(not all(relations))


if __name__ == "__main__":
    main()
