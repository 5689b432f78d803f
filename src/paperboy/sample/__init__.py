"""Sample of invented papers and three lists, so that `paperboy demo` needs no network and no home;
and the files of a new home.

Titles, abstracts, names and findings are made up. `papers.jsonl` has one paper on each line.
Instead of dates it has `hours_before` (0.2 to 23): how long before the end of a batch's submission
window the paper was submitted.
"""

import importlib.resources
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from paperboy.models import Advance, Paper
from paperboy.sources import source_of
from paperboy.sources.source import Fetched

_FOLDER = importlib.resources.files(__package__)

LISTS = _FOLDER / "subscribers.yaml"
"""Lists of the sample, as `subscribers.yaml`. A `Traversable`: use `read_text()` or `as_file()`."""

HOME = _FOLDER / "home"
"""Folder with the files that `paperboy init` fills in."""

PLACEHOLDERS = ("a topic's name", "what should stay out")
"""Words of the topics in that folder that a person is to replace: readers would see them."""


class SampleFeed:
    """Feed that announces the sample as the newest batch of each source."""

    def window(self, now: datetime, _: datetime | None) -> datetime:
        return now - timedelta(days=7)

    def fetch(
        self,
        categories: Sequence[str],
        _: datetime,
        now: datetime,
        __: datetime | None,
        progress: Advance,
    ) -> Fetched:
        """Return the sample's papers in these categories."""
        wanted = set(categories)
        source = source_of(categories[0])
        until = min(source.calendar.newest_batch(now).submitted_until, now)
        batch = papers(until)
        fetched = [paper for paper in batch if not wanted.isdisjoint(paper.categories)]
        progress(len(fetched), len(fetched))
        return Fetched(fetched, news=True)

    def by_ids(self, _: Sequence[str]) -> None:
        """Return None: the demo's list has no library."""

    def probe(self, _: str) -> tuple[str, str]:
        return "the sample is there", ""


def papers(window_until: datetime) -> tuple[Paper, ...]:
    """Return all papers by id, submitted in the day before `window_until` (exclusive, aware)."""
    until = window_until.astimezone(UTC)
    sample = []
    for line in (_FOLDER / "papers.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        age = timedelta(hours=row.pop("hours_before"))
        row["published"] = until - age
        row["updated"] = until - age / 2 if row["version"] > 1 else until - age
        row["authors"] = tuple(row["authors"])
        row["categories"] = tuple(row["categories"])
        sample.append(Paper(**row))

    return tuple(sample)
