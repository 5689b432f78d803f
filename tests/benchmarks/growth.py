"""How large a year makes the database, and what tidying it takes: `python -m tests.benchmarks.growth [--as-it-comes]`.

Five lists with fifty subscribers each, 260 mornings, as many papers as arXiv's real days have, with made-up texts that
are as long as real ones and as hard to compress. The digests go through the real templates. With `--as-it-comes`
nothing is tidied meanwhile: what the year takes by itself. Some minutes; TMPDIR says where the database lies.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from statistics import median

from paperboy.curate import ways_in
from paperboy.models import (
    Became,
    Composed,
    Cost,
    Day,
    DeliveryState,
    Outcome,
    Paper,
    Score,
    Spending,
    Subscriber,
    Usage,
)
from paperboy.store import Store
from tests.builders import mailing_list
from tests.mail.mails import COMPOSER, curated

AIM_MEGABYTES = 200
MORNINGS = 260
FIRST = date(2026, 1, 5)  # a Monday
SUBSCRIBERS = 50
KEEP = timedelta(days=365)
BATCH = 16  # papers in one call of the LLM
MODEL, CRITERIA = "gpt-6-luna", "0123456789abcdef"

# Papers a day by primary category, and how often others of the archive are cross-listed. Together as on the two real
# days, when cs.LG and cs.AI had 423 and 294, and as on the 93 of astro-ph, which had 85.
PER_DAY = {"cs.LG": 150, "cs.AI": 70, "cs.CL": 80, "cs.CV": 70, "stat.ML": 15, "astro-ph.GA": 45, "astro-ph.CO": 40}
CROSSED = {"cs.AI": 0.5, "cs.LG": 0.55, "astro-ph.CO": 0.2}
COMMENTED = 0.13  # of the scores, those with a comment

ENTRIES = {"foundations": 20, "agents": 35, "language": 10, "galaxies": 12, "cosmology": 8}
LISTS = tuple(
    mailing_list(
        name=name,
        title=name.capitalize(),
        categories=categories,
        min_novelty=1,
        subscribers=tuple(Subscriber(f"reader-{number:02}.of.{name}@example.org") for number in range(SUBSCRIBERS)),
    )
    for name, categories in {
        "foundations": ("cs.LG", "stat.ML"),
        "agents": ("cs.LG", "cs.AI"),
        "language": ("cs.CL",),
        "galaxies": ("astro-ph.GA", "astro-ph.CO"),
        "cosmology": ("astro-ph.CO",),
    }.items()
)


class Words:
    """Made-up English: words of syllables, as often as words of their rank."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        begin = [*"bcdfghjklmnprstvw", "br", "ch", "cl", "cr", "dr", "fl", "gr", "pl", "pr", "sh", "st", "th", "tr", ""]
        middle = [*"aeiou", "ai", "ea", "ee", "io", "ou"]
        end = [*"lmnrst", "nd", "ng", "nt", "rt", "st", *[""] * 8]
        words = {
            "".join(chance.choice(part) for _ in range(chance.choice((1, 2, 2, 3, 3))) for part in (begin, middle, end))
            for _ in range(24_000)
        }
        self._words = sorted(words, key=lambda word: len(word) + 6 * chance.random())  # what is said often is short
        self._weights = list(accumulate(1 / (rank + 3) ** 1.15 for rank in range(len(self._words))))

    def text(self, length: float) -> str:
        """About so many characters, of sentences."""
        sentences: list[str] = []
        while sum(map(len, sentences)) < length:
            words = self._chance.choices(self._words, cum_weights=self._weights, k=14)
            sentences.append(" ".join(words).capitalize() + ". ")
        return "".join(sentences)[: int(length)].strip()

    def names(self, number: int) -> tuple[str, ...]:
        words = self._chance.choices(self._words, k=2 * number)
        return tuple(f"{a.capitalize()} {b.capitalize()}" for a, b in zip(words[::2], words[1::2], strict=True))


@dataclass
class Year:
    """Mornings, one after the other, in a database."""

    path: Path
    chance: random.Random = field(default_factory=lambda: random.Random(20261120))  # noqa: S311  # no secret

    @cached_property
    def words(self) -> Words:
        return Words(self.chance)

    @cached_property
    def messages(self) -> dict[str, list[Composed]]:
        """Some digests of each list."""
        made: dict[str, list[Composed]] = {}
        for each in LISTS:
            for turn in range(3):
                papers = list(self.papers(FIRST))[: round(ENTRIES[each.name] * (0.7 + 0.3 * turn))]
                scores = {paper.arxiv_id: Score(8, 8, self.words.text(175)) for paper in papers}
                own = [replace(paper, categories=each.categories) for paper in papers]
                made.setdefault(each.name, []).append(COMPOSER.digest(curated(each, own, scores), at(FIRST)))
        return made

    def papers(self, day: date) -> Iterator[Paper]:
        """A batch: as long as real ones, in title, names, abstract and remark."""
        number = 0
        for category, mean in PER_DAY.items():
            archive = category[:2]
            for _ in range(round(mean * self.chance.uniform(0.8, 1.2))):
                number += 1
                likely = {each: often for each, often in CROSSED.items() if each[:2] == archive}
                crossed = [each for each, often in likely.items() if self.chance.random() < often]
                many = category.startswith("astro") and self.chance.random() < 0.005
                submitted = at(day) - timedelta(hours=self.chance.uniform(14, 38))
                yield Paper(
                    arxiv_id=f"{day:%y%m}.{day.day:02}{number:03}",
                    version=1,
                    title=self.words.text(self.chance.uniform(50, 115)),
                    authors=self.words.names(600 if many else min(40, 1 + int(self.chance.expovariate(0.22)))),
                    abstract=self.words.text(max(300.0, self.chance.gauss(1300, 310))),
                    primary_category=category,
                    categories=tuple(dict.fromkeys([category, *crossed])),
                    published=submitted,
                    updated=submitted,
                    comment=self.words.text(119) if self.chance.random() < 0.38 else "",
                )

    def morning(self, store: Store, day: date) -> None:
        """Everything that a morning leaves behind."""
        now = at(day)
        store.papers.add(tuple(self.papers(day)), sorted({c for each in LISTS for c in each.categories}), now)
        for each in LISTS:
            papers = store.papers.unseen(each)
            if day == FIRST:
                store.days.begin(each.name, ways_in(each), (), day, now)
            scores = {paper.arxiv_id: self._score() for paper in papers}
            spent = Spending(Usage(1, 9_000, 4_000, 0, 700, 200), Cost(0.002, 0.001))
            for batch in batches(list(scores), BATCH):
                store.scores.keep(each.name, CRITERIA, MODEL, {one: scores[one] for one in batch}, spent, now)
            became = {one: Became.SELECTED if score.relevance > 7 else Became.BELOW for one, score in scores.items()}
            frozen = Day(each.name, day, Outcome.DIGEST, model=MODEL, became=became)
            message = self.chance.choice(self.messages[each.name])
            addressed = tuple(COMPOSER.addressed(each.name, day, who) for who in each.subscribers)
            store.days.freeze(replace(frozen, composed=message, addressed=addressed), now)
        for delivery in map(store.deliveries.get, store.deliveries.waiting(now)):
            store.deliveries.reserve(delivery, now)
            reply = f"250 2.0.0 Ok: queued as {self.chance.getrandbits(44):011X}"
            store.deliveries.settle(delivery, DeliveryState.SENT, reply, now, via="smtp")

    def _score(self) -> Score:
        if self.chance.random() > COMMENTED:
            return Score(self.chance.randint(1, 5), self.chance.randint(1, 9))
        return Score(self.chance.randint(6, 10), self.chance.randint(4, 9), self.words.text(175))


def at(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 7, tzinfo=UTC)


def batches(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def weekdays(number: int) -> Iterator[date]:
    day = FIRST
    while number:
        if day.weekday() < 5:
            yield day
            number -= 1
        day += timedelta(days=1)


def by_table(path: Path) -> dict[str, float]:
    """Megabytes of each table with its indices, the largest first."""
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "select tbl_name, sum(pgsize) / 1e6 from dbstat join sqlite_schema using (name) group by 1 order by 2 desc"
    ).fetchall()
    connection.close()
    return dict(rows)


def thinning(path: Path, keep: timedelta, now: datetime) -> None:
    """Thins once and tells what that takes."""
    with Store.open(path) as store:
        begun = time.perf_counter()
        store.retention.thin(keep, [each.name for each in LISTS], now)
        print(f"  {time.perf_counter() - begun:.2f} s; {megabytes(path)}")


def megabytes(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB"


def a_year(path: Path, mornings: int, *, tidy: bool) -> date:
    """Lives through it, and gives its last day."""
    year, took, day = Year(path), [], FIRST
    with Store.open(path) as store:
        for number, day in enumerate(weekdays(mornings), start=1):
            year.morning(store, day)
            if tidy:
                begun = time.perf_counter()
                store.retention.thin(KEEP, [each.name for each in LISTS], at(day))
                took.append(time.perf_counter() - begun)
            if not number % 20:
                print(f"  {number} mornings: {megabytes(path)}", flush=True)
    if took:
        print(f"  tidied after each in {1e3 * median(took):.0f} ms (median)")
    return day


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--as-it-comes", action="store_true", help="tidy nothing meanwhile")
    arguments.add_argument("--mornings", type=int, default=MORNINGS)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "paperboy.db"
        print(
            f"A year of {len(LISTS)} lists with {SUBSCRIBERS} subscribers, about {sum(PER_DAY.values())} papers a day:"
        )
        last = a_year(path, given.mornings, tidy=not given.as_it_comes)
        tables = by_table(path)
        for name, size in tables.items():
            if size >= 0.1:
                print(f"  {name:<18}{size:>7.1f} MB")
        print(f"  {'all':<18}{sum(tables.values()):>7.1f} MB of {AIM_MEGABYTES}")
        begun = time.perf_counter()
        Store.open(path).close()
        print(f"Opening it takes {time.perf_counter() - begun:.2f} s.")
        print("Thinning when the first morning is as old as KEEP_DAYS:")
        thinning(path, timedelta(days=(last - FIRST).days), at(last) + timedelta(hours=1))
        print("Thinning when the operator sets KEEP_DAYS to 31:")
        thinning(path, timedelta(days=31), at(last) + timedelta(hours=2))


if __name__ == "__main__":
    main()
