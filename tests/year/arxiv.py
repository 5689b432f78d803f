"""arXiv by its own calendar: which evenings it announces on, what, and when its API has it."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import count, pairwise
from zoneinfo import ZoneInfo

from paperboy.models import Paper
from tests.builders import paper

DAY = timedelta(days=1)
# What is there later after its submission may lie outside the look-back of a week.
FOUND = timedelta(days=6, hours=12)

_EASTERN = ZoneInfo("America/New_York")
_FRIDAY = 4
_SATURDAY = 5
_SUNDAY = 6
# Evenings without an announcement, as arXiv would list them; typed in, so that no rule of ours is asked.
_HOLIDAYS = frozenset(
    date(2028, month, day) for month, day in ((1, 17), (6, 19), (7, 4), (9, 4), (11, 23), (12, 25))
) | {date(2029, 1, 1)}

_MIXES = (
    *(
        ("cs.LG",),
        ("cs.LG", "stat.ML"),
        ("stat.ML",),
        ("cs.CL",),
        ("cs.CL", "cs.LG"),
        ("cs.CV",),
        ("cs.CV", "cs.LG"),
    ),
)
_ALONE = (("stat.ML",), ("cs.CL",), ("cs.CV",))  # each is of interest to one list
_ELSEWHERE = ("math.AG",)  # of interest to none


@dataclass
class Batch:
    """What arXiv announces together. `due` is when its API should have it."""

    evening: date
    since: datetime
    until: datetime
    due: datetime
    late: timedelta = timedelta()
    second_piece: timedelta = timedelta()  # behind the first one; zero: it comes whole
    elsewhere: bool = False  # nothing in it is for our lists

    @property
    def there(self) -> datetime:
        """When its first piece is."""
        return self.due + self.late


@dataclass(frozen=True)
class Announced:
    """A paper, and when the API has it."""

    paper: Paper
    there: datetime


def announces(evening: date) -> bool:
    """Whether arXiv's calendar has an announcement on that evening."""
    return evening.weekday() not in {_FRIDAY, _SATURDAY} and evening not in _HOLIDAYS


def due(evening: date) -> datetime:
    """When the API should have what is announced on that evening."""
    return datetime.combine(evening + DAY, time(0, 15), _EASTERN).astimezone(UTC)


def batches(first: date, last: date, gaps: Sequence[date] = ()) -> list[Batch]:
    """Those announced between two evenings; nothing is on `gaps`, which nobody listed."""
    evenings = [first + DAY * number for number in range((last - first).days + 1)]
    evenings = [evening for evening in evenings if announces(evening) and evening not in gaps]
    return [
        Batch(evening, _closing(before), _closing(evening), due(evening))
        for before, evening in pairwise(evenings)
    ]


def _closing(evening: date) -> datetime:
    day = evening - 2 * DAY if evening.weekday() == _SUNDAY else evening
    return datetime.combine(day, time(14), _EASTERN).astimezone(UTC)


def papers(of: Sequence[Batch], dice: random.Random) -> Iterator[Announced]:
    """Six to fourteen in each batch. Moderation holds a few of them for one to four days."""
    numbers = count(1)
    for place, batch in enumerate(of):
        mixes = [*_ALONE, *dice.choices(_MIXES, k=dice.randint(2, 10)), _ELSEWHERE]
        for nth, categories in enumerate(mixes):
            published = batch.since + (batch.until - batch.since) * dice.uniform(0.01, 0.99)
            made = _paper(next(numbers), published, _ELSEWHERE if batch.elsewhere else categories)
            there = batch.there + (batch.second_piece if nth % 2 else timedelta())
            if dice.random() < 0.04 and nth >= len(_ALONE):
                surfacing = [
                    each.there
                    for each in of[place + 1 : place + 5]
                    if each.due - batch.due <= 4 * DAY
                ]
                there = dice.choice(
                    [instant for instant in surfacing if instant - published < FOUND] or [there]
                )
            yield Announced(made, there)


@dataclass
class Edition:
    """One day of the announcement feed: from midnight in the east of America to the next."""

    since: datetime
    until: datetime
    entries: list[tuple[Paper, str]]  # each with its announce type
    late: Paper | None = None  # submitted long ago, and cross-listed only now
    down: bool = False
    stale: bool = False  # it still has what the edition before had


def editions(
    of: Sequence[Batch], announced: Sequence[Announced], dice: random.Random
) -> Iterator[Edition]:
    """What the feed says of each batch. Every third has a late cross-list, every tenth is down, or stale; one in forty
    is cut: it has so much else that not all of it is shown.
    """
    for number, batch in enumerate(of):
        since = datetime.combine(batch.evening + DAY, time(), _EASTERN).astimezone(UTC)
        until = datetime.combine(batch.evening + 2 * DAY, time(), _EASTERN).astimezone(UTC)
        own = [
            each.paper for each in announced if batch.since <= each.paper.published < batch.until
        ]
        entries = [(each, "cross" if len(each.categories) > 1 else "new") for each in own]
        found = Edition(since, until, entries, down=dice.random() < 0.1, stale=dice.random() < 0.1)
        if dice.random() < 0.3:
            categories = (*_ELSEWHERE, dice.choice(("cs.LG", "cs.CL", "cs.CV", "stat.ML")))
            found.late = _paper(
                90_000 + number, batch.since - dice.randint(40, 400) * DAY, categories
            )
            entries.append((found.late, "cross"))
        if dice.random() < 0.025:
            entries += [
                (paper(f"2001.{n:05}", categories=("cs.CV",)), "replace") for n in range(2_000)
            ]
        yield found


def _paper(number: int, published: datetime, categories: tuple[str, ...]) -> Paper:
    at = published.replace(microsecond=0)
    name = f"{at:%y%m}.{number:05}"
    return paper(
        name, categories=categories, primary_category=categories[0], published=at, updated=at
    )
