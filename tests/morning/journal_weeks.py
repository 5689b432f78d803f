"""Three weeks of mornings over stand-ins of arXiv, bioRxiv and the feeds of six journals, each with what feeds do:

    Annals     weekdays alone; two of its papers are at arXiv, which names their DOIs, before and after
    Bulletin   is dead for a week, and again over a weekend
    Letters    has 15 entries, all of them new each day
    Acta       has no DOIs, and other guids and links at each fetch
    Review     has neither dates nor abstracts nor DOIs; on the eighth morning its server is busy
    PubMed tea finds papers of Annals and Bulletin a day after them, with an abstract

Some dates are wrong. What the feeds have, and since when, is written down here; nothing of it asks Paperboy.
"""

from __future__ import annotations

import email
import email.policy
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import NamedTuple

from paperboy.models import Outcome, Paper, Score
from paperboy.store.incidents import Kind
from tests.builders import paper
from tests.cli.conftest import text_of
from tests.fakes import Clock, app_at
from tests.servers.arxiv_api import ArxivServer
from tests.servers.arxiv_faults import unavailable
from tests.servers.biorxiv_api import BiorxivServer, Preprint, preprint
from tests.servers.journals import JournalServer, changing, item, refused, rss
from tests.servers.llm import LlmServer
from tests.servers.smtp import SmtpServer

DAY = timedelta(days=1)
PATIENCE = timedelta(hours=6)
FIRST = date(2026, 11, 16)  # a Monday
MORNINGS = [FIRST + number * DAY for number in range(22)]
HOUR = time(7)
ABSTRACT = (
    "A simple model explains most of the difference between one cup of tea and the next. "
    "It has three parameters, and all of them can be measured in a kitchen."
)

PATHS = {
    "Annals": "/annals.rss",
    "Bulletin": "/bulletin.rss",
    "Letters": "/letters.rss",
    "Acta": "/acta.rss",
    "Review": "/review.rss",
    "PubMed tea": "/search?term=tea&limit=100",
}
LENGTHS = {"Letters": 15}  # of feeds that are short; others keep what they have
TAKES = {
    "theory": ("q-bio.GN", "Annals", "Bulletin"),
    "cells": ("biorxiv/genomics", "Letters", "Acta"),
    "journals": tuple(PATHS),
    "bulletin": ("Bulletin",),
    "thrice": ("Letters", "Review"),
    "mixed": ("q-bio.GN", "biorxiv/genomics", *PATHS),
}
"""What each list takes."""

_WEEKDAYS = {"thrice": "    weekdays: [mon, wed, fri]\n"}


def day_of(number: int) -> date:
    """Return the date of a morning; the first is 0."""
    return FIRST + number * DAY


class Outage(NamedTuple):
    """Mornings on which a feed cannot be read, the last one included."""

    journal: str
    first: int
    last: int


OUTAGES = (
    Outage("Bulletin", 3, 9),  # Thursday to Wednesday
    Outage("Bulletin", 19, 20),  # Saturday and Sunday
    Outage("Review", 7, 7),
)


def down_on(morning: int) -> set[str]:
    """Return the journals whose feeds cannot be read on a morning."""
    return {one.journal for one in OUTAGES if one.first <= morning <= one.last}


class Entry(NamedTuple):
    """A paper in a feed."""

    key: str  # what a mail's links have of it: a DOI, a PII, or "acta/7"
    journal: str
    since: int  # the morning from which on it is there; negative: before the first
    date: datetime | None
    xml: str


@dataclass
class Story:
    """All that the servers have in these weeks."""

    entries: list[Entry] = field(default_factory=list)
    arxiv: list[tuple[int, Paper]] = field(default_factory=list)  # since a morning
    biorxiv: list[tuple[int, Preprint]] = field(default_factory=list)
    twins: dict[str, str] = field(default_factory=dict)  # what is not mailed where the other came

    def __post_init__(self) -> None:
        for morning in range(-6, len(MORNINGS)):
            self._usual(morning)
        self._strange()

    def publish(self, journal: str, name: str, since: int, *, lies: int | None = None) -> str:
        """Let a feed have an entry from a morning on, dated the day before or so many days off. Return its key."""
        at = datetime.combine(day_of(since), time(6), UTC) - DAY + (lies or 0) * DAY
        at -= len(self.entries) % 300 * timedelta(minutes=1)  # no two are of the same instant
        key = f"10.5555/{name}"
        elements = {"dc_date": at.isoformat(), "description": ABSTRACT}
        if journal == "Acta":
            key = f"acta/{name}"
            elements |= {"link": f"https://{key}?at=", "guid": f"{name}-"}
        elif journal == "Review":
            key = f"S{int(name):016}"
            page = f"https://www.sciencedirect.com/science/article/pii/{key}?dgcid=rss"
            elements = {"link": page, "description": "Publication date: November 2026"}
        else:
            elements |= {"guid": key, "link": f"https://{journal[:6].lower()}.example/{name}"}
        if journal == "Bulletin":
            elements["description"] = "Volume 7, Page 12"
        dated = None if journal == "Review" else at
        xml = item(f"On cup {name}", **elements)
        self.entries.append(Entry(key, journal, since, dated, xml))
        return key

    def _usual(self, morning: int) -> None:
        is_weekday = day_of(morning).weekday() < 5
        for number in range(15):
            self.publish("Letters", f"l{morning + 10}.{number}", morning)
        self.publish("Bulletin", f"b{morning + 10}", morning)
        if is_weekday:
            self.publish("Acta", f"{morning + 10}", morning)
            self.publish("Review", f"{morning + 10}", morning)
            for number in range(2):
                self.publish("Annals", f"a{morning + 10}.{number}", morning)
        if morning > 0:
            self.publish("PubMed tea", f"b{morning + 9}", morning)
            record = preprint(morning, day_of(morning - 1), category="genomics")
            self.biorxiv.append((morning, record))
        if morning >= 0 and is_weekday:
            self.announce(morning, morning)

    def _strange(self) -> None:
        for journal in ("Annals", "Letters", "PubMed tea"):  # in three on the same morning
            self.publish(journal, "everywhere", 8)
        for since, journal in enumerate(("PubMed tea", "Annals", "Bulletin"), 11):
            self.publish(journal, "again", since)
        self.publish("Annals", "old", 5, lies=-200)
        self.publish("Annals", "future", 6, lies=200)
        self.publish("Acta", "900", 12, lies=-4_000)
        self.twins = {
            self.publish("Annals", "arxiv-first", 5): self.announce(3, 901, "10.5555/ARXIV-First"),
            self.announce(9, 902, "https://doi.org/10.5555/annals-first"): self.publish(
                "Annals", "annals-first", 4
            ),
            self.publish("Annals", "both", 10): self.announce(10, 903, "doi:10.5555/both"),
        }

    def announce(self, morning: int, number: int, doi: str = "") -> str:
        """Let arXiv announce a paper for a morning, and return its id."""
        submitted = day_of(morning) - DAY
        while submitted.weekday() > 4:
            submitted -= DAY
        new = paper(
            f"2611.{number:05}",
            published=datetime.combine(submitted, time(15), UTC),
            primary_category="q-bio.GN",
            categories=("q-bio.GN",),
            doi=doi,
        )
        self.arxiv.append((morning, new))
        return new.id

    def feed(self, journal: str, morning: int) -> list[Entry]:
        """Return what a feed has on a morning, newest first."""
        there = [one for one in self.entries if one.journal == journal and one.since <= morning]
        there.sort(key=lambda one: one.since, reverse=True)
        return there[: LENGTHS.get(journal)]

    def readable(self, name: str, morning: int) -> dict[str, datetime | None]:
        """Return what a list's servers have of its papers that morning, and its date."""
        keys = dict[str, datetime | None]()
        for taken in TAKES[name]:
            if taken == "q-bio.GN":
                keys |= {new.id: None for since, new in self.arxiv if since <= morning}
            elif taken == "biorxiv/genomics":
                keys |= {one.doi: None for since, one in self.biorxiv if since <= morning}
            elif taken not in down_on(morning):
                keys |= {one.key: one.date for one in self.feed(taken, morning)}
        return keys

    def first(self, name: str) -> set[str]:
        """Return what a list gets on its first morning: of journals, what is dated within two days, or the ten
        newest.
        """
        now = datetime.combine(FIRST, HOUR, UTC)
        of_journals = {
            one.key: one.date for one in self.entries if one.key in self.readable(name, 0)
        }
        undated = [one.key for one in self.feed("Review", 0)]
        dates = {
            key: at or now - 3 * DAY - undated.index(key) * timedelta(minutes=1)
            for key, at in of_journals.items()
        }
        newest = sorted(dates, key=dates.__getitem__, reverse=True)
        recent = {key for key in newest if dates[key] >= now - 2 * DAY}
        return {*newest[:10], *recent, *(self.readable(name, 0).keys() - dates.keys())}

    def wanted(self, name: str, digests: list[int]) -> dict[str, int]:
        """Return the papers that a list is to get, and on which of the mornings of its digests."""
        seen = set(self.readable(name, 0))
        wanted = dict.fromkeys(self.first(name), 0)
        for morning in range(1, len(MORNINGS)):
            new = self.readable(name, morning).keys() - seen
            seen |= new
            comes = next((number for number in digests if number >= morning), None)
            if comes is not None:
                wanted |= dict.fromkeys(new, comes)
        for left_out, instead in self.twins.items():
            if instead in wanted:
                wanted.pop(left_out, None)
        return wanted


_LINKS = re.compile(
    r"https://(?:arxiv\.org/abs/(\d{4}\.\d{5})"
    r"|(?:www\.)?biorxiv\.org/content/(10\.[\d./]+)v1(?!\.full)"
    r"|doi\.org/(10\.5555/[\w.-]+\w)"
    r"|(acta/\d+)"
    r"|www\.sciencedirect\.com/science/article/pii/(S\d{16}))"
)


@dataclass(frozen=True)
class Tried:
    """A list after its morning."""

    morning: int
    name: str
    outcome: Outcome | None
    reason: str
    mail: str  # its text; empty: there was none

    @property
    def keys(self) -> set[str]:
        """The papers of the mail, by the links to their pages."""
        return {next(filter(None, found)) for found in _LINKS.findall(self.mail)}


@dataclass
class Weeks:
    """The weeks as they were lived."""

    story: Story
    home: Path
    tried: list[Tried] = field(default_factory=list)
    problems: list[set[str]] = field(default_factory=list)  # lists whose source is one, by morning
    requests: list[Counter[str]] = field(default_factory=list)  # of feeds, by morning

    def of(self, name: str) -> list[Tried]:
        return [one for one in self.tried if one.name == name]

    def digests(self, name: str) -> list[int]:
        """Return the mornings of a list's digests."""
        return [one.morning for one in self.of(name) if one.outcome is Outcome.DIGEST]


def lists(url: str) -> str:
    """Return the text of the lists' file."""
    feeds = "".join(f"  {name}: {url}{path}\n" for name, path in PATHS.items())
    text = f"journals:\n{feeds}lists:\n"
    for name, takes in TAKES.items():
        categories = ", ".join(f"journal/{one}" if one in PATHS else one for one in takes)
        text += f"""\
  - name: {name}
    categories: [{categories}]
    topics: tea
    brief: false
    max_papers: 500
    subscribers: [{name}@example.org]
{_WEEKDAYS.get(name, "")}"""
    return text


def live(home: Path, story: Story) -> Weeks:
    """Live through all mornings, one try each."""
    weeks = Weeks(story, home)
    clock = Clock(datetime.combine(FIRST, HOUR, UTC))
    with ExitStack() as stack:
        arxiv = stack.enter_context(ArxivServer())
        biorxiv = stack.enter_context(BiorxivServer())
        feeds = stack.enter_context(JournalServer())
        llm = stack.enter_context(LlmServer(lambda _: Score(9, 8, "It matters.")))
        smtp = stack.enter_context(SmtpServer())
        settings = f"""\
ARXIV_API_URL={arxiv.url}
ARXIV_DELAY_SECONDS=0
BIORXIV_API_URL={biorxiv.url}
OPENAI_BASE_URL={llm.base_url}
SMTP_HOST=127.0.0.1
SMTP_PORT={smtp.port}
SMTP_SECURITY=none
MAIL_FROM=Paperboy <papers@example.org>
"""
        (home / ".env").write_text(settings, "utf-8")
        (home / "subscribers.yaml").write_text(lists(feeds.url), "utf-8")
        shifts = changing("guid", "link")
        others = [
            preprint(900 + number, FIRST + number * DAY, category="zoology")
            for number in range(-10, 22)
        ]
        for morning, day in enumerate(MORNINGS):
            clock.now = datetime.combine(day, HOUR, UTC)
            arxiv.papers = [new for since, new in story.arxiv if since <= morning]
            posted = [record for since, record in story.biorxiv if since <= morning]
            biorxiv.records = posted + [one for one in others if one.date < f"{day}"]
            for journal, path in PATHS.items():
                feeds.feeds[path] = rss(*(one.xml for one in story.feed(journal, morning)))
            fault = unavailable() if morning < 15 else refused
            down = {PATHS[journal]: fault for journal in down_on(morning)}
            feeds.faults_of = {PATHS["Acta"]: shifts} | down
            feeds.requests.clear()
            with app_at(home, clock) as app:
                report = app.morning(list(TAKES), PATIENCE)
                app.deliver(lambda: False)
                incidents = app.store.incidents.all()

            mails = dict(_taken(smtp))
            weeks.requests.append(Counter(feeds.paths))
            weeks.problems.append(
                {one.subject for one in incidents if one.kind == Kind.SOURCE and not one.ended}
            )
            weeks.tried += [
                Tried(
                    morning=morning,
                    name=day_of_list.list_name,
                    outcome=day_of_list.outcome,
                    reason=day_of_list.problem,
                    mail=mails.get(f"{day_of_list.list_name}@example.org", ""),
                )
                for day_of_list in report.lists
            ]
    return weeks


def _taken(smtp: SmtpServer) -> Iterator[tuple[str, str]]:
    """Yield the mails that have come, their recipients and texts, and forget them."""
    messages = list(smtp.messages)
    smtp.messages.clear()
    for sent in messages:
        mail = email.message_from_bytes(
            sent.content, _class=EmailMessage, policy=email.policy.default
        )
        yield sent.recipient, text_of(mail)
