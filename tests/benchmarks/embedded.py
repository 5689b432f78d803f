"""How well the embedded scorer ranks real days that an LLM has judged: `python -m tests.benchmarks.embedded`.

The measure is the area under the ROC curve: how often a paper that the LLM chose stands above one that it did not.
The days lie beside the checkout, in `../shared/data`, and are not part of the project.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from paperboy.models import MailingList, Paper, ToScore
from paperboy.scoring.local import LocalScorer

DATA = Path(__file__).parents[2].parent / "shared" / "data"


@dataclass(frozen=True, slots=True)
class JudgedDay:
    """One day's papers, and which of them the LLM chose."""

    date: date
    papers: tuple[Paper, ...]
    chosen: frozenset[str]


def astro_days() -> list[JudgedDay]:
    """The days of astro-ph in order; chosen is relevance 7 and up."""
    by_date: dict[str, list[dict[str, Any]]] = {}
    for row in _rows("astro_scored.jsonl"):
        by_date.setdefault(row["date"], []).append(row)
    return [_day(day, by_date[day], lambda row: row["relevance"] >= 7) for day in sorted(by_date)]


def relevances() -> dict[str, int]:
    """Those of the papers of astro-ph, by arXiv id."""
    return {row["arxiv_id"]: row["relevance"] for row in _rows("astro_scored.jsonl")}


def foundations_days() -> list[JudgedDay]:
    """The two days of cs.LG and cs.AI; chosen is what their digests selected."""
    files = sorted((DATA / "days").glob("*.jsonl"))
    return [_day(file.stem, _rows(f"days/{file.name}"), lambda row: bool(row["selected"])) for file in files]


def areas(days: Sequence[JudgedDay], topics: str, every: int = 1) -> list[float]:
    """The area of every n-th day that has chosen papers and others, by the relevance that its papers get among those of
    the 30 days up to it.
    """
    scorer, wants, found = LocalScorer(), _list(topics), []
    for day in days[::every]:
        since = day.date - timedelta(days=scorer.recent_days)
        recent = [paper for other in days if since < other.date <= day.date for paper in other.papers]
        [scored] = scorer.score([ToScore(wants, tuple(day.papers), tuple(recent))])
        if day.chosen and len(day.chosen) < len(day.papers):
            found.append(area({key: score.relevance for key, score in scored.scores.items()}, day.chosen))
    return found


def area(values: Mapping[str, float], chosen: frozenset[str]) -> float:
    """The area under the ROC curve: the share of pairs in which the chosen one has more; equals count half."""
    others = sorted(value for key, value in values.items() if key not in chosen)
    above = sum(bisect_left(others, values[key]) + bisect_right(others, values[key]) for key in chosen) / 2
    return above / (len(others) * len(chosen))


def topics(name: str) -> str:
    return (DATA / "topics" / f"{name}.md").read_text("utf-8")


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def _day(day: str, rows: Sequence[dict[str, Any]], is_chosen: Callable[[dict[str, Any]], bool]) -> JudgedDay:
    published = datetime.fromisoformat(day).replace(tzinfo=UTC)
    papers = tuple(
        Paper(row["arxiv_id"], 1, row["title"], (), row["abstract"], "astro-ph", ("astro-ph",), published, published)
        for row in rows
    )
    return JudgedDay(published.date(), papers, frozenset(row["arxiv_id"] for row in rows if is_chosen(row)))


def _list(topics: str) -> MailingList:
    return MailingList("benchmark", "Benchmark", ("astro-ph",), topics, ZoneInfo("UTC"))


def main() -> None:
    if not DATA.is_dir():
        raise SystemExit(f"Nothing to measure: {DATA} is absent. The judged days are not part of the project.")
    begun = time.perf_counter()
    found = areas(astro_days(), topics("near-field-cosmology"))
    print(f"astro-ph, mean of {len(found)} days   {sum(found) / len(found):.3f}")
    for day in foundations_days():
        [value] = areas([day], topics("foundations"))
        print(f"cs.LG and cs.AI, {day.date}  {value:.3f}")
    print(f"in {time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main()
