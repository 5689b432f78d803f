"""A source as small as one can be: three papers a day, shown at the midnight that follows, and none on Saturdays."""

import re
from datetime import UTC, datetime, timedelta

from paperboy.errors import FeedError
from paperboy.models import Paper
from paperboy.sources.source import Batch, Fetched, Links, Source
from paperboy.tex import SUB, SUB_END

DAY = timedelta(days=1)
SERVER = {"late": 0, "down": 0, "asked": 0}


def midnight(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


class Calendar:
    def newest_batch(self, now: datetime, _: object = ()) -> Batch:
        end = midnight(now) - (DAY if now.weekday() == 6 else 0 * DAY)  # Saturday's does not exist
        return Batch(end - DAY, end, end)

    def why_none(self, since: datetime, until: datetime, _: object = ()) -> str:
        return "" if self.newest_batch(until).visible > since else "day of rest"

    def start_of_newest(self, published: list[datetime], now: datetime, _: object = ()) -> datetime:
        return midnight(max(published, default=now))


class Feed:
    def window(self, now: datetime, last_fetch: datetime | None) -> datetime:
        return midnight(last_fetch or now) - 7 * DAY

    def fetch(self, categories: list[str], since: datetime, now: datetime, *_: object) -> Fetched:
        SERVER["asked"] += 1
        if SERVER["down"]:
            raise FeedError("the trial server is down")
        newest = CALENDAR.newest_batch(now).submitted_from
        days = [since + number * DAY for number in range((midnight(now) - since).days)]
        papers = [new(day, number) for day in days if day.weekday() != 5 for number in (1, 2, 3)]
        papers = [paper for paper in papers if paper.primary_category in categories]
        if SERVER["late"]:
            papers = [paper for paper in papers if paper.published < newest]
            return Fetched(
                papers, news=False, missing=f"the trial's papers of {newest:%A} have not come yet"
            )
        return Fetched(papers, news=now.weekday() != 6)

    def by_ids(self, _: object) -> None:
        """It cannot be asked."""

    def probe(self, category: str) -> tuple[str, str]:
        return f"the trial has {category}", ""


def new(day: datetime, number: int) -> Paper:
    category = "trial/wrens" if number == 3 else "trial/robins"
    title = f"How *CO~2~* changes song {number} of {day:%d %B}"
    at = day.replace(hour=8 + number)
    return Paper(
        id=f"trial:10.9/{day:%m-%d}.{number}",
        version=1,
        title=title,
        authors=("Ada Wren",),
        abstract="It *does*. So.",
        primary_category=category,
        categories=(category,),
        published=at,
        updated=at,
    )


def category(text: str) -> tuple[str, ...]:
    if text.lower() not in {"trial/robins", "trial/wrens", "trial/owls"}:
        raise ValueError(f"{text!r} is no category of the trial; did you mean trial/robins?")
    return (text.lower(),)


def marked(text: str) -> str:
    return re.sub("~(.+?)~", rf"{SUB}\1{SUB_END}", text.replace("*", ""))


def read_id(text: str) -> str:
    found = re.fullmatch(
        r"(?:https://trial\.example\.org/|trial:)(10\.9/\d\d-\d\d\.\d)(?:v\d)?", text
    )
    return f"trial:{found[1]}" if found else ""


CALENDAR = Calendar()
TRIAL = Source(
    name="the trial",
    key="trial",
    categories=category,
    read_id=read_id,
    marked=marked,
    links=lambda paper_id, version: Links(
        f"https://trial.example.org/{paper_id.partition(':')[2]}v{version}"
    ),
    citation=lambda _: {"howpublished": "Trial & error"},
    calendar=CALENDAR,
    waits=False,
    status_page="trial.example.org/status",
    if_late="",
    connect=lambda *_, **__: Feed(),
)
